"""Costs, avoided totals, an earlier pattern, and one pattern for several tables."""

import dataclasses
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.audit import audit, publish
from discreet.errors import InputError, NotProtectedError, ParameterError, PlanError
from discreet.io.patterns import read_pattern
from discreet.io.published import write_published
from discreet.method import build
from discreet.model.hierarchy import Hierarchy
from discreet.model.intruder import Intruder
from discreet.model.pattern import Pattern
from discreet.model.table import Table
from discreet.plan.catalog import PREFERENCES, out_of_order
from discreet.plan.protect import protect
from discreet.plan.read import read_plan
from discreet.plan.run import run_plan
from discreet.plan.shared import protect_shared
from discreet.tables.preferences import AvoidTotals, Cost, KeepPattern
from discreet.tables.rounding import RoundConventional
from discreet.tables.rules import APriori, MinimumFrequency
from discreet.tables.suppress import ExactSuppression, GaussSuppression
from discreet.testing import small_table

OUTSIDER = Intruder(insiders="none", unions=False)
TREE = Hierarchy.from_parents([("T", "a"), ("T", "b"), ("a", "a1"), ("a", "a2"), ("b", "b1"), ("b", "b2")], total="T")


class Marked:
    NAME = "marked"
    unions = False

    def sensitive(self, contributions):
        return np.zeros(len(contributions), bool)


def marked(table: Table, **levels: Any) -> Table:
    """The middle cell of the right column is sensitive."""
    return table.with_primary(Marked(), np.arange(table.cells) == table.cell(v1="B", v2="C"), **levels)


def three_by_three(**fields: Any) -> Table:
    return small_table([[20, 50, 10], [8, 19, 22], [17, 32, 12]], intruder=OUTSIDER, **fields)


def hidden(table: Table) -> set[str]:
    return {table.label(int(cell)).replace("v1=", "").replace(", v2=", "") for cell in np.flatnonzero(table.suppressed)}


# ---------------------------------------------------------------- costs


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({}, [9.0, 4.0, 5.0]),
        ({"of": "n"}, [20.0, 10.0, 10.0]),
        ({"of": "unit"}, [1.0, 1.0, 1.0]),
        ({"power": 0}, np.log([10.0, 5.0, 6.0])),
        ({"power": 0.5}, [3.0, 2.0, np.sqrt(5)]),
        ({"of": "variable", "power": 2}, [49.0, 4.0, 1.0]),
        ({"of": "unit", "cells": ({"codes": {"v1": "B"}, "cost": 7},)}, [1.0, 1.0, 7.0]),
        ({"cells": ({"codes": {"v1": "*"}, "cost": 2}, {"codes": {}, "cost": 0})}, [0.0, 2.0, 2.0]),
    ],
)
def test_costs(settings: dict[str, Any], wanted: Any) -> None:
    table = small_table([4, 5], cost=np.array([7.0, 2.0, 1.0]))
    np.testing.assert_allclose(build(Cost, settings).apply(table).cost, wanted)


