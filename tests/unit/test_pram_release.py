"""The released file and its document: written together, read back exactly, and refused where they do not belong together."""

import copy
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from discreet.errors import InputError, ParameterError
from discreet.inference.counts import estimate_counts
from discreet.io.microdata import read_microdata
from discreet.io.pram import document_of, read_pram, write_pram
from discreet.io.pram_document import schema
from discreet.io.staging import gathered
from discreet.io.structure import KINDS, WORDS, check_structure
from discreet.microdata.protect.pram.apply import Pram, start_pram
from discreet.microdata.protect.pram.full import TypeOne
from discreet.microdata.protect.pram.mixture import Mixture
from discreet.microdata.protect.pram.own import OwnMatrix
from discreet.microdata.protect.pram.rank_one import RankOne
from discreet.microdata.protect.pram.target import Target
from discreet.model.keys import Secret
from discreet.model.microdata import Missing
from discreet.model.pram_file import PramFile
from discreet.model.transition import TransitionMatrix

SECRET = Secret("0123456789abcdef0123456789abcdef")


def records(n: int = 1500) -> pd.DataFrame:
    chance = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "id": [f"p{i}" for i in range(n)],
            "sex": chance.choice(["1", "2"], n),
            "job": chance.choice(['a"b', "c,d", "é", "01"], n, p=[0.5, 0.3, 0.15, 0.05]),
            "region": chance.choice(["N", "S"], n),
            "home": np.arange(n) // 3,
            "wage": chance.integers(100, 9999, n),
            "mark": chance.permutation(n) + 7_000_000,
        }
    )


def randomised(source: Any = None, **roles: Any) -> PramFile:
    file = start_pram(read_microdata(records() if source is None else source, **({"unit": "id"} | roles)), SECRET)
    chance = np.random.default_rng(6)
    rows = chance.dirichlet(np.ones(4), 4) / 2 + np.eye(4) / 2
    labels = sorted(['a"b', "c,d", "é", "01"])
    file = Pram(columns=("job",), within=("region",), design=OwnMatrix.of(labels, rows)).apply(file)
    return Pram(columns=("sex",), design=TypeOne(keep=0.7)).apply(file)


def texts(coded: Any, variable: int = 0) -> np.ndarray:
    return np.array([category[variable] for category in coded.categories], object)[coded.codes]


# ------------------------------------------------------------------- writing


@pytest.mark.parametrize("name", ["released.csv", "released.parquet"])
def test_the_released_file_holds_the_released_codes_and_all_else_as_it_was(name: str, tmp_path: Path) -> None:
    frame = records()
    file = randomised(frame)
    document = write_pram(file, tmp_path / "out", name=name)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [name, "released.pram.json"]
    path = tmp_path / "out" / name
    out = pd.read_csv(path, dtype={"sex": str, "job": str}) if name.endswith("csv") else pd.read_parquet(path)
    assert list(out.columns) == ["sex", "job", "region", "home", "wage", "mark"]
    expected = frame.assign(job=texts(file.released[0]), sex=texts(file.released[1])).drop(columns="id")
    out, expected = (one.set_index("mark").sort_index() for one in (out, expected))
    assert (out == expected).all(axis=None)
    assert (expected["job"] != frame.set_index("mark").sort_index()["job"]).any()
    assert document.file == name
    assert document.records == len(frame)


def test_the_order_of_lines_tells_nothing_of_the_source(tmp_path: Path) -> None:
    frame = records()
    write_pram(randomised(frame), tmp_path / "one")
    marks = pd.read_csv(tmp_path / "one" / "released.csv")["mark"].to_numpy()
    source = frame["mark"].to_numpy()
    place = np.argsort(source)[np.argsort(np.argsort(marks))]
    assert abs(np.corrcoef(place, np.arange(len(place)))[0, 1]) < 0.1
    write_pram(randomised(frame.sample(frac=1, random_state=3)), tmp_path / "two")
    write_pram(randomised(pl.from_pandas(frame)), tmp_path / "three")
    frame.to_csv(tmp_path / "source.csv", index=False)
    write_pram(randomised(tmp_path / "source.csv"), tmp_path / "four")
    for name in ("released.csv", "released.pram.json"):
        content = (tmp_path / "one" / name).read_bytes()
        assert content == (tmp_path / "two" / name).read_bytes()
        assert content == (tmp_path / "three" / name).read_bytes()
        assert content == (tmp_path / "four" / name).read_bytes()


