"""From a run to facts, page and picture."""

import builtins
import dataclasses
import html
import json
import re
from html.parser import HTMLParser
from typing import Any, ClassVar

import numpy as np
import pytest

from discreet.audit.examine import audit
from discreet.audit.publish import publish
from discreet.errors import InputError
from discreet.loss import suppression_loss
from discreet.method import check_params, param
from discreet.model.hierarchy import Hierarchy
from discreet.model.intruder import Intruder
from discreet.model.published import Exemption
from discreet.plan.run import Run, TableRun
from discreet.report import facts, picture, render
from discreet.report.verdict import grouped
from discreet.tables.rules import APriori
from discreet.testing import small_table


@dataclasses.dataclass(frozen=True, kw_only=True)
class Few:
    """A cell with fewer than ``n`` contributors is sensitive.

    More than one paragraph.
    """

    NAME: ClassVar[str] = "few"
    SOURCE: ClassVar[str] = "tests"

    n: int = param(3, "contributors a cell needs", at_least=1)

    def __post_init__(self) -> None:
        check_params(self)

    def sensitive(self, contributions: Any) -> Any:
        return (contributions.n > 0) & (contributions.n < self.n)

    def apply(self, table: Any) -> Any:
        return table.with_primary(self, self.sensitive(table.contributions))


RULES = (Few(), Few(n=2))
METHODS = (*RULES, APriori(entries=({"codes": {"row": "a1"}, "cost": 77123},)))
HIDDEN = [{"row": "a2", "col": "x"}, {"row": "a1", "col": "y"}, {"row": "a2", "col": "y"}]


def protected(secondary: list[dict[str, str]] = HIDDEN, **more: Any) -> Any:
    """Cell (a1, x) has 2 contributors; hiding the square around it makes it safe."""
    rows = Hierarchy.from_parents([("A", "a1"), ("A", "a2"), ("A", "a3"), ("B", "b1"), ("B", "b2")], labels={"A": "Farms <&>"})
    n = np.full((5, 3), 10)
    n[0, 0] = 2
    values = np.array([[11, 12, 13], [21, 22, 23], [31, 32, 33], [1400, 42, 43], [51, 52, 53]]) + 0.5
    table = small_table(
        values, variables=["row", "col"], hierarchies=[rows, Hierarchy.flat("xyz")], n=n, decimals=1, response="sales", **more
    )
    for rule in RULES:
        table = rule.apply(table)
    mask = np.zeros(table.cells, bool)
    mask[[table.cell(codes) for codes in secondary]] = True
    return table.with_secondary("by hand", mask, seconds=0.25, rounds=3, cost=98765, bound=1.5)


def run_of(table: Any, *, exceptions: Any = (), refused: bool = False) -> Run:
    proof = audit(table)
    published = None if refused else publish(table, audit=proof, exceptions=exceptions)
    one = TableRun(
        name="sales",
        table=table,
        methods=METHODS,
        audit=proof,
        published=published,
        loss=suppression_loss(table, proof),
        seconds=1.234,
    )
    return Run(
        plan_text='[tables.sales]\nspanning = ["row", "col"] # <b>&</b>\n',
        plan={"tables": {"sales": {"spanning": ("row", "col")}}},
        versions={"discreet": "0.1.0"},
        started="2025-01-02 03:04",
        tables=(one,),
        notes=("7 records had no region",),
    )


@pytest.fixture(scope="module")
def safe() -> dict[str, Any]:
    return facts(run_of(protected()))


@pytest.fixture(scope="module")
def page(safe: dict[str, Any]) -> str:
    return render(safe)


def text_of(page: str) -> str:
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", page)))


