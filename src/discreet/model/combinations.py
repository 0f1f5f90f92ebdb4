"""Combinations of codes: records with equal codes in some variables, counted."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.model.contributions import Integers

__all__ = ["Combinations", "combinations", "counts_alike", "packed"]

EXACT = 2**62
"""Combinations are numbered below this while they are put together."""

DENSE = 4
"""Numbers that are at most so many times as large as there are records are counted without sorting."""


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Combinations:
    """The different rows of ``codes``, in the order of their codes: shape (combinations, variables); the ``counts`` of records
    of each, and ``of``, which one each record has, of shape (records,).  Codes of variable v are below ``sizes[v]``."""

    codes: NDArray[np.int32]
    counts: Integers
    of: Integers
    sizes: tuple[int, ...]

    def __repr__(self) -> str:
        return f"Combinations({len(self.counts)} of {len(self.of)} records)"


def packed(codes: NDArray[np.int32], sizes: Sequence[int]) -> Integers:
    """One number a row, below 2^62, equal for equal rows and in the order of their codes.

    ``codes`` has shape (rows, variables), each column below its size in ``sizes``.
    """
    number = np.zeros(len(codes), np.int64)
    largest = 1
    for v, size in enumerate(sizes):
        if largest * size >= EXACT:
            number = np.unique(number, return_inverse=True)[1].astype(np.int64)
            largest = int(number.max(initial=0)) + 1
        number *= size
        number += codes[:, v]
        largest *= size
    return number


def combinations(codes: NDArray[np.int32], sizes: Sequence[int], counts: Integers | None = None) -> Combinations:
    """The different rows; with ``counts``, each row stands for so many records."""
    _, first, of, alone = np.unique(packed(codes, sizes), return_index=True, return_inverse=True, return_counts=True)
    summed = alone if counts is None else np.bincount(of, counts, len(first)).astype(np.int64)
    return Combinations(np.ascontiguousarray(codes[first]), summed.astype(np.int64), of.astype(np.int64), tuple(sizes))


def counts_alike(codes: NDArray[np.int32], sizes: Sequence[int], counts: Integers) -> Integers:
    """For each row the sum of ``counts`` over all rows that are equal to it; of no variables, that over all rows."""
    if not len(sizes):
        return np.full(len(codes), counts.sum())
    number = packed(codes, sizes)
    if (largest := math.prod(sizes)) > DENSE * len(codes):
        number = np.unique(number, return_inverse=True)[1]
        largest = int(number.max(initial=0)) + 1
    return np.bincount(number, counts, largest).astype(np.int64)[number]
