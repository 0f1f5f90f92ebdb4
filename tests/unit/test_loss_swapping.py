"""What swapping cost, against counting by hand."""

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest

from discreet.errors import InputError
from discreet.io.microdata import read_microdata
from discreet.loss.swapping import swap_loss
from discreet.microdata.protect.swap.chance import RandomSwap
from discreet.microdata.protect.swap.rank import RankSwap
from discreet.microdata.protect.swap.start import start_swap
from discreet.model.keys import Secret
from discreet.model.margins import Margins
from discreet.model.swap_file import SwapFile, Swapped

SECRET = Secret("0123456789abcdef0123456789abcdef")


def records(n: int = 1000) -> pd.DataFrame:
    chance = np.random.default_rng(8)
    income = np.exp(chance.normal(3, 1, n))
    wealth = np.round(income * chance.uniform(2, 4, n), 2)
    wealth[::9] = np.nan
    return pd.DataFrame(
        {
            "id": [f"p{i}" for i in range(n)],
            "sex": chance.choice(["f", "m"], n),
            "job": chance.choice(["a", "b", "c", "d", ""], n, p=[0.5, 0.3, 0.1, 0.05, 0.05]),
            "region": chance.choice(["N", "S", "E"], n),
            "income": np.round(income, 2),
            "wealth": wealth,
            "weight": chance.uniform(1, 5, n),
        }
    )


def started(frame: pd.DataFrame, **roles: Any) -> SwapFile:
    return start_swap(read_microdata(frame, unit="id", **roles), SECRET)


