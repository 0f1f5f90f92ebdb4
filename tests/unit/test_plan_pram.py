"""The section [pram] of a plan: what is accepted, what is refused with its line, and what a run writes."""

import contextlib
import csv
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.errors import InputError, PlanError
from discreet.plan.pram import run_pram
from discreet.plan.read import Plan, read_plan
from discreet.plan.run import run_plan

SECRET = "s3cr3t-of-the-office-731904"
PLAN = """[microdata]
path = "survey.csv"
unit = "person"
weight = "weight"
secret_file = "secret.txt"

[pram]
release = "open.csv"

[[pram.variables]]
columns = ["sex"]
design = { method = "k-ary", epsilon = 2 }
within = ["age"]

[[pram.variables]]
columns = ["region"]
design = { method = "k-ary", epsilon = 1 }
"""
SEXES, AGES, REGIONS = ("f", "m"), ("young", "old"), ("north", "south", "west")


def survey(folder: Path, rows: int = 240) -> None:
    lines = ["person,sex,age,region,income,weight"]
    for i in range(rows):
        sex, age, region = SEXES[i * 7 % 11 % 2], AGES[i % 5 % 2], REGIONS[i * i % 7 % 3]
        lines.append(f"p{i:04},{sex},{age},{region},{1000 + 37 * i},{1 + i % 3}.5")
    (folder / "survey.csv").write_text("\n".join(lines) + "\n", "utf-8")
    (folder / "secret.txt").write_text(SECRET + "\n", "utf-8")


