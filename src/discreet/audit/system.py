"""What an intruder can compute with: the hidden cells, every published relation between them, split into components.

Unknown are the deviations ``d = y - value`` of the cells the release does not show.  All tables ``y`` that agree with
the release are those with ``low <= matrix @ d <= high`` and ``lower <= d <= upper``; ``d = 0`` is the true one.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, connected_components

from discreet.audit.lifts import lifts
from discreet.audit.thresholds import by_thresholds
from discreet.model.contributions import Floats, Integers
from discreet.model.table import Table

__all__ = ["Component", "System", "graph", "subsystem", "system"]

SHORT = 1e-6
"""A demand counts as met when it is missed by no more than this share of itself."""
TOLERANCE = 1e-3
"""A witness counts as it is when all its misses together are at most this share of the smallest exactness."""
LOOSE = 1e-9
"""Beyond that it counts with a margin, as long as its misses are at most this share of its largest deviation."""
MARGIN = 1e3
"""The margin: so many times the misses are taken off what a witness shows."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Component:
    """Hidden cells that hang together, in units of ``scale``; arrays over its ``cells`` or over its rows.

    ``lifts`` sets of cells that can be moved up together by any amount, shape (sets, cells).  A cell does not lie between
    ``empty`` (where its value is 0) and ``least``, which is below that where nothing is known of the kind.
    """

    cells: Integers
    matrix: sparse.csr_array
    low: Floats
    high: Floats
    lower: Floats
    upper: Floats
    scale: float
    allowed: float
    step: float
    lifts: sparse.csr_array
    empty: Floats
    least: Floats

    @property
    def gaps(self) -> NDArray[np.bool_]:
        """Cells that are empty or at least so large."""
        return self.least > self.empty

    def beside_gaps(self) -> tuple[Floats, Floats]:
        """Bounds between which no cell crosses a gap: empty cells stay so, and the others stay as large as they must be."""
        is_empty = self.empty >= 0
        lower = np.where(self.gaps & ~is_empty, np.maximum(self.lower, self.least), self.lower)
        return lower, np.where(self.gaps & is_empty, np.minimum(self.upper, 0.0), self.upper)

    def off(self, deviation: Floats) -> float:
        """How far this table misses the published relations and bounds, all misses added up."""
        rows = self.matrix @ deviation
        misses = (
            np.maximum(self.low - rows, 0).sum()
            + np.maximum(rows - self.high, 0).sum()
            + np.maximum(self.lower - deviation, 0).sum()
            + np.maximum(deviation - self.upper, 0).sum()
            + np.minimum(np.abs(deviation - self.empty), np.maximum(self.least - deviation, 0)).sum()
        )
        return float(misses)

    def margin(self, deviation: Floats) -> float:
        """What must be taken off the deviations that this table shows, checked in plain arithmetic; infinite: it shows nothing.

        Where tiny cells stand beside huge ones no float agrees to a share of the tiny ones; the margin keeps the proof.
        """
        if not np.isfinite(deviation).all():
            return np.inf
        off = self.off(deviation)
        if off <= self.allowed:
            return 0.0
        return MARGIN * off if off <= LOOSE * float(np.abs(deviation).max(initial=0.0)) else np.inf

    def near_order(self) -> Integers:
        """The cells so that neighbours in a relation follow each other closely."""
        size = len(self.cells)
        order = breadth_first_order(graph(self.matrix), 0, directed=False, return_predecessors=False)
        return np.asarray(order[order < size], np.int64)

    def reachable(self, rounds: int = 6) -> tuple[Floats, Floats]:
        """Bounds of each deviation that follow from one relation at a time; the interval lies within."""
        lower, upper = self.lower.copy(), self.upper.copy()
        for _ in range(rounds):
            before = lower.copy(), upper.copy()
            _tighten(self.matrix, self.high, lower, upper)
            _tighten(-self.matrix, -self.low, lower, upper)
            if np.array_equal(before[0], lower) and np.array_equal(before[1], upper):
                break
        return np.minimum(lower, 0), np.maximum(upper, 0)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class System:
    """All a release tells of the unknown cells: those ``known`` by single relations, and the components of the rest."""

    known: NDArray[np.bool_]
    components: tuple[Component, ...]
    equalities: sparse.csr_array


