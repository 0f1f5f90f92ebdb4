"""For any households: targeted swapping moves whole ones, keeps what it promises, and leaves no forced one that has a donor."""

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InputError
from discreet.io.microdata import read_microdata
from discreet.microdata.protect.swap.start import start_swap
from discreet.microdata.protect.swap.targeted import TargetedSwap
from discreet.model.keys import Secret
from discreet.model.swap_file import SwapFile

SECRET = Secret("0123456789abcdef0123456789abcdef")
GEOGRAPHY = ("region", "town")
PROFILES: tuple[tuple[tuple[str, ...], ...], ...] = (
    (("age", "rent"), ("rent",), ()),
    (("age",), ("rent",)),
    ((),),
    (("sex", "age"),),
)


@st.composite
def frames(draw: Any) -> pd.DataFrame:
    """Households of one to four persons; town 0 is another one in each region."""
    homes = draw(st.lists(st.tuples(st.integers(1, 4), *[st.integers(0, 2)] * 2, st.integers(0, 1)), min_size=1, max_size=14))
    rows = []
    for home, (size, region, town, rent) in enumerate(homes):
        for _ in range(size):
            person = {"home": f"h{home}", "region": f"r{region}", "town": f"t{town}", "rent": "yn"[rent]}
            rows.append(
                person | {name: draw(st.sampled_from(codes)) for name, codes in (("age", ["a", "b", ""]), ("sex", "fm"))}
            )
    return pd.DataFrame(rows).assign(id=range(len(rows)), street=lambda made: [f"s{i % 5}" for i in range(len(made))])


def table(file: SwapFile, *, true: bool = False) -> pd.DataFrame:
    """All columns as they stand, in the order of keys."""
    columns = ("id", "home", "region", "town", "rent", "age", "sex", "street")
    coded = file.coded(columns, true=true)
    held = {name: [one.categories[code][0] for code in one.codes] for name, one in zip(columns, coded, strict=True)}
    return pd.DataFrame(held)


def homes_of(frame: pd.DataFrame, columns: tuple[str, ...]) -> dict[str, tuple[tuple[str, ...], ...]]:
    """For each household the codes of its members in these columns, as a multiset."""
    return {str(home): tuple(sorted(map(tuple, rows[list(columns)].to_numpy()))) for home, rows in frame.groupby("home")}


def forced_levels(frame: pd.DataFrame, k: int) -> dict[str, int]:
    """For each household that k forces the first level at which it does."""
    found: dict[str, int] = {}
    for level in range(len(GEOGRAPHY)):
        cell = list(zip(*(frame[name] for name in (*GEOGRAPHY[: level + 1], "age", "sex")), strict=True))
        counts = Counter(cell)
        for home, own in zip(frame["home"], cell, strict=True):
            if counts[own] < k:
                found[home] = min(level, found.get(home, level))
    return found


@settings(max_examples=40, deadline=None)
@given(frames(), st.integers(1, 5), st.sampled_from([0.0, 0.3, 1.0]), st.sampled_from(PROFILES), st.booleans())
def test_targeted_swapping(frame: pd.DataFrame, k: int, rate: float, profiles: Any, nearest: bool) -> None:
    if k == 1 and not rate:
        return
    file = start_swap(read_microdata(frame, unit="id"), SECRET)
    method = TargetedSwap(
        household="home",
        geography=GEOGRAPHY,
        risk=("age", "sex"),
        k=k,
        profiles=profiles,
        rate=rate,
        carry=("street",),
        donors="nearest" if nearest else "anywhere",
    )
    before, forced = table(file), forced_levels(frame, k)
    alike = [homes_of(before, profile) for profile in profiles]
    place = {home: rows[0] for home, rows in homes_of(before, GEOGRAPHY).items()}

    def fits(one: str, other: str) -> bool:
        return place[one] != place[other] and any(held[one] == held[other] for held in alike)

    told = method.foreseen(file)
    assert list(told.forced.values()) == [Counter(forced.values())[level] for level in range(len(GEOGRAPHY))]
    assert told.alone == sum(not any(fits(home, other) for other in place) for home in forced)
    assert told.asked == 2 * int(rate * len(place) / 2 + 1e-9)
    try:
        swapped = method.apply(file)
    except InputError as error:
        few = "less than one pair" in str(error) and not forced and not told.asked
        asking = place if told.asked else forced
        none = "like another outside its area" in str(error) and not any(fits(a, b) for a in asking for b in place)
        assert few or (none and asking)
        return
    check(before, table(swapped), swapped, profiles)
    moved = {home for home, rows in homes_of(table(swapped), GEOGRAPHY).items() if rows[0] != place[home]}
    left = [home for home in place if home not in moved]
    assert not any(fits(home, other) for home in left if home in forced for other in left)
    assert len(moved) >= told.asked or not any(fits(a, b) for a in left for b in left)
    assert len(moved) <= max(told.asked, 2 * told.total)
    facts = swapped.steps[0].facts
    assert (facts["households swapped"], facts["households that left their town"]) == (len(moved), len(moved))
    assert facts["households forced and swapped"] == len(moved & set(forced))


def check(before: pd.DataFrame, after: pd.DataFrame, swapped: SwapFile, profiles: Any) -> None:
    """Whole households exchange places in pairs, and all tables that the step promises are the same, of both kinds of units."""
    stays = ["id", "home", "rent", "age", "sex"]
    assert before[stays].equals(after[stays])
    origin = swapped.origin["town"]
    assert all(np.array_equal(origin, swapped.origin[name]) for name in ("region", "street"))
    assert np.array_equal(origin[origin], np.arange(len(origin)))
    source = before["home"].to_numpy()[origin]
    pairs = dict(zip(before["home"], source, strict=True))
    assert (before["home"].map(pairs) == source).all(), "a household has two donors"
    assert all(len(set(rows)) == 1 for rows in homes_of(after, GEOGRAPHY).values())
    margins = swapped.steps[0].margins
    assert margins is not None
    used = [
        next(p for p in profiles if homes_of(before, p)[home] == homes_of(before, p)[donor])
        for home, donor in pairs.items()
        if home != donor
    ] or list(profiles)
    common = [name for name in used[0] if all(name in profile for profile in used)]
    assert set(margins.sets[0]) >= {*GEOGRAPHY, "street", *common}
    for columns in margins.sets:
        rows = [Counter(map(tuple, one[list(columns)].to_numpy())) for one in (before, after)]
        assert rows[0] == rows[1]
        assert Counter(homes_of(before, columns).values()) == Counter(homes_of(after, columns).values())
