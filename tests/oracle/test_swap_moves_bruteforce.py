"""Swaps of several records against all tables with the same margins, and against permutations record by record."""

import itertools
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from discreet.microdata.protect.swap.moves import Move, permuted, smallest_move
from discreet.microdata.protect.swap.partners import swappable
from discreet.model.combinations import Combinations, combinations
from discreet.model.margins import Margins

Records = Sequence[tuple[int, ...]]
Sets = Sequence[tuple[int, ...]]

CYCLE = [(0, 1), (1, 2), (2, 3), (0, 3)]
TWO_WAY = [(0, 1), (0, 2), (1, 2)]


def held_of(records: Records, sizes: Sequence[int]) -> Combinations:
    return combinations(np.array(records, np.int32).reshape(-1, len(sizes)), sizes)


def margins_of(sets: Sets, variables: int) -> Margins:
    names = [f"x{v}" for v in range(variables)]
    return Margins.of(names, [[names[v] for v in margin] for margin in sets])


def tallied(records: Records, margin: tuple[int, ...]) -> Counter[tuple[int, ...]]:
    return Counter(tuple(record[v] for v in margin) for record in records)


def assert_swaps(records: Records, sets: Sets, held: Combinations, move: Move) -> None:
    """Applies the move to the records, one by one, and counts every margin again."""
    before = held.codes[move.out]
    source = permuted(before, move.into)
    assert (move.out[0:1].size, move.into.shape) == (1, before.shape)
    left = list(records)
    for record in before.tolist():
        left.remove(tuple(record))
    after = np.stack([before[source[:, v], v] for v in range(before.shape[1])], axis=1)
    assert (after == move.into).all()
    assert all(sorted(source[:, v].tolist()) == list(range(len(before))) for v in range(before.shape[1]))
    changed = [*left, *map(tuple, after.tolist())]
    for margin in [*sets, *((v,) for v in range(before.shape[1]))]:
        assert tallied(changed, margin) == tallied(records, margin)
    first = tuple(before[0].tolist())
    assert list(changed).count(first) < list(records).count(first)
    assert not {tuple(row) for row in before.tolist()} & {tuple(row) for row in after.tolist()}


def found(records: Records, sets: Sets, record: tuple[int, ...], sizes: Sequence[int], **options: bool) -> Move:
    held = held_of(records, sizes)
    which = held.codes.tolist().index(list(record))
    move = smallest_move(held, margins_of(sets, len(sizes)), which, **options)
    if move.records:
        assert move.out[0] == which
        assert_swaps(records, sets, held, move)
    return move


# ------------------------------------------------------------------------- worked examples

EIGHTH = [(0, 0, 0), (0, 1, 1), (1, 1, 0), (1, 0, 1)]
SIX = [(1, 2, 0), (2, 1, 1), (1, 1, 2), (2, 0, 0), (2, 2, 2), (1, 0, 1)]


@pytest.mark.parametrize("record", EIGHTH)
def test_four_records_rotate_one_variable(record: tuple[int, ...]) -> None:
    move = found(EIGHTH, TWO_WAY, record, (2, 2, 2))
    assert (move.records, move.smallest, move.impossible, move.bound) == (4, True, False, 4)
    held = held_of(EIGHTH, (2, 2, 2))
    assert sorted(move.out.tolist()) == [0, 1, 2, 3]
    assert ((held.codes[move.out] != move.into).sum(axis=1) == 1).all()


@pytest.mark.parametrize("without", range(4))
def test_three_of_the_four_cannot_be_changed(without: int) -> None:
    left = [record for at, record in enumerate(EIGHTH) if at != without]
    for record in left:
        move = found(left, TWO_WAY, record, (2, 2, 2))
        assert (move.records, move.impossible, move.smallest, move.bound, move.how) == (0, True, False, 4, "bound")


def test_three_records_around_a_cycle() -> None:
    records = [(1, 0, 0, 0), (1, 1, 1, 1), (0, 0, 1, 0)]
    move = found(records, CYCLE, (1, 1, 1, 1), (2, 2, 2, 2))
    assert (move.records, move.smallest) == (3, True)
    assert set(map(tuple, move.into.tolist())) == {(1, 0, 1, 1), (1, 1, 1, 0), (0, 0, 0, 0)}


@pytest.mark.parametrize("proven", [False, True])
@pytest.mark.parametrize("record", SIX)
def test_six_records_without_a_three_way_margin(record: tuple[int, ...], proven: bool) -> None:
    move = found(SIX, TWO_WAY, record, (3, 3, 3), proven=proven)
    assert (move.records, move.smallest, move.how) == (6, True, "program")
    assert set(map(tuple, move.into.tolist())) == {(1, 2, 2), (2, 1, 2), (1, 1, 1), (2, 0, 1), (2, 2, 0), (1, 0, 0)}


