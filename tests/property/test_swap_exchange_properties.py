"""For any data: rank swapping and random swapping only exchange values, within strata and reach, and keep what they promise."""

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InputError
from discreet.io.microdata import read_microdata
from discreet.loss.swapping import swap_loss
from discreet.microdata.protect.swap.chance import RandomSwap
from discreet.microdata.protect.swap.rank import RankSwap, _partners
from discreet.microdata.protect.swap.start import start_swap
from discreet.model.keys import Secret
from discreet.model.swap_file import SwapFile

SECRET = Secret("0123456789abcdef0123456789abcdef")


@st.composite
def frames(draw: Any) -> pd.DataFrame:
    n = draw(st.integers(2, 40))
    numbers = st.one_of(st.none(), st.integers(-3, 3), st.floats(-1e9, 1e9).map(lambda x: round(x, 3)), st.just(1e300))
    return pd.DataFrame(
        {
            "id": range(n),
            "a": draw(st.lists(st.sampled_from("xyz"), min_size=n, max_size=n)),
            "b": draw(st.lists(st.sampled_from(["u", "v", ""]), min_size=n, max_size=n)),
            "number": pd.array(draw(st.lists(numbers, min_size=n, max_size=n)), "Float64"),
        }
    )


def counted(file: SwapFile, frame: pd.DataFrame, columns: tuple[str, ...]) -> Counter[tuple[str, ...]]:
    """The table of these columns as the file stands, from the frame itself."""
    held = []
    for column in columns:
        values = frame[column].to_numpy(object, na_value=None)[file.rows]
        held.append(map(str, values[file.origin[column]] if column in file.origin else values))
    return Counter(zip(*held, strict=True))


@settings(max_examples=40, deadline=None)
@given(frames(), st.floats(0.5, 100), st.booleans())
def test_rank_swapping(frame: pd.DataFrame, p: float, strata: bool) -> None:
    file = start_swap(read_microdata(frame, unit="id"), SECRET)
    within = ("a", "b") if strata else ()
    try:
        swapped = RankSwap(columns=("number",), p=p, within=within).apply(file)
    except InputError as error:
        assert "less than one rank" in str(error)  # noqa: PT017 - the other outcome is as good
        largest = frame[frame["number"].notna()].groupby(list(within) or (lambda _: 0)).size().max()
        assert not largest * p / 100 >= 1
        return
    assert counted(swapped, frame, ("a", "b")) == counted(file, frame, ("a", "b"))
    kept = (*within, "number")
    assert counted(swapped, frame, kept) == counted(file, frame, kept)
    assert all(margin.changed == 0 for margin in swap_loss(swapped, swapped.steps[0].margins or []).margins)
    origin = swapped.origin["number"]
    assert np.array_equal(origin[origin], np.arange(len(frame)))
    assert swapped.steps[0].facts["values exchanged"] == (origin != np.arange(len(frame))).sum() > 0


@settings(max_examples=40, deadline=None)
@given(frames(), st.floats(0.01, 1), st.booleans())
def test_random_swapping(frame: pd.DataFrame, rate: float, strata: bool) -> None:
    file = start_swap(read_microdata(frame, unit="id"), SECRET)
    within = ("a",) if strata else ()
    try:
        swapped = RandomSwap(columns=("b", "number"), rate=rate, within=within).apply(file)
    except InputError as error:
        assert "less than one pair" in str(error) or "no stratum holds two" in str(error)  # noqa: PT017 - as above
        return
    kept = (*within, "b", "number")
    assert counted(swapped, frame, kept) == counted(file, frame, kept)
    facts, origin = swapped.steps[0].facts, swapped.origin["b"]
    assert facts["records swapped"] == (origin != np.arange(len(frame))).sum() > 0
    assert facts["records changed"] == swap_loss(swapped, []).changed
    assert facts["records swapped"] <= facts["records to swap"] <= rate * len(frame) + 1e-6


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_partners_are_mutual_within_reach_and_as_many_as_can_be(data: Any) -> None:
    sizes = data.draw(st.lists(st.integers(1, 12), min_size=1, max_size=5))
    reaches = [data.draw(st.integers(0, size)) for size in sizes]
    stratum = np.repeat(np.arange(len(sizes)), sizes)
    reach = np.array(reaches)[stratum]
    place = np.arange(len(stratum)) + stratum * max(reaches)
    key = np.array(data.draw(st.lists(st.integers(0, 2**60 - 1), min_size=len(place), max_size=len(place))))
    partner = _partners(place, reach, key, "a test")
    own = np.arange(len(place))
    assert np.array_equal(partner[partner], own)
    assert np.array_equal(stratum[partner], stratum)
    assert (np.abs(place - place[partner]) <= reach).all()
    for i in np.flatnonzero(partner == own):
        others = np.flatnonzero((partner == own) & (own != i) & (stratum == stratum[i]))
        assert (np.abs(place[others] - place[i]) > reach[i]).all()
