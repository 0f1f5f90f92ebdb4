"""The embedded engine: DuckDB in memory, private, offline and deterministic."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from discreet.engine.sql import quote
from discreet.errors import InputError

__all__ = ["Engine"]


class Engine:
    """One private in-memory database; everything in it goes when the object goes.

    What does not fit in memory spills to a private temporary folder, removed at the end.  No extension is fetched.
    """

    def __init__(self, *, threads: int | None = None) -> None:
        spill = tempfile.mkdtemp(prefix="discreet-")
        opened: list[Any] = []
        self._finalizer = weakref.finalize(self, _close, opened, spill)
        settings: dict[str, Any] = {
            "temp_directory": spill,
            "autoinstall_known_extensions": False,
            "allow_community_extensions": False,
            "preserve_insertion_order": False,
            "pandas_analyze_sample": 10**9,  # columns of mixed objects are read by all their rows, not by the first ones
        }
        if threads is not None:
            settings["threads"] = threads
        self._connection = duckdb.connect(":memory:", config=settings)
        opened.append(self._connection)
        self.run("SET enable_progress_bar = false")
        self._keep: list[Any] = []

    def __repr__(self) -> str:
        return "Engine(duckdb)"

    def close(self) -> None:
        """Drops all rows and the spill folder."""
        self._finalizer()

    def run(self, sql: str, *, where: str = "microdata") -> None:
        """Runs a statement.  A failure is reported without the engine's own text, which may quote records."""
        self._execute(sql, where)

    def fetch(self, sql: str, *, where: str = "microdata") -> dict[str, NDArray[Any]]:
        """The result of a query as one array a column; missing numbers become NaN, missing text None."""
        columns = self._execute(sql, where, fetch=True)
        return {name: _plain(column) for name, column in columns.items()}

    def fetch_in_order(self, sql: str, *, where: str = "microdata") -> dict[str, NDArray[Any]]:
        """The same with the rows in the order of the first table that the query reads, which file or frame gives it."""
        with self.in_order():
            return self.fetch(sql, where=where)

    @contextmanager
    def in_order(self) -> Iterator[None]:
        """Within it, results keep the order of the first table that they are read from, and tables that of loaded arrays."""
        self.run("SET preserve_insertion_order = true")
        try:
            yield
        finally:
            self.run("SET preserve_insertion_order = false")

    def _execute(self, sql: str, where: str, *, fetch: bool = False) -> Any:
        try:
            result = self._connection.execute(sql)
            return result.fetchnumpy() if fetch else None
        except (RuntimeError, duckdb.InterruptException):  # what the engine makes of Ctrl-C
            raise KeyboardInterrupt from None
        except duckdb.Error as error:
            raise InputError(where, _reason(error), "check the column types, the delimiter and the encoding") from None

    def register(self, name: str, columns: Any) -> None:
        """Makes a frame, or a mapping of arrays, readable under this name."""
        self._keep.append(columns)
        self._connection.register(name, columns)

    def load(self, name: str, columns: Mapping[str, NDArray[Any]]) -> None:
        """Copies small arrays into a table of this name, replacing one of that name."""
        arrays = dict(columns)
        self._connection.register("_incoming", arrays)
        self._connection.execute(f"CREATE OR REPLACE TEMP TABLE {quote(name)} AS SELECT * FROM _incoming")
        self._connection.unregister("_incoming")

    def hold_secret(self, name: str, text: str) -> None:
        """Copies a secret into a table of this name, column ``k``, by a parameter: it is in no statement's text."""
        self._connection.execute(f"CREATE OR REPLACE TEMP TABLE {quote(name)} (k VARCHAR)")
        self._connection.execute(f"INSERT INTO {quote(name)} VALUES (?)", [text])

    @staticmethod
    def hash_of(text: str, bits: int) -> str:
        """The first bits (a multiple of 4, at most 60) of the SHA-256 hash of a text, as a whole number, in SQL."""
        return f"CAST('0x' || SUBSTR(SHA256({text}), 1, {bits // 4}) AS BIGINT)"

    def types(self, name: str) -> dict[str, str]:
        """The columns of a table or view, with their types."""
        rows = self._connection.execute(f"DESCRIBE {quote(name)}").fetchall()
        return {str(row[0]): str(row[1]) for row in rows}


def _close(opened: list[Any], spill: str) -> None:
    try:
        for connection in opened:
            connection.close()
    finally:
        shutil.rmtree(spill, ignore_errors=True)


def _plain(column: Any) -> NDArray[Any]:
    if not isinstance(column, np.ma.MaskedArray):
        return np.asarray(column)
    missing = np.ma.getmaskarray(column)
    plain = np.array(column.data)
    if not missing.any():
        return plain
    if plain.dtype != object:
        plain = plain.astype(float)
    plain[missing] = None if plain.dtype == object else np.nan
    return plain


def _reason(error: duckdb.Error) -> str:
    """What went wrong, in our words: the engine's message may hold values and is never passed on."""
    text = str(error)
    if isinstance(error, duckdb.ConversionException):
        return "a value cannot be read as the type that is needed"
    if isinstance(error, duckdb.OutOfRangeException):
        return "numbers need more digits than 38; declare fewer decimals"
    if isinstance(error, duckdb.OutOfMemoryException):
        return "the records and their tables do not fit in memory and on the temporary disk"
    if "state machine reached an invalid state" in text:
        return "its lines do not all end alike, or a quote does not close"
    marker = "CSV Error on Line: "
    if marker in text:
        line = text.split(marker, 1)[1].split("\n", 1)[0]
        return f"line {line} does not fit the header: wrong number of fields, quoting or encoding"
    return f"the engine could not read the records ({type(error).__name__})"
