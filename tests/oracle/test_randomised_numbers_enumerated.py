"""Totals of randomised columns whose codes are numbers: all files that could have been released, each with its chance."""

import itertools
from collections.abc import Iterator

import numpy as np
import pandas as pd
import polars as pl
import pytest

from discreet.errors import InputError
from discreet.inference.moments import Moments
from discreet.inference.sums import estimate_means, estimate_ratios, estimate_totals
from discreet.inference.survey import Survey
from discreet.inference.tally import tally
from discreet.io.microdata import read_microdata
from discreet.model.encoded import encoded
from discreet.model.randomised import PramDocument, Randomised
from discreet.model.released import ReleasedFile, released_counts
from discreet.model.transition import TransitionMatrix

P3 = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.15, 0.15, 0.7]])
P2 = np.array([[0.9, 0.1], [0.25, 0.75]])
CHILDREN = {("e",): TransitionMatrix.of(["1", "2"], P2), ("w",): TransitionMatrix.of(["0", "5"], P2[::-1, ::-1])}
SEX = Randomised(columns=("sex",), matrices={(): TransitionMatrix.of(["f", "m"], P2)})


def file_of(frame: pd.DataFrame | pl.DataFrame, *variables: Randomised) -> ReleasedFile:
    records = read_microdata(frame)
    counts = []
    for one in variables:
        held = encoded(records, {"own": one.columns, **({"strata": one.strata} if one.strata else {})}).coded
        counts.append(released_counts(one, held["own"], held.get("strata")))
    document = PramDocument(file="r.csv", records=records.rows, variables=variables, released=tuple(counts))
    return ReleasedFile(microdata=records, document=document)


def outcomes(frame: pd.DataFrame, *variables: Randomised) -> Iterator[tuple[ReleasedFile, float]]:
    """Every released file and its chance; records of a household are changed by one draw."""
    draws = []
    for variable in variables:
        groups = frame[variable.together].tolist() if variable.together else list(range(len(frame)))
        for group in dict.fromkeys(groups):
            rows = [i for i, own in enumerate(groups) if own == group]
            matrix = variable.matrices[tuple(frame.loc[rows[0], list(variable.strata)])]
            true = tuple(frame.loc[rows[0], list(variable.columns)])
            k = matrix.categories.index(true)
            draws.append([(variable, rows, category, matrix.matrix[k, j]) for j, category in enumerate(matrix.categories)])
    for drawn in itertools.product(*draws):
        chance, released = 1.0, frame.copy()
        for variable, rows, category, own in drawn:
            chance *= own
            for column, code in zip(variable.columns, category, strict=True):
                released.loc[rows, column] = code
        if chance > 0:
            yield file_of(released, *variables), chance


def people() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "region": ["e", "e", "w"],
            "children": ["1", "2", "5"],
            "sex": ["f", "m", "f"],
            "home": ["p", "p", "q"],
            "weight": [1.0, 2.5, 1.5],
            "income": [3.0, 4.0, 7.0],
        }
    )


CASES = {
    "by a randomised domain": (["sex"], [Randomised(columns=("children",), matrices=CHILDREN, strata=("region",)), SEX]),
    "by the strata of its matrices": (["region"], [Randomised(columns=("children",), matrices=CHILDREN, strata=("region",))]),
    "in all": ([], [Randomised(columns=("children",), matrices=CHILDREN, strata=("region",))]),
    "by the other column of a compound": (
        ["sex"],
        [
            Randomised(
                columns=("sex", "children"),
                matrices={(): TransitionMatrix.of([("f", "1"), ("f", "5"), ("m", "2")], P3)},
            )
        ],
    ),
    "with another drawn by households": (
        ["flat", "sex"],
        [
            Randomised(columns=("flat",), matrices={(): TransitionMatrix.of(["a", "b"], P2)}, together="home"),
            Randomised(columns=("children",), matrices=CHILDREN, strata=("region",)),
        ],
    ),
    "drawn by households": (
        ["sex"],
        [Randomised(columns=("children",), matrices={(): TransitionMatrix.of(["2", "5"], P2)}, together="home"), SEX],
    ),
}


