"""The inner cells of a table, every other cell as a sum of them, and an order that no numbering of cells changes."""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy import sparse

from discreet.model.contributions import Integers
from discreet.model.table import Table

__all__ = ["Parts", "in_reading_order", "in_summing_order", "parts_of"]


def in_reading_order(table: Table) -> tuple[Integers, sparse.csr_array]:
    """The cells in the order in which the lines of the table show them first, and the equations between cells so ordered.

    A search that breaks ties by this order finds the same whatever the numbering of cells.
    """
    lines = [layout.cell for layout in table.layouts]
    every = np.concatenate([*lines, np.arange(table.cells)])
    cells, first = np.unique(every, return_index=True)
    order = cells[np.argsort(first)].astype(np.int64)
    equations = sparse.csr_array(table.equations[:, order])
    equations.sort_indices()
    keys = [tuple(equations.indices[start:end]) for start, end in zip(equations.indptr, equations.indptr[1:], strict=False)]
    rows = sorted(range(len(keys)), key=lambda row: keys[row])
    return order, sparse.csr_array(equations[rows]) if rows else equations


@dataclasses.dataclass(frozen=True, eq=False)
class Parts:
    """``inner`` cells that are the total of no others; ``sums @ x`` every cell from the inner ones ``x``.

    ``closing @ x == 0`` is what the equations say beyond that: linked tables may give one total as several sums.
    """

    inner: Integers
    sums: sparse.csr_array
    closing: sparse.csr_array


def parts_of(equations: sparse.csr_array) -> Parts:
    """The inner cells, and the first equation of each total taken as what it is the sum of."""
    levels, _ = in_summing_order(equations)
    cells, plus = equations.shape[1], sparse.csr_array(equations.maximum(0))
    summed = np.concatenate([totals for totals, _ in levels]) if levels else np.zeros(0, np.int64)
    inner = np.setdiff1d(np.arange(cells), summed)
    sums = _placed(inner, cells)
    for totals, defining in levels:
        sums = sparse.csr_array(sums + _placed(totals, cells) @ (plus[defining] @ sums))
    closing = sparse.csr_array(equations @ sums)
    closing.eliminate_zeros()
    return Parts(inner, sums, sparse.csr_array(closing[np.flatnonzero(np.diff(closing.indptr))]))


def in_summing_order(equations: sparse.csr_array) -> tuple[list[tuple[Integers, Integers]], Integers]:
    """The totals level by level, each with the equation that sums it from cells before; and totals that have no such order.

    Equations that are no plain sum of parts say of no cell that it is a total.
    """
    rows, cells = equations.shape
    negative, plus = sparse.csr_array(equations < 0), sparse.csr_array(equations.maximum(0))
    plain = np.bincount(_row_of(equations), np.abs(equations.data) != 1, minlength=rows) == 0
    single = plain & (np.diff(negative.indptr) == 1) & (np.diff(equations.indptr) > 1)
    total = np.full(rows, -1, np.int64)
    total[single] = negative.indices[negative.indptr[:-1][single]]
    known = np.ones(cells, bool)
    known[total[single]] = False
    levels: list[tuple[Integers, Integers]] = []
    waiting = single.copy()
    while waiting.any():
        waiting[waiting] &= ~known[total[waiting]]
        ready = np.flatnonzero(waiting & (plus @ (~known).astype(float) == 0))
        if not ready.size:
            break
        totals, first = np.unique(total[ready], return_index=True)
        known[totals] = True
        levels.append((totals, ready[first]))
    return levels, np.flatnonzero(~known)


def _row_of(matrix: sparse.csr_array) -> Integers:
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)).astype(np.int64)


def _placed(at: Integers, size: int) -> sparse.csr_array:
    return sparse.csr_array((np.ones(len(at)), (at, np.arange(len(at)))), shape=(size, len(at)))
