"""Design columns: each is a product of functions of true categories and of numbers, so that pseudo-indicators can stand in."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from itertools import product

import numpy as np

from discreet.errors import InputError, ParameterError, near, some
from discreet.inference.pseudo import Observed
from discreet.model.contributions import Floats

__all__ = ["Column", "Merge", "Reference", "check_occurring", "columns_of", "indicator", "number", "terms_of"]

Merge = Mapping[str, Mapping[str, str]]
"""For a column, codes that the model takes together: code → the name of what it becomes."""

Reference = Mapping[str, str]
"""For a column, the code that the others are compared with."""


MOST = 1000
"""So many coefficients a model may have."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Column:
    """A column of a design: the product of ``parts``, each a value for every category of a factor, and of ``numbers``."""

    name: str
    parts: Mapping[int, Floats] = dataclasses.field(default_factory=dict)
    numbers: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Column({self.name})"

    def times(self, other: Column) -> Column:
        """The product: functions of one and the same factor become one function."""
        parts = dict(self.parts)
        for place, values in other.parts.items():
            parts[place] = parts[place] * values if place in parts else values
        name = other.name if not self.parts and not self.numbers else f"{self.name}:{other.name}"
        return Column(name=name, parts=parts, numbers=tuple(sorted((*self.numbers, *other.numbers))))

    def on(self, factor: int, size: int) -> Floats:
        """The values for the categories of a factor."""
        return self.parts.get(factor, np.ones(size))

    def released(self, observed: Observed, factors: Sequence[int]) -> Floats:
        """The part of the column that is of these factors, at their word, and of numbers, of shape (records,)."""
        found = np.ones(observed.records)
        for place in factors:
            if place in self.parts:
                factor = observed.factors[place]
                found *= (factor.plain @ self.parts[place])[factor.codes]
        for number in self.numbers:
            found *= observed.numbers[number]
        return found


