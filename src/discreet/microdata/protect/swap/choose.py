"""Chooses and applies the swaps of all risky records together, in rounds, until no more of them change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.microdata.protect.swap.candidates import Candidates, Edges
from discreet.microdata.protect.swap.edits import Flags
from discreet.microdata.protect.swap.larger import LargerSwaps, Told
from discreet.microdata.protect.swap.matching import disjoint_pairs
from discreet.microdata.protect.swap.pairs import BARRED, Exchange
from discreet.microdata.protect.swap.partners import swappable
from discreet.microdata.protect.swap.places import Places
from discreet.model.combinations import Combinations, combinations
from discreet.model.contributions import Integers

__all__ = ["Choice"]

BLOCK = 1_000
"""Records whose pairs are chosen together; with more, those of the next block choose among what is left."""

MORE = 4
"""How many times as many candidates are looked at once a round has changed nothing."""

EDGES = 250_000
"""Pairs up to which that is done."""


class Choice:
    """The swaps of ``risky`` records; ``told`` says of each what came of it."""

    def __init__(
        self,
        places: Places,
        exchange: Exchange,
        sizes: Sequence[int],
        risky: Flags,
        *,
        most: int,
        larger: LargerSwaps | None,
    ) -> None:
        self.places, self.exchange, self.sizes, self.risky = places, exchange, tuple(sizes), risky
        self.most, self.larger = most, larger
        self.told: dict[int, Told] = {}

    def __repr__(self) -> str:
        return f"Choice({int(self.risky.sum())} risky records)"

    @property
    def changed(self) -> Flags:
        """The risky records that have changed, in their keys where these are to be broken up."""
        return self.risky & self.places.changed(self.exchange.seen)

    def run(self) -> None:
        """Rounds of swaps, until one changes no risky record, however many candidates it looks at."""
        order = np.argsort(self.places.key, kind="stable")
        most = self.most
        while True:
            open_ = self.risky & ~self.changed
            records = [r for r in order[open_[order]].tolist() if self.told.get(r) != "impossible"]
            if not records:
                return
            paired = self._round(np.array(records), most)
            if not self.changed[records].any():
                if not paired or most >= len(order) or len(records) * most > EDGES:
                    return
                most *= MORE

    def _round(self, records: Integers, most: int) -> bool:
        """Swaps these records as far as they can be together; whether any of them could be in a pair."""
        done = self.changed
        held = combinations(self.places.codes, self.sizes)
        look = Candidates(held, self.exchange, self.places.key, most)
        found = [look.of(records[at : at + BLOCK]) for at in range(0, len(records), BLOCK)]
        able = np.zeros(len(done), bool)
        for edges in found:
            able[edges.first] = True
        free = ~done
        self._without_pair(records[~able[records]], held, free)
        self.told |= dict.fromkeys(records[able[records]].tolist(), "others")
        idle, wanted = free | done, self.risky & ~done
        for edges in found:
            edges = self._still(edges, idle, done)
            gain = 1 + wanted[edges.second].astype(np.int64)
            key = self.places.key[edges.first] ^ self.places.key[edges.second]
            pairs = edges[disjoint_pairs(edges.first, edges.second, gain, edges.cost, key)]
            self.places.exchange(pairs.first, pairs.second, pairs.side)
            idle[pairs.first] = idle[pairs.second] = False
        return bool(able.any())

    def _still(self, edges: Edges, idle: Flags, done: Flags) -> Edges:
        """Pairs of records that have not moved in this round, in such a way that none gets back what it had at first."""
        edges = edges[idle[edges.first] & idle[edges.second]]
        at = np.flatnonzero(done[edges.second])
        first, second = edges.first[at], edges.second[at]
        codes, start = self.places.codes, self.places.start
        edges.side[at], edges.cost[at] = self.exchange.best(codes[first], codes[second], start[second])
        return edges[edges.cost < BARRED]

    def _without_pair(self, records: Integers, held: Combinations, free: Flags) -> None:
        """Does what can be done for records that no pair changes, or tells what is proved about them."""
        margins = self.exchange.margins
        proved = np.zeros(len(records), bool)
        if margins.decomposable and len(records):
            proved = ~swappable(held, margins).records[records]
        for record, impossible in zip(records.tolist(), proved.tolist(), strict=True):
            if impossible or self.larger is None:
                self.told[record] = "impossible" if impossible else "no swap"
            elif free[record]:
                self.told[record] = self.larger.change(record, held, free)