@pytest.mark.parametrize(("case", "weight"), [*((case, "weight") for case in CASES), ("drawn by households", None)])
def test_totals_and_all_their_covariances_are_unbiased(case: str, weight: str | None) -> None:
    by, variables = CASES[case]
    frame = people().assign(flat=["a", "a", "b"])
    if case == "drawn by households":
        frame["children"] = ["2", "2", "5"]
    g = (frame["weight"] if weight else 1.0) * frame["children"].astype(float)
    mean, second, variance, joint, cross, naive, chances = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for file, chance in outcomes(frame, *variables):
        found = estimate_totals(file, "children", by, weight=weight)
        sums = Moments(tally(file, by, Survey(weight=weight), ("children", "income")))
        total = np.ravel(found.estimate)
        other = np.ravel(sums.total(2))
        chances += chance
        mean, naive = mean + chance * total, naive + chance * np.ravel(found.naive)
        second = second + chance * np.outer(total, total)
        joint = joint + chance * found.covariance()
        variance = variance + chance * np.ravel(sums.covariance(1, 1))
        places = np.arange(total.size)
        cross = cross + chance * np.stack([np.outer(total, other), sums.joint(1, 2, places)])
        np.testing.assert_allclose(np.diag(found.covariance()), np.ravel(sums.covariance(1, 1)), atol=1e-11)
        np.testing.assert_allclose(np.diag(sums.joint(1, 2, places)), np.ravel(sums.covariance(1, 2)), atol=1e-11)
        assert found.axes == tuple(axis for axis in found.axes if axis.columns)
    true = file_of(frame, *variables)
    truth = np.array([g[[all(r[c] == cell[c] for c in by) for _, r in frame.iterrows()]].sum() for cell in found.rows()])
    y = (frame["weight"] if weight else 1.0) * frame["income"]
    other = np.array([y[[all(r[c] == cell[c] for c in by) for _, r in frame.iterrows()]].sum() for cell in found.rows()])
    assert chances == pytest.approx(1)
    np.testing.assert_allclose(mean, truth, atol=1e-11)
    np.testing.assert_allclose(np.ravel(estimate_totals(true, "children", by, weight=weight).naive), truth, atol=1e-11)
    exact = second - np.outer(truth, truth)
    np.testing.assert_allclose(joint, exact, atol=1e-10)
    np.testing.assert_allclose(variance, np.diag(exact), atol=1e-10)
    np.testing.assert_allclose(cross[1], cross[0] - np.outer(truth, other), atol=1e-10)
    assert np.abs(naive - truth).max() > 0.1


def test_a_number_times_its_count_is_the_total_and_means_are_their_ratio() -> None:
    frame = pd.concat([people()] * 40, ignore_index=True)
    frame["rooms"] = np.resize(["1", "3", "4"], 120)
    children = Randomised(columns=("children",), matrices=CHILDREN, strata=("region",))
    rooms = Randomised(columns=("rooms",), matrices={(): TransitionMatrix.of(["1", "3", "4"], P3)})
    file = file_of(frame, children, rooms, SEX)
    counts = tally(file, ["sex", "children"], Survey(weight="weight"))
    table, own = Moments(counts), np.array([float(code) for (code,) in counts.layout.axes[1].categories])
    joint = table.joint(0, 0, np.arange(table.total(0).size))
    to_total, to_count = (np.kron(np.eye(2), one[:, None]) for one in (own, np.ones(len(own))))
    total = estimate_totals(file, "children", "sex", weight="weight")
    mean = estimate_means(file, "children", "sex", weight="weight")
    np.testing.assert_allclose(total.estimate, table.total(0) @ own)
    np.testing.assert_allclose(total.covariance(), to_total.T @ joint @ to_total, rtol=1e-9)
    count = table.total(0).sum(axis=1)
    np.testing.assert_allclose(mean.estimate, total.estimate / count)
    slope = (to_total - to_count * mean.estimate) / count
    np.testing.assert_allclose(mean.covariance(), slope.T @ joint @ slope, rtol=1e-8)
    ratio, rest = estimate_ratios(file, "children", "rooms"), [estimate_totals(file, one) for one in ("children", "rooms")]
    assert float(ratio.estimate) == pytest.approx(float(rest[0].estimate) / float(rest[1].estimate))


