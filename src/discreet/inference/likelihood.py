"""The likelihood of a released response of yes or no, where the true one follows a logistic model and covariates are latent."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray
from scipy import special

from discreet.errors import InputError, some
from discreet.inference.patterns import Patterns
from discreet.model.contributions import Floats

__all__ = ["Maximum", "check_columns", "check_information", "curvature", "maximise"]

STEPS = 500
"""So many steps at most."""

ENOUGH = 1e-11
"""What a step must promise to add to the log likelihood, else the maximum is found."""

RARE = 1e-8
"""A combination of true categories with a share below this is at the boundary, unless its share still grows."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Maximum:
    """The maximum: ``params`` (p,), the ``information`` (p, p) and the ``scores`` (patterns, p), both cleared of the shares.

    ``boundary`` says how many shares are at the boundary of 0.
    """

    params: Floats
    information: Floats
    scores: Floats
    log_likelihood: float
    boundary: int
    steps: int


def maximise(patterns: Patterns, start: Floats) -> Maximum:
    """EM with Newton's steps: coefficients, and in each cell the shares of the combinations of true categories, saturated.

    Errors: InputError where the maximum is not found, or is at infinity.
    """
    state = _State(patterns, start, np.full((len(patterns.start) - 1, len(patterns.latent)), 1 / len(patterns.latent)))
    for step in range(1, STEPS + 1):
        after = state.em()
        newton, gain = after.newton()
        if gain < ENOUGH:
            return after.maximum(step)
        state = newton
    problem = f"the likelihood has no maximum that is found in {STEPS} steps"
    raise InputError("response", problem, "name fewer covariates, or take rare codes together by merge=")


class _State:
    """Coefficients and shares, and what the likelihood is there: arrays are (patterns, A), or (cells, A) for ``shares``."""

    def __init__(self, patterns: Patterns, params: Floats, shares: Floats) -> None:
        self.patterns, self.params, self.shares = patterns, params, shares
        cell = patterns.cell
        mean = special.expit((patterns.certain * params) @ patterns.latent.T)
        self.mean, moved = mean, (patterns.yes - patterns.no)[:, None]
        self.chance = patterns.no[:, None] + moved * mean[cell]
        self.given = patterns.own(patterns.chances, 0, len(cell)) * self.chance
        self.total = np.einsum("oa,oa->o", self.given, shares[cell])
        with np.errstate(divide="ignore", invalid="ignore"):
            self.value = float(patterns.weighed.count @ np.log(self.total))
            self.posterior = self.given * shares[cell] / self.total[:, None]
            slope = moved * (mean * (1 - mean))[cell] / self.chance
        self.slope = np.where(self.chance > 0, slope, 0.0)  # of the logarithm of the response's chance

    def by_cell(self, of_patterns: Floats) -> Floats:
        return np.asarray(np.add.reduceat(of_patterns, self.patterns.start[:-1], axis=0))

    def em(self) -> _State:
        """One step of EM: shares as expected, and one step of Newton's on the coefficients of the expected true file."""
        patterns = self.patterns
        expected = self.posterior * patterns.weighed.count[:, None]
        trials = self.by_cell(expected)
        shares = trials / trials.sum(axis=1, keepdims=True)
        gradient = np.sum(patterns.certain * (self.by_cell(expected * self.slope) @ patterns.latent), axis=0)
        hessian = curvature(patterns.certain, patterns.latent, trials * self.mean * (1 - self.mean))
        return self._best(np.linalg.lstsq(hessian, gradient)[0], shares - self.shares)

    def _best(self, params: NDArray[np.floating], shares: Floats, size: float = 1.0) -> _State:
        """The furthest of ever shorter steps that does not make the likelihood smaller."""
        for _ in range(40):
            tried = _State(self.patterns, self.params + size * params, np.maximum(self.shares + size * shares, 0.0))
            if tried.value >= self.value - 1e-13 * abs(self.value):
                return tried
            size /= 2
        return self

    def newton(self) -> tuple[_State, float]:
        """A step of Newton's on all at once, and what it promises to add to the log likelihood."""
        information, scores, steps = self.cleared()
        gradient = self.patterns.weighed.count @ scores
        try:
            np.linalg.cholesky(information)
            params = np.linalg.solve(information, gradient)
        except np.linalg.LinAlgError:
            return self, np.inf
        shares, gain = np.zeros_like(self.shares), float(gradient @ params)
        for cell, (free, inverse, own, cross) in enumerate(steps):
            if len(free) > 1:
                move = inverse @ (own - cross.T @ params)
                gain += float(own @ inverse @ own)
                shares[cell, free[1:]], shares[cell, free[0]] = move, -move.sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(shares < 0, self.shares / -shares, np.inf).min(initial=np.inf)
        return self._best(params, shares, min(1.0, 0.99 * float(room))), gain

    def cleared(self) -> tuple[Floats, Floats, list[tuple[list[int], Floats, Floats, Floats]]]:
        """The information on the coefficients and their scores, cleared of the shares; and the shares' own, for each cell."""
        patterns, p = self.patterns, len(self.params)
        cell, count = patterns.cell, patterns.weighed.count[:, None]
        scores = ((self.posterior * self.slope) @ patterns.latent) * patterns.certain[cell]
        bent = self.posterior * self.slope * (1 - 2 * self.mean)[cell]
        information = (scores * count).T @ scores - curvature(patterns.certain, patterns.latent, self.by_cell(bent * count))
        steps: list[tuple[list[int], Floats, Floats, Floats]] = []
        if len(patterns.latent) == 1:
            return information, scores, steps
        clear = scores.copy()
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = self.given / self.total[:, None]
        growth = self.by_cell(ratio * count) / self.by_cell(count)
        for at, (first, last) in enumerate(zip(patterns.start[:-1], patterns.start[1:], strict=True)):
            held = slice(int(first), int(last))
            free = np.flatnonzero((self.shares[at] > RARE) | ((growth[at] > 1) & (self.shares[at] > 0)))
            free = free[np.argsort(-self.shares[at, free], kind="stable")]
            u, n = ratio[held][:, free[1:]] - ratio[held][:, free[:1]], count[held]
            pull = ratio[held][:, free] * self.slope[held][:, free] * n
            each = patterns.certain[at] * patterns.latent[free]
            cross = (scores[held] * n).T @ u - (pull[:, 1:].sum(axis=0)[:, None] * each[1:] - pull[:, 0].sum() * each[0]).T
            inverse = np.linalg.pinv((u * n).T @ u, rcond=1e-10, hermitian=True) if len(free) > 1 else np.zeros((0, 0))
            information -= cross @ inverse @ cross.T
            clear[held] -= u @ (cross @ inverse).T
            steps.append((free.tolist(), inverse, np.asarray((u * n).sum(axis=0)), cross))
        return information.reshape(p, p), clear, steps

    def maximum(self, steps: int) -> Maximum:
        information, scores, _ = self.cleared()
        possible = self.by_cell(self.patterns.own(self.patterns.chances, 0, len(self.patterns.cell))) > 0
        return Maximum(
            params=self.params,
            information=information,
            scores=scores,
            log_likelihood=self.value,
            boundary=int((possible & (self.shares <= RARE)).sum()) if len(self.patterns.latent) > 1 else 0,
            steps=steps,
        )


