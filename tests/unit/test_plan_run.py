"""From a plan file to release files: what is written, what is refused, what is removed."""

import csv
import random
from pathlib import Path

import numpy as np
import pytest

from discreet.errors import HierarchyError, InputError, NotProtectedError, PlanError
from discreet.io.staging import gathered
from discreet.plan.run import run_plan

METHODS = '[{ method = "min-frequency", n = 3 }, { method = "p-percent", p = 10 }, { method = "gauss-suppression" }]'
REGIONS, BRANCHES = ("N1", "N2", "S1", "S2"), ("A", "B", "C")


def rows() -> list[str]:
    lines, number = [], 0
    for r, region in enumerate(REGIONS):
        for b, branch in enumerate(BRANCHES):
            for k in range(2 if (r, b) in ((0, 0), (2, 1)) else 6):
                number += 1
                lines.append(f"u{number},{region[0]},{region},{branch},{100 + 17 * k + 5 * r + 3 * b}.5,{k + 1}")
    return lines


def plan(folder: Path, tables: str, *, more: str = "", lines: list[str] | None = None, name: str = "plan.toml") -> Path:
    folder.mkdir(exist_ok=True)
    header = "unit,land,region,branch,turnover,employees"
    (folder / "records.csv").write_text("\n".join([header, *(lines or rows())]) + "\n", "utf-8")
    (folder / name).write_text(f'[microdata]\npath = "records.csv"\nunit = "unit"\n{more}\n{tables}\n', "utf-8")
    return folder / name


def table(name: str, spanning: str, response: str = "turnover", methods: str = METHODS, more: str = "") -> str:
    return f'[tables.{name}]\nspanning = {spanning}\nresponse = "{response}"\nmethods = {methods}\n{more}\n'


