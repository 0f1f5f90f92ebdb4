"""One disclosure of each kind is planted; the audit finds it, and without the check that is for it the finding is gone."""

import dataclasses
from typing import ClassVar

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse

from discreet.audit import audit
from discreet.model.contributions import Contributions
from discreet.model.hierarchy import Hierarchy
from discreet.model.intruder import Intruder
from discreet.model.knowledge import header_total, percentages
from discreet.model.layout import Layout
from discreet.model.table import Table
from discreet.testing import small_table

few = settings(max_examples=30, deadline=None)
counts = st.integers(1, 400)
inner = st.lists(st.lists(counts, min_size=3, max_size=3), min_size=3, max_size=3)


@dataclasses.dataclass(frozen=True)
class AtLeast:
    """A frequency rule for tests: fewer units than n are sensitive."""

    n: float
    NAME: ClassVar[str] = "at-least"

    def sensitive(self, contributions: Contributions) -> NDArray[np.bool_]:
        return (contributions.n > 0) & (contributions.n < self.n)


@dataclasses.dataclass(frozen=True)
class Unjoined(AtLeast):
    """The same rule, not asked of sums."""

    unions: ClassVar[bool] = False


def hide(table: Table, primary: list[dict[str, str]], secondary: list[dict[str, str]] = ()) -> Table:
    status = np.zeros(table.cells, np.int8)
    status[[table.cell(codes) for codes in secondary]] = 1
    status[[table.cell(codes) for codes in primary]] = 2
    return table.replace(status=status)


def kinds(table: Table) -> set[tuple[str, int]]:
    result = audit(table)
    assert result.safe is (not result.findings)
    return {(finding.kind, finding.cell) for finding in result.findings}


def rectangle(rows: str = "AB", columns: str = "AB") -> list[dict[str, str]]:
    return [{"v1": a, "v2": b} for a in rows for b in columns]


@few
@given(inner)
def test_a_lone_cell_in_a_row(values: list[list[int]]) -> None:
    table = small_table(values)
    target = {"v1": "A", "v2": "A"}
    found = kinds(hide(table, [target], [{"v1": "B", "v2": "A"}, {"v1": "B", "v2": "B"}]))
    assert ("exact", table.cell(target)) in found
    assert kinds(hide(table, [target], rectangle()[1:])) == set()


@few
@given(st.lists(counts, min_size=7, max_size=7))
def test_two_linked_tables(values: list[int]) -> None:
    a, b, c, d, e, p1, p2 = (float(value) for value in values)
    names = ["a", "b", "c", "d", "e", "p1", "p2", "g1", "g2", "h1", "h2"]
    value = np.array([a, b, c, d, e, p1, p2, a + b + c + p1, d + e + p2, a + b + p1, c + d + e + p2])
    first = [[1, 1, 1, 0, 0, 1, 0, -1, 0, 0, 0], [0, 0, 0, 1, 1, 0, 1, 0, -1, 0, 0]]
    second = [[1, 1, 0, 0, 0, 1, 0, 0, 0, -1, 0], [0, 0, 1, 1, 1, 0, 1, 0, 0, 0, -1]]
    hierarchy = Hierarchy.flat(names, total="none")
    codes = np.arange(1, 12, dtype=np.int32)[:, None]
    layout = Layout(name="t", variables=("cell",), hierarchies=(hierarchy,), codes=codes, cell=np.arange(11))

    def table(rows: list[list[int]]) -> Table:
        status = np.array([1, 1, 2, 1, 1, 0, 0, 0, 0, 0, 0], np.int8)
        contributions = Contributions.of(np.full(11, 10.0), value)
        return Table.of((layout,), value, contributions, sparse.csr_array(np.array(rows, float)), status=status)

    assert ("exact", 2) in kinds(table(first + second))
    assert kinds(table(first)) == set()
    assert kinds(table(second)) == set()


@few
@given(inner, st.sampled_from([1, 2]))
def test_contributors_who_know_their_cell(values: list[list[int]], owners: int) -> None:
    table = small_table(values, n=[[owners, 1, 9], [9, 9, 9], [9, 9, 9]])
    hidden = hide(table, rectangle("A"), rectangle("B"))
    left, right = (table.cell(codes) for codes in rectangle("A"))
    want = {("insider", left), ("insider", right)}
    assert kinds(hidden) == want
    assert kinds(hidden.with_intruder(Intruder(insiders="none"))) == set()
    assert kinds(hidden.with_intruder(Intruder(insiders="singletons"))) == (want if owners == 1 else {("insider", left)})
    assert kinds(hide(table, rectangle("A", "ABC"), rectangle("B", "ABC"))) == set()


@few
@given(inner)
def test_an_insider_beyond_one_equation(values: list[list[int]]) -> None:
    """The owner is in another row and another column, yet all four corners move together."""
    table = small_table(values, n=[[1, 9, 9], [9, 1, 9], [9, 9, 9]])
    hidden = hide(table, [rectangle()[0], rectangle()[3]], rectangle()[1:3])
    result = audit(hidden)
    assert {f.cell for f in result.findings if f.kind == "insider"} == {table.cell(rectangle()[0]), table.cell(rectangle()[3])}
    assert result.standards["PS2"]
    assert not result.standards["PS2*"]
    assert not result.standards["full PS2*"]
    assert kinds(hidden.with_intruder(Intruder(insiders="none"))) == set()