@pytest.mark.parametrize("kind", ["csv", "parquet", "pandas", "polars"])
def test_codes_find_their_records_in_large_files(kind: str, tmp_path: Path) -> None:
    """Files are read in pieces by several threads: entry i of every array must be record i, also in the released file."""
    n = 330_000
    ids = np.random.default_rng(1).permutation(n)
    frame = pd.DataFrame({"id": ids, "mark": ids * 7 + 1, "code": ((ids * 7919) % 13).astype(str)})
    source: Any = {"pandas": frame, "polars": pl.from_pandas(frame)}.get(kind, tmp_path / f"source.{kind}")
    if kind == "csv":
        frame.to_csv(source, index=False)
    elif kind == "parquet":
        frame.to_parquet(source, row_group_size=20_000)
    file = start_pram(read_microdata(source, unit="id", threads=2), SECRET)
    file = Pram(columns=("code",), design=TypeOne(keep=0.5)).apply(file)
    np.testing.assert_array_equal(texts(file.true[0]), frame["code"])
    write_pram(file, tmp_path / "out", name="r.parquet")
    out = pd.read_parquet(tmp_path / "out" / "r.parquet").astype({"mark": int}).set_index("mark")["code"]
    assert len(out) == n
    np.testing.assert_array_equal(out.loc[frame["mark"]].to_numpy(), texts(file.released[0]))
    if kind == "pandas":
        write_pram(file, tmp_path / "out", name="r.csv")
        assert pd.read_csv(tmp_path / "out" / "r.csv")["mark"].tolist() == out.index.tolist(), "the order is that of the keys"
    held = out.sort_index()
    assert held.index.is_unique
    assert (held.to_numpy() != frame.set_index("mark").sort_index()["code"].to_numpy()).mean() == pytest.approx(0.5, abs=0.01)


def test_types_stay_in_parquet_and_codes_in_csv(tmp_path: Path) -> None:
    n = 400
    chance = np.random.default_rng(2)
    frame = pd.DataFrame(
        {
            "id": range(n),
            "whole": chance.integers(1, 4, n),
            "floating": chance.choice([1.0, 2.0, 2.5, np.nan], n),
            "yes": chance.random(n) < 0.4,
            "stratum": chance.choice([1.0, 2.0], n),
        }
    )
    file = start_pram(read_microdata(frame, unit="id"), SECRET)
    for columns in (("whole",), ("floating", "yes")):
        file = Pram(columns=columns, within=("stratum",), design=TypeOne(keep=0.6)).apply(file)
    for name in ("r.parquet", "r.csv"):
        write_pram(file, tmp_path, name=name)
        assert read_pram(tmp_path / "r.pram.json").microdata.rows == n
    out = pd.read_parquet(tmp_path / "r.parquet")
    assert [str(kind) for kind in out.dtypes] == ["int64", "float64", "bool", "float64"]
    assert out["floating"].isna().sum() == frame["floating"].isna().sum()
    lines = (tmp_path / "r.csv").read_text("utf-8").splitlines()
    assert all(re.fullmatch(r"[123],(1|2|2\.5)?,(true|false),[12]", line) for line in lines[1:])


