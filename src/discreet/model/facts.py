"""From raw records to facts: every role as a number of the right kind, beside the positions of the codes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from discreet.engine.sql import all_of, literal
from discreet.errors import InputError
from discreet.model.codes import code_text, positions_of, selected
from discreet.model.hierarchy import Hierarchy
from discreet.model.keys import Secret, record_keys
from discreet.model.microdata import Microdata
from discreet.model.noise import UnitNoise
from discreet.model.numbers import Numbers, column_name

__all__ = ["Facts", "Wanted", "make_facts"]

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

    @property
    def counts_only(self) -> bool:
        """No column is summed, and no unit is asked for its noise or for a key."""
        return not (self.response or self.shadow or self.cost or self.secret or self.unit_noise)


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


def make_facts(microdata: Microdata, columns: Sequence[str], hierarchies: Sequence[Hierarchy], wanted: Wanted) -> Facts:
    """Creates the view (or table) ``facts`` and checks all that it rests on."""
    roles = microdata.roles
    conditions = selected(microdata, wanted.where)
    full, counts, joins, positions = positions_of(microdata, columns, hierarchies, wanted.found, all_of(conditions))
    numbers = Numbers(microdata, all_of(conditions))
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
    where = all_of(conditions)
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
    rows = f"SELECT {kept} FROM {microdata.source} {' '.join(joins)} WHERE {where}"
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
        f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT id FROM (SELECT {own} AS id FROM {microdata.source}) AS every "
        "WHERE id IS NOT NULL GROUP BY id HAVING COUNT(*) > 1"
    )
    if not engine.fetch(f"SELECT COUNT(*) AS n FROM {table}")["n"][0]:
        return _Ids(own, NO_ID, [])
    return _Ids(own, f"{table}.id", [f"LEFT JOIN {table} ON {table}.id = {own}"])


def _flag(microdata: Microdata, column: str | None, what: str, words: Mapping[int, Sequence[str]], where: str) -> str:
    """A column of 0 or nothing, and the numbers that ``words`` stand for; other words are refused."""
    if column is None:
        return "0"
    text = f"COALESCE(LOWER(TRIM({code_text(microdata, column)})), '')"
    cases = {number: ", ".join(map(literal, listed)) for number, listed in {0: ("", "0", "false", "nan"), **words}.items()}
    known = ", ".join(cases.values())
    if unknown := microdata.count(f"({where}) AND {text} NOT IN ({known})"):
        trouble = f"{unknown} records hold no {what} code"
        raise InputError(f"column {column!r}", trouble, f"use {' or '.join(map(str, words))}, and 0 or nothing for none")
    return f"CASE {' '.join(f'WHEN {text} IN ({listed}) THEN {number}' for number, listed in cases.items())} END"


def _count(microdata: Microdata, numbers: Numbers) -> str:
    return numbers.whole(microdata.roles.count, "count") if microdata.roles.count else "CAST(1 AS BIGINT)"
