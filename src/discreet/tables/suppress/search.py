"""The search behind the exact optimum: a relaxed pattern, the demands it fails, cuts that say why, and again."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable, Iterator
from itertools import chain, islice

import numpy as np
from scipy import sparse

from discreet.errors import NotProtectedError
from discreet.model.contributions import Floats, Integers
from discreet.model.table import Bools, Table
from discreet.solve.highs import WarmProgram, solve
from discreet.solve.problem import Program
from discreet.tables.suppress.attackers import Ask, Demand, Space, demands, hideable, preference
from discreet.tables.suppress.gauss import GaussSuppression
from discreet.tables.suppress.opening import Opener, refusal
from discreet.tables.suppress.pairs import insider_demands, unmet_insiders
from discreet.tables.suppress.probing import TOLERANCE, Cut, Moves, Prober, cut_of, row_prices
from discreet.tables.suppress.unions import Union, failing, mend, union_refusal

__all__ = ["Found", "Search"]

_BREATH = 1e-3
"""How much a cell that is not hidden is opened when prices are asked for, so that they tell which such cells would help."""
_VIOLATED = 1e-4
_AT_ONCE = 20
_COARSE = 0.05
_MOST_ASKED = 5000
_AT_LEAST = 1.0
"""So many seconds there are for the first pattern in any case."""
_NEAR = 100.0
"""Moves of so many times the need are tried first; that is quicker than moves without end, and mostly enough."""


class _TimeUpError(Exception):
    """Some questions were left unasked."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Found:
    """The pattern a search ended with, the work done, and whether it is proved ("optimal", "within gap" or "best so far").

    "unfinished": time was up before there was a pattern that meets every demand.
    """

    hidden: Bools
    outcome: str
    gap: float
    cuts: int
    programs: int


