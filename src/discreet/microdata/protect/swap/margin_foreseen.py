"""What swapping with fixed margins would have to do, told before it does anything."""

from __future__ import annotations

import dataclasses

from discreet.errors import some
from discreet.microdata.protect.swap.partners import swappable
from discreet.model.combinations import counts_alike
from discreet.model.margins import Margins
from discreet.model.swap_file import SwapFile

__all__ = ["MarginForeseen", "margin_foreseen"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class MarginForeseen:
    """Numbers of records: all, those that are risky, those of them that no pair can change, and those the rate asks for."""

    keys: tuple[str, ...]
    at_most: int
    records: int
    risky: int
    fixed: int
    asked: int

    def __str__(self) -> str:
        told = []
        if self.keys:
            few = "no other record has" if self.at_most == 1 else f"at most {self.at_most} records have"
            told.append(f"{self.risky:,} of {self.records:,} records are risky: {few} their {some(self.keys, 12)}")
        if self.fixed:
            told.append(
                f"at least {self.fixed:,} of them cannot change while the margins stay, unless more than two records swap"
            )
        if self.asked:
            told.append(f"the rate asks for {self.asked:,} records")
        return "; ".join(told)


def margin_foreseen(file: SwapFile, margins: Margins, keys: tuple[str, ...], at_most: int, asked: int) -> MarginForeseen:
    """Counts the risky records of a file as it stands, and those that can be swapped with no other record."""
    held = file.combinations(margins.variables)
    at = [margins.variables.index(name) for name in keys]
    alike = counts_alike(held.codes[:, at], [held.sizes[v] for v in at], held.counts)
    risky = (alike <= at_most) & bool(keys)
    fixed = risky & ~swappable(held, margins).any
    return MarginForeseen(
        keys=keys,
        at_most=at_most,
        records=len(file.key),
        risky=int(held.counts[risky].sum()),
        fixed=int(held.counts[fixed].sum()),
        asked=asked,
    )
