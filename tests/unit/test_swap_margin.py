"""Swapping with fixed margins: which side moves, what travels, orders, edits, larger swaps, the rate, and what is refused."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from discreet.errors import InputError, ParameterError
from discreet.io.microdata import read_microdata
from discreet.microdata.protect.swap import choose
from discreet.microdata.protect.swap.margin import MarginSwap
from discreet.microdata.protect.swap.start import start_swap
from discreet.model.keys import Secret
from discreet.model.margins import Margins
from discreet.model.swap_file import SwapFile

SECRET = Secret("a secret of a test, for nothing else")
PAIRS = (("a", "b"), ("b", "c"), ("a", "c"))


def started(frame: pd.DataFrame, secret: Secret = SECRET) -> SwapFile:
    return start_swap(read_microdata(frame.assign(id=np.arange(len(frame))), unit="id"), secret)


def rows(*texts: str) -> pd.DataFrame:
    """One record a text, one variable a letter."""
    return pd.DataFrame([list(text) for text in texts], columns=list("abcdef")[: len(texts[0])])


def swapped(frame: pd.DataFrame, secret: Secret = SECRET, **wishes: Any) -> tuple[SwapFile, pd.DataFrame]:
    """The file after one swap, and its columns in the order of the frame."""
    file = MarginSwap(**wishes).apply(started(frame, secret))
    return file, released(file, list(frame))


def released(file: SwapFile, columns: list[str]) -> pd.DataFrame:
    texts = {}
    for column, held in zip(columns, file.coded(columns), strict=True):
        texts[column] = np.array([category[0] for category in held.categories], object)[held.codes][np.argsort(file.rows)]
    return pd.DataFrame(texts)


def census(n: int, seed: int = 4) -> pd.DataFrame:
    chance = np.random.default_rng(seed)
    sizes = {"a": 4, "b": 3, "c": 5, "d": 6}
    return pd.DataFrame({name: chance.integers(0, size, n).astype(str) for name, size in sizes.items()})


CENSUS: dict[str, Any] = {
    "variables": ("a", "b", "c", "d"),
    "margins": (("a", "b"), ("b", "c"), ("d",)),
    "keys": ("a", "c", "d"),
}


def test_two_records_exchange_what_no_margin_holds_together() -> None:
    file, now = swapped(rows("000", "111"), variables=("a", "b", "c"), margins=(("a", "b"),), keys=("a", "c"))
    assert now.to_numpy().tolist() == [["0", "0", "1"], ["1", "1", "0"]]
    step = file.steps[-1]
    assert (step.method, step.columns) == ("margin-swap", ("c",))
    assert step.margins == Margins.of(("a", "b", "c"), [("a", "b")])
    assert step.facts == {
        "records": 2,
        "risky records": 2,
        "risky records changed": 2,
        "risky records that no swap can change": 0,
        "risky records without an allowed swap": 0,
        "risky records undecided in time": 0,
        "risky records whose partners others took": 0,
        "rare combinations of keys": 2,
        "rare combinations of keys that still occur": 0,
        "records changed": 2,
        "values changed": 2,
    }


def test_what_stays_decides_which_side_moves_and_columns_travel_with_their_variable() -> None:
    frame = rows("000", "111").assign(label=["first", "second"], detail=["c of first", "c of second"], more=["x", "y"])
    wishes: dict[str, Any] = {"variables": ("a", "b", "c"), "margins": (("a", "b"),), "keys": ("a", "c")}
    _, now = swapped(frame, **wishes, travel={"detail": "c", "more": "a"})
    assert now["c"].tolist() == ["1", "0"]
    assert now["detail"].tolist() == ["c of second", "c of first"]
    assert now["more"].tolist() == ["x", "y"]
    file, now = swapped(frame, **wishes, stay=("c",), travel={"detail": "c", "more": "a"})
    assert now[["a", "b", "c"]].to_numpy().tolist() == [["1", "1", "0"], ["0", "0", "1"]]
    assert now["label"].tolist() == ["first", "second"]
    assert now["detail"].tolist() == ["c of first", "c of second"]
    assert now["more"].tolist() == ["y", "x"]
    assert set(file.origin) == {"a", "b", "more"}
    assert file.steps[-1].columns == ("a", "b", "more")


def test_the_largest_distance_moves_the_larger_side() -> None:
    _, now = swapped(rows("000", "111"), variables=("a", "b", "c"), margins=(("a", "b"),), keys=("a", "c"), distance="most")
    assert now.to_numpy().tolist() == [["1", "1", "0"], ["0", "0", "1"]]


def test_keys_are_broken_up_or_records_changed_in_any_way() -> None:
    frame = rows("000", "110", "001", "111", "001", "111")
    wishes: dict[str, Any] = {"variables": ("a", "b", "c"), "margins": (("a", "b"),), "keys": ("a", "b")}
    file = MarginSwap(**wishes, at_most=3).apply(started(frame))
    assert file.steps[-1].facts["risky records without an allowed swap"] == 6  # no margin may be broken up, nor the keys
    file = MarginSwap(**wishes, at_most=3, effect="any").apply(started(frame))
    assert file.steps[-1].facts["risky records changed"] > 0


def test_ordered_codes_take_the_nearest_or_the_farthest_partner() -> None:
    frame = rows("00", "12", "15", "19", "12", "15", "19")
    wishes: dict[str, Any] = {"variables": ("a", "b"), "margins": (), "keys": ("a", "b"), "stay": ("a",)}
    for order in ("numbers", list("0123456789")):
        for distance, code in (("least", "2"), ("most", "9")):
            _, now = swapped(frame, **wishes, order={"b": order}, distance=distance)
            assert now["b"][0] == code
    _, now = swapped(frame, **wishes, order={"b": list("1590234678")})
    assert now["b"][0] == "9"


def test_an_empty_code_has_no_place_in_an_order() -> None:
    frame = pd.DataFrame({"a": ["0", "1", "1", "1", "1"], "b": ["0", "", "8", "", "8"]})
    _, now = swapped(frame, variables=("a", "b"), margins=(), keys=("a", "b"), stay=("a",), order={"b": "numbers"})
    assert now["b"][0] in ("8", "")  # both are at the largest distance


def test_edits_choose_another_partner_or_forbid_all() -> None:
    frame = rows("00", "12", "15", "12", "15")
    wishes: dict[str, Any] = {"variables": ("a", "b"), "margins": (), "keys": ("a", "b"), "stay": ("a",)}
    for code, other in (("2", "5"), ("5", "2")):
        _, now = swapped(frame, **wishes, forbid=({"a": "0", "b": code},))
        assert now["b"][0] == other
    file, now = swapped(frame, **wishes, forbid=({"a": "0", "b": ["2", "5"]},))
    assert now.equals(frame)
    assert file.origin == {}
    assert file.steps[-1].facts["risky records without an allowed swap"] == 1
    # whoever breaks an edit before may go on doing so
    _, now = swapped(frame, **wishes, forbid=({"a": "0"},))
    assert now["b"][0] in ("2", "5")


def test_four_records_change_together_where_no_pair_and_no_three_can() -> None:
    four = rows("111", "122", "221", "212")
    wishes: dict[str, Any] = {"variables": ("a", "b", "c"), "margins": PAIRS, "keys": ("a", "b", "c")}
    for most, changed in ((2, 0), (3, 0), (4, 4)):
        file, now = swapped(four, **wishes, records=most)
        facts = file.steps[-1].facts
        assert facts["risky records changed"] == changed
        assert facts["risky records without an allowed swap"] == 4 - changed
    assert sorted(map("".join, now.to_numpy().tolist())) == ["112", "121", "211", "222"]
    assert ((now != four).sum(axis=1) == 1).all()  # one value of each
    for stay in "abc":
        file, now = swapped(four, **wishes, records=4, stay=(stay,))
        assert now[stay].equals(four[stay])
        assert file.steps[-1].facts["risky records changed"] == 4


@pytest.mark.parametrize("removed", range(4))
def test_what_the_margins_prove_is_told(removed: int) -> None:
    file, _ = swapped(
        rows("111", "122", "221", "212").drop(removed).reset_index(drop=True),
        variables=("a", "b", "c"),
        margins=PAIRS,
        keys=("a", "b", "c"),
        records=12,
    )
    assert file.steps[-1].facts["risky records that no swap can change"] == 3
    assert file.origin == {}


def test_larger_swaps_keep_to_edits_and_run_out_of_time() -> None:
    four = rows("111", "122", "221", "212")
    wishes: dict[str, Any] = {"variables": ("a", "b", "c"), "margins": PAIRS, "keys": ("a", "b", "c"), "records": 4}
    file, _ = swapped(four, **wishes, forbid=({"a": "2", "b": "2", "c": "2"},))
    assert file.steps[-1].facts["risky records without an allowed swap"] == 4
    file, _ = swapped(four, **wishes, forbid=({"a": "2", "b": "2", "c": "1"},))  # which one record is, and none becomes
    assert file.steps[-1].facts["risky records changed"] == 4
    file, _ = swapped(four, **wishes, seconds=1e-9)
    assert file.steps[-1].facts["risky records undecided in time"] == 4


def test_all_risky_records_of_a_file_change_and_few_others() -> None:
    frame = census(600)
    file, now = swapped(frame, **CENSUS)
    facts = file.steps[-1].facts
    assert facts["risky records"] == facts["risky records changed"] == 5
    assert facts["records changed"] <= 2 * facts["risky records"]
    for margin in (["a", "b"], ["b", "c"], ["d"]):
        assert frame.value_counts(margin).sort_index().equals(now.value_counts(margin).sort_index())
    one, _ = swapped(frame, **CENSUS, candidates=1)
    assert one.steps[-1].facts["risky records changed"] == facts["risky records"]


def test_risky_records_are_paired_with_each_other_first() -> None:
    frame = census(600)
    file, _ = swapped(frame, **CENSUS, at_most=3, candidates=300)
    facts = file.steps[-1].facts
    assert facts["risky records"] == facts["risky records changed"] > 40
    assert facts["records changed"] < 1.2 * facts["risky records"]


def test_records_are_chosen_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = census(600)
    whole, _ = swapped(frame, **CENSUS, at_most=2)
    monkeypatch.setattr(choose, "BLOCK", 3)
    parts, _ = swapped(frame, **CENSUS, at_most=2)
    assert parts.steps[-1].facts["risky records changed"] == whole.steps[-1].facts["risky records changed"] > 20


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.77])
def test_further_records_swap_until_the_rate_is_met(rate: float) -> None:
    frame = census(500)
    file, now = swapped(frame, **CENSUS, rate=rate)
    changed = int((now != frame).any(axis=1).sum())
    assert file.steps[-1].facts["records changed"] == changed
    if rate:
        assert file.steps[-1].facts["records to change"] == round(rate * 500)
        assert round(rate * 500) <= changed <= round(rate * 500) + 1


def test_a_rate_that_cannot_be_met_is_told() -> None:
    frame = rows("00", "11", *["22"] * 8)
    file, _ = swapped(frame, variables=("a", "b"), margins=(), rate=1.0, effect="any")
    facts = file.steps[-1].facts
    assert facts["records to change"] == 10
    assert facts["records changed"] == 4
    assert "risky records" not in facts
    file, _ = swapped(frame, variables=("a", "b"), margins=(("a", "b"),), rate=0.5, effect="any")
    assert file.steps[-1].facts["records changed"] == 0
    assert file.origin == {}


def test_secret_and_step_draw_other_pairs_and_nothing_else_does() -> None:
    frame = census(400)
    _, now = swapped(frame, **CENSUS, rate=0.4)
    again, same = swapped(frame, **CENSUS, rate=0.4)
    assert now.equals(same)
    assert not now.equals(swapped(frame, Secret("another secret of a test, for nothing"), **CENSUS, rate=0.4)[1])
    twice = MarginSwap(**CENSUS, rate=0.4).apply(again)
    assert [step.method for step in twice.steps] == ["margin-swap"] * 2
    assert not released(twice, list(frame)).equals(frame)
    assert twice.steps[-1].facts["records changed"] >= 160


@pytest.mark.parametrize(
    ("wishes", "told"),
    [
        ({"variables": ("a",)}, r"margin-swap\.variables: takes 2 to 62 columns"),
        ({"variables": ("a", "a", "c", "d")}, r"margin-swap\.variables: names a column twice"),
        ({"keys": ("a", "x")}, r"margin-swap\.keys: 'x' is not among the variables"),
        ({"stay": ("bb",)}, r"margin-swap\.stay: 'bb' is not among the variables \(did you mean 'b'\?\)"),
        ({"order": {"z": "numbers"}}, r"margin-swap\.order: 'z' is not among"),
        ({"travel": {"x": "z"}}, r"margin-swap\.travel: 'z' is not among"),
        ({"travel": {"b": "a"}}, r"margin-swap\.travel: 'b' is a variable"),
        ({"margins": (("a", "x"),)}, r"margin-swap\.margins: margin 'a', 'x' no variable 'x'"),
        ({"keys": ()}, r"margin-swap: no record is to be swapped"),
        ({"keys": ("a",)}, r"margin-swap\.effect: a combination of fewer than two keys"),
        ({"records": 1}, r"margin-swap\.records: must be at least 2"),
        ({"rate": 1.2}, r"margin-swap\.rate: must be"),
        ({"distance": "some"}, r"margin-swap\.distance: 'some' is not one of least, most"),
    ],
)
def test_a_wish_that_cannot_be_is_refused(wishes: dict[str, Any], told: str) -> None:
    with pytest.raises(ParameterError, match=told):
        MarginSwap(**CENSUS | wishes)


@pytest.mark.parametrize(
    ("wishes", "kind", "told"),
    [
        ({"variables": ("a", "b", "c", "dd"), "keys": ("a", "c"), "margins": ()}, InputError, "'dd'"),
        (
            {"variables": ("a", "b", "c", "id"), "keys": ("a", "c"), "margins": ()},
            InputError,
            "'id': is part of the records' id",
        ),
        ({"travel": {"id": "a"}}, InputError, "'id': is part of the records' id"),
        ({"travel": {"nowhere": "a"}}, InputError, "nowhere"),
        ({"forbid": ("a",)}, ParameterError, "edit 1: is no table of codes"),
        ({"forbid": ({"a": "1"}, {})}, ParameterError, "edit 2: is no table of codes"),
        ({"forbid": ({"x": "1"},)}, ParameterError, "'x' is not among the variables"),
        ({"forbid": ({"a": ["1", "17"]},)}, ParameterError, "'a' never is '17'"),
        ({"forbid": ({"a": []},)}, ParameterError, "names no code"),
        ({"order": {"c": ["0", "1", "2"]}}, ParameterError, r"does not list the codes '3', '4' of 'c'"),
        ({"order": {"c": ["0", "1", "1"]}}, ParameterError, r"lists a code of 'c' twice"),
        ({"order": {"c": "ages"}}, ParameterError, r"takes a list of the codes of 'c' in order, or 'numbers'"),
    ],
)
def test_what_the_file_does_not_have_is_refused(wishes: dict[str, Any], kind: type[Exception], told: str) -> None:
    with pytest.raises(kind, match=told):
        MarginSwap(**CENSUS | wishes).apply(started(census(30)))


@pytest.mark.parametrize("code", ["low", "inf", "nan5"])
def test_an_order_of_numbers_needs_numbers(code: str) -> None:
    frame = census(30)
    frame.loc[3, "c"] = code
    with pytest.raises(ParameterError, match=r"codes that are no (finite )?numbers"):
        MarginSwap(**CENSUS, order={"c": "numbers"}).apply(started(frame))
