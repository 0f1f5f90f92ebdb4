"""``discreet swap``: what it prints, what it foresees, what it writes, and how it ends when it is stopped."""

import csv
import signal
import sys
from pathlib import Path

import pytest

from discreet import cli
from discreet.engine.duckdb import Engine

SECRET = "s3cr3t-of-the-office-731904"
PLAN = """[microdata]
path = "census.csv"
unit = "person"
secret_environment = "DISCREET_TEST_SECRET"

[swap]
release = "open.csv"
renumber = ["house"]

[[swap.step]]
method = "targeted-swap"
household = "house"
geography = ["region", "town"]
risk = ["sex", "job"]
k = 2
rate = 0.1

[[swap.step]]
method = "rank-swap"
columns = ["income"]
within = ["sex"]
"""


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCREET_TEST_SECRET", SECRET)


def written(folder: Path, text: str = PLAN, rows: int = 600) -> Path:
    lines = ["person,house,region,town,sex,job,income"]
    for i in range(rows):
        town = i // 2 * 7 % 11 % 6
        job = ("none", "farm", "mill", "shop")[0 if i % 97 else 1 + i % 3]
        lines.append(f"p{i:04},h{i // 2:03},{'ns'[town // 3]},t{town},{'fm'[i * 7 % 11 % 2]},{job},{1000 + 37 * i}")
    (folder / "census.csv").write_text("\n".join(lines) + "\n", "utf-8")
    (folder / "plan.toml").write_text(text, "utf-8")
    return folder / "plan.toml"


def told(capsys: pytest.CaptureFixture[str], *argv: str | Path) -> tuple[int, str, str]:
    code = cli.main(list(map(str, argv)))
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    assert SECRET not in out + err
    return code, out, err


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def test_a_run_tells_each_step_what_is_kept_and_what_was_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = told(capsys, "swap", written(tmp_path), "--out", tmp_path / "out")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("targeted-swap foresees: ")
    assert lines[1].startswith("targeted-swap of 'region', 'town': households 300")
    assert lines[2].startswith("rank-swap of 'income': values 600, ")
    assert lines[3].startswith("kept exactly: ")
    assert "sex × income" in lines[3]
    assert lines[4].startswith("open.csv: 600 records, ")
    listed = rows(tmp_path / "out" / "confidential" / "open.swaps.csv")
    assert f"{len({line['record_person'] for line in listed})} of them with values of others" in lines[4]
    assert lines[5].startswith("written to ")
    assert lines[5].endswith("what is in confidential is not for release")
    files = sorted(file.relative_to(tmp_path / "out").as_posix() for file in (tmp_path / "out").rglob("*") if file.is_file())
    assert files == ["confidential/open.swaps.csv", "confidential/swap-report.html", "open.csv"]
    assert not any(SECRET in file.read_text("utf-8") for file in (tmp_path / "out").rglob("*") if file.is_file())


def test_without_the_report_extra_the_release_is_written_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    code, _, err = told(capsys, "swap", written(tmp_path), "--out", tmp_path / "out")
    assert code == 0
    assert "discreet[report]" in err
    assert [file.name for file in (tmp_path / "out" / "confidential").iterdir()] == ["open.swaps.csv"]


def test_the_report_counts_the_risky_records_of_the_keys_that_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pages = []
    for keys in ("", 'keys = ["town", "sex", "job"]\nat_most = 2\n'):
        path = written(tmp_path, PLAN.replace("[[swap.step]]", f"{keys}[[swap.step]]", 1))
        assert told(capsys, "swap", path, "--out", tmp_path / "out")[0] == 0
        pages.append((tmp_path / "out" / "confidential" / "swap-report.html").read_text("utf-8"))
    assert len(pages[1]) > len(pages[0])
    assert "town × sex × job" in pages[1] or "town, sex, job" in pages[1]


def test_whole_households_stay_together_in_the_release(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "swap", written(tmp_path), "--out", tmp_path / "out")[0] == 0
    towns: dict[str, set[str]] = {}
    for line in rows(tmp_path / "out" / "open.csv"):
        towns.setdefault(line["house"], set()).add(line["region"] + line["town"])
    assert len(towns) == 300
    assert {len(places) for places in towns.values()} == {1}


def test_what_is_forced_is_told_before_anything_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = PLAN.replace("k = 2", "k = 500")
    code, out, err = told(capsys, "swap", written(tmp_path, text), "--foresee")
    assert (code, err) == (0, "")
    assert out.startswith("targeted-swap foresees: ")
    assert "300 of 300 households" in out
    assert "rate" in out
    assert out.splitlines()[-1].startswith("rank-swap moves what")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["census.csv", "plan.toml"]
    code, out, err = told(capsys, "swap", tmp_path / "plan.toml", "--foresee", "--out", tmp_path / "out")
    assert (code, out) == (2, "")
    assert "with --foresee nothing is written" in err


