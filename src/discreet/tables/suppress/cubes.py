"""Hypercubes in a subtable: their corners can all move by one amount, up and down by turns, and every sum stays."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np

from discreet.model.contributions import Floats, Integers
from discreet.model.table import Bools
from discreet.tables.suppress.subtables import Subtable

__all__ = ["Cube", "Cubes"]

Index = tuple[int, ...]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Cube:
    """The ``corners`` of a cube as places in the subtable, the target first.

    ``turned`` tells for each corner whether it moves down when the target moves up; ``rise`` and ``fall`` are how far the
    target moves in the cube, ``price`` what the cube costs.
    """

    corners: Integers
    turned: Integers
    rise: float
    fall: float
    price: float


class Cubes:
    """The cubes of one subtable.

    For the target ``x`` and another code ``y[v]`` of every variable ``v`` the corners are all lines with the code of ``x``
    or of ``y`` in each variable.  Counted with the sign of :attr:`Subtable.side`, corners that differ from the target in an
    even number of codes move as it does and the others against it.
    """

    def __init__(self, subtable: Subtable, rise: Floats, fall: Floats) -> None:
        self.side = subtable.side
        self.shape = subtable.cells.shape
        outward, inward = np.where(self.side > 0, rise, fall), np.where(self.side > 0, fall, rise)
        self._room = (outward, inward)
        changes = list(itertools.product((False, True), repeat=len(self.shape)))[1:]
        self._changes = np.array([[False] * len(self.shape), *changes]).astype(np.int64)
        self._odd = [sum(changed) % 2 == 1 for changed in changes]
        self._kept = [[axis for axis, moved in enumerate(changed) if not moved] for changed in changes]
        self._steps = np.array([math.prod(self.shape[axis + 1 :]) for axis in range(len(self.shape))], np.int64)
        self._sides = self.side.ravel()
        self._signs = 1.0 - 2.0 * (self._changes.sum(axis=1) % 2)
        self._all = [slice(None)] * len(self.shape)

    def cheapest(self, at: Index, price: Floats, needs: tuple[float, float, float], marked: Bools | None = None) -> Cube | None:
        """The cheapest cube in which the target moves up, down, and up and down together as far as needed.

        ``price`` of each line, infinite where it must be published; without the ``marked`` lines if these are given.
        The first in the order of codes of those that cost the same; None where there is none.
        """
        if marked is not None:
            price = np.where(marked, np.inf, price)
        turned = int(self.side[at] < 0)
        with_it, against = self._room[turned], self._room[1 - turned]
        rise: Floats | float = float(with_it[at])
        fall: Floats | float = float(against[at])
        cost: Floats | float = 0.0
        for kept, odd in zip(self._kept, self._odd, strict=True):
            lines = self._all.copy()
            for axis in kept:
                lines[axis] = slice(at[axis], at[axis] + 1)
            view = tuple(lines)
            rise = np.minimum(rise, (against if odd else with_it)[view])
            fall = np.minimum(fall, (with_it if odd else against)[view])
            cost = cost + price[view]
        up, down, width = needs
        enough = (rise >= up) & (fall >= down) & (rise + fall >= width)
        total = np.where(enough, cost, np.inf)
        for axis, place in enumerate(at):
            total[(slice(None),) * axis + (place,)] = np.inf
        best = int(total.argmin())
        if not np.isfinite(total.flat[best]):
            return None
        return self._cube(at, best, tuple(float(np.asarray(array).flat[best]) for array in (rise, fall, cost)))

    def _cube(self, at: Index, best: int, found: tuple[float, ...]) -> Cube:
        here = np.array(at, np.int64)
        there = np.array(np.unravel_index(best, self.shape), np.int64)
        corners = self._changes @ ((there - here) * self._steps) + int(here @ self._steps)
        sides = self._sides[corners] * self._signs
        rise, fall, price = found
        return Cube(corners=corners, turned=(sides != sides[0]).astype(np.int64), rise=rise, fall=fall, price=price)
