"""The table as the report shows it, and the charts drawn from it."""

import dataclasses
import re
from typing import Any

import numpy as np
import pytest

from discreet.model.hierarchy import Hierarchy
from discreet.report.charts import bar, heat_map, histogram
from discreet.report.view import marks, view
from discreet.testing import small_table


class Marked:
    NAME = "marked"


def two_way() -> Any:
    rows = Hierarchy.from_parents([("A", "a1"), ("A", "a2"), ("B", "b1")], labels={"A": "first"})
    table = small_table(
        [[1.25, 2], [3, 4], [5, 6]], variables=["row", "col"], hierarchies=[rows, Hierarchy.flat("xy")], decimals=2
    )
    mask = np.zeros(table.cells, bool)
    mask[table.cell(row="a1", col="x")] = True
    table = table.with_primary(Marked(), mask)
    mask = np.zeros(table.cells, bool)
    mask[[table.cell(row="a2", col="x"), table.cell(row="b1", col="y")]] = True
    return table.with_secondary("by hand", mask)


def open_values(table: Any) -> Any:
    return np.where(table.unknown, np.nan, table.value)


def seen(table: Any, **more: Any) -> dict[str, Any]:
    return view(table, table.layouts[0], more.get("shown", open_values(table)), table.decimals)


def test_rows_columns_marks_and_values() -> None:
    facts = seen(two_way())
    assert facts["rows"] == {
        "variable": "row",
        "codes": ["Total", "A", "a1", "a2", "B", "b1"],
        "labels": ["", "first", "", "", "", ""],
        "levels": [0, 1, 2, 2, 1, 2],
    }
    assert facts["columns"]["codes"] == ["Total", "x", "y"]
    (only,) = facts["slices"]
    assert only["codes"] == []
    assert only["marks"] == "ooo" + "ooo" + "opo" + "oso" + "oos" + "oos"
    assert only["values"] == [21.25, 9.25, 12, 10.25, 4.25, 6, 3.25, None, 2, 7, None, 4, 11, 5, None, 11, 5, None]
    assert facts["cut"] == ""


def test_the_longer_variable_makes_the_rows() -> None:
    table = small_table(np.ones((2, 3)), variables=["short", "long"])
    facts = seen(table)
    assert (facts["rows"]["variable"], facts["columns"]["variable"]) == ("long", "short")
    assert facts["slices"][0]["values"] == [6, 3, 3, 2, 1, 1, 2, 1, 1, 2, 1, 1]


def test_one_variable_has_no_columns() -> None:
    facts = seen(small_table([1, 2, 3]))
    assert facts["columns"] is None
    assert facts["slices"][0]["values"] == [6, 1, 2, 3]


def test_further_variables_make_slices_and_their_totals_come_first() -> None:
    facts = seen(small_table(np.arange(8).reshape(2, 2, 2), variables=["a", "b", "c"]))
    assert [one["codes"] for one in facts["slices"]] == [["Total"], ["A"], ["B"]]
    assert facts["slices"][2]["values"] == [16, 6, 10, 4, 1, 3, 12, 5, 7]
    assert facts["others"][0]["codes"] == ["Total", "A", "B"]


def test_without_values_only_marks_are_told() -> None:
    table = two_way()
    facts = view(table, table.layouts[0], None, 2)
    assert facts["slices"][0]["values"] is None
    assert facts["slices"][0]["marks"].count("p") == 1


def test_places_without_a_cell_and_cells_not_listed() -> None:
    table = two_way()
    (layout,) = table.layouts
    short = dataclasses.replace(layout, codes=layout.codes[:-1], cell=layout.cell[:-1])
    listed = np.ones(table.cells, bool)
    listed[table.cell(row="A")] = False
    table = table.replace(layouts=(short,), listed=listed)
    facts = seen(table)
    assert facts["slices"][0]["marks"] == "ooo" + "noo" + "opo" + "oso" + "oos" + "oo."
    assert marks(table).count("n") == 1


def test_large_tables_are_cut_by_level_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.report.view._MOST_CELLS", 1000)
    deep = Hierarchy.from_parents([(f"g{i}", f"g{i}.{j}") for i in range(9) for j in range(8)])
    facts = seen(small_table(np.ones((72, 72)), variables=["r", "c"], hierarchies=[deep, deep]))
    assert (len(facts["rows"]["codes"]), len(facts["columns"]["codes"])) == (10, 82)
    assert len(facts["slices"][0]["marks"]) == 820
    assert facts["cut"] == "Too large to show whole; shown are 10 of 82 codes of r. The release holds every line."
    flat = seen(small_table(np.ones(1200)))
    assert len(flat["rows"]["codes"]) == 1000
    assert "1000 of 1201 codes of v1" in flat["cut"]


def test_many_slices_are_cut_to_those_nearest_the_totals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.report.view._MOST_IN_SLICES", 100)
    deep = Hierarchy.from_parents([("A", "a1"), ("A", "a2"), ("B", "b1"), ("B", "b2")])
    table = small_table(np.ones((4, 4, 4)), variables=["a", "b", "c"], hierarchies=[*[Hierarchy.flat("wxyz")] * 2, deep])
    facts = seen(table)
    assert [one["codes"] for one in facts["slices"]] == [["Total"], ["A"], ["B"], ["a1"]]
    assert "4 choices of c" in facts["cut"]


def test_heat_map_draws_every_place_once() -> None:
    facts = seen(two_way())
    svg = heat_map(facts, "map & <title>")
    assert "map &amp; &lt;title&gt;" in svg
    area = {}
    for mark, path in re.findall(r'data-mark="(.)" d="([^"]*)"', svg):
        area[mark] = sum(int(length) for length in re.findall(r"h(\d+)v1", path))
    assert area == {letter: facts["slices"][0]["marks"].count(letter) for letter in "orspn"}
    assert 'd="M1 2h1v1h-1z"' in svg


def test_codes_are_escaped_in_charts() -> None:
    table = small_table([1, 2], variables=["a&b"], hierarchies=[Hierarchy.flat(["<i>", '"q"'])])
    svg = heat_map(seen(table), "t")
    assert "<i>" not in svg
    assert "&lt;i&gt;" in svg
    assert "a&amp;b" in svg


def test_bar_and_histogram_are_to_scale() -> None:
    svg = bar([("primary", 1), ("secondary", 2)], 4, "three of four")
    assert re.findall(r'class="(\w+)" x="([\d.]+)" width="([\d.]+)"', svg) == [
        ("primary", "0.00", "25.00"),
        ("secondary", "25.00", "50.00"),
    ]
    assert 'aria-label="three of four"' in svg
    svg = histogram(["low", "high"], [("secondary", [1, 2]), ("primary", [0, 2])], "title", "axis")
    tall = [float(height) for height in re.findall(r'height="([\d.]+)"/>', svg)]
    assert tall == pytest.approx([42.5, 0, 85, 85])
    assert bar([], 0, "nothing").count("<rect") == 1
