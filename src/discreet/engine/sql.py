"""The SQL of tabulation, ANSI only, one string for every engine.

``facts`` is one row a record: ``d1..dm`` the leaf position of each spanning variable, ``id`` the number of its
contributor (NULL where none is named), ``who`` the same for contributors with several records only, ``x`` the rule
variable, ``wx`` the same weighted, ``own_key`` the record key of its contributor, ``noise`` its noise, and the other
roles.  The leaf cells are counted once; margins come from rolling leaf cells up, one variable at a time, through
``up1..upm`` (leaf, node).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

__all__ = ["Measures", "Top", "literal", "quote", "roll_contributors", "roll_sums", "roll_tops", "top_of", "with_contributors"]

SUMS = (
    "records",
    "value",
    "weight",
    "total",
    "unweighted",
    "absolute",
    "absolute_unweighted",
    "contributors",
    "requests",
    "keys",
    "cost",
    "noise",
    "squares",
)
"""The columns of a cell that add up over disjoint cells."""

BY_CONTRIBUTOR = ("contributors", "absolute", "absolute_unweighted", "requests", "squares")
"""Those that count contributors; they add up only where no contributor is in two of the cells."""

KEYS = "CAST(MOD(SUM({}), 4294967296) AS BIGINT)"
"""Record keys are summed modulo 2^32 at each step, so that they never lose a digit."""


def quote(name: str) -> str:
    """A column or table name as SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text constant as SQL."""
    return "'" + text.replace("'", "''") + "'"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Top:
    """Which contributions of a cell are kept: the ``ranks`` largest; with ``waivers`` also the largest one without.

    Ties go by sign, weighted value, flags, record key and id; parts that no record has are left out of the sort.
    """

    ranks: int
    weights: bool = True
    requests: bool = True
    waivers: bool = True
    keys: bool = True

    @property
    def order(self) -> list[str]:
        """The columns that rank the rows."""
        flags = {"wx DESC": self.weights, "request DESC": self.requests, "waiver DESC": self.waivers, "own_key": self.keys}
        return ["ABS(x) DESC", "x DESC", *(column for column, held in flags.items() if held), "id"]


class Measures:
    """The SQL of one tabulation over ``dimensions`` spanning variables, keeping the ``top`` contributions."""

    def __init__(self, dimensions: int, top: Top, squared_in: float | None = None) -> None:
        self.dimensions = dimensions
        self.top = top
        self.squared_in = squared_in

    @property
    def cell(self) -> str:
        """The columns that name a cell."""
        return ", ".join(f"d{v + 1}" for v in range(self.dimensions))

    def leaf_sums(self) -> str:
        """Leaf cells: everything that adds up; contributors with several records are added later."""
        single = "who IS NULL"
        return f"""
            SELECT {self.cell}, SUM(units) AS records, SUM(v) AS value, SUM(w) AS weight,
                   SUM(wx) AS total, SUM(x) AS unweighted,
                   SUM(CASE WHEN {single} THEN ABS(wx) END) AS absolute,
                   SUM(CASE WHEN {single} THEN ABS(x) END) AS absolute_unweighted,
                   SUM(CASE WHEN {single} THEN units END) AS contributors,
                   SUM(CASE WHEN {single} AND request > 0 THEN 1 ELSE 0 END) AS requests,
                   {KEYS.format("record_key")} AS keys, SUM(cost) AS cost,
                   SUM(noise) AS noise, SUM(CASE WHEN {single} THEN {square("x", self.squared_in)} END) AS squares
            FROM facts GROUP BY {self.cell}"""

    def leaf_contributors(self) -> str:
        """Leaf cells × contributors with several records, each summed within the cell."""
        return f"""
            SELECT {self.cell}, who, SUM(x) AS x, SUM(wx) AS wx, MAX(request) AS request, MIN(waiver) AS waiver,
                   MIN(own_key) AS own_key
            FROM facts WHERE who IS NOT NULL GROUP BY {self.cell}, who"""

    def leaf_tops(self) -> str:
        """The largest contributions of single records in each leaf cell."""
        return top_of("SELECT * FROM facts WHERE who IS NULL", self.cell, self.top)


def top_of(rows: str, cell: str, top: Top) -> str:
    """The largest of the rows in each cell and, with waivers, the largest unwaived one."""
    order = ", ".join(top.order)
    free = f", ROW_NUMBER() OVER (PARTITION BY {cell}, waiver ORDER BY {order}) AS free_rank" if top.waivers else ""
    also = " OR (waiver = 0 AND free_rank = 1)" if top.waivers else ""
    return f"""
        SELECT {cell}, id, x, wx, request, waiver, own_key, rank FROM (
            SELECT {cell}, id, x, wx, request, waiver, own_key,
                   ROW_NUMBER() OVER (PARTITION BY {cell} ORDER BY {order}) AS rank{free}
            FROM ({rows}) AS rows_in
        ) AS ranked WHERE rank <= {top.ranks}{also}"""


def _cell(dimensions: int, v: int) -> tuple[str, str]:
    """The cell columns with variable ``v`` replaced by the node above, for SELECT and for GROUP BY."""
    columns = [f"up{v + 1}.node AS d{v + 1}" if i == v else f"r.d{i + 1}" for i in range(dimensions)]
    groups = [f"up{v + 1}.node" if i == v else f"r.d{i + 1}" for i in range(dimensions)]
    return ", ".join(columns), ", ".join(groups)


def roll_sums(table: str, dimensions: int, v: int, sums: Sequence[str] = SUMS) -> str:
    """Adds the margins over variable ``v``."""
    columns, groups = _cell(dimensions, v)
    added = ", ".join(f"{KEYS.format('r.keys') if name == 'keys' else f'SUM(r.{name})'} AS {name}" for name in sums)
    return f"SELECT {columns}, {added} FROM {table} AS r JOIN up{v + 1} ON r.d{v + 1} = up{v + 1}.leaf GROUP BY {groups}"


def roll_contributors(table: str, dimensions: int, v: int) -> str:
    """Adds the margins over variable ``v``, keeping contributors apart."""
    columns, groups = _cell(dimensions, v)
    return f"""
        SELECT {columns}, who, SUM(r.x) AS x, SUM(r.wx) AS wx, MAX(r.request) AS request, MIN(r.waiver) AS waiver,
               MIN(r.own_key) AS own_key
        FROM {table} AS r JOIN up{v + 1} ON r.d{v + 1} = up{v + 1}.leaf GROUP BY {groups}, who"""


def roll_tops(table: str, dimensions: int, v: int, top: Top) -> str:
    """Merges the largest contributions of the parts into those of the margins over variable ``v``."""
    columns, _ = _cell(dimensions, v)
    cell = ", ".join(f"d{i + 1}" for i in range(dimensions))
    above = f"JOIN up{v + 1} ON r.d{v + 1} = up{v + 1}.leaf"
    rows = f"SELECT {columns}, r.id, r.x, r.wx, r.request, r.waiver, r.own_key FROM {table} AS r {above}"
    return top_of(rows, cell, top)


def square(number: str, unit: float | None) -> str:
    """A number squared, in squares of ``unit``, as an exact decimal; 0 where no unit is given."""
    return "0" if unit is None else f"CAST(POWER(CAST({number} AS DOUBLE) / {unit!r}, 2) AS DECIMAL(38, 6))"


def with_contributors(sums: str, shared: str, dimensions: int, squared_in: float | None = None) -> str:
    """The sums of each cell with the contributors that have several records added, each counted once a cell."""
    cell = ", ".join(f"d{v + 1}" for v in range(dimensions))
    added = ", ".join(f"COALESCE(s.{name}, 0) + COALESCE(c.{name}, 0) AS {name}" for name in BY_CONTRIBUTOR)
    others = ", ".join(f"s.{name}" for name in SUMS if name not in BY_CONTRIBUTOR)
    cells = ", ".join(f"s.d{v + 1}" for v in range(dimensions))
    same = " AND ".join(f"s.d{v + 1} = c.d{v + 1}" for v in range(dimensions))
    return f"""
        SELECT {cells}, {others}, {added} FROM {sums} AS s LEFT JOIN (
            SELECT {cell}, COUNT(*) AS contributors, SUM(ABS(wx)) AS absolute, SUM(ABS(x)) AS absolute_unweighted,
                   SUM(CASE WHEN request > 0 THEN 1 ELSE 0 END) AS requests, SUM({square("x", squared_in)}) AS squares
            FROM {shared} GROUP BY {cell}
        ) AS c ON {same}"""
