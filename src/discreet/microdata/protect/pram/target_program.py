"""The linear program behind a design by target, and the matrices it gives."""

from __future__ import annotations

import dataclasses
from functools import cached_property

import numpy as np
from scipy import sparse

from discreet.errors import SolverError
from discreet.microdata.protect.pram.occurrence import Occurrence
from discreet.microdata.protect.pram.target_balance import balanced
from discreet.microdata.protect.pram.target_rows import Asked, Columns, Ints, Moves, Rows, bounds, meaning
from discreet.model.contributions import Floats
from discreet.model.transition import TransitionMatrix
from discreet.solve.highs import solve
from discreet.solve.problem import Program

__all__ = ["Relaxed", "TargetProgram"]

_DUST = 1e-9
"""A move below this part of its unit is the solver's rounding error."""

_GOLDEN = (5**0.5 - 1) / 2
"""Its multiples, without their whole parts, are all different and spread evenly from 0 to 1."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Relaxed:
    """The matrix that breaks the targets least, and which kinds of target it breaks for which categories."""

    matrix: TransitionMatrix
    broken: tuple[tuple[str, int], ...]


class TargetProgram:
    """All matrices that meet the targets, as the points of a linear program, and those of them that are best at something."""

    def __init__(self, occurrence: Occurrence, moves: Moves, asked: Asked) -> None:
        self._occurrence, self._moves, self._asked = occurrence, moves, asked
        self._columns = Columns.of(moves, asked)
        self._meaning = meaning(occurrence, moves, asked, self._columns)
        self._bounds = list(bounds(occurrence, moves, asked, self._columns))
        self._upper = np.full(self._columns.size, np.inf)
        self._upper[np.concatenate([getattr(self._columns, name) for name in ("move", "leaving", "staying", "even")])] = 1.0

    def possible(self) -> bool:
        """Whether any matrix meets the targets."""
        return self._point(np.zeros(self._columns.size)) is not None

    def best(self) -> TransitionMatrix | None:
        """The matrix with the wished change; None where no matrix meets the targets.

        Of several, one with the largest smallest diagonal entry and the least sum of leaving shares, the first weighing as
        much as all the latter, so that no category leaves for the sake of others without need.
        """
        point = self._optimum
        if point is None:
            return None
        cost = np.zeros(self._columns.size)
        cost[self._columns.leaving], cost[self._columns.staying] = 1.0, -float(len(self._asked.most))
        settled = self._point(cost, change=float(self._change @ point))
        return self._matrix(point if settled is None else settled)

    def other_best(self) -> TransitionMatrix:
        """Another matrix with the change of the best, for what is singular by symmetry: each move has a cost of its own."""
        cost = np.zeros(self._columns.size)
        cost[self._columns.move] = np.modf((1 + np.arange(len(self._moves))) * _GOLDEN)[0]
        first = self._sure(self._optimum)
        point = self._point(cost, change=float(self._change @ first))
        return self._matrix(first if point is None else point)

    def most_staying(self) -> TransitionMatrix:
        """Of the matrices with the largest possible smallest diagonal entry, the one with the wished change."""
        columns = self._columns
        most = self._sure(self._point(_minus(columns.staying, columns.size)))
        point = self._point(self._change, columns.staying, most[columns.staying] * (1 - 1e-7))
        return self._matrix(most if point is None else point)

    def most_even(self) -> TransitionMatrix:
        """Of the matrices that use all moves at least half as evenly as can be, the one with the largest smallest diagonal."""
        columns = self._columns
        floor = self._sure(self._point(_minus(columns.even, columns.size)))[columns.even]
        return self._matrix(self._sure(self._point(_minus(columns.staying, columns.size), columns.even, floor / 2)))

    def relaxed(self) -> Relaxed:
        """The matrix for which the targets have to give way least, summed in units of probability."""
        size, targets = self._columns.size, self._targets
        count = len(targets.high)
        give = sparse.vstack([sparse.csr_array((len(self._meaning.low), count)), -sparse.eye_array(count)])
        matrix = sparse.hstack([sparse.vstack([self._meaning.matrix, targets.matrix]), give], format="csr")
        cost = np.concatenate([np.zeros(size), np.ones(count)])
        upper = np.concatenate([self._upper, np.full(count, np.inf)])
        low, high = np.concatenate([self._meaning.low, targets.low]), np.concatenate([self._meaning.high, targets.high])
        point = self._sure(_solved(cost, Rows(matrix=matrix, low=low, high=high), np.zeros(size + count), upper))
        kinds = np.repeat(np.arange(len(self._bounds)), [len(bound.high) for bound in self._bounds])
        categories = np.concatenate([bound.category for bound in self._bounds])
        rows = np.flatnonzero(point[size:] > min(1e-7, point[size:].max() / 2))
        broken = dict.fromkeys((self._bounds[kinds[row]].kind, int(categories[row])) for row in rows.tolist())
        return Relaxed(matrix=self._matrix(point), broken=tuple(broken))

    @cached_property
    def _optimum(self) -> Floats | None:
        return self._point(self._change)

    @property
    def _change(self) -> Floats:
        """The cost of change: the expected number of changed records, but for a factor."""
        counts = self._occurrence.counts
        cost = np.zeros(self._columns.size)
        cost[self._columns.leaving] = counts / np.sqrt(counts.min() * counts.max())
        return cost if self._asked.change == "least" else -cost

    @property
    def _targets(self) -> Rows:
        high = np.concatenate([bound.high for bound in self._bounds])
        matrix = sparse.vstack([bound.matrix for bound in self._bounds], format="csr")
        return Rows(matrix=matrix, low=np.full(len(high), -np.inf), high=high)

    def _point(
        self, cost: Floats, column: Ints | None = None, floor: Floats | None = None, change: float | None = None
    ) -> Floats | None:
        """The best point, where ``column`` is at least ``floor`` and the change costs as told; None where there is none."""
        lower = np.zeros(self._columns.size)
        if column is not None:
            lower[column] = floor
        ours, targets = self._meaning, self._targets
        matrices, low, high = [ours.matrix, targets.matrix], [ours.low, targets.low], [ours.high, targets.high]
        if change is not None:
            matrices.append(sparse.csr_array(self._change[np.newaxis]))
            low.append(np.array([-np.inf]))
            high.append(np.array([change + 1e-9 * abs(change)]))
        rows = Rows(matrix=sparse.vstack(matrices, format="csr"), low=np.concatenate(low), high=np.concatenate(high))
        return _solved(cost, rows, lower, self._upper)

    @staticmethod
    def _sure(point: Floats | None) -> Floats:
        if point is None:
            raise SolverError("PRAM design", "a program that has a solution was not solved", "round the targets")
        return point

    def _matrix(self, point: Floats) -> TransitionMatrix:
        """The matrix of a point: without the solver's dust, with rows that add up to 1 and, if asked, exactly invariant."""
        size, moves = len(self._asked.most), self._moves
        taken = point[self._columns.move].copy()
        taken[taken < (0.0 if self._asked.epsilon is not None else _DUST)] = 0.0
        shares = sparse.csr_array((taken * moves.unit, (moves.true, moves.released)), shape=(size, size))
        shares.eliminate_zeros()
        if self._asked.invariant:
            shares = balanced(shares, self._occurrence.counts)
        matrix = shares.toarray()
        matrix /= max(1.0, float(matrix.sum(axis=1).max(initial=0.0)))
        staying = 1.0 - matrix.sum(axis=1)
        matrix[np.diag_indices(size)] = np.where(staying < 1e-12, 0.0, staying)
        return TransitionMatrix(self._occurrence.categories, matrix)


def _minus(column: Ints, size: int) -> Floats:
    cost = np.zeros(size)
    cost[column] = -1.0
    return cost


def _solved(cost: Floats, rows: Rows, lower: Floats, upper: Floats) -> Floats | None:
    """The point of least cost, None where there is none; each row is divided by its largest coefficient first."""
    scale = np.asarray(abs(rows.matrix).max(axis=1).toarray()).ravel()
    scale[scale == 0] = 1.0
    matrix = sparse.diags_array(1 / scale) @ rows.matrix
    outcome = solve(Program.of(cost, matrix, rows.low / scale, rows.high / scale, lower=lower, upper=upper))
    if outcome.status == "infeasible":
        return None
    if outcome.x is None:
        raise SolverError("PRAM design", f"the program ended as {outcome.status!r}", "round the targets")
    return outcome.x
