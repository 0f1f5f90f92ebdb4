"""Type II for ordered codes: the further away a category, the less likely it is."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError, ParameterError, near
from discreet.method import check_params, param
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
from discreet.model.transition import TransitionMatrix

__all__ = ["DistanceDecay"]

FAR = 1 << 30
"""More steps than any move has."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class DistanceDecay:
    """A record stays with a chosen probability, and else moves to categories nearby more likely than to those far away.

    ``p_kk`` is ``keep`` (of k), and ``p_kl ∝ ratio ^ |k − l|`` with the places k and l in the ``order`` of codes (among those
    that occur, unless an order is given), for allowed moves of at most ``reach`` steps within one of the ``groups``; each
    row adds up to 1.  A category without any allowed move stays as it is; for one that has some, but none within reach and
    group, as where a stratum holds no other of its group, ``alone`` says what to do.

    Guards against: being certain of the category of a record, at little loss where codes nearby mean nearly the same.
    Does not guard against: an intruder who is content with nearly right, or with the group, which never changes.
    """

    NAME: ClassVar[str] = "distance-decay"
    SOURCE: ClassVar[str] = SEED

    keep: Keep = keep_param()  # noqa: RUF009 - a field, as all others
    ratio: float = param(0.5, "how likely a move is beside one that is a step shorter; 1 makes all equal", above=0, at_most=1)
    reach: int | None = param(None, "the largest number of steps of a move; by default any", unit="steps", at_least=1)
    groups: int | Mapping[str, str] | None = param(
        None,
        "moves stay within groups: of codes that begin with the same so many characters, or as told for each code",
        at_least=1,
    )
    order: tuple[str, ...] = order_param()
    alone: str = param(
        "refuse",
        "a category that could move, but not within reach and group: 'refuse', or let it 'stay' as it is",
        choices=("refuse", "stay"),
    )

    def __post_init__(self) -> None:
        check_params(self)
        check_keep(self.NAME, self.keep)
        check_order(self.NAME, self.order)
        if isinstance(self.groups, Mapping) and not all(isinstance(group, str) for group in self.groups.values()):
            raise ParameterError(f"{self.NAME}.groups", "names a group by what is no text", "name groups by texts")

    @property
    def invariant(self) -> bool:
        """The counts change on average."""
        return False

    def matrix(self, occurrence: Occurrence, /) -> TransitionMatrix:
        """The matrix for these categories.

        Errors: InputError where a category has no move within reach and group, or the matrix no inverse.
        """
        stay = diagonal(self.NAME, self.keep, occurrence)
        place = positions(self.NAME, self.order, occurrence)
        steps = np.abs(place[np.newaxis] - place[:, np.newaxis])
        open_moves = occurrence.allowed & self._grouped(occurrence) & (steps > 0)
        if self.reach is not None:
            open_moves &= steps <= self.reach
        nearest = np.where(open_moves, steps, FAR).min(axis=1, keepdims=True, initial=FAR)
        weights = np.where(open_moves, self.ratio ** np.maximum(steps - nearest, 0).astype(float), 0.0)
        alone = ~open_moves.any(axis=1) & (occurrence.allowed.sum(axis=1) > 1) & (stay < 1)
        if self.alone == "refuse" and alone.any():
            label = occurrence.labels[int(np.flatnonzero(alone)[0])]
            problem = f"the category {label!r} has nowhere to go within its reach and group"
            raise InputError(self.NAME, problem, "reach further, join its group with another, or let it stay: alone = 'stay'")
        made = spread(stay, weights, occurrence)
        return invertible(self.NAME, made, "choose a larger keep: above 1/2 there always is an inverse")

    def _grouped(self, occurrence: Occurrence) -> NDArray[np.bool_]:
        """Whether two categories are of one group."""
        labels = occurrence.labels
        if self.groups is None:
            return np.ones((len(labels), len(labels)), bool)
        if isinstance(self.groups, int):
            named = [label[: self.groups] for label in labels]
        else:
            absent = [label for label in labels if label not in self.groups]
            if absent:
                problem = f"have none for the category {absent[0]!r}{near(absent[0], self.groups)}"
                raise ParameterError(f"{self.NAME}.groups", problem, "give one for each category that occurs")
            named = [self.groups[label] for label in labels]
        _, group = np.unique(np.array(named, object), return_inverse=True)
        return np.asarray(group[np.newaxis] == group[:, np.newaxis])
