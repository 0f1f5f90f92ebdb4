"""The cheapest reasonable cells to hide so that one demand is met, and what stands in the way where none are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from discreet.errors import NotProtectedError, some
from discreet.model.contributions import Floats, Integers
from discreet.model.table import Bools, Table
from discreet.solve.highs import WarmProgram
from discreet.solve.problem import Program
from discreet.tables.suppress.attackers import Ask, Demand, Space, hideable
from discreet.tables.suppress.probing import TOLERANCE, Moves, Prober

__all__ = ["Opener", "refusal"]

Way = tuple[Integers, Floats | None]

_FAR = 1e7
_MOST_EXPLAINED = 10


class Opener:
    """Finds cells to hide: a cheapest move per unit moved, whose superfluous cells are then closed again.

    ``minimise sum(cost[i] / min(capacity[i], need) * |d[i]|)`` over moves ``d`` that take the cell as far as needed;
    hidden cells cost nothing.  ``hidden`` grows with every demand, so later demands are often met already.
    """

    def __init__(self, space: Space, hidden: Bools, choice: Bools, cost: Floats, table: Table) -> None:
        self.space, self.always, self.width = space, ~table.listed, table.exactness()
        self.choice, self.hidden = np.array(choice, bool), np.array(hidden, bool)
        self.cost = cost / max(float(cost.max(initial=0.0)), 1e-300) * 1e3
        self.moves = Moves(space.cells)
        columns = space.matrix.shape[1]
        self._every = np.arange(2 * columns)
        both = sparse.hstack([space.matrix, -space.matrix])
        zero = np.zeros(2 * columns)
        self._program = WarmProgram(Program.of(zero, both, 0.0, 0.0, lower=zero, upper=zero), method="dual")
        self.prober = Prober(space)

    def meet(self, demand: Demand, *, stretch: float = 1.0) -> bool:
        """Hide what the demand needs; False where it cannot be met.  ``stretch`` asks for a little more than the need."""
        return all(self.answer(ask, stretch=stretch) for ask in demand.asks())

    def answer(self, ask: Ask, *, stretch: float = 1.0) -> bool:
        """Hide what one question of a demand needs; False where it cannot be had."""
        return self.moves.answer(ask, stretch) or self._open(ask, stretch)

    def _amount(self, cells: Bools) -> Floats:
        return np.asarray(cells | self.always, float)

    def _open(self, ask: Ask, stretch: float) -> bool:
        if len(ask.signs) == 1:
            return self._take(self._way(ask, ask.signs[0], stretch))
        reach = {sign: self._reach(ask, sign, self.hidden) for sign in (1, -1)}
        if reach[1] + reach[-1] >= stretch - TOLERANCE:
            return True
        ways = [self._way(ask, sign, stretch - reach[-sign]) for sign in (1, -1)]
        possible = [way for way in ways if way is not None]
        if possible:
            return self._take(min(possible, key=lambda way: float(self.cost[way[0]].sum())))
        far = self._reach(ask, -1, self.hidden | self.choice)
        down = self._way(ask, -1, min(far, stretch) * (1 - TOLERANCE))
        return self._take(down) and self._take(self._way(ask, 1, stretch - far))

    def _take(self, way: Way | None) -> bool:
        """Hide what a way needs."""
        if way is None:
            return False
        opened, move = way
        self.hidden[opened] = True
        if move is not None:
            self.moves.add(move)
        return True

    def _way(self, ask: Ask, sign: int, part: float) -> Way | None:
        """Cells to hide so that the cell moves this way by ``part`` of the need, and such a move where one is known."""
        if part <= 0:
            return np.zeros(0, np.int64), None
        space = self.space
        rise, fall = space.capacities(self._amount(self.hidden | self.choice), ask.need, _FAR, ask.knows)
        most = float((rise if sign > 0 else fall)[ask.cell])
        if most < part * (1 - TOLERANCE):
            return None
        part = min(part, most)
        columns = len(rise)
        here, there = (ask.cell, columns + ask.cell) if sign > 0 else (columns + ask.cell, ask.cell)
        lower, upper = np.zeros(2 * columns), np.concatenate([rise, fall])
        lower[here] = upper[here] = part
        lower[there] = upper[there] = 0.0
        self._program.set_cost(self._prices(rise, fall))
        self._program.set_bounds(self._every, lower, upper)
        found = self._program.solve()
        if found.x is None or not found.optimal:
            return None
        moved = found.x[:columns] - found.x[columns:]
        opened = self._paid_for(moved, ask.need)
        if self._useless(opened[np.abs(moved[opened]) * ask.need < self.width[opened]]):
            return self._way(ask, sign, part)
        tight = np.abs(moved[opened]) >= np.where(moved > 0, rise, fall)[opened] * (1 - TOLERANCE)
        if opened.size > 1 and tight.any():
            return self._pruned(ask, sign, part, opened), None
        return opened, moved[: space.cells] * ask.need

    def _prices(self, rise: Floats, fall: Floats) -> Floats:
        """The cost of a unit moved up, and down, in each column: all of it at the need or at the capacity, if that is less."""
        owner = np.maximum(self.space.owner, 0)
        paid = (self.space.owner >= 0) & ~self.hidden[owner] & ~self.always[owner]
        price = np.where(paid, self.cost[owner], 0.0)
        return np.concatenate([price / np.clip(rise, 1e-7, 1.0), price / np.clip(fall, 1e-7, 1.0)])

    def _paid_for(self, moved: Floats, need: float) -> Integers:
        """The open cells that this move, in units of the need, wants hidden."""
        space = self.space
        beyond = np.maximum(moved - space.slack_rise / need, -moved - space.slack_fall / need)
        moving = np.flatnonzero((beyond > 1e-7) & (space.owner >= 0))
        owner = np.unique(space.owner[moving])
        return np.asarray(owner[~self.hidden[owner] & ~self.always[owner]], np.int64)

    def _useless(self, opened: Integers) -> bool:
        """Whether some of these hardly moving cells would be known exactly whatever is hidden; they are not offered again."""
        dead = self.prober.immovable(opened, self.width, self._amount(self.hidden | self.choice))
        self.choice[dead] = False
        return bool(dead.size)

    def _pruned(self, ask: Ask, sign: int, part: float, opened: Integers) -> Integers:
        """Without the cells, dearest first, that the move can do without."""
        kept = set(opened.tolist())
        for cell in sorted(kept, key=lambda c: (-self.cost[c], c)):
            trial = self.hidden.copy()
            trial[list(kept - {cell})] = True
            if self._reach(ask, sign, trial) >= part * (1 - TOLERANCE):
                kept.discard(cell)
        return np.array(sorted(kept), np.int64)

    def _reach(self, ask: Ask, sign: int, hidden: Bools) -> float:
        one = Ask(cell=ask.cell, knows=ask.knows, signs=(sign,), need=ask.need)
        return self.prober.ask(one, self._amount(hidden)).reach


def refusal(table: Table, method: str, unmet: Sequence[Demand]) -> NotProtectedError:
    """The error that names the cells which cannot be protected and the cells which stand in the way.

    ``details`` has one line a cell: its label and whether it "cannot be protected", "must be published" (hiding one
    of these at least is needed), or "cannot move" (its value is known beforehand too well to be of use).
    """
    space, loose = Space.of(table), table.unknown | hideable(table)
    prober, roles = Prober(space), dict.fromkeys((d.cell for d in unmet), "cannot be protected")
    freed: set[int] = set()
    for demand in unmet[:_MOST_EXPLAINED]:
        for cell, role in _in_the_way(space, prober, loose, demand):
            roles.setdefault(cell, role if table.frozen[cell] or role != "must be published" else "cannot move")
        opener = Opener(space, loose, ~loose, np.ones(table.cells), table)
        if opener.meet(demand):
            freed |= set(np.flatnonzero(opener.hidden & ~loose).tolist())
    details = [{"cell": table.label(cell), "role": role} for cell, role in roles.items()]
    named = {role: [line["cell"] for line in details if line["role"] == role] for role in roles.values()}
    targets = named["cannot be protected"]
    problem = f"{some(targets)} cannot be protected"
    if frozen := named.get("must be published"):
        problem += f"; in the way, as they must be published: {some(frozen)}"
    if stuck := named.get("cannot move"):
        problem += f"; of no help, as their values are known beforehand: {some(stuck)}"
    fix = "declare these cells safe, lower their protection levels or assume a less knowing intruder"
    if freed:
        fix = f"allow {some(table.label(cell) for cell in sorted(freed))} to be hidden, or {fix}"
    return NotProtectedError(method, problem, fix, details=details)


def _in_the_way(space: Space, prober: Prober, loose: Bools, demand: Demand) -> list[tuple[int, str]]:
    """The cells whose standing still, by the row prices of the best move, keeps the demand from being met."""
    found: list[tuple[int, str]] = []
    for ask in demand.asks():
        if prober.ask(ask, np.where(loose, 1.0, 0.0)).reach >= 1 - TOLERANCE:
            continue
        prices = prober.ask(ask, np.where(loose, 1.0, 1e-4), most=1.0).prices
        rise, fall = space.rise[: space.cells], space.fall[: space.cells]
        for sign, price in zip(ask.signs, prices, strict=True):
            reduced = -(space.matrix.T @ price)[: space.cells]
            reduced[ask.cell] += sign
            pressed = np.abs(reduced) > 1e-7
            pressed[[ask.cell, *ask.knows]] = False
            found += [(int(cell), "must be published") for cell in np.flatnonzero(pressed & ~loose)]
            room = np.where(reduced > 0, rise, fall)
            stuck = pressed & loose & (room < TOLERANCE * ask.need)
            found += [(int(cell), "cannot move") for cell in np.flatnonzero(stuck)]
    return found
