"""The minimum frequency rule."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from discreet.method import check_params, param
from discreet.model.contributions import Contributions, Floats
from discreet.model.table import Bools, Table
from discreet.tables.rules.coalition import GUARD

__all__ = ["MinimumFrequency"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class MinimumFrequency:
    """A cell is sensitive when fewer than n contribute to it: ``0 < N < n``.

    N is the number of units, of holdings, or the sum of the sampling weights (``count``).  Empty cells are sensitive
    only with ``zeros``, and cells known to be empty beforehand (structural zeros) never are.
    The protection level, up and down, is ``range``/100 of the cell's value; with 0, only exact recomputation is prevented.

    Guards against: recognising the few contributors of a cell.
    Does not guard against: one of many contributors dominating a cell; use it together with a concentration rule.
    """

    NAME: ClassVar[str] = "min-frequency"
    SOURCE: ClassVar[str] = "Hundepool et al. (2012), Statistical Disclosure Control, Wiley, chapters 4 and 5"
    unions: ClassVar[bool] = True

    n: float = param(3.0, "the smallest number of contributors that is not sensitive", above=0)
    count: str = param("units", "what is counted", choices=("units", "holdings", "weighted"))
    zeros: bool = param(False, "cells without contributors are sensitive too")
    range: float = param(0.0, "how far from its value a sensitive cell is kept uncertain", unit="% of the value", at_least=0)

    def __post_init__(self) -> None:
        check_params(self)

    @property
    def ranks_needed(self) -> int:
        """How many largest contributions of each cell the rule looks at."""
        return 0

    def sensitive(self, contributions: Contributions, /) -> Bools:
        """Which rows fail the rule."""
        counts = {"units": contributions.n, "holdings": contributions.holdings, "weighted": contributions.weight}
        number = counts[self.count]
        few = (number > 0) & (number < self.n * (1 - GUARD))
        return np.asarray(few | (number == 0) if self.zeros else few)

    def passes(self, table: Table, /) -> Floats:
        """From which count on each cell passes; 0 where it was declared safe, or does not hold the number that is counted."""
        sums = table.contributions
        number = {"units": sums.n, "holdings": sums.holdings, "weighted": sums.weight}[self.count]
        counted = np.allclose(number, table.value, rtol=1e-9, atol=table.unit / 2)
        return np.where(table.exempt, 0.0, np.ceil(self.n * (1 - GUARD) / table.unit) * table.unit if counted else 0.0)

    def apply(self, table: Table, /) -> Table:
        """The table with the sensitive cells marked."""
        return table.with_primary(self, self.sensitive(table.contributions), upper=self.range / 100 * np.abs(table.value))
