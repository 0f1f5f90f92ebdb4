"""What a transition matrix is designed for: the categories that occur, how often, and which moves are allowed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.method import to_dict
from discreet.model.contributions import Floats
from discreet.model.transition import Category, TransitionMatrix

__all__ = ["Design", "Occurrence", "design_text", "tells_counts"]

LONGEST = 80
"""A parameter of more characters, such as the rows of a matrix, is not told in words."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Occurrence:
    """The categories of a variable in one stratum, all of which occur.

    ``counts`` of shape (categories,), above 0: records, or the weighted population where the design is to be invariant for
    that; ``allowed[k, l]`` is True where a record of category k may be released as l, on the diagonal always.
    """

    categories: tuple[Category, ...]
    counts: Floats
    allowed: NDArray[np.bool_]

    def __post_init__(self) -> None:
        size = len(self.categories)
        if self.counts.shape != (size,) or self.allowed.shape != (size, size):
            raise InputError("PRAM design", f"counts or allowed moves do not fit the {size} categories")
        if size and (not (self.counts > 0).all() or not self.allowed.diagonal().all()):
            raise InputError("PRAM design", "a category does not occur, or may not stay as it is", "leave it out")

    def __repr__(self) -> str:
        return f"Occurrence({len(self.categories)} categories)"

    @classmethod
    def of(cls, categories: list[str] | tuple[str, ...], counts: object, allowed: object = None) -> Occurrence:
        """The categories of a single variable; all moves are allowed unless it is said otherwise."""
        held = np.asarray(counts, float)
        moves = np.ones((len(categories), len(categories)), bool) if allowed is None else np.asarray(allowed, bool)
        return cls(categories=tuple((code,) for code in categories), counts=held, allowed=moves)

    @property
    def labels(self) -> list[str]:
        """The categories as people read them."""
        return [" / ".join(category) for category in self.categories]

    @property
    def all_allowed(self) -> bool:
        """No move is forbidden."""
        return bool(self.allowed.all())


@runtime_checkable
class Design(Protocol):
    """A way to make a transition matrix: a frozen dataclass with NAME, SOURCE and explained parameters."""

    NAME: ClassVar[str]
    SOURCE: ClassVar[str]

    @property
    def invariant(self) -> bool:
        """Whether the matrix leaves the counts as they are on average."""
        ...

    def matrix(self, occurrence: Occurrence, /) -> TransitionMatrix:
        """The matrix for these categories.

        Errors: InputError or ParameterError where there is none, with the reason.
        """
        ...


def tells_counts(design: Design) -> bool:
    """Whether the counts for which a matrix was made can be worked out from it: invariant ones, and such as say so."""
    return bool(design.invariant or getattr(design, "tells_counts", False))


def design_text(design: Design) -> str:
    """A design as people read it: its name, and the parameters that differ from their defaults."""
    return _text(to_dict(design) if dataclasses.is_dataclass(design) else {"method": design.NAME})


def _text(value: Any) -> str:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return f"({_text(to_dict(value))})"
    if isinstance(value, Mapping):
        given = {str(name): _text(one) for name, one in value.items()}
        method = given.pop("method", "")
        told = ", ".join(f"{name} {one}" for name, one in given.items() if len(one) <= LONGEST)
        return f"{method}, {told}" if method and told else method or f"[{told}]"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_text, value))}]"
    return f"{value:g}" if isinstance(value, float) else str(value)
