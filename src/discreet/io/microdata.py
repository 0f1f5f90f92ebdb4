"""Reads microdata: any frame, or a csv or parquet file, with what is not declared found out."""

from __future__ import annotations

import codecs
import csv
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import narwhals as nw

from discreet.engine.duckdb import Engine
from discreet.engine.sql import literal, quote
from discreet.errors import InputError, near
from discreet.model.microdata import Microdata, Missing, Roles

__all__ = ["column_names", "read_microdata"]

PARQUET = (".parquet", ".pq")
DELIMITERS = (",", ";", "\t", "|")
BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


def read_microdata(
    source: Any,
    *,
    unit: str | None = None,
    holding: str | None = None,
    weight: str | None = None,
    record_key: str | None = None,
    request: str | None = None,
    waiver: str | None = None,
    count: str | None = None,
    missing: Missing | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    columns: Sequence[tuple[str, int, int]] | None = None,
    threads: int | None = None,
) -> Microdata:
    """Microdata from a frame (pandas, polars, pyarrow, DuckDB relation) or a path (csv, text or parquet).

    Roles name columns (see :class:`~discreet.model.microdata.Roles`).  For text files, ``delimiter``, ``decimal``
    ("." or ","), and ``encoding`` are found where not given; all fields are read as text, so codes keep
    their leading zeros and blanks.  ``columns`` reads a fixed-width file: (name, first position from 1, width).

    Errors: InputError for a missing file, a file that does not decode, an empty file, a column that is not there.
    """
    roles = Roles(unit=unit, holding=holding, weight=weight, record_key=record_key, request=request, waiver=waiver, count=count)
    engine = Engine(threads=threads)
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        name = path.name
        comma, notes = _read_path(engine, path, delimiter, decimal, encoding, columns)
    else:
        for option, given in (("delimiter", delimiter), ("encoding", encoding), ("columns", columns)):
            if given is not None:
                raise InputError("microdata", f"{option} is given but the source is a frame, not a file", f"leave {option} out")
        name, comma, notes = "microdata", decimal == ",", []
        _register_frame(engine, source)
    types = engine.types("records")
    rows = int(engine.fetch("SELECT COUNT(*) AS n FROM records")["n"][0])
    if rows == 0:
        raise InputError(name, "holds no records", "check the file and its header line")
    return Microdata(
        engine=engine,
        name=name,
        types=types,
        rows=rows,
        roles=roles,
        missing=missing or Missing(),
        decimal_comma=comma,
        notes=tuple(notes),
    )


def column_names(
    path: Path,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    columns: Sequence[tuple[str, int, int]] | None = None,
) -> list[str]:
    """The columns of a file of records, from its header alone; the options are those of :func:`read_microdata`."""
    if columns is not None:
        return [str(name) for name, _, _ in columns]
    if path.suffix.lower() in PARQUET:
        engine = Engine()
        engine.run(f"CREATE VIEW source AS SELECT * FROM read_parquet({literal(str(path))})", where=path.name)
        return list(engine.types("source"))
    _check_filled(path)
    head = _head(path, encoding or _find_encoding(path))
    return _header(path, head, delimiter or _find_delimiter(head))


def _read_path(
    engine: Engine,
    path: Path,
    delimiter: str | None,
    decimal: str | None,
    encoding: str | None,
    columns: Sequence[tuple[str, int, int]] | None,
) -> tuple[bool, list[str]]:
    if not path.is_file():
        beside = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
        raise InputError(
            path.name, f"there is no such file{near(path.name, beside)}", "check the path; it is relative to the plan"
        )
    if path.suffix.lower() in PARQUET:
        for option, given in (("delimiter", delimiter), ("encoding", encoding), ("columns", columns)):
            if given is not None:
                raise InputError(path.name, f"{option} is given for a parquet file", f"leave {option} out")
        engine.run(f"CREATE VIEW source AS SELECT * FROM read_parquet({literal(str(path))})", where=path.name)
        _view_records(engine, "source")
        return decimal == ",", []
    _check_filled(path)
    notes: list[str] = []
    found = encoding or _find_encoding(path)
    if encoding is None and found not in ("utf-8", "utf-8-sig"):
        notes.append(f"encoding found: {found}")
    head = _head(path, found)
    if columns is not None:
        _load_text(engine, path, found, _fixed_width_sql(columns))
        return (decimal or ".") == ",", notes
    separator = delimiter or _find_delimiter(head)
    if delimiter is None and separator != ",":
        notes.append(f"delimiter found: {separator!r}")
    names = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in _header(path, head, separator))
    options = f"delim={literal(separator)}, header=true, quote='\"', escape='\"', nullstr='', auto_detect=false"
    _load_text(engine, path, found, f"SELECT * FROM read_csv({{file}}, {options}, columns={{{{{_braced(names)}}}}})")
    comma = decimal == "," if decimal else separator != "," and _decimal_comma(engine)
    if comma and decimal is None:
        notes.append("decimal comma found")
    return comma, notes


def _check_filled(path: Path) -> None:
    if path.stat().st_size == 0:
        raise InputError(path.name, "is empty", "check the file")


