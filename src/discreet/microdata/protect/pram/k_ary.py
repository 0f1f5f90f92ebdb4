"""K-ary randomised response."""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar

import numpy as np

from discreet.errors import InputError
from discreet.method import check_params, param
from discreet.microdata.protect.pram.moves import invertible
from discreet.microdata.protect.pram.occurrence import Occurrence
from discreet.model.transition import TransitionMatrix

__all__ = ["KAry"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class KAry:
    """Under local differential privacy ε, the matrix whose smallest diagonal entry is the largest: randomised response.

    ``p_kk = e^ε / (e^ε + K − 1)`` and ``p_kl = 1 / (e^ε + K − 1)`` for K categories: of two true categories none makes a
    released one more than ``e^ε`` times as likely as the other does.  Forbidden moves are refused, since no ε would hold.

    Guards against: learning about a record more than a factor ``e^ε`` in the odds, whatever is known beforehand.
    Does not guard against: prior odds that are overwhelming already, and the sum of ε over several variables of one record.
    """

    NAME: ClassVar[str] = "k-ary"
    SOURCE: ClassVar[str] = (
        "Warner (1965), Randomized response, JASA 60(309), 63-69; Kairouz, Oh, Viswanath (2016), Extremal mechanisms for local "
        "differential privacy, JMLR 17(17), 1-51"
    )

    epsilon: float = param(doc="the local differential privacy: the largest logarithm of a ratio of probabilities", above=0)

    def __post_init__(self) -> None:
        check_params(self)

    @property
    def invariant(self) -> bool:
        """The counts change on average."""
        return False

    def matrix(self, occurrence: Occurrence, /) -> TransitionMatrix:
        """The matrix for these categories.

        Errors: InputError where a move is forbidden, or ε is so small that the matrix has no inverse.
        """
        check_all_allowed(self.NAME, occurrence)
        size, other = len(occurrence.categories), math.exp(-self.epsilon)
        matrix = np.full((size, size), other)
        np.fill_diagonal(matrix, 1.0)
        made = TransitionMatrix(occurrence.categories, matrix / (1 + (size - 1) * other))
        return invertible(self.NAME, made, "choose a larger epsilon")


def check_all_allowed(name: str, occurrence: Occurrence) -> None:
    """Refuses forbidden moves: a released category that only some true ones can have breaks every ε."""
    if not occurrence.all_allowed:
        true, released = (occurrence.labels[k] for k in np.argwhere(~occurrence.allowed)[0])
        problem = f"no epsilon holds where {true!r} must not be released as {released!r} and other categories may"
        raise InputError(name, problem, "allow all moves, or take a design without epsilon")
