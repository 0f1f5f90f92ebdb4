"""The section [swap] of a plan: what is accepted, what is refused with its line, and what a run writes."""

import contextlib
import csv
import os
import stat
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.errors import InputError, PlanError
from discreet.plan.read import Plan, read_plan
from discreet.plan.run import run_plan
from discreet.plan.swap import foresee_swap, run_swap

SECRET = "s3cr3t-of-the-office-731904"
PLAN = """[microdata]
path = "census.csv"
unit = "person"
weight = "weight"
secret_file = "secret.txt"

[swap]
release = "open.csv"
renumber = ["house"]

[[swap.step]]
method = "margin-swap"
variables = ["sex", "age", "region", "job"]
margins = [["sex", "age"], ["age", "region"], ["job"]]
keys = ["sex", "age", "region", "job"]

[[swap.step]]
method = "rank-swap"
columns = ["income"]
within = ["sex"]
"""
SEXES, AGES, REGIONS, JOBS = ("f", "m"), ("young", "old"), ("north", "south", "west"), ("none", "farm", "mill", "shop")


def census(folder: Path, rows: int = 240) -> None:
    lines = ["person,house,sex,age,region,job,income,weight"]
    for i in range(rows):
        sex, age, region, job = SEXES[i * 7 % 11 % 2], AGES[i % 5 % 2], REGIONS[i * i % 7 % 3], JOBS[i * i * i % 31 % 13 % 4]
        lines.append(f"p{i:04},h{i // 3:03},{sex},{age},{region},{job},{1000 + 37 * i},{1 + i % 3}.5")
    (folder / "census.csv").write_text("\n".join(lines) + "\n", "utf-8")
    (folder / "secret.txt").write_text(SECRET + "\n", "utf-8")


def plan_file(folder: Path, text: str = PLAN) -> Path:
    census(folder)
    (folder / "plan.toml").write_text(text, "utf-8")
    return folder / "plan.toml"


def checked(folder: Path, text: str = PLAN) -> Plan:
    return read_plan(plan_file(folder, text))


def problems(folder: Path, text: str) -> list[str]:
    with pytest.raises(PlanError) as error:
        checked(folder, text)
    return error.value.details


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


# -------------------------------------------------------------------- what is accepted


def test_a_sound_section_becomes_methods(tmp_path: Path) -> None:
    plan = checked(tmp_path)
    assert plan.swap is not None
    assert (plan.tables, plan.pram) == ((), None)
    margin, rank = plan.swap.methods
    assert (margin.NAME, margin.margins[1], margin.at_most) == ("margin-swap", ("age", "region"), 1)
    assert (rank.NAME, rank.columns, rank.within) == ("rank-swap", ("income",), ("sex",))
    assert plan.swap.section.release == "open.csv"
    assert plan.swap.section.renumber == ("house",)


