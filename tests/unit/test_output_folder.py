"""What a run leaves behind: whole or nothing, never in the place of its input, whatever stops it."""

import io
import signal
import sys
from pathlib import Path

import duckdb
import pytest

from discreet.cli import main
from discreet.engine.duckdb import Engine
from discreet.errors import InputError
from discreet.io.staging import gathered
from discreet.plan import run as running
from discreet.plan.read import read_plan

PLAN = """[microdata]
path = "records.csv"
[tables.{name}]
spanning = ["region"]
response = "turnover"
methods = [{{ method = "min-frequency", n = {n} }}]
"""
RECORDS = "region,turnover\n" + "N,1\n" * 5 + "S,2\n" * 2 + "É,3\n" * 5


def plan(folder: Path, name: str = "small", n: int = 2) -> Path:
    (folder / "records.csv").write_text(RECORDS, "utf-8")
    (folder / "plan.toml").write_text(PLAN.format(name=name, n=n), "utf-8")
    return folder / "plan.toml"


@pytest.mark.parametrize("n", [2, 3])
def test_a_release_never_replaces_or_removes_the_input(n: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With n = 3 the table would be refused, and a file of its name cleared away."""
    path = plan(tmp_path, "records", n)
    assert main(["run", str(path), "--out", str(tmp_path)]) == 2
    assert "records.csv: is input of the plan" in capsys.readouterr().err
    with pytest.raises(InputError, match="is input of the plan"):
        running.run_plan(path, tmp_path)
    assert (tmp_path / "records.csv").read_text("utf-8") == RECORDS
    assert sorted(file.name for file in tmp_path.iterdir()) == ["plan.toml", "records.csv"]


def test_a_folder_that_cannot_be_written_is_refused_before_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = read_plan(plan(tmp_path))
    (tmp_path / "file").write_text("")
    (tmp_path / "full" / "small.csv").mkdir(parents=True)
    with monkeypatch.context() as patch:
        patch.setattr("os.access", lambda *_: False)
        with pytest.raises(InputError, match="cannot be written"):
            running.check_out(path, tmp_path / "new" / "deep")
    for out, trouble in (("file", "is a file"), ("file/below", "cannot be written"), ("full", "is a folder where")):
        with pytest.raises(InputError, match=trouble):
            running.check_out(path, tmp_path / out)
    running.check_out(path, tmp_path / "new" / "deep")


def test_files_are_made_inside_a_folder_that_is_there(tmp_path: Path) -> None:
    """So that its parent need not be writable, and it may be a disk of its own."""
    out = tmp_path / "out"
    out.mkdir()
    with gathered(out) as private:
        assert private.parent == out
        (private / "a.csv").write_text("a")
    assert [file.name for file in out.iterdir()] == ["a.csv"]


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_stopped_run_leaves_nothing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, temporary = plan(tmp_path), tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    monkeypatch.setattr(running, "secure", lambda *_, **__: signal.raise_signal(signal.Signals[name]))
    assert main(["run", str(path), "--out", str(tmp_path / "out")]) == 130
    assert "stopped" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    monkeypatch.undo()


def test_an_engine_that_cannot_open_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(duckdb, "connect", stop)
    with pytest.raises(KeyboardInterrupt):
        Engine()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [RuntimeError("Query interrupted"), duckdb.InterruptException("INTERRUPT Error")])
def test_an_interrupted_query_is_no_fault(error: Exception) -> None:
    class Interrupted:
        def execute(self, _: str) -> None:
            raise error

    engine = Engine()
    engine._connection = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        engine.run("SELECT 1")


def test_a_terminal_without_the_letters_is_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(shown, encoding="ascii"))
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["methods", "p-percent"]) == 0
    assert main(["run", str(plan(tmp_path)), "--out", str(tmp_path / "é")]) == 0
    sys.stdout.flush()
    assert rb"x\u2081" in shown.getvalue()


@pytest.mark.parametrize("limit", ["0", "-1", "nan", "inf", "soon"])
def test_a_time_limit_is_above_0(limit: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(plan(tmp_path)), "--out", str(tmp_path / "out"), f"--time-limit={limit}"]) == 2
    assert f"takes a number of seconds above 0, not '{limit}'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
