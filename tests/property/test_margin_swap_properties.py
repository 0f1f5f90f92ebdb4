"""Swapping with fixed margins, for any records, margins and wishes: what always holds afterwards."""

import itertools
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.io.microdata import read_microdata
from discreet.microdata.protect.swap.margin import MarginSwap
from discreet.microdata.protect.swap.moves import smallest_move
from discreet.microdata.protect.swap.start import start_swap
from discreet.model.keys import Secret
from discreet.model.margins import Margins
from discreet.model.swap_file import SwapFile

NAMES = ("a", "b", "c", "d")
SIZES = (2, 3, 2, 3)
EVERY = [some for n in (1, 2, 3) for some in itertools.combinations(NAMES, n)]
SECRET = Secret("a secret of a test, for nothing else")

records = st.lists(st.tuples(*(st.integers(0, size - 1) for size in SIZES)), min_size=1, max_size=14)
margin_sets = st.lists(st.sampled_from(EVERY), max_size=5)
sets_of_names = st.lists(st.sampled_from(NAMES), unique=True, max_size=2)
edits = st.lists(
    st.fixed_dictionaries({}, optional={name: st.sampled_from(["0", "1"]) for name in NAMES}).filter(bool), max_size=2
)


def started(drawn: list[tuple[int, ...]]) -> tuple[SwapFile, np.ndarray]:
    frame = pd.DataFrame(drawn, columns=NAMES).astype(str)
    frame["post"] = [f"of {i}" for i in range(len(frame))]
    frame["id"] = np.arange(len(frame))
    file = start_swap(read_microdata(frame, unit="id"), SECRET)
    return file, codes_of(file)


def codes_of(file: SwapFile) -> np.ndarray:
    """The codes as numbers, as they stand, in the order of keys."""
    columns = [np.array([int(one[0]) for one in held.categories])[held.codes] for held in file.coded(NAMES)]
    return np.stack(columns, axis=1)


def counted(codes: np.ndarray, margin: tuple[str, ...]) -> list[Any]:
    return sorted(map(tuple, codes[:, [NAMES.index(name) for name in margin]].tolist()))


def alone(codes: np.ndarray) -> np.ndarray:
    _, of, counts = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
    return counts[of.ravel()] == 1


@settings(max_examples=60, deadline=None)
@given(records, margin_sets, st.sampled_from(["least", "most"]))
def test_margins_stay_and_every_risky_record_changes_unless_that_is_proved_impossible(
    drawn: list[tuple[int, ...]], sets: list[tuple[str, ...]], distance: str
) -> None:
    file, before = started(drawn)
    method = MarginSwap(
        variables=NAMES,
        margins=tuple(sets),
        keys=NAMES,
        effect="any",
        distance=distance,
        records=max(len(drawn), 3),
        rate=0.3,
    )
    after = method.apply(file)
    now, facts = codes_of(after), after.steps[-1].facts
    for margin in (*sets, *((name,) for name in NAMES)):
        assert counted(now, margin) == counted(before, margin)
    risky = alone(before)
    same = (now == before).all(axis=1)
    held, margins = file.combinations(NAMES), Margins.of(NAMES, sets)
    stuck = [smallest_move(held, margins, int(held.of[r])).impossible for r in np.flatnonzero(risky & same).tolist()]
    assert facts["risky records"] == risky.sum()
    assert facts["risky records changed"] == (risky & ~same).sum()
    assert facts["risky records that no swap can change"] == sum(stuck)
    assert facts["risky records without an allowed swap"] == facts["risky records undecided in time"] == 0
    # the rest could each be changed, but all of their partners are risky records that must not get back what they had
    left = facts["risky records whose partners others took"]
    assert left == len(stuck) - sum(stuck)
    assert facts["records changed"] == (~same).sum()
    assert facts["values changed"] == (now != before).sum()


@settings(max_examples=60, deadline=None)
@given(records, margin_sets, sets_of_names, edits, st.sampled_from([2, 6]), st.sampled_from([0.0, 0.5, 1.0]))
def test_wishes_are_kept(
    drawn: list[tuple[int, ...]],
    sets: list[tuple[str, ...]],
    stay: list[str],
    forbid: list[dict[str, str]],
    most: int,
    rate: float,
) -> None:
    file, before = started(drawn)
    occurring = [{str(code) for code in before[:, v]} for v in range(4)]
    forbid = [edit for edit in forbid if all(code in occurring[NAMES.index(name)] for name, code in edit.items())]
    keys = ("a", "b", "d")
    method = MarginSwap(
        variables=NAMES,
        margins=tuple(sets),
        keys=keys,
        stay=tuple(stay),
        forbid=tuple(forbid),
        travel={"post": "b"},
        records=most,
        rate=rate,
    )
    after = method.apply(file)
    now, facts = codes_of(after), after.steps[-1].facts
    for margin in (*sets, tuple(stay)):
        assert counted(now, margin) == counted(before, margin)
    assert set(after.origin).isdisjoint(stay)
    assert np.array_equal(after.origin.get("post", 0), after.origin.get("b", 0))

    def broken(codes: np.ndarray) -> np.ndarray:
        return np.array(
            [[all(str(row[NAMES.index(v)]) == code for v, code in edit.items()) for edit in forbid] for row in codes], bool
        )

    assert not (broken(now) & ~broken(before)).any()
    seen = [NAMES.index(name) for name in keys]
    risky = alone(before[:, seen])
    changed = (now[:, seen] != before[:, seen]).any(axis=1)
    assert facts["risky records changed"] == (risky & changed).sum()
    reasons = (
        "risky records that no swap can change",
        "risky records without an allowed swap",
        "risky records undecided in time",
        "risky records whose partners others took",
    )
    assert sum(int(facts[reason]) for reason in reasons) == (risky & ~changed).sum()
    again = {tuple(row) for row in now[:, seen].tolist()}
    still = sum(tuple(row) in again for row in before[risky][:, seen].tolist())
    assert facts["rare combinations of keys that still occur"] == still


@settings(max_examples=15, deadline=None)
@given(records, margin_sets, st.randoms(use_true_random=False))
def test_the_order_of_records_changes_nothing(drawn: list[tuple[int, ...]], sets: list[tuple[str, ...]], chance: Any) -> None:
    method = MarginSwap(variables=NAMES, margins=tuple(sets), keys=("a", "b", "c"), at_most=2, records=4, rate=0.5)
    frame = pd.DataFrame(drawn, columns=NAMES).astype(str)
    frame["id"] = np.arange(len(frame))
    order = list(range(len(frame)))
    chance.shuffle(order)
    one, two = (method.apply(start_swap(read_microdata(f, unit="id"), SECRET)) for f in (frame, frame.iloc[order]))
    assert one.steps[-1].facts == two.steps[-1].facts
    assert np.array_equal(codes_of(one), codes_of(two))
