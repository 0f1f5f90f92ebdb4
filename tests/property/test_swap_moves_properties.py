"""Swaps of several records, for any records and margins: what relabelling, further margins and applying them do."""

import itertools

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.io.microdata import read_microdata
from discreet.microdata.protect.swap.moves import Move, permuted, smallest_move
from discreet.microdata.protect.swap.start import start_swap
from discreet.model.combinations import Combinations, combinations
from discreet.model.keys import Secret
from discreet.model.margins import Margins
from discreet.model.swap_file import Swapped

NAMES = ("a", "b", "c", "d")
SIZES = (2, 3, 2, 3)
EVERY = [some for n in (1, 2, 3) for some in itertools.combinations(NAMES, n)]

records = st.lists(st.tuples(*(st.integers(0, size - 1) for size in SIZES)), min_size=2, max_size=9)
margin_sets = st.lists(st.sampled_from(EVERY), max_size=6)


def held_of(codes: np.ndarray) -> Combinations:
    return combinations(np.ascontiguousarray(codes, np.int32), SIZES)


def searched(codes: np.ndarray, sets: list[tuple[str, ...]], record: np.ndarray) -> Move:
    held = held_of(codes)
    which = int(np.flatnonzero((held.codes == record).all(axis=1))[0])
    move = smallest_move(held, Margins.of(NAMES, sets), which, proven=True)
    assert move.smallest or move.impossible
    return move


@settings(max_examples=40, deadline=None)
@given(records, margin_sets, st.randoms(use_true_random=False))
def test_other_names_of_codes_and_another_order_change_nothing(
    drawn: list[tuple[int, ...]], sets: list[tuple[str, ...]], chance: object
) -> None:
    codes = np.array(drawn)
    one = searched(codes, sets, codes[0])
    renamed = np.stack([(codes[:, v] + 1) % size for v, size in enumerate(SIZES)], axis=1)
    assert searched(renamed, sets, renamed[0]).records == one.records
    order = list(range(len(codes)))
    chance.shuffle(order)  # type: ignore[attr-defined]  # a random.Random
    again = searched(codes[order], sets, codes[0])
    assert (again.out.tolist(), again.into.tolist()) == (one.out.tolist(), one.into.tolist())


@settings(max_examples=40, deadline=None)
@given(records, margin_sets, st.sampled_from(EVERY))
def test_one_more_margin_needs_as_many_records_or_more(
    drawn: list[tuple[int, ...]], sets: list[tuple[str, ...]], further: tuple[str, ...]
) -> None:
    codes = np.array(drawn)
    one, two = searched(codes, sets, codes[0]), searched(codes, [*sets, further], codes[0])
    assert two.impossible or two.records >= one.records > 0
    assert two.bound >= one.bound


@settings(max_examples=25, deadline=None)
@given(records, margin_sets)
def test_a_swapped_file_has_the_same_margins_and_another_record(
    drawn: list[tuple[int, ...]], sets: list[tuple[str, ...]]
) -> None:
    margins = Margins.of(NAMES, sets)
    frame = pd.DataFrame(drawn, columns=list(NAMES)).astype(str).assign(id=range(len(drawn)))
    file = start_swap(read_microdata(frame, unit="id"), Secret("the secret of this test, of enough letters"))
    held = file.combinations(NAMES)
    move = smallest_move(held, margins, int(held.of[0]))
    if move.impossible:
        return
    taken: list[int] = []
    for which in move.out.tolist():
        taken.append(next(at for at in np.flatnonzero(held.of == which).tolist() if at not in taken))
    source = permuted(held.codes[move.out], move.into)
    origin = {}
    for v, name in enumerate(NAMES):
        origin[name] = np.arange(len(drawn))
        origin[name][taken] = np.array(taken)[source[:, v]]
    after = file.moved(origin, Swapped(method="by hand", columns=NAMES, margins=margins, facts={}))
    codes = np.stack([column.codes for column in after.coded(NAMES)], axis=1)
    assert (codes[taken] == move.into).all()
    assert (codes[taken] != held.codes[move.out]).any(axis=1).all()