@pytest.mark.parametrize("name", ["r.csv", "r.parquet"])
@pytest.mark.parametrize("missing", ["kept", "category"])
def test_missing_codes_survive_or_are_written_alike(missing: str, name: str, tmp_path: Path) -> None:
    """Where empty is a category, a field may not tell whether it was empty before: in a code of its own for that."""
    frame = records()
    frame.loc[frame.index % 5 == 0, "job"] = None
    frame.loc[frame.index % 7 == 0, "job"] = "98"
    frame.loc[frame.index % 11 == 0, "region"] = "99"
    microdata = read_microdata(frame, unit="id", missing=Missing(codes=("98", "99")))
    file = start_pram(microdata, SECRET)
    file = Pram(columns=("job",), within=("region",), design=TypeOne(keep=0.5), missing=missing).apply(file)
    write_pram(file, tmp_path, name=name)
    kept = pd.read_csv(tmp_path / name, dtype=str) if name == "r.csv" else pd.read_parquet(tmp_path / name)
    assert (kept["region"] == "99").sum() == (frame["region"] == "99").sum()
    if missing == "kept":
        assert (kept["job"] == "98").sum() == (frame["job"] == "98").sum()
    else:
        assert set(kept["job"].dropna()) == {'a"b', "c,d", "é", "01"}
    assert read_pram(tmp_path / "r.pram.json").document.variables[0].missing == missing


def test_a_single_column_keeps_its_empty_records(tmp_path: Path) -> None:
    frame = records()[["id", "job"]]
    frame.loc[frame.index % 3 == 0, "job"] = None
    file = Pram(columns=("job",), design=TypeOne(keep=0.5)).apply(start_pram(read_microdata(frame, unit="id"), SECRET))
    write_pram(file, tmp_path)
    assert read_pram(tmp_path / "released.pram.json").microdata.rows == len(frame)


def test_decimal_commas_are_still_read_as_such(tmp_path: Path) -> None:
    lines = [f"{i};{'xy'[i % 2]};{i % 9},5" for i in range(60)]
    (tmp_path / "source.csv").write_text("\n".join(["id;a;w", *lines]) + "\n", "utf-8")
    microdata = read_microdata(tmp_path / "source.csv", unit="id", weight="w")
    assert microdata.decimal_comma
    write_pram(Pram(columns=("a",), design=TypeOne(keep=0.7)).apply(start_pram(microdata, SECRET)), tmp_path)
    assert (tmp_path / "released.csv").read_text("utf-8").startswith("a;w\n")
    assert read_pram(tmp_path / "released.pram.json").microdata.decimal_comma


# ------------------------------------------------------------ which columns


def test_ids_and_inner_roles_are_not_released(tmp_path: Path) -> None:
    frame = records().assign(key=1.5e-3, group="g", weight=2.5)
    file = randomised(frame, holding="group", weight="weight", record_key="key")
    write_pram(file, tmp_path)
    header = (tmp_path / "released.csv").read_text("utf-8").splitlines()[0]
    assert header == "sex,job,region,home,wage,mark,weight"
    write_pram(file, tmp_path, columns=["job", "region", "sex", "group"])
    assert (tmp_path / "released.csv").read_text("utf-8").startswith("job,region,sex,group\n")
    with pytest.raises(InputError, match="record keys, which are secret"):
        write_pram(file, tmp_path, columns=["job", "region", "sex", "key"])


@pytest.mark.parametrize(
    ("columns", "trouble"),
    [
        (["job", "sex"], "leaves out 'region'"),
        (["region", "sex"], "leaves out 'job'"),
        (["job", "region", "sex", "job"], "twice"),
        (["job", "region", "sex", "wages"], "did you mean 'wage'"),
    ],
)
def test_columns_that_cannot_be_released_are_refused(columns: list[str], trouble: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=trouble):
        write_pram(randomised(), tmp_path / "out", columns=columns)
    assert not (tmp_path / "out").exists()


def test_a_household_that_is_part_of_the_id_is_released_only_by_name(tmp_path: Path) -> None:
    frame = records().assign(
        person=lambda one: one.groupby("home").cumcount(), tenure=lambda one: one["home"].mod(4).astype(str)
    )
    file = start_pram(read_microdata(frame), SECRET, record=("home", "person"))
    file = Pram(columns=("tenure",), design=TypeOne(keep=0.6), together="home").apply(file)
    with pytest.raises(InputError, match="leaves out 'home'"):
        write_pram(file, tmp_path)
    write_pram(file, tmp_path, columns=["home", "tenure"])
    assert read_pram(tmp_path / "released.pram.json").document.variables[0].together == "home"


