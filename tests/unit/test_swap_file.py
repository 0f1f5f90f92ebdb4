"""The confidential file of swaps: permutations only, margins counted again, and nothing that depends on the order of rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from discreet.errors import InputError
from discreet.io.microdata import read_microdata
from discreet.microdata.protect.swap.partners import swap_partners
from discreet.microdata.protect.swap.start import start_swap
from discreet.model.combinations import combinations, counts_alike, packed
from discreet.model.keys import Secret
from discreet.model.margins import Margins
from discreet.model.swap_file import SwapFile, Swapped

SECRET = Secret("a secret that is long enough")


def records(n: int = 60) -> pd.DataFrame:
    chance = np.random.default_rng(6)
    return pd.DataFrame({"id": range(n), "x": chance.random(n)} | {name: chance.integers(0, 3, n) for name in "abc"})


def begun(frame: pd.DataFrame | None = None) -> SwapFile:
    return start_swap(read_microdata(records() if frame is None else frame, unit="id"), SECRET)


def step(margins: Margins | None = None) -> Swapped:
    return Swapped(method="by hand", columns=("a",), margins=margins, facts={})


def pair(file: SwapFile, one: int, other: int) -> np.ndarray:
    origin = np.arange(len(file.key))
    origin[[one, other]] = other, one
    return origin


def test_arrays_stand_in_the_order_of_keys_whatever_the_order_of_rows() -> None:
    first, other = begun(), begun(records().sample(frac=1, random_state=1))
    assert (np.diff(first.key) > 0).all()
    assert first.key.tolist() == other.key.tolist()
    assert all(np.array_equal(x.codes, y.codes) for x, y in zip(first.coded("abc"), other.coded("abc"), strict=True))
    assert first.numbers("x").tolist() == other.numbers("x").tolist()
    assert first.keys("household", ["a"]).tolist() == other.keys("household", ["a"]).tolist()
    assert sorted(first.numbers("x").tolist()) == sorted(records()["x"].tolist())


def test_swaps_follow_each_other() -> None:
    file = begun()
    (a,), x = file.coded(["a"]), file.numbers("x")
    once = file.moved({"a": pair(file, 0, 1), "x": pair(file, 0, 1)}, step())
    twice = once.moved({"a": pair(file, 1, 2)}, step())
    assert twice.coded(["a"])[0].codes[:3].tolist() == a.codes[[1, 2, 0]].tolist()
    assert twice.coded(["a"], true=True)[0].codes.tolist() == a.codes.tolist()
    assert twice.numbers("x")[:3].tolist() == x[[1, 0, 2]].tolist()
    assert twice.numbers("x", true=True).tolist() == x.tolist()
    assert [one.method for one in twice.steps] == ["by hand", "by hand"]
    assert file.origin == {}
    assert repr(twice) == "SwapFile(microdata: 60 records, 2 columns moved)"


def test_a_margin_that_did_not_stay_is_noticed() -> None:
    file = begun()
    codes = np.stack([coded.codes for coded in file.coded("ab")], axis=1)
    other = int(np.flatnonzero((codes != codes[0]).all(axis=1))[0])
    moved = {"a": pair(file, 0, other)}
    assert file.moved(moved, step(Margins.of(list("abc"), [["a"], ["b", "c"]]))).origin.keys() == {"a"}
    with pytest.raises(InputError, match="margin a × b: did not stay under by hand"):
        file.moved(moved, step(Margins.of(list("abc"), [["a", "b"]])))


def test_what_is_no_permutation_and_ids_are_refused() -> None:
    file = begun()
    with pytest.raises(InputError, match="lost or doubled"):
        file.moved({"a": np.zeros(60, np.int64)}, step())
    with pytest.raises(InputError, match="part of the records' id"):
        file.moved({"id": pair(file, 0, 1)}, step())
    with pytest.raises(InputError, match="no column 'z'"):
        file.moved({"z": pair(file, 0, 1)}, step())


def test_the_start_refuses_what_tells_no_records_apart() -> None:
    with pytest.raises(InputError, match="swap: needs an id"):
        start_swap(read_microdata(records()), SECRET)
    with pytest.raises(InputError, match="share their id"):
        start_swap(read_microdata(records(), unit="a"), SECRET)
    with pytest.raises(InputError, match="several records each"):
        start_swap(read_microdata(records().assign(n=2), unit="id", count="n"), SECRET)


def test_partners_of_a_record_by_its_id() -> None:
    frame = pd.DataFrame({"id": [7, 8, 9], "a": [0, 1, 1], "b": [0, 1, 0]})
    margins = Margins.of(["a", "b"], [["a"], ["b"]])
    assert swap_partners(begun(frame), margins, {"id": 7}).records == 1
    assert swap_partners(begun(frame), margins, {"id": "9"}).records == 0
    with pytest.raises(InputError, match="no record has this id") as caught:
        swap_partners(begun(frame), margins, {"id": 77})
    assert "77" not in str(caught.value)
    with pytest.raises(InputError, match="the id of a record is in id"):
        swap_partners(begun(frame), margins, {"a": 7})


def test_combinations_are_counted_and_wide_codes_are_packed() -> None:
    chance = np.random.default_rng(2)
    codes = chance.integers(0, 1000, (500, 9)).astype(np.int32) // 400
    found = combinations(codes, [1000] * 9)  # 1000^9 is beyond 64 bits
    assert np.array_equal(found.codes[found.of], codes)
    assert found.counts.sum() == 500
    assert found.codes.tolist() == sorted(found.codes.tolist())
    assert len(np.unique(packed(codes, [1000] * 9))) == len(found.counts)
    for at in ([], [0], [0, 3, 8]):
        alike = counts_alike(found.codes[:, at], [1000] * len(at), found.counts)
        expected = [(found.codes[:, at] == row[at]).all(axis=1) @ found.counts for row in found.codes]
        assert alike.tolist() == expected
    doubled = combinations(found.codes[:, :1], [1000], found.counts)
    assert doubled.counts.sum() == 500
