"""Totals are hidden only where nothing else helps."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np
from scipy import sparse

from discreet.method import check_params, param
from discreet.model.contributions import Integers
from discreet.model.table import Status, Table

__all__ = ["AvoidTotals"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class AvoidTotals:
    """Make totals dearer to hide than the cells they are made of, level by level, or keep them published.

    ``cost[i] *= factor ** level[i]`` with ``level[i]`` the number of sums from the finest cells up to cell ``i``: 0 for a
    finest cell, 1 for a margin over it, and so on up to the grand total (the longest way counts).  ``publish_from`` says
    from which level on open cells must be published whatever it costs elsewhere.

    Guards against: nothing; it decides which of the patterns that protect is chosen.
    Does not guard against: tables that cannot be protected once totals must be published; these are refused by name.
    """

    NAME: ClassVar[str] = "avoid-totals"
    SOURCE: ClassVar[str] = (
        "Hundepool et al. (2012), Statistical Disclosure Control, section 4.4; that margins get a higher cost: Fischetti and "
        "Salazar (2000), Models and algorithms for optimizing cell suppression in tabular data, JASA 95."
    )

    factor: float = param(10.0, "a total is so many times dearer than its value for each level it stands above", at_least=1)
    publish_from: int | None = param(None, "totals of this level and above must be published", at_least=1)

    def __post_init__(self) -> None:
        check_params(self)

    def apply(self, table: Table, /) -> Table:
        """The table with dearer totals, and with the high ones frozen where that is asked for."""
        level = _levels(table.equations)
        cost = table.cost * self.factor ** level.astype(float)
        frozen = np.zeros(table.cells, bool)
        if self.publish_from is not None:
            frozen = (level >= self.publish_from) & (table.status == Status.OPEN) & table.listed
        changed = table.replace(cost=cost, frozen=table.frozen | frozen)
        return changed.with_step(self.NAME, "totals made dearer", totals=int((level > 0).sum()), published=int(frozen.sum()))


def _levels(equations: sparse.csr_array) -> Integers:
    """How many sums each cell stands above the finest cells; the number of rounds bounds equations that go in circles."""
    totals, parts = sparse.csr_array(equations < 0), sparse.csr_array(equations > 0)
    lines = np.flatnonzero((np.diff(totals.indptr) == 1) & (np.diff(parts.indptr) > 0))
    total, parts = totals[lines].indices, parts[lines]
    level = np.zeros(equations.shape[1], np.int64)
    for _ in range(_MOST_LEVELS if len(lines) else 0):
        above = level.copy()
        np.maximum.at(above, total, np.maximum.reduceat(level[parts.indices], parts.indptr[:-1]) + 1)
        if np.array_equal(above, level):
            break
        level = above
    return level


_MOST_LEVELS = 100
