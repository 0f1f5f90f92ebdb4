"""From raw records to facts: every role as a number of the right kind, every code as a position in its hierarchy."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from discreet.engine.sql import literal
from discreet.errors import HierarchyError, InputError
from discreet.model.hierarchy import Hierarchy
from discreet.model.keys import Secret, record_keys
from discreet.model.microdata import Microdata
from discreet.model.noise import UnitNoise
from discreet.model.numbers import Numbers, column_name

__all__ = ["Facts", "Wanted", "distinct_codes", "make_facts", "spanning_of"]

NO_ID = "CAST(NULL AS VARCHAR)"

CONSTANTS = {"0": "0", "CAST(0 AS BIGINT)": "0", "CAST(1 AS BIGINT)": "1", NO_ID: "NULL"}
"""What a column may hold in all records."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Wanted:
    """What a tabulation needs of the records; ``found``: which trees hold all codes of the data."""

    response: str | None
    shadow: str | None
    cost: str | None
    decimals: int | None
    where: Mapping[str, Sequence[str]]
    found: Sequence[bool]
    secret: Secret | None = None
    unit_noise: UnitNoise | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Facts:
    """The view ``facts`` is ready in the engine; these are its properties and what was met on the way.

    ``named``: contributors have ids, so that one is known again in other cells and tables; ``several_records``: some
    contributor has more than one record; ``several_units``: some unit beside its holding has; ``keyed``: records have keys;
    ``signed``: some contribution may be negative; ``alike``: the columns that hold the same as another one, which they name, or
    0 or 1 throughout; ``squared_in`` the unit in which contributions are squared, where they are.
    """

    hierarchies: tuple[Hierarchy, ...]
    decimals: int
    response_decimals: int
    named: bool
    several_records: bool
    several_units: bool
    keyed: bool
    signed: bool
    alike: Mapping[str, str]
    squared_in: float | None
    counts: Mapping[str, int]


def spanning_of(
    microdata: Microdata, name: str, given: Hierarchy | tuple[str, Hierarchy] | Sequence[str] | None
) -> tuple[str, Hierarchy]:
    """The data column and the hierarchy of a spanning variable.

    It is given as a hierarchy, as a (column, hierarchy) pair where the column has another name, as level columns, or as
    nothing (flat).
    """
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], Hierarchy):
        microdata.check_column(given[0], f"spanning variable {name!r}")
        return given[0], given[1]
    if isinstance(given, Hierarchy):
        microdata.check_column(name, f"spanning variable {name!r}")
        return name, given
    if given is None:
        microdata.check_column(name, f"spanning variable {name!r}")
        return name, Hierarchy.flat(distinct_codes(microdata, [name])[0], source=f"spanning variable {name!r}")
    levels = list(given)
    if not levels:
        raise InputError(f"spanning variable {name!r}", "lists no level columns", "list them from coarse to fine")
    for column in levels:
        microdata.check_column(column, f"a level of spanning variable {name!r}")
    found = distinct_codes(microdata, levels)
    return levels[-1], Hierarchy.from_levels(list(zip(*found, strict=True)), source=f"spanning variable {name!r}")


def make_facts(microdata: Microdata, columns: Sequence[str], hierarchies: Sequence[Hierarchy], wanted: Wanted) -> Facts:
    """Creates the view (or table) ``facts`` and checks all that it rests on."""
    roles = microdata.roles
    conditions = _filter(microdata, wanted.where)
    full, counts, joins, positions = _positions(microdata, columns, hierarchies, wanted.found, _and(conditions))
    numbers = Numbers(microdata, _and(conditions))
    value, decimals = numbers.response(wanted.response, wanted.decimals)
    shadow, shadow_decimals = numbers.response(wanted.shadow, None) if wanted.shadow else (value, decimals)
    weight, weight_decimals = numbers.weight()
    counts |= numbers.counts
    conditions += numbers.conditions
    count = _count(microdata, numbers)
    who = _ids(microdata, (roles.holding, roles.unit), "who")
    unit = _ids(microdata, (roles.unit,) if roles.holding else (), "unit")
    joins += who.joins + unit.joins
    record_key, own_key = record_keys(microdata, numbers, wanted.secret, wanted.response or "")
    where = _and(conditions)
    facts = {
        "id": who.own,
        "who": who.several,
        "unit": unit.several,
        "v": _weighted(value, decimals, weight) if roles.weight else value,
        "x": shadow,
        "wx": _weighted(shadow, shadow_decimals, weight) if roles.weight else shadow,
        "w": f"({weight}) * ({count})" if roles.weight else count,
        "units": count,
        "request": _flag(microdata, roles.request, "request", {1: ("1", "true"), 2: ("2",)}, where),
        "waiver": _flag(microdata, roles.waiver, "waiver", {1: ("1", "true")}, where),
        "record_key": record_key,
        "cost": numbers.cost(wanted.cost),
    }
    if wanted.response is None and roles.count:
        facts["v"] = f"({value}) * ({weight}) * ({count})" if roles.weight else count
        facts["x"], facts["wx"] = count, facts["v"]
    facts["own_key"] = own_key
    alike = _alike(facts)
    kept = ", ".join([*positions, *(f"{sql} AS {name}" for name, sql in facts.items() if name not in alike)])
    rows = f"SELECT {kept} FROM records {' '.join(joins)} WHERE {where}"
    if wanted.secret:  # what is hashed is kept until it is counted, to be hashed once
        microdata.engine.run(f"CREATE OR REPLACE TEMP TABLE hashed AS {rows}")
        rows = "SELECT * FROM hashed"
    same = "".join(f", {facts[name] if held in CONSTANTS.values() else held} AS {name}" for name, held in alike.items())
    rows = _with_noise(microdata, f"SELECT *{same} FROM ({rows}) AS kept", wanted, len(columns), decimals)
    microdata.engine.run(f"CREATE OR REPLACE TEMP VIEW facts AS {rows}")
    return Facts(
        hierarchies=full,
        decimals=decimals + weight_decimals,
        response_decimals=decimals,
        named=who.own != NO_ID,
        several_records=bool(who.joins),
        several_units=bool(unit.joins),
        keyed=wanted.secret is not None or roles.record_key is not None,
        signed=numbers.signed,
        alike=alike if wanted.unit_noise else alike | {"noise": "0"},
        squared_in=numbers.largest / 1e9 if wanted.unit_noise else None,
        counts=counts,
    )


