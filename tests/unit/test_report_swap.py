"""The owner's report on swapping: what it tells, that it is true, and what it must not hold."""

from __future__ import annotations

import html
import re
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from discreet.errors import InputError
from discreet.io.microdata import read_microdata
from discreet.microdata.protect.swap.chance import RandomSwap
from discreet.microdata.protect.swap.margin import MarginSwap
from discreet.microdata.protect.swap.rank import RankSwap
from discreet.microdata.protect.swap.start import start_swap
from discreet.microdata.risk.given_away import given_away
from discreet.model.keys import Secret
from discreet.model.margins import Margins
from discreet.model.swap_file import SwapFile
from discreet.report.swap import swap_report
from discreet.report.swap_charts import margins_graph

LONG = "a place whose name is long & <odd>, and goes on"


@pytest.fixture(scope="module")
def begun() -> SwapFile:
    chance = np.random.default_rng(8)
    n = 400
    frame = pd.DataFrame(
        {
            "person": [f"PERSON{i:05d}" for i in range(n)],
            "place": chance.choice([LONG, "south"], n),
            "age": chance.choice(list("abcdef"), n),
            "sex": chance.choice(["female", "male"], n),
            "work": chance.choice(["farm", "office", "rare <job>"], n, p=[0.3, 0.65, 0.05]),
            "income": chance.integers(100_000, 900_000, n) / 100 + 0.0137,
            "hours": chance.integers(1, 60, n),
        }
    )
    return start_swap(read_microdata(frame, unit="person"), Secret("a secret that is long enough"))


@pytest.fixture(scope="module")
def done(begun: SwapFile) -> SwapFile:
    first = MarginSwap(
        variables=("place", "age", "sex", "work"),
        margins=(["place", "age"], ["age", "sex"], ["sex", "work"]),
        keys=("place", "age", "sex", "work"),
        at_most=2,
    ).apply(begun)
    return RankSwap(columns=("income", "hours"), p=10).apply(first)


def text_of(page: str) -> str:
    return html.unescape(re.sub(r"\s+", " ", re.sub("<[^>]+>", " ", re.sub(r"(?s)<style>.*?</style>", "", page))))


def test_the_report_tells_what_was_done_and_what_stayed(begun: SwapFile, done: SwapFile) -> None:
    margins = done.steps[0].margins
    assert margins is not None
    proof = given_away(begun, margins)
    page = text_of(swap_report(done, title="Persons <2026>", keys=("place", "age", "sex", "work"), at_most=2, proof=proof))
    assert "Persons <2026>" in page
    assert "1. margin-swap" in page
    assert "2. rank-swap" in page
    for name, number in done.steps[0].facts.items():
        assert f"{name} {number}" in page.replace("\u202f", "")
    assert all(f" {' × '.join(margin)} " in page for margin in margins.sets)
    assert "The margins are decomposable" in page
    assert "Partners agree on" in page
    assert "partners agree on age" in page
    assert "Correlation of" in page
    assert f"records given away {proof.shown()['records given away']}" in page


def test_a_margin_that_a_later_step_changed_is_told(done: SwapFile) -> None:
    assert "A later step changed" not in swap_report(done, title="T")
    page = text_of(swap_report(RandomSwap(columns=("sex",), rate=0.5).apply(done), title="T"))
    assert "A later step changed what an earlier one had kept: age × sex sex × work" in page


def test_margins_to_look_at_can_be_chosen(done: SwapFile) -> None:
    page = text_of(swap_report(done, title="T", look_at=[("place", "age", "work")]))
    assert "place × age × work" in page
    assert "place × work" not in page


def test_nothing_of_a_record_is_in_the_report(done: SwapFile) -> None:
    page = swap_report(done, title="T", keys=("place", "age", "sex", "work"))
    for column in ("person", "income"):
        values = done.microdata.engine.fetch(f"SELECT CAST({column} AS VARCHAR) AS v FROM {done.microdata.source}")["v"]
        assert not any(str(value) in page for value in values)
    assert "rare <job>" not in text_of(page)
    assert not any(str(key) in page for key in done.key.tolist())
    assert "http:" not in page
    assert "https:" not in page


def test_the_graph_is_whole_and_marks_separators() -> None:
    margins = Margins.of(["a & b", "c", LONG, "free"], [["a & b", "c"], ["c", LONG]])
    picture = ElementTree.fromstring(margins_graph(margins, "T <1>", separator=["c"]))
    kinds = [each.get("class") for each in picture.iter() if each.tag == "circle"]
    assert sorted(kinds) == ["node", "node", "node", "separator"]
    assert [each.text for each in picture.iter("text")] == ["a & b", "c", f"{LONG[:21]}…", "free"]
    paths = {each.get("class"): str(each.get("d")) for each in picture.iter("path")}
    assert paths["edge cut"].count("M") == 2
    assert paths["edge"] == ""


def test_a_file_that_was_not_swapped_has_no_report(begun: SwapFile) -> None:
    with pytest.raises(InputError, match="nothing was swapped"):
        swap_report(begun, title="T")
