"""The command line: what each command prints, and the exit codes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import discreet
from discreet import cli
from discreet.cli.options import progress
from discreet.plan.catalog import CATALOG

SECRET = "731904"
CELLS = (
    "Total,Total,150,30", "N,Total,50,12", "S,Total,100,18", "Total,A,60,12", "Total,B,90,18",
    "N,A,20,3", "N,B,30,9", "S,A,40,9", "S,B,60,9",
)  # fmt: skip
PLAN = '[tables.t]\nspanning = ["region", "branch"]\ngiven = { path = "table.csv", n = "n", status = "status" }\n'


def given(folder: Path, inner: str, margins: str = " ") -> str:
    """A 2 × 2 table with statuses: cell (N, A) is sensitive, the other inner cells and the margins are as told."""
    lines = [f"{cell},{status}" for cell, status in zip(CELLS, [*margins * 5, "U", *inner], strict=True)]
    (folder / "table.csv").write_text("\n".join(["region,branch,value,n,status", *lines]) + "\n", "utf-8")
    return str(folder / "table.csv")


def told(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = cli.main(list(argv))
    out, err = capsys.readouterr()
    return code, out, err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = told(capsys, "--version")
    assert code == 0
    assert out == f"discreet {discreet.__version__}\n"


def test_an_unknown_command_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = told(capsys, "rum")
    assert code == 2
    assert "rum" in err


def test_methods_are_listed_and_explained(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = told(capsys, "methods")
    assert code == 0
    lines = {line.split()[0]: line for line in out.splitlines() if line and line.split()[0] in CATALOG}
    assert list(lines) == list(CATALOG)
    for name in CATALOG:
        code, out, _ = told(capsys, "methods", name)
        assert code == 0
        assert "Guards against" in out
        assert f'In a plan: {{ method = "{name}"' in out
    code, out, _ = told(capsys, "methods", "p-percent")
    assert "p (number, above 0 and at most 100, in %, default 10.0)" in out
    code, _, err = told(capsys, "methods", "p-percnt")
    assert code == 2
    assert "did you mean 'p-percent'?" in err


def test_audit_of_a_safe_pattern(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = given(tmp_path, "MMM")
    code, out, err = told(capsys, "audit", path, "--spanning", "region", "branch", "--n", "n", "--status", "status")
    assert code == 0, err
    assert "table.csv: safe" in out


def test_audit_of_an_unsafe_pattern_names_the_cell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = given(tmp_path, " M ")
    code, out, _ = told(capsys, "audit", path, "--spanning", "region", "branch", "--n", "n", "--status", "status")
    assert code == 3
    assert "table.csv: NOT SAFE" in out
    assert "exact: region=N, branch=A" in out


def test_audit_with_a_hierarchy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "r.hrc").write_text("NS\n@N\n@S\n", "utf-8")
    (tmp_path / "t.csv").write_text("r,value,status\nTotal,30,\nN,10,U\nS,20,M\n", "utf-8")
    arguments = ("audit", str(tmp_path / "t.csv"), "--spanning", "r", "--status", "status", "--hierarchy")
    code, out, err = told(capsys, *arguments, f"r={tmp_path / 'r.hrc'}")
    assert code == 0, out + err
    code, _, err = told(capsys, *arguments, f"q={tmp_path / 'r.hrc'}")
    assert code == 2
    assert "--hierarchy is given for 'q'" in err


def test_audit_of_a_plan_applies_rules_and_hides_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given(tmp_path, "MMM")
    plan = tmp_path / "plan.toml"
    for levels, expected in (("", 0), (", range = 250", 3)):
        methods = f'[{{ method = "min-frequency", n = 10{levels} }}, "gauss-suppression"]'
        plan.write_text(f"{PLAN}methods = {methods}\nintruder = {{ unions = false, insiders = 'none' }}\n", "utf-8")
        code, out, err = told(capsys, "audit", str(plan))
        assert code == expected, out + err
        assert "4 primary and 0 secondary" in out
    code, _, err = told(capsys, "audit", str(plan), "--status", "status")
    assert code == 2
    assert "beside a plan" in err


def test_audit_needs_spanning_variables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = told(capsys, "audit", given(tmp_path, "MMM"))
    assert code == 2
    assert "--spanning" in err


def test_a_run_writes_release_and_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given(tmp_path, "   ")
    (tmp_path / "plan.toml").write_text(
        '[output]\nformats = ["csv", "parquet"]\n' + PLAN + 'methods = ["gauss-suppression"]\n', "utf-8"
    )
    code, out, err = told(capsys, "run", str(tmp_path / "plan.toml"), "--out", str(tmp_path / "out"))
    assert code == 0, err
    assert err == ""
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == ["report.html", "report.json", "t.csv", "t.parquet"]
    assert json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))["published"] is True
    assert "t: published; 9 cells, 1 primary and 3 secondary" in out


def test_a_refused_run_still_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given(tmp_path, "PPP", "P")
    (tmp_path / "plan.toml").write_text(PLAN + 'methods = ["gauss-suppression"]\n', "utf-8")
    code, out, err = told(capsys, "run", str(tmp_path / "plan.toml"), "--out", str(tmp_path / "out"))
    assert code == 3
    assert "t: REFUSED" in out
    assert "t is refused" in err
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == ["report.html", "report.json"]
    assert json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))["published"] is False


def test_without_the_report_extra_the_release_is_written_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given(tmp_path, "   ")
    (tmp_path / "plan.toml").write_text(PLAN + 'methods = ["gauss-suppression"]\n', "utf-8")
    monkeypatch.setitem(sys.modules, "jinja2", None)
    code, _, err = told(capsys, "run", str(tmp_path / "plan.toml"), "--out", str(tmp_path / "out"))
    assert code == 0
    assert "discreet[report]" in err
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == ["report.json", "t.csv"]


def test_without_out_the_plan_names_the_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given(tmp_path, "   ")
    (tmp_path / "mine.toml").write_text(PLAN + 'methods = ["gauss-suppression"]\n', "utf-8")
    monkeypatch.chdir(tmp_path)
    code, _, err = told(capsys, "run", "mine.toml")
    assert code == 0, err
    assert (tmp_path / "mine-output" / "t.csv").is_file()


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (discreet.SolverError("solver", "broke"), 4),
        (discreet.NotProtectedError("publish", "refused"), 3),
        (discreet.PlanError("plan.toml", "wrong"), 2),
        (PermissionError(13, "Permission denied", "/secret/place/out"), 2),
        (KeyboardInterrupt(), 130),
        (ValueError(f"cannot convert {SECRET}"), 1),
    ],
)
def test_errors_end_in_their_exit_code_without_traceback_or_value(
    error: BaseException, code: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object) -> int:
        raise error

    monkeypatch.setattr(cli, "_methods", broken)
    found, out, err = told(capsys, "methods")
    assert found == code
    assert err.startswith("discreet: ")
    assert out == ""
    assert "Traceback" not in err
    assert SECRET not in err
    assert "/secret/place" not in err


def test_progress_shows_on_a_terminal_only(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert progress() is None
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    say = progress()
    assert say is not None
    say("audit")
    assert capsys.readouterr().err == "· audit\n"


def test_the_module_runs_as_a_program() -> None:
    done = subprocess.run([sys.executable, "-m", "discreet", "methods", "p-q"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("p-q\n")
