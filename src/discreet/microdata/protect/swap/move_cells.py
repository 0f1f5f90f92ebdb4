"""The cells to which swapped records may move: those that every fixed margin has seen."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.model.combinations import Combinations, combinations, packed
from discreet.model.contributions import Integers
from discreet.model.margins import Margins

__all__ = ["Barred", "Cells", "FixedMargins", "fixed_margins"]

Barred = Callable[[NDArray[np.int32]], NDArray[np.bool_]]
"""Of rows of codes, of shape (rows, variables), those that no further record may get."""

MOST = 200_000
"""Cells that are looked at for one record."""


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Cells:
    """Cells whose combination of codes each fixed margin has seen, in the order of their ``codes``; shape (cells, variables).

    ``rows[c, d]`` is the entry of all margins, one after the other, that counts cell c in margin d; ``most[c]`` the least of
    these counts, so that no table with these margins has more records there, or those of the file where no more may get there;
    ``held[c]`` the combination of the file that it is, or -1.
    """

    codes: NDArray[np.int32]
    rows: Integers
    most: Integers
    held: Integers

    def __repr__(self) -> str:
        return f"Cells({len(self.codes)} cells, {self.rows.shape[1]} margins)"


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class FixedMargins:
    """Fixed margins with their counts, of the combinations ``held``: for each the places of its variables, the combinations
    of codes that occur, and how many records have each; ``barred`` says which rows of codes no further record may get."""

    held: Combinations
    margins: Margins
    places: tuple[tuple[int, ...], ...]
    tallies: tuple[Combinations, ...]
    barred: Barred | None = None

    def __repr__(self) -> str:
        return f"FixedMargins({len(self.tallies)} margins of {len(self.held.counts)} combinations)"

    def cells(self, allowed: Sequence[NDArray[np.bool_]] | None = None, *, most: int | None = None) -> Cells | None:
        """The natural join of what the margins have seen, of the codes ``allowed[v][code]``; None if it grows over ``most``,
        by default 200,000.

        The margins are joined one by one, next that with the most variables in common with those before.
        """
        most = MOST if most is None else most
        left = dict(enumerate(self.tallies))
        picked = {d: np.arange(len(one.counts)) for d, one in left.items()}
        if allowed is not None:
            for d, one in left.items():
                fits = np.ones(len(one.counts), bool)
                for column, v in enumerate(self.places[d]):
                    fits &= allowed[v][one.codes[:, column]]
                picked[d] = np.flatnonzero(fits)
        sizes = self.held.sizes
        codes = np.zeros((1, len(sizes)), np.int32)
        rows = np.zeros((1, len(self.places)), np.int64)
        known: set[int] = set()
        first = np.cumsum([0, *(len(one.counts) for one in self.tallies)])
        while left:
            d = min(left, key=lambda d: self._order(d, known, len(picked[d])))
            one, margin, chosen = left.pop(d), self.places[d], picked[d]
            shared = [v for v in margin if v in known]
            there = one.codes[chosen][:, np.array([margin.index(v) for v in shared], np.int64)]
            at, which = _pairs_alike(codes[:, shared], there, [sizes[v] for v in shared], most)
            if at is None:
                return None
            codes, rows = codes[at], rows[at]
            codes[:, list(margin)] = one.codes[chosen[which]]
            rows[:, d] = first[d] + chosen[which]
            known.update(margin)
        order = np.argsort(packed(codes, sizes), kind="stable")
        codes, rows = codes[order], rows[order]
        counts = np.concatenate([one.counts for one in self.tallies])
        limit, held = counts[rows].min(axis=1), self._held(codes, allowed)
        if self.barred is not None:
            there = np.where(held >= 0, self.held.counts[held], 0)
            limit = np.where(self.barred(codes), there, limit)
        return Cells(codes, rows, limit, held)

    def _order(self, d: int, known: set[int], size: int) -> tuple[bool, int, int, int]:
        """Margins that share variables with those before come first, then those that add few variables and few rows."""
        new = sum(v not in known for v in self.places[d])
        return new == len(self.places[d]), new, size, d

    def _held(self, codes: NDArray[np.int32], allowed: Sequence[NDArray[np.bool_]] | None) -> Integers:
        """Which combination of the file each cell is, or -1."""
        fits = np.ones(len(self.held.counts), bool)
        for v, codes_allowed in enumerate(allowed or ()):
            fits &= codes_allowed[self.held.codes[:, v]]
        chosen = np.flatnonzero(fits)
        number = packed(np.concatenate([codes, self.held.codes[chosen]]), self.held.sizes)
        found = np.full(len(codes), -1, np.int64)
        found[np.searchsorted(number[: len(codes)], number[len(codes) :])] = chosen
        return found


def fixed_margins(held: Combinations, margins: Margins, barred: Barred | None = None) -> FixedMargins:
    """The margins with their counts, and with those of every single variable that is in none: swaps keep them in any case."""
    margins = Margins.of(margins.variables, [*margins.sets, *((name,) for name in margins.free)])
    places = tuple(tuple(margins.variables.index(name) for name in margin) for margin in margins.sets)
    tallies = tuple(
        combinations(np.ascontiguousarray(held.codes[:, list(at)]), [held.sizes[v] for v in at], held.counts) for at in places
    )
    return FixedMargins(held, margins, places, tallies, barred)


def _pairs_alike(
    here: NDArray[np.int32], there: NDArray[np.int32], sizes: Sequence[int], most: int
) -> tuple[Integers, Integers] | tuple[None, None]:
    """The pairs of rows that are equal; None if there are more than ``most``."""
    number = packed(np.concatenate([here, there]), sizes)
    mine, other = number[: len(here)], number[len(here) :]
    order = np.argsort(other, kind="stable")
    begin, end = (np.searchsorted(other, mine, side, sorter=order) for side in ("left", "right"))
    times = end - begin
    if (total := int(times.sum())) > most:
        return None, None
    at = np.repeat(np.arange(len(here)), times)
    offset = np.arange(total) - np.repeat(np.cumsum(times) - times, times)
    return at, order[np.repeat(begin, times) + offset]
