"""What every release of records has in common: its name, the columns that may leave, and how the records are written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from discreet.engine.sql import literal
from discreet.errors import InputError, ParameterError
from discreet.model.codes import code_text
from discreet.model.microdata import Microdata
from discreet.model.numbers import column_name

__all__ = ["check_release_name", "column_text", "copy_records", "release_columns"]

FORMATS = {".csv": "csv", ".parquet": "parquet"}


def check_release_name(microdata: Microdata, name: str) -> None:
    """Refuses a name that is not that of a csv or parquet file, or is that of the source as well."""
    path = Path(name)
    if path.suffix.lower() not in FORMATS or path.name != name:
        raise ParameterError("name", f"{name!r} is no name of a csv or parquet file", "end it in .csv or .parquet")
    if name.casefold() == microdata.name.casefold():
        raise InputError(name, "is the name of the source as well", "give the released file another name")


def release_columns(microdata: Microdata, columns: Sequence[str]) -> list[str]:
    """The columns to release, checked: each is there, once, and none holds record keys."""
    chosen = list(columns)
    for column in chosen:
        microdata.check_column(column, "the release")
    if len(set(chosen)) < len(chosen):
        raise InputError("release", "names a column twice", "name each column once")
    if microdata.roles.record_key in chosen:
        raise InputError("release", "holds the column of record keys, which are secret", "leave it out")
    return chosen


def column_text(microdata: Microdata, column: str, path: Path) -> str:
    """A column as it is written into this file, as SQL: in a csv file as its codes read, so that they are read as the same."""
    if FORMATS[path.suffix.lower()] == "csv" and microdata.types[column] in ("DOUBLE", "FLOAT"):
        return f"NULLIF({code_text(microdata, column)}, 'nan')"
    return column_name(column)


def copy_records(microdata: Microdata, query: str, path: Path, *, columns: int) -> None:
    """Writes what a query gives, with so many columns, in its order."""
    options = "FORMAT parquet"
    if FORMATS[path.suffix.lower()] == "csv":
        options = f"FORMAT csv, HEADER, DELIMITER {literal(';' if microdata.decimal_comma else ',')}"
        if columns == 1:  # an empty line would be no record
            options += ", FORCE_QUOTE *"
    microdata.engine.run(f"COPY ({query}) TO {literal(str(path))} ({options})", where=path.name)
