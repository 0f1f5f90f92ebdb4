"""The columns and rows of a design by target: what may move, and what is asked of it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from discreet.microdata.protect.pram.occurrence import Occurrence
from discreet.model.contributions import Floats

__all__ = ["Asked", "Bound", "Columns", "Ints", "Moves", "Rows", "bounds", "meaning"]

Ints = NDArray[np.int64]
Term = tuple[Ints, Ints, Floats]
High = tuple[sparse.csr_array, Floats]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Asked:
    """The targets for the categories of one occurrence; arrays of shape (categories,), NaN where nothing is asked."""

    invariant: bool
    most: Floats
    least: Floats
    ratio: Floats
    odds: Floats
    population: Floats
    epsilon: float | None
    spread: float
    change: str


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Moves:
    """The moves a matrix may make: from ``true[i]`` to ``released[i]``, both positions of categories.

    ``unit[i]`` is the probability that one unit of column i stands for: ``min(1, T_l / T_k)`` under invariance, for no more
    than T_l records can enter l.  ``ways`` of shape (categories,) counts the moves of each category.
    """

    true: Ints
    released: Ints
    unit: Floats
    ways: Ints

    @classmethod
    def of(cls, occurrence: Occurrence, close: NDArray[np.bool_], *, invariant: bool) -> Moves:
        """All moves that are allowed and ``close``, both of shape (categories, categories).

        An invariant matrix sends as many records into a group of categories as out of it, so that a move from which no
        chain of moves leads back never happens; such moves are left out.
        """
        size = len(occurrence.categories)
        allowed = occurrence.allowed & close
        np.fill_diagonal(allowed, False)
        true, released = np.nonzero(allowed)
        unit = np.ones(len(true))
        if invariant:
            graph = sparse.csr_array((unit, (true, released)), shape=(size, size))
            _, part = csgraph.connected_components(graph, directed=True, connection="strong")
            returns = part[true] == part[released]
            true, released = true[returns], released[returns]
            unit = np.minimum(1.0, occurrence.counts[released] / occurrence.counts[true])
        return cls(true=true, released=released, unit=unit, ways=np.bincount(true, minlength=size))

    def __len__(self) -> int:
        return len(self.true)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Columns:
    """Which column is what.

    ``move``: each move, in its unit; ``leaving``: for each category k the share ``1 − p_kk``; ``weight``, with odds: for each
    l the weight of what is released as l, over its own; ``floor``, with epsilon: for each l the least p_kl; ``staying``: a
    floor under all diagonal entries; ``even``: a floor under all moves.
    """

    move: Ints
    leaving: Ints
    weight: Ints
    floor: Ints
    staying: Ints
    even: Ints
    size: int

    @classmethod
    def of(cls, moves: Moves, asked: Asked) -> Columns:
        """The columns that these targets need."""
        count = len(asked.most)
        has_odds, has_epsilon = bool(np.isfinite(asked.odds).any()), asked.epsilon is not None
        ends = np.cumsum([len(moves), count, count * has_odds, count * has_epsilon, 1, 1])
        move, leaving, weight, floor, staying, even = np.split(np.arange(ends[-1]), ends[:-1])
        return cls(move=move, leaving=leaving, weight=weight, floor=floor, staying=staying, even=even, size=int(ends[-1]))


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Rows:
    """Rows ``low <= matrix @ columns <= high``."""

    matrix: sparse.csr_array
    low: Floats
    high: Floats


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Bound:
    """Rows ``matrix @ columns <= high`` of one kind of target, in units of probability, with the category of each row."""

    kind: str
    category: Ints
    matrix: sparse.csr_array
    high: Floats


def meaning(occurrence: Occurrence, moves: Moves, asked: Asked, columns: Columns) -> Rows:
    """What the columns stand for, and the invariance and epsilon that are asked: rows that some matrix always obeys."""
    size, one = len(asked.most), np.ones(len(asked.most))
    every, made = np.arange(size), np.arange(len(moves))
    leave = _rows(size, columns, (moves.true, columns.move, moves.unit), (every, columns.leaving, -one))
    found = [(leave, 0 * one, 0 * one)]
    if asked.invariant:
        enter = _rows(size, columns, _entering(occurrence, moves, columns), (every, columns.leaving, -one))
        found.append((enter, 0 * one, 0 * one))
    if len(columns.weight):
        arriving = asked.population[moves.true] / asked.population[moves.released] * moves.unit
        terms = [(moves.released, columns.move, arriving), (every, columns.leaving, -one), (every, columns.weight, -one)]
        found.append((_rows(size, columns, *terms), -one, -one))
    floors = [(_rows(size, columns, (every, columns.leaving, one), (every, np.repeat(columns.staying, size), one)), one)]
    ways = np.maximum(moves.ways[moves.true], moves.ways[moves.released]).clip(min=1)
    taken = (made, columns.move, -np.ones(len(moves)))
    evenly = (made, np.repeat(columns.even, len(moves)), 1 / ways)
    floors.append((_rows(len(moves), columns, taken, evenly), np.zeros(len(moves))))
    if asked.epsilon is not None:
        floors += _epsilon(occurrence, moves, asked.epsilon, columns, invariant=asked.invariant)
    found += [(matrix, np.full(len(high), -np.inf), high) for matrix, high in floors]
    matrices, low, high = zip(*found, strict=True)
    return Rows(matrix=sparse.vstack(matrices, format="csr"), low=np.concatenate(low), high=np.concatenate(high))


def bounds(occurrence: Occurrence, moves: Moves, asked: Asked, columns: Columns) -> Iterator[Bound]:
    """What is asked of the matrix; each of these may turn out to be too much."""
    for kind, sign, limit in (("most", -1.0, asked.most), ("least", 1.0, asked.least)):
        at = np.flatnonzero(np.isfinite(limit))
        rows = np.arange(len(at))
        matrix = _rows(len(at), columns, (rows, columns.leaving[at], np.full(len(at), sign)))
        yield Bound(kind=kind, category=at, matrix=matrix, high=sign * (1 - limit[at]))
    at = np.flatnonzero(np.isfinite(asked.ratio))
    row_of = np.full(len(asked.ratio), -1)
    row_of[at] = np.arange(len(at))
    released, move, entering = _entering(occurrence, moves, columns)
    counted = row_of[released] >= 0
    enter = (row_of[released][counted], move[counted], -(asked.ratio[released] * entering)[counted])
    matrix = _rows(len(at), columns, enter, (np.arange(len(at)), columns.leaving[at], -np.ones(len(at))))
    yield Bound(kind="ratio", category=at, matrix=matrix, high=-np.ones(len(at)))
    if len(columns.weight):
        yield from _odds(moves, asked, columns)
    if asked.spread > 0:
        rows, share = np.arange(len(moves)), asked.spread / moves.ways[moves.true]
        terms = ((rows, columns.leaving[moves.true], share), (rows, columns.move, -moves.unit))
        yield Bound(kind="spread", category=moves.true, matrix=_rows(len(moves), columns, *terms), high=np.zeros(len(moves)))


def _odds(moves: Moves, asked: Asked, columns: Columns) -> Iterator[Bound]:
    """However k is released, as x: ``p_kx F_k (1 + odds) <= odds · (weight of what is released as x)``."""
    at = np.flatnonzero(np.isfinite(asked.odds))
    limit, rows = asked.odds[at], np.arange(len(at))
    terms = [(rows, columns.leaving[at], -(1 + limit)), (rows, columns.weight[at], -limit)]
    yield Bound(kind="odds", category=at, matrix=_rows(len(at), columns, *terms), high=-(1 + limit))
    move = np.flatnonzero(np.isfinite(asked.odds[moves.true]))
    true, released, rows = moves.true[move], moves.released[move], np.arange(len(move))
    limit = asked.odds[true]
    others = limit * asked.population[released] / asked.population[true]
    terms = [(rows, columns.move[move], (1 + limit) * moves.unit[move]), (rows, columns.weight[released], -others)]
    yield Bound(kind="odds", category=true, matrix=_rows(len(move), columns, *terms), high=np.zeros(len(move)))


def _epsilon(occurrence: Occurrence, moves: Moves, epsilon: float, columns: Columns, *, invariant: bool) -> list[High]:
    """Every probability of a column is at least the floor of the column and at most e^epsilon times that."""
    counts, size, made = occurrence.counts, len(occurrence.counts), np.arange(len(moves))
    unit = counts / counts.sum() if invariant else np.ones(size)
    every, one, zero = np.arange(size), np.ones(size), np.zeros(len(moves))
    found = []
    for sign, factor in ((-1.0, 1.0), (1.0, math.exp(epsilon))):
        floor = -sign * factor * unit
        taken = (made, columns.move, np.full(len(moves), sign))
        moved = _rows(len(moves), columns, taken, (made, columns.floor[moves.released], floor[moves.released] / moves.unit))
        stays = _rows(size, columns, (every, columns.leaving, -sign * one), (every, columns.floor, floor))
        found += [(moved, zero), (stays, -sign * one)]
    return found


def _entering(occurrence: Occurrence, moves: Moves, columns: Columns) -> Term:
    """What enters each category, as a share of its count."""
    counts = occurrence.counts
    return moves.released, columns.move, counts[moves.true] * moves.unit / counts[moves.released]


def _rows(size: int, columns: Columns, *terms: Term) -> sparse.csr_array:
    rows, positions, values = (np.concatenate(parts) for parts in zip(*terms, strict=True))
    return sparse.csr_array((values, (rows, positions)), shape=(size, columns.size))
