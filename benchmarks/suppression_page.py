"""The page of the comparison, written from the methods' own words and from what was measured."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.suppression_picture import by_table, exposed, level
from discreet.tables import suppress

__all__ = ["SCALE", "guards", "page"]

Result = dict[str, Any]
Tables = dict[tuple[str, int], list[Result]]

MOD, OPT = "pytauargus MOD", "pytauargus OPT"
IN_MODS_TIME, SEARCH = "discreet search, in MOD's time", "discreet search"
IN_OPTS_TIME, OUTSIDERS = "discreet search for outsiders, in 1/4 of OPT's time", "discreet search for outsiders"

SCALE = {
    "gauss-R": "Elimination beside R's GaussSuppression, whose seconds were seen elsewhere on tables made in the same way:",
    "gauss-1M": "Elimination on a table of half a million cells that are not empty, from a million records:",
    "audit-10k": "The full audit, of every hidden cell, insider and sum of hidden cells, after elimination alone:",
    "audit-large": "The same for a table of 84,000 cells:",
    "suppress-5d": "Five dimensions:",
}
"""Subjects of ``benchmarks.run`` that the page tells of, and its words for each."""

HEAD = """# Suppression methods compared

Which cells are hidden besides the sensitive ones decides what a table is still worth, and whether it is safe.  This page
holds the methods of discreet against each other and against other tools: what each guards against, what it hides, how long
it takes.
Everything was measured in the same runs on the same tables, made by a generator and not by an office: turnover of enterprises,
cells sensitive with fewer than 3 holdings (with a protection of 10 %) or by the p % rule with p = 10, the cost of a cell is its
value.  Every tool got the same cells, sensitive cells and protection levels, and every pattern was judged by the same audit.

![Hidden value against processor time](suppression_comparison.svg)
"""

AUDITS = """
In a plan, and in `protect`, every method is followed by audits and repairs in turns until all demands are proved: protection
levels, insiders, sums.  What a method leaves open then costs time or a few more cells, but nothing leaves unproved.
"""

CHOICE = """
## Which to take

[suppression](methods/suppression.md) chooses: exact-suppression where the optimum can be proved soon, search-suppression where
there is time for it, gauss-suppression for what is larger.  It counts the open cells that equations tie to a sensitive one:

| spanning variables | exact up to | search up to, in 60 s | in 600 s |
|---|---:|---:|---:|
"""
REST = """
Take [hypercube-suppression](methods/hypercube-suppression.md) to reproduce a pattern of that kind, and
[network-suppression](methods/network-suppression.md) for a quick pattern of a table of two variables.
"""

PEERS = """
## Other tools

What the audit finds in their patterns below says:

| tool | guards against | does not guard against |
|---|---|---|
| pytauargus MOD | narrow intervals and singletons within each subtable of a hierarchy, with all its singleton options on | \
what follows from several subtables together: cells can stay too narrow, or even exact, without a word |
| pytauargus OPT | narrow intervals, over the whole table, with a bound | insiders: a contributor who subtracts its own cell; \
sensitive sums |
| gconfid | narrow intervals, over the whole table | insiders and sensitive sums |
| GaussSuppression (R) | exact recomputation, and singletons by default | narrow intervals, unless asked for |

`too narrow` is a cell whose interval misses its protection level, `exact` one that anybody can recompute, `exposed` counts
contributors (alone, or the two of a cell together) who find out another's cell, and sums of hidden cells that are sensitive
themselves.  0 of everything is what a release needs.
"""

MEASURED = """## What was measured

