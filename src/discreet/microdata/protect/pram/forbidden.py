"""Which moves are allowed: categories that are kept, pairs that are forbidden, and empty codes that stay empty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError, near, some
from discreet.model.transition import Category

__all__ = ["ANY", "allowed_moves"]

ANY = "*"
"""Every category, in a pair of moves that are forbidden."""


def allowed_moves(
    where: str, categories: Sequence[Category], keep: Sequence[Any], forbid: Sequence[Any], *, empty_stays: bool
) -> NDArray[np.bool_]:
    """``[k, l]`` is True where a record of category k may be released as l; on the diagonal always.

    ``keep`` categories that no record leaves or enters, ``forbid`` pairs (from, to).  A category is named by its code, by the
    codes of a compound one (a tuple, or one text with " / " between them), and ``*`` stands for all others.  With
    ``empty_stays``, a compound category with empty codes is exchanged only with those that are empty in the same columns.

    Errors: ParameterError for a category that does not occur, and a pair of one category with itself.
    """
    size = len(categories)
    allowed = np.ones((size, size), bool)
    for entry in keep:
        at = _named(f"{where}.keep", categories, entry)
        allowed[at, :] = False
        allowed[:, at] = False
    for pair in forbid:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ParameterError(f"{where}.forbid", "holds what is no pair (from, to)", "name two categories, or '*' for all")
        start, end = (_named(f"{where}.forbid", categories, entry, every=True) for entry in pair)
        if ANY not in pair and (start & end).any():
            problem = f"forbids that {_text(pair[0])!r} stays as it is"
            raise ParameterError(f"{where}.forbid", problem, "to have it change more often, lower its diagonal entry")
        allowed[np.ix_(start, end)] = False
    if empty_stays and size:
        empty = np.array([[code == "" for code in category] for category in categories])
        allowed &= (empty[:, np.newaxis, :] == empty[np.newaxis, :, :]).all(axis=2)
    np.fill_diagonal(allowed, True)
    return allowed


def _named(where: str, categories: Sequence[Category], entry: Any, *, every: bool = False) -> NDArray[np.bool_]:
    """Which categories an entry names."""
    if every and entry == ANY:
        return np.ones(len(categories), bool)
    if isinstance(entry, tuple | list):
        found = np.array([category == tuple(map(str, entry)) for category in categories])
    else:
        found = np.array([_text(category) == str(entry) for category in categories])
    if not found.any():
        labels = [_text(category) for category in categories]
        problem = f"names {_text(entry)!r}, a category that does not occur{near(_text(entry), labels)}"
        raise ParameterError(where, problem, f"the categories are: {some(labels, 12)}")
    return found


def _text(category: Any) -> str:
    return " / ".join(map(str, category)) if isinstance(category, tuple | list) else str(category)
