"""Release files: codes byte for byte, exact decimals, nothing of a hidden value."""

import csv
import io
from decimal import Decimal
from pathlib import Path

import duckdb
import numpy as np
import pytest

from discreet.audit import publish
from discreet.errors import ParameterError
from discreet.io.published import write_published
from discreet.model.hierarchy import Hierarchy
from discreet.model.intruder import Intruder
from discreet.model.published import PublishedTable
from discreet.testing import small_table

CODES = ["  é ü", "=1+1", '"quoted"', "a,b;c", "007", "line\nbreak"]


def published(decimals: int = 2) -> PublishedTable:
    inner = np.array([[1.25, 2, 3.5], [4, 5, 6], [7, 8, 9], [10, 11, 1e13], [0, 1, 2], [3, 4, 0.07]])
    table = small_table(
        inner,
        variables=("value", "status"),
        hierarchies=[Hierarchy.flat(CODES, total="all, all"), Hierarchy.flat(["x", "y", "z"])],
        decimals=decimals,
        response="value",
        intruder=Intruder(unions=False, insiders="none"),
    )
    hide = np.zeros(table.cells, bool)
    for row in ("=1+1", "007"):
        hide[[table.cell(value=row, status="x"), table.cell(value=row, status="y")]] = True
    return publish(table.with_secondary("test", hide))


def read(path: Path, delimiter: str = ",") -> list[list[str]]:
    return list(csv.reader(io.StringIO(path.read_bytes().decode("utf-8"), newline=""), delimiter=delimiter))


def test_csv_holds_codes_byte_for_byte_and_exact_decimals(tmp_path: Path) -> None:
    (file,) = write_published(published(), tmp_path)
    assert file == tmp_path / "table.csv"
    header, *lines = read(file)
    assert header == ["value", "status", "value_", "status_"]
    assert len(lines) == 7 * 4
    assert {line[0] for line in lines} == {*CODES, "all, all"}
    cells = {(line[0], line[1]): (line[2], line[3]) for line in lines}
    assert cells["  é ü", "x"] == ("1.25", "published")
    assert cells["a,b;c", "z"] == ("10000000000000.00", "published")
    assert cells["line\nbreak", "z"] == ("0.07", "published")
    assert cells["=1+1", "x"] == ("", "suppressed")
    assert sum(status == "suppressed" for _, status in cells.values()) == 4


def test_csv_follows_the_wishes_of_the_reader(tmp_path: Path) -> None:
    (file,) = write_published(published(), tmp_path, delimiter=";", decimal=",", hidden="x")
    _, *lines = read(file, ";")
    cells = {(line[0], line[1]): line[2] for line in lines}
    assert cells["  é ü", "x"] == "1,25"
    assert cells["=1+1", "x"] == "x"


def test_parquet_holds_decimals_and_nulls_in_the_order_of_the_table(tmp_path: Path) -> None:
    _, file = write_published(published(), tmp_path, formats=("csv", "parquet"))
    _, *lines = read(tmp_path / "table.csv")
    found = duckdb.sql(f"SELECT * FROM read_parquet('{file}')")
    assert [str(kind) for kind in found.types] == ["VARCHAR", "VARCHAR", "DECIMAL(38,2)", "VARCHAR"]
    rows = found.fetchall()
    assert [list(row[:2]) for row in rows] == [line[:2] for line in lines]
    assert [row[2] for row in rows] == [Decimal(line[2]) if line[2] else None for line in lines]


def test_a_hidden_value_is_in_no_byte_of_a_release(tmp_path: Path) -> None:
    inner = np.array([[731904.0, 52], [33, 44]])
    table = small_table(inner, intruder=Intruder(unions=False, insiders="none"))
    cells = [table.cell(v1=a, v2=b) for a in "AB" for b in "AB"]
    hide = np.zeros(table.cells, bool)
    hide[cells] = True
    for file in write_published(publish(table.with_secondary("test", hide)), tmp_path, formats=("csv", "parquet")):
        assert b"731904" not in file.read_bytes()
        assert np.float64(731904).tobytes() not in file.read_bytes()


def perturbed(decimals: int, *, kind: str = "frequency") -> PublishedTable:
    table = small_table(np.array([[13, 22], [33, 44]]), kind=kind, decimals=decimals, intruder=Intruder(perturbed="sensitive"))
    shown = np.where(np.arange(table.cells) == table.cell(), np.nan, table.value + 0.75 * (decimals > 0) - 2 * (decimals == 0))
    shown[table.cell(v1="A", v2="A")] = 0.0
    error = np.where(np.arange(table.cells) == table.cell(v1="B"), np.nan, 1.0246950765959597)
    return publish(table.with_shown("test", shown, low=-np.inf, high=np.inf, error=error))


def test_perturbed_counts_are_whole_and_their_errors_follow(tmp_path: Path) -> None:
    csv_file, file = write_published(perturbed(0), tmp_path, formats=("csv", "parquet"), decimal=",", delimiter=";")
    header, *lines = read(csv_file, ";")
    assert header == ["v1", "v2", "value", "status", "standard_error"]
    cells = {(line[0], line[1]): line[2:] for line in lines}
    assert cells["A", "A"] == ["0", "published", "1,02"]
    assert cells["A", "B"] == ["20", "published", "1,02"]
    assert cells["Total", "Total"] == ["112", "published", ""]  # exact, and so without an error
    assert cells["B", "Total"] == ["75", "published", ""]
    found = duckdb.sql(f"SELECT * FROM read_parquet('{file}')")
    assert [str(kind) for kind in found.types] == ["VARCHAR", "VARCHAR", "DECIMAL(38,0)", "VARCHAR", "DECIMAL(38,2)"]
    rows = {row[:2]: row[2:] for row in found.fetchall()}
    assert rows["A", "B"] == (Decimal(20), "published", Decimal("1.02"))
    assert rows["B", "Total"] == (Decimal(75), "published", None)


def test_an_error_larger_than_its_number_is_left_out() -> None:
    table = small_table([[10.0, 20], [30, 40]])
    shown = np.where(np.arange(table.cells) == table.cell(v1="A", v2="A"), 0.0, table.value + 1)
    layout = publish(table.with_shown("by hand", shown, error=3.0)).layout()
    at = layout.value == 0
    assert at.sum() == 1
    assert np.isnan(layout.error[at]).all()
    assert (layout.error[~at] >= 3).all()


def test_errors_of_sums_are_graded_in_files_and_hidden_cells_have_none(tmp_path: Path) -> None:
    (file,) = write_published(perturbed(1, kind="magnitude"), tmp_path, hidden="x")
    _, *lines = read(file)
    cells = {(line[0], line[1]): line[2:] for line in lines}
    assert cells["B", "B"] == ["44.8", "published", "2.238"]  # 5 % of 44.75, as 1.02 is above 2 % of it
    assert cells["B", "Total"] == ["77.8", "published", ""]


@pytest.mark.parametrize(
    ("options", "message"),
    [({"formats": ("xls",)}, "not one of csv, parquet"), ({"delimiter": "::"}, "'::'"), ({"delimiter": "."}, "decimal mark")],
)
def test_what_cannot_be_written_is_refused(tmp_path: Path, options: dict, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        write_published(published(), tmp_path, **options)
    assert list(tmp_path.iterdir()) == []
