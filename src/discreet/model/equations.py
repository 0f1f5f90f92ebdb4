"""From codes to equations: who adds up to whom, and which lines are one and the same cell."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from discreet.model.contributions import Integers
from discreet.model.hierarchy import Hierarchy

__all__ = ["equations_of", "fold", "locate", "merged", "owned", "residuals", "seen_through"]


def locate(codes: NDArray[np.int32], wanted: NDArray[np.int32]) -> Integers:
    """The line of ``codes`` that equals each line of ``wanted``, -1 where there is none; both of shape (lines, variables)."""
    key = _keys(np.concatenate([codes, wanted]))
    known, asked = key[: len(codes)], key[len(codes) :]
    if not len(known):
        return np.full(len(asked), -1, np.int64)
    order = np.argsort(known, kind="stable")
    at = order[np.minimum(np.searchsorted(known[order], asked), len(known) - 1)]
    found: Integers = np.where(known[at] == asked, at, -1).astype(np.int64)
    return found


def _keys(codes: NDArray[np.int32]) -> Integers:
    """One number a line, equal for equal lines."""
    key, size = np.zeros(len(codes), np.int64), 1
    for column in codes.T:
        width = int(column.max(initial=0)) + 1
        if size * width >= 2**62:
            distinct, key = np.unique(key, return_inverse=True)
            size = len(distinct)
        key = key * width + column
        size *= width
    return key


def equations_of(hierarchies: Sequence[Hierarchy], codes: NDArray[np.int32]) -> sparse.csr_array:
    """One row for each variable, tree and line that has parts: +1 at the parts, -1 at the total.

    ``codes`` has shape (lines, variables); lines that do not occur count as known zeros.  Lines whose codes stand for
    the same leaves are one cell: further rows say so, +1 at the line and -1 at the first such line.
    """
    lines = len(codes)
    row_parts, col_parts, sign_parts, rows = [], [], [], 0

    def add(part: Integers, total: Integers) -> None:
        nonlocal rows
        totals, equation = np.unique(total, return_inverse=True)
        row_parts.extend([rows + equation.ravel(), rows + np.arange(len(totals))])
        col_parts.extend([part, totals])
        sign_parts.extend([np.ones(len(part)), -np.ones(len(totals))])
        rows += len(totals)

    for v, hierarchy in enumerate(hierarchies):
        for tree in hierarchy.trees:
            above = tree[codes[:, v]]
            child = np.flatnonzero(above >= 0)
            wanted = codes[child].copy()
            wanted[:, v] = above[child]
            parent = locate(codes, wanted)
            add(child[parent >= 0], parent[parent >= 0])
    key = _keys(np.stack([h.alike[codes[:, v]] for v, h in enumerate(hierarchies)], axis=1)) if lines else np.zeros(0, np.int64)
    _, first, same = np.unique(key, return_index=True, return_inverse=True)
    again = np.flatnonzero(first[same.ravel()] != np.arange(lines))
    row_parts += [rows + np.arange(len(again))] * 2
    col_parts += [again, first[same.ravel()][again]]
    sign_parts += [np.ones(len(again)), -np.ones(len(again))]
    entries = (np.concatenate(sign_parts), (np.concatenate(row_parts), np.concatenate(col_parts)))
    return sparse.csr_array(entries, shape=(rows + len(again), lines))


def fold(equations: sparse.csr_array, cell: Integers, cells: int) -> sparse.csr_array:
    """The equations between cells, given the cell of each line; rows that say nothing or nothing new are left out."""
    lines = len(cell)
    to = sparse.csr_array((np.ones(lines), (np.arange(lines), cell)), shape=(lines, cells))
    folded = sparse.csr_array(equations @ to)
    folded.eliminate_zeros()
    folded.sort_indices()
    folded = folded[np.flatnonzero(np.diff(folded.indptr) > 0)]
    if not folded.shape[0]:
        return folded
    lead = np.sign(folded.data[folded.indptr[:-1]])
    _, first = np.unique(_row_numbers(sparse.csr_array(folded.multiply(lead[:, np.newaxis]))), return_index=True)
    return sparse.csr_array(folded[np.sort(first)])


def residuals(equations: sparse.csr_array, value: NDArray[np.object_]) -> NDArray[np.object_]:
    """Parts minus total of each equation, exactly; the values are Python integers, and no row is empty."""
    if not equations.shape[0]:
        return np.zeros(0, object)
    signed = value[equations.indices] * equations.data.astype(np.int64).astype(object)
    return np.asarray(np.add.reduceat(signed, equations.indptr[:-1]), object)


def merged(equations: sparse.csr_array) -> tuple[sparse.csr_array, Integers, Integers]:
    """Merge the lines that are one cell: a total with a single part, and totals of the very same parts.

    Returns the equations between cells, the cell of each line, and one line that stands for each cell.
    """
    lines = equations.shape[1]
    cell, cells = np.arange(lines, dtype=np.int64), lines
    folded = fold(equations, cell, cells)
    while True:
        left, right = _same(folded)
        if not len(left):
            break
        links = sparse.coo_array((np.ones(len(left)), (left, right)), shape=(cells, cells))
        cells, joined = connected_components(links, directed=False)
        component: Integers = joined.astype(np.int64)
        cell = component[cell]
        folded = fold(folded, component, cells)
    _, first, number = np.unique(cell, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    cell = rank[number.ravel()].astype(np.int64)
    return fold(equations, cell, cells), cell, first[order].astype(np.int64)


def seen_through(equations: sparse.csr_array, absent: NDArray[np.bool_]) -> sparse.csr_array:
    """The equations, and those that readers put together where ``absent`` cells, which nobody shows them, are parts.

    An absent part is replaced by its own parts, as long as there are any: a grand total without subtotals is the sum of
    what stands below them.  A cell with parts over several variables is replaced over each in turn.
    """
    part_of = np.flatnonzero((equations > 0).astype(float) @ absent.astype(float))
    minus = sparse.coo_array(equations < 0)
    single = np.bincount(minus.coords[0], minlength=equations.shape[0]) == 1
    made_of: dict[int, list[int]] = {}
    for row, total in zip(*(ends.tolist() for ends in minus.coords), strict=True):
        if absent[total] and single[row]:
            made_of.setdefault(total, []).append(row)

    def entries(row: int) -> dict[int, float]:
        at = slice(equations.indptr[row], equations.indptr[row + 1])
        return dict(zip(equations.indices[at].tolist(), equations.data[at].tolist(), strict=True))

    rows: list[dict[int, float]] = []
    for turn in range(max(map(len, made_of.values()), default=0)):
        for row in part_of.tolist():
            held = entries(row)
            while open_parts := [cell for cell, sign in held.items() if sign > 0 and cell in made_of]:
                for cell in open_parts:
                    ways, sign = made_of[cell], held[cell]
                    for other, factor in entries(ways[min(turn, len(ways) - 1)]).items():
                        held[other] = held.get(other, 0.0) + sign * factor
            rows.append({cell: factor for cell, factor in held.items() if factor})
    if not rows:
        return equations
    at = np.repeat(np.arange(len(rows)), [len(held) for held in rows])
    cells, factors = ([*chain.from_iterable(getattr(held, what)() for held in rows)] for what in ("keys", "values"))
    more = sparse.csr_array((factors, (at, np.array(cells, np.int64))), shape=(len(rows), equations.shape[1]))
    every = np.arange(equations.shape[1])
    return fold(sparse.csr_array(sparse.vstack([equations, more])), every, len(every))


def owned(
    equations: sparse.csr_array, groups: Sequence[Sequence[int]], contributors: NDArray[np.float64]
) -> tuple[Integers, ...]:
    """All cells made up by whoever makes up the cells of a group; groups that come out equal are one.

    Who makes up a total makes up its parts; who makes up all of its parts that have contributors makes up the total (all of
    its parts, where none has any).
    """
    if not groups:
        return ()
    totals, parts = sparse.csr_array(equations < 0).astype(float), sparse.csr_array(equations > 0).astype(float)
    whole, most = totals @ contributors, (parts @ sparse.diags_array(contributors)).max(axis=1).toarray().ravel()
    sums = (np.diff(totals.indptr) == 1) & (most <= whole) & (parts @ contributors >= whole)
    totals, parts = totals[np.flatnonzero(sums)], parts[np.flatnonzero(sums)]
    vacant = (whole[sums] == 0).astype(float)
    filled = parts @ sparse.diags_array((contributors > 0).astype(float)) + sparse.diags_array(vacant) @ parts
    filled = sparse.csr_array(filled)
    filled.eliminate_zeros()
    wanted = np.diff(filled.indptr)
    rows = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    at = np.concatenate([np.asarray(group, np.int64) for group in groups])
    held = sparse.csr_array((np.ones(len(at)), (rows, at)), shape=(len(groups), equations.shape[1]))
    size = 0
    while held.nnz > size:
        size = held.nnz
        complete = sparse.coo_array(held @ filled.T)
        (group, row), enough = complete.coords, complete.data == wanted[complete.coords[1]]
        summed = sparse.csr_array((np.ones(enough.sum()), (group[enough], row[enough])), shape=complete.shape)
        held = sparse.csr_array(held + summed @ totals + held @ (totals.T @ parts))
        held.data[:] = 1.0
    held.sort_indices()
    distinct = dict.fromkeys(tuple(cells.tolist()) for cells in np.split(held.indices, held.indptr[1:-1]))
    return tuple(np.array(cells, np.int64) for cells in distinct)


def _same(equations: sparse.csr_array) -> tuple[Integers, Integers]:
    """Pairs of columns that the equations make equal at sight."""
    size = np.diff(equations.indptr)
    pairs = equations[np.flatnonzero(size == 2)]
    left, right = pairs.indices[::2], pairs.indices[1::2]
    equal = pairs.data[::2] == -pairs.data[1::2]
    left, right = left[equal].astype(np.int64), right[equal].astype(np.int64)
    row = np.repeat(np.arange(equations.shape[0]), size)
    minus = equations.data < 0
    sums = np.flatnonzero((np.bincount(row[minus], minlength=len(size)) == 1) & (size > 2))
    if not len(sums):
        return left, right
    chosen = equations[sums]
    totals, units = chosen.indices[chosen.data < 0].astype(np.int64), chosen.data[chosen.data < 0]
    parts = chosen.maximum(0)
    numbers = _row_numbers(sparse.hstack([parts, sparse.csr_array(units[:, np.newaxis])], format="csr"))
    _, first, again = np.unique(numbers, return_index=True, return_inverse=True)
    one = totals[first[again.ravel()]]
    twin = one != totals
    return np.concatenate([left, one[twin]]), np.concatenate([right, totals[twin]])


def _row_numbers(matrix: sparse.csr_array) -> Integers:
    """Numbers the rows so that equal rows have equal numbers."""
    matrix = sparse.csr_array(matrix)
    matrix.sort_indices()
    size = np.diff(matrix.indptr)
    number, used = np.empty(len(size), np.int64), 0
    for length in np.unique(size):
        rows = np.flatnonzero(size == length)
        at = matrix.indptr[rows][:, np.newaxis] + np.arange(length)
        said = np.hstack([matrix.indices[at].astype(np.int64), matrix.data[at].astype(np.float64).view(np.int64)])
        whole = np.ascontiguousarray(said).view(np.dtype((np.void, said.dtype.itemsize * max(said.shape[1], 1)))).ravel()
        distinct, again = np.unique(whole, return_inverse=True)
        number[rows] = used + again.ravel()
        used += len(distinct)
    return number
