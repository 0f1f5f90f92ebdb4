"""How well one column tells others, counted by the engine."""

from __future__ import annotations

import math
from collections.abc import Sequence

from discreet.engine.sql import literal, quote
from discreet.model.encoded import plain_code
from discreet.model.microdata import Microdata
from discreet.model.numbers import column_name
from discreet.model.transition import Category

__all__ = ["given_away", "guessed", "values_of"]

SEPARATOR = "\x1f"
"""Stands between the codes of a compound variable."""

SURE = 0.95
"""The least share of the records with a value that have one code, where the value gives this code away."""

BETTER = 0.1
"""The largest part that the value leaves of the chance to be wrong about the code without it."""

FEWEST = 3
"""How many records have a value at least that gives their code away."""

CHANCE = 1e-3
"""How many values of a column would give a code away by chance alone, at most."""


def values_of(microdata: Microdata, columns: Sequence[str]) -> dict[str, int]:
    """About how many different values each column has, within a few per cent."""
    if not columns:
        return {}
    counted = ", ".join(f"APPROX_COUNT_DISTINCT(records.{quote(name)}) AS n{i}" for i, name in enumerate(columns))
    found = microdata.engine.fetch(f"SELECT {counted} FROM {microdata.source}")
    return {name: int(found[f"n{i}"][0]) for i, name in enumerate(columns)}


def guessed(microdata: Microdata, own: Sequence[str], column: str, enough: int, *, empty: bool) -> tuple[float, float]:
    """Of which share of the records the codes of ``own`` are guessed right: without ``column``, and with it.

    Without it the most frequent codes of all are guessed, with it those of the records with the same value, if there are
    ``enough`` of these.  Records without any code are left out, unless ``empty`` is a code like others.  Some record has one.
    """
    found = microdata.engine.fetch(f"""
        WITH pairs AS ({_pairs(microdata, own, column, empty=empty)}), best AS (
            SELECT code FROM pairs GROUP BY code ORDER BY SUM(n) DESC, code LIMIT 1
        ), alike AS (
            SELECT SUM(n) AS n, MAX(n) AS most, SUM(CASE WHEN code = (SELECT code FROM best) THEN n ELSE 0 END) AS usual
            FROM pairs GROUP BY value
        )
        SELECT CAST(SUM(usual) AS DOUBLE) / SUM(n) AS blind,
               CAST(SUM(CASE WHEN n >= {enough} THEN most ELSE usual END) AS DOUBLE) / SUM(n) AS seen FROM alike""")
    return float(found["blind"][0]), float(found["seen"][0])


def given_away(microdata: Microdata, own: Sequence[str], column: str, *, empty: bool) -> dict[Category, float]:
    """For each code of ``own`` the share of its records whose value of ``column`` gives it away, where there are any.

    A value gives a code away where at least 95 % of its records have it, at most a tenth of the chance to be wrong about the
    code is left, there are three such records at least, and so many would hardly agree by chance.  For ``empty`` see
    :func:`guessed`.
    """
    found = microdata.engine.fetch(f"""
        WITH pairs AS ({_pairs(microdata, own, column, empty=empty)}), counted AS (
            SELECT code, CAST(n AS DOUBLE) AS n, CAST(SUM(n) OVER (PARTITION BY value) AS DOUBLE) AS alike,
                   CAST(SUM(n) OVER (PARTITION BY code) AS DOUBLE) AS held, CAST(SUM(n) OVER () AS DOUBLE) AS records,
                   (SELECT COUNT(DISTINCT value) FROM pairs) AS distinct_values FROM pairs
        )
        SELECT code, SUM(n) / ANY_VALUE(held) AS share FROM counted
        WHERE n >= {FEWEST} AND n >= {SURE} * alike AND alike - n <= {BETTER} * (1 - held / records) * alike
              AND n * LN(held / records) + LN(distinct_values) <= {math.log(CHANCE)}
        GROUP BY code ORDER BY code""")
    shares = zip(found["code"], found["share"], strict=True)
    return {tuple(str(code).split(SEPARATOR)): float(share) for code, share in shares}


def _pairs(microdata: Microdata, own: Sequence[str], column: str, *, empty: bool) -> str:
    """SQL for the records of each value and code: counted as they are stored, which is quicker, and only then as texts."""
    n = quote("n" * (1 + max(map(len, microdata.types))))  # longer than any column's name
    alike = ", ".join(dict.fromkeys(column_name(name) for name in (*own, column)))
    counted = f"SELECT {alike}, COUNT(*) AS {n} FROM {microdata.source} GROUP BY {alike}"
    code = f" || {literal(SEPARATOR)} || ".join(plain_code(microdata, name) for name in own)
    kept = "" if empty else f" HAVING code <> {literal(SEPARATOR * (len(own) - 1))}"
    value = plain_code(microdata, column)
    return f"SELECT {value} AS value, {code} AS code, SUM({n}) AS n FROM ({counted}) AS records GROUP BY 1, 2{kept}"
