"""What a report tells of a perturbed table, in which words, and what it keeps to itself."""

import dataclasses
import html
import json
import math
import re
from typing import Any, ClassVar

import numpy as np
import pytest

from discreet.audit import audit, publish
from discreet.loss import perturbation_loss, suppression_loss
from discreet.method import check_params, param
from discreet.model.hierarchy import Hierarchy
from discreet.model.intruder import Intruder
from discreet.model.ptable import PTable
from discreet.model.table import Table
from discreet.plan.run import Run, TableRun
from discreet.report import facts, picture, render
from discreet.report.charts import deviations
from discreet.report.facts import _setting
from discreet.report.loss import FEWEST
from discreet.report.perturbation import ENOUGH, error_facts, perturbation_facts
from discreet.testing import small_table


@dataclasses.dataclass(frozen=True, kw_only=True)
class Nearest:
    """Every number is rounded to the nearest multiple of ``base``.

    More than one paragraph.
    """

    NAME: ClassVar[str] = "nearest"
    SOURCE: ClassVar[str] = "tests"

    base: int = param(5, "what every shown number is a multiple of", at_least=1)
    __post_init__ = check_params

    def apply(self, table: Table, /) -> Table:
        shown = np.where(table.suppressed, np.nan, np.floor(table.value / self.base + 0.5) * self.base)
        half = self.base // 2
        return table.with_shown(self.NAME, shown, low=np.maximum(0, shown - half), high=shown + half, error=np.nan)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Shaky:
    """Every number gets normal noise."""

    NAME: ClassVar[str] = "shaky"
    SOURCE: ClassVar[str] = "tests"

    def apply(self, table: Table, /) -> Table:
        size = 0.03 * np.abs(table.value)
        noise = size * np.random.default_rng(11).normal(size=table.cells)
        shown = np.where(table.suppressed, np.nan, np.round(table.value + noise, table.decimals))
        return table.with_shown(self.NAME, shown, low=-np.inf, high=np.inf, error=size)


class Few:
    NAME = "few"

    def sensitive(self, contributions: Any) -> Any:
        return contributions.n < 3


def counts(shape: tuple[int, int] = (12, 6), **more: Any) -> Table:
    chance = np.random.default_rng(41)
    inner = chance.poisson(9, shape).astype(float)
    rows = Hierarchy.from_parents([("AB"[i % 2], f"{'ab'[i % 2]}{i}") for i in range(shape[0])])
    trees = [rows, Hierarchy.flat([f"c{i}" for i in range(shape[1])])]
    return small_table(inner, variables=["row", "col"], hierarchies=trees, kind="frequency", response="people", **more)


def sums(**more: Any) -> Table:
    chance = np.random.default_rng(43)
    table = small_table(np.round(np.exp(chance.normal(7, 1, (12, 6))), 1), variables=["row", "col"], decimals=1, **more)
    return table.with_intruder(Intruder(unions=False))


def run_of(table: Table, *methods: Any, refused: bool = False) -> Run:
    for method in methods:
        table = method.apply(table)
    proof = audit(table)
    one = TableRun(
        name="one",
        table=table,
        methods=methods,
        audit=proof,
        published=None if refused else publish(table, audit=proof),
        loss=suppression_loss(table, proof),
        seconds=1.0,
        perturbation=perturbation_loss(table) if table.perturbed.any() else None,
    )
    return Run(plan_text="[tables.one]\n", plan={}, versions={}, started="2025-01-02", tables=(one,))


def told_of(run: Run) -> dict[str, Any]:
    (table,) = facts(run)["tables"]
    return dict(table)


def text_of(page: str) -> str:
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", page)))


@pytest.fixture(scope="module")
def rounded() -> Run:
    return run_of(counts(), Nearest())


@pytest.fixture(scope="module")
def noisy() -> Run:
    table = sums()
    hide = np.zeros(table.cells, bool)
    hide[[5, 17]] = True
    return run_of(table.with_primary(Few(), hide), Shaky())


# -------------------------------------------------------------------- the whole report


def test_marks_values_and_counts_of_a_rounded_table(rounded: Run) -> None:
    told, table = told_of(rounded), rounded.tables[0].table
    assert told["counts"] | {"equations": 0} == {
        "cells": table.cells,
        "published": 0,
        "perturbed": table.cells,
        "sensitive": 0,
        "primary": 0,
        "secondary": 0,
        "unlisted": 0,
        "equations": 0,
    }
    (one,) = told["views"][0]["slices"]
    assert set(one["marks"]) == {"r"}
    assert one["values"] == [int(number) for number in table.shown[table.layouts[0].cell]]
    assert told["marks"]["r"] == "published rounded or with noise"


