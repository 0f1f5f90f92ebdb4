"""What the owner of a file should be warned of before it is released: in words, with names of categories and strata only."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from discreet.errors import some
from discreet.microdata.risk.telling_columns import STRONG, TellingColumn
from discreet.microdata.risk.variable import StratumRisk, VariableRisk
from discreet.model.contributions import Integers
from discreet.model.transition import ILL, TransitionMatrix

Bools = NDArray[np.bool_]

__all__ = ["ILL_CONDITIONED", "pram_warnings"]

ILL_CONDITIONED = 100.0
"""The condition number from which estimates by the inverse matrix become very noisy."""

MOST_GIVEN = 5
"""How many categories that a column gives away are named."""

ODD = 6.0
"""How many standard deviations the number of changed records may lie from the expected one."""


def pram_warnings(
    variables: Sequence[VariableRisk], telling: Sequence[TellingColumn], *, rare: int, most: float
) -> tuple[str, ...]:
    """Everything that speaks against a release, a sentence or two each; of a category nothing but its name is told."""
    found = [text for each in variables for text in _of_variable(each, rare, most)]
    found += [_of_column(one) for one in telling]
    names = [each.variable.name for each in variables if math.isinf(each.epsilon)]
    if names and len(variables) > 1:
        found.append(f"All variables together have an infinite epsilon, because of {some(names)}.")
    return tuple(found)


def _of_variable(each: VariableRisk, rare: int, most: float) -> list[str]:
    name = each.variable.name
    held = [part for part in each.strata if part.records]
    found = []
    if (where := _where(held, lambda part: math.isinf(part.matrix.epsilon))) is not None:
        found.append(
            f"{name}: epsilon is infinite{where}: some released categories exclude some true ones, so that nothing bounds "
            "what a release tells of a record."
        )
    if (where := _where(held, _still)) is not None:
        found.append(f"{name}: nothing changes{where}; what is released there is the truth.")
    certain = [label for part in held if not _still(part) for label in _labels(part, _certain(part))]
    if certain:
        found.append(
            f"{name}: a record released as one of these is so for certain, as no other may become it: {some(certain)}."
        )
    easy = [label for part in held if not _still(part) for label in _labels(part, _easy(part, rare, most))]
    if easy:
        found.append(
            f"{name}: rare categories (at most {rare} records) with an expectation ratio above {most:g}, so that too many of "
            f"those released as such are so: {some(easy)}."
        )
    return found + _of_matrices(each, held)


def _of_column(one: TellingColumn) -> str:
    column = f"{one.variable}: the column {one.column!r}, which stays as it is, "
    mend = "Leave it out, randomise both as one variable, or make it coarser."
    if one.stratum:
        mend = "Make it coarser, or take other strata."
    if one.strength >= STRONG:
        return f"{column}tells it: {one.seen:.0%} of the records are guessed right by it, {one.blind:.0%} without it. {mend}"
    most = sorted(one.given.items(), key=lambda item: (-item[1], item[0]))
    listed = [f"{' / '.join(code or '(empty)' for code in category)} ({share:.0%} of its records)" for category, share in most]
    told = ", ".join(listed[:MOST_GIVEN]) + (f" and {len(listed) - MOST_GIVEN} more" if len(listed) > MOST_GIVEN else "")
    return f"{column}gives some categories away: {told}. {mend}"


def _of_matrices(each: VariableRisk, held: Sequence[StratumRisk]) -> list[str]:
    name, found = each.variable.name, []
    classes = [_classes(part.matrix) for part in held]
    if each.variable.invariant and any((sizes > 1).any() for sizes in classes):
        among = "all categories" if all(sizes.size == 1 for sizes in classes) else "categories that can become each other"
        counts = "records" if each.variable.invariant == "sample" else "the population"
        found.append(
            f"{name}: whoever has the invariant matrices has the relative true counts ({counts}) of {among}: they are the "
            "stationary vectors. Keep the matrices to yourself where these counts are confidential."
        )
        if math.isfinite(each.epsilon):
            found.append(f"{name}: its epsilon holds only where the counts that the matrices were made for count as public.")
    if (where := _where(held, lambda part: part.matrix.condition > ILL)) is not None:
        found.append(f"{name}: the matrix is singular, or nearly so{where}: unbiased estimates are impossible.")
    if (where := _where(held, lambda part: ILL_CONDITIONED < part.matrix.condition <= ILL)) is not None:
        found.append(f"{name}: the condition number is above {ILL_CONDITIONED:g}{where}: estimates will be very noisy.")
    if (where := _where(held, _odd)) is not None:
        found.append(
            f"{name}: the number of changed records lies more than {ODD:g} standard deviations from the expected one{where}: "
            "check that these are the matrices that were applied."
        )
    return found


def _where(held: Sequence[StratumRisk], test: Callable[[StratumRisk], bool]) -> str | None:
    """In which strata it holds, as the end of a clause, empty where there are no strata; None where it holds nowhere."""
    hit = [" / ".join(part.stratum) for part in held if test(part)]
    if not hit:
        return None
    return f" in {len(hit)} of {len(held)} strata ({some(hit, 3)})" if held[0].stratum else ""


def _labels(part: StratumRisk, which: Bools) -> list[str]:
    where = f" ({' / '.join(part.stratum)})" if part.stratum else ""
    labels = part.matrix.labels
    return [labels[k] + where for k in np.flatnonzero(which)]


def _still(part: StratumRisk) -> bool:
    return bool((part.matrix.diagonal[part.true > 0] == 1).all())


def _certain(part: StratumRisk) -> Bools:
    return np.isinf(part.expectation_ratios)


def _easy(part: StratumRisk, rare: int, most: float) -> Bools:
    return (part.true > 0) & (part.true <= rare) & (part.expectation_ratios > most)


def _classes(matrix: TransitionMatrix) -> Integers:
    """How many categories there are in each class of those that can become each other."""
    _, own = connected_components(matrix.matrix > 0, directed=True, connection="strong")
    return np.bincount(own)


def _odd(part: StratumRisk) -> bool:
    away = abs(float(part.changed.sum() - part.expected_changes.sum()))
    return away > ODD * part.spread_of_changes + 1
