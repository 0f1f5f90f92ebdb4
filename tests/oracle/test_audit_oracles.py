"""Intervals and insiders of worked examples with known answers."""

import numpy as np
import pytest
from scipy import sparse

from discreet.audit import audit
from discreet.model.contributions import Contributions
from discreet.model.hierarchy import Hierarchy
from discreet.model.intruder import Intruder
from discreet.model.layout import Layout
from discreet.model.table import Table
from discreet.testing import small_table


def hide(table: Table, *cells: dict[str, str], primary: tuple[dict[str, str], ...] = (), **fields: object) -> Table:
    """The table with these cells hidden, whatever they do to it."""
    status = np.zeros(table.cells, np.int8)
    status[[table.cell(codes) for codes in cells]] = 1
    status[[table.cell(codes) for codes in primary]] = 2
    return table.replace(status=status, **fields)


def system_of(values: dict[str, float], equations: list[str], hidden: str, *, primary: str = "") -> Table:
    """Cells by name and equations such as ``"g1 = a b c"``, without dimensions."""
    names = list(values)
    rows = np.zeros((len(equations), len(names)))
    for row, text in zip(rows, equations, strict=True):
        total, parts = text.split(" = ")
        row[names.index(total)] = -1
        row[[names.index(part) for part in parts.split()]] = 1
    status = np.array([2 if name in primary.split() else int(name in hidden.split()) for name in names], np.int8)
    hierarchy = Hierarchy.flat(names, total="all of it")
    codes = np.arange(1, len(names) + 1, dtype=np.int32)[:, None]
    layout = Layout(name="t", variables=("cell",), hierarchies=(hierarchy,), codes=codes, cell=np.arange(len(names)))
    value = np.array(list(values.values()), float)
    assert (rows @ value == 0).all()
    contributions = Contributions.of(np.full(len(names), 10.0), value)
    return Table.of((layout,), value, contributions, sparse.csr_array(rows), status=status)


def interval(table: Table, **codes: str) -> tuple[float, float]:
    """The audit's interval of one cell."""
    result = audit(table)
    row = int(np.flatnonzero(result.cell == table.cell(codes))[0])
    return float(result.lower[row]), float(result.upper[row])


def all_intervals(table: Table) -> list[tuple[float, float]]:
    result = audit(table)
    return list(zip(result.lower.tolist(), result.upper.tolist(), strict=True))


def test_handbook_example_3() -> None:
    table = small_table([[6, 1], [0, 3]])
    table = hide(table, *({"v1": a, "v2": b} for a in "AB" for b in "AB"))
    assert interval(table, v1="A", v2="A") == (3, 6)
    assert interval(table, v1="A", v2="B") == (1, 4)
    assert interval(table, v1="B", v2="A") == (0, 3)
    assert interval(table, v1="B", v2="B") == (0, 3)


def test_three_by_three_table() -> None:
    rows = ("I", "II", "III")
    hierarchies = [Hierarchy.flat(rows), Hierarchy.flat("ABC")]
    table = small_table([[20, 50, 10], [8, 19, 22], [17, 32, 12]], hierarchies=hierarchies)
    table = hide(table, *({"v1": a, "v2": b} for a in ("II", "III") for b in "AC"))
    assert interval(table, v1="II", v2="C") == (5, 30)
    assert interval(table, v1="II", v2="A") == (0, 25)
    assert interval(table, v1="III", v2="A") == (0, 25)
    assert interval(table, v1="III", v2="C") == (4, 29)


def test_the_dearer_pattern_of_the_three_by_three_table_is_needed_for_an_upper_level_of_11() -> None:
    table = small_table([[20, 50, 10], [8, 19, 22], [17, 32, 12]])
    up, down = np.zeros(table.cells), np.zeros(table.cells)
    target = {"v1": "B", "v2": "C"}
    up[table.cell(target)], down[table.cell(target)] = 11, 10
    for other, want in (("A", "too narrow"), ("B", "safe")):
        cells = [{"v1": a, "v2": b} for a in "BC" for b in (other, "C")]
        hidden = hide(table, *cells, primary=(target,), upper_protection=up, lower_protection=down)
        result = audit(hidden)
        assert result.verdict[result.cell == table.cell(target)] == [want]
        assert result.safe is (want == "safe")
        if want == "safe":
            assert interval(hidden, **target) == (0, 34)


def test_s02_zeros_cannot_hide_behind_zeros() -> None:
    table = hide(small_table([0, 0, 0]), {"v1": "B"}, primary=({"v1": "A"},))
    assert interval(table, v1="A") == (0, 0)
    assert interval(table, v1="B") == (0, 0)
    with_total = hide(small_table([0, 0, 0]), {}, primary=({"v1": "A"},))
    assert interval(with_total, v1="A") == (0, np.inf)
    assert audit(with_total).safe


def test_s03_a_zero_needs_a_partner_that_can_give() -> None:
    table = small_table([11, 7, 0, 0])
    assert interval(hide(table, {"v1": "D"}, primary=({"v1": "C"},)), v1="C") == (0, 0)
    assert all_intervals(hide(table, {"v1": "B"}, primary=({"v1": "C"},))) == [(0, 7), (0, 7)]


def test_s04_hidden_cells_known_to_be_non_empty() -> None:
    table = small_table([9, 5, 1, 1], kind="frequency")
    pair = hide(table, primary=({"v1": "C"}, {"v1": "D"}))
    assert all_intervals(pair) == [(0, 2), (0, 2)]
    nonempty = pair.with_intruder(Intruder(nonempty=True))
    assert all_intervals(nonempty) == [(1, 1), (1, 1)]
    third = hide(table, {"v1": "B"}, primary=({"v1": "C"}, {"v1": "D"})).with_intruder(Intruder(nonempty=True))
    assert all_intervals(third) == [(1, 5), (1, 5), (1, 5)]


