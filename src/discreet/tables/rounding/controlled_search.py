"""The search for controlled roundings: a start, then integer programs over one part of the table after the other."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from typing import Literal

import numpy as np
from scipy import sparse

from discreet.model.contributions import Floats, Integers
from discreet.model.layout import Layout
from discreet.model.table import Bools
from discreet.solve.highs import solve
from discreet.solve.problem import Outcome, Program
from discreet.tables.rounding.boxes import Boxes
from discreet.tables.rounding.exchange import Exchange, evenly
from discreet.tables.rounding.parts import Parts, parts_of

__all__ = ["Answer", "Choice", "search"]

EXACT = 1000
"""With no more unknowns than this the whole table is one integer program."""

NODES, FEW_NODES = 500, 100
"""Branches of the integer program of a whole table, and of a part of it."""

MOVES = 5_000
"""Moves of the exchange that looks for a start."""

SMALLEST, LARGEST, SHARE = 300, 1500, 0.4
"""Inner cells that are free in the first parts and in the largest, but never more than this share of all."""

LARGEST_OUTSIDE, STUCK = 1000, 10
"""No more are free while cells are outside their windows, which makes programs harder, until so many gave nothing."""

LIGHT, HEAVY = 600, 2000
"""Iterations of the simplex method: after a program of fewer the parts grow, after one of more they shrink."""

PATIENCE = 1.0
"""Seconds for the solver to jump to a first table, and for each 2,000 cells; if it can, it takes far fewer."""

IDLE = 150
"""The search ends after so many parts in a row without a better table."""

OUTSIDE = 20.0
"""What a step outside its window costs a cell, in bases, while there is no table without."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Choice:
    """What may be shown of each cell: ``base * v`` with a whole number ``low <= v <= high``; arrays over the cells.

    ``below`` is the largest whole number with ``base * below <= value``, ``rest`` what is left of the value; ``counted`` cells
    count in the distance ``|base * v - value|`` that is to be least.
    """

    base: float
    below: Floats
    rest: Floats
    low: Floats
    high: Floats
    counted: Bools

    def distance(self, v: Floats) -> float:
        """The sum of the distances of the counted cells."""
        return float(np.abs(self.base * (v - self.below) - self.rest)[self.counted].sum())

    def outside(self, v: Floats) -> Floats:
        """How many steps each cell lies outside its window."""
        return np.maximum(np.maximum(self.low - v, v - self.high), 0.0)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Answer:
    """What was found: ``v`` None where there is no table, or none was found; ``bound`` no table has a smaller distance."""

    outcome: Literal["optimal", "work done", "time limit", "infeasible", "none found"]
    v: Floats | None
    distance: float = float("nan")
    bound: float = 0.0
    rounds: int = 0

    @property
    def gap(self) -> float:
        """The part of the distance that a better table may save at most."""
        return 0.0 if self.distance <= self.bound else (self.distance - self.bound) / self.distance


@dataclasses.dataclass(kw_only=True, eq=False)
class _Columns:
    """Unknown steps away from ``below``: of which cell, up or down, how many at most, and what one costs."""

    cell: Integers
    sign: Floats
    most: Floats
    cost: Floats

    @classmethod
    def of(cls, sign: Floats, most: Floats, cost: Floats) -> _Columns:
        """One kind of step for every cell that can take any."""
        return cls(cell=np.arange(len(most)), sign=sign, most=most, cost=cost).take(most > 0)

    def take(self, chosen: Bools) -> _Columns:
        """Some of them."""
        return _Columns(cell=self.cell[chosen], sign=self.sign[chosen], most=self.most[chosen], cost=self.cost[chosen])


def search(
    equations: sparse.csr_array, grid: Choice, layouts: Sequence[Layout], *, rounds: int, gap: float, time_limit: float
) -> Answer:
    """A table on the grid for which all equations hold, of as small a distance as can be found.

    All limits but the last count work, so that every machine finds the same table unless it is stopped by the clock, or so slow
    that the solver's jump to a first table is not done within :data:`PATIENCE`.
    """
    return _Search(equations, grid, layouts, time_limit).run(rounds, gap)


