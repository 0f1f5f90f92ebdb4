"""The search behind the exact optimum: a relaxed pattern, the demands it fails, cuts that say why, and again."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from itertools import islice

import numpy as np

from discreet.errors import NotProtectedError
from discreet.model.contributions import Floats
from discreet.model.table import Bools, Table
from discreet.solve.highs import WarmProgram, solve
from discreet.solve.problem import Program
from discreet.tables.suppress.cutting.cuts import Cuts, equation_prices
from discreet.tables.suppress.cutting.patterns import Patterns, TimeUpError
from discreet.tables.suppress.gauss import GaussSuppression
from discreet.tables.suppress.infeasible import refusal
from discreet.tables.suppress.moves.attackers import Ask, Demand, Space, demands, hideable, preference
from discreet.tables.suppress.moves.pairs import insider_demands
from discreet.tables.suppress.moves.probing import TOLERANCE, Cut, Moves, Prober, cut_of

__all__ = ["Found", "Search"]

_BREATH = 1e-3
"""How much a cell that is not hidden is opened when prices are asked for, so that they tell which such cells would help."""
_AT_ONCE = 20
_COARSE, _FINE = 0.15, 0.02
"""The gap of the first integer programs, and the least before the one that is asked for: safe patterns make it smaller."""
_MOST_ASKED = 5000
_AT_LEAST = 1.0
"""So many seconds there are for the first pattern in any case."""
_SMALL = 250
"""In tables of so many cells the optimum is mostly found sooner than a first pattern by elimination and its repair."""
_NOTHING = 1e-6


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
    """One search for the cheapest pattern of a table; ``most`` integer programs of so many ``nodes`` each limit its work."""

    def __init__(
        self, table: Table, method: str, time_limit: float, gap: float, *, nodes: int | None = None, most: int | None = None
    ) -> None:
        self.table, self.method, self.gap, self.nodes, self.most = table, method, gap, nodes, most
        self.deadline = time.perf_counter() + time_limit
        self.space = Space.of(table)
        self.choice = hideable(table)
        self.fixed = table.unknown
        self.cost = preference(table) / max(float(preference(table).max()), 1e-300) * 1e3
        self.cheap = _BREATH * np.clip(float(np.median(self.cost)) / self.cost, 0.1, 10.0)
        self.cuts = Cuts(self.space, self.choice, self.fixed)
        self.columns = self.cuts.columns
        self.prober = Prober(self.space)
        self.patterns = Patterns(table, method, self.space, self.choice, self.cost)
        self.programs = 0
        self.unmended = False
        self.best: Bools | None = None
        self.bound = 0.0

    def run(self) -> Found:
        """Search until the optimum is proved or time is up; NotProtectedError where there is no pattern."""
        small = self.table.cells <= _SMALL
        if not small:
            self._start()
        if not self.late:
            asks = [ask for demand in islice(self._first_demands(), _MOST_ASKED) for ask in demand.asks()]
            for ask in asks:
                if not ask.knows and not self.late:
                    self._start_cuts(ask)
            relaxed = self._relax(asks)
            if relaxed is not None and not small:
                self._better(self.patterns.completed(relaxed >= 0.5, self.deadline, self.deadline))
            self._integer()
        if self.best is None:
            self._start()
        return self._found()

    @property
    def late(self) -> bool:
        """No time is left."""
        return time.perf_counter() >= self.deadline

    def _first_demands(self) -> Iterator[Demand]:
        yield from demands(self.table)
        yield from insider_demands(self.table, self.space, self.table.suppressed, self.fixed | self.choice)

    # ---------------------------------------------------------------- cuts

    def _cut(self, ask: Ask, prices: tuple[Floats, ...]) -> Cut:
        """The cut of some prices; an error where nothing that may be hidden helps."""
        fixed = self.fixed.astype(float)
        fixed[ask.cell] = 1.0
        cut = cut_of(self.space, ask, prices, fixed)
        if cut.least > TOLERANCE and not self.choice[ask.cell] and not self.choice[cut.cells].any():
            raise refusal(self.table, self.method, [ask.demand()])
        return cut

    def _start_cuts(self, ask: Ask) -> None:
        """Each equation of the cell alone: what it does there, the other cells of the equation must undo."""
        nothing = self.fixed.astype(float)
        for prices in equation_prices(self.space, ask):
            self.cuts.keep(self._cut(ask, prices), ask, nothing)

    def _separate(self, ask: Ask, amount: Floats, *, moves: Moves | None = None) -> None:
        """Store cuts that this fractional pattern violates.

        ``moves`` remembers what insiders' questions found under the same pattern.
        """
        if moves is not None and moves.answer(ask):
            return
        probe = self.prober.ask(ask, np.where(self.choice, np.maximum(amount, _BREATH), amount), most=1.0)
        if not self.cuts.keep(self._cut(ask, probe.prices), ask, amount) and moves is not None:
            for move in probe.moves:
                moves.add(move)

    def _refute(self, ask: Ask, amount: Floats) -> None:
        """Store cuts against a whole pattern that fails a question; there is always one."""
        found = False
        for breath in (np.full(len(self.cost), _BREATH), self.cheap):
            probe = self.prober.ask(ask, np.where(self.choice, np.maximum(amount, breath), amount), most=1.0)
            found |= self.cuts.keep(self._cut(ask, probe.prices), ask, amount)
        if not found and not self.cuts.keep(self._cut(ask, self.prober.ask(ask, amount).prices), ask, amount):
            self.cuts.more(ask, amount)

    # ---------------------------------------------------------------- the two phases

    def _relax(self, asks: list[Ask]) -> Floats | None:
        """The fractional optimum, once no question yields a violated cut (None if half of the time goes by).

        After some new cuts the program is solved again; the round of questions goes on where it was left.  What insiders
        must not learn is asked last, of a whole pattern all at once.
        """
        until = (time.perf_counter() + self.deadline) / 2
        amount = self.fixed.astype(float)
        master = WarmProgram(Program(self.cost[self.columns], *self.cuts.matrix(0), *self._box()), method="dual")
        public, insider = ([ask for ask in asks if bool(ask.knows) is known] for known in (False, True))
        while time.perf_counter() < until:
            found = master.solve(time_limit=until - time.perf_counter())
            self.programs += 1
            if found.x is None or not found.optimal:
                return None
            amount[self.columns], self.bound = np.clip(found.x, 0.0, 1.0), max(self.bound, found.objective)
            if not (self.cuts.tie(amount) | self._round(public, amount, until)):
                whole = np.abs(found.x - np.round(found.x)).max(initial=0.0) < _NOTHING
                if not (self._cut_off(self._pattern(found.x)) if whole else self._round(insider, amount, until)):
                    self._better(self._pattern(found.x) if whole else None)
                    return amount if time.perf_counter() < until else None
            master.add_rows(*self.cuts.matrix(master.rows))
        return None

    def _round(self, asks: list[Ask], amount: Floats, until: float) -> bool:
        """Separate some cuts, the questions in turn; whether there were any."""
        have, moves = len(self.cuts.rows), Moves(self.space.cells)
        for _ in range(len(asks)):
            if len(self.cuts.rows) >= have + _AT_ONCE or time.perf_counter() >= until:
                break
            ask = asks.pop(0)
            asks.append(ask)
            self._separate(ask, amount, moves=moves if ask.knows else None)
        return len(self.cuts.rows) > have

    def _pattern(self, found: Floats) -> Bools:
        hidden = self.table.suppressed.copy()
        hidden[self.columns] = found > 0.5
        return hidden

    def _integer(self) -> None:
        """Integer programs with all cuts so far, first to a coarse gap, until the best pattern is proved or time is up."""
        gap, turns = max(self.gap, _COARSE), 0
        while not self._proved and not self.late and turns != self.most:
            program = Program(
                self.cost[self.columns], *self.cuts.matrix(0), *self._box(), integer=np.ones(len(self.columns), bool)
            )
            start = None if self.best is None else self.best[self.columns].astype(float)
            found = solve(program, time_limit=self.deadline - time.perf_counter(), mip_gap=gap, start=start, nodes=self.nodes)
            self.programs, turns = self.programs + 1, turns + 1
            if np.isfinite(found.bound):
                self.bound = max(self.bound, found.bound)
            if found.x is None:
                return
            hidden = self._pattern(found.x)
            have = len(self.cuts.rows)
            if self._cut_off(hidden):
                if len(self.cuts.rows) == have:
                    return
                continue
            self._better(hidden)
            if gap <= self.gap:
                return
            gap = gap / 4 if gap / 4 > max(self.gap, _FINE) else self.gap

    def _cut_off(self, hidden: Bools) -> bool:
        """Whether this pattern fails; the cuts that say so are stored."""
        amount = (hidden | self.fixed).astype(float)
        unions = self.patterns.failing(hidden)
        tied = self.cuts.tie(amount)
        asks: list[Ask] = []
        try:
            asks += self.patterns.unmet(hidden, self.deadline)
        except TimeUpError:
            return True
        for ask in asks:
            if not self.late:
                self._refute(ask, amount)
        for union in unions:
            self.cuts.union(union, hidden)
        return bool(asks or unions or tied)

    def _box(self) -> tuple[Floats, Floats]:
        """From 0 to 1, but 0 for cells that proved to be known exactly whatever is hidden."""
        return np.zeros(len(self.columns)), self.choice[self.columns].astype(float)

    # ---------------------------------------------------------------- what was found

    def _start(self) -> None:
        """The first pattern: what elimination leaves open is mended; ``unmended`` where there is no time even for that."""
        begin = GaussSuppression().apply(self.table).secondary
        until = max(self.deadline, time.perf_counter() + _AT_LEAST)
        found = self.patterns.completed(begin, until, self.deadline)
        self.unmended = found is None and time.perf_counter() >= until
        self._better(self.patterns.mending if self.unmended else found)

    def _paid(self, hidden: Bools) -> float:
        return float(self.cost[hidden & self.choice].sum())

    def _better(self, hidden: Bools | None) -> None:
        """Keep a pattern that costs less than the best so far."""
        if hidden is not None and (self.best is None or self._paid(hidden) < self._paid(self.best)):
            self.best = hidden

    @property
    def _proved(self) -> bool:
        return self.best is not None and not self.unmended and self.bound >= self._paid(self.best) * (1 - self.gap) - 1e-7

    def _found(self) -> Found:
        if self.best is None:
            unknown = NotProtectedError(self.method, "no pattern protects every cell", "force fewer cells")
            raise self.patterns.stuck or unknown
        paid = self._paid(self.best)
        gap = max(0.0, (paid - self.bound) / paid) if paid > 0 else 0.0
        if self.unmended:
            outcome = "unfinished"
        elif gap <= 1e-7:
            outcome = "optimal"
        else:
            outcome = "within gap" if gap <= self.gap + 1e-7 else "best so far"
        return Found(hidden=self.best, outcome=outcome, gap=gap, cuts=len(self.cuts.rows), programs=self.programs)
