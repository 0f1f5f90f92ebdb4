"""Totals as the sums of their rounded parts, from the inner cells up along the equations."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.errors import InputError, some
from discreet.model.contributions import Floats
from discreet.model.table import Bools, Table
from discreet.tables.rounding.parts import in_summing_order
from discreet.tables.rounding.scheme import Units

__all__ = ["Rounded", "recomputed"]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Rounded:
    """A number a cell to show, between which true values it stands, and its variance; all in units, arrays over cells."""

    shown: Units
    low: Units
    high: Units
    variance: Floats


def recomputed(table: Table, method: str, rounded: Rounded, ours: Bools, wanted: Bools) -> Rounded:
    """The same for inner cells; each total is the sum of those below it, and so are its bounds and its variance.

    ``ours`` the cells whose rounded number is shown, ``wanted`` those whose numbers are to be shown.

    Errors: InputError where a wanted total stands above an inner cell that shows no rounded number, and where linked tables
    give two different sums for one total.
    """
    levels, circular = in_summing_order(table.equations)
    if circular.size:
        _refuse(table, method, circular, "are parts of themselves, so that no order of summing gives them")
    inner = np.ones(table.cells, bool)
    for totals, _ in levels:
        inner[totals] = False
    parts = sparse.csr_array(table.equations.maximum(0))
    parts.eliminate_zeros()
    out = {name: np.where(inner, getattr(rounded, name), 0) for name in ("shown", "low", "high", "variance")}
    out["missing"] = np.where(inner & ~ours, 1, 0)
    for totals, rows in levels:
        chosen = parts[rows]
        for numbers in out.values():
            numbers[totals] = np.add.reduceat(numbers[chosen.indices], chosen.indptr[:-1])
    hidden = np.flatnonzero(wanted & ~inner & (out.pop("missing") > 0))
    if hidden.size:
        _refuse(table, method, hidden, "stand above inner cells that are hidden, not listed or perturbed already")
    summed = Rounded(**out)
    _check(table, method, summed.shown, wanted)
    return summed


def _check(table: Table, method: str, shown: Units, wanted: Bools) -> None:
    """Refuses where an equation between shown cells does not hold for the sums."""
    numbers = shown.astype(float)
    off = np.abs(table.equations @ numbers) > 0.5 + 1e-9 * (abs(table.equations) @ np.abs(numbers))
    if off.any():
        cells = np.unique(table.equations[np.flatnonzero(off)].indices)
        _refuse(table, method, cells[wanted[cells]], "have different sums in different tables once their parts are rounded")


def _refuse(table: Table, method: str, cells: NDArray[Any], why: str) -> None:
    labels = [table.label(int(cell)) for cell in cells[:100]]
    raise InputError(
        method,
        f"totals = 'recompute' cannot be had: {len(cells)} cells {why}: {some(labels, 3)}",
        "use totals = 'independent', or a method of controlled rounding",
        details=labels,
    )
