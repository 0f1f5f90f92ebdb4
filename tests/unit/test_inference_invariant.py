"""Released counts of invariant matrices: enumerations of their mean and variance, and where they are refused."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from discreet.errors import InputError
from discreet.inference.invariant import invariant_counts
from discreet.io.microdata import read_microdata
from discreet.model.encoded import encoded
from discreet.model.randomised import PramDocument, Randomised
from discreet.model.released import ReleasedFile, released_counts
from discreet.model.transition import TransitionMatrix


def released(frame: pd.DataFrame, *variables: Randomised) -> ReleasedFile:
    held = read_microdata(frame)
    counts = []
    for one in variables:
        codes = encoded(held, {"own": one.columns} | ({"strata": one.strata} if one.strata else {})).coded
        counts.append(released_counts(one, codes["own"], codes.get("strata")))
    document = PramDocument(file="r.csv", records=held.rows, variables=variables, released=tuple(counts))
    return ReleasedFile(microdata=held, document=document)


def test_all_outcomes_with_strata_and_a_household() -> None:
    """North: 2 + 1 records, south: a household of two; T and the variances come out on average."""
    north = np.array([[0.9, 0.1], [0.2, 0.8]])  # leaves (2, 1) unchanged
    south = np.array([[0.6, 0.4], [0.8, 0.2]])  # leaves (4, 2) unchanged
    draws = [("n", 0, 1), ("n", 0, 1), ("n", 1, 1), ("s", 0, 2), ("s", 0, 2), ("s", 1, 2)]
    matrices = {("n",): TransitionMatrix.of("ab", north), ("s",): TransitionMatrix.of("ab", south)}
    variable = Randomised(columns=("x",), matrices=matrices, strata=("region",), together="home", invariant="sample")
    region = np.repeat([draw[0] for draw in draws], [draw[2] for draw in draws])
    home = np.repeat(np.arange(6), [draw[2] for draw in draws])
    chances, tables, covariances = [], [], []
    for outcome in itertools.product((0, 1), repeat=6):
        rows = zip(draws, outcome, strict=True)
        chances.append(math.prod((north if r == "n" else south)[k, x] for (r, k, _), x in rows))
        x = np.repeat(np.array(["a", "b"])[list(outcome)], [draw[2] for draw in draws])
        file = released(pd.DataFrame({"x": x, "region": region, "home": home}), variable)
        found = invariant_counts(file, ["region", "x"])
        tables.append(np.ravel(found.estimate))
        covariances.append(found.covariance())
        np.testing.assert_allclose(np.ravel(found.variance), np.maximum(np.diag(covariances[-1]), 0), atol=1e-12)
        np.testing.assert_allclose(invariant_counts(file, ["x"]).estimate, found.estimate.sum(axis=0))
    p, all_tables = np.array(chances), np.array(tables)
    truth = np.array([2.0, 1.0, 4.0, 2.0])
    np.testing.assert_allclose(p @ all_tables, truth, atol=1e-12)
    exact = (p[:, None] * (all_tables - truth)).T @ (all_tables - truth)
    np.testing.assert_allclose(np.einsum("s,sab->ab", p, np.array(covariances)), exact, atol=1e-12)


def test_without_households_the_counts_stand_for_themselves() -> None:
    P = np.array([[0.9, 0.1], [0.2, 0.8]])
    variable = Randomised(columns=("x",), matrices={(): TransitionMatrix.of("ab", P)}, invariant="sample")
    found = invariant_counts(released(pd.DataFrame({"x": list("aaab")}), variable), ["x"])
    assert found.estimate.tolist() == [3, 1]
    np.testing.assert_allclose(found.variance, 3 * 0.09 + 0.16)
    np.testing.assert_allclose(found.covariance(), (3 * 0.09 + 0.16) * np.array([[1, -1], [-1, 1]]))


def test_where_invariance_does_not_hold_it_is_refused() -> None:
    P = TransitionMatrix.of("ab", [[0.9, 0.1], [0.2, 0.8]])
    frame = pd.DataFrame({"x": list("aaab"), "y": list("abab"), "z": list("aabb"), "w": [1.0, 2, 3, 4]})
    x = Randomised(columns=("x",), matrices={(): P}, invariant="sample")
    y = Randomised(columns=("y",), matrices={(): P}, invariant="population")
    z = Randomised(columns=("z",), matrices={(): P})
    file = released(frame, x, y, z)
    for by, weight, words in (
        (["x", "y"], None, "2 randomised variables"),
        (["w"], None, "0 randomised variables"),
        (["z"], None, "not invariant"),
        (["x", "w"], None, "crossing with w"),
        (["x"], "w", "invariant for sample counts"),
        (["y"], None, "invariant for population counts"),
    ):
        with pytest.raises(InputError, match=words):
            invariant_counts(file, by, weight=weight)
    assert invariant_counts(file, ["y"], weight="w").estimate.tolist() == [4.0, 6.0]
