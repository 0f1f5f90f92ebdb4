"""The comparison of suppression methods is what its script makes of the stored measurements, and says what they say."""

import importlib
import json
import re
from pathlib import Path

import pytest

from discreet.tables import suppress

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def module(monkeypatch):
    """Imports a module of the benchmarks, which are not installed."""
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module


def result(tool, cost, cpu, **more):
    audit = dict.fromkeys(
        ("suppressed", "safe", "too narrow", "exact", "not proved", "insider pairs failed", "unions failed"), 0
    )
    audit |= {"suppressed": 9, "safe": 9} | more.pop("audit", {})
    about = {"rows": 1000, "table": "nace4×size", "cells": 50, "primary": 5, "limit": 60, "wall": cpu, "peak": 100.0}
    return about | {"tool": tool, "cost": cost, "cpu": cpu, "secondary": 4, "primary published": 0, "audit": audit} | more


@pytest.fixture
def results():
    return [
        result("pytauargus MOD", 2e6, 8.0, audit={"safe": 7, "exact": 2}),
        result("discreet search, in MOD's time", 1.5e6, 7.5),
        result("discreet search", 1e6, 60.0, bound=9e5),
        result("discreet search for outsiders", 8e5, 60.0, audit={"insider pairs failed": 3, "unions failed": 1}),
        result("gconfid Information", 9e7, 5.0),
    ]


def test_the_page_is_that_of_the_stored_measurements(module):
    comparison = module("benchmarks.suppression_comparison")
    wanted = comparison.pages(json.loads(comparison.KEPT.read_text("utf-8")))
    stale = [name for name, text in wanted.items() if (comparison.DOCS / name).read_text("utf-8") != text]
    assert not stale, "run python -m benchmarks.suppression_comparison"


def test_every_method_and_tool_has_its_words_and_mark(module):
    page, picture, run = (module(f"benchmarks.{name}") for name in ("suppression_page", "suppression_picture", "peers.run"))
    for method in suppress.METHODS:
        for part in page.guards(method):
            assert 15 < len(part) < 500
            assert "guard against" not in part
    assert set(picture.LETTERS) == {tool.name for tool in run.TOOLS}
    assert len(set(picture.LETTERS.values())) == len(picture.LETTERS)


def test_a_method_that_does_not_say_what_it_guards_against_is_refused(module):
    with pytest.raises(ValueError, match="dict"):
        module("benchmarks.suppression_page").guards(dict)


def test_newer_results_take_the_place_of_older_ones(module, results):
    merged = module("benchmarks.suppression_comparison").merged
    newer = [result("discreet search", 0.9e6, 50.0004, hidden=[1, 2]), result("discreet search", 1e6, 9.0, rows=7)]
    before = {"versions": {"python": "1"}, "results": results, "scale": {}}
    kept = merged(before, {"versions": {"python": "2"}, "results": newer})
    assert kept["versions"] == {"python": "2"}
    assert len(kept["results"]) == len(results) + 1
    (one,) = (r for r in kept["results"] if r["tool"] == "discreet search" and r["rows"] == 1000)
    assert (one["cost"], one["cpu"]) == (0.9e6, 50.0)
    assert "hidden" not in one


def test_subjects_at_scale_are_kept_and_told(module):
    part = {"part": "elimination", "against": "", "cpu": 12.3456, "wall": 13.0, "peak": 900.4, "facts": {"cells": 519_000}}
    more = {"versions": {}, "results": [{"subject": name, "readings": [part]} for name in ("gauss-1M", "demo-gauss")]}
    kept = module("benchmarks.suppression_comparison").merged({"versions": {}, "results": [], "scale": {}}, more)
    assert list(kept["scale"]) == ["gauss-1M"]
    page = module("benchmarks.suppression_page").page([], kept["scale"], {})
    assert "| elimination | 12.3 | 900 | cells 519,000 |" in page


def test_the_levels_of_protection(module, results):
    level = module("benchmarks.suppression_picture").level
    assert [level(one) for one in results[:4]] == ["unsafe", "proved", "proved", "outsiders"]
    assert level(result("discreet exact", 1, 1, **{"primary published": 1})) == "unsafe"
    assert level(result("discreet exact", 1, 1, audit={"safe": 8, "not proved": 1})) == "unsafe"


def test_the_page_holds_ours_against_theirs(module, results):
    page = module("benchmarks.suppression_page").page(results, {}, {"python": "3"})
    beside = "| 2.00 | 1.50 | 0.750 | 1.00 | 0.90 | 8.0 | 7.5 | 60.0 | yes | 2 exact, 0 too narrow, 0 exposed |"
    assert f"| nace4×size, 1,000 {beside}" in page
    assert "hides at least 0.90," in page
    assert "| nace4×size, 1,000 | 1.00 | 0.80 | +25.0 % | 4 |" in page
    assert "Search beside OPT" not in page
    failed = result("discreet network", 1, 1, error="ended with 1: discreet.errors.InputError: no network")
    del failed["cost"]
    page_of_errors = module("benchmarks.suppression_page").page([failed], {}, {})
    assert "| discreet network | not for this table |" in page_of_errors


def test_the_picture_marks_each_result_and_stays_inside(module, results):
    drawn = module("benchmarks.suppression_picture").picture(results)
    width, height = (float(number) for number in re.search(r'viewBox="0 0 (\S+) (\S+)"', drawn).groups())
    panel = drawn[drawn.index("1,000 records") : drawn.index("</g>")]
    marks = re.findall(r'<circle cx="(\S+)" cy="(\S+)" r="8" fill="(\S+)"', panel)
    assert len(marks) == len(results)
    assert all(0 <= float(x) <= width and 0 <= float(y) <= height for x, y, _ in marks)
    assert [fill for _, _, fill in marks].count("#ffffff") == 1
    assert panel.count("v-9m-3") == 2, "two patterns hide more than twice what the cheapest safe one does"
    assert "v-9m-3" not in drawn[drawn.index("</g>") :]
    x = {letter: float(at) for at, letter in re.findall(r'class="mark" x="(\S+)"[^>]*>(\w)<', panel)}
    assert x["i"] < x["s"] < x["T"] < x["S"]
