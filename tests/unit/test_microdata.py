"""Reading microdata: what is not declared is found, what does not fit is named."""

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discreet.errors import InputError
from discreet.io.microdata import read_microdata
from discreet.model.microdata import Missing
from discreet.model.tabulate import tabulate

CODES = ["01.1", "Nuenen, Gerwen", "Zürich", "A;B", '"q"', "  pad", "@x", "007", ".IE04", "Décembre", "x" * 200]


def total(microdata: object, **given: object) -> float:
    table = tabulate(microdata, spanning=["code"], response="value", **given)
    return float(table.value[table.cell()])


def test_codes_survive_byte_for_byte_in_every_frame() -> None:
    values = [float(i) for i in range(len(CODES))]
    frames = [
        pd.DataFrame({"code": CODES, "value": values}),
        pl.DataFrame({"code": CODES, "value": values}),
        pa.table({"code": CODES, "value": values}),
        pl.DataFrame({"code": CODES, "value": values}).with_columns(pl.col("code").cast(pl.Categorical)),
        pl.LazyFrame({"code": CODES, "value": values}),
    ]
    for frame in frames:
        table = tabulate(read_microdata(frame), spanning=["code"], response="value")
        assert set(table.layouts[0].hierarchies[0].codes[1:]) == set(CODES)
        assert table.value[table.cell(code="Zürich")] == 2


def test_a_duckdb_relation_is_read() -> None:
    relation = duckdb.connect().sql("SELECT 'a' AS code, 1.5 AS value UNION ALL SELECT 'b', 2.25")
    assert total(read_microdata(relation)) == 3.75


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("code,value\n01.1,1.5\nZürich,2.25\n", "utf-8"),
        ("code,value\n01.1,1.5\nZürich,2.25\n", "utf-8-sig"),
        ("code;value\n01.1;1,5\nZürich;2,25\n", "utf-8"),
        ("code;value\n01.1;1,5\nZürich;2,25\n", "cp1252"),
        ("code\tvalue\n01.1\t1.5\nZürich\t2.25\n", "utf-16"),
        ('code|value\r\n"01.1"|1.5\r\nZürich|2.25\r\n', "utf-8"),
    ],
)
def test_delimiter_decimal_mark_encoding_and_byte_order_mark_are_found(tmp_path, text, encoding) -> None:
    path = tmp_path / "records.csv"
    path.write_bytes(text.encode(encoding))
    microdata = read_microdata(path)
    assert list(microdata.types) == ["code", "value"]
    table = tabulate(microdata, spanning=["code"], response="value")
    assert (table.value[table.cell()], table.decimals) == (3.75, 2)
    assert table.value[table.cell(code="01.1")] == 1.5


def test_parquet_and_fixed_width_are_read(tmp_path) -> None:
    parquet = tmp_path / "records.parquet"
    duckdb.sql("SELECT 'a' AS code, 1.5 AS value").write_parquet(str(parquet))
    assert total(read_microdata(parquet)) == 1.5
    fixed = tmp_path / "records.asc"
    fixed.write_text(" 1  1.5\n01 2.25\n")
    microdata = read_microdata(fixed, columns=[("code", 1, 2), ("value", 3, 5)])
    table = tabulate(microdata, spanning=["code"], response="value")
    assert table.layouts[0].hierarchies[0].codes == ("Total", " 1", "01")
    assert table.value[table.cell()] == 3.75


def test_leading_zeros_and_whole_number_codes_stay_as_they_are(tmp_path) -> None:
    path = tmp_path / "records.csv"
    path.write_text("code,value\n007,1\n7,2\n")
    assert tabulate(read_microdata(path), spanning=["code"], response="value").layouts[0].hierarchies[0].codes == (
        "Total",
        "007",
        "7",
    )
    whole = tabulate(read_microdata(pd.DataFrame({"code": [7, 10], "value": [1, 2]})), spanning=["code"], response="value")
    assert whole.layouts[0].hierarchies[0].codes == ("Total", "10", "7")


def missing_frame() -> pd.DataFrame:
    return pd.DataFrame({"code": ["a", None, "99", "b"], "value": [1.0, 2.0, 4.0, None]})


