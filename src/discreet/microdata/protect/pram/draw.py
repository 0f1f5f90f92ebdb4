"""Draws: what each record is released as, made from its secret key and the matrix of its stratum, and from nothing else."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.model.contributions import Floats, Integers
from discreet.model.encoded import Coded
from discreet.model.noise import mixed
from discreet.model.randomised import Stratum
from discreet.model.transition import Category, TransitionMatrix

__all__ = ["Rows", "drawn", "shares"]

CHUNK = 2**17
"""How many records are drawn at a time, so that what lies between fits into the processor's cache."""

BITS = 53
"""Of a share: as many as a number in [0, 1) holds."""

NEVER = 2.0
"""A bound that no share reaches."""


@dataclasses.dataclass(frozen=True, eq=False)
class Rows:
    """All rows of all matrices, each cut into parts of [0, 1): first that of staying, then the others in the order of codes.

    ``stay`` has one entry a stratum and category: where the part of staying ends; 1 for a category without a row.  From
    ``first`` on, ``length`` entries of ``bound`` tell where the further parts end, counted from there, and those of ``to`` the
    category each of them stands for.
    """

    stay: Floats
    first: Integers
    length: Integers
    bound: Floats
    to: NDArray[np.int32]

    @classmethod
    def of(
        cls, matrices: Mapping[Stratum, TransitionMatrix], strata: Sequence[Stratum], categories: Sequence[Category]
    ) -> Rows:
        """The rows of these matrices, by the positions of strata and categories in the file."""
        place = {category: k for k, category in enumerate(categories)}
        stay = np.ones((len(strata), len(categories)))
        first, length = np.zeros(stay.shape, np.int64), np.zeros(stay.shape, np.int64)
        bounds: list[Floats] = []
        targets: list[NDArray[np.int32]] = []
        begin = 0
        for s, stratum in enumerate(strata):
            if stratum not in matrices:
                continue
            matrix, size = matrices[stratum], len(matrices[stratum].categories)
            own = np.array([place[category] for category in matrix.categories], np.int32)
            moves = matrix.matrix.copy()
            np.fill_diagonal(moves, 0.0)
            leaves = (moves > 0).any(axis=1)
            stay[s, own] = np.where(leaves, matrix.diagonal, 1.0)
            first[s, own], length[s, own] = begin + size * np.arange(size), size
            last = size - 1 - np.argmax(moves[:, ::-1] > 0, axis=1)
            # the last part ends where the row does: rounding leaves no gap through which a share could fall
            bounds.append(np.where(np.arange(size) >= last[:, np.newaxis], NEVER, np.cumsum(moves, axis=1)).ravel())
            targets.append(np.tile(own, size))
            begin += size * size
        parts = np.concatenate(bounds) if bounds else np.zeros(0)
        to = np.concatenate(targets) if targets else np.zeros(0, np.int32)
        return cls(stay.ravel(), first.ravel(), length.ravel(), parts, to)

    def moved(self, row: Integers, share: Floats) -> NDArray[np.int32]:
        """The category of the part that each share falls into, none of which is that of staying; by bisection."""
        beyond = share - self.stay[row]
        low = self.first[row]
        high = low + self.length[row] - 1
        for _ in range(math.ceil(math.log2(max(int(self.length.max(initial=1)), 1)))):
            middle = (low + high) >> 1
            above = beyond >= self.bound[middle]
            low, high = np.where(above, middle + 1, low), np.where(above, high, middle)
        return self.to[low]


def shares(key: Integers, columns: Sequence[str]) -> Floats:
    """A number in [0, 1) for each key, uniform and of 53 bits; for other columns an independent one.

    Keys are mixed twice, so that the numbers of one variable, as far as released codes tell them, give no hold on another's.
    """
    name = "\x1f".join(columns)
    once = mixed(f"PRAM draw, {name}", key).view(np.int64)
    return np.asarray((mixed(f"PRAM draw again, {name}", once) >> np.uint64(64 - BITS)) * 2.0**-BITS)


def drawn(
    matrices: Mapping[Stratum, TransitionMatrix], true: Coded, stratum: Coded | None, key: Integers, columns: Sequence[str]
) -> Coded:
    """The released codes on the same categories, in the order of the file.

    A record stays where its share is below the diagonal entry; so it mostly keeps its released code when a similar matrix is
    applied another time, and repeated releases tell little more than one.  Codes without a row in their matrix stay.
    """
    strata: tuple[Stratum, ...] = ((),) if stratum is None else stratum.categories
    rows = Rows.of(matrices, strata, true.categories)
    codes = true.codes.copy()
    for part in _chunks(len(codes)):
        row = codes[part].astype(np.int64)
        if stratum is not None:
            row += stratum.codes[part].astype(np.int64) * len(true.categories)
        share = shares(key[part], columns)
        leaving = np.flatnonzero(share >= rows.stay[row])
        codes[part.start + leaving] = rows.moved(row[leaving], share[leaving])
    return Coded(true.categories, codes)


def _chunks(records: int) -> Iterator[slice]:
    return (slice(start, min(start + CHUNK, records)) for start in range(0, records, CHUNK))
