"""Who attacks a table, what must stay unknown to whom, and how the hidden cells can move without a published cell noticing.

A *move* ``d`` is the difference between a table that the intruder cannot rule out and the true one.  Every published
equation forces ``equations @ d == 0``; a published cell does not move; a hidden one moves within what the intruder
knows beforehand.  A demand is met when some move takes its cell far enough.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from discreet.model.contributions import Floats, Integers
from discreet.model.table import Bools, Status, Table

__all__ = ["Ask", "Demand", "Space", "demands", "hideable", "preference"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Demand:
    """The interval of ``cell``, for somebody who knows ``knows``, must reach ``up``, ``down`` and be ``width`` wide."""

    cell: int
    knows: tuple[int, ...] = ()
    up: float = 0.0
    down: float = 0.0
    width: float = 0.0

    def asks(self) -> Iterator[Ask]:
        """The demand cut into questions with one number each; a width that follows from up and down is left out."""
        if self.up > 0:
            yield Ask(cell=self.cell, knows=self.knows, signs=(1,), need=self.up)
        if self.down > 0:
            yield Ask(cell=self.cell, knows=self.knows, signs=(-1,), need=self.down)
        if self.width > self.up + self.down:
            yield Ask(cell=self.cell, knows=self.knows, signs=(1, -1), need=self.width)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ask:
    """The reaches of ``cell`` in the directions ``signs`` must add up to at least ``need``."""

    cell: int
    knows: tuple[int, ...]
    signs: tuple[int, ...]
    need: float

    def demand(self) -> Demand:
        """The demand that asks only this."""
        name = "width" if len(self.signs) == 2 else "up" if self.signs[0] > 0 else "down"
        return Demand(cell=self.cell, knows=self.knows, **{name: self.need})


def hideable(table: Table) -> Bools:
    """Open cells that may become secondary, without those that would be known exactly all the same."""
    low, high = table.bounds()
    open_cells = (table.status == Status.OPEN) & ~table.frozen & table.listed
    return np.asarray(open_cells & (high - low >= table.exactness()))


def preference(table: Table) -> Floats:
    """The cost of hiding each cell, with a little something for free cells so that none is hidden without need."""
    cost = np.maximum(table.cost, 0.0)
    paid = cost[cost > 0]
    if not paid.size:
        return np.ones(table.cells)
    return np.where(cost > 0, cost, paid.min() * 1e-4 / max(1, table.cells - paid.size))


def demands(table: Table, hidden: Bools | None = None) -> tuple[Demand, ...]:
    """What everybody must not learn: of each suppressed cell, and of the ``hidden`` ones that are to become secondary."""
    up, down, width = table.needs()
    if hidden is not None:
        width = np.where(hidden & ~table.suppressed, table.exactness(), width)
    cells = np.flatnonzero((up > 0) | (down > 0) | (width > 0))
    return tuple(Demand(cell=int(c), up=float(up[c]), down=float(down[c]), width=float(width[c])) for c in cells)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Space:
    """All moves: ``matrix @ d == 0`` with one column a cell and, behind them, one a further published fact.

    A column moves up to ``rise`` and down to ``fall`` once the cell ``owner`` is hidden, and by ``slack_rise`` and
    ``slack_fall`` in any case (a fact published within rounding); owner -1 is never hidden.
    """

    matrix: sparse.csr_array
    rise: Floats
    fall: Floats
    slack_rise: Floats
    slack_fall: Floats
    owner: Integers
    cells: int

    @classmethod
    def of(cls, table: Table) -> Space:
        """The moves that the equations, the bounds and the knowledge of a table allow."""
        low, high = table.bounds()
        cells = table.cells
        blocks, slack_rise, slack_fall, owner = [], [np.zeros(cells)], [np.zeros(cells)], [np.arange(cells)]
        for known in table.knowledge:
            now = known.matrix @ table.value
            blocks.append(sparse.csr_array(known.matrix))
            slack_rise.append(np.maximum(known.high - now, 0.0))
            slack_fall.append(np.maximum(now - known.low, 0.0))
            owner.append(np.asarray(known.while_published, np.int64))
        facts = sum(block.shape[0] for block in blocks)
        matrix = table.equations
        if facts:
            nothing = sparse.csr_array((table.equations.shape[0], facts))
            sides = sparse.vstack([nothing, -sparse.csr_array(sparse.eye_array(facts))])
            matrix = sparse.hstack([sparse.vstack([table.equations, *blocks]), sides])
        return cls(
            matrix=sparse.csr_array(matrix),
            rise=np.concatenate([np.maximum(high - table.value, 0.0), np.full(facts, np.inf)]),
            fall=np.concatenate([np.maximum(table.value - low, 0.0), np.full(facts, np.inf)]),
            slack_rise=np.concatenate(slack_rise),
            slack_fall=np.concatenate(slack_fall),
            owner=np.concatenate(owner),
            cells=cells,
        )

    def spread(self, amount: Floats) -> Floats:
        """How much (0 to 1) the owner of each column is hidden, from how much each cell is."""
        out = np.where(self.owner >= 0, amount[np.maximum(self.owner, 0)], 0.0)
        return np.asarray(out, float)

    def capacities(self, amount: Floats, need: float, most: float, knows: tuple[int, ...] = ()) -> tuple[Floats, Floats]:
        """How far each column can rise and fall, in units of ``need`` and at most ``most``, with cells hidden by ``amount``."""
        open_by = self.spread(amount)
        rise = self.slack_rise / need + open_by * np.minimum(self.rise / need, most)
        fall = self.slack_fall / need + open_by * np.minimum(self.fall / need, most)
        known = list(knows)
        rise[known], fall[known] = 0.0, 0.0
        return np.minimum(rise, most), np.minimum(fall, most)

    def rising(self, loose: Bools, far: float) -> Bools:
        """Cells that certainly can move up by ``far`` while all loose cells may: a finest cell with all totals above it."""
        raised, balanced = self.raised
        open_by = self.spread(loose.astype(float)) > 0
        free = self.slack_rise + np.where(open_by, self.rise, 0.0) >= far
        unhindered = (~free).astype(float) @ raised == 0
        return np.asarray((raised @ (balanced & unhindered).astype(float))[: self.cells] > 0)

    @functools.cached_property
    def raised(self) -> tuple[sparse.csc_array, Bools]:
        """A column for each finest cell: the cell with all totals above it; and whether these moving as one is a move."""
        above = (self.matrix < 0).astype(float).T @ (self.matrix > 0).astype(float)
        columns = self.matrix.shape[1]
        leaves = np.flatnonzero(np.diff(sparse.csc_array(self.matrix < 0).indptr) == 0)
        raised = sparse.csc_array((np.ones(len(leaves)), (leaves, np.arange(len(leaves)))), shape=(columns, len(leaves)))
        grown = raised
        while grown.nnz:
            more = ((raised + above @ grown) > 0).astype(float)
            grown, raised = sparse.csc_array(more - raised), sparse.csc_array(more)
            grown.eliminate_zeros()
        return raised, np.asarray(abs(self.matrix @ raised).sum(axis=0)).ravel() == 0

    def parts(self, loose: Bools) -> Integers:
        """The number of the connected part each loose cell lies in, -1 for the others; equations tie cells together."""
        keep = np.flatnonzero(loose)
        ties = sparse.csr_array(self.matrix[:, keep])
        rows = ties.shape[0]
        ends = ties.tocoo()
        graph = sparse.coo_array((np.ones(ends.nnz), (ends.row, rows + ends.col)), shape=(rows + len(keep),) * 2)
        _, number = connected_components(graph, directed=False)
        part = np.full(self.cells, -1, np.int64)
        part[keep] = number[rows:]
        return part
