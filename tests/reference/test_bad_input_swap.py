"""Every kind of bad or odd input to ``discreet swap`` ends as docs/bad_input.md says.

The table in the docs is the expectation; the cases here make the input.  Each changes something sound in one way.
"""

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from discreet.cli import main

DOCS = Path(__file__).resolve().parents[2] / "docs" / "bad_input.md"
ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| (\d) \| `(.+)` \|$")
SECRET = "s3cr3t-of-the-office-731904"
INCOME = "7319"  # the income of the first person, which no message may show

PLAN = """[microdata]
path = "persons.csv"
unit = "person"
secret_file = "secret.txt"

[swap]
release = "open.csv"
renumber = ["house"]

[[swap.step]]
"""
MARGIN = """method = "margin-swap"
variables = ["sex", "age", "town", "job"]
margins = [["sex", "age"], ["age", "town"], ["job"]]
keys = ["sex", "age", "town", "job"]
"""
TARGETED = """method = "targeted-swap"
household = "house"
geography = ["region", "town"]
risk = ["sex", "job"]
k = 2
rate = 0.1
"""
RANK = 'method = "rank-swap"\ncolumns = ["income"]\np = 10\n'
RANDOM = 'method = "random-swap"\ncolumns = ["town"]\nrate = 0.2\n'


