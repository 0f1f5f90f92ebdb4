"""How far a cell can move under a pattern of hidden cells, and the capacity cut that says why no farther."""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy import sparse

from discreet.errors import SolverError
from discreet.model.contributions import Floats, Integers
from discreet.model.table import Bools
from discreet.solve.highs import WarmProgram
from discreet.solve.problem import Program
from discreet.tables.suppress.moves.attackers import Ask, Space

__all__ = ["TOLERANCE", "Cut", "Moves", "Probe", "Prober", "cut_of", "row_prices"]

TOLERANCE = 1e-6
"""How much of a need (as a part of it) may be missing and still count as met: the accuracy of the linear programs."""

_FAR = 1e7
_REMEMBERED = 256
_SHAKEN = 100.0
_FEW = 30


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Probe:
    """What came of a question: ``reach`` as a part of the need, the moves of the cells, and the row prices, one a direction."""

    reach: float
    moves: tuple[Floats, ...]
    prices: tuple[Floats, ...]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Cut:
    """Every pattern ``z`` that meets the demand has ``weights @ z[cells] >= least``."""

    cells: Integers
    weights: Floats
    least: float


class Moves:
    """The last moves found under a pattern (and so under every larger one): they answer most questions at once."""

    def __init__(self, cells: int) -> None:
        self._rows = np.zeros((0, cells))
        self._next = 0

    def add(self, move: Floats) -> None:
        """Remember a move of the cells."""
        if len(self._rows) < _REMEMBERED and self._next == len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros((max(8, len(self._rows)), len(move)))])[:_REMEMBERED]
        self._next %= len(self._rows)
        self._rows[self._next] = move
        self._next += 1

    def without(self, cell: int) -> Moves:
        """Those that leave a cell alone."""
        left = Moves(self._rows.shape[1])
        left._rows = self._rows[self._rows[:, cell] == 0]
        left._next = len(left._rows)
        return left

    def answer(self, ask: Ask, stretch: float = 1.0) -> bool:
        """Whether a single move goes far enough and leaves alone what is known."""
        far = self._rows[:, ask.cell]
        far = np.abs(far) if len(ask.signs) == 2 else far * ask.signs[0]
        hits = np.flatnonzero(far >= ask.need * stretch)
        if hits.size and ask.knows:
            hits = hits[~self._rows[np.ix_(hits, np.array(ask.knows, np.int64))].any(axis=1)]
        return bool(hits.size)


