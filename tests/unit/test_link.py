"""Linked tables: one cell for each number, all equations together, and what cannot be linked."""

import dataclasses
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from scipy.optimize import linprog

import discreet as dc
from discreet.errors import InputError
from discreet.io.given import read_given
from discreet.io.hierarchies import read_hierarchy
from discreet.model.contributions import Contributions
from discreet.model.hierarchy import Hierarchy
from discreet.model.intruder import Intruder
from discreet.model.layout import Knowledge
from discreet.model.link import link
from discreet.model.table import Status, Table
from discreet.testing import assert_same_table, small_table


@dataclasses.dataclass(frozen=True, kw_only=True)
class Few:
    """A rule for these tests."""

    NAME: ClassVar[str] = "few"
    n: int = 3

    def sensitive(self, contributions: Contributions, /) -> Any:
        return contributions.n < self.n


def interval(table: Table, cell: int) -> tuple[float, float]:
    """How low and how high a cell can be for all an outsider knows."""
    hidden = np.flatnonzero(table.unknown)
    shown = np.where(table.unknown, 0.0, table.value)
    target = np.zeros(len(hidden))
    target[np.flatnonzero(hidden == cell)] = 1
    matrix = table.equations.toarray()
    ends = [linprog(sign * target, A_eq=matrix[:, hidden], b_eq=-matrix @ shown, bounds=(0, None)) for sign in (1, -1)]
    return ends[0].fun, -ends[1].fun


S07 = {"a": 2, "b": 6, "c": 3, "d": 4, "e": 7, "p1": 20, "p2": 15}


def one_way(groups: dict[str, list[str]], name: str) -> Table:
    tree = Hierarchy.from_parents([(group, leaf) for group, leaves in groups.items() for leaf in leaves])
    return small_table([S07[tree.codes[leaf]] for leaf in tree.leaves], variables=["v"], hierarchies=[tree]).replace(
        response=name
    )


T1 = {"g1": ["a", "b", "c", "p1"], "g2": ["d", "e", "p2"]}
T2 = {"h1": ["a", "b", "p1"], "h2": ["c", "d", "e", "p2"]}


def hide(table: Table, codes: str) -> Table:
    hidden = np.zeros(table.cells, bool)
    hidden[[table.cell(v=code) for code in codes]] = True
    return table.with_secondary("by hand", hidden)


def test_s07_each_table_is_safe_and_the_pair_is_not():
    first, second = one_way(T1, "x"), one_way(T2, "x")
    alone = hide(first, "abcde"), hide(second, "abcde")
    assert [interval(alone[0], alone[0].cell(v=code)) for code in "abcde"] == [(0, 11)] * 5
    assert [interval(alone[1], alone[1].cell(v=code)) for code in "ab"] == [(0, 8)] * 2
    assert [interval(alone[1], alone[1].cell(v=code)) for code in "cde"] == [(0, 14)] * 3
    together = link(*alone, names=["T1", "T2"])
    assert together.cells == 12
    assert together.equations.shape == (6, 12)
    assert interval(together, together.cell(v="c")) == pytest.approx((3, 3))
    subtotals = np.zeros(together.cells, bool)
    subtotals[[together.cell(v="g1"), together.cell(v="g2")]] = True
    wider = together.with_secondary("by hand", subtotals)
    assert interval(wider, wider.cell(v="c")) == pytest.approx((0, 14))


def test_s07_as_groupings_over_one_hierarchy():
    tree = Hierarchy.from_parents([(group, leaf) for group, leaves in T1.items() for leaf in leaves], groupings=[T2])
    table = hide(small_table([S07[tree.codes[leaf]] for leaf in tree.leaves], variables=["v"], hierarchies=[tree]), "abcde")
    linked = link(hide(one_way(T1, "value"), "abcde"), hide(one_way(T2, "value"), "abcde"), names=["T1", "T2"])
    rank = np.linalg.matrix_rank
    assert rank(table.equations.toarray()) == rank(linked.equations.toarray()) == 5
    assert interval(table, table.cell(v="c")) == pytest.approx((3, 3))


