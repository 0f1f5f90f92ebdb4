"""The feasibility interval of each hidden cell: two linear programs a cell, and a table that proves each end."""

from __future__ import annotations

import dataclasses
import time

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.audit.system import Component
from discreet.model.contributions import Floats, Integers
from discreet.solve.highs import WarmProgram, solve
from discreet.solve.problem import Outcome, Program

__all__ = ["Clock", "Reach", "intervals", "program_of", "whole_end", "whole_intervals", "whole_program"]

CLOSE = 1e-9
"""Two ends this close, relative to their size, are one."""
NOISE = 1e-6
"""A whole number may be off by this share of a step in the solver's arithmetic."""

FAR = 4.0
"""Cells that are moved a little go at most so many times as far as needed."""

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

    def moves(self, whole: bool) -> Floats:
        """How far each cell is seen to move in all, in tables of ``whole`` numbers or in any."""
        return self.whole_high - self.whole_low if whole else self.seen_high - self.seen_low

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


def intervals(
    component: Component,
    targets: NDArray[np.bool_],
    clock: Clock,
    *,
    need: Floats,
    whole: bool = False,
    enough: NDArray[np.bool_] | None = None,
) -> Reach:
    """The reach of each target cell over real numbers, and with ``whole`` the whole tables met on the way.

    ``need`` (in the component's units) how far a cell without end must be shown to move.  An end is taken over
    without a solve where a checked table already touches a bound that follows from a single relation.  Of the cells that have
    ``enough`` once they are seen to move by ``need`` in all, no ends are looked for as soon as they do.
    """
    reach = Reach.of(component)
    if not component.matrix.shape[0]:
        far = np.where(component.gaps, np.inf, _far(component, need))
        for table in (np.minimum(component.upper, far), np.maximum(component.lower, -far)):
            reach.witness(component, table, whole=whole)
        reach.low, reach.high = component.lower.copy(), component.upper.copy()
        reach.proved[:] = True
        return reach
    if component.lifts.shape[0]:
        _lift_all(component, reach, need=need, whole=whole)
    lenient = targets & (np.zeros(len(targets), bool) if enough is None else enough)
    if lenient.sum() >= FEW:
        stir(component, reach, lenient, clock, need=need, whole=whole)
        if component.gaps.any():
            _fill(component, reach, lenient, clock, need=need, whole=whole)
    program = WarmProgram(program_of(component), duals=False)
    if (targets & ~lenient).any():
        _shake_both(component, program, reach, targets, clock, need=need, whole=whole)
    order, far = component.near_order(), _far(component, need)
    for target in order[targets[order]].tolist():
        if lenient[target] and reach.moves(whole)[target] >= need[target]:
            reach.proved[target] = True
            continue
        ends = [_end(component, program, reach, target, sign, clock, far, whole) for sign in (1, -1)]
        reach.proved[target] = all(ends)
    return reach


def _lift_all(component: Component, reach: Reach, *, need: Floats, whole: bool) -> None:
    """Move everything that lifts hold up together, and then down as far as the lowest cell of each lift goes."""
    raised = component.lifts
    above = np.bincount(raised.indices, minlength=raised.shape[1]).astype(float)
    reach.witness(component, above * float(_far(component, need).max()), whole=whole)
    lowest = np.where((above == 1) & np.isfinite(component.lower), component.lower, 0.0)
    reach.witness(component, raised.T @ (raised @ lowest), whole=whole)


def stir(component: Component, reach: Reach, targets: NDArray[np.bool_], clock: Clock, *, need: Floats, whole: bool) -> None:
    """Move many targets a little, in directions drawn for each, as long as that shows more of them to move as far as needed.

    No cell goes further than a few times what is needed, so that cells without end need no program of their own.
    """
    chance, idle = np.random.default_rng(1), 0
    far = FAR * np.maximum(need, component.step)
    lower, upper = component.beside_gaps()
    lower, upper = np.maximum(lower, -far), np.minimum(upper, far)
    program = WarmProgram(dataclasses.replace(program_of(component), lower=lower, upper=upper), duals=False)
    left = targets & (reach.moves(whole) < need)
    while left.any() and idle < 3 and not clock.over:
        room = np.where(chance.random(len(left)) < 0.5, 1.0, -1.0)
        room = np.where(upper <= 0, -1.0, np.where(lower >= 0, 1.0, room))
        program.set_cost(np.where(left, -room * (1 + chance.random(len(left))), 0.0))
        clock.solves += 1
        outcome = program.solve(time_limit=clock.left())
        if not outcome.optimal or outcome.x is None:
            return
        reach.witness(component, np.clip(outcome.x, lower, upper), whole=whole)
        still = targets & (reach.moves(whole) < need)
        idle = 0 if left.sum() - still.sum() >= WORTH else idle + 1
        left = still


