"""From microdata to a table: leaf cells counted on the engine, margins rolled up from them, sums exact."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.engine.sql import Measures, Top, roll_contributors, roll_sums, roll_tops, top_of, with_contributors
from discreet.errors import InputError
from discreet.model.contributions import Contributions, Floats, Integers
from discreet.model.equations import equations_of, locate, merged
from discreet.model.facts import Facts, Wanted, make_facts, spanning_of
from discreet.model.hierarchy import Hierarchy
from discreet.model.keys import Secret
from discreet.model.layout import Layout
from discreet.model.microdata import Microdata
from discreet.model.noise import UnitNoise
from discreet.model.table import Table

__all__ = ["RANKS", "tabulate"]

Columns = dict[str, NDArray[Any]]

RANKS = 4
"""How many largest contributions a cell keeps unless a rule needs more."""


def tabulate(
    microdata: Microdata,
    *,
    spanning: Mapping[str, Hierarchy | tuple[str, Hierarchy] | Sequence[str] | None] | Sequence[str],
    response: str | None = None,
    shadow: str | None = None,
    cost: str | None = None,
    ranks: int = RANKS,
    where: Mapping[str, Sequence[str]] | None = None,
    empty: str = "structural",
    decimals: int | None = None,
    published_decimals: int | None = None,
    secret: Secret | None = None,
    unit_noise: UnitNoise | None = None,
    name: str = "table",
) -> Table:
    """The table of all cells of the hierarchical cross product, margins included.

    ``spanning`` maps each spanning variable (a column) to its hierarchy (or to the column of another name and its
    hierarchy), to its level columns from coarse to fine, or to None for a flat total; a bare list of columns means flat
    totals.  Without ``response`` the table counts
    units.  ``shadow`` is the variable that the rules look at instead of the response, ``cost`` the one that secondary
    suppression avoids (default: the absolute cell value).  ``ranks`` largest contributions are kept a cell.
    ``where`` keeps the records whose columns have the given codes.  ``empty``: cells without records are
    known zeros and are left out ("structural"), or could have had records and are cells of value 0 ("possible").
    ``decimals`` of the response; found when not given.  Sums are exact decimals, rounded once to a float;
    ``published_decimals`` (by default those of the response, of which weights make more) rounds them again, at the release
    only.  ``secret`` makes the record keys from the units' ids where no column holds them; ``unit_noise`` sums up the noise of
    all units beside their contributions, for methods that perturb each of them.

    Errors: InputError for columns, codes and numbers that do not fit; HierarchyError for codes not in the tree.
    """
    began = time.process_time()
    _check(microdata, spanning, response, empty)
    named = dict(spanning) if isinstance(spanning, Mapping) else dict.fromkeys(spanning)
    chosen = [spanning_of(microdata, variable, given) for variable, given in named.items()]
    wanted = Wanted(response=response, shadow=shadow, cost=cost, decimals=decimals, where=where or {})
    wanted = dataclasses.replace(wanted, secret=secret, unit_noise=unit_noise)
    facts = make_facts(microdata, [column for column, _ in chosen], [tree for _, tree in chosen], wanted)
    keep = 0 if response is None and shadow is None and not facts.named else ranks
    sums, tops = _count(microdata, facts, keep)
    microdata.engine.run("DROP VIEW facts; DROP TABLE IF EXISTS hashed")
    codes, sums = _in_order(facts.hierarchies, sums, empty)
    equations, cell, first = merged(equations_of(facts.hierarchies, codes))
    layout = Layout(name=name, variables=tuple(named), hierarchies=facts.hierarchies, codes=codes, cell=cell)
    table = Table.of(
        (layout,),
        sums["value"][first],
        _contributions(codes, sums, tops, keep).take(first),
        equations,
        response=response or "units",
        kind="frequency" if response is None else "magnitude",
        decimals=facts.decimals,
        published_decimals=facts.response_decimals if published_decimals is None else published_decimals,
        unit_noise=unit_noise,
        **({"cost": sums["cost"][first]} if cost else {}),
    )
    what, seconds = f"{table.response} by {' × '.join(named)}", time.process_time() - began
    met = dict.fromkeys(microdata.notes, 1) | dict(facts.counts) | table.rounded()
    return table.with_step("tabulate", what, seconds, records=microdata.rows, cells=table.cells, **met)


def _check(microdata: Microdata, spanning: object, response: str | None, empty: str) -> None:
    if isinstance(spanning, str) or not spanning:
        raise InputError("spanning", "names no spanning variable", "give a list of columns or a mapping to hierarchies")
    if empty not in ("structural", "possible"):
        raise InputError("empty", f"{empty!r} is not 'structural' or 'possible'")
    if response is not None and microdata.roles.count is not None:
        raise InputError("response", "cannot be summed over rows that stand for several units", "leave out the count role")


def _in_order(hierarchies: Sequence[Hierarchy], sums: Columns, empty: str) -> tuple[NDArray[np.int32], Columns]:
    """The cells in the order of their codes, those without records added where they are possible."""
    codes = np.stack([sums.pop(f"d{v + 1}") for v in range(len(hierarchies))], 1).astype(np.int32)
    if empty == "possible":
        codes, sums = _with_empty(hierarchies, codes, sums)
    order = np.lexsort(codes.T[::-1])
    return codes[order], {column: array[order] for column, array in sums.items()}


def _count(microdata: Microdata, facts: Facts, ranks: int) -> tuple[Columns, Columns]:
    """Everything counted: the sums of each cell, and its largest contributions as rows."""
    engine, dimensions = microdata.engine, len(facts.hierarchies)
    roles = microdata.roles
    top = Top(
        ranks=ranks,
        weights=roles.weight is not None,
        requests=roles.request is not None,
        waivers=roles.waiver is not None,
        keys=facts.keyed,
    )
    measures = Measures(dimensions, top, facts.squared_in)
    for v, hierarchy in enumerate(facts.hierarchies):
        leaf, node = hierarchy.closure()
        engine.load(f"up{v + 1}", {"leaf": leaf, "node": node})

    def rolled(name: str, leaf: str, roll: Any) -> str:
        engine.run(f"CREATE OR REPLACE TEMP TABLE {name}0 AS {leaf}")
        for v in range(dimensions):
            engine.run(f"CREATE OR REPLACE TEMP TABLE {name}{v + 1} AS {roll(f'{name}{v}', dimensions, v)}")
            engine.run(f"DROP TABLE {name}{v}")
        return f"{name}{dimensions}"

    query = f"SELECT * FROM {rolled('sums', measures.leaf_sums(), roll_sums)}"
    rows = []
    if ranks:
        tops = rolled("tops", measures.leaf_tops(), lambda table, d, v: roll_tops(table, d, v, top))
        rows.append(f"SELECT {measures.cell}, id, x, wx, request, waiver, own_key, rank FROM {tops}")
    if facts.several_records:
        shared = rolled("shared", measures.leaf_contributors(), roll_contributors)
        query = with_contributors(f"sums{dimensions}", shared, dimensions, facts.squared_in)
        rows.append(f"SELECT {measures.cell}, who AS id, x, wx, request, waiver, own_key, 0 AS rank FROM {shared}")
    sums = engine.fetch(query)
    if not len(sums["value"]):
        trouble = "check the filter and what is done with missing codes and values"
        raise InputError(microdata.name, "no record is left to count", trouble)
    if facts.several_units:
        _add_units(sums, microdata, facts, measures, rolled)
    elif microdata.roles.holding is None:
        sums["records"] = sums["contributors"].copy()
    sums["squares"] = np.asarray(sums["squares"], float) * (facts.squared_in or 0.0) ** 2
    if not ranks:
        return sums, {}
    best = rows[0] if len(rows) == 1 else top_of(" UNION ALL ".join(rows), measures.cell, top)
    number = f"COALESCE({engine.hash_of('CAST(id AS VARCHAR)', 60)}, -1)"
    return sums, engine.fetch(
        f"SELECT {measures.cell}, {number} AS id, x, wx, request, waiver, own_key, rank FROM ({best}) AS best"
    )


def _add_units(sums: Columns, microdata: Microdata, facts: Facts, measures: Measures, rolled: Any) -> None:
    """Counts each unit once a cell, also where it has several records."""

    def roll(table: str, dimensions: int, v: int) -> str:
        columns = ", ".join(f"up{v + 1}.node AS d{i + 1}" if i == v else f"r.d{i + 1}" for i in range(dimensions))
        return f"SELECT DISTINCT {columns}, r.unit FROM {table} AS r JOIN up{v + 1} ON r.d{v + 1} = up{v + 1}.leaf"

    several = rolled("several", f"SELECT DISTINCT {measures.cell}, unit FROM facts WHERE unit IS NOT NULL", roll)
    single = rolled(
        "single",
        f"SELECT {measures.cell}, COUNT(*) AS n FROM facts WHERE unit IS NULL GROUP BY {measures.cell}",
        lambda table, d, v: roll_sums(table, d, v, ("n",)),
    )
    sums["records"] = np.zeros(len(sums["records"]))
    for query in (f"SELECT * FROM {single}", f"SELECT {measures.cell}, COUNT(*) AS n FROM {several} GROUP BY {measures.cell}"):
        counted = microdata.engine.fetch(query)
        sums["records"][locate(_codes(sums, measures.dimensions), _codes(counted, measures.dimensions))] += counted["n"]


def _codes(columns: Columns, dimensions: int) -> NDArray[np.int32]:
    return np.stack([columns[f"d{v + 1}"] for v in range(dimensions)], 1).astype(np.int32)


def _with_empty(hierarchies: Sequence[Hierarchy], codes: NDArray[np.int32], sums: Columns) -> tuple[NDArray[np.int32], Columns]:
    """Adds the cells of the full cross product that hold no record."""
    grid = np.meshgrid(*[np.arange(len(tree.codes), dtype=np.int32) for tree in hierarchies], indexing="ij")
    every = np.stack(grid, -1).reshape(-1, len(hierarchies))
    line = locate(every, codes)
    filled = {}
    for column, array in sums.items():
        whole = np.zeros(len(every))
        whole[line] = np.nan_to_num(np.asarray(array, float))
        filled[column] = whole
    return every, filled


def _contributions(codes: NDArray[np.int32], sums: Columns, tops: Columns, ranks: int) -> Contributions:
    def number(column: str) -> Floats:
        array: Floats = np.nan_to_num(np.asarray(sums[column], float))
        return array

    cells = len(codes)
    top, weighted = np.zeros((cells, ranks)), np.zeros((cells, ranks))
    ids, key = np.full((cells, ranks), -1, np.int64), np.zeros((cells, ranks), np.int64)
    request, waiver = np.zeros((cells, ranks), np.int64), np.zeros((cells, ranks), bool)
    unwaived, unwaived_weighted = np.zeros(cells), np.zeros(cells)
    if ranks:
        cell: Integers = locate(codes, _codes(tops, codes.shape[1]))
        rank = tops["rank"].astype(np.int64) - 1
        x, wx = np.asarray(tops["x"], float), np.asarray(tops["wx"], float)
        who = tops["id"].astype(np.int64)
        listed = rank < ranks
        at = (cell[listed], rank[listed])
        top[at], weighted[at], ids[at] = x[listed], wx[listed], who[listed]
        request[at], waiver[at], key[at] = tops["request"][listed], tops["waiver"][listed] == 1, tops["own_key"][listed]
        free = np.flatnonzero(tops["waiver"] == 0)
        free = free[np.argsort(-rank[free], kind="stable")]
        unwaived[cell[free]], unwaived_weighted[cell[free]] = x[free], wx[free]
    return Contributions(
        n=number("records"),
        holdings=number("contributors"),
        weight=number("weight"),
        total=number("total"),
        unweighted=number("unweighted"),
        absolute=number("absolute"),
        absolute_unweighted=number("absolute_unweighted"),
        top=top,
        top_weighted=weighted,
        top_id=ids,
        top_request=request,
        top_waiver=waiver,
        requests=number("requests"),
        unwaived_top=unwaived,
        unwaived_weighted=unwaived_weighted,
        key=number("keys").astype(np.int64),
        top_key=key,
        noise=number("noise"),
        squares=number("squares"),
    )