def _alike(facts: Mapping[str, str]) -> dict[str, str]:
    """The columns that are constants, which is then named, or made like an earlier one, which is then named."""
    first: dict[str, str] = {}
    found = {}
    for name, sql in facts.items():
        held = CONSTANTS.get(sql) or first.setdefault(sql, name)
        if held != name:
            found[name] = held
    return found


def _with_noise(microdata: Microdata, rows: str, wanted: Wanted, dimensions: int, decimals: int) -> str:
    """The records and the noise of each as SQL; 0 where none is wanted."""
    unit_noise, roles = wanted.unit_noise, microdata.roles
    if unit_noise is None:
        return f"SELECT *, 0 AS noise FROM ({rows}) AS keyed"
    if wanted.response is None or wanted.shadow is not None:
        counts = "the table has no response", "use cell keys or rounding for counts"
        held, fix = ("the table has a shadow", "leave out the shadow variable") if wanted.shadow else counts
        raise InputError("unit noise", f"is on the contributions to a response, and {held}", fix)
    if wanted.secret is None and roles.record_key is None:
        raise InputError(
            "unit noise", "is made from record keys, and there are none", "declare a column record_key, or give a secret"
        )
    if unit_noise.direction == "company" and (roles.holding is None or wanted.secret is None or wanted.secret.paper):
        raise InputError(
            "unit noise",
            "has the direction of the company, and companies have no key",
            "declare holding = 'column' and a secret from which their keys are hashed, or choose another direction",
        )
    cell = ", ".join(f"d{v + 1}" for v in range(dimensions))
    return unit_noise.sql(rows, cell, decimals + 2, microdata.engine.hash_of)


# -------------------------------------------------------------------- codes


def _positions(
    microdata: Microdata, columns: Sequence[str], hierarchies: Sequence[Hierarchy], found: Sequence[bool], where: str
) -> tuple[tuple[Hierarchy, ...], dict[str, int], list[str], list[str]]:
    """The hierarchies with a category for missing codes, what was met, and the SQL that finds each record's leaf positions."""
    counts: dict[str, int] = {}
    full, joins, positions = [], [], []
    for v, (column, hierarchy) in enumerate(zip(columns, hierarchies, strict=True)):
        missing = _missing_codes(microdata, column)
        if found[v]:
            counted = microdata.engine.fetch(f"SELECT COUNT(*) AS n FROM records WHERE ({where}) AND {missing}")
            absent = int(counted["n"][0])
        else:
            absent = _absent_codes(microdata, column, hierarchy, missing, where)
        whole, met = _with_missing(microdata, column, hierarchy, absent)
        counts |= met
        full.append(whole)
        listed = whole.data_codes
        text = f"CASE WHEN {missing} THEN {literal(microdata.missing.category)} ELSE {_text(microdata, column)} END"
        nodes = {"code": np.array(list(listed), object), "node": np.array(list(listed.values()), np.int32)}
        microdata.engine.load(f"code{v + 1}", nodes)
        joins.append(f"JOIN code{v + 1} ON code{v + 1}.code = {text}")
        positions.append(f"code{v + 1}.node AS d{v + 1}")
    return tuple(full), counts, joins, positions


def _text(microdata: Microdata, column: str) -> str:
    """A column as text; whole numbers in a float column read as whole numbers."""
    name = column_name(column)
    if microdata.types[column] in ("DOUBLE", "FLOAT"):
        whole = f"ABS({name}) < 1e15 AND {name} = FLOOR({name})"
        return f"CASE WHEN {whole} THEN CAST(CAST({name} AS BIGINT) AS VARCHAR) ELSE CAST({name} AS VARCHAR) END"
    return f"CAST({name} AS VARCHAR)"