def rewritten(folder: Path, change: Callable[[int, dict[str, str]], dict[str, str]]) -> None:
    """The survey again, with each row changed."""
    changed = [change(i, row) for i, row in enumerate(rows(folder / "survey.csv"))]
    with (folder / "survey.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, changed[0])
        writer.writeheader()
        writer.writerows(changed)


def plan_file(folder: Path, text: str = PLAN) -> Path:
    survey(folder)
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
    assert plan.pram is not None
    assert plan.tables == ()
    sex, region = plan.pram.methods
    assert (sex.columns, sex.within) == (("sex",), ("age",))
    assert (region.columns, region.within) == (("region",), ())
    assert (sex.design.NAME, sex.design.epsilon) == ("k-ary", 2)
    assert plan.pram.section.release == "open.csv"
    assert plan.pram.section.public


def test_a_design_without_parameters_is_a_word(tmp_path: Path) -> None:
    text = PLAN.replace('{ method = "k-ary", epsilon = 1 }', '"invariant-cyclic"')
    plan = checked(tmp_path, text.replace("[pram]", "[pram]\npublic = false"))
    assert plan.pram is not None
    assert plan.pram.methods[1].design.NAME == "invariant-cyclic"


def test_a_design_may_start_from_another(tmp_path: Path) -> None:
    start = '{ method = "mixture", share = 0.5, start = { method = "k-ary", epsilon = 1 } }'
    plan = checked(tmp_path, PLAN.replace('{ method = "k-ary", epsilon = 1 }', start))
    assert plan.pram is not None
    assert plan.pram.methods[1].design.start.NAME == "k-ary"
    wrong = start.replace("k-ary", "k-arry")
    found = problems(tmp_path, PLAN.replace('{ method = "k-ary", epsilon = 1 }', wrong))
    assert found == ["line 17: there is no design 'k-arry' (did you mean 'k-ary'?); see: discreet methods"]


def test_an_invariant_matrix_is_public_only_where_its_counts_are(tmp_path: Path) -> None:
    text = PLAN.replace('{ method = "k-ary", epsilon = 1 }', '"invariant-cyclic"')
    (found,) = problems(tmp_path, text)
    assert found.startswith("line 17: a public invariant matrix tells the true counts")
    run_pram(plan_file(tmp_path, text.replace("[pram]", "[pram]\ncounts_known = true")), tmp_path / "out")
    (found,) = problems(tmp_path, PLAN.replace("[pram]", "[pram]\ncounts_known = true"))
    assert found.startswith("line 8: counts_known is for public matrices that tell true counts, and none of these says so")


def test_an_own_matrix_that_happens_to_be_invariant_is_declared_so(tmp_path: Path) -> None:
    """What the run says and what the plan says lead to the same end."""
    survey(tmp_path)
    rewritten(tmp_path, lambda i, row: row | {"region": "north" if i % 4 else "south"})
    own = """
[pram.variables.design]
method = "own"
rows = { north = { north = 0.9, south = 0.1 }, south = { south = 0.7, north = 0.3 } }
"""
    text = PLAN.replace('design = { method = "k-ary", epsilon = 1 }\n', own)
    file = tmp_path / "plan.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="tell the true counts") as caught:
        run_pram(file, tmp_path / "out")
    assert "counts_known = True" in caught.value.fix
    assert "invariant = true in the design of an own matrix" in caught.value.fix
    known = text.replace("[pram]", "[pram]\ncounts_known = true")
    file.write_text(known, encoding="utf-8")
    with pytest.raises(PlanError, match="is declared by invariant = true in its design"):
        read_plan(file)
    file.write_text(known.replace('"own"', '"own"\ninvariant = true'), encoding="utf-8")
    run_pram(file, tmp_path / "out")
    assert (tmp_path / "out" / "open.csv").exists()


def test_policies_of_tables_for_missing_codes_are_refused_where_there_is_no_table(tmp_path: Path) -> None:
    line = 'missing = { codes = ["x"], on-code = "drop", category = "?", on_value = "zero" }'
    found = problems(tmp_path, PLAN.replace('unit = "person"', f'unit = "person"\n{line}'))
    assert found == [f"line 4: {key} is for tables, and the plan has none" for key in ("category", "on_code", "on_value")]
    checked(tmp_path, PLAN.replace('unit = "person"', 'unit = "person"\nmissing = { codes = ["x"], values = ["9"] }'))


def test_a_telling_column_that_is_not_released_is_no_reason_to_warn(tmp_path: Path) -> None:
    survey(tmp_path)
    rewritten(tmp_path, lambda _, row: row | {"label": row["region"].upper()})
    file = tmp_path / "plan.toml"
    for columns, told in (("", True), ('columns = ["sex", "age", "region"]', False)):
        file.write_text(PLAN.replace("[pram]", f"[pram]\n{columns}"), encoding="utf-8")
        assert ("'label'" in " ".join(run_pram(file).risk.warnings)) == told


# -------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("epsilon = 2", "epsilonn = 2", "line 12: k-ary: unknown parameter 'epsilonn' (did you mean 'epsilon'?)"),
        ('method = "k-ary", epsilon = 2', 'method = "k-arry"', "line 12: there is no design 'k-arry' (did you mean 'k-ary'?)"),
        ("epsilon = 2", 'epsilon = "two"', "line 12: k-ary: epsilon: takes number"),
        ('{ method = "k-ary", epsilon = 2 }', "2", "line 12: a design is written { method = '…', parameter = … }"),
        ('within = ["age"]', 'witihn = ["age"]', "line 13: pram: unknown parameter 'witihn' (did you mean 'within'?)"),
        ('columns = ["sex"]', 'columns = ["sx"]', "line 11: the records have no column 'sx' for a randomised variable"),
        ('within = ["age"]', 'within = ["agee"]', "line 13: the records have no column 'agee' for the strata"),
        ('release = "open.csv"', 'record = ["persn"]', "line 8: the records have no column 'persn' for what names a record"),
        ('columns = ["region"]', 'columns = ["sex"]', "line 16: column 'sex' is randomised twice"),
        ('within = ["age"]', 'within = ["region"]', "line 13: within: column 'region' is itself randomised"),
        ('within = ["age"]', 'together = "region"', "line 13: together: column 'region' is itself randomised"),
        ('secret_file = "secret.txt"', "", "line 1: PRAM draws with keys that are made from a secret, and no secret is named"),
        ('secret_file = "secret.txt"', 'record_key = "income"', "line 5: PRAM makes its keys from a secret, not from a column"),
        ('secret_file = "secret.txt"', 'secret_file = "x"', "line 5: there is no such file to hold the secret"),
        ('unit = "person"', "", "line 7: nothing names a record, from which its key is made"),
        ('release = "open.csv"', 'release = "open.txt"', "line 8: release: 'open.txt' cannot be the name of the released file"),
        (
            'release = "open.csv"',
            'release = "Survey.csv"',
            "line 8: release: 'Survey.csv' is the name of the confidential records",
        ),
        ('columns = ["sex"]', 'columns = ["person"]', "line 11: column 'person' is part of the records' id"),
        ('unit = "person"', 'count = "income"', "line 3: PRAM changes single records, and with count a row stands for several"),
        ('release = "open.csv"', 'release = "a/open.csv"', "line 8: release: 'a/open.csv' cannot be the name of the released"),
        ('release = "open.csv"', 'columns = ["sex", "sex"]', "line 8: columns: column 'sex' is named twice"),
        ('release = "open.csv"', '\nrecord = ["age", "age"]', "line 9: record: column 'age' is named twice"),
        ('release = "open.csv"', "counts-known = true", "line 8: counts_known is for public matrices that tell true counts"),
        ('columns = ["sex"]', "columns = []", "line 11: pram.columns: is empty"),
        ('within = ["age"]', 'within = ["age", "age"]', "line 13: pram.within: names a column twice"),
        ('columns = ["region"]', 'columns = [\n"region",\n"sex"]', "line 18: column 'sex' is randomised twice"),
        ('within = ["age"]', 'within = [\n"age",\n"region"]', "line 15: within: column 'region' is itself randomised"),
        ('columns = ["sex"]', 'columns = [\n"sex",\n"person"]', "line 13: column 'person' is part of the records' id"),
        ('release = "open.csv"', 'columns = ["sex", "region"]', "line 13: within: column 'age' is not among the released"),
        ('release = "open.csv"', 'columns = ["age", "region"]', "line 11: columns: column 'sex' is not among the released"),
        ('release = "open.csv"', "publik = true", "line 8: unknown parameter 'publik' (did you mean 'public'?)"),
        ('weight = "weight"', 'key_hash = "paper"', "line 4: the paper's hash is for tables"),
        ("[pram]", "[output]\n[pram]", "line 7: output is for tables, and the plan has none"),
        ("[pram]", "[hierarchies]\n[pram]", "line 7: hierarchies is for tables, and the plan has none"),
        ("[microdata]", "[pram2]\n[microdata]", "line 1: unknown section or key 'pram2' (did you mean 'pram'?)"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert PLAN.count(old) >= 1
    found = problems(tmp_path, PLAN.replace(old, new, 1))
    assert any(message in problem for problem in found), found


OWN = """
[pram.variables.design]
method = "own"
categories = ["north", "south", "west"]
rows = [
  [0.8, 0.1, 0.1],
  [0.1, 0.8, 0.1],
  [0.1, 0.1, 0.8],
]
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"own"', '"onw"', "line 19: there is no design 'onw' (did you mean 'own'?); see: discreet methods"),
        ("[0.1, 0.8, 0.1]", "[0.1, 0.8, 0.2]", "line 21: own.rows: row 'south' does not add up to 1"),
        ('"south", "west"', '"south"', "line 21: own.rows: are not 2 lists of 2 numbers, as there are categories"),
        ('"south", "west"', '"south", "north"', "line 20: own.categories: names the category 'north' twice"),
    ],
)
def test_a_fault_in_a_design_is_told_with_the_line_of_its_parameter(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = PLAN.replace('design = { method = "k-ary", epsilon = 1 }\n', OWN)
    checked(tmp_path, text)
    assert problems(tmp_path, text.replace(old, new, 1)) == [message]


def test_a_fault_of_the_whole_section_stands_at_its_heading_wherever_that_is(tmp_path: Path) -> None:
    head, section = PLAN.replace('unit = "person"\n', "").split("[pram]")
    (found,) = problems(tmp_path, head + section[section.index("[[") :] + '\n[pram]\nrelease = "open.csv"\n')
    assert found.startswith("line 15: nothing names a record")


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    broken = (
        PLAN.replace("epsilon = 2", "epsilonn = 2")
        .replace('within = ["age"]', 'within = ["agee"]')
        .replace('secret_file = "secret.txt"\n', "")
        .replace("epsilon = 1", "epsilon = -1")
    )
    found = problems(tmp_path, broken)
    told = [problem.partition(":")[0] for problem in found]
    assert told == ["line 1", "line 11", "line 11", "line 12", "line 16"], found


def test_a_section_that_randomises_nothing_is_refused(tmp_path: Path) -> None:
    head = PLAN[: PLAN.index("[[pram.variables]]")]
    (found,) = problems(tmp_path, head)
    assert found.startswith("line 7: parameter 'variables' is missing")
    assert "nothing is randomised" in problems(tmp_path, head + "variables = []\n")[0]


def test_records_have_to_be_named(tmp_path: Path) -> None:
    found = problems(tmp_path, PLAN[PLAN.index("[pram]") :])
    assert found == ["the plan has no section [microdata]: say where the records are"]


def test_the_population_needs_weights(tmp_path: Path) -> None:
    text = PLAN.replace('weight = "weight"\n', "") + 'counts = "population"\n'
    assert "line 17: the population is counted by weights" in problems(tmp_path, text)[0]


def test_a_release_and_a_table_of_one_name_are_refused(tmp_path: Path) -> None:
    text = PLAN + '\n[tables.open]\nspanning = ["age"]\nmethods = ["min-frequency"]\n'
    assert "is the name of a table's release file too" in problems(tmp_path, text)[0]


KEYS = ("release", "columns", "public", "counts_known", "record", "variables")
OF_VARIABLES = ("columns", "design", "within", "keep", "forbid", "counts", "missing", "together", "method", "start", "epsilon")
WORDS = ("sex", "age", "region", "k-ary", "mixture", "own", "target", "population", "open.csv", "")
GARBAGE = st.recursive(
    st.booleans() | st.integers(-2, 9) | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(OF_VARIABLES), inner, max_size=4),
    max_leaves=8,
)


def as_toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{key}" = {as_toml(item)}' for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(as_toml(item) for item in value) + "]"
    return str(value).lower() if isinstance(value, bool | int) else f'"{value}"'


@given(
    section=st.dictionaries(st.sampled_from(KEYS[:5]), GARBAGE, max_size=3),
    variable=st.dictionaries(st.sampled_from(OF_VARIABLES), GARBAGE, max_size=4) | GARBAGE,
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300, deadline=None)
def test_whatever_the_section_holds_it_is_read_or_refused(tmp_path: Path, section: dict, variable: object) -> None:
    head = PLAN[: PLAN.index("release")]
    lines = [f"{key} = {as_toml(value)}" for key, value in {**section, "variables": [variable]}.items()]
    if not (tmp_path / "survey.csv").exists():
        survey(tmp_path)
    (tmp_path / "plan.toml").write_text(head + "\n".join(lines), "utf-8")
    with contextlib.suppress(PlanError):
        read_plan(tmp_path / "plan.toml")


# -------------------------------------------------------------------- a run


def test_a_run_writes_the_release_and_its_document(tmp_path: Path) -> None:
    run = run_pram(plan_file(tmp_path), tmp_path / "out")
    assert len(run.file.variables) == len(run.risk.variables) == 2
    assert sorted(file.name for file in (tmp_path / "out").iterdir() if file.is_file()) == ["open.csv", "open.pram.json"]
    true, released = rows(tmp_path / "survey.csv"), rows(tmp_path / "out" / "open.csv")
    assert len(released) == len(true)
    assert "person" not in released[0]
    assert {row["sex"] for row in released} == set(SEXES)
    assert [row["age"] for row in sorted(released, key=lambda row: row["income"])] == [
        row["age"] for row in sorted(true, key=lambda row: row["income"])
    ]
    changed = sum(a["region"] != b["region"] for a, b in zip(true, released, strict=True))
    assert 0 < changed < len(true)
    document = json.loads((tmp_path / "out" / "open.pram.json").read_text("utf-8"))
    assert "matri" in json.dumps(document)


def test_a_run_is_repeatable_whatever_the_order_of_the_variables(tmp_path: Path) -> None:
    run_pram(plan_file(tmp_path), tmp_path / "one")
    head, first, second = PLAN.split("[[pram.variables]]")
    swapped = "[[pram.variables]]".join([head, second + "\n", first])
    run_pram(plan_file(tmp_path, swapped), tmp_path / "two")
    assert (tmp_path / "one" / "open.csv").read_bytes() == (tmp_path / "two" / "open.csv").read_bytes()


def test_matrices_that_are_not_public_stay_with_the_owner(tmp_path: Path) -> None:
    run_pram(plan_file(tmp_path, PLAN.replace("[pram]", "[pram]\npublic = false")), tmp_path / "out")
    public = (tmp_path / "out" / "open.pram.json").read_text("utf-8")
    folder = tmp_path / "out" / "confidential"
    (own,) = folder.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    keep = own.read_text("utf-8")
    assert len(keep) > len(public)
    run_pram(plan_file(tmp_path), tmp_path / "out")
    assert not own.exists(), "what an earlier run left would pass for this one's"


def test_neither_secret_nor_key_is_in_what_is_written(tmp_path: Path) -> None:
    run = run_pram(plan_file(tmp_path), tmp_path / "out")
    keys = {str(int(key)) for key in run.file.key} | {f"{int(key):x}" for key in run.file.key}
    for file in (tmp_path / "out").rglob("*"):
        text = file.read_bytes().decode("utf-8", "replace") if file.is_file() else ""
        assert SECRET not in text
        assert "p0007" not in text
        assert not any(key in text for key in keys)
    assert SECRET not in repr(run)
    assert str(tmp_path) not in (tmp_path / "out" / "open.pram.json").read_text("utf-8")


def test_a_run_that_breaks_leaves_the_folder_as_it_was(tmp_path: Path) -> None:
    path = plan_file(tmp_path)
    (tmp_path / "secret.txt").write_text("short", "utf-8")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "open.csv").write_text("an earlier release", "utf-8")
    with pytest.raises(InputError, match="holds fewer than 16 characters"):
        run_pram(path, tmp_path / "out")
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["open.csv"]
    assert (tmp_path / "out" / "open.csv").read_text("utf-8") == "an earlier release"


def test_the_release_replaces_no_input(tmp_path: Path) -> None:
    path = plan_file(tmp_path, PLAN.replace('"secret.txt"', '"open.csv"'))
    (tmp_path / "open.csv").write_text(SECRET, "utf-8")
    with pytest.raises(InputError, match="is input of the plan"):
        run_pram(path, tmp_path)
    assert (tmp_path / "open.csv").read_text("utf-8") == SECRET


def test_a_folder_that_cannot_be_written_is_refused_before_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("x", "utf-8")
    with pytest.raises(InputError, match="is a file, not a folder"):
        run_pram(plan_file(tmp_path), tmp_path / "file")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "confidential").write_text("x", "utf-8")
    with pytest.raises(InputError, match="confidential: is a file where the output needs a folder"):
        run_pram(plan_file(tmp_path), tmp_path / "out")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(InputError, match="cannot be written"):
        run_pram(plan_file(tmp_path), tmp_path / "closed" / "out")
    assert not (tmp_path / "closed").exists()


def test_each_command_is_told_where_its_section_is_run(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="has no table") as error:
        run_plan(plan_file(tmp_path), tmp_path / "out")
    assert "discreet pram" in error.value.fix
    text = PLAN[: PLAN.index("[pram]")] + '[tables.t]\nspanning = ["age"]\nmethods = ["min-frequency"]\n'
    with pytest.raises(PlanError, match=r"has no section \[pram\]") as error:
        run_pram(plan_file(tmp_path, text), tmp_path / "out")
    assert "discreet run" in error.value.fix
    assert not (tmp_path / "out").exists()


def test_a_plan_may_have_tables_and_pram(tmp_path: Path) -> None:
    path = plan_file(tmp_path, PLAN + '\n[tables.ages]\nspanning = ["age"]\nmethods = ["min-frequency"]\n')
    assert [one.name for one in run_plan(path, tmp_path / "out").tables] == ["ages"]
    run_pram(path, tmp_path / "out")
    files = sorted(file.name for file in (tmp_path / "out").iterdir() if file.is_file())
    assert files == ["ages.csv", "open.csv", "open.pram.json"]
