"""Moves of several records as integer programs, and the bound of a linear program that proves that there is none."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from scipy import sparse

from discreet.errors import SolverError
from discreet.microdata.protect.swap.move_cells import Cells, FixedMargins
from discreet.model.contributions import Integers
from discreet.solve.highs import WarmProgram, solve
from discreet.solve.problem import Floats, Program

__all__ = ["LeastCounts", "Searched", "search_move"]

ROUNDING = 1e-6
"""What is taken for a whole number."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Searched:
    """What a search among some cells found: the ``change`` of the number of records in each, or None; and ``bound``, the
    fewest records that a move among these cells within the limits can have, infinite where there is none; ``cut`` whether
    the time was too short."""

    change: Integers | None
    bound: float
    cut: bool = False

    def __repr__(self) -> str:
        return f"Searched({'no move' if self.change is None else 'a move'})"


def search_move(
    fixed: FixedMargins,
    cells: Cells,
    which: int,
    *,
    least: int,
    most: int | None,
    seconds: float,
    start: Integers | None = None,
) -> Searched:
    """The move of fewest records, of ``least`` to ``most``, that takes a record of combination ``which`` among these cells.

    minimise Σ f⁻(z) where f⁺ and f⁻ are the records that cell z gains and loses: whole numbers with f⁻ ≤ n, f⁻(i) ≥ 1,
    f⁺(i) = 0 and Σ f⁺ = Σ f⁻ in each entry of each margin.  ``start`` is the change of cells by a move known before.
    """
    observed = np.flatnonzero(cells.held >= 0)
    mine = int(np.flatnonzero(cells.held == which)[0])
    counts = fixed.held.counts[cells.held[observed]]
    gain = cells.most.astype(float)
    gain[observed] -= counts  # a cell gains or loses
    gain[mine] = 0
    lower = np.zeros(len(gain) + len(counts))
    lower[len(gain) + int(np.searchsorted(observed, mine))] = 1
    cost = np.concatenate([np.zeros(len(gain)), np.ones(len(counts))])
    kept = _incidence(cells)
    limit = math.inf if most is None else float(most)
    program = Program.of(
        cost,
        sparse.vstack([sparse.hstack([kept, -kept[:, observed]]), sparse.csr_array(cost[None, :])]),
        np.concatenate([np.zeros(kept.shape[0]), [least]]),
        np.concatenate([np.zeros(kept.shape[0]), [limit]]),
        lower=lower,
        upper=np.minimum(np.concatenate([gain, counts]), limit),
        integer=np.ones(len(cost), bool),
    )
    known = None if start is None else np.concatenate([np.maximum(start, 0), np.maximum(-start, 0)[observed]]).astype(float)
    found = solve(program, time_limit=seconds, start=known)
    if found.status == "infeasible":
        return Searched(change=None, bound=math.inf)
    if found.status not in ("optimal", "time limit"):
        raise SolverError("swapping", f"HiGHS ended with {found.status!r}", "report it with the versions")
    bound = max(float(least), math.ceil(found.bound - ROUNDING)) if math.isfinite(found.bound) else float(least)
    cut = found.status == "time limit"
    if found.x is None:
        return Searched(change=None, bound=bound, cut=cut)
    whole = np.rint(found.x).astype(np.int64)
    change = whole[: len(gain)]
    change[observed] -= whole[len(gain) :]
    if (kept @ change).any() or change[mine] >= 0 or (change[observed] < -counts).any():
        raise SolverError("swapping", "HiGHS gave a point that is no swap", "report it with the versions")
    return Searched(change=change, bound=bound, cut=cut)


class LeastCounts:
    """The fewest records of a combination in any table with these margins: min n'(i), bounded by linear programs.

    They are over all cells that the margins have seen and differ only in what is minimised, so that each goes on from the last.
    """

    def __init__(self, fixed: FixedMargins, cells: Cells) -> None:
        used = np.unique(cells.rows)
        self._kept = _incidence(cells)
        self._counts = np.concatenate([one.counts for one in fixed.tallies])[used]
        self._most: Floats = cells.most.astype(float)
        self._place = {which: c for c, which in enumerate(cells.held.tolist()) if which >= 0}
        self._cells = cells
        program = Program.of(0.0, self._kept, self._counts, self._counts, upper=self._most)
        self._program = WarmProgram(program)

    def __repr__(self) -> str:
        return f"LeastCounts(of {len(self._place)} combinations)"

    def least(self, which: int, *, seconds: float) -> tuple[float, Integers | None]:
        """What is proved of a combination: no table has fewer records of it; −∞ where the time was too short.

        Also, where the best point is whole, the number of records of each combination of the file in that table.  The bound is
        worked out again from the dual prices y, as y·n + Σ min(0, c − Aᵀy)·u, which holds whatever their rounding.
        """
        cell = self._place[which]
        found = self._program.minimise(cell, time_limit=seconds)
        if found.row_dual is None or found.x is None:
            return -math.inf, None
        reduced = -(self._kept.T @ found.row_dual)
        reduced[cell] += 1
        bound = float(self._counts @ found.row_dual + np.minimum(reduced, 0) @ self._most)
        whole = np.rint(found.x).astype(np.int64)
        if (whole < 0).any() or (self._kept @ whole != self._counts).any():
            return bound, None
        table = np.zeros(len(self._place), np.int64)
        for combination, c in self._place.items():
            table[combination] = whole[c]
        return bound, table


def _incidence(cells: Cells) -> sparse.csr_array:
    """Which cells each entry of the margins counts; shape (entries with cells, cells)."""
    used, row = np.unique(cells.rows, return_inverse=True)
    column = np.repeat(np.arange(len(cells.codes)), cells.rows.shape[1])
    ones = np.ones(len(column), np.int64)
    return sparse.csr_array((ones, (row.ravel(), column)), shape=(len(used), len(cells.codes)))