def test_s08_one_county_in_a_region_is_one_cell_under_two_codes():
    """The counties in one table, the municipalities in another that lists no counties at all."""
    tree = Hierarchy.from_parents([("c1", "A"), ("c1", "I"), ("c4", "B"), ("c10", "J"), ("c10", "K")])
    counties = {"area": ["Total", "c1", "c4", "c10"], "value": [34, 14, 7, 13], "n": [9, 3, 2, 4]}
    places = {
        "area": ["A", "B", "I", "J", "K"],
        "value": [11, 7, 3, 9, 4],
        "n": [2, 2, 1, 2, 2],
        "s": ["S", "U", "S", "S", "S"],
    }
    upper = read_given(counties, spanning={"area": tree}, n="n", name="counties")
    lower = read_given(places, spanning={"area": tree}, n="n", status="s", name="places")
    linked = link(upper, lower)
    assert linked.cells == 8
    assert linked.status[linked.cell(area="c4")] == Status.PRIMARY
    assert linked.cell(area="c4", table="counties") == linked.cell(area="B", table="places")
    assert [layout.name for layout in linked.layouts] == ["counties", "places"]
    # c1 = A + I, c10 = J + K follow from the hierarchy although no table shows both sides
    assert linked.equations.shape == (3, 8)
    flat = {"area": ["c1", "c4", "c10", "Total"], "value": [14, 7, 13, 34], "n": [3, 2, 4, 9]}
    unaware = link(read_given(flat, spanning=["area"], n="n", name="counties"), lower)
    assert unaware.status[unaware.cell(area="c4")] == Status.PRIMARY


def by(variables: str, values, **options) -> Table:
    return small_table(values, variables=list(variables), **options)


CUBE = np.arange(1.0, 25).reshape(2, 3, 4)
FLAT = {"a": Hierarchy.flat("AB"), "b": Hierarchy.flat("ABC"), "c": Hierarchy.flat("ABCD")}


def marginal(variables: str, **options) -> Table:
    away = tuple(i for i, name in enumerate("abc") if name not in variables)
    order = [name for name in "abc" if name in variables]
    values = np.moveaxis(CUBE.sum(axis=away), range(len(order)), [variables.index(name) for name in order])
    tens = np.moveaxis(np.full(CUBE.shape, 10.0).sum(axis=away), range(len(order)), [variables.index(name) for name in order])
    hierarchies = [FLAT[name] for name in variables]
    return by(variables, values, hierarchies=hierarchies, n=tens, **options)


def test_shared_margins_are_one_cell():
    linked = link(marginal("ab"), marginal("cb"), names=["ab", "cb"])
    assert linked.cells == 3 * 4 + 5 * 4 - 4
    for b in ("Total", "A", "B", "C"):
        assert linked.cell(b=b, table="ab") == linked.cell(b=b, table="cb")
    assert abs(linked.equations @ linked.value).max() == 0
    assert linked.history[-1].counts == {"tables": 2, "cells": 28, "shared": 4}


def test_linking_all_margins_of_a_cube_gives_no_more_than_the_cube():
    whole = marginal("abc")
    parts = link(marginal("ab"), marginal("bc"), marginal("ca"), names=["1", "2", "3"])
    linked = link(parts, whole, names=["1", "2", "3", "4"])
    assert linked.cells == whole.cells
    rank = np.linalg.matrix_rank
    assert rank(linked.equations.toarray()) == rank(whole.equations.toarray()) == whole.cells - 24


def test_a_coarse_and_a_fine_table_are_tied_by_the_hierarchy():
    """Sections in one table, divisions in the other; no table says that they add up, the hierarchies do."""
    coarse = Hierarchy.flat(["A", "B"])
    fine = Hierarchy.from_parents([("A", "A1"), ("A", "A2"), ("B", "B1"), ("B", "B2")])
    lines = {"nace": ["A1", "A2", "B1", "B2"], "value": [1, 2, 3, 4], "n": [2, 2, 2, 2]}
    below = read_given(lines, spanning={"nace": fine}, n="n", name="fine")
    above = by(["nace"], [3.0, 7.0], hierarchies=[coarse], n=[4.0, 4.0])
    linked = link(above, below)
    assert linked.cells == 7
    assert linked.equations.shape[0] == 3
    wrong = by(["nace"], [3.0, 8.0], hierarchies=[coarse], n=[4.0, 4.0])
    assert link(wrong, below).equations.shape[0] == 2


def test_statuses_levels_and_bounds_are_the_stronger_ones():
    first, second = marginal("ab"), marginal("bc")
    one, other = first.cell(b="A"), second.cell(b="A")

    def marked(table: Table, cell: int, **changes: float) -> Table:
        fields = {name: getattr(table, name).copy() for name in changes}
        for name, value in changes.items():
            fields[name][cell] = value
        return table.replace(**fields)

    first = marked(first, one, status=1, cost=1, upper_protection=5, lower_protection=1, lower=10, upper=300, listed=False)
    second = marked(second, other, status=2, cost=999, upper_protection=2, lower_protection=3, lower=20, exempt=True)
    linked = link(first, second, names=["ab", "bc"])
    cell = linked.cell(b="A")
    assert linked.status[cell] == 2
    assert linked.cost[cell] == 999
    assert (linked.upper_protection[cell], linked.lower_protection[cell]) == (5, 3)
    assert (linked.lower[cell], linked.upper[cell]) == (20, 300)
    assert linked.listed[cell]
    assert linked.exempt[cell]
    assert linked.primary.sum() == 1
    with pytest.raises(InputError, match="suppressed here and to be published there: 'a=Total, b=A and b=A, c=Total'"):
        link(marked(first, one, frozen=True), second, names=["ab", "bc"])


