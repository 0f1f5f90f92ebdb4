"""Rank swapping: numbers change places with others that are near them in rank."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from discreet.errors import InputError
from discreet.method import check_params, param
from discreet.microdata.protect.swap.named_columns import check_named
from discreet.model.contributions import Floats, Integers
from discreet.model.margins import Margins
from discreet.model.noise import mixed
from discreet.model.swap_file import SwapFile, Swapped

__all__ = ["RankSwap"]

BITS = 53
"""Of a share in [0, 1): as many as a number there holds."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RankSwap:
    """Each number changes places with another whose rank differs by at most p per cent of the number of values.

    The n values of a column that are not missing have ranks 1, …, n, those that are equal in the order of the records' keys.
    Two values with ranks r and s may be exchanged if ``abs(r - s) <= floor(p · n / 100)``; each is exchanged at most once,
    with one that is drawn evenly, by secret keys, from those within its reach that are still free, until no two free ones are
    within reach of each other.  Missing values stay where they are.  Each column moves by itself.  In each stratum of
    ``within``, ranks and n are those of the stratum.

    Guards against: finding a record by an exact number that is known of it, and reading an exact number off a record that was
    found by others.
    Does not guard against: an intruder to whom a value close to the true one is enough, as with small p; the largest and
    smallest values, which stay in the file and near their records; columns that give the number away, such as a total of which
    it is a part.  How columns go together changes: more, the larger p is (see ``swap_loss``).
    """

    NAME: ClassVar[str] = "rank-swap"
    SOURCE: ClassVar[str] = (
        "Moore (1996), Controlled data-swapping techniques for masking public use microdata sets, "
        "U.S. Bureau of the Census, Statistical Research Division, RR 96/04"
    )

    columns: tuple[str, ...] = param(doc="the columns of numbers to swap, each by itself")
    p: float = param(5.0, "how far apart in rank values may be that change places", unit="% of values", above=0, at_most=100)
    within: tuple[str, ...] = param((), "columns of strata: values change places inside each, so that its counts stay")

    def __post_init__(self) -> None:
        check_params(self)
        check_named(self.NAME, self.columns, self.within)

    def apply(self, file: SwapFile, /) -> SwapFile:
        """The file with these columns swapped; the margins of strata by each column are kept, and counted again.

        Errors: InputError for a column that is not there, holds other than numbers, or in which no two values can change
        places because p per cent of them are less than one rank.
        """
        strata = file.combinations(self.within).of if self.within else np.zeros(len(file.key), np.int64)
        origin, values, exchanged, changed = {}, 0, 0, 0
        for column in self.columns:
            numbers = file.numbers(column)
            moved = self._moved(file, column, numbers, strata)
            values += int(np.count_nonzero(~np.isnan(numbers)))
            here = np.flatnonzero(moved != np.arange(len(moved)))
            exchanged += len(here)
            changed += int(np.count_nonzero(numbers[here] != numbers[moved[here]]))
            origin[column] = moved
        margins = Margins.of((*self.within, *self.columns), [(*self.within, column) for column in self.columns])
        facts = {"values": values, "values exchanged": exchanged, "values changed": changed}
        return file.moved(origin, Swapped(method=self.NAME, columns=self.columns, margins=margins, facts=facts))

    def _moved(self, file: SwapFile, column: str, numbers: Floats, strata: Integers) -> Integers:
        """For each record the one whose value of this column it gets."""
        held = np.flatnonzero(~np.isnan(numbers))
        order = held[np.lexsort((numbers[held], strata[held]))]  # stable: equal values stay in the order of keys
        stratum = strata[order]
        reach = np.floor(np.bincount(stratum) * (self.p / 100) + 1e-9).astype(np.int64)
        if not reach.any():
            problem = f"{self.p:g} % of its {'values in a stratum' if self.within else 'values'} are less than one rank"
            raise InputError(f"column {column!r}", problem, "take a larger p, or fewer strata")
        place = np.arange(len(order)) + stratum * reach.max()  # nothing is within reach of another stratum
        partner = _partners(place, reach[stratum], file.key[order], f"{self.NAME} {len(file.steps)} {column}")
        moved = np.arange(len(file.key))
        moved[order] = order[partner]
        return moved


def _partners(place: Integers, reach: Integers, key: Integers, purpose: str) -> Integers:
    """For each value the one it is exchanged with, itself where there is none; all of shape (values,), places ascending.

    In each turn every free value asks one that is free within its reach; of those that touch, the request that comes first in
    an order by keys is met.  A turn settles more than half of them, and at least two.
    """
    partner = np.arange(len(place))
    free, turn = partner, 0
    while len(free):
        here, far, own = place[free], reach[free], np.arange(len(free))
        low, high = np.searchsorted(here, here - far), np.searchsorted(here, here + far, side="right")
        if (alone := high - low == 1).any():
            free = free[~alone]
            continue
        share = np.ldexp((mixed(f"{purpose} {turn} ask", key[free]) >> np.uint64(64 - BITS)).astype(float), -BITS)
        asked = low + (share * (high - low - 1)).astype(np.int64)
        asked += asked >= own
        turns = np.empty(len(free), np.int64)
        turns[np.argsort(mixed(f"{purpose} {turn} order", key[free]), kind="stable")] = own
        first = turns.copy()
        np.minimum.at(first, asked, turns)
        met = np.flatnonzero((first == turns) & (first[asked] == turns))
        one, other = free[met], free[asked[met]]
        partner[one], partner[other] = other, one
        free = free[partner[free] == free]
        turn += 1
    return partner
