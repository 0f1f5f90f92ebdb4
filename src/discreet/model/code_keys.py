"""Keys of codes: 60 secret bits for the id of a record or household, from which draws and orders are made."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.errors import InputError, some
from discreet.model.codes import code_text
from discreet.model.contributions import Integers
from discreet.model.keys import Secret
from discreet.model.microdata import Microdata
from discreet.model.numbers import column_name, is_whole

__all__ = ["code_keys", "hashed_codes", "record_code_keys"]

SHARE = 4
"""How many neighbouring numbers are keyed by the four quarters of one hash."""

BITS = 60
"""Of a key, in the 64 of a quarter."""

DENSE = 2
"""Ids that are numbers in a range of at most so many a record are keyed by hashing the range, which costs a third."""

BLOCKS = 2**17
"""How many hashes are fetched at a time."""

HASH = "SHA256((SELECT k FROM secret_key) || {})"
"""The hash of a text under the secret that the engine holds, in base 16."""


def hashed_codes(microdata: Microdata, secret: Secret, purpose: str, columns: Sequence[str]) -> str:
    """60 bits for the codes of these columns together, as SQL; another ``purpose`` gives other ones.

    An id of one column that is a whole number n takes the first bits of quarter n mod 4 of SHA-256(secret, n div 4), any other
    id those of the first quarter of SHA-256(secret, id).  A number and its text have the same key.  The engine holds one
    secret at a time: the SQL is good until another is loaded.

    Errors: InputError for a secret of the paper's hash, and where records miss a code.
    """
    text, number = _texts(microdata, secret, purpose, columns)
    if number is None:
        return _bits(HASH.format(text), "1")
    hashed = HASH.format(f"COALESCE(CAST({number} // {SHARE} AS VARCHAR), {text})")
    return _bits(hashed, f"1 + {64 // SHARE} * COALESCE({number} % {SHARE}, 0)")


def code_keys(microdata: Microdata, secret: Secret, purpose: str, columns: Sequence[str]) -> Integers:
    """The keys of :func:`hashed_codes` as an array in the order of the file; shape (records,)."""
    return _keys(microdata, secret, purpose, columns)[0]


def record_code_keys(
    microdata: Microdata, secret: Secret, what: str, record: str | Sequence[str]
) -> tuple[tuple[str, ...], Integers]:
    """The columns of the records' id, by default that of the role unit, and the key of each record for ``what`` is done.

    Errors: InputError where there is no id, where records miss it or share one, for rows that stand for several records, and
    for a secret of the paper's hash.
    """
    columns = (record,) if isinstance(record, str) else tuple(record)
    columns = columns or tuple(column for column in [microdata.roles.unit] if column is not None)
    if microdata.roles.count is not None:
        problem = "its rows stand for several records each, which would all be changed alike"
        raise InputError(microdata.name, problem, "give one row for each record")
    if not columns:
        problem = "needs an id for each record, and no column names the unit"
        raise InputError(what, problem, "declare unit = 'column', or name the columns that tell records apart: record = […]")
    if len(set(columns)) < len(columns):
        raise InputError(what, "the id of a record names a column twice", "name each column once")
    keys, place = _keys(microdata, secret, f"{what} record", columns)
    if place is not None:
        alone = np.bincount(place).max(initial=0) <= 1
    else:
        ordered = np.sort(keys)
        alone = not (ordered[1:] == ordered[:-1]).any()
    if not alone and (shared := _sharing(microdata, columns)):  # two ids may, hardly ever, share a key
        problem = f"{shared} records share their id with another, and would be changed alike"
        fix = "name all columns that together tell records apart: record = […]"
        raise InputError(f"the id {some(columns)}", problem, fix)
    return columns, keys


def _keys(microdata: Microdata, secret: Secret, purpose: str, columns: Sequence[str]) -> tuple[Integers, Integers | None]:
    """The keys and, of ids that fill a range of numbers, where each is in it; both in the order of the file."""
    engine, source = microdata.engine, microdata.source
    number = _texts(microdata, secret, purpose, columns)[1]
    if number is not None:
        wanted = "COUNT(*) AS records, COUNT(n) AS numbers, MIN(n) AS low, MAX(n) AS high"
        found = engine.fetch(f"SELECT {wanted} FROM (SELECT {number} AS n FROM {source}) AS numbered")
        records, numbers = int(found["records"][0]), int(found["numbers"][0])
        if numbers == records > 0 and int(found["high"][0]) - int(found["low"][0]) <= DENSE * records:
            low, high = int(found["low"][0]), int(found["high"][0])
            place = engine.fetch_in_order(f"SELECT {number} - {low} AS n FROM {source}")["n"]
            return _range_keys(microdata, low, high)[place], place
    sql = hashed_codes(microdata, secret, purpose, columns)
    return engine.fetch_in_order(f"SELECT {sql} AS k FROM {source}")["k"], None


def _range_keys(microdata: Microdata, low: int, high: int) -> Integers:
    """The keys of all numbers from ``low`` to ``high``, under the secret that the engine holds."""
    first, last, parts = low // SHARE, high // SHARE + 1, []
    for begin in range(first, last, BLOCKS):
        blocks = f"RANGE({begin}, {min(begin + BLOCKS, last)})"
        rows = f"SELECT {HASH.format('CAST(range AS VARCHAR)')} AS h FROM {blocks}"
        parts.append(np.frombuffer(bytes.fromhex("".join(microdata.engine.fetch_in_order(rows)["h"])), ">u8"))
    return (np.concatenate(parts) >> np.uint64(64 - BITS)).astype(np.int64)[low - first * SHARE :]


def _texts(microdata: Microdata, secret: Secret, purpose: str, columns: Sequence[str]) -> tuple[str, str | None]:
    """SQL for the codes as one text and, of one column, as a number where they are one; the engine then holds the secret."""
    if secret.paper:
        problem = "is one of the paper's hash, which tells the last digits of an id apart and nothing else"
        raise InputError("secret", problem, "take the keyed hash (sha256)")
    for column in columns:
        microdata.check_column(column, "an id")
        absent = f"COALESCE({code_text(microdata, column)}, '') IN ('', 'nan')"
        if missing := microdata.count(f"{column_name(column)} IS NULL" if _is_whole(microdata, column) else absent):
            problem = "1 record has no id there" if missing == 1 else f"{missing} records have no id there"
            raise InputError(f"column {column!r}", problem, "give each record one")
    secret.load(microdata, purpose)
    texts = [code_text(microdata, column) for column in columns]
    if len(columns) > 1:
        return " || CHR(31) || ".join(texts), None
    number = f"TRY_CAST({texts[0]} AS BIGINT)"
    if _is_whole(microdata, columns[0]):
        number = f"TRY_CAST({column_name(columns[0])} AS BIGINT)"
        return texts[0], f"CASE WHEN {number} >= 0 THEN {number} END"
    return texts[0], f"CASE WHEN {number} >= 0 AND CAST({number} AS VARCHAR) = {texts[0]} THEN {number} END"


def _is_whole(microdata: Microdata, column: str) -> bool:
    return is_whole(microdata.types[column])


def _bits(hashed: str, begin: str) -> str:
    """The first bits of a quarter, which begins at this digit, as a whole number."""
    return f"CAST('0x' || SUBSTR({hashed}, {begin}, {BITS // 4}) AS BIGINT)"


def _sharing(microdata: Microdata, columns: Sequence[str]) -> int:
    """How many records have the same codes in all these columns as another one."""
    codes = ", ".join(code_text(microdata, column) for column in columns)
    groups = f"SELECT COUNT(*) AS n FROM {microdata.source} GROUP BY {codes} HAVING COUNT(*) > 1"
    found = microdata.engine.fetch(f"SELECT CAST(COALESCE(SUM(n), 0) AS BIGINT) AS n FROM ({groups}) AS groups")
    return int(found["n"][0])