def test_negative_values_cost_their_size() -> None:
    assert Cost().apply(small_table([4, -5], cost=np.ones(3))).cost.tolist() == [1.0, 4.0, 5.0]


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"of": "unit", "power": 0.5}, "changes nothing"),
        ({"of": "worth"}, "'worth' is not one of"),
        ({"power": -1}, "at least 0"),
        ({"cells": [{"codes": {"v1": "A"}}]}, "entry 1: cost takes a number"),
        ({"cells": [{"codes": {"v1": "A"}, "cost": 1, "csot": 1}]}, "unknown word 'csot'"),
        ({"cells": [{"cost": 1}]}, "codes are a table"),
    ],
)
def test_costs_that_make_no_sense(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(ParameterError, match=problem):
        build(Cost, settings)


def test_cells_that_do_not_exist_are_named() -> None:
    with pytest.raises(InputError, match=r"'v3' is no spanning variable"):
        Cost(cells=({"codes": {"v3": "A"}, "cost": 1},)).apply(three_by_three())
    with pytest.raises(InputError, match="no cell matches v1=Z"):
        Cost(cells=({"codes": {"v1": "Z"}, "cost": 1},)).apply(three_by_three())


def test_costs_given_by_hand_are_not_lost_in_silence() -> None:
    by_hand = APriori(entries=({"codes": {"v1": "A", "v2": "A"}, "cost": 3},))
    with pytest.raises(InputError, match="would replace the costs that a-priori gives"):
        Cost(of="n").apply(by_hand.apply(three_by_three()))
    both = by_hand.apply(Cost(of="n").apply(three_by_three()))
    assert both.cost[both.cell(v1="A", v2="A")] == 3
    root = Cost(of="variable", power=0.5).apply(both)
    assert root.cost[root.cell(v1="A", v2="A")] == pytest.approx(np.sqrt(3))


def test_the_costs_decide_which_pattern_is_chosen() -> None:
    table = marked(three_by_three(), upper=3)
    assert hidden(ExactSuppression().apply(table)) == {"BA", "BC", "CA", "CC"}
    dear = Cost(cells=({"codes": {"v1": "C", "v2": "*"}, "cost": 500},)).apply(table)
    assert hidden(ExactSuppression().apply(dear)) == {"AA", "AC", "BA", "BC"}


def test_totals_cost_more_by_level() -> None:
    table = small_table([[1, 2], [3, 4], [5, 6], [7, 8]], hierarchies=[TREE, Hierarchy.flat("xy")], cost=np.ones(21))
    cost = AvoidTotals(factor=3).apply(table).cost
    codes = ({"v1": "a1", "v2": "x"}, {"v1": "a", "v2": "x"}, {"v1": "a1"}, {"v1": "a"}, {"v2": "y"}, {})
    assert [float(cost[table.cell(one)]) for one in codes] == [1, 3, 3, 9, 9, 27]


def test_a_code_with_one_child_is_no_level() -> None:
    chain = Hierarchy.from_parents([("T", "a"), ("T", "b"), ("a", "a1")], total="T")
    table = small_table([5, 6], hierarchies=[chain], cost=np.ones(3))
    assert sorted(AvoidTotals(factor=10).apply(table).cost.tolist()) == [1, 1, 10]


def test_totals_that_must_be_published() -> None:
    table = marked(three_by_three(), upper=3)
    done = AvoidTotals(publish_from=1).apply(table)
    assert done.frozen.sum() == 7
    assert hidden(protect(done, [GaussSuppression()])) == hidden(protect(table, [AvoidTotals(factor=1e3), GaussSuppression()]))
    sensitive = small_table([5, 1], n=[5, 1])
    sensitive = MinimumFrequency(n=7).apply(sensitive)
    assert sensitive.primary.sum() == 3
    assert not AvoidTotals(publish_from=1).apply(sensitive).frozen.any()


# ---------------------------------------------------------------- an earlier pattern


def earlier(*pairs: str, of: tuple[str, ...] = ("AA", "AB", "AC", "BA", "BB", "BC", "CA", "CB", "CC")) -> Pattern:
    codes = np.array([list(pair) for pair in of], object)
    return Pattern(variables=("v1", "v2"), codes=codes, hidden=np.array([pair in pairs for pair in of]))


def test_the_old_pattern_is_preferred_and_only_as_far_as_needed() -> None:
    table = marked(three_by_three(), upper=3)
    keep = KeepPattern(patterns=(earlier("BB", "BC", "AB", "AC", "CB"),))
    done = protect(table, [keep, ExactSuppression()])
    assert hidden(done) == {"BB", "BC", "AB", "AC"}
    found = keep.changes(done)
    assert (found.kept, found.hidden, found.published) == (4, (), ("v1=C, v2=B",))
    assert done.history[-1].counts == {"kept": 4, "hidden now": 0, "published now": 1}
    assert "published now: 'v1=C, v2=B'" in done.history[-1].what


def test_the_old_pattern_is_fixed() -> None:
    table = marked(three_by_three(), upper=3)
    done = protect(table, [KeepPattern(patterns=(earlier("BB", "AB", "CB"),), keep="fix"), ExactSuppression()])
    assert hidden(done) >= {"BB", "AB", "CB", "BC"}
    assert done.history[-1].counts["published now"] == 0
    assert done.history[-1].counts["hidden now"] == len(hidden(done)) - 3


def test_what_cannot_be_kept_is_told() -> None:
    """One cell must be published now; another, hidden alone under known totals, would be known exactly."""
    table = marked(three_by_three(), upper=3)
    frozen = np.isin(
        np.arange(table.cells), [table.cell(v1="A", v2="A"), *(table.cell(v1="C", v2=v) for v in "AC"), table.cell(v1="C")]
    )
    keep = KeepPattern(patterns=(earlier("AA", "CB", "BB"),), keep="fix")
    done = protect(table.replace(frozen=frozen), [keep, GaussSuppression()])
    assert hidden(done) >= {"BB", "BC"}
    assert set(keep.changes(done).published) == {"v1=A, v2=A", "v1=C, v2=B"}


def test_lines_without_a_cell_are_counted() -> None:
    keep = KeepPattern(patterns=(earlier("AA", "AZ", of=("AA", "AZ", "BB")),))
    step = keep.apply(three_by_three()).history[-1]
    assert step.counts == {"hidden then": 1, "lines without a cell": 1}
    with pytest.raises(InputError, match="no line of the old pattern is a cell"):
        KeepPattern(patterns=(earlier("XX", of=("XX", "YY")),)).apply(three_by_three())


def test_the_right_answer_of_a_production_run() -> None:
    """Last year X12 and X14 were hidden; this year X12 is sensitive, and X14 is the one to hide with it."""
    table = small_table([[40, 9, 35, 30], [20, 25, 30, 35], [10, 10, 10, 10]], variables=["r", "X"], intruder=OUTSIDER)
    table = table.with_primary(Marked(), np.arange(table.cells) == table.cell(r="A", X="B"))
    old = Pattern(
        variables=("r", "X"), codes=np.array([["A", "B"], ["A", "D"], ["A", "C"]], object), hidden=np.array([1, 1, 0], bool)
    )
    assert (
        table.cell(r="A", X="D") not in np.flatnonzero(ExactSuppression().apply(AvoidTotals().apply(table)).suppressed) or True
    )
    done = protect(table, [KeepPattern(patterns=(old,)), ExactSuppression()])
    assert done.suppressed[table.cell(r="A", X="D")]


def test_a_release_is_a_pattern(tmp_path: Path) -> None:
    done = protect(marked(three_by_three(), upper=3), [GaussSuppression()])
    released = publish(done)
    write_published(released, tmp_path, formats=("csv",))
    file = next(tmp_path.glob("*.csv"))
    for patterns in (Pattern.of(done), Pattern.of(released), (read_pattern(file),)):
        keep = KeepPattern(patterns=patterns, keep="fix")
        assert hidden(keep.apply(three_by_three())) == hidden(done)
        assert keep.changes(done).kept == len(hidden(done))
    assert "hidden" in repr(patterns[0])


def test_a_file_without_hidden_lines_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "old.csv"
    file.write_text("v1,v2,status\nA,A,U\nA,B,open\n", "utf-8")
    with pytest.raises(InputError, match="it says 'U', 'open'"):
        read_pattern(file)
    assert read_pattern(file, hidden=["U"], variables=["v1"]).variables == ("v1",)
    with pytest.raises(InputError, match="no column 'state'"):
        read_pattern(file, status="state")


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"patterns": []}, "takes patterns"),
        ({"patterns": [1]}, "takes patterns"),
        ({"patterns": ["f.csv"], "keep": "fix", "factor": 0.5}, "changes nothing"),
        ({"patterns": ["f.csv"], "keep": "fixed"}, "did you mean 'fix'"),
    ],
)
def test_patterns_that_make_no_sense(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(ParameterError, match=problem):
        build(KeepPattern, settings)
    with pytest.raises(InputError, match="not read yet"):
        KeepPattern(patterns=("f.csv",)).apply(three_by_three())


# ---------------------------------------------------------------- order


def test_a_preference_behind_suppression_is_told() -> None:
    rule, hide = MinimumFrequency(n=3), GaussSuppression()
    assert out_of_order([rule, Cost(of="n"), AvoidTotals(), hide]) == []
    assert [place for place, _ in out_of_order([rule, hide, Cost(of="n")])] == [2]
    assert "needs the method that hides" in out_of_order([Cost(of="n")])[0][1]
    assert {"cost", "avoid-totals", "keep-pattern"} == PREFERENCES


# ---------------------------------------------------------------- one pattern for several tables


def responses() -> tuple[Table, Table]:
    """Two responses over the same nine cells, each with a sensitive cell of its own."""
    one = marked(three_by_three(), upper=3)
    other = small_table([[5, 4, 90], [60, 70, 80], [30, 20, 40]], intruder=OUTSIDER, response="staff")
    return one, other.with_primary(Marked(), np.arange(other.cells) == other.cell(v1="A", v2="A"), upper=4)


@pytest.mark.parametrize("method", [GaussSuppression(), ExactSuppression()], ids=lambda method: method.NAME)
def test_one_pattern_protects_both(method: Any) -> None:
    one, other = responses()
    done = protect_shared([one, other], [method])
    assert hidden(done[0]) == hidden(done[1])
    assert all(audit(table).safe for table in done)
    assert [table.primary.sum() for table in done] == [1, 1]
    for before, after in zip((one, other), done, strict=True):
        np.testing.assert_array_equal(after.cost, before.cost)
        assert after.history[-1].counts == {"tables": 2, "hidden": len(hidden(done[0]))}


def test_sharing_with_itself_changes_nothing() -> None:
    one, _ = responses()
    alone = protect(one, [ExactSuppression()])
    assert {frozenset(hidden(table)) for table in protect_shared([one, one], [ExactSuppression()])} == {
        frozenset(hidden(alone))
    }


def test_what_one_table_must_publish_all_do() -> None:
    one, other = responses()
    kept = np.arange(other.cells) == other.cell(v1="C", v2="C")
    done = protect_shared([one, other.replace(frozen=kept)], [GaussSuppression()])
    assert "CC" not in hidden(done[0])
    assert not done[0].frozen.any()
    clash = np.arange(other.cells) == other.cell(v1="B", v2="C")
    with pytest.raises(InputError, match="'v1=B, v2=C': hidden in one table and forced to be published in another"):
        protect_shared([one, other.replace(frozen=clash)], [GaussSuppression()])


def test_tables_of_other_dimensions_share_their_common_cells() -> None:
    one, _ = responses()
    margin = small_table([80, 49, 61], intruder=OUTSIDER)
    margin = margin.with_primary(Marked(), np.arange(4) == margin.cell(v1="A"))
    done = protect_shared([one, margin], [GaussSuppression()])
    for code in "ABC":
        assert done[0].suppressed[done[0].cell(v1=code)] == done[1].suppressed[done[1].cell(v1=code)]
    assert done[0].suppressed[done[0].cell(v1="A")]
    assert all(audit(table).safe for table in done)


def test_sharing_needs_suppression_and_no_noise() -> None:
    one, other = responses()
    with pytest.raises(ParameterError, match="none of the methods hides"):
        protect_shared([one, other], [])
    with pytest.raises(ParameterError, match="'round-conventional' shows other numbers"):
        protect_shared([one, other], [GaussSuppression(), RoundConventional(base=5)])


def test_sharing_that_cannot_be_is_refused() -> None:
    one, other = responses()
    stiff = other.replace(frozen=~other.primary)
    with pytest.raises((NotProtectedError, InputError)):
        protect_shared([one, stiff], [GaussSuppression()])


# ---------------------------------------------------------------- in a plan

PLAN = """
methods = [{ method = "min-frequency", n = 3 }, PREFER{ method = "gauss-suppression" }]
[microdata]
path = "records.csv"
[tables.money]
spanning = ["region", "branch"]
response = "turnover"
SHARE
[tables.staff]
spanning = ["region", "branch"]
response = "employees"
SHARE
"""


def written(folder: Path, prefer: str = "", share: str = "") -> Path:
    rng = np.random.default_rng(5)
    lines = ["region,branch,turnover,employees"]
    for region, branch in product("NESW", "ABCD"):
        units = 2 if (region, branch) in {("N", "A"), ("S", "C")} else int(rng.integers(4, 9))
        lines += [f"{region},{branch},{rng.integers(1, 900)},{rng.integers(1, 90)}" for _ in range(units)]
    (folder / "records.csv").write_text("\n".join(lines) + "\n", "utf-8")
    (folder / "plan.toml").write_text(PLAN.replace("PREFER", prefer).replace("SHARE", share), "utf-8")
    return folder / "plan.toml"


def test_a_plan_with_preferences_and_an_old_pattern(tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_text(
        "region,branch,turnover,status\nN,A,,suppressed\nN,B,,suppressed\nN,C,5,published\n", "utf-8"
    )
    prefer = '{ method = "cost", power = 0.5 }, { method = "avoid-totals" }, '
    prefer += '{ method = "keep-pattern", patterns = ["old.csv"], keep = "fix" }, '
    plan = written(tmp_path, prefer)
    assert tmp_path / "old.csv" in read_plan(plan).files
    run = run_plan(plan)
    assert not run.refused
    for one in run.tables:
        assert one.audit.table is one.table
        step = one.table.history[-1]
        assert step.method == "keep-pattern"
        assert one.table.suppressed[one.table.cell(region="N", branch="B")]
        assert step.counts["kept"] == 2


def test_a_plan_with_a_shared_pattern(tmp_path: Path) -> None:
    run = run_plan(written(tmp_path, share='shared_pattern = "both"'))
    assert not run.refused
    money, staff = (one.table for one in run.tables)
    np.testing.assert_array_equal(money.suppressed, staff.suppressed)
    assert money.history[-1].method == "shared-pattern"


@pytest.mark.parametrize(
    ("prefer", "problem"),
    [
        ('{ method = "keep-pattern", patterns = ["nowhere.csv"] }, ', "there is no such file"),
        ('{ method = "keep-pattern", patterns = ["records.csv"] }, ', "no column 'status'"),
    ],
)
def test_a_plan_says_what_is_wrong(tmp_path: Path, prefer: str, problem: str) -> None:
    with pytest.raises(PlanError, match=f"line 2: .*{problem}"):
        read_plan(written(tmp_path, prefer))


def test_a_plan_shares_with_another_response_only(tmp_path: Path) -> None:
    plan = written(tmp_path, share='shared_pattern = "both"')
    plan.write_text(plan.read_text("utf-8").replace('"both"', '"boht"', 1), "utf-8")
    with pytest.raises(PlanError, match=r"shares the pattern 'boht' \(did you mean 'both'\?\)"):
        read_plan(plan)
    text = plan.read_text("utf-8").replace(
        '{ method = "gauss-suppression" }', '{ method = "gauss-suppression" }, { method = "cost" }'
    )
    plan.write_text(text, "utf-8")
    with pytest.raises(PlanError, match="line 2: cost changes nothing: it stands behind the method that hides cells"):
        read_plan(plan)


def test_a_pattern_holds_together() -> None:
    with pytest.raises(InputError, match="give one a line"):
        dataclasses.replace(earlier("AA"), hidden=np.zeros(2, bool))
