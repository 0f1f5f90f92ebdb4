"""Partners of records: their components, outcomes and order, by the id of a record, and of wide files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from discreet.errors import InputError, ParameterError
from discreet.io.microdata import read_microdata
from discreet.microdata.protect.swap.partners import partner_lists, partners_of, swap_partners, swappable
from discreet.microdata.protect.swap.start import start_swap
from discreet.model.combinations import combinations
from discreet.model.keys import Secret
from discreet.model.margins import Margins
from discreet.model.swap_file import Swapped

SECRET = Secret("a secret that is long enough")
PERSONS = pd.DataFrame(
    {
        "id": ["p1", "p2", "p3", "p4", "p5", "p6"],
        "age": ["old", "old", "young", "old", "old", "young"],
        "sex": ["f", "m", "m", "f", "m", "m"],
        "town": ["X", "X", "X", "Y", "Y", "Y"],
        "work": [1, 1, 1, 2, 1, 2],
    }
)
CHAIN = Margins.of(["age", "sex", "town", "work"], [["age", "sex"], ["town", "work"]])


def file(frame: pd.DataFrame = PERSONS):
    return start_swap(read_microdata(frame, unit="id"), SECRET)


def test_the_partners_of_a_record_by_its_id() -> None:
    found = swap_partners(file(), CHAIN, {"id": "p1"})
    assert found.codes == {"age": "old", "sex": "f", "town": "X", "work": "1"}
    assert (found.records, len(found), found.through()) == (2, 2, {(): 2})
    near, far = found.nearest()
    assert near.codes == {"age": "old", "sex": "m", "town": "Y", "work": "1"}
    assert near.components == (("sex",), ("town",))
    assert near.outcomes == (("town",),)
    assert far.codes == {"age": "young", "sex": "m", "town": "Y", "work": "2"}
    assert far.components == (("age", "sex"), ("town", "work"))
    assert found.nearest(1)[0].codes == near.codes
    assert {near.records, far.records} == {1}


def test_partners_are_those_of_the_file_as_it_stands_now() -> None:
    begun = file()
    margins = Margins.of(["age", "sex"], [["age"], ["sex"]])
    assert swap_partners(begun, margins, {"id": "p1"}).records == 2  # young and male
    places = {category[0]: place for category, place in zip(*_ids(begun), strict=True)}
    origin = np.arange(6)
    origin[[places["p1"], places["p3"]]] = places["p3"], places["p1"]
    step = Swapped(method="by hand", columns=("age",), margins=margins, facts={})
    moved = swap_partners(begun.moved({"age": origin}, step), margins, {"id": "p1"})
    assert moved.codes == {"age": "young", "sex": "f"}
    assert moved.records == 3  # old and male, p3 among them now


def _ids(begun):
    (ids,) = begun.coded(["id"])
    return ids.categories, np.argsort(ids.codes)


def test_exchanged_values_keep_the_margins_and_change_both_records() -> None:
    begun = file()
    held = begun.combinations(CHAIN.variables)
    for which, found in enumerate(partner_lists(held, CHAIN, np.arange(len(held.counts)))):
        for partner, other in enumerate(found.combinations.tolist()):
            one, two = (int(np.flatnonzero(held.of == number)[0]) for number in (which, other))
            origin = np.arange(6)
            origin[[one, two]] = two, one
            for outcome in found.outcomes(partner):
                step = Swapped(method="by hand", columns=outcome, margins=CHAIN, facts={})
                now = begun.moved(dict.fromkeys(outcome, origin), step).combinations(CHAIN.variables)
                after = {tuple(now.codes[now.of[place]].tolist()) for place in (one, two)}
                assert after.isdisjoint({tuple(held.codes[number].tolist()) for number in (which, other)})


def test_all_outcomes_of_many_components_differ() -> None:
    names = [f"v{v}" for v in range(6)]
    margins = Margins.of(names, [names[:2]])
    held = combinations(np.array([[0] * 6, [1] * 6], np.int32), [2] * 6)
    found = partners_of(held, margins, 0)
    assert found.components(0) == (("v0", "v1"), ("v2",), ("v3",), ("v4",), ("v5",))
    outcomes = found.outcomes(0)
    assert len(set(outcomes)) == len(outcomes) == 15
    assert outcomes[0] == ("v2",)
    assert outcomes[-1] == ("v2", "v3", "v4", "v5")
    assert list(map(len, outcomes)) == sorted(map(len, outcomes))


def test_the_nearest_come_first_and_equal_ones_in_the_order_of_codes() -> None:
    chance = np.random.default_rng(4)
    held = combinations(chance.integers(0, 3, (200, 4)).astype(np.int32), [3] * 4)
    found = partners_of(held, Margins.of(list("abcd"), [["a", "b"]]), 7)
    apart = (held.codes[found.combinations] != held.codes[7]).sum(axis=1)
    assert np.array_equal(found.counts, held.counts[found.combinations])
    expected = sorted(range(len(apart)), key=lambda at: (apart[at], at))
    assert found.nearest().tolist() == expected
    assert found.nearest(3).tolist() == expected[:3]


@pytest.mark.parametrize("k", [16, 17, 40, 62])
def test_wide_files_are_searched_by_the_graph(k: int) -> None:
    chance = np.random.default_rng(k)
    names = [f"v{v}" for v in range(k)]
    margins = Margins.of(names, [names[v : v + 3] for v in range(0, k - 2, 2)])
    codes = np.repeat(chance.integers(0, 2, (1, k)), 60, axis=0) ^ (chance.random((60, k)) < 3 / k)
    held = combinations(codes.astype(np.int32), [2] * k)
    for which, found in enumerate(partner_lists(held, margins, np.arange(len(held.counts)))):
        differ = [sum(1 << v for v in np.flatnonzero(row != held.codes[which]).tolist()) for row in held.codes]
        expected = [at for at, bits in enumerate(differ) if len(list(margins.components(bits))) > 1]
        assert found.combinations.tolist() == expected
        assert found.differ.tolist() == [differ[at] for at in expected]


def test_codes_of_many_categories_are_told_apart() -> None:
    codes = np.array([[0, 0], [256, 65_536], [256, 0], [0, 65_536]], np.int32)
    held = combinations(codes, [257, 65_537])
    found = partners_of(held, Margins.of(["a", "b"], [["a"], ["b"]]), 0)
    assert held.codes[found.combinations].tolist() == [[256, 65_536]]


def test_sets_of_more_variables_than_bits_are_refused() -> None:
    names = [f"v{v}" for v in range(63)]
    held = combinations(np.zeros((2, 63), np.int32), [1] * 63)
    assert swappable(held, Margins.of(names, [names[:2]])).share == 0  # counting needs no bits
    with pytest.raises(InputError, match="over 63 variables"):
        partners_of(held, Margins.of(names, [names[:2]]), 0)


def test_nothing_is_asked_of_combinations_that_are_not_there() -> None:
    held = combinations(np.zeros((2, 4), np.int32), [1] * 4)
    assert list(partner_lists(held, CHAIN, [])) == []
    for which in (-1, 1):
        with pytest.raises(ParameterError, match="give numbers below 1"):
            partners_of(held, CHAIN, which)
    with pytest.raises(InputError, match="not over the variables"):
        partner_lists(held, Margins.of(["a"], []), [0])


def test_neither_records_nor_codes_are_shown_by_accident() -> None:
    found = swap_partners(file(), CHAIN, {"id": "p1"})
    shown = [repr(found), repr(found.nearest()), repr(found.partners), repr(swappable(found.partners.held, CHAIN))]
    assert shown[0] == "RecordPartners(2 records of 2 combinations)"
    assert shown[3] == "Swappable(6 of 6 records, 1 separators)"
    assert not any(code in text for text in shown for code in ("old", "young", "'X'", "p1"))