def released(file: SwapFile, frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The true and the swapped records in the order of keys."""
    true = frame.iloc[file.rows].reset_index(drop=True)
    now = true.copy()
    for column, origin in file.origin.items():
        now[column] = true[column].to_numpy()[origin]
    return true, now


def test_margins_against_counting_by_hand() -> None:
    frame = records()
    swapped = RandomSwap(columns=("job", "region"), rate=0.4).apply(started(frame))
    true, now = released(swapped, frame)
    sets = [("sex", "job"), ("region", "job"), ("job",), ("sex", "region", "job"), ("region", "sex")]
    loss = swap_loss(swapped, sets)
    assert [each.variables for each in loss.margins] == sets
    for each in loss.margins:
        before, after = (Counter(held[list(each.variables)].itertuples(index=False)) for held in (true, now))
        change = np.array([after[cell] - before[cell] for cell in before | after])
        roots = np.array([np.sqrt(after[cell]) - np.sqrt(before[cell]) for cell in before | after])
        assert each.cells == len(change)
        assert each.changed == np.count_nonzero(change)
        assert each.largest == np.abs(change).max()
        assert each.moved == np.abs(change).sum() / 2
        assert each.hellinger == pytest.approx(np.sqrt((roots**2).sum() / 2))
        assert each.share == each.changed / each.cells
        assert each.hellinger_utility == pytest.approx(1 - each.hellinger / np.sqrt(1000))
    by_name = {each.variables: each for each in loss.margins}
    assert by_name[("sex", "job")].changed > 0
    assert by_name[("region", "job")].changed == by_name[("job",)].changed == 0  # both columns move together
    assert by_name[("job",)].hellinger_utility == 1


def test_a_cell_that_only_one_side_has() -> None:
    frame = pd.DataFrame({"id": range(4), "a": list("xxyy"), "b": list("uuvv")})
    file = started(frame)
    place = {int(row): i for i, row in enumerate(file.rows)}
    origin = np.arange(4)
    origin[[place[0], place[2]]] = [place[2], place[0]]
    swapped = file.moved({"b": origin}, Swapped(method="by hand", columns=("b",), margins=None, facts={}))
    (margin,) = swap_loss(swapped, [("a", "b")]).margins
    assert (margin.cells, margin.changed, margin.largest, margin.moved, margin.size) == (4, 4, 1, 2, 4)
    assert margin.hellinger == pytest.approx(np.sqrt(((np.sqrt(2) - 1) ** 2 * 2 + 2) / 2))


def test_records_and_values_that_moved() -> None:
    frame = records()
    file = RankSwap(columns=("wealth",), p=10).apply(RandomSwap(columns=("job", "region"), rate=0.2).apply(started(frame)))
    loss = swap_loss(file, [], numbers=["wealth"])
    true, now = released(file, frame)
    columns = ["job", "region", "wealth"]
    differ = (true[columns] != now[columns]) & ~(true[columns].isna() & now[columns].isna())
    moved = {column: file.origin[column] != np.arange(1000) for column in columns}
    told = {each.column: (each.swapped, each.changed) for each in loss.columns}
    assert told == {column: (moved[column].sum(), differ[column].sum()) for column in columns}
    assert loss.records == 1000
    assert loss.swapped == (moved["job"] | moved["wealth"]).sum()
    assert loss.changed == differ.any(axis=1).sum()
    assert loss.values_changed == differ.to_numpy().sum()
    assert loss.distance == pytest.approx(differ.to_numpy().sum() / differ.any(axis=1).sum())
    assert loss.swapped_share == loss.swapped / 1000 > loss.changed_share == loss.changed / 1000
    as_codes = swap_loss(file, [])
    assert as_codes.columns == loss.columns


def test_numbers_means_and_correlations() -> None:
    frame = records()
    file = RankSwap(columns=("income", "wealth"), p=15).apply(started(frame, weight="weight"))
    loss = swap_loss(file, [], numbers=["income", "wealth"], by=["sex", "region"])
    true, now = released(file, frame)
    for each in loss.numbers:
        before, after = true[each.column], now[each.column]
        held = ~before.isna()
        assert each.values == held.sum()
        assert each.changed == (before != after)[held].sum()
        assert each.mean_change == pytest.approx((after - before).abs().mean())
        assert each.deviation == pytest.approx(before.std(ddof=0))
        assert each.relative_change == pytest.approx(each.mean_change / each.deviation)
        assert each.mean_before == pytest.approx(np.average(before[held], weights=true["weight"][held]))
        assert each.mean_after == pytest.approx(np.average(after[held], weights=true["weight"][held]))
    (relation,) = loss.correlations
    assert (relation.first, relation.second) == ("income", "wealth")
    assert relation.before == pytest.approx(true["income"].corr(true["wealth"]))
    assert relation.after == pytest.approx(now["income"].corr(now["wealth"]))
    assert relation.after < relation.before
    assert [(each.column, each.by) for each in loss.means] == [
        ("income", "sex"),
        ("income", "region"),
        ("wealth", "sex"),
        ("wealth", "region"),
    ]
    for means in loss.means:
        change = now.groupby(means.by)[means.column].mean() - true.groupby(means.by)[means.column].mean()
        change = change.abs() / true[means.column].std(ddof=0)
        assert means.groups == len(change)
        assert means.largest == pytest.approx(change.max())
        assert means.root_mean_square == pytest.approx(np.sqrt((change**2).mean()))


def test_weights_that_moved_count_where_they_are_now() -> None:
    frame = records()
    file = RandomSwap(columns=("weight",), rate=1.0).apply(started(frame, weight="weight"))
    (number,) = swap_loss(file, [], numbers=["income"]).numbers
    true, now = released(file, frame)
    assert number.mean_before == pytest.approx(np.average(true["income"], weights=true["weight"]))
    assert number.mean_after == pytest.approx(np.average(now["income"], weights=now["weight"]))
    assert number.mean_before != number.mean_after


def test_without_weights_the_mean_stays_exactly() -> None:
    file = RankSwap(columns=("wealth",), p=50).apply(started(records()))
    (number,) = swap_loss(file, [], numbers=["wealth"]).numbers
    assert number.mean_before == number.mean_after


def test_a_larger_p_costs_more() -> None:
    file = started(records())
    kept = []
    for p in (1, 10, 60):
        loss = swap_loss(RankSwap(columns=("income",), p=p).apply(file), [], numbers=["income", "wealth"])
        kept.append(loss.correlations[0].after)
    assert kept == sorted(kept, reverse=True)
    assert kept[0] > 0.8
    assert kept[2] < 0.5


def test_nothing_moved() -> None:
    loss = swap_loss(started(records()), Margins.of(["sex", "job"], [["sex", "job"]]), numbers=["income"], by=["sex"])
    assert (loss.swapped, loss.changed, loss.distance, loss.columns) == (0, 0, 0.0, ())
    assert loss.margins[0].changed == 0
    assert loss.numbers[0].changed == 0
    assert loss.means[0].largest == 0
    assert loss.correlations == ()


def test_constant_and_disjoint_columns() -> None:
    frame = records(50).assign(one=0.1, early=[1.0 * i if i < 25 else np.nan for i in range(50)])
    frame["late"] = [1.0 * i if i >= 25 else np.nan for i in range(50)]
    loss = swap_loss(started(frame), [], numbers=["one", "early", "late"], by=["region"])
    assert all(np.isnan(each.before) for each in loss.correlations)
    assert loss.numbers[0].relative_change == 0
    assert loss.means[0].largest == 0


def test_the_order_of_records_changes_no_digit() -> None:
    frame = records()
    method = RankSwap(columns=("income",), p=10)
    first, again = (
        swap_loss(method.apply(started(held)), ["job"], numbers=["income", "wealth"], by=["region"])
        for held in (frame, frame.sample(frac=1, random_state=3))
    )
    assert first.rows() == again.rows()
    assert (first.numbers, first.correlations, first.means) == (again.numbers, again.correlations, again.means)


def test_rows_are_plain() -> None:
    swapped = RandomSwap(columns=("job",), rate=0.5).apply(started(records()))
    (row,) = swap_loss(swapped, [("sex", "job")]).rows()
    assert row["variables"] == "sex × job"
    assert row["share"] == row["changed"] / row["cells"]  # type: ignore[operator]  # both are numbers


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"margins": [("sex", "sex")]}, "names a column twice"),
        ({"margins": [()]}, "is empty"),
        ({"margins": [("sex", "age")]}, "no column 'age'"),
        ({"margins": [], "numbers": ["income", "income"]}, "names a column twice"),
        ({"margins": [], "numbers": ["region"]}, "hold text where a number"),
        ({"margins": [], "by": ["region"]}, "no numbers are named"),
        ({"margins": [], "numbers": ["empty"]}, "holds no number"),
    ],
)
def test_what_cannot_be_compared(settings: dict[str, Any], part: str) -> None:
    file = started(records().assign(empty=np.nan))
    with pytest.raises(InputError, match=part):
        swap_loss(file, **settings)


def test_weights_that_cannot_be() -> None:
    frame = records()
    frame.loc[3, "weight"] = np.nan
    with pytest.raises(InputError, match="the weights"):
        swap_loss(started(frame, weight="weight"), [], numbers=["income"])


def test_no_value_is_shown() -> None:
    frame = records()
    frame.loc[0, "income"] = 7919370.25
    file = RankSwap(columns=("income", "wealth"), p=20).apply(started(frame))
    loss = swap_loss(file, [("sex", "job")], numbers=["income", "wealth"], by=["region"])
    shown = repr(loss) + repr(loss.numbers) + repr(loss.margins) + repr(loss.correlations) + repr(loss.means)
    assert "7919370" not in shown
    assert "." not in shown.replace("...", "")
