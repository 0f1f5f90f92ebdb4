"""The picture of the comparison: hidden value against processor time, a panel a table, as plain SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

from benchmarks.peers.run import TABLES, TOOLS

__all__ = ["LETTERS", "by_table", "exposed", "level", "picture"]

Result = dict[str, Any]

LETTERS = {
    "discreet gauss": "G",
    "discreet gauss, no repair": "g",
    "discreet hypercube": "H",
    "discreet network": "N",
    "discreet modular": "M",
    "discreet search, in MOD's time": "s",
    "discreet search": "S",
    "discreet, its own choice": "C",
    "discreet exact": "E",
    "discreet search for outsiders, in 1/4 of OPT's time": "p",
    "discreet search for outsiders": "P",
    "pytauargus MOD": "T",
    "pytauargus OPT": "O",
    "gconfid Size": "z",
    "gconfid Information": "i",
}
"""The mark of each tool in the picture."""
LINES = (
    ("discreet search, in MOD's time", "discreet search"),
    ("discreet search for outsiders, in 1/4 of OPT's time", "discreet search for outsiders"),
)
"""The same method with more time: joined by a line."""
COLOURS = {"discreet": "#1d4ed8", "pytauargus": "#c2410c", "gconfid": "#4b5563"}
PALE = {"#1d4ed8": "#c7d7fe", "#c2410c": "#fed7aa", "#4b5563": "#d1d5db"}
ACROSS, WIDE, HIGH, GAP_X, GAP_Y, LEFT, TOP, EDGE = 3, 300, 210, 74, 84, 62, 78, 12
MOST = 2.0
"""Patterns that hide more than so many times what the cheapest safe one hides are drawn at the upper edge."""
LEVELS = ("unsafe", "outsiders", "proved")
NOTE = "Full marks: proved by the audit.  Pale: safe from outsiders, not from contributors.  Hollow: cells not protected."
STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#1f2937}.title{font-size:15px;font-weight:600}.name{font-weight:600}"
    ".grid{stroke:#e5e7eb;fill:none}.axis{stroke:#6b7280;fill:none}.mark{font-size:11px;font-weight:600;text-anchor:middle}"
)


def by_table(results: Sequence[Result]) -> dict[tuple[str, int], list[Result]]:
    """The results of each table and register, tables and tools in the order in which they are listed."""
    tables, tools = list(TABLES), [tool.name for tool in TOOLS]
    known = [result for result in results if result["table"] in tables and result["tool"] in tools]
    out: dict[tuple[str, int], list[Result]] = {}
    for result in sorted(known, key=lambda r: (tables.index(r["table"]), r["rows"], tools.index(r["tool"]))):
        out.setdefault((result["table"], result["rows"]), []).append(result)
    return out


def exposed(result: Result) -> int:
    """Insiders who find out another's cell, and sensitive sums."""
    return int(result["audit"]["insider pairs failed"] + result["audit"]["unions failed"])


def level(result: Result) -> str:
    """How far the pattern protects: "proved", safe from "outsiders" only, or "unsafe"."""
    audit = result["audit"]
    if result["primary published"] or audit["safe"] < audit["suppressed"]:
        return "unsafe"
    return "outsiders" if exposed(result) else "proved"


def picture(results: Sequence[Result]) -> str:
    """All panels and the legend."""
    shown = {key: [r for r in some if "cost" in r and r["cost"] > 0] for key, some in by_table(results).items()}
    panels = [_panel(key, some, i) for i, (key, some) in enumerate((k, s) for k, s in shown.items() if s)]
    rows = math.ceil(len(panels) / ACROSS)
    legend, high = _legend({result["tool"] for some in shown.values() for result in some})
    width, top = LEFT + ACROSS * (WIDE + GAP_X), TOP + rows * (HIGH + GAP_Y)
    title = "Value hidden by secondary suppressions (millions) against processor time (seconds)"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {top + high}" role="img" aria-label="{escape(title)}">\n'
        f'<style>{STYLE}</style>\n<rect width="{width}" height="{top + high}" fill="#ffffff"/>\n'
        f'<text class="title" x="20" y="26">{escape(title)}</text>\n'
        f'<text x="20" y="46">{NOTE}</text>\n'
        + "\n".join(panels)
        + f'\n<g transform="translate({LEFT} {top - 20})">\n{legend}\n</g>\n</svg>\n'
    )


