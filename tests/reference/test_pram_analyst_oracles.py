"""The worked numbers of the analyst's half: enumerations, binary cases, aggregation keys, EM, calibration."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from discreet.errors import InputError
from discreet.inference.counts import estimate_counts
from discreet.inference.extra_keys import matched_counts
from discreet.inference.nonnegative import Calibration, em_counts, truncated
from discreet.io.microdata import read_microdata
from discreet.model.encoded import encoded
from discreet.model.randomised import PramDocument, Randomised
from discreet.model.released import ReleasedFile, released_counts
from discreet.model.transition import TransitionMatrix

P3 = np.array([[0.8, 0.15, 0.05], [0.1, 0.85, 0.05], [0.2, 0.1, 0.7]])
P4 = np.array([[0.8, 0.1, 0.05, 0.05], [0.1, 0.8, 0.05, 0.05], [0.15, 0.05, 0.7, 0.1], [0.1, 0.1, 0.2, 0.6]])


def from_counts(counts: np.ndarray, *matrices: np.ndarray) -> ReleasedFile:
    """A released file with these counts, one axis for each matrix; the codes are v0: a, b, …, v1: a, b, …."""
    cells = np.repeat(np.arange(np.size(counts)), np.ravel(counts).astype(int))
    places = np.unravel_index(cells, np.shape(counts))
    letters = np.array(list("abcdefgh"))
    records = read_microdata(pd.DataFrame({f"v{i}": letters[place] for i, place in enumerate(places)}))
    variables = []
    for i, matrix in enumerate(matrices):
        named = TransitionMatrix.of(list(letters[: len(matrix)]), matrix)
        variables.append(Randomised(columns=(f"v{i}",), matrices={(): named}))
    released = [released_counts(one, encoded(records, {"own": one.columns}).coded["own"], None) for one in variables]
    document = PramDocument(file="r.csv", records=records.rows, variables=tuple(variables), released=tuple(released))
    return ReleasedFile(microdata=records, document=document)


def test_all_outcomes_of_six_records() -> None:
    """T = (3, 2, 1): the mean of N, of the estimates and of their estimated covariances, over every outcome."""
    true = np.array([3, 2, 1])
    chance: dict[tuple[int, ...], float] = {}
    for outcome in itertools.product(range(3), repeat=6):
        p = math.prod(P3[k, x] for k, x in zip(np.repeat(range(3), true), outcome, strict=True))
        counts = tuple(np.bincount(outcome, minlength=3).tolist())
        chance[counts] = chance.get(counts, 0.0) + p
    p = np.array(list(chance.values()))
    counts = np.array(list(chance))
    np.testing.assert_allclose(p @ counts, [2.80, 2.25, 0.95], atol=1e-12)
    tables = [estimate_counts(from_counts(np.array(one), P3), ["v0"]) for one in chance]
    found = np.array([table.estimate for table in tables])
    covariances = np.array([table.covariance() for table in tables])
    np.testing.assert_allclose(p @ found, true, atol=1e-12)
    inverse = np.linalg.inv(P3)
    released = np.diag(P3.T @ true) - P3.T @ np.diag(true) @ P3
    formula = inverse.T @ released @ inverse
    exact = (p[:, None] * (found - true)).T @ (found - true)
    np.testing.assert_allclose(exact, formula, atol=1e-13)
    np.testing.assert_allclose(np.einsum("s,sab->ab", p, covariances), formula, atol=1e-13)


@pytest.mark.parametrize(("theta0", "theta1", "variance"), [(0.9, 0.9, 28.125), (0.95, 0.8, 34.8889)])
def test_the_binary_variances(theta0: float, theta1: float, variance: float) -> None:
    """n = 200, T = 90: the variance of the estimator by the mean of N, where its estimate is the variance itself."""
    matrix = np.array([[theta0, 1 - theta0], [1 - theta1, theta1]])
    expected = matrix.T @ [110, 90]
    file = from_counts(np.round(expected), matrix)
    estimates = estimate_counts(file, ["v0"])
    n1, spread = np.round(expected)[1], theta0 + theta1 - 1
    assert estimates.estimate[1] == pytest.approx((n1 - 200 * (1 - theta0)) / spread)
    t = estimates.estimate[1]
    by_hand = (t * theta1 * (1 - theta1) + (200 - t) * theta0 * (1 - theta0)) / spread**2
    assert estimates.variance[1] == pytest.approx(by_hand)
    true = (90 * theta1 * (1 - theta1) + 110 * theta0 * (1 - theta0)) / spread**2
    assert true == pytest.approx(variance, abs=5e-5)
    assert estimates.variance[1] == pytest.approx(variance, rel=0.01)


def test_the_binary_mean() -> None:
    np.testing.assert_allclose(np.array([[0.9, 0.1], [0.1, 0.9]]).T @ [110, 90], [108, 92])
    estimates = estimate_counts(from_counts(np.array([108, 92]), np.array([[0.9, 0.1], [0.1, 0.9]])), ["v0"])
    np.testing.assert_allclose(estimates.estimate, [110, 90])
    np.testing.assert_allclose(estimates.variance, 28.125)
    np.testing.assert_allclose(estimates.error, np.sqrt(28.125))


def test_invariant_matrices_leave_the_estimate_at_the_released_counts() -> None:
    """P02 of the cases: πP = π, column sums 1.18, 1 and .82; the inverse gives π back."""
    matrix = np.array([[0.9, 0.08, 0.02], [0.16, 0.8, 0.04], [0.12, 0.12, 0.76]])
    np.testing.assert_allclose(matrix.sum(axis=0), [1.18, 1.0, 0.82])
    estimates = estimate_counts(from_counts(np.array([60, 30, 10]), matrix), ["v0"])
    np.testing.assert_allclose(estimates.estimate, [60, 30, 10], atol=1e-12)


def test_an_extra_key_goes_on_the_corrected_axis() -> None:
    """Six localities in two regions: with N at its mean the corrected table is exact, the naive one biased."""
    g = np.random.default_rng(6)
    places = 0.7 * np.eye(6) + 0.3 * g.dirichlet(np.ones(6), 6)
    kinds = np.array([[0.9, 0.1], [0.2, 0.8]])
    true = g.integers(1, 9, (2, 6)) * 1.0
    mean = kinds.T @ true @ places
    # the estimator is linear: with the mean of N made of whole records, a million for each, it returns the truth
    scale = 1e4
    file = from_counts(np.round(mean * scale), kinds, places)
    key = dict(zip("abcdef", ["r1", "r2", "r1", "r2", "r1", "r2"], strict=True))
    estimates = matched_counts(file, ["v0", "v1"], "v1", key, name="region")
    member = np.array([[1.0, 0.0], [0.0, 1.0]] * 3)
    assert estimates.by == ("v0", "region")
    np.testing.assert_allclose(estimates.estimate / scale, true @ member, atol=2e-3)
    assert np.abs(estimates.naive / scale - true @ member).max() > 0.3


def test_truncation_lowers_the_error_and_biases_the_mean() -> None:
    """T = (0, 40), θ = .9: mean squared error 5.65 → 3.16 and mean .01 → .94 (simulated there, exact here)."""
    theta, n = 0.9, 40
    matrix = np.array([[theta, 1 - theta], [1 - theta, theta]])
    ks = np.arange(0, 17)  # more than 16 of 40 changed: less than 1e-6
    chance = np.array([math.comb(n, k) * (1 - theta) ** k * theta ** (n - k) for k in ks])
    tables = [estimate_counts(from_counts(np.array([k, n - k]), matrix), ["v0"]) for k in ks]
    plain = np.array([table.estimate[0] for table in tables])
    cut = np.array([truncated(table).estimate[0] for table in tables])
    assert chance @ plain == pytest.approx(0.0, abs=1e-4)
    assert chance @ plain**2 == pytest.approx(5.65, abs=0.05)
    assert chance @ cut**2 == pytest.approx(3.16, abs=0.1)
    assert chance @ cut == pytest.approx(0.94, abs=0.03)
    assert any("biased upwards" in note for note in truncated(tables[0]).notes)


def test_em_equals_the_moments_where_none_is_negative() -> None:
    file = from_counts(np.array([40, 35, 25, 10]), P4)
    np.testing.assert_allclose(em_counts(file, ["v0"]).estimate, [39.378, 36.337, 28.714, 5.571], atol=5e-4)
    np.testing.assert_allclose(em_counts(file, ["v0"]).estimate, estimate_counts(file, ["v0"]).estimate)


def test_em_never_leaves_the_simplex() -> None:
    file = from_counts(np.array([60, 45, 2, 3]), P4)
    moments = estimate_counts(file, ["v0"])
    np.testing.assert_allclose(moments.estimate, [70.32, 48.26, -4.43, -4.14], atol=6e-3)
    assert moments.negative.tolist() == [False, False, True, True]
    found = em_counts(file, ["v0"])
    np.testing.assert_allclose(found.estimate, [65.10, 44.90, 0, 0], atol=6e-3)
    assert found.estimate.sum() == pytest.approx(110)
    assert not any("negative, as unbiased" in note for note in found.notes)


def test_calibration_varies_less_and_gives_the_truth_away() -> None:
    true = np.array([50, 30, 20, 10])
    own = Calibration(TransitionMatrix.of(list("abcd"), P4), true)
    inverse = np.linalg.inv(P4)
    forward = inverse.T @ (np.diag(P4.T @ true) - P4.T @ np.diag(true) @ P4) @ inverse
    np.testing.assert_allclose(np.diag(forward), [30.2, 22.3, 28.9, 29.3], atol=0.06)
    np.testing.assert_allclose(np.diag(own.covariance), [6.8, 5.4, 3.7, 1.7], atol=0.06)
    np.testing.assert_allclose(own.estimate(P4.T @ true), true, atol=1e-12)
    np.testing.assert_allclose(true @ P4 @ own.backward, true, atol=1e-12)  # why it must not be released
    assert "50" not in repr(own)
    with pytest.raises(InputError, match="one true count"):
        Calibration(TransitionMatrix.of(list("abcd"), P4), np.ones(3))
