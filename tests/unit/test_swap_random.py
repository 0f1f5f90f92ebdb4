"""Random swapping, the baseline: how many, whom, strata, keys and what it refuses."""

import dataclasses
from typing import Any

import numpy as np
import pandas as pd
import pytest

from discreet.errors import InputError, ParameterError
from discreet.io.microdata import read_microdata
from discreet.microdata.protect.swap.chance import RandomSwap
from discreet.microdata.protect.swap.start import start_swap
from discreet.model.keys import Secret
from discreet.model.margins import Margins
from discreet.model.swap_file import SwapFile, Swapped

SECRET = Secret("0123456789abcdef0123456789abcdef")


def records(n: int = 3000) -> pd.DataFrame:
    chance = np.random.default_rng(8)
    return pd.DataFrame(
        {
            "id": [f"p{i}" for i in range(n)],
            "sex": chance.choice(["f", "m"], n),
            "job": chance.choice(["a", "b", "c", "d", ""], n, p=[0.5, 0.3, 0.1, 0.05, 0.05]),
            "region": chance.choice(["N", "S", "E"], n),
            "town": [f"t{i % 11}" for i in range(n)],
        }
    )


def started(frame: pd.DataFrame, secret: Secret = SECRET) -> SwapFile:
    return start_swap(read_microdata(frame, unit="id"), secret)


@pytest.mark.parametrize("rate", [0.01, 0.05, 0.333, 1.0])
def test_the_rate_is_met_by_pairs_that_exchange_all_columns_together(rate: float) -> None:
    file = started(records())
    swapped = RandomSwap(columns=("job", "region"), rate=rate).apply(file)
    origin = swapped.origin["job"]
    assert np.array_equal(origin, swapped.origin["region"])
    assert np.array_equal(origin[origin], np.arange(3000))
    moved = int((origin != np.arange(3000)).sum())
    assert moved == 2 * int(rate * 3000 / 2 + 1e-9)
    true, now = (np.stack([held.codes for held in swapped.coded(["job", "region"], true=one)], 1) for one in (True, False))
    assert swapped.steps[0].facts == {
        "records": 3000,
        "records to swap": moved,
        "records swapped": moved,
        "records changed": int((true != now).any(axis=1).sum()),
    }


def test_strata_by_the_columns_stay_and_no_other_margin_has_to() -> None:
    file = started(records())
    swapped = RandomSwap(columns=("job", "region"), rate=0.5, within=("sex", "town")).apply(file)
    assert swapped.steps[0].margins == Margins.of(("sex", "town", "job", "region"), [("sex", "town", "job", "region")])
    within = file.combinations(["sex", "town"]).of
    assert np.array_equal(within[swapped.origin["job"]], within)
    assert (swapped.origin["job"] != np.arange(3000)).sum() == 1500
    free = RandomSwap(columns=("job",), rate=0.5).apply(file)
    counts = [held.combinations(["job", "sex"]).counts for held in (file, free)]
    assert not np.array_equal(*counts)


def test_a_promise_that_is_not_kept_is_found_out() -> None:
    file = started(records())
    once = RandomSwap(columns=("job",), rate=0.5, within=("sex",)).apply(file)
    for held in (file, once):
        moved = RandomSwap(columns=("job",), rate=0.5).apply(held).origin["job"]
        back = moved if held is file else np.argsort(once.origin["job"])[moved]
        promised = Margins.of(("sex", "job", "town"), [("sex", "job"), ("sex", "town")])
        step = Swapped(method="by hand", columns=("job",), margins=promised, facts={})
        with pytest.raises(InputError, match=r"margin sex × job: did not stay under by hand"):
            held.moved({"job": back}, step)
        single = dataclasses.replace(step, margins=Margins.of(("sex", "job"), ["sex", "job"]))
        assert len(held.moved({"job": back}, single).steps) == len(held.steps) + 1


def test_small_strata_move_what_they_can() -> None:
    frame = records(101).assign(pair=[f"s{i // 3}" for i in range(101)])  # 33 strata of three records, one of two
    swapped = RandomSwap(columns=("job",), rate=1.0, within=("pair",)).apply(started(frame))
    facts = swapped.steps[0].facts
    assert facts["records to swap"] == 100
    assert facts["records swapped"] == 68
    assert (swapped.origin["job"] != np.arange(101)).sum() == 68


def test_every_record_is_as_likely_to_move_as_any_other() -> None:
    frame = records(300).assign(size=lambda made: np.where(np.arange(300) < 200, "large", "small"))
    file, chance, runs = started(frame), np.random.default_rng(12), 60
    large = file.coded(["size"])[0].codes == 0
    moved = np.zeros(300)
    for _ in range(runs):
        keyed = dataclasses.replace(file, key=np.sort(chance.integers(0, 2**60, 300)))
        swapped = RandomSwap(columns=("job",), rate=0.2, within=("size",)).apply(keyed)
        moved += swapped.origin["job"] != np.arange(300)
    assert moved.sum() == runs * 60
    spread = np.sqrt(runs * 0.2 * 0.8)
    assert abs(moved[large].mean() - moved[~large].mean()) < 5 * spread * np.sqrt(1 / 200 + 1 / 100)
    assert np.abs(moved - runs * 0.2).max() < 5 * spread
    assert moved.std() > 0.7 * spread


def test_order_and_secret() -> None:
    frame = records(400)
    method = RandomSwap(columns=("job",), rate=0.3, within=("sex",))
    first = method.apply(started(frame))
    assert np.array_equal(method.apply(started(frame.iloc[::-1])).origin["job"], first.origin["job"])
    other = method.apply(started(frame, Secret("fedcba9876543210fedcba9876543210")))
    assert not np.array_equal(other.rows[other.origin["job"]], first.rows[first.origin["job"]])


def test_a_second_swap_does_not_undo_the_first() -> None:
    method = RandomSwap(columns=("job",), rate=1.0)
    twice = method.apply(method.apply(started(records(400))))
    assert np.mean(twice.origin["job"] == np.arange(400)) < 0.05


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"columns": ()}, "is empty"),
        ({"columns": ("job", "job")}, "twice"),
        ({"columns": ("job",), "within": ("job",)}, "which is moved"),
        ({"columns": ("job",), "rate": 0.0}, "above 0"),
        ({"columns": ("job",), "rate": 1.1}, "at most 1"),
    ],
)
def test_parameters_that_cannot_be_used(settings: dict[str, Any], part: str) -> None:
    with pytest.raises(ParameterError, match=part):
        RandomSwap(**settings)


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"columns": ("age",)}, "no column 'age'"),
        ({"columns": ("job",), "within": ("age",)}, "no column 'age'"),
        ({"columns": ("job",), "rate": 0.01}, "less than one pair"),
        ({"columns": ("job",), "rate": 0.5, "within": ("id",)}, "no stratum holds two records"),
        ({"columns": ("id",), "rate": 0.5}, "part of the records' id"),
    ],
)
def test_data_that_cannot_be_swapped(settings: dict[str, Any], part: str) -> None:
    with pytest.raises(InputError, match=part):
        RandomSwap(**settings).apply(started(records(100)))