# -------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"margin-swap"', '"margin-swp"', "line 12: there is no method 'margin-swp' (did you mean 'margin-swap'?)"),
        ('"margin-swap"', '"p-percent"', "line 12: there is no method 'p-percent'"),
        ('method = "rank-swap"\n', "", "line 17: a method is written { method = '…', parameter = … }"),
        (
            'columns = ["income"]',
            'colums = ["income"]',
            "line 19: rank-swap: unknown parameter 'colums' (did you mean 'columns'?)",
        ),
        ('columns = ["income"]', 'columns = ["incom"]', "line 19: the records have no column 'incom' for what is swapped"),
        ('within = ["sex"]', 'within = ["sx"]', "line 20: the records have no column 'sx' for the strata"),
        ('within = ["sex"]', 'within = ["income"]', "line 20: rank-swap.within: names 'income', which is moved"),
        ('within = ["sex"]', "p = 0", "line 20: rank-swap: p: must be above 0 and at most 100, not 0"),
        ('"region", "job"]\nmargins', '"regin", "job"]\nmargins', "line 13: the records have no column 'regin' for a variable"),
        ('["job"]]', '["jb"]]', "line 14: margin-swap.margins: margin 'jb' no variable 'jb' (did you mean 'job'?)"),
        ('keys = ["sex"', 'keys = ["sx"', "line 15: margin-swap.keys: 'sx' is not among the variables"),
        ('release = "open.csv"', 'relase = "open.csv"', "line 8: unknown parameter 'relase' (did you mean 'release'?)"),
        ('release = "open.csv"', 'release = "open.txt"', "line 8: release: 'open.txt' cannot be the name of the released file"),
        ('release = "open.csv"', 'release = "Census.csv"', "line 8: release: 'Census.csv' is the name of the confidential"),
        ('release = "open.csv"', 'columns = ["sex", "house", "sex"]', "line 8: columns: column 'sex' is named twice"),
        ('release = "open.csv"', 'columns = ["sex", "hose"]', "line 8: the records have no column 'hose' for the release"),
        ('release = "open.csv"', 'columns = ["sex"]', "line 9: renumber: column 'house' is not among the released columns"),
        ('release = "open.csv"', 'record = ["persn"]', "line 8: the records have no column 'persn' for what names a record"),
        ('renumber = ["house"]', 'renumber = ["hose"]', "line 9: the records have no column 'hose' for new numbers"),
        ('renumber = ["house"]', 'renumber = ["house", "house"]', "line 9: renumber: column 'house' is named twice"),
        ('renumber = ["house"]', 'keys = ["sx", "age"]', "line 9: the records have no column 'sx' for the keys of the report"),
        ('renumber = ["house"]', 'keys = ["sex", "sex"]', "line 9: keys: column 'sex' is named twice"),
        ('renumber = ["house"]', "at_most = 3", "line 9: at_most: is for keys, and none are named here"),
        ('secret_file = "secret.txt"', "", "line 1: swapping draws with keys that are made from a secret, and no secret"),
        ('secret_file = "secret.txt"', 'record_key = "income"', "line 5: swapping makes its keys from a secret"),
        (
            'unit = "person"',
            "",
            "line 7: nothing names a record, from which its key is made: unit = 'column' in [microdata], or",
        ),
        ('unit = "person"', 'count = "income"', "line 3: swapping changes single records"),
        ('weight = "weight"', 'key_hash = "paper"', "line 4: the paper's hash is for tables; swapping needs the keyed hash"),
        ("[swap]", "[output]\n[swap]", "line 7: output is for tables, and the plan has none"),
        ("[microdata]", "[swaps]\n[microdata]", "line 1: unknown section or key 'swaps' (did you mean 'swap'?)"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert PLAN.count(old) >= 1
    found = problems(tmp_path, PLAN.replace(old, new, 1))
    assert any(message in problem for problem in found), found


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    broken = (
        PLAN.replace('"rank-swap"', '"rank"')
        .replace('unit = "person"', 'unit = "persn"')
        .replace('"job"]\nkeys', '"job"]\nkey')
    )
    broken = broken.replace("keys = ", "ky = ").replace("open.csv", "open.xlsx")
    found = [problem.partition(":")[0] for problem in problems(tmp_path, broken)]
    assert found == ["line 3", "line 8", "line 15", "line 18"], found


def test_a_section_that_swaps_nothing_is_refused(tmp_path: Path) -> None:
    head = PLAN[: PLAN.index("[[swap.step]]")]
    (found,) = problems(tmp_path, head)
    assert found.startswith("line 7: parameter 'step' is missing")
    (found,) = problems(tmp_path, head + "step = []\n")
    assert found == "line 11: step: nothing is swapped"


def test_records_have_to_be_named(tmp_path: Path) -> None:
    found = problems(tmp_path, PLAN[PLAN.index("[swap]") :])
    assert found == ["the plan has no section [microdata]: say where the records are"]


def test_a_release_and_a_table_of_one_name_are_refused(tmp_path: Path) -> None:
    text = PLAN + '\n[tables.open]\nspanning = ["age"]\nmethods = ["min-frequency"]\n'
    assert "is the name of a table's release file too" in problems(tmp_path, text)[0]


def test_records_are_not_released_twice(tmp_path: Path) -> None:
    pram = '\n[pram]\n\n[[pram.variables]]\ncolumns = ["sex"]\ndesign = { method = "k-ary", epsilon = 2 }\n'
    (found,) = problems(tmp_path, PLAN + pram)
    assert found.startswith("line 7: [pram] releases these records too, and each of two releases tells what the other hides")


KEYS = ("release", "columns", "record", "renumber")
OF_STEPS = ("method", "columns", "within", "variables", "margins", "keys", "stay", "travel", "forbid", "order", "p", "rate")
WORDS = ("sex", "age", "region", "margin-swap", "rank-swap", "random-swap", "numbers", "open.csv", "")
GARBAGE = st.recursive(
    st.booleans() | st.integers(-2, 9) | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(OF_STEPS), inner, max_size=4),
    max_leaves=8,
)


