"""Secondary suppression: discreet beside other tools on the same tables, and at scale.

The subjects ``suppress-TABLE-ROWS`` run ``benchmarks.peers.run``: all tools get the same cells, sensitive cells and
protection levels, and discreet's search gets the processor time that the other tool took in the same run.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import duckdb
import numpy as np

import discreet as dc
from benchmarks.peers.run import TOOLS, compare, make_table
from benchmarks.registry import Reading, Stage, subject
from discreet.audit import audit
from discreet.tables.suppress.choose import Suppression
from discreet.testing import small_table

__all__ = ["BESIDE", "R_SECONDS", "beside", "five_dimensions", "told"]

MILLION = 1_000_000
Facts = dict[str, int | float | str]

MOD, IN_MODS_TIME = "pytauargus MOD", "discreet search, in MOD's time"
OPT, IN_OPTS_TIME = "pytauargus OPT", "discreet search for outsiders, in 1/4 of OPT's time"
SEARCH = "discreet search"

BESIDE: tuple[tuple[str, int, tuple[str, ...], float], ...] = (
    ("nace4×size", 10_000, (MOD, IN_MODS_TIME, OPT, IN_OPTS_TIME), 120),
    ("nace4×size", 100_000, (MOD, IN_MODS_TIME, OPT, IN_OPTS_TIME), 120),
    ("nace4×size", MILLION, (MOD, IN_MODS_TIME), 120),
    ("nace2×region2", 10_000, (MOD, IN_MODS_TIME, OPT, IN_OPTS_TIME), 120),
    ("nace2×region2", 100_000, (MOD, IN_MODS_TIME), 120),
    ("nace2×region2", MILLION, (MOD, IN_MODS_TIME), 120),
    ("nace2×region1×size", 10_000, (SEARCH,), 60),
    ("nace1×region1×size×legal_form", 10_000, (SEARCH,), 60),
    ("nace4×region3", 10_000, (MOD, IN_MODS_TIME), 120),
    ("nace4×region3", 100_000, (MOD, SEARCH), 600),
)
"""Table, enterprises in the register, tools, and the time limit of each."""

R_SECONDS = {
    "with singletons": (3_676, 1_942, 25.6, 437),
    "without": (3_676, 1_942, 4.2, 310),
    "larger": (5_162, 1_227, 11.6, 574),
}
"""Seen of R's GaussSuppression on tables of this kind: cells, sensitive ones, processor seconds, secondary cells."""


def beside(stage: Stage, table: str, rows: int, tools: Sequence[str], seconds: float) -> None:
    """Gives the table to each of the tools; the others' patterns are the measure of ours."""
    with stage.timed("tabulate and rules") as facts:
        made = make_table(stage.register(rows), table)
        facts |= {"cells": made.cells, "sensitive": int(made.primary.sum())}
    results = compare(
        made, [tool for tool in TOOLS if tool.name in tools], seconds, {"rows": rows, "table": table}, proof=seconds
    )
    named = {result["tool"]: result for result in results}
    for result in results:
        tool = next(tool for tool in TOOLS if tool.name == result["tool"])
        other = tool.within[0] if tool.within and "cost" in named.get(tool.within[0], {}) else ""
        if tool.name == SEARCH and "cost" in named.get(MOD, {}):
            other = MOD
        facts = told(result, named.get(other))
        times = {what: result.get(what, 0.0) for what in ("cpu", "wall", "peak")}
        stage.readings.append(Reading(part=tool.name, against=other, facts=facts, **times))


def told(result: dict[str, Any], other: dict[str, Any] | None = None) -> Facts:
    """The facts of one result: what it hides, also as a part of what the other one hides, and what the audit says of it."""
    if "error" in result:
        return {"no result": result["error"]}
    found = result["audit"]
    facts: Facts = {"secondary": result["secondary"], "hidden": round(result["cost"])}
    if other:
        facts["of the other's"] = round(result["cost"] / other["cost"], 4) if other["cost"] else 1.0
    facts |= {word: found[word] for word in ("exact", "too narrow", "not proved")}
    return facts | {"exposed": found["insider pairs failed"] + found["unions failed"]}


for _table, _rows, _tools, _seconds in BESIDE:
    subject(
        f"suppress-{_table.replace('×', '-')}-{_rows // 1000}k",
        f"{', '.join(_tools)}: the same table of {_rows:,} enterprises, at most {_seconds:g} s each",
        limit=int(60 + 4 * _seconds * len(_tools)),
    )(partial(beside, table=_table, rows=_rows, tools=_tools, seconds=_seconds))


