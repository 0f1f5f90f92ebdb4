"""What margins prove: the records of which everybody who sees the margins knows that they exist."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError, ParameterError
from discreet.microdata.protect.swap.move_cells import fixed_margins
from discreet.microdata.protect.swap.move_program import LeastCounts
from discreet.microdata.protect.swap.moves import smallest_move
from discreet.microdata.protect.swap.partners import swappable
from discreet.model.combinations import Combinations, combinations
from discreet.model.encoded import encoded
from discreet.model.margins import Margins
from discreet.model.microdata import Microdata
from discreet.model.swap_file import SwapFile
from discreet.model.transition import Category

__all__ = ["GivenAway", "given_away"]

ROUNDING = 1e-6
"""A table has whole numbers of records: a bound that is so much above one proves the next."""

SHARE = 1.0
"""Seconds that there are at least for one combination, while there are any."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GivenAway:
    """Which combinations of codes the ``margins`` prove: every table with these margins has at least as many records there.

    ``held`` are the combinations of all variables of the margins, with their ``categories``; ``proved`` those that are given
    away, and ``undecided`` those of which that was not found out in time; both of shape (combinations,).  Of all others there
    is a table with the same margins and fewer records there.  It names records: :meth:`shown` is what may leave.
    """

    margins: Margins
    categories: tuple[tuple[Category, ...], ...]
    held: Combinations
    proved: NDArray[np.bool_]
    undecided: NDArray[np.bool_]

    def __repr__(self) -> str:
        told = f", {int(self.held.counts[self.undecided].sum())} undecided" if self.undecided.any() else ""
        return f"GivenAway({int(self.held.counts[self.proved].sum())} of {int(self.held.counts.sum())} records{told})"

    @property
    def records(self) -> NDArray[np.bool_]:
        """Which records are given away, in the order of the file, of a swapped one that of its keys; shape (records,)."""
        return self.proved[self.held.of]

    def rows(self) -> list[dict[str, str | int]]:
        """One a combination that is given away, ready for a frame: its codes and how many records it has.  Confidential."""
        found: list[dict[str, str | int]] = []
        for which in np.flatnonzero(self.proved).tolist():
            at = self.held.codes[which].tolist()
            named = zip(self.margins.variables, self.categories, at, strict=True)
            row: dict[str, str | int] = {name: " / ".join(categories[code]) for name, categories, code in named}
            found.append(row | {"records": int(self.held.counts[which])})
        return found

    def shown(self) -> dict[str, int | str | bool]:
        """How many records and combinations are given away, which names none of them: for a report that may be passed on."""
        counts, alone = self.held.counts, self.held.counts == 1

        def of(which: NDArray[np.bool_], what: str) -> dict[str, int | str | bool]:
            return {
                f"records {what}": int(counts[which].sum()),
                f"combinations {what}": int(which.sum()),
                f"sample uniques {what}": int((which & alone).sum()),
            }

        return {
            "margins": ", ".join(" × ".join(margin) for margin in self.margins.sets),
            "variables": len(self.margins.variables),
            "decomposable": self.margins.decomposable,
            **of(np.ones(len(counts), bool), "in the file"),
            **of(self.proved, "given away"),
            **of(self.undecided, "undecided"),
        }


def given_away(file: SwapFile | Microdata, margins: Margins, *, seconds: float = 60.0) -> GivenAway:
    """An audit of margins: which records are proved to exist by publishing them.

    A combination of codes i of all variables of the margins, with n(i) records, is given away if every table of whole numbers
    with these margins has n(i) records or more there.  These are exactly the records that no swap of any number of records can
    change.  Where the margins are decomposable they are those with no partner for a swap of two, and all is found by counting.
    Where they are not, a linear program gives the least n'(i) of tables that need not be whole, which proves many of them, and
    shows others not to be given away where its table happens to be whole; for the rest swaps are searched for.  ``seconds`` is
    the time for all of that, and combinations that it does not suffice for are undecided.

    Records of a :class:`~discreet.model.swap_file.SwapFile` are taken as they stand, swapped or not.  Variables in no margin
    are left out: nothing is published of them.  It takes an intruder who knows the margins and nothing else, and sees only
    whole proofs: a combination of three records of which the margins prove two is not given away here, and neither is one that
    is likely but not certain.

    Errors: InputError for a column that the file does not have, for no margins, and where rows stand for several records;
    ParameterError where there is no time.
    """
    if not seconds > 0:
        raise ParameterError("margins", "their audit needs time", "give seconds above 0")
    if not margins.sets:
        raise InputError("margins", "there are none, and so nothing is published", "name the margins to look at")
    margins = Margins.of([name for name in margins.variables if name not in margins.free], margins.sets)
    categories, held = _held(file, margins.variables)
    changes = swappable(held, margins).any
    if margins.decomposable:
        return GivenAway(margins=margins, categories=categories, held=held, proved=~changes, undecided=np.zeros_like(changes))
    audit = _Audit(held, margins, changes, seconds)
    audit.run()
    return GivenAway(margins=margins, categories=categories, held=held, proved=audit.proved, undecided=audit.open)


class _Audit:
    """What is known of each combination so far: ``proved`` to be given away, seen that it ``changes``, or still open."""

    def __init__(self, held: Combinations, margins: Margins, changes: NDArray[np.bool_], seconds: float) -> None:
        self.held, self.margins, self.changes = held, margins, changes.copy()
        self.proved = np.zeros(len(changes), bool)
        self.until = time.monotonic() + seconds

    @property
    def open(self) -> NDArray[np.bool_]:
        """What is neither."""
        return ~self.changes & ~self.proved

    def run(self) -> None:
        """Linear programs for all that are open, then searches for what they leave; both in the order of codes."""
        fixed = fixed_margins(self.held, self.margins)
        if (cells := fixed.cells()) is not None:
            programs = LeastCounts(fixed, cells)
            for which in self._left():
                bound, table = programs.least(which, seconds=self.until - time.monotonic())
                self.proved[which] = bound > self.held.counts[which] - 1 + ROUNDING
                if table is not None:
                    self.changes |= table < self.held.counts
        for which in self._left():
            left = self.until - time.monotonic()
            share = min(left, max(SHARE, left / self.open.sum()))
            move = smallest_move(self.held, self.margins, which, seconds=share)
            self.proved[which] = move.impossible
            self.changes[move.out] = True

    def _left(self) -> Iterator[int]:
        """One open combination after the other, while there is time."""
        for which in range(len(self.held.counts)):
            if time.monotonic() >= self.until:
                return
            if not (self.changes[which] or self.proved[which]):
                yield which


def _held(file: SwapFile | Microdata, variables: Sequence[str]) -> tuple[tuple[tuple[Category, ...], ...], Combinations]:
    """The categories of each variable, and the combinations of codes that occur."""
    if isinstance(file, SwapFile):
        coded = file.coded(variables)
    else:
        if file.roles.count is not None:
            raise InputError(file.name, "its rows stand for several records each", "give one row for each record")
        found = encoded(file, {name: [name] for name in variables}).coded
        coded = tuple(found[name] for name in variables)
    codes = np.stack([column.codes for column in coded], axis=1)
    return tuple(column.categories for column in coded), combinations(codes, [len(column.categories) for column in coded])
