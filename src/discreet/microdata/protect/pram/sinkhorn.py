"""The invariant matrix closest to a wished one, its zeros kept."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from discreet.errors import InputError
from discreet.method import check_params
from discreet.microdata.protect.pram.invariance import check_start, circulating, diluted, least_param, start_param
from discreet.microdata.protect.pram.moves import invertible
from discreet.microdata.protect.pram.occurrence import Design, Occurrence
from discreet.model.contributions import Floats, Integers
from discreet.model.transition import TransitionMatrix

__all__ = ["Sinkhorn"]

EXACT = 1e-12
"""How far a count may be from staying as it is, as a share of itself."""

TINY = 1e-14
"""What keeps the equations of Newton's step solvable where categories are hardly exchanged."""

ROUNDS = 200
"""After how many rounds of scaling a matrix is given up."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sinkhorn:
    """The invariant matrix that is closest to a wished one in the sense of Kullback and Leibler, with the same zeros.

    With P the matrix of ``start`` and T the true counts, the expected flows ``T_k p_kl`` are multiplied by a factor for each
    row and one for each column, so that rows and columns add up to T: ``r_kl = a_k p_kl b_l`` and ``Rᵀ T = T``.  That is
    possible where each ``p_kk`` is above 0 and each move can be made undone by others (total support), and R then has an
    inverse where P has.  Factors are found by Newton's steps, and by Sinkhorn's rounds where these get stuck.  ``r_kk`` can be
    below ``p_kk``; with ``least``, R becomes ``α R + (1 − α) I`` with the largest α that leaves no diagonal entry below it.

    Guards against: being certain of the category of a record, at counts that are right on average without correction.
    Does not guard against: conclusions from the matrix itself, whose stationary distribution is that of the true counts.
    Crossings with other variables are changed: the matrix keeps its own margin and no other.
    """

    NAME: ClassVar[str] = "sinkhorn"
    SOURCE: ClassVar[str] = (
        "Sinkhorn, Knopp (1967), Concerning nonnegative matrices and doubly stochastic matrices, Pacific Journal of "
        "Mathematics 21(2), 343-348"
    )

    start: Design = start_param()  # noqa: RUF009 - a field, as all others
    least: float = least_param()

    def __post_init__(self) -> None:
        check_params(self)
        check_start(self.NAME, self.start)

    @property
    def invariant(self) -> bool:
        """The counts stay as they are on average."""
        return True

    def matrix(self, occurrence: Occurrence, /) -> TransitionMatrix:
        """The matrix for these categories.

        Errors: InputError where the wished matrix has no total support or R no inverse, and those of the start.
        """
        moves, _ = circulating(self.NAME, occurrence)
        wished = self.start.matrix(moves).matrix
        group = _supported(self.NAME, wished, occurrence)
        scaled = _scaled(self.NAME, wished, occurrence.counts, group)
        made = TransitionMatrix(occurrence.categories, diluted(scaled, self.least))
        return invertible(self.NAME, made, "start from a matrix with a larger diagonal, or demand more by least")


def _supported(name: str, wished: Floats, occurrence: Occurrence) -> Integers:
    """The groups within which the matrix moves records, after a check that its zeros leave a way."""
    never = np.flatnonzero(wished.diagonal() == 0)
    if len(never):
        problem = f"no record of {occurrence.labels[never[0]]!r} stays as it is in the wished matrix"
        raise InputError(name, problem, "start from a matrix with a positive diagonal")
    _, group = circulating(name, dataclasses.replace(occurrence, allowed=wished > 0))
    single = np.argwhere((wished > 0) & (group[np.newaxis] != group[:, np.newaxis]))
    if len(single):
        true, released = (occurrence.labels[k] for k in single[0])
        problem = f"the wished matrix releases {true!r} as {released!r}, and its zeros leave no way back"
        raise InputError(name, problem, "set that probability to 0, or one of a way back above 0")
    return group


def _scaled(name: str, wished: Floats, counts: Floats, group: Integers) -> Floats:
    """``a_k p_kl b_l`` whose rows add up to 1 and whose columns, weighted by the counts, to the counts."""
    log_factor = np.zeros(len(counts))
    matrix, off = _rows(wished, log_factor, counts)
    for _ in range(ROUNDS):
        error = np.abs(off).max(initial=0.0)
        if error == 0:
            return matrix
        step = _newton(matrix, off, counts, group)
        for part in 0.5 ** np.arange(8):
            closer, left = _rows(wished, log_factor - part * step, counts)
            if np.abs(left).max() < (1 - part / 2) * error:
                log_factor, matrix, off = log_factor - part * step, closer, left
                break
        else:
            if error <= EXACT:
                return matrix
            log_factor = log_factor - np.log1p(off)
            matrix, off = _rows(wished, log_factor, counts)
    problem = f"counts are still {error:.1e} of themselves from staying as they are after {ROUNDS} rounds"
    raise InputError(name, problem, "start from a matrix whose moves are less unlike the counts, or take the design 'target'")


def _rows(wished: Floats, log_factor: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """The matrix with its columns multiplied and its rows adding up to 1, and the relative change of each count."""
    matrix = wished * np.exp(log_factor - log_factor.max(initial=-np.inf)).clip(min=np.finfo(float).tiny)
    matrix /= matrix.sum(axis=1, keepdims=True)
    return matrix, (matrix * counts[:, np.newaxis]).sum(axis=0) / counts - 1


def _newton(matrix: Floats, off: Floats, counts: Floats, group: Integers) -> Floats:
    """By how much Newton's method lowers the logarithms of the column factors."""
    root = np.sqrt(counts)
    joint = root[:, np.newaxis] * matrix / root
    idle = np.where(group[np.newaxis] == group[:, np.newaxis], root, 0.0)  # a factor for a whole group changes nothing
    idle = root[:, np.newaxis] * idle / (idle**2).sum(axis=1, keepdims=True)
    curvature = np.diag(1 + off + TINY) - np.einsum("kl,km->lm", joint, joint) + idle
    return np.asarray(_solved(curvature, root * off) / root)


def _solved(matrix: Floats, right: Floats) -> Floats:
    """The solution of equations with a positive definite matrix, summed in one order however many threads there are."""
    size = len(right)
    rest, right = matrix.copy(), right.copy()
    for k in range(size - 1):
        factor = rest[k + 1 :, k] / rest[k, k]
        rest[k + 1 :, k + 1 :] -= factor[:, np.newaxis] * rest[k, k + 1 :]
        right[k + 1 :] -= factor * right[k]
    for k in reversed(range(size)):
        right[k] = (right[k] - (rest[k, k + 1 :] * right[k + 1 :]).sum()) / rest[k, k]
    return right
