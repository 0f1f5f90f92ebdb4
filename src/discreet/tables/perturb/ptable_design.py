"""P-tables made to order: the distributions of most entropy among those with mean 0 and a bounded variance."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from discreet.errors import ParameterError, SolverError
from discreet.model.contributions import Floats
from discreet.model.ptable import PTable
from discreet.solve.highs import solve
from discreet.solve.problem import Program

__all__ = ["design_counts", "design_magnitudes"]

NOTHING = 1e-9
"""A probability, and a distance between variances, that counts as 0."""

STEPS = 500
"""Newton steps before giving up; a few dozen are enough."""


@lru_cache(maxsize=64)
def design_counts(
    largest: int,
    variance: float,
    *,
    blocked: int = 0,
    stay: float = 0.0,
    monotone: bool | tuple[bool, ...] = True,
    exact: bool = False,
) -> PTable:
    """The p-table for counts whose rows have the most entropy.

    Row i = 0, 1 … holds the probabilities p_v of the changes v that lead to a count of at least 0 and are not larger than
    D (``largest``), those to the counts 1 … js (``blocked``) left out; the last row is the first one with all of −D … D.
    They maximise −Σ p_v log p_v where Σ p_v = 1, Σ v p_v = 0 and Σ v² p_v ≤ V (``variance``; = V if ``exact``), and are
    proportional to exp(λ₁ v + λ₂ v²) as long as nothing else binds: ``stay`` is the least probability of no change where
    that is allowed; ``monotone`` keeps p_v from falling on the way from the lowest v up to 0 (one answer for all rows, or
    one each for rows 1, 2 …).  Larger counts look at the last row, and 0 stays 0.

    Errors: ParameterError naming the row whose constraints no distribution meets, and the variances that it could have.
    """
    _check(largest, variance, stay)
    if not 0 <= blocked <= 1000:
        raise ParameterError(
            "blocked", f"must be at least 0 and at most 1000, not {blocked}", "the counts 1 … blocked never occur"
        )
    last = largest + blocked + (blocked > 0)
    falls = _per_row(monotone, last)
    rows = []
    for count in range(1, last + 1):
        targets = [j for j in range(max(count - largest, 0), count + largest + 1) if not 1 <= j <= blocked]
        change = np.array(targets, float) - count
        rows.append(_Row(count, change, variance, stay, falls[count - 1], exact))
    return _table(rows, "all")


@lru_cache(maxsize=64)
def design_magnitudes(
    largest: int,
    variance: float,
    steps: int,
    anchors: tuple[float, ...],
    *,
    stay: float = 0.0,
    monotone: bool | tuple[bool, ...] = True,
    exact: bool = False,
    block: str = "all",
) -> PTable:
    """The p-table for magnitudes: a row for 0 and for each of the ``anchors``, with changes in ``steps`` steps a unit.

    Otherwise as :func:`design_counts`; nothing is blocked but changes to below 0.  ``block`` names the block of the table.
    """
    _check(largest, variance, stay)
    if steps < 1 or largest * steps > 1000:
        raise ParameterError("steps", f"must be at least 1 and at most {1000 // largest}, not {steps}")
    if not anchors or any(after <= before for before, after in pairwise((0.0, *anchors))):
        raise ParameterError("anchors", "must rise, and start above 0", "give for example (1, 3, 5)")
    if any(anchor * steps != round(anchor * steps) for anchor in anchors):
        raise ParameterError("anchors", f"must be multiples of the step 1/{steps}", "give for example (1, 3, 5)")
    falls = _per_row(monotone, len(anchors))
    rows = []
    for anchor, fall in zip(anchors, falls, strict=True):
        lowest = max(round(-anchor * steps), -largest * steps)
        rows.append(_Row(anchor, np.arange(lowest, largest * steps + 1) / steps, variance, stay, fall, exact))
    return _table(rows, block)


def _check(largest: int, variance: float, stay: float) -> None:
    if not 1 <= largest <= 1000:
        raise ParameterError("largest", f"must be at least 1 and at most 1000, not {largest}", "the largest change, up or down")
    if not 0 < variance < math.inf:
        raise ParameterError("variance", f"must be above 0, not {variance:g}", "the variance of the change")
    if not 0 <= stay < 1:
        raise ParameterError("stay", f"must be at least 0 and below 1, not {stay:g}", "the least probability of no change")


def _per_row(monotone: bool | Sequence[bool], rows: int) -> Sequence[bool]:
    if isinstance(monotone, bool):
        return [monotone] * rows
    if len(monotone) != rows:
        raise ParameterError(
            "monotone", f"has {len(monotone)} answers for {rows} rows", "give one answer, or one a row from 1 on"
        )
    return monotone


def _table(rows: Sequence[_Row], block: str) -> PTable:
    found = [row.solve() for row in rows]
    count = np.concatenate([[0.0], *(np.full(len(row.change), float(row.count)) for row in rows)])
    change = np.concatenate([[0.0], *(row.change for row in rows)])
    return PTable.of(count, change, np.concatenate([[1.0], *found]), block=block)


@dataclasses.dataclass(frozen=True)
class _Row:
    """One row: what its distribution must keep, as ``matrix @ p <= bound``, with equality where ``equal``."""

    count: float
    change: Floats
    variance: float
    stay: float
    monotone: bool
    exact: bool

    def solve(self) -> Floats:
        """The probabilities of the changes."""
        matrix, bound, equal = self._constraints()
        least = self._least(matrix, bound, equal)
        if least is None:
            raise ParameterError(*self._explain())
        held = np.ones(len(self.change), bool)
        if least < NOTHING:
            held = self._possible(matrix, bound, equal)
        p = np.zeros(len(self.change))
        p[held] = _most_entropy(matrix[:, held], bound, equal)
        return np.asarray(p / p.sum())

    def _constraints(self, *, varied: bool = True) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        v = self.change
        rows = [v / abs(v).max()]
        bound, equal = [0.0], [True]
        if varied:
            rows.append(v**2 / self.variance)
            bound.append(1.0)
            equal.append(self.exact)
        if self.stay and (v == 0).any():
            rows.append(np.where(v == 0, -1.0, 0.0))
            bound.append(-self.stay)
            equal.append(False)
        if self.monotone:
            for k in np.flatnonzero(v[1:] <= 0):
                rows.append((np.arange(len(v)) == k) * 1.0 - (np.arange(len(v)) == k + 1))
                bound.append(0.0)
                equal.append(False)
        return np.array(rows), np.array(bound), np.array(equal)

    def _program(self, cost: Floats, matrix: Floats, bound: Floats, equal: NDArray[np.bool_]) -> Program:
        lines = np.vstack([np.ones(matrix.shape[1]), matrix])
        lower = np.concatenate([[1.0], np.where(equal, bound, -np.inf)])
        return Program.of(cost, lines, lower, np.concatenate([[1.0], bound]))

    def _least(self, matrix: Floats, bound: Floats, equal: NDArray[np.bool_]) -> float | None:
        """The least probability that some change must be given at best; None where no distribution fits."""
        size = len(self.change)
        share = np.vstack(
            [np.append(matrix, np.zeros((len(matrix), 1)), axis=1), np.append(-np.eye(size), np.ones((size, 1)), axis=1)]
        )
        lines = np.vstack([np.append(np.ones(size), 0.0), share])
        lower = np.concatenate([[1.0], np.where(equal, bound, -np.inf), np.full(size, -np.inf)])
        cost = np.append(np.zeros(size), -1.0)
        found = solve(Program.of(cost, lines, lower, np.concatenate([[1.0], bound, np.zeros(size)])))
        return -found.objective if found.optimal else None

    def _possible(self, matrix: Floats, bound: Floats, equal: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The changes that are not forced to have probability 0."""
        most = [solve(self._program(-unit, matrix, bound, equal)).objective for unit in np.eye(len(self.change))]
        return np.asarray(np.array(most) < -NOTHING)

    def _explain(self) -> tuple[str, str, str]:
        """Why no distribution fits, in the words of an error."""
        free = self._constraints(varied=False)
        low, high = (solve(self._program(sign * self.change**2, *free)) for sign in (1.0, -1.0))
        changes = ", ".join(f"{v:g}" for v in self.change[:12]) + (" …" if len(self.change) > 12 else "")
        where = f"row {self.count:g} of the p-table"
        also = " that stay as often as asked" if self.stay and (self.change == 0).any() else ""
        also += ", not falling up to 0," if self.monotone and (self.change[1:] <= 0).any() else ""
        if not low.optimal:
            return (
                where,
                f"no distribution of the changes {changes}{also} has mean 0",
                "allow larger changes, or block fewer counts",
            )
        problem = (
            f"distributions of the changes {changes}{also} with mean 0 have variances from {low.objective:.6g} to "
            f"{-high.objective:.6g}, and not {'' if self.exact else 'at most '}{self.variance:g}"
        )
        bound = "a variance in that range" if self.exact else f"a variance of at least {low.objective:.6g}"
        return where, problem, f"ask for {bound}, allow larger changes, block fewer counts, or ask less of the form"