def _relations(table: Table) -> tuple[sparse.csr_array, sparse.csr_array, Floats, Floats]:
    """The published equalities between cells, and the published inequalities with how far they may move from the truth."""
    hidden = table.unknown
    exact, ranges, low, high = [sparse.csr_array(table.equations)], [], [], []
    for knowledge in table.knowledge:
        while_cell = knowledge.while_published
        active = (while_cell < 0) | ~hidden[np.maximum(while_cell, 0)]
        point = active & (knowledge.low == knowledge.high)
        span = active & ~point
        exact.append(sparse.csr_array(knowledge.matrix[point]))
        ranges.append(sparse.csr_array(knowledge.matrix[span]))
        truth = knowledge.matrix[span] @ table.value
        low.append(np.minimum(knowledge.low[span] - truth, 0))
        high.append(np.maximum(knowledge.high[span] - truth, 0))
    inexact = sparse.csr_array(sparse.vstack(ranges)) if ranges else sparse.csr_array((0, table.cells))
    return (
        sparse.csr_array(sparse.vstack(exact)),
        inexact,
        np.concatenate(low) if low else np.zeros(0),
        np.concatenate(high) if high else np.zeros(0),
    )


def system(table: Table) -> System:
    """Everything that follows from a whole release."""
    return _split(table, *_relations(table), table.unknown)


def subsystem(table: Table, rows: Integers) -> System:
    """What follows from some of the equations between cells alone, as if nothing else had been published."""
    equalities = table.equations[rows]
    inside = np.zeros(table.cells, bool)
    inside[equalities.indices] = True
    nothing = np.zeros(0)
    return _split(table, equalities, sparse.csr_array((0, table.cells)), nothing, nothing, table.unknown & inside)


def _split(
    table: Table,
    equalities: sparse.csr_array,
    inexact: sparse.csr_array,
    low: Floats,
    high: Floats,
    unknown: NDArray[np.bool_],
) -> System:
    below, above, least = by_thresholds(table, *table.bounds())
    lower, upper = np.minimum(below - table.value, 0), np.maximum(above - table.value, 0)
    known = ~unknown | ((lower == 0) & (upper == 0))
    known = _derive(equalities, lower, upper, known)
    relations = sparse.csr_array(sparse.vstack([equalities, inexact]))
    lifted = _lifts(table, relations, ~known, upper)
    free = np.flatnonzero(~known)
    matrix = sparse.csr_array(sparse.vstack([equalities[:, free], inexact[:, free]]))
    matrix.eliminate_zeros()
    row_low = np.concatenate([np.zeros(equalities.shape[0]), low])
    row_high = np.concatenate([np.zeros(equalities.shape[0]), high])
    ends = row_low, row_high, lower[free], upper[free], least[free]
    components = tuple(_components(table, free, matrix, *ends, lifted[:, free]))
    return System(known=known, components=components, equalities=equalities)


def _lifts(table: Table, relations: sparse.csr_array, unknown: NDArray[np.bool_], upper: Floats) -> sparse.csr_array:
    """What can be moved up by itself with all totals above it, in tables whose totals carry unbounded noise."""
    endless = unknown & np.isinf(upper)
    if not (endless & table.perturbed).any():
        return sparse.csr_array((0, table.cells))
    return lifts(relations, table.equations, endless)