def test_names_of_files_are_checked(tmp_path: Path) -> None:
    file = randomised()
    for name in ("released.xlsx", "deep/released.csv", "released"):
        with pytest.raises(ParameterError, match="no name of a csv or parquet file"):
            write_pram(file, tmp_path, name=name)
    records().to_csv(tmp_path / "Source.csv", index=False)
    with pytest.raises(InputError, match="name of the source"):
        write_pram(randomised(tmp_path / "Source.csv"), tmp_path, name="source.csv")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a file, not a folder"):
        write_pram(file, tmp_path / "file")
    with pytest.raises(InputError, match="no variable is randomised"):
        write_pram(start_pram(read_microdata(records(), unit="id"), SECRET), tmp_path)


def test_files_appear_together_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> str:
        raise InputError("document", "cannot be made")

    with monkeypatch.context() as patch:
        patch.setattr("discreet.io.pram.text_of", broken)
        with pytest.raises(InputError, match="cannot be made"):
            write_pram(randomised(), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "kept.txt").write_text("")
    with pytest.raises(InputError), gathered(tmp_path / "old", ["kept.txt"]) as private:
        broken((private / "half.csv").write_text(""))
    assert [path.name for path in (tmp_path / "old").iterdir()] == ["kept.txt"]


# ---------------------------------------------------------------- the document


def test_every_matrix_is_read_back_as_it_was_applied(tmp_path: Path) -> None:
    file = randomised()
    write_pram(file, tmp_path)
    read = read_pram(tmp_path / "released.pram.json").document
    assert [one.columns for one in read.variables] == [("job",), ("sex",)]
    assert len(read.variables[0].matrices) == 2
    for applied, held in zip(file.variables, read.variables, strict=True):
        assert list(applied.matrices) == list(held.matrices)
        for stratum, matrix in applied.matrices.items():
            assert held.matrices[stratum].categories == matrix.categories
            np.testing.assert_array_equal(held.matrices[stratum].matrix, matrix.matrix, err_msg="to the last bit")
    assert read.epsilon == document_of(file, name="x.csv").epsilon
    content = json.loads((tmp_path / "released.pram.json").read_text("utf-8"))
    assert content["epsilon"] == read.epsilon
    assert content["epsilon_is"] == "finite"
    assert content["independent"] is True


def test_reading_a_matrix_again_changes_no_bit() -> None:
    chance = np.random.default_rng(12)
    for size in (2, 3, 10, 100, 400):
        raw = chance.dirichlet(np.full(size, 0.2), size) * (1 + chance.uniform(-5e-10, 5e-10, (size, 1)))
        once = TransitionMatrix.of([str(k) for k in range(size)], raw)
        np.testing.assert_allclose(once.matrix.sum(axis=1), 1, rtol=1e-13)
        again = TransitionMatrix.of(once.categories, json.loads(json.dumps(once.matrix.tolist())))
        np.testing.assert_array_equal(once.matrix, again.matrix)


def test_a_document_says_what_epsilon_is_where_it_is_no_number(tmp_path: Path) -> None:
    file = start_pram(read_microdata(records(), unit="id"), SECRET)
    file = Pram(columns=("job",), keep=("é",), design=TypeOne(keep=0.7)).apply(file)
    document = write_pram(file, tmp_path)
    assert math.isinf(document.epsilon)
    content = json.loads((tmp_path / "released.pram.json").read_text("utf-8"))
    assert (content["epsilon"], content["epsilon_is"]) == (None, "infinite")
    write_pram(file, tmp_path, public=False)
    content = json.loads((tmp_path / "released.pram.json").read_text("utf-8"))
    assert (content["epsilon"], content["epsilon_is"]) == (None, "kept back")


