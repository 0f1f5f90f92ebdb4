"""The demo table of τ-ARGUS: its modular pattern is dearer than ours, and an owner of cells sees through it."""

import csv
from pathlib import Path

import numpy as np
import pytest

from discreet.audit import audit
from discreet.io.hierarchies import read_hierarchy
from discreet.io.microdata import read_microdata
from discreet.model.table import Table
from discreet.model.tabulate import tabulate
from discreet.tables.rules import PPercent
from discreet.tables.suppress import ExactSuppression, ModularSuppression

SECONDARY = "11"


@pytest.fixture(scope="module")
def demo(shared: Path) -> tuple[Table, np.ndarray]:
    """Size × Region under P(15), and which cells τ-ARGUS hides in addition."""
    golden = shared / "data/argus/golden"
    columns = [("Size", 9, 2), ("Region", 12, 2), ("Var2", 28, 10)]
    microdata = read_microdata(golden / "Simple2D_InputData/tau_testW.asc", columns=columns)
    region = read_hierarchy(golden / "Simple2D_InputData/region2.hrc", lead="@").with_leaf("99")
    table = PPercent(p=15).apply(tabulate(microdata, spanning={"Size": None, "Region": region}, response="Var2"))
    layout = table.layouts[0]
    codes = zip(*(layout.column(v) for v in range(2)), strict=True)
    cell = {tuple(code.strip() for code in line): int(c) for line, c in zip(codes, layout.cell, strict=True)}
    with (golden / "Simple2D_Expected_Output/Simple2D.txt").open(newline="") as file:
        hidden = [cell[row[0].strip(), row[1].strip()] for row in csv.reader(file) if row[3].strip() == SECONDARY]
    assert len(hidden) == 12
    return table, np.isin(np.arange(table.cells), hidden)


@pytest.mark.parametrize("method", [ModularSuppression(), ExactSuppression()])
def test_no_dearer_than_the_twelve_secondary_cells_and_safe(method, demo: tuple[Table, np.ndarray]) -> None:
    table, theirs = demo
    done = method.apply(table)
    assert audit(done).safe
    assert table.cost[done.secondary].sum() <= table.cost[theirs].sum() / 2


def test_the_pattern_of_the_other_tool_leaves_insiders_a_way(demo: tuple[Table, np.ndarray]) -> None:
    table, theirs = demo
    assert not audit(table.with_secondary("τ-ARGUS", theirs)).safe
