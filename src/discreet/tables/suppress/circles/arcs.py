"""A table with two spanning variables as a network: each cell an arc, each equation a node in which flows add up to 0."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

from discreet.errors import InputError, some
from discreet.model.contributions import Floats
from discreet.model.layout import Layout
from discreet.model.table import Table
from discreet.tables.suppress.subtables import check_layouts

__all__ = ["Network", "network_of"]

Node = tuple[str, int, int]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Network:
    """Edges ``2 * arc`` along each arc and ``2 * arc + 1`` against it; a move of the table is a flow in a circle.

    ``leaving[node]`` lists its edges with the nodes they lead to; ``ends[edge]`` is where an edge starts and ends;
    ``cell[arc]`` the cell whose change is the flow along the arc, ``arcs[cell]`` all arcs of a cell (none for a cell
    without a line), which carry the same flow in any case.
    """

    leaving: tuple[tuple[tuple[int, int], ...], ...]
    ends: tuple[tuple[int, int], ...]
    cell: tuple[int, ...]
    arcs: tuple[tuple[int, ...], ...]

    def rooms(self, rise: Floats, fall: Floats) -> list[float]:
        """How much can flow along each edge, from how far each cell can rise and fall."""
        return [float(side[cell]) for cell in self.cell for side in (rise, fall)]


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Axis:
    """The codes of one spanning variable that differ: ``code`` of each code the one that stands for it, and its total."""

    code: tuple[int, ...]
    above: tuple[int, ...]
    inner: frozenset[int]
    deep: bool


def network_of(table: Table, method: str) -> Network:
    """The network of a table.

    The lines of the deeper variable's finest codes are nodes, and its totals are one node for each code of the other
    variable; the sums over the other variable in a total's line follow from these, so that each cell is left with two
    equations of opposite sign.

    Errors: InputError for linked tables, three or more variables, two hierarchies, groupings that do not nest, further
    equations, and tables with a total left out.
    """
    layout, (tall, wide) = _shape(table, method)
    check_layouts(table, method)
    axes = [_axis(layout, v) for v in (tall, wide) if v >= 0]
    codes = layout.codes.tolist()
    lines: dict[tuple[int, int], int] = {}
    for line, cell in zip(codes, layout.cell.tolist(), strict=True):
        at = axes[0].code[line[tall]], axes[1].code[line[wide]] if wide >= 0 else 0
        lines.setdefault(at, int(cell))
    flat = axes[1] if wide >= 0 else None
    _check_totals(lines, axes[0], flat, method)
    return _wired([(*_nodes(at, axes[0], flat), lines[at]) for at in sorted(lines)], table.cells)


def _shape(table: Table, method: str) -> tuple[Layout, tuple[int, int]]:
    """The layout and its two variables, the one with a hierarchy first; -1 for a second one that is not there."""
    advice = "use another suppression method, such as gauss-suppression"
    if len(table.layouts) != 1:
        raise InputError(method, f"{len(table.layouts)} linked tables are no network", advice)
    layout = table.layouts[0]
    used = [v for v, hierarchy in enumerate(layout.hierarchies) if len(set(hierarchy.alike.tolist())) > 1]
    names = [layout.variables[v] for v in used]
    if len(used) > 2:
        raise InputError(method, f"a table of more than two spanning variables is no network: {some(names)}", advice)
    if not used:
        raise InputError(method, "the table has no spanning variable with two codes", advice)
    crossed = [name for v, name in zip(used, names, strict=True) if len(layout.hierarchies[v].trees) > 1]
    if crossed:
        raise InputError(method, f"groupings that do not nest are no network: {some(crossed)}", advice)
    deep = [v for v in used if _axis(layout, v).deep]
    if len(deep) > 1:
        raise InputError(method, f"a table with two hierarchies is no network: {some(names)}", advice)
    tall = deep[0] if deep else used[0]
    return layout, (tall, next((v for v in used if v != tall), -1))


def _axis(layout: Layout, variable: int) -> _Axis:
    hierarchy = layout.hierarchies[variable]
    code = tuple(hierarchy.alike.tolist())
    tree = hierarchy.trees[0].tolist()
    above = tuple(code[total] if total >= 0 else -1 for total in tree)
    inner = frozenset(above[one] for one in set(code)) - {-1}
    return _Axis(code=code, above=above, inner=inner, deep=len(inner) > 1)


def _check_totals(lines: dict[tuple[int, int], int], tall: _Axis, wide: _Axis | None, method: str) -> None:
    """Refuses a table in which a part has no total, or a total no part."""
    parts = {(tall.above[row], column) for row, column in lines if row}
    across = {(row, 0) for row, column in lines if column} if wide else set()
    totals = {(row, column) for row, column in lines if row in tall.inner}
    lone = {(row, column) for row, column in lines if not column} if wide else set()
    if parts != totals or across != lone:
        raise InputError(
            method,
            "the table leaves out a total, or all the parts of one, and so is no network",
            "use another suppression method, such as gauss-suppression",
        )


def _nodes(at: tuple[int, int], tall: _Axis, wide: _Axis | None) -> tuple[Node, Node]:
    """Where the arc of a line starts and ends; the grand total's sums close the circle."""
    row, column = at
    edge: Node = ("row", 0, 0)
    lower: Node = ("sum", row, column) if row in tall.inner else ("row", row, 0) if wide else edge
    upper: Node = ("sum", tall.above[row], column) if row else edge
    return (lower, upper) if column else (upper, lower)


def _wired(arcs: Sequence[tuple[Node, Node, int]], cells: int) -> Network:
    number: dict[Node, int] = {}
    for node in itertools.chain.from_iterable((tail, head) for tail, head, _ in arcs):
        number.setdefault(node, len(number))
    leaving: list[list[tuple[int, int]]] = [[] for _ in number]
    ends: list[tuple[int, int]] = []
    of_cell: list[list[int]] = [[] for _ in range(cells)]
    for arc, (tail, head, cell) in enumerate(arcs):
        of_cell[cell].append(arc)
        for one, other in ((number[tail], number[head]), (number[head], number[tail])):
            leaving[one].append((other, len(ends)))
            ends.append((one, other))
    return Network(
        leaving=tuple(map(tuple, leaving)),
        ends=tuple(ends),
        cell=tuple(cell for _, _, cell in arcs),
        arcs=tuple(map(tuple, of_cell)),
    )
