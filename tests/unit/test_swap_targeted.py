"""Targeted swapping: which households are alike and stand out, how donors are drawn, and what is refused."""

from collections import Counter
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from discreet.errors import InputError, ParameterError
from discreet.io.microdata import read_microdata
from discreet.method import build, to_dict
from discreet.microdata.protect.swap.donors import donors, drawn, elsewhere
from discreet.microdata.protect.swap.households import Alike, Households, alike, households
from discreet.microdata.protect.swap.start import start_swap
from discreet.microdata.protect.swap.targeted import TargetedSwap
from discreet.model.keys import Secret
from discreet.model.noise import mixed
from discreet.model.swap_file import SwapFile

SECRET = Secret("0123456789abcdef0123456789abcdef")
OTHER = Secret("fedcba9876543210fedcba9876543210")
PLACES = ("region", "town")


def persons(homes: int = 300, seed: int = 8) -> pd.DataFrame:
    chance = np.random.default_rng(seed)
    size = chance.choice([1, 2, 3, 7], homes, p=[0.4, 0.3, 0.25, 0.05])
    home = np.repeat(np.arange(homes), size)
    n = len(home)
    return pd.DataFrame(
        {
            "id": np.arange(n),
            "home": [f"h{i:03}" for i in home],
            "size": np.repeat(size, size),
            "region": chance.choice(["E", "W"], homes)[home],
            "town": chance.choice(["1", "2", "3"], homes, p=[0.6, 0.3, 0.1])[home],
            "tenure": chance.choice(["own", "rent"], homes)[home],
            "age": chance.choice(["0-15", "16-64", "65+"], n),
            "job": chance.choice(["none", "shop", "farm", "smith"], n, p=[0.6, 0.3, 0.09, 0.01]),
            "desk": chance.choice(["d1", "d2"], n),
        }
    )


def started(frame: Any, secret: Secret = SECRET) -> SwapFile:
    return start_swap(read_microdata(frame, unit="id"), secret)


def method(**other: Any) -> TargetedSwap:
    settings = {"household": "home", "geography": PLACES, "risk": ("age", "job"), "profiles": (("size", "tenure"), ())}
    return TargetedSwap(**(settings | other))


def texts(file: SwapFile, *columns: str) -> list[tuple[str, ...]]:
    held = [[one.categories[code][0] for code in one.codes] for one in file.coded(columns)]
    return list(zip(*held, strict=True))


def by_id(file: SwapFile, *columns: str) -> dict[str, tuple[str, ...]]:
    return {row[0]: row[1:] for row in texts(file, "id", *columns)}


def one_group(areas: list[int], fewest: list[int], key: np.ndarray) -> tuple[Households, Alike]:
    """Households of one person each that are all alike, in areas of one level."""
    n = len(areas)
    held = Households(
        of=np.arange(n),
        key=key,
        size=np.ones(n, np.int64),
        area=np.array(areas),
        levels=np.arange(max(areas) + 1)[:, None],
        fewest=np.array(fewest)[:, None],
    )
    group = np.zeros(n, np.int64)
    return held, Alike(group=group, order=np.argsort(areas, kind="stable"), members=np.arange(n), first=np.arange(n))


# -------------------------------------------------------------------- households


def test_areas_and_counts_of_persons_alike() -> None:
    file = started(persons())
    held = households(file, "home", PLACES, ["age", "job"])
    rows = texts(file, "home", "region", "town", "age", "job")
    codes = sorted({row[1:3] for row in rows})
    for level in range(2):
        counts = Counter((row[1 : 2 + level], row[3:]) for row in rows)
        fewest: dict[str, int] = {}
        for row in rows:
            fewest[row[0]] = min(counts[row[1 : 2 + level], row[3:]], fewest.get(row[0], len(rows)))
        for household, row in zip(held.of.tolist(), rows, strict=True):
            assert held.fewest[household, level] == fewest[row[0]]
            assert codes[held.area[household]] == row[1:3]
            assert held.at(level)[household] == sorted({code[: level + 1] for code in codes}).index(row[1 : 2 + level])
    assert Counter(held.size[held.of]) == Counter(Counter(row[0] for row in rows)[row[0]] for row in rows)


