"""The invariant matrix of rank one beside the identity: stay, or be drawn from the distribution of all."""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar

import numpy as np

from discreet.errors import InputError, ParameterError
from discreet.method import check_params, param
from discreet.microdata.protect.pram.invariance import circulating
from discreet.microdata.protect.pram.k_ary import check_all_allowed
from discreet.microdata.protect.pram.moves import SEED, invertible
from discreet.microdata.protect.pram.occurrence import Occurrence
from discreet.model.transition import TransitionMatrix

__all__ = ["RankOne"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class RankOne:
    """A record stays with probability a, and else is drawn anew from the distribution of all records.

    ``P = a I + (1 − a) 1 tᵀ`` with ``t_k = T_k / n``, the share of category k, so that ``Pᵀ T = T``: the counts stay as they
    are on average.  ``p_kk = a + (1 − a) t_k`` is never below a.  Its local differential privacy is
    ``ε = ln(1 + a / ((1 − a) t_min))``; for a given ε, ``a = (e^ε − 1) t_min / (1 + (e^ε − 1) t_min)``.  With forbidden moves
    t is the distribution within each group of categories that may all be exchanged, and no ε holds.

    Guards against: being certain of the category of a record; with ``epsilon``, learning more than ``e^ε`` in the odds.
    Does not guard against: conclusions from the matrix itself, which holds the distribution: ε holds for a record where the
    distribution of all is no secret.
    """

    NAME: ClassVar[str] = "rank-one"
    SOURCE: ClassVar[str] = SEED

    share: float | None = param(None, "a, the probability not to be drawn anew", above=0, at_most=1)
    epsilon: float | None = param(None, "the local differential privacy that a is chosen for, in place of share", above=0)

    def __post_init__(self) -> None:
        check_params(self)
        if (self.share is None) == (self.epsilon is None):
            raise ParameterError(self.NAME, "takes one of share and epsilon", "give share = 0.8 or epsilon = 2")

    @property
    def invariant(self) -> bool:
        """The counts stay as they are on average."""
        return True

    def matrix(self, occurrence: Occurrence, /) -> TransitionMatrix:
        """The matrix for these categories.

        Errors: InputError where categories are exchanged in part only, a move is forbidden although an ε is asked for, or a is
        so small that the matrix has no inverse.
        """
        if self.epsilon is not None:
            check_all_allowed(self.NAME, occurrence)
        moves, group = circulating(self.NAME, occurrence)
        same = group[np.newaxis] == group[:, np.newaxis]
        barred = np.argwhere(same & ~moves.allowed)
        if len(barred):
            true, released = (occurrence.labels[k] for k in barred[0])
            problem = f"{true!r} must not be released as {released!r}, but both are exchanged with other categories"
            raise InputError(self.NAME, problem, "take the design 'sinkhorn' or 'target', which keep any forbidden move out")
        drawn = np.where(same, occurrence.counts, 0.0)
        drawn /= drawn.sum(axis=1, keepdims=True)
        stay, anew = self._shares(drawn.diagonal().min(initial=1.0))
        made = TransitionMatrix(occurrence.categories, stay * np.eye(len(group)) + anew * drawn)
        return invertible(self.NAME, made, "choose a larger share or epsilon")

    def _shares(self, rarest: float) -> tuple[float, float]:
        """The probabilities a not to be drawn anew and 1 − a, where the rarest category has this share of all."""
        if self.share is not None:
            return self.share, 1 - self.share
        fading = math.exp(-(self.epsilon or 0.0))
        stay, anew = (1 - fading) * rarest, fading
        return stay / (stay + anew), anew / (stay + anew)