def _derive(equalities: sparse.csr_array, lower: Floats, upper: Floats, known: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Cells that follow exactly from one equality after the other.

    An equality with one unknown cell gives it; one in which no unknown cell can move the way that would let another move
    back (all zeros, say) gives all of them.
    """
    known = known.copy()
    rows = np.repeat(np.arange(equalities.shape[0]), np.diff(equalities.indptr))
    columns, signs = equalities.indices, equalities.data
    while True:
        open_entry = ~known[columns]
        r, c, s = rows[open_entry], columns[open_entry], signs[open_entry]
        if not r.size:
            return known
        size = equalities.shape[0]
        count = np.bincount(r, minlength=size)
        down = np.bincount(r, np.minimum(s * lower[c], s * upper[c]), minlength=size)
        up = np.bincount(r, np.maximum(s * lower[c], s * upper[c]), minlength=size)
        stuck = (count == 1) | (down == 0) | (up == 0)
        found = np.unique(c[stuck[r]])
        if not found.size:
            return known
        known[found] = True


def _components(
    table: Table,
    free: Integers,
    matrix: sparse.csr_array,
    low: Floats,
    high: Floats,
    lower: Floats,
    upper: Floats,
    least: Floats,
    lifted: sparse.csr_array,
) -> list[Component]:
    if not free.size:
        return []
    _, label = connected_components(graph(matrix), directed=False)
    of_cell, of_row = label[: len(free)], label[len(free) :]
    held = np.diff(matrix.indptr) > 0
    cells_by, rows_by = _by_label(of_cell), _by_label(np.where(held, of_row, -1))
    lifts_by = _by_label(of_cell[lifted.indices[lifted.indptr[:-1]]])
    none = np.zeros(0, np.int64)
    out = []
    for name in dict.fromkeys(of_cell.tolist()):
        columns, lines = cells_by[name], rows_by.get(name, none)
        part = matrix[lines][:, columns]
        ends = low[lines], high[lines], lower[columns], upper[columns], least[columns]
        out.append(_component(table, free[columns], part, *ends, lifted[lifts_by.get(name, none)][:, columns]))
    return out


def _component(
    table: Table,
    cells: Integers,
    matrix: sparse.csr_array,
    low: Floats,
    high: Floats,
    lower: Floats,
    upper: Floats,
    least: Floats,
    lifted: sparse.csr_array,
) -> Component:
    """One component, each row divided by its largest factor, and all in units that suit its numbers."""
    largest = np.ones(matrix.shape[0])
    if len(largest):
        largest = abs(matrix).max(axis=1).toarray().ravel()
        matrix = sparse.csr_array(matrix.multiply(1 / largest[:, None]))
    ends = np.concatenate([lower, upper])
    finite = np.abs(ends[np.isfinite(ends)])
    finest = float(table.exactness()[cells].min())
    scale = max(finest, float(finite.max(initial=0.0)) * 1e-8)
    return Component(
        cells=cells,
        matrix=matrix,
        low=low / largest / scale,
        high=high / largest / scale,
        lower=lower / scale,
        upper=upper / scale,
        scale=scale,
        allowed=TOLERANCE * finest / scale,
        step=table.unit / scale,
        lifts=sparse.csr_array(lifted),
        empty=-table.value[cells] / scale,
        least=np.where(least > 0, (least - table.value[cells]) / scale, -np.inf),
    )


def graph(matrix: sparse.csr_array) -> Any:
    """Cells and rows as nodes, joined where a cell stands in a row."""
    rows, size = matrix.shape
    entries = sparse.coo_array(matrix)
    ends = entries.coords[1], entries.coords[0] + size
    return sparse.csr_array((np.ones(entries.nnz), ends), shape=(size + rows, size + rows))


def _by_label(labels: NDArray[np.int32] | Integers) -> dict[int, Integers]:
    order = np.argsort(labels, kind="stable")
    names, starts = np.unique(labels[order], return_index=True)
    return dict(zip(names.tolist(), np.split(order, starts[1:]), strict=False))


def _tighten(matrix: sparse.csr_array, most: Floats, lower: Floats, upper: Floats) -> None:
    """Tightens in place by ``matrix @ d <= most``: what the other cells of a row use at least is not left for this one."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    columns, factor = matrix.indices, matrix.data
    least = np.where(factor > 0, factor * lower[columns], factor * upper[columns])
    endless = np.isneginf(least)
    size = matrix.shape[0]
    used = np.bincount(rows, np.where(endless, 0, least), minlength=size)
    open_ends = np.bincount(rows, endless, minlength=size)
    others_endless = open_ends[rows] - endless > 0
    room = np.where(others_endless, np.inf, most[rows] - (used[rows] - np.where(endless, 0, least)))
    limit = room / factor
    rising = factor > 0
    np.minimum.at(upper, columns[rising], limit[rising])
    np.maximum.at(lower, columns[~rising], limit[~rising])
