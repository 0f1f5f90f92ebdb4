"""Secondary suppression of two-dimensional tables by circles in a network."""

from __future__ import annotations

import dataclasses
import time
from typing import ClassVar

import numpy as np

from discreet.method import check_params, param
from discreet.model.table import Table
from discreet.tables.suppress.circles.arcs import network_of
from discreet.tables.suppress.circles.cycles import Circles
from discreet.tables.suppress.circles.revising import Revision

__all__ = ["NetworkSuppression"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class NetworkSuppression:
    """Hide for every sensitive cell the cheapest circles of cells along which it can move as far as it must.

    In a table of two spanning variables, one of them hierarchical at most, each cell ``i`` is an arc between two of the
    equations, and moves ``d`` with ``equations @ d == 0`` are flows in circles.  A sensitive cell is served by the path
    ``min sum(cost[i])`` over cells ``i`` that closes the circle and has room for its protection level, ``room[i]`` being
    how far the value lies from what the intruder knows beforehand; where no path has the room, several are added up.
    First all cells count as hidden.  Then each, the dearest first, is published if all that it served can be served by
    other hidden cells.  Last, ``rounds`` times, each secondary cell, with those hidden for the same sensitive cells
    alone, is exchanged for open cells that cost less together.

    Guards against: intervals that are too narrow, in any hierarchy or margin of the one table; with ``singletons``, also
    contributors who know hidden cells of their own, each of whom a further circle leaves aside.
    Does not guard against: sums of hidden cells that fail a rule, and facts published beside the cells; the audit finds
    these and the repair mends them.  Cells that cannot be served are counted as "unmet".
    """

    NAME: ClassVar[str] = "network-suppression"
    SOURCE: ClassVar[str] = (
        "Kelly, Golden and Assad (1992), Cell suppression: disclosure protection for sensitive tabular data, Networks 22; "
        "Castro (2002), Network flows heuristics for complementary cell suppression, in Inference Control in Statistical "
        "Databases; paths of a fixed charge and their revision here are our own."
    )

    singletons: bool = param(True, "further circles for contributors who know a hidden cell of their own")
    rounds: int = param(3, "how often each secondary cell is tried to be exchanged for cheaper ones", at_least=0)

    def __post_init__(self) -> None:
        check_params(self)

    def apply(self, table: Table, /) -> Table:
        """The table with secondary suppressions; InputError, with the reason, for a table that is no such network."""
        start = time.perf_counter()
        if not table.suppressed.any():
            return table.with_secondary(self.NAME, np.zeros(table.cells, bool))
        revision = Revision(Circles(network_of(table, self.NAME), table, self.singletons), table)
        revision.start()
        for _ in range(self.rounds):
            if not revision.round():
                break
        hidden = revision.circles.loose & ~table.unknown
        return table.with_secondary(self.NAME, hidden, time.perf_counter() - start, unmet=revision.unmet)
