"""``discreet pram`` and ``discreet estimate``: what they print, what they write, and how bad input ends."""

import csv
import io
import json
import signal
import sys
from pathlib import Path

import pytest

from discreet import cli
from discreet.cli import records
from discreet.engine.duckdb import Engine

SECRET = "s3cr3t-of-the-office-731904"
PLAN = """[microdata]
path = "survey.csv"
unit = "person"
weight = "weight"
secret_environment = "DISCREET_TEST_SECRET"

[pram]
release = "open.csv"

[[pram.variables]]
columns = ["sex"]
design = { method = "k-ary", epsilon = 2 }
within = ["age"]

[[pram.variables]]
columns = ["region"]
design = { method = "k-ary", epsilon = 3 }
"""


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCREET_TEST_SECRET", SECRET)


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output folder of a sound run."""
    folder = tmp_path_factory.mktemp("pram")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("DISCREET_TEST_SECRET", SECRET)
        assert cli.main(["pram", str(written(folder)), "--out", str(folder / "out")]) == 0
    return folder / "out"


def written(folder: Path, text: str = PLAN, rows: int = 600) -> Path:
    lines = ["person,sex,age,region,income,weight"]
    for i in range(rows):
        region = ("north", "south", "west")[i * i % 7 % 3]
        lines.append(f"p{i:04},{'fm'[i * 7 % 11 % 2]},{('young', 'old')[i % 5 % 2]},{region},{1000 + 37 * i},{1 + i % 3}.5")
    (folder / "survey.csv").write_text("\n".join(lines) + "\n", "utf-8")
    (folder / "plan.toml").write_text(text, "utf-8")
    return folder / "plan.toml"


def told(capsys: pytest.CaptureFixture[str], *argv: str | Path) -> tuple[int, str, str]:
    code = cli.main(list(map(str, argv)))
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    assert SECRET not in out + err
    return code, out, err


# -------------------------------------------------------------------- discreet pram


def test_a_run_writes_release_document_and_the_owners_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = told(capsys, "pram", written(tmp_path), "--out", tmp_path / "out")
    assert (code, err) == (0, "")
    files = sorted(file.relative_to(tmp_path / "out").as_posix() for file in (tmp_path / "out").rglob("*") if file.is_file())
    assert files == ["confidential/pram-report.html", "open.csv", "open.pram.json"]
    assert "open.csv: 600 records, 2 randomised variables, ε = 5 in all" in out
    assert "what is in confidential is not for release" in out
    page = (tmp_path / "out" / "confidential" / "pram-report.html").read_text("utf-8")
    assert "confidential" in page.lower()
    assert not any(SECRET in file.read_text("utf-8") for file in (tmp_path / "out").rglob("*") if file.is_file())


def test_what_the_owner_is_warned_of_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = PLAN.replace('{ method = "k-ary", epsilon = 3 }', '{ method = "cyclic", keep = 0.8 }')
    code, out, _ = told(capsys, "pram", written(tmp_path, text), "--out", tmp_path / "out")
    assert code == 0
    assert "note: region: epsilon is infinite" in out


def test_without_the_report_extra_the_release_is_written_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    code, _, err = told(capsys, "pram", written(tmp_path), "--out", tmp_path / "out")
    assert code == 0
    assert "discreet[report]" in err
    assert not list((tmp_path / "out" / "confidential").iterdir())


def test_run_and_pram_point_to_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path)
    for command in ("run", "audit"):
        code, out, err = told(capsys, command, path)
        assert (code, out) == (2, "")
        assert "plan.toml: has no table\n  fix: release its records with: discreet pram PLAN" in err
    tables = '\n[tables.ages]\nspanning = ["age"]\nmethods = ["min-frequency"]\n'
    code, out, err = told(capsys, "run", written(tmp_path, PLAN + tables), "--out", tmp_path / "out")
    assert code == 0, err
    assert "note: the records of [pram] are randomised by: discreet pram plan.toml" in out
    assert not (tmp_path / "out" / "open.csv").exists()
    only = PLAN[: PLAN.index("[pram]")].replace('secret_environment = "DISCREET_TEST_SECRET"', "") + tables
    code, _, err = told(capsys, "pram", written(tmp_path, only), "--out", tmp_path / "out2")
    assert code == 2
    assert "has no section [pram]" in err
    assert not (tmp_path / "out2").exists()


def test_a_second_run_leaves_nothing_of_the_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, PLAN.replace("[pram]", "[pram]\npublic = false"))
    assert told(capsys, "pram", path, "--out", tmp_path / "out")[0] == 0
    kept = tmp_path / "out" / "confidential" / "open.pram-private.json"
    assert "rows" in json.loads(kept.read_text("utf-8"))["variables"][0]["matrices"][0]
    assert "rows" not in (tmp_path / "out" / "open.pram.json").read_text("utf-8")
    assert told(capsys, "pram", written(tmp_path), "--out", tmp_path / "out")[0] == 0
    assert not kept.exists()


def test_a_run_that_is_stopped_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Engine.run

    def stopped(self: Engine, query: str, *args: object, **options: object) -> None:
        if query.startswith("COPY"):
            signal.raise_signal(signal.SIGTERM)
        run(self, query, *args, **options)

    monkeypatch.setattr(Engine, "run", stopped)
    code, _, err = told(capsys, "pram", written(tmp_path), "--out", tmp_path / "out")
    assert code == 130
    assert "nothing was written" in err
    assert sorted(file.name for file in tmp_path.iterdir()) == ["plan.toml", "survey.csv"]


# -------------------------------------------------------------------- discreet estimate


def test_counts_with_errors_intervals_and_naive_numbers(
    released: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = told(capsys, "estimate", released / "open.pram.json", "--by", "sex,region", "--csv", tmp_path / "t.csv")
    assert (code, err) == (0, "")
    head = next(line for line in out.splitlines() if line.startswith("sex"))
    assert head.split("  ")[0] == "sex"
    assert all(word in head for word in ("estimate", "std. error", "95% low", "high", "naive"))
    lines = list(csv.DictReader(io.StringIO((tmp_path / "t.csv").read_text("utf-8"))))
    assert [(line["sex"], line["region"]) for line in lines] == [(s, r) for s in "fm" for r in ("north", "south", "west")]
    assert sum(float(line["estimate"]) for line in lines) == pytest.approx(600)
    assert sum(float(line["naive"]) for line in lines) == 600
    assert all(float(line["low"]) < float(line["estimate"]) < float(line["high"]) for line in lines)
    assert {line["negative"] for line in lines} <= {"0", "1"}
    assert [file.name for file in tmp_path.iterdir()] == ["t.csv"]


def test_wider_intervals_at_a_higher_level(released: Path, capsys: pytest.CaptureFixture[str]) -> None:
    low = told(capsys, "estimate", released / "open.pram.json", "--by", "sex", "--level", "0.5")[1]
    high = told(capsys, "estimate", released / "open.pram.json", "--by", "sex", "--level", "0.99")[1]
    assert "50% low" in low
    assert "99% low" in high


def test_totals_and_means_with_weights_and_clusters(released: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = released / "open.pram.json"
    _, plain, _ = told(capsys, "estimate", document, "--total", "income")
    truth = sum(1000 + 37 * i for i in range(600))
    assert f"{truth:,.1f}" in plain
    code, out, _ = told(capsys, "estimate", document, "--mean", "income", "--by", "sex", "--weight", "weight")
    assert code == 0
    assert "means of income" in out
    assert "weight" in out.splitlines()[0]
    code, out, _ = told(capsys, "estimate", document, "--by", "sex", "--cluster", "income", "--design-strata", "age")
    assert code == 0
    assert "sample and randomisation together" in out


def test_shares_within_domains_and_records_without_a_value(
    released: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = told(capsys, "estimate", released / "open.pram.json", "--share", "sex", "--csv", tmp_path / "t.csv")
    assert (code, out.splitlines()[0]) == (0, "proportions of sex by sex")
    with (tmp_path / "t.csv").open(encoding="utf-8") as file:
        assert sum(float(line["estimate"]) for line in csv.DictReader(file)) == pytest.approx(1)
    lines = (released / "open.csv").read_text("utf-8").splitlines()
    at = lines[0].split(",").index("income")
    first = lines[1].split(",")
    emptied = ",".join([*first[:at], "", *first[at + 1 :]])
    (tmp_path / "open.csv").write_text("\n".join([lines[0], emptied, *lines[2:]]) + "\n", "utf-8")
    asked = ("estimate", released / "open.pram.json", "--records", tmp_path / "open.csv", "--total", "income")
    code, _, err = told(capsys, *asked)
    assert code == 2
    assert "--on-value drop" in err
    code, out, _ = told(capsys, *asked, "--on-value", "drop")
    assert code == 0
    assert "1 records without a value of income were left out." in out


def test_records_may_lie_elsewhere_and_names_may_be_quoted(
    released: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "moved.csv").write_bytes((released / "open.csv").read_bytes())
    (tmp_path / "d.json").write_bytes((released / "open.pram.json").read_bytes())
    code, _, err = told(capsys, "estimate", tmp_path / "d.json", "--by", "sex")
    assert code == 2
    assert "open.csv" in err
    code, out, _ = told(capsys, "estimate", tmp_path / "d.json", "--records", tmp_path / "moved.csv", "--by", '"sex", age')
    assert code == 0
    assert "counts by sex, age" in out
    assert records._listed('"a, b",c') == ["a, b", "c"]


def test_a_table_that_cannot_be_written_leaves_nothing(
    released: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = released / "open.pram.json"
    code, _, err = told(capsys, "estimate", document, "--by", "sex", "--csv", tmp_path / "no" / "t.csv")
    assert code == 2
    assert "t.csv: cannot be written" in err
    before = (released / "open.csv").read_bytes()
    code, _, err = told(capsys, "estimate", document, "--by", "sex", "--csv", released / "open.csv")
    assert code == 2
    assert "open.csv: is read, and the table would replace it" in err
    assert (released / "open.csv").read_bytes() == before
    (tmp_path / "folder").mkdir()
    code, _, err = told(capsys, "estimate", document, "--by", "sex", "--csv", tmp_path / "folder")
    assert code == 2
    assert [file.name for file in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ((), "estimate: no column is named"),
        (("--by", "sex", "--level", "95"), "takes a number between 0 and 1, not '95'"),
        (("--total", "income", "--mean", "income"), "not allowed with argument"),
    ],
)
def test_a_command_that_asks_for_nothing_sound(
    argv: tuple[str, ...], message: str, released: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = told(capsys, "estimate", released / "open.pram.json", *argv)
    assert code == 2
    assert message in err


def test_designs_are_listed_and_explained(capsys: pytest.CaptureFixture[str]) -> None:
    from discreet.plan.catalog import CATALOG, DESIGNS, FOR_RECORDS

    assert not set(DESIGNS) & set(CATALOG)
    _, out, _ = told(capsys, "methods")
    listed = [line.split()[0] for line in out.splitlines() if line.startswith("  ")]
    for_records = [method.NAME for methods in FOR_RECORDS.values() for method in methods]
    assert listed[-len(for_records) :] == for_records
    assert for_records[: len(DESIGNS) + 1] == ["pram", *DESIGNS]
    assert all(f"{family}:" in out for family in FOR_RECORDS)
    for name in DESIGNS:
        code, out, _ = told(capsys, "methods", name)
        assert code == 0
        assert "Guards against" in out
        assert f'In a plan: design = {{ method = "{name}"' in out
    _, out, _ = told(capsys, "methods", "pram")
    assert "In a plan: an entry [[pram.variables]] with columns = …, design = …" in out
    code, _, err = told(capsys, "methods", "k-arry")
    assert code == 2
    assert "did you mean 'k-ary'?" in err
