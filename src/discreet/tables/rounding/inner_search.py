"""Which of the small inner counts go up: the largest change of a sum least, and of such choices the closest."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from scipy import sparse

from discreet.model.contributions import Floats
from discreet.solve.highs import solve
from discreet.solve.problem import Program
from discreet.tables.rounding.exchange import Exchange

__all__ = ["InnerSearch"]

MOST_MOVES = 20_000

LARGE = 100_000
"""Entries of an integer program that is too large to be solved in half a minute."""

NODES = 20
"""A measure of the work on an integer program that is the same on every machine; most need fewer."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class InnerSearch:
    """Sums ``target`` become ``fixed + base * held @ up``; ``up`` is 0 or 1 for each inner count, ``held`` of 0 and 1."""

    held: sparse.csr_array
    fixed: Floats
    target: Floats
    base: float

    def best(self, start: Floats, moves: int) -> tuple[Floats, bool]:
        """The best ``up`` that is found, from a first one, and whether no other is better."""
        if self.held.nnz > LARGE:
            return self._exchanged(start, min(moves * len(start), MOST_MOVES)), False
        proved = True
        for most in range(self._least_change(), math.ceil(self._largest(start))):
            found = solve(self._within(most), nodes=NODES)
            proved &= found.status in ("optimal", "infeasible")
            if found.x is not None:
                return np.rint(found.x[: len(start)]), proved
        found = solve(self._within(self._largest(start)), nodes=NODES)
        return (start, False) if found.x is None else (np.rint(found.x[: len(start)]), proved and found.optimal)

    def _sums(self, up: Floats) -> Floats:
        return np.asarray(self.fixed + self.base * (self.held @ up))

    def _largest(self, up: Floats) -> float:
        return float(np.abs(self._sums(up) - self.target).max(initial=0.0))

    def _loss(self, sums: Floats) -> Floats:
        """Added up, twice the squared Hellinger distance."""
        return np.asarray((np.sqrt(np.maximum(sums, 0.0)) - np.sqrt(self.target)) ** 2)

    # ---------------------------------------------------------------- by exchanges

    def _exchanged(self, start: Floats, moves: int) -> Floats:
        """Close sums first; then the largest change smaller, while that costs little."""
        exchange = Exchange(
            matrix=self.held * self.base,
            start=self.fixed,
            low=np.full(len(self.target), -np.inf),
            high=np.full(len(self.target), np.inf),
            least=np.zeros(len(start)),
            most=np.ones(len(start)),
            loss=self._loss,
        )
        best = exchange.settle(start, moves, over=lambda: False)
        while (largest := self._largest(best.point)) > 1:
            tighter = dataclasses.replace(exchange, low=self.target - largest + 1, high=self.target + largest - 1)
            found = tighter.settle(best.point, moves, over=lambda: False)
            if found.excess > 0 or found.loss > best.loss * 1.05:
                break
            best = found
        return best.point

    # ---------------------------------------------------------------- by integer programs

    def _least_change(self) -> int:
        """What the largest change must be at least, as each sum goes up in steps of the base."""
        away = (self.target - self.fixed) / self.base
        nearest = np.clip(np.rint(away), 0, np.diff(self.held.indptr))
        return math.ceil(self.base * float(np.abs(away - nearest).max(initial=0.0)) - 1e-9)

    def _within(self, most: float) -> Program:
        """The program for the closest sums of which none changes by more than ``most``.

        Each sum has one of few values then, and its loss, which is convex, is the largest of the lines through two that
        follow on each other.
        """
        count, unknowns = self.held.shape
        away = self.target - self.fixed
        least = np.maximum(np.ceil((away - most) / self.base), 0.0)
        steps = (np.minimum(np.floor((away + most) / self.base), np.diff(self.held.indptr)) - least).astype(np.int64)
        row = np.repeat(np.arange(count), np.maximum(steps, 0))
        step = np.arange(len(row)) - np.searchsorted(row, row)
        low = self.fixed[row] + self.base * (least[row] + step)
        loss, above = ((np.sqrt(np.maximum(sums, 0.0)) - np.sqrt(self.target[row])) ** 2 for sums in (low, low + self.base))
        slope = (above - loss) / self.base
        # the unknowns, how many go up in each sum, and its loss
        pick = sparse.csr_array((np.ones(len(row)), (np.arange(len(row)), row)), shape=(len(row), count))
        lines = sparse.hstack([sparse.csr_array((len(row), unknowns)), -pick * (self.base * slope)[:, np.newaxis], pick])
        sums = sparse.hstack([self.held, -sparse.eye_array(count), sparse.csr_array((count, count))])
        return Program.of(
            np.concatenate([np.zeros(unknowns + count), np.ones(count)]),
            sparse.vstack([sums, lines]),
            np.concatenate([np.zeros(count), loss + slope * (self.fixed[row] - low)]),
            np.concatenate([np.zeros(count), np.full(len(row), np.inf)]),
            lower=np.concatenate([np.zeros(unknowns), least, np.zeros(count)]),
            upper=np.concatenate([np.ones(unknowns), least + steps, np.full(count, np.inf)]),
            integer=np.concatenate([np.ones(unknowns, bool), np.zeros(2 * count, bool)]),
        )