@few
@given(counts, counts)
def test_a_zero_behind_a_zero(first: int, second: int) -> None:
    table = small_table([first, 0, 0, second])
    hidden = hide(table, [{"v1": "B"}], [{"v1": "C"}])
    assert kinds(hidden) == {("exact", table.cell(v1="B")), ("exact", table.cell(v1="C"))}
    assert kinds(hidden.with_intruder(Intruder(nonnegative=False))) == set()
    assert kinds(hide(table, [{"v1": "B"}], [{"v1": "D"}])) == set()


@few
@given(st.integers(1, 5), st.integers(1, 5), st.integers(11, 400))
def test_a_hidden_sum_below_the_threshold(first: int, second: int, third: int) -> None:
    table = small_table([third, first, second], kind="frequency").replace(rules=(AtLeast(11),))
    hidden = hide(table, [{"v1": "B"}, {"v1": "C"}]).with_intruder(Intruder(insiders="none"))
    findings = audit(hidden).findings
    assert [finding.kind for finding in findings] == ["union"]
    assert findings[0].together == (table.cell(v1="B"), table.cell(v1="C"))
    assert findings[0].rule == "at-least"
    assert findings[0].equation == 0
    assert kinds(hidden.with_intruder(Intruder(insiders="none", unions=False))) == set()
    assert kinds(hidden.replace(rules=(Unjoined(11),))) == set()
    third_too = hide(table, [{"v1": "B"}, {"v1": "C"}], [{"v1": "A"}]).with_intruder(Intruder(insiders="none"))
    assert kinds(third_too) == set()


@few
@given(counts, counts)
def test_a_total_in_the_heading(small: int, large: int) -> None:
    table = small_table([small, large])
    listed = np.ones(table.cells, bool)
    listed[table.cell({})] = False
    hidden = hide(table, [{"v1": "A"}]).replace(listed=listed)
    told = hidden.replace(knowledge=(header_total(hidden),))
    assert kinds(told) == {("exact", table.cell(v1="A"))}
    assert kinds(hidden) == set()


@few
@given(st.integers(3, 40), st.integers(600, 1200))
def test_percentages_beside_hidden_cells(small: int, large: int) -> None:
    table = small_table([small, large, large])
    target = table.cell(v1="A")
    level = np.where(np.arange(table.cells) == target, 3.0, 0.0)
    hidden = hide(table, [{"v1": "A"}], [{"v1": "B"}]).replace(upper_protection=level)
    told = hidden.replace(knowledge=(percentages(hidden, of="v1", hidden=True),))
    assert {("too narrow", target), ("exact", target)} & kinds(told)
    assert kinds(hidden) == set()
    with_masked = hidden.replace(knowledge=(percentages(hidden, of="v1", hidden=False),))
    assert kinds(with_masked) == set()


@few
@given(st.integers(50, 400), st.integers(50, 400))
def test_percentages_give_a_hidden_total_away(first: int, second: int) -> None:
    """Row A's total is hidden, but a shown cell and its percentage give it back."""
    table = small_table([[first, second], [first, second]])
    pair = [{"v1": "A", "v2": "A"}, {"v1": "A"}, {"v2": "A"}, {}]
    level = np.zeros(table.cells)
    level[table.cell(pair[1])] = 30.0
    hidden = hide(table, [pair[1]], [pair[0], pair[2], pair[3]]).replace(upper_protection=level)
    told = hidden.replace(knowledge=(percentages(hidden, of="v2", decimals=1),))
    assert {("too narrow", table.cell(pair[1])), ("exact", table.cell(pair[1]))} & kinds(told)
    assert kinds(hidden) == set()


@few
@given(inner, st.lists(st.booleans(), min_size=16, max_size=16), st.integers(0, 15), st.sampled_from([None, False]))
def test_the_truth_lies_within_and_more_facts_never_widen(
    values: list[list[int]], pattern: list[bool], shown: int, nonnegative: bool | None
) -> None:
    table = small_table(np.array(values) % 7, intruder=Intruder(nonnegative=nonnegative))
    table = table.replace(status=np.array(pattern, np.int8))
    before = audit(table)
    assert (before.lower <= table.value[before.cell]).all()
    assert (before.upper >= table.value[before.cell]).all()
    published = np.array(pattern, np.int8)
    published[shown] = 0
    together = np.zeros((1, table.cells))
    together[0, : 1 + shown] = 1
    row = sparse.csr_array(together)
    sum_of_some = header_total(table)
    fact = dataclasses.replace(sum_of_some, matrix=row, low=row @ table.value, high=row @ table.value)
    ranged = dataclasses.replace(fact, low=fact.low - 1, high=fact.high + 2)
    for more in (table.replace(status=published), table.replace(knowledge=(fact,)), table.replace(knowledge=(ranged,))):
        after = audit(more)
        of = {int(cell): i for i, cell in enumerate(before.cell)}
        for i, cell in enumerate(after.cell.tolist()):
            assert after.lower[i] >= before.lower[of[cell]] - 1e-6
            assert after.upper[i] <= before.upper[of[cell]] + 1e-6
            assert after.lower[i] <= table.value[cell] <= after.upper[i]


@few
@given(
    inner,
    st.lists(st.sampled_from([0, 0, 1, 2]), min_size=16, max_size=16),
    st.lists(st.integers(1, 4), min_size=9, max_size=9),
)
def test_parts_tell_no_more_than_the_whole(values: list[list[int]], status: list[int], owners: list[int]) -> None:
    table = small_table(values, n=np.reshape(owners, (3, 3))).replace(status=np.array(status, np.int8))
    held = audit(table).standards
    for name in ("PS1", "PS1*", "PS2*"):
        assert held[name] or not held[f"full {name}"]
    assert held["PS2"] or not held["PS2*"]
    assert held["PS1"] or not held["PS1*"]
