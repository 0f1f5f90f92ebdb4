"""How well one column tells others, counted by the engine."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.engine.sql import quote
from discreet.model.encoded import plain_code
from discreet.model.microdata import Microdata

__all__ = ["guessed", "values_of"]


def values_of(microdata: Microdata, columns: Sequence[str]) -> dict[str, int]:
    """About how many different values each column has, within a few per cent."""
    if not columns:
        return {}
    counted = ", ".join(f"APPROX_COUNT_DISTINCT(records.{quote(name)}) AS n{i}" for i, name in enumerate(columns))
    found = microdata.engine.fetch(f"SELECT {counted} FROM {microdata.source}")
    return {name: int(found[f"n{i}"][0]) for i, name in enumerate(columns)}


def guessed(microdata: Microdata, own: Sequence[str], column: str, enough: int) -> tuple[float, float]:
    """Of which share of the records the codes of ``own`` are guessed right: without ``column``, and with it.

    Without it the most frequent codes of all are guessed, with it those of the records with the same value, if there are
    ``enough`` of these.
    """
    value, codes = plain_code(microdata, column), " || CHR(31) || ".join(plain_code(microdata, name) for name in own)
    found = microdata.engine.fetch(f"""
        WITH pairs AS (
            SELECT {value} AS value, {codes} AS code, COUNT(*) AS n FROM {microdata.source} GROUP BY 1, 2
        ), best AS (
            SELECT code FROM pairs GROUP BY code ORDER BY SUM(n) DESC, code LIMIT 1
        ), alike AS (
            SELECT SUM(n) AS n, MAX(n) AS most, SUM(CASE WHEN code = (SELECT code FROM best) THEN n ELSE 0 END) AS usual
            FROM pairs GROUP BY value
        )
        SELECT CAST(SUM(usual) AS DOUBLE) / SUM(n) AS blind,
               CAST(SUM(CASE WHEN n >= {enough} THEN most ELSE usual END) AS DOUBLE) / SUM(n) AS seen FROM alike""")
    return float(found["blind"][0]), float(found["seen"][0])
