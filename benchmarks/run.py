"""Runs the benchmarks, each in a process of its own, prints one table and writes the same as JSON.

python -m benchmarks.run [--list] [NAME ...]
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import benchmarks.subjects  # noqa: F401  registers the subjects
from benchmarks.measure import text_table, versions
from benchmarks.registry import ROOT, SUBJECTS, Stage

__all__ = ["main"]

RESULTS = ROOT / "benchmarks" / "results"
HEADER = ("subject", "part", "CPU s", "wall s", "peak MB", "ratio", "facts")


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description="Measure discreet.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="subjects to run (default: all)")
    parser.add_argument("--list", action="store_true", help="only list the subjects")
    parser.add_argument("--inside", metavar="FILE", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    unknown = [name for name in given.names if name not in SUBJECTS]
    if unknown:
        parser.error(f"no subject {unknown[0]!r}; there are: {', '.join(SUBJECTS)}")
    if given.list:
        print(text_table(("subject", "what"), [(name, one.what) for name, one in SUBJECTS.items()]))
        return 0
    if given.inside:
        _inside(given.names[0], Path(given.inside))
        return 0
    results = []
    for name in given.names or SUBJECTS:
        print(f"{name}: {SUBJECTS[name].what}", file=sys.stderr, flush=True)
        results.append(_measured(name))
    print(text_table(HEADER, [row for result in results for row in _rows(result)]))
    found = versions()
    print("\n" + ", ".join(f"{what} {version}" for what, version in found.items()))
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"benchmarks-{time.strftime('%Y%m%d-%H%M%S')}.json"
    path.write_text(json.dumps({"versions": found, "results": results}, indent=1), encoding="utf-8")
    print(f"written: {path.relative_to(ROOT)}")
    return 1 if any(result["error"] for result in results) else 0


def _inside(name: str, answer: Path) -> None:
    """Runs one subject in this process; the registers it makes vanish with the folder."""
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as folder:
        stage = Stage(Path(folder))
        try:
            SUBJECTS[name].run(stage)
        finally:
            answer.write_text(json.dumps([dataclasses.asdict(reading) for reading in stage.readings]), encoding="utf-8")


def _measured(name: str) -> dict[str, Any]:
    """Runs one subject in a process of its own, so that its memory is its own; what it prints is seen at once."""
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as folder:
        answer = Path(folder) / "answer.json"
        command = [sys.executable, "-m", "benchmarks.run", name, "--inside", str(answer)]
        limit = SUBJECTS[name].limit
        try:
            done = subprocess.run(command, cwd=ROOT, check=False, stderr=subprocess.PIPE, text=True, timeout=limit)
            error = "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["ended without a word"])[-1]
        except subprocess.TimeoutExpired:
            error = f"stopped after {limit} s"
        readings = json.loads(answer.read_text(encoding="utf-8")) if answer.exists() else []
    return {"subject": name, "what": SUBJECTS[name].what, "readings": readings, "error": error}


def _rows(result: dict[str, Any]) -> list[tuple[str, ...]]:
    """The lines of one subject in the printed table."""
    cpu = {reading["part"]: reading["cpu"] for reading in result["readings"]}
    rows: list[tuple[str, ...]] = []
    for reading in result["readings"]:
        against = cpu.get(reading["against"], 0.0)
        facts = ", ".join(f"{what} {_fact(fact)}" for what, fact in reading["facts"].items())
        times = (f"{reading['cpu']:.2f}", f"{reading['wall']:.2f}", f"{reading['peak']:.0f}")
        rows.append((result["subject"], reading["part"], *times, f"{reading['cpu'] / against:.1f}×" if against else "", facts))
    if result["error"]:
        rows.append((result["subject"], "failed", "", "", "", "", result["error"]))
    return rows


def _fact(fact: Any) -> str:
    return f"{fact:,}" if isinstance(fact, int) else str(fact)


if __name__ == "__main__":
    sys.exit(main())