def _most_entropy(matrix: Floats, bound: Floats, equal: NDArray[np.bool_]) -> Floats:
    """The distribution of most entropy with ``matrix @ p <= bound`` (or ``equal``), all of it possible.

    It is p ∝ exp(−yᵀ matrix), and the multipliers y (at least 0 of an inequality) minimise the convex function
    log Σ exp(−yᵀ matrix) + yᵀ bound: Newton steps in the multipliers that are not held at 0, shortened until it falls.
    """
    y = np.zeros(len(bound))

    def dual(multipliers: Floats) -> float:
        return float(logsumexp(-multipliers @ matrix) + multipliers @ bound)

    for _ in range(STEPS):
        weights = -y @ matrix
        p = np.asarray(np.exp(weights - logsumexp(weights)))
        slope = bound - matrix @ p
        free = equal | (y > 0) | (slope < 0)
        if np.abs(slope[free]).max(initial=0.0) < 1e-13:
            return p
        spread = matrix[free] - (matrix[free] @ p)[:, np.newaxis]
        curve = (spread * p) @ spread.T
        curve[np.diag_indices_from(curve)] += 1e-14 * max(float(np.trace(curve)), 1e-14)
        step = np.zeros(len(y))
        step[free] = np.linalg.lstsq(curve, -slope[free], rcond=None)[0]
        length, before = 1.0, dual(y)
        while length > 1e-12:
            tried = np.where(equal, y + length * step, np.maximum(y + length * step, 0.0))
            if dual(tried) <= before + 1e-4 * float(slope @ (tried - y)):
                break
            length /= 2
        else:
            break
        y = tried
    if np.abs(slope[free]).max() < NOTHING:
        return p
    raise SolverError("p-table", "its distribution of most entropy was not found", "ask for a variance further from its limits")
