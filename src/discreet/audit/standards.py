"""The four minimum audit standards of the handbook, per sub-table and over the full system of equations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.audit.insiders import insider_pairs
from discreet.audit.intervals import Clock, intervals, whole_intervals
from discreet.audit.system import SHORT, System, subsystem
from discreet.model.contributions import Integers
from discreet.model.finding import Finding
from discreet.model.layout import Layout
from discreet.model.table import Table

__all__ = ["standards"]


def standards(table: Table, cell: Integers, verdict: NDArray[np.object_], findings: Sequence[Finding]) -> dict[str, bool]:
    """Which standards hold, from the full audit and a closer look at the sub-tables that hold what it found wrong.

    What the full system does not give away no part of it does, so no other sub-table needs to be looked at.  The
    standards on contributors (PS2, PS2*) are left out where none are assumed to be intruders.
    """
    sensitive = table.primary[cell]
    exact = cell[sensitive & np.isin(verdict, ("exact", "not proved"))]
    narrow = cell[sensitive & (verdict != "safe")]
    told = [finding.cell for finding in findings if finding.knows]
    troubled = np.zeros(table.cells, bool)
    troubled[narrow], troubled[told] = True, True
    parts = [_part(table, subsystem(table, rows), troubled) for rows in _subtables(table, troubled)]
    held = {
        "PS1": all(part["PS1"] for part in parts),
        "PS1*": all(part["PS1*"] for part in parts),
        "full PS1": not exact.size,
        "full PS1*": not narrow.size,
    }
    if table.intruder.insiders != "none":
        held["PS2"] = not _told_in_one_equation(table)
        held["PS2*"] = held["PS2"] and all(part["PS2*"] for part in parts)
        held["full PS2*"] = not told and not exact.size
    return dict(sorted(held.items()))


def _part(table: Table, part: System, troubled: NDArray[np.bool_]) -> dict[str, bool]:
    """The standards of one sub-table, judged at its troubled cells."""
    clock = Clock()
    up, down, width = table.needs()
    exactness = table.exactness()
    known = part.known & table.primary & troubled & np.isin(np.arange(table.cells), part.equalities.indices)
    held = {"PS1": not known.any(), "PS1*": not known.any(), "PS2*": True}
    whole = bool(table.intruder.integer)
    for component in part.components:
        cells, scale = component.cells, component.scale
        targets = (troubled & table.primary)[cells]
        if not targets.any():
            continue
        need = np.maximum(np.maximum(up, down), width)[cells] / scale
        reach = intervals(component, targets, clock, need=need, whole=whole)
        if whole:
            reach = whole_intervals(component, reach, targets, clock, need=need)
        high, low = reach.seen_high * scale, reach.seen_low * scale
        slack = SHORT * np.maximum(np.maximum(up, down), exactness)[cells]
        kept = high - low >= exactness[cells] * (1 - SHORT)
        met = (high >= up[cells] - slack) & (-low >= down[cells] - slack) & (high - low >= width[cells] * (1 - SHORT))
        held["PS1"] &= bool(kept[targets].all())
        held["PS1*"] &= bool(met[targets].all())
        found = insider_pairs(
            component, targets & kept, exactness[cells] / scale, table.insiders(unlisted=True), clock, whole=whole
        )
        held["PS2*"] &= not found.failed and not found.undecided
    return held


def _told_in_one_equation(table: Table) -> bool:
    """Whether an equation leaves one insider with a single unknown cell, a sensitive one."""
    insiders = table.insiders(unlisted=True)
    if not insiders:
        return False
    rows = np.repeat(np.arange(len(insiders)), [len(group) for group in insiders])
    shape = (len(insiders), table.cells)
    knows = sparse.csr_array((np.ones(len(rows)), (rows, np.concatenate(insiders))), shape=shape)
    pattern = abs(table.equations)
    unknown = (pattern @ table.unknown.astype(float)).round()
    sensitive = (pattern @ table.primary.astype(float)).round()
    meets = sparse.coo_array(knows @ pattern.T)
    meets_sensitive = sparse.csr_array(knows @ (pattern @ sparse.diags_array(table.primary.astype(float))).T)
    group, equation = meets.coords
    left = unknown[equation] - meets.data
    left_sensitive = sensitive[equation] - np.asarray(meets_sensitive[group, equation]).ravel()
    return bool(((left == 1) & (left_sensitive == 1)).any())


def _subtables(table: Table, troubled: NDArray[np.bool_]) -> Iterator[Integers]:
    """The equations of each sub-table (one code per spanning variable with its parts) that holds a troubled cell."""
    seen: set[bytes] = set()
    for layout in table.layouts:
        for subtable in dict.fromkeys(_subtables_of(layout, troubled)):
            inside = np.zeros(table.cells, bool)
            inside[layout.cell[_lines(layout, subtable)]] = True
            outside = abs(table.equations) @ (~inside).astype(float)
            rows = np.flatnonzero(outside == 0)
            if rows.size and rows.tobytes() not in seen:
                seen.add(rows.tobytes())
                yield rows


def _subtables_of(layout: Layout, troubled: NDArray[np.bool_]) -> Iterator[tuple[tuple[int, int], ...]]:
    """Sub-tables as one (tree, node) a variable, around each line with a troubled cell."""
    for line in np.flatnonzero(troubled[layout.cell]):
        around = []
        for v, hierarchy in enumerate(layout.hierarchies):
            code = int(layout.codes[line, v])
            nodes = []
            for which, tree in enumerate(hierarchy.trees):
                nodes += [(which, int(tree[code]))] if tree[code] >= 0 else []
                nodes += [(which, code)] if (tree == code).any() else []
            around.append(nodes)
        yield from product(*around)


def _lines(layout: Layout, subtable: tuple[tuple[int, int], ...]) -> NDArray[np.bool_]:
    inside = np.ones(len(layout.cell), bool)
    for v, (which, node) in enumerate(subtable):
        tree = layout.hierarchies[v].trees[which]
        member = tree == node
        member[node] = True
        inside &= member[layout.codes[:, v]]
    return inside
