"""Which records can be swapped: the theorem and the counting against the definition, on random records and margins."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from discreet.errors import InputError, ParameterError
from discreet.microdata.protect.swap.partners import Partners, partner_lists, partners_of, swappable
from discreet.model.combinations import Combinations, combinations
from discreet.model.margins import Margins

Row = tuple[int, ...]


def drawn(chance: np.random.Generator, k: int, records: int) -> tuple[Combinations, Margins]:
    sizes = chance.integers(2, 4, k).tolist()
    codes = np.stack([chance.integers(0, size, records) for size in sizes], axis=1).astype(np.int32)
    names = "abcdef"[:k]
    sets = [[name for name in names if chance.random() < 0.45] for _ in range(chance.integers(1, 5))]
    return combinations(codes, sizes), Margins.of(list(names), [margin for margin in sets if margin])


def exchanges(one: Row, other: Row, at: list[list[int]]) -> set[frozenset[Row]]:
    """What the two records can become by exchanging values on some variables, both changing, with all margins as before."""
    found = set()
    for taken in itertools.product((False, True), repeat=len(one) - 1):  # all other sets but one give the same two records
        mine = (*(b if take else a for take, a, b in zip(taken, one, other, strict=False)), one[-1])
        theirs = (*(a if take else b for take, a, b in zip(taken, one, other, strict=False)), other[-1])
        if mine not in (one, other) and all(
            sorted((tuple(mine[v] for v in margin), tuple(theirs[v] for v in margin)))
            == sorted((tuple(one[v] for v in margin), tuple(other[v] for v in margin)))
            for margin in at
        ):
            found.add(frozenset((mine, theirs)))
    return found


def changed(partners: Partners, place: int, one: Row, other: Row) -> list[frozenset[Row]]:
    names = partners.margins.variables
    return [
        frozenset(
            tuple((b if name in outcome else a) for name, a, b in zip(names, mine, theirs, strict=True))
            for mine, theirs in ((one, other), (other, one))
        )
        for outcome in partners.outcomes(place)
    ]


def test_pairs_can_be_swapped_exactly_if_the_definition_says_so() -> None:
    chance, pairs, swapped = np.random.default_rng(11), 0, 0
    while pairs < 20_000:
        held, margins = drawn(chance, int(chance.integers(2, 7)), 40)
        rows = [tuple(row) for row in held.codes.tolist()]
        at = [[margins.variables.index(name) for name in margin] for margin in margins.sets]
        for which, partners in enumerate(partner_lists(held, margins, np.arange(len(rows)))):
            place = {int(other): at for at, other in enumerate(partners.combinations)}
            assert which not in place
            for other in range(which):
                outcomes = exchanges(rows[which], rows[other], at)
                assert bool(outcomes) == (other in place)
                if outcomes:
                    told = changed(partners, place[other], rows[which], rows[other])
                    assert set(told) == outcomes
                    assert len(told) == len(outcomes) == 2 ** (len(partners.components(place[other])) - 1) - 1
                pairs, swapped = pairs + 1, swapped + bool(outcomes)
    assert 2_000 < swapped < 18_000


def test_counts_are_those_of_enumeration_through_each_separator() -> None:
    chance, met = np.random.default_rng(12), 0
    for _ in range(120):
        held, margins = drawn(chance, int(chance.integers(2, 6)), 60)
        flags = swappable(held, margins)
        for which, partners in enumerate(partner_lists(held, margins, np.arange(len(held.counts)))):
            assert list(partners.through().values()) == flags.partners[which].tolist()
            assert bool(flags.any[which]) == (partners.records > 0)
            assert flags.at_least[which] <= partners.records
            met += partners.records > 0
        assert flags.records.tolist() == flags.any[held.of].tolist()
        assert flags.share == pytest.approx(held.counts[flags.any].sum() / held.counts.sum())
    assert met > 200


def test_complete_graphs_and_single_margins() -> None:
    codes = np.array(list(itertools.product((0, 1), repeat=3)), np.int32)
    held = combinations(codes, (2, 2, 2))
    all_pairs = Margins.of(["a", "b", "c"], [["a", "b"], ["b", "c"], ["a", "c"]])
    assert swappable(held, all_pairs).share == 0
    singles = Margins.of(["a", "b", "c"], [["a"], ["b"], ["c"]])
    assert swappable(held, singles).any.all()
    assert partners_of(held, singles, 0).records == 4  # all that differ in two variables or more
    assert partners_of(held, singles, 0).through() == {(): 4}
    (outcomes,) = {len(partners_of(held, singles, 0).outcomes(at)) for at in [3]}  # the one that differs in all three
    assert outcomes == 3


def test_wide_files_have_no_table_of_sets() -> None:
    chance = np.random.default_rng(3)
    codes = chance.integers(0, 2, (60, 24)).astype(np.int32)
    names = [f"v{v}" for v in range(24)]
    margins = Margins.of(names, [names[v : v + 3] for v in range(0, 22, 3)])
    held = combinations(codes, [2] * 24)
    flags = swappable(held, margins)
    for which, partners in enumerate(partner_lists(held, margins, np.arange(len(held.counts)))):
        assert list(partners.through().values()) == flags.partners[which].tolist()


def test_other_variables_and_combinations_are_refused() -> None:
    held = combinations(np.zeros((2, 2), np.int32), (1, 1))
    with pytest.raises(InputError, match="not over the variables"):
        swappable(held, Margins.of(["a"], [["a"]]))
    with pytest.raises(ParameterError, match="does not exist"):
        partners_of(held, Margins.of(["a", "b"], [["a"]]), 1)
