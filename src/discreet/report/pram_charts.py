"""Charts about PRAM as plain SVG text: a map of a transition matrix, and true against estimated counts."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from html import escape
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from discreet.model.contributions import Floats, Integers
from discreet.report.verdict import grouped

__all__ = ["estimates", "matrix_map", "strength"]

_WIDTH = 1040
_MOST_NUMBERED = 12
_LETTER = 6.2
"""The width of a letter in small print; names that need more room than there is are cut."""

_APART = 60.0
"""How far marks of an axis are from each other."""

_SHADES = 20
"""How many shades a map has."""


def strength(probability: float) -> float:
    """How strongly a probability is coloured: its square root, in steps, so that small ones show; 0 only for 0."""
    return int(_shade(np.array(probability))) / _SHADES


def _shade(probability: Floats) -> Integers:
    return np.ceil(_SHADES * np.sqrt(probability) - 1e-9).astype(np.int64)


def matrix_map(labels: Sequence[str], matrix: Floats, title: str) -> str:
    """A transition matrix, rows true and columns released, darker where more probable; with numbers where there is room."""
    size = len(labels)
    left = 22 + _room(labels, 24)
    w = min(50.0 if size <= _MOST_NUMBERED else 22.0, (_WIDTH - left) / max(size, 1))
    h = 26.0 if size <= _MOST_NUMBERED else w
    flat = size <= _MOST_NUMBERED and _LETTER * max((len(label) for label in labels), default=0) <= w - 4
    top = 40.0 if flat else 30 + _room(labels, 24)
    shades = _shade(matrix)
    paths = "".join(
        f'<path class="heat" fill-opacity="{level / _SHADES:g}" d="{_cells(shades == level)}"/>'
        for level in range(1, _SHADES + 1)
        if (shades == level).any()
    )
    width, height = max(left + w * size, left + 120) + 2, top + h * size + 2
    return (
        f'<svg class="matrix" role="img" aria-label="{escape(title)}" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'style="max-width:{width:.0f}px"><title>{escape(title)}</title>'
        f'<text class="axis" x="{left - 6:.0f}" y="{top - 6:.1f}" text-anchor="end">true</text>'
        f'<text class="axis" x="{left:.0f}" y="12">released as</text>'
        f'<g shape-rendering="crispEdges" transform="translate({left:.0f} {top:.1f}) scale({w:.4f} {h:.4f})">{paths}</g>'
        f'<path class="border" d="M{left:.0f} {top:.1f}h{w * size:.1f}v{h * size:.1f}h{-w * size:.1f}z"/>'
        f"{_row_labels(labels, left, top, h)}{_column_labels(labels, left, top, w, flat=flat)}"
        f"{_numbers(matrix, left, top, w, h) if size <= _MOST_NUMBERED else ''}</svg>"
    )


def _room(labels: Sequence[str], most: int) -> float:
    return _LETTER * min(most, max((len(label) for label in labels), default=0))


def _cut(text: str, most: int) -> str:
    return escape(text if len(text) <= most else f"{text[: most - 1]}…")


def _cells(chosen: NDArray[np.bool_]) -> str:
    """One path for the chosen cells, neighbours in a row joined."""
    out = []
    for y, row in enumerate(chosen.tolist()):
        x = 0
        for is_chosen, run in groupby(row):
            length = len(list(run))
            if is_chosen:
                out.append(f"M{x} {y}h{length}v1h-{length}z")
            x += length
    return "".join(out)


def _named(size: int, step: float) -> range:
    """Which of so many labels, ``step`` apart, can be written without touching."""
    return range(0, size, max(1, math.ceil(11 / step)))


def _row_labels(labels: Sequence[str], left: float, top: float, h: float) -> str:
    rows = ((i, top + h * (i + 0.5) + 3.5) for i in _named(len(labels), h))
    return "".join(f'<text x="{left - 6:.0f}" y="{y:.1f}" text-anchor="end">{_cut(labels[i], 24)}</text>' for i, y in rows)


def _column_labels(labels: Sequence[str], left: float, top: float, w: float, *, flat: bool) -> str:
    if flat:
        middles = ((label, left + w * (i + 0.5)) for i, label in enumerate(labels))
        return "".join(
            f'<text x="{x:.1f}" y="{top - 6:.1f}" text-anchor="middle">{escape(label)}</text>' for label, x in middles
        )
    places = ((i, left + w * (i + 0.5) + 3.5) for i in _named(len(labels), w))
    return "".join(
        f'<text transform="translate({x:.1f} {top - 6:.1f}) rotate(-90)">{_cut(labels[i], 24)}</text>' for i, x in places
    )


def _numbers(matrix: Floats, left: float, top: float, w: float, h: float) -> str:
    out = []
    for (y, x), p in np.ndenumerate(matrix):
        if p == 0:
            continue
        text = f"{p:.2f}" if p >= 0.005 else "< .01"
        name = "over" if strength(float(p)) > 0.6 else "on"
        out.append(
            f'<text class="{name}" x="{left + w * (x + 0.5):.1f}" y="{top + h * (y + 0.5) + 3.5:.1f}" '
            f'text-anchor="middle">{escape(text)}</text>'
        )
    return "".join(out)


def estimates(
    labels: Sequence[str], true: Floats, released: Floats, estimate: Floats, low: Floats, high: Floats, title: str
) -> str:
    """A line a category: its interval, the estimate in it, the true count and the released one, all of shape (categories,).

    Along a square root scale, on which the intervals of small and large counts can be compared.
    """
    left, top, step = 16 + _room(labels, 28), 10.0, 20.0
    scale = _Scale.of(np.concatenate([true, released, low, high]), left, _WIDTH - 28.0)
    at, bottom = scale.at, top + step * len(labels)
    out = []
    for count in scale.marks():
        out.append(f'<path class="{"zero" if count == 0 else "rule"}" d="M{at(count):.1f} {top}V{bottom:.1f}"/>')
        out.append(f'<text x="{at(count):.1f}" y="{bottom + 15:.1f}" text-anchor="middle">{grouped(count)}</text>')
    for i, label in enumerate(labels):
        y = top + step * (i + 0.5)
        out.append(f'<text x="{left - 10:.0f}" y="{y + 4:.1f}" text-anchor="end">{_cut(label, 28)}</text>')
        out.append(f'<path class="interval" d="M{at(low[i]):.1f} {y:.1f}H{at(high[i]):.1f}"/>')
        out.append(f'<rect class="naive" x="{at(released[i]) - 3:.1f}" y="{y - 3:.1f}" width="6" height="6"/>')
        out.append(f'<circle class="estimate" cx="{at(estimate[i]):.1f}" cy="{y:.1f}" r="4"/>')
        out.append(f'<path class="true" d="M{at(true[i]):.1f} {y - 8:.1f}v16"/>')
    height = bottom + 26
    return (
        f'<svg class="estimates" role="img" aria-label="{escape(title)}" viewBox="0 0 {_WIDTH} {height:.0f}" '
        f'style="max-width:{_WIDTH}px"><title>{escape(title)}</title>{"".join(out)}</svg>'
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Scale:
    """Counts from ``low`` to ``high`` along a square root scale from ``left`` to ``right``; with 0 where some are near it."""

    low: float
    high: float
    left: float
    right: float

    @classmethod
    def of(cls, counts: Floats, left: float, right: float) -> _Scale:
        low, high = float(counts.min(initial=math.inf)), max(1.0, float(counts.max(initial=1.0)))
        return cls(low=low if low > high / 2 else min(0.0, low), high=high, left=left, right=right)

    def at(self, count: float) -> float:
        """Where a count lies."""
        ends = _root(self.low), _root(self.high)
        return self.left + (self.right - self.left) * (_root(count) - ends[0]) / ((ends[1] - ends[0]) or 1.0)

    def marks(self) -> list[float]:
        """Round counts, as far apart as their names need."""
        chosen: list[float] = []
        for count in self._round():
            if self.low <= count <= self.high and all(abs(self.at(count) - self.at(other)) >= _APART for other in chosen):
                chosen.append(count)
        return chosen

    def _round(self) -> list[float]:
        """Round counts in the order in which they are wanted: away from 0, or in equal steps where that is far."""
        if self.low > 0:
            size = 10.0 ** math.floor(math.log10(max((self.high - self.low) / 4, 1.0)))
            step = next(size * digit for digit in (1, 2, 5, 10) if size * digit >= (self.high - self.low) / 8)
            first = math.ceil(self.low / step)
            return [step * (first + i) for i in range(int(self.high // step) - first + 1)]
        sizes = [digit * 10.0**power for power in range(16) for digit in (1, 2, 5)]
        return [0.0, *sizes, *(-size for size in sizes)]


def _root(count: float) -> float:
    return math.copysign(math.sqrt(abs(count)), count)