class Prober:
    """One linear program over all moves of a space, or of its ``loose`` cells alone, kept warm between questions."""

    def __init__(self, space: Space, loose: Bools | None = None) -> None:
        self.space = space
        may = (
            np.ones(len(space.owner), bool) if loose is None else (space.owner < 0) | (space.slack_rise + space.slack_fall > 0)
        )
        self._columns = np.flatnonzero(may if loose is None else may | (space.spread(loose.astype(float)) > 0))
        self._column = np.full(len(space.owner), -1)
        self._column[self._columns] = np.arange(len(self._columns))
        matrix = space.matrix if loose is None else sparse.csr_array(space.matrix[:, self._columns])
        self._rows = np.flatnonzero(np.diff(matrix.indptr))
        self._every = np.arange(len(self._columns))
        zero = np.zeros(len(self._columns))
        program = Program.of(zero, matrix[self._rows], 0.0, 0.0, lower=zero, upper=zero)
        self._program = WarmProgram(program, method="dual")

    def ask(self, ask: Ask, amount: Floats, *, most: float = _FAR) -> Probe:
        """How much of the need is reached when each cell is hidden by ``amount`` (0 to 1).

        ``most`` caps every move at so many times the need; 1 gives the sharpest cuts for fractional patterns.
        """
        rise, fall = self.space.capacities(amount, ask.need, most, ask.knows)
        reach = 0.0
        moves: list[Floats] = []
        prices: list[Floats] = []
        for sign in ask.signs:
            missing = max(1.0 - reach, 0.0) if len(moves) else 1.0
            up, down = rise.copy(), fall.copy()
            side = up if sign > 0 else down
            side[ask.cell] = min(side[ask.cell], missing)
            self._program.set_bounds(self._every, -down[self._columns], up[self._columns])
            found = self._program.maximise(int(self._column[ask.cell]), float(sign))
            if found.x is None or found.row_dual is None:
                raise SolverError("suppression", f"a linear program ended as {found.status!r}", "try another solver version")
            reach += found.objective
            moves.append(self._spread(found.x)[: self.space.cells] * ask.need)
            price = np.zeros(self.space.matrix.shape[0])
            price[self._rows] = found.row_dual
            prices.append(price)
        return Probe(reach=reach, moves=tuple(moves), prices=tuple(prices))

    def _spread(self, found: Floats) -> Floats:
        """What was found, over all columns of the space."""
        out = np.zeros(len(self._column))
        out[self._columns] = found
        return out

    def immovable(self, cells: Integers, width: Floats, amount: Floats) -> Integers:
        """Those of the ``cells`` whose interval stays narrower than ``width`` (an array over all cells) under a pattern.

        Moves of a finest cell with the totals above it, and then moves that shake all cells at once, settle most of
        them; the rest is asked for one by one.
        """
        left, draw = np.asarray(cells, np.int64), np.random.default_rng(1)
        need = float(width[left].max(initial=0.0))
        left = left[~self.space.rising(amount > 0, need)[left]]
        while left.size > _FEW:
            rise, fall = self.space.capacities(amount, need, _SHAKEN)
            cost = np.zeros(len(rise))
            cost[left] = draw.choice([-1.0, 1.0], len(left)) * draw.uniform(0.5, 1.0, len(left))
            self._program.set_cost(cost[self._columns])
            self._program.set_bounds(self._every, -fall[self._columns], rise[self._columns])
            found = self._program.solve()
            still = left if found.x is None else left[np.abs(self._spread(found.x)[left]) * need < width[left]]
            if len(still) > len(left) / 2:
                left = still
                break
            left = still
        asks = [Ask(cell=int(cell), knows=(), signs=(1, -1), need=float(width[cell])) for cell in left]
        return np.array([ask.cell for ask in asks if self.ask(ask, amount).reach < 1 - TOLERANCE], np.int64)


def cut_of(space: Space, ask: Ask, prices: tuple[Floats, ...], fixed: Floats) -> Cut:
    """The capacity cut that row prices give, valid whatever the prices; ``fixed`` is 1 for cells that are hidden for certain.

    For any prices ``pi`` weak duality bounds the reach in one direction by the capacities times the reduced costs
    ``e_cell - matrix.T @ pi``; weights need never exceed what is missing, because a pattern is 0 or 1.
    """
    weight = np.zeros(space.cells)
    constant = 0.0
    known = list(ask.knows)
    for sign, price in zip(ask.signs, prices, strict=True):
        reduced = -(space.matrix.T @ price)
        reduced[ask.cell] += sign
        reduced[known] = 0.0
        reduced[np.abs(reduced) < 1e-9] = 0.0
        up, down = np.maximum(reduced, 0.0), np.maximum(-reduced, 0.0)
        constant += float((_times(up, space.slack_rise) + _times(down, space.slack_fall)).sum()) / ask.need
        each = (_times(up, space.rise) + _times(down, space.fall)) / ask.need
        np.add.at(weight, np.maximum(space.owner, 0), np.where(space.owner >= 0, np.minimum(each, 1.0), 0.0))
    least = 1.0 - constant - float(weight[fixed > 0].sum())
    weight = np.where(fixed > 0, 0.0, np.minimum(weight, max(least, 0.0)))
    small = weight < 1e-7 * max(least, 0.0)
    least -= float(weight[small].sum())
    cells = np.flatnonzero(~small & (weight > 0))
    return Cut(cells=cells, weights=weight[cells], least=least)


def _times(price: Floats, capacity: Floats) -> Floats:
    """Their products, 0 where the price is 0 and the capacity endless."""
    used = price > 0
    return np.where(used, price * np.where(used, capacity, 0.0), 0.0)


def row_prices(matrix: sparse.csr_array, cell: int, row: int, sign: int) -> Floats:
    """The prices that say: in this equation, what the cell does the others must undo."""
    price = np.zeros(matrix.shape[0])
    price[row] = sign / matrix[row, cell]
    return price
