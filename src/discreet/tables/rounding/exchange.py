"""Local search over whole numbers: one unknown up or down at a time, such that sums of them come into their windows."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

import numpy as np
from scipy import sparse

from discreet.model.contributions import Floats
from discreet.model.table import Bools

__all__ = ["Exchange", "Settled", "evenly"]

TENURE = 10
"""An unknown that was moved stays for so many moves, and up to as many again."""

GROWTH = 0.1
"""What a sum that lies outside its window weighs more for each move on which nothing gets better."""


@dataclasses.dataclass(frozen=True, eq=False)
class Settled:
    """The best point that was met: how far its sums lie outside their windows in all, and what it loses beside that."""

    point: Floats
    excess: float
    loss: float

    def better_than(self, other: Settled) -> bool:
        """Less outside the windows, or as little of that and less loss."""
        return (round(self.excess, 6), round(self.loss, 9)) < (round(other.excess, 6), round(other.loss, 9))


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Exchange:
    """Sums ``start + matrix @ point`` with ``low <= sums <= high`` and the least ``loss(sums)``; ``least <= point <= most``.

    ``loss`` gives one number a sum.  In each move the unknown goes up or down by 1 that makes the sum of loss and weighted
    excess least, also where that is more than before; it then stays for a while.  Whatever lies outside its window weighs the
    more the longer nothing gets better.  No chance: ties go to the first unknown.
    """

    matrix: sparse.csr_array
    start: Floats
    low: Floats
    high: Floats
    least: Floats
    most: Floats
    loss: Callable[[Floats], Floats]

    def settle(self, point: Floats, moves: int, *, over: Callable[[], bool], feasible: bool = False) -> Settled:
        """The best point on a way of so many moves; ``feasible`` ends it at the first inside all windows, ``over`` at once."""
        point, columns = point.copy(), sparse.csc_array(self.matrix)
        back = _by_factor(self.matrix)
        sums, weight = self.start + self.matrix @ point, np.ones(len(self.start))
        moved = np.full(len(point), -3 * TENURE, np.int64)
        tenure = min(TENURE, len(point) // 4)
        best = self._judged(point.copy(), sums)
        for move in range(moves):
            if (feasible and best.excess == 0) or over():
                break
            free = move - moved > tenure + (move * 7) % (tenure + 1)
            unknown, step, gain = self._best_move(point, sums, weight, back, free)
            if unknown < 0:
                break
            if gain >= 0:
                weight += GROWTH * (self._excess(sums) > 0)
            point[unknown] += step
            moved[unknown] = move
            at = slice(columns.indptr[unknown], columns.indptr[unknown + 1])
            sums[columns.indices[at]] += step * columns.data[at]
            now = self._judged(point, sums)
            if now.better_than(best):
                best = dataclasses.replace(now, point=point.copy())
        return best

    def _best_move(
        self, point: Floats, sums: Floats, weight: Floats, back: Mapping[float, sparse.csr_array], free: Bools
    ) -> tuple[int, int, float]:
        here = self._weighted(sums, weight)
        found = (-1, 0, np.inf)
        for step, possible in ((1, point < self.most), (-1, point > self.least)):
            change = np.zeros(len(point))
            for factor, holders in back.items():
                change += holders @ (self._weighted(sums + step * factor, weight) - here)
            change[~(possible & free)] = np.inf
            unknown = int(change.argmin())
            if change[unknown] < found[2]:
                found = (unknown, step, float(change[unknown]))
        return found

    def _weighted(self, sums: Floats, weight: Floats) -> Floats:
        return self.loss(sums) + weight * self._excess(sums)

    def _excess(self, sums: Floats) -> Floats:
        return np.maximum(np.maximum(self.low - sums, sums - self.high), 0.0)

    def _judged(self, point: Floats, sums: Floats) -> Settled:
        return Settled(point, float(self._excess(sums).sum()), float(self.loss(sums).sum()))


def _by_factor(matrix: sparse.csr_array) -> dict[float, sparse.csr_array]:
    """For each factor that occurs, a matrix that adds up over the sums in which an unknown has it."""
    return {float(factor): sparse.csr_array((matrix == factor).astype(float).T) for factor in np.unique(matrix.data)}


def evenly(share: Floats) -> Floats:
    """0 or 1 for each share in [0, 1), such that running sums differ by no more than one half."""
    return np.asarray(np.diff(np.floor(np.cumsum(share) + 0.5), prepend=0.0))