def test_facts_are_json_and_counts_are_right(safe: dict[str, Any]) -> None:
    assert json.loads(json.dumps(safe, allow_nan=False)) == safe
    (table,) = safe["tables"]
    assert safe["schema"] == "discreet-report/1"
    assert safe["published"] is True
    assert safe["plan"]["parsed"] == {"tables": {"sales": {"spanning": ["row", "col"]}}}
    assert table["counts"] == {
        "cells": 32,
        "published": 28,
        "perturbed": 0,
        "sensitive": 0,
        "primary": 1,
        "secondary": 3,
        "unlisted": 0,
        "equations": 20,
    }
    assert table["verdict"]["verdict"] == "proved"
    assert table["spanning"][0] == {"variable": "row", "codes": 8, "levels": 2, "total": "Total"}
    assert [(rule["sensitive"], rule["alone"]) for rule in table["rules"]] == [(1, 1), (0, 0)]
    assert table["seconds"] == 1.23


def test_methods_tell_their_settings_but_count_declared_entries(safe: dict[str, Any]) -> None:
    few, _, declared = safe["tables"][0]["methods"]
    assert few["what"] == "A cell with fewer than n contributors is sensitive."
    assert few["source"] == "tests"
    assert few["parameters"] == [{"name": "n", "value": "3", "unit": "", "meaning": "contributors a cell needs"}]
    assert [(each["name"], each["value"]) for each in declared["parameters"]] == [("entries", "1 entries")]
    assert "77123" not in json.dumps(safe)


def test_history_tells_counts_but_nothing_that_sums_values(safe: dict[str, Any]) -> None:
    step = safe["tables"][0]["history"][-1]
    assert step == {
        "method": "by hand",
        "what": "secondary suppression",
        "counts": {"secondary": 3, "rounds": 3},
        "seconds": 0.25,
    }


def test_audit_in_questions_standards_and_words(safe: dict[str, Any]) -> None:
    told = safe["tables"][0]["audit"]
    assert told["safe"] is True
    assert told["questions"][0] == {
        "question": "Is a hidden cell known more closely than allowed?",
        "asked": 4,
        "held": 4,
        "failed": 0,
        "not_proved": 0,
    }
    assert all(standard["holds"] and standard["meaning"] for standard in told["standards"])
    assert any("no value is below zero" in line for line in told["assumptions"])
    assert any("three or more" in line for line in told["blind_spots"])


def test_words_follow_the_declared_intruder() -> None:
    table = protected().with_intruder(Intruder(insiders="none", unions=False, levels=False, prior=50.0, nonnegative=False))
    told = facts(run_of(table))["tables"][0]
    words = " ".join(told["audit"]["assumptions"])
    assert "within 50 %" in words
    assert "may lie below zero" in words
    assert "not demanded" in words
    blind = " ".join(told["audit"]["blind_spots"])
    assert blind.count("switched this off") == 2
    assert "exact recomputation only" in blind
    assert "nobody can work out its exact value." in told["verdict"]["sentence"]


def test_page_is_whole_and_asks_nothing_of_the_network(page: str) -> None:
    class Strict(HTMLParser):
        open: ClassVar[list[str]] = []

        def handle_starttag(self, tag: str, attrs: Any) -> None:
            names = dict(attrs)
            assert "src" not in names
            assert names.get("href", "#").startswith(("#", "data:"))
            if tag not in ("meta", "link", "rect", "path", "br", "input"):
                self.open.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert self.open.pop() == tag

    parser = Strict()
    parser.feed(re.sub(r"<(rect|path)[^>]*/>", "", page))
    assert parser.open == []
    for word in ("http://", "https://", "url(", "@import", "fetch(", "XMLHttp"):
        assert word not in page
    assert "default-src 'none'" in page


def test_page_says_what_a_steward_asks(page: str) -> None:
    text = text_of(page)
    for line in (
        "Proved safe",
        "Every one of the 4 suppressed cells stays as uncertain as its rules demand",
        "For the data steward, not for publication",
        "sales: sales by row × col",
        "7 records had no region",
        "Information lost",
        'spanning = ["row", "col"] # <b>&</b>',
        "discreet 0.1.0",
        "What the proof does not guard against",
        "Farms <&>",
        "1 846.5",
    ):
        assert line in text, line
    assert page.count("<td class=p>P</td>") == 1
    assert page.count("<td class=s>S</td>") == 3
    assert page.count('scope="row"') > 8
    assert 'role="img"' in page


