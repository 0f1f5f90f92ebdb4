"""What a report may tell of the loss, and what it keeps to itself."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from discreet.loss import Hidden, suppression_loss
from discreet.model.hierarchy import Hierarchy
from discreet.report.loss import FEWEST, loss_facts
from discreet.testing import small_table


@dataclasses.dataclass(frozen=True)
class Marked:
    NAME = "marked"


@dataclasses.dataclass(frozen=True)
class Intervals:
    cell: Any
    lower: Any
    upper: Any


DEEP = Hierarchy.from_parents([("A", f"a{i}") for i in range(8)] + [("B", f"b{i}") for i in range(8)])


def hidden(codes: list[str], **values: float) -> Any:
    """One variable of 16 inner cells, each 100 unless given, of which these are hidden."""
    inner = [values.get(DEEP.codes[leaf], 100.0) for leaf in DEEP.leaves]
    table = small_table(inner, variables=["region"], hierarchies=[DEEP])
    mask = np.zeros(table.cells, bool)
    mask[[table.cell(region=code) for code in codes]] = True
    return table.with_primary(Marked(), mask)


def told(table: Any, relative: Any = None) -> Any:
    """With intervals of these relative widths, if any."""
    cell = np.flatnonzero(table.suppressed)
    if relative is None:
        return loss_facts(table, suppression_loss(table))
    upper = table.value[cell] * np.broadcast_to(relative, cell.shape)
    return loss_facts(table, suppression_loss(table, Intervals(cell, np.zeros(len(cell)), upper)))


def test_shares_of_enough_cells_are_told_in_whole_per_cent() -> None:
    facts = told(hidden([f"a{i}" for i in range(6)]))
    assert facts["inner"]["value"] == 38
    assert facts["inner"] | {"value": 0, "cost": 0} == {
        "cells": 6,
        "of": 16,
        "primary": 6,
        "secondary": 0,
        "width": None,
        "value": 0,
        "cost": 0,
    }
    assert [one["value"] for one in facts["levels"]["region"]] == [0, 0, 38]
    assert facts["cost_is_value"] is True


def test_shares_of_few_cells_are_withheld() -> None:
    facts = told(hidden([f"a{i}" for i in range(FEWEST - 1)]))
    assert facts["inner"]["value"] is None
    assert facts["inner"]["cells"] == FEWEST - 1
    assert facts["levels"]["region"][2]["cost"] is None


def test_shares_of_a_group_that_one_cell_dominates_are_withheld() -> None:
    codes = [f"a{i}" for i in range(6)]
    assert told(hidden(codes, a0=499.0))["inner"]["value"] is not None
    assert told(hidden(codes, a0=501.0))["inner"]["value"] is None


def test_a_level_withheld_alone_takes_the_next_smallest_with_it() -> None:
    facts = told(hidden(["A", *(f"a{i}" for i in range(6))]))
    assert [one["value"] for one in facts["levels"]["region"]] == [0, None, None]
    assert [one["cells"] for one in facts["levels"]["region"]] == [0, 1, 6]


def test_cost_of_its_own_is_told_beside_value() -> None:
    table = hidden([f"a{i}" for i in range(6)])
    table = table.replace(cost=np.where(table.suppressed, 1.0, 2.0))
    facts = loss_facts(table, suppression_loss(table))
    assert facts["cost_is_value"] is False
    assert facts["inner"]["cost"] == round(100 * 6 / (6 + 20))
    dear = table.cost.copy()
    dear[table.cell(region="a0")] = 50.0
    table = table.replace(cost=dear)
    assert loss_facts(table, suppression_loss(table))["inner"]["cost"] is None


def test_widths_are_counted_in_broad_classes() -> None:
    codes = [f"a{i}" for i in range(8)]
    facts = told(hidden(codes), [0.05, 0.0501, 1.0, 1.5, 7.0, np.inf, np.inf, 0.0])
    widths = dict(zip(facts["widths"]["bins"], facts["widths"]["primary"], strict=True))
    assert widths == {
        "≤ 5 %": 2,
        "≤ 10 %": 1,
        "≤ 20 %": 0,
        "≤ 50 %": 0,
        "≤ 100 %": 1,
        "≤ 200 %": 1,
        "≤ 500 %": 0,
        "above": 1,
        "no limit": 2,
    }
    assert sum(facts["widths"]["secondary"]) == 0
    assert (facts["widths"]["counted"], facts["widths"]["wide"], facts["widths"]["without"]) == (8, 4, 0)
    assert facts["total"]["width"] is None  # one of them makes up most of the mean
    assert told(hidden(codes), [1, 2, 3, 4, 5, 6, 7, 8])["total"]["width"] == 450


@pytest.mark.parametrize("few", [1, FEWEST - 1])
def test_widths_of_few_cells_are_withheld(few: int) -> None:
    facts = told(hidden([f"a{i}" for i in range(few)]), 1.0)
    assert facts["widths"] is None
    assert facts["total"]["width"] is None


def test_codes_that_lose_most_come_first() -> None:
    table = small_table(np.ones((3, 4)), variables=["row", "col"])
    mask = np.zeros(table.cells, bool)
    for row, col in (("B", "A"), ("B", "C"), ("C", "C")):
        mask[table.cell(row=row, col=col)] = True
    facts = told(table.with_primary(Marked(), mask))
    assert [(one["code"], one["cells"], one["of"]) for one in facts["codes"]["row"]] == [("B", 2, 5), ("C", 1, 5)]
    assert [one["code"] for one in facts["codes"]["col"]] == ["C", "A"]


def test_no_amount_is_among_the_facts() -> None:
    table = hidden([f"a{i}" for i in range(6)], a0=7919.37, a1=8101.0)
    amounts = {field.name for field in dataclasses.fields(Hidden)} & {"largest", "of_value", "of_cost"}
    assert len(amounts) == 3
    text = repr(told(table, 1.0))
    assert "7919" not in text
    assert "8101" not in text
    assert not [name for name in amounts if name in text]