def persons() -> list[dict[str, str]]:
    return [
        {
            "person": f"p{i:03}",
            "house": f"h{i // 2:03}",
            "region": "ns"[i // 2 * 7 % 11 % 4 // 2],
            "town": f"t{i // 2 * 7 % 11 % 4}",
            "sex": "fm"[i * 7 % 11 % 2],
            "age": ("young", "old")[i % 5 % 2],
            "job": ("none", "farm", "mill")[0 if i % 17 else 1 + i % 2],
            "income": INCOME if i == 0 else str(1000 + 37 * i),
        }
        for i in range(120)
    ]


@dataclass
class Owner:
    """What an owner has: records and a plan."""

    folder: Path
    patch: pytest.MonkeyPatch
    records: list[dict[str, str]] = field(default_factory=persons)
    plan: str = PLAN + MARGIN
    options: list[str] = field(default_factory=list)

    def change(self, old: str, new: str) -> None:
        assert old in self.plan
        self.plan = self.plan.replace(old, new, 1)

    def run(self) -> int:
        lines = [",".join(self.records[0]), *(",".join(row.values()) for row in self.records)]
        (self.folder / "persons.csv").write_text("\n".join(lines) + "\n", "utf-8")
        (self.folder / "secret.txt").write_text(SECRET, "utf-8")
        (self.folder / "plan.toml").write_text(self.plan, "utf-8")
        return main(["swap", str(self.folder / "plan.toml"), "--out", str(self.folder / "out"), *self.options])


CASES: dict[str, Callable[[Owner], None]] = {}


def case(kind: str) -> Callable[[Callable[[Owner], None]], Callable[[Owner], None]]:
    def register(change: Callable[[Owner], None]) -> Callable[[Owner], None]:
        CASES[kind] = change
        return change

    return register


# -------------------------------------------------------------------- the section


@case("plan without the section")
def _(given: Owner) -> None:
    tables = '[tables.t]\nspanning = ["age"]\nmethods = ["min-frequency"]\n'
    given.plan = given.plan[: given.plan.index("[swap]")] + tables


@case("nothing swapped")
def _(given: Owner) -> None:
    given.plan = given.plan[: given.plan.index("[[swap.step]]")]


@case("unknown key in the section")
def _(given: Owner) -> None:
    given.change('release = "open.csv"', 'relase = "open.csv"')


@case("step without a method")
def _(given: Owner) -> None:
    given.change('method = "margin-swap"\n', "")


@case("unknown method of swapping")
def _(given: Owner) -> None:
    given.change("margin-swap", "margin-swp")


@case("method for tables in a step")
def _(given: Owner) -> None:
    given.change("margin-swap", "p-percent")


@case("unknown parameter of a step")
def _(given: Owner) -> None:
    given.change("keys =", "key =")


@case("parameter of a step outside its limits")
def _(given: Owner) -> None:
    given.plan += "at_most = 0\n"


@case("several problems at once in the section")
def _(given: Owner) -> None:
    given.change("margin-swap", "margin-swp")
    given.change('unit = "person"', 'unit = "persn"')


@case("both [pram] and [swap]")
def _(given: Owner) -> None:
    given.plan += '\n[pram]\n[[pram.variables]]\ncolumns = ["sex"]\ndesign = { method = "k-ary", epsilon = 2 }\n'


@case("no secret")
def _(given: Owner) -> None:
    given.change('secret_file = "secret.txt"\n', "")


@case("keys from a column")
def _(given: Owner) -> None:
    given.change('secret_file = "secret.txt"', 'record_key = "income"')


@case("nothing that names a record")
def _(given: Owner) -> None:
    given.change('unit = "person"\n', "")


@case("records that share an id")
def _(given: Owner) -> None:
    given.records[7]["person"] = given.records[8]["person"]


@case("record without id")
def _(given: Owner) -> None:
    given.records[7]["person"] = ""


@case("rows that stand for several records")
def _(given: Owner) -> None:
    given.change('unit = "person"', 'unit = "person"\ncount = "income"')


# -------------------------------------------------------------------- the release


@case("release that is neither csv nor parquet")
def _(given: Owner) -> None:
    given.change("open.csv", "open.xlsx")


@case("release in the place of the records")
def _(given: Owner) -> None:
    given.change("open.csv", "persons.csv")


@case("output folder of the release that is a file")
def _(given: Owner) -> None:
    (given.folder / "out").write_text("", "utf-8")


@case("unknown column of the release")
def _(given: Owner) -> None:
    given.change('release = "open.csv"', 'columns = ["house", "sex", "twn"]')


@case("release of columns that did not move")
def _(given: Owner) -> None:
    given.change('release = "open.csv"', 'columns = ["house", "region", "income"]')


@case("renumbered column that is not released")
def _(given: Owner) -> None:
    given.change('release = "open.csv"', 'columns = ["sex", "job"]')


@case("record without a household to renumber")
def _(given: Owner) -> None:
    given.records[7]["house"] = ""


@case("folder together with --foresee")
def _(given: Owner) -> None:
    given.options = ["--foresee"]


# -------------------------------------------------------------------- margins


@case("misspelled variable")
def _(given: Owner) -> None:
    given.change('"town", "job"]\nmargins', '"twn", "job"]\nmargins')


@case("margin of another column")
def _(given: Owner) -> None:
    given.change('["job"]]', '["income"]]')


@case("key that is no variable")
def _(given: Owner) -> None:
    given.change('keys = ["sex"', 'keys = ["income"')


@case("neither keys nor a rate")
def _(given: Owner) -> None:
    given.change('keys = ["sex", "age", "town", "job"]\n', "")


@case("edit with a code that does not occur")
def _(given: Owner) -> None:
    given.plan += 'forbid = [{ age = "young", job = "judge" }]\n'


@case("variable that is part of the records' id")
def _(given: Owner) -> None:
    given.change('release = "open.csv"', 'record = ["person", "sex"]')


@case("package for matching that is not installed")
def _(given: Owner) -> None:
    given.patch.setitem(sys.modules, "rustworkx", None)


@case("margins that allow no swap")
def _(given: Owner) -> None:
    given.change('[["sex", "age"], ["age", "town"], ["job"]]', '[["sex", "age", "town", "job"]]')


# -------------------------------------------------------------------- households, ranks, chance


@case("household that is released with its number")
def _(given: Owner) -> None:
    given.plan = PLAN.replace('renumber = ["house"]\n', "") + TARGETED


@case("unknown column of the geography")
def _(given: Owner) -> None:
    given.plan = PLAN + TARGETED.replace('"town"]', '"twn"]')


@case("household in two places")
def _(given: Owner) -> None:
    given.plan = PLAN + TARGETED
    given.records[7]["region"] = "sn"["sn".index(given.records[7]["region"]) - 1]


@case("person without a household")
def _(given: Owner) -> None:
    given.plan = PLAN.replace('renumber = ["house"]\n', 'columns = ["region", "town", "sex"]\n') + TARGETED
    given.records[7]["house"] = ""


@case("column that undoes the swap")
def _(given: Owner) -> None:
    given.plan = PLAN + TARGETED.replace('"region", "town"', '"region"')


@case("k that forces more than the rate")
def _(given: Owner) -> None:
    given.plan = PLAN + TARGETED.replace("k = 2", "k = 200")


@case("ranks of text")
def _(given: Owner) -> None:
    given.plan = PLAN + RANK.replace("income", "job")


@case("p below one rank")
def _(given: Owner) -> None:
    given.plan = PLAN + RANK.replace("p = 10", "p = 0.1")


@case("empty numbers")
def _(given: Owner) -> None:
    given.plan = PLAN + RANK
    given.records[7]["income"] = ""


@case("strata that are swapped")
def _(given: Owner) -> None:
    given.plan = PLAN + RANDOM + 'within = ["town"]\n'


@case("rate below one pair")
def _(given: Owner) -> None:
    given.plan = PLAN + RANDOM.replace("0.2", "0.001")


# -------------------------------------------------------------------- the tests


def documented() -> dict[str, tuple[int, str]]:
    _, _, section = DOCS.read_text("utf-8").partition("\n## discreet swap\n")
    rows = (ROW.match(line) for line in section.partition("\n## ")[0].splitlines())
    return {row[1]: (int(row[3]), row[4]) for row in rows if row}


@pytest.mark.parametrize("kind", CASES)
def test_bad_input_ends_as_documented(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = Owner(tmp_path, monkeypatch)
    CASES[kind](given)
    found = given.run()
    out, err = capsys.readouterr()
    code, message = documented()[kind]
    assert found == code, err + out
    assert message in " ".join((out if code == 0 else err).split())
    assert "Traceback" not in err
    for secret in (SECRET, INCOME, "p007", "h003"):
        assert secret not in out + err
    files = {file.relative_to(tmp_path).as_posix() for file in tmp_path.rglob("*") if file.is_file()}
    ours = {"persons.csv", "secret.txt", "plan.toml", "out"}
    assert {"out/open.csv", "out/confidential/open.swaps.csv"} <= files if found == 0 else files <= ours


def test_the_docs_list_exactly_these_kinds() -> None:
    assert list(documented()) == list(CASES)