class Search:
    """One search for the cheapest pattern of a table."""

    def __init__(self, table: Table, method: str, time_limit: float, gap: float) -> None:
        self.table, self.method, self.gap = table, method, gap
        self.deadline = time.perf_counter() + time_limit
        self.space = Space.of(table)
        self.choice = hideable(table)
        self.fixed = table.unknown
        self.cost = preference(table) / max(float(preference(table).max()), 1e-300) * 1e3
        self.columns = np.flatnonzero(self.choice)
        self.column = np.full(table.cells, -1)
        self.column[self.columns] = np.arange(len(self.columns))
        self.prober = Prober(self.space)
        self.rows: list[tuple[Integers, Floats, float]] = []
        self.seen: set[bytes] = set()
        self.programs = 0
        self.stuck: NotProtectedError | None = None
        self.mending, self.unmended = self.fixed, False

    def run(self) -> Found:
        """Search until the optimum is proved or time is up; NotProtectedError where there is no pattern."""
        best, bound = self._start(), 0.0
        if not self.late:
            asks = [ask for demand in islice(self._first_demands(), _MOST_ASKED) for ask in demand.asks()]
            for ask in asks:
                if not ask.knows and not self.late:
                    self._start_cuts(ask)
            relaxed, bound = self._relax(asks)
            other = None if relaxed is None else self._completed(relaxed >= 0.5, self.deadline)
            best = min((p for p in (best, other) if p is not None), key=self._paid, default=None)
        return self._integer(best, bound)

    @property
    def late(self) -> bool:
        """No time is left."""
        return time.perf_counter() >= self.deadline

    # ---------------------------------------------------------------- demands

    def _first_demands(self) -> Iterator[Demand]:
        yield from demands(self.table)
        yield from insider_demands(self.table, self.space, self.table.suppressed, self.fixed | self.choice)

    def _unmet(self, hidden: Bools, until: float) -> Iterator[Ask]:
        """The questions that a pattern of hidden cells (with the suppressed ones) answers wrongly."""
        prober, moves = Prober(self.space, hidden | self.fixed), Moves(self.space.cells)
        return self._wrong(self._asked(hidden, until), hidden, until, prober, moves)

    def _asked(self, hidden: Bools, until: float) -> Iterator[Demand]:
        insiders = unmet_insiders(self.table, self.space, hidden | self.table.suppressed, until)
        return chain(demands(self.table, hidden), insiders)

    def _wrong(self, asked: Iterable[Demand], hidden: Bools, until: float, prober: Prober, moves: Moves) -> Iterator[Ask]:
        """Those of the questions; ``moves`` are known to be possible under the pattern, and more are found on the way."""
        amount = (hidden | self.fixed).astype(float)
        for ask in (ask for demand in asked for ask in demand.asks()):
            if time.perf_counter() > until:
                raise _TimeUpError
            if not moves.answer(ask):
                probe = prober.ask(ask, amount, most=_NEAR)
                for move in probe.moves:
                    moves.add(move)
                if probe.reach < 1 - TOLERANCE and prober.ask(ask, amount).reach < 1 - TOLERANCE:
                    yield ask

    # ---------------------------------------------------------------- cuts

    def _keep(self, cut: Cut, ask: Ask) -> bool:
        """Store a cut, once; for the width of a cell that is only secondary it counts while that cell is hidden."""
        if cut.least <= TOLERANCE:
            return False
        mine = self.choice[cut.cells] & (cut.cells != ask.cell)
        cells, weights = self.column[cut.cells[mine]], cut.weights[mine] / cut.least
        least = 1.0
        if self.choice[ask.cell]:
            cells, weights, least = np.append(cells, self.column[ask.cell]), np.append(weights, -1.0), 0.0
        elif not cells.size:
            raise refusal(self.table, self.method, [ask.demand()])
        return self._store(cells, weights, least)

    def _store(self, cells: Integers, weights: Floats, least: float) -> bool:
        cells = np.asarray(cells, np.int64)
        cells = np.asarray(cells, np.int64)
        name = cells.tobytes() + np.round(weights, 6).tobytes()
        if name in self.seen:
            return False
        self.seen.add(name)
        self.rows.append((cells, weights, least))
        return True

    def _cut(self, ask: Ask, prices: tuple[Floats, ...]) -> Cut:
        fixed = self.fixed.astype(float)
        fixed[ask.cell] = 1.0
        return cut_of(self.space, ask, prices, fixed)

    def _start_cuts(self, ask: Ask) -> None:
        """Each equation of the cell alone: what it does there, the other cells of the equation must undo."""
        column = self.space.matrix[:, [ask.cell]].tocoo()
        for row in column.row.tolist():
            prices = tuple(row_prices(self.space.matrix, ask.cell, row, sign) for sign in ask.signs)
            self._keep(self._cut(ask, prices), ask)

    def _separate(self, ask: Ask, amount: Floats, *, whole: bool, moves: Moves | None = None) -> bool:
        """Store a cut that this pattern violates; a whole pattern that fails always yields one.

        ``moves`` remembers what insiders' questions found under the same fractional pattern.
        """
        if moves is not None and moves.answer(ask):
            return False
        breath = np.where(self.choice, np.maximum(amount, _BREATH), amount)
        tries = [self.prober.ask(ask, breath, most=1.0)]
        if whole:
            tries.append(self.prober.ask(ask, amount))
        for probe in tries:
            cut = self._cut(ask, probe.prices)
            missing = cut.least - float(cut.weights @ amount[cut.cells])
            if missing > _VIOLATED * cut.least and self._keep(cut, ask):
                return True
            if moves is not None:
                for move in probe.moves:
                    moves.add(move)
        return whole and self._more(ask, amount)

    def _more(self, ask: Ask, amount: Floats) -> bool:
        """The plainest cut against a whole pattern: hide something more (or leave the secondary cell in question open)."""
        cells = np.flatnonzero(amount[self.columns] < 0.5)
        weights, least = np.ones(len(cells)), 1.0
        if self.choice[ask.cell]:
            cells, weights, least = np.append(cells, self.column[ask.cell]), np.append(weights, -1.0), 0.0
        return self._store(cells, weights, least)

    def _union_cut(self, union: Union, hidden: Bools) -> bool:
        """Not these hidden cells of the equation alone: hide another, or leave one of them open."""
        cells = union.cells if union.frame < 0 else np.append(union.cells, union.frame)
        free = np.unique(cells[self.choice[cells]])
        weights = np.where(hidden[free], -1.0, 1.0)
        return self._store(self.column[free], weights, 1.0 - float(hidden[free].sum()))

    # ---------------------------------------------------------------- the two phases

    def _relax(self, asks: list[Ask]) -> tuple[Floats | None, float]:
        """The fractional optimum, once no question yields a violated cut (None if half of the time goes by), and a bound.

        After some new cuts the program is solved again; the round of questions goes on where it was left.
        """
        until = (time.perf_counter() + self.deadline) / 2
        amount, bound = self.fixed.astype(float), 0.0
        master = WarmProgram(Program(self.cost[self.columns], *self._matrix(0), *self._box()), method="dual")
        turn, quiet = 0, 0
        while quiet < len(asks) and time.perf_counter() < until:
            found = master.solve(time_limit=until - time.perf_counter())
            self.programs += 1
            if found.x is None or not found.optimal:
                break
            amount[self.columns], bound = np.clip(found.x, 0.0, 1.0), found.objective
            have, moves = len(self.rows), Moves(self.space.cells)
            while quiet < len(asks) and len(self.rows) < have + _AT_ONCE and time.perf_counter() < until:
                known = moves if asks[turn].knows else None
                quiet = 0 if self._separate(asks[turn], amount, whole=False, moves=known) else quiet + 1
                turn = (turn + 1) % len(asks)
            if len(self.rows) > have:
                master.add_rows(*self._matrix(have))
        return amount if quiet >= len(asks) else None, bound

    def _integer(self, best: Bools | None, bound: float) -> Found:
        """Integer programs with all cuts so far, first to a coarse gap, until the best pattern is proved or time is up."""
        gap, paid = max(self.gap, _COARSE), np.inf if best is None else self._paid(best)
        while True:
            left = self.deadline - time.perf_counter()
            if left <= 0 or bound >= paid * (1 - self.gap) - 1e-7:
                break
            whole = np.ones(len(self.columns), bool)
            program = Program(self.cost[self.columns], *self._matrix(0), *self._box(), integer=whole)
            found = solve(program, time_limit=left, mip_gap=gap)
            self.programs += 1
            if np.isfinite(found.bound):
                bound = max(bound, found.bound)
            if found.x is None:
                break
            hidden = self.table.suppressed.copy()
            hidden[self.columns] = found.x > 0.5
            have = len(self.rows)
            fails = self._cut_off(hidden)
            if fails and len(self.rows) > have:
                continue
            if fails:
                break
            if self._paid(hidden) < paid:
                best, paid = hidden, self._paid(hidden)
            if gap <= self.gap:
                break
            gap = self.gap
        if best is None:
            raise self.stuck or NotProtectedError(self.method, "no pattern protects every cell", "force fewer cells")
        gap = max(0.0, (paid - bound) / paid) if paid > 0 else 0.0
        outcome = (
            "unfinished"
            if self.unmended
            else "optimal"
            if gap <= 1e-7
            else "within gap"
            if gap <= self.gap + 1e-7
            else "best so far"
        )
        return Found(hidden=best, outcome=outcome, gap=gap, cuts=len(self.rows), programs=self.programs)

    def _cut_off(self, hidden: Bools) -> bool:
        """Whether this pattern fails; the cuts that say so are stored."""
        amount = (hidden | self.fixed).astype(float)
        unions = self._failing(hidden)
        asks: list[Ask] = []
        try:
            asks += self._unmet(hidden, self.deadline)
        except _TimeUpError:
            return True
        for ask in asks:
            if not self.late:
                self._separate(ask, amount, whole=True)
        for union in unions:
            self._union_cut(union, hidden)
        return bool(asks or unions)

    def _failing(self, hidden: Bools) -> list[Union]:
        return failing(self.table, hidden) if self.table.intruder.unions else []

    def _paid(self, hidden: Bools) -> float:
        return float(self.cost[hidden & self.choice].sum())

    def _box(self) -> tuple[Floats, Floats]:
        """From 0 to 1, but 0 for cells that proved to be known exactly whatever is hidden."""
        return np.zeros(len(self.columns)), self.choice[self.columns].astype(float)

    def _matrix(self, first: int) -> tuple[sparse.csr_array, Floats, Floats]:
        """The cuts from the ``first`` on, with their limits."""
        rows = self.rows[first:]
        lengths = [len(cells) for cells, _, _ in rows]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        cells = np.concatenate([cells for cells, _, _ in rows]) if rows else np.zeros(0, np.int64)
        weights = np.concatenate([weights for _, weights, _ in rows]) if rows else np.zeros(0)
        matrix = sparse.csr_array((weights, cells, starts), shape=(len(rows), len(self.columns)))
        return matrix, np.array([least for _, _, least in rows], float), np.full(len(rows), np.inf)

    # ---------------------------------------------------------------- a pattern in any case

    def _start(self) -> Bools | None:
        """The first pattern: what elimination leaves open is mended; ``unmended`` where there is no time even for that."""
        begin = GaussSuppression().apply(self.table).secondary
        until = max(self.deadline, time.perf_counter() + _AT_LEAST)
        best = self._completed(begin, until)
        self.unmended = best is None and time.perf_counter() >= until
        return self.mending if self.unmended else best

    def _completed(self, begin: Bools, until: float) -> Bools | None:
        """A pattern that meets every demand, from a beginning; superfluous cells are taken out again, dearest first.

        None where it gets stuck or time is up; ``mending`` is how far it came.
        """
        self.mending = (begin & self.choice) | self.table.suppressed
        try:
            while wrong := self._faults(self.mending, until):
                more = self._improved(self.mending, begin, *wrong, until)
                if more is None:
                    return None
                self.mending = more
        except _TimeUpError:
            return None
        return self._pruned(self.mending, (time.perf_counter() + self.deadline) / 2)

    def _faults(self, hidden: Bools, until: float) -> tuple[list[Ask], list[Union]] | None:
        """The questions and the sums that a pattern gets wrong; None where it gets none wrong."""
        asks, unions = list(self._unmet(hidden, until)), self._failing(hidden)
        most: dict[tuple[int, tuple[int, ...]], float] = {}
        for ask in asks:
            most[ask.cell, ask.knows] = max(ask.need, most.get((ask.cell, ask.knows), 0.0))
        asks.sort(key=lambda ask: (-most[ask.cell, ask.knows], ask.cell, ask.knows))
        return (asks, unions) if asks or unions else None

    def _improved(self, hidden: Bools, begin: Bools, asks: list[Ask], unions: list[Union], until: float) -> Bools | None:
        """More hidden cells, or the beginning again without cells that are known exactly whatever is hidden."""
        opener = Opener(self.space, hidden, self.choice, self.cost, self.table)
        lost = [ask for ask in asks if time.perf_counter() < until and not opener.answer(ask)]
        if useless := [ask.cell for ask in lost if self.choice[ask.cell]]:
            self.choice[useless] = False
            return (begin & self.choice) | self.table.suppressed
        if lost:
            raise refusal(self.table, self.method, [ask.demand() for ask in lost])
        for union in unions:
            more = mend(self.table, opener.hidden, opener.choice, self.cost, union)
            if more is None:
                self.stuck = union_refusal(self.table, self.method, opener.hidden, [union])
                return None
            opener.hidden[more] = True
        if (opener.hidden == hidden).all():
            opener.hidden[self.choice] = True
        return None if (opener.hidden == hidden).all() else opener.hidden

    def _pruned(self, hidden: Bools, until: float) -> Bools:
        """Without the cells, dearest first, that a pattern can do without, as far as time allows."""
        extra, moves = np.flatnonzero(hidden & self.choice), Moves(self.space.cells)
        prober = Prober(self.space, hidden | self.fixed)
        for cell in extra[np.lexsort((extra, -self.cost[extra]))]:
            left, hidden[cell] = moves.without(cell), False
            try:
                hidden[cell] = not self._does_without(cell, hidden, until, prober, left)
            except _TimeUpError:
                hidden[cell] = True
                break
            moves = moves if hidden[cell] else left
        return hidden

    def _does_without(self, cell: int, hidden: Bools, until: float, prober: Prober, moves: Moves) -> bool:
        """Whether a pattern still meets every demand after a cell was taken out; what fails most often is asked first."""
        matrix = abs(self.space.matrix)
        rows = matrix[matrix[:, [cell]].indices]
        loose = self.space.spread((hidden | self.fixed).astype(float)) + (self.space.owner < 0)
        if (rows @ loose == 1).any():
            return False
        near = np.isin(np.arange(self.table.cells), rows.indices)
        asked = (demand for demand in demands(self.table, hidden) if near[demand.cell])
        unions = failing(self.table, hidden, only=cell) if self.table.intruder.unions else []
        return not unions and all(
            next(self._wrong(some, hidden, until, prober, moves), None) is None for some in (asked, self._asked(hidden, until))
        )
