"""Finds the spanning variables of a table of which only the equations are known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.model.contributions import Integers
from discreet.model.equations import equations_of, fold, locate
from discreet.model.hierarchy import Hierarchy
from discreet.model.layout import Layout

__all__ = ["spanned"]

TOTAL = "Total"
MOST_LINES = 8
"""No more than so many lines a cell are tried; where cells have more names the equations are of another kind."""


def spanned(equations: sparse.csr_array, names: Sequence[str], name: str) -> Layout | None:
    """The layout from whose codes these equations follow, and no others; None where none is found.

    ``equations`` +1 at the parts and -1 at their total, shape (equations, cells); ``names`` of the cells, of which those that
    vary in one variable alone become its codes.  Every sum of the one cell that is no part gives a variable ``v1``, ``v2``, …;
    a code of a cell is the finest one among those of the totals it is a part of.  What is found is proved by making the
    equations anew.  Not found: variables whose total the table does not have, groupings that do not nest, linked tables.
    """
    sums = np.diff(sparse.csr_array(equations < 0).indptr) == 1
    if not sums.all() or not equations.shape[0]:
        return None
    parts = sparse.coo_array(equations > 0)
    total = np.empty(equations.shape[0], np.int64)
    at = sparse.coo_array(equations < 0)
    total[at.coords[0]] = at.coords[1]
    part, above = parts.coords[1].astype(np.int64), total[parts.coords[0]]
    top = np.flatnonzero(np.bincount(part, minlength=equations.shape[1]) == 0)
    if len(top) != 1:
        return None
    known = _Sums(equations, total)
    axes = [_axis(known, row) for row in known.of[top[0]]]
    if any(len({cell for _, cell in axis}) < len(axis) for axis in axes):
        return None
    trees = [Hierarchy.from_parents([(_code(a, top[0], names), names[b]) for a, b in axis], total=TOTAL) for axis in axes]
    finest = _finest(trees, axes, names, part, above, equations.shape[1])
    return _proved(equations, trees, finest, name)


def _code(cell: int, top: int, names: Sequence[str]) -> str:
    return TOTAL if cell == top else names[cell]


def _axis(sums: _Sums, row: int) -> list[tuple[int, int]]:
    """Pairs of a cell and a part of it, for all cells that vary in one variable alone: the one over which this row sums.

    The sums of such a cell over other variables look like those of the cell above it: each part is a part of one of theirs.
    """
    pairs, waiting = [], [(row, [other for other in sums.of[sums.total[row]] if other != row])]
    while waiting:
        row, beside = waiting.pop()
        across = {cell for other in beside for cell in sums.parts(other)}
        for cell in sums.parts(row):
            pairs.append((sums.total[row], cell))
            own = [other for other in sums.of.get(cell, []) if not sums.below(other, across)]
            waiting += [(other, [one for one in sums.of[cell] if one not in own]) for other in own]
    return pairs


class _Sums:
    """Which cells each sum has as parts, and which sums a cell is the total or a part of."""

    def __init__(self, equations: sparse.csr_array, total: Integers) -> None:
        self.total = total.tolist()
        self.of: dict[int, list[int]] = {}
        for number, cell in enumerate(self.total):
            self.of.setdefault(cell, []).append(number)
        self._rows, self._columns = sparse.csr_array(equations > 0), sparse.csc_array(equations > 0)

    def parts(self, row: int) -> list[int]:
        """The parts of a sum."""
        cells: list[int] = self._rows.indices[self._rows.indptr[row] : self._rows.indptr[row + 1]].tolist()
        return cells

    def below(self, row: int, cells: set[int]) -> bool:
        """Whether each part of a sum is one of these cells or, in another sum, a part of one."""
        return all(
            cell in cells or any(self.total[other] in cells for other in self._part_of(cell) if other != row)
            for cell in self.parts(row)
        )

    def _part_of(self, cell: int) -> list[int]:
        rows: list[int] = self._columns.indices[self._columns.indptr[cell] : self._columns.indptr[cell + 1]].tolist()
        return rows


def _finest(
    trees: Sequence[Hierarchy],
    axes: Sequence[Sequence[tuple[int, int]]],
    names: Sequence[str],
    part: Integers,
    above: Integers,
    cells: int,
) -> NDArray[np.int32]:
    """The codes of each cell: of each variable the finest among those of its totals, shape (cells, variables)."""
    found = np.zeros((cells, len(trees)), np.int64)
    for v, (tree, axis) in enumerate(zip(trees, axes, strict=True)):
        inside = np.array([cell for _, cell in axis], np.int64)
        found[inside, v] = [_ranked(tree, names[cell]) for cell in inside.tolist()]
    while True:
        grown = found.copy()
        np.maximum.at(grown, part, found[above])
        if (grown == found).all():
            break
        found = grown
    return np.asarray(found % [len(tree.codes) for tree in trees], np.int32)


def _ranked(tree: Hierarchy, code: str) -> int:
    """A number that is larger for finer codes and gives the position of the code modulo the number of codes."""
    place = tree.position(code)
    return int(tree.level[place]) * len(tree.codes) + place


def _proved(equations: sparse.csr_array, trees: Sequence[Hierarchy], codes: NDArray[np.int32], name: str) -> Layout | None:
    """The layout of these cells, with a line for each further name that a cell has; None if its equations are others."""
    cells = len(codes)
    if len(np.unique(codes, axis=0)) < cells:
        return None
    lines = codes
    for v, tree in enumerate(trees):
        fresh = lines
        while len(fresh):
            moved = fresh[fresh[:, v] > 0].copy()
            moved[:, v] = tree.trees[0][moved[:, v]]
            wanted = np.unique(moved, axis=0)
            fresh = wanted[locate(lines, wanted) < 0]
            lines = np.concatenate([lines, fresh])
            if len(lines) > MOST_LINES * cells:
                return None
    between = equations_of(trees, lines)
    cell = _named(between, np.concatenate([np.arange(cells), np.full(len(lines) - cells, -1)]))
    if (cell < 0).any():
        return None
    every = np.arange(cells)
    made = fold(between, cell, cells)
    both = fold(sparse.csr_array(sparse.vstack([made, equations])), every, cells)
    if not made.shape[0] == both.shape[0] == equations.shape[0]:
        return None
    variables = tuple(f"v{v + 1}" for v in range(len(trees)))
    return Layout(name=name, variables=variables, hierarchies=tuple(trees), codes=lines, cell=cell)


def _named(equations: sparse.csr_array, cell: Integers) -> Integers:
    """The cell of each line: one whose parts over some variable are all one cell is that cell too."""
    parts = sparse.coo_array(equations > 0)
    minus = sparse.coo_array(equations < 0)
    total = np.empty(equations.shape[0], np.int64)
    total[minus.coords[0]] = minus.coords[1]
    row, line = parts.coords
    while True:
        least, most = np.full(len(total), len(cell)), np.full(len(total), -1)
        np.minimum.at(least, row, cell[line])
        np.maximum.at(most, row, cell[line])
        new = np.flatnonzero((least == most) & (most >= 0) & (cell[total] < 0))
        if not len(new):
            return cell
        cell = cell.copy()
        cell[total[new]] = most[new]
