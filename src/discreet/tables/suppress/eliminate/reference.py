"""Which published cells determine which hidden ones: sparse linear algebra modulo a large prime, in plain Python.

Numbers are residues modulo ``PRIME``; a rank that differs from the rational one needs a minor that the prime happens to
divide, which for the ±1 equations of tables is out of the question in practice, and the audit stands behind it.
This is the reference of the compiled elimination, which hides the same cells in a fraction of the time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

import numpy as np

from discreet.tables.suppress.eliminate.publishing import PRIME, Publishing

__all__ = ["Freedom", "Vector", "echelon", "partners"]

Vector = dict[int, int]


def partners(task: Publishing) -> tuple[list[int], list[int]]:
    """The places of the targets that are lost whatever is hidden and, if there are none, of the cells to hide."""
    rows = (dict(zip(task.rows[row].tolist(), _factors(task, row), strict=True)) for row in range(len(task.rows)))
    solved = echelon(rows, len(task.order))
    freedom = _freedom(task, solved)
    lost = [place for place in range(task.first_target, len(task.order)) if not freedom.vectors[place]]
    return (lost, []) if lost else ([], _hidden(task, freedom, solved))


def _factors(task: Publishing, row: int) -> list[int]:
    return [int(factor) for factor in task.factor[task.rows.start[row] : task.rows.start[row + 1]]]


def _freedom(task: Publishing, solved: dict[int, Vector]) -> Freedom:
    """How the targets can move while every offered cell may still be hidden."""
    persons = [frozenset(task.knows[number].tolist()) for number in range(len(task.knows))]
    freedom = Freedom(secrets=frozenset(np.flatnonzero(task.secret).tolist()))
    for place in range(len(task.order) - 1, task.first_target - 1, -1):
        later, who = solved.get(place), int(task.alone[place - task.first_target])
        vector = {place: 1} if later is None else freedom.combine(later.items())
        freedom.watch(place, vector, persons[who] if who >= 0 else None)
    for number, who in enumerate(task.knower.tolist()):
        freedom.watch(-1 - number, freedom.combine((place, 1) for place in task.known[number].tolist()), persons[who])
    return freedom


def _hidden(task: Publishing, freedom: Freedom, solved: dict[int, Vector]) -> list[int]:
    """The offered cells that must stay hidden.

    One that is no pivot follows from cheaper ones alone, so it is published whatever the targets are.  For the others,
    all later columns of their row are watched (targets and secondary cells) or published and worth nothing.
    """
    hidden = []
    for place in range(task.first_target - 1, task.first_target - 1 - task.offered, -1):
        if place not in solved:
            continue
        vector = freedom.combine(pair for pair in solved[place].items() if pair[0] in freedom.vectors)
        if not vector or (not freedom.determines(vector) and freedom.publish(vector)):
            continue
        freedom.watch(place, vector, frozenset((place,)) if task.owned[place] else None)
        hidden.append(place)
    return hidden


def echelon(rows: Iterable[Vector], columns: int) -> dict[int, Vector]:
    """Gaussian elimination of ``rows`` with the columns 0, 1, 2, ... taken in this order.

    Returns for every pivot column how it follows from later columns: ``column = sum(factor * later)``.  Columns that are
    no pivot depend on none of the earlier ones alone being left: they are free.
    """
    beginning: dict[int, list[Vector]] = {}
    for row in rows:
        if row:
            beginning.setdefault(min(row), []).append(dict(row))
    solved: dict[int, Vector] = {}
    for column in range(columns):
        holders = beginning.pop(column, [])
        if not holders:
            continue
        pivot = holders.pop(min(range(len(holders)), key=lambda number: len(holders[number])))
        scale = pow(-pivot.pop(column), -1, PRIME)
        solved[column] = rest = {other: factor * scale % PRIME for other, factor in pivot.items()}
        for row in holders:
            _add(row, rest, row.pop(column))
            if row:
                beginning.setdefault(min(row), []).append(row)
    return solved


def _add(row: Vector, more: Vector, factor: int) -> None:
    """``row += factor * more``."""
    for column, value in more.items():
        new = (row.get(column, 0) + factor * value) % PRIME
        if new:
            row[column] = new
        else:
            del row[column]


@dataclasses.dataclass(kw_only=True)
class Freedom:
    """How the hidden cells under protection can still move together, given what is published.

    Every watched cell has a vector over free parameters.  Publishing a combination of them takes one parameter away.
    A watched cell is determined when its vector is zero, and its owner determines another when the two lie on one
    line.  Lines are told apart by the ratio of two random projections, ``sides``, which change in step with the vectors.
    ``knows[w]`` the cells that somebody who knows ``w`` knows; ``secrets`` the cells that such a person must not learn.
    """

    vectors: dict[int, Vector] = dataclasses.field(default_factory=dict)
    sides: dict[int, tuple[int, int]] = dataclasses.field(default_factory=dict)
    line: dict[int, int] = dataclasses.field(default_factory=dict)
    on_line: dict[int, set[int]] = dataclasses.field(default_factory=dict)
    holders: dict[int, set[int]] = dataclasses.field(default_factory=dict)
    coins: dict[int, tuple[int, int]] = dataclasses.field(default_factory=dict)
    knows: dict[int, frozenset[int]] = dataclasses.field(default_factory=dict)
    secrets: frozenset[int] = frozenset()
    draw: np.random.Generator = dataclasses.field(default_factory=lambda: np.random.default_rng(1))

    def watch(self, name: int, vector: Vector, knows: frozenset[int] | None = None) -> None:
        """Watch a cell (or a known sum, under a negative name); ``knows`` if somebody knows it, what that person knows."""
        self.vectors[name] = vector
        if knows is not None:
            self.knows[name] = knows
        for parameter in vector:
            self.holders.setdefault(parameter, set()).add(name)
            if parameter not in self.coins:
                first, second = self.draw.integers(1, PRIME, 2)
                self.coins[parameter] = (int(first), int(second))
        self._place(name, self._projected(vector))

    def combine(self, factors: Iterable[tuple[int, int]]) -> Vector:
        """The vector of ``sum(factor * watched cell)``."""
        out: Vector = {}
        for name, factor in factors:
            for parameter, value in self.vectors[name].items():
                out[parameter] = (out.get(parameter, 0) + factor * value) % PRIME
        return {parameter: value for parameter, value in out.items() if value}

    def _projected(self, vector: Vector) -> tuple[int, int]:
        first = sum(value * self.coins[parameter][0] for parameter, value in vector.items())
        second = sum(value * self.coins[parameter][1] for parameter, value in vector.items())
        return first % PRIME, second % PRIME

    def determines(self, vector: Vector) -> bool:
        """Whether publishing this non-zero combination would determine a watched cell."""
        return any(name >= 0 for name in self.on_line.get(_line(self._projected(vector)), ()))

    def publish(self, vector: Vector) -> bool:
        """Make a combination known; False, and nothing done, where an owner could then determine a secret."""
        parameter = min(vector, key=lambda q: (len(self.holders[q]), q))
        scale = pow(-vector[parameter], -1, PRIME)
        step = {q: value * scale % PRIME for q, value in vector.items() if q != parameter}
        gone, come = self.coins[parameter], self._projected(step)
        names = sorted(self.holders[parameter])
        sides = {name: self._moved(name, parameter, come[0] - gone[0], come[1] - gone[1]) for name in names}
        if self._betrayed({name: _line(side) for name, side in sides.items()}):
            return False
        for name in names:
            old, new = self.vectors[name], self._reduced(name, parameter, step)
            for q in old.keys() - new.keys():
                self.holders[q].discard(name)
            for q in new.keys() - old.keys():
                self.holders[q].add(name)
            self.vectors[name] = new
            self._place(name, sides[name])
        return True

    def _moved(self, name: int, parameter: int, first: int, second: int) -> tuple[int, int]:
        factor, (one, other) = self.vectors[name][parameter], self.sides[name]
        return (one + factor * first) % PRIME, (other + factor * second) % PRIME

    def _reduced(self, name: int, parameter: int, step: Vector) -> Vector:
        new = dict(self.vectors[name])
        _add(new, step, new.pop(parameter))
        return new

    def _place(self, name: int, sides: tuple[int, int]) -> None:
        old, line = self.line.get(name, -1), _line(sides)
        if old >= 0:
            self.on_line[old].discard(name)
        self.sides[name], self.line[name] = sides, line
        if line >= 0:
            self.on_line.setdefault(line, set()).add(name)

    def _betrayed(self, lines: Mapping[int, int]) -> bool:
        """Whether a secret comes to lie on one line with something that another owner knows."""
        arriving: dict[int, list[int]] = {}
        for name, line in lines.items():
            if line >= 0:
                arriving.setdefault(line, []).append(name)
        for line, names in arriving.items():
            staying = [name for name in self.on_line.get(line, ()) if name not in lines]
            together = names + staying
            secrets = [name for name in together if name in self.secrets]
            for owner in together if secrets else ():
                known = self.knows.get(owner)
                if known is not None and any(s not in known and self.line[s] != self.line[owner] for s in secrets):
                    return True
        return False


def _line(sides: tuple[int, int]) -> int:
    """A number that is the same for the projections of multiples of a vector; -1 for those of the zero vector."""
    first, second = sides
    return second * pow(first, -1, PRIME) % PRIME if first else -1
