"""Models on released files over many releases: oracles B7, B8 and B9 of the specification, with bias and coverage."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import special

from discreet.inference.cells import cells_of
from discreet.inference.design import Column, columns_of, indicator, terms_of
from discreet.inference.fit import Fit, p_value
from discreet.inference.independence import IndependenceTest, _kept, _pearson, _wald
from discreet.inference.linear import regress
from discreet.inference.logistic import classify
from discreet.inference.loglinear import _by_chi_square, _by_likelihood
from discreet.inference.pseudo import Factor, Observed
from discreet.model.encoded import Coded
from discreet.model.randomised import Randomised
from discreet.model.transition import TransitionMatrix

P4 = np.array([[0.8, 0.1, 0.05, 0.05], [0.1, 0.8, 0.05, 0.05], [0.15, 0.05, 0.7, 0.1], [0.1, 0.1, 0.2, 0.6]])
P2 = np.array([[0.9, 0.1], [0.2, 0.8]])
RELEASES = 300


def move(rng: np.random.Generator, true: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    return (rng.random(len(true))[:, None] > matrix.cumsum(axis=1)[true]).sum(axis=1)


def factor(name: str, codes: np.ndarray, matrix: np.ndarray | None = None) -> Factor:
    size = int(codes.max()) + 1 if matrix is None else len(matrix)
    own = Coded(tuple((str(k),) for k in range(size)), codes.astype(np.int32))
    if matrix is None:
        return Factor.certain((name,), own)
    names = [str(k) for k in range(size)]
    return Factor.randomised(Randomised(columns=(name,), matrices={(): TransitionMatrix.of(names, matrix)}), own, None)


def over(releases: Callable[[], Fit], times: int = RELEASES) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    fits = [releases() for _ in range(times)]
    return np.array([fit.params for fit in fits]), np.array([fit.bse for fit in fits]), np.array([fit.naive for fit in fits])


def assert_right(params: np.ndarray, errors: np.ndarray, true: np.ndarray) -> None:
    """No bias beyond chance, and intervals that hold the truth as often as they say."""
    spread = params.std(axis=0)
    assert (np.abs(params.mean(axis=0) - true) < 3.5 * spread / np.sqrt(len(params))).all()
    covered = (np.abs(params - true) < 1.96 * errors).mean(axis=0)
    assert (covered > 0.90).all()
    assert 0.935 < covered.mean() < 0.97


def test_b7_linear_regression() -> None:
    # one file, released over and over: the coefficients of the file come back, naive ones are far off
    rng, n = np.random.default_rng(7), 3000
    x, u = rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1]), rng.integers(0, 2, n)
    y = 1 + np.array([0, 1, 2, -1])[x] + 1.5 * u + rng.normal(size=n)
    Z = np.column_stack([np.ones(n), x == 1, x == 2, x == 3, u]).astype(float)
    file = np.linalg.lstsq(Z, y)[0]

    def release() -> Fit:
        factors = (factor("x", move(rng, x, P4), P4), factor("u", move(rng, u, P2), P2))
        observed = Observed(factors=factors, numbers={"y": y}, records=n)
        return regress(observed, columns_of(observed, [("x",), ("u",)])[0], Column(name="y", numbers=("y",)))

    params, errors, naive = over(release)
    spread = params.std(axis=0)
    assert np.abs(file - [1, 1, 2, -1, 1.5]).max() < 0.2
    assert (np.abs(params.mean(axis=0) - file) < 0.02 + 3 * spread / np.sqrt(RELEASES)).all()
    assert (np.abs(naive.mean(axis=0) - file)[1:] > 0.25).all()
    assert naive.mean(axis=0)[3] > -0.35  # −.09 in the source's file
    assert (spread < 1.1 * errors.mean(axis=0)).all()  # which hold the drawing of the file too


def test_linear_regression_covers() -> None:
    # several randomised variables, an interaction, a number, weights; a new file each time
    rng, n = np.random.default_rng(8), 2500
    true = np.array([1, 1, 2, -1, 0.7, 1.5, 0.4])

    def release() -> Fit:
        x = rng.choice(4, n, p=[0.4, 0.3, 0.15, 0.15])
        u, z = (rng.random(n) < 0.3 + 0.1 * x).astype(int), rng.normal(size=n) + 0.5 * x
        y = np.array([1, 2, 3, 0])[x] + 0.7 * u + 1.5 * z + 0.4 * u * z + (1 + 0.5 * u) * rng.normal(size=n)
        factors = (factor("x", move(rng, x, P4), P4), factor("u", move(rng, u, P2), P2))
        observed = Observed(factors=factors, numbers={"y": y, "z": z}, records=n, weight=rng.uniform(1, 3, n))
        columns, _ = columns_of(observed, terms_of(["x", "u", "z"], ["z"], [("u", "z")]))
        return regress(observed, columns, Column(name="y", numbers=("y",)))

    params, errors, naive = over(release)
    assert_right(params, errors, true)
    assert (np.abs(naive.mean(axis=0) - true) > 4 * naive.std(axis=0) / np.sqrt(RELEASES)).all()


def test_linear_regression_covers_with_households_drawn_together() -> None:
    # members of a household have one code and one draw; without clusters the errors are too small
    rng, homes = np.random.default_rng(9), 500
    member = np.repeat(np.arange(homes), 3)

    def release(cluster: bool) -> Fit:
        x = rng.integers(0, 4, homes)
        released, y = move(rng, x, P4)[member], x[member] + rng.normal(size=homes)[member] + rng.normal(size=3 * homes)
        observed = Observed(
            factors=(factor("x", released, P4),),
            numbers={"y": y},
            records=3 * homes,
            cluster=member if cluster else None,
        )
        return regress(observed, columns_of(observed, [("x",)])[0], Column(name="y", numbers=("y",)))

    params, errors, _ = over(lambda: release(True))
    assert_right(params, errors, np.array([0, 1, 2, 3]))
    _, small, _ = over(lambda: release(False), 20)
    assert (small.mean(axis=0) < 0.75 * errors.mean(axis=0)).all()


def test_b8_logistic_regression_of_a_randomised_response() -> None:
    rng, n, true = np.random.default_rng(10), 2500, np.array([-0.5, 1.3])

    def release() -> Fit:
        z = rng.normal(size=n)
        y = (rng.random(n) < special.expit(true[0] + true[1] * z)).astype(int)
        observed = Observed(factors=(factor("y", move(rng, y, P2), P2),), numbers={"z": z}, records=n)
        columns, _ = columns_of(observed, [("z",)])
        return classify(observed, columns, indicator(observed, "y", None))

    params, errors, naive = over(release, 200)
    assert np.abs(params.mean(axis=0) - true).max() < 0.03
    assert naive.mean(axis=0)[1] < 0.95  # .817 in the source's file
    covered = (np.abs(params - true) < 1.96 * errors).mean()
    assert 0.92 < covered < 0.98


@pytest.mark.parametrize(
    ("way", "response_too", "number"),
    [
        ("likelihood", False, False),
        ("likelihood", True, False),
        ("corrected-score", True, False),
        ("corrected-score", False, True),
    ],
)
def test_logistic_regression_of_randomised_covariates_covers(way: str, response_too: bool, number: bool) -> None:
    rng, n = np.random.default_rng(11), 3000 if number else 6000
    true = np.array([-0.4, 0.8, -0.8, 0.5, *([0.6] if number else [])])

    def release() -> Fit:
        g = rng.integers(0, 2, n)
        x = np.where(g == 1, rng.choice(3, n, p=[0.3, 0.3, 0.4]), rng.choice(3, n, p=[0.5, 0.3, 0.2]))
        z = rng.normal(size=n) + 0.4 * x
        eta = true[0] + np.array([0, true[1], true[2]])[x] + true[3] * g + (true[4] * z if number else 0)
        y = (rng.random(n) < special.expit(eta)).astype(int)
        P3 = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.15, 0.05, 0.8]])
        answer = factor("y", move(rng, y, P2), P2) if response_too else factor("y", y)
        observed = Observed(factors=(factor("x", move(rng, x, P3), P3), factor("g", g), answer), numbers={"z": z}, records=n)
        columns, _ = columns_of(observed, [("x",), ("g",), *([("z",)] if number else [])])
        return classify(observed, columns, indicator(observed, "y", None), way)

    params, errors, naive = over(release, 200)
    assert_right(params, errors, true)
    assert np.abs(naive.mean(axis=0) - true).max() > 0.2


def test_loglinear_models_cover() -> None:
    # by the likelihood and by the least χ²; both also tell that the model fits in 95 of 100 files
    rng, n = np.random.default_rng(12), 4000
    effects = np.array([[0.0, 0.0], [0.2, -0.5], [-0.6, 0.3], [-0.9, -0.2]])
    shares = np.exp(effects + np.array([0.0, 0.3]))
    shares /= shares.sum()
    logs = np.log(shares)
    x0, s0 = logs.mean(axis=1) - logs.mean(), logs.mean(axis=0) - logs.mean()
    true = np.concatenate([x0[:3], s0[:1], (logs - logs.mean() - x0[:, None] - s0)[:3, 0]])

    found: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {"likelihood": [], "least": []}
    wald = []
    for _ in range(RELEASES):
        x, s = np.unravel_index(rng.choice(8, n, p=shares.ravel()), (4, 2))
        factors = (factor("x", move(rng, x, P4), P4), factor("s", move(rng, s, P2), P2))
        observed = Observed(factors=factors, numbers={}, records=n)
        columns, _ = columns_of(observed, [("x",), ("s",), ("x", "s")], coding="effect")
        cells = cells_of(observed, ["x", "s"])
        design, names = cells.design(columns, observed), tuple(column.name for column in columns)
        params, cov, _ = _by_likelihood(cells, design, names, plain=True)
        found["likelihood"].append((params[1:], np.sqrt(np.diag(cov))[1:]))
        params, cov, _ = _by_chi_square(cells, design, names)
        found["least"].append((params[1:], np.sqrt(np.diag(cov))[1:]))
        wald.append(_wald(cells))
    for fits in found.values():
        params, errors = (np.array(part) for part in zip(*fits, strict=True))
        covered = (np.abs(params - true) < 1.96 * errors).mean()
        assert np.abs(params.mean(axis=0) - true).max() < 0.04
        assert 0.93 < covered < 0.97
    assert all(rank == 3 for _, rank in wald)


def test_b9_independence_keeps_its_size_and_loses_power() -> None:
    # 4.4 % at 5 %, and power from .56 to .20, in the source's file; here as foretold by power()
    rng, n, times = np.random.default_rng(13), 600, 600

    def tests(shares: np.ndarray) -> np.ndarray:
        found = []
        for _ in range(times):
            a, b = np.unravel_index(rng.choice(8, n, p=shares.ravel()), (4, 2))
            row = []
            for P, Q in ((None, None), (P4, P2)):
                factors = (
                    factor("a", a if P is None else move(rng, a, P), P),
                    factor("b", b if Q is None else move(rng, b, Q), Q),
                )
                cells = cells_of(Observed(factors=factors, numbers={}, records=n), ["a", "b"])
                chi2, df, _ = _pearson(cells)
                row.append(p_value(chi2, df) < 0.05)
            statistic, rank = _wald(cells)
            found.append([*row, p_value(statistic, rank) < 0.05])
        return np.mean(found, axis=0)

    margins = np.outer([0.4, 0.3, 0.2, 0.1], [0.6, 0.4])
    true, released, corrected = tests(margins)
    assert 0.03 < true < 0.07
    assert 0.03 < released < 0.07
    assert 0.03 < corrected < 0.08

    association = np.outer([0.5, -0.5, 0.5, -0.5], [1, -1]) * 0.022
    association -= association.sum(axis=0) * np.array([[0.4], [0.3], [0.2], [0.1]])
    shares = margins + association
    true, released, corrected = tests(shares)
    effect = float(np.sqrt(np.sum((shares - np.outer(shares.sum(axis=1), shares.sum(axis=0))) ** 2 / margins)))
    seen = Observed(
        factors=(factor("a", rng.choice(4, 10**5, p=[0.4, 0.3, 0.2, 0.1]), P4), factor("b", rng.integers(0, 2, 10**5), P2)),
        numbers={},
        records=10**5,
    )
    kept = _kept(seen, "a"), _kept(seen, "b")
    told = IndependenceTest(
        a="a",
        b="b",
        nobs=n,
        chi2=0,
        df=3,
        pvalue=1,
        keeps_size=True,
        wald=0,
        wald_df=3,
        wald_pvalue=1,
        kept=(kept[0].min() * kept[1].min(), kept[0].mean() * kept[1].mean(), kept[0].max() * kept[1].max()),
    )
    before, after = told.power(effect)
    assert true == pytest.approx(before, abs=0.06)
    assert released == pytest.approx(after, abs=0.08)
    assert 0.45 < true < 0.75
    assert released < 0.35
