"""The benchmarks measure what they say, and the table that other tools get is our table."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.model.hierarchy import Hierarchy
from discreet.testing import small_table

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def module(monkeypatch):
    """Imports a module of the benchmarks, which are not installed."""
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module


@pytest.fixture
def table():
    """Single-child chains, decimals and three sensitive cells."""
    activity = Hierarchy.from_parents([("A", "A1"), ("A", "A2"), ("B", "B1"), ("C", "C1"), ("C", "C2"), ("C", "C3")])
    region = Hierarchy.from_parents([("X", "X1"), ("X", "X2"), ("Y", "Y1"), ("Y", "Y2"), ("Z", "Z1")])
    chance = np.random.default_rng(3)
    inner = np.round(np.exp(chance.normal(4, 1, (6, 5))), 2)
    counts = np.full((6, 5), 8.0)
    counts[0, 0], counts[2, 3], counts[5, 4] = 1, 2, 2
    made = small_table(inner, variables=["nace", "region"], hierarchies=[activity, region], n=counts, decimals=2)
    return dc.MinimumFrequency(n=3, range=10).apply(made)


def test_text_tables_put_numbers_to_the_right(module):
    lines = module("benchmarks.measure").text_table(("part", "CPU s"), [("a", "1.25"), ("long name", "10.50")]).splitlines()
    assert lines == ["part       CPU s", "---------  -----", "a           1.25", "long name  10.50"]


def test_versions_name_what_ran(module):
    found = module("benchmarks.measure").versions(["discreet", "no-such-package-here"])
    assert found["discreet"] == dc.__version__
    assert found["no-such-package-here"] == "not installed"
    assert int(found["processors"]) >= 1


def test_a_stage_times_this_process_and_its_children(module, tmp_path):
    stage = module("benchmarks.registry").Stage(tmp_path)
    with stage.timed("here") as facts:
        facts["sum"] = sum(range(3_000_000))
    with stage.timed("in a child", against="here"):
        subprocess.run([sys.executable, "-c", "sum(range(3_000_000))"], check=True)
    here, child = stage.readings
    assert here.facts == {"sum": 4_499_998_500_000}
    assert here.cpu > 0.005
    assert child.cpu > 0.005
    assert child.against == "here"
    assert here.peak > 10


def test_two_subjects_cannot_share_a_name(module, monkeypatch):
    registry = module("benchmarks.registry")
    monkeypatch.setattr(registry, "SUBJECTS", {})
    registry.subject("one", "first")(lambda stage: None)
    with pytest.raises(ValueError, match="'one'"):
        registry.subject("one", "second")(lambda stage: None)


def test_the_first_subjects_are_listed(module, capsys):
    assert module("benchmarks.run").main(["--list"]) == 0
    listed = capsys.readouterr().out
    for name in ("tabulate-1M", "demo-gauss", "demo-exact", "demo-audit", "lpm-10M", "cell-key-10M", "cell-key-R"):
        assert name in listed


def test_an_unknown_subject_is_refused(module, capsys):
    with pytest.raises(SystemExit) as stopped:
        module("benchmarks.run").main(["demo-gaus"])
    assert stopped.value.code == 2
    assert "demo-gauss" in capsys.readouterr().err


def test_rows_show_the_ratio_and_a_failure(module):
    bare = {"part": "bare", "against": "", "cpu": 0.5, "wall": 0.4, "peak": 90.0, "facts": {}}
    ours = {"part": "ours", "against": "bare", "cpu": 2.0, "wall": 1.0, "peak": 120.0, "facts": {"cells": 5709}}
    rows = module("benchmarks.run")._rows({"subject": "s", "readings": [bare, ours], "error": "ValueError: no"})
    assert rows[0] == ("s", "bare", "0.50", "0.40", "90", "", "")
    assert rows[1] == ("s", "ours", "2.00", "1.00", "120", "4.0×", "cells 5,709")
    assert rows[2][1] == "failed"
    assert rows[2][-1] == "ValueError: no"


@pytest.mark.parametrize(
    ("depth", "activity", "regions"),
    [
        (2, ("section", "division"), ("region1", "region2")),
        (4, ("section", "division", "branch", "nace"), ("region1", "region2", "region3")),
    ],
)
def test_the_bare_group_by_counts_the_cells_that_tabulate_makes(module, tmp_path, depth, activity, regions):
    subject = module("benchmarks.subjects.tabulate")
    path = module("benchmarks.registry").Stage(tmp_path).register(3_000)
    microdata = dc.read_microdata(path, unit="enterprise", holding="group")
    tree = dc.read_hierarchy(path.with_name("nace.hrc"), lead="@").to_level(depth)
    ours = dc.tabulate(microdata, spanning={"nace": tree, "region": list(regions)}, response="turnover")
    assert subject.bare_group_by(path, subject.sections_of(path), activity, regions) == len(ours.layouts[0].cell)
    assert subject.bare_scan(path) == 3_000


def test_the_handed_over_files_are_the_table(module, table, tmp_path):
    exchange = module("benchmarks.peers.exchange")
    exchange.hand_over(table, tmp_path)
    cells = exchange.read_csv(tmp_path / "cells.csv")
    assert [float(cell["value"]) for cell in cells] == table.value.tolist()
    assert [cell["sensitive"] == "1" for cell in cells] == table.primary.tolist()
    assert [float(cell["upper"]) for cell in cells] == table.upper_protection.tolist()
    lines = exchange.read_csv(tmp_path / "lines.csv")
    assert len({(line["v0"], line["v1"]) for line in lines}) == len(table.layouts[0].cell) > table.cells
    sums = np.zeros(table.equations.shape[0])
    for entry in exchange.read_csv(tmp_path / "equations.csv"):
        sums[int(entry["equation"])] += int(entry["coefficient"]) * float(cells[int(entry["cell"])]["value"])
    assert np.allclose(sums, 0)
    for v, tree in enumerate(table.layouts[0].hierarchies):
        again = dc.read_hierarchy(tmp_path / f"v{v}.hrc", lead="@")
        assert again.level.tolist() == tree.level.tolist()


@pytest.mark.parametrize("word", ["gauss", "gauss-alone", "exact", "suppression"])
def test_our_own_side_of_the_comparison_protects(module, table, tmp_path, word):
    run = module("benchmarks.peers.run")
    module("benchmarks.peers.exchange").hand_over(table, tmp_path)
    result = run.run_tool(run.Tool("ours", "ours", word), Path(sys.executable), tmp_path, 60)
    assert result["version"] == dc.__version__
    assert set(np.flatnonzero(table.primary)) < set(result["hidden"])
    verdict = run.judged(table, np.array(result["hidden"]))
    assert verdict["primary published"] == 0
    assert verdict["audit"]["exact"] == 0
    if word != "gauss-alone":
        assert verdict["audit"]["safe"] == verdict["audit"]["suppressed"]


def test_for_outsiders_only_costs_less_and_exposes_a_contributor(module, tmp_path):
    top = np.array(
        [[[30, 20, 2], [15, 0, 0], [40, 20, 2], [15, 1, 1]], [[12, 10, 2], [9, 8, 1], [20, 10, 1], [4, 3, 1]]], float
    )
    units = np.minimum((top > 0).sum(axis=-1), 3)
    table = dc.PPercent(p=20).apply(small_table(top.sum(axis=-1), n=units, top=top).with_intruder(dc.Intruder(unions=False)))
    exchange, ours, run = (module(f"benchmarks.peers.{name}") for name in ("exchange", "ours", "run"))
    exchange.hand_over(table, tmp_path)
    verdict = {}
    for word in ("exact", "exact-outsiders"):
        ours.main(tmp_path, tmp_path / word, word, 60)
        verdict[word] = run.judged(table, np.array(json.loads((tmp_path / word).read_text())["hidden"]))
    assert verdict["exact"]["cost"] > verdict["exact-outsiders"]["cost"]
    assert verdict["exact"]["audit"]["insider pairs failed"] == 0
    assert verdict["exact-outsiders"]["audit"]["insider pairs failed"] > 0
    assert verdict["exact-outsiders"]["audit"]["safe"] == verdict["exact-outsiders"]["audit"]["suppressed"]


def test_a_pattern_that_hides_too_little_is_found_out(module, table):
    run = module("benchmarks.peers.run")
    verdict = run.judged(table, np.flatnonzero(table.primary)[:-1])
    assert verdict["primary published"] == 1
    assert verdict["secondary"] == 0
    assert verdict["cost"] == 0
    assert verdict["audit"]["exact"] == 3


def test_a_tool_that_takes_too_long_or_breaks_is_an_outcome(module, table, tmp_path):
    run = module("benchmarks.peers.run")
    module("benchmarks.peers.exchange").hand_over(table, tmp_path)
    ours = run.Tool("ours", "ours", "gauss")
    assert run.run_tool(ours, Path(sys.executable), tmp_path, 0)["error"].startswith("stopped after")
    broken = run.run_tool(run.Tool("none", "no_such_tool", "x"), Path(sys.executable), tmp_path, 60)
    assert "no_such_tool" in broken["error"]
    assert not list(tmp_path.glob("work-*"))


def test_a_tool_gets_its_share_of_the_time_that_another_took(module):
    run = module("benchmarks.peers.run")
    half = run.Tool("half", "ours", "gauss", within=("other", 0.5))
    assert run.limit_of(half, [{"tool": "another", "cpu": 3.0}, {"tool": "other", "cpu": 8.0}], 60) == 4.0
    assert run.limit_of(half, [{"tool": "other", "error": "stopped after 90 s"}], 60) == 30.0
    assert run.limit_of(run.Tool("whole", "ours", "gauss"), [{"tool": "other", "cpu": 8.0}], 60) == 60
    before = [tool.name for tool in run.TOOLS]
    for tool in run.TOOLS:
        assert tool.within is None or before.index(tool.within[0]) < before.index(tool.name)


def test_tools_are_chosen_by_words_of_their_names(module):
    chosen = module("benchmarks.peers.run").chosen
    assert {tool.name for tool in chosen(["MOD"])} == {"pytauargus MOD", "discreet search, in MOD's time"}
    assert not any(tool.optimal for tool in chosen())
    assert len(chosen(optimal=True)) > len(chosen())
    assert chosen(["no such tool"]) == []


def test_what_ended_a_tool_is_told_without_its_advice(module):
    words = ["Traceback", "discreet.errors.InputError: table: is no network", "  fix: use another", ""]
    assert module("benchmarks.peers.run")._last_words(words) == words[1]
    assert module("benchmarks.peers.run")._last_words([]) == "no word"


def test_a_comparison_gives_ratios_and_leaves_nothing_behind(module, table, tmp_path, monkeypatch):
    run = module("benchmarks.peers.run")
    monkeypatch.setattr(run.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(run, "python_of", lambda peer: None)
    tools = (run.Tool("gauss", "ours", "gauss"), run.Tool("absent", "with_gconfid", "Size", "gconfid"))
    results = run.compare(table, tools, 60, {"rows": 0, "table": "small"})
    assert results[0]["cost ratio"] == 1
    assert results[1]["error"] == "not installed"
    assert not list(tmp_path.iterdir())
    assert json.loads(json.dumps(results)) == results
    assert "not installed" in run._row(results[1])
    assert len(run._row(results[0])) == len(run._row(results[1])) == len(run.HEADER)


def test_every_peer_has_its_environment_and_module(module):
    environments = module("benchmarks.peers.environments")
    tools = [tool for name in ("run", "cell_keys", "pram") for tool in module(f"benchmarks.peers.{name}").TOOLS]
    assert {tool.peer for tool in tools if tool.peer} == set(environments.PEERS)
    for tool in tools:
        assert (ROOT / "benchmarks" / "peers" / f"{tool.module}.py").is_file()


def test_the_tables_of_the_comparison_can_be_made(module, tmp_path):
    run = module("benchmarks.peers.run")
    path = module("benchmarks.registry").Stage(tmp_path).register(2_000)
    for name in run.TABLES:
        made = run.make_table(path, name)
        assert made.primary.any()
        assert len(made.rules) == 2


@pytest.fixture
def records(module, tmp_path):
    """A small file of records."""
    return module("benchmarks.records").records_of(module("benchmarks.registry").Stage(tmp_path), 3_000)


def test_plain_sql_makes_the_cells_and_contributions_that_tabulate_makes(module, records):
    subject = module("benchmarks.subjects.perturbation")
    microdata = dc.read_microdata(records, unit="id", record_key="key")
    table = dc.tabulate(microdata, spanning=subject.spanning(), response="turnover", ranks=10)
    layout, held = table.layouts[0], table.contributions
    with subject.Bare(records) as sql:
        assert sql.count("turnover", "key") == len(layout.cell)
        assert sql.top() == int((held.top_id[layout.cell] >= 0).sum())
        assert sql.values() == len(layout.cell)
        total = sql.engine.execute("select n, turnover, key from sums where nace = 'T' and region = 'T' and size = 'T'")
        n, value, key = total.fetchall()[0]
        rows = sql.engine.execute(
            "select turnover from tops where nace = 'Na' and region = 'Rb' and size = 'T' order by turnover desc"
        ).fetchall()
    cell = table.cell()
    assert (n, value, key % 2**32) == (held.n[cell], table.value[cell], held.key[cell])
    assert [row[0] for row in rows] == held.top[table.cell(nace="Na", region="Rb")].tolist()
    with subject.Bare(records, margins=False) as sql:
        inner = [np.isin(layout.codes[:, v], tree.leaves) for v, tree in enumerate(layout.hierarchies)]
        assert sql.count() == int(np.all(inner, axis=0).sum())


def test_the_perturbed_tables_of_the_benchmarks_are_perturbed(module, records):
    subject = module("benchmarks.subjects.perturbation")
    assert subject.lpm(records, key="key").perturbed.any()
    assert subject.lpm(records, unit="id").perturbed.any()
    assert subject.counts(records, dc.design_counts(5, 2.0), subject.FEW).perturbed.all()
    ptable = dc.design_magnitudes(5, 2.0, steps=4, anchors=(1.0, 2.0, 3.0))
    assert subject.magnitudes(records, ptable, subject.FEW).perturbed.all()


def test_the_subjects_of_suppression_run_tools_that_exist(module):
    subject, run = module("benchmarks.subjects.suppression"), module("benchmarks.peers.run")
    for table, rows, tools, seconds in subject.BESIDE:
        assert table in run.TABLES
        assert set(tools) <= {tool.name for tool in run.TOOLS}
        limit = module("benchmarks.registry").SUBJECTS[f"suppress-{table.replace('×', '-')}-{rows // 1000}k"].limit
        assert limit > run.PATIENCE * seconds * len(tools)


def test_what_is_told_of_a_result_beside_another(module):
    told = module("benchmarks.subjects.suppression").told
    audit = {"exact": 1, "too narrow": 2, "not proved": 0, "insider pairs failed": 3, "unions failed": 4}
    result = {"secondary": 7, "cost": 50.0, "audit": audit}
    facts = told(result, {"cost": 200.0})
    assert facts["of the other's"] == 0.25
    assert (facts["exact"], facts["too narrow"], facts["exposed"]) == (1, 2, 7)
    assert "of the other's" not in told(result)
    assert told({"error": "stopped after 90 s"}) == {"no result": "stopped after 90 s"}


def test_the_table_of_five_dimensions_has_something_to_protect(module):
    table = module("benchmarks.subjects.suppression").five_dimensions((2, 2, 2, 2, 2))
    assert len(table.layouts[0].variables) == 5
    assert table.cells == 3**5
    assert table.primary.any()


def test_records_are_the_same_every_time(module, records, tmp_path):
    again = tmp_path / "again.parquet"
    module("benchmarks.records").make(again, 3_000)
    assert again.read_bytes() == records.read_bytes()


def test_cell_keys_are_compared_cell_by_cell(module, records, tmp_path, monkeypatch):
    cell_keys = module("benchmarks.peers.cell_keys")
    folder = tmp_path / "handed"
    folder.mkdir()
    records.rename(folder / "records.parquet")
    cell_keys.write_ptable(folder / "ptable.csv")
    ours = [tool for tool in cell_keys.TOOLS if not tool.peer]
    results = cell_keys.compare(folder, 60, {"rows": 3_000}, ours)
    assert results[1]["equal"] is True
    assert results[1]["cells"] == results[0]["cells"] > 1_000
    assert len(cell_keys._row(results[0])) == len(cell_keys._row(results[1])) == len(cell_keys.HEADER)

    def another(tool, *given):
        told = {"cells": [["Aa", "Aa", "Wa", "Sa", 5 if tool is ours[0] else 0]], "cpu": 1.0, "wall": 1.0, "peak": 1.0}
        return told | {"version": "0"}

    monkeypatch.setattr(cell_keys, "run_tool", another)
    results = cell_keys.compare(folder, 60, {"rows": 1}, ours)
    assert results[1]["equal"] is False
    assert cell_keys._row(results[1])[-1] == "NO"
