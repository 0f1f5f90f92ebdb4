"""The feasibility interval of each hidden cell: two linear programs a cell, and a table that proves each end."""

from __future__ import annotations

import dataclasses
import time

import numpy as np
from numpy.typing import NDArray

from discreet.audit.system import Component
from discreet.model.contributions import Floats, Integers
from discreet.solve.highs import WarmProgram, solve
from discreet.solve.problem import Outcome, Program

__all__ = ["Clock", "Reach", "intervals", "program_of", "whole_end", "whole_intervals"]

CLOSE = 1e-9
"""Two ends this close, relative to their size, are one."""
NOISE = 1e-6
"""A whole number may be off by this share of a step in the solver's arithmetic."""

FEW, WORTH = 10, 3
"""So many cells are moved together at least, and as long as it takes so many more of them to their ends."""


class Clock:
    """Counts solves and says how much time is left."""

    def __init__(self, limit: float | None = None) -> None:
        self.began = time.perf_counter()
        self.limit = limit
        self.solves = 0

    def left(self) -> float | None:
        """Seconds left, None without a limit."""
        return None if self.limit is None else max(self.limit - (time.perf_counter() - self.began), 0.0)

    @property
    def over(self) -> bool:
        """No time is left."""
        left = self.left()
        return left is not None and left <= 0

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.began


@dataclasses.dataclass(kw_only=True, eq=False)
class Reach:
    """How far the cells of a component can move, in its units; arrays over its cells.

    ``low``/``high`` no table that agrees with the release goes further (infinite where there is no end, or
    none was found); ``seen_low``/``seen_high`` a checked table goes as far as this; ``whole_low``/``whole_high`` a checked
    table of whole numbers does; ``proved`` both ends come from finished solves.
    """

    low: Floats
    high: Floats
    seen_low: Floats
    seen_high: Floats
    whole_low: Floats
    whole_high: Floats
    proved: NDArray[np.bool_]

    @classmethod
    def of(cls, component: Component) -> Reach:
        """Nothing seen yet, and the ends that follow from one relation at a time."""
        size = len(component.cells)
        low, high = component.reachable()
        seen = [np.zeros(size) for _ in range(4)]
        return cls(
            low=low,
            high=high,
            seen_low=seen[0],
            seen_high=seen[1],
            whole_low=seen[2],
            whole_high=seen[3],
            proved=np.zeros(size, bool),
        )

    def witness(self, component: Component, table: Floats, *, whole: bool) -> bool:
        """Take a table into account if it agrees with the release; its whole neighbour too, where that matters."""
        margin = component.margin(table)
        np.minimum(self.seen_low, table + margin, out=self.seen_low)
        np.maximum(self.seen_high, table - margin, out=self.seen_high)
        if whole:
            rounded = np.rint(table / component.step) * component.step
            if component.margin(rounded) == 0:
                np.minimum(self.whole_low, rounded, out=self.whole_low)
                np.maximum(self.whole_high, rounded, out=self.whole_high)
        return bool(np.isfinite(margin))


def intervals(component: Component, targets: NDArray[np.bool_], clock: Clock, *, need: Floats, whole: bool = False) -> Reach:
    """The reach of each target cell over real numbers, and with ``whole`` the whole tables met on the way.

    ``need`` (in the component's units) how far a cell without end must be shown to move.  An end is taken over
    without a solve where a checked table already touches a bound that follows from a single relation.
    """
    reach = Reach.of(component)
    if not component.matrix.shape[0]:
        far = 2 * need + component.step
        for table in (np.minimum(component.upper, far), np.maximum(component.lower, -far)):
            reach.witness(component, table, whole=whole)
        reach.low, reach.high = component.lower.copy(), component.upper.copy()
        reach.proved[:] = True
        return reach
    program = WarmProgram(program_of(component), duals=False)
    for sign in (1, -1):
        _shake(component, program, reach, targets, sign, clock, whole)
    order = component.near_order()
    for target in order[targets[order]].tolist():
        ends = [_end(component, program, reach, target, sign, clock, float(need[target]), whole) for sign in (1, -1)]
        reach.proved[target] = all(ends)
    return reach


