"""Contributors who know their own hidden cells: which of them would know the sensitive cell of another all the same.

A sparse move, a cycle mostly, clears at once every sensitive cell that it takes far enough of every contributor whose cells
it leaves alone.  One linear program gives many such moves; what is left is a question of its own, one for each pair.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from discreet.model.contributions import Floats, Integers
from discreet.model.table import Bools, Status, Table
from discreet.solve.highs import WarmProgram
from discreet.solve.problem import Program
from discreet.tables.suppress.moves.attackers import Demand, Space
from discreet.tables.suppress.moves.probing import TOLERANCE

__all__ = ["insider_demands", "unmet_insiders"]

_FAR = 1e3
_TURNS = 5
_AT_ONCE = 60
_NOTHING = 1e-7
_SHUNNED = 1e3
"""How much dearer the cells of those are who could not be cleared before."""
_WANTED = 1e6
"""What moving a sensitive cell is worth, more than any way to do it costs."""


def insider_demands(table: Table, space: Space, hidden: Bools, loose: Bools) -> Iterator[Demand]:
    """What contributors who know ``hidden`` cells must not learn: the other primaries, exactly.

    Only primaries tied to a known cell by a chain of equations through ``loose`` cells are asked for; the others look
    the same to an insider as to everybody.
    """
    groups, primary = _groups(table, hidden), np.flatnonzero(table.primary)
    yield from _listed(table, groups, primary, _tied(table, space, groups, primary, loose))


def unmet_insiders(table: Table, space: Space, hidden: Bools, until: float) -> Iterator[Demand]:
    """The demands of that kind which sparse moves under this pattern leave open (all, once time is up)."""
    groups, primary = _groups(table, hidden), np.flatnonzero(table.primary)
    open_pairs = _tied(table, space, groups, primary, hidden | table.unknown)
    if open_pairs.any():
        _Clearing(table, space, groups, primary, open_pairs, hidden | table.unknown).run(until)
    yield from _listed(table, groups, primary, open_pairs)


def _groups(table: Table, hidden: Bools) -> list[Integers]:
    more = hidden & (table.status == Status.OPEN)
    status = np.where(more, Status.SECONDARY, table.status).astype(np.int8)
    return list(table.replace(status=status).insiders(unlisted=True))


def _tied(table: Table, space: Space, groups: list[Integers], primary: Integers, loose: Bools) -> Bools:
    """Which sensitive cells (rows) hang together with which groups (columns) through loose cells, without being in them."""
    part = space.parts(loose | ~table.listed)
    out = np.zeros((len(primary), len(groups)), bool)
    for number, group in enumerate(groups):
        out[:, number] = np.isin(part[primary], part[group]) & ~np.isin(primary, group)
    return out


def _listed(table: Table, groups: list[Integers], primary: Integers, pairs: Bools) -> Iterator[Demand]:
    wide = table.exactness()
    for number, row in np.argwhere(pairs.T).tolist():
        cell = int(primary[row])
        yield Demand(cell=cell, knows=tuple(int(one) for one in groups[number]), width=float(wide[cell]))


class _Clearing:
    """The moves between the cells that may move under one pattern, in units of the largest width that is asked for."""

    def __init__(
        self, table: Table, space: Space, groups: list[Integers], primary: Integers, open_pairs: Bools, pattern: Bools
    ) -> None:
        self.open_pairs, width = open_pairs, table.exactness()
        unit = float(width[primary].max())
        rise, fall = space.capacities(pattern.astype(float), unit, _FAR)
        columns = np.flatnonzero((rise > 0) | (fall > 0))
        column = np.full(len(rise), -1, np.int64)
        column[columns] = np.arange(len(columns))
        self.rise, self.fall = rise[columns], fall[columns]
        matrix = sparse.csr_array(space.matrix[:, columns])
        self.matrix = sparse.csc_array(matrix[np.flatnonzero(np.diff(matrix.indptr))])
        self.goal, self.width = column[primary], width[primary] / unit
        self.row_of = np.full(len(columns), -1, np.int64)
        self.row_of[self.goal[self.goal >= 0]] = np.flatnonzero(self.goal >= 0)
        known = [column[group][column[group] >= 0] for group in groups]
        numbers = np.repeat(np.arange(len(groups)), [len(group) for group in known])
        shape = (len(groups), len(columns))
        self.knows = sparse.csr_array((np.ones(len(numbers)), (numbers, np.concatenate(known))), shape=shape)
        self.dear = 1.0 + 8.0 * np.asarray(self.knows.sum(axis=0)).ravel()
        self.most = np.concatenate([self.rise, self.fall])
        both, zero = sparse.hstack([self.matrix, -self.matrix]), np.zeros(len(self.most))
        self.program = WarmProgram(Program.of(zero, both, 0.0, 0.0, lower=zero, upper=self.most), method="dual", duals=False)

    def run(self, until: float) -> None:
        """Clear what sparse moves can, in several turns."""
        for turn in range(_TURNS):
            left = [row for row in np.flatnonzero(self.open_pairs.any(axis=1)).tolist() if self._able(row)]
            while left:
                seconds = until - time.perf_counter()
                if seconds <= 0:
                    return
                left = self._move(left, again=turn > 0, seconds=seconds)

    def _able(self, row: int) -> bool:
        goal = self.goal[row]
        return bool(goal >= 0 and max(self.rise[goal], self.fall[goal]) >= self.width[row])

    def _move(self, rows: list[int], *, again: bool, seconds: float) -> list[int]:
        """Move some sensitive cells together; ``again`` shuns what those know who could not be cleared.  Returns the others."""
        taken, left = self._apart(rows)
        cost, size, goal = self.dear.copy(), len(self.rise), self.goal[taken]
        if again:
            asking = np.flatnonzero(self.open_pairs[taken].any(axis=0))
            cost[np.unique(self.knows[asking].indices)] *= _SHUNNED
        up = self.rise[goal] >= self.fall[goal]
        ends = np.concatenate([np.where(up, self.width[taken], 0.0), np.where(up, 0.0, self.width[taken])])
        both, prices = np.concatenate([goal, goal + size]), np.tile(cost, 2)
        prices[both] = -_WANTED
        self.program.set_cost(prices)
        self.program.set_bounds(both, 0.0, ends)
        found = self.program.solve(time_limit=seconds)
        self.program.set_bounds(both, 0.0, self.most[both])
        if found.optimal and found.x is not None:
            self._clear(found.x[:size] - found.x[size:])
        return left

    def _apart(self, rows: list[int]) -> tuple[Integers, list[int]]:
        """Some of the sensitive cells, no two of them in one equation, and the others."""
        used: set[int] = set()
        taken: list[int] = []
        left: list[int] = []
        for row in rows:
            goal = self.goal[row]
            lines = self.matrix.indices[self.matrix.indptr[goal] : self.matrix.indptr[goal + 1]].tolist()
            if len(taken) == _AT_ONCE or not used.isdisjoint(lines):
                left.append(row)
            else:
                taken.append(row)
                used.update(lines)
        return np.array(taken, np.int64), left

    def _clear(self, move: Floats) -> None:
        """Strike out the pairs that each part of the move, stretched as far as it goes, answers."""
        moved = np.flatnonzero(np.abs(move) > _NOTHING)
        rows, size = self.matrix.shape
        ends = self.matrix[:, moved].tocoo()
        graph = sparse.coo_array((np.ones(ends.nnz), (ends.row, rows + ends.col)), shape=(rows + len(moved),) * 2)
        _, part = connected_components(graph, directed=False)
        for number in np.unique(part[rows:]):
            inside = moved[part[rows:] == number]
            room = np.where(move[inside] > 0, self.rise[inside], self.fall[inside]) / np.abs(move[inside])
            row = self.row_of[inside]
            far = np.abs(move[inside]) * max(float(room.min()), 1.0) >= self.width[row] * (1 - TOLERANCE)
            touched = np.isin(np.arange(size), inside).astype(float)
            self.open_pairs[np.ix_(row[(row >= 0) & far], self.knows @ touched == 0)] = False