class _Search:
    def __init__(self, equations: sparse.csr_array, grid: Choice, layouts: Sequence[Layout], time_limit: float) -> None:
        self.equations, self.grid, self.layouts = equations, grid, layouts
        self.by_cell = sparse.csc_array(equations)
        self.until = time.perf_counter() + time_limit
        kinds = self._kinds()
        self.first, self.columns = kinds[0], _joined(kinds)
        self.bound = float(np.minimum(grid.rest, grid.base - grid.rest)[grid.counted].sum())

    def left(self) -> float:
        return max(self.until - time.perf_counter(), 0.0)

    def over(self) -> bool:
        return self.left() <= 0

    def run(self, rounds: int, gap: float) -> Answer:
        found = self._whole()
        if isinstance(found, Answer):
            return found
        parts = parts_of(self.equations)
        v = self._jump() if found is None else found
        v = self._start(parts) if v is None else v
        if v is None:
            return Answer(outcome="time limit" if self.over() else "none found", v=None, bound=self.bound)
        v, used = self._improve(parts, v, rounds, gap)
        if self.grid.outside(v).any():
            return Answer(outcome="time limit" if self.over() else "none found", v=None, bound=self.bound, rounds=used)
        answer = Answer(outcome="work done", v=v, distance=self.grid.distance(v), bound=self.bound, rounds=used)
        if not answer.gap:
            return dataclasses.replace(answer, outcome="optimal")
        return dataclasses.replace(answer, outcome="time limit") if self.over() else answer

    # ---------------------------------------------------------------- the whole table at once

    def _whole(self) -> Answer | Floats | None:
        """The answer where one program gives it: a continuous one (two flat variables are a network), or integer if small.

        Otherwise a table to start from, if one was found.
        """
        relaxed = self._solved(self.columns, self.grid.below, whole=False, time_limit=self.left() / 4)
        if relaxed.status == "infeasible":
            return Answer(outcome="infeasible", v=None)
        if relaxed.optimal and relaxed.x is not None:
            self._take_bound(relaxed.objective)
            if np.abs(relaxed.x - np.rint(relaxed.x)).max(initial=0.0) < 1e-6:
                return self._optimal(relaxed.x)
        small = len(self.columns.cell) <= EXACT
        integer = self._solved(self.columns, self.grid.below, nodes=NODES if small else 0, time_limit=self.left())
        if integer.status == "infeasible":
            return Answer(outcome="infeasible", v=None)
        if integer.optimal and integer.x is not None:
            return self._optimal(integer.x)
        return None if integer.x is None else self._moved(self.grid.below, self.columns, integer.x)

    def _optimal(self, x: Floats) -> Answer:
        v = self._moved(self.grid.below, self.columns, x)
        distance = self.grid.distance(v)
        return Answer(outcome="optimal", v=v, distance=distance, bound=distance)

    def _take_bound(self, objective: float) -> None:
        bound = objective + float(self.grid.rest[self.grid.counted].sum())
        whole = np.array_equal(self.grid.rest, np.rint(self.grid.rest)) and self.grid.base == round(self.grid.base)
        self.bound = max(self.bound, float(np.ceil(bound - 1e-6)) if whole else bound)

    # ---------------------------------------------------------------- programs

    def _kinds(self) -> list[_Columns]:
        """Steps inside the windows: the first one up where something is left of the value, further ones up, and down."""
        grid = self.grid
        first = np.minimum(grid.rest > 0, grid.high - grid.below)
        up, down = np.ones(len(first)), -np.ones(len(first))
        kinds = (
            (up, first, grid.base - 2 * grid.rest),
            (up, grid.high - grid.below - first, grid.base * up),
            (down, grid.below - grid.low, grid.base * up),
        )
        return [_Columns.of(sign, most, np.where(grid.counted, cost, 0.0)) for sign, most, cost in kinds]

    def _outward(self, v: Floats) -> _Columns:
        """Steps outside the windows, for cells that are there now and no further than they are."""
        dear = np.full(len(v), self.grid.base * OUTSIDE)
        sign = np.ones(len(v))
        return _joined([_Columns.of(sign, v - self.grid.high, dear), _Columns.of(-sign, self.grid.low - v, dear)])

    def _solved(
        self,
        columns: _Columns,
        at: Floats,
        *,
        time_limit: float,
        whole: bool = True,
        nodes: int | None = None,
        solutions: int | None = None,
        start: Floats | None = None,
    ) -> Outcome:
        """The cheapest steps from a table ``at`` to one for which all equations hold."""
        matrix = sparse.csr_array(self.by_cell[:, columns.cell] @ sparse.diags_array(columns.sign))
        touched = np.flatnonzero(np.diff(matrix.indptr))
        missing = -(self.equations @ at)
        if np.delete(missing, touched).any():
            return Outcome(status="infeasible")
        needed = missing[touched]
        integer = np.ones(len(columns.cell), bool) if whole else None
        program = Program.of(columns.cost, matrix[touched], needed, needed, lower=0.0, upper=columns.most, integer=integer)
        return solve(program, time_limit=time_limit, nodes=nodes, solutions=solutions, start=start)

    def _moved(self, at: Floats, columns: _Columns, x: Floats) -> Floats:
        v = at.copy()
        np.add.at(v, columns.cell, columns.sign * np.rint(x))
        return v

    # ---------------------------------------------------------------- a start

    def _jump(self) -> Floats | None:
        """A table inside the narrowest windows, if the solver's own search for any such table finds one at once."""
        patience = min(self.left() / 10, PATIENCE * (1 + len(self.grid.below) / 2_000))
        found = self._solved(self.first, self.grid.below, time_limit=patience, solutions=1)
        return None if found.x is None else self._moved(self.grid.below, self.first, found.x)

    def _start(self, parts: Parts) -> Floats | None:
        """A table for which all equations hold, most cells of it inside their windows."""
        grid, inner = self.grid, parts.inner
        others = np.setdiff1d(np.arange(len(grid.below)), inner)
        zeros = np.zeros(parts.closing.shape[0])
        value = grid.below + grid.rest / grid.base
        middle = np.concatenate([value[others], zeros])
        exchange = Exchange(
            matrix=sparse.csr_array(sparse.vstack([parts.sums[others], parts.closing])),
            start=np.zeros(len(middle)),
            low=np.concatenate([grid.low[others], zeros]),
            high=np.concatenate([grid.high[others], zeros]),
            least=grid.low[inner],
            most=grid.high[inner],
            loss=lambda sums: 1e-3 * np.abs(sums - middle),
        )
        point = np.clip(grid.below[inner] + evenly(grid.rest[inner] / grid.base), grid.low[inner], grid.high[inner])
        point = exchange.settle(point, MOVES, over=self.over, feasible=True).point
        v: Floats = np.rint(parts.sums @ point)
        return None if (self.equations @ v).any() else v

    # ---------------------------------------------------------------- part after part

    def _improve(self, parts: Parts, v: Floats, rounds: int, gap: float) -> tuple[Floats, int]:
        """Solves a program over one part of the table after the other; every table on the way obeys all equations."""
        boxes, idle = Boxes(parts, self.layouts), 0
        largest = min(LARGEST, SHARE * len(parts.inner))
        size = smallest = min(SMALLEST, largest)
        for turn in range(rounds):
            outside, distance = self.grid.outside(v) > 0, self.grid.distance(v)
            astray = bool(outside.any())
            if self.over() or (not astray and (idle >= IDLE or distance - self.bound <= gap * distance)):
                return v, turn
            most = LARGEST_OUTSIDE if astray and idle < STUCK else LARGEST
            free = boxes.free(outside if astray else self._off(v), min(size, most))
            better, work = self._part(v, free)
            saved = self._price(v) - self._price(better)
            v, idle = (better if saved >= 0 else v), (0 if saved > 0 else idle + 1)
            size = max(size * 0.8, smallest) if work > HEAVY else min(size * 1.05, largest) if work < LIGHT else size
        return v, rounds

    def _off(self, v: Floats) -> Bools:
        """Counted cells that could be nearer to their value, were it for them alone."""
        off = np.abs(self.grid.base * (v - self.grid.below) - self.grid.rest)
        least = np.minimum(self.grid.rest, self.grid.base - self.grid.rest)
        return np.asarray(self.grid.counted & (off > least + 1e-9))

    def _price(self, v: Floats) -> float:
        return self.grid.distance(v) + OUTSIDE * self.grid.base * float(self.grid.outside(v).sum())

    def _part(self, v: Floats, free: Bools) -> tuple[Floats, int]:
        """The table with the best numbers in the free cells, and how much work that was."""
        columns = _joined([self.columns, self._outward(v)])
        columns = columns.take(free[columns.cell])
        at = np.where(free, self.grid.below, v)
        found = self._solved(columns, at, nodes=FEW_NODES, time_limit=self.left(), start=_steps(columns, v - at))
        if found.x is None:
            return v, found.iterations
        moved = self._moved(at, columns, found.x)
        return (v if (self.equations @ moved).any() else moved), found.iterations


def _steps(columns: _Columns, away: Floats) -> Floats:
    """The steps by which cells are so far away; kinds of columns follow each other in the order in which steps are taken."""
    left, taken = away.copy(), np.zeros(len(columns.cell))
    starts = np.flatnonzero(np.diff(columns.cell, prepend=len(away)) <= 0)
    for start, end in zip(starts, [*starts[1:], len(taken)], strict=True):
        cell, sign = columns.cell[start:end], columns.sign[start:end]
        taken[start:end] = np.clip(left[cell] * sign, 0.0, columns.most[start:end])
        left[cell] -= sign * taken[start:end]
    return taken


def _joined(several: Sequence[_Columns]) -> _Columns:
    return _Columns(
        cell=np.concatenate([one.cell for one in several]),
        sign=np.concatenate([one.sign for one in several]),
        most=np.concatenate([one.most for one in several]),
        cost=np.concatenate([one.cost for one in several]),
    )
