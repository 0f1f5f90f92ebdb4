"""The release of a swapped file and the list of its swaps: values where they belong, and nothing of the source's order."""

import csv
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from discreet.errors import InputError, ParameterError
from discreet.io.microdata import read_microdata
from discreet.io.swap import write_swapped, write_swaps
from discreet.microdata.protect.swap.chance import RandomSwap
from discreet.microdata.protect.swap.rank import RankSwap
from discreet.microdata.protect.swap.start import start_swap
from discreet.model.keys import Secret
from discreet.model.microdata import Missing
from discreet.model.swap_file import SwapFile, Swapped

SECRET = Secret("0123456789abcdef0123456789abcdef")
MOVED = ["region", "job", "wage"]


def records(n: int = 1500) -> pd.DataFrame:
    chance = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "id": [f"p{i}" for i in range(n)],
            "sex": chance.choice(["1", "2"], n),
            "job": chance.choice(['a"b', "c,d", "é", "01", "  pad"], n),
            "region": chance.choice(["N", "S", "W"], n),
            "home": [f"h{i // 3:04}" for i in range(n)],
            "wage": chance.integers(100, 9999, n),
            "mark": chance.permutation(n) + 7_000_000,
        }
    )


def swapped(source: Any = None, **options: Any) -> SwapFile:
    file = start_swap(read_microdata(records() if source is None else source, **({"unit": "id"} | options)), SECRET)
    file = RandomSwap(columns=("region", "job"), rate=0.6).apply(file)
    return RankSwap(columns=("wage",), p=8).apply(file)


