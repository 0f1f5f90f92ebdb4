"""Swaps of three and more records for those that no pair can change."""

from __future__ import annotations

import time
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from discreet.microdata.protect.swap.edits import Flags
from discreet.microdata.protect.swap.move_cells import Barred
from discreet.microdata.protect.swap.moves import Move, permuted, smallest_move
from discreet.microdata.protect.swap.pairs import Exchange
from discreet.microdata.protect.swap.places import Places
from discreet.model.combinations import Combinations
from discreet.model.contributions import Integers

__all__ = ["LargerSwaps", "Told"]

Codes = NDArray[np.int32]

Told = Literal["changed", "impossible", "no swap", "undecided", "others"]
"""What came of a record: ``no swap`` of so few records is allowed, ``undecided`` in time, or ``others`` took its partners."""

NEVER = 1e15
"""The cost of taking away what is to stay."""


class LargerSwaps:
    """Looks for swaps of up to ``most`` records and applies them, one after the other, until the time of all is over."""

    def __init__(self, places: Places, exchange: Exchange, most: int, seconds: float) -> None:
        self.places, self.exchange, self.most = places, exchange, most
        self.until = time.monotonic() + seconds

    def __repr__(self) -> str:
        return f"LargerSwaps(of up to {self.most} records)"

    def change(self, record: int, held: Combinations, free: Flags) -> Told:
        """Changes one free record, together with other ``free`` ones; all of them are no longer free then.

        ``held`` are the combinations of all records as they stood before those that are not free moved.
        """
        counts = np.bincount(held.of[free], minlength=len(held.counts))
        at = np.flatnonzero(counts)
        some = Combinations(held.codes[at], counts[at], np.zeros(0, np.int64), held.sizes)
        whole, barred = bool(free.all()), self._barred(record)
        found = self._search(some, int(np.searchsorted(at, held.of[record])), self.most, barred)
        if found is None:
            return "undecided"
        if found.records:
            self._apply(record, held, at[found.out], found.into, free)
            return "changed"
        if not (found.impossible and whole and barred is None):
            # what these records cannot do under these limits might be possible with others, or without
            proof = self._search(held, int(held.of[record]), None, None)
            if proof is None or not proof.impossible:
                return "undecided" if found.stopped in ("time", "cells") else "no swap" if whole else "others"
        return "impossible"

    def _barred(self, record: int) -> Barred | None:
        """The codes that no record may get: those that break an edit, and this record's keys if they are to be broken up."""
        own, edits = self.places.codes[record], self.exchange.edits
        keys = self.exchange.seen if self.exchange.keys else []
        if not keys and not edits.forbidden:
            return None

        def barred(codes: Codes) -> Flags:
            alike = (codes[:, keys] == own[keys]).all(axis=1) if keys else np.zeros(len(codes), bool)
            return alike | edits.broken(codes).any(axis=1)

        return barred

    def _search(self, held: Combinations, which: int, most: int | None, barred: Barred | None) -> Move | None:
        left = self.until - time.monotonic()
        margins = self.exchange.margins
        return smallest_move(held, margins, which, most=most, seconds=left, barred=barred) if left > 0 else None

    def _apply(self, record: int, held: Combinations, out: Integers, into: Codes, free: Flags) -> None:
        """Applies the swap to a free record of each combination, those of the smallest keys, and to the one to change."""
        taken = [record]
        for combination in out[1:].tolist():
            alike = np.flatnonzero((held.of == combination) & free)
            alike = alike[np.argsort(self.places.key[alike], kind="stable")].tolist()
            taken.append(next(one for one in alike if one not in taken))
        records = np.array(taken)
        before = self.places.codes[records]
        self.places.permute(records, permuted(before, into[self._order(before, into)]))
        free[records] = False

    def _order(self, before: Codes, into: Codes) -> Integers:
        """Which of the new rows of codes each record takes, so that what is to stay does, at least cost."""
        m = len(before)
        mine, theirs = np.repeat(before, m, axis=0), np.tile(into, (m, 1))
        cost = self.exchange.distances(mine, theirs).sum(axis=1) * (-1.0 if self.exchange.far else 1.0)
        stay = [v for v in range(before.shape[1]) if self.exchange.stay >> v & 1]
        cost[(mine[:, stay] != theirs[:, stay]).any(axis=1)] = NEVER
        return np.asarray(linear_sum_assignment(cost.reshape(m, m))[1], np.int64)