def _panel(key: tuple[str, int], results: Sequence[Result], number: int) -> str:
    left, top = LEFT + number % ACROSS * (WIDE + GAP_X), TOP + number // ACROSS * (HIGH + GAP_Y)
    low = min(result["cost"] for result in results)
    safe = min((result["cost"] for result in results if level(result) != "unsafe"), default=low)
    high = max(min(max(result["cost"] for result in results), MOST * safe), 1.25 * low)
    times = [max(result["cpu"], 0.01) for result in results]
    least, most = 10.0 ** math.floor(math.log10(min(times))), 10.0 ** math.ceil(math.log10(max(times) * 1.001))

    def across(cpu: float) -> float:
        return EDGE + (WIDE - 2 * EDGE) * math.log(max(cpu, 0.01) / least) / math.log(most / least)

    def height(cost: float) -> float:
        return EDGE + (HIGH - 2 * EDGE) * (1 - math.log(min(cost, high) / low) / math.log(high / low))

    out = [f'<g transform="translate({left} {top})">', f'<text class="name" x="0" y="-8">{escape(_name(key))}</text>']
    for cost in _ticks(low, high):
        out.append(f'<path class="grid" d="M0 {height(cost):.1f}H{WIDE}"/>')
        out.append(f'<text x="-8" y="{height(cost) + 4:.1f}" text-anchor="end">{cost / 1e6:g}</text>')
    out.append(f'<path class="axis" d="M0 0V{HIGH}H{WIDE}"/>')
    marked = [10.0**power for power in range(round(math.log10(least)), round(math.log10(most)) + 1)]
    out += [f'<text x="{across(cpu):.1f}" y="{HIGH + 17}" text-anchor="middle">{cpu:g} s</text>' for cpu in marked]
    places = {result["tool"]: (across(result["cpu"]), height(result["cost"])) for result in results}
    for names in LINES:
        if all(name in places for name in names):
            path = "L".join(f"{places[name][0]:.1f} {places[name][1]:.1f}" for name in names)
            out.append(f'<path d="M{path}" fill="none" stroke="{_colour(names[0])}"/>')
    upwards = sorted(results, key=lambda result: LEVELS.index(level(result)))
    out += [_mark(result["tool"], *places[result["tool"]], level(result), result["cost"] > high) for result in upwards]
    return "\n".join([*out, "</g>"])


def _name(key: tuple[str, int]) -> str:
    return f"{key[0].replace('_', ' ')}, {key[1]:,} records"


def _ticks(low: float, high: float) -> list[float]:
    """A few round numbers between the two."""
    steps = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
    found = [
        step * 10.0**power for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1) for step in steps
    ]
    return [number for number in found if low * 0.999 <= number <= high * 1.001]


def _colour(tool: str) -> str:
    return next(colour for word, colour in COLOURS.items() if tool.startswith(word))


def _mark(tool: str, x: float, y: float, how: str, beyond: bool = False) -> str:
    colour = _colour(tool)
    fill, ink = {"proved": (colour, "#ffffff"), "outsiders": (PALE[colour], colour), "unsafe": ("#ffffff", colour)}[how]
    arrow = f'<path d="M{x:.1f} {y - 9:.1f}v-9m-3 4l3 -4l3 4" fill="none" stroke="{colour}"/>' if beyond else ""
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="8" fill="{fill}" stroke="{colour}" stroke-width="1.5"/>{arrow}'
        f'<text class="mark" x="{x:.1f}" y="{y + 4:.1f}" style="fill:{ink}">{LETTERS[tool]}</text>'
    )


def _legend(tools: set[str]) -> tuple[str, int]:
    """The marks of the tools that are drawn, in columns, and how high they stand together."""
    names = [name for name in LETTERS if name in tools]
    rows = math.ceil(len(names) / ACROSS) or 1
    out = []
    for i, name in enumerate(names):
        x, y = 10 + i // rows * (WIDE + GAP_X), 14 + 24 * (i % rows)
        out.append(_mark(name, x, y, "proved") + f'<text x="{x + 16}" y="{y + 4}">{escape(name)}</text>')
    note = f"An arrow: more than {MOST:g} times what the cheapest pattern hides that is safe from outsiders."
    out.append(f'<text x="0" y="{24 * rows + 18}">{note}</text>')
    return "\n".join(out), 24 * rows + 40
