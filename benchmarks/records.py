"""Makes a file of many records, with keys: python -m benchmarks.records FILE ROWS [SEED].

Activity has four levels (nace), region three, both skewed; size has six codes.  The turnover is lognormal, ids come in no
order, and record keys are random whole numbers, of 32 bits (``key``) and of 8 (``key256``).  ``sex``, ``age``, ``work`` and
``area`` are for tables of counts.
"""

from __future__ import annotations

import subprocess
import sys
from itertools import product
from pathlib import Path

import duckdb
import numpy as np

from benchmarks.registry import ROOT, Stage

__all__ = ["CODES", "PREFIXES", "make", "records_of"]

DIGITS = {"nace": (10, 3, 4, 5), "region": (4, 5, 2), "size": (6,), "sex": (2,), "age": (10,), "work": (14,), "area": (12,)}
"""How many codes there are below each code of the level above."""

SKEW = {"nace": 1.7, "region": 1.3, "size": 2.0}

CODES = {
    name: [name[0].upper() + "".join(chr(ord("a") + digit) for digit in code) for code in product(*map(range, digits))]
    for name, digits in DIGITS.items()
}
"""The leaf codes of each variable: a letter for the variable and one for each level."""

PREFIXES = {name: list(range(2, len(digits) + 1)) for name, digits in DIGITS.items() if len(digits) > 1}
"""How many characters of a code are a code of a higher level."""


def make(path: Path, rows: int, seed: int = 2026) -> None:
    """Writes the file."""
    chance = np.random.default_rng(seed)
    columns = {"id": chance.permutation(rows) + 10_000_000}
    for name, codes in CODES.items():
        columns[name] = (len(codes) * chance.random(rows) ** SKEW.get(name, 1.0)).astype(np.int64)
    columns["turnover"] = np.exp(chance.normal(3, 2, rows)).astype(np.int64) + 1
    columns["key"] = chance.integers(0, 2**32, rows)
    columns["key256"] = columns["key"] % 256
    with duckdb.connect() as connection:
        connection.register("made", columns)
        texts = ", ".join(f"{codes}[{name} + 1] as {name}" for name, codes in CODES.items())
        connection.execute(f"copy (select * replace ({texts}) from made) to '{path}' (format parquet)")


def records_of(stage: Stage, rows: int) -> Path:
    """The file of so many records, made on first use and in a process of its own."""
    path = stage.folder / f"records-{rows}.parquet"
    if not path.exists():
        command = [sys.executable, "-m", "benchmarks.records", str(path), str(rows)]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return path


if __name__ == "__main__":
    make(Path(sys.argv[1]), *map(int, sys.argv[2:]))