def test_a_rounded_table_is_called_proved_and_says_what_of(rounded: Run) -> None:
    told = told_of(rounded)
    assert told["verdict"]["verdict"] == "proved"
    many = rounded.tables[0].table.cells
    assert f"Of the {many} cells shown rounded or with noise, nobody can work out an exact value" in told["verdict"]["sentence"]
    assert "Estimates remain possible" in told["verdict"]["sentence"]
    assert "suppressed" not in told["verdict"]["sentence"]
    hidden, perturbed, *_ = told["audit"]["questions"]
    assert (hidden["asked"], perturbed["asked"], perturbed["held"], perturbed["failed"]) == (0, many, many, 0)
    assert any("but the keys" in line for line in told["audit"]["assumptions"])
    assert any("How likely a value is" in line for line in told["audit"]["blind_spots"])


def test_hidden_and_noisy_cells_are_told_apart(noisy: Run) -> None:
    told, table = told_of(noisy), noisy.tables[0].table
    assert (told["counts"]["primary"], told["counts"]["perturbed"]) == (2, table.cells - 2)
    assert told["verdict"]["sentence"].startswith("Every one of the 2 suppressed cells stays")
    assert f"Of the {table.cells - 2} cells shown rounded" in told["verdict"]["sentence"]
    hidden, perturbed, *_ = told["audit"]["questions"]
    assert (hidden["asked"], perturbed["asked"]) == (2, table.cells - 2)
    assert told["loss"]["total"]["cells"] == 2
    assert sum(told["errors"]["cells"]) == told["errors"]["counted"] == table.cells - 2


def test_sensitive_cells_that_are_shown_perturbed_are_no_hidden_ones() -> None:
    table = counts()
    table = table.with_primary(Few(), table.value <= 5)
    table = table.with_shown(
        "by hand", np.floor(table.value / 10) * 10, low=0, high=np.floor(table.value / 10) * 10 + 9, error=np.nan
    )
    told = told_of(run_of(table.with_intruder(Intruder(levels=True, unions=False))))
    many = int((table.value <= 5).sum())
    assert told["counts"]["sensitive"] == many > 0
    assert told["counts"]["primary"] == told["loss"]["total"]["primary"] == told["loss"]["total"]["cells"] == 0
    assert f"The sensitive among them ({many}) stay as uncertain as their rules demand." in told["verdict"]["sentence"]


def test_nothing_is_claimed_where_only_sensitive_cells_are_asked_about() -> None:
    told = told_of(run_of(counts().with_intruder(Intruder(perturbed="sensitive")), Nearest()))
    assert told["verdict"]["verdict"] == "open"
    assert "nothing was proved of the others" in told["verdict"]["sentence"]
    assert any("no rule found sensitive" in line for line in told["audit"]["blind_spots"])
    hidden = counts().with_primary(Few(), np.arange(counts().cells) == 20)
    told = told_of(run_of(hidden.with_intruder(Intruder(perturbed="sensitive")), Nearest()))
    assert told["verdict"]["verdict"] == "proved"
    assert "No other cell shown rounded or with noise was asked about." in told["verdict"]["sentence"]


def test_a_refused_table_tells_nothing_of_its_numbers(rounded: Run) -> None:
    table = counts().with_primary(Few(), np.arange(counts().cells) == 0)  # the total, which follows from its parts
    run = run_of(table, refused=True)
    refused = dataclasses.replace(run.tables[0], perturbation=rounded.tables[0].perturbation)
    told = told_of(dataclasses.replace(run, tables=(refused,)))
    assert told["perturbation"] is None
    assert told["errors"] is None


def test_the_page_of_a_perturbed_table(rounded: Run, noisy: Run) -> None:
    page = render(facts(rounded))
    text = text_of(page)
    for line in (
        "Where the perturbed cells are",
        "What rounding and noise cost",
        "shown cells carry rounding or noise (100.0 %)",
        "Does it still add up?",
        "Is the ranking still right?",
        "Cramér’s V of",
        "It holds no true value of a hidden or perturbed cell",
        "base 5 what every shown number",
    ):
        assert line in text, line
    assert "Information lost" not in text
    assert "Standard errors in the release" not in text
    assert "only rows with hidden cells" not in text
    assert page.count("<td class=r>") == rounded.tables[0].table.cells
    text = text_of(render(facts(noisy)))
    for line in ("Where the hidden and the perturbed cells are", "Information lost", "Standard errors in the release"):
        assert line in text, line
    assert "perturbed" in picture(facts(noisy))