@pytest.mark.parametrize("profile", [(), ("tenure",), ("age",), ("age", "job", "size")])
def test_households_are_alike_if_their_members_are_all_together(profile: tuple[str, ...]) -> None:
    file = started(persons())
    held = households(file, "home", PLACES, ["age"])
    same = alike(file, held, profile)
    members: dict[int, list[tuple[str, ...]]] = {}
    own = texts(file, *profile) if profile else [()] * len(held.of)
    for household, row in zip(held.of.tolist(), own, strict=True):
        members.setdefault(household, []).append(row)
    kinds: dict[Any, int] = {}
    for household, group in enumerate(same.group.tolist()):
        assert kinds.setdefault(tuple(sorted(members[household])), group) == group
    assert len(set(kinds.values())) == len(kinds) == same.group.max() + 1
    for household, first in enumerate(same.first.tolist()):
        listed = same.members[first : first + held.size[household]]
        assert set(held.of[listed]) == {household}
        assert [own[i] for i in listed] == sorted(own[i] for i in listed)
    assert sorted(zip(same.group, held.area, strict=True)) == [(same.group[h], held.area[h]) for h in same.order]


def test_one_huge_household_among_many_small_ones_costs_little() -> None:
    frame = persons(30)
    frame.loc[frame.index[40:], ["home", "region", "town"]] = "inmates", "E", "1"
    held = households(file := started(frame), "home", PLACES, ["age"])
    same = alike(file, held, ("age",))
    assert len(same.group) == len(frame["home"].unique())
    assert Counter(same.group.tolist())[same.group[np.argmax(held.size)]] == 1


# -------------------------------------------------------------------- donors


def test_donors_are_drawn_in_proportion_to_their_risk() -> None:
    chance = np.random.default_rng(1)
    areas, fewest, found = [0, 0, 1, 2, 1], [1, 1, 1, 2, 5], Counter[int]()
    asking = np.array([True, False, False, False, False])
    for _ in range(4000):
        held, same = one_group(areas, fewest, chance.integers(0, 2**60, 5))
        partner = donors(held, same, asking, np.ones(5, bool), 0, None, "a test")
        assert partner[partner[0]] == 0
        found[int(partner[0])] += 1
    weight = np.array([1, 1 / 2, 1 / 5])
    assert set(found) == {2, 3, 4}
    for donor, expected in zip((2, 3, 4), 4000 * weight / weight.sum(), strict=True):
        assert abs(found[donor] - expected) < 4 * np.sqrt(expected)


def test_each_donor_serves_once_and_all_are_found() -> None:
    chance = np.random.default_rng(2)
    for _ in range(200):
        n = int(chance.integers(2, 40))
        areas = chance.integers(0, 4, n).tolist()
        held, same = one_group(areas, chance.integers(1, 10**6, n).tolist(), chance.integers(0, 2**60, n))
        asking, free = chance.random(n) < 0.5, chance.random(n) < 0.8
        partner = donors(held, same, asking & free, free, 0, None, "a test")
        moved = np.flatnonzero(partner != np.arange(n))
        assert np.array_equal(partner[partner], np.arange(n))
        assert free[moved].all()
        assert (held.area[partner[moved]] != held.area[moved]).all()
        assert (asking[moved] | asking[partner[moved]]).all()
        left = free & (partner == np.arange(n))
        assert not (elsewhere(held, same, left, 0) & asking).any()
        for h in np.flatnonzero(left & asking):
            assert not any(areas[other] != areas[h] for other in np.flatnonzero(left))


