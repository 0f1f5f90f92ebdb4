"""From one safe pattern to a cheaper one: a part of the table at a time is chosen anew as a whole, all else as it is."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import numpy as np

from discreet.model.contributions import Floats, Integers
from discreet.model.table import Bools, Table
from discreet.tables.suppress.cutting.pool import Pool, union_row
from discreet.tables.suppress.infeasible import refusal
from discreet.tables.suppress.moves.attackers import Ask, Space, hideable, preference
from discreet.tables.suppress.moves.incidence import Incidence, by_label
from discreet.tables.suppress.moves.nearby import Nearby, Work, part_cut
from discreet.tables.suppress.moves.probing import TOLERANCE
from discreet.tables.suppress.moves.sums import Sums
from discreet.tables.suppress.moves.unions import mend, union_refusal
from discreet.tables.suppress.moves.witnesses import Witnesses

__all__ = ["Descent"]

_FAR = 1e7
_NOBODY = np.zeros(0, np.int64)
_VIOLATED = 1e-4
_PROGRAM = 12000
"""An integer program counts as one of so many rows: it takes much longer than its size says."""
_FEW = 4
"""Fewer cells than this are moved one by one."""
_AT_ONCE = 8
"""A pattern that fails so many questions is cut off by these."""
_ROUNDS = 25
"""A part is given up when its cheapest pattern was cut off so many times."""
_NEAR, _WIDER = 400, 4000
"""Moves are looked for among so many columns around a part, and among so many more if none is found."""
_WHOLE = 3000
"""Up to so many loose columns that hang together are one program when all is proved."""


class Descent:
    """A pattern with the moves that prove it, and the cuts that every safe pattern satisfies."""

    def __init__(self, table: Table, begin: Bools, until: float = math.inf) -> None:
        self.table, self.space, self._until = table, Space.of(table), until
        self.incidence = Incidence.of(self.space.matrix)
        self.choice, self.fixed, self.cost = hideable(table), table.unknown, preference(table)
        self.witnesses = Witnesses(table, self.space, self.choice, self.fixed | (begin & self.choice))
        self.sums, self.pool = Sums(table), Pool()
        self.facts = np.ones(len(self.space.owner) - table.cells, bool)
        self.crowd = np.zeros(len(self.space.owner))
        for cell, groups in self.witnesses.of_cell.items():
            self.crowd[cell] = len(groups)
        plain = bool((np.abs(self.incidence.by_row.data) == 1).all())
        self.most = 100.0 if plain else _FAR
        self._anywhere: Nearby | None = None
        self.failed: dict[int, int] = {}
        self.work = Work()

    @property
    def hidden(self) -> Bools:
        """The present pattern, with all that is unknown in any case."""
        return self.witnesses.hidden

    @property
    def late(self) -> bool:
        """No time is left; proving stops, and what was not proved counts as not safe."""
        return time.perf_counter() > self._until

    @property
    def paid(self) -> float:
        """What the present pattern costs."""
        return float(self.cost[self.hidden & self.choice].sum())

    # ---------------------------------------------------------------- proving

    def prove(self, cells: Sequence[int], nearby: Nearby, most: int | None = None) -> list[Ask]:
        """Look for the moves that are still missing; returns the first question of each cell that has no answer here.

        With ``most`` the search ends after so many of them.
        """
        unmet: list[Ask] = []
        self._together(cells, nearby)
        for cell in cells:
            if most is not None and len(unmet) >= most:
                break
            asked: set[Ask] = set()
            while (ask := self.witnesses.question(cell)) is not None:
                if self.late or ask in asked or not self._answered(ask, nearby):
                    unmet.append(ask)
                    break
                asked.add(ask)
        return unmet

    def _together(self, cells: Sequence[int], nearby: Nearby) -> None:
        """Move many cells at once, as long as that proves most of them."""
        while True:
            asks = [ask for cell in cells if (ask := self.witnesses.question(cell)) is not None and not ask.knows]
            before = len(asks)
            asks.sort(key=lambda ask: (-ask.need, ask.cell))
            while len(asks) >= _FEW and not self.late:
                taken, asks = nearby.apart(asks)
                if len(taken) >= _FEW:
                    for columns, values in nearby.moves(taken, self.hidden):
                        self.witnesses.add(columns, values)
                asks = [ask for ask in asks if self.witnesses.question(ask.cell) == ask]
            cells = [cell for cell in cells if (ask := self.witnesses.question(cell)) is not None and not ask.knows]
            if len(cells) < _FEW or len(cells) > before / 2 or self.late:
                return

    def _answered(self, ask: Ask, nearby: Nearby) -> bool:
        """Find moves that answer a question within a part of the table."""
        if any(self._moved(ask, nearby, sign, 1.0) for sign in ask.signs):
            return True
        if len(ask.signs) == 1 or ask.knows:
            return False
        reach = {}
        for sign in ask.signs:
            one = Ask(cell=ask.cell, knows=ask.knows, signs=(sign,), need=ask.need)
            reach[sign], _ = nearby.reach(one, self.hidden.astype(float), self.most)
        if sum(reach.values()) < 1 - TOLERANCE:
            return False
        return all(self._moved(ask, nearby, sign, far * (1 - TOLERANCE / 2)) for sign, far in reach.items() if far > TOLERANCE)

    def _moved(self, ask: Ask, nearby: Nearby, sign: int, part: float) -> bool:
        found = nearby.move(ask, self.hidden, sign, part, self.most)
        return found is not None and self.witnesses.add(*found) is not None

    def prove_all(self) -> list[Ask]:
        """Prove the whole pattern, part by part; returns the questions without an answer."""
        unmet: list[Ask] = []
        judged = self.witnesses.judged()
        part = self.space.parts(self.hidden)
        facts = np.flatnonzero(self.facts) + self.table.cells
        for cells in by_label(part[judged], judged):
            inside = np.flatnonzero(part == part[cells[0]]) if cells.size < _WHOLE else _NOBODY
            if 0 < inside.size + facts.size <= _WHOLE:
                nearby = Nearby(self.space, self.incidence, np.concatenate([inside, facts]), self.crowd, self.work)
                unmet += self.prove(cells.tolist(), nearby)
            else:
                unmet += self._prove_by_blocks(cells)
        return unmet

    def _prove_by_blocks(self, cells: Integers) -> list[Ask]:
        """Prove many cells that hang together, those of an equation at a time; in wider surroundings where need be."""
        for most in (_NEAR, _WIDER):
            left = {cell: None for cell in cells.tolist() if self.witnesses.question(cell) is not None}
            while left and not self.late:
                seed = next(iter(left))
                nearby = self._nearby(np.array([seed]), most)
                beside = self.incidence.columns(self.incidence.rows(np.array([seed])))
                self.prove([cell for cell in beside.tolist() if cell in left and nearby.holds(cell)], nearby)
                for cell in [cell for cell in beside.tolist() if cell in left]:
                    if cell == seed or self.witnesses.question(cell) is None:
                        left.pop(cell)
        return [ask for cell in cells.tolist() if (ask := self.witnesses.question(cell)) is not None]

    def secured(self, method: str) -> bool:
        """Complete the pattern; False where time was up before.  NotProtectedError where no pattern would do."""
        left = self.complete()
        sums = self.sums.failing(self.hidden)
        if left and not self.late:
            raise refusal(self.table, method, [ask.demand() for ask in left])
        if sums and not self.late:
            raise union_refusal(self.table, method, self.hidden, sums)
        return not left and not sums

    def complete(self) -> list[Ask]:
        """Hide more cells until everything is proved; returns the questions that no hiding answers."""
        stuck: set[int] = set()
        asks = self.prove_all()
        while True:
            before, lost = self.hidden.copy(), _NOBODY
            for cell in [ask.cell for ask in sorted(asks, key=lambda ask: (-ask.need, ask.cell))]:
                if self.late:
                    return asks
                left = self._settled(cell)
                if left is not None and self.choice[cell]:
                    self.choice[cell] = False
                    lost = np.union1d(lost, self.witnesses.change(np.array([cell]), _NOBODY))
                elif left is not None:
                    stuck.add(cell)
            for union in self.sums.failing(self.hidden):
                more = mend(self.table, self.hidden, self.choice, self.cost, union)
                if more is not None:
                    self.witnesses.change(_NOBODY, more[~self.hidden[more]])
            fresh = np.flatnonzero(self.hidden & ~before)
            insiders = self.witnesses.primary & self.witnesses.founders[fresh].any()
            lost = np.union1d(lost, np.flatnonzero(insiders))
            again = np.union1d(fresh, lost[self.hidden[lost]])
            if not again.size:
                return [ask for cell in sorted(stuck) if (ask := self.witnesses.question(cell)) is not None]
            asks = [ask for cell in again.tolist() if (ask := self.witnesses.question(cell)) is not None]

    def _settled(self, cell: int) -> Ask | None:
        """Answer all questions about a cell by hiding others; the one that cannot be answered."""
        while (ask := self.witnesses.question(cell)) is not None:
            if not self._opened(ask):
                return ask
        return None

    def _opened(self, ask: Ask) -> bool:
        """Hide the cheapest reasonable cells that answer a question."""
        for most in (_WIDER, len(self.space.owner)):
            loose = np.concatenate([self.hidden | self.choice, self.facts])
            price = np.concatenate([np.where(self.hidden, 0.0, self.cost), np.zeros(self.facts.size)])
            nearby = self._opening(ask.cell, loose, price, most)
            for sign in ask.signs:
                found = nearby.move(ask, self.hidden | self.choice, sign, 1.0, price=price)
                witness = None if found is None else self.witnesses.add(*found)
                if witness is not None:
                    self.witnesses.change(_NOBODY, witness.needs[~self.hidden[witness.needs]])
                    return True
            if nearby.size == loose.sum():
                break
        return False

    def _opening(self, cell: int, loose: Bools, price: Floats, most: int) -> Nearby:
        """Cells near one that are hidden or may be, or all of them where these are not many: one program for all questions."""
        everywhere = int(loose.sum()) <= most
        if everywhere and self._anywhere is not None:
            return self._anywhere
        columns = np.flatnonzero(loose) if everywhere else self.incidence.around(np.array([cell]), loose, most, price)
        nearby = Nearby(self.space, self.incidence, columns, self.crowd, self.work)
        if everywhere:
            self._anywhere = nearby
        return nearby

    # ---------------------------------------------------------------- cuts

    def _keep(self, ask: Ask, rows: Integers, prices: tuple[Floats, ...]) -> bool:
        """Store the cut of some prices if the present pattern violates it."""
        cut = part_cut(self.space, self.incidence, ask, rows, prices, self.fixed, self.choice)
        if cut.least <= TOLERANCE:
            return False
        mine = cut.cells != ask.cell
        cells, weights, least = cut.cells[mine], cut.weights[mine] / cut.least, 1.0
        got = float(weights[self.hidden[cells]].sum())
        if got > 1 - _VIOLATED:
            return False
        while_hidden = [ask.cell] if self.choice[ask.cell] else self._insider_by(ask)
        if while_hidden:
            cells, weights, least = np.append(cells, while_hidden), np.append(weights, -1.0), 0.0
        return self.pool.add(cells.astype(np.int64), weights, least)

    def _insider_by(self, ask: Ask) -> list[int]:
        """A hidden cell without which those who know what the question says would be no insiders; none for others."""
        own = self.witnesses.by_hiding.get(ask.knows, _NOBODY)
        return [int(cell) for cell in own[self.hidden[own]][:1]]

    def _cut_all(self, asks: Sequence[Ask], nearby: Nearby) -> bool:
        """Store a cut for each of these questions where one can be had here; whether there was any."""
        return sum(self._cut(ask, nearby) for ask in asks) > 0

    def _cut(self, ask: Ask, nearby: Nearby) -> bool:
        """Store a cut that tells why the question has no answer under the present pattern."""
        self.failed[ask.cell] = self.failed.get(ask.cell, 0) + 1
        for amount, most in ((nearby.breath(self.hidden, self.choice), 1.0), (self.hidden.astype(float), self.most)):
            _, prices = nearby.reach(ask, amount, most)
            if prices and self._keep(ask, nearby.rows, prices):
                return True
        return False

    def _short(self, cells: Integers) -> bool:
        """Cuts for the hidden cells that a single equation of some cells already leaves too narrow; whether there were any."""
        space, witnesses = self.space, self.witnesses
        rows = self.incidence.rows(cells)
        line, column, factor = self.incidence.entries(rows)
        owner = space.owner[column]
        open_to = np.where(owner >= 0, self.hidden[np.maximum(owner, 0)], False)
        rise = space.slack_rise[column] + np.where(open_to, space.rise[column], 0.0)
        fall = space.slack_fall[column] + np.where(open_to, space.fall[column], 0.0)
        up = np.where(factor > 0, factor * rise, -factor * fall)
        down = np.where(factor > 0, factor * fall, -factor * rise)
        others_up, others_down = _others(up, line, len(rows)), _others(down, line, len(rows))
        judged = open_to & (column < self.table.cells)
        cell = np.where(judged, column, 0)
        size = np.abs(factor)
        against, along = np.where(factor > 0, others_down, others_up), np.where(factor > 0, others_up, others_down)
        found = False
        for need, room, signs in (
            (witnesses.up[cell] * size, against, (1,)),
            (witnesses.down[cell] * size, along, (-1,)),
            (witnesses.width[cell] * size, against + along, (1, -1)),
        ):
            for spot in np.flatnonzero(judged & (room < need * (1 - TOLERANCE))).tolist():
                ask = Ask(cell=int(column[spot]), knows=(), signs=signs, need=float(need[spot] / size[spot]))
                prices = tuple(np.array([sign / factor[spot]]) for sign in signs)
                found |= self._keep(ask, rows[line[spot]][None], prices)
        return found

    # ---------------------------------------------------------------- one part anew

    def renew(self, seeds: Integers, size: int) -> bool:
        """Choose the cells around some seeds anew, as cheap as can be; whether that is a cheaper pattern, proved to be safe."""
        free, near = self._free(seeds, size)
        before = self.hidden[free]
        paid = float(self.cost[free][before].sum())
        below = paid * (1 - 1e-6)
        if not free.size or below <= 0:
            return False
        nearby = None
        for _ in range(_ROUNDS):
            found = self.pool.cheapest(free, self.hidden, self.cost, below)
            self.work.add(_PROGRAM, len(free), found.iterations)
            if found.x is None:
                return False
            chosen = found.x > 0.5
            shown, more = free[before & ~chosen], free[chosen & ~before]
            lost = self.witnesses.change(shown, more)
            if self._short(np.concatenate([shown, more])):
                self.witnesses.change(more, shown)
                continue
            unions = self.sums.failing(self.hidden, free)
            if unions:
                new = [self.pool.add(*union_row(union, self.choice, self.hidden)) for union in unions]
                self.witnesses.change(more, shown)
                if not any(new):
                    return False
                continue
            if nearby is None:
                nearby = self._nearby(np.union1d(free, near), _NEAR)
            verdict = self._check(np.union1d(lost, more), nearby, free, near)
            if verdict is None:
                return True
            self.witnesses.change(more, shown)
            if not verdict:
                return False
        return False

    def _check(self, cells: Integers, nearby: Nearby, free: Integers, near: Integers) -> bool | None:
        """None where the present pattern answers every question; else whether cuts tell why not."""
        left = self.prove([cell for cell in self._doubtful(cells) if nearby.holds(cell)], nearby, _AT_ONCE)
        if self._cut_all(left, nearby):
            return True
        while True:
            rest = [cell for cell in cells.tolist() if self.hidden[cell] and self.witnesses.question(cell) is not None]
            if not rest:
                return None
            wider = self._nearby(np.union1d(np.union1d(free, near), rest), _WIDER)
            left = self.prove(rest, wider, _AT_ONCE)
            if left:
                return self._cut_all(left, wider)

    def _doubtful(self, cells: Integers) -> list[int]:
        """Hidden cells, those that failed most often first."""
        return sorted(cells[self.hidden[cells]].tolist(), key=lambda cell: (-self.failed.get(cell, 0), cell))

    def _nearby(self, seeds: Integers, most: int) -> Nearby:
        loose = np.concatenate([self.hidden, self.facts])
        loose[seeds] = True
        return Nearby(self.space, self.incidence, self.incidence.around(seeds, loose, most), self.crowd, self.work)

    def around(self, seeds: Integers, size: int) -> Integers:
        """The hidden cells nearest to some seeds, so many of them secondary; of the last ring the dearest."""
        cells = self.table.cells
        near, ring = np.array(seeds, np.int64), np.array(seeds, np.int64)
        held = int((self.choice & self.hidden)[near].sum())
        loose = self.hidden
        rows = self.incidence.rows(near)
        while ring.size and held < size and near.size < 8 * size:
            around = self.incidence.columns(rows)
            around = around[around < cells]
            ring = np.setdiff1d(around[loose[around]], near, assume_unique=True)
            mine = self.choice[ring]
            extra = ring[mine]
            if held + extra.size > size:
                extra = extra[np.lexsort((extra, -self.cost[extra]))][: size - held]
            ring = np.concatenate([ring[~mine], extra])
            held += extra.size
            near = np.union1d(near, ring)
            rows = self.incidence.rows(near)
        return near

    def _free(self, seeds: Integers, size: int) -> tuple[Integers, Integers]:
        """The cells of a part: secondary ones near the seeds and open ones in their place; and all hidden ones near."""
        near, cells = self.around(seeds, size), self.table.cells
        rows = self.incidence.rows(near)
        mine = near[self.choice[near] & self.hidden[near]]
        around = self.incidence.columns(rows)
        around = around[around < cells]
        others = around[self.choice[around] & ~self.hidden[around]]
        others = others[self.cost[others] < self.cost[mine].sum()]
        place, line = self.incidence.places(others)
        touched = np.zeros(self.incidence.by_row.shape[0], bool)
        touched[rows] = True
        loners = np.bincount(line, ~touched[place], len(others))
        order = np.lexsort((others, self.cost[others], loners))
        others = others[order][: 4 * size]
        return np.union1d(mine, others), near


def _others(room: Floats, line: Integers, size: int) -> Floats:
    """What all other entries of the same line have together."""
    endless = np.isinf(room)
    finite = np.where(endless, 0.0, room)
    total, ends = np.bincount(line, finite, size), np.bincount(line, endless, size)
    return np.where(ends[line] - endless > 0, np.inf, total[line] - finite)
