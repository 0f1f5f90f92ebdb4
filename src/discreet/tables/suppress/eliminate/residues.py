"""Arithmetic modulo the prime of the elimination, and rows of residues, compiled.

Everything here is compiled by numba where it is installed (``discreet[fast]``); only then is it called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numpy as np

from discreet.model.contributions import Integers
from discreet.tables.suppress.eliminate.publishing import PRIME, Residues

__all__ = ["ABSENT", "added", "compiled", "inverse", "negative", "solved_rows", "sum_of", "times"]

P = ParamSpec("P")
R = TypeVar("R")

ABSENT = -1

_PRIME = np.uint64(PRIME)
_NONE, _ONE = np.uint64(0), np.uint64(1)
_LOW = np.uint64(2**32 - 1)
_LOWER = np.uint64(2**29 - 1)
_29, _32, _61, _3 = np.uint64(29), np.uint64(32), np.uint64(61), np.uint64(3)


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """The function as machine code, kept between sessions where the place for that can be written; itself without numba."""
    try:
        import numba
    except ImportError:
        return function
    try:
        fast: Callable[P, R] = numba.njit(cache=True)(function)
    except RuntimeError:
        fast = numba.njit(function)
    return fast


@compiled
def times(a: np.uint64, b: np.uint64) -> np.uint64:
    """The product of two residues: 2**64 is 8 and 2**61 is 1."""
    a1, a0, b1, b0 = a >> _32, a & _LOW, b >> _32, b & _LOW
    middle, low = a1 * b0 + a0 * b1, a0 * b0
    total = ((a1 * b1) << _3) + (middle >> _29) + ((middle & _LOWER) << _32) + (low & _PRIME) + (low >> _61)
    total = (total & _PRIME) + (total >> _61)
    return total - _PRIME if total >= _PRIME else total


@compiled
def sum_of(a: np.uint64, b: np.uint64) -> np.uint64:
    """The sum of two residues."""
    total = a + b
    return total - _PRIME if total >= _PRIME else total


@compiled
def negative(a: np.uint64) -> np.uint64:
    """The residue that makes the sum 0."""
    return _PRIME - a if a else a


@compiled
def inverse(a: np.uint64) -> np.uint64:
    """The residue that makes the product 1 (0 of 0), by Fermat's little theorem."""
    out, power, left = _ONE, a, _PRIME - _ONE - _ONE
    while left:
        if left & _ONE:
            out = times(out, power)
        power = times(power, power)
        left >>= _ONE
    return out


@compiled
def added(
    place: Integers, value: Residues, factor: np.uint64, more: Integers, worth: Residues, out: Integers, sums: Residues
) -> int:
    """``row + factor * more`` of two rows in ascending order of place, into ``out`` and ``sums``; how many entries it has."""
    i, j, k = 0, 0, 0
    while i < len(place) or j < len(more):
        if j == len(more) or (i < len(place) and place[i] < more[j]):
            out[k], sums[k] = place[i], value[i]
            i, k = i + 1, k + 1
        elif i == len(place) or more[j] < place[i]:
            out[k], sums[k] = more[j], times(factor, worth[j])
            j, k = j + 1, k + 1
        else:
            total = sum_of(value[i], times(factor, worth[j]))
            if total:
                out[k], sums[k] = place[i], total
                k += 1
            i, j = i + 1, j + 1
    return k


@compiled
def solved_rows(
    start: Integers, place: Integers, value: Residues, columns: int
) -> tuple[Integers, Integers, Integers, Residues]:
    """Gaussian elimination of rows (CSR, ascending places) with the columns 0, 1, 2, ... taken in this order.

    Returns where in the last two arrays, and over how many entries, each pivot column is given by later ones:
    ``column = sum(value * place)``; the size of a column that is no pivot is ABSENT.
    """
    begin, size = start[:-1].copy(), np.diff(start)
    first, after = np.full(columns, -1), np.full(len(size), -1)
    for row in range(len(size) - 1, -1, -1):
        if size[row]:
            after[row], first[place[begin[row]]] = first[place[begin[row]]], row
    at, length = np.zeros(columns, np.int64), np.full(columns, ABSENT)
    used = len(place)
    out, sums = np.empty(columns, np.int64), np.empty(columns, np.uint64)
    for column in range(columns):
        pivot = first[column]
        row = pivot
        while row >= 0:
            pivot = row if size[row] < size[pivot] else pivot
            row = after[row]
        if pivot < 0:
            continue
        a, b = begin[pivot] + 1, begin[pivot] + size[pivot]
        scale = inverse(negative(value[a - 1]))
        for entry in range(a, b):
            value[entry] = times(value[entry], scale)
        at[column], length[column] = a, b - a
        row = first[column]
        while row >= 0:
            following, c, d = after[row], begin[row], begin[row] + size[row]
            if row != pivot:
                count = added(place[c + 1 : d], value[c + 1 : d], value[c], place[a:b], value[a:b], out, sums)
                if count > size[row]:
                    if used + count > len(place):
                        place = np.concatenate((place, np.empty(len(place) + count, np.int64)))
                        value = np.concatenate((value, np.empty(len(value) + count, np.uint64)))
                    begin[row], used = used, used + count
                size[row] = count
                c = begin[row]
                place[c : c + count], value[c : c + count] = out[:count], sums[:count]
                if count:
                    after[row], first[place[c]] = first[place[c]], row
            row = following
    return at, length, place, value
