"""Real files, read with declared columns, give the primary suppressions that other tools found in them."""

import csv
from pathlib import Path

import polars as pl
import pytest

from discreet.errors import HierarchyError
from discreet.io.hierarchies import read_hierarchy
from discreet.io.microdata import read_microdata
from discreet.model.hierarchy import Hierarchy
from discreet.model.microdata import Missing
from discreet.model.table import Table
from discreet.model.tabulate import tabulate
from discreet.tables.rules import APriori, MinimumFrequency, PPercent, ZeroUnsafe


def statuses(path: Path, dimensions: int) -> dict[tuple[str, ...], tuple[str, int]]:
    """Codes → (value, status number) of an output file; empty cells left out."""
    with path.open(encoding="latin-1", newline="") as file:
        rows = list(csv.reader(file))
    found: dict[tuple[str, ...], tuple[str, int]] = {}
    for row in rows:
        codes = tuple(code.strip() for code in row[:dimensions])
        if codes in found and codes[-1] == "11":  # the tree that was read has the code 11 twice: the first should be 10
            found[(*codes[:-1], "10")] = found.pop(codes)
        found[codes] = (row[dimensions], int(row[dimensions + 1]))
    return {codes: cell for codes, cell in found.items() if cell[1] != 14}


def lines(table: Table) -> dict[tuple[str, ...], int]:
    layout = table.layouts[0]
    columns = [layout.column(v) for v in range(len(layout.variables))]
    return {tuple(code.strip() for code in codes): int(cell) for *codes, cell in zip(*columns, layout.cell, strict=True)}


def assert_agrees(table: Table, golden: dict[tuple[str, ...], tuple[str, int]], primary: set[int]) -> None:
    found = lines(table)
    assert set(found) == set(golden)
    for codes, (value, status) in golden.items():
        assert table.primary[found[codes]] == (status in primary), codes
        if value != "x":
            assert table.value[found[codes]] == pytest.approx(float(value), abs=0.005), codes


def test_size_by_region_of_the_demo_microdata(shared: Path) -> None:
    golden = shared / "data/argus/golden"
    layout = [("Size", 9, 2), ("Region", 12, 2), ("Var2", 28, 10)]
    microdata = read_microdata(golden / "Simple2D_InputData/tau_testW.asc", columns=layout)
    region = read_hierarchy(golden / "Simple2D_InputData/region2.hrc", lead="@").with_leaf("99")
    table = tabulate(microdata, spanning={"Size": None, "Region": region}, response="Var2")
    table = PPercent(p=15).apply(table)
    assert_agrees(table, statuses(golden / "Simple2D_Expected_Output/Simple2D.txt", 2), {3})
    assert sum(table.primary[cell] for cell in lines(table).values()) == 9


ENTERPRISE = [("h_id", 1, 9), ("act", 10, 2), ("product", 12, 2), ("region", 14, 2), ("mun", 16, 3), ("turnover", 19, 8)]


def test_region_by_municipality_of_the_enterprises(shared: Path, tmp_path: Path) -> None:
    folder = shared / "data/argus/golden"
    with pytest.raises(HierarchyError, match="code '11' stands on line 150 and on line 204"):
        read_hierarchy(folder / "TEST/TEST/NUTS.hrc", lead="@")
    mended = tmp_path / "NUTS.hrc"
    mended.write_text((folder / "TEST/TEST/NUTS.hrc").read_text().replace("@11\n", "@10\n", 1))
    microdata = read_microdata(folder / "TEST/TEST/example_enterprise.asc", columns=ENTERPRISE, holding="h_id")
    spanning = {
        "region": read_hierarchy(folder / "TEST/TEST/KohStatReg.hrc", lead="@"),
        "mun": read_hierarchy(mended, lead="@"),
    }
    table = PPercent(p=10).apply(tabulate(microdata, spanning=spanning, response="turnover"))
    golden = statuses(folder / "OUTPUT/OUTPUT/test_3a.txt", 2)
    assert_agrees(table, golden, {3})
    assert sum(table.primary[cell] for cell in lines(table).values()) == 36


def test_activity_by_product_with_missing_codes_and_zeros(shared: Path) -> None:
    folder = shared / "data/argus/golden"
    microdata = read_microdata(
        folder / "TEST/TEST/example_enterprise.asc",
        columns=ENTERPRISE,
        holding="h_id",
        missing=Missing(codes=("00",), on_code="category", category="00"),
    )
    activity = read_hierarchy(folder / "TEST/TEST/nace_divisions.hrc", lead="@")
    table = tabulate(microdata, spanning={"act": activity, "product": None}, response="turnover")
    table = APriori(entries=({"codes": {"act": "00", "product": "*"}, "status": "safe"},)).apply(table)
    table = ZeroUnsafe(range=10.0).apply(PPercent(p=10).apply(table))
    golden = statuses(folder / "OUTPUT/OUTPUT/test_1.txt", 2)
    assert sum(status in (3, 4, 5, 6, 9) for _, status in golden.values()) == 283
    assert_agrees(table, golden, {3, 6})


def test_frequency_and_p_percent_of_the_second_batch(shared: Path) -> None:
    folder = shared / "data/argus/golden/Batch/ex2"
    text = (folder / "microdata_ex2.asc").read_text(encoding="latin-1")
    rows = [[field.strip("\r") for field in line.split(",")] for line in text.splitlines() if "," in line]
    frame = pl.DataFrame(rows, schema=["region", "gender", "weight", "val", "num1", "num2"], orient="row")
    spanning = {
        "region": read_hierarchy(folder / "hier_region_ex2.hrc", lead="@"),
        "gender": Hierarchy.flat(["  male", "female"]),
    }
    table = tabulate(read_microdata(frame), spanning=spanning, response="num1", ranks=6)
    table = PPercent(p=20, coalition=5).apply(MinimumFrequency(n=5).apply(table))
    assert table.value[table.cell()] == pytest.approx(10484.95)
    assert {codes for codes, cell in lines(table).items() if table.primary[cell]} == {("A", "female")}
