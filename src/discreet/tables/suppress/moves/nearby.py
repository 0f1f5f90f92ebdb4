"""Moves and capacity cuts within a part of a table: small programs instead of one over all cells."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from discreet.model.contributions import Floats, Integers
from discreet.model.table import Bools
from discreet.solve.highs import WarmProgram
from discreet.solve.problem import Program
from discreet.tables.suppress.moves.attackers import Ask, Space
from discreet.tables.suppress.moves.incidence import Incidence
from discreet.tables.suppress.moves.probing import TOLERANCE, Cut

__all__ = ["Nearby", "Work", "part_cut"]

_MOST = 100.0
"""Moves of so many times the need are enough, mostly; endless ones are tried where they are not."""
_BREATH = 1e-3
"""How much a cell that is not hidden is opened when prices are asked for, so that they tell which such cells would help."""
_NOTHING = 1e-7
_TOGETHER, _ALIKE = 40, 1e3
"""So many cells are moved together at most, with needs that differ by such a factor at most."""
_WANTED = 1e4
"""What moving such a cell is worth, more than any way to do it costs."""
_INSIDER = 8.0
"""How much dearer it is to move a cell for each insider who knows it."""


@dataclasses.dataclass
class Work:
    """What was done so far, in units that are the same on every machine and take about a second on a present one."""

    done: float = 0.0

    def add(self, rows: int, columns: int, iterations: int) -> None:
        """One more program of this size was solved."""
        self.done += 2e-4 + 3e-7 * (rows + columns) * (1 + iterations / 16)


class Nearby:
    """All moves of some columns while everything else stands still; ``d = p - q`` with ``p`` up and ``q`` down.

    A move found here is one of the whole table.  A question that is answered "no" may still have another answer farther away;
    the cut that comes with it holds all the same.
    """

    def __init__(self, space: Space, incidence: Incidence, columns: Integers, crowd: Floats, work: Work) -> None:
        self.space, self.incidence, self.columns = space, incidence, columns
        self.rows, self.matrix = incidence.part(columns)
        self.size = len(columns)
        self.owner = space.owner[columns]
        zero, self._dear = np.zeros(2 * self.size), np.tile(1.0 + _INSIDER * crowd[columns], 2)
        both = sparse.csr_array(sparse.hstack([self.matrix, -self.matrix]))
        self._program = WarmProgram(Program.of(self._dear, both, 0.0, 0.0, lower=zero, upper=zero), method="dual", duals=False)
        self._every = np.arange(2 * self.size)
        self._priced: WarmProgram | None = None
        self._work = work

    def holds(self, cell: int) -> bool:
        """Whether a cell can move in this part."""
        spot = self.spot(cell)
        return spot < self.size and bool(self.columns[spot] == cell)

    def spot(self, cell: int) -> int:
        """Where a column stands in this part."""
        return int(np.searchsorted(self.columns, cell))

    def move(
        self, ask: Ask, hidden: Bools, sign: int, part: float, most: float = _MOST, price: Floats | None = None
    ) -> tuple[Integers, Floats] | None:
        """The move of least total way that takes the cell of a question by ``part`` of the need, under a pattern.

        With a ``price`` (one a cell) least is what it costs to hide the cells that it wants hidden in addition to that pattern.
        """
        rise, fall = self._capacities(ask, hidden.astype(float), most)
        if price is not None:
            self._program.set_cost(self._prices(price, rise, fall))
        here = self.spot(ask.cell)
        there = here + self.size
        ends = (here, there) if sign > 0 else (there, here)
        upper = np.concatenate([rise, fall])
        if upper[ends[0]] < part * (1 - TOLERANCE):
            return None
        lower, way = np.zeros(2 * self.size), min(part, float(upper[ends[0]]))
        lower[ends[0]] = upper[ends[0]] = way
        upper[ends[1]] = 0.0
        self._program.set_bounds(self._every, lower, upper)
        found = self._program.solve()
        self._work.add(*self.matrix.shape, found.iterations)
        if found.x is None or not found.optimal:
            return None
        moved = found.x[: self.size] - found.x[self.size :]
        kept = np.flatnonzero(np.abs(moved) > _NOTHING)
        return self.columns[kept], moved[kept] * ask.need

    def moves(self, asks: Sequence[Ask], hidden: Bools) -> Iterator[tuple[Integers, Floats]]:
        """One program for many questions, no two of their cells in one row: the parts of its move that share no row.

        Each part takes the cells of some of the questions as far as can be, by the least total way.
        """
        unit = max(ask.need for ask in asks)
        rise, fall = self._capacities(dataclasses.replace(asks[0], knows=(), need=unit), hidden.astype(float), _MOST)
        upper, price = np.concatenate([rise, fall]), self._dear.copy()
        here = np.searchsorted(self.columns, [ask.cell for ask in asks])
        first = np.array([ask.signs[0] > 0 for ask in asks])
        rising = first & (np.array([len(ask.signs) == 1 for ask in asks]) | (rise[here] >= fall[here]))
        there = np.where(rising, here + self.size, here)
        here = np.where(rising, here, here + self.size)
        upper[here] = np.minimum(upper[here], [ask.need / unit for ask in asks])
        upper[there] = 0.0
        price[here] = -_WANTED
        self._program.set_cost(price)
        self._program.set_bounds(self._every, np.zeros(2 * self.size), upper)
        found = self._program.solve()
        self._program.set_cost(self._dear)
        self._work.add(*self.matrix.shape, found.iterations)
        if found.x is None or not found.optimal:
            return
        moved = found.x[: self.size] - found.x[self.size :]
        kept = np.flatnonzero(np.abs(moved) > _NOTHING)
        for inside in _apiece(self.matrix[:, kept]):
            yield self.columns[kept[inside]], moved[kept[inside]] * unit

    def apart(self, asks: Sequence[Ask]) -> tuple[list[Ask], list[Ask]]:
        """Some of the questions, no two of whose cells stand in one row and none far smaller than another; and the others."""
        used: set[int] = set()
        taken: list[Ask] = []
        left: list[Ask] = []
        for ask in asks:
            at = self.incidence.by_column.indptr[ask.cell : ask.cell + 2]
            rows = self.incidence.by_column.indices[at[0] : at[1]].tolist()
            if len(taken) == _TOGETHER or not used.isdisjoint(rows) or (taken and ask.need < taken[0].need / _ALIKE):
                left.append(ask)
            else:
                taken.append(ask)
                used.update(rows)
        return taken, left

    def reach(self, ask: Ask, amount: Floats, most: float) -> tuple[float, tuple[Floats, ...]]:
        """How much of the need is reached when each cell is hidden by ``amount`` (0 to 1), and the prices of the rows."""
        if self._priced is None:
            zero = np.zeros(self.size)
            self._priced = WarmProgram(Program.of(zero, self.matrix, 0.0, 0.0, lower=zero, upper=zero), method="dual")
        rise, fall = self._capacities(ask, amount, most)
        here, reach = self.spot(ask.cell), 0.0
        prices: list[Floats] = []
        for sign in ask.signs:
            up, down = rise.copy(), fall.copy()
            side = up if sign > 0 else down
            side[here] = min(side[here], max(1.0 - reach, 0.0) if prices else 1.0)
            self._priced.set_bounds(self._every[: self.size], -down, up)
            found = self._priced.maximise(here, float(sign))
            self._work.add(*self.matrix.shape, found.iterations)
            if found.row_dual is None:
                return 1.0, ()
            reach += found.objective
            prices.append(found.row_dual)
        return reach, tuple(prices)

    def _prices(self, price: Floats, rise: Floats, fall: Floats) -> Floats:
        """The price of a unit moved up, and down: all of it at the need or at the capacity, if that is less."""
        own = np.where(self.owner >= 0, price[np.maximum(self.owner, 0)], 0.0)
        own = own * (1e3 / max(float(own.max(initial=0.0)), 1e-300)) + 1e-4
        return np.concatenate([own / np.clip(rise, 1e-7, 1.0), own / np.clip(fall, 1e-7, 1.0)])

    def breath(self, hidden: Bools, choice: Bools) -> Floats:
        """A pattern in which the cells that could be hidden in addition are a very little open."""
        return np.where(hidden, 1.0, np.where(choice, _BREATH, 0.0))

    def _capacities(self, ask: Ask, amount: Floats, most: float) -> tuple[Floats, Floats]:
        """How far each column can rise and fall, in units of the need."""
        space, columns = self.space, self.columns
        open_by = np.where(self.owner >= 0, amount[np.maximum(self.owner, 0)], 0.0)
        rise = space.slack_rise[columns] / ask.need + open_by * np.minimum(space.rise[columns] / ask.need, most)
        fall = space.slack_fall[columns] / ask.need + open_by * np.minimum(space.fall[columns] / ask.need, most)
        if ask.knows:
            shut = np.isin(columns, ask.knows)
            rise[shut], fall[shut] = 0.0, 0.0
        return np.minimum(rise, most), np.minimum(fall, most)


def part_cut(
    space: Space, incidence: Incidence, ask: Ask, rows: Integers, prices: tuple[Floats, ...], fixed: Bools, choice: Bools
) -> Cut:
    """The capacity cut that prices of some rows give (see :func:`probing.cut_of`), all other rows at the price 0.

    Weights of cells that may be hidden only; that of the cell in question itself is left to the caller.
    """
    line, column, factor = incidence.entries(rows)
    columns, place = np.unique(np.append(column, ask.cell), return_inverse=True)
    own = int(place[-1])
    owner = space.owner[columns]
    held = (owner >= 0) & fixed[np.maximum(owner, 0)]
    held[own] = True
    open_to = (owner >= 0) & ~held & choice[np.maximum(owner, 0)]
    known = np.isin(columns, ask.knows) if ask.knows else np.zeros(len(columns), bool)
    missing, weight = 1.0, np.zeros(len(columns))
    rise, fall = space.rise[columns] / ask.need, space.fall[columns] / ask.need
    slack_rise, slack_fall = space.slack_rise[columns] / ask.need, space.slack_fall[columns] / ask.need
    for sign, price in zip(ask.signs, prices, strict=True):
        reduced = -np.bincount(place[:-1], factor * price[line], len(columns))
        reduced[own] += sign
        reduced[known | (np.abs(reduced) < 1e-9)] = 0.0
        up, down = np.maximum(reduced, 0.0), np.maximum(-reduced, 0.0)
        missing -= float((_times(up, slack_rise) + _times(down, slack_fall)).sum())
        weight += np.minimum(_times(up, rise) + _times(down, fall), 1.0)
    missing -= float(weight[held].sum())
    cells, spot = np.unique(owner[open_to], return_inverse=True)
    weights = np.bincount(spot, weight[open_to], len(cells))
    slight = weights <= 1e-7 * max(missing, 0.0)
    missing -= float(weights[slight].sum())
    return Cut(cells=cells[~slight], weights=np.minimum(weights[~slight], max(missing, 0.0)), least=missing)


def _apiece(matrix: sparse.csr_array) -> Iterator[Integers]:
    """The columns of each connected part of a matrix."""
    ends = matrix.tocoo()
    rows, columns = matrix.shape
    if not columns:
        return
    graph = sparse.coo_array((np.ones(ends.nnz), (ends.row, rows + ends.col)), shape=(rows + columns,) * 2)
    _, part = connected_components(graph, directed=False)
    part = part[rows:]
    order = np.argsort(part, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(part[order])) + 1)


def _times(price: Floats, capacity: Floats) -> Floats:
    """Their products, 0 where the price is 0 and the capacity endless."""
    used = price > 0
    return np.where(used, price * np.where(used, capacity, 0.0), 0.0)
