"""What two records can exchange: the sides into which the variables fall in which they differ, and what each exchange costs."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.microdata.protect.swap.edits import Edits, Flags
from discreet.model.contributions import Integers
from discreet.model.margins import Margins

__all__ = ["BARRED", "STEP", "Exchange", "sets_of_variables"]

Codes = NDArray[np.int32]

STEP = 1000
"""The distance of two codes that have no order, and of the first and the last of those that have one."""

BARRED = np.iinfo(np.int64).max
"""The cost of an exchange that is not allowed."""

TABLE = 16
"""Variables up to which costs are tabulated for all sets of them."""

MOST = 128
"""Sides that are tried for two records.  Seven components have fewer; of more, all that matter unless edits bar them."""

AT_ONCE = 2**22
"""Entries of pairs by sides that are held at a time."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Exchange:
    """Which exchanges between two records are allowed, and what they cost.

    Let D be the variables in which records i and j differ.  They exchange their values on a side E: a union of components of
    the graph of the margins on D, neither empty nor all of D, so that all margins stay.  Record i then has j's values on E, and
    record j has i's.  E holds no variable of ``stay``.  With ``keys``, both E and the rest of D hold some of them, so that
    neither record keeps the combination of keys that either had.  No record may break one of the ``edits`` that it did not
    break before.  The cost is the distance between i and j on E, and its negative with ``far``.

    ``place[v][code]`` is the position of an ordered variable's code on a line of length :data:`STEP`, -1 off it.  Sets of
    variables are bits in the order of the variables.
    """

    margins: Margins
    keys: int
    stay: int
    edits: Edits
    place: dict[int, Integers]
    far: bool

    @property
    def weighs(self) -> bool:
        """Whether more counts than the variables in which two records differ."""
        return bool(self.edits.forbidden or self.place)

    @cached_property
    def _known(self) -> dict[int, list[int]]:
        return {}

    @property
    def seen(self) -> list[int]:
        """The variables in which a record must change to count as changed: the keys, or any."""
        among = self.keys or (1 << len(self.margins.variables)) - 1
        return [v for v in range(len(self.margins.variables)) if among >> v & 1]

    def sides(self, differ: int) -> list[int]:
        """The sides that two records can exchange that differ in these variables, in the order in which they are preferred."""
        if differ not in self._known:
            self._known[differ] = list(itertools.islice(self._all_sides(differ), MOST))
        return self._known[differ]

    def _all_sides(self, differ: int) -> Iterator[int]:
        """Few components first, as they cost least, or many where the distance is to be large."""
        parts = list(self.margins.components(differ))
        free = [part for part in parts if not part & self.stay]
        if len(parts) < 2 or not free or (self.keys and sum(bool(part & self.keys) for part in parts) < 2):
            return
        numbers = range(1, len(free) + 1)
        for number in reversed(numbers) if self.far else numbers:
            for some in itertools.combinations(free, number):
                side = sum(some)
                rest = differ & ~side
                if rest and (not self.keys or (side & self.keys and rest & self.keys)):
                    yield side

    @property
    def levels(self) -> list[int]:
        """What :meth:`promise` may say, in ascending order."""
        numbers = range(1, len(self.margins.variables))
        return [-STEP * number for number in reversed(numbers)] if self.far else [STEP * number for number in numbers]

    def promise(self, differ: Integers) -> Integers:
        """What the best exchange of two records would cost if no variable were ordered and nothing edited; BARRED for none.

        ``differ`` are the variables in which they differ, as bits.
        """
        variables = len(self.margins.variables)
        if variables > TABLE:
            different, of = np.unique(differ, return_inverse=True)
            return np.array([self._nominal(bits)[1] for bits in different.tolist()], np.int64)[of]
        table = np.full(1 << variables, BARRED)
        for bits in np.flatnonzero(np.bincount(differ, minlength=len(table))).tolist():
            table[bits] = self._nominal(bits)[1]
        return table[differ]

    def _nominal(self, differ: int) -> tuple[int, int]:
        """The side that costs least if no variable is ordered, and its cost."""
        if not (tried := self.sides(differ)):
            return 0, BARRED
        side = (max if self.far else min)(tried, key=int.bit_count)
        return side, STEP * side.bit_count() * (-1 if self.far else 1)

    def best(self, own: Codes, other: Codes, start: Codes | None = None) -> tuple[Integers, Integers]:
        """The best side and its cost for each pair of rows of codes, of shape (pairs, variables); 0 and BARRED for none.

        With ``start``, of the same shape, the other record must not get back what it had there, in the keys or altogether.
        """
        bits = sets_of_variables(own, other)
        order = np.argsort(bits, kind="stable")
        different, starts = np.unique(bits[order], return_index=True)
        sides, cost = np.zeros(len(bits), np.int64), np.full(len(bits), BARRED)
        for differ, first, end in zip(different.tolist(), starts, np.append(starts, len(bits))[1:], strict=True):
            rows, tried = order[first:end], self.sides(differ)
            if not tried or not (self.weighs or start is not None):
                sides[rows], cost[rows] = self._nominal(differ)
                continue
            for some in np.array_split(rows, len(rows) * len(tried) // AT_ONCE + 1):
                first = None if start is None else start[some]
                sides[some], cost[some] = self._weighed(own[some], other[some], first, tried)
        return sides, cost

    def _weighed(self, own: Codes, other: Codes, start: Codes | None, tried: list[int]) -> tuple[Integers, Integers]:
        """The same for pairs that all differ in the same variables."""
        within = np.array([[side >> v & 1 for v in range(own.shape[1])] for side in tried], np.int64)
        cost = self.distances(own, other) @ within.T * (-1 if self.far else 1)
        for mine, theirs in zip(self.edits.met(own), self.edits.met(other), strict=True):
            cost[_breaks(mine, theirs, within) | _breaks(theirs, mine, within)] = BARRED
        if start is not None:
            kept, back = ({v: codes[:, v] == start[:, v] for v in self.seen} for codes in (other, own))
            cost[_with_side(kept, back, within)] = BARRED
        best = cost.argmin(axis=1)
        lowest = cost[np.arange(len(cost)), best]
        return np.where(lowest < BARRED, np.array(tried)[best], 0), lowest

    def distances(self, own: Codes, other: Codes) -> Integers:
        """The distance of two codes in each variable; shape (pairs, variables)."""
        found: Integers = (own != other) * np.int64(STEP)
        for v, place in self.place.items():
            mine, theirs = place[own[:, v]], place[other[:, v]]
            on_line = (mine >= 0) & (theirs >= 0)
            found[:, v] = np.where(on_line, np.abs(mine - theirs), found[:, v])
        return found


def sets_of_variables(own: Codes, other: Codes) -> Integers:
    """The variables in which two rows of codes differ, as bits; one row may stand for all."""
    found = np.zeros(max(len(own), len(other)), np.int64)
    for v in range(own.shape[1]):
        found |= (own[:, v] != other[:, v]).astype(np.int64) << v
    return found


def _breaks(mine: dict[int, Flags], theirs: dict[int, Flags], within: Integers) -> Flags:
    """Whether a record with their values on a side breaks an edit that it did not break before; shape (pairs, sides)."""
    before = np.logical_and.reduce(list(mine.values()))
    return np.asarray(_with_side(mine, theirs, within) & ~before[:, None])


def _with_side(mine: dict[int, Flags], theirs: dict[int, Flags], within: Integers) -> Flags:
    """Whether all of a record's variables fit once those on a side are taken from the other; shape (pairs, sides)."""
    found = np.ones((len(next(iter(mine.values()))), len(within)), bool)
    for v in mine:
        found &= np.where(within[:, v] == 1, theirs[v][:, None], mine[v][:, None])
    return found
