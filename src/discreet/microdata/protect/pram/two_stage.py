"""Two-stage invariant PRAM: what a first matrix did to the counts, a second one takes back."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from discreet.errors import InputError
from discreet.method import check_params
from discreet.microdata.protect.pram.invariance import check_start, circulating, diluted, least_param, start_param
from discreet.microdata.protect.pram.moves import invertible
from discreet.microdata.protect.pram.occurrence import Design, Occurrence
from discreet.model.transition import TransitionMatrix

__all__ = ["TwoStage"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class TwoStage:
    """A first matrix and then the one that leads back to the true distribution make an invariant matrix together.

    With P the matrix of ``start``, T the true counts and ``s = Pᵀ T``, ``q_lk = p_kl T_k / s_l`` is the probability that a
    record released as l by P is truly a k, and ``R = P Q`` is invariant, ``Rᵀ T = T``.  ``T_k r_kl`` is symmetric and all
    eigenvalues of R are from 0 to 1.  ``r_kk`` can be far below ``p_kk``; with ``least``, R becomes ``α R + (1 − α) I`` with
    the largest α that leaves no diagonal entry below it.  R makes a move wherever P leads two categories to the same one.

    Guards against: being certain of the category of a record, at counts that are right on average without correction.
    Does not guard against: conclusions from the matrix itself, whose stationary distribution is that of the true counts.
    Crossings with other variables are changed: the matrix keeps its own margin and no other.
    """

    NAME: ClassVar[str] = "two-stage"
    SOURCE: ClassVar[str] = (
        "Kooiman, Willenborg, Gouweleeuw (1997), PRAM: a method for disclosure limitation of microdata, Statistics Netherlands"
    )

    start: Design = start_param()  # noqa: RUF009 - a field, as all others
    least: float = least_param()

    def __post_init__(self) -> None:
        check_params(self)
        check_start(self.NAME, self.start)

    @property
    def invariant(self) -> bool:
        """The counts stay as they are on average."""
        return True

    def matrix(self, occurrence: Occurrence, /) -> TransitionMatrix:
        """The matrix for these categories.

        Errors: InputError where R would make a forbidden move or has no inverse, and those of the start.
        """
        moves, _ = circulating(self.NAME, occurrence)
        counts = occurrence.counts
        first = self.start.matrix(moves).matrix
        flows = first * counts[:, np.newaxis]
        between = flows.sum(axis=0)
        back = np.ascontiguousarray((flows / np.where(between > 0, between, 1.0)).T)
        matrix = np.einsum("kl,lm->km", first, back)  # summed in one order, however many threads there are
        barred = np.argwhere((matrix > 0) & ~occurrence.allowed)
        if len(barred):
            true, released = (occurrence.labels[k] for k in barred[0])
            problem = f"both stages together release {true!r} as {released!r}, which is forbidden"
            raise InputError(self.NAME, problem, "take the design 'sinkhorn' or 'target', which keep any forbidden move out")
        made = TransitionMatrix(occurrence.categories, diluted(matrix, self.least))
        return invertible(self.NAME, made, "start from a matrix with a larger diagonal, or demand more by least")
