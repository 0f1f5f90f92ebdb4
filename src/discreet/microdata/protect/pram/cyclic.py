"""Cyclic Type I: whoever leaves is released as the next category."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from discreet.method import check_params
from discreet.microdata.protect.pram.moves import (
    SEED,
    Keep,
    check_keep,
    check_order,
    diagonal,
    invertible,
    keep_param,
    order_param,
    positions,
    spread,
)
from discreet.microdata.protect.pram.occurrence import Occurrence
from discreet.model.contributions import Floats
from discreet.model.transition import TransitionMatrix

__all__ = ["CyclicTypeOne"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class CyclicTypeOne:
    """A record stays with a chosen probability, and else is released as the next category in the order of codes.

    ``p_kk`` is ``keep`` (of k), and ``p_kl = 1 − p_kk`` for the first allowed category l after k, where the first of all
    comes after the last.  A category without any allowed move stays as it is.  With all moves allowed the determinant is
    ``Π p_kk + (−1)^(K−1) Π (1 − p_kk)``, so that for an even K the matrix is singular where both products are equal.

    Guards against: being certain of the category of a record.
    Does not guard against: an intruder who knows that a released category has two possible origins and no more.
    """

    NAME: ClassVar[str] = "cyclic"
    SOURCE: ClassVar[str] = SEED

    keep: Keep = keep_param()  # noqa: RUF009 - a field, as all others
    order: tuple[str, ...] = order_param()

    def __post_init__(self) -> None:
        check_params(self)
        check_keep(self.NAME, self.keep)
        check_order(self.NAME, self.order)

    @property
    def invariant(self) -> bool:
        """The counts change on average."""
        return False

    def matrix(self, occurrence: Occurrence, /) -> TransitionMatrix:
        """The matrix for these categories.

        Errors: InputError where it has no inverse, as for an even number of categories with ``keep = 1/2``.
        """
        stay = diagonal(self.NAME, self.keep, occurrence)
        made = spread(stay, self._following(occurrence), occurrence)
        return invertible(self.NAME, made, "choose a larger keep: above 1/2 there always is an inverse")

    def _following(self, occurrence: Occurrence) -> Floats:
        """1 where l is the first allowed category after k, else 0."""
        place = np.argsort(np.argsort(positions(self.NAME, self.order, occurrence)))
        size = len(place)
        steps = (place[np.newaxis] - place[:, np.newaxis]) % max(size, 1)
        steps = np.where(occurrence.allowed & (steps > 0), steps, size)
        return np.asarray(steps == steps.min(axis=1, keepdims=True, initial=size), float) * (steps < size)