def as_toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{key}" = {as_toml(item)}' for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(as_toml(item) for item in value) + "]"
    return str(value).lower() if isinstance(value, bool | int) else f'"{value}"'


@given(
    section=st.dictionaries(st.sampled_from(KEYS), GARBAGE, max_size=3),
    method=st.sampled_from(["margin-swap", "rank-swap", "random-swap"]),
    step=st.dictionaries(st.sampled_from(OF_STEPS), GARBAGE, max_size=4) | GARBAGE,
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80, deadline=None)
def test_whatever_the_section_holds_it_is_read_or_refused(tmp_path: Path, section: dict, method: str, step: object) -> None:
    head = PLAN[: PLAN.index("release")]
    step = {"method": method} | step if isinstance(step, dict) else step
    lines = [f"{key} = {as_toml(value)}" for key, value in {**section, "step": [step]}.items()]
    if not (tmp_path / "census.csv").exists():
        census(tmp_path)
    (tmp_path / "plan.toml").write_text(head + "\n".join(lines), "utf-8")
    with contextlib.suppress(PlanError):
        read_plan(tmp_path / "plan.toml")


def test_numbers_of_households_that_move_leave_only_anew(tmp_path: Path) -> None:
    targeted = 'method = "targeted-swap"\nhousehold = "house"\ngeography = ["region"]\nrisk = ["job"]\n'
    plain = PLAN[: PLAN.index('method = "margin')].replace('renumber = ["house"]\n', "") + targeted
    (found,) = problems(tmp_path, plain)
    assert found.startswith("line 12: household: column 'house' is released as it is")
    for settled in (
        plain.replace("[swap]", '[swap]\nrenumber = ["house"]'),
        plain.replace("[swap]", '[swap]\ncolumns = ["region", "job"]'),
        plain.replace("[swap]", '[swap]\nrecord = ["house", "person"]'),
        plain.replace('unit = "person"', 'unit = "person"\nholding = "house"'),
    ):
        checked(tmp_path, settled)
    released = plain.replace("[swap]", '[swap]\nrecord = ["house", "person"]\ncolumns = ["region", "house"]')
    assert "numbers given area by area" in problems(tmp_path, released)[0]


def test_the_keys_of_the_report_are_those_of_the_section_or_of_the_first_step_with_keys(tmp_path: Path) -> None:
    assert run_swap(plan_file(tmp_path)).keys == (("sex", "age", "region", "job"), 1)
    own = PLAN.replace("[swap]", '[swap]\nkeys = ["age", "job"]\nat_most = 2')
    assert run_swap(plan_file(tmp_path, own)).keys == (("age", "job"), 2)
    rank = PLAN[: PLAN.index('method = "margin')] + PLAN[PLAN.index('method = "rank') :]
    assert run_swap(plan_file(tmp_path, rank)).keys == ((), 1)


# -------------------------------------------------------------------- a run


def test_a_run_writes_the_release_and_the_owners_list(tmp_path: Path) -> None:
    run = run_swap(plan_file(tmp_path), tmp_path / "out")
    assert [step.method for step in run.file.steps] == ["margin-swap", "rank-swap"]
    files = sorted(file.relative_to(tmp_path / "out").as_posix() for file in (tmp_path / "out").rglob("*") if file.is_file())
    assert files == ["confidential/open.swaps.csv", "open.csv"]
    assert stat.S_IMODE((tmp_path / "out" / "confidential").stat().st_mode) == 0o700
    true, released = rows(tmp_path / "census.csv"), rows(tmp_path / "out" / "open.csv")
    assert list(released[0]) == ["house", "sex", "age", "region", "job", "income", "weight"]
    for margin in (("sex", "age"), ("age", "region"), ("job",), ("income",)):
        counts = [Counter(tuple(row[name] for name in margin) for row in lines) for lines in (true, released)]
        assert counts[0] == counts[1]
    whole = [
        Counter(tuple(row[name] for name in ("sex", "age", "region", "job")) for row in lines) for lines in (true, released)
    ]
    assert whole[0] != whole[1]
    listed = rows(tmp_path / "out" / "confidential" / "open.swaps.csv")
    assert len({row["record_person"] for row in listed}) == run.changed > 0


