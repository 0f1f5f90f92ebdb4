"""Swaps of several records: the steps of the search, its limits, and where values come from."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InputError, ParameterError, SolverError
from discreet.microdata.protect.swap import move_cells, move_program, moves
from discreet.microdata.protect.swap.move_boxes import boxes, wider_boxes
from discreet.microdata.protect.swap.move_cells import fixed_margins
from discreet.microdata.protect.swap.moves import Move, permuted, smallest_move
from discreet.model.combinations import Combinations, combinations
from discreet.model.margins import Margins
from discreet.solve.problem import Outcome

EIGHTH = [(0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)]
SIX = [(1, 0, 1), (1, 1, 2), (1, 2, 0), (2, 0, 0), (2, 1, 1), (2, 2, 2)]


def held_of(records: Sequence[Sequence[int]], sizes: Sequence[int] = ()) -> Combinations:
    codes = np.array(records, np.int32)
    return combinations(codes, sizes or (codes.max(axis=0) + 1).tolist())


def pairs_of(variables: int) -> Margins:
    names = [f"x{v}" for v in range(variables)]
    return Margins.of(names, list(itertools.combinations(names, 2)))


def margins_of(variables: int, *sets: str) -> Margins:
    return Margins.of("abcdefgh"[:variables], map(tuple, sets))


def census(records: int, *, seed: int = 1) -> Combinations:
    """Six dependent variables."""
    chance = np.random.default_rng(seed)
    kind = chance.integers(0, 6, records)
    sizes = [3, 4, 5, 2, 4, 3]
    drawn = [np.where(chance.random(records) < 0.6, (7 * kind + 3 * v) % size, chance.integers(0, size, records))
             for v, size in enumerate(sizes)]  # fmt: skip
    return combinations(np.stack(drawn, axis=1).astype(np.int32), sizes)


def kept(held: Combinations, margins: Margins, move: Move) -> bool:
    """Whether every margin is the same after the move."""
    change = combinations(np.concatenate([held.codes[move.out], move.into]), held.sizes, np.repeat([-1, 1], move.records))
    places = [[margins.variables.index(name) for name in margin] for margin in margins.sets]
    return all(
        not combinations(np.ascontiguousarray(change.codes[:, at]), [held.sizes[v] for v in at], change.counts).counts.any()
        for at in places
    )


# ------------------------------------------------------------------------------- pairs


def test_a_pair_is_taken_first_and_proved() -> None:
    held = held_of([(0, 0, 0), (1, 0, 1), (1, 1, 1), (0, 1, 1)])
    move = smallest_move(held, margins_of(3, "ab", "bc"), 0)
    # records 0 and (1, 0, 1) agree on b, which stands between a and c; the value of a moves
    assert held.codes[move.out].tolist() == [[0, 0, 0], [1, 0, 1]]
    assert move.into.tolist() == [[1, 0, 0], [0, 0, 1]]
    assert (move.records, move.smallest, move.impossible, move.bound, move.how, move.stopped) == (2, True, False, 2, "pair", "")
    assert permuted(held.codes[move.out], move.into).tolist() == [[1, 0, 0], [0, 1, 1]]
    assert repr(move) == "Move(2 records, the fewest)"


def test_of_several_pairs_the_one_with_the_fewest_differences() -> None:
    held = held_of([(0, 0, 0, 1), (1, 0, 1, 0), (2, 0, 2, 0), (2, 1, 2, 1)])
    move = smallest_move(held, margins_of(4, "ab", "bc", "cd"), 1)
    assert held.codes[move.out].tolist() == [[1, 0, 1, 0], [2, 0, 2, 0]]
    assert move.into.tolist() == [[2, 0, 1, 0], [1, 0, 2, 0]]


def test_records_that_differ_in_one_free_variable_are_no_pair() -> None:
    held = held_of([(0, 0), (0, 1)])
    assert smallest_move(held, margins_of(2), 0).impossible
    assert smallest_move(held, margins_of(2, "a"), 0).impossible
    assert smallest_move(held_of([(0, 0), (1, 1)]), margins_of(2), 0).records == 2


def test_no_pair_is_a_proof_only_where_margins_are_decomposable() -> None:
    held = held_of(EIGHTH)
    move = smallest_move(held, margins_of(3, "abc"), 0)
    assert (move.impossible, move.how, move.bound, move.records) == (True, "pair", 5, 0)
    assert move.into.shape == (0, 3)
    assert repr(move) == "Move(impossible)"
    assert not smallest_move(held, pairs_of(3), 0).impossible


# ------------------------------------------------------------------------- larger moves


def test_the_move_of_four_is_found_in_a_box_and_needs_no_program_to_be_proved() -> None:
    held = held_of([*EIGHTH, (2, 1, 0), (2, 1, 1), (0, 2, 1)])
    move = smallest_move(held, pairs_of(3), 0)
    assert (move.records, move.smallest, move.how, move.stopped) == (4, True, "box", "")


def test_a_corner_that_is_nobodys_is_found_between_three_records() -> None:
    records = [(0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)]
    held = held_of(records)
    assert not list(boxes(held, pairs_of(3), 0, 4))
    found = list(wider_boxes(held, pairs_of(3), 0, 4))
    assert [[np.flatnonzero(codes).tolist() for codes in box] for box in found] == [[[0, 1], [0, 1], [0, 1]]]
    assert not list(wider_boxes(held, pairs_of(3), 0, 5))
    assert not list(wider_boxes(held_of([(0, 0, 0), (0, 1, 1), (1, 2, 0)]), pairs_of(3), 0, 2))


def test_boxes_come_with_few_variables_and_many_records_first() -> None:
    held = held_of(
        [(0, 0, 0, 0), (0, 1, 1, 0), (1, 0, 1, 0), (1, 1, 1, 0), (1, 1, 1, 1), (1, 1, 2, 0), (0, 1, 2, 0), (0, 0, 2, 1)]
    )
    codes = [[int(codes.nonzero()[0][-1]) for codes in box] for box in boxes(held, pairs_of(4), 0, 2)]
    assert codes == [[1, 1, 1, 0], [1, 1, 2, 0], [1, 1, 1, 1]]
    assert len(list(boxes(held, pairs_of(4), 0, 4))) == 2


def test_moves_of_a_census_keep_all_two_way_margins() -> None:
    held, margins = census(600), pairs_of(6)
    for which in np.flatnonzero(held.counts == 1)[::20].tolist():
        move = smallest_move(held, margins, which)
        assert (move.records, move.smallest) == (4, True)
        assert kept(held, margins, move)
        assert move.out[0] == which
        assert permuted(held.codes[move.out], move.into).shape == (4, 6)


def test_the_smallest_is_proved_on_all_cells_only_if_asked() -> None:
    chance = np.random.default_rng(0)
    held = held_of(chance.integers(0, 3, (20, 4)), (3, 3, 3, 3))
    margins, seen = pairs_of(4), set()
    for which in range(len(held.counts)):
        move = smallest_move(held, margins, which)
        sure = smallest_move(held, margins, which, proven=True)
        assert sure.impossible == move.impossible
        assert sure.smallest == (not sure.impossible)
        assert move.records >= sure.records == (0 if sure.impossible else sure.bound)
        seen.add((move.records, move.smallest, move.how, sure.how))
        for each in (move, sure):
            assert kept(held, margins, each)
    assert seen >= {(4, True, "box", "box"), (6, False, "box", "program")}


def test_a_record_of_several_may_be_changed() -> None:
    held = combinations(np.array(EIGHTH, np.int32), (2, 2, 2), np.array([3, 1, 1, 1]))
    move = smallest_move(held, pairs_of(3), 0)
    assert (move.records, move.out.tolist()) == (4, [0, 1, 2, 3])
    held = combinations(np.array(EIGHTH, np.int32), (2, 2, 2), np.array([2, 2, 2, 2]))
    assert smallest_move(held, pairs_of(3), 0).records == 4


def test_the_order_of_records_does_not_matter() -> None:
    held = census(200)
    codes = held.codes[held.of]
    other = combinations(np.ascontiguousarray(codes[np.random.default_rng(2).permutation(len(codes))]), held.sizes)
    for which in (0, 17, 33):
        one, two = (smallest_move(each, pairs_of(6), which) for each in (held, other))
        assert one.out.tolist() == two.out.tolist()
        assert one.into.tolist() == two.into.tolist()


# ------------------------------------------------------------------------------- limits


def test_at_most_so_many_records() -> None:
    held = held_of(EIGHTH)
    short = smallest_move(held, pairs_of(3), 0, most=3)
    assert (short.records, short.impossible, short.smallest, short.stopped, short.bound) == (0, False, False, "records", 4)
    assert repr(short) == "Move(none found)"
    assert smallest_move(held, pairs_of(3), 0, most=4).records == 4
    six = held_of(SIX)
    for most, bound in ((4, 5), (5, 6)):
        move = smallest_move(six, pairs_of(3), 0, most=most)
        assert (move.records, move.impossible, move.stopped, move.bound, move.how) == (0, False, "records", bound, "program")
    assert smallest_move(six, pairs_of(3), 0, most=6).records == 6


def test_without_time_nothing_is_claimed() -> None:
    move = smallest_move(census(300), pairs_of(6), 0, seconds=1e-9)
    assert (move.smallest, move.impossible, move.stopped, move.bound) == (False, False, "time", 4)


def test_too_many_cells_are_an_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(move_cells, "MOST", 5)
    move = smallest_move(held_of(SIX), pairs_of(3), 0)
    assert (move.records, move.smallest, move.impossible, move.stopped, move.bound) == (0, False, False, "cells", 4)


def test_what_cannot_be_asked_for() -> None:
    held = held_of(EIGHTH)
    with pytest.raises(InputError, match="not over the variables"):
        smallest_move(held, pairs_of(4), 0)
    for which in (-1, 4):
        with pytest.raises(ParameterError, match="no combination number"):
            smallest_move(held, pairs_of(3), which)
    for wrong in ({"most": 1}, {"seconds": 0.0}, {"seconds": float("nan")}):
        with pytest.raises(ParameterError, match="at least 2 records, and time"):
            smallest_move(held, pairs_of(3), 0, **wrong)  # type: ignore[arg-type]  # both kinds of option


def test_a_solver_that_breaks_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(program: Any, **_: Any) -> Outcome:
        return Outcome(status="optimal", objective=4.0, x=np.ones(program.matrix.shape[1]), bound=4.0)

    held = held_of([*EIGHTH, (1, 1, 1)])
    monkeypatch.setattr(move_program, "solve", broken)
    with pytest.raises(SolverError, match="no swap"):
        smallest_move(held, pairs_of(3), 0)
    monkeypatch.setattr(move_program, "solve", lambda program, **_: Outcome(status="failed"))
    with pytest.raises(SolverError, match="'failed'"):
        smallest_move(held, pairs_of(3), 0)


@pytest.mark.parametrize(
    ("sets", "size"),
    [
        (["a", "b", "c", "d"], 2),
        (["ab", "bc", "cd"], 2),
        (["ab", "ac", "ad", "bc", "bd", "cd"], 3),
        (["abc", "abd", "cd"], 3),
        (["abc", "abd", "acd", "bcd"], 4),
        (["abc", "ad", "bd", "cd"], 3),
    ],
)
def test_the_smallest_set_in_no_margin(sets: list[str], size: int) -> None:
    margins = margins_of(4, *sets)
    assert moves._smallest_open(margins) == size
    listed = (set(some) for n in range(1, 5) for some in itertools.combinations("abcd", n))
    assert size == next(len(some) for some in listed if not any(some <= set(margin) for margin in margins.sets))


def test_many_variables_cost_nothing_to_bound() -> None:
    names = [f"x{v}" for v in range(24)]
    margins = Margins.of(names, [[name for name in names if name != left] for left in names])
    assert moves._smallest_open(margins) == 24


# --------------------------------------------------------------------------------- cells


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(*(st.integers(0, 2) for _ in range(4))), min_size=1, max_size=12), st.sampled_from([
    ["ab", "bc", "cd", "ad"], ["ab", "cd"], ["abc", "bcd"], ["ab", "ac", "bc"], ["a"], ["abcd"], ["ad", "bd", "cd"],
]), st.booleans())  # fmt: skip
def test_cells_are_those_that_all_margins_have_seen(records: list[tuple[int, ...]], sets: list[str], boxed: bool) -> None:
    held, margins = held_of(records, (3, 3, 3, 3)), margins_of(4, *sets)
    allowed = [np.array([True, v != 1, not boxed]) for v in range(4)]
    fixed = fixed_margins(held, margins)
    cells = fixed.cells(allowed)
    every = [["abcd".index(name) for name in margin] for margin in fixed.margins.sets]
    expected = {}
    for cell in itertools.product(range(3), repeat=4):
        counts = [sum(all(record[v] == cell[v] for v in margin) for record in records) for margin in every]
        if min(counts) and all(allowed[v][code] for v, code in enumerate(cell)):
            expected[cell] = min(counts)
    assert cells is not None
    assert dict(zip(map(tuple, cells.codes.tolist()), cells.most.tolist(), strict=True)) == expected
    assert list(map(tuple, cells.codes.tolist())) == sorted(expected)
    for codes, which in zip(cells.codes.tolist(), cells.held.tolist(), strict=True):
        assert (tuple(codes) in records) == (which >= 0)
        assert which < 0 or held.codes[which].tolist() == codes
    assert fixed.cells(allowed, most=len(expected) - 1) is None or not expected


# -------------------------------------------------------------------------------- values


def test_values_come_from_where_they_were() -> None:
    out = np.array([(0, 0, 0), (1, 1, 0), (2, 0, 1)], np.int32)
    into = np.array([(1, 0, 0), (2, 1, 1), (0, 0, 0)], np.int32)
    assert permuted(out, into).tolist() == [[1, 0, 0], [2, 1, 2], [0, 2, 1]]
    assert permuted(out, out).tolist() == [[0] * 3, [1] * 3, [2] * 3]
    assert permuted(out[:0], into[:0]).shape == (0, 3)


def test_values_that_nobody_had_are_refused() -> None:
    out = np.array([(0, 0), (1, 1)], np.int32)
    with pytest.raises(InputError, match="codes that none of them had") as refused:
        permuted(out, np.array([(0, 0), (1, 2)], np.int32))
    assert "2" not in str(refused.value)


@given(st.integers(1, 6).flatmap(lambda m: st.tuples(*(
    st.tuples(st.lists(st.integers(0, 2), min_size=m, max_size=m), st.permutations(range(m))) for _ in range(3)
))))  # fmt: skip
def test_any_permutation_is_undone(columns: tuple[tuple[list[int], list[int]], ...]) -> None:
    out = np.array([values for values, _ in columns], np.int32).T
    into = np.stack([out[list(order), v] for v, (_, order) in enumerate(columns)], axis=1)
    source = permuted(out, into)
    for v in range(3):
        assert sorted(source[:, v]) == list(range(len(out)))
        assert (out[source[:, v], v] == into[:, v]).all()
        stays = out[:, v] == into[:, v]
        assert (source[stays, v] == np.flatnonzero(stays)).all()