def test_matrices_that_are_not_public_stay_with_the_owner(tmp_path: Path) -> None:
    file = randomised()
    document = write_pram(file, tmp_path, public=False)
    assert not document.public
    told = json.loads((tmp_path / "released.pram.json").read_text("utf-8")) | {"made_by": ""}
    assert not re.search(r"\d\.\d", json.dumps(told)), "no probability, and no epsilon, from which one could be told"
    with pytest.raises(InputError, match="no matrices: they stay with the owner") as caught:
        read_pram(tmp_path / "released.pram.json")
    assert "ask the owner" in caught.value.fix
    owners = read_pram(tmp_path / "released.pram-private.json")
    assert not owners.document.public
    np.testing.assert_array_equal(owners.document.variables[1].matrices[()].matrix, file.variables[1].matrices[()].matrix)
    write_pram(file, tmp_path)
    assert not (tmp_path / "released.pram-private.json").exists(), "it would be of another release"


def test_invariant_matrices_tell_true_counts_and_are_public_only_where_these_are(tmp_path: Path) -> None:
    file = start_pram(read_microdata(records(), unit="id"), SECRET)
    file = Pram(columns=("job",), within=("region",), design=RankOne(share=0.6)).apply(file)
    matrix = file.variables[0].matrices["N",].matrix
    values, vectors = np.linalg.eig(matrix.T)
    told = np.abs(vectors[:, np.argmax(values.real)].real)
    held = records().query("region == 'N'")["job"].value_counts().sort_index()
    np.testing.assert_allclose(told / told.sum() * held.sum(), held, rtol=1e-9)
    with pytest.raises(InputError, match="tell the true counts of the categories by 'region'") as caught:
        write_pram(file, tmp_path)
    assert "public = False" in caught.value.fix
    assert list(tmp_path.iterdir()) == []
    write_pram(file, tmp_path, public=False)
    with pytest.raises(InputError, match="stay with the owner") as caught:
        read_pram(tmp_path / "released.pram.json")
    assert "take the counts of 'job' by 'region' as they are" in caught.value.fix
    write_pram(file, tmp_path, counts_known=True)
    assert read_pram(tmp_path / "released.pram.json").document.variables[0].invariant == "sample"


def test_the_document_holds_released_counts_and_no_true_ones(tmp_path: Path) -> None:
    file = randomised()
    write_pram(file, tmp_path)
    out = pd.read_csv(tmp_path / "released.csv", dtype=str)
    content = json.loads((tmp_path / "released.pram.json").read_text("utf-8"))
    for one in content["variables"][0]["matrices"]:
        here = out[out["region"] == one["stratum"][0]]["job"].value_counts()
        assert one["released"] == [int(here.get(category[0], 0)) for category in one["categories"]]
    true = np.bincount(file.true[1].codes).tolist()
    assert content["variables"][1]["matrices"][0]["released"] != true
    assert str(true) not in (tmp_path / "released.pram.json").read_text("utf-8")


# ------------------------------------------------------------ documents, broken


