"""Stored outcomes of ptable 1.0.0 and cellKey 1.0.3, figures of the specification, and a published p-table of whole keys."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from discreet.io.microdata import read_microdata
from discreet.io.ptables import read_ptable, write_ptable
from discreet.model.ptable import PTable
from discreet.model.tabulate import tabulate
from discreet.tables.perturb.cell_key import CellKey
from discreet.tables.perturb.ptable_design import design_counts, design_magnitudes

DESIGNS: Mapping[str, Mapping[str, Any]] = {
    "cnt_D5_V3_js2_pstay0.5": {"largest": 5, "variance": 3.0, "blocked": 2, "stay": 0.5},
    "cnt_D8_V3_js2": {"largest": 8, "variance": 3.0, "blocked": 2},
    "cnt_D3_V1.08_js1": {"largest": 3, "variance": 1.08, "blocked": 1},
    "cnt_D2_V1.08_js1": {"largest": 2, "variance": 1.08, "blocked": 1},
    "cnt_D2_V1.08_js1_monoTRUE-TRUE-FALSE-TRUE": {
        "largest": 2,
        "variance": 1.08,
        "blocked": 1,
        "monotone": (True, True, False, True),
    },
    "cnt_D5_V2_js0": {"largest": 5, "variance": 2.0},
}


@pytest.mark.parametrize("name", DESIGNS)
def test_counts_as_ptable_makes_them(name: str, shared: Path) -> None:
    assert_close(design_counts(**DESIGNS[name]), read_ptable(shared / f"oracles/r_outcomes/ptable_{name}.csv"))


def test_magnitudes_as_ptable_makes_them(shared: Path) -> None:
    stored = read_ptable(shared / "oracles/r_outcomes/ptable_num_D5_V2_step4_icat135.csv")
    assert_close(design_magnitudes(5, 2.0, 4, (1, 3, 5)), stored)


@pytest.mark.parametrize(
    ("name", "largest", "variance", "steps", "anchors"),
    [
        ("nums_all", 10, 3.0, 2, (1, 5, 10)),
        ("nums_sep_even", 8, 1.0, 2, (1, 5, 8)),
        ("nums_sep_odd", 10, 2.0, 2, (1, 10)),
        ("nums_sep_small_cells", 5, 1.0, 5, (1, 3, 5)),
    ],
)
def test_the_examples_of_ptable(
    name: str, largest: int, variance: float, steps: int, anchors: tuple[int, ...], shared: Path
) -> None:
    """Which have the variance exactly."""
    stored = read_ptable(shared / f"oracles/r_data/ptable_ex_{name}.csv")
    assert_close(design_magnitudes(largest, variance, steps, anchors, exact=True, block=stored.names[0]), stored)


def assert_close(ours: PTable, theirs: PTable) -> None:
    np.testing.assert_array_equal(ours.row, theirs.row)
    np.testing.assert_array_equal(ours.change, theirs.change)
    np.testing.assert_array_equal(ours.blocks, theirs.blocks)
    np.testing.assert_allclose(ours.probability, theirs.probability, rtol=0, atol=1e-6)


def row_of(table: PTable, row: int) -> list[float]:
    return table.probability[(table.row == row) & (table.probability > 0)].tolist()


def test_figures_of_the_specification() -> None:
    """D.9."""
    two = design_counts(2, 1.0, monotone=False)
    assert row_of(two, 2) == pytest.approx([0.063827, 0.244691, 0.382963, 0.244691, 0.063827], abs=1e-6)
    assert row_of(design_counts(2, 5.0, monotone=False), 1) == pytest.approx([0.421351, 0.276953, 0.182041, 0.119655], abs=1e-6)
    mono = design_counts(2, 1.0)
    assert row_of(mono, 1) == pytest.approx([0.366486, 0.366486, 0.167572, 0.099457], abs=1e-6)
    assert mono.variance[1] == pytest.approx(0.932, abs=1e-3)
    assert row_of(design_counts(2, 0.9), 1) == pytest.approx([0.3625, 0.3625, 0.1875, 0.0875], abs=1e-6)
    five = design_counts(5, 3.0, blocked=2)
    assert row_of(five, 1) == pytest.approx([0.734470, 0.136720, 0.072796, 0.037430, 0.018584], abs=1e-6)
    wanted = [0.203986, 0.393663, 0.247492, 0.110568, 0.035102, 0.007919, 0.001269]
    assert row_of(five, 3) == pytest.approx(wanted, abs=1e-6)
    wanted = [0.084855, 0.277921, 0.277921, 0.189394, 0.105125, 0.045455, 0.015311, 0.004017]
    assert row_of(five, 4) == pytest.approx(wanted, abs=1e-6)
    wanted = [0.020147, 0.173347, 0.220633, 0.221318, 0.174968, 0.109016, 0.053533, 0.020718, 0.006319]
    assert row_of(five, 5) == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("given", [False, True])
def test_counts_as_cellkey_perturbs_them(given: bool, shared: Path) -> None:
    """Weighted and unweighted, each cell by the same line of the p-table, although keys have 32 bits here."""
    oracles = shared / "oracles"
    stored = read_ptable(oracles / "r_outcomes/ptable_cnt_D5_V3_js2_pstay0.5.csv")
    method = CellKey(ptable=stored) if given else CellKey(**DESIGNS["cnt_D5_V3_js2_pstay0.5"])
    data = oracles / "r_data/cellKey_testdata_seed120.csv"
    weighted, plain = (
        method.apply(tabulate(read_microdata(data, record_key="rec_key", weight=weight), spanning=["sex", "age"]))
        for weight in ("sampling_weight", None)
    )
    outcome = pd.read_csv(oracles / "r_outcomes/ck_freqtab_total.csv")
    looked_up = pd.read_csv(oracles / "r_outcomes/ck_mod_cnts_total.csv")
    assert len(outcome) == weighted.cells == 21
    for line, found in zip(outcome.itertuples(), looked_up.itertuples(), strict=True):
        codes = {name: code for name, code in (("sex", line.sex), ("age", line.age)) if code != "Total"}
        cell = weighted.cell(codes)
        assert (weighted.contributions.n[cell], weighted.value[cell]) == (line.uwc, pytest.approx(line.wc, abs=1e-6))
        assert weighted.shown[cell] == pytest.approx(line.pwc, abs=1e-6)
        assert plain.shown[plain.cell(codes)] == line.puwc
        key = weighted.contributions.key[cell]
        assert key / 2**32 == pytest.approx(found.ckey, abs=1e-6)
        row = stored.row_of(line.uwc)
        assert stored.change[found.row_nr - 1] == stored.at(row, key) == found.pert
        assert stored.row[found.row_nr - 1] == stored.rows[row]


def test_files_of_tau_argus(shared: Path) -> None:
    folder = shared / "data/argus/samples"
    counts = read_ptable(folder / "cellkey_magnitude/ptab_freq.txt")
    assert_close(counts, design_counts(**DESIGNS["cnt_D5_V3_js2_pstay0.5"]))
    assert read_ptable(folder / "cellkey_frequency/20160511_szenario_5a.txt").for_counts
    wide = read_ptable(folder / "cellkey_frequency/tau_testW_ptable.txt")
    assert (wide.largest, len(wide.rows)) == (7, 11)
    assert np.abs(wide.mean).max() < 1e-8
    assert read_ptable(folder / "cellkey_magnitude/ptab_savings_all.txt").rows.tolist() == [0, 1, 5]
    assert read_ptable(folder / "cellkey_magnitude/ptab_savings_smallcells.txt").largest == 8


def test_the_published_table_of_whole_keys(shared: Path, tmp_path: Path) -> None:
    """192,000 lines: (c − 1) mod 250 + 501 above 750, and counts below 10 become 0, others the nearest multiple of 5."""
    path = shared / "data/tables/ons_ptable_10_5_rule.csv"
    table = read_ptable(path)
    assert (table.keys, table.repeat, len(table.rows), table.source) == (256, 250, 750, str(path))
    assert read_ptable(write_ptable(table, tmp_path / "again.csv")) == table
    listed = pd.read_csv(path).set_index(["pcv", "ckey"]).pvalue
    chance = np.random.default_rng(5)
    count, key = chance.integers(1, 3000, 2000), chance.integers(0, 2**32, 2000)
    row = np.where(count > 750, (count - 1) % 250 + 501, count)
    np.testing.assert_array_equal(table.change_of(count, key), listed.loc[list(zip(row, key % 256, strict=True))])
    shown = count + table.change_of(count, key)
    assert (shown % 5 == 0).all()
    assert (shown[count < 10] == 0).all()
    low, high, _ = table.reading([0, 10, 15, 2000])
    assert list(zip(low, high, strict=True)) == [(0, 9), (10, 12), (13, 17), (1998, 2002)]
