"""Every kind of bad or odd input ends as docs/bad_input.md says: exit code and message, no traceback, no value.

The table in the docs is the expectation; the cases here make the input.  Each case changes a sound plan in one way.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import pytest

from discreet.cli import main

DOCS = Path(__file__).resolve().parents[2] / "docs" / "bad_input.md"
ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| (\d) \| `(.+)` \|$")
SECRET = "731904"  # a response value of the sound input that no message may show

CASES: dict[str, Callable[["Given"], None]] = {}


def case(kind: str) -> Callable[[Callable[["Given"], None]], Callable[["Given"], None]]:
    def register(change: Callable[["Given"], None]) -> Callable[["Given"], None]:
        CASES[kind] = change
        return change

    return register


def sound_records() -> list[dict[str, str]]:
    """Three regions by three branches, six units a cell but in two cells of few units."""
    rows = []
    number = 0
    for r, region in enumerate(("N", "S", "W")):
        for b, branch in enumerate(("A", "B", "C")):
            units = 2 if (region, branch) in (("N", "A"), ("W", "C")) else 6
            for k in range(units):
                number += 1
                turnover = SECRET if number == 1 else str(100 + 37 * k + 11 * r + 5 * b)
                rows.append(
                    {
                        "unit": f"u{number:03}",
                        "group": f"g{number // 2:03}",
                        "region": region,
                        "branch": branch,
                        "turnover": turnover,
                        "weight": "1.5",
                    }
                )
    return rows


@dataclass
class Given:
    """The input of one case: records, the plan's parts, and further files."""

    folder: Path
    records: list[dict[str, str]] = field(default_factory=sound_records)
    delimiter: str = ","
    encoding: str = "utf-8"
    microdata: str = 'path = "records.csv"\nunit = "unit"'
    hierarchies: str = ""
    table: str = 'spanning = ["region", "branch"]\nresponse = "turnover"'
    methods: str = '[{ method = "min-frequency", n = 3 }, { method = "p-percent", p = 10 }, { method = "gauss-suppression" }]'
    more: str = ""
    prefix: str = ""
    plan: bytes | None = None
    files: dict[str, bytes] = field(default_factory=dict)

    def column(self, name: str, value: Callable[[int, str], str] | str) -> None:
        for i, row in enumerate(self.records):
            row[name] = value if isinstance(value, str) else value(i, row.get(name, ""))

    def write(self) -> Path:
        if self.records:
            lines = [self.delimiter.join(self.records[0])]
            lines += [self.delimiter.join(row.values()) for row in self.records]
            (self.folder / "records.csv").write_bytes((self.prefix + "\n".join(lines) + "\n").encode(self.encoding))
        for name, content in self.files.items():
            (self.folder / name).write_bytes(content)
        microdata = f"[microdata]\n{self.microdata}\n" if self.microdata else ""
        text = f"{microdata}{self.hierarchies}\n[tables.small]\n{self.table}\nmethods = {self.methods}\n{self.more}\n"
        (self.folder / "plan.toml").write_bytes(text.encode() if self.plan is None else self.plan)
        return self.folder / "plan.toml"


# -------------------------------------------------------------------- files


@case("no plan file")
def _(given: Given) -> None:
    given.write()
    (given.folder / "plan.toml").rename(given.folder / "plant.toml")
    given.write = lambda: given.folder / "plan.toml"  # type: ignore[method-assign]


@case("plan that is no TOML")
def _(given: Given) -> None:
    given.plan = b'[microdata]\npath = "records.csv\n'


@case("plan that is not UTF-8")
def _(given: Given) -> None:
    given.plan = b'[microdata]\npath = "\xe9.csv"\n'


@case("no file of records")
def _(given: Given) -> None:
    given.microdata = 'path = "record.csv"'


@case("empty file")
def _(given: Given) -> None:
    given.records = []
    given.files["records.csv"] = b""


@case("header without records")
def _(given: Given) -> None:
    given.records = []
    given.files["records.csv"] = b"unit,region,branch,turnover\n"


@case("file that does not decode")
def _(given: Given) -> None:
    given.column("region", "Sø")
    given.encoding = "cp1252"
    given.microdata += '\nencoding = "utf-8"'


