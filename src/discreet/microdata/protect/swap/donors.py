"""Draws donors: for each household that asks, one that is alike and lies elsewhere, by chance from secret keys."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.microdata.protect.swap.households import Alike, Households
from discreet.model.contributions import Floats, Integers
from discreet.model.noise import mixed

__all__ = ["donors", "drawn", "elsewhere"]

CERTAIN = 2**32
"""The weight of a household of which a member is like no other person: 1 in whole numbers, which add up without rounding."""

SHARE = 53
"""Bits of a share in [0, 1): as many as a number there holds."""

LAST = np.uint64(2**64 - 1)


def donors(
    held: Households,
    same: Alike,
    asking: NDArray[np.bool_],
    free: NDArray[np.bool_],
    level: int,
    within: int | None,
    purpose: str,
) -> Integers:
    """For each household its partner, itself where it has none; shape (households,).

    Those that are ``asking`` draw from the ``free`` ones (they are free themselves) that are alike, lie in another area of this
    ``level`` and, unless ``within`` is None, in the same area of that coarser level.  The probability is proportional to the
    risk at the level, 1 over the fewest persons alike.  Each takes part once: of draws that touch, the one that comes first in
    an order by keys holds, and the others are drawn again from what is left, until nobody who asks finds a donor.
    """
    partner = np.arange(len(held.key))
    wanted = np.zeros(int(same.group.max(initial=-1)) + 1, bool)
    wanted[same.group[asking]] = True
    left = same.order[(free & wanted[same.group])[same.order]]
    weight, area = CERTAIN // held.fewest[:, level], held.at(level)
    outer = np.zeros(len(area), np.int64) if within is None else held.at(within)
    turn = 0
    while len(left):
        begins = _changes(same.group[left]) | _changes(outer[left])
        low, high = _runs(begins)
        some_ask = np.logical_or.reduceat(asking[left], np.flatnonzero(begins))
        if not some_ask.all():
            left = left[some_ask[np.cumsum(begins) - 1]]
            continue
        here, there = _runs(begins | _changes(area[left]))
        total = np.concatenate([[0], np.cumsum(weight[left])])
        ask = np.flatnonzero(asking[left])
        before, after = total[here[ask]] - total[low[ask]], total[high[ask]] - total[there[ask]]
        if not (can := before + after > 0).all():
            asking = asking & ~_marked(len(asking), left[ask[~can]])
            continue
        key = held.key[left[ask]]
        share = _shares(f"{purpose} {turn} ask", key)
        at = np.minimum((share * (before + after)).astype(np.int64), before + after - 1)
        asked = (
            np.searchsorted(total, at + np.where(at < before, total[low[ask]], total[there[ask]] - before), side="right") - 1
        )
        turns, first = mixed(f"{purpose} {turn} order", key), np.full(len(left), LAST)
        np.minimum.at(first, ask, turns)
        np.minimum.at(first, asked, turns)
        met = np.flatnonzero((first[ask] == turns) & (first[asked] == turns))
        one, other = left[ask[met]], left[asked[met]]
        partner[one], partner[other] = other, one
        left = left[partner[left] == left]
        turn += 1
    return partner


def drawn(weight: Floats, key: Integers, most: int, purpose: str) -> Integers:
    """At most so many places, drawn without replacement, each time with probability proportional to weight; ascending.

    The one with the smallest E/weight comes first, then the next one, with exponential E of the keys (Efraimidis, Spirakis).
    """
    if len(weight) <= most:
        return np.arange(len(weight))
    race = -np.log1p(-_shares(purpose, key)) / weight
    return np.sort(np.argpartition(race, most - 1)[:most])


def elsewhere(held: Households, same: Alike, free: NDArray[np.bool_], level: int) -> NDArray[np.bool_]:
    """Which of the free households have another free one that is alike in another area of the level; shape (households,)."""
    left = same.order[free[same.order]]
    begins = _changes(same.group[left])
    low, high = _runs(begins)
    here, there = _runs(begins | _changes(held.at(level)[left]))
    return _marked(len(free), left[(here > low) | (there < high)])


def _shares(purpose: str, key: Integers) -> Floats:
    return np.asarray(np.ldexp((mixed(purpose, key) >> np.uint64(64 - SHARE)).astype(float), -SHARE))


def _marked(count: int, places: Integers) -> NDArray[np.bool_]:
    found = np.zeros(count, bool)
    found[places] = True
    return found


def _changes(number: Integers) -> NDArray[np.bool_]:
    """Where a number is another one than that before it, and at the first."""
    found = np.ones(len(number), bool)
    np.not_equal(number[1:], number[:-1], out=found[1:])
    return found


def _runs(begins: NDArray[np.bool_]) -> tuple[Integers, Integers]:
    """For each place where its run begins, and where the next one does."""
    starts = np.flatnonzero(begins)
    run = np.cumsum(begins) - 1
    return starts[run], np.append(starts[1:], len(begins))[run]
