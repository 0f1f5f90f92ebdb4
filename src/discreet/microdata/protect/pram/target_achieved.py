"""What a matrix that was designed by target achieves."""

from __future__ import annotations

import dataclasses

import numpy as np

from discreet.errors import InputError
from discreet.microdata.protect.pram.occurrence import Occurrence
from discreet.microdata.protect.pram.target import Target
from discreet.microdata.risk.pram import expectation_ratios
from discreet.model.contributions import Floats
from discreet.model.transition import TransitionMatrix

__all__ = ["Achieved", "achieved"]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Achieved:
    """The figures of a matrix for the categories it was made for; confidential, for they are made from true counts.

    ``staying``, ``ratio`` and ``odds`` have shape (categories,): the diagonal, the expectation ratios (0 where nothing is
    released as the category) and the largest posterior odds of each category, however it is released.  ``changes`` is the
    expected number of changed records (of the weighted population where the counts are), ``share`` its part of all; ``gap``
    the largest difference between counts and expected released counts; ``spread`` the least use of a move against an equal
    use of all moves of its category.
    """

    categories: tuple[str, ...]
    condition: float
    changes: float
    share: float
    gap: float
    epsilon: float
    spread: float
    staying: Floats
    ratio: Floats
    odds: Floats

    def __repr__(self) -> str:
        return f"Achieved({len(self.categories)} categories)"

    def __str__(self) -> str:
        return "\n".join(
            [
                f"condition number {self.condition:.4g}",
                f"expected changes {self.changes:.2f} ({self.share:.2%})",
                f"probability of staying from {self._end('staying', low=True)} to {self._end('staying')}",
                f"largest expectation ratio {self._end('ratio')}",
                f"largest posterior odds {self._end('odds')}",
                f"epsilon {self.epsilon:.4g}",
                f"spread {self.spread:.4g}",
                f"expected counts differ from counts by {self.gap:.2g} at most",
            ]
        )

    def _end(self, name: str, *, low: bool = False) -> str:
        values = getattr(self, name)
        if not len(values):
            return "none"
        at = int(np.argmin(values) if low else np.argmax(values))
        return f"{values[at]:.4g} ({self.categories[at]!r})"


def achieved(design: Target, occurrence: Occurrence, matrix: TransitionMatrix) -> Achieved:
    """What a matrix of this design achieves for these categories, whatever was asked.

    Errors: InputError where the matrix is of other categories.
    """
    if matrix.categories != occurrence.categories:
        problem = "is of other categories than those that occur"
        raise InputError("transition matrix", problem, "give the matrix of this occurrence")
    asked, moves = design.asked(occurrence), design.moves(occurrence)
    counts, P = occurrence.counts, matrix.matrix
    ratio = expectation_ratios(matrix, counts)
    changes = float(counts @ (1 - matrix.diagonal))
    leaving = (1 - matrix.diagonal)[moves.true]
    used = P[moves.true, moves.released][leaving > 0] * moves.ways[moves.true][leaving > 0] / leaving[leaving > 0]
    return Achieved(
        categories=tuple(matrix.labels),
        condition=matrix.condition,
        changes=changes,
        share=changes / float(counts.sum()) if len(counts) else 0.0,
        gap=matrix.gap(counts),
        epsilon=matrix.epsilon,
        spread=float(used.min(initial=1.0)),
        staying=matrix.diagonal,
        ratio=np.where(np.isnan(ratio), 0.0, ratio),
        odds=_largest_odds(P * asked.population[:, np.newaxis]),
    )


def _largest_odds(weight: Floats) -> Floats:
    """The largest ``w_kx : Σ_{j≠k} w_jx`` over x, of shape (categories,); infinite where only k is released as some x."""
    others = weight.sum(axis=0) - weight
    others[:, (weight > 0).sum(axis=0) == 1] = 0.0
    with np.errstate(divide="ignore"):
        odds = np.divide(weight, others, out=np.zeros_like(weight), where=weight > 0)
    return np.asarray(odds.max(axis=1, initial=0.0))
