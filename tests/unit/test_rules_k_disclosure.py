"""Attribute and group disclosure in frequency tables."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from discreet.errors import InputError, ParameterError
from discreet.model.hierarchy import Hierarchy
from discreet.model.table import Table
from discreet.tables.rules import APriori, KDisclosure, MinimumFrequency
from discreet.testing import small_table


def marked(counts: Any, *, to: Table | None = None, hierarchy: Hierarchy | None = None, **settings: Any) -> Table:
    """A one-way table of these counts over ``illness`` after the rule."""
    table = to or small_table(counts, variables=["illness"], hierarchies=hierarchy and [hierarchy], kind="frequency")
    return KDisclosure(variable="illness", **settings).apply(table)


def seen(table: Table) -> set[str]:
    """The codes of the sensitive cells that layouts list."""
    layout = table.layouts[0]
    return {str(code) for code, cell in zip(layout.column(0), layout.cell, strict=True) if table.primary[cell]}


@pytest.mark.parametrize(
    ("counts", "k", "expected"),
    [
        ([6, 0], 0, {"A"}),
        ([5, 1], 1, {"A"}),
        ([5, 1], 0, set()),
        ([0, 0], 0, set()),
        ([0, 0], 5, set()),
        ([0, 7, 0], 0, {"B"}),
        ([3, 3], 2, set()),
        ([3, 3], 3, {"A", "B"}),
        ([1, 0], 1, {"A"}),
        ([5, 1, 1], 1, set()),
        ([5, 1, 1], 2, {"A"}),
    ],
)
def test_a_category_is_sensitive_when_all_but_k_fall_in_it(counts: list[int], k: int, expected: set[str]) -> None:
    assert seen(marked(counts, k=k)) == expected


def test_the_sum_of_the_other_categories_must_seem_able_to_exceed_k() -> None:
    before = small_table([5, 1, 0], variables=["illness"], kind="frequency")
    after = marked(None, to=before, k=1)
    assert after.cells == before.cells + 1
    rest = before.cells
    assert after.primary[rest]
    assert not after.listed[rest]
    assert after.listed[:rest].all()
    assert after.value[rest] == after.contributions.n[rest] == 1
    assert (after.upper_protection[rest], after.lower_protection[rest]) == (1, 0)
    np.testing.assert_allclose(after.equations @ after.value, 0)
    assert after.equations.shape == (before.equations.shape[0] + 1, after.cells)
    assert after.upper_protection[:rest].sum() == 0


def largest(table: Table, cell: int, hidden: np.ndarray) -> float:
    """How large an outsider must think the cell can be."""
    open_ = np.flatnonzero(~hidden)
    known = table.equations[:, open_] @ table.value[open_]
    unknown = np.flatnonzero(hidden)
    cost = -(unknown == cell).astype(float)
    found = linprog(cost, A_eq=table.equations[:, unknown], b_eq=-known, bounds=[(0, None)] * len(unknown))
    assert found.status in (0, 3)
    return float(-found.fun) if found.status == 0 else np.inf


def test_hiding_the_category_and_the_total_is_not_enough() -> None:
    """[6, 0, 0] with 6 and the group's total hidden still says that all are in the first category."""
    table = small_table([[6, 0, 0], [3, 4, 5]], variables=["group", "illness"], kind="frequency")
    after = KDisclosure(variable="illness").apply(table)
    rest = table.cells
    category, total = after.cell(group="A", illness="A"), after.cell(group="A")
    other, below = after.cell(group="A", illness="B"), after.cell(group="B", illness="A")
    margin, beside = after.cell(illness="A"), after.cell(group="B", illness="B")
    hidden = ~after.listed | after.primary
    assert sorted(np.flatnonzero(after.primary)) == [category, rest]
    poor = hidden.copy()
    poor[[total, margin, after.cell()]] = True
    good = hidden.copy()
    good[[other, below, beside]] = True
    assert largest(after, category, poor) > 6, "the category itself looks well protected"
    assert largest(after, rest, poor) < after.upper_protection[rest] == 1
    assert largest(after, rest, good) >= after.upper_protection[rest]


def test_every_group_is_judged_margins_included() -> None:
    table = small_table([[6, 0], [4, 0]], variables=["group", "illness"], kind="frequency")
    after = KDisclosure(variable="illness").apply(table)
    cells = {after.label(int(c)) for c in np.flatnonzero(after.primary & after.listed)}
    assert cells == {f"group={g}, illness=A" for g in ("A", "B", "Total")}
    assert after.cells == table.cells + 3


def test_large_groups_and_harmless_categories_are_passed_over() -> None:
    table = small_table([[6, 0, 0], [0, 40, 0]], variables=["group", "illness"], kind="frequency")

    def hit(**settings: Any) -> set[str]:
        after = KDisclosure(variable="illness", **settings).apply(table)
        return {after.label(int(c)) for c in np.flatnonzero(after.primary & after.listed)}

    assert hit() == {"group=A, illness=A", "group=B, illness=B"}
    assert hit(max_group=6) == {"group=A, illness=A"}
    assert hit(max_group=5.5) == set()
    assert hit(exempt=("A",)) == {"group=B, illness=B"}


