"""Tables of counts are counted from each combination of codes once; nothing else about them may differ."""

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.model.table import Table


def records(rows: int = 4000, seed: int = 5) -> pd.DataFrame:
    chance = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "country": chance.choice(["A", "B", ""], rows, p=[0.5, 0.45, 0.05]),
            "year": chance.choice([2019.0, 2020.0, np.nan], rows, p=[0.5, 0.4, 0.1]),
            "sex": chance.choice(["f", "m", "x"], rows),
            "count____": chance.integers(0, 2, rows),  # a column with nearly the name of ours
            "key": chance.integers(0, 2**32, rows),
        }
    )
    frame["town"] = frame["country"] + chance.choice(["1", "2", "3"], rows)
    frame.loc[frame["country"] == "", "town"] = ""
    frame["id"] = np.arange(rows)
    return frame


def lines(table: Table) -> dict[tuple[str, ...], tuple[float, ...]]:
    layout, sums = table.layouts[0], table.contributions
    codes = zip(*(layout.column(v) for v in range(len(layout.variables))), strict=True)
    held = np.stack([table.value, sums.n, sums.holdings, sums.weight, sums.total, sums.absolute, sums.key], 1)[layout.cell]
    return dict(zip(codes, map(tuple, held.tolist()), strict=True))


@pytest.mark.parametrize("policy", ["drop", "category"])
@pytest.mark.parametrize("where", [None, {"sex": ["f", "m"]}])
def test_counts_are_those_of_records_counted_one_by_one(policy, where) -> None:
    """Ids that nobody shares say nothing, but make a table that must be counted record by record."""
    frame, missing = records(), dc.Missing(on_code=policy)
    given = {"spanning": {"place": ["country", "town"], "year": None, "count____": None}, "where": where}
    condensed = dc.tabulate(dc.read_microdata(frame, record_key="key", missing=missing), **given)
    single = dc.tabulate(dc.read_microdata(frame, record_key="key", unit="id", missing=missing), **given)
    assert lines(condensed) == lines(single)
    assert condensed.history[0].counts == single.history[0].counts
    left_out = [what for what in single.history[0].counts if what.startswith("records without a code in year")]
    assert len(left_out) == 1
    assert (condensed.equations != single.equations).nnz == 0


def test_messages_count_records_and_name_the_columns_of_the_file() -> None:
    frame = records()
    with pytest.raises(dc.InputError, match=f"column 'year': {frame['year'].isna().sum()} records have no code"):
        dc.tabulate(dc.read_microdata(frame), spanning=["year"])
    with pytest.raises(dc.InputError, match=r"no column 'yeer' for spanning variable 'yeer' .did you mean 'year'"):
        dc.tabulate(dc.read_microdata(frame), spanning=["yeer"])
    with pytest.raises(dc.InputError, match="no column 'sax' for the filter"):
        dc.tabulate(dc.read_microdata(frame), spanning=["sex"], where={"sax": ["f"]})
    frame.loc[7, "key"] = -1
    with pytest.raises(dc.InputError, match="column 'key': record keys must be"):
        dc.tabulate(dc.read_microdata(frame, record_key="key"), spanning=["sex"])


def test_keys_of_records_that_are_left_out_need_no_meaning() -> None:
    frame = records()
    others = frame["sex"] != "f"
    frame["key"] = frame["key"].where(~others, -1)
    table = dc.tabulate(dc.read_microdata(frame, record_key="key"), spanning=["sex"], where={"sex": ["f"]})
    assert table.contributions.key[table.cell()] == frame["key"][~others].sum() % 2**32
