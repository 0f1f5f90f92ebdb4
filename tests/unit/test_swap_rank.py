"""Rank swapping: reach, pairs, ties, missing values, strata, keys and what it refuses."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from discreet.errors import InputError, ParameterError
from discreet.io.microdata import read_microdata
from discreet.method import build, to_dict
from discreet.microdata.protect.swap.rank import RankSwap, _partners
from discreet.microdata.protect.swap.start import start_swap
from discreet.model.keys import Secret
from discreet.model.microdata import Missing
from discreet.model.swap_file import SwapFile

SECRET = Secret("0123456789abcdef0123456789abcdef")
OTHER = Secret("fedcba9876543210fedcba9876543210")


def records(n: int = 2000) -> pd.DataFrame:
    chance = np.random.default_rng(5)
    income = np.round(np.exp(chance.normal(3, 1, n)), 2)
    income[chance.random(n) < 0.1] = np.nan
    return pd.DataFrame(
        {
            "id": [f"p{i}" for i in range(n)],
            "income": income,
            "hours": chance.integers(1, 41, n),
            "region": chance.choice(["N", "S", "E"], n, p=[0.6, 0.39, 0.01]),
        }
    )


def started(frame: Any, secret: Secret = SECRET, **roles: Any) -> SwapFile:
    return start_swap(read_microdata(frame, **({"unit": "id"} | roles)), secret)


def by_id(file: SwapFile, column: str) -> dict[str, float]:
    """The number of each id, as it stands."""
    ids = [category[0] for category in file.coded(["id"])[0].categories]
    return dict(zip((ids[code] for code in file.coded(["id"])[0].codes), file.numbers(column), strict=True))


def ranks(values: np.ndarray) -> np.ndarray:
    """The rank of each value from 0 on, equal ones in the order of keys, and -1 where it is missing."""
    found = np.full(len(values), -1)
    held = [i for i in range(len(values)) if not np.isnan(values[i])]
    for rank, i in enumerate(sorted(held, key=lambda i: (values[i], i))):
        found[i] = rank
    return found


@pytest.mark.parametrize(("p", "column"), [(0.2, "income"), (3, "income"), (100, "income"), (1, "hours")])
def test_values_change_places_in_pairs_within_reach_and_as_many_as_can(p: float, column: str) -> None:
    file = started(records())
    swapped = RankSwap(columns=(column,), p=p).apply(file)
    origin, rank = swapped.origin[column], ranks(file.numbers(column))
    own = np.arange(len(origin))
    reach = int(p * (rank >= 0).sum() / 100)
    assert np.array_equal(origin[origin], own)
    assert np.array_equal(origin[rank < 0], own[rank < 0])
    assert np.abs(rank - rank[origin]).max() <= reach
    left = np.sort(rank[(origin == own) & (rank >= 0)])
    assert (np.diff(left) > reach).all()
    moved = origin != own
    changed = int((file.numbers(column)[moved] != swapped.numbers(column)[moved]).sum())
    assert swapped.steps[0].facts == {
        "values": int((rank >= 0).sum()),
        "values exchanged": int(moved.sum()),
        "values changed": changed,
    }
    assert moved.sum() > 0.85 * (rank >= 0).sum()


def test_missing_values_stay_and_the_values_are_those_there_were() -> None:
    frame = records()
    file = started(frame)
    swapped = by_id(RankSwap(columns=("income", "hours")).apply(file), "income")
    true = dict(zip(frame["id"], frame["income"], strict=True))
    assert {name for name, value in swapped.items() if np.isnan(value)} == set(frame["id"][frame["income"].isna()])
    assert sorted(value for value in swapped.values() if not np.isnan(value)) == sorted(frame["income"].dropna())
    assert np.mean([swapped[name] != value for name, value in true.items() if not np.isnan(value)]) > 0.9


def test_the_order_of_records_and_the_kind_of_frame_change_nothing() -> None:
    frame = records(500)
    method = RankSwap(columns=("income", "hours"), p=10, within=("region",))
    first = method.apply(started(frame))
    shuffled = frame.sample(frac=1, random_state=1)
    for again in (method.apply(started(shuffled)), method.apply(started(pl.from_pandas(shuffled)))):
        for column in ("income", "hours"):
            assert np.array_equal(again.origin[column], first.origin[column])
            assert str(by_id(again, column)) == str(by_id(first, column))


def test_columns_move_by_themselves_and_the_secret_decides() -> None:
    frame = records(500).assign(twin=lambda made: made["income"])
    file = started(frame)
    both = RankSwap(columns=("income", "twin")).apply(file)
    assert not np.array_equal(both.origin["income"], both.origin["twin"])
    alone = RankSwap(columns=("income",)).apply(file)
    assert np.array_equal(alone.origin["income"], both.origin["income"])
    other = by_id(RankSwap(columns=("income",)).apply(started(frame, OTHER)), "income")
    assert str(other) != str(by_id(alone, "income"))


def test_a_second_swap_does_not_undo_the_first() -> None:
    file = started(records())
    once = RankSwap(columns=("income",), p=1).apply(file)
    twice = RankSwap(columns=("income",), p=1).apply(once)
    held = np.flatnonzero(~np.isnan(file.numbers("income")))
    assert len(twice.steps) == 2
    assert np.mean(twice.origin["income"][held] == held) < 0.2
    assert np.abs(ranks(file.numbers("income")) - ranks(twice.numbers("income"))).max() <= 2 * (len(held) // 100)


def test_strata_keep_their_values() -> None:
    frame = records()
    file = started(frame)
    swapped = RankSwap(columns=("income",), p=5, within=("region",)).apply(file)
    region = file.coded(["region"])[0].codes
    assert np.array_equal(region[swapped.origin["income"]], region)
    for code in range(3):
        before, after = (held.numbers("income")[region == code] for held in (file, swapped))
        assert np.array_equal(np.sort(before), np.sort(after), equal_nan=True)
        here = swapped.origin["income"][region == code] != np.flatnonzero(region == code)
        reach = int(0.05 * (~np.isnan(before)).sum())
        assert here.any() == (reach > 0)  # the smallest stratum has too few values for one rank
        place = np.full(len(region), -1)
        place[region == code] = ranks(before)
        assert np.abs(place - place[swapped.origin["income"]])[region == code].max() <= reach
    margins = swapped.steps[0].margins
    assert margins is not None
    assert margins.sets == (("region", "income"),)


def test_no_value_leaves_a_small_stratum() -> None:
    frame = pd.DataFrame({"id": range(800), "x": range(800), "town": [f"t{i // 4:03d}" for i in range(800)]})
    file = started(frame)
    origin = RankSwap(columns=("x",), p=50, within=("town",)).apply(file).origin["x"]
    town = file.rows // 4
    assert np.array_equal(town[origin], town)
    assert np.mean(origin != np.arange(800)) > 0.7


def test_margins_of_each_column_alone_stay() -> None:
    margins = RankSwap(columns=("hours", "income")).apply(started(records(300))).steps[0].margins
    assert margins is not None
    assert margins.sets == (("hours",), ("income",))


def test_partners_are_drawn_evenly_from_within_reach() -> None:
    n, reach = 40_000, 1000
    key = np.random.default_rng(3).integers(0, 2**60, n)
    partner = _partners(np.arange(n), np.full(n, reach), key, "a test")
    distance = (partner - np.arange(n))[reach:-reach]
    found = np.histogram(distance[distance != 0], bins=20, range=(-reach, reach))[0]
    assert found.min() > 0.85 * found.mean()
    assert found.max() < 1.15 * found.mean()


@pytest.mark.parametrize(("p", "reach"), [(0.29, 29), (0.57, 57), (1, 100), (1.009, 100)])
def test_the_reach_is_the_largest_whole_number_of_ranks(p: float, reach: int) -> None:
    file = started(pd.DataFrame({"id": range(10_000), "x": np.arange(10_000)[::-1]}))
    origin = RankSwap(columns=("x",), p=p).apply(file).origin["x"]
    rank = file.numbers("x")
    assert np.abs(rank - rank[origin]).max() == reach


def test_four_neighbours_pair_in_both_ways() -> None:
    """With a reach of one rank, four values have two largest sets of pairs: the ends with the middle ones, or these alone."""
    found: dict[tuple[int, ...], int] = {}
    chance = np.random.default_rng(4)
    for _ in range(600):
        key = chance.integers(0, 2**60, 4)
        partner = tuple(_partners(np.arange(4), np.full(4, 1), key, "a test").tolist())
        found[partner] = found.get(partner, 0) + 1
    assert set(found) == {(1, 0, 3, 2), (0, 2, 1, 3)}
    assert min(found.values()) > 100


def test_numbers_written_as_text_and_declared_missing() -> None:
    frame = pd.DataFrame({"id": range(40), "wage": [f"{i},5" for i in range(38)] + ["-9", ""]})
    microdata = read_microdata(frame, unit="id", decimal=",", missing=Missing(values=("-9",)))
    file = start_swap(microdata, SECRET)
    swapped = RankSwap(columns=("wage",), p=20).apply(file)
    assert np.isnan(swapped.numbers("wage")).sum() == 2
    assert swapped.steps[0].facts["values"] == 38
    texts = swapped.coded(["wage"])[0]
    still = [texts.categories[code][0] for code in texts.codes[np.isnan(file.numbers("wage"))]]
    assert sorted(still) == ["", "-9"]


def test_parameters_round_trip() -> None:
    method = RankSwap(columns=("income",), p=2.5, within=("region",))
    settings = to_dict(method)
    assert settings.pop("method") == "rank-swap"
    assert build(RankSwap, settings) == method


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"columns": ()}, "is empty"),
        ({"columns": ("income", "income")}, "twice"),
        ({"columns": ("income",), "within": ("region", "region")}, "twice"),
        ({"columns": ("income",), "within": ("income",)}, "which is moved"),
        ({"columns": ("income",), "p": 0}, "above 0"),
        ({"columns": ("income",), "p": 101}, "at most 100"),
    ],
)
def test_parameters_that_cannot_be_used(settings: dict[str, Any], part: str) -> None:
    with pytest.raises(ParameterError, match=part):
        RankSwap(**settings)


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"columns": ("wage",)}, "no column 'wage'"),
        ({"columns": ("region",)}, "hold text where a number is needed"),
        ({"columns": ("income",), "p": 0.01}, "less than one rank"),
        ({"columns": ("income",), "p": 0.1, "within": ("region",)}, "values in a stratum are less than one rank"),
        ({"columns": ("empty",)}, "less than one rank"),
        ({"columns": ("number",)}, "part of the records' id"),
    ],
)
def test_data_that_cannot_be_swapped(settings: dict[str, Any], part: str) -> None:
    frame = records(400).assign(empty=np.nan, number=range(400))
    file = start_swap(read_microdata(frame), SECRET, record=["id", "number"])
    with pytest.raises(InputError, match=part):
        RankSwap(**settings).apply(file)


def test_nothing_confidential_is_shown() -> None:
    frame = records(300)
    frame.loc[7, "income"] = 7919.37
    swapped = RankSwap(columns=("income",)).apply(started(frame))
    assert "7919" not in repr(swapped) + repr(swapped.steps)