def test_refused_table_names_cells_and_shows_no_value() -> None:
    told = facts(run_of(protected(secondary=[]), refused=True))
    (table,) = told["tables"]
    assert told["published"] is False
    assert table["verdict"]["verdict"] == "refused"
    assert table["audit"]["findings"]["kinds"]["exact"] == 1
    assert {"kind": "exact", "what": "row=a1, col=x can be worked out exactly."} in table["audit"]["findings"]["first"]
    assert all(one["values"] is None for view in table["views"] for one in view["slices"])
    page = text_of(render(told))
    assert "Refused: not proved safe" in page
    assert not [number for number in ("1 400.5", "1 846.5", "31.5", "97.5") if number in page]


def test_exceptions_are_shown_with_reason_and_name() -> None:
    signed = Exemption(codes={"row": "a1", "col": "x"}, reason="agreed in writing", signed_by="A. Steward")
    told = facts(run_of(protected(secondary=[]), exceptions=[signed]))
    (table,) = told["tables"]
    assert table["verdict"]["title"] == "Published with 1 signed exception"
    assert table["verdict"]["exceptions"] == [
        {"cell": "row=a1, col=x", "reason": "agreed in writing", "signed_by": "A. Steward"}
    ]
    assert "agreed in writing A. Steward" in text_of(render(told))


def test_nothing_hidden() -> None:
    table = small_table([[1, 2], [3, 4]])
    told = facts(run_of(table))
    assert told["tables"][0]["verdict"]["title"] == "Nothing had to be hidden"
    assert "Information lost" not in render(told)


def test_three_variables_embed_their_slices_and_odd_codes_break_nothing() -> None:
    odd = ["</script><b>", " lead", 'q"u', "ä;ö"]
    table = small_table(
        np.ones((2, 2, 4)), variables=["a", "b", "c"], hierarchies=[*[Hierarchy.flat("xy")] * 2, Hierarchy.flat(odd)]
    )
    page = render(facts(run_of(table)))
    assert page.count("</script>") == 2
    (stored,) = re.findall(r'<script type="application/json">(.*?)</script>', page, re.DOTALL)
    assert [one["codes"][0] for one in json.loads(stored)] == ["Total", *odd]


def test_large_table_stays_small_and_quick() -> None:
    deep = Hierarchy.from_parents([(f"g{i}", f"g{i}.{j}") for i in range(10) for j in range(8)])
    table = small_table(np.full((80, 80), 123456.7), variables=["r", "c"], hierarchies=[deep, deep], decimals=1)
    page = render(facts(run_of(table)))
    assert table.cells > 5_000
    assert len(page.encode()) < 1_000_000


def test_picture_is_one_svg_with_every_colour_of_its_own(safe: dict[str, Any]) -> None:
    svg = picture(safe)
    assert svg.startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    assert "28 published" in svg
    assert "var(" not in svg
    assert svg.count("http") == 1


def test_audit_of_another_table_is_refused() -> None:
    run = run_of(protected())
    swapped = dataclasses.replace(run.tables[0], table=protected())
    with pytest.raises(InputError, match="another table"):
        facts(dataclasses.replace(run, tables=(swapped,)))


def test_a_refusal_is_never_called_proved_and_gives_its_reason() -> None:
    run = run_of(protected(), refused=True)
    assert run.tables[0].audit.safe
    one = dataclasses.replace(run.tables[0], refusal="gauss-suppression: 1 cell cannot be protected")
    told = facts(dataclasses.replace(run, tables=(one,)))
    assert told["tables"][0]["verdict"]["verdict"] == "refused"
    page = text_of(render(told))
    assert "1 cell cannot be protected" in page
    assert "Proved safe" not in page


def test_without_jinja_the_extra_is_named(safe: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *given: Any, **more: Any) -> Any:
        if name == "jinja2":
            raise ImportError(name)
        return real(name, *given, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match=r"discreet\[report\]"):
        render(safe)


def test_numbers_as_people_read_them() -> None:
    assert grouped(1234567.891, 2) == "1\u202f234\u202f567.89"
    assert grouped(-1234) == "−1\u202f234"
    assert grouped(12, -3) == "12"