def _find_encoding(path: Path) -> str:
    with path.open("rb") as file:
        start = file.read(4)
        for mark, name in BYTE_ORDER_MARKS:
            if start.startswith(mark):
                return name
        decoder = codecs.getincrementaldecoder("utf-8")()
        file.seek(0)
        try:
            while block := file.read(1 << 20):
                decoder.decode(block)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return "cp1252"
    return "utf-8"


def _head(path: Path, encoding: str) -> str:
    try:
        with path.open(encoding=encoding, newline="") as file:
            return file.readline().rstrip("\r\n")
    except (UnicodeDecodeError, LookupError):
        raise InputError(
            path.name, f"does not decode as {encoding}", "give its encoding: encoding = 'cp1252', 'utf-16', …"
        ) from None


def _find_delimiter(head: str) -> str:
    outside = "".join(part for i, part in enumerate(head.split('"')) if i % 2 == 0)
    return max(DELIMITERS, key=lambda mark: (outside.count(mark), -DELIMITERS.index(mark)))


def _check_separator(path: Path, head: str, separator: str) -> None:
    outside = "".join(part for i, part in enumerate(head.split('"')) if i % 2 == 0)
    others = [mark for mark in DELIMITERS if mark != separator and outside.count(mark) > outside.count(separator)]
    if outside.count(separator) == 0 and others:
        raise InputError(path.name, f"the header line has no {separator!r}", f"try delimiter = {others[0]!r}")


def _header(path: Path, head: str, separator: str) -> list[str]:
    """The column names; a name that stands twice is refused, and a line without the separator that holds others."""
    _check_separator(path, head, separator)
    names = next(csv.reader([head], delimiter=separator))
    for place, name in enumerate(names, 1):
        if name in names[: place - 1]:
            raise InputError(path.name, f"column {name!r} stands twice in the header line", "give each column its own name")
        if not name:
            raise InputError(path.name, f"column {place} has no name in the header line", "give each column a name")
    return names


def _braced(text: str) -> str:
    """Text that stays itself when a statement is formatted."""
    return text.replace("{", "{{").replace("}", "}}")


def _load_text(engine: Engine, path: Path, encoding: str, select: str) -> None:
    """Copies a text file into the engine; other encodings than UTF-8 pass through a private temporary file."""
    if encoding.lower().replace("_", "-") in ("utf-8", "utf8", "utf-8-sig"):
        engine.run(f"CREATE TABLE records AS {select.format(file=literal(str(path)))}", where=path.name)
        return
    with tempfile.TemporaryDirectory(prefix="discreet-") as folder:
        copy = Path(folder) / "records.txt"
        try:
            with path.open(encoding=encoding, newline="") as file, copy.open("w", encoding="utf-8", newline="") as out:
                while block := file.read(1 << 20):
                    out.write(block)
        except (UnicodeDecodeError, LookupError):
            raise InputError(path.name, f"does not decode as {encoding}", "give its encoding: encoding = 'cp1252', …") from None
        engine.run(f"CREATE TABLE records AS {select.format(file=literal(str(copy)))}", where=path.name)


def _fixed_width_sql(columns: Sequence[tuple[str, int, int]]) -> str:
    fields = ", ".join(f"NULLIF(SUBSTR(line, {start}, {width}), '') AS {quote(name)}" for name, start, width in columns)
    lines = (
        "read_csv({file}, delim='\\x01', header=false, columns={{'line': 'VARCHAR'}}, quote='', escape='', auto_detect=false)"
    )
    return f"SELECT {fields} FROM {lines} WHERE line IS NOT NULL"


def _decimal_comma(engine: Engine) -> bool:
    """True when some column holds numbers with a decimal comma and none holds numbers with a decimal point."""
    tests = []
    for name in engine.types("records"):
        column = quote(name)
        tests.append(f"MAX(CASE WHEN REGEXP_MATCHES({column}, '^\\s*-?[0-9]+,[0-9]+\\s*$') THEN 1 ELSE 0 END)")
    row = engine.fetch("SELECT " + ", ".join(f"{test} AS c{i}" for i, test in enumerate(tests)) + " FROM records")
    return any(bool(column[0]) for column in row.values())


def _register_frame(engine: Engine, source: Any) -> None:
    try:
        frame = nw.from_native(source)
    except TypeError:
        raise InputError(
            "microdata",
            f"cannot read a {type(source).__name__}",
            "pass a path or a pandas, polars, pyarrow or DuckDB frame",
        ) from None
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if frame.implementation.is_polars():
        texts = [name for name, kind in frame.schema.items() if not (kind.is_numeric() or kind == nw.Boolean)]
        frame = frame.with_columns(nw.col(*texts).cast(nw.String)) if texts else frame
        engine.register("frame", {name: frame[name].to_numpy() for name in frame.columns})
    else:
        engine.register("frame", frame.to_native())
    _view_records(engine, "frame")


def _view_records(engine: Engine, source: str) -> None:
    """The records as a view in which enumerations are text: their type would spell out every value."""
    columns = (
        f"CAST({quote(name)} AS VARCHAR) AS {quote(name)}" if kind.startswith("ENUM") else quote(name)
        for name, kind in engine.types(source).items()
    )
    engine.run(f"CREATE VIEW records AS SELECT {', '.join(columns)} FROM {source}")
