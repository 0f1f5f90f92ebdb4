"""Parts of a table that are worth solving anew: all inner cells of some codes of each spanning variable, and their totals."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from discreet.model.contributions import Integers
from discreet.model.layout import Layout
from discreet.model.table import Bools
from discreet.tables.rounding.parts import Parts

__all__ = ["Boxes"]

FEWEST = 2
"""At least so many codes of each variable are taken."""

FIRST = 1
"""The sequence of boxes is the same in every run."""


class Boxes:
    """Draws one box after the other around cells that ask for it, from a fixed sequence of pseudo-random numbers."""

    def __init__(self, parts: Parts, layouts: Sequence[Layout]) -> None:
        cells = parts.sums.shape[0]
        self.parts, self.layouts = parts, layouts
        self.chance = np.random.default_rng(FIRST)
        self.place = np.full(cells, -1, np.int64)
        self.place[parts.inner] = np.arange(len(parts.inner))
        self.where = np.full((cells, 2), -1, np.int64)
        for number, layout in reversed(list(enumerate(layouts))):
            self.where[layout.cell[::-1], 0] = number
            self.where[layout.cell[::-1], 1] = np.arange(len(layout.cell))[::-1]
        self.below = [[_leaves_below(tree.closure(), len(tree.codes)) for tree in layout.hierarchies] for layout in layouts]

    def free(self, asking: Bools, size: float) -> Bools:
        """About ``size`` inner cells around one of those that ask, and every cell that they are part of."""
        candidates = np.flatnonzero(asking) if asking.any() else self.parts.inner
        focus = int(self.chance.choice(candidates))
        chosen = self._around(focus, size)
        chosen = chosen[chosen >= 0]
        marked = np.zeros(len(self.parts.inner))
        marked[chosen] = 1.0
        free = np.asarray(self.parts.sums @ marked > 0)
        free[focus] = True
        return free

    def _around(self, focus: int, size: float) -> Integers:
        """Positions of inner cells."""
        number, line = self.where[focus]
        if number < 0:
            return np.asarray(self.parts.sums[[focus]].indices, np.int64)
        layout = self.layouts[number]
        share = min(1.0, size / len(self.parts.inner)) ** (1 / len(layout.variables))
        inside = np.ones(len(layout.cell), bool)
        for v, tree in enumerate(layout.hierarchies):
            wanted = max(FEWEST, round(share * len(tree.leaves)))
            own = int(layout.codes[line, v])
            taken = np.zeros(len(tree.codes), bool)
            taken[self._codes(self.below[number][v][own], np.asarray(tree.leaves, np.int64), wanted)] = True
            taken[own] = True
            inside &= taken[layout.codes[:, v]]
        return np.asarray(self.place[layout.cell[inside]], np.int64)

    def _codes(self, own: Integers, leaves: Integers, wanted: int) -> Integers:
        """Leaves of a variable: those below the own code, and others from anywhere."""
        if len(own) >= wanted:
            return self.chance.choice(own, wanted, replace=False)
        others = np.setdiff1d(leaves, own)
        more = min(wanted - len(own), len(others))
        return np.concatenate([own, self.chance.choice(others, more, replace=False)])


def _leaves_below(closure: tuple[np.ndarray, np.ndarray], codes: int) -> list[Integers]:
    leaf, node = (np.asarray(ends, np.int64) for ends in closure)
    order = np.argsort(node, kind="stable")
    ends = np.searchsorted(node[order], np.arange(codes + 1))
    return [leaf[order][start:end] for start, end in pairwise(ends)]
