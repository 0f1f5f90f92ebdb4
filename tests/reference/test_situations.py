"""Situations that people met in this work, rebuilt small, from input to release; the numbers are worked by hand."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.audit import audit
from discreet.model.table import Table
from discreet.testing import small_table

SUPPRESSION = (dc.GaussSuppression(), dc.ExactSuppression())
both_methods = pytest.mark.parametrize("method", SUPPRESSION, ids=lambda method: method.NAME)


def one_way(values: Mapping[str, float], **given: Any) -> Table:
    """A one-way table with its total."""
    flat = dc.Hierarchy.flat(values)
    return small_table(list(values.values()), variables=["branch"], hierarchies=[flat], **given)


def with_status(table: Table, status: str, *codes: str, **settings: Any) -> Table:
    entries = tuple({"codes": {"branch": code}, "status": status} | settings for code in codes)
    return dc.APriori(entries=entries).apply(table)


def hidden(table: Table) -> set[str]:
    layout = table.layouts[0]
    names = ["/".join(codes) for codes in zip(*(layout.column(v) for v in range(len(layout.variables))), strict=True)]
    return {name for name, cell in zip(names, layout.cell, strict=True) if table.suppressed[cell]}


def interval(table: Table, code: str) -> tuple[float, float]:
    proof = audit(table)
    at = int(np.flatnonzero(proof.cell == table.cell(branch=code))[0])
    return float(proof.lower[at]), float(proof.upper[at])


@both_methods
def test_s01_the_sum_of_the_hidden_cells_is_still_below_the_threshold(method: Any) -> None:
    table = one_way({"A": 17, "B": 4, "C": 5}, kind="frequency")
    only_primaries = dc.MinimumFrequency(n=11).apply(table)
    assert [finding.kind for finding in audit(only_primaries).findings if finding.kind == "union"] == ["union"]
    assert hidden(dc.protect(table, [dc.MinimumFrequency(n=11), method])) == {"A", "B", "C"}


@both_methods
def test_s02_a_zero_is_no_partner_for_a_zero(method: Any) -> None:
    table = with_status(one_way({"A": 0, "B": 0, "C": 0}, n=[3, 3, 3]), "unsafe", "A")
    protected = dc.protect(table, [method])
    assert {"A", "Total"} <= hidden(protected)
    assert interval(protected, "A") == (0, np.inf)


@both_methods
def test_s03_the_partner_of_a_zero_is_a_cell_that_can_move(method: Any) -> None:
    table = with_status(one_way({"A": 11, "B": 7, "C": 0, "D": 0}), "unsafe", "C")
    protected = dc.protect(table, [method])
    assert hidden(protected) == {"B", "C"}
    assert interval(protected, "C") == (0, 7)


@both_methods
def test_s04_cells_known_not_to_be_empty_need_a_third_one(method: Any) -> None:
    ones = with_status(one_way({"A": 9, "B": 5, "C": 1, "D": 1}, kind="frequency"), "unsafe", "C", "D", range=0.0)
    outsider = dc.Intruder(insiders="none", unions=False)
    assert interval(ones.with_intruder(outsider), "C") == (0, 2)
    knowing = ones.with_intruder(dc.Intruder(insiders="none", unions=False, nonempty=True))
    assert interval(knowing, "C") == (1, 1)
    assert hidden(dc.protect(knowing, [method])) == {"B", "C", "D"}


@both_methods
@pytest.mark.parametrize("singletons", [2, 3, 4])
def test_s05_any_number_of_singletons_in_a_line(method: Any, singletons: int) -> None:
    values = {f"s{i}": 50.0 * (i + 1) for i in range(singletons)} | {"rest": 350.0}
    table = one_way(values, n=[1] * singletons + [9])
    table = with_status(table, "unsafe", *list(values)[:singletons], range=0.0).with_intruder(dc.Intruder(unions=False))
    if singletons == 2:
        assert {finding.kind for finding in audit(table).findings} == {"insider"}
    protected = dc.protect(table, [method])
    assert audit(protected).safe
    assert ("rest" in hidden(protected) or "Total" in hidden(protected)) == (singletons == 2)


@both_methods
def test_s06_the_union_of_the_hidden_cells_fails_dominance(method: Any) -> None:
    firms = {"B05": [900], "B06": [40, 10], "B07": [30, 20], "B08": [300, 200, 100], "B09": [30, 25, 25, 20]}
    top = [[*values, 0, 0, 0, 0][:4] for values in firms.values()]
    table = one_way({code: sum(values) for code, values in firms.items()}, n=[len(v) for v in firms.values()], top=top)
    table = dc.Dominance(n=1, k=80).apply(table)
    assert hidden(table) == {"B05"}
    assert "B08" in hidden(dc.protect(table, [method]))


def test_s08_one_county_in_a_region_is_one_cell_under_two_codes() -> None:
    levels = pd.DataFrame({"county": ["1", "1", "4", "10", "10"], "region": list("AIBJK"), "freq": [11, 3, 7, 9, 4]})
    records = dc.read_microdata(levels, count="freq")
    table = dc.tabulate(records, spanning={"region": ["county", "region"]})
    table = dc.APriori(entries=({"codes": {"region": "B"}, "status": "unsafe"},)).apply(table)
    assert {"B", "4"} <= hidden(table)
    shown = dc.publish(dc.protect(table, [dc.GaussSuppression()])).to_columns()
    status = dict(zip(shown["region"], shown["status"], strict=True))
    assert status["B"] == status["4"] == "suppressed"


def test_s13_weights_make_more_decimals_than_the_response_has() -> None:
    frame = pd.DataFrame({"cell": list("abc"), "x": [12.35] * 3, "w": [1.25] * 3})
    table = dc.tabulate(dc.read_microdata(frame, weight="w"), spanning=["cell"], response="x")
    assert table.value[table.cell()] == 46.3125
    assert np.abs(table.equations @ table.value).max() == 0
    shown = dc.publish(table).to_columns()
    assert dict(zip(shown["cell"], shown["x"], strict=True)) == {"Total": 46.31, "a": 15.44, "b": 15.44, "c": 15.44}


@both_methods
def test_s14_forced_cells_that_leave_no_way_are_named_at_once(method: Any) -> None:
    table = with_status(one_way({"A": 7, "B": 3}), "unsafe", "B")
    table = with_status(table, "protected", "A", "Total")
    with pytest.raises(dc.NotProtectedError, match="branch=B") as refused:
        dc.protect(table, [method])
    named = {(line["cell"], line["role"]) for line in refused.value.details}
    assert {("branch=B", "cannot be protected"), ("branch=A", "must be published")} <= named


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("firms", "sensitive"), [([100, 60, 5], True), ([100, 60, 15], False), ([100, -95, -15], False)])
def test_s17_s18_negative_values_are_judged_by_their_size(sign: int, firms: list[int], sensitive: bool) -> None:
    frame = pd.DataFrame({"branch": "A", "other": ["x"] * 3, "v": [sign * v for v in firms]})
    table = dc.tabulate(dc.read_microdata(frame), spanning=["branch"], response="v")
    assert dc.PPercent(p=10).apply(table).primary.tolist() == [sensitive]


@both_methods
def test_s18_a_table_of_negative_values_is_protected_and_published(method: Any) -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {"a": rng.choice(list("xyz"), 40), "b": rng.choice(list("mn"), 40), "v": -rng.lognormal(3, 2, 40).round(2)}
    )
    table = dc.tabulate(dc.read_microdata(frame), spanning=["a", "b"], response="v")
    protected = dc.protect(table, [dc.PPercent(p=20), method])
    assert protected.primary.any()
    assert dc.publish(protected).layouts


def test_s19_units_or_weighted_units() -> None:
    frame = pd.DataFrame({"a": ["x"] * 3, "w": [2.5, 3.0, 5.5]})
    table = dc.tabulate(dc.read_microdata(frame, weight="w"), spanning=["a"])
    assert dc.MinimumFrequency(n=10).apply(table).primary.all()
    assert not dc.MinimumFrequency(n=10, count="weighted").apply(table).primary.any()


@both_methods
def test_s23_last_years_pattern_and_costs_by_cell(method: Any) -> None:
    table = with_status(one_way({"X11": 40, "X12": 10, "X13": 20, "X14": 90}), "unsafe", "X12")
    assert hidden(dc.protect(table, [method])) == {"X12", "X13"}
    preferred = dc.APriori(entries=({"codes": {"branch": "X14"}, "cost": 1.0},)).apply(table)
    assert hidden(dc.protect(preferred, [method])) == {"X12", "X14"}
    kept = with_status(table, "secondary", "X14")
    assert hidden(dc.protect(kept, [method])) == {"X12", "X14"}


@both_methods
def test_s26_groups_that_do_not_nest(method: Any) -> None:
    tree = dc.Hierarchy.flat("BCFG").grouped([{"B_F": ["B", "C", "F"]}, {"B_C": ["B", "C"]}, {"C_F": ["C", "F"]}])
    table = small_table([40, 7, 25, 60], variables=["branch"], hierarchies=[tree])
    protected = dc.protect(with_status(table, "unsafe", "C"), [method])
    assert audit(protected).safe
    shown = {name for name, value in zip(*_columns(protected), strict=True) if not np.isnan(value)}
    assert not {"B_F", "B", "F"} <= shown
    assert not {"B_C", "B"} <= shown
    assert not {"C_F", "F"} <= shown


def _columns(table: Table) -> tuple[Sequence[str], Sequence[float]]:
    shown = dc.publish(table).to_columns()
    return shown["branch"], shown["value"]


@both_methods
def test_s29_five_spanning_variables(method: Any) -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({name: rng.choice(list("ab"), 60) for name in "uvwxy"}).assign(z=rng.lognormal(3, 1, 60).round(1))
    table = dc.tabulate(dc.read_microdata(frame), spanning=list("uvwxy"), response="z")
    options = {} if method.NAME == "gauss-suppression" else {"time_limit": 5.0}
    protected = dc.protect(table, [dc.MinimumFrequency(n=2), type(method)(**options)])
    assert protected.primary.any()
    assert audit(protected).safe


@both_methods
def test_s30_the_heading_gives_the_total(method: Any) -> None:
    table = one_way({"<18": 4, "18+": 236}, kind="frequency")
    unlisted = dc.unlist(table, [{"branch": "Total"}])
    headed = unlisted.replace(knowledge=(dc.header_total(unlisted),))
    alone = dc.MinimumFrequency(n=6).apply(headed)
    assert interval(alone, "<18") == (4, 4)
    assert hidden(dc.protect(headed, [dc.MinimumFrequency(n=6), method])) == {"<18", "18+"}
    assert hidden(dc.protect(unlisted, [dc.MinimumFrequency(n=6), method])) == {"<18"}


def test_s32_hidden_is_not_zero() -> None:
    table = one_way({"a": 0, "b": 3, "c": 12, "d": 40}, kind="frequency")
    protected = dc.protect(table, [dc.MinimumFrequency(n=6), dc.GaussSuppression()])
    names, values = _columns(protected)
    shown = dict(zip(names, values, strict=True))
    assert shown["a"] == 0
    assert np.isnan(shown["b"])
    assert np.isnan(shown["c"])


def test_s34_a_percentage_gives_the_hidden_count() -> None:
    table = one_way({"yes": 10, "no": 1240}, kind="frequency")
    table = dc.MinimumFrequency(n=11).apply(table).with_intruder(dc.Intruder(insiders="none", unions=False))
    table = with_status(table, "secondary", "no")
    assert audit(table).safe
    shown = table.replace(knowledge=(dc.percentages(table, of="branch", decimals=1, hidden=True),))
    low, high = interval(shown, "yes")
    assert 9 < low <= 10 <= high < 11
    finer = table.replace(knowledge=(dc.percentages(table, of="branch", decimals=2, hidden=True),))
    assert {finding.kind for finding in audit(finer).findings} == {"exact"}


def test_s36_the_same_cell_twice_is_refused() -> None:
    frame = pd.DataFrame({"branch": ["A", "A", "B"], "kind": ["x"] * 3, "freq": [3, 4, 9]})
    with pytest.raises(dc.InputError, match="same codes"):
        dc.read_given(frame, spanning={"branch": None, "kind": None}, value="freq", kind="frequency", totals="compute")
    assert dc.tabulate(dc.read_microdata(frame, count="freq"), spanning=["branch"]).value.tolist() == [16, 7, 9]


CODES = ["01.1", "Nuenen, Gerwen", "Zürich", "A;B", '"q"', "  pad", "@x"]


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_i01_codes_of_any_kind_survive_from_file_to_file(tmp_path: Path, delimiter: str) -> None:
    frame = pd.DataFrame({"branch": np.repeat(CODES, 5), "v": np.arange(5 * len(CODES)) + 1})
    frame.to_csv(tmp_path / "records.csv", index=False, sep=delimiter)
    table = dc.tabulate(dc.read_microdata(tmp_path / "records.csv"), spanning=["branch"], response="v")
    dc.write_published(dc.publish(dc.protect(table, [dc.PPercent(p=10), dc.GaussSuppression()])), tmp_path, delimiter=delimiter)
    back = pd.read_csv(tmp_path / "table.csv", sep=delimiter, dtype=str)
    assert set(back["branch"]) == {"Total", *CODES}


def test_o08_entities_are_counted_not_rows() -> None:
    frame = pd.DataFrame({"a": ["x"] * 12, "firm": ["f1", "f2"] * 6, "v": range(12)})
    table = dc.tabulate(dc.read_microdata(frame, unit="firm"), spanning=["a"], response="v")
    assert table.contributions.n.tolist() == [2]
    assert dc.MinimumFrequency(n=3).apply(table).primary.all()
