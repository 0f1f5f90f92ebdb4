"""Secondary suppression by Gaussian elimination: no hidden cell follows from the published ones."""

from __future__ import annotations

import dataclasses
import importlib.util
import time
from typing import ClassVar

import numpy as np
from scipy import sparse

from discreet.method import check_params, param
from discreet.model.contributions import Integers
from discreet.model.table import Bools, Table
from discreet.tables.suppress.eliminate import reference
from discreet.tables.suppress.eliminate.publishing import Publishing
from discreet.tables.suppress.infeasible import refusal
from discreet.tables.suppress.moves.attackers import Demand, Space, hideable
from discreet.tables.suppress.moves.probing import Prober

__all__ = ["GaussSuppression"]

_LARGE = 50_000
"""From so many cells on, machine code is worth the seconds that it takes to load, and to compile the first time."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class GaussSuppression:
    """Publish one open cell after the other, dearest first, unless a suppressed cell would then follow from the published.

    A suppressed cell ``p`` follows from the published cells exactly when its value is a linear combination of theirs:
    ``value[p] = sum(factor[i] * value[i])`` for every table with ``equations @ value == 0``.  Candidates are taken by
    descending ``cost``, ties by the cost of the totals above them, then by cell order; a candidate that would let some
    suppressed cell follow becomes secondary.  Cells that stand at a bound the intruder knows (zeros above all), and then
    cells that a contributor or two would know, are published first, because as partners they protect little.
    Large tables are left to machine code where numba is installed (``discreet[fast]``); the cells hidden are the same.

    Guards against: exact recomputation from all published equations, hierarchies and linked tables together; with
    ``singletons`` also against a contributor who knows its own cell and subtracts it.
    Does not guard against: intervals that are too narrow, sums of hidden cells that fail a rule, contributors who
    combine what they know across equations.  The audit finds these and the repair mends them.
    """

    NAME: ClassVar[str] = "gauss-suppression"
    SOURCE: ClassVar[str] = (
        "Langsrud (2024), Secondary cell suppression by Gaussian elimination: an algorithm suitable for handling issues "
        "with zeros and singletons, Privacy in Statistical Databases; order and elimination here are our own."
    )

    singletons: bool = param(True, "protect other primary cells from contributors who know a hidden cell of their own")
    use_zeros: bool = param(False, "hide zeros, and other cells at a known bound, as readily as any other cell")

    def __post_init__(self) -> None:
        check_params(self)

    def apply(self, table: Table, /) -> Table:
        """The table with secondary suppressions; NotProtectedError where even hiding every open cell would not do."""
        start = time.perf_counter()
        if not table.suppressed.any():
            return table.with_secondary(self.NAME, np.zeros(table.cells, bool))
        choice, hide = hideable(table), self._chosen(table, hideable(table))
        while hide.size and (dead := _immovable(table, choice, hide)).size:
            choice[dead] = False
            hide = self._chosen(table, choice)
        chosen = np.isin(np.arange(table.cells), hide)
        return table.with_secondary(self.NAME, chosen, time.perf_counter() - start)

    def _chosen(self, table: Table, choice: Bools) -> Integers:
        """The cells to hide out of a choice."""
        task = Publishing.of(table, self._ranked(table, choice), self._owned(table), insiders=self.singletons)
        lost, hidden = _partners(task)
        if lost:
            wide = table.exactness()
            raise refusal(table, self.NAME, [Demand(cell=int(c), width=float(wide[c])) for c in task.order[lost]])
        return np.asarray(task.order[hidden], np.int64)

    def _ranked(self, table: Table, choice: Bools) -> Integers:
        """The candidates in the order in which they are offered for publication."""
        low, high = table.bounds()
        poor = ((table.value <= low) | (table.value >= high)) & (not self.use_zeros)
        owned = self._owned(table)
        cells = np.flatnonzero(choice)
        parts = sparse.csr_array(table.equations.maximum(0))
        above = parts.T @ (sparse.csr_array((-table.equations).maximum(0)) @ table.cost)
        order = np.lexsort((cells, -above[cells], -table.cost[cells], ~owned[cells], ~poor[cells]))
        return np.asarray(cells[order], np.int64)

    def _owned(self, table: Table) -> Bools:
        """Cells that a single contributor, or a pair of them, would know."""
        contributors = np.where(table.contributions.holdings > 0, table.contributions.holdings, table.contributions.n)
        most = {"none": 0, "singletons": 1, "pairs": 2}[table.intruder.insiders] if self.singletons else 0
        return np.asarray((contributors >= 1) & (contributors <= most))


def _partners(task: Publishing) -> tuple[list[int], list[int]]:
    """What the elimination finds: in machine code for large tables where numba is installed, which changes nothing else."""
    if len(task.order) >= _LARGE and importlib.util.find_spec("numba"):
        from discreet.tables.suppress.eliminate import swift

        return swift.partners(task)
    return reference.partners(task)


def _immovable(table: Table, choice: Bools, hidden: Integers) -> Integers:
    """Chosen cells that would be known exactly although all of the choice were hidden: they can be nobody's partner."""
    loose = choice | table.unknown
    return Prober(Space.of(table)).immovable(hidden, table.exactness(), loose.astype(float))
