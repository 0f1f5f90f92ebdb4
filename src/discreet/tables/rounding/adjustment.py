"""Controlled tabular adjustment."""

from __future__ import annotations

import dataclasses
import time
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.errors import InputError, NotProtectedError
from discreet.method import check_params, param
from discreet.model.contributions import Floats
from discreet.model.table import Table
from discreet.solve.highs import solve
from discreet.solve.problem import Outcome, Program
from discreet.tables.rounding.parts import in_reading_order

__all__ = ["ControlledAdjustment"]

Bools = NDArray[np.bool_]

FINEST = 100
"""Cells are moved in steps of a power of ten of which the smallest protection level has at least so many."""
WHOLE = 1e-6


@dataclasses.dataclass(frozen=True, kw_only=True)
class ControlledAdjustment:
    """Move each sensitive cell up or down by its protection level, and others as little as keeps the table additive.

    With the adjustments z⁺, z⁻ ≥ 0 of each cell and the equations M of the table, ``min Σ w·(z⁺ + z⁻)`` with
    ``M·(z⁺ − z⁻) = 0``.  A sensitive cell goes up by at least its upper protection level or down by at least its lower one (by
    its sliding level, where that is larger; by one unit of the last decimal, where there is none); a cell that is
    not sensitive moves by at most ``most`` per cent of its value.  The weight w is 1, or the cell's value, or one over it, so
    that changes count as such, as shares of the table, or relatively.  All cells are shown, the sensitive ones too, and
    no cell tells whether it was moved; cells that must be published stay, and those hidden to protect others stay hidden.

    The best directions are an integer program, solved to within ``gap``; at ``time_limit`` it ends with the best found, which
    then depends on the machine.  ``directions`` = ``alternate`` takes the sensitive cells by size, up and down in turn, which
    is quick but may be dearer or not possible.  Cells are moved in whole steps of a power of ten, at most a hundredth of the
    smallest protection level.

    Guards against: taking a published number of a sensitive cell for its value: it is off by at least the protection level.
    Does not guard against: whoever knows which cells are sensitive and how far they move; estimates from other tables; analysts
    who take the numbers for exact.  What other cells were moved by is not told.
    """

    NAME: ClassVar[str] = "controlled-adjustment"
    SOURCE: ClassVar[str] = (
        "Dandekar and Cox (2002), Synthetic tabular data: an alternative to complementary cell suppression; "
        "Castro (2006), Minimum-distance controlled perturbation methods for large-scale tabular data protection"
    )

    most: float = param(50.0, "how far a cell that is not sensitive may move", unit="% of its value", above=0, at_most=100)
    weights: str = param(
        "unit", "what a change by one costs: 1, the cell's value, or one over it", choices=("unit", "value", "relative")
    )
    directions: str = param("best", "up and down as is cheapest, or in turn by size", choices=("best", "alternate"))
    gap: float = param(1.0, "how far the costs may be from the least possible", unit="% of the costs", at_least=0, at_most=100)
    time_limit: float | None = param(None, "seconds after which the best adjustment found so far is taken", unit="s", above=0)

    def __post_init__(self) -> None:
        check_params(self)

    def apply(self, table: Table, /) -> Table:
        """The table with every listed cell shown as adjusted.

        Errors: NotProtectedError where no adjustment within these bounds exists, or none was found in time.
        """
        start = time.perf_counter()
        if not table.primary.any():
            raise InputError(self.NAME, "finds no sensitive cell to adjust", "put a sensitivity rule before it")
        task = _Task(table, self)
        outcome = task.solved(self.time_limit)
        if outcome.x is None:
            self._refuse(table, outcome)
        moved = task.moves(outcome.x)
        if moved is None:
            ups = outcome.x[2 * task.cells :] > 0.5
            left = None if self.time_limit is None else max(0.0, self.time_limit - (time.perf_counter() - start))
            outcome = task.solved(left, ups=ups, whole=True)
            moved = None if outcome.x is None else task.moves(outcome.x)
        if moved is None:
            self._refuse(table, outcome)
        show = table.listed & ~table.perturbed & ~table.frozen & ~table.secondary
        shown = np.where(show, np.round(table.value + moved, table.decimals) + 0.0, np.nan)
        counts = {"moved": int((moved[show] != 0).sum()), "sensitive": int(table.primary.sum())}
        if not outcome.optimal:
            counts["best found within the time limit"] = 1
        return table.with_shown(self.NAME, shown, seconds=time.perf_counter() - start, **counts)

    def _refuse(self, table: Table, outcome: Outcome) -> NoReturn:
        count = int(table.primary.sum())
        if outcome.status == "time limit":
            problem, fix = (
                f"found no adjustment for {count} sensitive cells in time",
                "give it more time, or alternate directions",
            )
        else:
            problem = f"no adjustment of the table moves all {count} sensitive cells far enough"
            fix = "let other cells move further (most), or hide cells instead"
            fix += ", or look for the best directions" if self.directions == "alternate" else ""
        raise NotProtectedError(self.NAME, problem, fix)


