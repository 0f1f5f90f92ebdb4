"""Random rounding: to one of the two nearest multiples of a base, unbiased, by the keys of the records."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from discreet.method import check_params, param
from discreet.model.showing import sensitive_cells
from discreet.model.table import Table
from discreet.tables.rounding.grid import Grid, OnGrid
from discreet.tables.rounding.rounded import show_rounded
from discreet.tables.rounding.scheme import Scale, Scheme, shown_from_param, totals_param

__all__ = ["RoundRandom"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class RoundRandom:
    """Every number is shown as one of the two multiples of a base around it, so that on average it is right.

    A value a = u·b + r with the base b and 0 ≤ r < b is shown as (u + 1)·b with probability r/b and as u·b otherwise: without
    bias and with variance r·(b − r).  Multiples of b stay.  The draw comes from the cell key, the sum of the keys of the cell's
    records, so the same set of records is rounded alike in every table and filter.  A shown number v stands for true values of
    v − b + 1 to v + b − 1 (in units of the last decimal).  The standard error that is published is √((b² − 1)/6), the mean
    over all remainders; that of a cell's own remainder would tell it.

    Guards against: learning a value more closely than the base, from one number or by asking for it again.
    Does not guard against: totals beside their parts (the audit reckons with all of them), nor sums of many disjoint parts,
    whose errors average out.
    """

    NAME: ClassVar[str] = "round-random"
    SOURCE: ClassVar[str] = "Hundepool et al. (2012), Statistical Disclosure Control, Wiley, chapter 5"

    base: float = param(5.0, "the base: what every shown number is a multiple of", unit="units of the response", above=0)
    totals: str = totals_param()
    sensitive: str = sensitive_cells()
    shown_from: float | None = shown_from_param()

    def __post_init__(self) -> None:
        check_params(self)

    def scheme(self, scale: Scale) -> Scheme:
        """The way of rounding numbers of so many decimals."""
        return OnGrid(Grid((scale.whole(self.base, f"{self.NAME}.base"),)), "random")

    def apply(self, table: Table, /) -> Table:
        """The table with rounded numbers."""
        return show_rounded(table, self)
