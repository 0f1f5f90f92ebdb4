"""Models on released files against brute force: all files that could have been released, and likelihoods written out."""

import itertools

import numpy as np
import pytest
from scipy import optimize, special

from discreet.inference.cells import cells_of
from discreet.inference.design import Column, columns_of, indicator, terms_of
from discreet.inference.linear import _Moments, regress
from discreet.inference.logistic import _score, classify
from discreet.inference.patterns import gathered, latent_factors
from discreet.inference.pseudo import Factor, Observed
from discreet.model.encoded import Coded
from discreet.model.randomised import Randomised
from discreet.model.transition import TransitionMatrix

P3 = np.array([[0.8, 0.15, 0.05], [0.1, 0.85, 0.05], [0.2, 0.1, 0.7]])
P2 = np.array([[0.9, 0.1], [0.2, 0.8]])
A, B, C = [("a0",), ("a1",), ("a2",)], [("b0",), ("b1",)], [("u0", "v0"), ("u0", "v1"), ("u1", "v0")]
MATRICES = {("a",): (A, P3), ("b",): (B, P2), ("u", "v"): (C, P3[::-1, ::-1])}


def factor(columns: tuple[str, ...], codes: object, *, certain: bool = False) -> Factor:
    categories, matrix = MATRICES[columns]
    own = Coded(tuple(categories), np.asarray(codes, np.int32))
    variable = Randomised(columns=columns, matrices={(): TransitionMatrix(tuple(categories), matrix)})
    found = Factor.randomised(variable, own, None)
    if certain:  # the same categories, all known for sure
        unit = np.eye(len(categories))[own.codes]
        rows, stratum = np.arange(len(unit)), np.zeros(len(unit), np.int64)
        return Factor(
            columns=columns, categories=tuple(categories), codes=rows, pseudo=unit, chance=unit, plain=unit, stratum=stratum
        )
    return found


def file(codes: object, numbers: dict[str, np.ndarray], weight: np.ndarray, *, certain: bool = False) -> Observed:
    factors = tuple(factor(columns, row, certain=certain) for columns, row in zip(MATRICES, np.asarray(codes), strict=True))
    return Observed(factors=factors, numbers=numbers, records=len(weight), weight=weight)


def released_files(true: np.ndarray):
    """Every released file of two records, with its probability."""
    for cells in itertools.product(range(3), range(2), range(3), repeat=2):
        released = np.array(cells).reshape(2, 3).T
        chance = 1.0
        for (_, matrix), own, other in zip(MATRICES.values(), true, released, strict=True):
            chance *= matrix[own, other].prod()
        yield released, chance


TRUE = np.array([[0, 2], [1, 0], [1, 2]])
NUMBERS = {"z": np.array([0.7, -1.3]), "y": np.array([2.0, 5.0])}
WEIGHT = np.array([1.5, 2.0])
TERMS = terms_of(
    ["a", "b", "u", "v", "z"], ["z"], [("a", "b"), ("a", "z"), ("b", "u"), ("u", "v"), ("a", "b", "z"), ("z", "z")]
)


@pytest.mark.parametrize("response", ["number", "randomised", "part of the compound"])
def test_the_normal_equations_are_unbiased(response: str) -> None:
    # 324 files: the mean of the estimated sums is the true one, for interactions and parts of a compound variable too
    truth = file(TRUE, NUMBERS, WEIGHT, certain=True)
    columns, notes = columns_of(truth, TERMS)
    answer = {
        "number": Column(name="y", numbers=("y",)),
        "randomised": indicator(truth, "a", "a1"),
        "part of the compound": indicator(truth, "v", "v1"),
    }[response]
    assert [column.name for column in columns][-3:] == ["a[a1]:b[b1]:z", "a[a2]:b[b1]:z", "z:z"]
    assert "u[u1]:v[v1]" in notes[0]
    mean, chances = 0.0, 0.0
    for codes, chance in released_files(TRUE):
        chances += chance
        mean = mean + chance * _Moments.of(file(codes, NUMBERS, WEIGHT), [*columns, answer]).total()
    assert chances == pytest.approx(1)
    true = _Moments.of(truth, [*columns, answer]).total()
    Z = np.stack([column.released(truth, range(3)) for column in [*columns, answer]], axis=1)
    np.testing.assert_allclose(true, (Z.T * WEIGHT) @ Z, atol=1e-12)
    np.testing.assert_allclose(mean, true, atol=1e-12)


