"""Totals as the sums of their rounded parts, from the inner cells up along the equations."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.errors import InputError, some
from discreet.model.contributions import Floats, Integers
from discreet.model.table import Bools, Table
from discreet.tables.rounding.scheme import Units

__all__ = ["Rounded", "inner_cells", "recomputed"]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Rounded:
    """A number a cell to show, between which true values it stands, and its variance; all in units, arrays over cells."""

    shown: Units
    low: Units
    high: Units
    variance: Floats


def inner_cells(table: Table) -> Bools:
    """The cells that are the total of no others."""
    inner = np.ones(table.cells, bool)
    inner[_sums(table.equations)[1]] = False
    return inner


def recomputed(table: Table, method: str, rounded: Rounded, ours: Bools, wanted: Bools) -> Rounded:
    """The same for inner cells; each total is the sum of those below it, and so are its bounds and its variance.

    ``ours`` the cells whose rounded number is shown, ``wanted`` those whose numbers are to be shown.

    Errors: InputError where a wanted total stands above an inner cell that shows no rounded number, and where linked tables
    give two different sums for one total.
    """
    rows, totals = _sums(table.equations)
    inner = np.ones(table.cells, bool)
    inner[totals] = False
    totals, first = np.unique(totals, return_index=True)
    parts = sparse.csr_array(table.equations[rows[first]].maximum(0))
    out = {name: np.where(inner, getattr(rounded, name), 0) for name in ("shown", "low", "high", "variance")}
    out["missing"] = np.where(inner & ~ours, 1, 0)
    known = inner.copy()
    while totals.size:
        ready = parts @ (~known).astype(float) == 0
        if not ready.any():
            _refuse(table, method, totals, "are parts of themselves, so that no order of summing gives them")
        chosen = parts[np.flatnonzero(ready)]
        for numbers in out.values():
            numbers[totals[ready]] = np.add.reduceat(numbers[chosen.indices], chosen.indptr[:-1])
        known[totals[ready]] = True
        parts, totals = parts[np.flatnonzero(~ready)], totals[~ready]
    hidden = np.flatnonzero(wanted & ~inner & (out.pop("missing") > 0))
    if hidden.size:
        _refuse(table, method, hidden, "stand above inner cells that are hidden, not listed or perturbed already")
    summed = Rounded(**out)
    _check(table, method, summed.shown, wanted)
    return summed


def _sums(equations: sparse.csr_array) -> tuple[Integers, Integers]:
    """The equations that say of one cell that it is the sum of others, and this cell."""
    size = np.diff(equations.indptr)
    row = np.repeat(np.arange(len(size)), size)
    minus, plus = equations.data == -1, equations.data == 1
    counted = [np.bincount(row[which], minlength=len(size)) for which in (minus, plus)]
    sums = (counted[0] == 1) & (counted[0] + counted[1] == size) & (size > 1)
    at = minus & sums[row]
    return row[at].astype(np.int64), equations.indices[at].astype(np.int64)


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
