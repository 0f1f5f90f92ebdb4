"""The numbers that may be shown, as a grid; a value goes to the nearest of them, or up or down by chance."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from discreet.model.contributions import Floats
from discreet.model.table import Bools
from discreet.tables.rounding.scheme import Units

__all__ = ["TIES", "Grid", "OnGrid"]

TIES = ("half-up", "half-even", "half-down")
"""What becomes of a value in the middle: it goes away from 0, to the even multiple, or towards 0."""

BEYOND = 2**62
"""No value that is held in 64 bits comes near."""


@dataclasses.dataclass(frozen=True)
class Grid:
    """0 and the multiples of ``bases[i]`` above ``limits[i - 1]`` and up to ``limits[i]``; the last base has no limit.

    In units of the last decimal and for sizes, which are 0 or more.
    """

    bases: tuple[int, ...]
    limits: tuple[int, ...] = ()

    def base(self, size: Units) -> Units:
        """The base of the step in which a size falls."""
        return _pick(self.bases, self._step(size), size)

    def below(self, size: Units) -> Units:
        """The largest grid point that is not above a size."""
        step = self._step(size)
        base = _pick(self.bases, step, size)
        last = [0]
        for limit, width in zip(self.limits, self.bases, strict=False):
            last.append(max(last[-1], limit // width * width))
        return np.asarray(np.maximum(size // base * base, _pick(last, step, size)))

    def above(self, size: Units) -> Units:
        """The smallest grid point that is not below a size."""
        step = self._step(size)
        base = _pick(self.bases, step, size)
        point = -(-size // base) * base
        first = [0] * len(self.bases)
        ends = [*self.limits, None]
        for i in reversed(range(len(self.limits))):
            width, end = self.bases[i + 1], ends[i + 1]
            least = (self.limits[i] // width + 1) * width
            first[i] = least if end is None or least <= end else first[i + 1]
        most = _pick([*self.limits, BEYOND], step, size)
        over = (point > most) & (step < len(self.limits))
        return np.where(over, _pick(first, step, size), point)

    def _step(self, size: Units) -> Units:
        return np.searchsorted(_like(self.limits, size), size)


def _pick(numbers: Sequence[int], step: Units, size: Units) -> Units:
    return np.asarray(_like(numbers, size)[step])


def _like(numbers: Sequence[int], size: Units) -> Units:
    """Whole numbers of the kind of the sizes."""
    exact = np.array(numbers, object)
    return exact if size.dtype == object else np.minimum(exact, BEYOND).astype(np.int64)


@dataclasses.dataclass(frozen=True)
class OnGrid:
    """Rounds to a grid: to the nearest point, with one of :data:`TIES`, or unbiased by chance (``ties`` is then ``random``).

    By chance a value between the points l and h becomes h with probability (value − l) / (h − l).
    """

    grid: Grid
    ties: str

    @property
    def random(self) -> bool:
        """Chance decides."""
        return self.ties == "random"

    def round(self, units: Units, chance: Floats | None) -> Units:
        """What is shown of these true values; ``chance`` uniform in (0, 1)."""
        size = np.abs(units)
        low, high = self.grid.below(size), self.grid.above(size)
        if chance is not None:
            up = np.asarray(chance * (high - low) < size - low, bool)
        else:
            twice = 2 * size - low - high
            up = np.asarray((twice > 0) | ((twice == 0) & self._tie_goes_up(high, size)), bool)
        shown = np.where(up, high, low)
        return np.where(units < 0, -shown, shown)

    def reach(self, shown: Units) -> tuple[Units, Units]:
        """The least and the largest true value that can be shown so."""
        size = np.abs(shown)
        down = size - self.grid.below(np.maximum(size - 1, 0))
        up = self.grid.above(size + 1) - size
        if self.random:
            low, high = size - down + 1, size + up - 1
        else:
            from_below = self._tie_goes_up(size, size - down // 2)
            to_above = self._tie_goes_up(size + up, size + up // 2)
            low = size - np.where(from_below, down // 2, (down - 1) // 2)
            high = size + np.where(to_above, (up - 1) // 2, up // 2)
        low = np.where(size == 0, -high, low)
        return np.where(shown < 0, -high, low), np.where(shown < 0, -low, high)

    def possible(self, shown: Units) -> Bools:
        """Whether anything can be shown so."""
        size = np.abs(shown)
        return np.asarray(self.grid.below(size) == size, bool)

    def variance(self, shown: Units) -> Floats:
        """(b² − 1)/6 with b the wider distance to a neighbour, in squared units: the mean of r(b − r) over r = 0 … b − 1."""
        size = np.abs(shown)
        down = size - self.grid.below(np.maximum(size - 1, 0))
        wide = np.maximum(down, self.grid.above(size + 1) - size).astype(float)
        return np.asarray((wide**2 - 1) / 6)

    def _tie_goes_up(self, high: Units, middle: Units) -> Bools:
        """Whether a value in the middle below the point ``high`` goes up to it."""
        if self.ties == "half-even":
            return np.asarray(high // self.grid.base(middle) % 2 == 0, bool)
        return np.full(len(high), self.ties == "half-up")