# -------------------------------------------------------------------- elimination at scale


def note(facts: Facts, table: Any) -> None:
    """Counts of a protected table."""
    facts |= {"cells": table.cells, "sensitive": int(table.primary.sum()), "secondary": int(table.secondary.sum())}
    facts["hidden"] = round(float(table.value[table.secondary].sum()))


@subject("gauss-R", "elimination beside the seconds seen of R's GaussSuppression on tables of this size")
def gauss_beside_r(stage: Stage) -> None:
    """R itself is not run: its seconds are those that this file names; they were seen on tables made in the same way."""
    small, large = (make_table(stage.register(rows), "nace2×region2") for rows in (10_000, 100_000))
    cases = {"with singletons": (small, True), "without": (small, False), "larger": (large, False)}
    dc.GaussSuppression().apply(make_table(stage.register(1_000), "nace2×region2"))
    for name, (table, singletons) in cases.items():
        cells, sensitive, seconds, secondary = R_SECONDS[name]
        with stage.timed(f"elimination alone, {name}") as facts:
            note(facts, dc.GaussSuppression(singletons=singletons).apply(table))
        facts |= {"R cells": cells, "R sensitive": sensitive, "R secondary": secondary, "R s": seconds}
        facts |= {"R s / ours": round(seconds / max(stage.readings[-1].cpu, 1e-3), 1)}


@subject("gauss-1M", "elimination on nace4 × region3 × size of 1,000,000 enterprises", limit=1800)
def gauss_million(stage: Stage) -> None:
    """Half a million cells that are not empty, of a million and more that could be."""
    with stage.timed("tabulate and rules"):
        table = make_table(stage.register(MILLION), "nace4×region3×size")
    with stage.timed("elimination alone", against="tabulate and rules") as facts:
        note(facts, dc.GaussSuppression().apply(table))


# -------------------------------------------------------------------- five dimensions


def five_dimensions(shape: Sequence[int] = (4, 4, 3, 3, 3), seed: int = 5) -> Any:
    """A table of five spanning variables with its sensitive cells: sums of contributions that are far from equal."""
    chance = np.random.default_rng(seed)
    top = -np.sort(-np.round(np.exp(chance.normal(3.0, 1.6, (*shape, 6)))), axis=-1)
    units = chance.integers(0, 7, tuple(shape))
    top *= np.arange(6) < units[..., None]
    table = small_table(top.sum(axis=-1), n=units, top=top)
    return dc.PPercent(p=10).apply(dc.MinimumFrequency(n=3, range=10).apply(table))


@subject("suppress-5d", "a table of five dimensions, protected and proved, by each method that takes it")
def suppress_five_dimensions(stage: Stage) -> None:
    """No other tool takes part."""
    table = five_dimensions()
    for method in (dc.GaussSuppression(), Suppression(time_limit=60)):
        with stage.timed(method.NAME) as facts:
            done = dc.protect(table, [method])
            note(facts, done)
        counts = audit(done).counts
        facts |= {"suppressed": counts["suppressed"], "safe": counts["safe"]}


@subject("suppress-same", "the same pattern twice in a row and from shuffled records, found by each method that searches")
def suppress_same(stage: Stage) -> None:
    """A pattern that is not the same stops the subject."""
    path = stage.register(10_000)
    shuffled = path.with_name("shuffled")
    shuffled.mkdir()
    for file in path.parent.glob("nace.*"):
        (shuffled / file.name).write_bytes(file.read_bytes())
    duckdb.execute(f"copy (select * from '{path}' order by hash(enterprise)) to '{shuffled / path.name}' (format parquet)")
    name = "nace1×region1×size"
    tables = {"first": make_table(path, name), "again": make_table(path, name)}
    tables["from shuffled records"] = make_table(shuffled / path.name, name)
    for method in (dc.GaussSuppression(), Suppression(time_limit=60)):
        first = None
        for part, table in tables.items():
            with stage.timed(f"{method.NAME}, {part}") as facts:
                done = dc.protect(table, [method])
                note(facts, done)
            first = done if first is None else first
            if (done.status != first.status).any():
                raise ValueError(f"{method.NAME} gives another pattern {part}")
