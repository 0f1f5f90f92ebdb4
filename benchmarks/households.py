"""Makes a file of many persons in households, in areas of four levels: python -m benchmarks.households FILE HOUSEHOLDS [SEED].

``region``, ``district``, ``town`` and ``ward`` are nested, and all members live in one place.  ``age`` has 10 codes, ``sex`` 2,
``birthplace`` 20 and ``work`` 8, skewed; ``size`` and ``tenure`` are alike in a household, ids come in no order.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np

from benchmarks.registry import ROOT, Stage

__all__ = ["GEOGRAPHY", "households_of", "make"]

GEOGRAPHY = {"region": 10, "district": 10, "town": 5, "ward": 4}
"""How many areas there are in each of the level above."""

SIZES = (0.30, 0.29, 0.17, 0.14, 0.06, 0.03, 0.01)
"""Shares of households of one person, of two, and so on: 2.5 persons on average."""


def make(path: Path, households: int, seed: int = 2026) -> None:
    """Writes the file."""
    chance = np.random.default_rng(seed)
    size = 1 + chance.choice(len(SIZES), households, p=SIZES)
    home = np.repeat(chance.permutation(households), size)
    persons = len(home)
    columns = {"person": chance.permutation(persons) + 10_000_000, "household": home + 1_000_000}
    area = np.zeros(households, np.int64)
    for level, (name, parts) in enumerate(GEOGRAPHY.items()):
        skew = 1.3 if level else 1.0
        area = area * parts + (parts * chance.random(households) ** skew).astype(np.int64)
        columns[name] = area[home]
    columns["size"] = np.repeat(size, size)
    columns["tenure"] = chance.choice(4, households, p=(0.5, 0.3, 0.15, 0.05))[home]
    for name, codes, skew in (("age", 10, 1.0), ("sex", 2, 1.0), ("birthplace", 20, 4.0), ("work", 8, 1.5)):
        columns[name] = (codes * chance.random(persons) ** skew).astype(np.int64)
    order = chance.permutation(persons)
    columns = {name: column[order] for name, column in columns.items()}
    texts = ", ".join(f"printf('{name[0]}%04d', {name}) as {name}" for name in GEOGRAPHY)
    with duckdb.connect() as connection:
        connection.register("made", columns)
        connection.execute(f"copy (select * replace ({texts}) from made) to '{path}' (format parquet)")


def households_of(stage: Stage, households: int) -> Path:
    """The file of so many households, made on first use and in a process of its own."""
    path = stage.folder / f"households-{households}.parquet"
    if not path.exists():
        command = [sys.executable, "-m", "benchmarks.households", str(path), str(households)]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return path


if __name__ == "__main__":
    make(Path(sys.argv[1]), *map(int, sys.argv[2:]))
