"""Several tables with the same cells that are published with one pattern: what is hidden in one is hidden in all."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from discreet.errors import InputError, ParameterError, some
from discreet.model.contributions import Integers
from discreet.model.layout import Layout
from discreet.model.published import Exemption
from discreet.model.table import Bools, Table
from discreet.plan.catalog import PERTURBATION, SUPPRESSION
from discreet.plan.protect import Method, Progress, apply_all, secure
from discreet.tables.suppress.moves.attackers import hideable

__all__ = ["protect_shared", "share_pattern"]

_NAME = "shared-pattern"


def protect_shared(
    tables: Sequence[Table], methods: Sequence[Method], *, time_limit: float | None = None, progress: Progress | None = None
) -> tuple[Table, ...]:
    """Protect several tables, such as several responses over the same cells, by one pattern that protects them all.

    The methods are applied to each table.  Cells are the same when they have the same codes, totals left out; a cell that only
    some tables have is shared by these.  A cell hidden in one table is hidden in all, one that must be published in one must be
    in all, and each table is audited and repaired under the common pattern until nothing more needs to be hidden.  A cell
    costs the sum of its shares in the costs of the tables.  The pattern protects, but may hide more than the least there is.

    Errors: NotProtectedError as from ``protect``; InputError where a cell is sensitive in one table and must be published in
    another; ParameterError where no method hides cells, or where one shows rounded numbers or noise.
    """
    return share_pattern([(table, methods, ()) for table in tables], time_limit=time_limit, progress=progress)


def share_pattern(
    parts: Sequence[tuple[Table, Sequence[Method], Sequence[Exemption]]],
    *,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> tuple[Table, ...]:
    """The same for tables with methods, and with exceptions, of their own."""
    deadline = None if time_limit is None else time.monotonic() + time_limit
    ready = []
    for table, methods, _ in parts:
        ready.append(apply_all(table, _before_hiding(methods), progress=progress))
    numbers = _same_cells(ready)
    cells = _Cells(ready, numbers)
    working = [cells.prepared(k) for k in range(len(ready))]
    first, hidden = True, cells.anywhere([table.suppressed for table in ready])
    while True:
        before = hidden.copy()
        for k, (_, methods, exceptions) in enumerate(parts):
            table = _hide(working[k], hidden[numbers[k]])
            if first:
                hiding = [method for method in methods if getattr(method, "NAME", "") in SUPPRESSION]
                table = apply_all(table, hiding, exceptions=exceptions, progress=progress)
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            working[k], _ = secure(table, methods, exceptions=exceptions, time_limit=left, progress=progress)
            hidden[numbers[k][working[k].suppressed]] = True
        if np.array_equal(hidden, before) and not first:
            break
        first = False
    shared = int(hidden.sum())
    return tuple(
        done.replace(cost=table.cost, frozen=table.frozen).with_step(_NAME, "one pattern", tables=len(parts), hidden=shared)
        for done, table in zip(working, ready, strict=True)
    )


def _before_hiding(methods: Sequence[Method]) -> list[Method]:
    names = [str(getattr(method, "NAME", "")) for method in methods]
    if noisy := [name for name in names if name in PERTURBATION]:
        raise ParameterError(_NAME, f"{some(noisy)} shows other numbers, which have no pattern to share", "leave it out")
    places = [place for place, name in enumerate(names) if name in SUPPRESSION]
    if not places:
        raise ParameterError(_NAME, "none of the methods hides cells", "add one, such as gauss-suppression")
    return [method for method, name in zip(methods, names, strict=True) if name not in SUPPRESSION]


def _hide(table: Table, hidden: Bools) -> Table:
    more = hidden & ~table.suppressed & table.listed
    return table.with_secondary(_NAME, more) if more.any() else table


class _Cells:
    """What the tables say of their common cells."""

    def __init__(self, tables: Sequence[Table], numbers: Sequence[Integers]) -> None:
        self.tables, self.numbers = tables, numbers
        self.size = 1 + max(int(number.max(initial=-1)) for number in numbers)
        frozen, sensitive = self.anywhere([t.frozen for t in tables]), self.anywhere([t.suppressed for t in tables])
        for table, number in zip(tables, numbers, strict=True):
            clash = np.flatnonzero((frozen & sensitive)[number])
            if clash.size:
                named = [table.label(int(cell)) for cell in clash]
                problem = f"{some(named, 3)}: hidden in one table and forced to be published in another"
                raise InputError(_NAME, problem, "declare these cells safe, or do not force them", details=named)
        stiff = self.anywhere([~(table.unknown | hideable(table)) for table in tables])
        self.kept = stiff & ~sensitive
        self.cost = np.zeros(self.size)
        for table, number in zip(tables, numbers, strict=True):
            np.add.at(self.cost, number, np.maximum(table.cost, 0.0) / max(float(table.cost.sum()), 1e-300))

    def anywhere(self, marks: Sequence[Bools]) -> Bools:
        """The common cells that are marked in some table."""
        out = np.zeros(self.size, bool)
        for number, mark in zip(self.numbers, marks, strict=True):
            out[number[mark]] = True
        return out

    def prepared(self, k: int) -> Table:
        """A table with the common costs, in which nothing may be hidden that some table must publish."""
        table, number = self.tables[k], self.numbers[k]
        cost = self.cost[number] * float(table.cost.sum())
        return table.replace(cost=cost, frozen=(table.frozen | self.kept[number]) & ~table.suppressed)


def _same_cells(tables: Sequence[Table]) -> list[Integers]:
    """A number for each cell of each table, the same for cells that have some codes in common, totals left out."""

    known: dict[frozenset[tuple[str, str]], int] = {}
    start = np.cumsum([0, *(table.cells for table in tables)])
    cell, key = [], []
    for table, at in zip(tables, start, strict=False):
        for layout in table.layouts:
            columns = [_told(layout, v) for v in range(len(layout.variables))]
            for one, codes in zip(layout.cell.tolist(), zip(*columns, strict=True), strict=True):
                named = frozenset(code for code in codes if code is not None)
                cell.append(int(at) + one)
                key.append(known.setdefault(named, len(known)))
    total = int(start[-1])
    ends = (np.array(cell, np.int64), total + np.array(key, np.int64))
    graph = sparse.coo_array((np.ones(len(cell)), ends), shape=(total + len(known),) * 2)
    number = connected_components(graph, directed=False)[1]
    return [np.asarray(number[start[k] : start[k + 1]], np.int64) for k in range(len(tables))]


def _told(layout: Layout, v: int) -> list[tuple[str, str] | None]:
    """The code of each line for one variable, with the variable's name; None for the total."""
    name, codes = layout.variables[v], layout.hierarchies[v].codes
    named = [None, *((name, code) for code in codes[1:])]
    return [named[place] for place in layout.codes[:, v].tolist()]