def _fill(component: Component, reach: Reach, targets: NDArray[np.bool_], clock: Clock, *, need: Floats, whole: bool) -> None:
    """Fill empty targets with the least that each can hold, some of them drawn at a time, and fewer if that cannot be."""
    lower, upper = component.beside_gaps()
    program = WarmProgram(dataclasses.replace(program_of(component), lower=lower, upper=upper), duals=False)
    chance, some = np.random.default_rng(2), int(targets.sum())
    while some and not clock.over:
        left = np.flatnonzero(targets & (component.upper > upper) & (reach.moves(whole) < need))
        drawn = chance.permutation(left)[:some]
        program.set_bounds(drawn, component.least[drawn], component.upper[drawn])
        clock.solves += 1
        outcome = program.solve(time_limit=clock.left())
        if outcome.optimal and outcome.x is not None:
            reach.witness(component, np.clip(outcome.x, component.lower, component.upper), whole=whole)
        program.set_bounds(drawn, lower[drawn], upper[drawn])
        if not drawn.size or (reach.moves(whole)[drawn] < need[drawn]).any():
            some = min(some, drawn.size) // 2


def _shake_both(
    component: Component,
    program: WarmProgram,
    reach: Reach,
    targets: NDArray[np.bool_],
    clock: Clock,
    *,
    need: Floats,
    whole: bool,
) -> None:
    """Move all cells up together, then down; those with one end only go as far as they must be shown to move."""
    endless, far = np.isinf(reach.low) & np.isinf(reach.high), _far(component, need)
    half = targets & ~endless & (np.isinf(reach.low) | np.isinf(reach.high))
    if half.any():
        lower = np.where(half, np.maximum(component.lower, -far), component.lower)
        upper = np.where(half, np.minimum(component.upper, far), component.upper)
        program = WarmProgram(dataclasses.replace(program_of(component), lower=lower, upper=upper), duals=False)
    for sign in (1, -1):
        _shake(component, program, reach, targets & ~endless, sign, clock, whole, far)


def _far(component: Component, need: Floats) -> Floats:
    """How far a cell without end is shown to move: that says enough."""
    return 2 * need + component.step


def _shake(
    component: Component,
    program: WarmProgram,
    reach: Reach,
    targets: NDArray[np.bool_],
    sign: int,
    clock: Clock,
    whole: bool,
    far: Floats,
) -> None:
    """Move all cells whose bound no checked table touches yet, together, while that takes some more of them there."""
    size, missing = len(targets), np.inf
    while not clock.over:
        bound = _goal(reach, sign, far)
        left = targets & ~_touches(reach, slice(None), sign, far)
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


def _goal(reach: Reach, sign: int, far: Floats, cells: int | slice = slice(None)) -> Floats:
    """The end of each cell, or how far it is to be shown to move where it has none."""
    bound = (reach.high if sign > 0 else reach.low)[cells]
    return np.where(np.isinf(bound), sign * far[cells], bound)


def _touches(reach: Reach, cells: int | slice, sign: int, far: Floats) -> NDArray[np.bool_]:
    """Whether a checked table already goes as far as any can, or far enough where there is no end."""
    bound, seen = _goal(reach, sign, far, cells), (reach.seen_high if sign > 0 else reach.seen_low)[cells]
    return np.asarray(sign * (bound - seen) <= CLOSE * np.maximum(1.0, np.abs(seen)))