def test_the_variance_of_the_design_is_that_of_the_counts() -> None:
    frame = pd.concat([people()] * 40, ignore_index=True)
    frame["cluster"], frame["stratum"] = np.arange(120) // 5, np.arange(120) // 60
    children = Randomised(columns=("children",), matrices=CHILDREN, strata=("region",))
    file, survey = file_of(frame, children, SEX), Survey(weight="weight", cluster="cluster", strata=("stratum",))
    counts = tally(file, ["sex", "children"], survey)
    own = np.array([float(code) for (code,) in counts.layout.axes[1].categories])
    adds = np.kron(np.eye(2), own[:, None])
    expected = adds.T @ Moments(counts).joint(0, 0, np.arange(2 * len(own))) @ adds
    total = estimate_totals(file, "children", "sex", weight="weight", cluster="cluster", design_strata="stratum")
    np.testing.assert_allclose(total.covariance(), expected, rtol=1e-9)
    np.testing.assert_allclose(total.variance, np.diag(expected), rtol=1e-9)


def test_the_order_of_the_file_changes_no_digit() -> None:
    frame = pd.concat([people()] * 40, ignore_index=True)
    frame["weight"], frame["cluster"] = np.random.default_rng(1).uniform(1, 3, 120), np.arange(120) // 5
    variables = Randomised(columns=("children",), matrices=CHILDREN, strata=("region",)), SEX
    files = [file_of(one, *variables) for one in (frame, frame.sample(frac=1, random_state=2), pl.from_pandas(frame))]
    for more in ({}, {"cluster": "cluster"}, {"design_strata": "region"}):
        one, *others = (estimate_means(file, "children", "sex", weight="weight", **more) for file in files)
        for other in others:
            np.testing.assert_array_equal(one.estimate, other.estimate)
            np.testing.assert_array_equal(one.variance, other.variance)


def test_records_without_a_number() -> None:
    codes = ["0", "1", "2", ""]
    frame = pd.DataFrame({"children": np.resize(codes, 40), "region": np.resize(["e", "e", "e", "e", "w"], 40)})
    kept = file_of(frame, Randomised(columns=("children",), matrices={(): TransitionMatrix.of(["0", "1", "2"], P3)}))
    with pytest.raises(InputError, match="10 records have no value"):
        estimate_totals(kept, "children")
    dropped, zero = (estimate_means(kept, "children", on_value=policy) for policy in ("drop", "zero"))
    assert float(dropped.estimate) == pytest.approx(float(zero.estimate) * 40 / 30)
    assert "10 records without a value of children were left out." in dropped.notes
    P4 = np.full((4, 4), 0.1) + np.eye(4) * 0.6
    mixed = file_of(frame, Randomised(columns=("children",), matrices={(): TransitionMatrix.of(codes, P4)}, missing="category"))
    with pytest.raises(InputError, match="10 records have no value"):
        estimate_totals(mixed, "children")
    hidden = file_of(
        frame[frame["children"] != ""],
        Randomised(columns=("children",), matrices={(): TransitionMatrix.of(codes, P4)}, missing="category"),
    )
    with pytest.raises(InputError, match="may have no value"):
        estimate_totals(hidden, "children")
    counts = np.linalg.inv(P4).T @ np.full(4, 10.0)
    expected = counts[:3] @ [0, 1, 2] / counts[:3].sum()
    assert float(estimate_means(mixed, "children", on_value="drop").estimate) == pytest.approx(expected)
    assert float(estimate_totals(mixed, "children", on_value="zero").estimate) == pytest.approx(counts[:3] @ [0, 1, 2])