@case("wrong delimiter")
def _(given: Given) -> None:
    given.microdata += '\ndelimiter = ";"'


@case("lines of different length")
def _(given: Given) -> None:
    given.records[4]["weight"] = "1,5"


@case("first line blank")
def _(given: Given) -> None:
    given.prefix = "\n"


@case("delimiter of two characters")
def _(given: Given) -> None:
    given.microdata += '\ndelimiter = ";;"'


@case("columns that differ in case only")
def _(given: Given) -> None:
    given.column("Region", "N")


@case("file that is no text")
def _(given: Given) -> None:
    given.encoding = "utf-16-le"


@case("lines that end in several ways")
def _(given: Given) -> None:
    given.prefix = "unit,group,region,branch,turnover,weight\r\nu0,g0,N,A,1,1\r\n"


@case("fixed-width column from position 0")
def _(given: Given) -> None:
    given.microdata += "\ncolumns = [['unit', 0, 4], ['region', 5, 1], ['branch', 6, 1], ['turnover', 7, 6]]"


@case("output folder that is a file")
def _(given: Given) -> None:
    given.files["out"] = b""


@case("output that would replace the input")
def _(given: Given) -> None:
    given.folder.joinpath("out").mkdir()
    give(given, TABLE)
    given.files["out/small.parquet"] = given.files.pop("table.csv")
    given.table = given.table.replace("table.csv", "out/small.parquet")


# -------------------------------------------------------------------- the plan


@case("plan without table")
def _(given: Given) -> None:
    given.plan = b'[microdata]\npath = "records.csv"\n'


@case("unknown section")
def _(given: Given) -> None:
    given.more = "[hierarchy.region]\n"


@case("unknown key")
def _(given: Given) -> None:
    given.microdata += '\nunits = "unit"'


@case("misspelled method")
def _(given: Given) -> None:
    given.methods = '[{ method = "p-percnt", p = 10 }]'


@case("unknown parameter")
def _(given: Given) -> None:
    given.methods = '[{ method = "p-percent", P = 10 }]'


@case("parameter of the wrong type")
def _(given: Given) -> None:
    given.methods = '[{ method = "p-percent", p = "ten" }]'


@case("parameter outside its limits")
def _(given: Given) -> None:
    given.methods = '[{ method = "p-percent", p = 0 }]'


@case("entry of the wrong kind")
def _(given: Given) -> None:
    given.table = 'spanning = ["region", 2]\nresponse = "turnover"'


@case("several problems at once")
def _(given: Given) -> None:
    given.table = 'spanning = ["region"]\nrespons = "turnover"'
    given.methods = '[{ method = "min-frequency" }, { method = "gauss" }]'


@case("unknown hierarchy")
def _(given: Given) -> None:
    given.hierarchies = "[hierarchies]\nbranches = { tree = { AB = ['A', 'B'], C = [] } }"
    given.table = 'spanning = ["region", { variable = "branch", hierarchy = "branchs" }]\nresponse = "turnover"'


@case("no methods")
def _(given: Given) -> None:
    given.plan = b'[microdata]\npath = "records.csv"\n[tables.small]\nspanning = ["region"]\n'


@case("unknown word about the intruder")
def _(given: Given) -> None:
    given.more = "intruder = { priors = 50 }"


# -------------------------------------------------------------------- columns


@case("missing response column")
def _(given: Given) -> None:
    given.table = 'spanning = ["region"]\nresponse = "turnver"'


@case("missing spanning column")
def _(given: Given) -> None:
    given.table = 'spanning = ["regio"]\nresponse = "turnover"'


@case("missing role column")
def _(given: Given) -> None:
    given.microdata += '\nholding = "groups"'


@case("one column for two roles")
def _(given: Given) -> None:
    given.microdata += '\nholding = "unit"'


@case("unit in two holdings")
def _(given: Given) -> None:
    given.microdata += '\nholding = "group"'
    given.records[9]["unit"] = given.records[3]["unit"]


@case("text in the response")
def _(given: Given) -> None:
    given.records[5]["turnover"] = "n.a."


@case("commas that may mark thousands")
def _(given: Given) -> None:
    given.delimiter = ";"
    given.column("turnover", lambda i, _: f"{1 + i},500")


