"""Secondary suppression by a search that has a safe pattern at once and goes on to cheaper ones."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from discreet.method import check_params, param
from discreet.model.table import Table
from discreet.solve.highs import solve
from discreet.solve.problem import Program
from discreet.tables.suppress.cutting.descent import Descent
from discreet.tables.suppress.gauss import GaussSuppression
from discreet.tables.suppress.infeasible import refuse_hopeless

__all__ = ["SearchSuppression"]

_SIZES = (25, 60, 150)
"""How many hidden cells are chosen anew together: few at first, more where few bring nothing any more."""
_AGAIN = 1e-3
"""A pass that saves at least this part of the cost is followed by another of the same kind."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class SearchSuppression:
    """Hide the open cells that elimination finds and its repair adds, then choose one part of the table after the other anew.

    Every demand on a hidden cell (upper, lower and sliding protection level, contributors who know cells of their own)
    is proved by a *witness*: a move ``d`` of hidden cells with ``equations @ d == 0`` within the bounds that the intruder
    knows, checked in plain arithmetic.  A part is some secondary cells near each other and the open cells that could take
    their place.  It is chosen anew by an integer program over *all* capacity cuts found so far (see exact-suppression;
    they hold for every safe pattern of the whole table); witnesses that a cheaper choice breaks are looked for again
    nearby, and where there are none a new cut says why.  A choice counts only once everything is proved again, so the
    search can end at any time with a safe pattern.  The cuts together bound the cost of every safe pattern: the gap is
    reported.

    Guards against: everything the audit of a table looks for: narrow intervals, insiders, sensitive sums.
    Does not guard against: knowledge that the intruder's assumptions do not declare.  The least cost is approached and
    not proved; the result depends on ``work`` alone, never on the machine, unless ``time_limit`` ends the search first.
    A limit too short even for the first pattern leaves an "unfinished" one to audit and repair.  Tables of four dimensions
    and more have long moves, which take long to find.
    """

    NAME: ClassVar[str] = "search-suppression"
    SOURCE: ClassVar[str] = (
        "Capacity cuts: Fischetti and Salazar (2001), Management Science 47(7); large neighbourhoods: Shaw (1998), "
        "Using constraint programming and local search methods to solve vehicle routing problems; the search is our own."
    )

    work: float = param(
        60.0,
        "the search ends after so much work, a unit is about a second, but the same on every machine",
        at_least=0,
    )
    time_limit: float = param(600.0, "the search ends after this long in any case", unit="s", above=0)

    def __post_init__(self) -> None:
        check_params(self)

    def apply(self, table: Table, /) -> Table:
        """The table with secondary suppressions; NotProtectedError where even hiding every open cell would not do."""
        start = time.perf_counter()
        if not table.suppressed.any():
            return table.with_secondary(self.NAME, np.zeros(table.cells, bool))
        refuse_hopeless(table, self.NAME)
        begin = GaussSuppression(singletons=table.intruder.insiders != "none").apply(table).secondary
        descent = Descent(table, begin & ~table.suppressed, until=start + self.time_limit)
        proved, first = descent.secured(self.NAME), descent.paid
        if proved:
            _improve(descent, lambda: descent.work.done < self.work and not descent.late)
        paid, least = descent.paid, _least(descent)
        return table.with_secondary(
            self.NAME,
            descent.hidden & descent.choice,
            time.perf_counter() - start,
            outcome="unfinished"
            if not proved
            else "time limit"
            if descent.late
            else "best so far"
            if paid > least
            else "optimal",
            gap=round(max(0.0, (paid - least) / paid) if paid > 0 else 0.0, 6),
            saved=round(1 - paid / first if first > 0 else 0.0, 6),
            cuts=len(descent.pool.rows),
            work=round(descent.work.done, 3),
        )


def _improve(descent: Descent, go_on: Callable[[], bool]) -> None:
    """Choose parts anew, dearest secondary cells first, small parts before large ones."""
    for size in _SIZES:
        before = np.inf
        while descent.paid < before * (1 - _AGAIN):
            before = descent.paid
            seen = np.zeros(descent.table.cells, bool)
            while (left := np.flatnonzero(descent.hidden & descent.choice & ~seen)).size:
                if not go_on():
                    return
                seed = left[[np.argmax(descent.cost[left])]]
                descent.renew(seed, size)
                seen[seed] = True
                seen[descent.around(seed, size // 3)] = True


def _least(descent: Descent) -> float:
    """What every safe pattern costs at least, by all cuts together."""
    cells = descent.table.cells
    matrix, least = descent.pool.matrix(cells)
    if not least.size:
        return 0.0
    scale = 1e3 / float(descent.cost.max())
    most = descent.choice.astype(float)
    found = solve(Program(descent.cost * scale, matrix, least, np.full(len(least), np.inf), np.zeros(cells), most))
    return found.objective / scale if found.optimal else 0.0
