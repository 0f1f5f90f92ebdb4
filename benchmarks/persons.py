"""Makes a file of many persons with variables to randomise: python -m benchmarks.persons FILE ROWS [SEED].

``health`` has 5 codes, ``trade`` 20 and ``town`` 400, all skewed; ``id`` comes in no order.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np

from benchmarks.registry import ROOT, Stage

__all__ = ["VARIABLES", "make", "persons_of"]

VARIABLES = {"health": 5, "trade": 20, "town": 400}
"""How many codes each variable has."""


def make(path: Path, rows: int, seed: int = 2026) -> None:
    """Writes the file."""
    chance = np.random.default_rng(seed)
    columns = {"id": chance.permutation(rows) + 10_000_000}
    for name, codes in VARIABLES.items():
        columns[name] = (codes * chance.random(rows) ** 1.5).astype(np.int64)
    with duckdb.connect() as connection:
        connection.register("made", columns)
        texts = ", ".join(f"printf('{name[0]}%03d', {name}) as {name}" for name in VARIABLES)
        connection.execute(f"copy (select * replace ({texts}) from made) to '{path}' (format parquet)")


def persons_of(stage: Stage, rows: int) -> Path:
    """The file of so many persons, made on first use and in a process of its own."""
    path = stage.folder / f"persons-{rows}.parquet"
    if not path.exists():
        command = [sys.executable, "-m", "benchmarks.persons", str(path), str(rows)]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return path


if __name__ == "__main__":
    make(Path(sys.argv[1]), *map(int, sys.argv[2:]))
