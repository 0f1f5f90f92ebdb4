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

__all__ = ["equations_of", "fold", "in_order", "locate", "merged", "owned", "residuals", "seen_through"]

DENSE = 8
"""Numbers are looked up in a list of all up to the largest while it has at most so many entries for each of them."""


def locate(codes: NDArray[np.int32], wanted: NDArray[np.int32]) -> Integers:
    """The first line of ``codes`` that equals each line of ``wanted``; both of shape (lines, variables).

    -1 where there is none; a code below 0 stands for none.
    """
    if (wanted < 0).any():
        found = np.full(len(wanted), -1, np.int64)
        whole = np.flatnonzero((wanted >= 0).all(axis=1))
        found[whole] = locate(codes, wanted[whole])
        return found
    key = _keys(np.concatenate([codes, wanted]))
    known, asked = key[: len(codes)], key[len(codes) :]
    if not len(known):
        return np.full(len(asked), -1, np.int64)
    if (size := int(key.max()) + 1) <= DENSE * len(key):
        return _places(known, size)[asked]
    order = np.argsort(known, kind="stable")
    at = order[np.minimum(np.searchsorted(known[order], asked), len(known) - 1)]
    return np.where(known[at] == asked, at, -1).astype(np.int64)


def in_order(codes: NDArray[np.int32]) -> Integers:
    """The lines, no two of which are equal, in the order of their codes."""
    key = _keys(codes)
    if (size := int(key.max(initial=0)) + 1) <= DENSE * len(key):
        places = _places(key, size)
        return places[places >= 0]
    return np.argsort(key)


def _places(key: Integers, size: int) -> Integers:
    """The first place of each number below ``size``, -1 where there is none."""
    place = np.full(size, -1, np.int64)
    place[key[::-1]] = np.arange(len(key))[::-1]
    return place


def _keys(codes: NDArray[np.int32]) -> Integers:
    """One number a line, equal for equal lines, in the order of the lines."""
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
        held = np.zeros(lines, bool)
        held[total] = True
        totals, equation = np.flatnonzero(held), np.cumsum(held) - 1
        row_parts.extend([rows + equation[total], rows + np.arange(len(totals))])
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
    alike = [hierarchy.alike[codes[:, v]] for v, hierarchy in enumerate(hierarchies)]
    first = np.arange(lines)
    if any((same != codes[:, v]).any() for v, same in enumerate(alike)):
        _, first, same = np.unique(_keys(np.stack(alike, axis=1)), return_index=True, return_inverse=True)
        first = first[same.ravel()]
    again = np.flatnonzero(first != np.arange(lines))
    row_parts += [rows + np.arange(len(again))] * 2
    col_parts += [again, first[again]]
    sign_parts += [np.ones(len(again)), -np.ones(len(again))]
    entries = (np.concatenate(sign_parts), (np.concatenate(row_parts), np.concatenate(col_parts)))
    return sparse.csr_array(entries, shape=(rows + len(again), lines))


def fold(equations: sparse.csr_array, cell: Integers, cells: int) -> sparse.csr_array:
    """The equations between cells, given the cell of each line; rows that say nothing or nothing new are left out."""
    lines = len(cell)
    to = sparse.csr_array((np.ones(lines), cell, np.arange(lines + 1)), shape=(lines, cells))
    return _distinct(sparse.csr_array(equations @ to))


def _distinct(equations: sparse.csr_array) -> sparse.csr_array:
    """Each row that says something once, with its entries in order; a row and its negative say the same."""
    equations.eliminate_zeros()
    equations.sort_indices()
    size = np.diff(equations.indptr)
    if (size == 0).any():
        equations = equations[np.flatnonzero(size > 0)]
        size = size[size > 0]
    if not len(size):
        return equations
    lead = np.sign(equations.data[equations.indptr[:-1]])
    positive = (equations.data * np.repeat(lead, size), equations.indices, equations.indptr)
    first = _first_alike(sparse.csr_array(positive, shape=equations.shape))
    new = first == np.arange(len(size))
    return equations if new.all() else sparse.csr_array(equations[np.flatnonzero(new)])


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
    folded = _distinct(equations.copy())
    while True:
        left, right = _same(folded)
        if not len(left):
            break
        links = sparse.coo_array((np.ones(len(left)), (left, right)), shape=(cells, cells))
        cells, joined = connected_components(links, directed=False)
        component: Integers = joined.astype(np.int64)
        cell = component[cell]
        folded = fold(folded, component, cells)
    if cells == lines:
        return folded, cell, np.arange(lines)
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
    chosen = equations if len(sums) == len(size) else equations[sums]
    total = chosen.data < 0
    totals = chosen.indices[total].astype(np.int64)
    made_of = (chosen.data, np.where(total, chosen.shape[1], chosen.indices), chosen.indptr)
    first = _first_alike(sparse.csr_array(made_of, shape=(len(sums), chosen.shape[1] + 1)))
    twin = np.flatnonzero(first != np.arange(len(sums)))
    return np.concatenate([left, totals[first[twin]]]), np.concatenate([right, totals[twin]])


def _first_alike(matrix: sparse.csr_array) -> Integers:
    """The first row that equals each row; no row is empty."""
    weight = np.random.default_rng(0).integers(2**63, size=matrix.shape[1], dtype=np.uint64)
    sign = (matrix.data.view(np.uint64) >> np.uint64(32)) | np.uint64(1)
    mark = np.add.reduceat(weight[matrix.indices] * sign, matrix.indptr[:-1])
    found = np.arange(len(mark))
    ordered = np.sort(mark)
    shared = np.flatnonzero(np.isin(mark, ordered[1:][ordered[1:] == ordered[:-1]]))
    if not len(shared):  # equal rows have equal marks
        return found
    rows = sparse.csr_array(matrix[shared])
    rows.sort_indices()
    size = np.diff(rows.indptr)
    for length in np.unique(size):
        chosen = np.flatnonzero(size == length)
        at = rows.indptr[chosen][:, np.newaxis] + np.arange(length)
        said = np.hstack([rows.indices[at].astype(np.int64), rows.data[at].view(np.int64)])
        whole = np.ascontiguousarray(said).view(np.dtype((np.void, said.dtype.itemsize * said.shape[1]))).ravel()
        _, first, again = np.unique(whole, return_index=True, return_inverse=True)
        found[shared[chosen]] = shared[chosen[first[again.ravel()]]]
    return found
