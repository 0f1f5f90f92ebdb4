"""The inequalities that every safe pattern satisfies: capacity cuts, their rounding to whole cells, and ties between cells."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from discreet.model.contributions import Floats, Integers
from discreet.model.table import Bools
from discreet.tables.suppress.cutting.pool import Pool, Row, union_row
from discreet.tables.suppress.moves.attackers import Ask, Space
from discreet.tables.suppress.moves.probing import TOLERANCE, Cut, row_prices
from discreet.tables.suppress.moves.unions import Union

__all__ = ["Cuts", "equation_prices", "rounded"]

_VIOLATED = 1e-4
_DIVISORS = 8
_SLIGHT = 0.02
"""Rounding up by less than this gains nothing but small numbers."""


class Cuts:
    """The cuts of one search, each stored once, over the columns of the cells that may be hidden."""

    def __init__(self, space: Space, choice: Bools, fixed: Bools) -> None:
        self.choice, self.columns = choice, np.flatnonzero(choice)
        self.column = np.full(space.cells, -1)
        self.column[self.columns] = np.arange(len(self.columns))
        self.pool = Pool()
        self._ties = _tying(space, choice, fixed, self.column)

    def row_of(self, cut: Cut, ask: Ask) -> Row:
        """A capacity cut as a row; for the width of a cell that is only secondary it counts while that cell is hidden."""
        mine = self.choice[cut.cells] & (cut.cells != ask.cell)
        cells, weights = self.column[cut.cells[mine]], cut.weights[mine] / cut.least
        if self.choice[ask.cell]:
            return np.append(cells, self.column[ask.cell]), np.append(weights, -1.0), 0.0
        return cells, weights, 1.0

    def keep(self, cut: Cut, ask: Ask, amount: Floats) -> bool:
        """Store a cut, and the sharper ones that rounding makes of it, where ``amount`` violates them."""
        if cut.least <= TOLERANCE:
            return False
        row, here = self.row_of(cut, ask), amount[self.columns]
        found = [other for other in (row, *rounded(row, here)) if _missing(other, here) > _VIOLATED]
        stored = [self.store(*other) for other in found]
        return any(stored)

    def store(self, cells: Integers, weights: Floats, least: float) -> bool:
        """Store any row; False where it is known already."""
        return self.pool.add(np.asarray(cells, np.int64), weights, least)

    def tie(self, amount: Floats) -> bool:
        """Store what ``amount`` violates of this: no cell is hidden alone in an equation; and whether there was anything."""
        here = amount[self.columns]
        found = False
        for cells in self._ties:
            inside = here[cells]
            for spot in np.flatnonzero(2 * inside > inside.sum() + _VIOLATED).tolist():
                weights = np.ones(len(cells))
                weights[spot] = -1.0
                found |= self.store(cells, weights, 0.0)
        return found

    def more(self, ask: Ask, amount: Floats) -> bool:
        """The plainest cut against a whole pattern: hide something more (or leave the secondary cell in question open)."""
        cells = np.flatnonzero(amount[self.columns] < 0.5)
        weights, least = np.ones(len(cells)), 1.0
        if self.choice[ask.cell]:
            cells, weights, least = np.append(cells, self.column[ask.cell]), np.append(weights, -1.0), 0.0
        return self.store(cells, weights, least)

    def union(self, union: Union, hidden: Bools) -> bool:
        """Store what rules out that these hidden cells of the equation alone are hidden."""
        cells, weights, least = union_row(union, self.choice, hidden)
        return self.store(self.column[cells], weights, least)

    @property
    def rows(self) -> list[Row]:
        """All rows stored so far."""
        return self.pool.rows

    def matrix(self, first: int) -> tuple[sparse.csr_array, Floats, Floats]:
        """The cuts from the ``first`` on, with their limits."""
        matrix, least = self.pool.matrix(len(self.columns), first)
        return matrix, least, np.full(len(least), np.inf)


def equation_prices(space: Space, ask: Ask) -> Iterator[tuple[Floats, ...]]:
    """The prices that look at one equation of the cell alone: what it does there, the other cells must undo."""
    for row in space.matrix[:, [ask.cell]].tocoo().row.tolist():
        yield tuple(row_prices(space.matrix, ask.cell, row, sign) for sign in ask.signs)


def _tying(space: Space, choice: Bools, fixed: Bools, column: Integers) -> list[Integers]:
    """The columns of each equation in which nothing can move but cells that may be hidden."""
    matrix, slack = space.matrix, space.slack_rise + space.slack_fall > 0
    ties = []
    for row in range(matrix.shape[0]):
        inside = matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]
        if (inside < space.cells).all() and not (fixed[inside].any() or slack[inside].any()) and choice[inside].any():
            ties.append(column[inside[choice[inside]]])
    return ties


def rounded(row: Row, here: Floats) -> Iterator[Row]:
    """What follows of a row for whole cells, sharpest at ``here``: divided by one of its weights and rounded up.

    With the hidden cells counted from 1 downwards, ``sum(a * x) >= b`` becomes, divided by ``d``, with ``f`` the part of
    ``b / d`` beyond a whole number, ``sum((floor(a / d) + min(frac(a / d) / f, 1)) * x) >= ceil(b / d)``.
    """
    cells, weights, least = row
    best: Row | None = None
    gained = _missing(row, here)
    for turned in (weights < 0, (weights < 0) | (here[cells] > 0.5)):
        signed = np.where(turned, -weights, weights)
        need = least - float(weights[turned].sum())
        if need <= TOLERANCE:
            continue
        sizes = np.unique(np.round(np.abs(weights), 9))
        for divisor in sizes[sizes > _SLIGHT][-_DIVISORS:].tolist():
            whole = need / divisor
            part = whole - np.floor(whole)
            if part < _SLIGHT or part > 1 - 1e-6:
                continue
            scaled = signed / divisor
            floor = np.floor(scaled + 1e-9)
            fresh = floor + np.minimum(np.maximum(scaled - floor, 0.0) / part, 1.0)
            other = (cells, np.where(turned, -fresh, fresh), float(np.ceil(whole) - fresh[turned].sum()))
            missing = _missing(other, here)
            if missing > gained + 1e-6:
                best, gained = other, missing
    if best is not None:
        yield best


def _missing(row: Row, here: Floats) -> float:
    """By how much a point violates a row, as a distance."""
    cells, weights, least = row
    return (least - float(weights @ here[cells])) / max(float(np.sqrt(weights @ weights)), 1e-9)
