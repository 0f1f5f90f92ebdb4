"""Charts as plain SVG text; colours are named by class, so that one page style serves light, dark and print."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from html import escape
from typing import Any

__all__ = ["bar", "deviations", "heat_map", "histogram"]

_WIDTH = 1040
_MOST_LEFT, _TOP = 130, 64
_CLASS = {"o": "open", "r": "perturbed", "s": "secondary", "p": "primary", "n": "unlisted"}


def heat_map(view: dict[str, Any], title: str) -> str:
    """The first slice of a view as a map: a rectangle a cell, coloured published, perturbed, secondary, primary."""
    rows, columns = view["rows"], view["columns"] or {"variable": "", "codes": [""], "levels": [0]}
    high, wide = len(rows["codes"]), len(columns["codes"])
    left = min(_MOST_LEFT, 16 + 7 * max(len(name) for name in (*rows["codes"], rows["variable"])))
    w = min(26.0, (_WIDTH - left) / wide)
    h = min(18.0, max(2.0, 720 / high))
    marks = view["slices"][0]["marks"]
    lines = [marks[i * wide : (i + 1) * wide] for i in range(high)]
    paths = "".join(
        f'<path class="{name}" data-mark="{letter}" d="{_runs(lines, letter)}"/>' for letter, name in _CLASS.items()
    )
    grid = _borders(rows["levels"], columns["levels"], left, w, h)
    names = _row_names(rows, left, h) + _column_names(columns, left, w)
    width = left + max(w * wide, 8 * len(_short(columns["variable"]))) + 2
    height = _TOP + h * high + 2
    return (
        f'<svg class="map" role="img" aria-label="{escape(title)}" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'style="max-width:{width:.0f}px" data-left="{left}" data-top="{_TOP}" data-w="{w:.4f}" data-h="{h:.4f}">'
        f'<title>{escape(title)}</title><g shape-rendering="crispEdges" transform="translate({left} {_TOP}) '
        f'scale({w:.4f} {h:.4f})">{paths}</g>{grid}{names}</svg>'
    )


def _runs(lines: Sequence[str], letter: str) -> str:
    """One path for all cells of a letter, neighbours in a row joined."""
    out = []
    for y, line in enumerate(lines):
        x = 0
        for mark, run in itertools.groupby(line):
            length = len(list(run))
            if mark == letter:
                out.append(f"M{x} {y}h{length}v1h-{length}z")
            x += length
    return "".join(out)


def _borders(rows: Sequence[int], columns: Sequence[int], left: int, w: float, h: float) -> str:
    """Thin lines where a code of the first two levels begins."""
    high, wide = h * len(rows), w * len(columns)
    across = [f"M{left} {_TOP + h * y:.2f}h{wide:.2f}" for y, level in enumerate(rows) if level <= 1 and y]
    down = [f"M{left + w * x:.2f} {_TOP}v{high:.2f}" for x, level in enumerate(columns) if level <= 1 and x]
    if len(across) * 5 > high:
        across = []
    if len(down) * 5 > wide:
        down = []
    return f'<path class="border" d="{"".join(across + down)}"/>'


def _named(levels: Sequence[int], step: float, room: float) -> list[int]:
    """Which codes get their name written: every one if there is room, else the coarsest that do not collide."""
    if step >= room:
        return list(range(len(levels)))
    chosen: list[int] = []
    for level in sorted(set(levels)):
        for i in (i for i, at in enumerate(levels) if at == level):
            if all(abs(i - other) * step >= room for other in chosen):
                chosen.append(i)
    return sorted(chosen)


def _row_names(rows: dict[str, Any], left: int, h: float) -> str:
    out = [f'<text class="axis" x="{left - 6}" y="{_TOP - 8}" text-anchor="end">{_short(rows["variable"])}</text>']
    for i in _named(rows["levels"], h, 10.5):
        y = _TOP + h * (i + 0.5) + 3.5
        out.append(f'<text x="{left - 6}" y="{y:.1f}" text-anchor="end">{_short(rows["codes"][i])}</text>')
    return "".join(out)


def _column_names(columns: dict[str, Any], left: int, w: float) -> str:
    out = [f'<text class="axis" x="{left}" y="12">{_short(columns["variable"])}</text>']
    for i in _named(columns["levels"], w, 11.0):
        x = left + w * (i + 0.5) + 3
        name = _short(columns["codes"][i], 8)
        out.append(f'<text transform="translate({x:.1f} {_TOP - 5}) rotate(-90)">{name}</text>')
    return "".join(out)


def _short(text: str, most: int = 18) -> str:
    return escape(text if len(text) <= most else f"{text[: most - 1]}…")


def bar(parts: Sequence[tuple[str, float]], whole: float, title: str) -> str:
    """A bar of stacked parts (class, amount) out of ``whole``."""
    x, out = 0.0, []
    for name, amount in parts:
        width = 100 * amount / whole if whole else 0.0
        out.append(f'<rect class="{name}" x="{x:.2f}" width="{width:.2f}" height="10"/>')
        x += width
    return (
        f'<svg class="bar" role="img" aria-label="{escape(title)}" viewBox="0 0 100 10" preserveAspectRatio="none">'
        f'<rect class="open" width="100" height="10"/>{"".join(out)}</svg>'
    )


def histogram(bins: Sequence[str], series: Sequence[tuple[str, Sequence[int]]], title: str, axis: str) -> str:
    """Stacked columns; ``series`` are (class, count a bin), the first one at the bottom."""
    step, high, left, top = 72, 170, 46, 18
    tallest = max((sum(counts) for counts in zip(*(counts for _, counts in series), strict=True)), default=0) or 1
    width, height = left + step * len(bins) + 8, top + high + 44
    out = [f'<path class="border" d="M{left} {top + high}h{step * len(bins)}"/>']
    for i, name in enumerate(bins):
        y: float = top + high
        x = left + step * i + 8
        for colour, counts in series:
            tall = high * counts[i] / tallest
            y -= tall
            out.append(f'<rect class="{colour}" x="{x}" y="{y:.1f}" width="{step - 16}" height="{tall:.1f}"/>')
        both = sum(counts[i] for _, counts in series)
        middle = x + (step - 16) / 2
        out.append(f'<text x="{middle}" y="{y - 4:.1f}" text-anchor="middle">{_grouped(both)}</text>')
        out.append(f'<text x="{middle}" y="{top + high + 15}" text-anchor="middle">{escape(name)}</text>')
    out.append(f'<text class="axis" x="{left}" y="{height - 6}">{escape(axis)}</text>')
    return (
        f'<svg class="histogram" role="img" aria-label="{escape(title)}" viewBox="0 0 {width} {height}" '
        f'style="max-width:{width}px"><title>{escape(title)}</title>{"".join(out)}</svg>'
    )


def deviations(
    edges: Sequence[float], series: Sequence[tuple[str, Sequence[int]]], title: str, axis: str, unit: str = ""
) -> str:
    """Stacked columns over classes of signed deviations, from below minus the last edge over exactly 0 to above the last one.

    Classes beyond the largest deviation are left out.  The borders of the classes are named, as shares with ``unit`` %; whole
    steps of 1 name the column instead, and so does 0.
    """
    k = len(edges)
    sums = [sum(counts) for counts in zip(*(counts for _, counts in series), strict=True)]
    far = max((abs(i - k - 1) for i, count in enumerate(sums) if count), default=0)
    kept = range(k + 1 - far, k + 2 + far)
    step, high, left, top = min(72.0, (_WIDTH - 60) / len(kept)), 170, 40, 18
    tallest = max(sums) or 1
    out = [f'<path class="border" d="M{left} {top + high}h{step * len(kept):.1f}"/>']
    for place, i in enumerate(kept):
        x, y = left + step * place, float(top + high)
        for colour, counts in series:
            tall = high * counts[i] / tallest
            y -= tall
            out.append(f'<rect class="{colour}" x="{x + 1:.1f}" y="{y:.1f}" width="{step - 2:.1f}" height="{tall:.1f}"/>')
        if sums[i]:
            out.append(f'<text x="{x + step / 2:.1f}" y="{y - 4:.1f}" text-anchor="middle">{_grouped(sums[i])}</text>')
    for away, name in _class_names(edges, far, unit):
        x = left + step * (far + 0.5 + away)
        out.append(f'<text x="{x:.1f}" y="{top + high + 15}" text-anchor="middle">{name}</text>')
    width, height = left + step * len(kept) + left, top + high + 44
    out.append(f'<text class="axis" x="{left}" y="{height - 6}">{escape(axis)}</text>')
    return (
        f'<svg class="histogram" role="img" aria-label="{escape(title)}" viewBox="0 0 {width:.0f} {height}" '
        f'style="max-width:{width:.0f}px"><title>{escape(title)}</title>{"".join(out)}</svg>'
    )


def _class_names(edges: Sequence[float], far: int, unit: str) -> list[tuple[float, str]]:
    """What to write under the columns, and how many columns from 0: their numbers, or those of the borders between them."""
    names, last = [(0.0, "0")], min(far, len(edges))
    if edges[0] == 1 and edges[-1] == len(edges):
        texts = [(float(i), f"{i}") for i in range(1, last + 1)] + [(float(far), f"> {last}")] * (far > last)
    else:
        texts = [(i + 0.5, f"{_grouped(edges[i - 1] * (100 if unit else 1))}{unit}") for i in range(1, last + 1)]
    for place, text in texts:
        names += [(-place, f"−{text}" if text[0] != ">" else f"< −{text[2:]}"), (place, f"+{text}" if text[0] != ">" else text)]
    return names


def _grouped(number: float) -> str:
    return (f"{number:,.0f}" if number >= 1 and number == round(number) else f"{number:g}").replace(",", "\u202f")
