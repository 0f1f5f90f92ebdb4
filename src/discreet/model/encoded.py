"""Columns as arrays in the order of the file: codes as positions among the different ones, numbers as they are."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.engine.sql import literal
from discreet.errors import InputError
from discreet.model.codes import code_text
from discreet.model.contributions import Floats
from discreet.model.microdata import Microdata
from discreet.model.numbers import column_name
from discreet.model.transition import Category

__all__ = ["Coded", "Encoded", "code_type", "encoded", "plain_code"]

SEPARATOR = "\x1f"
"""What stands between the codes of a compound variable while it is one text."""

BETWEEN = "CHR(31)"
"""The same in SQL."""


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Coded:
    """A column, or several as one: ``codes[i]`` is the position of record i's codes in ``categories``; shape (records,).

    Empty codes, and those declared as missing, are ``""``.  The categories are those that occur, in the order of their texts.
    """

    categories: tuple[Category, ...]
    codes: NDArray[np.int32]

    def __repr__(self) -> str:
        return f"Coded({len(self.codes)} records, {len(self.categories)} categories)"


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Encoded:
    """Columns that were fetched together, so that entry i of each belongs to the same record; by the names asked for."""

    coded: Mapping[str, Coded]
    numbers: Mapping[str, Floats]
    extra: Mapping[str, NDArray[np.int64]]

    def __repr__(self) -> str:
        return f"Encoded({len(self.coded)} coded columns, {len(self.numbers)} of numbers)"


def encoded(
    microdata: Microdata,
    coded: Mapping[str, Sequence[str]],
    numbers: Mapping[str, str] | None = None,
    extra: Mapping[str, str] | None = None,
) -> Encoded:
    """Columns of the records, in the order of the file.

    ``coded`` maps a name to the column, or the columns of a compound variable; ``numbers`` a name to a column of numbers;
    ``extra`` a name to SQL that gives a whole number for each record.

    Errors: InputError for a column that is not there, or holds no numbers where they are asked for.
    """
    engine, numbers, extra = microdata.engine, numbers or {}, extra or {}
    wanted, categories = [], {}
    for v, (name, columns) in enumerate(coded.items()):
        for column in columns:
            microdata.check_column(column, name)
        number, categories[name] = code_type(microdata, columns, f"coded{v}")
        wanted.append(f"{number} AS c{v}")
    for i, (name, column) in enumerate(numbers.items()):
        microdata.check_column(column, name)
        wanted.append(f"{_number(microdata, column)} AS n{i}")
    wanted += [f"{sql} AS e{i}" for i, sql in enumerate(extra.values())]
    rows = engine.fetch_in_order(f"SELECT {', '.join(wanted)} FROM {microdata.source}") if wanted else {}
    found = {name: Coded(categories[name], rows[f"c{v}"].astype(np.int32)) for v, name in enumerate(coded)}
    return Encoded(
        found,
        {name: np.asarray(rows[f"n{i}"], float) for i, name in enumerate(numbers)},
        {name: np.asarray(rows[f"e{i}"], np.int64) for i, name in enumerate(extra)},
    )


def plain_code(microdata: Microdata, column: str) -> str:
    """A column as text in SQL, empty where its code is missing."""
    text = code_text(microdata, column)
    floating = microdata.types[column] in ("DOUBLE", "FLOAT")
    text = f"CASE WHEN {text} = 'nan' THEN '' ELSE {text} END" if floating else text
    if microdata.missing.codes:
        listed = ", ".join(map(literal, microdata.missing.codes))
        text = f"CASE WHEN {text} IN ({listed}) THEN '' ELSE {text} END"
    return f"COALESCE({text}, '')"


def code_type(microdata: Microdata, columns: Sequence[str], kind: str) -> tuple[str, tuple[Category, ...]]:
    """SQL for the position of a record's codes among the different ones, and these in the order of their texts.

    They become a type of the engine, called ``kind``: it numbers them without a join.
    """
    text = f" || {BETWEEN} || ".join(plain_code(microdata, column) for column in columns)
    engine = microdata.engine
    engine.run(f"DROP TYPE IF EXISTS {kind}")
    engine.run(f"CREATE TYPE {kind} AS ENUM (SELECT DISTINCT {text} AS code FROM {microdata.source} ORDER BY code)")
    listed = engine.fetch(f"SELECT UNNEST(ENUM_RANGE(CAST(NULL AS {kind}))) AS code")["code"]
    found = tuple(tuple(str(code).split(SEPARATOR)) for code in listed)
    if any(len(category) != len(columns) for category in found):
        raise InputError(microdata.name, "codes hold the character U+001F", "remove it from the codes")
    return f"ENUM_CODE(CAST({text} AS {kind}))", found


def _number(microdata: Microdata, column: str) -> str:
    number = _as_number(microdata, column)
    codes = microdata.missing.values
    if not codes:
        return number
    written = f"CAST({column_name(column)} AS VARCHAR) IN ({', '.join(map(literal, codes))})"
    listed = ", ".join(f"TRY_CAST({literal(code.replace(',', '.'))} AS DOUBLE)" for code in codes)
    equal = f"{number} IN ({listed})"
    return f"CASE WHEN COALESCE({written}, FALSE) OR COALESCE({equal}, FALSE) THEN NULL ELSE {number} END"


def _as_number(microdata: Microdata, column: str) -> str:
    kind, name = microdata.types[column], column_name(column)
    if kind == "VARCHAR":
        text = f"REPLACE(TRIM({name}), ',', '.')" if microdata.decimal_comma else f"TRIM({name})"
        known = "".join(f" AND {name} <> {literal(code)}" for code in microdata.missing.values)
        bad = microdata.count(f"TRIM({name}) <> ''{known} AND TRY_CAST({text} AS DOUBLE) IS NULL")
        if bad:
            raise InputError(f"column {column!r}", f"{bad} records hold text where a number is needed", "choose another column")
        return f"TRY_CAST({text} AS DOUBLE)"
    if kind in ("DATE", "TIMESTAMP") or kind.startswith(("TIMESTAMP", "STRUCT", "LIST", "BLOB")):
        raise InputError(f"column {column!r}", f"holds {kind.lower()}, not numbers", "choose a numeric column")
    return f"CAST({name} AS DOUBLE)"