def _shake(
    component: Component,
    program: WarmProgram,
    reach: Reach,
    targets: NDArray[np.bool_],
    sign: int,
    clock: Clock,
    whole: bool,
) -> None:
    """Move all cells whose bound no checked table touches yet, together, while that takes some more of them there."""
    size, missing = len(targets), np.inf
    while not clock.over:
        bound = reach.high if sign > 0 else reach.low
        left = targets & np.isfinite(bound) & ~_touches(reach, slice(None), sign)
        if left.sum() < FEW or left.sum() > missing - WORTH:
            return
        missing = float(left.sum())
        cost = np.zeros(size)
        cost[left] = -1.0 / bound[left]
        program.set_cost(cost)
        clock.solves += 1
        outcome = program.solve(time_limit=clock.left())
        if not outcome.optimal or outcome.x is None:
            return
        reach.witness(component, np.clip(outcome.x, component.lower, component.upper), whole=whole)


def _touches(reach: Reach, cells: int | slice, sign: int) -> NDArray[np.bool_]:
    """Whether a checked table already goes as far as any can."""
    bound, seen = (reach.high, reach.seen_high) if sign > 0 else (reach.low, reach.seen_low)
    return np.asarray(sign * (bound[cells] - seen[cells]) <= CLOSE * np.maximum(1.0, np.abs(seen[cells])))


def _end(
    component: Component, program: WarmProgram, reach: Reach, target: int, sign: int, clock: Clock, need: float, whole: bool
) -> bool:
    """Find one end of one interval; false where it could not be proved."""
    if _touches(reach, target, sign):
        return True
    if clock.over:
        return False
    clock.solves += 1
    bound, seen = (reach.high, reach.seen_high) if sign > 0 else (reach.low, reach.seen_low)
    outcome = program.maximise(target, sign, time_limit=clock.left())
    if outcome.optimal and outcome.x is not None:
        reach.witness(component, np.clip(outcome.x, component.lower, component.upper), whole=whole)
        end = sign * outcome.objective
        bound[target] = max(end, seen[target]) if sign > 0 else min(end, seen[target])
        return True
    if outcome.status == "unbounded" and outcome.ray is not None and outcome.ray[target] * sign > 0:
        table = outcome.ray * (max(2 * need, 1.0) / abs(outcome.ray[target]))
        return reach.witness(component, table, whole=whole) and bool(np.isinf(bound[target]))
    return False


def program_of(component: Component) -> Program:
    """The tables that agree with the release, as a program without an aim."""
    cost = np.zeros(len(component.cells))
    return Program(cost, component.matrix, component.low, component.high, component.lower, component.upper)


def whole_intervals(component: Component, reach: Reach, targets: NDArray[np.bool_], clock: Clock, *, need: Floats) -> Reach:
    """The reach over whole numbers (multiples of the component's step), starting from the one over real numbers.

    An end is solved again only where no checked whole table touches it yet.
    """
    step = component.step
    exact = Reach.of(component)
    exact.low, exact.high = np.ceil(reach.low / step - NOISE) * step, np.floor(reach.high / step + NOISE) * step
    exact.seen_low, exact.seen_high = reach.whole_low.copy(), reach.whole_high.copy()
    exact.proved = reach.proved.copy()
    for target in np.flatnonzero(targets).tolist():
        for sign in (1, -1):
            bound, seen = (exact.high, exact.seen_high) if sign > 0 else (exact.low, exact.seen_low)
            if sign * (bound[target] - seen[target]) < step / 2:
                continue
            cap = np.inf if np.isfinite(bound[target]) else 2 * need[target] + step
            outcome = whole_end(component, target, sign, clock, cap=cap)
            if outcome.x is not None:
                exact.witness(component, np.rint(outcome.x) * step, whole=False)
            end = -outcome.objective * step
            if outcome.optimal and end < cap - step:
                bound[target] = sign * end
            exact.proved[target] &= outcome.optimal
    return exact


def whole_end(
    component: Component, target: int, sign: int, clock: Clock, *, cap: float = np.inf, fixed: Integers | None = None
) -> Outcome:
    """Move one cell as far as whole numbers allow, by at most ``cap``, others ``fixed``; the outcome is in steps."""
    step = component.step
    lower, upper = np.ceil(component.lower / step - NOISE), np.floor(component.upper / step + NOISE)
    lower[target], upper[target] = max(lower[target], -np.ceil(cap / step)), min(upper[target], np.ceil(cap / step))
    if fixed is not None:
        lower[fixed] = upper[fixed] = 0.0
    cost = np.zeros(len(component.cells))
    cost[target] = -sign
    clock.solves += 1
    whole = np.ones(len(cost), bool)
    program = Program(cost, component.matrix, component.low / step, component.high / step, lower, upper, whole)
    return solve(program, time_limit=clock.left())
