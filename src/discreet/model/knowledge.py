"""Facts published beside the cells of a table: totals in a heading, and percentages."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy import sparse

from discreet.errors import InputError, some
from discreet.model.contributions import Integers
from discreet.model.equations import locate
from discreet.model.layout import Knowledge, Layout
from discreet.model.table import Table

__all__ = ["header_total", "percentages"]


def header_total(table: Table, codes: Mapping[str, str] | None = None) -> Knowledge:
    """A total that a heading publishes (``N = 240``) although the table does not list the cell; its value counts as known.

    ``codes`` of the cell, the grand total by default.
    """
    cell = table.cell(codes or {})
    matrix = sparse.csr_array(([1.0], ([0], [cell])), shape=(1, table.cells))
    value = table.value[[cell]]
    always = np.array([-1])
    return Knowledge(matrix=matrix, low=value, high=value, while_published=always, what=(f"heading: {table.label(cell)}",))


def percentages(table: Table, *, of: str, decimals: int = 1, hidden: bool = False) -> Knowledge:
    """Percentages of each cell in its total over the variable ``of``, shown with so many decimals.

    A shown percentage ``p`` tells of the cell ``y`` and its total ``t`` that ``(p - h) t <= 100 y <= (p + h) t`` with
    ``h`` half a unit of the last decimal (both turned round for a total below 0).  They are shown beside published cells
    only, or also beside hidden ones (``hidden=True``).  A total of 0 has no percentages.
    """
    layouts = [layout for layout in table.layouts if of in layout.variables]
    if not layouts:
        names = dict.fromkeys(name for layout in table.layouts for name in layout.variables)
        raise InputError("percentages.of", f"{of!r} is no spanning variable", f"use {some(names)}")
    part, whole = (np.concatenate(both) for both in zip(*(_with_totals(layout, of) for layout in layouts), strict=True))
    pairs = np.unique(np.stack([part, whole], 1), axis=0)
    pairs = pairs[(table.value[pairs[:, 1]] != 0) & (pairs[:, 0] != pairs[:, 1])]
    part, whole = pairs.T
    share = 100 * table.value[part] / table.value[whole]
    half = 0.5 * 10.0**-decimals
    shown = np.round(share, decimals)
    rows, size = np.arange(2 * len(part)), len(part)
    entries = np.concatenate([np.full(2 * size, 100.0), -(shown - half), -(shown + half)])
    places = (np.concatenate([rows, rows]), np.concatenate([part, part, whole, whole]))
    matrix = sparse.csr_array((entries, places), shape=(2 * size, table.cells))
    positive = table.value[whole] > 0
    at_least = np.concatenate([positive, ~positive])
    label = [f"percentage of {table.label(int(cell))}" for cell in part]
    return Knowledge(
        matrix=matrix,
        low=np.where(at_least, 0.0, -np.inf),
        high=np.where(at_least, np.inf, 0.0),
        while_published=np.tile(np.full(size, -1) if hidden else part, 2),
        what=(*label, *label),
    )


def _with_totals(layout: Layout, of: str) -> tuple[Integers, Integers]:
    """Each cell of a layout with the cell that is its total over the variable."""
    v = layout.variables.index(of)
    wanted = layout.codes.copy()
    wanted[:, v] = 0
    total = locate(layout.codes, wanted)
    return layout.cell[total >= 0], layout.cell[total[total >= 0]]