# ------------------------------------------------------------ all tables with these margins


class Fibres:
    """All tables of so many records, grouped by their margins."""

    def __init__(self, sizes: Sequence[int], records: int, sets: Sets) -> None:
        self.sizes, self.sets = tuple(sizes), sets
        self.cells = list(itertools.product(*map(range, sizes)))
        rows = [
            np.bincount(chosen, minlength=len(self.cells))
            for chosen in itertools.combinations_with_replacement(range(len(self.cells)), records)
        ]
        self.tables = np.array(rows)
        counted = [[v] for v in range(len(sizes))] + [list(margin) for margin in sets]
        entries = [
            [tuple(cell[v] for v in margin) == entry for cell in self.cells]
            for margin in counted
            for entry in itertools.product(*(range(sizes[v]) for v in margin))
        ]
        _, self.fibre = np.unique(self.tables @ np.array(entries, np.int64).T, axis=0, return_inverse=True)
        self.fibre = self.fibre.ravel()
        self.order = np.argsort(self.fibre, kind="stable")
        self.begin = np.searchsorted(self.fibre[self.order], np.arange(self.fibre.max() + 2))

    def records(self, at: int) -> Records:
        return [cell for cell, n in zip(self.cells, self.tables[at].tolist(), strict=True) for _ in range(n)]

    def degree(self, at: int, record: tuple[int, ...], barred: Records = ()) -> int:
        """The fewest records that change where some table has fewer of this one, and no more of those barred; 0 if none has."""
        mine = self.tables[at]
        others = self.tables[self.order[self.begin[self.fibre[at]] : self.begin[self.fibre[at] + 1]]]
        places = [self.cells.index(cell) for cell in barred]
        others = others[(others[:, places] <= mine[places]).all(axis=1)]
        lost = np.maximum(mine - others, 0)
        lost = lost[lost[:, self.cells.index(record)] > 0]
        return int(lost.sum(axis=1).min(initial=99)) % 99


DECOMPOSABLE = {
    "a path": ((2, 2, 2, 2), 5, [(0, 1), (1, 2), (2, 3)]),
    "two triangles": ((2, 2, 2, 2), 5, [(0, 1, 2), (1, 2, 3)]),
    "a star": ((3, 2, 2, 2), 4, [(0, 1), (0, 2), (0, 3)]),
    "an edge and a free variable": ((2, 3, 3), 5, [(0, 1)]),
}
OTHERS = {
    "all pairs of 2 × 2 × 2": ((2, 2, 2), 8, TWO_WAY, {0, 4}),
    "all pairs of 2 × 2 × 3": ((2, 2, 3), 6, TWO_WAY, {0, 4}),
    "all pairs of 3 × 3 × 2": ((3, 3, 2), 5, TWO_WAY, {0, 4}),
    "a cycle": ((2, 2, 2, 2), 5, CYCLE, {0, 2, 3, 4}),
    "a triangle of pairs and a tail": ((2, 2, 2, 2), 5, [*TWO_WAY, (2, 3)], {0, 2, 4}),
    "a triangle of pairs and a free variable": ((2, 2, 2, 2), 5, TWO_WAY, {0, 2}),
    "all pairs of four": ((2, 2, 2, 2), 5, list(itertools.combinations(range(4), 2)), {0, 4}),
}
"""Sizes, records, margins, and the fewest records that are met."""


@pytest.mark.parametrize("case", DECOMPOSABLE)
def test_pairs_are_enough_where_margins_are_decomposable(case: str) -> None:
    sizes, n, sets = DECOMPOSABLE[case]
    fibres, margins = Fibres(sizes, n, sets), margins_of(sets, len(sizes))
    kinds = Counter[int]()
    for at in np.random.default_rng(5).choice(len(fibres.tables), 325, replace=False).tolist():
        records = fibres.records(at)
        held = held_of(records, sizes)
        flags = swappable(held, margins).any
        for which, codes in enumerate(held.codes.tolist()):
            degree = fibres.degree(at, tuple(codes))
            kinds[degree] += 1
            assert degree == (2 if flags[which] else 0)
            if which == at % len(held.counts):
                move = found(records, sets, tuple(codes), sizes)
                assert (move.records, move.impossible, move.smallest) == (degree, degree == 0, degree == 2)
    assert kinds.keys() == {0, 2}


