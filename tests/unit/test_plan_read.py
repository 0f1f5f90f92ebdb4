"""Plans: what is accepted becomes checked objects; everything else is told at once, with its line."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.errors import PlanError
from discreet.model.intruder import Intruder
from discreet.plan.read import Plan, read_plan
from discreet.tables.rules import MinimumFrequency, PPercent
from discreet.tables.suppress import GaussSuppression

WORDS = (
    *("microdata", "hierarchies", "tables", "intruder", "methods", "output"),
    *("t", "path", "spanning", "response", "given", "where", "exceptions", "percentages", "codes", "method", "p", "n"),
    *("file", "tree", "columns", "level", "variable", "hierarchy", "missing", "unlisted", "total"),
)

SOUND = """
[microdata]
path = "records.csv"
unit = "unit"
missing = { on_code = "drop" }

[hierarchies]
nace = { file = "nace.hrc", lead = "@", level = 2 }
region = { columns = ["region1", "region2"] }

[intruder]
prior = 50

[output]
formats = ["csv", "parquet"]

[tables.turnover]
spanning = ["nace", { variable = "region", level = 1 }, "size"]
response = "turnover"
where = { legal = ["a", "b"] }
methods = [
  { method = "min-frequency", n = 4 },
  { method = "p-percent", p = 15 },
  "gauss-suppression",
]

