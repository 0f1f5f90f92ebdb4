"""From microdata to a table: leaf cells counted on the engine, margins rolled up from them, sums exact."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.engine.duckdb import Engine
from discreet.engine.sql import Cells, Measures, Top, roll_contributors, roll_sums, roll_tops, roll_units, top_of
from discreet.errors import InputError
from discreet.model.codes import Given, columns_of, hierarchy_of
from discreet.model.condensed import condensed
from discreet.model.contributions import Contributions, Integers
from discreet.model.equations import equations_of, in_order, locate, merged
from discreet.model.facts import Facts, Wanted, make_facts
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
    spanning: Mapping[str, Given] | Sequence[str],
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
    totals.  Without ``response`` the table counts units.  ``shadow`` is the variable that the rules look at instead of the
    response, ``cost`` the one that secondary suppression avoids (default: the absolute cell value).  ``ranks`` largest
    contributions are kept a cell.
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
    columns = {variable: columns_of(microdata, variable, given) for variable, given in named.items()}
    more: dict[str, Any] = {"found": [given is None for given in named.values()], "secret": secret, "unit_noise": unit_noise}
    wanted = Wanted(response=response, shadow=shadow, cost=cost, decimals=decimals, where=where or {}, **more)
    if wanted.counts_only and set(microdata.roles.named()) <= {"record_key"}:
        microdata = condensed(microdata, list(chain.from_iterable(columns.values())), wanted.where)
    trees = [hierarchy_of(microdata, variable, given) for variable, given in named.items()]
    facts = make_facts(microdata, [held[-1] for held in columns.values()], trees, wanted)
    keep = 0 if response is None and shadow is None and not facts.named else ranks
    sums, tops = _count(microdata, facts, keep)
    microdata.engine.run("DROP VIEW facts; DROP TABLE IF EXISTS hashed; DROP TABLE IF EXISTS condensed")
    codes, sums = _in_order(facts.hierarchies, sums, empty)
    equations, cell, first = merged(equations_of(facts.hierarchies, codes))
    contributions = _contributions(codes, sums, tops, keep)
    if len(first) < len(codes):
        contributions = contributions.take(first)
    layout = Layout(name=name, variables=tuple(named), hierarchies=facts.hierarchies, codes=codes, cell=cell)
    about: dict[str, Any] = {"response": response or "units", "kind": "frequency" if response is None else "magnitude"}
    about |= {"cost": sums["cost"][first]} if cost else {}
    about |= {"decimals": facts.decimals, "published_decimals": published_decimals, "unit_noise": unit_noise}
    if published_decimals is None:
        about["published_decimals"] = facts.response_decimals
    table = Table.of((layout,), sums["value"][first], contributions, equations, **about)
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
    order = in_order(codes)
    return codes[order], _each(sums, lambda array: array[order])


def _each(columns: Columns, change: Callable[[NDArray[Any]], NDArray[Any]]) -> Columns:
    """The columns changed, an array that stands under several names once."""
    changed = {key: change(array) for key, array in {id(array): array for array in columns.values()}.items()}
    return {name: changed[id(array)] for name, array in columns.items()}


def _count(microdata: Microdata, facts: Facts, ranks: int) -> tuple[Columns, Columns]:
    """Everything counted: the sums of each cell, and its largest contributions as rows."""
    engine, roles = microdata.engine, microdata.roles
    cells = Cells(tuple(len(tree.codes) for tree in facts.hierarchies))
    top = Top(
        ranks=ranks,
        signed=facts.signed,
        weights=roles.weight is not None,
        requests=roles.request is not None,
        waivers=roles.waiver is not None,
        keys=facts.keyed,
        ids=facts.named,
    )
    measures = Measures(cells, top, facts.alike, several=facts.several_records, squared_in=facts.squared_in)
    roll = _Roll(engine, facts.hierarchies, cells)
    sums_in = roll.up("sums", measures.leaf_sums(), roll_sums, measures.rolled_sums())
    rows, number = [], f"COALESCE({engine.hash_of('CAST({} AS VARCHAR)', 60)}, -1) AS id"
    if ranks:
        tops = roll.up("tops", measures.leaf_tops(number.format("id")), roll_tops, top)
        rows.append(f"SELECT {cells.columns}, {', '.join(top.carried)}, rank FROM {tops}")
    if facts.several_records:
        shared = roll.up("shared", measures.leaf_contributors(), roll_contributors)
        sums = engine.fetch(measures.with_contributors(sums_in, shared))
        carried = ", ".join(number.format("who") if name == "id" else name for name in top.carried)
        rows.append(f"SELECT {cells.columns}, {carried}, 0 AS rank FROM {shared}")
    else:
        sums = measures.named(engine.fetch(f"SELECT * FROM {sums_in}"))
    if not len(sums["value"]):
        trouble = "check the filter and what is done with missing codes and values"
        raise InputError(microdata.name, "no record is left to count", trouble)
    if facts.several_units:
        _add_units(sums, roll)
    elif roles.holding is None:
        sums["records"] = sums["contributors"]
    if facts.squared_in is not None:
        sums["squares"] = np.asarray(sums["squares"], float) * facts.squared_in**2
    if not ranks:
        return sums, {}
    return sums, engine.fetch(rows[0] if len(rows) == 1 else top_of(" UNION ALL ".join(rows), cells, top))


class _Roll:
    """Rolls leaf cells up over all spanning variables."""

    def __init__(self, engine: Engine, hierarchies: Sequence[Hierarchy], cells: Cells) -> None:
        self.engine = engine
        self.cells = cells
        self.steps = [int(tree.height[0]) for tree in hierarchies]
        for v, tree in enumerate(hierarchies):
            part, node = _parts(tree)
            engine.load(f"up{v + 1}", {"part": part, "node": node, "step": tree.height[node]})

    def up(self, name: str, leaf: str, roll: Callable[..., str], *given: Any) -> str:
        """The name of a table of all cells: leaf cells, and step by step those of the nodes above."""
        self.engine.run(f"CREATE OR REPLACE TEMP TABLE {name} AS {leaf}")
        for v, steps in enumerate(self.steps):
            for step in range(1, steps + 1):
                self.engine.run(f"INSERT INTO {name} {roll(name, self.cells, v, step, *given)}")
        return name


def _parts(hierarchy: Hierarchy) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Pairs (part, node): the parts of each node, in the first tree where it has any, as those of all trees add up alike."""
    parts, nodes = [], []
    done = np.zeros(len(hierarchy.codes), bool)
    for tree in hierarchy.trees:
        part = np.flatnonzero(tree >= 0)
        part = part[~done[tree[part]]]
        parts.append(part.astype(np.int32))
        nodes.append(tree[part])
        done[tree[part]] = True
    return np.concatenate(parts), np.concatenate(nodes)


