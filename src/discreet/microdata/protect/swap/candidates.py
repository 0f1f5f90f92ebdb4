"""The cheapest records with which each record to protect can exchange values."""

from __future__ import annotations

import dataclasses

import numpy as np

from discreet.microdata.protect.swap.edits import Flags
from discreet.microdata.protect.swap.pairs import BARRED, Exchange
from discreet.microdata.protect.swap.partners import Partners, partner_lists
from discreet.model.combinations import Combinations
from discreet.model.contributions import Integers
from discreet.model.noise import mixed

__all__ = ["Candidates", "Edges"]

AMONG = 5_000
"""Combinations whose exchanges are weighed one by one at a time, where more than the variables in which they differ counts."""


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Edges:
    """Pairs of records that can exchange values on a ``side``, which is bits, and what it costs; all of shape (pairs,)."""

    first: Integers
    second: Integers
    side: Integers
    cost: Integers

    def __repr__(self) -> str:
        return f"Edges({len(self.first)})"

    def __getitem__(self, rows: Integers | Flags) -> Edges:
        return Edges(self.first[rows], self.second[rows], self.side[rows], self.cost[rows])

    @classmethod
    def joined(cls, parts: list[Edges]) -> Edges:
        """All of them, one after the other."""
        none = np.zeros(0, np.int64)
        columns = zip(*((part.first, part.second, part.side, part.cost) for part in parts), strict=True)
        return cls(*map(np.concatenate, columns)) if parts else cls(none, none, none, none)


class Candidates:
    """Looks for candidates among all records, by their combinations of codes as they stand.

    Of the records with which a record can exchange values, the ``most`` cheapest are its candidates; between equal ones the
    keys of both decide.  Combinations that promise to cost least, by how many variables would move, are looked at first, and
    others until no better ones can come.  With ordered variables, that is until as good ones are found as were promised.
    """

    def __init__(self, held: Combinations, exchange: Exchange, key: Integers, most: int) -> None:
        self.held, self.exchange, self.key, self.most = held, exchange, key, most
        self.records = np.argsort(held.of, kind="stable")
        self.begin = np.cumsum(held.counts) - held.counts
        own = np.zeros(len(held.counts), np.int64)
        own[held.of[::-1]] = key[::-1]  # the key of its first record stands for a combination
        self.drawn = mixed("margin-swap combination", own)

    def __repr__(self) -> str:
        return f"Candidates(among {len(self.records)} records)"

    def of(self, records: Integers) -> Edges:
        """The candidates of each of these records; a record that has none is in no pair."""
        parts = []
        order = records[np.argsort(self.held.of[records], kind="stable")]
        which, first = np.unique(self.held.of[order], return_index=True)
        lists = partner_lists(self.held, self.exchange.margins, which)
        for combination, alike, listed in zip(which.tolist(), np.split(order, first[1:]), lists, strict=True):
            partners, side, cost = self._cheapest(combination, listed)
            number = self.held.counts[partners]
            of = np.repeat(np.arange(len(partners)), number)
            second = self.records[np.arange(len(of)) + np.repeat(self.begin[partners] - np.cumsum(number) + number, number)]
            for record in alike.tolist():
                chance = mixed("margin-swap candidate", self.key[second] ^ self.key[record])
                best = np.lexsort((chance, cost[of]))[: self.most]
                parts.append(Edges(np.full(len(best), record), second[best], side[of[best]], cost[of[best]]))
        return Edges.joined(parts)

    def _cheapest(self, combination: int, listed: Partners) -> tuple[Integers, Integers, Integers]:
        """Of the partners of a combination the cheapest, of at least ``most`` records if there are so many; the side that each
        exchange moves, and its cost."""
        own, none = self.held.codes[combination], np.zeros(0, np.int64)
        found = [(none, none, none)]
        promise = self.exchange.promise(listed.differ)
        size = AMONG if self.exchange.weighs else self.most
        for level in self.exchange.levels:
            left = listed.combinations[promise == level]
            while len(left) and sum(self.held.counts[at[cost <= level]].sum() for at, _, cost in found) < self.most:
                # in an order that the keys draw, another one for each combination
                drawn = np.argpartition(self.drawn[left] ^ self.drawn[combination], min(size, len(left) - 1))
                some, left = left[drawn[:size]], left[drawn[size:]]
                side, cost = self.exchange.best(np.broadcast_to(own, (len(some), len(own))), self.held.codes[some])
                fits = cost < BARRED
                found.append((some[fits], side[fits], cost[fits]))
        partners, sides, costs = map(np.concatenate, zip(*found, strict=True))
        return partners, sides, costs
