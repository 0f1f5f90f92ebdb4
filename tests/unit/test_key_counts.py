"""Counts over key variables against counting by hand, subsets, counts of the population, and what swapping does to them."""

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest

from discreet.errors import InputError, ParameterError
from discreet.io.microdata import read_microdata
from discreet.microdata.protect.swap.chance import RandomSwap
from discreet.microdata.protect.swap.start import start_swap
from discreet.microdata.risk.key_population import Population
from discreet.microdata.risk.swap_risk import swap_risk
from discreet.microdata.risk.uniques import KeyCounts, SubsetCounts, key_counts
from discreet.model.keys import Secret
from discreet.model.swap_file import SwapFile

SECRET = Secret("0123456789abcdef0123456789abcdef")
KEYS = ("sex", "age", "town", "job")


def records(n: int = 300, seed: int = 3) -> pd.DataFrame:
    chance = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "id": [f"p{i}" for i in range(n)],
            "sex": chance.choice(["f", "m"], n),
            "age": chance.integers(0, 9, n),
            "town": chance.choice(["A", "B", "C", "D", ""], n, p=[0.5, 0.3, 0.1, 0.05, 0.05]),
            "job": chance.choice(list("uvwxyz"), n),
        }
    )


def started(frame: pd.DataFrame) -> SwapFile:
    return start_swap(read_microdata(frame, unit="id"), SECRET)


def rows(frame: pd.DataFrame, keys: Any = KEYS) -> list[tuple[str, ...]]:
    return [tuple(map(str, row)) for row in frame[list(keys)].itertuples(index=False)]


def by_hand(frame: pd.DataFrame, keys: Any = KEYS) -> np.ndarray:
    """For each record, in the order of the file, how many have its codes."""
    found = Counter(rows(frame, keys))
    return np.array([found[row] for row in rows(frame, keys)])


@pytest.mark.parametrize("seed", range(5))
def test_counts_of_all_keys_and_of_every_subset(seed: int) -> None:
    frame = records(seed=seed)
    file = started(frame)
    counts = key_counts(file, KEYS, subsets=4)
    true = by_hand(frame)[file.rows]
    assert np.array_equal(counts.counts, true)
    assert counts.uniques == (true == 1).sum() > 10
    assert counts.small(3) == (true <= 3).sum()
    assert np.array_equal(counts.risky(2), true <= 2)
    assert len(counts.subsets) == 15
    fewest = np.full(len(frame), len(frame))
    least = np.zeros(len(frame), int)
    for size in (1, 2, 3, 4):
        for keys in itertools.combinations(KEYS, size):
            own = by_hand(frame, keys)[file.rows]
            assert np.array_equal(counts.of(keys), own)
            (told,) = [each for each in counts.subsets if each.keys == keys]
            assert told.small == tuple(int((own == c).sum()) for c in range(1, 11))
            assert told.uniques == told.small[0]
            fewest = np.minimum(fewest, own)
        assert np.array_equal(counts.risky(1, size=size), fewest <= 1)
        assert np.array_equal(counts.risky(4, size=size), fewest <= 4)
        least[(fewest == 1) & (least == 0)] = size
    assert np.array_equal(counts.smallest_unique, least)
    assert np.array_equal(counts.risky(1, size=4), counts.risky(1))


def test_the_order_of_records_changes_nothing_and_neither_does_that_of_keys() -> None:
    frame = records()
    counts = key_counts(started(frame), KEYS, subsets=2)
    again = key_counts(started(frame.sample(frac=1, random_state=2)), KEYS, subsets=2)
    assert np.array_equal(again.counts, counts.counts)
    assert again.subsets == counts.subsets
    assert np.array_equal(key_counts(started(frame), KEYS[::-1]).counts, counts.counts)


def test_one_key() -> None:
    frame = records()
    file = started(frame)
    assert np.array_equal(key_counts(file, "age").counts, by_hand(frame, ["age"])[file.rows])  # type: ignore[arg-type]  # one name


def test_counts_stand_for_the_file_as_it_is_or_was() -> None:
    frame = records()
    file = started(frame)
    swapped = RandomSwap(columns=("town",), rate=1.0).apply(file)
    assert np.array_equal(key_counts(swapped, KEYS, true=True).counts, key_counts(file, KEYS).counts)
    now = dict(zip(file.rows, swapped.coded(["town"])[0].codes, strict=True))
    towns = [category[0] for category in swapped.coded(["town"])[0].categories]
    moved = frame.assign(town=[towns[now[i]] for i in range(len(frame))])
    assert np.array_equal(key_counts(swapped, KEYS).counts, by_hand(moved)[file.rows])


