"""Writes release files; takes nothing but a published table."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from discreet.engine.duckdb import Engine
from discreet.engine.sql import literal, quote
from discreet.errors import ParameterError, near
from discreet.model.published import PublishedLayout, PublishedTable

__all__ = ["FORMATS", "write_published"]

FORMATS = ("csv", "parquet")
MOST_DIGITS = 38


def write_published(
    published: PublishedTable,
    folder: str | os.PathLike[str],
    *,
    formats: Sequence[str] = ("csv",),
    delimiter: str = ",",
    decimal: str = ".",
    hidden: str = "",
) -> list[Path]:
    """One file a table and format, named after the table: its codes, the value, and a status column.

    Codes are written byte for byte, values with exactly the published decimals.  In csv files (UTF-8) a hidden value reads
    ``hidden``, in parquet files it is null and values are decimals.  The folder is made where it is missing.
    Returns the files written.
    """
    for kind in formats:
        if kind not in FORMATS:
            raise ParameterError("formats", f"{kind!r} is not one of {', '.join(FORMATS)}{near(kind, FORMATS)}")
    if len(delimiter) != 1 or delimiter == decimal:
        mend = "use one character that is not the decimal mark"
        raise ParameterError("delimiter", f"{delimiter!r} cannot stand between columns", mend)
    Path(folder).mkdir(parents=True, exist_ok=True)
    written = []
    for layout in published.layouts:
        columns = published.to_columns(layout.name)
        numbers = _texts(layout, published.decimals)
        names = list(columns)
        texts = [list(columns[name]) for name in names]
        value = len(layout.variables)
        for kind in formats:
            path = Path(folder) / f"{layout.name}.{kind}"
            if kind == "csv":
                shown = [hidden if number is None else number.replace(".", decimal) for number in numbers]
                _write_csv(path, names, [*texts[:value], shown, *texts[value + 1 :]], delimiter)
            else:
                _write_parquet(path, names, [*texts[:value], numbers, *texts[value + 1 :]], value, published.decimals)
            written.append(path)
    return written


def _texts(layout: PublishedLayout, decimals: int) -> list[str | None]:
    return [None if np.isnan(value) else f"{value:.{decimals}f}" for value in layout.value]


def _write_csv(path: Path, names: Sequence[str], columns: Sequence[Sequence[str | None]], delimiter: str) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(zip(*columns, strict=True))


def _write_parquet(
    path: Path, names: Sequence[str], columns: Sequence[Sequence[str | None]], value: int, decimals: int
) -> None:
    engine = Engine()
    try:
        arrays = {f"c{i}": np.array(column, object) for i, column in enumerate(columns)}
        engine.load("release", arrays | {"line": np.arange(len(columns[value]))})
        exact = f"CAST(c{value} AS DECIMAL({MOST_DIGITS}, {decimals}))"
        chosen = ", ".join(f"{exact if i == value else f'c{i}'} AS {quote(name)}" for i, name in enumerate(names))
        engine.run(f"COPY (SELECT {chosen} FROM release ORDER BY line) TO {literal(str(path))} (FORMAT parquet)")
    finally:
        engine.close()