def test_a_run_can_be_repeated_by_secret_and_plan_whatever_the_order_of_records(tmp_path: Path) -> None:
    path = plan_file(tmp_path)
    run_swap(path, tmp_path / "one")
    head, *lines = (tmp_path / "census.csv").read_text("utf-8").splitlines()
    (tmp_path / "census.csv").write_text("\n".join([head, *sorted(lines, key=lambda line: line[::-1])]) + "\n", "utf-8")
    run_swap(path, tmp_path / "two")
    for name in ("open.csv", "confidential/open.swaps.csv"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    (tmp_path / "secret.txt").write_text(SECRET[::-1], "utf-8")
    run_swap(path, tmp_path / "three")
    assert (tmp_path / "one" / "open.csv").read_bytes() != (tmp_path / "three" / "open.csv").read_bytes()


def test_steps_are_applied_in_their_order_on_what_the_one_before_left(tmp_path: Path) -> None:
    step = '\n[[swap.step]]\nmethod = "random-swap"\ncolumns = ["income"]\nrate = 1.0\n'
    run_swap(plan_file(tmp_path, PLAN + step), tmp_path / "after")
    head, first, second = PLAN.split("[[swap.step]]")
    run_swap(
        plan_file(tmp_path, "[[swap.step]]".join([head, step.split("[[swap.step]]")[1] + "\n", first, second])),
        tmp_path / "before",
    )
    after, before = ((tmp_path / name / "open.csv").read_bytes() for name in ("after", "before"))
    assert after != before


def test_what_is_foreseen_is_told_for_each_step_and_nothing_is_written(tmp_path: Path) -> None:
    told = foresee_swap(plan_file(tmp_path))
    assert [line.partition(" ")[0] for line in told] == ["margin-swap", "rank-swap"]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["census.csv", "plan.toml", "secret.txt"]


def test_neither_secret_nor_key_is_in_what_is_written(tmp_path: Path) -> None:
    run = run_swap(plan_file(tmp_path), tmp_path / "out")
    keys = {str(int(key)) for key in run.file.key} | {f"{int(key):x}" for key in run.file.key}
    for file in (tmp_path / "out").rglob("*"):
        text = file.read_bytes().decode("utf-8", "replace") if file.is_file() else ""
        assert SECRET not in text
        assert not any(key in text for key in keys)
        assert ("p0007" in text) <= (file.parent.name == "confidential")
    assert SECRET not in repr(run)


def test_a_run_that_breaks_leaves_the_folder_as_it_was(tmp_path: Path) -> None:
    path = plan_file(tmp_path, PLAN.replace('columns = ["income"]', 'columns = ["person"]'))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "open.csv").write_text("an earlier release", "utf-8")
    with pytest.raises(InputError):
        run_swap(path, tmp_path / "out")
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["open.csv"]
    assert (tmp_path / "out" / "open.csv").read_text("utf-8") == "an earlier release"


def test_the_release_replaces_no_input(tmp_path: Path) -> None:
    path = plan_file(tmp_path, PLAN.replace('"secret.txt"', '"open.csv"'))
    (tmp_path / "open.csv").write_text(SECRET, "utf-8")
    with pytest.raises(InputError, match="is input of the plan"):
        run_swap(path, tmp_path)
    assert (tmp_path / "open.csv").read_text("utf-8") == SECRET


def test_a_folder_that_cannot_be_written_is_refused_before_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "confidential").write_text("x", "utf-8")
    with pytest.raises(InputError, match="confidential: is a file where the output needs a folder"):
        run_swap(plan_file(tmp_path), tmp_path / "out")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(InputError, match="cannot be written"):
        run_swap(plan_file(tmp_path), tmp_path / "closed" / "out")
    assert not (tmp_path / "closed").exists()


def test_each_command_is_told_where_its_section_is_run(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="has no table") as error:
        run_plan(plan_file(tmp_path), tmp_path / "out")
    assert "discreet swap" in error.value.fix
    text = PLAN[: PLAN.index("[swap]")] + '[tables.t]\nspanning = ["age"]\nmethods = ["min-frequency"]\n'
    with pytest.raises(PlanError, match=r"has no section \[swap\]") as error:
        run_swap(plan_file(tmp_path, text), tmp_path / "out")
    assert "discreet run" in error.value.fix
    assert not (tmp_path / "out").exists()


def test_a_plan_may_have_tables_and_swaps(tmp_path: Path) -> None:
    path = plan_file(tmp_path, PLAN + '\n[tables.ages]\nspanning = ["age"]\nmethods = ["min-frequency"]\n')
    assert [one.name for one in run_plan(path, tmp_path / "out").tables] == ["ages"]
    run_swap(path, tmp_path / "out")
    files = sorted(file.name for file in (tmp_path / "out").iterdir() if file.is_file())
    assert files == ["ages.csv", "open.csv"]