def curvature(certain: Floats, latent: Floats, weights: Floats) -> Floats:
    """The sum of ``weights[c, a] Z Zᵀ`` over cells and combinations, where ``Z = certain[c] latent[a]``."""
    p = latent.shape[1]
    pairs = (latent[:, :, None] * latent[:, None, :]).reshape(len(latent), p * p)
    found = np.zeros((p, p))
    step = max(1, 2**22 // (p * p))
    for first in range(0, len(certain), step):
        rows = certain[first : first + step]
        if len(latent) == 1:
            found += (rows * weights[first : first + step]).T @ rows * pairs.reshape(p, p)
        else:
            inner = (weights[first : first + step] @ pairs).reshape(-1, p, p)
            found += np.einsum("cj,cjk,ck->jk", rows, inner, rows)
    return found


def check_columns(patterns: Patterns, names: tuple[str, ...]) -> None:
    """Refuses columns that depend linearly on each other whatever the true combinations are.

    Errors: InputError with their names.
    """
    full = _even(patterns)
    bad = _flat(full, np.sqrt(np.diag(full)), names, below=1e-12, load=1e-6)
    if bad:
        raise InputError("covariates", f"depend linearly on each other: {some(bad)}", "leave one of them out")


def check_information(information: Floats, patterns: Patterns, names: tuple[str, ...]) -> None:
    """Refuses coefficients on which the file says nothing: they run to infinity, or depend on each other.

    Errors: InputError with their names.
    """
    bad = _flat(information, np.sqrt(np.diag(_even(patterns))), names, below=1e-8, load=0.1)
    if bad:
        problem = f"the file says nothing of {some(bad)}: they separate the response, run to infinity or depend on each other"
        raise InputError("covariates", problem, "leave one of them out, or take codes together by merge=")


def _even(patterns: Patterns) -> Floats:
    """The sum of ZZᵀ if all combinations were as likely."""
    weights = np.add.reduceat(patterns.weighed.count, patterns.start[:-1])[:, None] / len(patterns.latent)
    return curvature(patterns.certain, patterns.latent, np.broadcast_to(weights, (len(weights), len(patterns.latent))))


def _flat(matrix: Floats, scale: Floats, names: tuple[str, ...], below: float, load: float) -> list[str]:
    """The names in directions along which a scaled matrix is all but 0."""
    scale = np.maximum(scale, 1e-150)
    eigen, vectors = np.linalg.eigh(matrix / np.outer(scale, scale))
    if eigen[0] >= below:
        return []
    loads = np.abs(vectors[:, eigen < below]).max(axis=1)
    return [name for name, own in zip(names, loads, strict=True) if own > load]
