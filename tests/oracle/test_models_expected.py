"""Models on the file that is expected: every outcome of randomising is a record, and its chance the weight.

A consistent method gives there what the same model gives on the true file, to the last digit.
"""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import special

from discreet.inference.linear import linear_regression
from discreet.inference.logistic import WAYS, logistic_regression
from discreet.inference.loglinear import loglinear
from discreet.io.microdata import read_microdata
from discreet.model.encoded import encoded
from discreet.model.randomised import PramDocument, Randomised
from discreet.model.released import ReleasedFile, released_counts
from discreet.model.transition import TransitionMatrix

P3 = np.array([[0.8, 0.15, 0.05], [0.1, 0.85, 0.05], [0.2, 0.1, 0.7]])
OTHER = np.array([[0.6, 0.3, 0.1], [0.05, 0.9, 0.05], [0.1, 0.3, 0.6]])
Y = {"r0": np.array([[0.95, 0.05], [0.1, 0.9]]), "r1": np.array([[0.7, 0.3], [0.25, 0.75]])}
BETA = (-0.7, 0.9, -0.6, 0.5)


def true_file() -> pd.DataFrame:
    """All combinations of region r, g, a (numbers 0, 1, 3) and b, where a depends on r and g, and b on a and g."""
    rows = []
    for r, g, a, b in itertools.product(range(2), range(2), range(3), range(2)):
        share = special.softmax([0.5 * g, 0.3 + 1.5 * r, 1.2 * g - 1.8 * r])[a] * (0.6, 0.4)[r] * (0.3, 0.7)[g]
        yes = special.expit(BETA[0] + BETA[1] * (a == 1) + BETA[2] * (a == 2) + BETA[3] * g)
        rows.append((f"r{r}", f"g{g}", "013"[a], f"b{b}", 4_000 * share * (yes if b else 1 - yes), 2.0 + a * a - 3 * b + g * r))
    return pd.DataFrame(rows, columns=["r", "g", "a", "b", "weight", "income"])


def expected(strata_of_a: bool, strata_of_b: bool) -> pd.DataFrame:
    rows = []
    for row in true_file().to_dict("records"):
        k, j = "013".index(row["a"]), int(row["b"][1])
        chances = (OTHER if strata_of_a and row["r"] == "r1" else P3)[k]
        for x, y in itertools.product(range(3), range(2)):
            chance = chances[x] * Y[row["r"] if strata_of_b else "r0"][j, y]
            rows.append({**row, "a": "013"[x], "b": f"b{y}", "weight": row["weight"] * chance})
    return pd.DataFrame(rows)


def released(frame: pd.DataFrame, *variables: Randomised) -> ReleasedFile:
    records = read_microdata(frame)
    counts = []
    for one in variables:
        held = encoded(records, {"own": one.columns, **({"strata": one.strata} if one.strata else {})}).coded
        counts.append(released_counts(one, held["own"], held.get("strata")))
    document = PramDocument(file="r.csv", records=records.rows, variables=variables, released=tuple(counts))
    return ReleasedFile(microdata=records, document=document)


def both(strata_of_a: bool, strata_of_b: bool) -> tuple[ReleasedFile, ReleasedFile]:
    """The true file, and the expected released one."""
    own = [TransitionMatrix.of(["0", "1", "3"], matrix) for matrix in (P3, OTHER)]
    answers = [TransitionMatrix.of(["b0", "b1"], Y[r]) for r in ("r0", "r1")]
    regions = (("r0",), ("r1",))
    a = Randomised(
        columns=("a",),
        matrices=dict(zip(regions, own, strict=True)) if strata_of_a else {(): own[0]},
        strata=("r",) if strata_of_a else (),
    )
    b = Randomised(
        columns=("b",),
        matrices=dict(zip(regions, answers, strict=True)) if strata_of_b else {(): answers[0]},
        strata=("r",) if strata_of_b else (),
    )
    return released(true_file()), released(expected(strata_of_a, strata_of_b), a, b)


STRATA = [(False, False), (True, False), (False, True), (True, True)]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("strata", STRATA)
def test_logistic_regression(way: str, strata: tuple[bool, bool]) -> None:
    _, file = both(*strata)
    fit = logistic_regression(file, "b", ["a", "g"], weight="weight", way=way)
    np.testing.assert_allclose(fit.params, BETA, atol=1e-6)
    assert np.abs(fit.naive - BETA).max() > 0.1


@pytest.mark.parametrize("strata", STRATA)
def test_logistic_regression_on_randomised_numbers(strata: tuple[bool, bool]) -> None:
    true, file = both(*strata)
    ways = [logistic_regression(file, "b", ["a", "g"], numeric="a", weight="weight", way=way).params for way in WAYS]
    plain = logistic_regression(true, "b", ["a", "g"], numeric="a", weight="weight").params
    np.testing.assert_allclose(ways[1], plain, atol=1e-6)  # whether the model is right or not
    assert np.abs(ways[0] - plain).max() < 0.2  # the likelihood needs the model, which is wrong here


@pytest.mark.parametrize("strata", STRATA)
def test_linear_regression_with_interactions_and_randomised_numbers(strata: tuple[bool, bool]) -> None:
    true, file = both(*strata)
    for numeric in ((), ("a",)):
        for pairs in ([("a", "b"), ("a", "g")], [("a", "b", "g")]):
            options = {"numeric": numeric, "interactions": pairs, "weight": "weight"}
            plain = linear_regression(true, "income", ["a", "b", "g", "r"], **options)
            fit = linear_regression(file, "income", ["a", "b", "g", "r"], **options)
            assert fit.names == plain.names
            np.testing.assert_allclose(fit.params, plain.params, atol=1e-8)
            assert fit.facts["R²"] == pytest.approx(plain.facts["R²"])
            assert np.abs(fit.naive - plain.params).max() > 0.1


@pytest.mark.parametrize("strata", STRATA)
def test_a_randomised_number_as_the_response(strata: tuple[bool, bool]) -> None:
    true, file = both(*strata)
    fits = [linear_regression(one, "a", ["b", "g"], weight="weight") for one in (true, file)]
    np.testing.assert_allclose(fits[1].params, fits[0].params, atol=1e-8)


@pytest.mark.parametrize("way", ["likelihood", "minimum-chi-square"])
@pytest.mark.parametrize("strata", STRATA)
def test_loglinear_models(way: str, strata: tuple[bool, bool]) -> None:
    true, file = both(*strata)
    by, terms = ["r", "g", "a", "b"], [("r", "g", "a"), ("a", "b"), ("g", "b")]
    fits = [loglinear(one, by, terms, weight="weight", way=way, coding="treatment") for one in (true, file)]
    np.testing.assert_allclose(fits[1].params, fits[0].params, atol=1e-6)
    assert fits[1].params[fits[1].names.index("a[1]:b[b1]")] == pytest.approx(BETA[1])
