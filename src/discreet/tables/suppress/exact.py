"""Secondary suppression of least total cost, by capacity cuts."""

from __future__ import annotations

import dataclasses
import time
from typing import ClassVar

import numpy as np

from discreet.method import check_params, param
from discreet.model.table import Table
from discreet.tables.suppress.cutting.search import Search

__all__ = ["ExactSuppression"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExactSuppression:
    """Hide the open cells of least total cost such that every demand on every suppressed cell is met.

    ``minimise sum(cost[i] * z[i])`` over ``z[i]`` in {0, 1} (1 = hidden) such that for every suppressed cell ``p``
    there are moves ``d`` with ``equations @ d == 0`` and ``-fall[i] * z[i] <= d[i] <= rise[i] * z[i]`` that take ``p``
    up by its upper protection level, down by its lower one, and both together by its sliding one; ``rise`` and
    ``fall`` are how far the value lies from what the intruder knows beforehand.  Where a pattern fails, the prices
    ``(alpha, beta)`` of the linear program give a cut ``sum(min(alpha[i]*rise[i] + beta[i]*fall[i], need) * z[i]) >= need``
    that every pattern meeting the demand satisfies.  Cuts are collected under fractional ``z`` first, sharpened by
    rounding their weights to whole cells; integer programs with ever more cuts then end at the optimum.
    Contributors who know their own cells are further attackers; sums of hidden cells that fail a rule are cut off.

    Guards against: everything the audit of a table looks for: narrow intervals, insiders, sensitive sums.
    Does not guard against: knowledge that the intruder's assumptions do not declare.  Meant for tables of some
    hundred cells; when time runs out the best pattern so far is returned, no less protected and no dearer than what
    elimination and its repair hide.  A limit too short even for these leaves an "unfinished" pattern to audit and repair.
    """

    NAME: ClassVar[str] = "exact-suppression"
    SOURCE: ClassVar[str] = (
        "Fischetti and Salazar (2001), Solving the cell suppression problem on tabular data with linear constraints, "
        "Management Science 47(7)."
    )

    time_limit: float = param(120.0, "the search ends after this long with the best pattern so far", unit="s", above=0)
    gap: float = param(0.0, "the cost may exceed the least possible by this part", at_least=0, below=1)

    def __post_init__(self) -> None:
        check_params(self)

    def apply(self, table: Table, /) -> Table:
        """The table with secondary suppressions; NotProtectedError, before long work, where no pattern would do."""
        start = time.perf_counter()
        if not table.suppressed.any():
            return table.with_secondary(self.NAME, np.zeros(table.cells, bool))
        search = Search(table, self.NAME, self.time_limit, self.gap)
        found = search.run()
        return table.with_secondary(
            self.NAME,
            found.hidden,
            time.perf_counter() - start,
            outcome=found.outcome,
            gap=round(found.gap, 6),
            cuts=found.cuts,
            programs=found.programs,
        )
