"""Counts with cell keys: discreet beside cell-key-perturbation, with the same records, keys and p-table.

    python -m benchmarks.peers.cell_keys [--rows N ...] [--ptable FILE]

Both give every inner cell of area × age × work × sex (3,360 cells); discreet makes all margins besides.  The numbers must
agree cell by cell.  Reading the p-table is not measured.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure import text_table, versions
from benchmarks.peers.environments import python_of
from benchmarks.peers.run import RESULTS, Tool, run_tool
from benchmarks.records import records_of
from benchmarks.registry import ROOT, Stage

__all__ = ["TOOLS", "compare", "main", "write_ptable"]

PEER = "cell-key-perturbation"
TOOLS = (
    Tool(f"{PEER}, from a file", "with_cell_key_perturbation", "file", PEER),
    Tool("discreet, from a file", "our_cell_keys", "file"),
    Tool(f"{PEER}, from a frame", "with_cell_key_perturbation", "frame", PEER),
    Tool("discreet, from a frame", "our_cell_keys", "frame"),
)
VARIABLES = ("area", "age", "work", "sex")
KEY = "key256"
KEYS, COUNTS = 256, 750
HEADER = ("rows", "tool", "CPU s", "wall s", "peak MB", "CPU ratio", "memory ratio", "cells", "equal")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 1 where a number differs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.cell_keys", description="Compare cell keys on counts.")
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000], help="records")
    parser.add_argument("--ptable", type=Path, help="a p-table with the columns pcv, ckey, pvalue (default: one is made)")
    parser.add_argument("--seconds", type=int, default=120, help="time limit of each tool (default: 120)")
    given = parser.parse_args(arguments)
    results = []
    for rows in given.rows:
        with tempfile.TemporaryDirectory(prefix="discreet-peers-") as private:
            folder = Path(private)
            records_of(Stage(folder), rows).rename(folder / "records.parquet")
            if given.ptable:
                shutil.copy(given.ptable, folder / "ptable.csv")
            else:
                write_ptable(folder / "ptable.csv")
            results += compare(folder, given.seconds, {"rows": rows})
    print(text_table(HEADER, [_row(result) for result in results]))
    found = versions()
    print("\n" + ", ".join(f"{what} {version}" for what, version in found.items()))
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"cell-keys-{time.strftime('%Y%m%d-%H%M%S')}.json"
    path.write_text(json.dumps({"versions": found, "results": results}, indent=1), encoding="utf-8")
    print(f"written: {path.relative_to(ROOT)}")
    return 1 if any(result.get("equal") is False for result in results) else 0


def write_ptable(path: Path) -> None:
    """A p-table of whole keys: counts below 10 become 0, others a multiple of 5, up or down so that the mean stays."""
    lines = ["pcv,ckey,pvalue"]
    for count in range(1, COUNTS + 1):
        over = count % 5
        for key in range(KEYS):
            up = 5 if key * 5 < over * KEYS else 0
            lines.append(f"{count},{key},{-count if count < 10 else up - over}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def compare(folder: Path, seconds: int, about: dict[str, Any], tools: Sequence[Tool] = TOOLS) -> list[dict[str, Any]]:
    """Gives the records to each tool; every second one is held against the one before it."""
    (folder / "about.json").write_text(json.dumps({"variables": VARIABLES, "key": KEY}), encoding="utf-8")
    results: list[dict[str, Any]] = []
    before: dict[str, Any] = {}
    others: dict[tuple[str, ...], int] = {}
    for number, tool in enumerate(tools):
        python = python_of(tool.peer) if tool.peer else Path(sys.executable)
        result: dict[str, Any] = {"error": "not installed"} if python is None else run_tool(tool, python, folder, seconds)
        counted = {tuple(codes): count for *codes, count in result.pop("cells", ())}
        result |= about | {"tool": tool.name, "cells": len(counted)}
        if number % 2 and "cpu" in result and "cpu" in before:
            result["CPU ratio"] = result["cpu"] / before["cpu"]
            result["memory ratio"] = result["peak"] / before["peak"]
            # a cell without records is 0 for one tool and no cell for the other
            result["equal"] = all(counted.get(cell, 0) == count for cell, count in others.items()) and set(counted) <= set(
                others
            )
        before, others = result, counted
        results.append(result)
    return results


def _row(result: dict[str, Any]) -> tuple[str, ...]:
    """The printed line of one result."""
    about = (f"{result['rows']:,}", result["tool"])
    if "error" in result:
        return (*about, *[""] * 6, result["error"])
    ratios = (f"{result[name]:.2f}" if name in result else "" for name in ("CPU ratio", "memory ratio"))
    equal = {True: "all", False: "NO", None: ""}[result.get("equal")]
    cost = (f"{result['cpu']:.2f}", f"{result['wall']:.2f}", f"{result['peak']:.0f}")
    return (*about, *cost, *ratios, f"{result['cells']:,}", equal)


if __name__ == "__main__":
    sys.exit(main())
