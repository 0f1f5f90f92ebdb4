"""The benchmarks of swapping with fixed margins measure what they say."""

import importlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from discreet.microdata.protect.swap.partners import partner_lists, swappable
from discreet.model.margins import Margins

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def module(monkeypatch):
    """Imports a module of the benchmarks, which are not installed."""
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module


@pytest.fixture
def census(module, tmp_path):
    """Two thousand persons of the benchmarks, made twice."""
    made = module("benchmarks.census").make
    paths = [tmp_path / name for name in ("one.parquet", "two.parquet")]
    for path in paths:
        made(path, 2_000)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    return paths[0]


def test_the_bare_group_bys_are_those_that_the_flags_need(module, census):
    subject, made = module("benchmarks.subjects.swap_partners"), module("benchmarks.census")
    margins = Margins.of(tuple(made.VARIABLES), made.MARGINS)
    assert (len(margins.sets), len(margins.separators), margins.decomposable) == (8, 9, False)
    sets, frame = subject.counted_sets(margins), pd.read_parquet(census)
    assert subject.group_bys(census, sets) == sum(len(frame.drop_duplicates(list(names))) for names in sets)
    whole = {frozenset(margins.variables)}
    outside = {frozenset(margins.variables).difference(part) for one in margins.separators for part in one.components}
    assert set(map(frozenset, sets)) == whole | outside | {frozenset(one.variables) for one in margins.separators}


def test_partners_of_the_benchmark_are_those_that_are_counted(module, census):
    subject, made = module("benchmarks.subjects.swap_partners"), module("benchmarks.census")
    margins = Margins.of(tuple(made.VARIABLES), made.MARGINS)
    held = subject.started(census).combinations(margins.variables)
    assert len(held.of) == 2_000
    listed = [list(found.through().values()) for found in partner_lists(held, margins, np.arange(50))]
    assert np.array_equal(listed, swappable(held, margins).partners[:50])
    assert np.any(listed)
