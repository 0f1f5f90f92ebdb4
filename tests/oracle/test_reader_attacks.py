"""What a reader, an owner or a plan with a gap could once work out: each was found by attacking published files."""

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.audit import audit
from discreet.testing import small_table

TREE = dc.Hierarchy.from_parents([("A", "A1"), ("A", "A2"), ("B", "B1"), ("B", "B2")])


def kinds(table: dc.Table) -> set[str]:
    return {finding.kind for finding in audit(table).findings}


def test_totals_left_out_between_a_total_and_its_leaves_hide_nothing() -> None:
    """Total, A1, A2, B1 and B2 without A and B: the lone hidden leaf is the total less the others."""
    lines = {"c": ["Total", "A1", "A2", "B1", "B2"], "value": [100, 10, 20, 30, 40], "n": [20, 1, 5, 6, 8], "s": list("SUSSS")}
    table = dc.read_given(pd.DataFrame(lines), spanning={"c": TREE}, n="n", status="s")
    assert kinds(table) == {"exact"}
    done = dc.protect(table, [dc.GaussSuppression()])
    assert dc.publish(done).to_pandas()["c"].tolist() == lines["c"], "the release has the given lines and no others"
    assert done.secondary.sum() == 1


def test_missing_leaves_below_a_given_total_are_an_error_at_any_depth() -> None:
    lines = {"c": ["Total", "A1", "A2", "B1"], "value": [100, 10, 20, 30], "n": [20, 1, 5, 6]}
    with pytest.raises(dc.AdditivityError, match="c=Total"):
        dc.read_given(pd.DataFrame(lines), spanning={"c": TREE}, n="n")


def test_a_line_that_is_one_cell_with_a_total_left_out_is_listed_once() -> None:
    tree = dc.Hierarchy.from_parents([("A", "A1"), ("B", "B1"), ("B", "B2")])
    lines = {"c": ["Total", "A1", "B1", "B2"], "value": [60, 10, 20, 30], "n": [20, 9, 5, 6]}
    table = dc.read_given(pd.DataFrame(lines), spanning={"c": tree}, n="n")
    assert dc.publish(table).to_pandas()["c"].tolist() == lines["c"]


def test_subtotals_not_listed_do_not_hide_the_sum_of_small_cells() -> None:
    """A and B are left out, A1 and B1 have one contributor each: their sum is the total less A2 and B2."""
    leaves = {"A1": 1, "A2": 9, "B1": 1, "B2": 9}
    codes = [code for code, n in leaves.items() for _ in range(n)]
    table = dc.tabulate(dc.read_microdata(pd.DataFrame({"c": codes, "y": 5.0})), spanning={"c": TREE}, response="y")
    table = dc.unlist(table, [{"c": "A"}, {"c": "B"}]).with_intruder(dc.Intruder(insiders="none"))
    table = dc.MinimumFrequency(n=3).apply(table)
    assert kinds(table) == {"union"}
    done = dc.protect(table, [dc.GaussSuppression()])
    assert audit(done).safe
    assert done.secondary.sum() == 1


def test_counts_are_never_negative_whatever_the_shadow() -> None:
    frame = pd.DataFrame({"a": list("xxyyyy"), "profit": [5, -7, 3, 4, -1, 2]})
    counts = dc.tabulate(dc.read_microdata(frame), spanning=["a"], shadow="profit")
    assert (counts.bounds()[0] == 0).all()
    assert (counts.replace(kind="magnitude").bounds()[0] == 0).all(), "nor is a response of which nothing negative is seen"
    losses = dc.tabulate(dc.read_microdata(frame), spanning=["a"], response="profit")
    assert np.isneginf(losses.bounds()[0]).all()


@pytest.mark.parametrize("none", [None, "", np.nan])
def test_a_unit_without_holding_is_one_contributor(none: object) -> None:
    frame = pd.DataFrame({"a": list("xxxyy"), "u": list("11234"), "h": [none, none, none, "g", "g"], "y": [50, 50, 3, 1, 1]})
    table = dc.tabulate(dc.read_microdata(frame, unit="u", holding="h"), spanning=["a"], response="y")
    cell = table.cell(a="x")
    assert table.contributions.holdings[cell] == 2
    assert table.contributions.top[cell, :2].tolist() == [100, 3]
    assert table.contributions.holdings[table.cell(a="y")] == 1