def test_rules_are_united_and_remember_where_they_fired():
    first, second = marginal("ab"), marginal("bc")
    hit = np.arange(first.cells) == first.cell(a="A", b="A")
    other = np.arange(second.cells) == second.cell(b="A")
    first = first.with_primary(Few(n=3), hit).with_primary(Few(n=4), hit)
    second = second.with_primary(Few(n=4), other).with_primary(Few(n=5), other)
    linked = link(first, second, names=["ab", "bc"])
    assert linked.rules == (Few(n=3), Few(n=4), Few(n=5))
    assert linked.fired[linked.cell(a="A", b="A")] == 0b011
    assert linked.fired[linked.cell(b="A")] == 0b110
    assert [step.method for step in linked.history] == ["few"] * 4 + ["link"]


def test_what_is_published_beside_the_cells_is_kept():
    def known(table: Table, cell: int, tied: int) -> Table:
        row = sparse.csr_array(([1.0], ([0], [cell])), shape=(1, table.cells))
        ends = np.array([table.value[cell]])
        fact = Knowledge(matrix=row, low=ends, high=ends, while_published=np.array([tied]), what=("header",))
        return table.replace(knowledge=(fact,))

    first, second = marginal("ab"), marginal("bc")
    linked = link(
        known(first, first.cell(a="A"), -1), known(second, second.cell(c="C"), second.cell(b="B")), names=["ab", "bc"]
    )
    for fact in linked.knowledge:
        assert fact.matrix @ linked.value == fact.low
    assert linked.knowledge[0].while_published.tolist() == [-1]
    assert linked.knowledge[1].while_published.tolist() == [linked.cell(b="B")]


def test_contributors_known_by_id_stay_known():
    first, second = marginal("ab"), marginal("bc")

    def with_ids(table: Table, ids: int) -> Table:
        cells = table.cells
        top = np.ones((cells, 1))
        of = Contributions.of(table.contributions.n, table.value, top=top, top_id=np.full((cells, 1), ids))
        return table.replace(contributions=of)

    linked = link(with_ids(first, -1), with_ids(second, 7), names=["ab", "bc"])
    assert linked.contributions.top_id[linked.cell(b="A"), 0] == 7
    assert linked.contributions.top_id[linked.cell(a="A", b="A"), 0] == -1
    with pytest.raises(InputError, match="differ in their contributors' ids"):
        link(with_ids(first, 6), with_ids(second, 7), names=["ab", "bc"])


def test_linking_with_a_part_of_itself_changes_nothing():
    table = marginal("ab")
    linked = link(table, table, names=["one", "two"])
    assert_same_table(table, linked.replace(layouts=linked.layouts[:1]))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"response": "profit"}, "differ in their response: 'value', 'profit'"),
        ({"kind": "frequency"}, "differ in their kind: 'magnitude', 'frequency'"),
        ({"intruder": Intruder(prior=10)}, "differ in their intruder\n"),
        ({"published_decimals": 0}, "differ in their published_decimals"),
    ],
)
def test_tables_of_different_kinds_are_not_linked(change, words):
    with pytest.raises(InputError, match=words):
        link(marginal("ab"), marginal("bc").replace(**change), names=["ab", "bc"])


def test_more_that_is_refused():
    with pytest.raises(InputError, match="1 table is given"):
        link(marginal("ab"))
    with pytest.raises(InputError, match="tables share a name: 'table', 'table'"):
        link(marginal("ab"), marginal("bc"))
    with pytest.raises(InputError, match="1 names are given for 2 tables"):
        link(marginal("ab"), marginal("bc"), names=["ab"])
    with pytest.raises(InputError, match="different numbers of largest contributions"):
        link(marginal("ab"), by("c", [1.0, 2], top=[[1.0], [2]]), names=["ab", "c"])


def test_numbers_that_disagree_are_named_and_not_shown():
    off = marginal("bc").replace(value=marginal("bc").value + 12345)
    with pytest.raises(InputError, match="differ in their value: 'b=Total, c=Total and a=Total, b=Total'") as caught:
        link(marginal("ab"), off, names=["ab", "bc"])
    assert "12345" not in str(caught.value) + repr(caught.value.details)
    assert len(caught.value.details) == 4
    more = marginal("bc")
    more = more.replace(contributions=dataclasses.replace(more.contributions, n=more.contributions.n + 1))
    with pytest.raises(InputError, match="differ in their number of contributors"):
        link(marginal("ab"), more, names=["ab", "bc"])


