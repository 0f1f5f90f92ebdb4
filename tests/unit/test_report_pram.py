"""The owner's report on PRAM: what it tells, what it must not hold, and that its charts are whole."""

import builtins
import html
import math
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from discreet.errors import InputError
from discreet.inference.counts import estimate_counts
from discreet.io.microdata import read_microdata
from discreet.io.pram import document_of, read_pram, write_pram
from discreet.microdata.protect.pram.apply import Pram, start_pram
from discreet.microdata.protect.pram.k_ary import KAry
from discreet.microdata.protect.pram.rank_one import RankOne
from discreet.microdata.risk.pram_file import pram_risk
from discreet.model.encoded import Coded
from discreet.model.keys import Secret
from discreet.model.pram_file import PramFile
from discreet.model.randomised import PramDocument, Randomised
from discreet.model.transition import TransitionMatrix
from discreet.report.pram import pram_report
from discreet.report.pram_charts import estimates, matrix_map, strength
from discreet.report.pram_facts import MOST_MAPPED, pram_facts

SECRET = "a secret of more than sixteen characters"
LONG = "an occupation whose official name is long & <odd>"


def survey(n: int = 400) -> pd.DataFrame:
    chance = np.random.default_rng(17)
    return pd.DataFrame(
        {
            "person": [f"PERSON{7919 * i % 99991:05d}" for i in range(n)],
            "home": [f"HOME{i // 4}" for i in range(n)],
            "rent": [["own", "rents"][i // 4 % 3 == 0] for i in range(n)],
            "sex": chance.choice(["female", "male"], n),
            "region": chance.choice(["north", "south <&>"], n, p=[0.3, 0.7]),
            "job": chance.choice([LONG, "nurse", "surgeon", ""], n, p=[0.5, 0.3, 0.1, 0.1]),
            "weight": chance.integers(100_000, 900_000, n) / 1000 + 0.0137,
        }
    )


@pytest.fixture(scope="module")
def file() -> PramFile:
    microdata = read_microdata(survey(), unit="person", weight="weight")
    begun = start_pram(microdata, Secret(SECRET))
    done = Pram(columns=("sex",), design=KAry(epsilon=2.0)).apply(begun)
    done = Pram(columns=("job",), design=RankOne(share=0.6), within=("region",)).apply(done)
    return Pram(columns=("rent",), design=KAry(epsilon=2.0), together="home").apply(done)


@pytest.fixture(scope="module")
def page(file: PramFile) -> str:
    return pram_report(file, document_of(file, name="released.csv"), title="Survey <2024>")


def text_of(page: str) -> str:
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", re.sub(r"(?s)<style>.*?</style>", "", page))))


def facts_of(file: PramFile) -> Any:
    return pram_facts(pram_risk(file), document_of(file, name="released.csv"))


def test_the_report_names_each_design_and_the_document_none(file: PramFile, tmp_path: Path) -> None:
    page = text_of(pram_report(file, document_of(file, name="released.csv"), title="T"))
    assert "The design: k-ary, epsilon 2." in page
    assert "The design: rank-one, share 0.6." in page
    write_pram(file, tmp_path, public=False)
    assert "rank-one" not in "".join(path.read_text(encoding="utf-8") for path in tmp_path.iterdir())


def test_the_report_says_what_was_done_and_for_whom_it_is(page: str, file: PramFile) -> None:
    text = text_of(page)
    assert "Confidential, for the owner of the file only" in text
    assert "This report holds true counts." in text
    for word in ("Survey <2024>", "released.csv", "sex", "job", "rent", "region", "2 by region", LONG, "south <&>"):
        assert word in text, word
    risk = pram_risk(file)
    assert f"{100 * risk.variables[0].changed_share:.1f} %" in text
    assert f"{100 * (1 - risk.unchanged[1]):.1f} %" in text
    for warning in risk.warnings:
        assert warning in text
    assert "the released counts of job are unbiased as they are, by stratum" in text
    assert "The records of one home were changed by one draw." in text
    assert f"The {int((survey()['job'] == '').sum())} records without a code stayed as they are." in text


def test_it_holds_no_key_no_record_no_weight_and_no_secret(page: str, file: PramFile) -> None:
    held = survey()
    for words in (held["person"], held["home"], held["weight"].map(lambda w: f"{w:.4f}"), map(str, file.key)):
        assert not [word for word in words if re.search(rf"(?<![\w.]){re.escape(word)}(?!\w)", page)]
    assert "PERSON" not in page
    assert SECRET not in page


def test_it_asks_nothing_of_the_network_and_escapes_every_name(page: str) -> None:
    assert not re.search(r"(?:src|href)=\"(?!data:)", page)
    assert "http" not in page.replace("http-equiv", "")
    assert "<script" not in page
    assert "<odd>" not in page
    assert "<2024>" not in page
    assert "nan" not in re.sub(r"(?s)<style>.*?</style>", "", page)


def test_matrices_that_were_kept_back_are_told_of(file: PramFile) -> None:
    page = text_of(pram_report(file, document_of(file, name="released.csv", public=False), title="T"))
    assert "Matrices kept back" in page
    assert "analysts cannot correct what they count" in page


def test_estimates_are_those_of_an_analyst(file: PramFile, tmp_path: Path) -> None:
    write_pram(file, tmp_path, counts_known=True)
    released = read_pram(tmp_path / "released.pram.json")
    for variable in facts_of(file)["variables"]:
        found = estimate_counts(released, variable["name"].split())
        for line in variable["counts"]:
            at = found.axes[0].labels.index(line["category"])
            assert line["estimate"] == pytest.approx(found.estimate[at])
            assert line["released"] == found.naive[at]
            assert (line["low"], line["high"]) == (pytest.approx(found.low[at]), pytest.approx(found.high[at]))


def test_true_counts_are_those_of_the_file(file: PramFile) -> None:
    held = survey()
    sex, job, rent = facts_of(file)["variables"]
    for variable in (sex, rent):
        assert {line["category"]: line["true"] for line in variable["counts"]} == held[
            variable["name"]
        ].value_counts().to_dict()
    assert {line["category"]: line["true"] for line in job["counts"]} == {
        name: n for name, n in held["job"].value_counts().items() if name
    }
    assert [part["name"] for part in job["maps"]] == ["south <&>", "north"]
    assert {(line["stratum"], line["category"]): line["true"] for line in job["risks"]} == {
        (region, name): n for (region, name), n in held.groupby(["region", "job"]).size().items() if name
    }
    assert [line["true"] for line in job["risks"]] == sorted(line["true"] for line in job["risks"])


def one_variable(counts: dict[str, int], matrix: Any) -> PramFile:
    """A file of one variable, which was released as it is."""
    codes = np.repeat(np.arange(len(counts)), list(counts.values())).astype(np.int32)
    microdata = read_microdata(pd.DataFrame({"v": np.array(list(counts))[codes]}))
    coded = Coded(tuple((code,) for code in counts), codes)
    variable = Randomised(columns=("v",), matrices={(): TransitionMatrix.of(list(counts), matrix)})
    return PramFile(microdata=microdata, key=np.arange(len(codes)), variables=(variable,), true=(coded,), released=(coded,))


def document_for(file: PramFile) -> PramDocument:
    return document_of(file, name="f.csv")


def test_the_error_of_a_count_is_that_of_the_source() -> None:
    (variable,) = facts_of(one_variable({"a": 110, "b": 90}, [[0.9, 0.1], [0.1, 0.9]]))["variables"]
    for line in variable["counts"]:
        assert line["share"] == pytest.approx(math.sqrt(28.125) / line["true"])
        assert line["inflation"] == pytest.approx(1 + 28.125 / (90 * 110 / 200))


def test_without_change_estimates_are_the_counts() -> None:
    (variable,) = facts_of(one_variable({"a": 110, "b": 90}, np.eye(2)))["variables"]
    for line in variable["counts"]:
        assert line["low"] == line["high"] == line["true"]
        assert (line["share"], line["inflation"]) == (0, 1)


def test_a_matrix_without_inverse_gives_no_estimates() -> None:
    file = one_variable({"a": 110, "b": 90}, [[0.5, 0.5], [0.5, 0.5]])
    text = text_of(pram_report(file, document_for(file), title="T"))
    assert "No estimates are possible: the matrix " in text
    assert "True and estimated counts" not in text


def test_only_the_largest_categories_and_strata_are_drawn() -> None:
    counts = {f"c{k:03d}": 5 + k % 7 for k in range(150)}
    file = one_variable(counts, 0.8 * np.eye(150) + 0.2 / 150)
    (variable,) = facts_of(file)["variables"]
    (drawn,) = variable["maps"]
    assert len(drawn["labels"]) == MOST_MAPPED
    assert drawn["left_out"] == 150 - MOST_MAPPED
    assert drawn["labels"] == sorted(drawn["labels"])
    assert {counts[label] for label in drawn["labels"]} == {8, 9, 10, 11}
    page = pram_report(file, document_for(file), title="T")
    text = text_of(page)
    assert "the 80 largest categories; 70 more not drawn" in text
    assert "The chart shows the 30 largest categories." in text
    assert "90 lines more are not listed" in text
    assert len(page) < 200_000


def test_another_document_or_risk_is_refused(file: PramFile) -> None:
    other = one_variable({"a": 5, "b": 5}, np.eye(2))
    with pytest.raises(InputError, match="the document is about another file"):
        pram_report(file, document_for(other), title="T")
    with pytest.raises(InputError, match="the risk is that of another file"):
        pram_report(file, document_of(file, name="f.csv"), title="T", risk=pram_risk(other))
    own = pram_report(file, document_of(file, name="f.csv"), title="T", risk=pram_risk(file, rare=25))
    assert "rare categories (at most 25 records)" in text_of(own)


def test_what_is_missing_says_how_to_get_it(file: PramFile, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "jinja2":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match="discreet\\[report\\]"):
        pram_report(file, document_of(file, name="f.csv"), title="T")


# ------------------------------------------------------------------------------- charts


def drawing(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def assert_texts_lie_inside(svg: str) -> None:
    root = drawing(svg)
    width, height = (float(n) for n in root.attrib["viewBox"].split()[2:])
    for text in root.iter("text"):
        length = 5.0 * len(text.text or "")
        if "transform" in text.attrib:
            x, y = (float(n) for n in re.findall(r"[-\d.]+", text.attrib["transform"])[:2])
            assert y - length >= 0
            assert 0 <= x <= width
            continue
        x, y = float(text.attrib["x"]), float(text.attrib["y"])
        start = x - length * {"end": 1, "middle": 0.5}.get(text.attrib.get("text-anchor", ""), 0)
        assert start >= -1
        assert start + length <= width + 1
        assert 0 <= y <= height


def area(svg: str) -> int:
    """How many cells the paths of a map cover."""
    paths = (path.attrib["d"] for path in drawing(svg).iter("path") if path.attrib["class"] == "heat")
    return sum(int(n) for path in paths for n in re.findall(r"h(\d+)v1", path))


@pytest.mark.parametrize("size", [1, 2, 5, 12, 13, 40, 80])
def test_maps_are_whole(size: int) -> None:
    matrix = np.full((size, size), 0.2 / size) + 0.8 * np.eye(size)
    matrix[0] = np.eye(size)[0]
    labels = [f"{k}: a rather long category & <name>" for k in range(size)]
    svg = matrix_map(labels, matrix, "Map of <v>")
    assert area(svg) == int((matrix > 0).sum())
    assert_texts_lie_inside(svg)
    short = matrix_map([str(k) for k in range(size)], matrix, "Map")
    assert_texts_lie_inside(short)
    numbers = [text for text in drawing(short).iter("text") if text.attrib.get("class") in ("on", "over")]
    assert len(numbers) == (int((matrix > 0).sum()) if size <= 12 else 0)


def test_only_what_never_happens_is_blank() -> None:
    assert strength(0) == 0
    assert strength(1e-9) == 0.05
    assert strength(1) == 1
    assert strength(0.25) == 0.5


@pytest.mark.parametrize(
    ("true", "wide"),
    [([0, 3, 20, 400, 90_000], 1.0), ([2900, 3100], 0.2), ([0, 0], 0.0), ([1], 3.0), ([10**7, 9 * 10**6], 1.0)],
)
def test_estimates_are_whole(true: list[int], wide: float) -> None:
    counts = np.array(true, float)
    reach = wide * 4 * np.sqrt(counts + 1)
    labels = [f"category {k} of a long name & <more>" for k in range(len(true))]
    svg = estimates(labels, counts, counts + 1, counts - reach / 3, counts - reach, counts + reach, "Counts")
    assert_texts_lie_inside(svg)
    root = drawing(svg)
    width = float(root.attrib["viewBox"].split()[2])
    assert len(list(root.iter("circle"))) == len(true)
    assert all(0 <= float(dot.attrib["cx"]) <= width for dot in root.iter("circle"))
    names = [text.text for text in root.iter("text") if text.attrib["text-anchor"] == "middle"]
    assert len(names) >= 2
    assert len(set(names)) == len(names)


def test_marks_of_an_axis_do_not_touch() -> None:
    for low, high in [(0, 7), (-30, 90_000), (2800, 3100), (0, 10**9)]:
        ends = np.array([low, high], float)
        svg = estimates(["a", "b"], ends, ends, ends, ends, ends, "Counts")
        places = [float(text.attrib["x"]) for text in drawing(svg).iter("text") if text.attrib["text-anchor"] == "middle"]
        assert min(np.diff(sorted(places))) >= 60 - 0.2