class _Task:
    """The program over z⁺, z⁻ of all cells in reading order, and y of the sensitive ones (1: up); in whole steps."""

    def __init__(self, table: Table, method: ControlledAdjustment) -> None:
        order, equations = in_reading_order(table)
        self.order, self.cells, self.method = order, table.cells, method
        up, down = _levels(table)
        least = float(np.minimum(up, down)[table.primary].min())
        self.step = max(table.unit, 10.0 ** np.floor(np.log10(least / FINEST) + 1e-9))
        self.up, self.down = (np.ceil(level[order] / self.step - 1e-9) for level in (up, down))
        value, floor = table.value[order], table.floor()[order]
        self.sensitive = np.flatnonzero(table.primary[order])
        room = np.floor(method.most / 100 * np.abs(value) / self.step + 1e-9)
        room[table.frozen[order]] = 0.0
        free = ~table.listed[order]
        self.rise, self.fall = np.where(free, np.inf, room), np.where(free, np.inf, room)
        at = self.sensitive
        self.rise[at], self.fall[at] = np.maximum(room[at], self.up[at]), np.maximum(room[at], self.down[at])
        self.fall = np.minimum(self.fall, np.floor((value - floor) / self.step + 1e-9))
        self.equations, self.size = equations, np.abs(value)
        self.unit = table.unit

    def solved(self, time_limit: float | None, *, ups: Bools | None = None, whole: bool = False) -> Outcome:
        """The best adjustment; with the directions ``ups`` of the sensitive cells given, or found as the method says."""
        if ups is None and self.method.directions == "alternate":
            ranked = np.argsort(-self.size[self.sensitive], kind="stable")
            ups = np.empty(len(ranked), bool)
            ups[ranked] = np.arange(len(ranked)) % 2 == 0
            ups |= self.fall[self.sensitive] < self.down[self.sensitive]
        program = self._program(ups)
        integer = np.zeros(len(program.cost), bool)
        integer[: 2 * self.cells] = whole
        integer[2 * self.cells :] = ups is None
        gap = self.method.gap / 100
        return solve(dataclasses.replace(program, integer=integer), time_limit=time_limit, mip_gap=gap)

    def _program(self, ups: Bools | None) -> Program:
        cells, at = self.cells, self.sensitive
        chosen = np.arange(len(at))
        pick = sparse.csr_array((np.ones(len(at)), (chosen, at)), shape=(len(at), cells))
        none = sparse.csr_array((len(at), cells))

        def tied(amount: Floats) -> sparse.csr_array:
            return sparse.csr_array(sparse.diags_array(amount))

        up, down, rise, fall = self.up[at], self.down[at], self.rise[at], self.fall[at]
        blocks: list[list[Any]] = [
            [self.equations, -self.equations, None],
            [pick, none, tied(-up)],  # z⁺ − U·y ≥ 0
            [pick, none, tied(-rise)],  # z⁺ − rise·y ≤ 0
            [none, pick, tied(down)],  # z⁻ + L·y ≥ L
            [none, pick, tied(fall)],  # z⁻ + fall·y ≤ fall
        ]
        rows, zero, endless = self.equations.shape[0], np.zeros(len(at)), np.full(len(at), np.inf)
        must = fall < down
        lower_y = np.where(must, 1.0, 0.0) if ups is None else ups.astype(float)
        upper_y = np.ones(len(at)) if ups is None else ups.astype(float)
        cost = {"unit": np.ones(cells), "value": self.size, "relative": 1 / np.maximum(self.size, self.unit)}[
            self.method.weights
        ]
        cost = cost / cost.max() if cost.any() else cost
        return Program(
            np.concatenate([cost, cost, zero]),
            sparse.csr_array(sparse.block_array(blocks)),
            np.concatenate([np.zeros(rows), zero, -endless, down, -endless]),
            np.concatenate([np.zeros(rows), endless, zero, endless, fall]),
            np.concatenate([np.zeros(2 * cells), lower_y]),
            np.concatenate([self.rise, self.fall, upper_y]),
        )

    def moves(self, x: Floats) -> Floats | None:
        """The adjustment of each cell in the table's own order and units, or None where it is in no whole steps."""
        steps = x[: self.cells] - x[self.cells : 2 * self.cells]
        whole = np.rint(steps)
        if np.abs(steps - whole).max() > WHOLE * max(1.0, np.abs(steps).max()) or (self.equations @ whole).any():
            return None
        out = np.empty(self.cells)
        out[self.order] = whole * self.step
        return out


def _levels(table: Table) -> tuple[Floats, Floats]:
    """How far each sensitive cell must go up or down, at least one unit of the last decimal."""
    sliding = table.sliding_protection
    up = np.maximum(np.maximum(table.upper_protection, sliding), table.unit)
    down = np.maximum(np.maximum(table.lower_protection, sliding), table.unit)
    return up, down
