"""Writes the release of a swapped file, and the owner's list of the swaps."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.engine.sql import quote
from discreet.errors import InputError, some
from discreet.io.release import check_release_name, column_text, copy_records, release_columns
from discreet.io.staging import gathered
from discreet.model.contributions import Integers
from discreet.model.swap_file import SwapFile

__all__ = ["write_swapped", "write_swaps"]

Shown = tuple[str, str]
"""A column of ``lines``, or a column of the records that the column of this name in lines says, in the order of keys."""


def write_swapped(
    file: SwapFile,
    folder: str | os.PathLike[str],
    *,
    name: str = "released.csv",
    columns: Sequence[str] | None = None,
    renumber: Sequence[str] = (),
) -> Path:
    """Writes the records with the values that they have after all swaps; the path of the released file.

    ``name`` ends in .csv (UTF-8) or .parquet.  ``columns`` are those to release, by default all but the ids of records and the
    columns of roles other than the weight.  A value is written as it stands in the record from which it comes.  The lines
    stand in an order that is made from the secret and the ids, and tells nothing of the order in the source.  Columns to
    ``renumber``, such as that of households, get new numbers from 1 in an order made alike: equal codes, equal numbers.  The
    file appears as a whole or not at all.

    What it does not do: look at the columns that stayed, which may tell the true values.  An area beside one that moved, or
    numbers of households that were given area by area, undo a swap.

    Errors: InputError where no method was applied, where columns are not there, or others than those released moved, for
    records without a code to renumber, and where the file would have the name of its source; ParameterError for another kind
    of file.
    """
    check_release_name(file.microdata, name)
    chosen = release_columns(file.microdata, file.shown if columns is None else columns)
    _check_release(file, chosen, renumber)
    order = np.argsort(file.keys("swap order of lines", file.record), kind="stable")
    lines: dict[str, NDArray[Any]] = {"own": order}
    shown: dict[str, Shown] = {}
    for column in chosen:
        if column in renumber:
            shown[column] = "lines", (number := f"number{len(lines)}")
            lines[number] = _numbers(file, column)[order]
        else:
            moved = file.origin.get(column)
            shown[column] = "own" if moved is None else _placed(lines, moved[order]), column
    with gathered(Path(folder)) as private:
        _write(file, private / name, lines, shown)
    return Path(folder) / name


def write_swaps(file: SwapFile, folder: str | os.PathLike[str], *, name: str = "swaps.csv") -> Path:
    """Writes the list of the swaps, which undoes them and must stay with the owner; the path of the list.

    One line for each value that comes from another record: the id of the record that has it (``record_…``), the ``column``,
    and the id of the record it comes from (``from_…``), over all methods together.  It is for the owner's audit and input of
    nothing: the same records, secret and methods make the same swaps again.

    Errors: InputError where no method was applied, and where the list would have the name of the source; ParameterError for a
    name that does not end in .csv or .parquet.
    """
    check_release_name(file.microdata, name)
    _check_applied(file)
    own = [np.flatnonzero(moved != np.arange(len(moved))) for moved in file.origin.values()]
    lines: dict[str, NDArray[Any]] = {
        "own": np.concatenate([np.zeros(0, np.int64), *own]),
        "source": np.concatenate([np.zeros(0, np.int64), *(m[at] for m, at in zip(file.origin.values(), own, strict=True))]),
        "moved": np.repeat(np.array(list(file.origin), object), [len(at) for at in own]),
    }
    shown: dict[str, Shown] = {f"record_{column}": ("own", column) for column in file.record}
    shown |= {"column": ("lines", "moved")} | {f"from_{column}": ("source", column) for column in file.record}
    with gathered(Path(folder)) as private:
        _write(file, private / name, lines, shown)
    return Path(folder) / name


def _check_applied(file: SwapFile) -> None:
    if not file.steps:
        raise InputError("swapping", "no method was applied yet", "apply one, such as MarginSwap, before the release")


def _check_release(file: SwapFile, chosen: Sequence[str], renumber: Sequence[str]) -> None:
    _check_applied(file)
    swapped = {column for step in file.steps for column in step.columns} | set(file.origin)
    if swapped and not swapped & set(chosen):
        problem = f"holds none of the columns that were swapped ({some(sorted(swapped))}), and so would be the true records"
        raise InputError("release", problem, "name all columns to release: columns = […]")
    for column in renumber:
        if column not in chosen:
            raise InputError("release", f"column {column!r} is to be renumbered and is not released", "leave it out there")


def _placed(lines: dict[str, NDArray[Any]], moved: Integers) -> str:
    """The name under which the records of these values are among the lines; columns that moved alike share one."""
    for name, held in lines.items():
        if held.dtype == moved.dtype and np.array_equal(held, moved):
            return name
    lines[name := f"from{len(lines)}"] = moved
    return name


def _numbers(file: SwapFile, column: str) -> Integers:
    """New numbers for the codes of a column as it stands now, from 1 in the order of secret keys; in the order of keys."""
    number = np.unique(file.keys("swap numbers", (column,)), return_inverse=True)[1] + 1
    moved = file.origin.get(column)
    return number if moved is None else number[moved]


def _write(file: SwapFile, path: Path, lines: Mapping[str, NDArray[Any]], shown: Mapping[str, Shown]) -> None:
    """Writes the lines in their order, each of the columns ``shown`` from its table."""
    microdata, engine = file.microdata, file.microdata.engine
    place = np.empty_like(file.rows)
    place[file.rows] = np.arange(len(place))
    held = {column: f"c{i}" for i, column in enumerate(microdata.types)}
    records = sorted({table for table, _ in shown.values()} - {"lines"})
    needed = sorted({column for table, column in shown.values() if table != "lines"})
    wanted = ["swap_place.place", *(f"{column_text(microdata, column, path)} AS {held[column]}" for column in needed)]
    selected = (f"{t}.{c if t == 'lines' else held[c]} AS {quote(column)}" for column, (t, c) in shown.items())
    joins = (f"JOIN swap_records AS {record} ON {record}.place = lines.{record}" for record in records)
    query = f"SELECT {', '.join(selected)} FROM swap_lines AS lines {' '.join(joins)} ORDER BY lines.line"
    try:
        with engine.in_order():
            engine.load("swap_place", {"place": place})
            engine.load("swap_lines", {"line": np.arange(len(lines["own"]))} | dict(lines))
            engine.run(
                f"CREATE OR REPLACE TEMP TABLE swap_records AS SELECT {', '.join(wanted)} "
                f"FROM (SELECT records.* FROM {microdata.source}) AS records POSITIONAL JOIN swap_place"
            )
        copy_records(microdata, query, path, columns=len(shown))
    finally:
        for table in ("swap_place", "swap_lines", "swap_records"):
            engine.run(f"DROP TABLE IF EXISTS {table}")