[tables.counts]
spanning = ["size"]
methods = [{ method = "min-frequency" }]
intruder = { nonempty = true }
"""


def plan_of(folder: Path, text: str) -> Plan:
    (folder / "records.csv").write_text("unit,nace,region1,region2,size,legal,turnover\n", "utf-8")
    (folder / "nace.hrc").write_text("A\n", "utf-8")
    (folder / "plan.toml").write_text(text, "utf-8")
    return read_plan(folder / "plan.toml")


def problems(folder: Path, text: str) -> list[str]:
    with pytest.raises(PlanError) as error:
        plan_of(folder, text)
    assert all(problem in str(error.value) for problem in error.value.details)
    return error.value.details


def test_a_sound_plan_becomes_checked_objects(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, SOUND)
    assert plan.microdata is not None
    assert plan.microdata.unit == "unit"
    assert plan.missing.on_code == "drop"
    assert plan.hierarchies["nace"].lead == "@"
    assert plan.hierarchies["region"].columns == ("region1", "region2")
    turnover, counts = plan.tables
    assert [entry.variable for entry in turnover.spanning] == ["nace", "region", "size"]
    assert turnover.spanning[1].level == 1
    assert turnover.methods == (MinimumFrequency(n=4), PPercent(p=15), GaussSuppression())
    assert turnover.intruder == Intruder(prior=50)
    assert counts.intruder == Intruder(nonempty=True)
    assert counts.section.response is None
    assert plan.output.formats == ("csv", "parquet")
    assert plan.text == SOUND
    assert plan.file("nace.hrc") == tmp_path / "nace.hrc"


def test_all_problems_are_told_with_their_lines(tmp_path: Path) -> None:
    broken = (
        SOUND.replace('unit = "unit"', 'units = "unit"')
        .replace('"nace.hrc"', '"nacé.hrc"')
        .replace("p = 15", 'p = "15"')
        .replace('"gauss-suppression"', '"gauss-supression"')
        .replace("prior = 50", "prior = -1")
        .replace('response = "turnover"', 'responce = "turnover"')
        .replace('spanning = ["size"]', 'spanning = ["sise"]')
        .replace('columns = ["region1", "region2"]', 'columns = ["region1", "regoin2"]')
        .replace("where = { legal", "where = { leagl")
    )
    lines = broken.splitlines()
    found = problems(tmp_path, broken)
    told = {int(problem.split(":")[0].removeprefix("line ")): problem for problem in found}
    assert len(found) == len(told) == 9
    for word in ("units", "nacé", '"15"', "supression", "prior", "responce", "sise", "regoin2", "leagl"):
        (number,) = [i for i, line in enumerate(lines, 1) if word in line]
        assert number in told, f"{word} on line {number} is not told: {found}"
    text = "\n".join(found)
    for hint in ("'unit'", "'nace.hrc'", "'gauss-suppression'", "'response'", "'size'", "'region2'", "'legal'"):
        assert f"did you mean {hint}?" in text


def test_methods_at_the_top_hold_for_tables_without(tmp_path: Path) -> None:
    text = SOUND.replace("[microdata]", 'methods = ["p-percent"]\n[microdata]', 1)
    text = text.replace('methods = [{ method = "min-frequency" }]\n', "")
    assert plan_of(tmp_path, text).tables[1].methods == (PPercent(),)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('spanning = ["size"]', "spanning = []", "spanning names no variable"),
        ('spanning = ["size"]', 'spanning = "size"', "spanning: takes list"),
        ('spanning = ["size"]', 'spanning = ["size", "size"]', "'size' is given twice"),
        ('spanning = ["size"]', 'spanning = [{ variable = "size", level = 1 }]', "level needs a hierarchy"),
        ('spanning = ["size"]', 'spanning = [{ variabel = "size" }]', "did you mean 'variable'?"),
        ('"drop"', '"omit"', "'omit' is not one of error, drop, category"),
        ('where = { legal = ["a", "b"] }', "where = { legal = [1, 2] }", "where lists codes as text"),
        ("[tables.counts]", '[tables."../counts"]', "cannot be a file name"),
        ('formats = ["csv", "parquet"]', 'formats = ["xls"]', "'xls' is not one of csv, parquet"),
        ('formats = ["csv", "parquet"]', 'delimiter = "."', "'.' cannot stand between columns"),
        ("intruder = { nonempty = true }", 'intruder = "nobody"', "table of settings"),
        ('methods = [{ method = "min-frequency" }]', "methods = [3]", "a method is written"),
        ('methods = [{ method = "min-frequency" }]', "methods = []\nempty = 'none'", "'none' is not one of structural"),
        ("level = 2 }", 'level = 2, parent = "p" }\nmore = { tree = {}, child = "c" }', "child is for a hierarchy from a file"),
        ("intruder = { nonempty = true }", "percentages = { of = 3 }", "of: takes text"),
        ("intruder = { nonempty = true }", 'given = { path = "nace.hrc" }\ncost = "c"', "cost is for tables counted"),
        ("region = { columns", "regoin = { columns", "no table uses the hierarchy 'regoin' (did you mean 'region'?)"),
        (
            'variable = "region", level = 1',
            'variable = "region", total = "All"',
            "the total of 'region' is said in its hierarchy",
        ),
        ("[hierarchies]", "[hierarchies]\nsize = 3", "hierarchies is a table of named entries"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in SOUND
    found = problems(tmp_path, SOUND.replace(old, new))
    assert any(message in problem for problem in found), found


def test_a_given_table_takes_what_a_given_table_has(tmp_path: Path) -> None:
    text = '[microdata]\npath = "records.csv"\n[hierarchies]\nnace = { prefix_lengths = [1] }\n[tables.t]\nmethods = []\n'
    text += 'spanning = ["nace", { variable = "size", total = "All" }]\ngiven = { path = "nace.hrc", n = "n" }\n'
    told = "\n".join(problems(tmp_path, text))
    for message in (
        "needs the hierarchy of 'nace' as a file",
        "given = { total = '…' }",
        "no table is counted from [microdata]",
    ):
        assert message in told


GARBAGE = st.recursive(
    st.one_of(st.integers(-2, 3), st.booleans(), st.sampled_from(["nace", "p-percent", "", "records.csv", "*"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4),
    max_leaves=12,
)


def written(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{key}" = {written(item)}' for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(written(item) for item in value) + "]"
    return str(value).lower() if isinstance(value, bool | int) else f'"{value}"'


@given(plan=st.dictionaries(st.sampled_from(WORDS[:6]), GARBAGE, max_size=6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300, deadline=None)
def test_whatever_a_plan_holds_it_is_read_or_refused(tmp_path: Path, plan: dict) -> None:
    (tmp_path / "plan.toml").write_text("\n".join(f"{key} = {written(value)}" for key, value in plan.items()), "utf-8")
    with contextlib.suppress(PlanError):
        read_plan(tmp_path / "plan.toml")


def test_a_byte_order_mark_and_crlf_are_no_trouble(tmp_path: Path) -> None:
    plan_of(tmp_path, SOUND)
    (tmp_path / "plan.toml").write_bytes(b"\xef\xbb\xbf" + SOUND.replace("\n", "\r\n").encode())
    assert len(read_plan(tmp_path / "plan.toml").tables) == 2


def test_tables_of_one_response_are_protected_together(tmp_path: Path) -> None:
    more = SOUND.replace('where = { legal = ["a", "b"] }\n', "")
    methods = more[more.index("methods = [\n") : more.index("[tables.counts]")]
    more += f'\n[tables.by_size]\nspanning = ["size"]\nresponse = "turnover"\n{methods}\n'
    groups = plan_of(tmp_path, more).together()
    assert [[table.name for table in group] for group in groups] == [["turnover", "by_size"], ["counts"]]
    (overlap,) = problems(tmp_path, more + "where = { legal = 'a' }\n")
    assert "subtract one from the other" in overlap
    other = more.replace('response = "turnover"', "response = \"turnover\"\nwhere = { legal = ['b', 'c'] }", 1)
    assert len(plan_of(tmp_path, other + "where = { legal = 'a' }\n").together()) == 3
    (problem,) = problems(tmp_path, more.replace("n = 4", "n = 3", 1))
    assert "protected together" in problem
    assert "the same methods" in problem
