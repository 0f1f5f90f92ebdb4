"""The tables without substructure that a table consists of: one total and its parts for each spanning variable."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.errors import InputError
from discreet.model.contributions import Floats, Integers
from discreet.model.equations import equations_of, fold, locate
from discreet.model.hierarchy import Hierarchy
from discreet.model.layout import Layout
from discreet.model.table import Bools, Table

__all__ = ["Subtable", "check_layouts", "subtables"]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Subtable:
    """The lines of a layout below one code a spanning variable: that code, its total, and the code's parts.

    ``cells`` has one axis for each variable with two codes or more and holds the cell of each line, -1 where the table has
    none; codes without any line are left out.  ``totals`` counts, in the same shape, how many codes of a line are totals.
    """

    cells: Integers
    totals: NDArray[np.int8]

    @property
    def side(self) -> Floats:
        """+1 and -1 such that ``side * d`` of a move ``d`` sums to 0 along every axis: -1 to the number of totals."""
        return np.where(self.totals % 2 == 1, -1.0, 1.0)

    @property
    def margin(self) -> Bools:
        """Lines with a total among their codes."""
        return np.asarray(self.totals > 0)


def subtables(table: Table) -> list[Subtable]:
    """All subtables with a cell to move, by the level of their totals and then by their codes."""
    found: list[tuple[int, Subtable]] = []
    for layout in table.layouts:
        frames = list(_frames(layout))
        sizes = [int(np.prod([len(codes) for codes in axes])) for _, axes in frames]
        wanted = np.concatenate([_lines(axes) for _, axes in frames])
        line = locate(layout.codes, wanted)
        cell = np.where(line >= 0, layout.cell[np.maximum(line, 0)], -1)
        for (level, axes), part in zip(frames, np.split(cell, np.cumsum(sizes)[:-1]), strict=True):
            cut = _trimmed(part.reshape([len(codes) for codes in axes]))
            if cut is not None:
                found.append((level, cut))
    return [subtable for _, subtable in sorted(found, key=lambda pair: pair[0])]


def _frames(layout: Layout) -> Iterator[tuple[int, list[NDArray[np.int32]]]]:
    """The level and, for each variable, the codes of every subtable, the total first."""
    each = [list(_families(hierarchy)) for hierarchy in layout.hierarchies]
    for chosen in itertools.product(*each):
        yield sum(level for level, _ in chosen), [codes for _, codes in chosen]


def _families(hierarchy: Hierarchy) -> Iterator[tuple[int, NDArray[np.int32]]]:
    """Every code with parts, in every tree: its level, and the code followed by its parts."""
    if len(hierarchy.codes) == 1:
        yield 0, np.zeros(1, np.int32)
    for tree in hierarchy.trees:
        for total in np.unique(tree[tree >= 0]).tolist():
            yield int(hierarchy.level[total]), np.concatenate([[total], np.flatnonzero(tree == total)]).astype(np.int32)


def _lines(axes: list[NDArray[np.int32]]) -> NDArray[np.int32]:
    """The codes of all lines of a subtable."""
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))


def _trimmed(cells: Integers) -> Subtable | None:
    """Without codes that have no line and variables that leave no choice; None where not even two lines are left."""
    present = cells >= 0
    if present.sum() < 2:
        return None
    axes = range(cells.ndim)
    kept = [np.flatnonzero(present.any(axis=tuple(other for other in axes if other != axis))) for axis in axes]
    totals = np.zeros(cells.shape, np.int8)
    for axis, codes in enumerate(kept):
        if len(codes) > 1:
            totals[(slice(None),) * axis + (0,)] += 1
    inside = np.ix_(*kept)
    shape = tuple(len(codes) for codes in kept if len(codes) > 1)
    return Subtable(cells=cells[inside].reshape(shape), totals=totals[inside].reshape(shape))


def check_layouts(table: Table, method: str) -> None:
    """Refuses a table with equations that its spanning variables do not explain.

    Errors: InputError.
    """
    rows = [fold(equations_of(layout.hierarchies, layout.codes), layout.cell, table.cells) for layout in table.layouts]
    every = np.arange(table.cells)
    explained = fold(sparse.csr_array(sparse.vstack(rows)), every, table.cells).shape[0] if rows else 0
    both = fold(sparse.csr_array(sparse.vstack([*rows, table.equations])), every, table.cells)
    if both.shape[0] > explained:
        raise InputError(
            method,
            f"{both.shape[0] - explained} equations of the table do not follow from its spanning variables",
            "use a method that reads the equations alone, such as gauss-suppression",
        )
