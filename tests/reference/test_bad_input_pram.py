"""Every kind of bad or odd input to ``discreet pram`` and ``discreet estimate`` ends as docs/bad_input.md says.

The tables in the docs are the expectation; the cases here make the input.  Each changes something sound in one way.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from discreet.cli import main

DOCS = Path(__file__).resolve().parents[2] / "docs" / "bad_input.md"
ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| (\d) \| `(.+)` \|$")
SECRET = "s3cr3t-of-the-office-731904"
INCOME = "7319.04"  # the income of the first person, which no message may show

PLAN = """[microdata]
path = "persons.csv"
unit = "person"
secret_file = "secret.txt"

[pram]
release = "open.csv"

[[pram.variables]]
columns = ["sex"]
design = { method = "k-ary", epsilon = 2 }
within = ["age"]
"""


def persons() -> list[dict[str, str]]:
    return [
        {
            "person": f"p{i:03}",
            "house": f"h{i // 2:03}",
            "sex": "fm"[i * 7 % 11 % 2],
            "age": ("young", "old")[i % 5 % 2],
            "income": INCOME if i == 0 else str(1000 + 37 * i),
        }
        for i in range(120)
    ]


@dataclass
class Owner:
    """What an owner has: records and a plan."""

    folder: Path
    records: list[dict[str, str]] = field(default_factory=persons)
    plan: str = PLAN

    def change(self, old: str, new: str) -> None:
        assert old in self.plan
        self.plan = self.plan.replace(old, new, 1)

    def design(self, text: str) -> None:
        self.change('{ method = "k-ary", epsilon = 2 }', text)

    def run(self) -> int:
        lines = [",".join(self.records[0]), *(",".join(row.values()) for row in self.records)]
        (self.folder / "persons.csv").write_text("\n".join(lines) + "\n", "utf-8")
        (self.folder / "secret.txt").write_text(SECRET, "utf-8")
        (self.folder / "plan.toml").write_text(self.plan, "utf-8")
        return main(["pram", str(self.folder / "plan.toml"), "--out", str(self.folder / "out")])


@dataclass
class Analyst:
    """What an analyst has: a released file, its document, and a question."""

    folder: Path
    plan: str = PLAN
    asked: list[str] = field(default_factory=lambda: ["--by", "sex"])
    edit: Callable[[dict[str, Any]], None] = lambda document: None
    edit_text: Callable[[str], str] = lambda text: text
    edit_records: Callable[[str], str] = lambda text: text
    document: str = "open.pram.json"

    def run(self, owner: Owner) -> int:
        owner.plan = self.plan
        assert owner.run() == 0
        out = self.folder / "out"
        document = json.loads((out / "open.pram.json").read_text("utf-8"))
        self.edit(document)
        (out / "open.pram.json").write_text(self.edit_text(json.dumps(document)), "utf-8")
        (out / "open.csv").write_text(self.edit_records((out / "open.csv").read_text("utf-8")), "utf-8")
        table = self.folder / "table.csv"
        return main(["estimate", str(out / self.document), *self.asked, "--csv", str(table)])


OWNER: dict[str, Callable[[Owner], None]] = {}
ANALYST: dict[str, Callable[[Analyst], None]] = {}


def owner(kind: str) -> Callable[[Callable[[Owner], None]], Callable[[Owner], None]]:
    def register(change: Callable[[Owner], None]) -> Callable[[Owner], None]:
        OWNER[kind] = change
        return change

    return register


def analyst(kind: str) -> Callable[[Callable[[Analyst], None]], Callable[[Analyst], None]]:
    def register(change: Callable[[Analyst], None]) -> Callable[[Analyst], None]:
        ANALYST[kind] = change
        return change

    return register


# -------------------------------------------------------------------- the owner


@owner("plan without the section")
def _(given: Owner) -> None:
    tables = '[tables.t]\nspanning = ["age"]\nmethods = ["min-frequency"]\n'
    given.plan = given.plan[: given.plan.index("[pram]")] + tables


@owner("nothing randomised")
def _(given: Owner) -> None:
    given.plan = given.plan[: given.plan.index("[[pram.variables]]")]


@owner("unknown key in the section")
def _(given: Owner) -> None:
    given.change('release = "open.csv"', 'relase = "open.csv"')


@owner("unknown key of a variable")
def _(given: Owner) -> None:
    given.change("within", "witihn")


@owner("unknown design")
def _(given: Owner) -> None:
    given.design('{ method = "k-arry" }')


@owner("unknown design parameter")
def _(given: Owner) -> None:
    given.design('{ method = "k-ary", epsilonn = 2 }')


@owner("design parameter outside its limits")
def _(given: Owner) -> None:
    given.design('{ method = "type-1", keep = 1.5 }')


@owner("several problems at once in the section")
def _(given: Owner) -> None:
    given.design('{ method = "k-arry" }')
    given.change('unit = "person"', 'unit = "persn"')


@owner("no secret")
def _(given: Owner) -> None:
    given.change('secret_file = "secret.txt"\n', "")


@owner("keys from a column")
def _(given: Owner) -> None:
    given.change('secret_file = "secret.txt"', 'record_key = "income"')


@owner("nothing that names a record")
def _(given: Owner) -> None:
    given.change('unit = "person"\n', "")


@owner("records that share an id")
def _(given: Owner) -> None:
    given.records[7]["person"] = given.records[8]["person"]


@owner("record without id")
def _(given: Owner) -> None:
    given.records[7]["person"] = ""


@owner("missing column to randomise")
def _(given: Owner) -> None:
    given.change('columns = ["sex"]', 'columns = ["sx"]')


@owner("column randomised twice")
def _(given: Owner) -> None:
    given.plan += '\n[[pram.variables]]\ncolumns = ["sex"]\ndesign = { method = "k-ary", epsilon = 1 }\n'


@owner("strata that are randomised")
def _(given: Owner) -> None:
    given.plan += '\n[[pram.variables]]\ncolumns = ["age"]\ndesign = { method = "k-ary", epsilon = 1 }\n'


@owner("release without the strata")
def _(given: Owner) -> None:
    given.change('release = "open.csv"', 'columns = ["sex", "income"]')


@owner("public invariant matrix")
def _(given: Owner) -> None:
    given.design('"invariant-cyclic"')


@owner("population without weights")
def _(given: Owner) -> None:
    given.plan += 'counts = "population"\n'


@owner("release that is neither csv nor parquet")
def _(given: Owner) -> None:
    given.change("open.csv", "open.xlsx")


@owner("release in the place of the records")
def _(given: Owner) -> None:
    given.change("open.csv", "persons.csv")


@owner("output folder of the release that is a file")
def _(given: Owner) -> None:
    (given.folder / "out").write_text("", "utf-8")


@owner("matrix whose rows do not add up to 1")
def _(given: Owner) -> None:
    given.design('{ method = "own", rows = { f = { f = 0.8, m = 0.1 }, m = { m = 1.0 } } }')


@owner("category without a row in an own matrix")
def _(given: Owner) -> None:
    given.design('{ method = "own", rows = { f = { f = 0.8, m = 0.2 }, m = { f = 0.2, m = 0.8 } } }')
    given.records[3]["sex"] = "x"


@owner("singular matrix")
def _(given: Owner) -> None:
    given.design('{ method = "type-1", keep = 0.5 }')


@owner("target that cannot be met")
def _(given: Owner) -> None:
    given.design('{ method = "target", most = 0.2, least = 0.7 }')
    given.change("[pram]", "[pram]\npublic = false")


@owner("household drawn together whose members differ")
def _(given: Owner) -> None:
    given.plan += 'together = "house"\n'


@owner("category that does not occur")
def _(given: Owner) -> None:
    given.plan += 'keep = ["x"]\n'


@owner("empty codes")
def _(given: Owner) -> None:
    given.records[5]["sex"] = ""


@owner("stratum of one category")
def _(given: Owner) -> None:
    for row in given.records:
        row["sex"] = "f" if row["age"] == "old" else row["sex"]


# -------------------------------------------------------------------- the analyst


@analyst("no document")
def _(given: Analyst) -> None:
    given.document = "opne.pram.json"


@analyst("document that is no JSON")
def _(given: Analyst) -> None:
    given.edit_text = lambda text: text[:-5]


@analyst("JSON of another kind")
def _(given: Analyst) -> None:
    given.edit_text = lambda text: '{"type": "FeatureCollection"}'


@analyst("records in the place of the document")
def _(given: Analyst) -> None:
    given.document = "open.csv"


@analyst("document of another file")
def _(given: Analyst) -> None:
    given.edit = lambda document: document.update(records=121)


@analyst("records that were changed after the release")
def _(given: Analyst) -> None:
    given.edit_records = lambda text: text.replace("f,", "m,", 1)


@analyst("category that the document does not know")
def _(given: Analyst) -> None:
    given.edit_records = lambda text: text.replace("f,", "x,", 1)


@analyst("stratum without a matrix")
def _(given: Analyst) -> None:
    given.edit = lambda document: document["variables"][0]["matrices"].pop()


@analyst("matrix in the document whose rows do not add up to 1")
def _(given: Analyst) -> None:
    given.edit = lambda document: document["variables"][0]["matrices"][0].update(rows=[[0.9, 0.2], [0.1, 0.9]])


@analyst("singular matrix in the document")
def _(given: Analyst) -> None:
    given.edit = lambda document: document["variables"][0]["matrices"][0].update(rows=[[0.5, 0.5], [0.5, 0.5]])


@analyst("matrices that are not public")
def _(given: Analyst) -> None:
    given.plan = PLAN.replace("[pram]", "[pram]\npublic = false")


@analyst("unknown column in the table")
def _(given: Analyst) -> None:
    given.asked = ["--by", "sexx"]


@analyst("column twice in the table")
def _(given: Analyst) -> None:
    given.asked = ["--by", "sex,sex"]


@analyst("no column for the table")
def _(given: Analyst) -> None:
    given.asked = []


@analyst("unknown column of weights")
def _(given: Analyst) -> None:
    given.asked += ["--weight", "wieght"]


@analyst("total of a randomised column")
def _(given: Analyst) -> None:
    given.asked = ["--total", "sex"]


@analyst("randomised column as the clusters")
def _(given: Analyst) -> None:
    given.asked += ["--cluster", "sex"]


@analyst("missing values for counts")
def _(given: Analyst) -> None:
    given.asked += ["--on-value", "drop"]


@analyst("mean of text")
def _(given: Analyst) -> None:
    given.asked = ["--mean", "age", "--by", "sex"]


@analyst("level in per cent")
def _(given: Analyst) -> None:
    given.asked += ["--level", "95"]


# -------------------------------------------------------------------- the tests


def documented(heading: str) -> dict[str, tuple[int, str]]:
    _, _, section = DOCS.read_text("utf-8").partition(f"\n## {heading}\n")
    rows = (ROW.match(line) for line in section.partition("\n## ")[0].splitlines())
    return {row[1]: (int(row[3]), row[4]) for row in rows if row}


def ends_as_documented(found: int, expected: tuple[int, str], told: tuple[str, str]) -> None:
    code, message = expected
    out, err = told
    assert found == code, err + out
    assert message in " ".join((out if code == 0 else err).split())
    assert "Traceback" not in err
    for secret in (SECRET, INCOME):
        assert secret not in out + err


@pytest.mark.parametrize("kind", OWNER)
def test_bad_input_of_the_owner(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = Owner(tmp_path)
    OWNER[kind](given)
    found = given.run()
    expected = documented("discreet pram")[kind]
    ends_as_documented(found, expected, capsys.readouterr())
    files = {file.relative_to(tmp_path).as_posix() for file in tmp_path.rglob("*") if file.is_file()}
    assert (
        {"out/open.csv", "out/open.pram.json"} <= files
        if found == 0
        else files <= {"persons.csv", "secret.txt", "plan.toml", "out"}
    )


@pytest.mark.parametrize("kind", ANALYST)
def test_bad_input_of_the_analyst(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = Analyst(tmp_path)
    ANALYST[kind](given)
    found = given.run(Owner(tmp_path))
    ends_as_documented(found, documented("discreet estimate")[kind], capsys.readouterr())
    assert (tmp_path / "table.csv").exists() == (found == 0)


def test_the_docs_list_exactly_these_kinds() -> None:
    assert list(documented("discreet pram")) == list(OWNER)
    assert list(documented("discreet estimate")) == list(ANALYST)