# ------------------------------------------------------------------- population


def population_of(frame: pd.DataFrame, seed: int = 6) -> pd.DataFrame:
    """The file, others with the same codes, some with codes that the file lacks, some with new combinations of its codes."""
    chance = np.random.default_rng(seed)
    more = frame.sample(n=len(frame) // 2, random_state=int(chance.integers(1000)), replace=True)
    mixed = frame.assign(town=chance.permutation(frame["town"]), job=chance.permutation(frame["job"]))
    return pd.concat([frame, more, frame.head(20).assign(town="elsewhere"), mixed], ignore_index=True)


def given(whole: pd.DataFrame, how: str) -> Population:
    counted = Counter(rows(whole))
    if how == "mapping":
        return dict(counted)
    if how == "rows":
        return read_microdata(whole)
    frame = pd.DataFrame([(*row, n // 2) for row, n in counted.items()] + [(*row, n - n // 2) for row, n in counted.items()])
    return read_microdata(frame.set_axis([*KEYS, "n"], axis=1), count="n")


@pytest.mark.parametrize("how", ["mapping", "rows", "counted"])
def test_counts_of_the_population(how: str) -> None:
    frame = records()
    file = started(frame)
    whole = population_of(frame)
    counts = key_counts(file, KEYS, population=given(whole, how))
    held = Counter(rows(whole))
    own, all_of = by_hand(frame)[file.rows], np.array([held[row] for row in rows(frame)])[file.rows]
    alone = own == 1
    assert counts.population is not None
    assert np.array_equal(counts.population[counts.held.of], all_of)
    assert np.array_equal(counts.risky(2, of="population"), all_of <= 2)
    assert counts.risk == pytest.approx(1 / all_of)
    told = counts.population_risk
    assert told is not None
    assert told.uniques == alone.sum() > told.population_uniques == (all_of == 1).sum() > 0
    assert told.share == told.population_uniques / told.uniques
    assert told.matches == pytest.approx((1 / all_of[alone]).sum())
    assert told.matches_of_all == pytest.approx((1 / all_of).sum())


def test_without_counts_of_the_population_nothing_is_said_of_it() -> None:
    counts = key_counts(started(records()), KEYS)
    assert counts.population_risk is None
    assert counts.risk is None
    with pytest.raises(ParameterError, match="no population counts"):
        counts.risky(of="population")


def test_many_codes_need_no_table_of_all_combinations() -> None:
    n = 400
    frame = pd.DataFrame({"id": range(n)} | {f"k{v}": [f"{(i * 7 + v) % 397}" for i in range(n)] for v in range(10)})
    keys = [f"k{v}" for v in range(10)]
    held = Counter(rows(frame, keys))
    counts = key_counts(started(frame), keys, subsets=1, population={row: 3 * held[row] for row in held})
    assert counts.uniques == n - 6
    assert counts.population is not None
    assert np.array_equal(counts.population, 3 * counts.held.counts)


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (lambda held: dict(list(held.items())[1:]), "below the file's own for the combinations of"),
        (lambda held: {row: n - 0.5 for row, n in held.items()}, "not all whole numbers"),
        (lambda held: {row: float("nan") for row in held}, "not all whole numbers"),
        (lambda held: {row: -n for row, n in held.items()}, "not all whole numbers"),
        (lambda held: {row: f"about {n}" for row, n in held.items()}, "not all numbers"),
        (lambda held: {row[:3]: n for row, n in held.items()}, "not all of tuples of 4 codes"),
        (lambda held: {"".join(row): n for row, n in held.items()}, "not all of tuples of 4 codes"),
        (lambda held: {}, "below the file's own for the combinations of 300 records"),
    ],
)
def test_counts_of_the_population_that_cannot_be(change: Any, part: str) -> None:
    frame = records()
    with pytest.raises(InputError, match=part) as caught:
        key_counts(started(frame), KEYS, population=change(Counter(rows(frame))))
    assert "elsewhere" not in str(caught.value)


def test_a_sample_with_weights_is_no_population() -> None:
    frame = records()
    with pytest.raises(InputError, match="it is a sample"):
        key_counts(started(frame), KEYS, population=read_microdata(frame.assign(w=2), weight="w"))


def test_counts_of_the_population_belong_to_true_codes() -> None:
    frame = records()
    swapped = RandomSwap(columns=("town",), rate=0.5).apply(started(frame))
    population = dict(Counter(rows(frame)))
    with pytest.raises(InputError, match="'town' has been swapped"):
        key_counts(swapped, KEYS, population=population)
    assert key_counts(swapped, KEYS, population=population, true=True).population_risk is not None


# ------------------------------------------------------------------- refusals


@pytest.mark.parametrize("keys", [(), ("sex", "sex")])
def test_keys_that_cannot_be(keys: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="are none, or name a column twice"):
        key_counts(started(records()), keys)


def test_what_cannot_be_asked_for() -> None:
    file = started(records())
    with pytest.raises(InputError, match="no column 'agee'"):
        key_counts(file, ("sex", "agee"))
    for size in (0, 5):
        with pytest.raises(ParameterError, match="must be from 1 to 4"):
            key_counts(file, KEYS, subsets=size)
    counts = key_counts(file, KEYS, subsets=2)
    with pytest.raises(ParameterError, match=r"subsets of 3 keys were not counted.*\n.*subsets=3"):
        counts.risky(size=3)
    with pytest.raises(ParameterError, match="subsets are counted in the file alone"):
        counts.risky(size=2, of="population")
    with pytest.raises(ParameterError, match="'town' is not sample or population"):
        counts.risky(of="town")
    with pytest.raises(ParameterError, match="at least 1"):
        counts.risky(0)
    with pytest.raises(InputError, match="'id' is not among them"):
        counts.of(["id"])


def test_too_many_subsets() -> None:
    wide = pd.DataFrame({"id": [1, 2]} | {f"k{i}": [1, 2] for i in range(20)})
    with pytest.raises(ParameterError, match="21,699 subsets"):
        key_counts(started(wide), [f"k{i}" for i in range(20)], subsets=5)


def test_no_code_is_shown() -> None:
    frame = records()
    frame.loc[0, ["town", "job"]] = ["Hidden-on-Sea", "lighthouse keeper"]
    file = started(frame)
    counts = key_counts(file, KEYS, subsets=3, population=dict(Counter(rows(frame))))
    risk = swap_risk(RandomSwap(columns=("town",), rate=0.5).apply(file), KEYS)
    shown = repr(counts) + repr(counts.subsets) + repr(counts.population_risk) + repr(risk) + repr(counts.held)
    assert "Hidden" not in shown
    assert "lighthouse" not in shown
    assert isinstance(counts, KeyCounts)
    assert all(isinstance(each, SubsetCounts) for each in counts.subsets)


# ------------------------------------------------------------------- before and after


def test_risk_before_and_after_a_swap() -> None:
    frame = records()
    file = started(frame)
    swapped = RandomSwap(columns=("town", "job"), rate=0.6).apply(file)
    whole = population_of(frame)
    risk = swap_risk(swapped, KEYS, at_most=2, population=dict(Counter(rows(whole))))
    true, now = (
        np.stack([np.array(c.categories, object)[c.codes, 0] for c in swapped.coded(KEYS, true=one)], 1)
        for one in (True, False)
    )
    differ = (true != now).any(axis=1)
    before = by_hand(frame)[file.rows] <= 2
    counted = Counter(map(tuple, now.tolist()))
    after = np.array([counted[tuple(row)] for row in now.tolist()]) <= 2
    assert (risk.risky, risk.broken) == (before.sum(), (before & differ).sum())
    assert (risk.shown, risk.right) == (after.sum(), (after & ~differ).sum())
    assert 0 < risk.broken < risk.risky
    assert risk.broken_share == risk.broken / risk.risky
    assert risk.right_share == risk.right / risk.shown
    held = Counter(rows(whole))
    alone = np.array([held[row] == 1 for row in rows(frame)])[file.rows] & before
    assert (risk.population_uniques, risk.population_broken) == (alone.sum(), (alone & differ).sum())
    untouched = swap_risk(file, KEYS)
    assert (untouched.broken, untouched.right_share) == (0, 1.0)
    assert untouched.population_uniques is None


def test_no_risky_record() -> None:
    frame = pd.DataFrame({"id": range(8), "sex": ["f", "m"] * 4})
    risk = swap_risk(started(frame), ["sex"])
    assert (risk.risky, risk.broken_share, risk.right_share) == (0, 1.0, 0.0)
    counts = key_counts(started(frame), ["sex"], population={("f",): 9, ("m",): 9})
    assert counts.population_risk is not None
    assert counts.population_risk.share == 0
