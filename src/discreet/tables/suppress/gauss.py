"""Secondary suppression by Gaussian elimination: no hidden cell follows from the published ones."""

from __future__ import annotations

import dataclasses
import time
from typing import ClassVar

import numpy as np
from scipy import sparse

from discreet.method import check_params, param
from discreet.model.contributions import Integers
from discreet.model.table import Bools, Table
from discreet.tables.suppress.attackers import Demand, Space, hideable
from discreet.tables.suppress.elimination import Freedom, Vector, echelon, residue
from discreet.tables.suppress.opening import refusal
from discreet.tables.suppress.probing import Prober

__all__ = ["GaussSuppression"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class GaussSuppression:
    """Publish one open cell after the other, dearest first, unless a suppressed cell would then follow from the published.

    A suppressed cell ``p`` follows from the published cells exactly when its value is a linear combination of theirs:
    ``value[p] = sum(factor[i] * value[i])`` for every table with ``equations @ value == 0``.  Candidates are taken by
    descending ``cost``, ties by the cost of the totals above them, then by cell order; a candidate that would let some
    suppressed cell follow becomes secondary.  Cells that stand at a bound the intruder knows (zeros above all), and then
    cells that a contributor or two would know, are published first, because as partners they protect little.

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
        low, high = table.bounds()
        targets = np.flatnonzero(table.suppressed)
        always = np.flatnonzero(~table.listed & ~table.suppressed & (low < high))
        ranked = self._ranked(table, choice)
        order = [*always.tolist(), *ranked[::-1].tolist(), *targets.tolist()]
        solved = echelon(_rows(table, order), order)
        freedom = _freedom(table, solved, targets, self.singletons)
        lost = [int(cell) for cell in targets if not freedom.vectors[int(cell)]]
        if lost:
            wide = table.exactness()
            raise refusal(table, self.NAME, [Demand(cell=cell, width=float(wide[cell])) for cell in lost])
        return np.array(_partners(freedom, solved, ranked, self._owned(table)), np.int64)

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


def _immovable(table: Table, choice: Bools, hidden: Integers) -> Integers:
    """Chosen cells that would be known exactly although all of the choice were hidden: they can be nobody's partner."""
    loose = choice | table.unknown
    return Prober(Space.of(table)).immovable(hidden, table.exactness(), loose.astype(float))


def _rows(table: Table, order: list[int]) -> list[Vector]:
    """The equations, and facts published exactly, between the cells that may stay unknown."""
    exact = [sparse.csr_array(known.matrix)[np.flatnonzero(known.low == known.high)] for known in table.knowledge]
    matrix = sparse.csr_array(sparse.vstack([table.equations, *exact]) if exact else table.equations)
    loose = np.zeros(table.cells, bool)
    loose[order] = True
    matrix.sum_duplicates()
    values = {float(number): residue(float(number)) for number in np.unique(matrix.data)}
    rows = []
    for row in range(matrix.shape[0]):
        part = slice(matrix.indptr[row], matrix.indptr[row + 1])
        pairs = zip(matrix.indices[part].tolist(), matrix.data[part].tolist(), strict=True)
        rows.append({cell: values[number] for cell, number in pairs if loose[cell] and values[number]})
    return rows


def _freedom(table: Table, solved: dict[int, Vector], targets: Integers, singletons: bool) -> Freedom:
    """How the suppressed cells can move while every open cell may still be hidden."""
    known = _known_sums(table) if singletons else []
    alone: dict[int, frozenset[int]] = {}
    for (cell, *more), knows in known:
        if not more:
            alone[cell] = alone.get(cell, knows) & knows
    freedom = Freedom(secrets=frozenset(np.flatnonzero(table.primary).tolist()))
    for cell in reversed(targets.tolist()):
        later = solved.get(cell)
        vector = {cell: 1} if later is None else freedom.combine(later.items())
        freedom.watch(cell, vector, alone.get(cell))
    for number, (cells, knows) in enumerate(known):
        if len(cells) > 1:
            freedom.watch(-1 - number, freedom.combine((cell, 1) for cell in cells), knows)
    return freedom


def _known_sums(table: Table) -> list[tuple[tuple[int, ...], frozenset[int]]]:
    """Each suppressed cell, and each sum of such cells on one side of an equation, that one contributor knows."""
    columns = sparse.csc_array(table.equations)
    sums: list[tuple[tuple[int, ...], frozenset[int]]] = []
    for group in table.insiders():
        known = frozenset(group.tolist())
        sums += [((cell,), known) for cell in sorted(known)]
        if len(known) > 1:
            parts = columns[:, group].tocoo()
            together: dict[tuple[int, float], list[int]] = {}
            for row, column, sign in zip(parts.row.tolist(), parts.col.tolist(), parts.data.tolist(), strict=True):
                together.setdefault((row, sign), []).append(int(group[column]))
            several = {tuple(sorted(cells)) for cells in together.values() if len(cells) > 1}
            sums += [(cells, known) for cells in sorted(several)]
    return sums


def _partners(freedom: Freedom, solved: dict[int, Vector], ranked: Integers, owned: Bools) -> list[int]:
    """The candidates that must stay hidden.

    A candidate that is no pivot follows from cheaper ones alone, so it is published whatever the targets are.  For the
    others, all later columns of their row are watched (targets and secondary cells) or published and worth nothing.
    """
    hidden = []
    for cell in ranked.tolist():
        if cell not in solved:
            continue
        vector = freedom.combine(pair for pair in solved[cell].items() if pair[0] in freedom.vectors)
        if not vector or (not freedom.determines(vector) and freedom.publish(vector)):
            continue
        freedom.watch(cell, vector, frozenset((cell,)) if owned[cell] else None)
        hidden.append(cell)
    return hidden