def expected(file: SwapFile, frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with its columns moved as the file says, by mark."""
    ordered = frame.iloc[file.rows].reset_index(drop=True)
    for column, origin in file.origin.items():
        ordered[column] = ordered[column].iloc[origin].to_numpy()
    return ordered.set_index("mark").sort_index()


def read(path: Path) -> pd.DataFrame:
    if path.suffix == ".parquet":
        return pd.read_parquet(path)
    return pd.read_csv(path, dtype={"sex": str, "job": str})


# ------------------------------------------------------------------ the values


@pytest.mark.parametrize("name", ["released.csv", "released.parquet"])
def test_each_value_stands_where_it_moved_and_all_else_where_it_was(name: str, tmp_path: Path) -> None:
    frame = records()
    file = swapped(frame)
    path = write_swapped(file, tmp_path / "out", name=name)
    assert path == tmp_path / "out" / name
    assert [one.name for one in (tmp_path / "out").iterdir()] == [name]
    out = read(path)
    assert list(out.columns) == ["sex", "job", "region", "home", "wage", "mark"]
    out = out.set_index("mark").sort_index()
    pd.testing.assert_frame_equal(out, expected(file, frame.drop(columns="id")), check_dtype=False)
    true = frame.set_index("mark").sort_index()
    for column in MOVED:
        assert 0.1 < (out[column] != true[column]).mean() < 1
        assert sorted(out[column]) == sorted(true[column])
    assert (out["sex"] == true["sex"]).all()


@pytest.mark.parametrize("name", ["r.csv", "r.parquet"])
def test_rows_and_frames_in_any_order_give_the_same_bytes(name: str, tmp_path: Path) -> None:
    frame = records()
    frame.to_csv(tmp_path / "source.csv", index=False)
    frame.to_parquet(tmp_path / "source.parquet", row_group_size=200)
    sources = {
        "pandas": frame,
        "shuffled": frame.sample(frac=1, random_state=3),
        "polars": pl.from_pandas(frame),
        "arrow": pl.from_pandas(frame).to_arrow(),
        "parquet": tmp_path / "source.parquet",
    }
    made = {kind: write_swapped(swapped(one), tmp_path / kind, name=name, renumber=["home"]) for kind, one in sources.items()}
    first = read(made["pandas"])
    for path in made.values():
        pd.testing.assert_frame_equal(read(path), first)
    if name == "r.csv":
        path = write_swapped(swapped(tmp_path / "source.csv"), tmp_path / "csv", name=name, renumber=["home"])
        assert len({one.read_bytes() for one in [*made.values(), path]}) == 1
    lists = {write_swaps(swapped(one), tmp_path / kind).read_bytes() for kind, one in sources.items()}
    assert len(lists) == 1


def test_the_order_of_lines_tells_nothing_of_the_source(tmp_path: Path) -> None:
    frame = records()
    marks = read(write_swapped(swapped(frame), tmp_path))["mark"].to_numpy()
    place = pd.Series(np.arange(len(frame)), index=frame["mark"]).loc[marks].to_numpy()
    assert abs(np.corrcoef(place, np.arange(len(place)))[0, 1]) < 0.1
    other = start_swap(read_microdata(frame, unit="id"), Secret("another secret of a test, for nothing else"))
    marks_of_other = read(write_swapped(RankSwap(columns=("wage",)).apply(other), tmp_path))["mark"].to_numpy()
    assert (marks != marks_of_other).mean() > 0.9


@pytest.mark.parametrize("kind", ["csv", "parquet", "pandas", "polars"])
def test_values_find_their_records_in_large_files(kind: str, tmp_path: Path) -> None:
    """Files are read in pieces by several threads: entry i of every array must be record i, also in the released file."""
    n = 260_000
    ids = np.random.default_rng(1).permutation(n)
    frame = pd.DataFrame({"id": ids, "mark": ids * 7 + 1, "code": ((ids * 7919) % 13).astype(str), "size": ids % 1009})
    source: Any = {"pandas": frame, "polars": pl.from_pandas(frame)}.get(kind, tmp_path / f"source.{kind}")
    if kind == "csv":
        frame.to_csv(source, index=False)
    elif kind == "parquet":
        frame.to_parquet(source, row_group_size=20_000)
    file = start_swap(read_microdata(source, unit="id", threads=2), SECRET)
    file = RandomSwap(columns=("code",), rate=0.5).apply(file)
    out = pd.read_parquet(write_swapped(file, tmp_path / "out", name="r.parquet")).astype({"mark": int, "size": int})
    whole = expected(file, frame)
    pd.testing.assert_frame_equal(out.set_index("mark").sort_index(), whole.drop(columns="id"), check_dtype=False)
    assert (whole["code"].to_numpy() != frame.set_index("mark").sort_index()["code"].to_numpy()).mean() > 0.4


def test_types_stay_in_parquet_and_codes_in_csv(tmp_path: Path) -> None:
    n = 400
    chance = np.random.default_rng(2)
    frame = pd.DataFrame(
        {
            "id": range(n),
            "whole": chance.integers(1, 4, n),
            "floating": chance.choice([1.0, 2.0, 2.5, np.nan], n),
            "yes": chance.random(n) < 0.4,
            "day": pd.to_datetime("2026-01-01") + pd.to_timedelta(chance.integers(0, 99, n), "D"),
        }
    )
    columns = ("whole", "floating", "yes", "day")
    file = RandomSwap(columns=columns, rate=0.5).apply(start_swap(read_microdata(frame, unit="id"), SECRET))
    out = pd.read_parquet(write_swapped(file, tmp_path, name="r.parquet"))
    assert [kind.kind for kind in out.dtypes] == ["i", "f", "b", "M"]
    for column in columns:
        assert sorted(out[column].dropna()) == sorted(frame[column].dropna())
        assert out[column].isna().sum() == frame[column].isna().sum()
    lines = write_swapped(file, tmp_path, name="r.csv").read_text("utf-8").splitlines()
    assert all(re.fullmatch(r"[123],(1|2|2\.5)?,(true|false),2026-\d\d-\d\d[ 0:]*", line) for line in lines[1:])


@pytest.mark.parametrize("name", ["r.csv", "r.parquet"])
def test_empty_and_missing_codes_move_as_they_are_written(name: str, tmp_path: Path) -> None:
    frame = records()
    frame.loc[frame.index % 5 == 0, "job"] = None
    frame.loc[frame.index % 7 == 0, "job"] = "98"
    file = swapped(frame, missing=Missing(codes=("98",)))
    path = write_swapped(file, tmp_path, name=name)
    out = pd.read_csv(path, dtype=str) if name == "r.csv" else pd.read_parquet(path)
    assert out["job"].value_counts(dropna=False).to_dict() == frame["job"].value_counts(dropna=False).to_dict()


def test_a_single_column_keeps_its_empty_records(tmp_path: Path) -> None:
    frame = records()[["id", "job"]]
    frame.loc[frame.index % 3 == 0, "job"] = None
    file = RandomSwap(columns=("job",), rate=0.5).apply(start_swap(read_microdata(frame, unit="id"), SECRET))
    assert read_microdata(write_swapped(file, tmp_path)).rows == len(frame)


def test_decimal_commas_are_still_read_as_such(tmp_path: Path) -> None:
    lines = [f"{i};{'xy'[i % 2]};{i % 9},5" for i in range(60)]
    (tmp_path / "source.csv").write_text("\n".join(["id;a;w", *lines]) + "\n", "utf-8")
    microdata = read_microdata(tmp_path / "source.csv", unit="id", weight="w")
    file = RankSwap(columns=("w",), p=20).apply(start_swap(microdata, SECRET))
    path = write_swapped(file, tmp_path)
    assert path.read_text("utf-8").startswith("a;w\n")
    assert read_microdata(path).decimal_comma


def test_columns_may_have_the_names_that_are_used_within(tmp_path: Path) -> None:
    names = ["own", "place", "line", "c0", "lines", "source", "column", "record_id", "moved"]
    frame = pd.DataFrame({"id": range(40)} | {name: [f"{name}{i}" for i in range(40)] for name in names})
    file = RandomSwap(columns=("place", "column"), rate=1.0).apply(start_swap(read_microdata(frame, unit="id"), SECRET))
    out = lines_of(write_swapped(file, tmp_path))
    assert list(out[0]) == names
    assert all(row["own"][3:] == row["moved"][5:] != row["place"][5:] == row["column"][6:] for row in out)
    file = start_swap(read_microdata(frame.drop(columns="id")), SECRET, record=("column", "line"))
    listed = lines_of(write_swaps(RandomSwap(columns=("own",), rate=1.0).apply(file), tmp_path))
    assert list(listed[0]) == ["record_column", "record_line", "column", "from_column", "from_line"]


def lines_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


# -------------------------------------------------------------------- the list


def test_the_list_of_swaps_turns_the_true_records_into_the_released_ones(tmp_path: Path) -> None:
    frame = records()
    file = swapped(frame)
    listed = lines_of(write_swaps(file, tmp_path))
    assert set(listed[0]) == {"record_id", "column", "from_id"}
    true = frame.set_index("id")
    replayed = true.copy()
    for row in listed:
        assert row["record_id"] != row["from_id"]
        replayed.loc[row["record_id"], row["column"]] = true.loc[row["from_id"], row["column"]]
    out = read(write_swapped(file, tmp_path, columns=["id", *true.columns])).set_index("id")
    pd.testing.assert_frame_equal(replayed.sort_index(), out.sort_index(), check_dtype=False)
    assert {row["column"] for row in listed} == set(MOVED)


def test_where_nothing_moved_the_list_is_empty(tmp_path: Path) -> None:
    file = start_swap(read_microdata(records(), unit="id"), SECRET)
    step = Swapped(method="a method that found nothing to do", columns=("job",), margins=None, facts={})
    idle = file.moved({"job": np.arange(1500)}, step)
    for one in (idle, file.moved({}, step)):
        assert write_swaps(one, tmp_path).read_text("utf-8").splitlines() == ["record_id,column,from_id"]
    out = read(write_swapped(idle, tmp_path)).set_index("mark").sort_index()
    assert (out["job"] == records().set_index("mark").sort_index()["job"]).all()


# ------------------------------------------------------------ which columns


def test_ids_and_inner_roles_are_not_released(tmp_path: Path) -> None:
    frame = records().assign(key=1.5e-3, group="g", weight=2.5)
    file = swapped(frame, holding="group", weight="weight", record_key="key")
    header = write_swapped(file, tmp_path).read_text("utf-8").splitlines()[0]
    assert header == "sex,job,region,home,wage,mark,weight"
    header = write_swapped(file, tmp_path, columns=["group", "job"]).read_text("utf-8").splitlines()[0]
    assert header == "group,job"
    with pytest.raises(InputError, match="record keys, which are secret"):
        write_swapped(file, tmp_path, columns=["job", "key"])


def test_new_numbers_group_as_the_codes_do_and_tell_nothing_of_their_order(tmp_path: Path) -> None:
    frame = records()
    out = read(write_swapped(swapped(frame), tmp_path, renumber=["home"])).set_index("mark")["home"]
    true = frame.set_index("mark")["home"]
    pairs = pd.concat([out, true], axis=1).drop_duplicates()
    assert len(pairs) == out.nunique() == true.nunique() == 500
    assert set(out) == set(range(1, 501))
    place = pairs.iloc[:, 1].str[1:].astype(int)
    assert abs(np.corrcoef(pairs.iloc[:, 0], place)[0, 1]) < 0.15


def test_new_numbers_of_a_column_that_moved_are_those_of_the_moved_codes(tmp_path: Path) -> None:
    frame = records()
    file = RandomSwap(columns=("home",), rate=1.0).apply(start_swap(read_microdata(frame, unit="id"), SECRET))
    plain = read(write_swapped(file, tmp_path)).set_index("mark")["home"]
    new = read(write_swapped(file, tmp_path, renumber=["home"])).set_index("mark")["home"]
    pairs = pd.concat([plain, new], axis=1).drop_duplicates()
    assert len(pairs) == plain.nunique() == new.nunique()


def test_a_number_within_the_id_may_be_released_anew(tmp_path: Path) -> None:
    frame = records().assign(person=lambda one: one.groupby("home").cumcount()).drop(columns="id")
    file = start_swap(read_microdata(frame), SECRET, record=("home", "person"))
    file = RankSwap(columns=("wage",)).apply(file)
    assert not {"home", "person"} & set(read(write_swapped(file, tmp_path)).columns)
    out = read(write_swapped(file, tmp_path, columns=["home", "person", "wage"], renumber=["home"]))
    assert (out.groupby("home")["person"].nunique() == 3).all()


@pytest.mark.parametrize(
    ("options", "trouble"),
    [
        ({"columns": ["sex", "mark"]}, r"none of the columns that were swapped \('job', 'region', 'wage'\)"),
        ({"columns": ["job", "job"]}, "twice"),
        ({"columns": ["job", "wages"]}, "did you mean 'wage'"),
        ({"columns": ["job"], "renumber": ["home"]}, "column 'home' is to be renumbered and is not released"),
        ({"renumber": ["hoem"]}, "column 'hoem' is to be renumbered and is not released"),
    ],
)
def test_columns_that_cannot_be_released_are_refused(options: dict[str, Any], trouble: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=trouble):
        write_swapped(swapped(), tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_records_without_a_code_to_renumber_are_counted(tmp_path: Path) -> None:
    frame = records()
    frame.loc[3, "home"] = None
    with pytest.raises(InputError, match="column 'home': 1 record has no id there"):
        write_swapped(swapped(frame), tmp_path / "out", renumber=["home"])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("write", [write_swapped, write_swaps])
def test_names_of_files_are_checked(write: Any, tmp_path: Path) -> None:
    file = swapped()
    for name in ("released.xlsx", "deep/released.csv", "released"):
        with pytest.raises(ParameterError, match="no name of a csv or parquet file"):
            write(file, tmp_path, name=name)
    records().to_csv(tmp_path / "Source.csv", index=False)
    with pytest.raises(InputError, match="name of the source"):
        write(swapped(tmp_path / "Source.csv"), tmp_path, name="source.csv")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a file, not a folder"):
        write(file, tmp_path / "file")
    with pytest.raises(InputError, match="no method was applied yet"):
        write(start_swap(read_microdata(records(), unit="id"), SECRET), tmp_path)


def test_a_release_appears_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = swapped()

    def broken(*_: Any, **__: Any) -> None:
        raise InputError("release", "cannot be made")

    with monkeypatch.context() as patch:
        patch.setattr("discreet.io.swap.copy_records", broken)
        with pytest.raises(InputError, match="cannot be made"):
            write_swapped(file, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
    left = file.microdata.engine.fetch("SELECT table_name FROM duckdb_tables()")["table_name"]
    assert not [name for name in left if str(name).startswith("swap_")]
