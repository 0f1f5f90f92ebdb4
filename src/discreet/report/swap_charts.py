"""Charts about swapping as plain SVG text: the graph of fixed margins, and how far other margins moved."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from discreet.model.margins import Margins

__all__ = ["margins_graph"]

_LETTER = 7.2
"""The width of a letter."""

_LONGEST = 22


def margins_graph(margins: Margins, title: str, separator: Sequence[str] = ()) -> str:
    """The variables on a circle, with a line wherever two stand in one margin; those of a ``separator`` are marked.

    Without the separator the variables fall into parts: records that agree on it can exchange the values of a whole part.
    """
    names = margins.variables
    radius = max(70.0, 16.0 * len(names) / math.pi + 40)
    side = _LETTER * min(max(map(len, names), default=0), _LONGEST) + 22
    middle_x, middle_y = radius + side, radius + 26
    at = {}
    for v, name in enumerate(names):
        turn = 2 * math.pi * v / len(names) - math.pi / 2
        at[name] = (math.cos(turn), math.sin(turn))
    marked = set(separator)
    lines: list[str] = []
    cut: list[str] = []
    for one, other in margins.edges:
        ends = [f"{middle_x + radius * at[name][0]:.1f} {middle_y + radius * at[name][1]:.1f}" for name in (one, other)]
        (cut if marked & {one, other} else lines).append("M{}L{}".format(*ends))
    out = [f'<path class="edge" d="{"".join(lines)}"/>', f'<path class="edge cut" d="{"".join(cut)}"/>']
    for name, (x, y) in at.items():
        kind = "separator" if name in marked else "node"
        out.append(f'<circle class="{kind}" cx="{middle_x + radius * x:.1f}" cy="{middle_y + radius * y:.1f}" r="6"/>')
        anchor = "middle" if abs(x) < 0.15 else "start" if x > 0 else "end"
        text_x, text_y = middle_x + (radius + 12) * x, middle_y + (radius + 14) * y + 4
        short = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
        out.append(f'<text x="{text_x:.1f}" y="{text_y:.1f}" text-anchor="{anchor}">{escape(short)}</text>')
    width, height = 2 * middle_x, 2 * middle_y
    return (
        f'<svg class="graph" role="img" aria-label="{escape(title)}" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'style="max-width:{width:.0f}px"><title>{escape(title)}</title>{"".join(out)}</svg>'
    )
