"""What a file leaves open, a decimal mark or the code of a total, is found where it is plain and asked for where it is not."""

from pathlib import Path

import pytest

from discreet.cli import main
from discreet.errors import HierarchyError, InputError, near
from discreet.io.given import read_given
from discreet.io.hierarchies import read_hierarchy
from discreet.io.microdata import read_microdata
from discreet.model.hierarchy import Hierarchy
from discreet.model.tabulate import tabulate


def total(folder: Path, values: list[str], **options: str) -> float:
    file = folder / "records.csv"
    file.write_text("\n".join(["region;turnover", *(f"N;{value}" for value in values)]), "utf-8")
    return float(tabulate(read_microdata(file, **options), spanning=["region"], response="turnover").value[0])


def test_a_plain_decimal_comma_is_found(tmp_path: Path) -> None:
    assert total(tmp_path, ["1,5", "1,250", "2"]) == 4.75
    assert total(tmp_path, ["0,125", "1,250"]) == 1.375
    assert total(tmp_path, ["1.5", "1.250"]) == 2.75


def test_commas_that_may_mark_thousands_are_asked_about(tmp_path: Path) -> None:
    values = ["1,250", "2,500", "900"]
    with pytest.raises(InputError, match="column 'turnover': a comma before three digits"):
        total(tmp_path, values)
    assert total(tmp_path, values, decimal=",") == 903.75
    with pytest.raises(InputError, match="2 records hold text"):
        total(tmp_path, values, decimal=".")


@pytest.mark.parametrize("thousands", ["1.250", "1.250,5", "12.250.000"])
def test_points_beside_decimal_commas_are_no_decimal_points(thousands: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="1 records hold text"):
        total(tmp_path, [thousands, "2,5"])


def test_given_tables_are_asked_about_too() -> None:
    lines = {"region": ["Total", "N", "S"], "value": ["3,500", "1,500", "2,000"]}
    options = {"spanning": ["region"], "kind": "frequency"}
    with pytest.raises(InputError, match="column 'value': a comma before three digits"):
        read_given(lines, **options)
    assert read_given(lines, decimal_mark=",", **options).value[0] == 3.5
    with pytest.raises(InputError, match="3 lines hold no plain number"):
        read_given({**lines, "value": [value.replace(",", ".") for value in lines["value"]]}, decimal_mark=",", **options)


# -------------------------------------------------------------------- totals

TWO = {
    "region": ["_T", "_T", "_T", "N", "N", "N", "S", "S", "S"],
    "branch": ["Total", "A", "B"] * 3,
    "value": [100, 40, 60, 30, 10, 20, 70, 30, 40],
}


def test_a_total_that_nobody_declares_is_refused() -> None:
    with pytest.raises(InputError, match="column 'region': '_T' is the sum of all others"):
        read_given(TWO, spanning=["region", "branch"], kind="frequency")
    both = {**TWO, "branch": ["_T", "A", "B"] * 3}
    assert read_given(both, spanning=["region", "branch"], kind="frequency", total="_T").equations.shape[0] == 6


def test_tables_without_totals_are_taken() -> None:
    for value in ([1, 2, 4], [5, 5, 0], [3, 1, 1]):
        assert read_given({"region": ["N", "S", "W"], "value": value}, spanning=["region"], kind="frequency").cells
    alike = {"region": ["N", "S", "W"], "value": [3, 2, 1]}
    assert read_given(alike, spanning=["region"], kind="frequency", total="Total").cells == 3
    tree = Hierarchy.flat(["N", "S", "W"])
    assert read_given(alike, spanning={"region": tree}, kind="frequency").cells == 3
    once = {"region": ["N", "S", "W"] * 2, "branch": ["A"] * 3 + ["B"] * 3, "value": [3, 2, 1, 3, 2, 2]}
    assert read_given(once, spanning=["region", "branch"], kind="frequency").cells == 6


def test_the_command_takes_the_code_of_the_total(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "table.csv"
    file.write_text("region,value,status\n_T,9,\nN,1,U\nS,2,\nW,6,\n", "utf-8")
    asked = ["audit", str(file), "--spanning", "region", "--status", "status"]
    assert main(asked) == 2
    assert main([*asked, "--total", "_T"]) == 3
    assert "exact: region=N" in capsys.readouterr().out
    assert main([*asked, "--hierarchy", "region"]) == 2
    assert "names no file" in capsys.readouterr().err


# -------------------------------------------------------------------- messages


def test_no_message_shows_what_stands_in_a_wrong_column() -> None:
    with pytest.raises(InputError, match="holds numbers, not statuses") as error:
        read_given(TWO, spanning=["region", "branch"], kind="frequency", status="value", total="_T")
    assert "70" not in str(error.value) + str(error.value.details)
    with pytest.raises(InputError, match="a code is a broken number") as error:
        read_hierarchy([731.5])
    assert "731" not in str(error.value)


def test_a_parent_column_that_is_not_there_is_named(tmp_path: Path) -> None:
    (tmp_path / "tree.csv").write_text("above,below\nA,A1\n", "utf-8")
    with pytest.raises(InputError, match=r"no column 'abov' for the parents \(did you mean 'above'\?\)"):
        read_hierarchy(tmp_path / "tree.csv", parent="abov", child="below")


def test_the_labels_of_a_plan_have_the_encoding_of_its_tree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "records.csv").write_text("region,turnover\n" + "N,1\nS,2\n" * 4, "utf-8")
    (tmp_path / "region.cdl").write_bytes("N,Nörd\nS,Süd\n".encode("latin-1"))
    tree = 'tree = { all = ["N", "S"] }, labels = "region.cdl"'
    text = f"""[microdata]
path = "records.csv"
[hierarchies]
region = {{ {tree} }}
[tables.small]
spanning = ["region"]
methods = ["min-frequency"]
"""
    (tmp_path / "plan.toml").write_text(text, "utf-8")
    run = ["run", str(tmp_path / "plan.toml"), "--out", str(tmp_path / "out")]
    assert main(run) == 2
    assert "region.cdl: line 1 is not utf-8 text" in capsys.readouterr().err
    (tmp_path / "plan.toml").write_text(text.replace(tree, f'{tree}, encoding = "latin-1"'), "utf-8")
    assert main(run) == 0
    assert "Süd" in (tmp_path / "out" / "report.html").read_text("utf-8")


def test_a_word_in_another_case_is_meant() -> None:
    assert near("REGION", ["branch", "region"]) == " (did you mean 'region'?)"


def test_groupings_are_lists() -> None:
    for members in ("AB", 1, [1]):
        with pytest.raises(HierarchyError, match="the grouping 'G' is no list of codes"):
            read_hierarchy(["A", "B"], groupings=[{"G": members}])  # type: ignore[dict-item]