def test_a_block_of_one_variable_is_diagonal() -> None:
    # the rule of the source: products of two pseudo-indicators of one variable are 0, or the indicator itself
    observed = file([[0, 1, 2, 1], [0, 1, 1, 0], [0, 0, 2, 1]], {}, np.ones(4))
    columns, _ = columns_of(observed, [("a",)])
    total = _Moments.of(observed, columns).total()
    sums = np.linalg.inv(P3)[[0, 1, 2, 1]].sum(axis=0)
    np.testing.assert_allclose(total, [[4, sums[1], sums[2]], [sums[1], sums[1], 0], [sums[2], 0, sums[2]]], atol=1e-12)


@pytest.mark.parametrize("response", ["b", "v"])
def test_the_corrected_score_is_unbiased(response: str) -> None:
    truth = file(TRUE, NUMBERS, WEIGHT, certain=True)
    columns, _ = columns_of(truth, terms_of(["a", "u", "z"], ["z"], [("a", "z"), ("a", "u")]))
    answer, beta = indicator(truth, response, None), np.linspace(-0.5, 0.6, len(columns))
    score, slope = 0.0, 0.0
    for codes, chance in released_files(TRUE):
        observed = file(codes, NUMBERS, WEIGHT)
        found = _score(gathered(observed, columns, answer, latent_factors(observed, columns)), beta)
        score, slope = score + chance * found[0], slope + chance * found[1]
    Z = np.stack([column.released(truth, range(3)) for column in columns], axis=1)
    y, mean = answer.released(truth, range(3)), special.expit(Z @ beta)
    np.testing.assert_allclose(score, Z.T @ (WEIGHT * (y - mean)), atol=1e-12)
    np.testing.assert_allclose(slope, (Z.T * (WEIGHT * mean * (1 - mean))) @ Z, atol=1e-12)


def test_the_covariance_of_cells_is_that_of_multinomial_draws() -> None:
    # T̂ of a crossing: P⁻ᵀ diag(N) P⁻¹ with the joint matrix, here made in full
    rng = np.random.default_rng(3)
    codes = np.stack([rng.integers(0, 3, 200), rng.integers(0, 2, 200), rng.integers(0, 3, 200)])
    cells = cells_of(file(codes, {}, np.ones(200)), ["b", "a"])
    table = np.zeros((2, 3))
    np.add.at(table, (codes[1], codes[0]), 1)
    inverse = np.linalg.inv(np.kron(P2, P3))
    order = [cells.codes.index((f"b{b}", f"a{a}")) for b in range(2) for a in range(3)]
    np.testing.assert_allclose(cells.estimated[order], table.ravel() @ inverse, atol=1e-9)
    expected = inverse.T @ np.diag(table.ravel()) @ inverse
    np.testing.assert_allclose(cells.covariance[np.ix_(order, order)], expected, atol=1e-8)


def hessian(function, at: np.ndarray) -> np.ndarray:
    step, size = 1e-4, len(at)
    unit = np.eye(size) * step
    return np.array(
        [
            [
                (
                    function(at + unit[i] + unit[j])
                    - function(at + unit[i] - unit[j])
                    - function(at - unit[i] + unit[j])
                    + function(at - unit[i] - unit[j])
                )
                / (4 * step**2)
                for j in range(size)
            ]
            for i in range(size)
        ]
    )


@pytest.fixture(scope="module")
def survey() -> dict[str, np.ndarray]:
    """True a, g and b, with a dependent on g and b on both; then what is released of them."""
    rng, n = np.random.default_rng(11), 1500
    g = rng.integers(0, 2, n)
    a = np.where(g == 1, rng.choice(3, n, p=[0.2, 0.3, 0.5]), rng.choice(3, n, p=[0.5, 0.3, 0.2]))
    b = (rng.random(n) < special.expit(-0.8 + 0.9 * (a == 1) + 1.4 * (a == 2) + 0.5 * g)).astype(int)
    move = {name: (rng.random(n)[:, None] > P.cumsum(axis=1)[own]).sum(axis=1) for name, own, P in (("a", a, P3), ("b", b, P2))}
    return {"g": g, "a": a, "b": b, "x": move["a"], "y": move["b"], "z": rng.normal(size=n)}


