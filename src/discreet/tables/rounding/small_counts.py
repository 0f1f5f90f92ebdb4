"""Small-count adjustment: only the counts below a base are changed, to 0 or to the base."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.method import check_params, param
from discreet.model.contributions import Floats
from discreet.model.showing import sensitive_cells
from discreet.model.table import Bools, Table
from discreet.tables.rounding.rounded import need_counts, show_rounded
from discreet.tables.rounding.scheme import Scale, Scheme, Units, shown_from_param, totals_param

__all__ = ["SmallCountAdjustment"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class SmallCountAdjustment:
    """Counts below a base become 0 or the base; all others stay, and totals are added up again.

    With the base b a count 1 ≤ a < b is shown as b with probability a/b and as 0 otherwise, unbiased and drawn from the cell
    key, so that the same set of records always comes out alike; or by a declared rule: 0 up to ``zero_up_to``, b above.
    A shown 0 stands for 0 … b − 1, a shown b for 1 … b (with the rule, for 0 … ``zero_up_to`` and ``zero_up_to`` + 1 … b); what
    is added up from them for the sums of these.

    Guards against: seeing that a cell holds one or two people.
    Does not guard against: counts of b and more, which are shown as they are, alone and in sums; exact totals beside them, with
    ``totals = "independent"`` (the audit reckons with them).
    """

    NAME: ClassVar[str] = "small-count-adjustment"
    SOURCE: ClassVar[str] = "Hundepool et al. (2012), Statistical Disclosure Control, Wiley, chapter 5"

    base: int = param(3, "the least count that is shown as it is", unit="units", at_least=2)
    zero_up_to: int | None = param(
        None, "small counts up to this become 0, the others the base; by default chance decides", unit="units", at_least=0
    )
    totals: str = totals_param("recompute")
    sensitive: str = sensitive_cells()
    shown_from: float | None = shown_from_param()

    def __post_init__(self) -> None:
        check_params(self)
        if self.zero_up_to is not None and self.zero_up_to >= self.base:
            raise ParameterError(
                f"{self.NAME}.zero_up_to",
                f"{self.zero_up_to} is not below the base {self.base}, and counts from the base on stay as they are",
                "give a smaller number, or a larger base",
            )

    def scheme(self, scale: Scale) -> Scheme:
        """The way of rounding whole numbers."""
        return _Small(self.base, self.zero_up_to)

    def apply(self, table: Table, /) -> Table:
        """The table with its small counts changed."""
        need_counts(table, self.NAME)
        return show_rounded(table, self)


@dataclasses.dataclass(frozen=True)
class _Small:
    """Changes the counts below ``base``, by chance or by the rule ``zero_up_to``."""

    base: int
    zero_up_to: int | None

    @property
    def random(self) -> bool:
        return self.zero_up_to is None

    def round(self, units: Units, chance: Floats | None) -> Units:
        up = units > self.zero_up_to if chance is None else chance * self.base < units
        return np.where(units < self.base, np.where(up, self.base, 0), units) * (units > 0)

    def reach(self, shown: Units) -> tuple[Units, Units]:
        most, least = (self.base - 1, 1) if self.zero_up_to is None else (self.zero_up_to, self.zero_up_to + 1)
        return np.where(shown == self.base, least, shown), np.where(shown == 0, most, shown)

    def possible(self, shown: Units) -> Bools:
        return np.asarray((shown == 0) | (shown >= self.base), bool)

    def variance(self, shown: Units) -> Floats:
        changed = (shown == 0) | (shown == self.base)
        return np.where(changed & self.random, (self.base**2 - 1) / 6, 0.0)
