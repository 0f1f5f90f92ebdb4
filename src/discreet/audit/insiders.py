"""What contributors see who know their own hidden cells: can they recompute a sensitive cell of another?

One line of tables ``value + t * d`` that all agree with the release proves the cells it moves far enough against every
insider whose known cells it leaves alone.  Sparse directions ``d`` (a cycle, mostly) settle many pairs of insider and
cell at once, and one linear program finds many such directions; only pairs that none of them has settled get programs of
their own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from discreet.audit.intervals import Clock, program_of, whole_end
from discreet.audit.system import SHORT, Component, graph
from discreet.model.contributions import Floats, Integers
from discreet.solve.highs import WarmProgram
from discreet.solve.problem import Program

__all__ = ["Pairs", "insider_pairs"]

NOTHING = 1e-9
_TURNS = 3
"""How often cells are moved together: each time, what the insiders still waiting know is left alone where possible."""
_SHUNNED = 1e3
"""How much dearer such cells are."""
_FEW, _MOST = 10, 40
"""How many cells are moved together, at least and at most."""


@dataclasses.dataclass(kw_only=True, eq=False)
class Pairs:
    """Pairs of (sensitive cell, insider) of one component: how many were checked, which fail, which nobody could decide.

    A cell is its position in the component, an insider its position in the table's list.
    """

    checked: int
    failed: list[tuple[int, int]]
    undecided: list[tuple[int, int]]


def insider_pairs(
    component: Component,
    targets: NDArray[np.bool_],
    width: Floats,
    insiders: Sequence[Integers],
    clock: Clock,
    *,
    whole: bool = False,
) -> Pairs:
    """Which insiders know a target cell to within less than ``width`` (in the component's units)."""
    groups, names = _inside(component, insiders)
    pairs = Pairs(checked=0, failed=[], undecided=[])
    if not targets.any() or not groups:
        return pairs
    pairs.checked = sum(
        int(targets.sum() - targets[group].sum()) * len(name) for group, name in zip(groups, names, strict=True)
    )
    goals = np.flatnonzero(targets & ~_unseen(component, groups))
    if not goals.size:
        return pairs
    search = _Search(component, goals, width, groups, clock, whole)
    if component.matrix.shape[0]:
        search.run()
    else:
        search.waiting[:] = False  # an isolated cell: what others know says nothing of it
    for outcome, listed in ((search.failed, pairs.failed), (search.undecided, pairs.undecided)):
        listed += [(int(goals[row]), insider) for row, group in outcome for insider in names[group]]
    return pairs


def _inside(component: Component, insiders: Sequence[Integers]) -> tuple[list[Integers], list[list[int]]]:
    """The insiders' cells as positions in the component; insiders who know the same cells of it are taken together."""
    ordered = np.argsort(component.cells)
    cells = component.cells[ordered]
    same: dict[tuple[int, ...], list[int]] = {}
    for name, known in enumerate(insiders):
        spot = np.minimum(np.searchsorted(cells, known), len(cells) - 1)
        here = ordered[spot[cells[spot] == known]]
        if here.size:
            same.setdefault(tuple(sorted(here.tolist())), []).append(name)
    return [np.array(group) for group in same], list(same.values())


def _unseen(component: Component, groups: Sequence[Integers]) -> NDArray[np.bool_]:
    """Cells that rise by themselves, or with cells of which no insider knows any: of these nobody else learns anything."""
    known = np.zeros(len(component.cells), bool)
    known[np.concatenate(groups)] = True
    unseen = np.zeros(len(known), bool)
    met = component.lifts @ known.astype(float)
    unseen[component.lifts[np.flatnonzero(met == 0)].indices] = True
    single = component.lifts[np.flatnonzero(met == 1)].indices
    unseen[single[known[single]]] = True
    return unseen


class _Search:
    """Settles pairs by sparse directions first and exact programs last."""

    def __init__(
        self, component: Component, goals: Integers, width: Floats, groups: list[Integers], clock: Clock, whole: bool
    ) -> None:
        size = len(component.cells)
        self.lower, self.upper = component.beside_gaps()
        self.component, self.goals, self.width, self.groups = component, goals, width, groups
        self.clock, self.whole = clock, whole
        rows = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        self.knows = sparse.csr_array((np.ones(len(rows)), (rows, np.concatenate(groups))), shape=(len(groups), size))
        self.waiting = np.ones((len(goals), len(groups)), bool)
        owners = sparse.coo_array(self.knows[:, goals])
        self.waiting[owners.coords[1], owners.coords[0]] = False
        self.failed: list[tuple[int, int]] = []
        self.undecided: list[tuple[int, int]] = []
        self.row_of = np.full(size, -1, np.int64)
        self.row_of[goals] = np.arange(len(goals))
        order = component.near_order()
        self.order = order[self.row_of[order] >= 0]
        self.rows_of = sparse.csc_array(component.matrix)
        least = width if not whole else np.ceil(width / component.step - 1e-6) * component.step
        self.reach = np.maximum(least, SHORT)
        self.sparse = WarmProgram(self._split_program(), method="dual", duals=False)
        self.full = WarmProgram(program_of(component), duals=False)

    def run(self) -> None:
        """Settle every pair."""
        self._lift()
        for turn in range(_TURNS):
            left = [target for target in self.order.tolist() if self.waiting[self.row_of[target]].any()]
            while len(left) >= _FEW and not self.clock.over:
                left = self._together(left, again=turn > 0)
        for target in self.order.tolist():
            row = int(self.row_of[target])
            if not self.waiting[row].any():
                continue
            self._direction(target, None)
            while self.waiting[row].any():
                group = int(np.flatnonzero(self.waiting[row])[0])
                if self.clock.over or not (self._direction(target, group) and not self.waiting[row, group]):
                    self._decide(target, row, group)
                self.waiting[row, group] = False

    # ---------------------------------------------------------------- directions

    def _lift(self) -> None:
        """Settle what the component's lifts prove: whoever knows none of the cells that rise together knows none of them."""
        raised = self.component.lifts
        told = sparse.csc_array(self.knows @ raised.T)
        for number in range(raised.shape[0]):
            rows = self.row_of[raised.indices[raised.indptr[number] : raised.indptr[number + 1]]]
            blind = np.ones(len(self.groups), bool)
            blind[told.indices[told.indptr[number] : told.indptr[number + 1]]] = False
            self.waiting[np.ix_(rows[rows >= 0], blind)] = False

    def _together(self, targets: list[int], *, again: bool) -> list[int]:
        """Move many targets at once, no two of them in one relation; returns the targets not taken up.

        Parts of the move that share no relation are directions of their own, and each settles what it proves.  With
        ``again`` cells that the insiders still waiting know are much dearer than all others.
        """
        taken, left = self._apart(targets)
        size, cost = len(self.component.cells), self.dear.copy()
        if again:
            asking = self.waiting[self.row_of[taken]].any(axis=0)
            cost[np.unique(self.knows[np.flatnonzero(asking)].indices)] *= _SHUNNED
        up, both = self.most[taken] > 0, np.concatenate([taken, taken + size])
        move = np.minimum(self.reach[taken], np.where(up, self.most[taken], self.most[taken + size]))
        ends = np.concatenate([np.where(up, move, 0.0), np.where(up, 0.0, move)])
        self.sparse.set_cost(np.tile(cost, 2))
        self.sparse.set_bounds(both, ends, ends)
        self.clock.solves += 1
        outcome = self.sparse.solve(time_limit=self.clock.left())
        self.sparse.set_bounds(both, 0.0, self.most[both])
        self.sparse.set_cost(np.tile(self.dear, 2))
        if outcome.optimal and outcome.x is not None:
            for direction in self._apiece(outcome.x[:size] - outcome.x[size:]):
                self._settle(direction)
        return left

    def _apiece(self, move: Floats) -> Iterator[Floats]:
        """The parts of a move that share no relation."""
        moved = np.flatnonzero(np.abs(move) > NOTHING)
        _, part = connected_components(graph(self.component.matrix[:, moved]), directed=False)
        for number in np.unique(part[: len(moved)]):
            inside = moved[part[: len(moved)] == number]
            direction = np.zeros(len(move))
            direction[inside] = move[inside]
            yield direction

    def _apart(self, targets: list[int]) -> tuple[Integers, list[int]]:
        """Some of the targets, of which no two stand in one relation, and the others."""
        used: set[int] = set()
        taken: list[int] = []
        left: list[int] = []
        for target in targets:
            rows = self.rows_of.indices[self.rows_of.indptr[target] : self.rows_of.indptr[target + 1]].tolist()
            if len(taken) == _MOST or not used.isdisjoint(rows):
                left.append(target)
            else:
                taken.append(target)
                used.update(rows)
        return np.array(taken, np.int64), left

    def _split_program(self) -> Program:
        """Least total movement ``sum(c * (p + q))`` of ``d = p - q``; cells that insiders know are dear."""
        part = self.component
        self.dear = dear = 1.0 + 8.0 * np.asarray(self.knows.sum(axis=0)).ravel()
        matrix = sparse.csr_array(sparse.hstack([part.matrix, -part.matrix]))
        upper = np.concatenate([self.upper, -self.lower])
        self.most = upper
        return Program(np.tile(dear, 2), matrix, part.low, part.high, np.zeros(2 * len(dear)), upper)

    def _direction(self, target: int, group: int | None) -> bool:
        """Look for a sparse direction that moves the target and leaves the group's cells alone; true where one was found."""
        size = len(self.component.cells)
        shut = np.zeros(0, np.int64) if group is None else self.groups[group]
        frozen = np.concatenate([shut, shut + size])
        if frozen.size:
            self.sparse.set_bounds(frozen, 0.0, 0.0)
        found = False
        for forth, back in ((target, target + size), (target + size, target)):
            move = min(float(self.reach[target]), float(self.most[forth]))
            if move <= 0:
                continue
            self.sparse.set_bounds([forth, back], [move, 0.0], [move, 0.0])
            self.clock.solves += 1
            outcome = self.sparse.solve(time_limit=self.clock.left())
            self.sparse.set_bounds([forth, back], 0.0, self.most[[forth, back]])
            if outcome.optimal and outcome.x is not None:
                found = self._settle(outcome.x[:size] - outcome.x[size:])
                break
        if frozen.size:
            self.sparse.set_bounds(frozen, 0.0, self.most[frozen])
        return found

    def _settle(self, direction: Floats) -> bool:
        """Stretch a direction both ways as far as the release allows, check both tables, and settle what they prove."""
        part = self.component
        direction = np.where(np.abs(direction) <= NOTHING * max(np.abs(direction).max(), 1), 0.0, direction)
        if self.whole:
            direction = np.rint(direction / part.step) * part.step
        moved = np.flatnonzero(direction)
        if not moved.size:
            return False
        enough = float((self.reach[moved] / np.abs(direction[moved])).max()) * 2
        ahead, behind = self._stretch(direction, enough), self._stretch(-direction, enough)
        margin = part.margin(direction * ahead) + part.margin(direction * -behind)
        if not np.isfinite(margin):
            return False
        wide = moved[(ahead + behind) * np.abs(direction[moved]) - margin >= self.reach[moved] * (1 - SHORT)]
        rows = self.row_of[wide]
        touched = self.knows @ (direction != 0) > 0
        self.waiting[np.ix_(rows[rows >= 0], ~touched)] = False
        return True

    def _stretch(self, direction: Floats, enough: float) -> float:
        part = self.component
        moves = np.concatenate([direction, part.matrix @ direction])
        high, low = np.concatenate([self.upper, part.high]), np.concatenate([self.lower, part.low])
        equal = np.concatenate([np.zeros(len(direction), bool), part.low == part.high])
        moving = (np.abs(moves) > NOTHING) & ~equal
        limit = np.where(moves > 0, high, low)[moving] / moves[moving]
        most = min(float(limit.min(initial=np.inf)), enough)
        return float(np.floor(most + 1e-9)) if self.whole else most

    # ---------------------------------------------------------------- one pair

    def _decide(self, target: int, row: int, group: int) -> None:
        """The interval of one cell for one insider, by programs with the insider's cells fixed."""
        shut, part, needed = self.groups[group], self.component, float(self.reach[target]) * (1 - SHORT)
        self.full.set_bounds(shut, 0.0, 0.0)
        seen = most = 0.0
        for sign in (1, -1):
            if seen < needed:
                here, end = self._extent(target, sign, shut)
                seen, most = seen + here, most + end
        self.full.set_bounds(shut, part.lower[shut], part.upper[shut])
        if seen < needed:
            (self.failed if most < needed else self.undecided).append((row, group))

    def _extent(self, target: int, sign: int, shut: Integers) -> tuple[float, float]:
        """How far one cell moves one way: in a checked table, and at most (infinite when that is not proved)."""
        part = self.component
        far = 2 * float(self.reach[target]) + part.step
        if self.clock.over:
            return 0.0, np.inf
        if self.whole:
            outcome = whole_end(part, target, sign, self.clock, cap=float(self.reach[target]), fixed=shut)
            table, most = outcome.x, -outcome.objective * part.step
            table = None if table is None else np.rint(table) * part.step
        else:
            self.clock.solves += 1
            outcome = self.full.maximise(target, sign, time_limit=self.clock.left())
            table, most = outcome.x, outcome.objective
            if outcome.ray is not None and outcome.ray[target] * sign > 0:
                table = outcome.ray * (far / abs(outcome.ray[target]))
        if table is None:
            return 0.0, np.inf
        table = np.clip(table, part.lower, part.upper)
        table[shut] = 0.0
        seen = max(sign * float(table[target]) - part.margin(table), 0.0)
        return seen, most if outcome.optimal else np.inf
