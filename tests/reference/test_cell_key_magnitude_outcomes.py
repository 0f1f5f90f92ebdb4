"""Magnitudes perturbed by the R package cellKey 1.0.2 and by the handbook's example come out the same.

The settings of the runs are not stored with them; these, taken from the package's documented examples, reproduce every cell.
"""

import csv
import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from discreet.io.microdata import read_microdata
from discreet.model.ptable import KEYS, PTable
from discreet.model.table import Table
from discreet.model.tabulate import tabulate
from discreet.tables.perturb.cell_key_magnitude import CellKeyMagnitude
from discreet.testing import small_table

RUNS: dict[str, dict[str, Any]] = {
    "flex_top3": {
        "layers": (1.0, 0.5, 0.2),
        "share": 0.03,
        "small_share": 0.2,
        "flex_point": 1000,
        "power": 2,
        "keys": "rotate",
    },
    "flex_top1_parity": {"share": 0.03, "small_share": 0.3, "flex_point": 1000, "power": 3, "keys": "rotate-all"},
    "simple_mean": {"base": "mean", "share": 0.25, "keys": "rotate-all"},
}
ALL_KEYS = {"flex_top3"}
"""Runs whose cell keys are of all units; in the others those with an income of 0 have no part in it."""


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def incomes(shared: Path) -> tuple[Table, Table]:
    """Income by sex and age: the weighted table, and the one without the units whose income is 0."""
    rows = read(shared / "oracles/r_data/cellKey_testdata_seed120.csv")
    tables = []
    for kept in (rows, [row for row in rows if float(row["income"])]):
        numbers = {name: np.array([float(row[name]) for row in kept]) for name in ("income", "sampling_weight", "rec_key")}
        codes = {name: np.array([row[name] for row in kept], object) for name in ("sex", "age")}
        records = read_microdata(pd.DataFrame(codes | numbers), weight="sampling_weight", record_key="rec_key")
        tables.append(tabulate(records, spanning=["sex", "age"], response="income", ranks=3))
    return tables[0], tables[1]


def p_table(lines: list[dict[str, str]]) -> PTable:
    columns = {name: [float(line[of]) for line in lines] for name, of in (("row", "i"), ("change", "v"), ("upper", "p_int_ub"))}
    return PTable(**columns, blocks=[line["tab"] for line in lines])


@pytest.mark.parametrize("run", RUNS)
def test_every_cell_of_a_cell_key_run_comes_out_the_same(run: str, shared: Path, incomes: tuple[Table, Table]) -> None:
    outcomes = shared / "oracles/r_outcomes"
    table, nonzero = incomes
    if run not in ALL_KEYS:
        held = dataclasses.replace(table.contributions, key=nonzero.contributions.key)
        assert (held.key != table.contributions.key).any()
        table = table.replace(contributions=held)
    method = CellKeyMagnitude(ptable=p_table(read(outcomes / f"ck_ptab_{run}.csv")), digits=5, **RUNS[run])
    after = method.apply(table)
    expected = read(outcomes / f"ck_numtab_income_{run}.csv")
    assert len(expected) == table.cells == 21
    for line in expected:
        codes = {name: line[name] for name in ("sex", "age") if line[name] != "Total"}
        cell = table.cell(codes)
        assert table.value[cell] == float(line["ws"])
        assert after.shown[cell] == pytest.approx(float(line["pws"]), rel=1e-12)
        noise = float(line["pws"]) - float(line["ws"])
        assert after.shown[cell] - table.value[cell] == pytest.approx(noise, rel=1e-6, abs=1e-6)


def test_the_handbook_example() -> None:
    """One cell of 300 with a largest contribution of 200, key 0.8: 400 for δ = 0.5, and 360 for δ = 0.6, between two rows."""
    row = [0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3]
    change = [0, -1, 0, 1, -2, -1, 0, 1, -1, 0, 1]
    upper = [1, 0.5, 0.75, 1, 0.1, 0.3, 0.9, 1, 0.4, 0.7, 1]
    ptable = PTable(row=row, change=change, upper=upper, blocks=["all"] * 11)
    table = small_table([300.0], n=[3], top=[[200.0, 60.0, 40.0]])
    key = np.full(table.cells, round(0.8 * KEYS))
    table = table.replace(contributions=dataclasses.replace(table.contributions, key=key))
    for share, expected in ((0.5, 400), (0.6, 360)):
        after = CellKeyMagnitude(ptable=ptable, share=share, keys="rotate", digits=1).apply(table)
        assert after.shown == pytest.approx(np.full(table.cells, expected))