@case("points that mark thousands")
def _(given: Given) -> None:
    given.delimiter = ";"
    given.column("turnover", lambda i, _: "1.500" if i == 3 else f"{1 + i},50")


@case("missing response value")
def _(given: Given) -> None:
    given.records[5]["turnover"] = ""


@case("NaN in the response")
def _(given: Given) -> None:
    given.microdata = 'path = "records.parquet"'
    turnover = "CASE WHEN i = 3 THEN 'NaN'::DOUBLE ELSE i END AS turnover"
    rows = f"SELECT 'N' AS region, 'A' AS branch, {turnover} FROM range(9) AS records(i)"
    duckdb.sql(f"COPY ({rows}) TO '{given.folder / 'records.parquet'}' (FORMAT parquet)")


@case("NaN as text")
def _(given: Given) -> None:
    given.records[5]["turnover"] = "NaN"


@case("missing code")
def _(given: Given) -> None:
    given.records[5]["region"] = ""


@case("negative weight")
def _(given: Given) -> None:
    given.microdata += '\nweight = "weight"'
    given.records[5]["weight"] = "-1.5"


@case("missing weight")
def _(given: Given) -> None:
    given.microdata += '\nweight = "weight"'
    given.records[5]["weight"] = ""


@case("word that is no request code")
def _(given: Given) -> None:
    given.microdata += '\nrequest = "asked"'
    given.column("asked", lambda i, _: "no" if i == 4 else "0")


@case("values of 30 digits")
def _(given: Given) -> None:
    given.column("turnover", lambda i, _: f"{i + 1}e29")


@case("filter that nothing passes")
def _(given: Given) -> None:
    given.table += '\nwhere = { region = ["X"] }'


@case("filter on a missing column")
def _(given: Given) -> None:
    given.table += '\nwhere = { regions = ["N"] }'


# -------------------------------------------------------------------- hierarchies


@case("no hierarchy file")
def _(given: Given) -> None:
    given.hierarchies = '[hierarchies]\nbranch = { file = "branch.hrc" }'


@case("unknown code in the data")
def _(given: Given) -> None:
    given.hierarchies = '[hierarchies]\nbranch = { file = "branch.hrc" }'
    given.files["branch.hrc"] = b"AB\n@A\n@B\nD\n"


@case("code twice in the tree")
def _(given: Given) -> None:
    given.hierarchies = '[hierarchies]\nbranch = { file = "branch.hrc" }'
    given.files["branch.hrc"] = b"AB\n@A\n@B\nC\n@A\n"


@case("tree that goes round")
def _(given: Given) -> None:
    given.hierarchies = '[hierarchies]\nbranch = { file = "branch.csv" }'
    given.files["branch.csv"] = b"parent,child\nA,B\nB,C\nC,A\n"


@case("tree that leaves out a level")
def _(given: Given) -> None:
    given.hierarchies = '[hierarchies]\nbranch = { file = "branch.hrc", lead = "@" }'
    given.files["branch.hrc"] = b"AB\n@@A\n@@B\nC\n"


@case("uneven tree declared even")
def _(given: Given) -> None:
    given.hierarchies = '[hierarchies]\nbranch = { file = "branch.hrc", even = true }'
    given.files["branch.hrc"] = b"AB\n@A\n@B\nC\n"


@case("code equal to the total")
def _(given: Given) -> None:
    given.records[0]["region"] = "Total"


@case("hierarchy from two sources")
def _(given: Given) -> None:
    given.hierarchies = "[hierarchies]\nbranch = { columns = ['branch'], prefix_lengths = [1] }"


@case("grouping that is no list")
def _(given: Given) -> None:
    given.hierarchies = "[hierarchies]\nbranch = { tree = { AB = ['A', 'B'], C = [] }, groupings = [{ G = 'AC' }] }"


# -------------------------------------------------------------------- given tables

TABLE = b"region,value,n,max1,status\nTotal,100,12,30,\nN,60,6,30,\nS,40,6,20,\n"


def give(given: Given, table: bytes, more: str = "", methods: str = '[{ method = "min-frequency", n = 3 }]') -> None:
    given.microdata = ""
    given.files["table.csv"] = table
    given.table = f'spanning = ["region"]\ngiven = {{ path = "table.csv", n = "n"{more} }}'
    given.methods = methods


