"""A safe pattern to begin a search with: what elimination leaves open is mended, superfluous cells are taken out again."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from itertools import chain

import numpy as np

from discreet.errors import NotProtectedError
from discreet.model.contributions import Floats
from discreet.model.table import Bools, Table
from discreet.tables.suppress.infeasible import refusal
from discreet.tables.suppress.moves.attackers import Ask, Demand, Space, demands
from discreet.tables.suppress.moves.pairs import unmet_insiders
from discreet.tables.suppress.moves.probing import TOLERANCE, Moves, Prober
from discreet.tables.suppress.moves.sums import Sums
from discreet.tables.suppress.moves.unions import Union, mend, union_refusal
from discreet.tables.suppress.opening import Opener

__all__ = ["Patterns", "TimeUpError"]

_NEAR = 100.0
"""Moves of so many times the need are tried first; that is quicker than moves without end, and mostly enough."""


class TimeUpError(Exception):
    """Some questions were left unasked."""


class Patterns:
    """Patterns of one table judged, completed and pruned.

    ``choice`` loses the cells that prove to be known exactly whatever is hidden; ``mending`` is how far the last completion
    came, and ``stuck`` why it ended without a pattern, if that is known.
    """

    def __init__(self, table: Table, method: str, space: Space, choice: Bools, cost: Floats) -> None:
        self.table, self.method, self.space, self.choice, self.cost = table, method, space, choice, cost
        self.fixed, self.sums = table.unknown, Sums(table)
        self.mending = self.fixed
        self.stuck: NotProtectedError | None = None

    def unmet(self, hidden: Bools, until: float) -> Iterator[Ask]:
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
                raise TimeUpError
            if not moves.answer(ask):
                probe = prober.ask(ask, amount, most=_NEAR)
                for move in probe.moves:
                    moves.add(move)
                if probe.reach < 1 - TOLERANCE and prober.ask(ask, amount).reach < 1 - TOLERANCE:
                    yield ask

    def failing(self, hidden: Bools) -> list[Union]:
        """The sums of hidden cells that fail a rule."""
        return self.sums.failing(hidden | self.fixed)

    def completed(self, begin: Bools, until: float, deadline: float) -> Bools | None:
        """A pattern that meets every demand, from a beginning; superfluous cells are taken out again, dearest first.

        Half of the time to the deadline is for these.  None where it gets stuck or time is up; ``mending`` is how far it came.
        """
        self.mending = (begin & self.choice) | self.table.suppressed
        try:
            while wrong := self._faults(self.mending, until):
                more = self._improved(self.mending, begin, *wrong, until)
                if more is None:
                    return None
                self.mending = more
        except TimeUpError:
            return None
        return self._pruned(self.mending, (time.perf_counter() + deadline) / 2)

    def _faults(self, hidden: Bools, until: float) -> tuple[list[Ask], list[Union]] | None:
        """The questions and the sums that a pattern gets wrong; None where it gets none wrong."""
        asks, unions = list(self.unmet(hidden, until)), self.failing(hidden)
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
            except TimeUpError:
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
        return not self.sums.failing(hidden | self.fixed, np.array([cell])) and all(
            next(self._wrong(some, hidden, until, prober, moves), None) is None for some in (asked, self._asked(hidden, until))
        )
