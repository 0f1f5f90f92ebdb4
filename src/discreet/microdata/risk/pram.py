"""How well PRAM hides: what a released code says about the true one, from the transition matrix and the true counts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from discreet.errors import InputError, ParameterError
from discreet.model.contributions import Floats, Integers
from discreet.model.transition import Category, TransitionMatrix

__all__ = ["KeyCounts", "expectation_ratios", "joint_odds", "match_probability", "odds_bound", "posterior_odds"]

KeyCounts = ArrayLike | Mapping[tuple[str | Category, ...], float]
"""How often each combination occurs: an array with an axis for each variable, or those that occur with their counts."""


def expectation_ratios(matrix: TransitionMatrix, counts: ArrayLike) -> Floats:
    """True among the records released as k against false ones, as expected: ER(k) = p_kk T_k / Σ_{l≠k} p_lk T_l.

    ``counts`` T of shape (categories,), in the order of the matrix; the result has the same shape.  It is infinite where no
    other category may be released as k, and NaN where no record at all may.  An intruder who draws a record from those
    released as k meets a true one with probability ER/(1 + ER); a rare category is hidden well where ER is at most 1.

    It says nothing of an intruder who knows more of the record than this variable; for that see :func:`joint_odds`.

    Errors: InputError for counts that do not fit the matrix, are negative or are no numbers.
    Source: Gouweleeuw, Kooiman, Willenborg, De Wolf (1998), JOS 14(4).
    """
    held = _counts(matrix, counts)
    true = matrix.diagonal * held
    others = matrix.matrix.copy()
    np.fill_diagonal(others, 0.0)
    return _odds(true, others.T @ held)


def posterior_odds(
    matrix: TransitionMatrix, counts: ArrayLike, category: str | Category, released: str | Category | None = None
) -> float:
    """The odds that a record released as x is truly of category k, for who knows F: p_kx F_k : Σ_{j≠k} p_jx F_j.

    ``counts`` F of shape (categories,): the population, or the file, from which the intruder thinks the record to come;
    ``category`` k; ``released`` x, the same where it is not given.  Infinite where no other category may be released as x.

    Errors: InputError for counts that do not fit, an unknown category, or where nobody in these counts can be released as x.
    Source: Gouweleeuw, Kooiman, Willenborg, De Wolf (1998), JOS 14(4).
    """
    return joint_odds((matrix,), _counts(matrix, counts), (category,), None if released is None else (released,))


def joint_odds(
    matrices: Sequence[TransitionMatrix],
    counts: KeyCounts,
    key: Sequence[str | Category],
    released: Sequence[str | Category] | None = None,
) -> float:
    """The same for a key of several variables that were randomised independently: p is the product of their p.

    ``matrices`` one a variable, the identity for one that was left as it is; ``counts`` the joint counts F, as an array of
    shape (categories of the first variable, of the second, …) or as a mapping from combinations to counts; ``key`` the true
    combination; ``released`` the one that is seen, the same where it is not given.

    Errors: InputError for counts or keys that do not fit the matrices, or where nobody can be released like this.
    """
    if len(key) != len(matrices) or (released is not None and len(released) != len(matrices)):
        raise InputError("posterior odds", f"{len(matrices)} matrices, and a key of another length", "give a code a variable")
    own = [matrix.position(code) for matrix, code in zip(matrices, key, strict=True)]
    seen = own if released is None else [matrix.position(code) for matrix, code in zip(matrices, released, strict=True)]
    columns = [matrix.matrix[:, x] for matrix, x in zip(matrices, seen, strict=True)]
    at, held = _cells(matrices, counts)
    likely = held * np.prod([column[places] for column, places in zip(columns, at, strict=True)], axis=0)
    is_own = np.all([places == k for places, k in zip(at, own, strict=True)], axis=0)
    odds = float(_odds(likely[is_own].sum(keepdims=True), likely[~is_own].sum(keepdims=True))[0])
    if math.isnan(odds):
        raise InputError("posterior odds", "nobody in these counts can be released like this", "name another released code")
    return odds


def match_probability(matrix: TransitionMatrix, population: ArrayLike, *, sampled: float = 0.0) -> Floats:
    """The probability that the only record released with key j is that of a unit known to have it.

    It is m_jj / Σ_k F_k m_kj with m_kj = p_kj / (1 − π p_kj).
    ``population`` F of shape (categories,), of the keys in the population; ``sampled`` π the share of it in the file, each
    unit drawn independently; 0 gives the first-order form p_jj / Σ_k F_k p_kj.  The result has the shape of ``population``;
    NaN where nobody can be released as j.  For a key of several variables take the matrix of the compound variable.

    It assumes that the intruder knows the key without error and does not know who is in the sample.

    Errors: InputError for a population that does not fit the matrix, ParameterError for a share not in [0, 1).
    Source: Shlomo and Skinner (2010), Annals of Applied Statistics 4(3), 1291-1310.
    """
    held = _counts(matrix, population)
    if not 0 <= sampled < 1:
        raise ParameterError("match probability", f"{sampled:g} is no share of a population", "give a number from 0 to below 1")
    only = matrix.matrix / (1 - sampled * matrix.matrix)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.minimum(np.diag(only) / (only.T @ held), 1.0)


def odds_bound(prior: float, epsilon: float) -> float:
    """What posterior odds cannot exceed under local differential privacy: e^ε times the prior odds.

    ``epsilon`` of the variables in the key together: the sum of theirs.
    """
    return 0.0 if prior == 0 else prior * math.exp(epsilon) if epsilon < 700 else math.inf


def _counts(matrix: TransitionMatrix, counts: ArrayLike) -> Floats:
    held, size = np.asarray(counts, float), len(matrix.categories)
    if held.shape != (size,):
        raise InputError("counts", f"{held.size} numbers for the {size} categories of the matrix", "give one number a category")
    return _checked(held)


def _checked(held: Floats) -> Floats:
    if not np.isfinite(held).all() or (held < 0).any():
        raise InputError("counts", "hold negative numbers or what is no number", "give how often each category occurs")
    return held


def _cells(matrices: Sequence[TransitionMatrix], counts: KeyCounts) -> tuple[list[Integers], Floats]:
    """The cells that occur: the position of each on every axis, and its count."""
    if isinstance(counts, Mapping):
        if any(len(codes) != len(matrices) for codes in counts):
            raise InputError("counts", "a combination has not one code a variable", "name combinations by a code a variable")
        rows = [[matrix.position(code) for matrix, code in zip(matrices, codes, strict=True)] for codes in counts]
        at = np.array(rows, np.int64).reshape(len(rows), len(matrices)).T
        return list(at), _checked(np.array(list(counts.values()), float))
    held = np.asarray(counts, float)
    shape = tuple(len(matrix.categories) for matrix in matrices)
    if held.shape != shape:
        problem = f"have the shape {held.shape} for variables of {shape} categories"
        raise InputError("counts", problem, "give an axis for each variable, in the order of the matrices")
    places = np.nonzero(_checked(held))
    return [axis.astype(np.int64) for axis in places], held[places]


def _odds(true: Floats, false: Floats) -> Floats:
    """One over the other: infinite without false ones, NaN without either."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(true / false, float)