def _missing_codes(microdata: Microdata, column: str) -> str:
    text = _text(microdata, column)
    test = f"{column_name(column)} IS NULL OR {text} = ''"
    if microdata.types[column] in ("DOUBLE", "FLOAT"):
        test = f"{column_name(column)} IS NULL OR ISNAN({column_name(column)})"
    if microdata.missing.codes:
        test += f" OR {text} IN ({', '.join(literal(code) for code in microdata.missing.codes)})"
    return f"({test})"


def distinct_codes(microdata: Microdata, columns: Sequence[str]) -> list[list[str]]:
    """The different combinations of codes in these columns, as one list a column; records that miss one are passed over."""
    texts = [f"{_text(microdata, column)} AS c{i}" for i, column in enumerate(columns)]
    present = " AND ".join(f"NOT {_missing_codes(microdata, column)}" for column in columns)
    names = ", ".join(f"c{i}" for i in range(len(columns)))
    found = microdata.engine.fetch(f"SELECT DISTINCT {', '.join(texts)} FROM records WHERE {present} ORDER BY {names}")
    return [[str(code) for code in found[f"c{i}"]] for i in range(len(columns))]


def _absent_codes(microdata: Microdata, column: str, hierarchy: Hierarchy, missing: str, where: str) -> int:
    """How many records have no code; refuses codes that are not in the tree."""
    found = microdata.engine.fetch(
        f"SELECT code, SUM(n) AS n FROM (SELECT CASE WHEN {missing} THEN NULL ELSE {_text(microdata, column)} END AS code, "
        f"COUNT(*) AS n FROM records WHERE {where} GROUP BY 1) AS codes GROUP BY code ORDER BY code"
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


def _filter(microdata: Microdata, where: Mapping[str, Sequence[str]]) -> list[str]:
    conditions = []
    for column, codes in where.items():
        microdata.check_column(column, "the filter")
        listed = ", ".join(literal(str(code)) for code in codes)
        conditions.append(f"{_text(microdata, column)} IN ({listed})")
    return conditions


def _and(conditions: Sequence[str]) -> str:
    return " AND ".join(f"({condition})" for condition in conditions) or "TRUE"


def _weighted(value: str, decimals: int, weight: str) -> str:
    """A product with room for all its digits: that of two narrow decimals has only theirs."""
    return f"CAST({value} AS DECIMAL(38, {decimals})) * ({weight})"


# -------------------------------------------------------------------- contributors


@dataclasses.dataclass(frozen=True)
class _Ids:
    """The ids of one kind as SQL: each record's ``own``, the same where ``several`` records have it, and the joins for that."""

    own: str
    several: str
    joins: list[str]


def _ids(microdata: Microdata, columns: Sequence[str | None], name: str) -> _Ids:
    """The ids of contributors or units; the id of a record is that of the first of the columns in which it has one."""
    given = [(column_name(column), microdata.types[column]) for column in columns if column is not None]
    if not given:
        return _Ids(NO_ID, NO_ID, [])
    cases = [
        f"WHEN CAST({name} AS VARCHAR) <> ''{f' AND NOT ISNAN({name})' if kind in ('DOUBLE', 'FLOAT') else ''} "
        f"THEN '{i}' || CAST({name} AS VARCHAR)"
        for i, (name, kind) in enumerate(given)
    ]
    own = given[0][0] if len(given) == 1 and given[0][1] in ("BIGINT", "INTEGER") else f"CASE {' '.join(cases)} END"
    engine, table = microdata.engine, f"several_{name}"
    engine.run(
        f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT id FROM (SELECT {own} AS id FROM records) AS every "
        "WHERE id IS NOT NULL GROUP BY id HAVING COUNT(*) > 1"
    )
    if not engine.fetch(f"SELECT COUNT(*) AS n FROM {table}")["n"][0]:
        return _Ids(own, NO_ID, [])
    return _Ids(own, f"{table}.id", [f"LEFT JOIN {table} ON {table}.id = {own}"])


def _flag(microdata: Microdata, column: str | None, what: str, words: Mapping[int, Sequence[str]], where: str) -> str:
    """A column of 0 or nothing, and the numbers that ``words`` stand for; other words are refused."""
    if column is None:
        return "0"
    text = f"COALESCE(LOWER(TRIM({_text(microdata, column)})), '')"
    cases = {number: ", ".join(map(literal, listed)) for number, listed in {0: ("", "0", "false", "nan"), **words}.items()}
    known = ", ".join(cases.values())
    found = microdata.engine.fetch(f"SELECT COUNT(*) AS n FROM records WHERE ({where}) AND {text} NOT IN ({known})")
    if found["n"][0]:
        trouble = f"{int(found['n'][0])} records hold no {what} code"
        raise InputError(f"column {column!r}", trouble, f"use {' or '.join(map(str, words))}, and 0 or nothing for none")
    return f"CASE {' '.join(f'WHEN {text} IN ({listed}) THEN {number}' for number, listed in cases.items())} END"


def _count(microdata: Microdata, numbers: Numbers) -> str:
    return numbers.whole(microdata.roles.count, "count") if microdata.roles.count else "CAST(1 AS BIGINT)"
