"""What is offered for publication, in which order, and what must not follow from it: plain arrays, in residues."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.model.contributions import Integers
from discreet.model.table import Bools, Table

__all__ = ["PRIME", "Lists", "Publishing", "Residues", "residue"]

PRIME = 2**61 - 1

Residues = NDArray[np.uint64]


def residue(number: float) -> int:
    """A float as a residue modulo the prime, exactly."""
    exact = Fraction(number)
    return exact.numerator * pow(exact.denominator, -1, PRIME) % PRIME


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Lists:
    """Many lists of whole numbers in one array: list ``i`` is ``entry[start[i]:start[i + 1]]``."""

    start: Integers
    entry: Integers

    @classmethod
    def of(cls, number: Integers, entry: Integers, count: int) -> Lists:
        """The entries by the ascending number of the list that each belongs to."""
        start = np.concatenate([[0], np.cumsum(np.bincount(number, minlength=count))])
        return cls(start=start.astype(np.int64), entry=np.asarray(entry, np.int64))

    def __len__(self) -> int:
        return len(self.start) - 1

    def __getitem__(self, at: int) -> Integers:
        return self.entry[self.start[at] : self.start[at + 1]]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Publishing:
    """The cells in ``order``: some that are never published, then ``offered`` ones from the last to the first, then targets.

    Everything else speaks of places in that order.  ``rows`` the equations (places, and ``factor`` their residues);
    ``known`` sums of two and more targets that the person ``knower`` knows; ``alone`` who knows each target by itself, or
    -1; ``knows`` all targets that each person knows; ``owned`` whether the contributor of a place would know it; ``secret``
    whether such a person must not learn it.
    """

    order: Integers
    offered: int
    targets: int
    rows: Lists
    factor: Residues
    owned: Bools
    secret: Bools
    known: Lists
    knower: Integers
    alone: Integers
    knows: Lists

    @classmethod
    def of(cls, table: Table, ranked: Integers, owned: Bools, *, insiders: bool) -> Publishing:
        """Everything about a table whose candidates are ``ranked``, the first to be offered first."""
        low, high = table.bounds()
        suppressed = table.suppressed
        targets = np.flatnonzero(suppressed)
        always = np.flatnonzero(~table.listed & ~suppressed & (low < high))
        order = np.concatenate([always, ranked[::-1], targets]).astype(np.int64)
        place = np.full(table.cells, -1, np.int64)
        place[order] = np.arange(len(order))
        rows, factor = _rows(table, place)
        groups = [group[suppressed[group]] for group in table.insiders()] if insiders else []
        cells, person = _flat(groups)
        known, knower = _sums(table, cells, person, len(groups))
        alone, persons = _alone(place[cells], person, groups, place, len(order) - len(targets), len(targets))
        return cls(
            order=order,
            offered=len(ranked),
            targets=len(targets),
            rows=rows,
            factor=factor,
            owned=owned[order],
            secret=table.primary[order],
            known=Lists(start=known.start, entry=place[known.entry]),
            knower=knower,
            alone=alone,
            knows=persons,
        )

    @property
    def first_target(self) -> int:
        """The place of the first target; the offered cells stand right before it."""
        return len(self.order) - self.targets


def _rows(table: Table, place: Integers) -> tuple[Lists, Residues]:
    """The equations, and facts published exactly, between the cells that may stay unknown."""
    exact = [sparse.csr_array(known.matrix)[np.flatnonzero(known.low == known.high)] for known in table.knowledge]
    matrix = sparse.coo_array(sparse.csr_array(sparse.vstack([table.equations, *exact]) if exact else table.equations))
    matrix.sum_duplicates()
    keep = (place[matrix.col] >= 0) & (matrix.data != 0)
    row, at, data = matrix.row[keep], place[matrix.col[keep]], matrix.data[keep]
    numbers, which = np.unique(data, return_inverse=True)
    factor = np.array([residue(float(number)) for number in numbers], np.uint64)[which]
    by_row = np.lexsort((at, row))
    return Lists.of(row[by_row], at[by_row], matrix.shape[0]), factor[by_row]


def _flat(groups: list[Integers]) -> tuple[Integers, Integers]:
    """The cells of all groups one after the other, and the number of the group of each."""
    sizes = np.array([len(group) for group in groups], np.int64)
    cells = np.concatenate([np.sort(group) for group in groups]) if groups else np.zeros(0)
    return cells.astype(np.int64), np.repeat(np.arange(len(groups)), sizes)


def _sums(table: Table, cells: Integers, person: Integers, persons: int) -> tuple[Lists, Integers]:
    """The sums of known cells on one side of an equation, each once a person, and who knows it."""
    columns = sparse.csc_array(table.equations)
    held = np.diff(columns.indptr)[cells] * (np.bincount(person, minlength=persons) > 1)[person]
    entry = np.arange(held.sum()) + np.repeat(columns.indptr[cells] - np.cumsum(held) + held, held)
    cell, who = np.repeat(cells, held), np.repeat(person, held)
    row, sign = columns.indices[entry], columns.data[entry]
    order = np.lexsort((cell, sign, row, who))
    cell, who, row, sign = cell[order], who[order], row[order], sign[order]
    if not len(cell):
        return Lists.of(np.zeros(0, np.int64), cell, 0), who
    begins = np.concatenate([[True], (np.diff(who) != 0) | (np.diff(row) != 0) | (np.diff(sign) != 0)])
    run, first = np.cumsum(begins) - 1, np.flatnonzero(begins)
    mark = np.random.default_rng(1).integers(1, 2**63, table.cells).astype(np.uint64)
    same = np.column_stack([who[first].astype(np.uint64), np.add.reduceat(mark[cell], first)])
    _, once = np.unique(same, axis=0, return_index=True)
    chosen = np.zeros(len(first), bool)
    chosen[once] = True
    chosen &= np.bincount(run) > 1
    kept = chosen[run]
    number = np.cumsum(chosen) - 1
    return Lists.of(number[run[kept]], cell[kept], int(chosen.sum())), who[first[chosen]]


def _alone(
    at: Integers, person: Integers, groups: list[Integers], place: Integers, first: int, targets: int
) -> tuple[Integers, Lists]:
    """Who knows each target, where several do a person who knows what they all know; and what each person knows."""
    alone = np.full(targets, -1, np.int64)
    alone[at - first] = person
    times = np.bincount(at - first, minlength=targets)
    shared: dict[int, Integers] = {}
    for where in np.flatnonzero(times[at - first] > 1).tolist():
        spot, group = int(at[where] - first), groups[person[where]]
        shared[spot] = np.intersect1d(shared[spot], group) if spot in shared else group
    alone[list(shared)] = len(groups) + np.arange(len(shared))
    cells, number = _flat([*groups, *shared.values()])
    by_place = np.lexsort((place[cells], number))
    return alone, Lists.of(number[by_place], place[cells][by_place], len(groups) + len(shared))
