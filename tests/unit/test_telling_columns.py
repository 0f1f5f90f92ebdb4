"""Columns that stay as they are and give a randomised variable away."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from discreet.io.microdata import read_microdata
from discreet.microdata.protect.pram.apply import Pram, start_pram
from discreet.microdata.protect.pram.full import TypeOne
from discreet.microdata.risk.pram_file import pram_risk
from discreet.microdata.risk.telling_columns import telling_columns
from discreet.model.keys import Secret
from discreet.model.pram_file import PramFile

N = 3_000


def file(*variables: str, **columns: object) -> PramFile:
    chance = np.random.default_rng(4)
    sex = chance.choice(["f", "m"], N)
    frame = {"id": range(N), "sex": sex, "age": chance.integers(0, 90, N).astype(str)}
    begun = start_pram(read_microdata(pd.DataFrame(frame | columns), unit="id"), Secret("a secret that is long enough"))
    for name in variables or ("sex",):
        begun = Pram(columns=(name,), design=TypeOne(keep=0.8)).apply(begun)
    return begun


def sexes() -> np.ndarray:
    return np.random.default_rng(4).choice(["f", "m"], N)


def test_a_label_beside_its_code_tells_everything() -> None:
    (one,) = telling_columns(file(label=np.where(sexes() == "f", "woman", "man")))
    assert (one.variable, one.column, one.seen, one.strength) == ("sex", "label", 1.0, 1.0)
    assert one.blind == pytest.approx(max(np.mean(sexes() == "f"), np.mean(sexes() == "m")))
    warnings = " ".join(pram_risk(file(label=np.where(sexes() == "f", "woman", "man"))).warnings)
    assert "the column 'label', which stays as it is, tells it: 100% of the records" in warnings


def test_shares_are_those_counted_by_hand() -> None:
    sex = sexes()
    hint = np.where(np.arange(N) % 5 == 0, "?", sex)
    (one,) = telling_columns(file(hint=hint))
    counts = pd.crosstab(hint, sex)
    assert one.seen == pytest.approx(counts.max(axis=1).sum() / N)
    assert one.blind == pytest.approx(counts.sum().max() / N)
    assert one.strength == pytest.approx((one.seen - one.blind) / (1 - one.blind))


def test_columns_that_tell_little_or_by_chance_alone_are_no_reason_to_warn() -> None:
    few = [f"v{i // 4}" for i in range(N)]  # four records a value: the larger part of them agrees by chance
    weak = np.where(np.random.default_rng(5).random(N) < 0.3, sexes(), "?")
    assert telling_columns(file(few=few, weak=weak, one="same", each=[f"x{i}" for i in range(N)])) == ()


def test_other_randomised_columns_and_ids_are_not_looked_at() -> None:
    label = np.where(sexes() == "f", "woman", "man")
    assert telling_columns(file("sex", "label", label=label)) == ()


def test_a_variable_of_one_code_has_nothing_to_tell() -> None:
    assert telling_columns(file("flat", flat="a", label=sexes())) == ()