def test_a_margin_that_another_step_changes_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    step = '\n[[swap.step]]\nmethod = "random-swap"\ncolumns = ["sex"]\nrate = 0.5\n'
    code, out, _ = told(capsys, "swap", written(tmp_path, PLAN + step), "--out", tmp_path / "out")
    assert code == 0
    assert "note: sex × income is kept by one step and changed by another" in out


def test_a_column_that_undoes_the_swap_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = PLAN.replace('geography = ["region", "town"]', 'geography = ["region"]')
    code, out, _ = told(capsys, "swap", written(tmp_path, text), "--out", tmp_path / "out")
    assert code == 0
    assert "note: column 'town' stays and tells the true 'region': let it move too, or leave it out of the release" in out
    assert "note" not in told(capsys, "swap", written(tmp_path), "--out", tmp_path / "out")[1]


def test_a_release_in_which_nothing_moved_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    step = 'method = "margin-swap"\nvariables = ["sex", "job"]\nmargins = [["sex", "job"]]\nkeys = ["sex", "job"]\n'
    code, out, _ = told(
        capsys, "swap", written(tmp_path, PLAN[: PLAN.index('method = "targ')] + step), "--out", tmp_path / "out"
    )
    assert code == 0
    assert "0 of them with values of others" in out
    assert "note: no value moved, so that the release holds the true records" in out


def test_run_and_swap_point_to_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("run", "audit"):
        code, out, err = told(capsys, command, written(tmp_path))
        assert (code, out) == (2, "")
        assert "plan.toml: has no table\n  fix: release its records with: discreet swap PLAN" in err
    tables = '\n[tables.towns]\nspanning = ["town"]\nmethods = ["min-frequency"]\n'
    code, out, err = told(capsys, "run", written(tmp_path, PLAN + tables), "--out", tmp_path / "out")
    assert code == 0, err
    assert "note: the records of [swap] are swapped by: discreet swap plan.toml" in out
    assert not (tmp_path / "out" / "open.csv").exists()
    only = PLAN[: PLAN.index("[swap]")].replace('secret_environment = "DISCREET_TEST_SECRET"', "") + tables
    for options in (["--foresee"], ["--out", tmp_path / "out2"]):
        code, _, err = told(capsys, "swap", written(tmp_path, only), *options)
        assert code == 2
        assert "has no section [swap]" in err
    assert not (tmp_path / "out2").exists()


def test_a_second_run_leaves_nothing_of_the_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path)
    assert told(capsys, "swap", path, "--out", tmp_path / "out")[0] == 0
    first = (tmp_path / "out" / "confidential" / "open.swaps.csv").read_bytes()
    assert told(capsys, "swap", written(tmp_path, PLAN.replace("rate = 0.1", "rate = 0.4")), "--out", tmp_path / "out")[0] == 0
    assert (tmp_path / "out" / "confidential" / "open.swaps.csv").read_bytes() != first
    assert told(capsys, "swap", written(tmp_path), "--out", tmp_path / "out")[0] == 0
    assert (tmp_path / "out" / "confidential" / "open.swaps.csv").read_bytes() == first


def test_a_run_that_is_stopped_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Engine.run

    def stopped(self: Engine, query: str, *args: object, **options: object) -> None:
        if query.startswith("COPY"):
            signal.raise_signal(signal.SIGTERM)
        run(self, query, *args, **options)

    monkeypatch.setattr(Engine, "run", stopped)
    code, _, err = told(capsys, "swap", written(tmp_path), "--out", tmp_path / "out")
    assert code == 130
    assert "nothing was written" in err
    assert sorted(file.name for file in tmp_path.iterdir()) == ["census.csv", "plan.toml"]


def test_methods_of_swapping_are_listed_and_explained(capsys: pytest.CaptureFixture[str]) -> None:
    from discreet.plan.catalog import CATALOG, SWAPPING

    assert not set(SWAPPING) & set(CATALOG)
    _, out, _ = told(capsys, "methods")
    listed = [line.split()[0] for line in out.splitlines() if line.startswith("  ")]
    assert listed[-len(SWAPPING) :] == list(SWAPPING)
    for name in SWAPPING:
        code, out, _ = told(capsys, "methods", name)
        assert code == 0
        assert "Guards against" in out
        assert f'In a plan: an entry [[swap.step]] with method = "{name}"' in out
    code, _, err = told(capsys, "methods", "rankswap")
    assert code == 2
    assert "did you mean 'rank-swap'?" in err