def test_codes_of_one_name_must_mean_the_same():
    one = Hierarchy.from_parents([("g", "a"), ("g", "b"), ("h", "c"), ("h", "d")])
    other = Hierarchy.from_parents([("g", "a"), ("g", "c"), ("k", "b"), ("k", "d")])
    with pytest.raises(InputError, match="variable 'v': codes stand for different codes in the tables: 'g'"):
        link(by("v", [1, 2, 3, 4], hierarchies=[one]), by("v", [1, 3, 2, 4], hierarchies=[other]), names=["1", "2"])
    finer = Hierarchy.from_parents([("g", "a"), ("a", "a1"), ("a", "a2"), ("g", "b"), ("h", "c"), ("Total", "d")])
    with pytest.raises(InputError, match="different codes in the tables: 'h'"):
        link(by("v", [1, 2, 3, 4], hierarchies=[one]), by("v", [1, 1, 2, 3, 4], hierarchies=[finer]), names=["1", "2"])
    with pytest.raises(InputError, match="'g' is the total of one table and a part in another"):
        link(
            by("v", [1, 2, 3, 4], hierarchies=[one]),
            by("v", [1, 2], hierarchies=[Hierarchy.flat("ab", total="g")]),
            names=["1", "2"],
        )


def test_a_finer_hierarchy_of_the_same_variable_fits():
    one = Hierarchy.from_parents([("g", "a"), ("g", "b"), ("h", "c"), ("h", "d")])
    finer = Hierarchy.from_parents([("g", "a"), ("a", "a1"), ("a", "a2"), ("g", "b"), ("h", "c"), ("h", "d")], total="T")
    left = by("v", [1, 2, 3, 4], hierarchies=[one], n=[20, 10, 10, 10])
    right = by("v", [0.25, 0.75, 2, 3, 4], hierarchies=[finer], decimals=2)
    linked = link(left, right, names=["1", "2"])
    assert linked.cells == 9
    assert linked.decimals == 2
    assert linked.equations.shape[0] == 4


def test_business_tables_are_linked(shared: Path):
    folder = shared / "data/argus/linked_business"
    activity = read_hierarchy(folder / "activity_corr_table.csv")
    nuts = read_hierarchy(folder / "nuts23_fr_corr_table.csv")
    east = nuts.grouped([{"Total_EAST": ["FR41", "FR42", "FR43"]}])
    trees = {"act": ("ACTIVITY", activity), "nuts": ("NUTS", east)}

    def table(rows: str, columns: str) -> Table:
        variable, tree = trees[rows]
        path = folder / f"turnover_{rows}_{columns.lower()}.csv"
        spanning = {variable: tree, columns: None}
        return read_given(path, spanning=spanning, value="TOT", n="N_OBS", top=["MAX"], name=f"{rows} {columns}")

    tables = [table(rows, columns) for rows in ("act", "nuts") for columns in ("SIZE", "CJ")]
    linked = link(*tables)
    assert linked.cells == sum(one.cells for one in tables) - linked.history[-1].counts["shared"]
    assert linked.cell(NUTS="FR41", table="nuts SIZE") == linked.cell(NUTS="FR41", table="nuts CJ")
    assert linked.cell(SIZE="tr1", table="nuts SIZE") == linked.cell(SIZE="tr1", table="act SIZE")
    assert abs(linked.equations @ linked.value).max() < 1e-6
    assert linked.cell(ACTIVITY="F", table="act CJ") == linked.cell(ACTIVITY="FZ", table="act SIZE")


def test_an_insider_is_known_again_in_another_table() -> None:
    """The only enterprise of a cell in one table is the only one of a cell in the other, and knows both."""
    frame = pl.DataFrame(
        {
            "unit": [f"u{i}" for i in range(9)],
            "a": ["x", *"yyyyzzzz"],
            "b": ["m", *"nnnnoooo"],
            "v": [5.0, *range(10, 18)],
        }
    )
    records = dc.read_microdata(frame, unit="unit")
    tables = [dc.tabulate(records, spanning=[name], response="v", name=name) for name in ("a", "b")]
    linked = link(*(dc.MinimumFrequency(n=2).apply(table) for table in tables))
    knows = [set(group.tolist()) for group in linked.insiders()]
    assert {linked.cell(table="a", a="x"), linked.cell(table="b", b="m")} in knows