def test_zeros_show_that_nobody_is_in_a_category() -> None:
    after = marked([5, 2, 0, 0], zeros=True, exempt=("D",))
    assert seen(after) == {"C"}
    cell = after.cell(illness="C")
    assert (after.upper_protection[cell], after.lower_protection[cell]) == (1, 0)
    assert seen(marked([5, 2, 0, 0])) == set()
    assert seen(marked([0, 0], zeros=True)) == set()


@pytest.mark.parametrize(
    ("counts", "width", "expected"),
    [
        ([0, 3, 3, 0], 1, set()),
        ([0, 3, 3, 0], 2, {"B", "C"}),
        ([3, 0, 3, 0], 2, set()),
        ([3, 0, 3, 0], 3, {"A", "C"}),
        ([3, 3], 2, set()),
        ([6, 0, 0], 2, {"A"}),
        ([2, 2, 2], 5, set()),
        ([2, 2, 2, 0], 5, {"A", "B", "C"}),
    ],
)
def test_runs_of_neighbouring_categories(counts: list[int], width: int, expected: set[str]) -> None:
    after = marked(counts, width=width)
    assert seen(after) == expected
    assert (after.cells > len(counts) + 1) is bool(expected)


def test_wider_runs_stay_protected_when_a_part_tells_as_much() -> None:
    """Hiding A and B of [6, 0, 0] still says that all are in A or B: with width 2 the rest is C alone as well."""
    after = marked([6, 0, 0], width=2)
    rests = {frozenset(np.flatnonzero(row[:4])) for row in after.equations.toarray()[-2:]}
    assert after.cells == 4 + 2
    assert rests == {frozenset({after.cell(illness="B"), after.cell(illness="C")}), frozenset({after.cell(illness="C")})}


def test_a_run_with_a_harmless_category_tells_nothing() -> None:
    assert seen(marked([0, 3, 3, 0], width=2, exempt=("C",))) == set()


def test_codes_of_a_tree_are_judged_at_every_level() -> None:
    """All in N without all in one part of N; all in N1, which says all in N too; nothing."""
    tree = Hierarchy.from_parents([("Total", "N"), ("Total", "S"), ("N", "N1"), ("N", "N2"), ("S", "S1"), ("S", "S2")])
    assert seen(marked([4, 3, 0, 0], hierarchy=tree)) == {"N"}
    assert seen(marked([4, 3, 0, 0], hierarchy=tree, exempt=("N",))) == set()
    assert seen(marked([4, 3, 0, 0], hierarchy=tree, exempt=("N1",))) == set()
    assert seen(marked([4, 0, 3, 0], hierarchy=tree)) == set()
    after = marked([7, 0, 0, 0], hierarchy=tree)
    assert seen(after) == {"N1"}
    parts = [{after.label(int(c)) for c in np.flatnonzero(row)} for row in after.equations.toarray()[-2:]]
    rests = [{label for label in part if not label.startswith("cell")} for part in parts]
    assert sorted(rests, key=len) == [{"illness=S1", "illness=S2"}, {"illness=N2", "illness=S1", "illness=S2"}]


def test_impossible_categories_count_as_absent() -> None:
    """Group A can only have illness A, so that all have it is no news; group B could have had B."""
    table = small_table([[6, 0], [4, 0]], variables=["group", "illness"], kind="frequency")
    layout = table.layouts[0]
    gone = table.cell(group="A", illness="B")
    keep = layout.cell != gone
    thinner = dataclasses.replace(layout, codes=layout.codes[keep], cell=layout.cell[keep])
    after = KDisclosure(variable="illness", zeros=True).apply(table.replace(layouts=(thinner,)))
    assert not after.primary[after.cell(group="A", illness="A")]
    assert not after.primary[gone]
    assert after.primary[after.cell(group="B", illness="A")]


def test_cells_declared_safe_are_passed_over() -> None:
    table = small_table([6, 0], variables=["illness"], kind="frequency")
    safe = APriori(entries=({"codes": {"illness": "A"}, "status": "safe"},)).apply(table)
    after = marked(None, to=safe)
    assert not after.primary.any()
    assert after.cells == safe.cells


def test_other_rules_follow() -> None:
    after = MinimumFrequency(n=3).apply(marked([5, 2, 0], k=2))
    assert seen(after) == {"A", "B"}
    assert after.fired[after.cell(illness="A")] == 1
    assert after.fired[after.cell(illness="B")] == 2


def test_weighted_counts_must_seem_able_to_exceed_k_by_a_decimal() -> None:
    after = marked(None, to=small_table([5.5, 0.5], variables=["illness"], kind="frequency", decimals=1), k=0.5)
    assert seen(after) == {"A"}
    assert after.upper_protection[-1] == pytest.approx(0.1)


def test_refusals() -> None:
    with pytest.raises(InputError, match="no frequency table"):
        KDisclosure(variable="v1").apply(small_table([5, 0]))
    with pytest.raises(InputError, match=r"'ilness' is no spanning variable \(did you mean 'illness'\?\)"):
        KDisclosure(variable="ilness").apply(small_table([5, 0], variables=["illness"], kind="frequency"))
    with pytest.raises((InputError, ParameterError), match="unknown code 'flue'"):
        marked([5, 0], exempt=("flue",))
