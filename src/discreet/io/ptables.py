"""Reads and writes p-tables: the files of other tools, recognised by their columns."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import InputError, some
from discreet.io.columns import DELIMITERS, Columns, is_path, pick, read_columns, read_text
from discreet.model.contributions import Floats
from discreet.model.ptable import PTable

__all__ = ["read_ptable", "write_ptable"]

BOUNDS = ("p_int_ub", "p_ij_ub", "ub")
"""What the cumulative probability is called: by ptable and cellKey, by older files of tau-Argus, within cellKey."""

CHANCES = ("p", "p_ij")

CLOSE = 1e-6

KEYED = ("pcv", "ckey", "pvalue")
"""The columns of whole-key tables: the count, the key and the change."""

KEYED_LAST, KEYED_REPEAT = 750, 250
"""Keyed tables of so many rows repeat so many of them; that is the published rule of the office whose format it is."""


def read_ptable(
    source: str | os.PathLike[str] | Any,
    *,
    repeat: int | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> PTable:
    """The p-table in a text file or frame, in one of four layouts.

    ``i, j, p, v, p_int_lb, p_int_ub, type``: fractional keys, as ptable and cellKey write them; j, p, the lower bound and the
    type may be missing, and so may the upper bound where there is a probability.
    ``i; j; p; v; p_int_ub; type`` (or ``p_ij_ub``): the same for tau-Argus.  ``pcv, ckey, pvalue``: whole keys from 0 on, a
    line for each count and key; tables of 750 counts repeat their last 250 for larger ones.
    Whole numbers without a header line: one line a key, one column a count from 1 on; a count c among the last ``repeat``
    columns or beyond looks at the (c modulo ``repeat``)-th of them, counted from 0.

    ``repeat``: how many of its last rows a table of whole keys repeats for larger counts (1 where nothing is said: the last).

    Errors: InputError naming the column or line that does not fit.
    """
    where = Path(source).name if is_path(source) else "p-table"
    kept = str(source) if is_path(source) else None
    if is_path(source):
        text = read_text(source, encoding=encoding)
        first = text.partition("\n")[0]
        mark = delimiter or max(DELIMITERS, key=first.count)
        if first.strip() and all(_whole(field) for field in first.split(mark)):
            return _from_matrix(text, mark, 1 if repeat is None else repeat, where, kept)
    columns = read_columns(source, delimiter=delimiter, encoding=encoding, where=where, row_names=True)
    if all(name in columns for name in KEYED):
        return _from_keys(columns, repeat, where, kept)
    if "i" in columns or "v" in columns:
        if repeat is not None:
            raise InputError(where, "a p-table of fractional keys repeats its last row", "leave out repeat")
        return _from_fractions(columns, where, kept)
    fix = "the columns are i, v, p_int_ub (or p) and type; or pcv, ckey, pvalue; or a matrix of whole numbers without header"
    raise InputError(where, f"is no p-table: its columns are {some(columns, 8)}", fix)


def write_ptable(table: PTable, path: str | os.PathLike[str]) -> Path:
    """Writes a csv file that :func:`read_ptable` reads: ``i, j, p, v, p_int_lb, p_int_ub, type``, or ``pcv, ckey, pvalue``."""
    header, lines = _fractions(table) if table.keys is None else _keyed(table, table.keys)
    file = Path(path)
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(lines)
    return file


def _fractions(table: PTable) -> tuple[Sequence[str], list[tuple[str, ...]]]:
    starts = np.append(True, (table.row[1:] != table.row[:-1]) | (table.blocks[1:] != table.blocks[:-1]))
    lower = np.where(starts, 0.0, np.append(0.0, table.upper[:-1]))
    numbers = (table.row, table.row + table.change, table.probability, table.change, lower, table.upper)
    lines = list(zip(*([_text(number) for number in column] for column in numbers), table.blocks, strict=True))
    return ("i", "j", "p", "v", "p_int_lb", "p_int_ub", "type"), lines


def _keyed(table: PTable, keys: int) -> tuple[Sequence[str], list[tuple[str, ...]]]:
    change = table.at(np.arange(len(table.rows))[:, np.newaxis], np.arange(keys))
    return KEYED, [
        (_text(row), str(key), _text(changed))
        for row, of_row in zip(table.rows, change, strict=True)
        for key, changed in enumerate(of_row)
    ]


def _from_fractions(columns: Columns, where: str, source: str | None) -> PTable:
    row, change = _numbers(columns, "i", where), _numbers(columns, "v", where)
    bound = next((name for name in BOUNDS if name in columns), None)
    chance = next((name for name in CHANCES if name in columns), None)
    if bound is None and chance is None:
        raise InputError(where, "has neither probabilities nor their bounds", "give a column p_int_ub, or p")
    blocks = np.array(columns.get("type", ["all"] * len(row)), object)
    if "j" in columns:
        off = np.abs(row + change - _numbers(columns, "j", where)) > CLOSE
        _refuse(off, where, "j is not i + v")
    if bound is None:
        order = _order(blocks, row, np.arange(len(row)))
        upper = _running(_numbers(columns, str(chance), where)[order], row[order], blocks[order])
    else:
        upper = _numbers(columns, bound, where)
        order = _order(blocks, row, upper)
        upper = upper[order]
    table = PTable(row=row[order], change=change[order], upper=upper, blocks=blocks[order], source=source)
    if chance is not None:
        off = np.zeros(len(row), bool)
        off[order] = np.abs(table.probability - _numbers(columns, chance, where)[order]) > CLOSE
        _refuse(off, where, f"{chance} is not the length of its interval")
    return table


def _order(blocks: Any, row: Floats, upper: Any) -> Any:
    place = {name: at for at, name in enumerate(dict.fromkeys(blocks))}
    return np.lexsort((upper, row, np.array([place[name] for name in blocks])))


def _running(chance: Floats, row: Floats, blocks: Any) -> Floats:
    starts = np.flatnonzero((row[1:] != row[:-1]) | (blocks[1:] != blocks[:-1])) + 1
    return np.concatenate([np.cumsum(part) for part in np.split(chance, starts)])


def _from_keys(columns: Columns, repeat: int | None, where: str, source: str | None) -> PTable:
    count, key, change = (_numbers(columns, name, where) for name in KEYED)
    _refuse((count != np.rint(count)) | (count < 0), where, "pcv is no count")
    _refuse((key != np.rint(key)) | (key < 0), where, "ckey is no whole number of at least 0")
    first = int(count.min())
    place = ((count - first).astype(np.int64), key.astype(np.int64))
    shape = (int(place[0].max()) + 1, int(place[1].max()) + 1)
    if shape[0] * shape[1] > 2 * len(count):
        raise InputError(where, f"has {len(count)} lines for {shape[0]} counts and {shape[1]} keys", "give a line for each")
    matrix = np.full(shape, np.nan)
    matrix[place] = change
    lines = np.zeros(shape, np.int64)
    np.add.at(lines, place, 1)
    if (lines != 1).any():
        row, column = np.argwhere(lines != 1)[0]
        said = "no line" if lines[row, column] == 0 else "several lines"
        raise InputError(where, f"has {said} for count {row + first} and key {column}", "give one line for each count and key")
    if repeat is None:
        repeat = KEYED_REPEAT if first == 1 and shape[0] == KEYED_LAST else 1
    return PTable.of_keys(matrix, first=first, repeat=repeat, source=source)


def _from_matrix(text: str, mark: str, repeat: int, where: str, source: str | None) -> PTable:
    lines = [line.split(mark) for line in text.splitlines() if line.strip()]
    wide = len(lines[0])
    for number, fields in enumerate(lines, 1):
        if len(fields) != wide or not all(_whole(field) for field in fields):
            raise InputError(
                where, f"line {number} does not hold {wide} whole numbers", "give one line a key, one column a count"
            )
    if not 1 <= repeat <= wide:
        raise InputError(where, f"cannot repeat {repeat} of its {wide} columns", "repeat fewer")
    change = np.array(lines, float).T
    tail = np.arange(wide - repeat + 1, wide + 1)
    change[wide - repeat :] = change[wide - repeat + tail % repeat]
    return PTable.of_keys(change, repeat=repeat, source=source)


def _numbers(columns: Columns, name: str, where: str) -> Floats:
    out = np.empty(len(pick(columns, name, where, "the p-table")))
    for line, given in enumerate(columns[name]):
        try:
            out[line] = float(given.strip().replace(",", ".") if isinstance(given, str) else given)
        except (TypeError, ValueError):
            out[line] = math.nan
        if not math.isfinite(out[line]):
            raise InputError(where, f"line {line + 1} below the header: {name} is no number", "correct the p-table")
    return out


def _refuse(bad: Any, where: str, problem: str) -> None:
    if bad.any():
        raise InputError(where, f"line {int(np.flatnonzero(bad)[0]) + 1} below the header: {problem}", "correct the p-table")


def _whole(field: str) -> bool:
    return field.strip().lstrip("+-").isdecimal()


def _text(number: float) -> str:
    return str(int(number)) if number == int(number) else repr(float(number))
