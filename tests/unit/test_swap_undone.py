"""Columns that stay and tell what was swapped."""

import numpy as np
import pandas as pd
import pytest

from discreet.errors import InputError
from discreet.io.microdata import read_microdata
from discreet.microdata.protect.swap.chance import RandomSwap
from discreet.microdata.protect.swap.start import start_swap
from discreet.microdata.risk.undone import undoing_columns
from discreet.model.keys import Secret
from discreet.model.swap_file import SwapFile

SECRET = Secret("a secret of a test, for nothing else")


def swapped(*columns: str, n: int = 2000) -> SwapFile:
    chance = np.random.default_rng(3)
    town = chance.integers(0, 20, n)
    frame = pd.DataFrame(
        {
            "id": range(n),
            "region": np.where(town < 12, "north", "south"),
            "district": town // 4,
            "town": [f"t{i}" for i in town],
            "post": np.where(chance.random(n) < 0.02, 99, town // 2 + 100),
            "house": town * 1000 + np.arange(n) // 3,
            "sex": chance.choice(["f", "m"], n),
            "hours": chance.integers(0, 60, n),
            "same": "x",
        }
    )
    return RandomSwap(columns=columns, rate=0.2).apply(start_swap(read_microdata(frame, unit="id"), SECRET))


def found(file: SwapFile, columns: list[str] | None = None) -> set[tuple[str, str]]:
    return {(one.column, one.moved) for one in undoing_columns(file, columns)}


def test_a_finer_place_beside_a_coarser_one_that_moved() -> None:
    told = undoing_columns(swapped("district"))
    assert {(one.column, one.moved) for one in told} == {("town", "district"), ("post", "district")}
    assert {one.column: one.strength == 1 for one in told} == {"town": True, "post": False}


def test_where_all_of_the_geography_moves_nothing_tells() -> None:
    assert found(swapped("region", "district", "town", "post")) == set()


def test_a_coarser_place_or_what_merely_goes_together_does_not_undo() -> None:
    assert found(swapped("town")) == set()
    assert found(swapped("hours", "same")) == set()


def test_only_what_is_released_counts() -> None:
    file = swapped("region")
    assert found(file) == {("district", "region"), ("town", "region"), ("post", "region")}
    assert found(file, ["region", "town", "sex"]) == {("town", "region")}
    with pytest.raises(InputError, match="did you mean 'town'"):
        undoing_columns(file, ["twn"])


def test_a_swap_does_not_hide_it() -> None:
    """The true records are looked at: half of the released ones have another district than their town says."""
    file = RandomSwap(columns=("district",), rate=1.0).apply(swapped("district"))
    assert ("town", "district") in found(file)
