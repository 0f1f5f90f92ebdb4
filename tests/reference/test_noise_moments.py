"""Variances and protection of the three noise methods: worked numbers, formulas from the source, and simulation."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from discreet.errors import InputError, ParameterError
from discreet.model.noise import Noise
from discreet.tables.perturb.ezs import EvansZayatzSlanta
from discreet.tables.perturb.moments import (
    EzsScheme,
    LpmScheme,
    TcmScheme,
    contribution_variances,
    protection,
    simulated,
    total_variance,
)
from discreet.tables.perturb.tcm import TopContributors

X = np.array([100, 60, 40, 20, 18, 16, 15, 14, 13, 12, 10, 5.0])
TAIL = np.array([100, 60, 40, 20, 18, 1, 1, 1, 1, 1, 1.0])
SIGMA2 = Noise(low=0.02, high=0.04).variance
FACTORS = [(1.0, 1.0, 1.0), (1.7, 1.4, 1.2), (3.0, 2.0, 1.5)]
ROOT = Path(__file__).resolve().parents[2]


def lpm_of_the_source(x, factors, m2):
    """V(x̂ᵢ)/σ² for ranks 1 … 12 as the source writes it out, and V(Z)/σ², rank parity corrected."""
    k, l, m = factors  # noqa: E741  # the source's own letters
    s = np.r_[0, x**2]
    g = (2 + 2 * m2) * s[5] + 6 * m2 * s[6:10].sum() + 2 * m2 * s[10]
    fourth, third, second = (m + 1) ** 2 * s[4], (l + m) ** 2 * s[3], (k + l) ** 2 * s[2]
    out = [k**2 * s[1] + second + third + fourth + g, l**2 * s[2] + third + fourth + g, m**2 * s[3] + fourth + g, s[4] + g]
    out += [2 * m2 * (s[5 : i + 1].sum() + s[10]) + 6 * m2 * s[i + 1 : 10].sum() for i in range(5, 10)]
    out += [2 * m2 * s[5:10].sum()] * (len(x) - 9)
    return np.array(out), k**2 * s[1] + l**2 * s[2] + m**2 * s[3] + s[4] + 2 * m2 * s[5:10].sum()


@pytest.mark.parametrize("factors", FACTORS)
@pytest.mark.parametrize(("alpha", "m2"), [("uniform", 1 / 3), ("eighths", 5 / 14)])
def test_lpm_is_the_source_s_formula_at_every_rank(factors, alpha, m2):
    scheme = LpmScheme(factors=factors, alpha=alpha)
    each, total = lpm_of_the_source(X, factors, m2)
    np.testing.assert_allclose(contribution_variances(scheme, X), SIGMA2 * each, rtol=1e-12)
    assert total_variance(scheme, X) == pytest.approx(SIGMA2 * total, rel=1e-12)


def test_the_worked_numbers_of_lpm_and_ezs():
    lpm, ezs = LpmScheme(), EzsScheme()
    assert contribution_variances(lpm, X)[0] == pytest.approx(25.705, abs=5e-4)
    assert protection(lpm, X)[0] == pytest.approx(5.07, abs=5e-3)
    assert total_variance(lpm, X) == pytest.approx(12.012, abs=5e-4)
    assert 100 * np.sqrt(total_variance(lpm, X)) / X.sum() == pytest.approx(1.07, abs=5e-3)
    np.testing.assert_allclose(protection(ezs, X), 2.708, atol=5e-4)
    assert total_variance(ezs, X) == pytest.approx(12.495, abs=5e-4)


@pytest.mark.parametrize(
    ("factors", "tcm", "lpm4"), list(zip(FACTORS, (7.820, 22.249, 70.44), (24.0, 56.2, 148.4), strict=True))
)
def test_tcm_with_the_term_that_the_source_leaves_out(factors, tcm, lpm4):
    scheme = TcmScheme(magnitudes=(*factors, 1.0))
    assert contribution_variances(scheme, X)[0] == pytest.approx(tcm, abs=5e-3)
    assert contribution_variances(LpmScheme(factors=factors, mixed=0), X)[0] == pytest.approx(lpm4, abs=0.05)
    k, l, m = factors  # noqa: E741  # the source's own letters
    size, mean = (0.04 - 0.02) ** 2 / 18, (2 * 0.02 + 0.04) / 3
    printed = SIGMA2 * (k**2 * X[0] ** 2 + X[4] ** 2)
    printed += size * ((k**2 + l**2) * X[1] ** 2 + (l**2 + m**2) * X[2] ** 2 + (m**2 + 1) * X[3] ** 2)
    missing = mean**2 * ((k - l) ** 2 * X[1] ** 2 + (l - m) ** 2 * X[2] ** 2 + (m - 1) ** 2 * X[3] ** 2)
    assert contribution_variances(scheme, X)[0] == pytest.approx(printed + missing, rel=1e-12)


def test_lpm_beats_ezs_but_possibly_at_rank_5():
    chance = np.random.default_rng(8)
    cells = -np.sort(-np.exp(chance.normal(0, 1.5, (5000, 12))), axis=1)
    ratio = contribution_variances(LpmScheme(), cells) / contribution_variances(EzsScheme(), cells)
    assert (np.delete(ratio, 4, axis=1) > 1).all()
    assert (ratio[:, 4] < 1).any()
    tail = contribution_variances(LpmScheme(), TAIL) / contribution_variances(EzsScheme(), TAIL)
    assert tail[4] == pytest.approx(0.693, abs=5e-4)
    assert (np.delete(tail, 4) > 1).all()


@pytest.mark.parametrize(
    "scheme",
    [
        LpmScheme(),
        LpmScheme(factors=(1.7, 1.4, 1.2), alpha="eighths"),
        EzsScheme(),
        TcmScheme(magnitudes=(3.0, 2.0, 1.5, 1.0)),
    ],
    ids=["lpm", "lpm-factors-eighths", "ezs", "tcm"],
)
def test_simulation_agrees_within_one_percent_at_every_rank(scheme):
    drawn = simulated(scheme, X, replicates=200_000, chance=np.random.default_rng(20170301))
    assert drawn.replicates == 200_000
    np.testing.assert_allclose(drawn.contributions / contribution_variances(scheme, X), 1, atol=0.01)
    assert drawn.total == pytest.approx(total_variance(scheme, X), rel=0.01)


@pytest.mark.parametrize("noise", [Noise(shape="uniform", low=0.05, high=0.1), Noise(shape="normal", low=0, high=0.03)])
@pytest.mark.parametrize("make", [LpmScheme, EzsScheme, TcmScheme])
def test_other_noise_few_units_negatives_and_any_order(make, noise):
    x = np.array([12.0, -50, 3, 31])
    scheme = make(noise=noise)
    drawn = simulated(scheme, x, replicates=60_000, chance=np.random.default_rng(4))
    np.testing.assert_allclose(drawn.contributions, contribution_variances(scheme, x), rtol=0.03)
    order = np.argsort(-np.abs(x))
    np.testing.assert_array_equal(contribution_variances(scheme, x)[order], contribution_variances(scheme, x[order]))


def test_factors_worked_out_for_each_cell_follow_the_removal_in_a_simulation_only():
    def lead(cells):
        return cells[:, :1] / cells[:, 1:2]

    scheme = LpmScheme(factors=lead)
    x = np.r_[150, X[1:]]
    assert total_variance(scheme, x) == total_variance(LpmScheme(factors=(150 / 60,)), x)
    fixed = contribution_variances(scheme, x)
    drawn = simulated(scheme, x, replicates=40_000, chance=np.random.default_rng(5)).contributions
    anew = fixed[0] + SIGMA2 * ((1 + 60 / 40) ** 2 - (1 + 150 / 60) ** 2) * 60**2
    assert drawn[0] == pytest.approx(anew, rel=0.02)
    assert fixed[0] != pytest.approx(anew, rel=0.02)


def test_many_cells_at_once_are_each_cell_alone():
    chance = np.random.default_rng(2)
    cells = np.round(np.exp(chance.normal(3, 1, (40, 11))), 1)
    cells[::3, 7:] = 0
    for scheme in (LpmScheme(factors=(2.0, 1.5)), EzsScheme(), TcmScheme(magnitudes=(0.6, 0.4, 0.3, 0.2))):
        each, total, percent = (of(scheme, cells) for of in (contribution_variances, total_variance, protection))
        for row, cell in enumerate(cells):
            np.testing.assert_allclose(each[row], contribution_variances(scheme, cell))
            assert total[row] == pytest.approx(float(total_variance(scheme, cell)))
        np.testing.assert_array_equal(np.isnan(percent), cells == 0)
    assert contribution_variances(LpmScheme(), cells.reshape(4, 10, 11)).shape == (4, 10, 11)


def test_ranks_beyond_those_perturbed_change_nothing_above_them():
    more = np.r_[X, 4, 3, 2]
    for scheme, last in ((LpmScheme(), 9), (TcmScheme(), 4)):
        assert total_variance(scheme, X[:last]) == pytest.approx(float(total_variance(scheme, more)))
        np.testing.assert_allclose(
            contribution_variances(scheme, X[: last + 1])[:last], contribution_variances(scheme, more)[:last]
        )


def test_a_giant_takes_no_digits_from_the_others():
    giant = np.r_[1e12, X]
    np.testing.assert_allclose(contribution_variances(EzsScheme(), giant)[1:], SIGMA2 * X**2, rtol=1e-12)
    lpm = contribution_variances(LpmScheme(), giant)
    assert lpm[0] == pytest.approx(SIGMA2 * 1e24)
    np.testing.assert_allclose(lpm[1:], contribution_variances(LpmScheme(), np.r_[100, X])[1:], rtol=1e-12)


def test_methods_know_their_scheme():
    assert EvansZayatzSlanta(low=0.01).scheme == EzsScheme(noise=Noise(low=0.01))
    scheme = TopContributors().scheme
    assert scheme == TcmScheme(noise=Noise(low=0.1, high=0.2), magnitudes=(0.6, 0.4, 0.3, 0.2))
    np.testing.assert_allclose(
        contribution_variances(scheme, X), contribution_variances(TcmScheme(magnitudes=(3.0, 2.0, 1.5, 1.0)), X)
    )


def test_what_the_calculator_refuses():
    chance = np.random.default_rng(1)
    with pytest.raises(ParameterError, match="5 factors for 4 consistent ranks"):
        LpmScheme(factors=(1.0,) * 5)
    with pytest.raises(ParameterError, match="fewer than 0"):
        LpmScheme(mixed=-1)
    with pytest.raises(ParameterError, match="halves"):
        LpmScheme(alpha="halves")
    with pytest.raises(InputError, match="missing or no numbers"):
        total_variance(EzsScheme(), [1.0, np.nan])
    with pytest.raises(InputError, match="several cells"):
        simulated(EzsScheme(), np.ones((2, 3)), replicates=1, chance=chance)
    with pytest.raises(ParameterError, match="replicates"):
        simulated(EzsScheme(), X, replicates=0, chance=chance)


def test_the_comparison_page_is_up_to_date():
    """But for its last line, which names the versions that made it."""
    pages = runpy.run_path(str(ROOT / "benchmarks" / "noise_comparison.py"))["pages"]()
    assert set(pages) == {"noise_comparison.md", "noise_comparison.svg"}
    for name, wanted in pages.items():
        held = (ROOT / "docs" / name).read_text(encoding="utf-8")
        assert _without_versions(held) == _without_versions(wanted), "run python benchmarks/noise_comparison.py"


def _without_versions(text):
    return [line for line in text.splitlines() if not line.startswith("Computed with")]