def released(file: Path) -> dict[tuple[str, ...], tuple[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        _, *body = csv.reader(lines)
    return {tuple(line[:-2]): (line[-2], line[-1]) for line in body}


def test_a_plan_is_run_and_its_release_written(tmp_path: Path) -> None:
    run = run_plan(plan(tmp_path, table("small", '["region", "branch"]')), tmp_path / "out")
    (one,) = run.tables
    assert one.published is not None
    assert one.audit.safe
    assert not run.refused
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == ["small.csv"]
    cells = released(tmp_path / "out" / "small.csv")
    assert len(cells) == 5 * 4
    assert cells["N1", "A"] == ("", "suppressed")
    assert cells["N2", "C"][1] == "published"
    hidden = {codes for codes, (value, status) in cells.items() if status == "suppressed"}
    assert len(hidden) >= 4
    assert all(cells[codes][0] == "" for codes in hidden)
    assert "microdata" in run.plan
    assert run.versions["discreet"]


def test_as_many_contributions_are_kept_as_the_rules_need(tmp_path: Path) -> None:
    methods = '[{ method = "p-percent", p = 10, coalition = 5 }, { method = "dominance", n = 7, k = 99 }, "gauss-suppression"]'
    (one,) = run_plan(plan(tmp_path, table("small", '["region", "branch"]', methods=methods)), tmp_path / "out").tables
    assert one.table.contributions.ranks == 7
    assert one.audit.safe


def test_the_order_of_records_is_irrelevant(tmp_path: Path) -> None:
    lines = rows()
    run_plan(plan(tmp_path / "a", table("small", '["region", "branch"]'), lines=lines), tmp_path / "a" / "out")
    random.Random(5).shuffle(lines)
    run_plan(plan(tmp_path / "b", table("small", '["region", "branch"]'), lines=lines), tmp_path / "b" / "out")
    assert (tmp_path / "a/out/small.csv").read_bytes() == (tmp_path / "b/out/small.csv").read_bytes()


def test_tables_of_one_response_share_one_pattern(tmp_path: Path) -> None:
    """S07: each table safe by itself is not enough; a number hidden in one table is hidden in all."""
    tables = table("wide", '["region", "branch"]') + table("long", '["branch"]') + table("staff", '["branch"]', "employees")
    run = run_plan(plan(tmp_path, tables), tmp_path / "out")
    assert [one.name for one in run.tables] == ["wide + long", "staff"]
    wide, long = (released(tmp_path / "out" / f"{name}.csv") for name in ("wide", "long"))
    for branch in (*BRANCHES, "Total"):
        assert wide["Total", branch] == long[branch,]
    shared = run.tables[0].table
    assert shared.cells == 20


def test_a_refused_table_leaves_no_file_and_does_not_stop_the_others(tmp_path: Path) -> None:
    rules = '[{ method = "min-frequency", n = 3 }]'
    tables = table("small", '["region", "branch"]', methods=rules) + table("staff", '["branch"]', "employees")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "small.csv").write_text("an earlier release", "utf-8")
    (tmp_path / "out" / "small.parquet").write_text("an earlier release", "utf-8")
    (tmp_path / "out" / "notes.txt").write_text("not ours", "utf-8")
    run = run_plan(plan(tmp_path, tables), tmp_path / "out")
    assert [one.name for one in run.refused] == ["small"]
    assert "can be recomputed exactly" in run.refused[0].refusal
    assert not run.refused[0].audit.safe
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == ["notes.txt", "staff.csv"]


def test_signed_exceptions_are_published_and_not_repaired(tmp_path: Path) -> None:
    rules = '[{ method = "min-frequency", n = 3 }]'
    signed = ", ".join(
        f'{{ codes = {{ region = "{region}", branch = "{branch}" }}, reason = "agreed", signed_by = "Ann" }}'
        for region, branch in (("N1", "A"), ("S1", "B"))
    )
    more = f"exceptions = [{signed}]\nintruder = {{ unions = false }}"
    run = run_plan(plan(tmp_path, table("small", '["region", "branch"]', methods=rules, more=more)))
    assert run.tables[0].published is not None
    assert [exception.signed_by for exception in run.tables[0].published.exceptions] == ["Ann", "Ann"]
    assert not run.tables[0].table.secondary.any()


@pytest.mark.parametrize(
    "tree",
    [
        'columns = ["land", "region"]',
        "prefix_lengths = [1]",
        'tree = { N = ["N1", "N2"], S = ["S1", "S2"] }',
        'file = "region.hrc"',
        'file = "region.csv", parent = "above", child = "below"',
    ],
)
def test_every_kind_of_hierarchy_gives_the_same_table(tmp_path: Path, tree: str) -> None:
    (tmp_path / "region.hrc").write_text("N\n@N1\n@N2\nS\n@S1\n@S2\n", "utf-8")
    (tmp_path / "region.csv").write_text("above,below\n,N\n,S\nN,N1\nN,N2\nS,S1\nS,S2\n", "utf-8")
    more = f'[hierarchies]\nregion = {{ {tree}, total = "Country" }}'
    run_plan(plan(tmp_path, table("small", '["region"]'), more=more), tmp_path / "out")
    codes = [codes for (codes,) in released(tmp_path / "out" / "small.csv")]
    assert codes == ["Country", "N", "N1", "N2", "S", "S1", "S2"]
    coarse = table("small", '[{ variable = "region", level = 1 }]')
    run_plan(plan(tmp_path, coarse, more=more), tmp_path / "out")
    assert [codes for (codes,) in released(tmp_path / "out" / "small.csv")] == ["Country", "N", "S"]


def test_a_flat_variable_has_a_total_of_its_own(tmp_path: Path) -> None:
    lines = [line.replace(",A,", ",Total,") for line in rows()]
    with pytest.raises(HierarchyError, match="total = "):
        run_plan(plan(tmp_path, table("small", '["branch"]'), lines=lines))
    run_plan(plan(tmp_path, table("small", '[{ variable = "branch", total = "All" }]'), lines=lines), tmp_path / "out")
    assert [code for (code,) in released(tmp_path / "out" / "small.csv")] == ["All", "B", "C", "Total"]


def test_labels_level_and_groupings_of_a_hierarchy(tmp_path: Path) -> None:
    (tmp_path / "region.cdl").write_text("N1,North one\n", "utf-8")
    tree = 'tree = { N = ["N1", "N2"], S = ["S1", "S2"] }, groupings = [{ ones = ["N1", "S1"] }], labels = "region.cdl"'
    run = run_plan(plan(tmp_path, table("small", '["region"]'), more=f"[hierarchies]\nregion = {{ {tree} }}"))
    hierarchy = run.tables[0].table.layouts[0].hierarchies[0]
    assert hierarchy.labels["N1"] == "North one"
    assert "ones" in hierarchy.codes
    cells = run.tables[0].table
    assert cells.value[cells.cell(region="ones")] == cells.value[cells.cell(region="N1")] + cells.value[cells.cell(region="S1")]


def test_a_total_left_out_and_a_total_in_the_heading(tmp_path: Path) -> None:
    """S30: a total that is not listed protects; the same total in a heading gives the hidden cell away."""
    lines = [line for line in rows() if ",N1," in line]
    methods = '[{ method = "min-frequency", n = 3 }, { method = "gauss-suppression" }]'
    known = {}
    for name, more in {
        "listed": "",
        "left out": "unlisted = [{}]",
        "in the heading": "unlisted = [{}]\nheader_totals = [{}]",
    }.items():
        more += "\nintruder = { insiders = 'none', unions = false }"
        path = plan(tmp_path, table("small", '["branch"]', methods=methods, more=more), lines=lines)
        (one,) = run_plan(path, tmp_path / "out").tables
        assert one.audit.safe
        known[name] = int(one.table.secondary.sum())
        assert (("Total",) in released(tmp_path / "out" / "small.csv")) == (name == "listed")
    assert known == {"listed": 1, "left out": 0, "in the heading": 1}


def test_percentages_are_part_of_what_the_intruder_knows(tmp_path: Path) -> None:
    """Two hidden cells protect each other, unless their percentages stand beside them."""
    rules = '[{ method = "min-frequency", n = 21 }]'
    intruder = "\nintruder = { unions = false }\n"
    refused = {}
    for name, more in {"none": "", "fine": "percentages = { of = 'branch', decimals = 9, hidden = true }"}.items():
        run = run_plan(plan(tmp_path, table("small", '["branch"]', methods=rules, more=more + intruder)))
        assert run.tables[0].table.primary.sum() == 2
        refused[name] = bool(run.refused)
    assert refused == {"none": False, "fine": True}


def test_a_given_table_is_protected_too(tmp_path: Path) -> None:
    (tmp_path / "given.csv").write_text(
        "branch,turnover,n,max1,max2\nTotal,1000,30,700,90\nA,710,4,700,4\nB,190,16,90,30\nC,100,10,30,20\n", "utf-8"
    )
    text = (
        '[tables.given]\nspanning = ["branch"]\nresponse = "turnover"\n'
        'given = { path = "given.csv", value = "turnover", n = "n", top = ["max1", "max2"] }\n'
        'methods = [{ method = "p-percent", p = 10 }, { method = "gauss-suppression" }]\n'
    )
    (tmp_path / "plan.toml").write_text(text, "utf-8")
    run = run_plan(tmp_path / "plan.toml", tmp_path / "out")
    assert run.tables[0].published is not None
    cells = released(tmp_path / "out" / "given.csv")
    assert cells["A",] == ("", "suppressed")
    assert [status for _, status in cells.values()].count("suppressed") >= 2
    assert cells["B",][0] in ("", "190")


def test_the_same_numbers_as_the_records(tmp_path: Path) -> None:
    methods = '[{ method = "min-frequency", n = 1 }]'
    run_plan(plan(tmp_path, table("small", '["branch"]', methods=methods)), tmp_path / "out")
    sums = dict.fromkeys(BRANCHES, 0.0)
    for line in rows():
        sums[line.split(",")[3]] += float(line.split(",")[4])
    cells = released(tmp_path / "out" / "small.csv")
    assert {branch: cells[branch,][0] for branch in BRANCHES} == {branch: f"{total:.1f}" for branch, total in sums.items()}


def test_problems_with_the_data_are_told_together(tmp_path: Path) -> None:
    tables = table("b", '["branch"]', "branch") + table("c", '["branch"]', "region")
    with pytest.raises(PlanError) as error:
        run_plan(plan(tmp_path, tables), tmp_path / "out")
    assert len(error.value.details) == 2
    for word in ("'branch'", "'region'"):
        assert f"column {word}: " in str(error.value)
    assert not (tmp_path / "out").exists()


def test_one_problem_with_the_data_stays_what_it_is(tmp_path: Path) -> None:
    more = '[hierarchies]\nregion = { tree = { N = ["N1", "N2"] } }'
    with pytest.raises(HierarchyError, match="S1"):
        run_plan(plan(tmp_path, table("small", '["region"]'), more=more), tmp_path / "out")


def test_nothing_half_written_remains(tmp_path: Path) -> None:
    def broken() -> None:
        with gathered(tmp_path / "out") as folder:
            assert folder.parent == tmp_path
            (folder / "release.csv").write_text("half", "utf-8")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        broken()
    assert list(tmp_path.iterdir()) == []
    with gathered(tmp_path / "deep" / "out") as folder:
        (folder / "release.csv").write_text("whole", "utf-8")
    assert (tmp_path / "deep" / "out" / "release.csv").read_text("utf-8") == "whole"
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["out"]
    with pytest.raises(InputError, match="is a file"), gathered(tmp_path / "deep" / "out" / "release.csv"):
        pass


def test_a_table_without_a_way_out_is_refused_with_the_reason(tmp_path: Path) -> None:
    forced = '{ codes = { branch = "*" }, status = "protected" }'
    lines = [line for line in rows() if ",N1," in line]
    safe = '{ codes = { branch = "A" }, status = "unsafe" }'
    entries = f"[{forced.replace('*', 'B')}, {forced.replace('*', 'C')}, {forced.replace('*', 'Total')}, {safe}]"
    methods = f'[{{ method = "a-priori", entries = {entries} }}, "gauss-suppression"]'
    run = run_plan(plan(tmp_path, table("small", '["branch"]', methods=methods), lines=lines), tmp_path / "out")
    (refused,) = run.refused
    assert "branch=A" in refused.refusal
    assert "branch=B" in refused.refusal
    assert np.flatnonzero(refused.table.secondary).size == 0
    assert list((tmp_path / "out").iterdir()) == []
    assert NotProtectedError.__name__ not in refused.refusal
