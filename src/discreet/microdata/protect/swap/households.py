"""Households as arrays: where each is, how few persons are like its members there, and which households are alike."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError, some
from discreet.model.combinations import combinations, counts_alike
from discreet.model.contributions import Integers
from discreet.model.swap_file import SwapFile

__all__ = ["Alike", "Households", "alike", "households"]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Households:
    """The households of a file, in the order of their secret ``key``; ``of`` is that of each person, shape (persons,).

    ``area[h]`` is the area of the finest level, numbered in the order of codes from the coarsest level on, so that areas of
    one area of a level stand together; ``levels[a, l]`` the area of level l in which it lies, shape (areas, levels).
    ``fewest[h, l]`` is the number of persons of the same area of level l who have the same risk variables as a member: that
    of the member with the fewest.
    """

    of: Integers
    key: Integers
    size: Integers
    area: Integers
    levels: Integers
    fewest: Integers

    def __repr__(self) -> str:
        return f"Households({len(self.key)} of {len(self.of)} persons)"

    def at(self, level: int) -> Integers:
        """The area of this level in which each household lies."""
        return np.asarray(self.levels[self.area, level])

    def forced(self, k: int) -> NDArray[np.bool_]:
        """Of which households a member is like fewer than k persons, itself among them, in its area; (households, levels)."""
        return np.asarray(self.fewest < k)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Alike:
    """Which households are alike under a profile: those of one ``group``, numbered from 0; shape (households,).

    ``order`` has the households by group and area.  ``members`` has the persons by household and, in it, by their codes in
    the profile: member j of a household has the codes of member j of any other of its group; those of household h begin at
    ``first[h]``.
    """

    group: Integers
    order: Integers
    members: Integers
    first: Integers

    def __repr__(self) -> str:
        return f"Alike({len(self.group)} households)"


def households(file: SwapFile, household: str, geography: Sequence[str], risk: Sequence[str]) -> Households:
    """The households of a file as it stands, with their areas and counts of persons alike; levels from coarse to fine.

    Errors: InputError for a column that is not there, persons without a household, and households in several areas.
    """
    key, of = np.unique(file.keys("swap household", [household]), return_inverse=True)
    size = np.bincount(of, minlength=len(key))
    place = file.combinations(geography)
    area = np.empty(len(key), np.int64)
    area[of] = place.of
    if apart := len(np.unique(of[area[of] != place.of])):
        problem = f"{apart} households have members in several areas of {some(geography)}"
        raise InputError(f"column {household!r}", problem, "give all members of a household one place")
    codes = place.codes
    begins = np.logical_or.accumulate(np.diff(codes, axis=0, prepend=codes[:1]) != 0, axis=1)
    levels = np.cumsum(begins, axis=0, dtype=np.int64)
    code = file.combinations(risk)
    fewest = np.full((len(key), len(geography)), len(of), np.int64)
    for level in range(len(geography)):
        both = np.stack([levels[place.of, level], code.of], axis=1).astype(np.int32)
        counts = counts_alike(both, [int(levels[-1, level]) + 1, len(code.counts)], np.ones(len(of), np.int64))
        np.minimum.at(fewest[:, level], of, counts)
    return Households(of=of, key=key, size=size, area=area, levels=levels, fewest=fewest)


def alike(file: SwapFile, held: Households, profile: Sequence[str]) -> Alike:
    """Households whose members have, all together, the same codes in these columns, and so are as many; of none, as many.

    Errors: InputError for a column that is not there.
    """
    code = file.combinations(profile).of if profile else np.zeros(len(held.of), np.int64)
    members = np.lexsort((code, held.of))
    first = np.cumsum(held.size) - held.size
    group, ordered = held.size.copy(), code[members]
    numbered, different = int(group.max(initial=0)) + 1, int(code.max(initial=0)) + 1
    left, member = np.arange(len(group)), 0
    while len(left := left[held.size[left] > member]):
        pair = np.stack([group[left], ordered[first[left] + member]], axis=1).astype(np.int32)
        found = combinations(pair, [numbered, different])
        group[left] = numbered + found.of
        numbered += len(found.counts)
        member += 1
    group = np.unique(group, return_inverse=True)[1]
    return Alike(group=group, order=np.lexsort((held.area, group)), members=members, first=first)