def test_very_unequal_risks_are_settled_in_few_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = []

    def counted(purpose: str, key: np.ndarray) -> np.ndarray:
        turns.append(purpose)
        return mixed(purpose, key)

    monkeypatch.setattr("discreet.microdata.protect.swap.donors.mixed", counted)
    n = 8000
    fewest = np.concatenate([np.ones(n, np.int64), np.repeat(10 ** np.arange(8), n // 8)])
    held, same = one_group([0] * n + [1] * n, fewest.tolist(), np.random.default_rng(3).integers(0, 2**60, 2 * n))
    partner = donors(held, same, np.arange(2 * n) < n, np.ones(2 * n, bool), 0, None, "a test")
    assert (partner != np.arange(2 * n)).all()
    assert len(set(turns)) == len(turns)
    assert len(turns) < 2 * 40


def test_further_households_are_drawn_without_replacement_by_weight() -> None:
    chance, weight = np.random.default_rng(4), np.array([4.0, 2.0, 1.0, 1.0])
    found = Counter(tuple(drawn(weight, chance.integers(0, 2**60, 4), 2, "a test").tolist()) for _ in range(5000))
    expected: Counter[tuple[int, ...]] = Counter()
    for one, other in permutations(range(4), 2):
        share = weight[one] / weight.sum() * weight[other] / (weight.sum() - weight[one])
        expected[min(one, other), max(one, other)] += 5000 * share
    assert set(found) == set(expected)
    assert all(abs(found[pair] - count) < 4 * np.sqrt(count) for pair, count in expected.items())
    assert drawn(weight, np.arange(4), 9, "a test").tolist() == [0, 1, 2, 3]


# -------------------------------------------------------------------- the method


@pytest.mark.parametrize("nearest", ["nearest", "anywhere"])
def test_the_order_of_records_and_the_kind_of_frame_change_nothing(nearest: str) -> None:
    frame, swap = persons(120), method(donors=nearest, carry=("desk",))
    first = swap.apply(started(frame))
    shuffled = frame.sample(frac=1, random_state=1)
    for again in (swap.apply(started(shuffled)), swap.apply(started(pl.from_pandas(shuffled)))):
        assert by_id(again, *PLACES, "desk") == by_id(first, *PLACES, "desk")
        assert again.steps == first.steps
    assert by_id(swap.apply(started(frame, OTHER)), *PLACES) != by_id(first, *PLACES)


def test_numbers_of_households_may_be_text_or_numbers() -> None:
    frame = persons(120).assign(home=lambda made: made["home"].str[1:].astype(int))
    other = frame.assign(home=frame["home"].astype(str))
    assert by_id(method().apply(started(frame)), *PLACES) == by_id(method().apply(started(other)), *PLACES)


def test_the_rate_is_met_where_k_forces_few() -> None:
    frame = persons()
    swapped = method(k=1, rate=0.2).apply(started(frame))
    facts = swapped.steps[0].facts
    assert (facts["households forced"], facts["households that the rate asks for"], facts["households swapped"]) == (0, 60, 60)
    before, after = by_id(started(frame), "home", *PLACES), by_id(swapped, "home", *PLACES)
    moved = {row[0] for person, row in after.items() if row != before[person]}
    assert len(moved) == 60
    assert facts["persons swapped"] == frame["home"].isin(moved).sum()
    assert facts["households that left their town"] == 60
    assert facts["households that left their region"] == 0  # there are donors in each
    everyone = method(k=1, rate=1.0, donors="anywhere").apply(started(frame)).steps[0].facts
    assert int(everyone["households swapped"]) > 280
    assert int(everyone["households that left their region"]) > 100


def test_risky_households_swap_first() -> None:
    """Of 800 households alone in their job, where the others are 10 of a job each, nearly all who ask are of the former."""
    n = 8800
    frame = pd.DataFrame({"id": range(n), "home": range(n), "town": np.arange(n) % 2})
    frame["job"] = [f"j{i}" if i < 800 else f"k{i % 2}-{(i - 800) // 20}" for i in range(n)]
    swapped = method(geography=("town",), risk=("job",), profiles=((),), k=1, rate=0.02).apply(started(frame))
    before, after = by_id(started(frame), "town"), by_id(swapped, "town")
    moved = [int(person) for person in after if after[person] != before[person]]
    assert len(moved) == 176
    assert abs(sum(person < 800 for person in moved) - 88) < 30  # half of all risk is theirs; without it, about 50


def test_donors_come_from_the_smallest_larger_area_that_has_one() -> None:
    """The first digit of a place is its region, the first two its district; one household of each kind lives in each place."""
    places = {"a": ("111", "112", "121", "211"), "b": ("111", "121", "211"), "c": ("111", "211")}
    homes = [(kind, place) for kind, listed in places.items() for place in listed]
    homes += [(f"{district}{i}", f"{district}{i + 3}") for district in ("11", "12", "21") for i in range(5)]  # like no other
    frame = pd.DataFrame([{"id": i, "kind": kind, "1": p[0], "2": p[:2], "3": p} for i, (kind, p) in enumerate(homes)])
    frame["home"], frame["all"] = frame["id"], "x"
    nearest = {("a", "111"): "112", ("a", "112"): "111", ("a", "121"): "211", ("a", "211"): "121"}
    nearest |= {("b", "111"): "121", ("b", "121"): "111", ("c", "111"): "211", ("c", "211"): "111"}
    swap = method(geography=("1", "2", "3"), risk=("all",), profiles=(("kind",),), k=7, rate=0.0)
    assert dict(swap.foreseen(started(frame)).forced) == {"1": 0, "2": 0, "3": 24}
    for i in range(10):
        swapped = swap.apply(started(frame, Secret(f"a secret of sixteen characters {i}")))
        after = by_id(swapped, "3")
        moves = {home: after[str(row)][0] for row, home in enumerate(homes) if after[str(row)][0] != home[1]}
        assert moves == nearest
        assert swapped.steps[0].facts["households that left their 2"] == 6


def test_profiles_that_were_used_decide_which_tables_stay() -> None:
    profiles = (("tenure", "age"), ("size",))
    swapped = method(profiles=profiles).apply(started(persons()))
    facts, margins = swapped.steps[0].facts, swapped.steps[0].margins
    assert margins is not None
    assert int(facts["households swapped by tenure × age"]) > int(facts["households swapped by size"]) > 0
    assert margins.sets == (("region", "town"), ("tenure", "age", "size", "job"))
    few = method(k=1, rate=0.05).apply(started(persons()))
    assert few.steps[0].facts["households swapped by size × tenure"] == 14
    assert few.steps[0].facts["households swapped by the number of members"] == 0
    assert few.steps[0].margins is not None
    assert few.steps[0].margins.sets == (("region", "town", "size", "tenure"), ("size", "tenure", "age", "job"))


def test_members_exchange_places_with_those_of_the_same_codes() -> None:
    swapped = method(profiles=(("age",),), carry=("desk",)).apply(started(persons()))
    assert swapped.steps[0].columns == ("region", "town", "desk")
    age = [row[0] for row in texts(swapped, "age")]
    assert all(age[i] == age[origin] for i, origin in enumerate(swapped.origin["desk"].tolist()))
    assert swapped.origin["town"] is swapped.origin["region"] or (swapped.origin["town"] == swapped.origin["region"]).all()


def test_a_second_round_starts_from_where_households_live_now() -> None:
    once = method(k=1, rate=0.3).apply(started(persons()))
    twice = method(k=1, rate=0.3).apply(once)
    assert len(twice.steps) == 2
    assert by_id(twice, *PLACES) != by_id(once, *PLACES)
    places = {}
    for home, *place in texts(twice, "home", *PLACES):
        assert places.setdefault(home, place) == place


def test_nothing_forced_and_no_rate_changes_nothing_and_says_so() -> None:
    frame = persons().assign(all="x")
    swapped = method(risk=("all",), k=2, rate=0.0).apply(started(frame))
    assert swapped.steps[0].facts["households swapped"] == 0
    assert by_id(swapped, *PLACES) == by_id(started(frame), *PLACES)
    assert (
        str(method(risk=("all",), k=2, rate=0.0).foreseen(started(frame))) == "0 of 300 households (0.0%) must swap for k = 2"
    )


def test_what_is_forced_is_told_with_what_the_rate_asks_for() -> None:
    text = str(method(k=2, rate=0.9).foreseen(started(persons())))
    assert "must swap for k = 2: " in text
    assert text.endswith("the rate of 0.9 asks for 270")
    assert str(method(k=50).foreseen(started(persons()))).endswith("asks for 14, and k decides how many swap")


# -------------------------------------------------------------------- what is refused


def test_parameters_round_trip() -> None:
    swap = method(k=5, carry=("desk",), donors="anywhere", rate=0.1)
    settings = to_dict(swap)
    assert settings.pop("method") == "targeted-swap"
    assert build(TargetedSwap, settings) == swap
    assert build(TargetedSwap, settings | {"profiles": [["size", "tenure"], []]}) == swap


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"geography": ()}, "geography: is empty"),
        ({"risk": ()}, "risk: is empty"),
        ({"profiles": ()}, "profiles: is empty"),
        ({"geography": ("town", "town")}, "names a column twice"),
        ({"risk": ("age", "age")}, "names a column twice"),
        ({"carry": ("town",)}, "carry: names 'town', which moves already"),
        ({"risk": ("age", "town")}, "risk: names 'town', which moves already"),
        ({"risk": PLACES}, "risk: names 'region', which moves already"),
        ({"carry": ("desk",), "risk": ("desk",)}, "risk: names 'desk', which moves already"),
        ({"profiles": (("size",), ("region",))}, "profiles, profile 2: names 'region', which moves already"),
        ({"profiles": (("home",),)}, "'home', which tells households apart"),
        ({"geography": ("home", "town")}, "'home', which tells households apart"),
        ({"profiles": ("size", "tenure")}, "profile 1 is no list of columns"),
        ({"profiles": (("size", 3),)}, "profile 1 is no list of columns"),
        ({"profiles": (("size",), ("tenure", "size"))}, "profile 2 holds all of profile 1"),
        ({"profiles": ((), ("size",))}, "profile 2 holds all of profile 1"),
        ({"k": 1, "rate": 0.0}, "no household is to be swapped"),
        ({"k": 0}, "at least 1"),
        ({"rate": 1.5}, "at most 1"),
        ({"donors": "near"}, "not one of nearest, anywhere"),
    ],
)
def test_parameters_that_cannot_be_used(settings: dict[str, Any], part: str) -> None:
    with pytest.raises(ParameterError, match=part):
        method(**settings)


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"geography": ("region", "ward")}, "no column 'ward'"),
        ({"household": "house"}, "no column 'house'"),
        ({"profiles": (("rooms",),)}, "no column 'rooms'"),
        ({"carry": ("chair",)}, "no column 'chair'"),
        ({"geography": ("desk",)}, r"\d+ households have members in several areas"),
        ({"k": 1, "rate": 0.001}, "less than one pair"),
        ({"profiles": (("id",),)}, "no household that should swap is like another outside its area"),
        ({"geography": ("everywhere",)}, "no household that should swap is like another outside its area"),
        ({"carry": ("id",)}, "part of the records' id"),
    ],
)
def test_records_that_cannot_be_swapped(settings: dict[str, Any], part: str) -> None:
    with pytest.raises(InputError, match=part):
        method(**settings).apply(started(persons().assign(everywhere="x")))


def test_a_person_without_a_household_is_refused() -> None:
    frame = persons()
    frame.loc[5, "home"] = None
    with pytest.raises(InputError, match="1 record has no id there"):
        method().apply(started(frame))


def test_nothing_confidential_is_shown() -> None:
    frame = persons().assign(home=lambda made: made["home"].replace("h007", "h7919"), desk="d")
    frame.loc[7, "desk"] = "d7919"
    file = started(frame)
    swapped = method(carry=("desk",)).apply(file)
    held = households(file, "home", PLACES, ["age"])
    shown = [repr(swapped), str(swapped.steps), repr(held), repr(alike(file, held, ())), str(method().foreseen(file))]
    assert not any("7919" in text for text in shown)
