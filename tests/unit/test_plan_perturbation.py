"""Rounding and noise through plans: every method from the file to the release, secrets, p-tables, and what is refused."""

import csv
import json
from pathlib import Path

import pytest

from discreet import cli
from discreet.model.ptable import PTable
from discreet.plan.catalog import FAMILIES, NOISE, ROUNDING, find

SECRET = "7f3a09c1d2e84b56a1907c3de5f28b64"
PTABLE = "i;v;p;type\n0;0;1;all\n1;-1;0.5;all\n1;1;0.5;all\n"
COUNTS = 'spanning = ["region", "branch"]'
SUMS = f'{COUNTS}\nresponse = "turnover"'
FROM_FILE = 'secret_file = "secret.txt"'

PLANS: dict[str, tuple[str, str]] = {
    "lpm": (SUMS, '{ method = "lpm", low = 0.2, high = 0.4, minimum = 5 }'),
    "ezs": (SUMS, '{ method = "ezs", low = 0.2, high = 0.4 }'),
    "tcm": (SUMS, '{ method = "tcm" }'),
    "cell-key": (COUNTS, '{ method = "cell-key", largest = 3, variance = 2 }'),
    "cell-key-magnitude": (SUMS, '{ method = "cell-key-magnitude", ptable = "noise.csv" }'),
    "round-conventional": (SUMS, '{ method = "round-conventional", base = 10 }'),
    "round-random": (COUNTS, '{ method = "round-random", base = 3 }'),
    "small-count-adjustment": (COUNTS, '{ method = "small-count-adjustment", base = 4 }'),
    "round-graduated": (COUNTS, '{ method = "round-graduated", steps = [[18, 3], [99, 5]], above = 10 }'),
    "round-midpoint": (COUNTS, '{ method = "round-midpoint" }'),
    "round-significant": (SUMS, '{ method = "round-significant", digits = 2 }'),
    "controlled-rounding": (COUNTS, '{ method = "controlled-rounding", base = 3 }'),
    "inner-cell-rounding": (COUNTS, '{ method = "inner-cell-rounding" }'),
    "controlled-adjustment": (SUMS, '{ method = "min-frequency", n = 3, range = 20 }, { method = "controlled-adjustment" }'),
}
FAMILY = [method.NAME for family in (NOISE, ROUNDING) for method in FAMILIES[family]]


def write(folder: Path, microdata: str, table: str, methods: str) -> Path:
    """Three regions by three branches of 2 or 12 units, their secret and a p-table, and a plan."""
    lines = ["unit,region,branch,turnover,weight,key"]
    for r, region in enumerate("NSW"):
        for b, branch in enumerate("ABC"):
            for k in range(2 if (region, branch) in (("N", "A"), ("W", "C")) else 12):
                number = len(lines)
                lines.append(f"u{number},{region},{branch},{1000 + 37 * k + 11 * r + 5 * b},1.5,{number * 2654435761 % 2**32}")
    (folder / "records.csv").write_text("\n".join(lines) + "\n", "utf-8")
    (folder / "secret.txt").write_text(SECRET + "\n", "utf-8")
    (folder / "noise.csv").write_text(PTABLE, "utf-8")
    records = f'[microdata]\npath = "records.csv"\nunit = "unit"\n{microdata}\n'
    (folder / "plan.toml").write_text(f"{records}\n[tables.small]\n{table}\nmethods = [{methods}]\n", "utf-8")
    return folder / "plan.toml"


def run(plan: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = cli.main(["run", str(plan), "--out", str(plan.parent / "out")])
    said = capsys.readouterr()
    assert SECRET not in said.out + said.err
    return code, " ".join((said.out + said.err).split())


def numbers(folder: Path) -> dict[tuple[str, str], dict[str, str]]:
    with (folder / "out" / "small.csv").open(encoding="utf-8", newline="") as lines:
        return {(line["region"], line["branch"]): line for line in csv.DictReader(lines)}


# -------------------------------------------------------------------- every method


def test_every_method_has_a_plan() -> None:
    assert set(FAMILY) <= set(PLANS), "write a plan for the new method"


@pytest.mark.parametrize("name", FAMILY)
def test_a_method_runs_from_the_plan_to_the_release(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, methods = PLANS[name]
    code, said = run(write(tmp_path, FROM_FILE, table, methods), capsys)
    assert code == 0, said
    assert "perturbed" in said
    released = numbers(tmp_path)
    assert len(released) == 16
    report = json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))
    (told,) = report["tables"]
    assert told["counts"]["perturbed"] > 0
    assert told["verdict"]["verdict"] == "proved"
    assert told["methods"][-1]["method"] == name
    random = any(line.get("standard_error") for line in released.values())
    assert random == bool(told["errors"])
    assert SECRET not in "".join(file.read_text("utf-8") for file in (tmp_path / "out").iterdir())


