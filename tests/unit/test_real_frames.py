"""Frames as people have them: types, names and missing entries that tabulation must take or refuse in words."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discreet.errors import InputError
from discreet.io.given import read_given
from discreet.io.hierarchies import read_hierarchy
from discreet.io.microdata import read_microdata
from discreet.model.tabulate import tabulate

ROWS = 12


def frame(**columns: object) -> pd.DataFrame:
    plain = {"region": ["N", "S"] * (ROWS // 2), "turnover": range(1, ROWS + 1)}
    return pd.DataFrame(plain | columns)


def codes(source: object) -> tuple[str, ...]:
    return tabulate(read_microdata(source), spanning=["region"], response="turnover").layouts[0].hierarchies[0].codes


def test_fractions_as_codes_stay_apart() -> None:
    assert codes(frame(region=[0.5, 1.5, 2.0] * 4)) == ("Total", "0.5", "1.5", "2")


def test_a_filter_on_fractions_takes_them_as_written() -> None:
    records = read_microdata(frame(size=[1.4, 1.0, 1.6] * 4))
    table = tabulate(records, spanning=["region"], response="turnover", where={"size": ["1"]})
    assert table.value[0] == sum(range(2, ROWS + 1, 3))


def test_names_that_stand_twice_are_refused() -> None:
    twice = frame(a=1)
    twice.columns = ["region", "region", "turnover"]
    for source in (twice, pa.table([[1], [2]], names=["region", "region"])):
        with pytest.raises(InputError, match="columns stand twice: 'region'"):
            read_microdata(source)
        with pytest.raises(InputError, match="columns stand twice: 'region'"):
            read_given(source, spanning=["region"], kind="frequency")
    with pytest.raises(InputError, match="columns 'Region' and 'region' differ only in case"):
        read_microdata(frame().assign(Region="N")[["Region", "region"]])


def test_columns_without_names_go_by_their_number() -> None:
    lists = pd.DataFrame([["A", "A1"], ["A", "A2"], ["B", "B1"]])
    assert read_hierarchy(lists).codes == ("Total", "A", "A1", "A2", "B", "B1")
    assert read_microdata(lists).types.keys() == {"0", "1"}


def test_types_that_cannot_be_read_are_named() -> None:
    months = frame(month=pd.period_range("2024-01", periods=ROWS, freq="M"), turnover=1)
    lists = pl.DataFrame({"region": ["N"], "month": [["01"]]})
    halves = pa.table({"region": ["N"], "month": pa.array(np.ones(1, np.float16))})
    for source in (months, lists, halves):
        with pytest.raises(InputError, match="columns of types that cannot be read: 'month'"):
            read_microdata(source)
    with pytest.raises(InputError, match="has no columns"):
        read_microdata(pd.DataFrame())


def test_ids_too_long_for_a_float_stay_apart_beside_missing_ones() -> None:
    ids = [2**53, 2**53 + 1, None, None]
    source = pl.DataFrame({"region": ["N"] * 4, "turnover": [1, 2, 3, 4], "group": ids})
    table = tabulate(read_microdata(source, holding="group"), spanning=["region"], response="turnover")
    assert table.contributions.holdings[0] == 4
    wide = source.with_columns(pl.col("turnover").cast(pl.Int128))
    assert tabulate(read_microdata(wide), spanning=["region"], response="turnover").value[0] == 10


def test_a_column_of_mixed_objects_is_read_whole() -> None:
    """As pandas leaves it after reading a long file in pieces."""
    late = pd.DataFrame({"region": pd.Series([*([1, 2] * 3000), "x"], dtype=object), "turnover": 1})
    assert codes(late) == ("Total", "1", "2", "x")


def test_dates_and_booleans_are_codes() -> None:
    assert codes(frame(region=datetime.date(2024, 1, 31))) == ("Total", "2024-01-31")
    assert codes(frame(region=np.arange(ROWS) % 2 == 0)) == ("Total", "false", "true")


@pytest.mark.parametrize("asked", [[1.0, np.nan] * 6, [True, False] * 6, ["1", None] * 6, [1, 0] * 6])
def test_flags_of_any_type(asked: list[object]) -> None:
    table = tabulate(read_microdata(frame(asked=asked), request="asked"), spanning=["region"], response="turnover")
    assert table.contributions.requests.tolist() == [6, 6, 0]


def test_words_that_are_no_waiver_are_refused() -> None:
    records = read_microdata(frame(agreed=["yes"] * ROWS), waiver="agreed")
    with pytest.raises(InputError, match="column 'agreed': 12 records hold no waiver code"):
        tabulate(records, spanning=["region"], response="turnover")


def test_infinite_values_are_refused() -> None:
    records = read_microdata(frame(turnover=[np.inf] + [1.0] * (ROWS - 1)))
    with pytest.raises(InputError, match="1 records hold infinite values where the response needs a number"):
        tabulate(records, spanning=["region"], response="turnover")


def test_more_decimals_than_the_engine_has_are_refused() -> None:
    with pytest.raises(InputError, match="needs 42 digits, and sums are exact up to 38"):
        tabulate(read_microdata(frame()), spanning=["region"], response="turnover", decimals=40)


@pytest.mark.parametrize(("value", "cells"), [(10**12, 0), (2**53 + 1, 3)])
def test_digits_that_a_float_cannot_hold_are_told(value: int, cells: int) -> None:
    table = tabulate(read_microdata(frame(turnover=value)), spanning=["region"], response="turnover")
    lines = {"region": ["Total", "N", "S"], "value": [2 * value, value, value]}
    for one in (table, read_given(lines, spanning=["region"], kind="frequency")):
        told = [count for what, count in one.history[0].counts.items() if "more than 15 digits" in what]
        assert told == ([cells] if cells else [])
