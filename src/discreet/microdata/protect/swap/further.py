"""Further pairs, drawn by chance, until so many records have changed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.microdata.protect.swap.edits import Flags
from discreet.microdata.protect.swap.pairs import BARRED, Exchange
from discreet.microdata.protect.swap.places import Places
from discreet.model.combinations import packed
from discreet.model.contributions import Integers
from discreet.model.noise import mixed

__all__ = ["swap_further"]

QUIET = 3
"""Rounds through all separators without a further pair after which there is taken to be none."""


def swap_further(places: Places, exchange: Exchange, sizes: Sequence[int], free: Flags, wanted: int) -> None:
    """Lets pairs of ``free`` records exchange values until ``wanted`` of them have, or no more pairs are found.

    Two records that can exchange values agree in a minimal separator of the margins' graph.  So for one separator after the
    other, the free records that agree there are put in an order that their keys draw, and those next to each other tried.
    ``free`` is changed.
    """
    variables = exchange.margins.variables
    separators = [[variables.index(name) for name in one.variables] for one in exchange.margins.separators]
    turn = quiet = 0
    while separators and wanted > 0 and quiet < QUIET:
        quiet += 1
        for separator in separators:
            turn += 1
            first, second = _neighbours(places, separator, [sizes[v] for v in separator], np.flatnonzero(free), turn)
            side, cost = exchange.best(places.codes[first], places.codes[second])
            fits = np.flatnonzero(cost < BARRED)
            drawn = mixed(f"margin-swap further pairs {turn}", places.key[first[fits]] ^ places.key[second[fits]])
            taken = fits[np.argsort(drawn, kind="stable")[: (wanted + 1) // 2]]
            if len(taken):
                places.exchange(first[taken], second[taken], side[taken])
                free[first[taken]] = free[second[taken]] = False
                wanted, quiet = wanted - 2 * len(taken), 0


def _neighbours(
    places: Places, separator: list[int], sizes: Sequence[int], records: Integers, turn: int
) -> tuple[Integers, Integers]:
    """Disjoint pairs of these records, in each of which both have the same codes in the separator."""
    group = packed(places.codes[records][:, separator], sizes) if separator else np.zeros(len(records), np.int64)
    order = np.lexsort((mixed(f"margin-swap further {turn}", places.key[records]), group))
    records, group = records[order], group[order]
    place = np.arange(len(group)) - np.searchsorted(group, group)
    first = np.flatnonzero((place[:-1] % 2 == 0) & (group[:-1] == group[1:]))
    return records[first], records[first + 1]