def test_facts_of_a_perturbed_table_are_json(rounded: Run, noisy: Run) -> None:
    for run in (rounded, noisy):
        told = facts(run)
        assert json.loads(json.dumps(told, allow_nan=False)) == told


def test_a_table_without_noise_has_no_such_section() -> None:
    run = run_of(counts())
    assert told_of(run)["perturbation"] is None
    assert "What rounding and noise cost" not in render(facts(run))


# -------------------------------------------------------------------- what is told


def changed_by(deviation: Any, base: float = 100.0) -> dict[str, Any]:
    """One variable of inner cells that hold ``base`` each and show that much more; the total is left out."""
    table = small_table(np.full(len(deviation), base))
    table = table.replace(listed=np.arange(table.cells) != table.cell())
    shown = np.full(table.cells, np.nan)
    shown[table.listed] = base + np.asarray(deviation, float)
    table = table.with_shown("by hand", shown, low=-np.inf, high=np.inf, error=np.nan)
    return perturbation_facts(perturbation_loss(table))


def test_means_of_enough_unlike_cells_are_told() -> None:
    told = changed_by([1, 2, 3, -1, -2, -3] * 10)
    assert told["total"]["absolute"] == 2.0
    assert told["total"]["relative"] == 0.02
    assert (told["total"]["half"], told["total"]["most"]) == (0.02, None)
    assert changed_by([1, 2, 3, -1, -2, -3] * 20)["total"]["most"] == 0.03
    assert told["whole"]["bias"] == 0
    assert told["whole"]["share"] == 0.02


@pytest.mark.parametrize(
    "deviation",
    [
        [1, 2, 3, 4],  # few
        [0] * 50 + [1, 2, 3, 4],  # few that changed
        [3, -3] * 30,  # all by equally much
        [1000] + [1, 2, 3, 4] * 10,  # one by far more
        [0] * 40,  # all exact
    ],
)
def test_means_that_give_a_cell_away_are_not_told(deviation: list[float]) -> None:
    told = changed_by(deviation)
    assert told["total"]["absolute"] is None
    assert told["total"]["relative"] is None
    assert told["whole"]["bias"] is None
    assert told["whole"]["hellinger"] is None


def test_a_mean_told_hides_any_single_cell() -> None:
    """Whatever one cell does, up to the largest deviation there is, its group's sum cannot be told from the mean."""
    chance = np.random.default_rng(5)
    for many in (6, 20, 100, 1000):
        deviation = np.rint(chance.normal(0, 4, many))
        told = changed_by(deviation)["total"]["absolute"]
        if told is None:
            continue
        exact, largest = np.abs(deviation).mean(), np.abs(deviation).max()
        steps = {
            told - other for other in (changed_by(d)["total"]["absolute"] for d in _others(deviation)) if other is not None
        }
        assert abs(told - exact) <= max(5 * largest / many, 0.05 * exact)
        assert max(abs(step) for step in steps) <= max(5 * largest / many, 0.1 * exact)


def _others(deviation: Any) -> list[Any]:
    out = []
    for new in (0, np.abs(deviation).max()):
        changed = deviation.copy()
        changed[0] = new
        out.append(changed)
    return out


def test_the_largest_deviation_is_told_as_a_round_number() -> None:
    told = changed_by([1, 2, 3, 4, 37] * 10)["whole"]
    assert (told["largest"], told["largest_relative"]) == (50, 0.5)
    assert changed_by([1, 2, 3, 37])["whole"]["largest"] is None


def test_histograms_need_enough_cells_that_differ() -> None:
    told = changed_by([-2, -1, 0, 1, 2] * 8)["histograms"]["absolute"]
    assert told == {"edges": [1.0, 2.0], "series": {"all": [0, 8, 8, 8, 8, 8, 0]}}
    assert changed_by([-2, -1, 0, 1, 2] * 5)["histograms"] == {"relative": None, "absolute": None}
    assert changed_by([0] * 40 + [1, 2])["histograms"]["relative"] is None
    assert ENOUGH == 30


def test_inner_cells_and_margins_have_histograms_of_their_own(rounded: Run) -> None:
    series = told_of(rounded)["perturbation"]["histograms"]["absolute"]["series"]
    loss = rounded.tables[0].perturbation
    assert loss is not None
    assert list(series) == ["all"] if loss.total.perturbed - loss.inner.perturbed < ENOUGH else ["inner", "margins"]
    assert sum(map(sum, series.values())) == loss.total.cells


