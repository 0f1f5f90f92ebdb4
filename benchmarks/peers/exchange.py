"""How a table goes to a tool and a pattern comes back: plain files in a private folder that is removed afterwards.

    cells.csv       cell, value, contributors, sensitive (0/1), lower and upper protection level
    lines.csv       the code of each spanning variable (Total, or c0001 … in the order of the tree), cell
    equations.csv   equation, cell, coefficient: parts +1, their total -1
    v0.hrc …        the tree of each spanning variable, lead string @
    table.pickle    the table itself, for discreet
    answer.json     cells hidden, processor and wall seconds, peak memory, version

The tools' side of this file needs the standard library only.
"""

from __future__ import annotations

import csv
import json
import pickle
import time
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.measure import peak_megabytes, seconds_of_processor

__all__ = ["TOTAL", "answer", "hand_over", "read_csv", "timed"]

TOTAL = "Total"


def hand_over(table: Any, folder: Path) -> None:
    """Writes a table with its sensitive cells to the folder."""
    layout = table.layouts[0]
    for v, tree in enumerate(layout.hierarchies):
        nodes = (f"{'@' * (tree.level[code] - 1)}{_code(code)}\n" for code in range(1, len(tree.codes)))
        (folder / f"v{v}.hrc").write_text("".join(nodes), encoding="utf-8")
    header = (*(f"v{v}" for v in range(len(layout.variables))), "cell")
    _write(
        folder / "lines.csv",
        header,
        ([*map(_code, codes), cell] for codes, cell in zip(layout.codes, layout.cell, strict=True)),
    )
    levels = (table.lower_protection, table.upper_protection)
    columns = (table.value, table.contributions.holdings, table.primary.astype(int), *levels)
    cells = zip(range(table.cells), *(column.tolist() for column in columns), strict=True)
    _write(folder / "cells.csv", ("cell", "value", "contributors", "sensitive", "lower", "upper"), cells)
    matrix = table.equations.tocoo()
    _write(
        folder / "equations.csv",
        ("equation", "cell", "coefficient"),
        zip(matrix.row, matrix.col, matrix.data.astype(int), strict=True),
    )
    (folder / "table.pickle").write_bytes(pickle.dumps(table))


def _code(position: int) -> str:
    return TOTAL if position == 0 else f"c{position:04d}"


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def read_csv(path: Path) -> list[dict[str, str]]:
    """All rows of a csv file."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def answer(path: Path, package: str, hide: Callable[[], Iterable[int]], more: dict[str, Any] | None = None) -> None:
    """Runs ``hide``, which gives the numbers of all hidden cells, and writes them with what it cost, and ``more``."""
    hidden, measured = timed(lambda: sorted({int(cell) for cell in hide()}))
    said = {"hidden": hidden, "version": version(package), **measured, **(more or {})}
    path.write_text(json.dumps(said), encoding="utf-8")


def timed(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """What ``work`` gives, and what it cost."""
    cpu, wall = seconds_of_processor(), time.perf_counter()
    done = work()
    return done, {"cpu": seconds_of_processor() - cpu, "wall": time.perf_counter() - wall, "peak": peak_megabytes()}
