"""Full Type I: whoever leaves is as likely to be found in one category as in any other."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from discreet.method import check_params
from discreet.microdata.protect.pram.moves import SEED, Keep, check_keep, diagonal, invertible, keep_param, spread
from discreet.microdata.protect.pram.occurrence import Occurrence
from discreet.model.transition import TransitionMatrix

__all__ = ["TypeOne"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class TypeOne:
    """A record stays with a chosen probability, and else is released as any other category with equal probability.

    ``p_kk`` is ``keep`` (of k), and ``p_kl = (1 − p_kk) / m_k`` for the ``m_k`` allowed moves of k, all K − 1 others unless
    some are forbidden.  A category without any allowed move stays as it is.  With all moves allowed the determinant is
    ``Π d_k · (1 + Σ q_k / d_k)``, where ``q_k = (1 − p_kk) / (K − 1)`` and ``d_k = p_kk − q_k``.

    Guards against: being certain of the category of a record, most where it is frequent and the number low.
    Does not guard against: finding a rare category.  Of the records released as rare few or many are true, by the counts; ask
    for the expectation ratio, or use the design "target".
    """

    NAME: ClassVar[str] = "type-1"
    SOURCE: ClassVar[str] = SEED

    keep: Keep = keep_param()  # noqa: RUF009 - a field, as all others

    def __post_init__(self) -> None:
        check_params(self)
        check_keep(self.NAME, self.keep)

    @property
    def invariant(self) -> bool:
        """The counts change on average."""
        return False

    def matrix(self, occurrence: Occurrence, /) -> TransitionMatrix:
        """The matrix for these categories.

        Errors: InputError where it has no inverse, as where two of K categories have ``keep = 1/K``.
        """
        stay = diagonal(self.NAME, self.keep, occurrence)
        made = spread(stay, np.ones((len(stay), len(stay))), occurrence)
        return invertible(self.NAME, made, "choose a larger keep: above 1/2 there always is an inverse")
