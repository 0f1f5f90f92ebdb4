"""What the README shows is run, and what it says of the demo is what the demo says."""

import re
import shutil
from pathlib import Path

import pytest

from discreet.cli import main

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(language: str, number: int = 0) -> str:
    found = re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)
    assert len(found) > number, f"README has no {language} block {number}"
    return found[number]


@pytest.fixture
def register(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("register.parquet", "nace.hrc"):
        shutil.copy(ROOT / "examples" / "register" / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_python_example_and_the_plan_give_the_same_release(register: Path) -> None:
    exec(compile(block("python"), "README.md", "exec"), {})
    (register / "turnover.toml").write_text(block("toml"), encoding="utf-8")
    assert main(["run", "turnover.toml", "--out", "planned"]) == 0
    files = list(Path("release").glob("*.csv"))
    assert len(files) == 1
    assert files[0].read_bytes() == (Path("planned") / "turnover.csv").read_bytes()
    assert (Path("planned") / "report.html").is_file()
    lines = files[0].read_text(encoding="utf-8").splitlines()
    hidden = sum(line.endswith("suppressed") for line in lines)
    counts = re.search(r"([\d,]+) sensitive cells, ([\d,]+) hidden to protect them", README)
    assert counts
    assert hidden >= sum(int(number.replace(",", "")) for number in counts.groups())


@pytest.mark.usefixtures("register")
def test_the_example_with_noise_publishes_sums_and_counts_and_not_the_secret() -> None:
    exec(compile(block("python", 1), "README.md", "exec"), {})
    secret = Path("secret.txt")
    assert secret.stat().st_mode & 0o077 == 0
    released = [next(Path(folder).glob("*.csv")).read_text(encoding="utf-8") for folder in ("noisy", "counts")]
    for text in released:
        assert text.splitlines()[0].endswith(",standard_error")
        assert secret.read_text(encoding="utf-8") not in text
    assert any(line.split(",")[2] == "" for line in released[0].splitlines()), "sensitive cells stay hidden"
    assert block("python", 1).count("protect") == 2


def test_the_example_of_pram_releases_a_file_that_an_analyst_can_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(ROOT / "examples" / "survey" / "survey.parquet", tmp_path)
    monkeypatch.chdir(tmp_path)
    Path("secret.txt").write_text("a secret of a test, for nothing else", encoding="utf-8")
    exec(compile(block("python", 2), "README.md", "exec"), {})
    said = capsys.readouterr().out
    assert "std. error" in said
    assert "hours" in said
    assert sorted(path.name for path in Path("randomised").iterdir()) == ["persons.csv", "persons.pram.json"]
    assert "person," not in Path("randomised", "persons.csv").read_text(encoding="utf-8").splitlines()[0]


def test_the_example_of_swapping_keeps_its_tables_and_names_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(ROOT / "examples" / "census" / "census.parquet", tmp_path)
    monkeypatch.chdir(tmp_path)
    Path("secret.txt").write_text("a secret of a test, for nothing else", encoding="utf-8")
    exec(compile(block("python", 3), "README.md", "exec"), {})
    said = capsys.readouterr().out
    assert "'risky records changed': 679" in said
    assert "GivenAway(0 of 5507 records)" in said
    lines = Path("swapped", "persons.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 5508
    assert not lines[0].startswith("person,")


def test_every_page_that_is_linked_exists() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert len(links) > 5
    assert not [link for link in links if not (ROOT / link).exists()]
