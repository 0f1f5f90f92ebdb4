"""The cyclic invariant matrix: a constant flow around the categories."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from discreet.errors import InputError
from discreet.method import check_params, param
from discreet.microdata.protect.pram.invariance import circulating
from discreet.microdata.protect.pram.moves import SEED, invertible, positions
from discreet.microdata.protect.pram.occurrence import Occurrence
from discreet.model.contributions import Integers
from discreet.model.transition import TransitionMatrix

__all__ = ["InvariantCyclic"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class InvariantCyclic:
    """Each category passes on the same expected number of records to the next smaller one, the smallest to the largest.

    With the categories in the order ``T_1 ≥ T_2 ≥ … ≥ T_K`` of their counts and the ``share`` c of the smallest,
    ``p_kk = 1 − c T_K / T_k`` and ``p_kl = c T_K / T_k`` for l the next of k, 1 after K: in and out of each category go
    ``c T_K`` records on average, and no diagonal entry is below 1 − c.  Equal counts are in the order of codes.  Where
    forbidden moves part the categories into groups, each has a cycle of its own.  (The source's index of the
    next category, (k + 1) mod K, is 0 for k = K − 1; meant is (k mod K) + 1.)

    Guards against: being certain of a rare category: with c = ½ half of its records are true.
    Does not guard against: being nearly certain of a frequent one, of which hardly a record moves; conclusions from the matrix
    itself, whose stationary distribution is that of the true counts.
    """

    NAME: ClassVar[str] = "invariant-cyclic"
    SOURCE: ClassVar[str] = SEED + ", formula (4.2)"

    share: float = param(0.1, "the share of the smallest category that moves on", at_least=0, at_most=1)

    def __post_init__(self) -> None:
        check_params(self)

    @property
    def invariant(self) -> bool:
        """The counts stay as they are on average."""
        return True

    def matrix(self, occurrence: Occurrence, /) -> TransitionMatrix:
        """The matrix for these categories.

        Errors: InputError where a move of the cycle is forbidden, or the matrix has no inverse.
        """
        moves, group = circulating(self.NAME, occurrence)
        counts, size = occurrence.counts, len(group)
        following = self._following(group, occurrence)
        barred = np.flatnonzero(~moves.allowed[np.arange(size), following])
        if len(barred):
            true, released = occurrence.labels[barred[0]], occurrence.labels[following[barred[0]]]
            problem = f"the cycle from the largest to the smallest count takes {true!r} to {released!r}, which is forbidden"
            raise InputError(self.NAME, problem, "take the design 'sinkhorn' or 'target', which keep any forbidden move out")
        smallest = np.full(size, np.inf)
        np.minimum.at(smallest, group, counts)
        leaving = self.share * smallest[group] / counts
        matrix = np.diag(1 - leaving)
        matrix[np.arange(size), following] += leaving
        made = TransitionMatrix(occurrence.categories, matrix)
        return invertible(self.NAME, made, "choose a smaller share: below 1/2 there always is an inverse")

    def _following(self, group: Integers, occurrence: Occurrence) -> Integers:
        """The category after each in the cycle of its group."""
        order = np.lexsort((positions(self.NAME, (), occurrence), -occurrence.counts, group))
        first = np.searchsorted(group[order], group[order], "left")
        last = np.searchsorted(group[order], group[order], "right") - 1
        at = np.arange(len(order))
        following = np.empty(len(order), np.int64)
        following[order] = order[np.where(at == last, first, at + 1)]
        return following
