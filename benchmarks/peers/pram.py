"""PRAM of one variable: discreet beside PyPI's pram, with the same records in a frame, and beside figures seen of sdcMicro.

    python -m benchmarks.peers.pram [--rows N ...] [--column trade]

Both are asked for a least diagonal of 0.8.  PyPI's pram draws record by record in Python, so it gets the first ``--slow``
records only; what counts is the processor time of a record.  R is not run: its seconds stand in this file.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure import text_table, versions
from benchmarks.peers.environments import python_of
from benchmarks.peers.run import RESULTS, Tool, run_tool
from benchmarks.persons import VARIABLES, persons_of
from benchmarks.registry import ROOT, Stage

__all__ = ["SEEN", "TOOLS", "compare", "main"]

STAY = 0.8
"""The least diagonal that is asked for."""

SEEN = (("sdcMicro 5.8.0 (R), elsewhere", 1_000_000, 9.3, 0), ("sdcMicro 5.8.0 (R), elsewhere", 10_000_000, 82.0, 5600))
"""Records, processor seconds and megabytes (0: not seen) of sdcMicro's pram for one variable, on another machine than ours."""

TOOLS = (Tool("PyPI pram", "with_pram", "slow", "pram"), Tool("discreet, as many", "our_pram", "slow"))
ALONE = (("discreet, ids scattered", 97), ("discreet", 1))
"""How far apart ids are: keys of ids that fill a range of numbers are cheaper than those of others, or of text."""

HEADER = ("tool", "rows", "CPU s", "wall s", "peak MB", "CPU µs a record", "times ours", "changed")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.pram", description="Compare PRAM of one variable.")
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000], help="records for discreet alone")
    parser.add_argument("--slow", type=int, default=50_000, help="records for both (default: 50000)")
    parser.add_argument("--column", choices=list(VARIABLES), default="trade", help="the variable (default: trade)")
    parser.add_argument("--seconds", type=int, default=300, help="time limit of each tool (default: 300)")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="discreet-peers-") as private:
        folder = Path(private)
        results = compare(folder, given.column, given.slow, given.rows, given.seconds)
    ours = next((result["micro"] for result in reversed(results) if "micro" in result), 0.0)
    print(text_table(HEADER, [_row(result, ours) for result in (*results, *_seen())]))
    found = versions()
    print("\n" + ", ".join(f"{what} {version}" for what, version in found.items()))
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"pram-{time.strftime('%Y%m%d-%H%M%S')}.json"
    path.write_text(json.dumps({"versions": found, "results": results}, indent=1), encoding="utf-8")
    print(f"written: {path.relative_to(ROOT)}")
    return 0


def compare(folder: Path, column: str, slow: int, rows: Sequence[int], seconds: int) -> list[dict[str, Any]]:
    """Gives a file of ``slow`` records to both tools, and one of each number of ``rows`` to discreet."""
    runs = [(tool, slow, 1) for tool in TOOLS]
    runs += [(Tool(name, "our_pram", "rows"), many, apart) for many in rows for name, apart in ALONE]
    results = []
    for tool, many, apart in runs:
        about = {"column": column, "stay": STAY, "file": persons_of(Stage(folder), many).name, "apart": apart}
        (folder / "about.json").write_text(json.dumps(about), encoding="utf-8")
        python = python_of(tool.peer) if tool.peer else Path(sys.executable)
        asked = Tool(tool.name, tool.module, str(many), tool.peer)
        result: dict[str, Any] = {"error": "not installed"} if python is None else run_tool(asked, python, folder, seconds)
        result |= {"tool": tool.name, "rows": many}
        if "cpu" in result:
            result["micro"] = 1e6 * result["cpu"] / many
        results.append(result)
    return results


def _seen() -> list[dict[str, Any]]:
    return [{"tool": name, "rows": rows, "cpu": cpu, "peak": peak, "micro": 1e6 * cpu / rows} for name, rows, cpu, peak in SEEN]


def _row(result: dict[str, Any], ours: float) -> tuple[str, ...]:
    """The printed line of one result; ``ours`` the microseconds a record of discreet's largest file."""
    about = (result["tool"], f"{result['rows']:,}")
    if "error" in result:
        return (*about, *[""] * 5, result["error"])
    times = f"{result['micro'] / ours:.1f}" if ours else ""
    peak = f"{result['peak']:.0f}" if result["peak"] else ""
    wall = f"{result['wall']:.2f}" if "wall" in result else ""
    changed = f"{result['changed'] / result['rows']:.1%}" if "changed" in result else ""
    return (*about, f"{result['cpu']:.2f}", wall, peak, f"{result['micro']:.2f}", times, changed)


if __name__ == "__main__":
    sys.exit(main())
