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
from discreet.errors import InputError, near, some
from discreet.io.columns import as_frame
from discreet.model.microdata import Microdata, Missing, Roles

__all__ = ["column_names", "read_microdata"]

ROW_NAMES = "row"
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
        _check_positions(path, columns)
        return [name for name, _, _ in columns]
    if path.suffix.lower() in PARQUET:
        engine = Engine()
        _view_parquet(engine, path)
        return list(engine.types("source"))
    head = _head(path, _find_encoding(path, encoding))
    return _header(path, head, _find_delimiter(head) if delimiter is None else delimiter)


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
        _view_parquet(engine, path)
        _view_records(engine, "source")
        return decimal == ",", []
    notes: list[str] = []
    found = _find_encoding(path, encoding)
    if encoding is None and found not in ("utf-8", "utf-8-sig"):
        notes.append(f"encoding found: {found}")
    head = _head(path, found)
    if columns is not None:
        if delimiter is not None:
            raise InputError(path.name, "delimiter is given for a fixed-width file", "leave delimiter or columns out")
        _check_positions(path, columns)
        _load_text(engine, path, found, _fixed_width_sql(columns))
        return (decimal or ".") == ",", notes
    separator = _find_delimiter(head) if delimiter is None else delimiter
    if delimiter is None and separator != ",":
        notes.append(f"delimiter found: {separator!r}")
    names = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in _header(path, head, separator))
    options = f"delim={literal(separator)}, header=true, quote='\"', escape='\"', nullstr='', auto_detect=false"
    _load_text(engine, path, found, f"SELECT * FROM read_csv({{file}}, {options}, columns={{{{{_braced(names)}}}}})")
    comma = decimal == "," if decimal else separator != "," and _decimal_comma(engine, path)
    if comma and decimal is None:
        notes.append("decimal comma found")
    return comma, notes


def _view_parquet(engine: Engine, path: Path) -> None:
    with path.open("rb") as file:
        if file.read(4) != b"PAR1":
            raise InputError(path.name, "is no parquet file", "give a csv file a name that ends in .csv")
    engine.run(f"CREATE VIEW source AS SELECT * FROM read_parquet({literal(str(path))})", where=path.name)


def _find_encoding(path: Path, given: str | None) -> str:
    """The encoding: that of the byte order mark, the given one, else UTF-8 if the file is, else that of Windows."""
    with path.open("rb") as file:
        start = file.read(4096)
        if not start:
            raise InputError(path.name, "is empty", "check the file")
        for mark, name in BYTE_ORDER_MARKS:
            if start.startswith(mark):
                return name
        if given is not None:
            return given
        if b"\0" in start:
            mend = "save it as csv or parquet; text of this kind is encoding = 'utf-16-le'"
            raise InputError(path.name, "holds null characters and is no plain text", mend)
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
    """The column names; a name that stands twice is refused, and a line without the separator that holds others.

    A first column without a name holds row names, as R and pandas write them.
    """
    if len(separator) != 1:
        raise InputError(path.name, f"the delimiter {separator!r} is not one character", "use ',' or ';' or a tab")
    if not head.strip():
        raise InputError(path.name, "the first line is blank where the names of the columns should stand", "remove the line")
    _check_separator(path, head, separator)
    names = next(csv.reader([head], delimiter=separator))
    names[0] = names[0] or ROW_NAMES
    if "" in names:
        place = names.index("") + 1
        raise InputError(path.name, f"column {place} has no name in the header line", "give each column a name")
    _check_distinct(names, path.name, "in the header line")
    return names