@case("given table that does not add up")
def _(given: Given) -> None:
    give(given, TABLE.replace(b"60", b"61"))


@case("given table with a line twice")
def _(given: Given) -> None:
    give(given, TABLE + b"S,40,6,20,\n")


@case("given table with an unknown status")
def _(given: Given) -> None:
    give(given, TABLE.replace(b"30,\n", b"30,Q\n"), ', status = "status"')


@case("given table with numbers for statuses")
def _(given: Given) -> None:
    give(given, TABLE, ', status = "max1"')


@case("given table whose total nobody declares")
def _(given: Given) -> None:
    give(given, TABLE.replace(b"Total", b"_T"))


@case("given table with thousands marks")
def _(given: Given) -> None:
    give(given, b'region,value,n\nTotal,"3,500",12\nN,"1,200",6\nS,"2,300",6\n')


@case("given table without what a rule needs")
def _(given: Given) -> None:
    give(given, TABLE, methods='[{ method = "p-percent", p = 10 }]')


@case("given table without number of contributors")
def _(given: Given) -> None:
    give(given, TABLE)
    given.table = given.table.replace(', n = "n"', "")


# -------------------------------------------------------------------- protection


@case("no suppression method")
def _(given: Given) -> None:
    given.methods = '[{ method = "min-frequency", n = 3 }]'


@case("forced cells leave no way")
def _(given: Given) -> None:
    cells = ('region = "N", branch = "B"', 'region = "N", branch = "C"', 'region = "N"')
    forced = ", ".join(f'{{ codes = {{ {codes} }}, status = "protected" }}' for codes in cells)
    rest = '{ method = "min-frequency", n = 3 }, { method = "gauss-suppression" }'
    given.methods = f'[{{ method = "a-priori", entries = [{forced}] }}, {rest}]'


@case("cell forced and sensitive")
def _(given: Given) -> None:
    entries = '[{ codes = { region = "N", branch = "A" }, status = "protected" }]'
    given.methods = given.methods.replace("[{", f'[{{ method = "a-priori", entries = {entries} }}, {{', 1)


def keyed(given: Given, method: str, microdata: str = 'secret_file = "secret.txt"', *, counts: bool = False) -> None:
    given.files["secret.txt"] = b"a secret of the house, 4711\n"
    given.microdata += f"\n{microdata}"
    given.methods = f"[{method}]"
    if counts:
        given.table = 'spanning = ["region", "branch"]'


@case("secret file that is not there")
def _(given: Given) -> None:
    keyed(given, '"tcm"', 'secret_file = "secretly.txt"')
    given.files.clear()


@case("secret in the plan")
def _(given: Given) -> None:
    keyed(given, '"tcm"', f'secret = "{SECRET}{SECRET}{SECRET}"')


@case("secret too short")
def _(given: Given) -> None:
    keyed(given, '"tcm"')
    given.files["secret.txt"] = b"short"


@case("environment without the secret")
def _(given: Given) -> None:
    keyed(given, '"tcm"', 'secret_environment = "NO_SUCH_VARIABLE_HERE"')


@case("record keys from two sources")
def _(given: Given) -> None:
    given.column("key", lambda i, _: str(i))
    keyed(given, '"tcm"', 'secret_file = "secret.txt"\nrecord_key = "key"')


@case("unit without id beside a secret")
def _(given: Given) -> None:
    given.records[3]["unit"] = ""
    keyed(given, '"tcm"')


@case("noise without keys")
def _(given: Given) -> None:
    keyed(given, '"tcm"', "")


@case("noise on every unit without keys")
def _(given: Given) -> None:
    keyed(given, '"ezs"', "")


@case("noise of sums on counts")
def _(given: Given) -> None:
    keyed(given, '"lpm"', counts=True)


@case("noise of counts on sums")
def _(given: Given) -> None:
    keyed(given, '{ method = "cell-key", largest = 3, variance = 2 }')


@case("two methods that change numbers")
def _(given: Given) -> None:
    keyed(given, '"tcm", "round-conventional"')