*hidden* is the sum of the values of the secondary cells in millions; *time* is processor time in seconds of the protection
alone (discreet's methods include their audits and repairs until everything is proved, "no repair" excepted); *memory* is the
most that the process held, in megabytes.  A tool that was not done after one and a half times its limit was stopped.
"""

TAIL = """
Measured with discreet {discreet}, highspy {highspy}, numpy {numpy}, Python {python}, on {processors} processors.  Again:

    python -m benchmarks.peers.run --optimal --rows 10000 100000 --table nace4×size nace2×region2
    python -m benchmarks.run gauss-R gauss-1M audit-10k audit-large suppress-5d
    python -m benchmarks.suppression_comparison benchmarks/results/RESULT.json
"""


def page(results: Sequence[Result], scale: dict[str, list[Result]], versions: dict[str, str]) -> str:
    """The whole page."""
    tables = by_table(results)
    measured = [MEASURED, *(_table(key, some) for key, some in tables.items())]
    known = {"discreet": "", "highspy": "", "numpy": "", "python": "", "processors": ""} | versions
    parts = [
        HEAD,
        _methods(),
        _choice(),
        PEERS,
        *measured,
        *_mod(tables),
        *_opt(tables),
        *_price(tables),
        *_scale(scale),
        TAIL.format(**known),
    ]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts))


# -------------------------------------------------------------------- what each guards against


def guards(method: type) -> tuple[str, str]:
    """What a method says that it guards against, and against what it does not."""
    text = inspect.cleandoc(method.__doc__ or "")
    found = re.search(
        r"Guards against:?\s+(.*?)\.?\s+Does not guard against:?\s+(.*?)(?:\.\s*(?:\n\n|$)|\.\s+[A-Z])", text, re.DOTALL
    )
    if found is None:
        raise ValueError(f"{method.__name__} does not say what it guards against")
    does, does_not = (" ".join(part.split()).replace("``", "`") for part in found.groups())
    return does, does_not


def _methods() -> str:
    lines = ["## What each guards against", "", "| method | guards against | does not guard against |", "|---|---|---|"]
    told = ((f"[{method.NAME}](methods/{method.NAME}.md)", *guards(method)) for method in suppress.METHODS)
    return "\n".join([*lines, *(f"| {' | '.join(cells)} |" for cells in told), AUDITS])


def _choice() -> str:
    rows = []
    for dimensions in (1, 2, 3, 4):
        exact, short = suppress.Suppression(time_limit=60).limits(dimensions)
        _, long = suppress.Suppression(time_limit=600).limits(dimensions)
        rows.append(f"| {dimensions}{' or more' if dimensions == 4 else ''} | {exact:,} | {short:,} | {long:,} |\n")
    return CHOICE + "".join(rows) + REST


# -------------------------------------------------------------------- what was measured


def _table(key: tuple[str, int], results: Sequence[Result]) -> str:
    first, limit = results[0], max(result["limit"] for result in results)
    size = f"{first['cells']:,} cells, {first['primary']:,} sensitive, at most {limit:g} s each"
    title = f"### {key[0].replace('_', ' ')}, {key[1]:,} records: {size}"
    columns = ("tool", "hidden", "secondary", "time", "memory", "too narrow", "exact", "exposed", "proved")
    lines = [title, "", *_bound(results), "| " + " | ".join(columns) + " |", "|---|" + "---:|" * (len(columns) - 1)]
    for result in results:
        if "error" in result:
            lines.append(f"| {result['tool']} | {_error(result['error'])} |" + " |" * (len(columns) - 2))
            continue
        audit = result["audit"]
        cells = (result["tool"], f"{result['cost'] / 1e6:,.2f}", f"{result['secondary']:,}", f"{result['cpu']:,.1f}")
        verdicts = (str(audit["too narrow"]), str(audit["exact"]), str(exposed(result)), _yes(result))
        lines.append("| " + " | ".join((*cells, f"{result['peak']:,.0f}", *verdicts)) + " |")
    return "\n".join([*lines, ""])


def least(results: Iterable[Result]) -> float:
    """What every pattern that is safe from everybody costs at least, as far as any method found out; 0 where none did."""
    return float(max((result.get("bound", 0.0) for result in results), default=0.0))


def _bound(results: Sequence[Result]) -> list[str]:
    if not least(results):
        return []
    return [
        f"A pattern that protects from everybody hides at least {least(results) / 1e6:,.2f}, by the capacity cuts found.",
        "",
    ]


def _yes(result: Result) -> str:
    return "yes" if level(result) == "proved" else "no"


def _error(error: str) -> str:
    """A short word for why there is no result."""
    if error.startswith(("stopped", "not installed")):
        return error
    return "not for this table" if "InputError" in error else "failed"


def _pairs(tables: Tables, *names: str) -> Iterable[tuple[str, list[Result]]]:
    """The tables in which all of these have a pattern, with their results."""
    for key, results in tables.items():
        named = {result["tool"]: result for result in results if "cost" in result}
        if all(name in named for name in names):
            yield f"{key[0].replace('_', ' ')}, {key[1]:,}", [named[name] for name in names]


def _titled(title: str, told: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A section with a table whose columns but the first hold numbers; nothing where it would have no rows."""
    if not rows:
        return []
    head = ["| " + " | ".join(columns) + " |", "|---|" + "---:|" * (len(columns) - 1)]
    return [f"## {title}\n\n{told}\n", *head, *("| " + " | ".join(row) + " |" for row in rows), ""]


def _ratio(one: float, other: float) -> float:
    return one / other if other else 1.0


def _wrong(result: Result) -> str:
    return f"{result['audit']['exact']} exact, {result['audit']['too narrow']} too narrow, {exposed(result)} exposed"


def _mod(tables: Tables) -> list[str]:
    """The search beside MOD, in as much time and with more."""
    bounds = {name: least(tables[key]) for key in tables for name, _ in _pairs({key: tables[key]})}
    rows = []
    for name, (mine, other) in _pairs(tables, IN_MODS_TIME, MOD):
        longer = next((pair[0] for found, pair in _pairs(tables, SEARCH) if found == name), None)
        hidden = (f"{other['cost'] / 1e6:,.2f}", f"{mine['cost'] / 1e6:,.2f}", f"{_ratio(mine['cost'], other['cost']):.3f}")
        more = (f"{longer['cost'] / 1e6:,.2f}" if longer else "", f"{bounds[name] / 1e6:,.2f}" if bounds[name] else "")
        times = (f"{other['cpu']:,.1f}", f"{mine['cpu']:,.1f}", f"{longer['cpu']:,.1f}" if longer else "")
        rows.append((name, *hidden, *more, *times, _yes(mine), _wrong(other)))
    told = (
        "search-suppression with all protection on, given the processor time that MOD took in the same run, and given more.\n"
        "*at least* is what any pattern hides that protects from everybody; MOD can lie below it, as it protects from less.\n"
        "*time* is that of MOD, of the search in MOD's time (audits included), and of the search given more."
    )
    hidden = ("MOD hides", "search, in MOD's time", "ratio", "search, given more", "at least")
    columns = ("table, records", *hidden, "time", "time", "time", "search proved", "in MOD's pattern")
    return _titled("Search beside MOD", told, columns, rows)


def _opt(tables: Tables) -> list[str]:
    """The search without protection from contributors beside OPT, which gives none."""
    rows = []
    for name, (mine, other) in _pairs(tables, IN_OPTS_TIME, OPT):
        hidden = (f"{other['cost'] / 1e6:,.2f}", f"{mine['cost'] / 1e6:,.2f}", f"{_ratio(mine['cost'], other['cost']):.3f}")
        safe = "no" if level(mine) == "unsafe" else "yes"
        rows.append((name, *hidden, f"{other['cpu']:,.1f}", f"{mine['cpu']:,.1f}", safe, _wrong(other)))
    told = (
        "OPT knows no singletons, so like is held against like: search-suppression against outsiders only, in a quarter of\n"
        "the processor time (audits included)."
    )
    columns = ("table, records", "OPT hides", "search hides", "ratio", "OPT time", "search time")
    return _titled("Search beside OPT, singletons off", told, (*columns, "proved for outsiders", "in OPT's pattern"), rows)


def _price(tables: Tables) -> list[str]:
    """What it costs to protect from contributors as well."""
    rows = []
    for name, (full, outsiders) in _pairs(tables, SEARCH, OUTSIDERS):
        more = 100 * (_ratio(full["cost"], outsiders["cost"]) - 1)
        hidden = (f"{full['cost'] / 1e6:,.2f}", f"{outsiders['cost'] / 1e6:,.2f}", f"{more:+.1f} %")
        rows.append((name, *hidden, str(exposed(outsiders))))
    told = (
        "The same search with and without protection from contributors (insiders and sensitive sums), with the same time limit:"
    )
    columns = ("table, records", "hidden, all protection", "hidden, outsiders only", "price", "exposed without")
    return _titled("The price of protection from contributors", told, columns, rows)


def _scale(scale: dict[str, list[Result]]) -> list[str]:
    """What was measured without other tools."""
    out = ["## At scale", ""] if scale else []
    for name in (name for name in SCALE if name in scale):
        out += [SCALE[name], "", "| part | time | memory | |", "|---|---:|---:|---|"]
        for part in scale[name]:
            facts = ", ".join(f"{what} {number:,}" for what, number in part["facts"].items())
            out.append(f"| {part['part']} | {part['cpu']:,.1f} | {part['peak']:,.0f} | {facts} |")
        out.append("")
    return out
