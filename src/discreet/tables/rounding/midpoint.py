"""Midpoint rounding: 0 stays, every other count becomes the middle of its class."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from discreet.method import check_params, param
from discreet.model.contributions import Floats
from discreet.model.showing import sensitive_cells
from discreet.model.table import Bools, Table
from discreet.tables.rounding.rounded import need_counts, show_rounded
from discreet.tables.rounding.scheme import Scale, Scheme, Units, shown_from_param, totals_param

__all__ = ["RoundMidpoint"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class RoundMidpoint:
    """A count above 0 is shown as the middle of its class of counts; 0 stays 0.

    With the base b the classes are 1 … b, b + 1 … 2b and so on; a count of the k-th class is shown as ``k·b − ⌊b/2⌋``: with
    b = 6, counts 1 to 6 become 3, 7 to 12 become 9.  Each shown number stands for b counts alike, and a 0 is truly 0.

    Guards against: telling counts of 1 to b apart, without the shift of conventional rounding near thresholds.
    Does not guard against: learning that nobody is in a cell; totals beside their parts (the audit reckons with all of them).
    """

    NAME: ClassVar[str] = "round-midpoint"
    SOURCE: ClassVar[str] = "OpenSAFELY documentation, Statistical disclosure control: midpoint 6 rounding"

    base: int = param(6, "how many counts a class has", unit="units", at_least=2)
    totals: str = totals_param()
    sensitive: str = sensitive_cells()
    shown_from: float | None = shown_from_param()

    def __post_init__(self) -> None:
        check_params(self)

    def scheme(self, scale: Scale) -> Scheme:
        """The way of rounding whole numbers."""
        return _Classes(self.base)

    def apply(self, table: Table, /) -> Table:
        """The table with rounded counts."""
        need_counts(table, self.NAME)
        return show_rounded(table, self)


@dataclasses.dataclass(frozen=True)
class _Classes:
    """Classes of ``base`` counts, the first one from 1."""

    base: int
    random: ClassVar[bool] = False

    def round(self, units: Units, chance: Floats | None) -> Units:
        return np.where(units == 0, 0, -(-units // self.base) * self.base - self.base // 2)

    def reach(self, shown: Units) -> tuple[Units, Units]:
        high = shown + self.base // 2
        return np.where(shown == 0, 0, high - self.base + 1), np.where(shown == 0, 0, high)

    def possible(self, shown: Units) -> Bools:
        return np.asarray((shown == 0) | ((shown > 0) & ((shown + self.base // 2) % self.base == 0)), bool)

    def variance(self, shown: Units) -> Floats:
        return np.zeros(len(shown))
