"""Makes a file of many persons as a census counts them: python -m benchmarks.census FILE ROWS [SEED].

Its ten variables are skewed and independent of each other, so that most combinations of them are held by one person; ``id``
comes in no order.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np

from benchmarks.registry import ROOT, Stage

__all__ = ["MARGINS", "VARIABLES", "census_of", "make"]

VARIABLES = {
    "region": 40,
    "age": 18,
    "sex": 2,
    "marital": 5,
    "education": 8,
    "occupation": 30,
    "industry": 20,
    "tenure": 4,
    "size": 6,
    "birthplace": 12,
}
"""How many codes each variable has."""

MARGINS = (
    ("region", "age", "sex"),
    ("age", "marital"),
    ("age", "education"),
    ("education", "occupation"),
    ("occupation", "industry"),
    ("industry", "region"),
    ("region", "tenure"),
    ("tenure", "size", "birthplace"),
)
"""Margins whose graph has a cycle without chords and some variables that hang on it: it has many separators."""


def make(path: Path, rows: int, seed: int = 2026) -> None:
    """Writes the file."""
    chance = np.random.default_rng(seed)
    columns = {"id": chance.permutation(rows) + 10_000_000}
    for name, codes in VARIABLES.items():
        columns[name] = (codes * chance.random(rows) ** 1.5).astype(np.int64)
    with duckdb.connect() as connection:
        connection.register("made", columns)
        texts = ", ".join(f"printf('{name[0]}%02d', {name}) as {name}" for name in VARIABLES)
        connection.execute(f"copy (select * replace ({texts}) from made) to '{path}' (format parquet)")


def census_of(stage: Stage, rows: int) -> Path:
    """The file of so many persons, made on first use and in a process of its own."""
    path = stage.folder / f"census-{rows}.parquet"
    if not path.exists():
        command = [sys.executable, "-m", "benchmarks.census", str(path), str(rows)]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return path


if __name__ == "__main__":
    make(Path(sys.argv[1]), *map(int, sys.argv[2:]))