def _end(
    component: Component, program: WarmProgram, reach: Reach, target: int, sign: int, clock: Clock, far: Floats, whole: bool
) -> bool:
    """Find one end of one interval; false where it could not be proved."""
    if _touches(reach, target, sign, far):
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
        table = outcome.ray * (max(far[target], 1.0) / abs(outcome.ray[target]))
        return reach.witness(component, table, whole=whole) and bool(np.isinf(bound[target]))
    return False


def program_of(component: Component) -> Program:
    """The tables that agree with the release, as a program without an aim."""
    cost = np.zeros(len(component.cells))
    return Program(cost, component.matrix, component.low, component.high, component.lower, component.upper)


def whole_intervals(
    component: Component,
    reach: Reach,
    targets: NDArray[np.bool_],
    clock: Clock,
    *,
    need: Floats,
    enough: NDArray[np.bool_] | None = None,
) -> Reach:
    """The reach over whole numbers (multiples of the component's step), starting from the one over real numbers.

    An end is solved again only where no checked whole table touches it yet, and for cells with ``enough`` only as long as they
    are not seen to move by ``need``.
    """
    step = component.step
    exact = Reach.of(component)
    exact.low, exact.high = np.ceil(reach.low / step - NOISE) * step, np.floor(reach.high / step + NOISE) * step
    exact.seen_low, exact.seen_high = reach.whole_low.copy(), reach.whole_high.copy()
    exact.proved = reach.proved.copy()
    if not component.matrix.shape[0]:
        return exact
    for target in np.flatnonzero(targets).tolist():
        if clock.over:
            exact.proved[target] &= _whole_ends_met(exact, target, step)
            continue
        for sign in (1, -1):
            if enough is not None and enough[target] and exact.moves(False)[target] >= need[target]:
                continue
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


def _whole_ends_met(exact: Reach, target: int, step: float) -> bool:
    """Whether checked whole tables already go as far as any can, both ways."""
    up, down = exact.high[target] - exact.seen_high[target], exact.seen_low[target] - exact.low[target]
    return bool(up < step / 2 and down < step / 2)


def whole_end(
    component: Component, target: int, sign: int, clock: Clock, *, cap: float = np.inf, fixed: Integers | None = None
) -> Outcome:
    """Move one cell as far as whole numbers allow, by at most ``cap``, others ``fixed``; the outcome is in steps."""
    step = component.step
    program = whole_program(component, np.zeros(len(component.cells)))
    lower, upper, cost = program.lower, program.upper, program.cost
    lower[target], upper[target] = max(lower[target], -np.ceil(cap / step)), min(upper[target], np.ceil(cap / step))
    if fixed is not None:
        lower[fixed] = upper[fixed] = 0.0
    cost[target] = -sign
    clock.solves += 1
    outcome = solve(program, time_limit=clock.left())
    return outcome if outcome.x is None else dataclasses.replace(outcome, x=outcome.x[: len(component.cells)])


def whole_program(component: Component, cost: Floats) -> Program:
    """The whole tables that agree with the release, in steps; a further unknown, 0 or 1, for each cell that may be empty."""
    step, gaps = component.step, np.flatnonzero(component.gaps)
    lower, upper = np.ceil(component.lower / step - NOISE), np.floor(component.upper / step + NOISE)
    matrix, low, high = component.matrix, component.low / step, component.high / step
    if gaps.size:
        empty, least = np.rint(component.empty[gaps] / step), np.rint(component.least[gaps] / step)
        count, here = len(gaps), np.arange(len(gaps))
        pick = sparse.csr_array((np.ones(count), (here, gaps)), shape=(count, len(lower)))
        beside = sparse.hstack([matrix, sparse.csr_array((matrix.shape[0], count))])
        sides = [sparse.diags_array(empty - least), sparse.diags_array(empty - upper[gaps])]
        matrix = sparse.csr_array(sparse.vstack([beside, sparse.hstack([pick, sides[0]]), sparse.hstack([pick, sides[1]])]))
        endless = np.full(count, np.inf)
        low, high = np.concatenate([low, empty, -endless]), np.concatenate([high, endless, empty])
        lower, upper = np.concatenate([lower, np.zeros(count)]), np.concatenate([upper, np.ones(count)])
        cost = np.concatenate([cost, np.zeros(count)])
    return Program(cost, matrix, low, high, lower, upper, np.ones(len(lower), bool))
