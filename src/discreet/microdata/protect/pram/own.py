"""An own matrix, row by row."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from discreet.errors import InputError, ParameterError, near
from discreet.method import check_params, param
from discreet.microdata.protect.pram.moves import SEED
from discreet.microdata.protect.pram.occurrence import Occurrence
from discreet.model.contributions import Floats
from discreet.model.transition import TransitionMatrix

__all__ = ["OwnMatrix"]

CLOSE = 1e-6
"""How far the counts may be from staying as they are, as a share of all records, in a matrix that is said to be invariant."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class OwnMatrix:
    """A matrix as it is given: the probability with which each true category is released as which one.

    ``rows`` holds for each true category a table of released categories and their probabilities p_kl, where what is not named
    is 0; or one list of numbers for each category, in the order of ``categories`` by rows and by columns.  Each row adds up to
    1; columns need not.  Categories that do not occur are left out, which is possible where nothing is released as them.
    A matrix without an inverse is taken as well, since it may be meant: nobody can then estimate the true counts.

    Guards against: what the matrix was made for.
    Does not guard against: anything by itself; the report tells what the matrix protects.
    """

    NAME: ClassVar[str] = "own"
    SOURCE: ClassVar[str] = SEED

    rows: Mapping[str, Mapping[str, float]] | tuple[tuple[float, ...], ...] = param(
        doc="the probabilities: a table for each true category, or a list for each in the order of categories",
        at_least=0,
        at_most=1,
    )
    categories: tuple[str, ...] = param(
        (), "the categories by their order in the lists of rows; left out where rows are tables"
    )
    invariant: bool = param(False, "the matrix is meant to leave the counts as they are on average, which is checked")

    def __post_init__(self) -> None:
        check_params(self)
        if isinstance(self.rows, Mapping):
            if self.categories:
                raise ParameterError(f"{self.NAME}.categories", "are told by the tables of rows already", "leave them out")
            _check_tables(self.NAME, self.rows)
        elif not self.categories:
            raise ParameterError(f"{self.NAME}.categories", "are missing", "name the categories in the order of the rows")
        _ = self.whole

    @classmethod
    def of(cls, categories: Sequence[str | Sequence[str]], matrix: ArrayLike, *, invariant: bool = False) -> OwnMatrix:
        """The design of a matrix of shape (categories, categories), each category a code or the codes of a compound one."""
        given = TransitionMatrix.of(categories, matrix)
        rows = tuple(map(tuple, given.matrix.tolist()))
        return cls(rows=rows, categories=tuple(given.labels), invariant=invariant)

    @cached_property
    def whole(self) -> TransitionMatrix:
        """The matrix of all categories that were given."""
        if not isinstance(self.rows, Mapping):
            if {len(row) for row in self.rows} != {len(self.categories)} or len(self.rows) != len(self.categories):
                problem = f"are not {len(self.categories)} lists of {len(self.categories)} numbers, as there are categories"
                raise ParameterError(f"{self.NAME}.rows", problem, "give one row and one column for each category")
            return self._checked(self.categories, self.rows)
        place = {label: k for k, label in enumerate(self.rows)}
        matrix = np.zeros((len(place), len(place)))
        for label, row in self.rows.items():
            for other, chance in row.items():
                if other not in place:
                    problem = f"releases {label!r} as {other!r}, which has no row{near(other, place)}"
                    raise ParameterError(f"{self.NAME}.rows", problem, "give one row for each category")
                matrix[place[label], place[other]] = chance
        return self._checked(tuple(place), matrix)

    def _checked(self, categories: Sequence[str], matrix: ArrayLike) -> TransitionMatrix:
        """The matrix; what is wrong with it is told as a fault of the parameter that says so."""
        wrong = "categories" if len(set(categories)) < len(categories) else "rows"
        try:
            return TransitionMatrix.of(categories, matrix)
        except InputError as error:
            raise InputError(f"{self.NAME}.{wrong}", error.problem, error.fix) from None

    def matrix(self, occurrence: Occurrence, /) -> TransitionMatrix:
        """The matrix for these categories.

        Errors: InputError where a category has no row, a forbidden move or one to a category that does not occur has a
        probability, or the counts change although the matrix is said to be invariant.
        """
        made = TransitionMatrix(occurrence.categories, self._occurring(occurrence))
        barred = np.argwhere((made.matrix > 0) & ~occurrence.allowed)
        if len(barred):
            true, released = (made.labels[k] for k in barred[0])
            raise InputError(self.NAME, f"releases {true!r} as {released!r}, which is forbidden", "set that probability to 0")
        if self.invariant and made.gap(occurrence.counts) > CLOSE * occurrence.counts.sum():
            fix = "leave out invariant = true, or make it so with the design 'sinkhorn' or 'two-stage'"
            raise InputError(self.NAME, "the matrix does not leave the counts as they are", fix)
        return made

    def _occurring(self, occurrence: Occurrence) -> Floats:
        place = {label: k for k, label in enumerate(self.whole.labels)}
        absent = [label for label in occurrence.labels if label not in place]
        if absent:
            raise InputError(self.NAME, f"has no row for the category {absent[0]!r}{near(absent[0], place)}", "add it")
        taken = [place[label] for label in occurrence.labels]
        matrix = self.whole.matrix[taken]
        left = np.delete(np.arange(len(place)), taken)
        lost = np.argwhere(matrix[:, left] > 0)
        if len(lost):
            true, released = occurrence.labels[lost[0, 0]], self.whole.labels[left[lost[0, 1]]]
            problem = f"releases {true!r} as {released!r}, which does not occur"
            raise InputError(self.NAME, problem, "set that probability to 0, or give each stratum a matrix of its own")
        return np.asarray(matrix[:, taken])


def _check_tables(name: str, rows: Mapping[str, object]) -> None:
    for label, row in rows.items():
        if not isinstance(row, Mapping):
            raise ParameterError(f"{name}.rows", f"hold no table for {label!r}", "give a table of categories and probabilities")
        for other, chance in row.items():
            if isinstance(chance, bool) or not isinstance(chance, int | float):
                raise ParameterError(f"{name}.rows", f"hold no probability for {label!r} as {other!r}", "give a number")
