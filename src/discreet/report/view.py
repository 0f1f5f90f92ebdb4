"""The table as the report shows it: rows × columns, a mark for each cell, and the published values alone."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.model.contributions import Floats, Integers
from discreet.model.hierarchy import Hierarchy
from discreet.model.layout import Layout
from discreet.model.table import Status, Table

__all__ = ["MARKS", "marks", "view"]

MARKS = {
    "o": "published",
    "r": "published rounded or with noise",
    "p": "primary: sensitive in itself",
    "s": "secondary: hidden to protect others",
    "n": "not listed: left out of the release by choice",
    ".": "nothing there: no such cell, or a known zero",
}
"""What each letter of ``marks`` says."""

_SHOWN = ("o", "r")
_MOST_CELLS = 20_000
_MOST_COLUMNS = 400
_MOST_IN_SLICES = 60_000


@dataclasses.dataclass(frozen=True)
class _Axis:
    """One spanning variable with those of its codes that are shown, as positions in its hierarchy."""

    variable: str
    hierarchy: Hierarchy
    shown: NDArray[np.int64]

    def only(self, keep: Any) -> _Axis:
        return dataclasses.replace(self, shown=self.shown[keep])

    def place(self) -> NDArray[np.int64]:
        """Where each code of the hierarchy is shown, -1 where it is not."""
        place = np.full(len(self.hierarchy.codes), -1, np.int64)
        place[self.shown] = np.arange(len(self.shown))
        return place

    def facts(self) -> dict[str, Any]:
        names = [self.hierarchy.codes[i] for i in self.shown]
        return {
            "variable": self.variable,
            "codes": names,
            "labels": [self.hierarchy.labels.get(name, "") for name in names],
            "levels": [int(self.hierarchy.level[i]) for i in self.shown],
        }


_NO_COLUMNS = _Axis("", Hierarchy(("",), np.full((1, 1), -1, np.int32)), np.zeros(1, np.int64))
"""Stands in for the columns of a table with a single spanning variable."""


def view(table: Table, layout: Layout, shown: Floats | None, decimals: int) -> dict[str, Any]:
    """One layout as JSON: ``rows``, ``columns`` and ``others`` (variable, codes, labels, levels) and ``slices``.

    Of the first two spanning variables the one with more codes makes the rows.  A slice holds for one choice of codes of
    the other variables (``codes``; the first slice has their totals) ``marks``, one letter of :data:`MARKS` a cell, row
    by row, and ``values``, a number for each published cell, perturbed or not, and null for every other one.  ``shown`` has
    the value of each cell that the release shows, with its ``decimals``; None leaves all values out.  ``cut`` says in words
    what was too much to show.
    """
    axes = [
        _Axis(name, hierarchy, np.unique(layout.codes[:, v]).astype(np.int64))
        for v, (name, hierarchy) in enumerate(zip(layout.variables, layout.hierarchies, strict=True))
    ]
    codes = layout.codes
    if len(axes) == 1:
        axes.append(_NO_COLUMNS)
        codes = np.column_stack([codes, np.zeros(len(codes), np.int32)])
    order = list(range(len(axes)))
    if len(axes[1].shown) > len(axes[0].shown):
        order[:2] = [1, 0]
    rows, columns, *others = [axes[v] for v in order]
    rows, columns, cut = _fit(rows, columns)
    chosen = list(itertools.product(*(axis.shown for axis in others)))
    most = max(1, _MOST_IN_SLICES // (len(rows.shown) * len(columns.shown)))
    if len(chosen) > most:
        chosen.sort(key=lambda at: sum(int(axis.hierarchy.level[code]) for axis, code in zip(others, at, strict=True)))
        chosen = chosen[:most]
        cut.append(f"{most} choices of {' and '.join(axis.variable for axis in others)}, those nearest to the totals")
    grid = _Grid(codes[:, order], layout.cell, rows, columns)
    mark = marks(table)
    slices = []
    for at in chosen:
        names = [axis.hierarchy.codes[code] for axis, code in zip(others, at, strict=True)]
        slices.append({"codes": names} | _slice(grid.cells(at), mark, shown, decimals))
    return {
        "name": layout.name,
        "rows": rows.facts(),
        "columns": columns.facts() if columns.variable else None,
        "others": [axis.facts() for axis in others],
        "slices": slices,
        "cut": f"Too large to show whole; shown are {', '.join(cut)}. The release holds every line." if cut else "",
    }


def _fit(rows: _Axis, columns: _Axis) -> tuple[_Axis, _Axis, list[str]]:
    """Cut the axes, deepest level first, until the table can be shown; says what is left of an axis that was cut."""
    axes = [rows, columns]
    depths = [int(axis.hierarchy.level[axis.shown].max()) for axis in axes]
    while len(axes[0].shown) * len(axes[1].shown) > _MOST_CELLS and max(depths) > 1:
        at = max((0, 1), key=lambda a: (depths[a] > 1, len(axes[a].shown)))
        depths[at] -= 1
        axes[at] = axes[at].only(axes[at].hierarchy.level[axes[at].shown] <= depths[at])
    axes[1] = axes[1].only(slice(_MOST_COLUMNS))
    axes[0] = axes[0].only(slice(_MOST_CELLS // len(axes[1].shown)))
    cut = [
        f"{len(axis.shown)} of {len(before.shown)} codes of {axis.variable}"
        for axis, before in zip(axes, (rows, columns), strict=True)
        if len(axis.shown) < len(before.shown)
    ]
    return axes[0], axes[1], cut


class _Grid:
    """Where each line of a layout stands among the rows and columns that are shown."""

    def __init__(self, codes: NDArray[np.int32], cell: Integers, rows: _Axis, columns: _Axis) -> None:
        row, column = rows.place()[codes[:, 0]], columns.place()[codes[:, 1]]
        inside = (row >= 0) & (column >= 0)
        self.others = codes[inside, 2:]
        self.cell = cell[inside]
        self.place = (row * len(columns.shown) + column)[inside]
        self.size = len(rows.shown) * len(columns.shown)

    def cells(self, others: tuple[int, ...]) -> Integers:
        """The cell in each place, row by row, -1 for none, for these codes of the other variables."""
        within = (self.others == np.array(others, np.int32)).all(axis=1)
        cells = np.full(self.size, -1, np.int64)
        cells[self.place[within]] = self.cell[within]
        return cells


def _slice(cells: Integers, mark: list[str], shown: Floats | None, decimals: int) -> dict[str, Any]:
    letters = "".join(mark[cell] if cell >= 0 else "." for cell in cells)
    if shown is None:
        return {"marks": letters, "values": None}
    pairs = zip(letters, shown[cells], strict=True)
    return {
        "marks": letters,
        "values": [_number(float(value), decimals) if letter in _SHOWN else None for letter, value in pairs],
    }


def _number(value: float, decimals: int) -> int | float:
    return round(value, decimals) if decimals > 0 else round(value)


def marks(table: Table) -> list[str]:
    """The letter of each cell, see :data:`MARKS`."""
    letter = {Status.OPEN: "o", Status.SECONDARY: "s", Status.PRIMARY: "p"}
    cells = zip(table.status.tolist(), table.listed.tolist(), table.perturbed.tolist(), strict=True)
    return ["r" if told else letter[Status(status)] if listed or status else "n" for status, listed, told in cells]
