"""A matrix mixed with the identity."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.method import check_params, param
from discreet.microdata.protect.pram.invariance import check_start, diluted, start_param
from discreet.microdata.protect.pram.moves import SEED, invertible
from discreet.microdata.protect.pram.occurrence import Design, Occurrence, tells_counts
from discreet.model.transition import TransitionMatrix

__all__ = ["Mixture"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Mixture:
    """A share of the records is randomised by another design, and the others stay as they are.

    ``α P + (1 − α) I`` with P the matrix of ``start`` and α the ``share``, or the largest α up to 1 that leaves no diagonal
    entry below ``least``.  Zeros stay zeros, and what is invariant stays so.

    Guards against: what its start guards against, the less the smaller the share.
    Does not guard against: what its start does not guard against.
    """

    NAME: ClassVar[str] = "mixture"
    SOURCE: ClassVar[str] = SEED

    start: Design = start_param()  # noqa: RUF009 - a field, as all others
    share: float | None = param(None, "α, the share of the start's matrix", above=0, at_most=1)
    least: float | None = param(None, "the smallest diagonal entry that is accepted, in place of share", at_least=0, below=1)

    def __post_init__(self) -> None:
        check_params(self)
        check_start(self.NAME, self.start)
        if (self.share is None) == (self.least is None):
            raise ParameterError(self.NAME, "takes one of share and least", "give share = 0.5 or least = 0.8")

    @property
    def tells_counts(self) -> bool:
        """Whether the start does."""
        return tells_counts(self.start)

    @property
    def invariant(self) -> bool:
        """The counts stay as they are on average where those of the start do."""
        return self.start.invariant

    def matrix(self, occurrence: Occurrence, /) -> TransitionMatrix:
        """The matrix for these categories.

        Errors: InputError where it has no inverse, and those of the start.
        """
        start = self.start.matrix(occurrence).matrix
        if self.share is not None:
            matrix = self.share * start + (1 - self.share) * np.eye(len(start))
        else:
            matrix = diluted(start, self.least or 0.0)
        made = TransitionMatrix(occurrence.categories, matrix)
        return invertible(self.NAME, made, "choose a smaller share, or a larger least")