def test_s05_singletons_recompute_each_other_until_a_third_cell_is_hidden() -> None:
    table = small_table([100, 50, 350], n=[1, 1, 9])
    pair = audit(hide(table, primary=({"v1": "A"}, {"v1": "B"})))
    assert [(f.kind, f.cell, f.knows) for f in pair.findings] == [("insider", 1, (2,)), ("insider", 2, (1,))]
    assert audit(hide(table, {"v1": "C"}, primary=({"v1": "A"}, {"v1": "B"}))).safe


def test_three_singletons_in_a_row_are_safe_from_one_but_not_from_pairs() -> None:
    table = hide(small_table([100, 50, 30, 350], n=[1, 1, 1, 9]), primary=({"v1": "A"}, {"v1": "B"}, {"v1": "C"}))
    assert audit(table).safe
    ids = np.array([[-1], [7], [7], [8], [-1]])
    one_owner = table.replace(
        contributions=Contributions.of(table.contributions.n, table.value, top=np.zeros((5, 1)), top_id=ids)
    )
    found = audit(one_owner).findings
    assert [(f.kind, f.cell, f.knows) for f in found] == [("insider", 3, (1, 2))]


def test_the_singleton_of_the_two_row_table() -> None:
    """The owner of c12 sees 17 exactly under the plain optimum, and [0, 25] under the dearer one."""
    table = small_table([[52, 15, 62, 17], [24, 18, 31, 8]], n=[[9, 1, 9, 9], [9, 9, 9, 9]])
    primary = ({"v1": "A", "v2": "B"}, {"v1": "A", "v2": "D"})
    plain = audit(hide(table, {"v1": "B", "v2": "B"}, {"v1": "B", "v2": "D"}, primary=primary))
    assert [(f.kind, f.cell) for f in plain.findings] == [("insider", table.cell(v1="A", v2="D"))]
    assert plain.findings[0].knows == (table.cell(v1="A", v2="B"),)


def test_s07_linked_tables_tell_together_what_each_hides() -> None:
    values = {"a": 2.0, "b": 6, "c": 3, "d": 4, "e": 7, "p1": 20, "p2": 15, "g1": 31, "g2": 26, "h1": 28, "h2": 29}
    first, second = ["g1 = a b c p1", "g2 = d e p2"], ["h1 = a b p1", "h2 = c d e p2"]
    assert all_intervals(system_of(values, first, "a b c d e")) == [(0, 11)] * 5
    assert all_intervals(system_of(values, second, "a b c d e")) == [(0, 8)] * 2 + [(0, 14)] * 3
    both = system_of(values, first + second, "a b c d e", primary="c")
    assert interval(both, cell="c") == (3, 3)
    assert {(f.kind, f.cell) for f in audit(both).findings} == {("exact", 2)}
    values["grand"] = 57
    more = system_of(values, [*first, *second, "grand = g1 g2"], "a b c d e g1 g2", primary="c")
    assert interval(more, cell="c") == (0, 14)


def test_integer_intervals_are_tighter() -> None:
    """Odd cycles of three 2-way margins move by halves over real numbers only: x + y = y + z = x + z = 1."""
    values = {"x": 1.0, "y": 0, "z": 0, "s": 1, "t": 0, "u": 1}
    table = system_of(values, ["s = x y", "t = y z", "u = x z"], "x y z")
    assert all_intervals(table) == [(1, 1), (0, 0), (0, 0)]
    values = {"x": 1.0, "y": 1, "z": 1, "w": 1, "s": 3, "t": 3, "u": 3}
    rows = ["s = x y w", "t = y z w", "u = x z w"]
    whole = audit(system_of(values, rows, "x y z w").with_intruder(Intruder(integer=True)))
    assert list(zip(whole.lower, whole.upper, strict=True)) == [(0, 1.5)] * 3 + [(0, 3)]
    assert list(zip(whole.integer_lower, whole.integer_upper, strict=True)) == [(0, 1)] * 3 + [(1, 3)]


@pytest.mark.parametrize("largest", [1.0, 1e6, 1e11])
def test_small_cells_beside_huge_ones(largest: float) -> None:
    inner = [[3, 4, largest], [5, 6, largest], [largest, largest, largest]]
    table = hide(small_table(inner), *({"v1": a, "v2": b} for a in "AB" for b in "AB"))
    assert interval(table, v1="A", v2="A") == (0, 7)
    everything = hide(small_table(inner), *({"v1": a, "v2": b} for a in "ABC" for b in "ABC"))
    low, high = interval(everything, v1="A", v2="A")
    assert low == 0
    assert high == pytest.approx(7 + largest, rel=1e-9)


@pytest.mark.parametrize("decimals", [0, 3, 9])
def test_tiny_values_are_judged_in_units_of_their_last_decimal(decimals: int) -> None:
    unit = 10.0**-decimals
    table = hide(
        small_table(np.array([[6, 1], [0, 3]]) * unit, decimals=decimals), *({"v1": a, "v2": b} for a in "AB" for b in "AB")
    )
    low, high = interval(table, v1="A", v2="A")
    assert low == pytest.approx(3 * unit, rel=1e-6)
    assert high == pytest.approx(6 * unit, rel=1e-6)
    assert audit(table).safe
