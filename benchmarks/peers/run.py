"""Gives one table to several tools and lets discreet audit every pattern: cost, processor time, and what can be recomputed.

    python -m benchmarks.peers.run [--rows N ...] [--table NAME ...] [--tool WORD ...] [--optimal] [--seconds 120]

All get the same cells, sensitive cells and protection levels.  The first run installs the other tools, each in
an environment of its own beside this file.  True values stand only in a private temporary folder that is removed.
A line such as "discreet search, in MOD's time" gets as much processor time as the other tool took in the same run.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

import discreet as dc
from benchmarks.measure import seconds_of_processor, text_table, versions
from benchmarks.peers.environments import python_of
from benchmarks.peers.exchange import hand_over
from benchmarks.registry import ROOT, Stage
from discreet.audit import audit

__all__ = ["TABLES", "TOOLS", "Tool", "chosen", "compare", "main", "make_table"]

RESULTS = ROOT / "benchmarks" / "results"
RULES: tuple[Any, ...] = (dc.MinimumFrequency(n=3, count="holdings", range=10), dc.PPercent(p=10))
TABLES: dict[str, tuple[int, tuple[str, ...], tuple[str, ...]]] = {
    "nace2×region2": (2, ("region1", "region2"), ()),
    "nace2×region1": (2, ("region1",), ()),
    "nace1×region2": (1, ("region1", "region2"), ()),
    "nace1×region1×size": (1, ("region1",), ("size",)),
    "nace4×size": (4, (), ("size",)),
    "nace2×region1×size": (2, ("region1",), ("size",)),
    "nace4×region3": (4, ("region1", "region2", "region3"), ()),
    "nace4×region3×size": (4, ("region1", "region2", "region3"), ("size",)),
    "nace1×region1×size×legal_form": (1, ("region1",), ("size", "legal_form")),
}
"""Levels of the activity tree, level columns of the region, further flat variables."""


@dataclasses.dataclass(frozen=True)
class Tool:
    """One way to protect a table: a module that is run by the interpreter of a peer, or by ours.

    ``within`` names a tool that ran before, and the share of its processor time that this one gets as its time limit;
    where that one was stopped, or is left out, the share is one of the limit of all.
    """

    name: str
    module: str
    word: str
    peer: str = ""
    optimal: bool = False
    within: tuple[str, float] | None = None


TOOLS = (
    Tool("discreet gauss", "ours", "gauss"),
    Tool("discreet gauss, no repair", "ours", "gauss-alone"),
    Tool("pytauargus MOD", "with_pytauargus", "MOD", "pytauargus"),
    Tool("gconfid Size", "with_gconfid", "Size", "gconfid"),
    Tool("gconfid Information", "with_gconfid", "Information", "gconfid"),
    Tool("discreet hypercube", "ours", "hypercube"),
    Tool("discreet network", "ours", "network"),
    Tool("discreet modular", "ours", "modular"),
    Tool("discreet search, in MOD's time", "ours", "search", within=("pytauargus MOD", 1.0)),
    Tool("discreet search", "ours", "search"),
    Tool("discreet, its own choice", "ours", "suppression"),
    Tool("discreet exact", "ours", "exact", optimal=True),
    Tool("pytauargus OPT", "with_pytauargus", "OPT", "pytauargus", optimal=True),
    Tool("discreet search for outsiders, in 1/4 of OPT's time", "ours", "search-outsiders", "", True, ("pytauargus OPT", 0.25)),
    Tool("discreet search for outsiders", "ours", "search-outsiders", optimal=True),
)
COUNTS = ("suppressed", "safe", "too narrow", "exact", "not proved", "insider pairs failed", "unions failed")
HEADER = ("rows", "table", "tool", "CPU s", "wall s", "peak MB", "secondary", "hidden", "cost ratio", "CPU ratio", "audit")
PATIENCE = 1.5
"""A tool is stopped after so many times its time limit."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.run", description="Compare discreet with other tools.")
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000], help="enterprises in the register")
    parser.add_argument("--table", nargs="+", choices=list(TABLES), default=list(TABLES)[:2], help="which tables")
    parser.add_argument("--tool", nargs="+", metavar="WORD", help="only tools with one of these words in their names")
    parser.add_argument("--optimal", action="store_true", help="also the methods that look for the optimum")
    parser.add_argument("--seconds", type=int, default=120, help="time limit of each tool (default: 120)")
    parser.add_argument("--proof", type=int, default=600, help="time limit of each audit (default: 600)")
    given = parser.parse_args(arguments)
    tools = chosen(given.tool, optimal=given.optimal)
    if not tools:
        parser.error(f"no tool has one of these words in its name; there are: {', '.join(tool.name for tool in TOOLS)}")
    found, results = versions(), list[dict[str, Any]]()
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"peers-{time.strftime('%Y%m%d-%H%M%S')}.json"
    with tempfile.TemporaryDirectory(prefix="discreet-peers-") as private:
        stage = Stage(Path(private))
        for rows in given.rows:
            for name in given.table:
                table = make_table(stage.register(rows), name)
                say(f"{rows} rows, {name}: {table.cells} cells, {int(table.primary.sum())} primary")
                about = {"rows": rows, "table": name}
                results += compare(table, tools, given.seconds, about, proof=given.proof)
                path.write_text(json.dumps({"versions": found, "results": results}, indent=1), encoding="utf-8")
    print(text_table(HEADER, [_row(result) for result in results]))
    print("\n" + ", ".join(f"{what} {version}" for what, version in found.items()))
    print(f"written: {path.relative_to(ROOT)}")
    return 0


