"""Columns that stay as they are and give a randomised variable away."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from discreet.errors import InputError
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
    chance = np.random.default_rng(5)
    weak = np.where(chance.random(N) < 0.3, sexes(), chance.choice(["f", "m"], N))
    assert telling_columns(file(few=few, weak=weak, one="same", each=[f"x{i}" for i in range(N)])) == ()


def test_other_randomised_columns_and_ids_are_not_looked_at() -> None:
    label = np.where(sexes() == "f", "woman", "man")
    assert telling_columns(file("sex", "label", label=label)) == ()


def test_a_variable_of_one_code_has_nothing_to_tell() -> None:
    assert telling_columns(file("flat", flat="a", label=sexes())) == ()


# -------------------------------------------------------------------- categories that are given away


def rare_codes() -> np.ndarray:
    chance = np.random.default_rng(8)
    return np.where(np.arange(N) < 12, "hiv", chance.choice(["none", "flu"], N, p=[0.9, 0.1]))


def warned(begun: PramFile, columns: list[str] | None = None) -> str:
    return " ".join(text for text in pram_risk(begun, columns=columns).warnings if "stays as it is" in text)


def test_a_rare_category_given_away_is_told_though_few_records_have_it() -> None:
    health, chance = rare_codes(), np.random.default_rng(9)
    medicine = np.where(health == "hiv", "art", chance.choice(["p", "q", "r"], N))
    begun = file("health", health=health, medicine=medicine)
    (one,) = telling_columns(begun)
    assert one.strength < 0.1
    assert dict(one.given) == {("hiv",): 1.0}
    assert "column 'medicine', which stays as it is, gives some categories away: hiv (100% of its records). Leave it" in warned(
        begun
    )


def test_the_part_of_a_category_that_is_given_away_is_that_counted_by_hand() -> None:
    sex = sexes()
    maiden = np.where((sex == "f") & (np.arange(N) % 3 == 0), "yes", "no")
    (one,) = telling_columns(file(maiden=maiden))
    assert one.given == {("f",): pytest.approx(np.mean(maiden[sex == "f"] == "yes"))}
    some_men = maiden.copy()
    some_men[np.flatnonzero(sex == "m")[:100]] = "yes"  # a sixth of those with "yes": it gives nobody away for sure
    assert telling_columns(file(maiden=some_men)) == ()


def test_few_records_that_agree_by_chance_give_nothing_away() -> None:
    health = rare_codes()
    few = np.array([f"v{i // 6}" for i in np.random.default_rng(3).permutation(N)])  # most values have "none" alone
    assert telling_columns(file("health", health=health, few=few)) == ()
    both = np.where(health == "hiv", np.where(np.arange(N) < 2, "x", "y"), "z")  # two records are too few to tell, ten are not
    (one,) = telling_columns(file("health", health=health, both=both))
    assert one.given == {("hiv",): pytest.approx(10 / 12)}


def test_a_compound_variable_is_told_by_the_codes_of_all_its_columns() -> None:
    health = rare_codes()
    frame = pd.DataFrame({"id": range(N), "sex": sexes(), "health": health, "hint": np.where(health == "hiv", sexes(), "-")})
    begun = start_pram(read_microdata(frame, unit="id"), Secret("a secret that is long enough"))
    begun = Pram(columns=("sex", "health"), design=TypeOne(keep=0.8)).apply(begun)
    assert "f / hiv (100% of its records)" in warned(begun)


def test_records_whose_empty_codes_stay_empty_have_nothing_to_tell() -> None:
    child = np.arange(N) % 5 < 2
    job = np.where(child, "", np.random.default_rng(2).choice(["a", "b", "c"], N))
    kept = file("job", job=job, child=child.astype(int))
    assert telling_columns(kept) == ()
    begun = Pram(columns=("job",), design=TypeOne(keep=0.8), missing="category").apply(
        start_pram(kept.microdata, Secret("a secret that is long enough"))
    )
    (one,) = telling_columns(begun)
    assert (one.column, dict(one.given)) == ("child", {("",): 1.0})
    assert "(empty) (100% of its records)" in warned(begun)


def test_only_columns_that_are_released_are_looked_at() -> None:
    label = np.where(sexes() == "f", "woman", "man")
    begun = file(label=label)
    assert "'label'" in warned(begun)
    assert warned(begun, ["sex", "age"]) == ""
    with pytest.raises(InputError, match="no column 'lable' for the release"):
        pram_risk(begun, columns=["lable"])


def test_a_stratum_that_tells_is_mended_in_another_way() -> None:
    area = np.where(sexes() == "f", np.where(np.arange(N) % 4 == 0, "w", "x"), np.where(np.arange(N) % 4 == 0, "x", "y"))
    begun = start_pram(
        read_microdata(pd.DataFrame({"id": range(N), "sex": sexes(), "area": area}), unit="id"),
        Secret("a secret that is long enough"),
    )
    text = warned(Pram(columns=("sex",), within=("area",), design=TypeOne(keep=0.8)).apply(begun))
    assert text.endswith("Make it coarser, or take other strata.")


def test_order_of_records_does_not_change_what_is_told() -> None:
    frame = pd.DataFrame(
        {"id": range(N), "sex": sexes(), "x": np.where(sexes() == "f", "w", np.where(np.arange(N) % 3, "u", "w"))}
    )
    told = []
    for one in (frame, frame.sample(frac=1, random_state=3)):
        begun = start_pram(read_microdata(one, unit="id"), Secret("a secret that is long enough"))
        told.append(telling_columns(Pram(columns=("sex",), design=TypeOne(keep=0.8)).apply(begun)))
    assert told[0] == told[1] != ()