def _check_distinct(names: Sequence[str], where: str, place: str) -> None:
    """Refuses names that stand twice, or differ in nothing but case, which the engine does not tell apart."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.casefold(), name)
        if other is name:
            continue
        trouble = f"column {name!r} stands twice {place}"
        if other != name:
            trouble = f"columns {other!r} and {name!r} differ only in case"
        raise InputError(where, trouble, "give each column its own name")


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


def _check_positions(path: Path, columns: Sequence[tuple[str, int, int]]) -> None:
    if not columns:
        raise InputError(path.name, "no columns are given", "columns = [['region', 1, 4], …]")
    for name, start, width in columns:
        if not name or start < 1 or width < 1:
            trouble = f"column {name!r} from position {start}, {width} wide, cannot be read"
            raise InputError(path.name, trouble, "give a name, a first position from 1, and a width from 1")
    _check_distinct([name for name, _, _ in columns], path.name, "among the columns")


def _fixed_width_sql(columns: Sequence[tuple[str, int, int]]) -> str:
    fields = ", ".join(f"NULLIF(SUBSTR(line, {start}, {width}), '') AS {quote(name)}" for name, start, width in columns)
    lines = (
        "read_csv({file}, delim='\\x01', header=false, columns={{'line': 'VARCHAR'}}, quote='', escape='', auto_detect=false)"
    )
    return f"SELECT {fields} FROM {lines} WHERE line IS NOT NULL"


def _decimal_comma(engine: Engine, path: Path) -> bool:
    """Whether some column holds numbers with a decimal comma; refuses a file where these may all be thousands marks."""
    names = list(engine.types("records"))
    tests = [
        f"SUM(CASE WHEN REGEXP_MATCHES({quote(name)}, '^\\s*[+-]?{shape}\\s*$') THEN 1 ELSE 0 END) AS {kind}{i}"
        for i, name in enumerate(names)
        for kind, shape in (("comma", "[0-9]+,[0-9]+"), ("thousand", "[1-9][0-9]{0,2},[0-9]{3}"))
    ]
    counted = engine.fetch(f"SELECT {', '.join(tests)} FROM records")
    written = [i for i in range(len(names)) if counted[f"comma{i}"][0]]
    if written and all(counted[f"comma{i}"][0] == counted[f"thousand{i}"][0] for i in written):
        trouble = "a comma before three digits may be a decimal comma or mark thousands"
        raise InputError(f"{path.name}, column {names[written[0]]!r}", trouble, "say it: decimal = ',' or decimal = '.'")
    return bool(written)


def _register_frame(engine: Engine, source: Any) -> None:
    frame = as_frame(source, "microdata")
    _check_distinct([str(name) for name in frame.columns], "microdata", "in the frame")
    if not _registered(engine, frame):
        unreadable = [name for name in frame.columns if not _registered(engine, frame.select(name))]
        trouble = f"columns of types that cannot be read: {some(unreadable)}" if unreadable else "the frame has no columns"
        raise InputError("microdata", trouble, "turn them into text or numbers, or leave them out")
    _view_records(engine, "frame")


def _registered(engine: Engine, frame: nw.DataFrame[Any]) -> bool:
    """Makes the frame readable as ``frame``; False where it holds a type that the engine does not know."""
    try:
        if frame.implementation.is_polars():
            frame = frame.with_columns(*(nw.col(name).cast(nw.String) for name in frame.columns if _as_text(frame[name])))
            engine.register("frame", {name: frame[name].to_numpy() for name in frame.columns})
        else:
            engine.register("frame", frame.to_native())
    except Exception:  # each library has errors of its own for this, and their words may hold values
        return False
    return True


def _as_text(column: nw.Series[Any]) -> bool:
    """Whether a column reaches the engine as text: all but numbers that numpy holds without a loss."""
    if column.dtype in (nw.Int128, nw.UInt128) or (column.dtype.is_integer() and column.null_count()):
        return True
    return not (column.dtype.is_numeric() or column.dtype == nw.Boolean)


def _view_records(engine: Engine, source: str) -> None:
    """The records as a view in which enumerations are text: their type would spell out every value."""
    columns = (
        f"CAST({quote(name)} AS VARCHAR) AS {quote(name)}" if kind.startswith("ENUM") else quote(name)
        for name, kind in engine.types(source).items()
    )
    engine.run(f"CREATE VIEW records AS SELECT {', '.join(columns)} FROM {source}")
