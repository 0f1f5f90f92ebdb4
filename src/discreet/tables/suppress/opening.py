"""The cheapest reasonable cells to hide so that one demand is met."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np

from discreet.model.contributions import Floats, Integers
from discreet.model.table import Bools, Table
from discreet.tables.suppress.moves.attackers import Ask, Demand, Space
from discreet.tables.suppress.moves.incidence import Incidence
from discreet.tables.suppress.moves.nearby import Nearby, Work
from discreet.tables.suppress.moves.probing import TOLERANCE

__all__ = ["Opener"]

Move = tuple[Integers, Floats]
Way = tuple[Integers, Move | None]

_FAR = 1e7
_ALL = (600, 2_400, 9_600, 2**62)
"""A way is looked for among so many columns around the cell, then among more, at last among all that hang together with it."""
_NEAR = _ALL[:2]
"""Whether a demand is met already, only among so many: the audit said that it was not."""
_WHOLE = 6_000
"""Spaces of no more columns are not cut into parts."""
_REMEMBERED = 64
"""Moves kept for each cell."""


class Opener:
    """Finds cells to hide: a cheapest move per unit moved, whose superfluous cells are then closed again.

    ``minimise sum(cost[i] / min(capacity[i], need) * |d[i]|)`` over moves ``d`` that take the cell as far as needed;
    hidden cells cost nothing.  ``hidden`` grows with every demand, so later demands are often met already.  In large
    tables only moves of the cells around are looked at first; others only where these do not suffice.
    """

    def __init__(self, space: Space, hidden: Bools, choice: Bools, cost: Floats, table: Table) -> None:
        self.space, self.always, self.width = space, ~table.listed, table.exactness()
        self.choice, self.hidden = np.array(choice, bool), np.array(hidden, bool)
        self.cost = cost / max(float(cost.max(initial=0.0)), 1e-300) * 1e3
        self._incidence = Incidence.of(space.matrix)
        self._nobody = np.zeros(space.matrix.shape[1])
        self._all = self._part(np.arange(len(self._nobody))) if len(self._nobody) <= _WHOLE else None
        self._moves: dict[int, deque[dict[int, float]]] = {}
        self._movable: set[int] = set()

    def meet(self, demand: Demand, *, stretch: float = 1.0) -> bool:
        """Hide what the demand needs; False where it cannot be met.  ``stretch`` asks for a little more than the need."""
        return all(self.answer(ask, stretch=stretch) for ask in demand.asks())

    def answer(self, ask: Ask, *, stretch: float = 1.0) -> bool:
        """Hide what one question of a demand needs; False where it cannot be had."""
        return self._remembered(ask, stretch) or self._open(ask, stretch)

    def _open(self, ask: Ask, stretch: float) -> bool:
        if len(ask.signs) == 1:
            return self._take(self._way(ask, ask.signs[0], stretch))
        reach = {sign: self._reach(ask, sign, self.hidden, near=True) for sign in (1, -1)}
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
            known = dict(zip(move[0].tolist(), move[1].tolist(), strict=True))
            for cell in known:
                self._moves.setdefault(cell, deque(maxlen=_REMEMBERED)).append(known)
        return True

    def _remembered(self, ask: Ask, stretch: float) -> bool:
        """Whether a move found before goes far enough and leaves alone what is known."""
        for move in self._moves.get(ask.cell, ()):
            far = abs(move[ask.cell]) if len(ask.signs) == 2 else move[ask.cell] * ask.signs[0]
            if far >= ask.need * stretch and move.keys().isdisjoint(ask.knows):
                return True
        return False

    def _way(self, ask: Ask, sign: int, part: float) -> Way | None:
        """Cells to hide so that the cell moves this way by ``part`` of the need, and such a move where one is known."""
        if part <= 0:
            return np.zeros(0, np.int64), None
        loose = self.hidden | self.choice | self.always
        price = np.where(self.hidden | self.always, 0.0, self.cost)
        for near in self._parts(ask.cell, loose, price):
            found = near.move(ask, loose, sign, part, _FAR, price)
            if found is None:
                continue
            opened = self._paid_for(*found)
            far = np.zeros(self.space.cells)
            inside = found[0] < self.space.cells
            far[found[0][inside]] = found[1][inside]
            if self._useless(opened[np.abs(far[opened]) < self.width[opened]]):
                return self._way(ask, sign, part)
            space = self.space
            room = np.where(far > 0, space.rise[: space.cells], space.fall[: space.cells])[opened]
            if opened.size > 1 and (np.abs(far[opened]) >= room * (1 - TOLERANCE)).any():
                return self._pruned(near, ask, sign, part, opened), None
            return opened, found
        return None

    def _paid_for(self, columns: Integers, moved: Floats) -> Integers:
        """The open cells that this move wants hidden."""
        space = self.space
        beyond = np.maximum(moved - space.slack_rise[columns], -moved - space.slack_fall[columns])
        owner = np.unique(space.owner[columns[(beyond > 0) & (space.owner[columns] >= 0)]])
        return np.asarray(owner[~self.hidden[owner] & ~self.always[owner]], np.int64)

    def _useless(self, opened: Integers) -> bool:
        """Whether some of these hardly moving cells would be known exactly whatever is hidden; they are not offered again."""
        loose, dead = self.hidden | self.choice, []
        for cell in opened.tolist():
            if cell in self._movable:
                continue
            asked = Ask(cell=cell, knows=(), signs=(1, -1), need=float(self.width[cell]))
            if self._reach(asked, 1, loose) + self._reach(asked, -1, loose) >= 1 - TOLERANCE:
                self._movable.add(cell)
            else:
                dead.append(cell)
        if dead:
            self.choice[dead] = False
            self._movable.clear()
        return bool(dead)

    def _pruned(self, near: Nearby, ask: Ask, sign: int, part: float, opened: Integers) -> Integers:
        """Without the cells, dearest first, that the move can do without."""
        kept, one = set(opened.tolist()), Ask(cell=ask.cell, knows=ask.knows, signs=(sign,), need=ask.need * part)
        for cell in sorted(kept, key=lambda c: (-self.cost[c], c)):
            trial = (self.hidden | self.always).astype(float)
            trial[list(kept - {cell})] = 1.0
            if near.reach(one, trial, _FAR)[0] >= 1 - TOLERANCE:
                kept.discard(cell)
        return np.array(sorted(kept), np.int64)

    def _reach(self, ask: Ask, sign: int, hidden: Bools, *, near: bool = False) -> float:
        """How much of the need is reached in one direction, looking only at ``near`` parts or at all."""
        loose, best = hidden | self.always, 0.0
        one = Ask(cell=ask.cell, knows=ask.knows, signs=(sign,), need=ask.need)
        for part in self._parts(ask.cell, loose, self._nobody, near=near):
            best = max(best, part.reach(one, loose.astype(float), _FAR)[0])
            if best >= 1 - TOLERANCE:
                break
        return best

    def _parts(self, cell: int, loose: Bools, price: Floats, *, near: bool = False) -> Iterator[Nearby]:
        """Ever larger parts of the table around a cell."""
        if self._all is not None:
            yield self._all
            return
        space = self.space
        may = (space.owner < 0) | (space.slack_rise + space.slack_fall > 0) | loose[np.maximum(space.owner, 0)]
        dear = price[np.maximum(space.owner, 0)]
        before = 0
        for size in _NEAR if near else _ALL:
            columns = self._incidence.around(np.array([cell]), may, size, dear)
            if len(columns) > before:
                yield self._part(columns)
            if len(columns) < size:
                return
            before = len(columns)

    def _part(self, columns: Integers) -> Nearby:
        return Nearby(self.space, self._incidence, columns, self._nobody, Work())