def say(text: str) -> None:
    """A line for whoever waits."""
    print(text, file=sys.stderr, flush=True)


def chosen(words: Sequence[str] | None = None, *, optimal: bool = False) -> list[Tool]:
    """The tools with one of these words in their names; those that look for the optimum only where they are wanted."""
    return [tool for tool in TOOLS if (optimal or not tool.optimal) and any(word in tool.name for word in words or ("",))]


def make_table(register: Path, name: str) -> Any:
    """The table of this name with its sensitive cells found."""
    level, regions, further = TABLES[name]
    microdata = dc.read_microdata(register, unit="enterprise", holding="group")
    nace = dc.read_hierarchy(register.with_name("nace.hrc"), lead="@").to_level(level)
    spanning: dict[str, Any] = {"nace": nace}
    if regions:
        spanning["region"] = list(regions)
    spanning |= dict.fromkeys(further)
    table = dc.tabulate(microdata, spanning=spanning, response="turnover")
    return reduce(lambda found, rule: rule.apply(found), RULES, table)


def compare(
    table: Any, tools: Sequence[Tool], seconds: float, about: dict[str, Any], *, proof: float | None = None
) -> list[dict[str, Any]]:
    """Gives the table to every tool; one result a tool.  The audits of their patterns take ``proof`` seconds at most."""
    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="discreet-peers-") as private:
        folder = Path(private)
        hand_over(table, folder)
        for tool in tools:
            limit = limit_of(tool, results, seconds)
            result = about | {"cells": table.cells, "primary": int(table.primary.sum()), "tool": tool.name, "limit": limit}
            python = python_of(tool.peer) if tool.peer else Path(sys.executable)
            patience = PATIENCE * max(seconds, limit)
            result |= {"error": "not installed"} if python is None else run_tool(tool, python, folder, limit, patience)
            if "hidden" in result:
                result |= judged(table, np.array(result.pop("hidden"), np.int64), proof)
            results.append(result)
            say("  " + "  ".join(text for text in _row(result)[2:] if text))
    first = next((result for result in results if "cost" in result), None)
    for result in results:
        if first is not None and "cost" in result:
            result["cost ratio"] = result["cost"] / first["cost"] if first["cost"] else 1.0
            result["CPU ratio"] = result["cpu"] / first["cpu"]
    return results


def limit_of(tool: Tool, results: Sequence[dict[str, Any]], seconds: float) -> float:
    """The time limit of a tool: that of all, or a share of what another one took."""
    if tool.within is None:
        return seconds
    other, share = tool.within
    return share * next((result["cpu"] for result in results if result["tool"] == other and "cpu" in result), seconds)


def run_tool(tool: Tool, python: Path, folder: Path, seconds: float, patience: float | None = None) -> dict[str, Any]:
    """Runs the tool in a working folder of its own and stops it after ``patience`` seconds, by default 1.5 times its limit."""
    patience = PATIENCE * seconds if patience is None else patience
    with tempfile.TemporaryDirectory(prefix="work-", dir=folder) as work:
        answer = Path(work) / "answer.json"
        module = f"benchmarks.peers.{tool.module}"
        command = [str(python), "-m", module, str(folder), str(answer), tool.word, f"{seconds:g}"]
        with (Path(work) / "said.txt").open("w+", encoding="utf-8") as said:
            places = os.environ | {"PYTHONPATH": str(ROOT)}
            process = subprocess.Popen(
                command, cwd=work, env=places, stdout=subprocess.DEVNULL, stderr=said, start_new_session=True
            )
            try:
                process.wait(timeout=patience)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                return {"error": f"stopped after {patience:.0f} s"}
            said.seek(0)
            words = said.read().strip().splitlines()
        if not answer.exists():
            return {"error": f"ended with {process.returncode}: {_last_words(words)}"[:200]}
        return dict(json.loads(answer.read_text(encoding="utf-8")))


def _last_words(words: Sequence[str]) -> str:
    """What went wrong: the last line that is no advice."""
    return next((line for line in reversed(words) if line and not line.startswith(" ")), "no word")


def judged(table: Any, hidden: Any, proof: float | None = None) -> dict[str, Any]:
    """What the pattern costs and what the audit says of it."""
    hide = np.zeros(table.cells, bool)
    hide[hidden] = True
    missed = int((table.primary & ~hide).sum())
    pattern = table.with_secondary("pattern", hide & ~table.primary)
    cpu = seconds_of_processor()
    counts = audit(pattern, time_limit=proof).counts
    return {
        "secondary": int(pattern.secondary.sum()),
        "cost": float(table.value[pattern.secondary].sum()),
        "primary published": missed,
        "audit": {word: counts[word] for word in COUNTS},
        "audit cpu": seconds_of_processor() - cpu,
    }


def _row(result: dict[str, Any]) -> tuple[str, ...]:
    """The printed line of one result."""
    about = (str(result["rows"]), result["table"], result["tool"])
    if "error" in result:
        return (*about, *[""] * 7, result["error"])
    verdicts = {word: count for word, count in result["audit"].items() if count}
    if result["primary published"]:
        verdicts["primary published"] = result["primary published"]
    return (
        *about,
        f"{result['cpu']:.2f}",
        f"{result['wall']:.2f}",
        f"{result['peak']:.0f}",
        str(result["secondary"]),
        f"{result['cost']:,.0f}",
        f"{result['cost ratio']:.2f}" if "cost ratio" in result else "",
        f"{result['CPU ratio']:.2f}" if "CPU ratio" in result else "",
        ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items()),
    )


if __name__ == "__main__":
    sys.exit(main())
