"""Targeted record swapping of eight households in four areas: what stays, who moves, and from how near donors come."""

from collections import Counter

import pandas as pd
import pytest

from discreet.io.microdata import read_microdata
from discreet.io.swap import write_swapped
from discreet.microdata.protect.swap.start import start_swap
from discreet.microdata.protect.swap.targeted import TargetedSwap
from discreet.model.keys import Secret
from discreet.model.swap_file import SwapFile

HOMES = {  # household: district, area, members
    "h1": ("LA1", "A1", 1),
    "h2": ("LA1", "A1", 2),
    "h3": ("LA1", "A2", 2),
    "h4": ("LA1", "A2", 3),
    "h5": ("LA2", "B1", 1),
    "h6": ("LA2", "B1", 2),
    "h7": ("LA2", "B2", 3),
    "h8": ("LA2", "B2", 3),
}
SECRETS = [f"a secret of sixteen characters {i}" for i in range(16)]


def persons() -> pd.DataFrame:
    rows = [
        {"id": f"{home}-{member}", "home": home, "district": district, "area": area, "sex": "f", "job": f"{home}{member}"}
        for home, (district, area, size) in HOMES.items()
        for member in range(size)
    ]
    return pd.DataFrame(rows)


def started(secret: str = SECRETS[0]) -> SwapFile:
    return start_swap(read_microdata(persons(), unit="id"), Secret(secret))


def places(file: SwapFile) -> dict[str, tuple[str, str]]:
    """District and area of each household after the swaps; all its members must be in one."""
    columns = [[one.categories[code][0] for code in one.codes] for one in file.coded(["home", "district", "area"])]
    found: dict[str, tuple[str, str]] = {}
    for home, district, area in zip(*columns, strict=True):
        assert found.setdefault(home, (district, area)) == (district, area), "a household was torn apart"
    return found


def method(**other: object) -> TargetedSwap:
    # 8 persons in LA1, 9 in LA2, and at most 6 in an area, all alike in sex: with k = 7 no district forces, every area does
    return TargetedSwap(**({"household": "home", "geography": ("district", "area"), "risk": ("sex",), "k": 7} | other))


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("donors", ["nearest", "anywhere"])
def test_only_geography_moves_between_households_of_one_size(secret: str, donors: str, tmp_path) -> None:
    file = started(secret)
    swapped = method(donors=donors).apply(file)
    after = places(swapped)
    assert set(swapped.origin) == {"district", "area"}
    moved = {home for home, (district, area, _) in HOMES.items() if after[home] != (district, area)}
    assert len(moved) == 6  # one of size 2 and one of size 3 find no partner, as three are of that size
    assert {"h1", "h5"} <= moved
    assert "h4" in moved
    by_area = [Counter((place, size) for place, size in one) for one in ([], [])]
    for home, (district, area, size) in HOMES.items():
        by_area[0][(district, area), size] += 1
        by_area[1][after[home], size] += 1
    assert by_area[0] == by_area[1]
    assert swapped.steps[0].facts["households swapped"] == 6
    assert swapped.steps[0].facts["share of households swapped"] == 0.75
    released = pd.read_csv(write_swapped(swapped, tmp_path, columns=["id", "home", "district", "area", "sex", "job"]))
    stays = ["id", "home", "sex", "job"]
    assert released.sort_values("id")[stays].to_numpy().tolist() == persons().sort_values("id")[stays].to_numpy().tolist()


def test_donors_come_from_the_nearest_larger_area() -> None:
    seen: dict[str, set[str]] = {"nearest": set(), "anywhere": set()}
    for secret in SECRETS:
        for donors, found in seen.items():
            after = places(method(donors=donors).apply(started(secret)))
            found |= {home for home in ("h2", "h3", "h6") if after[home][0] != HOMES[home][0]}
            assert after["h1"][0] == "LA2"  # nobody lives alone in the rest of its district
    assert seen == {"nearest": set(), "anywhere": {"h2", "h3", "h6"}}


def test_the_swaps_can_be_made_again_with_the_secret_and_not_without() -> None:
    first, again = (places(method(donors="anywhere").apply(started())) for _ in range(2))
    assert first == again
    assert len({tuple(sorted(places(method(donors="anywhere").apply(started(s))).items())) for s in SECRETS}) > 3


def test_what_k_forces_is_told_before() -> None:
    told = method().foreseen(started())
    assert (told.total, told.households, told.asked, told.alone) == (8, 8, 0, 0)
    assert dict(told.forced) == {"district": 0, "area": 8}
    assert str(told) == (
        "8 of 8 households (100.0%) must swap for k = 7: 8 by area; with their donors up to 8 will; "
        "the rate of 0.05 asks for 0, and k decides how many swap"
    )
    by_district = method(k=9).foreseen(started())
    assert dict(by_district.forced) == {"district": 4, "area": 4}
    profiled = method(profiles=(("job",),)).foreseen(started())
    assert profiled.alone == 8
    assert "8 of them are like none elsewhere and cannot" in str(profiled)


def test_a_household_leaves_the_district_that_forces_it() -> None:
    for secret in SECRETS[:10]:
        after = places(method(k=9).apply(started(secret)))  # LA1 has 8 persons: each of its households leaves if it can
        assert {after[home][0] for home in ("h1", "h4")} == {"LA2"}
        assert "LA2" in {after[home][0] for home in ("h2", "h3")}
