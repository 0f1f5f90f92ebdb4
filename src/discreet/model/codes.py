"""Codes: the columns of a spanning variable, what they hold, and the position of each code in its hierarchy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from discreet.engine.sql import literal
from discreet.errors import HierarchyError, InputError
from discreet.model.hierarchy import Hierarchy
from discreet.model.microdata import Microdata
from discreet.model.numbers import column_name

__all__ = ["Given", "code_text", "columns_of", "distinct_codes", "hierarchy_of", "positions_of", "selected"]

Given = Hierarchy | tuple[str, Hierarchy] | Sequence[str] | None
"""How a spanning variable is given: a hierarchy, one with its column, level columns, or nothing (flat)."""


def columns_of(microdata: Microdata, name: str, given: Given) -> list[str]:
    """The columns that a spanning variable is read from, its leaf codes in the last one."""
    levels, what = [name], f"spanning variable {name!r}"
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], Hierarchy):
        levels = [given[0]]
    elif given is not None and not isinstance(given, Hierarchy):
        levels, what = [str(level) for level in given], f"a level of {what}"
    if not levels:
        raise InputError(f"spanning variable {name!r}", "lists no level columns", "list them from coarse to fine")
    for column in levels:
        microdata.check_column(column, what)
    return levels


def hierarchy_of(microdata: Microdata, name: str, given: Given) -> Hierarchy:
    """The hierarchy of a spanning variable: the given one, or that which its columns show."""
    if isinstance(given, Hierarchy):
        return given
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], Hierarchy):
        return given[1]
    found = distinct_codes(microdata, columns_of(microdata, name, given))
    if given is None:
        return Hierarchy.flat(found[0], source=f"spanning variable {name!r}")
    return Hierarchy.from_levels(list(zip(*found, strict=True)), source=f"spanning variable {name!r}")


def positions_of(
    microdata: Microdata, columns: Sequence[str], hierarchies: Sequence[Hierarchy], found: Sequence[bool], where: str
) -> tuple[tuple[Hierarchy, ...], dict[str, int], list[str], list[str]]:
    """The hierarchies with a category for missing codes, what was met, and the SQL that finds each record's leaf positions."""
    counts: dict[str, int] = {}
    full, joins, positions = [], [], []
    for v, (column, hierarchy) in enumerate(zip(columns, hierarchies, strict=True)):
        missing = _missing_codes(microdata, column)
        if found[v]:
            counted = microdata.engine.fetch(
                f"SELECT {microdata.counted} AS n FROM {microdata.source} WHERE ({where}) AND {missing}"
            )
            absent = int(counted["n"][0])
        else:
            absent = _absent_codes(microdata, column, hierarchy, missing, where)
        whole, met = _with_missing(microdata, column, hierarchy, absent)
        counts |= met
        full.append(whole)
        listed = whole.data_codes
        text = f"CASE WHEN {missing} THEN {literal(microdata.missing.category)} ELSE {code_text(microdata, column)} END"
        nodes = {"code": np.array(list(listed), object), "node": np.array(list(listed.values()), np.int32)}
        microdata.engine.load(f"code{v + 1}", nodes)
        joins.append(f"JOIN code{v + 1} ON code{v + 1}.code = {text}")
        positions.append(f"code{v + 1}.node AS d{v + 1}")
    return tuple(full), counts, joins, positions


def code_text(microdata: Microdata, column: str) -> str:
    """A column as text; whole numbers in a float column read as whole numbers."""
    name = column_name(column)
    if microdata.types[column] in ("DOUBLE", "FLOAT"):
        whole = f"ABS({name}) < 1e15 AND {name} = FLOOR({name})"
        return f"CASE WHEN {whole} THEN CAST(CAST({name} AS BIGINT) AS VARCHAR) ELSE CAST({name} AS VARCHAR) END"
    return f"CAST({name} AS VARCHAR)"


def _missing_codes(microdata: Microdata, column: str) -> str:
    text = code_text(microdata, column)
    test = f"{column_name(column)} IS NULL OR {text} = ''"
    if microdata.types[column] in ("DOUBLE", "FLOAT"):
        test = f"{column_name(column)} IS NULL OR ISNAN({column_name(column)})"
    if microdata.missing.codes:
        test += f" OR {text} IN ({', '.join(literal(code) for code in microdata.missing.codes)})"
    return f"({test})"


def distinct_codes(microdata: Microdata, columns: Sequence[str]) -> list[list[str]]:
    """The different combinations of codes in these columns, as one list a column; records that miss one are passed over."""
    texts = [f"{code_text(microdata, column)} AS c{i}" for i, column in enumerate(columns)]
    present = " AND ".join(f"NOT {_missing_codes(microdata, column)}" for column in columns)
    names = ", ".join(f"c{i}" for i in range(len(columns)))
    found = microdata.engine.fetch(
        f"SELECT DISTINCT {', '.join(texts)} FROM {microdata.source} WHERE {present} ORDER BY {names}"
    )
    return [[str(code) for code in found[f"c{i}"]] for i in range(len(columns))]


def _absent_codes(microdata: Microdata, column: str, hierarchy: Hierarchy, missing: str, where: str) -> int:
    """How many records have no code; refuses codes that are not in the tree."""
    found = microdata.engine.fetch(
        f"SELECT code, SUM(n) AS n FROM (SELECT CASE WHEN {missing} THEN NULL ELSE {code_text(microdata, column)} END AS code, "
        f"{microdata.counted} AS n FROM {microdata.source} WHERE {where} GROUP BY 1) AS codes GROUP BY code ORDER BY code"
    )
    hierarchy.check_data_codes([str(code) for code in found["code"] if code is not None], variable=column)
    return int(sum(n for code, n in zip(found["code"], found["n"], strict=True) if code is None))


def _with_missing(microdata: Microdata, column: str, hierarchy: Hierarchy, absent: int) -> tuple[Hierarchy, dict[str, int]]:
    """The tree, in which missing codes are a category where that is the policy, and what was met."""
    policy = microdata.missing
    if not absent:
        return hierarchy, {}
    if policy.on_code == "error":
        raise InputError(
            f"column {column!r}",
            f"{absent} records have no code",
            "declare what to do: on_code = 'drop' or 'category'",
        )
    if policy.on_code == "drop":
        return hierarchy, {f"records without a code in {column}, left out": absent}
    if policy.category in hierarchy.codes:
        raise HierarchyError(
            f"column {column!r}", f"the category {policy.category!r} for missing codes is a code of the hierarchy"
        )
    return hierarchy.with_leaf(policy.category), {f"records without a code in {column}, counted as {policy.category!r}": absent}


def selected(microdata: Microdata, where: Mapping[str, Sequence[str]]) -> list[str]:
    """The conditions, as SQL, that the columns have the given codes."""
    conditions = []
    for column, codes in where.items():
        microdata.check_column(column, "the filter")
        listed = ", ".join(literal(str(code)) for code in codes)
        conditions.append(f"{code_text(microdata, column)} IN ({listed})")
    return conditions