@pytest.mark.parametrize("case", OTHERS)
def test_the_fewest_records_are_found_and_proved(case: str) -> None:
    sizes, n, sets, expected = OTHERS[case]
    fibres = Fibres(sizes, n, sets)
    kinds = Counter[int]()
    alone = np.unique(fibres.fibre, return_inverse=True, return_counts=True)
    many = np.flatnonzero(alone[2][alone[1].ravel()] > 1)
    chance = np.random.default_rng(5)
    chosen = [*chance.choice(many, min(60, len(many)), replace=False), *chance.choice(len(fibres.tables), 20, replace=False)]
    for at in map(int, chosen):
        records = fibres.records(at)
        record = records[at % n]
        degree = fibres.degree(at, record)
        kinds[degree] += 1
        move = found(records, sets, record, sizes, proven=True)
        assert (move.records, move.impossible, move.smallest) == (degree, degree == 0, degree > 0)
        assert move.bound == (degree or n + 1)
        quick = found(records, sets, record, sizes)
        assert quick.impossible == (degree == 0)
        assert quick.records == degree if quick.smallest or not degree else quick.records >= degree >= quick.bound
    assert kinds.keys() == expected


@pytest.mark.parametrize("case", ["a path", "a star", "a cycle", "all pairs of four"])
def test_the_fewest_records_where_some_codes_are_barred(case: str) -> None:
    sizes, n, sets = (DECOMPOSABLE | OTHERS)[case][:3]
    fibres, margins = Fibres(sizes, n, sets), margins_of(sets, len(sizes))
    chance, kinds = np.random.default_rng(6), Counter[bool]()
    for at in chance.choice(len(fibres.tables), 50, replace=False).tolist():
        records = fibres.records(at)
        barred = [fibres.cells[c] for c in chance.choice(len(fibres.cells), len(fibres.cells) // 3, replace=False)]
        held = held_of(records, sizes)
        which = int(held.of[at % n])
        degree = fibres.degree(at, records[at % n], barred)
        kinds[degree != fibres.degree(at, records[at % n])] += 1
        move = smallest_move(
            held,
            margins,
            which,
            proven=True,
            barred=lambda codes, barred=barred: np.array([tuple(row) in barred for row in codes.tolist()], bool),
        )
        assert (move.records, move.impossible, move.smallest) == (degree, degree == 0, degree > 0)
        assert not set(map(tuple, move.into.tolist())) & set(barred)
        if degree:
            assert_swaps(records, sets, held, move)
    assert kinds[False]
    assert kinds[True] or case == "all pairs of four"


# --------------------------------------------------------------- permutations of records


def degree_by_permutations(records: Records, sets: Sets, record: tuple[int, ...]) -> int:
    """The fewest records, at most 4, among which permuting the values of some variables changes one record; else 0."""
    codes = np.array(records)
    mine = records.index(record)
    others = [at for at in range(len(records)) if at != mine]
    weights = [np.array([5**v if v in margin else 0 for v in range(codes.shape[1])]) for margin in sets]
    for m in (2, 3, 4):
        orders = np.array(list(itertools.permutations(range(m))))
        pick = np.array(list(itertools.product(range(len(orders)), repeat=codes.shape[1] - 1)))
        for chosen in itertools.combinations(others, m - 1):
            before = codes[[mine, *chosen]]
            columns = [np.broadcast_to(before[:, 0], (len(pick), m))]
            columns += [before[orders[pick[:, v]], v + 1] for v in range(codes.shape[1] - 1)]
            after = np.stack(columns, axis=2)
            kept = np.ones(len(pick), bool)
            for weight in weights:
                kept &= (np.sort(after @ weight, axis=1) == np.sort(before @ weight)).all(axis=1)
            fewer = (after == before[0]).all(axis=2).sum(axis=1) < (before == before[0]).all(axis=1).sum()
            if (kept & fewer).any():
                return m
    return 0


def test_the_degree_is_that_of_permutations_up_to_four() -> None:
    chance = np.random.default_rng(11)
    kinds = Counter[int]()
    for turn in range(60):
        sets: Sets = [TWO_WAY, [(0, 1), (1, 2)], [*TWO_WAY, (1, 3)], CYCLE][turn % 4]
        sizes = (2, 3, 2) if turn % 4 < 2 else (2, 2, 2, 2)
        n = 8 if turn % 4 == 0 else 6
        records = [tuple(int(chance.integers(size)) for size in sizes) for _ in range(n)]
        degree = degree_by_permutations(records, sets, records[0])
        kinds[degree] += 1
        move = found(records, sets, records[0], sizes, proven=True)
        assert move.smallest or move.impossible
        assert (move.records if move.records <= 4 else 0) == degree
    assert len(kinds) >= 3
