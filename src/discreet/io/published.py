"""Writes release files; takes nothing but a published table."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from discreet.engine.duckdb import Engine
from discreet.engine.sql import literal, quote
from discreet.errors import ParameterError, near
from discreet.model.contributions import Floats
from discreet.model.published import PublishedTable

__all__ = ["FORMATS", "write_published"]

FORMATS = ("csv", "parquet")
MOST_DIGITS = 38

MORE_OF_ERRORS = 2
"""How many more decimals a standard error has than the number it belongs to."""


def write_published(
    published: PublishedTable,
    folder: str | os.PathLike[str],
    *,
    formats: Sequence[str] = ("csv",),
    delimiter: str = ",",
    decimal: str = ".",
    hidden: str = "",
) -> list[Path]:
    """One file a table and format, named after the table: its codes, the value, a status column, and the error of noise.

    Codes are written byte for byte, values with exactly the published decimals, standard errors with two more.  In csv files
    (UTF-8) a hidden value reads ``hidden`` and a number without noise has no error, in parquet files both are null and values
    and errors are decimals.  The folder is made where it is missing.
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
        names = list(columns)
        texts: list[list[str | None]] = [list(columns[name]) for name in names]
        numeric = {len(layout.variables): published.decimals}
        if len(names) > len(layout.variables) + 2:
            numeric[len(names) - 1] = published.decimals + MORE_OF_ERRORS
        for place, decimals in numeric.items():
            texts[place] = _texts(columns[names[place]], decimals)
        for kind in formats:
            path = Path(folder) / f"{layout.name}.{kind}"
            if kind == "csv":
                absent = {place: "" if at else hidden for at, place in enumerate(numeric)}
                shown = [
                    [absent[place] if text is None else text.replace(".", decimal) for text in column]
                    if place in numeric
                    else column
                    for place, column in enumerate(texts)
                ]
                _write_csv(path, names, shown, delimiter)
            else:
                _write_parquet(path, names, texts, numeric)
            written.append(path)
    return written


def _texts(numbers: Floats, decimals: int) -> list[str | None]:
    return [None if np.isnan(number) else f"{number:.{decimals}f}" for number in numbers]


def _write_csv(path: Path, names: Sequence[str], columns: Sequence[Sequence[str | None]], delimiter: str) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(zip(*columns, strict=True))


def _write_parquet(
    path: Path, names: Sequence[str], columns: Sequence[Sequence[str | None]], numeric: Mapping[int, int]
) -> None:
    """``numeric`` has the decimals of each column of numbers, by its place."""
    engine = Engine()
    try:
        arrays = {f"c{i}": np.array(column, object) for i, column in enumerate(columns)}
        engine.load("release", arrays | {"line": np.arange(len(columns[0]))})
        chosen = [
            f"CAST(c{i} AS DECIMAL({MOST_DIGITS}, {numeric[i]})) AS {quote(name)}" if i in numeric else f"c{i} AS {quote(name)}"
            for i, name in enumerate(names)
        ]
        query = f"SELECT {', '.join(chosen)} FROM release ORDER BY line"
        engine.run(f"COPY ({query}) TO {literal(str(path))} (FORMAT parquet)")
    finally:
        engine.close()
