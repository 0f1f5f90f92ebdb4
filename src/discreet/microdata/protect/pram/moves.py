"""Where records may go: the diagonal, the probability of leaving spread over the allowed moves, and the order of codes."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet.errors import InputError, ParameterError, near
from discreet.method import param
from discreet.microdata.protect.pram.occurrence import Occurrence
from discreet.model.contributions import Floats, Integers
from discreet.model.transition import ILL, Category, TransitionMatrix

__all__ = [
    "SEED",
    "Keep",
    "check_keep",
    "check_order",
    "diagonal",
    "invertible",
    "keep_param",
    "order_param",
    "positions",
    "spread",
]

SEED = (
    "Gouweleeuw, Kooiman, Willenborg, De Wolf (1998), Post randomisation for statistical disclosure control, JOS 14(4), 463-478"
)
"""Where PRAM and the classes of its matrices were first described."""

Keep = float | Mapping[str, float]
"""The diagonal: one probability for all categories, or one for each by its label."""


def keep_param() -> Any:
    """The parameter ``keep`` of a design: exactly the diagonal of its matrix."""
    doc = "the probability with which a record stays as it is: one number, or one for each category"
    return param(doc=doc, at_least=0, at_most=1)


def order_param() -> Any:
    """The parameter ``order`` of a design for ordered codes."""
    return param((), "the codes in their order; by default by number where all are numbers, else as text with its numbers")


def check_keep(name: str, keep: Keep) -> None:
    """Refuses a table of probabilities that holds something else."""
    if isinstance(keep, Mapping):
        for category, value in keep.items():
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
                raise ParameterError(f"{name}.keep", f"holds no probability for {category!r}", "give numbers from 0 to 1")


def check_order(name: str, order: Sequence[str]) -> None:
    """Refuses an order that names a code twice."""
    twice = [code for i, code in enumerate(order) if code in order[:i]]
    if twice:
        raise ParameterError(f"{name}.order", f"names the code {twice[0]!r} twice", "name each code once")


def diagonal(name: str, keep: Keep, occurrence: Occurrence) -> Floats:
    """The asked diagonal, of shape (categories,).

    Errors: ParameterError where a category that occurs has none.
    """
    labels = occurrence.labels
    if not isinstance(keep, Mapping):
        return np.full(len(labels), float(keep))
    absent = [label for label in labels if label not in keep]
    if absent:
        problem = f"has no number for the category {absent[0]!r}{near(absent[0], keep)}"
        raise ParameterError(f"{name}.keep", problem, "give one for each category that occurs, or one number for all")
    return np.array([keep[label] for label in labels], float)


def spread(stay: Floats, weights: Floats, occurrence: Occurrence) -> TransitionMatrix:
    """Each row stays with its probability and shares the rest out by ``weights`` over its allowed moves.

    ``stay`` of shape (categories,), ``weights`` at least 0 of shape (categories, categories), its diagonal passed over.  A
    category without any move of a weight stays as it is.
    """
    share = np.where(occurrence.allowed, weights, 0.0)
    np.fill_diagonal(share, 0.0)
    total = share.sum(axis=1)
    stay = np.where(total > 0, stay, 1.0)
    matrix = share * ((1 - stay) / np.where(total > 0, total, 1.0))[:, np.newaxis]
    np.fill_diagonal(matrix, stay)
    return TransitionMatrix(occurrence.categories, matrix)


def invertible(name: str, made: TransitionMatrix, fix: str) -> TransitionMatrix:
    """The matrix, of which estimates can be made.

    Errors: InputError with the condition number where it is singular or so close to it that estimates would be noise.
    """
    if made.condition > ILL:
        singular = made.condition > 1 / np.finfo(float).eps
        how = "is singular" if singular else f"has the condition number {made.condition:.1e}"
        problem = f"the matrix {how}, so that nobody could estimate the true counts from the release"
        raise InputError(name, problem, fix)
    return made


def positions(name: str, order: Sequence[str], occurrence: Occurrence) -> Integers:
    """The place of each category in the given order of codes, or in the natural one.

    Natural: by number where all codes are numbers, else as text in which runs of digits count as numbers, so that "5-9" comes
    before "10-14"; a compound category by its first code, then by the second.

    Errors: ParameterError where a category that occurs has no place in the given order.
    """
    labels = occurrence.labels
    if not order:
        keys = list(zip(*map(_natural, zip(*occurrence.categories, strict=True)), strict=True))
        place = np.empty(len(labels), np.int64)
        place[sorted(range(len(labels)), key=lambda k: (keys[k], occurrence.categories[k]))] = np.arange(len(labels))
        return place
    listed = {code: at for at, code in enumerate(order)}
    absent = [label for label in labels if label not in listed]
    if absent:
        problem = f"does not name the category {absent[0]!r}{near(absent[0], listed)}"
        raise ParameterError(f"{name}.order", problem, "name all categories that occur")
    return np.array([listed[label] for label in labels], np.int64)


def _natural(codes: Category) -> list[Any]:
    try:
        numbers = [float(code) for code in codes]
    except ValueError:
        numbers = [math.nan]
    if all(map(math.isfinite, numbers)):
        return numbers
    pieces = (re.split(r"(\d+)", code) for code in codes)
    return [[int(piece) if at % 2 else piece for at, piece in enumerate(split)] for split in pieces]
