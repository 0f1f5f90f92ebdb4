"""Estimates that are never negative: truncation, iterated Bayes (EM), and the owner's calibration matrix."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from discreet.errors import InputError, ParameterError
from discreet.inference.axes import Factors, Layout
from discreet.inference.counts import estimate_counts
from discreet.inference.estimates import Estimates
from discreet.inference.survey import Survey, columns_of
from discreet.inference.tally import Tally, tally
from discreet.model.contributions import Floats
from discreet.model.released import ReleasedFile
from discreet.model.transition import TransitionMatrix

__all__ = ["Calibration", "em_counts", "truncated"]

SETTLED = 1e-12
"""Iterations stop when no share changes by more."""

MOST_ITERATIONS = 5_000
"""Of two steps each."""

BATCH = 2_000_000
"""Numbers iterated at once in the bootstrap."""

MOST_DRAWN = 100_000_000
"""Numbers held in all by the bootstrap."""

NEGATIVE = 1e-9
"""How far below 0 an unbiased estimate must be not to be taken for a rounded 0."""


def truncated(estimates: Estimates) -> Estimates:
    """The estimates with 0 for those below.

    Each cell comes closer to the truth, but the estimates are no longer unbiased, and totals are too high: add up the unbiased
    ones instead.  Standard errors stay those of the unbiased estimates; intervals are cut at 0.
    """
    cut = int(estimates.negative.sum())
    text = f"{cut} negative estimates were set to 0: sums over cells are biased upwards."
    return dataclasses.replace(
        estimates,
        estimate=np.maximum(estimates.estimate, 0.0),
        low=np.maximum(estimates.low, 0.0),
        high=np.maximum(estimates.high, 0.0),
        notes=(*estimates.notes, text),
        joint=None,
    )


def em_counts(
    file: ReleasedFile,
    by: str | Sequence[str],
    *,
    weight: str | None = None,
    replicates: int = 0,
    seed: int | None = None,
    level: float = 0.95,
) -> Estimates:
    """The most likely counts of the true codes, none of them negative, by iterated Bayes (the EM algorithm).

    ``π_k ← π_k Σ_l (N_l/n)·p_kl / Σ_m π_m·p_ml`` from equal shares on until no share changes by 1e-12, in each stratum of the
    matrices; N released counts, p the matrices, applied along their axes.  Where no unbiased estimate is negative, these are
    the same and are taken.  Where some shares are 0 the standard errors of the unbiased estimates are too large and those of
    likelihood theory wrong: with ``replicates`` and a ``seed``, intervals and variances are those of a bootstrap, N drawn anew
    from a multinomial distribution and estimated in the same way.  They then hold the chance of the sample, too.  Where the
    estimate is 0 nearly all of them are, too, and too sure; so its interval ends not below that of the unbiased estimate.

    Errors: as :func:`~discreet.inference.counts.estimate_counts`; ParameterError for replicates without a seed, a seed without
    replicates, and a bootstrap of counts that are not multinomial: weighted ones, and of households drawn together.

    Source: Van den Hout and Van der Heijden (2002), Randomized response, statistical disclosure control and
    misclassification: a review, International Statistical Review 70(2).
    """
    if (replicates > 0) != (seed is not None):
        raise ParameterError("em_counts", "replicates and seed go together", "give both for a bootstrap, or neither")
    if replicates and weight is not None:
        raise ParameterError("em_counts", "weighted counts are not multinomial", "leave out the weight, or the replicates")
    by = columns_of(by)
    unbiased = estimate_counts(file, by, weight=weight, level=level)
    sums = tally(file, by, Survey.of(file, weight, None, ()))
    if replicates and sums.together is not None:
        raise ParameterError("em_counts", "counts of households drawn as one are not multinomial", "leave out the replicates")
    found, settled = np.zeros(sums.layout.shape), True
    for part, counts in _parts(sums):
        estimate, done = _most_likely(sums.layout, part, counts[None])
        sums.layout.naive(part).add_to(found, estimate[0])
        settled &= done
    notes = [note for note in unbiased.notes if "em_counts" not in note]
    notes.append("Most likely counts, none below 0; sums over cells need not be unbiased.")
    if not settled:
        notes.append(f"Iterations were stopped at {MOST_ITERATIONS}; shares still changed by more than {SETTLED}.")
    simple = dataclasses.replace(unbiased, estimate=found, notes=tuple(notes), joint=None)
    if not replicates or seed is None:
        text = (
            "Standard errors and intervals are those of the unbiased estimates, cut at 0; ask for replicates at the boundary."
        )
        low, high = np.maximum(unbiased.low, 0.0), np.maximum(unbiased.high, 0.0)
        return dataclasses.replace(simple, low=low, high=high, notes=(*notes, text))
    drawn = _bootstrap(sums, replicates, np.random.default_rng(seed))
    tail = (1 - level) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail], axis=0)
    return dataclasses.replace(
        simple,
        variance=drawn.var(axis=0, ddof=1),
        low=np.asarray(low),
        high=np.where(found > 0, high, np.maximum(high, unbiased.high)),
        clipped=np.zeros(found.shape, bool),
        source=f"bootstrap of the released counts, {replicates} replicates, seed {seed}: sample and randomisation",
    )


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Calibration:
    """The owner's matrix of the way back: how likely each true category is for a record released in category l.

    ``Q_lk = p_kl·T_k / Σ_j p_jl·T_j``; ``T̂ = Qᵀ N`` is unbiased for the very counts T it was made with, never negative, and
    varies much less than ``P⁻ᵀ N``.  Confidential: T is the stationary distribution of P·Q, so that whoever has both matrices
    has the true counts.  Therefore it is no transition matrix, no document takes it, and nothing writes it.  For other tables
    than that of T it is biased.

    Source: Van den Hout and Elamir (2006), Statistical disclosure control using post randomisation: variants and measures for
    disclosure risk, Journal of Official Statistics 22(4).
    """

    matrix: TransitionMatrix
    true: Floats

    def __post_init__(self) -> None:
        true = np.array(self.true, float)
        if true.shape != (len(self.matrix.categories),) or not (true >= 0).all():
            problem = f"needs one true count of 0 or more for each of the {len(self.matrix.categories)} categories"
            raise InputError("calibration", problem)
        true.setflags(write=False)
        object.__setattr__(self, "true", true)

    def __repr__(self) -> str:
        return f"Calibration({len(self.matrix.categories)} categories)"

    @property
    def backward(self) -> Floats:
        """Q, rows released, columns true; a category that is never released has a row of zeros."""
        joint = self.true[:, None] * self.matrix.matrix
        sums = joint.sum(axis=0)
        return np.asarray((joint / np.where(sums > 0, sums, 1.0)).T, float)

    def estimate(self, released: ArrayLike) -> Floats:
        """The calibrated counts for released counts of shape (categories,)."""
        return np.asarray(self.backward.T @ np.asarray(released, float), float)

    @property
    def covariance(self) -> Floats:
        """Of the calibrated counts, given the true ones: ``Qᵀ (diag(Pᵀ T) − Pᵀ diag(T) P) Q``."""
        P, T, Q = self.matrix.matrix, self.true, self.backward
        return np.asarray(Q.T @ (np.diag(P.T @ T) - P.T @ np.diag(T) @ P) @ Q, float)


def _parts(sums: Tally) -> list[tuple[int, Floats]]:
    """The released counts of each stratum that has records."""
    dense = ((part, sums.dense(part, sums.first[0])) for part in range(len(sums.layout.parts)))
    return [(part, counts) for part, counts in dense if counts is not None]


def _most_likely(layout: Layout, part: int, released: Floats) -> tuple[Floats, bool]:
    """The most likely true counts for replicates of released ones, and whether the iterations settled.

    Shape (replicates, *layout.inner), the categories of a compound variable not yet added up.
    """
    cells = tuple(range(1, released.ndim))
    moment = layout.singly().factors(part).along(released, 1)
    negative = np.flatnonzero((moment < -NEGATIVE).any(axis=cells))
    found = np.maximum(moment, 0.0)
    if not len(negative):
        return found, True
    sizes = released[negative].sum(axis=cells, keepdims=True)
    shares, settled = _iterated(layout.singly().forward(part), released[negative] / sizes)
    found[negative] = np.where(shares < SETTLED, 0.0, shares) * sizes
    return found, settled


def _iterated(forward: Factors, released: Floats) -> tuple[Floats, bool]:
    """The shares to which the iterations lead, for each replicate of released shares, and whether they settled.

    Two steps tell where a sequence of them would lead; that point is taken where it is more likely than they are, and no share
    falls to less than a hundredth at once, so that none is lost on the way.
    """
    backward, cells = forward.transposed, tuple(range(1, released.ndim))

    def step(now: Floats, mixed: Floats) -> Floats:
        return now * backward.along(np.divide(released, mixed, out=np.zeros_like(released), where=released > 0), 1)

    def likelihood(mixed: Floats) -> Floats:
        logs = np.log(mixed, out=np.zeros_like(mixed), where=released > 0)
        return np.asarray((released * logs).sum(axis=cells, keepdims=True), float)

    occur = (backward.along(np.ones_like(released), 1) > 0) * 1.0
    now = occur / occur.sum(axis=cells, keepdims=True)
    mixed, change = forward.along(now, 1), np.inf
    for _ in range(MOST_ITERATIONS):
        one = step(now, mixed)
        change = float(np.abs(one - now).max())
        if change < SETTLED:
            return one, True
        two = step(one, forward.along(one, 1))
        first, second = one - now, two - 2 * one + now
        size, bend = ((part**2).sum(axis=cells, keepdims=True) for part in (first, second))
        reach = np.maximum(1.0, np.sqrt(np.divide(size, bend, out=np.ones_like(size), where=bend > 0)))
        far = np.maximum(now + 2 * reach * first + reach**2 * second, two / 100)
        far /= far.sum(axis=cells, keepdims=True)
        mixed_far, mixed_two = forward.along(far, 1), forward.along(two, 1)
        better = likelihood(mixed_far) >= likelihood(mixed_two)
        now, mixed = np.where(better, far, two), np.where(better, mixed_far, mixed_two)
    return now, False


def _bootstrap(sums: Tally, replicates: int, generator: np.random.Generator) -> Floats:
    """Most likely counts of resampled released ones, shape (replicates, *shape of the table)."""
    layout = sums.layout
    if replicates * max(math.prod(layout.shape), layout.cells) > MOST_DRAWN:
        problem = f"{replicates} replicates of {layout.cells} cells do not fit in memory"
        raise ParameterError("em_counts.replicates", problem, "ask for fewer replicates or a smaller table")
    drawn = np.zeros((replicates, *layout.shape))
    step = max(1, BATCH // layout.cells)
    for part, counts in _parts(sums):
        n, chances = int(counts.sum()), np.ravel(counts / counts.sum())
        for begin in range(0, replicates, step):
            size = min(step, replicates - begin)
            again = generator.multinomial(n, chances, size).astype(float).reshape(size, *layout.inner)
            layout.naive(part).add_to(drawn[begin : begin + size], _most_likely(layout, part, again)[0], 1)
    return drawn