def terms_of(covariates: Sequence[str], numeric: Sequence[str], interactions: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Each covariate, then each interaction.

    Errors: ParameterError for a covariate named twice, a number or an interaction of columns that are no covariates.
    """
    twice = [column for column in covariates if list(covariates).count(column) > 1]
    if twice:
        raise ParameterError("covariates", f"names {twice[0]!r} twice", "name each column once")
    _check_named("numeric", numeric, covariates)
    if isinstance(interactions, str) or any(isinstance(one, str) or len(one) < 2 for one in interactions):
        problem = "one of them has fewer than two columns"
        raise ParameterError("interactions", problem, "give a list for each interaction: [['sex', 'age']]")
    for one in interactions:
        _check_named("interactions", one, covariates)
    return [(column,) for column in covariates] + [tuple(one) for one in interactions]


def _check_named(where: str, named: Iterable[str], covariates: Sequence[str]) -> None:
    for column in named:
        if column not in covariates:
            problem = f"{column!r} is no covariate{near(column, covariates)}"
            raise ParameterError(where, problem, f"the covariates are: {', '.join(covariates)}")


def columns_of(
    observed: Observed,
    terms: Sequence[tuple[str, ...]],
    *,
    reference: Reference | None = None,
    merge: Merge | None = None,
    coding: str = "treatment",
) -> tuple[list[Column], tuple[str, ...]]:
    """The columns of a model with an intercept, and notes.

    "treatment" compares each code with the ``reference``, by default the first one; "effect" with the mean of all.
    Combinations that no category allows are left out, with a note.

    Errors: InputError for a constant covariate; ParameterError for a reference or merging of what is not there.
    """
    named = list(dict.fromkeys(column for term in terms for column in term))
    numeric = [column for column in named if column in observed.numbers or column in observed.values]
    for where, given in (("reference", reference or {}), ("merge", merge or {})):
        _check_named(where, given, [column for column in named if column not in numeric])
    single = {
        column: [_varying(observed, number(observed, column))]
        if column in numeric
        else _contrasts(observed, column, reference or {}, merge or {}, coding)
        for column in named
    }
    columns, left = [Column(name="intercept")], list[Column]()
    for term in terms:
        for parts in product(*(single[column] for column in term)):
            column = Column(name="")
            for part in parts:
                column = column.times(part)
            empty = any(not values.any() for values in column.parts.values())
            (left if empty else columns).append(column)
    if len(columns) > MOST:
        largest = max(single, key=lambda column: len(single[column]))
        problem = f"the model has {len(columns)} coefficients, most of them by {largest!r}"
        raise ParameterError("covariates", problem, "name columns of numbers in numeric=, or take codes together by merge=")
    notes = (f"left out, for no category allows them: {some([column.name for column in left])}",) if left else ()
    return columns, notes


def _contrasts(observed: Observed, column: str, reference: Reference, merge: Merge, coding: str) -> list[Column]:
    place = observed.factor(column)
    labels = _labels(observed, column, merge)
    levels = list(dict.fromkeys(labels))
    if len(levels) < 2:
        raise InputError(f"column {column!r}", "has one category only and is constant", "leave it out")
    against = reference.get(column, levels[0] if coding == "treatment" else levels[-1])
    if against not in levels:
        problem = f"column {column!r} has no code {against!r}{near(against, levels)}"
        raise ParameterError("reference", problem, f"its codes are: {some(levels)}")
    held = {level: np.array([float(label == level) for label in labels]) for level in levels}
    shift = held[against] if coding == "effect" else np.zeros(len(labels))
    return [
        Column(name=f"{column}[{level}]", parts={place: values - shift}) for level, values in held.items() if level != against
    ]


def _labels(observed: Observed, column: str, merge: Merge) -> list[str]:
    labels = observed.factors[observed.factor(column)].labels(column)
    renamed = merge.get(column, {})
    unknown = [code for code in renamed if code not in labels]
    if unknown:
        problem = f"column {column!r} has no code {unknown[0]!r}{near(unknown[0], labels)}"
        raise ParameterError("merge", problem, f"its codes are: {some(dict.fromkeys(labels))}")
    return [renamed.get(label, label) for label in labels]


def number(observed: Observed, column: str) -> Column:
    """A column of numbers; of a randomised one those that its categories stand for."""
    if column in observed.values:
        return Column(name=column, parts={observed.factor(column): observed.values[column]})
    return Column(name=column, numbers=(column,))


def _varying(observed: Observed, column: Column) -> Column:
    for values in (*column.parts.values(), *(observed.numbers[name] for name in column.numbers)):
        if np.ptp(values) == 0:
            raise InputError(f"column {column.name!r}", "is constant", "leave it out")
    return column


def indicator(observed: Observed, column: str, category: str | None) -> Column:
    """The response 1 for one category and 0 for others; of two categories the second is meant where none is named.

    Errors: ParameterError where the category is not there, or none is named and there are not two.
    """
    place = observed.factor(column)
    labels = observed.factors[place].labels(column)
    levels = list(dict.fromkeys(labels))
    if category is None and len(levels) != 2:
        problem = f"column {column!r} has {len(levels)} codes: {some(levels)}"
        raise ParameterError("category", problem, "say by category= which of them counts as 1")
    wanted = levels[1] if category is None else category
    if wanted not in levels:
        problem = f"column {column!r} has no code {wanted!r}{near(wanted, levels)}"
        raise ParameterError("category", problem, f"its codes are: {some(levels)}")
    if len(levels) < 2:
        raise InputError(f"column {column!r}", "has one category only and is constant", "choose another response")
    return Column(name=f"{column}[{wanted}]", parts={place: np.array([float(label == wanted) for label in labels])})


def check_occurring(observed: Observed, columns: Iterable[str], merge: Merge | None = None) -> None:
    """Refuses a code whose estimated number of records is not above 0: nothing can be said of its coefficient.

    Errors: InputError with the codes.
    """
    for column in columns:
        factor = observed.factors[observed.factor(column)]
        seen = np.bincount(factor.codes, weights=observed.weights, minlength=len(factor.pseudo))
        totals: dict[str, float] = {}
        for label, count in zip(_labels(observed, column, merge or {}), (seen @ factor.pseudo).tolist(), strict=True):
            totals[label] = totals.get(label, 0.0) + count
        rare = [label for label, total in totals.items() if total <= 1e-9 * seen.sum()]
        if rare:
            problem = f"the estimated number of records is not above 0 for the codes {some(rare)}"
            raise InputError(f"column {column!r}", problem, "take them together with others: merge={column: {code: name}}")
