"""Moves that prove what a pattern keeps unknown, and what is still to be proved when some cells are shown again."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from discreet.model.contributions import Floats, Integers
from discreet.model.insiders import known_to_insiders
from discreet.model.table import Bools, Table
from discreet.tables.suppress.moves.attackers import Ask, Space
from discreet.tables.suppress.moves.probing import TOLERANCE

__all__ = ["Witness", "Witnesses"]


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class Witness:
    """A line of moves ``t * values`` of some ``columns`` for ``-behind <= t <= ahead``.

    ``needs`` the open cells that must be hidden for it; ``known`` the groups of insiders who know one of its cells.
    """

    columns: Integers
    values: Floats
    ahead: float
    behind: float
    needs: Integers
    known: frozenset[int]

    def reach(self, cell: int) -> tuple[float, float]:
        """How far it takes a cell up, and down."""
        value = float(self.values[np.searchsorted(self.columns, cell)])
        return (value * self.ahead, value * self.behind) if value > 0 else (-value * self.behind, -value * self.ahead)


class Witnesses:
    """All moves found so far, those that hold under the present pattern counted; and what they leave to be proved."""

    def __init__(self, table: Table, space: Space, choice: Bools, hidden: Bools) -> None:
        self.space, self.choice, self.hidden = space, choice, hidden.copy()
        self.primary = table.primary
        self.wide = table.exactness()
        self.up, self.down, self.width = table.needs()
        if table.intruder.integer:
            self.up, self.down = (np.ceil(need / table.unit - 1e-6) * table.unit for need in (self.up, self.down))
        self.width = np.where(choice & ~table.suppressed, self.wide, self.width)
        self.groups, self.by_hiding = _groups(table, choice)
        self.founders = np.zeros(table.cells, bool)
        self.founders[np.concatenate([np.zeros(0, np.int64), *self.by_hiding.values()])] = True
        self.of_cell: dict[int, frozenset[int]] = _groups_of(self.groups)
        self.moves: list[Witness] = []
        self.missing: list[int] = []
        self._using: dict[int, list[int]] = {}
        self._about: dict[int, list[int]] = {}
        self._asked: dict[int, Ask | None] = {}

    # ---------------------------------------------------------------- the pattern

    def change(self, shown: Integers, hidden: Integers) -> Integers:
        """Show some cells and hide others; returns the cells that lost a witness."""
        lost: set[int] = set()
        for cell in shown.tolist():
            self.hidden[cell] = False
            for number in self._using.get(cell, ()):
                self.missing[number] += 1
                if self.missing[number] == 1:
                    lost.update(self.moves[number].columns.tolist())
            self._asked.pop(cell, None)
        for cell in hidden.tolist():
            self.hidden[cell] = True
            for number in self._using.get(cell, ()):
                self.missing[number] -= 1
                if not self.missing[number]:
                    self._forget(self.moves[number].columns)
        if self.founders[hidden].any() or self.founders[shown].any():
            lost.update(np.flatnonzero(self.primary).tolist())
        judged = np.array(sorted(lost), np.int64)
        self._forget(judged)
        judged = judged[judged < self.space.cells]
        return judged[self.hidden[judged]]

    # ---------------------------------------------------------------- moves

    def add(self, columns: Integers, values: Floats) -> Witness | None:
        """Remember a move, as a line stretched both ways as far as capacities allow (None where it moves nothing)."""
        space, moved = self.space, np.abs(values)
        rise, fall = (slack[columns] for slack in (space.slack_rise, space.slack_fall))
        owner = space.owner[columns]
        owned = owner >= 0
        open_to = np.where(owned, self.choice[np.maximum(owner, 0)], False)
        loose = owned & (self.hidden | self.choice)[np.maximum(owner, 0)]
        full_rise, full_fall = rise + np.where(loose, space.rise[columns], 0), fall + np.where(loose, space.fall[columns], 0)
        ahead = float((np.where(values > 0, full_rise, full_fall) / moved).min())
        behind = float((np.where(values > 0, full_fall, full_rise) / moved).min())
        if ahead + behind <= 0:
            return None
        beyond = (moved * ahead > np.where(values > 0, rise, fall)) | (moved * behind > np.where(values > 0, fall, rise))
        cells = columns[columns < space.cells].tolist()
        known = frozenset[int]().union(*(self.of_cell[cell] for cell in cells if cell in self.of_cell))
        needs = np.unique(owner[open_to & beyond])
        witness = Witness(columns, values, min(ahead, 1e15), min(behind, 1e15), needs, known)
        number = len(self.moves)
        self.moves.append(witness)
        self.missing.append(int((~self.hidden[needs]).sum()))
        for cell in needs.tolist():
            self._using.setdefault(cell, []).append(number)
        for cell in cells:
            self._about.setdefault(cell, []).append(number)
            self._asked.pop(cell, None)
        return witness

    def _forget(self, columns: Integers) -> None:
        for cell in columns.tolist():
            self._asked.pop(cell, None)

    def of(self, cell: int) -> Iterator[Witness]:
        """The moves of a cell that hold under the present pattern."""
        return (self.moves[number] for number in self._about.get(cell, ()) if not self.missing[number])

    # ---------------------------------------------------------------- what is to be proved

    def judged(self) -> Integers:
        """The cells that must not be recomputed."""
        return np.flatnonzero(self.hidden & (self.width > 0))

    def question(self, cell: int) -> Ask | None:
        """The first thing that is not proved yet of a hidden cell."""
        if cell not in self._asked:
            self._asked[cell] = self._question(cell)
        return self._asked[cell]

    def _question(self, cell: int) -> Ask | None:
        most_up = most_down = 0.0
        blind: frozenset[int] | None = None
        wide = float(self.wide[cell]) * (1 - TOLERANCE)
        for witness in self.of(cell):
            up, down = witness.reach(cell)
            most_up, most_down = max(most_up, up), max(most_down, down)
            if up + down >= wide:
                blind = witness.known if blind is None else blind & witness.known
        for need, reach, signs in (
            (self.up[cell], most_up, (1,)),
            (self.down[cell], most_down, (-1,)),
            (self.width[cell], most_up + most_down, (1, -1)),
        ):
            if reach < need * (1 - TOLERANCE):
                return Ask(cell=cell, knows=(), signs=signs, need=float(need))
        if not self.primary[cell] or not blind:
            return None
        for group in sorted(blind - self.of_cell.get(cell, frozenset())):
            knows = tuple(self.groups[group].tolist())
            if knows not in self.by_hiding or self.hidden[self.by_hiding[knows]].any():
                return Ask(cell=cell, knows=knows, signs=(1, -1), need=float(self.wide[cell]))
        return None


def _groups(table: Table, choice: Bools) -> tuple[list[Integers], dict[tuple[int, ...], Integers]]:
    """What each insider knows of the cells that are or may be hidden; and by whose hiding some become insiders.

    Whoever makes up a cell that is hidden in any case is an insider under every pattern; others are once one of the cells is
    hidden that they make up all by themselves.
    """
    most = {"none": 0, "singletons": 1, "pairs": 2}[table.intruder.insiders]
    sums, kept_back = table.contributions, table.suppressed | table.perturbed
    found = known_to_insiders(sums, table.equations, kept_back | choice, most) if most else ()
    contributors = np.where(sums.holdings > 0, sums.holdings, sums.n)
    groups = [cells[(table.unknown | choice)[cells]] for cells in found]
    by_hiding = {}
    for cells in groups:
        own = cells[contributors[cells] == contributors[cells].max(initial=0.0)]
        if not kept_back[own].any():
            by_hiding[tuple(cells.tolist())] = own
    return groups, by_hiding


def _groups_of(groups: Sequence[Integers]) -> dict[int, frozenset[int]]:
    found: dict[int, set[int]] = {}
    for number, cells in enumerate(groups):
        for cell in cells.tolist():
            found.setdefault(cell, set()).add(number)
    return {cell: frozenset(numbers) for cell, numbers in found.items()}
