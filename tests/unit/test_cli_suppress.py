"""``discreet suppress`` and ``discreet audit`` on JJ files."""

from pathlib import Path

import pytest

from discreet import cli
from discreet.io.jj import read_jj
from discreet.plan.catalog import SUPPRESSION

VALUES = (20, 50, 10, 80, 8, 19, 22, 49, 17, 32, 12, 61, 45, 101, 44, 190)
"""The handbook's table, row by row, each row and the whole with its total behind it."""

LINES = [(4 * i + 3, [4 * i, 4 * i + 1, 4 * i + 2]) for i in range(4)] + [(12 + j, [j, 4 + j, 8 + j]) for j in range(4)]


def table(folder: Path, levels: str = "5 8 20", frozen: tuple[int, ...] = ()) -> Path:
    """The table as a JJ file, cell 6 sensitive."""
    letters = ["z" if cell in frozen else "u" if cell == 6 else "s" for cell in range(16)]
    cells = [
        f"{cell} {value} {value} {letter} 0 300 {levels if letter == 'u' else '0 0 0'}"
        for cell, (value, letter) in enumerate(zip(VALUES, letters, strict=True))
    ]
    relations = [f"0 4 : {total} (-1) " + " ".join(f"{part} (1)" for part in parts) for total, parts in LINES]
    path = folder / "table.jj"
    path.write_text("\n".join(["0", "16", *cells, "8", *relations]) + "\n", "utf-8")
    return path


def told(capsys: pytest.CaptureFixture[str], *argv: object) -> tuple[int, str, str]:
    code = cli.main([str(word) for word in argv])
    out, err = capsys.readouterr()
    return code, out, err


def test_the_pattern_is_written_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = told(capsys, "suppress", table(tmp_path), "--method", "exact-suppression")
    assert code == 0, err
    assert "table.jj: safe; 16 cells, 1 primary and 3 secondary suppressions" in out
    assert "cost 37 by exact-suppression: optimal, gap 0.00 %" in out
    assert "table-suppressed.jj" in out
    done = read_jj(tmp_path / "table-suppressed.jj")
    assert done.cost[done.suppressed].sum() == 59, "SPEC B.5: the optimum, the sensitive cell included"
    assert not (tmp_path / "table-suppressed.jj.frq").exists()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["table-suppressed.jj", "table.jj"]


@pytest.mark.parametrize("method", [None, *sorted(SUPPRESSION)])
def test_every_method_can_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str], method: str | None) -> None:
    named = ["--method", method] if method else []
    code, out, err = told(
        capsys, "suppress", table(tmp_path), "--out", tmp_path / "new" / "done.jj", *named, "--time-limit", "20"
    )
    assert code == 0, err
    assert "table.jj: safe" in out
    code, out, _ = told(capsys, "audit", tmp_path / "new" / "done.jj")
    assert (code, out.split(";")[0]) == (0, "done.jj: safe")


def test_parameters_of_the_method(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = table(tmp_path)
    code, _, err = told(capsys, "suppress", path, "--method", "gauss-suppression", "--set", "singletons=false")
    assert code == 0, err
    for wrong, words in (
        ("singletns=false", "did you mean 'singletons'"),
        ("singletons", "sets nothing"),
        ("a=b=c", "sets nothing"),
    ):
        code, _, err = told(capsys, "suppress", path, "--method", "gauss-suppression", "--set", wrong)
        assert code == 2
        assert words in err
    code, _, err = told(capsys, "suppress", path, "--method", "gaus-suppression")
    assert code == 2
    assert "did you mean 'gauss-suppression'?" in err


def test_insiders_come_from_the_frequencies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = table(tmp_path, levels="0 0 0")
    (tmp_path / "table.jj.frq").write_text("".join(f"{1 if cell == 10 else 9} 0\n" for cell in range(16)), "utf-8")
    code, _, err = told(capsys, "suppress", path)
    assert code == 0, err
    done = read_jj(tmp_path / "table-suppressed.jj")
    assert done.contributions.n[10] == 1
    assert done.secondary.sum() > 3 or not done.secondary[10], "whoever is alone in cell 10 must not learn cell 6"
    path.with_name("table.jj.frq").unlink()
    told(capsys, "suppress", path)
    assert not (tmp_path / "table-suppressed.jj.frq").exists(), "left by the run before"


def test_what_cannot_be_protected_is_refused_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = table(tmp_path, frozen=(4, 5, 7))
    code, out, err = told(capsys, "suppress", path)
    assert (code, out) == (3, "")
    assert "cell=6" in err
    assert not (tmp_path / "table-suppressed.jj").exists()


def test_the_audit_of_a_jj_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = table(tmp_path)
    code, out, _ = told(capsys, "audit", path)
    assert code == 3
    assert "table.jj: NOT SAFE" in out
    assert "exact: cell=6" in out
    code, _, err = told(capsys, "audit", path, "--spanning", "region")
    assert code == 2
    assert "'spanning' cannot be given beside a JJ file" in err


def test_the_table_itself_is_not_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = table(tmp_path)
    before = path.read_bytes()
    code, _, err = told(capsys, "suppress", path, "--out", path)
    assert code == 2
    assert "is the table itself" in err
    assert path.read_bytes() == before


def test_what_was_passed_over_is_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = table(tmp_path)
    path.write_text(path.read_text("utf-8").replace("15 190 190 s 0 300", "15 190 190 s 0 100"), "utf-8")
    code, out, err = told(capsys, "suppress", path)
    assert code == 0, err
    assert "note: bounds that the values contradict, left out: 1" in out