def observed_of(
    a: object, b: object, survey: dict[str, np.ndarray], *, certain: tuple[bool, bool] = (False, False)
) -> Observed:
    g = Factor.certain(("g",), Coded((("g0",), ("g1",)), survey["g"].astype(np.int32)))
    first, second = factor(("a",), a, certain=certain[0]), factor(("b",), b, certain=certain[1])
    return Observed(factors=(first, second, g), numbers={"z": survey["z"]}, records=len(survey["g"]))


@pytest.mark.parametrize("covariates_too", [False, True])
def test_the_likelihood_is_that_written_out(survey: dict[str, np.ndarray], covariates_too: bool) -> None:
    # coefficients and errors against scipy's optimum and a numerical Hessian of the likelihood of the released file
    x = survey["x"] if covariates_too else survey["a"]
    observed = observed_of(x, survey["y"], survey, certain=(not covariates_too, False))
    columns, _ = columns_of(observed, [("a",), ("g",)])
    fit = classify(observed, columns, indicator(observed, "b", None))
    chance = P3 if covariates_too else np.eye(3)

    def negative(values: np.ndarray) -> float:
        beta, shares = values[:4], special.softmax(np.column_stack([values[4:].reshape(2, 2), np.zeros(2)]), axis=1)
        total = 0.0
        for g, a, y in itertools.product(range(2), range(3), range(2)):
            n = int(((survey["g"] == g) & (x == a) & (survey["y"] == y)).sum())
            mean = special.expit(beta[0] + beta[1] * (np.arange(3) == 1) + beta[2] * (np.arange(3) == 2) + beta[3] * g)
            total += n * np.log(shares[g] @ (chance[:, a] * (mean * P2[1, y] + (1 - mean) * P2[0, y])))
        return -total

    best = optimize.minimize(negative, np.zeros(8), method="BFGS", options={"gtol": 1e-4})
    np.testing.assert_allclose(fit.params, best.x[:4], atol=2e-4)
    errors = np.sqrt(np.diag(np.linalg.inv(hessian(negative, np.concatenate([fit.params, best.x[4:]]))))[:4])
    np.testing.assert_allclose(fit.bse, errors, rtol=2e-3)
    if covariates_too:
        assert fit.facts["log lik"] == pytest.approx(-best.fun, abs=1e-6)


def test_nothing_randomised_is_plain_regression(survey: dict[str, np.ndarray]) -> None:
    observed = observed_of(survey["a"], survey["b"], survey, certain=(True, True))
    columns, _ = columns_of(observed, terms_of(["a", "g", "z"], ["z"], [("a", "z")]))
    Z = np.stack([column.released(observed, range(3)) for column in columns], axis=1)
    y = survey["z"] ** 2 + survey["a"]
    line = regress(
        Observed(factors=observed.factors, numbers={**observed.numbers, "y": y}, records=len(y)),
        columns,
        Column(name="y", numbers=("y",)),
    )
    beta = np.linalg.lstsq(Z, y)[0]
    scores, inverse = Z * (y - Z @ beta)[:, None], np.linalg.inv(Z.T @ Z)
    np.testing.assert_allclose(line.params, beta, atol=1e-10)
    np.testing.assert_allclose(line.naive, beta, atol=1e-10)
    np.testing.assert_allclose(line.cov, inverse @ scores.T @ scores @ inverse, atol=1e-12)
    assert line.facts["R²"] == pytest.approx(1 - ((y - Z @ beta) ** 2).sum() / ((y - y.mean()) ** 2).sum())

    def negative(values: np.ndarray) -> float:
        return float(np.logaddexp(0, (1 - 2 * survey["b"]) * (Z @ values)).sum())

    best = optimize.minimize(negative, np.zeros(Z.shape[1]), method="BFGS", options={"gtol": 1e-4})
    mean = special.expit(Z @ best.x)
    information = (Z.T * (mean * (1 - mean))) @ Z
    for way in ("likelihood", "corrected-score"):
        fit = classify(observed, columns, indicator(observed, "b", None), way)
        np.testing.assert_allclose(fit.params, best.x, atol=1e-4)
        np.testing.assert_allclose(fit.naive, best.x, atol=1e-4)
        if way == "likelihood":
            np.testing.assert_allclose(fit.cov, np.linalg.inv(information), rtol=1e-4, atol=1e-8)