def keywords(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        for name, inner in part.items():
            yield name
            yield from (keywords(inner) if name != "properties" else (word for one in inner.values() for word in keywords(one)))


def test_the_schema_uses_only_words_that_are_checked() -> None:
    told = {"$schema", "title", "description"}
    checked = {
        "type",
        "const",
        "enum",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "minItems",
        "minimum",
        "maximum",
    }
    assert set(keywords(schema())) <= told | checked
    assert set(KINDS) == set(WORDS)


def content_of_a_release(folder: Path) -> Any:
    write_pram(randomised(), folder)
    return json.loads((folder / "released.pram.json").read_text("utf-8"))


def test_documents_fit_the_schema_and_each_of_its_demands_is_checked(tmp_path: Path) -> None:
    content, whole = content_of_a_release(tmp_path), schema()
    check_structure("document", content, whole)
    variable, matrix = whole["properties"]["variables"]["items"], None
    matrix = variable["properties"]["matrices"]["items"]
    for part, place in (
        (whole, lambda one: one),
        (variable, lambda one: one["variables"][1]),
        (matrix, lambda one: one["variables"][0]["matrices"][1]),
    ):
        assert set(part["required"]) | {"rows"} >= set(part["properties"])
        assert list(place(content)) == list(part["properties"]), "the document is written in the order of the schema"
        for name in part["required"]:
            broken = copy.deepcopy(content)
            del place(broken)[name]
            with pytest.raises(InputError, match=f"has no '{name}'"):
                check_structure("document", broken, whole)
            broken = copy.deepcopy(content)
            place(broken)[name] = {"other": 1.5}
            with pytest.raises(InputError, match=f"{name} is not"):
                check_structure("document", broken, whole)
        broken = copy.deepcopy(content)
        place(broken)["record"] = 3
        with pytest.raises(InputError, match="unknown 'record'"):
            check_structure("document", broken, whole)


@pytest.mark.parametrize(
    ("value", "trouble"),
    [
        ([], "variables has fewer than 1 entries"),
        ([{"columns": "job"}], r"variables\[0\] has no 'strata'"),
    ],
)
def test_the_place_of_a_fault_is_told(value: Any, trouble: str, tmp_path: Path) -> None:
    content = content_of_a_release(tmp_path) | {"variables": value}
    with pytest.raises(InputError, match=trouble):
        check_structure("document", content, schema())


def broken_row(content: Any) -> None:
    content["variables"][1]["matrices"][0]["rows"][0] = [0.7, 0.2]


def another_category(content: Any) -> None:
    content["variables"][1]["matrices"][0]["categories"][1] = ["3"]


def another_count(content: Any) -> None:
    content["variables"][1]["matrices"][0]["released"] = content["variables"][1]["matrices"][0]["released"][::-1]


def stratum_gone(content: Any) -> None:
    del content["variables"][0]["matrices"][1]


def stratum_twice(content: Any) -> None:
    content["variables"][0]["matrices"][1]["stratum"] = ["N"]


def another_stratum(content: Any) -> None:
    content["variables"][0]["matrices"][1]["stratum"] = ["W"]


def codes_of_stratum(content: Any) -> None:
    content["variables"][0]["matrices"][1]["stratum"] = ["N", "S"]


def strata_column(content: Any) -> None:
    content["variables"][0]["strata"] = ["province"]


def no_square(content: Any) -> None:
    content["variables"][1]["matrices"][0]["rows"][0] = [1.0]


def fewer_counts(content: Any) -> None:
    content["variables"][1]["matrices"][0]["released"] = [3]


def records_more(content: Any) -> None:
    content["records"] += 1


def twice(content: Any) -> None:
    content["variables"].append(content["variables"][1])


def below_zero(content: Any) -> None:
    content["variables"][1]["matrices"][0]["rows"][0] = [1.1, -0.1]


def elsewhere(content: Any) -> None:
    content["file"] = "../released.csv"


def newer(content: Any) -> None:
    content["version"] = 2


def other_format(content: Any) -> None:
    content["format"] = "vega"


@pytest.mark.parametrize(
    ("damage", "trouble"),
    [
        (broken_row, "released.pram.json, sex: row '1' does not add up to 1"),
        (another_category, "categories that its matrix does not know: '2'"),
        (another_count, "released counts of 'sex' are not those"),
        (stratum_gone, "no matrix for the stratum 'S'"),
        (another_stratum, "no matrix for the stratum 'S'"),
        (stratum_twice, "job, stratum 'N': stands twice"),
        (codes_of_stratum, "2 codes for 1 columns of strata"),
        (strata_column, "no column 'province'"),
        (no_square, "do not make a square"),
        (fewer_counts, "1 released counts for 2 categories"),
        (records_more, "its document is about 1501"),
        (twice, "randomised twice"),
        (below_zero, r"rows\[0\]\[0\] is not from 0 to 1"),
        (elsewhere, "names a file in another folder"),
        (newer, "another version of the format"),
        (other_format, "is no PRAM document"),
    ],
)
def test_documents_that_are_broken_or_of_another_file_are_refused(damage: Any, trouble: str, tmp_path: Path) -> None:
    content = content_of_a_release(tmp_path)
    damage(content)
    (tmp_path / "released.pram.json").write_text(json.dumps(content), "utf-8")
    with pytest.raises(InputError, match=re.escape(trouble) if "\\" not in trouble else trouble) as caught:
        read_pram(tmp_path / "released.pram.json")
    assert caught.value.fix


def test_what_is_no_document_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        read_pram(tmp_path / "released.pram.json")
    for text, trouble in (("{", "is no JSON, at line 1"), ("[" * 200_000, "is no JSON"), ("[]", "is no PRAM document")):
        (tmp_path / "x.pram.json").write_text(text, "utf-8")
        with pytest.raises(InputError, match=trouble):
            read_pram(tmp_path / "x.pram.json")
    write_pram(randomised(), tmp_path)
    (tmp_path / "released.csv").unlink()
    with pytest.raises(InputError, match="there is no such file"):
        read_pram(tmp_path / "released.pram.json")


def test_the_records_may_come_from_elsewhere(tmp_path: Path) -> None:
    write_pram(randomised(), tmp_path)
    frame = pl.read_csv(tmp_path / "released.csv", infer_schema_length=0)
    assert read_pram(tmp_path / "released.pram.json", frame).microdata.rows == 1500
    with pytest.raises(InputError, match="released counts of"):
        read_pram(tmp_path / "released.pram.json", frame.with_columns(pl.col("job").sort()))
    with pytest.raises(InputError, match="no column 'job'"):
        read_pram(tmp_path / "released.pram.json", frame.drop("job"))


@pytest.mark.parametrize(
    "design",
    [
        Target(invariant=False, ratio=2.0),
        Mixture(start=Target(invariant=False, odds=20.0), share=0.9),
        OwnMatrix.of(["a", "b"], [[0.9, 0.1], [0.3, 0.7]]),  # leaves 3 to 1 as it is, and does not say so
    ],
    ids=["ratio", "mixed odds", "own"],
)
def test_public_matrices_that_tell_counts_are_refused_however_they_were_made(tmp_path, design) -> None:
    frame = pd.DataFrame({"id": range(400), "code": ["a"] * 300 + ["b"] * 100})
    file = start_pram(read_microdata(frame, unit="id"), Secret("a secret of a test, for nothing else"))
    file = Pram(columns=("code",), design=design).apply(file)
    with pytest.raises(InputError, match="tell the true counts"):
        write_pram(file, tmp_path)
    assert not list(tmp_path.iterdir())
    assert write_pram(file, tmp_path, public=False).records == 400
    assert write_pram(file, tmp_path, counts_known=True).public


def test_an_own_matrix_that_tells_the_counts_of_the_population_is_refused(tmp_path: Path) -> None:
    """The matrix leaves weights of 1 to 3 as they are, and not the equal numbers of records."""
    frame = pd.DataFrame({"id": range(400), "code": ["a"] * 200 + ["b"] * 200, "w": [1.0] * 200 + [3.0] * 200})
    begun = start_pram(read_microdata(frame, unit="id", weight="w"), SECRET)
    own = OwnMatrix.of(["a", "b"], [[0.7, 0.3], [0.1, 0.9]])
    write_pram(Pram(columns=("code",), design=own).apply(begun), tmp_path)
    with pytest.raises(InputError, match="tell the true counts") as caught:
        write_pram(Pram(columns=("code",), design=own, counts="population").apply(begun), tmp_path)
    assert "invariant = true in the design of an own matrix" in caught.value.fix


def test_the_document_names_the_weight_and_estimates_without_it_say_so(tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": range(60), "sex": ["f", "m", "m"] * 20, "w": [1.5, 2.0] * 30})
    file = Pram(columns=("sex",), design=TypeOne(keep=0.9)).apply(
        start_pram(read_microdata(frame, unit="id", weight="w"), SECRET)
    )
    write_pram(file, tmp_path)
    released = read_pram(tmp_path / "released.pram.json")
    assert released.microdata.roles.weight == "w"
    assert "weight='w'" in " ".join(estimate_counts(released, ["sex"]).notes)
    assert not estimate_counts(released, ["sex"], weight="w").notes
    write_pram(file, tmp_path, columns=["sex"])
    assert read_pram(tmp_path / "released.pram.json").microdata.roles.weight is None
