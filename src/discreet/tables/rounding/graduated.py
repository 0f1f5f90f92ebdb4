"""Graduated rounding: the larger the number, the larger the base."""

from __future__ import annotations

import dataclasses
from itertools import pairwise
from typing import ClassVar

from discreet.errors import ParameterError
from discreet.method import check_params, param
from discreet.model.showing import sensitive_cells
from discreet.model.table import Table
from discreet.tables.rounding.grid import TIES, Grid, OnGrid
from discreet.tables.rounding.rounded import show_rounded
from discreet.tables.rounding.scheme import Scale, Scheme, shown_from_param, totals_param

__all__ = ["RoundGraduated"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class RoundGraduated:
    """Every number is rounded to a base that grows with its size.

    ``steps`` lists pairs (up to, base) from the smallest numbers up, ``above`` is the base of all larger ones.  Together they
    say which numbers can be shown: 0, and the multiples of each base within its step.  A value between two of these goes to the
    nearer one (``to`` says where from the middle), or with ``to = "random"`` to the upper one with probability
    (a − l)/(h − l), a being the value and l < h the two: unbiased, drawn from the cell key as in random rounding.
    With steps up to 18 by 3, to 99 by 5 and to 999 by 10, 19 lies between 18 and 20, and 97 between 95 and 100.
    A shown number stands for the true values that can go to it; with ``random`` for all between its two neighbours.

    Guards against: learning a value more closely than the base of its size, from this number alone.
    Does not guard against: totals beside their parts and small parts of large totals; the audit reckons with all of them.
    """

    NAME: ClassVar[str] = "round-graduated"
    SOURCE: ClassVar[str] = (
        "Stats NZ, Microdata output guide: graduated random rounding; "
        "US Census Bureau, Disclosure Review Board: rounding of counts"
    )

    steps: tuple[tuple[float, float], ...] = param(
        doc="pairs of the largest number of a step and its base, smallest first", unit="units of the response", above=0
    )
    above: float = param(doc="the base of all numbers above the last step", unit="units of the response", above=0)
    to: str = param(
        "half-up",
        "to the nearest number that can be shown, from the middle away from 0, to the even multiple or towards 0; or by chance",
        choices=(*TIES, "random"),
    )
    totals: str = totals_param()
    sensitive: str = sensitive_cells()
    shown_from: float | None = shown_from_param()

    def __post_init__(self) -> None:
        check_params(self)
        where = f"{self.NAME}.steps"
        if any(number <= 0 for step in self.steps for number in step):
            raise ParameterError(where, "numbers of steps must be above 0", "list pairs (up to, base)")
        if any(left[0] >= right[0] for left, right in pairwise(self.steps)):
            raise ParameterError(where, "a step does not end above the one before it", "list the steps from the smallest up")

    def scheme(self, scale: Scale) -> Scheme:
        """The way of rounding numbers of so many decimals."""
        where = f"{self.NAME}.steps"
        bases = [scale.whole(base, where) for _, base in self.steps]
        limits = [scale.whole(limit, where) for limit, _ in self.steps]
        return OnGrid(Grid((*bases, scale.whole(self.above, f"{self.NAME}.above")), tuple(limits)), self.to)

    def apply(self, table: Table, /) -> Table:
        """The table with rounded numbers."""
        return show_rounded(table, self)