def test_missing_codes_and_values_follow_the_declared_policy_and_are_counted() -> None:
    with pytest.raises(InputError, match="1 records have no code"):
        total(read_microdata(missing_frame()))
    with pytest.raises(InputError, match="1 records have no value"):
        total(read_microdata(missing_frame(), missing=Missing(on_code="drop")))
    dropped = read_microdata(missing_frame(), missing=Missing(codes=("99",), on_code="drop", on_value="drop"))
    table = tabulate(dropped, spanning=["code"], response="value")
    assert table.value[table.cell()] == 1
    counts = table.history[0].counts
    assert counts["records without a code in code, left out"] == 2
    assert counts["records without value, left out"] == 1
    category = read_microdata(missing_frame(), missing=Missing(codes=("99",), on_code="category", on_value="zero"))
    table = tabulate(category, spanning=["code"], response="value")
    assert (table.value[table.cell()], table.value[table.cell(code="?")]) == (7, 6)


def test_values_that_mean_missing_are_named(tmp_path) -> None:
    path = tmp_path / "records.csv"
    path.write_text("code,value\na,1\nb,-9\nb,x\n")
    microdata = read_microdata(path, missing=Missing(values=("-9", "x"), on_value="drop"))
    assert total(microdata) == 1


@pytest.mark.parametrize("value", [1e13, 1e-9, 123456789.25, -0.001])
def test_huge_and_tiny_values_are_exact(value: float) -> None:
    frame = pd.DataFrame({"code": ["a", "b", "b"], "value": [value, value, value]})
    table = tabulate(read_microdata(frame), spanning=["code"], response="value")
    assert table.value[table.cell()] == float(f"{3 * value:.12g}")


def test_huge_and_tiny_values_in_one_column() -> None:
    frame = pd.DataFrame({"code": ["a", "b"], "value": [1e13, 1e-9]})
    assert total(read_microdata(frame)) == pytest.approx(1e13)


def test_errors_name_the_column_and_never_the_value(tmp_path) -> None:
    frame = pd.DataFrame({"code": ["a", "b"], "value": ["7919.37", "secret"]})
    cases = [
        (lambda: read_microdata(frame, unit="cod"), "did you mean 'code'"),
        (lambda: read_microdata(frame, unit="code", holding="code"), "two parts"),
        (lambda: total(read_microdata(frame)), "1 records hold text"),
        (lambda: read_microdata(tmp_path / "none.csv"), "no such file"),
        (lambda: read_microdata(frame.iloc[:0]), "holds no records"),
        (lambda: read_microdata(42), "cannot read a int"),
        (lambda: read_microdata(frame, delimiter=";"), "delimiter is given"),
        (lambda: tabulate(read_microdata(frame), spanning=["code"], where={"code": ["z"]}), "no record passes the filter"),
        (lambda: tabulate(read_microdata(frame), spanning=[]), "names no spanning variable"),
    ]
    for run, words in cases:
        with pytest.raises(InputError, match=words) as caught:
            run()
        assert "7919.37" not in str(caught.value)
        assert "secret" not in str(caught.value)


def test_enumerations_are_text_and_never_spelled_out() -> None:
    frame = pl.DataFrame({"code": ["a", "b"], "value": ["7919.37", "no number"]})
    for kind in (pl.String, pl.Categorical, pl.Enum(["7919.37", "no number"])):
        with pytest.raises(InputError, match="1 records hold text") as caught:
            total(read_microdata(frame.with_columns(pl.col("value").cast(kind))))
        assert "7919.37" not in str(caught.value)
    days = pl.DataFrame({"code": ["a"], "value": ["2026-01-31"]}).with_columns(pl.col("value").str.to_date())
    for frame in (days, days.to_pandas(), days.to_arrow()):
        with pytest.raises(InputError, match=r"not numbers|hold text"):
            total(read_microdata(frame))


def test_a_wrong_encoding_or_delimiter_is_told(tmp_path) -> None:
    path = tmp_path / "records.csv"
    path.write_bytes("code;value\nZürich;1\n".encode("cp1252"))
    with pytest.raises(InputError, match="does not decode as utf-8"):
        read_microdata(path, encoding="utf-8")
    with pytest.raises(InputError, match="try delimiter = ';'"):
        read_microdata(path, delimiter=",")


def test_a_broken_line_is_named_by_its_number(tmp_path) -> None:
    path = tmp_path / "records.csv"
    path.write_text("code,value\na,1\nb,7919.37,extra,more\n")
    with pytest.raises(InputError) as caught:
        read_microdata(path)
    assert "line 3" in str(caught.value)
    assert "7919.37" not in str(caught.value)


def test_reprs_show_counts_only() -> None:
    microdata = read_microdata(pd.DataFrame({"code": ["a"], "value": [7919.37]}))
    assert "7919" not in repr(microdata)
    assert "7919" not in repr(tabulate(microdata, spanning=["code"], response="value"))