@case("no p-table file")
def _(given: Given) -> None:
    keyed(given, '{ method = "cell-key", ptable = "p.csv" }', counts=True)


@case("file that is no p-table")
def _(given: Given) -> None:
    keyed(given, '{ method = "cell-key", ptable = "p.csv" }', counts=True)
    given.files["p.csv"] = b"a;b\n1;2\n"


@case("rounding that tells a sensitive cell")
def _(given: Given) -> None:
    given.methods = '[{ method = "min-frequency", n = 3, range = 50 }, { method = "round-conventional", base = 2 }]'


@case("exception that signs nothing")
def _(given: Given) -> None:
    given.more = 'exceptions = [{ codes = { region = "S" }, reason = "asked", signed_by = "me" }]'


@case("exception without a name")
def _(given: Given) -> None:
    given.more = 'exceptions = [{ codes = { region = "S" }, reason = "asked" }]'


@case("tables that differ in method")
def _(given: Given) -> None:
    given.more = '[tables.other]\nspanning = ["region"]\nresponse = "turnover"\nmethods = [{ method = "min-frequency", n = 3 }]'


@case("unlisted cell that is not there")
def _(given: Given) -> None:
    given.more = 'unlisted = [{ region = "X" }]'


@case("more decimals than there are")
def _(given: Given) -> None:
    given.more = "published_decimals = 2"


# -------------------------------------------------------------------- odd, and all right


@case("column of row names without a name")
def _(given: Given) -> None:
    given.records = [{"": str(i), **row} for i, row in enumerate(given.records)]


@case("byte order mark beside a declared encoding")
def _(given: Given) -> None:
    given.microdata += '\nencoding = "utf-8"'
    given.encoding = "utf-8-sig"


@case("one record")
def _(given: Given) -> None:
    given.records = given.records[:1]


@case("one code")
def _(given: Given) -> None:
    given.column("region", "N")


@case("all values negative")
def _(given: Given) -> None:
    given.column("turnover", lambda _, value: f"-{value}")


@case("all values zero")
def _(given: Given) -> None:
    given.column("turnover", "0")


@case("values of 1e13")
def _(given: Given) -> None:
    given.column("turnover", lambda i, _: f"{10**13 + 7 * i}")


@case("values of 1e-9")
def _(given: Given) -> None:
    given.column("turnover", lambda i, _: f"0.00000000{1 + i % 9}")


@case("codes with accents, quotes and commas")
def _(given: Given) -> None:
    given.column("region", lambda _, code: '"{}"'.format({"N": "Åland, n", "S": ' ""Süd""', "W": "00=1+1"}[code]))


@case("five spanning variables")
def _(given: Given) -> None:
    for k in range(3):
        given.column(f"d{k}", lambda i, _, k=k: f"{k}{(i >> k) % 2}")
    given.table = 'spanning = ["region", "branch", "d0", "d1", "d2"]\nresponse = "turnover"'


@case("nothing sensitive")
def _(given: Given) -> None:
    given.methods = '[{ method = "min-frequency", n = 1 }, { method = "gauss-suppression" }]'


# -------------------------------------------------------------------- the test


def documented() -> dict[str, tuple[int, str]]:
    of_tables, _, _ = DOCS.read_text("utf-8").partition("\n## ")
    rows = (ROW.match(line) for line in of_tables.splitlines())
    return {row[1]: (int(row[3]), row[4]) for row in rows if row}


def run(kind: str, folder: Path) -> int:
    given = Given(folder)
    CASES[kind](given)
    return main(["run", str(given.write()), "--out", str(folder / "out")])


@pytest.mark.parametrize("kind", CASES)
def test_bad_input_ends_as_documented(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, message = documented()[kind]
    found = run(kind, tmp_path)
    told = capsys.readouterr()
    text = told.out if found == 0 else told.err
    assert found == code, told.err + told.out
    assert message in " ".join(text.split())
    assert "Traceback" not in told.err
    assert SECRET not in told.err + told.out
    released = tmp_path / "out" / "small.csv"
    assert released.is_file() == (code == 0)


def test_the_docs_list_exactly_these_kinds() -> None:
    assert list(documented()) == list(CASES)
    assert len(CASES) >= 25
