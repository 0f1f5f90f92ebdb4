"""What cannot be protected whatever is hidden: found before work starts, with what stands in the way and the least to free."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
from scipy import sparse

from discreet.errors import NotProtectedError, some
from discreet.model.contributions import Floats, Integers
from discreet.model.table import Bools, Status, Table
from discreet.solve.highs import WarmProgram, solve
from discreet.solve.problem import Program
from discreet.tables.suppress.moves.attackers import Ask, Demand, Space, demands, hideable
from discreet.tables.suppress.moves.probing import TOLERANCE, Cut, Prober, cut_of
from discreet.tables.suppress.moves.reaching import reaches
from discreet.tables.suppress.opening import Opener

__all__ = ["hopeless", "refusal", "refuse_hopeless"]

_WORK = 200_000
"""Questions times columns: so much is asked of linear programs; a question takes time in proportion to the columns."""
_FEWEST = 10
"""So many demands are looked at, however large the table."""
_SHAKES = 8
_NEAR = 1e3
_EFFORT = 60_000
"""Questions times equations: after so many a small set is taken instead of the smallest."""
_BREATH = 1e-4
"""How much a cell that is not hidden is opened when prices are asked for, so that they tell which such cells would help."""


def refuse_hopeless(table: Table, method: str) -> None:
    """Raise :func:`refusal` where some demand cannot be met although every cell were hidden that may be."""
    if unmet := hopeless(table):
        raise refusal(table, method, unmet)


def hopeless(table: Table) -> list[Demand]:
    """The demands of suppressed cells that nothing can meet, in the order of the cells; a quick look before long work.

    Nearly all cells are cleared by a finest cell that moves with the totals above it, or by two of them that move against
    each other.  Linear programs decide on the rest; of very large tables, on the first of these only.  What a
    contributor knows, and sums of hidden cells, are not looked at: these depend on the pattern.
    """
    wanted = demands(table)
    if not wanted:
        return []
    space, loose = Space.of(table), table.unknown | hideable(table)
    rise, fall = reaches(space, loose)
    doubtful = [d for d in wanted if rise[d.cell] < max(d.up, d.width) or fall[d.cell] < d.down]
    if not doubtful:
        return []
    near = _hanging_together(space, loose, [demand.cell for demand in doubtful])
    prober, amount = Prober(space, near), near.astype(float)
    part = _shaken(space, near, doubtful)
    order = np.argsort(part, kind="stable")[: _most(int(near.sum()))]
    return [doubtful[i] for i in np.sort(order[part[order] < 1]) if _wrong(prober, doubtful[i], amount)]


def _shaken(space: Space, near: Bools, doubtful: Sequence[Demand]) -> Floats:
    """How much of each demand, 1 for all of it, moves were found for that take many cells at once as far as they can."""
    columns = np.flatnonzero((space.spread(near.astype(float)) > 0) | (space.slack_rise + space.slack_fall > 0))
    place = np.full(len(space.owner), -1)
    place[columns] = np.arange(len(columns))
    cell = place[[demand.cell for demand in doubtful]]
    unit = max(max(demand.up, demand.down, demand.width) for demand in doubtful)
    rise, fall = space.capacities(near.astype(float), unit, _NEAR)
    rise, fall, matrix = rise[columns], fall[columns], sparse.csr_array(space.matrix[:, columns])
    program = WarmProgram(Program.of(0.0 * rise, matrix, 0.0, 0.0, lower=-fall, upper=rise), method="dual", duals=False)
    reached = []
    for sign in (1, -1):
        need = np.array([max(d.up, d.width) if sign > 0 else d.down for d in doubtful]) / unit
        part = np.where(need > 0, 0.0, 1.0)
        for _ in range(_SHAKES):
            left = np.flatnonzero(part < 1)
            if left.size <= _FEWEST:
                break
            far, cost = (rise if sign > 0 else fall).copy(), np.zeros(len(columns))
            cost[cell[left]] = -sign / need[left]
            far[cell[left]] = np.minimum(far[cell[left]], need[left])
            program.set_cost(cost)
            program.set_bounds(np.arange(len(columns)), -fall if sign > 0 else -far, far if sign > 0 else rise)
            found = program.solve()
            if found.x is None:
                break
            moved = sign * found.x[cell[left]] / need[left]
            part[left] = np.where(moved >= 1 - TOLERANCE, 1.0, np.maximum(part[left], np.clip(moved, 0.0, 1 - TOLERANCE)))
            if 4 * (part[left] == 1).sum() < left.size:
                break
        reached.append(part)
    return np.minimum(*reached)


def _most(columns: int) -> int:
    return max(_FEWEST, _WORK // max(columns, 1))


def _wrong(prober: Prober, demand: Demand, amount: Floats) -> list[Ask]:
    """The questions of a demand that are answered wrongly under a pattern."""
    return [ask for ask in demand.asks() if prober.ask(ask, amount).reach < 1 - TOLERANCE]


def _hanging_together(space: Space, loose: Bools, cells: Sequence[int]) -> Bools:
    """The loose cells that equations tie, over any number of loose cells, to these."""
    part = space.parts(loose)
    return np.asarray(loose & np.isin(part, part[list(cells)]))


def refusal(table: Table, method: str, unmet: Sequence[Demand]) -> NotProtectedError:
    """The error that names the cells which cannot be protected, what stands in the way, and the smallest set to free.

    ``details`` has one line a cell: its label and its role: "cannot be protected"; "must be published" (of these, hiding
    one at least is needed), with ``free`` true for the smallest set which, could it be hidden, would do for all demands
    looked at (in large tables at times only a small set); or "cannot move" (its value is known beforehand too well to be
    of use, as that of a zero is).
    """
    way = _Way(table, unmet)
    roles = dict.fromkeys((demand.cell for demand in unmet), "cannot be protected")
    for cell, role in way.blocking():
        roles.setdefault(cell, role)
    freed = way.least()
    roles |= dict.fromkeys(freed, "must be published")
    details = [
        {"cell": table.label(cell), "role": role} | ({"free": True} if cell in freed else {}) for cell, role in roles.items()
    ]
    named = {role: [line["cell"] for line in details if line["role"] == role] for role in roles.values()}
    problem = f"{some(named['cannot be protected'])} cannot be protected"
    if frozen := named.get("must be published"):
        problem += f"; in the way, as they must be published: {some(frozen)}"
    if stuck := named.get("cannot move"):
        problem += f"; of no help, as their values are known beforehand: {some(stuck)}"
    fix = "declare these cells safe, lower their protection levels or assume a less knowing intruder"
    if freed:
        fix = f"allow {some(table.label(cell) for cell in freed)} to be hidden, or {fix}"
    return NotProtectedError(method, problem, fix, details=details)


class _Way:
    """What stands in the way of some demands: cells that may not be hidden, and cells that would not move."""

    def __init__(self, table: Table, unmet: Sequence[Demand]) -> None:
        low, high = table.bounds()
        self.table, self.space = table, Space.of(table)
        self.loose = table.unknown | hideable(table)
        self.barred = (table.status == Status.OPEN) & ~self.loose & (high - low >= table.exactness())
        near = _hanging_together(self.space, self.loose | self.barred, [demand.cell for demand in unmet])
        self.loose, self.barred = self.loose & near, self.barred & near
        self.near, self.amount = near, self.loose.astype(float)
        self.prober = Prober(self.space, near)
        self._around: dict[int, Prober] = {}
        self._spent = 0
        looked_at = unmet[: max(_FEWEST, _most(int(near.sum())) // 4)]
        self.asks = [ask for demand in looked_at for ask in _wrong(self.prober, demand, self.amount)]

    def blocking(self) -> list[tuple[int, str]]:
        """The cells whose standing still, by the row prices of the best move, keeps a question from being answered."""
        found: list[tuple[int, str]] = []
        rise, fall = self.space.rise[: self.space.cells], self.space.fall[: self.space.cells]
        for ask in self.asks:
            prober = next(self._failing(ask, self.amount))
            prices = prober.ask(ask, np.where(self.loose, 1.0, _BREATH), most=1.0).prices
            for sign, price in zip(ask.signs, prices, strict=True):
                reduced = -(prober.space.matrix.T @ price)[: self.space.cells]
                reduced[ask.cell] += sign
                pressed = np.abs(reduced) > 1e-7
                pressed[[ask.cell, *ask.knows]] = False
                moving = np.where(reduced > 0, rise, fall) >= TOLERANCE * ask.need
                found += [(int(cell), "must be published") for cell in np.flatnonzero(pressed & moving & self.barred)]
                still = pressed & ~(moving & (self.barred | self.loose))
                found += [(int(cell), "cannot move") for cell in np.flatnonzero(still)]
        return found

    def _failing(self, ask: Ask, amount: Floats) -> Iterator[Prober]:
        """Programs that prove the question answered wrongly: one of the equations around its cell, then one of all."""
        if ask.cell not in self._around:
            self._around[ask.cell] = self._relaxed(ask.cell)
        for prober in (self._around[ask.cell], self.prober):
            self._spent += prober.space.matrix.shape[0]
            if prober.ask(ask, amount).reach < 1 - TOLERANCE:
                yield prober

    def _relaxed(self, cell: int) -> Prober:
        """A program without the equations far from a cell; what cannot move even there cannot move."""
        columns = np.array([cell])
        for _ in range(2):
            rows = np.unique(sparse.csc_array(self.space.matrix)[:, columns].indices)
            columns = np.unique(self.space.matrix[rows].indices)
        inside = self.near & np.isin(np.arange(self.space.cells), columns)
        return Prober(dataclasses.replace(self.space, matrix=sparse.csr_array(self.space.matrix[rows])), inside)

    def least(self) -> list[int]:
        """The smallest set of barred cells (among equals the cheapest) that answers every question once it may be hidden.

        ``minimise sum(f[i])`` over ``f[i]`` in {0, 1}, one a barred cell, with a capacity cut for each question that a set
        answers wrongly, until none is left.  Empty where no set is enough; after too long a search a set found by opening
        the cheapest cells for one question after the other.
        """
        every = self.amount + self.barred
        asks = [ask for ask in self.asks if self.prober.ask(ask, every).reach >= 1 - TOLERANCE]
        cells, freed = np.flatnonzero(self.barred), np.zeros(0, np.int64)
        cost = 1.0 + 0.5 * self._shares(cells)
        cuts: list[Cut] = []
        while asks and self._spent < _EFFORT:
            amount = self.amount.copy()
            amount[freed] = 1.0
            new = [cut for ask in asks if (cut := self._cut(ask, amount)) is not None]
            if not new:
                return [int(cell) for cell in freed]
            cuts += new
            freed = _cheapest(cells, cost, cuts)
        every_cost = np.ones(self.table.cells)
        every_cost[cells] = cost
        opener = Opener(self.space, self.loose, self.barred, every_cost, self.table)
        for ask in asks:
            opener.answer(ask)
        return [int(cell) for cell in np.flatnonzero(opener.hidden & self.barred)]

    def _shares(self, cells: Integers) -> Floats:
        """The cost of each barred cell as a share of that of all."""
        cost = np.maximum(self.table.cost[cells], 0.0)
        return np.asarray(cost / max(float(cost.sum()), 1e-300))

    def _cut(self, ask: Ask, amount: Floats) -> Cut | None:
        """A cut on the barred cells that this pattern violates; None where it answers the question."""
        breath = np.where((amount == 0) & self.barred, _BREATH, amount)
        for prober in self._failing(ask, amount):
            for held in (breath, amount):
                cut = cut_of(prober.space, ask, prober.ask(ask, held, most=1.0).prices, self.amount)
                if cut.weights @ amount[cut.cells] < cut.least * (1 - TOLERANCE):
                    return cut
        return None


def _cheapest(cells: Integers, cost: Floats, cuts: Sequence[Cut]) -> Integers:
    """The cheapest set of cells that satisfies all cuts."""
    rows = np.repeat(np.arange(len(cuts)), [len(cut.cells) for cut in cuts])
    columns = np.searchsorted(cells, np.concatenate([cut.cells for cut in cuts]))
    weights = np.concatenate([cut.weights / cut.least for cut in cuts])
    matrix = sparse.csr_array((weights, (rows, columns)), shape=(len(cuts), len(cells)))
    whole = np.ones(len(cells), bool)
    found = solve(Program.of(cost, matrix, 1.0 - TOLERANCE, np.inf, lower=0.0, upper=1.0, integer=whole))
    return cells if found.x is None else np.asarray(cells[found.x > 0.5], np.int64)