@pytest.mark.parametrize(
    "name", ["lpm", "ezs", "tcm", "cell-key", "cell-key-magnitude", "round-random", "small-count-adjustment"]
)
def test_what_needs_keys_says_where_they_come_from(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = run(write(tmp_path, "", *PLANS[name]), capsys)
    assert code == 2
    assert "record keys" in said
    assert "record_key" in said
    assert "secret" in said
    assert not (tmp_path / "out").exists()


def test_the_same_secret_gives_the_same_release_wherever_it_stands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOUSE_SECRET", SECRET)
    monkeypatch.setenv("OTHER_SECRET", SECRET[::-1])
    seen = []
    for source in (FROM_FILE, 'secret_environment = "HOUSE_SECRET"', 'secret_environment = "OTHER_SECRET"'):
        assert run(write(tmp_path, source, *PLANS["tcm"]), capsys)[0] == 0
        seen.append((tmp_path / "out" / "small.csv").read_bytes())
    assert seen[0] == seen[1] != seen[2]


def test_keys_from_a_column(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(write(tmp_path, 'record_key = "key"', *PLANS["cell-key"]), capsys)[0] == 0


def test_the_hash_of_the_paper_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    methods = '{ method = "lpm", minimum = 5, hash = "paper" }'
    plan = write(tmp_path, f'{FROM_FILE}\nkey_hash = "paper"', SUMS, methods)
    code, said = run(plan, capsys)
    assert code == 2
    assert "is no whole number, as the paper's hash needs" in said
    (tmp_path / "secret.txt").write_text("9876543211", "utf-8")
    records = (tmp_path / "records.csv").read_text("utf-8").replace("\nu", "\n")
    assert "ids are no whole numbers" in run(plan, capsys)[1]
    (tmp_path / "records.csv").write_text(records, "utf-8")
    assert run(plan, capsys)[0] == 0


def test_weights(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("lpm", "ezs", "tcm", "cell-key", "cell-key-magnitude"):
        code, said = run(write(tmp_path, f'{FROM_FILE}\nweight = "weight"', *PLANS[name]), capsys)
        assert code == 0, said
    code, said = run(write(tmp_path, 'weight = "weight"', *PLANS["round-midpoint"]), capsys)
    assert code == 2
    assert "weighted ones with decimals fix: leave out the weights" in said


def test_the_summary_counts_what_became_of_the_cells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rule = '{ method = "min-frequency", n = 3 }'
    hide = f'{rule}, {{ method = "tcm" }}'
    assert "16 cells, 14 perturbed, 2 primary and 0 secondary suppr" in run(write(tmp_path, FROM_FILE, SUMS, hide), capsys)[1]
    show = f'{rule}, {{ method = "tcm", sensitive = "show" }}'
    told = run(write(tmp_path, FROM_FILE, SUMS, show), capsys)[1]
    assert "16 cells, 16 perturbed (2 of them sensitive), 0 primary and 0 secondary suppr" in told
    assert "16 cells judged: 16 safe" in told


def test_estimates_that_are_too_close_call_for_more_noise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    methods = '{ method = "min-frequency", n = 3, range = 90 }, { method = "ezs", low = 0.001, high = 0.002 }'
    code, said = run(write(tmp_path, FROM_FILE, SUMS, methods), capsys)
    assert code == 3
    assert "estimated too closely from numbers with noise" in said
    assert "fix: take more noise" in said
    assert "and 2 estimates failed" in said
    report = json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))
    assert any("estimate a sensitive cell" in line for line in report["tables"][0]["audit"]["blind_spots"])


# -------------------------------------------------------------------- what is refused

WRONG_SECRETS = {
    'secret_file = "secre.txt"': "line 4: there is no such file to hold the secret (give its path, never the secret itself) "
    "(did you mean 'secret.txt'?)",
    f'secret_file = "{SECRET}"': "line 4: there is no such file to hold the secret",
    f'secret_environment = "{SECRET}"': "secret: the environment variable that should hold it is not set fix: name the",
    'secret_environment = "SHORT_SECRET"': "the secret in environment variable SHORT_SECRET: holds fewer than 16 characters",
    f'secret = "{SECRET}"': "line 4: unknown parameter 'secret' (did you mean 'secret_file'?)",
    f'{FROM_FILE}\nsecret_environment = "SHORT_SECRET"': "secret_file and secret_environment: record keys come from one of"
    " them",
    f'{FROM_FILE}\nrecord_key = "key"': "secret_file and record_key: record keys come from one of them",
    'record_key = "key"\nkey_hash = "paper"': "key_hash: says how record keys are made from a secret, and no secret is named",
}


@pytest.mark.parametrize(("source", "message"), WRONG_SECRETS.items())
def test_a_wrong_secret_is_refused_and_not_repeated(
    source: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHORT_SECRET", "abc")
    code, said = run(write(tmp_path, source, *PLANS["tcm"]), capsys)
    assert code == 2
    assert message in said
    assert not (tmp_path / "out").exists()


def test_the_secret_is_asked_for_by_a_run_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from discreet.plan.read import read_plan

    plan = write(tmp_path, 'secret_environment = "NOT_SET_HERE"', *PLANS["tcm"])
    assert read_plan(plan).microdata is not None
    assert run(plan, capsys)[0] == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "line 8: noise.csv: there is no such file"),
        ("", "line 8: noise.csv:"),
        ("a;b\n1;2\n", "line 8: noise.csv: is no p-table: its columns are 'a', 'b'"),
        (PTABLE.replace("0.5", "0.4"), "line 8: noise.csv:"),
    ],
)
def test_a_wrong_ptable_is_told_with_its_line(
    content: str | None, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = write(tmp_path, FROM_FILE, COUNTS, '{ method = "cell-key", ptable = "noise.csv" }')
    (tmp_path / "noise.csv").unlink()
    if content is not None:
        (tmp_path / "noise.csv").write_text(content, "utf-8")
    code, said = run(plan, capsys)
    assert code == 2
    assert message in said


WRONG_METHODS = {
    "rounding twice": (SUMS, '"round-conventional", "round-conventional"', "round-conventional: cell region=Total"),
    "noise then rounding": (SUMS, '"tcm", "round-conventional"', "is perturbed already fix: use one method that rounds"),
    "rounding then noise": (SUMS, '"round-conventional", "tcm"', "tcm: cell region=Total, branch=Total is perturbed already"),
    "two kinds of unit noise": (SUMS, '"ezs", { method = "ezs", high = 0.5 }', "ezs: "),
    "layered noise on counts": (COUNTS, '"lpm"', "lpm: is for sums of a response, not for counts fix: use cell keys"),
    "unit noise on counts": (
        COUNTS,
        '"ezs"',
        "unit noise: is on the contributions to a response, and the table has no response",
    ),
    "cell keys of counts on sums": (
        SUMS,
        '{ method = "cell-key", largest = 3, variance = 2 }',
        "cell-key: is for counts, and the table sums a response fix: use the cell key method for magnitudes",
    ),
    "cell keys without a p-table": (COUNTS, '"cell-key"', "line 8: cell-key.ptable: is missing"),
    "midpoints of sums": (SUMS, '"round-midpoint"', "round-midpoint: is about whole counts, and the table holds sums"),
    "unit noise and a shadow": (f'{SUMS}\nshadow = "weight"', '"ezs"', "fix: leave out the shadow variable"),
    "layered noise and a shadow": (f'{SUMS}\nshadow = "weight"', '"lpm"', "the table holds those to a shadow variable"),
}


@pytest.mark.parametrize("kind", WRONG_METHODS)
def test_methods_that_do_not_fit_are_refused(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, methods, message = WRONG_METHODS[kind]
    code, said = run(write(tmp_path, FROM_FILE, table, methods), capsys)
    assert code == 2
    assert message in said
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["tcm", "ezs", "cell-key", "round-random"])
def test_a_given_table_has_no_keys(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "table.csv").write_text("region,value,n,max1\nTotal,100,12,30\nN,60,6,30\nS,40,6,20\n", "utf-8")
    kind = 'kind = "frequency"' if name in ("cell-key", "round-random") else 'n = "n", top = ["max1"]'
    methods = {"tcm": '{ method = "tcm", magnitudes = [0.6] }', "ezs": '"ezs"'}.get(name, PLANS[name][1])
    text = f'[tables.small]\nspanning = ["region"]\ngiven = {{ path = "table.csv", {kind} }}\nmethods = [{methods}]\n'
    (tmp_path / "plan.toml").write_text(text, "utf-8")
    code, said = run(tmp_path / "plan.toml", capsys)
    assert code == 2
    assert ("the table holds no unit noise" if name == "ezs" else "needs record keys, and the table has none") in said


# -------------------------------------------------------------------- the command line and the examples


def test_methods_are_listed_by_what_they_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["methods"]) == 0
    said = capsys.readouterr().out
    places = [said.index(f"{family}:") for family in FAMILIES]
    assert places == sorted(places)
    assert places[-2] < said.index("  lpm ") < places[-1] < said.index("  round-random ")
    assert cli.main(["methods", "cell-key"]) == 0
    assert 'In a plan: { method = "cell-key", … }' in capsys.readouterr().out
    assert cli.main(["methods", "tcm"]) == 0
    assert 'In a plan: { method = "tcm" }' in capsys.readouterr().out


@pytest.mark.parametrize("name", ["noise", "rounding"])
def test_the_examples_run(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISCREET_SECRET", SECRET)
    plan = Path(__file__).resolve().parents[2] / "examples" / "register" / f"{name}.toml"
    assert cli.main(["run", str(plan), "--out", str(tmp_path)]) == 0, capsys.readouterr().err
    assert capsys.readouterr().out.count(": published;") == (2 if name == "noise" else 1)


def test_a_ptable_of_the_house_is_written_and_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import discreet as dc

    made = dc.design_counts(3, 2.0, blocked=1)
    plan = write(tmp_path, FROM_FILE, COUNTS, '{ method = "cell-key", ptable = "noise.csv" }')
    dc.write_ptable(made, tmp_path / "noise.csv")
    assert isinstance(dc.read_ptable(tmp_path / "noise.csv"), PTable)
    assert run(plan, capsys)[0] == 0
    assert not {"1"} & {line["units"] for line in numbers(tmp_path).values()}
    assert find("cell-key").NAME == "cell-key"
