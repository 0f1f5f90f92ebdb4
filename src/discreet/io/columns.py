"""Small tables as columns: a text file or any frame, every field as it stands there."""

from __future__ import annotations

import codecs
import csv
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import narwhals as nw

from discreet.errors import InputError, near, some

__all__ = ["Columns", "as_frame", "code_text", "is_path", "pick", "read_columns", "read_text"]

Columns = dict[str, list[Any]]
DELIMITERS = (",", ";", "\t", "|")
BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


def is_path(source: Any) -> bool:
    """Whether this names a file."""
    return isinstance(source, str | os.PathLike)


def read_text(source: str | os.PathLike[str], *, encoding: str | None = None) -> str:
    """A whole text file; UTF-8 with or without a byte order mark unless its encoding is given.

    Errors: InputError for a missing file, and for one that does not decode, with the encoding to try.
    """
    path = Path(source)
    if not path.is_file():
        beside = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
        raise InputError(path.name, f"there is no such file{near(path.name, beside)}", "check the path")
    content = path.read_bytes()
    marked = next((name for mark, name in BYTE_ORDER_MARKS if content.startswith(mark)), None)
    try:
        text = content.decode(marked or encoding or "utf-8")
    except LookupError:
        raise InputError(path.name, f"there is no encoding {encoding!r}", "use 'utf-8', 'cp1252' or 'utf-16'") from None
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        likely = "cp1252" if any(0x80 <= byte <= 0x9F for byte in content) else "latin-1"
        tried = encoding or "utf-8"
        raise InputError(path.name, f"line {line} is not {tried} text", f"give its encoding: encoding = {likely!r}") from None
    if "\x00" in text:
        raise InputError(path.name, "holds null characters and is no plain text", "try encoding = 'utf-16'")
    return text.removesuffix("\x1a")


def read_columns(
    source: Any,
    *,
    names: Sequence[str] | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    where: str = "frame",
    row_names: bool = False,
) -> Columns:
    """The columns of a csv file (all fields as text), of any frame, or of a mapping of lists.

    ``names`` names the columns of a file without a header line; ``delimiter`` is found where not given.  With
    ``row_names`` the first column may lack a name, as R and pandas write it, and is then left out.
    """
    if is_path(source):
        columns = _read_csv(Path(source), read_text(source, encoding=encoding), names, delimiter, row_names)
        return {name: column for name, column in columns.items() if name}
    for option, given in (("column names", names), ("a delimiter", delimiter), ("an encoding", encoding)):
        if given is not None:
            raise InputError(where, f"{option} can be given for a file only, and the source is none", "leave it out")
    if isinstance(source, Mapping):
        columns = {str(name): list(column) for name, column in source.items()}
    else:
        columns = _from_frame(source, where)
    sizes = {len(column) for column in columns.values()}
    if len(sizes) > 1:
        raise InputError(where, "its columns differ in length", "give each column one entry a line")
    if sizes in (set(), {0}):
        raise InputError(where, "holds no lines", "check where it comes from")
    return columns


def pick(columns: Columns, name: str, where: str, role: str) -> list[Any]:
    """The column of this name, or an InputError with the nearest one."""
    if name not in columns:
        raise InputError(where, f"there is no column {name!r} for {role}{near(name, columns)}", f"it has: {some(columns, 12)}")
    return columns[name]


def code_text(value: Any, where: str) -> str:
    """A code as text, byte for byte; whole numbers become their decimal text, a missing code the empty text."""
    if isinstance(value, str):
        return value
    if value is None or value != value:  # NaN and its kin differ from themselves
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    try:
        whole = int(value)
        if whole == value:
            return str(whole)
    except (TypeError, ValueError, OverflowError):
        return str(value)
    raise InputError(where, "a code is a broken number", "use text or whole numbers as codes")


def as_frame(source: Any, where: str) -> nw.DataFrame[Any]:
    """Any frame behind one interface, collected; column names that stand twice are refused."""
    try:
        frame = nw.from_native(source)
    except TypeError:
        raise InputError(
            where, f"cannot read a {type(source).__name__}", "pass a path or a pandas, polars, pyarrow or DuckDB frame"
        ) from None
    except nw.exceptions.DuplicateError:
        names = [str(name) for name in getattr(source, "column_names", getattr(source, "columns", ()))]
        twice = sorted({name for name in names if names.count(name) > 1})
        raise InputError(where, f"columns stand twice: {some(twice)}", "give each column a name of its own") from None
    return frame.collect() if isinstance(frame, nw.LazyFrame) else frame


def _from_frame(source: Any, where: str) -> Columns:
    frame = as_frame(source, where)
    return {str(one.name): [None if _absent(value) else value for value in one.to_list()] for one in frame.iter_columns()}


def _absent(value: Any) -> bool:
    """None, NaN, NaT and pandas' NA, whose comparisons are no truth values."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


def _read_csv(path: Path, text: str, names: Sequence[str] | None, delimiter: str | None, row_names: bool) -> Columns:
    first, _, _ = text.partition("\n")
    if not text.strip():
        raise InputError(path.name, "is empty", "check the file")
    outside = "".join(part for i, part in enumerate(first.split('"')) if i % 2 == 0)
    found = delimiter or max(DELIMITERS, key=lambda mark: (outside.count(mark), -DELIMITERS.index(mark)))
    if len(found) != 1:
        raise InputError(path.name, f"the delimiter {found!r} is not one character", "use ',' or ';' or a tab")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=found)
    header = list(names) if names is not None else next(reader)
    for place, name in enumerate(header, 1):
        if (not name and not (row_names and place == 1)) or name in header[: place - 1]:
            trouble = f"column {name!r} stands twice" if name else f"column {place} has no name"
            raise InputError(path.name, f"{trouble} in the header line", "give each column a name of its own")
    lines = []
    for fields in reader:
        if len(fields) != len(header):
            if not fields:
                continue
            raise InputError(
                path.name,
                f"line {reader.line_num} has {len(fields)} fields where there are {len(header)} columns",
                f"check the delimiter ({found!r} is used) and the quotes",
            )
        lines.append(fields)
    if not lines:
        raise InputError(path.name, "holds no lines below its header", "check the file")
    return {name: list(column) for name, column in zip(header, zip(*lines, strict=True), strict=True)}
