"""The SQL of tabulation, ANSI only, one string for every engine.

``facts`` is one row a record: ``d1..dm`` the leaf position of each spanning variable, ``id`` the number of its
contributor (NULL where none is named), ``who`` the same for contributors with several records only, ``x`` the rule
variable, ``wx`` the same weighted, ``own_key`` the record key of its contributor, ``noise`` its noise, and the other
roles.  The leaf cells are counted once; margins are rolled up from them, one variable and one step of its tree at a time,
through ``up1..upm`` (part, node, step).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "KEYS",
    "Cells",
    "Measures",
    "Top",
    "all_of",
    "literal",
    "quote",
    "roll_contributors",
    "roll_sums",
    "roll_tops",
    "roll_units",
    "top_of",
]

BY_CONTRIBUTOR = ("contributors", "absolute", "absolute_unweighted", "requests", "squares")
"""The sums that count contributors; they add up only where no contributor is in two of the cells."""

KEYS = "CAST(MOD(SUM({}), 4294967296) AS BIGINT)"
"""Record keys are summed modulo 2^32 at each step, so that they never lose a digit."""

NOTHING = "0"
"""The sum of a column that no record has."""

ONE = "1"
"""The column of records that all count once."""

EXACT = 2**53
"""Whole numbers below this are exact also where a division makes floats of them."""


def quote(name: str) -> str:
    """A column or table name as SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text constant as SQL."""
    return "'" + text.replace("'", "''") + "'"


def all_of(conditions: Iterable[str]) -> str:
    """One condition, that all of these hold."""
    return " AND ".join(f"({condition})" for condition in conditions) or "TRUE"


@dataclasses.dataclass(frozen=True)
class Cells:
    """How cells are named: by the columns ``d1..dm``, and within a statement by one number, which is faster to sort by.

    ``sizes`` are the numbers of codes of the spanning variables.  ``packed`` is what SELECT takes from these columns, ``key``
    what it is then called, and ``unpacked`` the columns again; where no number is large enough, all three are the columns.
    """

    sizes: tuple[int, ...]

    @property
    def columns(self) -> str:
        """The columns that name a cell."""
        return ", ".join(f"d{v + 1}" for v in range(len(self.sizes)))

    @property
    def _fits(self) -> bool:
        return len(self.sizes) > 1 and math.prod(self.sizes) < EXACT

    @property
    def key(self) -> str:
        """The column, or columns, by which a statement groups or sorts cells."""
        return "cell" if self._fits else self.columns

    @property
    def packed(self) -> str:
        """The key, made from the columns."""
        if not self._fits:
            return self.columns
        number = "CAST(d1 AS BIGINT)"
        for v, size in enumerate(self.sizes[1:], 2):
            number = f"({number}) * {size} + d{v}"
        return f"{number} AS cell"

    @property
    def unpacked(self) -> str:
        """The columns, made from the key."""
        if not self._fits:
            return self.columns
        columns, below = [], 1
        for v in range(len(self.sizes), 0, -1):
            within = below * self.sizes[v - 1]
            columns.append(f"CAST((MOD(cell, {within}) - MOD(cell, {below})) / {below} AS INTEGER) AS d{v}")
            below = within
        return ", ".join(reversed(columns))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Top:
    """Which contributions of a cell are kept: the ``ranks`` largest; with ``waivers`` also the largest one without.

    Ties go by sign, weighted value, flags, record key and id; parts that no record has are neither sorted by nor carried.
    """

    ranks: int
    signed: bool = True
    weights: bool = True
    requests: bool = True
    waivers: bool = True
    keys: bool = True
    ids: bool = True

    @property
    def order(self) -> list[str]:
        """The columns that rank the rows."""
        size = ["ABS(x) DESC", "x DESC"] if self.signed else ["x DESC"]
        flags = {"wx DESC": self.weights, "request DESC": self.requests, "waiver DESC": self.waivers}
        flags |= {"own_key": self.keys, "id": self.ids}
        return [*size, *(column for column, held in flags.items() if held)]

    @property
    def carried(self) -> list[str]:
        """The columns of a row that are not the same in all rows, nor the same as another one."""
        parts = {"id": self.ids, "x": True, "wx": self.weights, "request": self.requests, "waiver": self.waivers}
        return [column for column, held in (parts | {"own_key": self.keys}).items() if held]


class Measures:
    """The SQL of one tabulation of these ``cells``, keeping the ``top`` contributions.

    ``alike`` names for each column of ``facts`` the first one that always holds the same, or 0 or 1 if that is what it holds;
    ``several`` where contributors have several records.  What is always the same is summed once.
    """

    def __init__(
        self, cells: Cells, top: Top, alike: Mapping[str, str], *, several: bool, squared_in: float | None = None
    ) -> None:
        self.cells = cells
        self.top = top
        self.alike = alike
        self.several = several
        self.squared_in = squared_in

    @cached_property
    def sums(self) -> dict[str, str]:
        """Everything that adds up over disjoint cells, as SQL; contributors with several records are added later."""

        def total(column: str, form: str = "{}") -> str:
            held = self.alike.get(column, column)
            if held == ONE:
                return "COUNT(*)"
            return NOTHING if held == NOTHING else f"SUM({form.format(held)})"

        def single(column: str, form: str = "{}") -> str:
            if not self.several:
                return total(column, form)
            return f"SUM(CASE WHEN who IS NULL THEN {form.format(self.alike.get(column, column))} END)"

        size = "ABS({})" if self.top.signed else "{}"
        squared = NOTHING if self.squared_in is None else single("x", square("{}", self.squared_in))
        return {
            "records": total("units"),
            "value": total("v"),
            "weight": total("w"),
            "total": total("wx"),
            "unweighted": total("x"),
            "absolute": single("wx", size),
            "absolute_unweighted": single("x", size),
            "contributors": single("units"),
            "requests": single("request", "CASE WHEN {} > 0 THEN 1 ELSE 0 END") if self.top.requests else NOTHING,
            "keys": KEYS.format("record_key") if self.top.keys else NOTHING,
            "cost": total("cost"),
            "noise": total("noise"),
            "squares": squared,
        }

    @cached_property
    def summed(self) -> dict[str, str]:
        """The different sums, with the column that holds each."""
        return {sql: f"s{i}" for i, sql in enumerate(dict.fromkeys(self.sums.values())) if sql != NOTHING}

    def leaf_sums(self) -> str:
        """The sums of each leaf cell."""
        sums = ", ".join(f"{sql} AS {column}" for sql, column in self.summed.items())
        held = ", ".join(self.summed.values())
        rows = f"SELECT *, {self.cells.packed} FROM facts" if self.cells.key == "cell" else "SELECT * FROM facts"
        return f"""
            SELECT {self.cells.unpacked}, {held} FROM (
                SELECT {self.cells.key}, {sums} FROM ({rows}) AS packed GROUP BY {self.cells.key}
            ) AS summed"""

    def rolled_sums(self) -> dict[str, str]:
        """How each column of sums adds up."""
        keys = self.summed.get(self.sums["keys"])
        return {name: KEYS.format(f"r.{name}") if name == keys else f"SUM(r.{name})" for name in self.summed.values()}

    def all_sums(self, table: str) -> str:
        """All sums of each cell by their names."""
        named = ", ".join(f"{self.summed.get(sql, NOTHING)} AS {name}" for name, sql in self.sums.items())
        return f"SELECT {self.cells.columns}, {named} FROM {table}"

    def named(self, held: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """The same of a table that was fetched: its cells and all sums by their names, one array where they are the same."""
        nothing = np.zeros(len(held["d1"]))
        sums = {name: held[self.summed[sql]] if sql in self.summed else nothing for name, sql in self.sums.items()}
        return {name: held[name] for name in self.cells.columns.split(", ")} | sums

    def leaf_contributors(self) -> str:
        """Leaf cells × contributors with several records, each summed within the cell."""
        return f"""
            SELECT {self.cells.columns}, who, SUM(x) AS x, SUM(wx) AS wx, MAX(request) AS request, MIN(waiver) AS waiver,
                   MIN(own_key) AS own_key
            FROM facts WHERE who IS NOT NULL GROUP BY {self.cells.columns}, who"""

    def leaf_tops(self, number: str) -> str:
        """The largest contributions of single records in each leaf cell, their ids as the ``number`` that SQL makes of them."""
        single = " WHERE who IS NULL" if self.several else ""
        rows = f"SELECT {self.cells.columns}, {', '.join(self.top.carried)} FROM facts{single}"
        carried = ", ".join(number if name == "id" else name for name in self.top.carried)
        return f"SELECT {self.cells.columns}, {carried}, rank FROM ({top_of(rows, self.cells, self.top)}) AS best"

    def with_contributors(self, sums: str, shared: str) -> str:
        """The sums of each cell with the contributors that have several records added, each counted once a cell."""
        columns = self.cells.columns
        added = ", ".join(f"COALESCE(s.{name}, 0) + COALESCE(c.{name}, 0) AS {name}" for name in BY_CONTRIBUTOR)
        others = ", ".join(f"s.{name}" for name in self.sums if name not in BY_CONTRIBUTOR)
        names = columns.split(", ")
        same = " AND ".join(f"s.{name} = c.{name}" for name in names)
        squared = NOTHING if self.squared_in is None else f"SUM({square('x', self.squared_in)})"
        return f"""
            SELECT {", ".join(f"s.{name}" for name in names)}, {others}, {added} FROM ({self.all_sums(sums)}) AS s LEFT JOIN (
                SELECT {columns}, COUNT(*) AS contributors, SUM(ABS(wx)) AS absolute, SUM(ABS(x)) AS absolute_unweighted,
                       SUM(CASE WHEN request > 0 THEN 1 ELSE 0 END) AS requests, {squared} AS squares
                FROM {shared} GROUP BY {columns}
            ) AS c ON {same}"""


def top_of(rows: str, cells: Cells, top: Top) -> str:
    """The largest of the rows in each cell and, with waivers, the largest unwaived one."""
    key, order, carried = cells.key, ", ".join(top.order), ", ".join(top.carried)
    free = f", ROW_NUMBER() OVER (PARTITION BY {key}, waiver ORDER BY {order}) AS free_rank" if top.waivers else ""
    also = " OR (waiver = 0 AND free_rank = 1)" if top.waivers else ""
    return f"""
        SELECT {cells.unpacked}, {carried}, rank FROM (
            SELECT {key}, {carried}, ROW_NUMBER() OVER (PARTITION BY {key} ORDER BY {order}) AS rank{free}
            FROM (SELECT {cells.packed}, {carried} FROM ({rows}) AS rows_in) AS packed
        ) AS ranked WHERE rank <= {top.ranks}{also}"""


def _above(table: str, cells: Cells, v: int, step: int) -> tuple[str, str, str]:
    """The cell columns with variable ``v`` one node up, for SELECT and for GROUP BY, and where they come from."""
    columns = [f"up{v + 1}.node AS d{v + 1}" if i == v else f"r.d{i + 1}" for i in range(len(cells.sizes))]
    groups = [f"up{v + 1}.node" if i == v else f"r.d{i + 1}" for i in range(len(cells.sizes))]
    rows = f"{table} AS r JOIN up{v + 1} ON r.d{v + 1} = up{v + 1}.part WHERE up{v + 1}.step = {step}"
    return ", ".join(columns), ", ".join(groups), rows


def roll_sums(table: str, cells: Cells, v: int, step: int, sums: Mapping[str, str]) -> str:
    """The sums of the nodes of variable ``v`` that are this many steps above the leaves."""
    columns, groups, rows = _above(table, cells, v, step)
    added = ", ".join(f"{sql} AS {name}" for name, sql in sums.items())
    return f"SELECT {columns}, {added} FROM {rows} GROUP BY {groups}"


def roll_contributors(table: str, cells: Cells, v: int, step: int) -> str:
    """The same, keeping contributors apart."""
    columns, groups, rows = _above(table, cells, v, step)
    return f"""
        SELECT {columns}, who, SUM(r.x) AS x, SUM(r.wx) AS wx, MAX(r.request) AS request, MIN(r.waiver) AS waiver,
               MIN(r.own_key) AS own_key
        FROM {rows} GROUP BY {groups}, who"""


def roll_units(table: str, cells: Cells, v: int, step: int) -> str:
    """The different units of the same nodes."""
    columns, _, rows = _above(table, cells, v, step)
    return f"SELECT DISTINCT {columns}, r.unit FROM {rows}"


def roll_tops(table: str, cells: Cells, v: int, step: int, top: Top) -> str:
    """Merges the largest contributions of the parts into those of the same nodes."""
    columns, _, rows = _above(table, cells, v, step)
    return top_of(f"SELECT {columns}, {', '.join(f'r.{name}' for name in top.carried)} FROM {rows}", cells, top)


def square(number: str, unit: float) -> str:
    """A number squared, in squares of ``unit``, as an exact decimal."""
    return f"CAST(POWER(CAST({number} AS DOUBLE) / {unit!r}, 2) AS DECIMAL(38, 6))"