def test_holdings_without_numbers_are_no_common_holding() -> None:
    frame = pd.DataFrame({"a": list("xxx"), "h": [np.nan, np.nan, 7.0], "y": [50, 40, 3]})
    table = dc.tabulate(dc.read_microdata(frame, holding="h"), spanning=["a"], response="y")
    assert table.contributions.holdings[0] == 3


@pytest.mark.parametrize("response", ["y", None])
def test_a_sum_of_hidden_cells_counts_each_unit_once(response: str | None) -> None:
    """The same two units make up x and y: their sum has two contributors, not four."""
    frame = pd.DataFrame({"a": [*"xxyy", *"z" * 9], "u": [*"1212", *"abcdefghi"], "y": 20.0})
    table = dc.tabulate(dc.read_microdata(frame, unit="u"), spanning=["a"], response=response)
    table = dc.MinimumFrequency(n=3).apply(table).with_intruder(dc.Intruder(insiders="none"))
    assert kinds(table) == {"union"}


def test_who_makes_up_a_total_makes_up_its_parts() -> None:
    """Two records without ids, alone in two cells of one row: as the pair of the row's total they know all three."""
    table = small_table([[5, 6, 0], [7, 8, 9]], n=[[1, 1, 0], [4, 4, 4]])
    row, parts = table.cell(v1="A"), [table.cell(v1="A", v2=code) for code in "ABC"]
    hidden = np.isin(np.arange(table.cells), [row, *parts])
    groups = table.replace(status=hidden.astype(np.int8)).insiders()
    assert sorted([row, *parts]) in [sorted(group.tolist()) for group in groups]
    assert {len(group) for group in groups} == {1, 4}


def test_whoever_makes_up_all_filled_parts_makes_up_the_total() -> None:
    """The owner of the only filled cell of a row knows the row's total, which is nobody else's."""
    table = small_table([[5, 0], [7, 8]], n=[[1, 0], [4, 4]])
    hidden = np.isin(np.arange(table.cells), [table.cell(v1="A"), table.cell(v1="A", v2="A"), table.cell(v1="A", v2="B")])
    (group,) = table.replace(status=hidden.astype(np.int8)).insiders()
    assert len(group) == 3


def test_weighted_sums_of_many_digits() -> None:
    frame = pd.DataFrame({"a": list("xy"), "y": [8_888_888_888.25, 1.5], "w": [9.123456789, 2.0]})
    table = dc.tabulate(dc.read_microdata(frame, weight="w"), spanning=["a"], response="y")
    assert table.value[table.cell(a="x")] == pytest.approx(8_888_888_888.25 * 9.123456789, rel=1e-15)


def test_published_decimals_below_zero_are_refused() -> None:
    records = dc.read_microdata(pd.DataFrame({"a": list("xy"), "y": [1.0, 2.0]}))
    with pytest.raises(dc.ParameterError, match="published_decimals"):
        dc.tabulate(records, spanning=["a"], response="y", published_decimals=-2)


def test_counts_are_known_to_be_whole() -> None:
    """Real intervals of these counts are wide enough, yet whole numbers leave a single table."""
    chance = np.random.default_rng(3)
    size = int(chance.integers(20, 60))
    frame = pd.DataFrame({v: chance.choice(list("abc"), size, p=chance.dirichlet([2, 2, 2])) for v in "uvw"})
    counts = dc.tabulate(dc.read_microdata(frame), spanning=list("uvw"), empty="possible")
    outsider = {"insiders": "none", "unions": False}
    methods = [dc.MinimumFrequency(n=3), dc.GaussSuppression()]
    real = dc.protect(counts.with_intruder(dc.Intruder(**outsider, integer=False)), methods)
    assert audit(real).safe
    assert kinds(real.with_intruder(dc.Intruder(**outsider))) == {"exact"}
    done = dc.protect(counts.with_intruder(dc.Intruder(**outsider)), methods)
    proof = audit(done)
    assert proof.safe
    assert (proof.integer_upper - proof.integer_lower >= 1).all()
    assert not dc.tabulate(dc.read_microdata(frame.assign(y=1)), spanning=["u"], response="y").intruder.integer
