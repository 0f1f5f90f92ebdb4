"""What suppression hides, counted by hand."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from discreet.loss import suppression_loss
from discreet.model.hierarchy import Hierarchy
from discreet.testing import small_table


@dataclasses.dataclass(frozen=True)
class Marked:
    NAME = "marked"


@dataclasses.dataclass(frozen=True)
class Intervals:
    cell: Any
    lower: Any
    upper: Any


def hidden_table(primary: list[dict[str, str]], secondary: list[dict[str, str]], **more: Any) -> Any:
    """Rows A (a1 1, a2 2) and B (b1 3, b2 4) by columns x (10×) and y (1×), costs the square of the value."""
    rows = Hierarchy.from_parents([("A", "a1"), ("A", "a2"), ("B", "b1"), ("B", "b2")])
    columns = Hierarchy.flat(["x", "y"])
    table = small_table([[10, 1], [20, 2], [30, 3], [40, 4]], variables=["row", "col"], hierarchies=[rows, columns], **more)
    table = table.replace(cost=table.value**2)
    mask = np.zeros(table.cells, bool)
    mask[[table.cell(codes) for codes in primary]] = True
    table = table.with_primary(Marked(), mask)
    mask = np.zeros(table.cells, bool)
    mask[[table.cell(codes) for codes in secondary]] = True
    return table.with_secondary("by hand", mask)


PRIMARY = [{"row": "a1", "col": "x"}, {"row": "b1", "col": "y"}]
SECONDARY = [{"row": "a1", "col": "y"}, {"row": "A", "col": "x"}]


def group(groups: Any, **wanted: Any) -> Any:
    (found,) = [one for one in groups if all(getattr(one, name) == value for name, value in wanted.items())]
    return found


def test_totals_and_inner_cells() -> None:
    loss = suppression_loss(hidden_table(PRIMARY, SECONDARY))
    assert (loss.total.cells, loss.total.of_cells, loss.total.primary, loss.total.secondary) == (4, 21, 2, 2)
    assert loss.total.value == 10 + 3 + 1 + 30
    assert loss.total.cost == 100 + 9 + 1 + 900
    assert loss.total.largest == 30
    assert loss.total.largest_cost == 900
    assert (loss.inner.cells, loss.inner.of_cells, loss.inner.value, loss.inner.of_value) == (3, 8, 14, 110)
    assert loss.inner.share_of_value == pytest.approx(14 / 110)
    assert loss.inner.share_of_cells == 3 / 8
    assert loss.inner.share_of_cost == pytest.approx(110 / (100 + 1 + 400 + 4 + 900 + 9 + 1600 + 16))


def test_by_level_and_by_code() -> None:
    loss = suppression_loss(hidden_table(PRIMARY, SECONDARY))
    assert [(one.variable, one.level, one.cells, one.of_cells) for one in loss.by_level] == [
        ("row", 0, 0, 3),
        ("row", 1, 1, 6),
        ("row", 2, 3, 12),
        ("col", 0, 0, 7),
        ("col", 1, 4, 14),
    ]
    assert group(loss.by_level, variable="row", level=2).value == 14
    assert group(loss.by_code, variable="row", code="a1").cells == 2
    assert group(loss.by_code, variable="row", code="a1").value == 11
    assert group(loss.by_code, variable="row", code="A").secondary == 1
    assert group(loss.by_code, variable="col", code="x").of_value == 100 + 30 + 70 + 10 + 20 + 30 + 40
    assert sum(one.cells for one in loss.by_code if one.variable == "col") == loss.total.cells
    rows = loss.rows()
    assert len(rows) == 1 + len(loss.by_level) + len(loss.by_code)
    assert {row["code"] for row in rows if row["variable"] == "col"} == {"", "Total", "x", "y"}
    assert rows[0]["share_of_cells"] == 4 / 21


def test_a_cell_under_two_codes_counts_once_in_all_and_once_under_each() -> None:
    rows = Hierarchy.from_parents([("A", "a1"), ("B", "b1"), ("B", "b2")])
    table = small_table([5, 6, 7], variables=["row"], hierarchies=[rows])
    mask = np.zeros(table.cells, bool)
    mask[table.cell(row="a1")] = True
    loss = suppression_loss(table.with_primary(Marked(), mask))
    assert (loss.total.cells, loss.total.of_cells) == (1, 5)
    assert group(loss.by_code, code="a1").value == group(loss.by_code, code="A").value == 5
    assert [(one.level, one.cells) for one in loss.by_level] == [(0, 0), (1, 1), (2, 1)]


def test_cells_that_are_not_listed_stay_out() -> None:
    table = hidden_table(PRIMARY, [])
    listed = np.ones(table.cells, bool)
    listed[table.cell(row="B", col="x")] = False
    loss = suppression_loss(table.replace(listed=listed))
    assert (loss.total.cells, loss.total.of_cells) == (2, 20)
    assert group(loss.by_code, code="B").of_cells == 2


def test_negative_values_count_by_size() -> None:
    table = small_table([-5, 3, 2])
    mask = np.zeros(table.cells, bool)
    mask[table.cell(v1="A")] = True
    loss = suppression_loss(table.with_primary(Marked(), mask))
    assert (loss.inner.value, loss.inner.of_value) == (5, 10)


def test_interval_widths_are_relative_to_what_is_hidden() -> None:
    table = small_table([4, 0, 10, 6])
    mask = np.zeros(table.cells, bool)
    cells = np.array([table.cell(v1=code) for code in "ABCD"])
    mask[cells] = True
    intervals = Intervals(cells, np.array([2.0, 0.0, 0.0, 0.0]), np.array([8.0, 5.0, np.inf, 3.0]))
    loss = suppression_loss(table.with_primary(Marked(), mask), intervals)
    width = dict(zip(loss.cell.tolist(), loss.relative_width.tolist(), strict=True))
    assert width[cells[0]] == 1.5
    assert np.isnan(width[cells[1]])
    assert width[cells[2]] == np.inf
    assert (loss.total.width, loss.total.widest, loss.total.bounded, loss.total.unbounded) == (1.0, 1.5, 2, 1)
    without = suppression_loss(table.with_primary(Marked(), mask))
    assert np.isnan(without.relative_width).all()
    assert np.isnan(without.total.width)
    assert without.total.bounded == 0


def test_linked_tables_count_a_shared_cell_once() -> None:
    table = hidden_table(PRIMARY, SECONDARY)
    (layout,) = table.layouts
    twice = dataclasses.replace(layout, name="again")
    np.testing.assert_equal(suppression_loss(table.replace(layouts=(layout, twice))).rows(), suppression_loss(table).rows())


def test_repr_tells_counts_only() -> None:
    loss = suppression_loss(hidden_table(PRIMARY, SECONDARY))
    assert repr(loss) == "SuppressionLoss(4 of 21 cells hidden)"
    assert repr(loss.total) == "Hidden(4 of 21 cells, 2 primary, 2 secondary)"
    assert repr(group(loss.by_code, code="a1")) == "Hidden(row a1: 2 of 3 cells, 1 primary, 1 secondary)"
    assert repr(group(loss.by_level, variable="row", level=2)) == "Hidden(row level 2: 3 of 12 cells, 2 primary, 1 secondary)"


def test_nothing_hidden() -> None:
    loss = suppression_loss(small_table([[1, 2], [3, 4]]))
    assert loss.total.cells == 0
    assert loss.total.share_of_value == 0
    assert len(loss.cell) == 0
