"""Gives one table to several tools and lets discreet audit every pattern: cost, processor time, and what can be recomputed.

    python -m benchmarks.peers.run [--rows N ...] [--table NAME ...] [--optimal] [--seconds 120]

All get the same cells, sensitive cells and protection levels.  The first run installs the other tools, each in
an environment of its own beside this file.  True values stand only in a private temporary folder that is removed.
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

__all__ = ["TABLES", "TOOLS", "Tool", "main"]

RESULTS = ROOT / "benchmarks" / "results"
RULES: tuple[Any, ...] = (dc.MinimumFrequency(n=3, count="holdings", range=10), dc.PPercent(p=10))
TABLES: dict[str, tuple[int, tuple[str, ...], tuple[str, ...]]] = {
    "nace2×region2": (2, ("region1", "region2"), ()),
    "nace2×region1": (2, ("region1",), ()),
    "nace1×region2": (1, ("region1", "region2"), ()),
    "nace1×region1×size": (1, ("region1",), ("size",)),
}
"""Levels of the activity tree, level columns of the region, further flat variables."""


@dataclasses.dataclass(frozen=True)
class Tool:
    """One way to protect a table: a module that is run by the interpreter of a peer, or by ours."""

    name: str
    module: str
    word: str
    peer: str = ""
    optimal: bool = False


TOOLS = (
    Tool("discreet gauss", "ours", "gauss"),
    Tool("discreet gauss, no repair", "ours", "gauss-alone"),
    Tool("pytauargus MOD", "with_pytauargus", "MOD", "pytauargus"),
    Tool("gconfid Size", "with_gconfid", "Size", "gconfid"),
    Tool("gconfid Information", "with_gconfid", "Information", "gconfid"),
    Tool("discreet exact", "ours", "exact", optimal=True),
    Tool("pytauargus OPT", "with_pytauargus", "OPT", "pytauargus", optimal=True),
)
COUNTS = ("suppressed", "safe", "too narrow", "exact", "not proved", "insider pairs failed", "unions failed")
HEADER = ("rows", "table", "tool", "CPU s", "wall s", "peak MB", "secondary", "hidden", "cost ratio", "CPU ratio", "audit")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.run", description="Compare discreet with other tools.")
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000], help="enterprises in the register")
    parser.add_argument("--table", nargs="+", choices=list(TABLES), default=list(TABLES)[:2], help="which tables")
    parser.add_argument("--optimal", action="store_true", help="also the methods that look for the optimum")
    parser.add_argument("--seconds", type=int, default=120, help="time limit of each tool (default: 120)")
    given = parser.parse_args(arguments)
    tools = [tool for tool in TOOLS if given.optimal or not tool.optimal]
    results = []
    with tempfile.TemporaryDirectory(prefix="discreet-peers-") as private:
        stage = Stage(Path(private))
        for rows in given.rows:
            for name in given.table:
                table = make_table(stage.register(rows), name)
                print(f"{rows} rows, {name}: {table.cells} cells, {int(table.primary.sum())} primary", file=sys.stderr)
                results += compare(table, tools, given.seconds, {"rows": rows, "table": name})
    print(text_table(HEADER, [_row(result) for result in results]))
    found = versions()
    print("\n" + ", ".join(f"{what} {version}" for what, version in found.items()))
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"peers-{time.strftime('%Y%m%d-%H%M%S')}.json"
    path.write_text(json.dumps({"versions": found, "results": results}, indent=1), encoding="utf-8")
    print(f"written: {path.relative_to(ROOT)}")
    return 0


def make_table(register: Path, name: str) -> Any:
    """The table of this name with its sensitive cells found."""
    level, regions, further = TABLES[name]
    microdata = dc.read_microdata(register, unit="enterprise", holding="group")
    nace = dc.read_hierarchy(register.with_name("nace.hrc"), lead="@").to_level(level)
    spanning = {"nace": nace, "region": list(regions), **dict.fromkeys(further)}
    table = dc.tabulate(microdata, spanning=spanning, response="turnover")
    return reduce(lambda found, rule: rule.apply(found), RULES, table)


def compare(table: Any, tools: Sequence[Tool], seconds: int, about: dict[str, Any]) -> list[dict[str, Any]]:
    """Gives the table to every tool; one result a tool."""
    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="discreet-peers-") as private:
        folder = Path(private)
        hand_over(table, folder)
        for tool in tools:
            result = about | {"cells": table.cells, "primary": int(table.primary.sum()), "tool": tool.name}
            python = python_of(tool.peer) if tool.peer else Path(sys.executable)
            result |= {"error": "not installed"} if python is None else run_tool(tool, python, folder, seconds)
            if "hidden" in result:
                result |= judged(table, np.array(result.pop("hidden"), np.int64))
            results.append(result)
    first = next((result for result in results if "cost" in result), None)
    for result in results:
        if first is not None and "cost" in result:
            result["cost ratio"] = result["cost"] / first["cost"] if first["cost"] else 1.0
            result["CPU ratio"] = result["cpu"] / first["cpu"]
    return results


def run_tool(tool: Tool, python: Path, folder: Path, seconds: int) -> dict[str, Any]:
    """Runs the tool in a working folder of its own and stops it when its time is over."""
    with tempfile.TemporaryDirectory(prefix="work-", dir=folder) as work:
        answer = Path(work) / "answer.json"
        module = f"benchmarks.peers.{tool.module}"
        command = [str(python), "-m", module, str(folder), str(answer), tool.word, str(seconds)]
        with (Path(work) / "said.txt").open("w+", encoding="utf-8") as said:
            places = os.environ | {"PYTHONPATH": str(ROOT)}
            process = subprocess.Popen(
                command, cwd=work, env=places, stdout=subprocess.DEVNULL, stderr=said, start_new_session=True
            )
            try:
                process.wait(timeout=seconds * 1.5)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                return {"error": f"stopped after {seconds * 1.5:.0f} s"}
            said.seek(0)
            words = said.read().strip().splitlines()
        if not answer.exists():
            return {"error": f"ended with {process.returncode}: {words[-1] if words else 'no word'}"[:200]}
        return dict(json.loads(answer.read_text(encoding="utf-8")))


def judged(table: Any, hidden: Any) -> dict[str, Any]:
    """What the pattern costs and what the audit says of it."""
    hide = np.zeros(table.cells, bool)
    hide[hidden] = True
    missed = int((table.primary & ~hide).sum())
    pattern = table.with_secondary("pattern", hide & ~table.primary)
    cpu = seconds_of_processor()
    counts = audit(pattern).counts
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
        f"{result['cost ratio']:.2f}",
        f"{result['CPU ratio']:.2f}",
        ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items()),
    )


if __name__ == "__main__":
    sys.exit(main())
