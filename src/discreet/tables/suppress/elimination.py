"""Which published cells determine which hidden ones: sparse linear algebra modulo a large prime.

Numbers are residues modulo ``PRIME``; a rank that differs from the rational one needs a minor that the prime happens to
divide, which for the ±1 equations of tables is out of the question in practice, and the audit stands behind it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import numpy as np

__all__ = ["PRIME", "Freedom", "Vector", "echelon", "residue"]

PRIME = 2**61 - 1

Vector = dict[int, int]


def residue(number: float) -> int:
    """A float as a residue modulo the prime, exactly."""
    exact = Fraction(number)
    return exact.numerator * pow(exact.denominator, -1, PRIME) % PRIME


def echelon(rows: Iterable[Vector], order: Sequence[int]) -> dict[int, Vector]:
    """Gaussian elimination of ``rows`` with the columns taken in ``order``.

    Returns for every pivot column how it follows from later columns of the order: ``column = sum(factor * later)``.
    Columns that are no pivot depend on none of the earlier ones alone being left: they are free.
    """
    left = {number: dict(row) for number, row in enumerate(rows) if row}
    holding: dict[int, set[int]] = {column: set() for column in order}
    for number, row in left.items():
        for column in row:
            holding[column].add(number)
    solved: dict[int, Vector] = {}
    for column in order:
        holders = holding[column]
        if not holders:
            continue
        chosen = min(holders, key=lambda number: (len(left[number]), number))
        pivot = left.pop(chosen)
        for other in pivot:
            holding[other].discard(chosen)
        scale = pow(-pivot.pop(column), -1, PRIME)
        solved[column] = rest = {other: factor * scale % PRIME for other, factor in pivot.items()}
        for number in sorted(holding.pop(column)):
            row = left[number]
            _add(row, rest, row.pop(column), holding, number)
            if not row:
                del left[number]
    return solved


def _add(row: Vector, more: Vector, factor: int, holding: dict[int, set[int]], number: int) -> None:
    """``row += factor * more``, keeping the index of who holds which column."""
    for column, value in more.items():
        old = row.get(column, 0)
        new = (old + factor * value) % PRIME
        if new:
            row[column] = new
            if not old:
                holding[column].add(number)
        elif old:
            del row[column]
            holding[column].discard(number)


@dataclasses.dataclass(kw_only=True)
class Freedom:
    """How the hidden cells under protection can still move together, given what is published.

    Every watched cell has a vector over free parameters.  Publishing a combination of them takes one parameter away.
    A watched cell is determined when its vector is zero, and its owner determines another when the two lie on one
    line.  Lines are told apart by the ratio of two random projections.
    ``knows[w]`` the cells that somebody who knows ``w`` knows; ``secrets`` the cells that such a person must not learn.
    """

    vectors: dict[int, Vector] = dataclasses.field(default_factory=dict)
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
        self._place(name, self.line_of(vector))

    def combine(self, factors: Iterable[tuple[int, int]]) -> Vector:
        """The vector of ``sum(factor * watched cell)``."""
        out: Vector = {}
        for name, factor in factors:
            for parameter, value in self.vectors[name].items():
                out[parameter] = (out.get(parameter, 0) + factor * value) % PRIME
        return {parameter: value for parameter, value in out.items() if value}

    def line_of(self, vector: Vector) -> int:
        """A number that is the same for multiples of a vector; -1 for the zero vector."""
        if not vector:
            return -1
        first = sum(value * self.coins[parameter][0] for parameter, value in vector.items())
        second = sum(value * self.coins[parameter][1] for parameter, value in vector.items())
        return second * pow(first, -1, PRIME) % PRIME

    def determines(self, vector: Vector) -> bool:
        """Whether publishing this non-zero combination would determine a watched cell."""
        return any(name >= 0 for name in self.on_line.get(self.line_of(vector), ()))

    def publish(self, vector: Vector) -> bool:
        """Make a combination known; False, and nothing done, where an owner could then determine a secret."""
        parameter = min(vector, key=lambda q: (len(self.holders[q]), q))
        scale = pow(-vector[parameter], -1, PRIME)
        step = {q: value * scale % PRIME for q, value in vector.items() if q != parameter}
        moved = {name: self._reduced(name, parameter, step) for name in sorted(self.holders[parameter])}
        lines = {name: self.line_of(new) for name, new in moved.items()}
        if self._betrayed(lines):
            return False
        for name, new in moved.items():
            old = self.vectors[name]
            for q in old.keys() - new.keys():
                self.holders[q].discard(name)
            for q in new.keys() - old.keys():
                self.holders[q].add(name)
            self.vectors[name] = new
            self._place(name, lines[name])
        return True

    def _reduced(self, name: int, parameter: int, step: Vector) -> Vector:
        new = dict(self.vectors[name])
        factor = new.pop(parameter)
        for q, value in step.items():
            total = (new.get(q, 0) + factor * value) % PRIME
            if total:
                new[q] = total
            else:
                new.pop(q, None)
        return new

    def _place(self, name: int, line: int) -> None:
        old = self.line.get(name, -1)
        if old >= 0:
            self.on_line[old].discard(name)
        self.line[name] = line
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
