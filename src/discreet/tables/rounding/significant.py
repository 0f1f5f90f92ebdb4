"""Rounding to significant digits."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from discreet.method import check_params, param
from discreet.model.showing import sensitive_cells
from discreet.model.table import Table
from discreet.tables.rounding.grid import TIES, Grid, OnGrid
from discreet.tables.rounding.rounded import show_rounded
from discreet.tables.rounding.scheme import Scale, Scheme, shown_from_param, totals_param

__all__ = ["RoundSignificant"]

MOST_DIGITS = 38
"""The most digits of an exact sum, in units of the last decimal."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RoundSignificant:
    """Every number is shown with its first few digits; the others become 0.

    A value a with 10ᵐ⁻¹ ≤ \\|a\\| < 10ᵐ is shown as the nearest multiple of 10ᵐ⁻ⁿ, n being the ``digits``, but with no more
    decimals than are published.  Values that have no more digits than that are shown as they are.  ``ties`` says where a value
    in the middle goes.  A shown number stands for the values within half of that multiple around it.

    Guards against: reading differences and small contributions off the last digits of large numbers.
    Does not guard against: anything about numbers of few digits, which stay exact; combine it with a threshold rule.
    """

    NAME: ClassVar[str] = "round-significant"
    SOURCE: ClassVar[str] = "US Census Bureau, Disclosure Review Board: rounding to four significant digits"

    digits: int = param(4, "how many digits are kept", at_least=1, at_most=15)
    ties: str = param(
        "half-even", "where a value in the middle goes: away from 0, to the even multiple, towards 0", choices=TIES
    )
    totals: str = totals_param()
    sensitive: str = sensitive_cells()
    shown_from: float | None = shown_from_param()

    def __post_init__(self) -> None:
        check_params(self)

    def scheme(self, scale: Scale) -> Scheme:
        """The way of rounding numbers of so many decimals."""
        least = 10 ** (scale.decimals - scale.published)
        size = range(self.digits, MOST_DIGITS)
        bases = tuple(max(10 ** (digits - self.digits), least) for digits in (*size, MOST_DIGITS))
        return OnGrid(Grid(bases, tuple(10**digits - 1 for digits in size)), self.ties)

    def apply(self, table: Table, /) -> Table:
        """The table with rounded numbers."""
        return show_rounded(table, self)
