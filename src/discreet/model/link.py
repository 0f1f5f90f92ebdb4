"""Linked tables: several tables of one response as one set of cells under all equations between them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.errors import InputError, some
from discreet.model.contributions import Contributions, Integers
from discreet.model.equations import equations_of, merged, residuals
from discreet.model.hierarchy import Hierarchy
from discreet.model.join import check_agreement, join
from discreet.model.layout import Knowledge, Layout
from discreet.model.table import Table
from discreet.model.trees import Nodes

__all__ = ["link"]

JOINED = (
    "status", "frozen", "exempt", "listed", "cost", "lower", "upper",
    "upper_protection", "lower_protection", "sliding_protection",
)  # fmt: skip


def link(*tables: Table, names: Sequence[str] | None = None) -> Table:
    """One table with the layouts of all, in which each published number is one cell however often it occurs.

    Cells are the same when they have the same codes, totals left out; a variable that a table does not have is its
    total there.  Codes of one variable that stand for the same leaves, in any of its hierarchies, are one code.  The
    equations are those of each table and every relation between lines of different tables that follows from the
    hierarchies and holds.  Statuses: the stronger; protection levels and costs: the larger; bounds: the tighter; rules: all.
    ``names`` gives each layout a name, by default its own.

    Errors: InputError when the tables are not of one response, when a code means different things in them, or when
    one and the same cell has different numbers (the cells are named, never the numbers).
    """
    _check_alike(tables)
    layouts = _named([layout for table in tables for layout in table.layouts], names)
    start = np.cumsum([0, *(table.cells for table in tables)])
    cell = np.concatenate([layout.cell + at for table, at in zip(tables, start, strict=False) for layout in table.layouts])
    variables = tuple(dict.fromkeys(name for layout in layouts for name in layout.variables))
    trees = {name: _together(name, layouts) for name in variables}
    codes = _universal(layouts, variables, trees)
    everything = _Everything(tables, start)
    equations, cell_of, _ = merged(_equations(everything, codes, cell, [trees[name].tree for name in variables]))
    everything.check(cell_of)
    rules, fired = everything.rules()
    fields = {name: everything.column(name) for name in JOINED} | {"fired": fired}
    joined = join(fields, cell_of, everything.label, "link")
    chosen = everything.richest(cell_of)
    ends = np.cumsum([0, *(len(layout.cell) for layout in layouts)])
    placed = tuple(dataclasses.replace(layout, cell=cell_of[cell[ends[i] : ends[i + 1]]]) for i, layout in enumerate(layouts))
    linked = Table.of(
        placed,
        everything.column("value")[chosen],
        everything.contributions.take(chosen),
        equations,
        response=tables[0].response,
        kind=tables[0].kind,
        decimals=max(table.decimals for table in tables),
        rules=rules,
        knowledge=everything.knowledge(cell_of),
        intruder=tables[0].intruder,
        published_decimals=tables[0].published_decimals,
        unit_noise=tables[0].unit_noise,
        history=tuple(step for table in tables for step in table.history),
        **joined,
    )
    shared = int(start[-1]) - linked.cells
    return linked.with_step("link", "tables linked", tables=len(tables), cells=linked.cells, shared=shared)


def _check_alike(tables: Sequence[Table]) -> None:
    if len(tables) < 2:
        raise InputError("link", f"{len(tables)} table is given", "give at least two")
    if any(table.perturbed.any() for table in tables):
        raise InputError("link", "a table is perturbed already", "link the tables first, then round them or add noise")
    for what in ("response", "kind", "intruder", "published_decimals", "unit_noise"):
        if any(getattr(table, what) != getattr(tables[0], what) for table in tables[1:]):
            told = (
                ""
                if what in ("intruder", "unit_noise")
                else ": " + some(dict.fromkeys(getattr(table, what) for table in tables))
            )
            mend = {
                "response": "responses that add up are codes of a spanning variable; read or tabulate them as one table",
                "kind": "link frequency tables with frequency tables",
                "intruder": "give all tables the same one: table.with_intruder(...)",
                "published_decimals": "publish a number with the same decimals wherever it stands",
                "unit_noise": "tabulate all of them with the same unit noise, or none",
            }[what]
            raise InputError("link", f"the tables differ in their {what}{told}", mend)
    ranks = {table.contributions.ranks for table in tables}
    if len(ranks) > 1:
        raise InputError(
            "link", "the tables hold different numbers of largest contributions", "read or tabulate them with the same number"
        )


def _named(layouts: Sequence[Layout], names: Sequence[str] | None) -> list[Layout]:
    if names is None:
        names = [layout.name for layout in layouts]
    elif isinstance(names, str) or len(names) != len(layouts):
        raise InputError("link", f"{len(names)} names are given for {len(layouts)} tables", "give one name each")
    if len(set(names)) < len(names):
        raise InputError("link", f"tables share a name: {some(names)}", "give each its own: names = ['t1', 't2']")
    return [dataclasses.replace(layout, name=name) for layout, name in zip(layouts, names, strict=True)]


# -------------------------------------------------------------------- codes


@dataclasses.dataclass(frozen=True)
class _Together:
    """All hierarchies of one variable: a ``tree`` whose codes all stand for different leaves, and ``where`` each code is."""

    tree: Hierarchy
    where: Mapping[str, int]


def _together(name: str, layouts: Sequence[Layout]) -> _Together:
    trees = list({id(tree): tree for tree in (_tree(layout, name) for layout in layouts) if tree is not None}.values())
    for i, one in enumerate(trees):
        for other in trees[i + 1 :]:
            _check_compatible(name, one, other)
    inner = [code for tree in trees for code in tree.codes[1:]]
    codes = list(dict.fromkeys(["\0total", *inner]))
    position = {code: i for i, code in enumerate(codes)}
    rows: dict[bytes, Nodes] = {}
    for tree in trees:
        to = np.array([0, *(position[code] for code in tree.codes[1:]), -1], np.int32)
        for parents in tree.trees:
            row = np.full(len(codes), -1, np.int32)
            row[to[:-1]] = to[parents]
            rows.setdefault(row.tobytes(), row)
    alike = Hierarchy(tuple(codes), np.array(list(rows.values()), np.int32)).alike
    contracted = np.full((len(rows), len(codes)), -1, np.int32)
    for row, parents in zip(contracted, rows.values(), strict=True):
        child = np.flatnonzero(parents >= 0)
        child = child[alike[child] != alike[parents[child]]]
        row[alike[child]] = alike[parents[child]]
    totals = {tree.total: 0 for tree in trees}
    return _Together(Hierarchy(tuple(codes), contracted), {code: int(alike[i]) for code, i in position.items()} | totals)


def _tree(layout: Layout, variable: str) -> Hierarchy | None:
    return layout.hierarchies[layout.variables.index(variable)] if variable in layout.variables else None


def _check_compatible(name: str, one: Hierarchy, other: Hierarchy) -> None:
    """Refuses a code of one name that stands for different codes, as far as both hierarchies know them."""
    for whole, parts in ((one, other), (other, one)):
        if whole.total in parts.codes[1:]:
            raise InputError(
                f"link, variable {name!r}",
                f"code {whole.total!r} is the total of one table and a part in another",
                "give the smaller table the hierarchy of the larger one, in which this code stands below the total",
            )
    bad: list[str] = []
    for left, right in ((one, other), (other, one)):
        there = {code: i for i, code in enumerate(right.codes)} | {left.total: 0}
        position = np.array([there.get(code, -1) for code in left.codes])
        leaf, node = (position[end] for end in left.closure())
        known = (leaf >= 0) & (node > 0)
        leaf, node = leaf[known], node[known]
        right_leaf, right_node = (end.astype(np.int64) for end in right.closure())
        size = len(right.codes)
        inside = np.bincount(right_node, minlength=size)
        shared: sparse.csr_array = sparse.csr_array((np.ones(len(right_leaf)), (right_node, right_leaf)), shape=(size, size))
        both = np.asarray(shared[leaf].multiply(shared[node]).sum(axis=1)).ravel() if len(leaf) else np.zeros(0)
        bad += [right.codes[i] for i in np.unique(node[both < inside[leaf]])]
    if bad:
        bad = list(dict.fromkeys(bad))
        raise InputError(
            f"link, variable {name!r}",
            f"codes stand for different codes in the tables: {some(bad)}",
            "give them different names, or both tables the same hierarchy",
            details=bad,
        )


def _universal(layouts: Sequence[Layout], variables: Sequence[str], trees: Mapping[str, _Together]) -> NDArray[np.int32]:
    """The codes of all lines over all variables, shape (lines, variables); codes of the same leaves are one code."""
    blocks = []
    for layout in layouts:
        block = np.zeros((len(layout.cell), len(variables)), np.int32)
        for v, (name, hierarchy) in enumerate(zip(layout.variables, layout.hierarchies, strict=True)):
            to = np.array([trees[name].where[code] for code in hierarchy.codes], np.int32)
            block[:, variables.index(name)] = to[layout.codes[:, v]]
        blocks.append(block)
    return np.concatenate(blocks)


# -------------------------------------------------------------------- cells


class _Everything:
    """The cells of all tables one after the other."""

    def __init__(self, tables: Sequence[Table], start: Integers) -> None:
        self.tables = tables
        self.start = start
        parts = [table.contributions for table in tables]
        self.contributions = Contributions(
            **{f.name: np.concatenate([getattr(part, f.name) for part in parts]) for f in dataclasses.fields(Contributions)}
        )

    def column(self, name: str) -> NDArray[Any]:
        return np.concatenate([getattr(table, name) for table in self.tables])

    def label(self, cell: int) -> str:
        table = int(np.searchsorted(self.start, cell, side="right")) - 1
        return self.tables[table].label(cell - int(self.start[table]))

    def check(self, cell: Integers) -> None:
        """Refuses one and the same cell with different numbers or differently numbered contributors."""
        of = self.contributions
        numbers = {"value": self.column("value"), "number of contributors": of.n, "number of holdings": of.holdings}
        numbers |= {"rule variable": of.total, "largest contributions": of.top}
        check_agreement(numbers, cell, self.label, "link", tolerance=1e-12)
        largest = np.full((int(cell.max()) + 1, of.ranks), -1, np.int64)
        np.maximum.at(largest, cell, of.top_id)
        check_agreement({"contributors' ids": np.where(of.top_id < 0, largest[cell], of.top_id)}, cell, self.label, "link")

    def richest(self, cell: Integers) -> Integers:
        """For each cell the first of its occurrences that knows most contributors by id."""
        known = (self.contributions.top_id >= 0).sum(axis=1)
        order = np.lexsort((np.arange(len(cell)), -known, cell))
        _, first = np.unique(cell[order], return_index=True)
        return order[first]

    def rules(self) -> tuple[tuple[Any, ...], NDArray[np.uint64]]:
        """All rules, each once, and which of them fired in each cell."""
        rules: list[Any] = []
        blocks = []
        for table in self.tables:
            fired = np.zeros(table.cells, np.uint64)
            for bit, rule in enumerate(table.rules):
                if rule not in rules:
                    rules.append(rule)
                hit = (table.fired >> np.uint64(bit)) & np.uint64(1)
                fired |= hit << np.uint64(rules.index(rule))
            blocks.append(fired)
        if len(rules) > 64:
            raise InputError("link", f"the tables have {len(rules)} different rules", "use the same rules in all; 64 are held")
        return tuple(rules), np.concatenate(blocks)

    def knowledge(self, cell: Integers) -> tuple[Knowledge, ...]:
        """What is published beside the cells, told of the linked cells."""
        out = []
        cells = int(cell.max()) + 1
        for table, at in zip(self.tables, self.start, strict=False):
            mine = cell[at : at + table.cells]
            to = sparse.csr_array((np.ones(len(mine)), (np.arange(len(mine)), mine)), shape=(len(mine), cells))
            for known in table.knowledge:
                tied = np.where(known.while_published >= 0, mine[known.while_published], -1)
                out.append(dataclasses.replace(known, matrix=sparse.csr_array(known.matrix @ to), while_published=tied))
        return tuple(out)


def _equations(
    everything: _Everything, codes: NDArray[np.int32], cell: Integers, trees: Sequence[Hierarchy]
) -> sparse.csr_array:
    """Those of each table, those that make equal cells equal, and those between lines of different tables."""
    cells = int(everything.start[-1])
    own = sparse.block_diag([table.equations for table in everything.tables], format="csr")
    lines, first, number = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    same, beside = cell, cell[first][number.ravel()]
    differ = np.flatnonzero(same != beside)
    row = np.arange(len(differ))
    ones = np.ones(len(differ))
    equal = sparse.csr_array(
        (np.concatenate([ones, -ones]), (np.tile(row, 2), np.concatenate([same[differ], beside[differ]]))),
        shape=(len(differ), cells),
    )
    between = equations_of(trees, lines.astype(np.int32))
    scale = 10 ** max(table.decimals for table in everything.tables)
    at = cell[first]
    units = np.array([round(value * scale) for value in everything.column("value")[at].tolist()], object)
    n = everything.contributions.n
    holds = residuals(between, units) == 0
    counted = np.abs(between @ n[at]) < 1e-6
    additive = bool((np.abs(own @ n) < 1e-6).all())
    holds &= counted | ((np.diff(between.indptr) > 2) & (not additive))
    to = sparse.csr_array((np.ones(len(at)), (np.arange(len(at)), at)), shape=(len(at), cells))
    return sparse.csr_array(sparse.vstack([own, equal, between[np.flatnonzero(holds)] @ to], format="csr"))
