"""The benchmark of targeted swapping measures what it says, on households that are made alike each time."""

import dataclasses
import importlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.microdata.protect.swap.start import start_swap

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def module(monkeypatch):
    """Imports a module of the benchmarks, which are not installed."""
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module


def test_households_of_the_benchmark(module, tmp_path):
    made, subject = module("benchmarks.households"), module("benchmarks.subjects.swap_targeted")
    paths = [tmp_path / name for name in ("one.parquet", "two.parquet")]
    for path in paths:
        made.make(path, 1_000)
    frame, again = (pd.read_parquet(path) for path in paths)
    assert frame.equals(again)
    homes = frame.groupby("household")
    assert (homes.ngroups, homes.size().sum()) == (1_000, len(frame))
    assert (homes.nunique()[[*made.GEOGRAPHY, "tenure"]] == 1).all(axis=None)
    assert (frame["size"] == homes["size"].transform("size")).all()
    assert abs(len(frame) - 2_500) < 150
    file = start_swap(dc.read_microdata(paths[0], unit="person"), dc.Secret("a secret of a test, for nothing else"))
    for method in subject.METHODS.values():
        swapped = method.apply(file)
        assert int(swapped.steps[0].facts["households swapped"]) > 500
        subject.check_households(file, swapped)
        torn = swapped.origin["ward"].copy()
        torn[:2] = torn[1::-1]
        with pytest.raises(AssertionError, match="torn apart"):
            subject.check_households(file, dataclasses.replace(swapped, origin={"ward": torn}))
    ward = dataclasses.replace(file, origin={"ward": np.zeros(len(file.key), np.int64)})
    with pytest.raises(AssertionError, match="others than they were"):
        subject.check_households(file, ward)
