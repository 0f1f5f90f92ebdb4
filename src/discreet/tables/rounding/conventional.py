"""Conventional rounding: to the nearest multiple of a base."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from discreet.method import check_params, param
from discreet.model.showing import sensitive_cells
from discreet.model.table import Table
from discreet.tables.rounding.grid import TIES, Grid, OnGrid
from discreet.tables.rounding.rounded import show_rounded
from discreet.tables.rounding.scheme import Scale, Scheme, shown_from_param, totals_param

__all__ = ["RoundConventional"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class RoundConventional:
    """Every number is shown as the nearest multiple of a base.

    With the base b a value a ≥ 0 is shown as ``b · ⌊a/b + 1/2⌋`` when a value in the middle goes up (``half-up``), as
    ``b · ⌈a/b − 1/2⌉`` when it goes down; ``half-even`` takes the even multiple of the two.  A value below 0 is rounded
    like its size.  All is reckoned in whole units of the last decimal, so that no tie is missed.  A shown number v then
    stands for true values of v − b/2 to v + b/2, and readers who know the base know that.

    Guards against: learning a value more closely than the base, from this number alone.
    Does not guard against: totals beside their parts, which are rounded each by itself and narrow each other's range, down to
    a single value at times (the audit reckons with all of them); nor differences between tables.
    """

    NAME: ClassVar[str] = "round-conventional"
    SOURCE: ClassVar[str] = "Hundepool et al. (2012), Statistical Disclosure Control, Wiley, chapter 5"

    base: float = param(5.0, "the base: what every shown number is a multiple of", unit="units of the response", above=0)
    ties: str = param("half-up", "where a value in the middle goes: away from 0, to the even multiple, towards 0", choices=TIES)
    totals: str = totals_param()
    sensitive: str = sensitive_cells()
    shown_from: float | None = shown_from_param()

    def __post_init__(self) -> None:
        check_params(self)

    def scheme(self, scale: Scale) -> Scheme:
        """The way of rounding numbers of so many decimals."""
        return OnGrid(Grid((scale.whole(self.base, f"{self.NAME}.base"),)), self.ties)

    def apply(self, table: Table, /) -> Table:
        """The table with rounded numbers."""
        return show_rounded(table, self)
