"""Capacity cuts that hold for every safe pattern of a table, and the cheapest choice they allow in one part of it."""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy import sparse

from discreet.model.contributions import Floats, Integers
from discreet.model.table import Bools
from discreet.solve.highs import solve
from discreet.solve.problem import Outcome, Program
from discreet.tables.suppress.moves.unions import Union

__all__ = ["Pool", "Row", "union_row"]

Row = tuple[Integers, Floats, float]
"""Cells (or their columns in a program), their weights, and the least that the weights of the hidden ones add up to."""

_NODES = 2000
"""Branching in one part ends after so many nodes: work, not time, so that every machine ends at the same pattern."""


@dataclasses.dataclass(eq=False)
class Pool:
    """Rows ``weights @ z[cells] >= least`` over cells that may be hidden; ``z`` is 1 for a hidden cell."""

    rows: list[Row] = dataclasses.field(default_factory=list)
    _of_cell: dict[int, list[int]] = dataclasses.field(default_factory=dict)
    _seen: set[bytes] = dataclasses.field(default_factory=set)

    def add(self, cells: Integers, weights: Floats, least: float) -> bool:
        """Keep a row; False where it is known already."""
        name = cells.tobytes() + np.round(np.append(weights, least), 6).tobytes()
        if name in self._seen:
            return False
        self._seen.add(name)
        number = len(self.rows)
        self.rows.append((cells, weights, least))
        for cell in cells.tolist():
            self._of_cell.setdefault(cell, []).append(number)
        return True

    def matrix(self, size: int, first: int = 0) -> tuple[sparse.csr_array, Floats]:
        """The rows from the ``first`` on, over so many cells, and their least."""
        rows = self.rows[first:]
        starts = np.concatenate([[0], np.cumsum([len(cells) for cells, _, _ in rows])]).astype(np.int64)
        cells = np.concatenate([np.zeros(0, np.int64), *(cells for cells, _, _ in rows)])
        weights = np.concatenate([np.zeros(0), *(weights for _, weights, _ in rows)])
        matrix = sparse.csr_array((weights, cells, starts), shape=(len(rows), size))
        return matrix, np.array([least for _, _, least in rows], float)

    def cheapest(self, free: Integers, hidden: Bools, cost: Floats, below: float) -> Outcome:
        """The cheapest choice among the ``free`` cells, all others as they are, that costs less than ``below``."""
        lines: list[Integers] = []
        columns: list[Integers] = []
        entries: list[Floats] = []
        least: list[float] = []
        spot = {cell: number for number, cell in enumerate(free.tolist())}
        numbers = sorted(set().union(*(self._of_cell[cell] for cell in spot if cell in self._of_cell)))
        for number in numbers:
            cells, weights, wanted = self.rows[number]
            place = np.array([spot.get(cell, -1) for cell in cells.tolist()])
            outside = place < 0
            wanted -= float(weights[outside & hidden[cells]].sum())
            inside = ~outside
            if wanted <= float(np.minimum(weights[inside], 0).sum()) + 1e-9:
                continue
            lines.append(np.full(int(inside.sum()), len(least)))
            columns.append(place[inside])
            entries.append(weights[inside])
            least.append(wanted - 1e-9)
        price = cost[free]
        scale = 1e3 / max(float(price.max(initial=0.0)), 1e-300)
        lines.append(np.full(len(free), len(least)))
        columns.append(np.arange(len(free)))
        entries.append(-price * scale)
        least.append(-below * scale)
        places = (np.concatenate(lines), np.concatenate(columns))
        matrix = sparse.csr_array((np.concatenate(entries), places), shape=(len(least), len(free)))
        zero, one = np.zeros(len(free)), np.ones(len(free))
        program = Program(
            price * scale, matrix, np.array(least, float), np.full(len(least), np.inf), zero, one, np.ones(len(free), bool)
        )
        return solve(program, nodes=_NODES, mip_gap=1e-4)


def union_row(union: Union, choice: Bools, hidden: Bools) -> Row:
    """Not these hidden cells of the equation alone: hide another, or leave one of them open."""
    cells = union.cells if union.frame < 0 else np.append(union.cells, union.frame)
    free = np.unique(cells[choice[cells]])
    return free, np.where(hidden[free], -1.0, 1.0), 1.0 - float(hidden[free].sum())
