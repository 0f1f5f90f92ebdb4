"""The transition matrix of PRAM: with which probability each true category is released as which one."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from discreet.errors import InputError, near, some
from discreet.model.contributions import Floats

__all__ = ["ILL", "Category", "TransitionMatrix"]

Category = tuple[str, ...]
"""The codes of a category: one of a single variable, one for each variable of a compound one."""

TOLERANCE = 1e-9
"""How far a row may be from adding up to 1 before it is scaled to do so."""

ROUNDING = 1e-13
"""How far the sum of a row is off by rounding alone: such a row stays as it is, so that a matrix read back is the same one."""

ILL = 1e8
"""The condition number from which on estimates by the inverse matrix are refused."""


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class TransitionMatrix:
    """``matrix[k, l]`` is the probability that a record of category k is released as l; each row adds up to 1.

    ``matrix`` has shape (categories, categories), rows true, columns released.
    Source: Gouweleeuw, Kooiman, Willenborg, De Wolf (1998), Post randomisation for statistical disclosure control, JOS 14(4).
    """

    categories: tuple[Category, ...]
    matrix: Floats

    def __post_init__(self) -> None:
        matrix, size = np.array(self.matrix, float), len(self.categories)
        where = "transition matrix"
        if len(set(self.categories)) < size:
            twice = next(category for i, category in enumerate(self.categories) if category in self.categories[:i])
            raise InputError(where, f"names the category {_label(twice)!r} twice", "name each category once")
        if matrix.shape != (size, size):
            shape = " × ".join(map(str, matrix.shape))
            raise InputError(where, f"is {shape} for {size} categories", "give one row and one column for each category")
        bad = ~np.isfinite(matrix) | (matrix < -TOLERANCE) | (matrix > 1 + TOLERANCE)
        if bad.any():
            row = _label(self.categories[int(np.flatnonzero(bad.any(axis=1))[0])])
            raise InputError(where, f"row {row!r} holds what is no probability", "give numbers from 0 to 1")
        sums = matrix.sum(axis=1)
        off = np.abs(sums - 1) > TOLERANCE
        if off.any():
            row = _label(self.categories[int(np.flatnonzero(off)[0])])
            others = int(off.sum()) - 1
            problem = f"row {row!r} and {others} more do not add up to 1" if others else f"row {row!r} does not add up to 1"
            raise InputError(where, problem, "rows are true categories and columns released ones; each row must add up to 1")
        matrix = np.clip(matrix, 0.0, 1.0)
        sums = matrix.sum(axis=1, keepdims=True)
        matrix = np.where(np.abs(sums - 1) > ROUNDING, matrix / sums, matrix)
        matrix.setflags(write=False)
        object.__setattr__(self, "matrix", matrix)

    def __repr__(self) -> str:
        return f"TransitionMatrix({len(self.categories)} categories)"

    @classmethod
    def of(cls, categories: Sequence[str | Sequence[str]], matrix: ArrayLike) -> TransitionMatrix:
        """The matrix of these categories, each a code or the codes of a compound variable."""
        named = tuple((one,) if isinstance(one, str) else tuple(map(str, one)) for one in categories)
        return cls(named, np.asarray(matrix, float))

    @classmethod
    def identity(cls, categories: Sequence[str | Sequence[str]]) -> TransitionMatrix:
        """Nothing changes."""
        return cls.of(categories, np.eye(len(categories)))

    @property
    def labels(self) -> list[str]:
        """The categories as people read them."""
        return [_label(category) for category in self.categories]

    @property
    def diagonal(self) -> Floats:
        """The probability of each category to stay as it is."""
        return np.asarray(np.diag(self.matrix))

    @cached_property
    def condition(self) -> float:
        """The condition number; infinite where the matrix has no inverse."""
        if not self.categories:
            return 1.0
        values = np.linalg.svd(self.matrix, compute_uv=False)
        return float(values[0] / values[-1]) if values[-1] > 0 else math.inf

    @cached_property
    def inverse(self) -> Floats:
        """The inverse, whose rows add up to 1.

        Errors: InputError where the matrix is singular or so close to it that estimates would be noise.
        """
        if self.condition > ILL:
            how = "is singular" if math.isinf(self.condition) else f"has the condition number {self.condition:.1e}"
            problem = f"{how}: several true files explain the released one equally well"
            raise InputError("transition matrix", problem, "demand larger diagonal entries in its design")
        return np.asarray(np.linalg.inv(self.matrix), float)

    @cached_property
    def epsilon(self) -> float:
        """Local differential privacy: the largest ln(p_kl / p_k'l); infinite where a column holds zeros beside others."""
        if not self.categories:
            return 0.0
        least, most = self.matrix.min(axis=0), self.matrix.max(axis=0)
        used = most > 0
        if (least[used] == 0).any():
            return math.inf
        return float(np.log(most[used] / least[used]).max(initial=0.0))

    def gap(self, counts: ArrayLike) -> float:
        """How far the matrix is from leaving these counts as they are on average, in records: the largest ``|PᵀT − T|``."""
        held = np.asarray(counts, float)
        return float(np.abs(self.matrix.T @ held - held).max(initial=0.0))

    def position(self, category: str | Category) -> int:
        """Where a category stands."""
        wanted = (category,) if isinstance(category, str) else category
        if wanted not in self.categories:
            labels = self.labels
            problem = f"has no category {_label(wanted)!r}{near(_label(wanted), labels)}"
            raise InputError("transition matrix", problem, f"its categories are: {some(labels)}")
        return self.categories.index(wanted)


def _label(category: Category) -> str:
    return " / ".join(category)
