"""What invariant designs share: moves that can be balanced, a lower bound of the diagonal, and what they start from."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components

from discreet.errors import InputError, ParameterError
from discreet.method import param
from discreet.microdata.protect.pram.occurrence import Occurrence
from discreet.model.contributions import Floats, Integers

__all__ = ["check_start", "circulating", "diluted", "least_param", "start_param"]


def start_param() -> Any:
    """The parameter ``start`` of a design that is made from another one."""
    return param(doc="the design that it starts from, as { method = 'type-1', keep = 0.8 }")


def least_param() -> Any:
    """The parameter ``least`` of a design whose diagonal follows from others."""
    doc = "the smallest diagonal entry that is accepted; where one is smaller, the matrix is mixed with the identity"
    return param(0.0, doc, at_least=0, below=1)


def check_start(name: str, start: object) -> None:
    """Refuses a class of designs in place of a design."""
    if isinstance(start, type):
        raise ParameterError(f"{name}.start", f"takes a design, not the class {start.__name__}", "give it its parameters")


def circulating(name: str, occurrence: Occurrence) -> tuple[Occurrence, Integers]:
    """The same with only those moves allowed that a way of allowed moves leads back from, and the group of each category.

    No other move can be part of an invariant matrix, since what a category loses must come back to it.  Categories of one
    group, of shape (categories,), can be reached from each other.

    Errors: InputError where a category may move, but nothing could come back to it.
    """
    _, group = connected_components(occurrence.allowed, directed=True, connection="strong")
    allowed = occurrence.allowed & (group[np.newaxis] == group[:, np.newaxis])
    lost = np.flatnonzero((occurrence.allowed.sum(axis=1) > 1) & (allowed.sum(axis=1) == 1))
    if len(lost):
        problem = f"what leaves the category {occurrence.labels[lost[0]]!r} cannot come back by allowed moves"
        fix = "allow a way back, forbid its other moves too so that it stays, or take a design that is not invariant"
        raise InputError(name, problem, fix)
    return dataclasses.replace(occurrence, allowed=allowed), np.asarray(group, np.int64)


def diluted(matrix: Floats, least: float) -> Floats:
    """``α R + (1 − α) I`` with the largest α ≤ 1 that leaves no diagonal entry below ``least``."""
    leaving = float((1 - matrix.diagonal()).max(initial=0.0))
    share = min(1.0, (1 - least) / leaving) if leaving > 0 else 1.0
    return np.asarray(share * matrix + (1 - share) * np.eye(len(matrix)))