def _add_units(sums: Columns, roll: _Roll) -> None:
    """Counts each unit once a cell, also where it has several records."""
    cell, variables = roll.cells.columns, len(roll.cells.sizes)
    several = roll.up("several", f"SELECT DISTINCT {cell}, unit FROM facts WHERE unit IS NOT NULL", roll_units)
    single = f"SELECT {cell}, COUNT(*) AS n FROM facts WHERE unit IS NULL GROUP BY {cell}"
    single = roll.up("single", single, roll_sums, {"n": "SUM(r.n)"})
    sums["records"] = np.zeros(len(sums["records"]))
    for query in (f"SELECT * FROM {single}", f"SELECT {cell}, COUNT(*) AS n FROM {several} GROUP BY {cell}"):
        counted = roll.engine.fetch(query)
        sums["records"][locate(_codes(sums, variables), _codes(counted, variables))] += counted["n"]


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
    number = _each(sums, lambda array: np.nan_to_num(np.asarray(array, float), copy=False))
    cells = len(codes)
    top, unwaived = np.zeros((cells, ranks)), np.zeros(cells)
    ids, key = np.full((cells, ranks), -1, np.int64), np.zeros((cells, ranks), np.int64)
    request, waiver = np.zeros((cells, ranks), np.int64), np.zeros((cells, ranks), bool)
    weighted, unwaived_weighted = top, unwaived
    if ranks:
        cell: Integers = locate(codes, _codes(tops, codes.shape[1]))
        rank = tops["rank"].astype(np.int64) - 1
        listed = slice(None) if (rank < ranks).all() else rank < ranks
        at = cell[listed] * ranks + rank[listed]
        for name, array in {"x": top, "id": ids, "request": request, "waiver": waiver, "own_key": key}.items():
            if name in tops:
                array.reshape(-1)[at] = tops[name][listed]
        if "wx" in tops:
            weighted = np.zeros((cells, ranks))
            weighted.reshape(-1)[at] = tops["wx"][listed]
        unwaived, unwaived_weighted = top[:, 0].copy(), weighted[:, 0].copy()
        if "waiver" in tops:
            unwaived, unwaived_weighted = np.zeros(cells), np.zeros(cells)
            free = np.flatnonzero(tops["waiver"] == 0)
            free = free[np.argsort(-rank[free], kind="stable")]
            unwaived[cell[free]], unwaived_weighted[cell[free]] = tops["x"][free], tops.get("wx", tops["x"])[free]
    return Contributions(
        n=number["records"],
        holdings=number["contributors"],
        weight=number["weight"],
        total=number["total"],
        unweighted=number["unweighted"],
        absolute=number["absolute"],
        absolute_unweighted=number["absolute_unweighted"],
        top=top,
        top_weighted=weighted,
        top_id=ids,
        top_request=request,
        top_waiver=waiver,
        requests=number["requests"],
        unwaived_top=unwaived,
        unwaived_weighted=unwaived_weighted,
        key=number["keys"].astype(np.int64),
        top_key=key,
        noise=number["noise"],
        squares=number["squares"],
    )