def test_false_zeros_are_told_where_they_are_some_of_many() -> None:
    def zeros(true: list[float], shown: list[float]) -> Any:
        table = small_table(true)
        table = table.replace(listed=np.arange(table.cells) != table.cell())
        numbers = np.full(table.cells, np.nan)
        numbers[table.listed] = shown
        table = table.with_shown("by hand", numbers, low=-np.inf, high=np.inf, error=np.nan)
        return perturbation_facts(perturbation_loss(table))["whole"]["zeros"]

    assert zeros([1] * 10 + [0] * 25, [0] * 35) == {"shown": 35, "false": 10, "others": 0, "false_others": 0}
    assert zeros([1] * 33 + [0] * 2, [0] * 35)["false"] is None
    assert zeros([1] * 2 + [0] * 33, [0] * 35)["false"] is None
    assert zeros([1] * 5 + [0] * 5, [0] * 10)["false"] is None


def test_few_turned_pairs_are_not_counted(rounded: Run) -> None:
    orders = told_of(rounded)["perturbation"]["orders"]
    assert all(one["turned"] is None for one in orders)  # rounding never turns an order
    assert any(one["tied"] is not None and one["tied"] >= FEWEST for one in orders)


def test_errors_are_counted_by_what_the_release_says_of_them() -> None:
    told = error_facts(np.array([100.0, 100, 10, 0, np.nan, 50]), np.array([0.5, 0.6, 1, 2, np.nan, np.nan]))
    assert told is not None
    assert dict(zip(told["bins"], told["cells"], strict=True)) == {
        "≤ 0.5 %": 1,
        "≤ 1 %": 1,
        "≤ 2 %": 0,
        "≤ 5 %": 0,
        "≤ 10 %": 1,
        "≤ 20 %": 0,
        "≤ 50 %": 0,
        "≤ 100 %": 0,
        "above": 1,
    }
    assert error_facts(np.ones(3), np.full(3, np.nan)) is None


def test_graded_errors_of_sums_fall_into_their_grade(noisy: Run) -> None:
    cells = dict(zip(told_of(noisy)["errors"]["bins"], told_of(noisy)["errors"]["cells"], strict=True))
    assert cells["≤ 5 %"] == noisy.tables[0].table.cells - 2


# -------------------------------------------------------------------- charts and parameters


def test_columns_of_a_chart_of_deviations() -> None:
    svg = deviations([1.0, 2.0], [("perturbed", [0, 3, 4, 5, 6, 7, 0]), ("margin", [0, 1, 0, 0, 0, 1, 0])], "a <title>", "axis")
    assert "a &lt;title&gt;" in svg
    assert svg.count('class="perturbed"') == svg.count('class="margin"') == 5  # the empty ends are left out
    assert re.findall(r">([−+>< \d]+)</text>", svg)[-5:] == ["0", "−1", "+1", "−2", "+2"]
    assert ">8</text>" in svg


def test_borders_of_shares_and_classes_beyond_the_last() -> None:
    svg = deviations([0.01, 0.5], [("perturbed", [1, 0, 2, 3, 2, 0, 1])], "t", "axis", " %")
    assert "−1 %" in svg
    assert "+50 %" in svg
    beyond = deviations([1.0, 2.0], [("perturbed", [1, 1, 1, 1, 1, 1, 1])], "t", "axis")
    assert "&gt; 2" in beyond or "> 2<" in beyond
    empty = deviations([1.0], [("perturbed", [0, 0, 0, 0, 0])], "t", "axis")
    assert empty.count("<rect") == 1


def test_parameters_are_told_in_words() -> None:
    table = PTable.of([0, 1, 1, 2, 2, 2], [0, -1, 1, -1, 0, 1], [1, 0.5, 0.5, 0.25, 0.5, 0.25])
    assert _setting(table) == "p-table: 6 lines, changes up to 1"
    assert _setting(((10, 5), (100, 10.5))) == "(10, 5), (100, 10.5)"
    assert _setting((1.5, 2.0)) == "1.5, 2"
    assert _setting(({"cell": 1},)) == "1 entries"


def test_numbers_are_written_as_coarsely_as_they_were_rounded() -> None:
    told = changed_by([0.001, 0.002, 0.003] * 20)["total"]
    assert told["absolute"] == 0.002
    assert not math.isnan(told["relative"])
