"""The audit of margins: against all tables that have them, and what of it may be shown."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from discreet.errors import InputError, ParameterError
from discreet.io.microdata import read_microdata
from discreet.microdata.protect.swap import move_cells
from discreet.microdata.protect.swap.moves import Move, smallest_move
from discreet.microdata.protect.swap.start import start_swap
from discreet.microdata.risk import given_away as module
from discreet.microdata.risk.given_away import given_away
from discreet.model.combinations import Combinations
from discreet.model.keys import Secret
from discreet.model.margins import Margins
from discreet.model.microdata import Microdata
from discreet.model.swap_file import Swapped

TWO_WAY = ("ab", "ac", "bc")
EIGHTH = [(0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)]


def file_of(records: Sequence[Sequence[int]], **more: Any) -> Microdata:
    columns = {"abcdefgh"[v]: [f"{'abcdefgh'[v]}{record[v]}" for record in records] for v in range(len(records[0]))}
    return read_microdata(pd.DataFrame({"id": range(len(records))} | columns), **{"unit": "id", **more})


def margins_of(variables: str, *sets: str) -> Margins:
    return Margins.of(tuple(variables), [tuple(margin) for margin in sets])


def proved_by_all_tables(records: Sequence[tuple[int, ...]], sizes: Sequence[int], sets: Sequence[str]) -> set[tuple[int, ...]]:
    """The combinations of which no table with these margins has fewer records, from the list of all tables."""
    cells = list(itertools.product(*map(range, sizes)))
    chosen = itertools.combinations_with_replacement(range(len(cells)), len(records))
    tables = np.array([np.bincount(some, minlength=len(cells)) for some in chosen])
    mine = np.array([records.count(cell) for cell in cells])
    for margin in sets:
        at = ["abcdefgh".index(name) for name in margin]
        for entry in itertools.product(*(range(sizes[v]) for v in at)):
            there = np.array([tuple(cell[v] for v in at) == entry for cell in cells], np.int64)
            tables = tables[tables @ there == mine @ there]
    least = tables.min(axis=0)
    return {cell for cell, n, low in zip(cells, mine.tolist(), least.tolist(), strict=True) if n and low == n}


def shown_codes(found: Any) -> set[tuple[int, ...]]:
    names = found.margins.variables
    return {tuple(int(str(row[name])[1:]) for name in names) for row in found.rows()}


@pytest.mark.parametrize(
    ("sizes", "sets", "records"),
    [
        ((2, 2, 2), TWO_WAY, 6),
        ((2, 3, 2), TWO_WAY, 5),
        ((2, 2, 2), ("ab", "bc"), 6),
        ((2, 2, 2, 2), ("ab", "bc", "cd", "ad"), 5),
        ((2, 2, 2, 2), ("abc", "bcd"), 5),
        ((2, 2, 2, 2), (*TWO_WAY, "cd"), 5),
    ],
)
def test_what_is_given_away_is_what_all_tables_have(sizes: tuple[int, ...], sets: tuple[str, ...], records: int) -> None:
    chance, many = np.random.default_rng(8), 0
    for _ in range(12):
        drawn = [tuple(int(chance.integers(size)) for size in sizes) for _ in range(records)]
        found = given_away(file_of(drawn), margins_of("abcd"[: len(sizes)], *sets))
        assert shown_codes(found) == proved_by_all_tables(drawn, sizes, sets)
        assert not found.undecided.any()
        many += int(found.proved.sum())
    assert many


def test_the_audit_of_margins_that_prove_all() -> None:
    three = given_away(file_of(EIGHTH[1:]), margins_of("abc", *TWO_WAY))
    assert three.records.tolist() == [True] * 3
    four = given_away(file_of(EIGHTH), margins_of("abc", *TWO_WAY))
    assert not four.proved.any()
    assert repr(three) == "GivenAway(3 of 3 records)"
    assert three.rows() == [
        {"a": "a0", "b": "b1", "c": "c1", "records": 1},
        {"a": "a1", "b": "b0", "c": "c1", "records": 1},
        {"a": "a1", "b": "b1", "c": "c0", "records": 1},
    ]


def test_counts_that_may_be_shown_name_nobody() -> None:
    records = [(0, 0), (0, 0), (0, 1), (1, 0), (2, 2)]
    found = given_away(file_of(records), margins_of("ab", "a", "b"))
    # (2, 2) and (0, 0) can change places in one variable with each other, and so can all others that differ in both
    assert not found.proved.any()
    found = given_away(file_of([(0, 0), (0, 0), (0, 1), (1, 0)]), margins_of("ab", "a", "b"))
    assert found.shown() == {
        "margins": "a, b",
        "variables": 2,
        "decomposable": True,
        "records in the file": 4,
        "combinations in the file": 3,
        "sample uniques in the file": 2,
        "records given away": 2,
        "combinations given away": 1,
        "sample uniques given away": 0,
        "records undecided": 0,
        "combinations undecided": 0,
        "sample uniques undecided": 0,
    }
    assert found.rows() == [{"a": "a0", "b": "b0", "records": 2}]
    assert "a0" not in repr(found) + str(found.shown())


def test_variables_in_no_margin_are_not_looked_at() -> None:
    records = [(0, 0, 5), (0, 0, 6), (1, 1, 7)]
    found = given_away(file_of(records), margins_of("abc", "ab"))
    assert found.margins.variables == ("a", "b")
    assert [row["records"] for row in found.rows()] == [2, 1]


def test_a_swapped_file_is_audited_as_it_stands_and_gives_away_the_same() -> None:
    records = [(0, 0, 0), (1, 0, 1), (1, 1, 1), (0, 1, 1)]
    margins = margins_of("abc", "ab", "bc")
    file = start_swap(file_of(records), Secret("the secret of this test, of enough letters"))
    before = given_away(file, margins)
    first, second = (int(np.flatnonzero(file.rows == at)[0]) for at in (0, 1))
    origin = np.arange(4)
    origin[[first, second]] = second, first
    after = given_away(file.moved({"a": origin}, Swapped(method="by hand", columns=("a",), margins=margins, facts={})), margins)
    assert before.rows() == after.rows() == given_away(file_of(records), margins).rows()
    assert before.held.codes.tolist() != after.held.codes.tolist()
    assert before.records.tolist() == given_away(file_of(records), margins).records[file.rows].tolist()


def test_what_time_does_not_suffice_for_is_undecided() -> None:
    found = given_away(file_of(EIGHTH), margins_of("abc", *TWO_WAY), seconds=1e-9)
    assert found.undecided.all()
    assert not found.proved.any()
    assert repr(found) == "GivenAway(0 of 4 records, 4 undecided)"
    assert found.shown()["sample uniques undecided"] == 4
    assert found.rows() == []
    # where margins are decomposable, counting is enough
    assert not given_away(file_of(EIGHTH), margins_of("abc", "ab", "bc"), seconds=1e-9).undecided.any()


def test_with_too_many_cells_what_moves_is_still_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(move_cells, "MOST", 5)
    apart = [tuple(code + 2 for code in record) for record in EIGHTH[:3]]
    found = given_away(file_of([*EIGHTH, *apart]), margins_of("abc", *TWO_WAY))
    assert found.undecided.tolist() == [False] * 4 + [True] * 3


def test_records_seen_to_move_with_others_are_not_searched_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    searched = []

    def search(held: Combinations, margins: Margins, which: int, *, seconds: float) -> Move:
        searched.append(which)
        return smallest_move(held, margins, which, seconds=seconds)

    monkeypatch.setattr(module.LeastCounts, "least", lambda self, which, *, seconds: (-np.inf, None))
    monkeypatch.setattr(module, "smallest_move", search)
    assert not given_away(file_of(EIGHTH), margins_of("abc", *TWO_WAY)).undecided.any()
    assert searched == [0]


def test_what_the_linear_program_leaves_open_is_proved_by_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.LeastCounts, "least", lambda self, which, *, seconds: (-np.inf, None))
    assert given_away(file_of(EIGHTH[1:]), margins_of("abc", *TWO_WAY)).proved.all()


def test_a_whole_table_shows_what_changes_without_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(module, "smallest_move")
    found = given_away(file_of(EIGHTH), margins_of("abc", *TWO_WAY))
    assert not found.proved.any()
    assert not found.undecided.any()


def test_what_cannot_be_audited() -> None:
    file = file_of(EIGHTH)
    with pytest.raises(InputError, match="nothing is published"):
        given_away(file, margins_of("abc"))
    with pytest.raises(ParameterError, match="needs time"):
        given_away(file, margins_of("abc", "ab"), seconds=0)
    with pytest.raises(InputError, match="no column 'd'"):
        given_away(file, margins_of("abd", "ad"))
    with pytest.raises(InputError, match="several records each"):
        given_away(file_of(EIGHTH, unit=None, count="id"), margins_of("abc", "ab"))
