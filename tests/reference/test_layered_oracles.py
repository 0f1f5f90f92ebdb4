"""The Layered Perturbation Method against the numbers of its source, as checked and corrected, and against simulation.

Tambay (2017), Survey Methodology 43(1), section 3; x̂_i is the difference between a cell with and without unit i.
"""

import hashlib
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from discreet.io.microdata import read_microdata
from discreet.model.contributions import Contributions
from discreet.model.keys import Secret
from discreet.model.noise import Noise
from discreet.model.table import Table
from discreet.model.tabulate import tabulate
from discreet.tables.perturb.layered import LayeredPerturbation
from discreet.tables.perturb.layers import Layers, factors
from discreet.tables.perturb.moments import LpmScheme, contribution_variances, total_variance

X = np.array([[100.0, 60, 40, 20, 18, 16, 15, 14, 13, 12, 10, 5]])
Y = np.array([[100.0, 60, 40, 20, 8, 6, 5, 4, 3, 2.5, 2, 1]])


def formula(x: Any, i: int, factors: tuple[float, float, float] = (1, 1, 1), square: float = 1 / 3) -> float:
    """V(x̂_i)/σ² as the source prints it, in the corrected reading, for ranks 1 to 12 of x."""
    (k, low, m), u = factors, 2 * square
    s = {r: v**2 for r, v in enumerate(x, start=1)}
    middle = (2 + u) * s[5] + 3 * u * sum(s[r] for r in range(6, 10)) + u * s[10]
    if i <= 4:
        steps = {2: (k + low) ** 2, 3: (low + m) ** 2, 4: (m + 1) ** 2}
        own = {1: k**2, 2: low**2, 3: m**2, 4: 1.0}
        return own[i] * s[i] + sum(step * s[r] for r, step in steps.items() if r > i) + middle
    if i <= 9:
        return u * (sum(s[r] for r in range(5, i + 1)) + s[10]) + 3 * u * sum(s[r] for r in range(i + 1, 10))
    return u * sum(s[r] for r in range(5, 10))


def drawn(x: Any, cells: int, seed: int = 1) -> Contributions:
    """Many cells with contributions ``x`` of units with other keys in each."""
    top = np.tile(np.array(x, float), (cells, 1))
    key = np.random.default_rng(seed).integers(0, 2**32, top.shape)
    return Contributions.of(
        np.full(cells, float(top.shape[1])), top.sum(axis=1), top=top, key=key.sum(axis=1) % 2**32, top_key=key
    )


def without(rows: Contributions, unit: int) -> Contributions:
    """The same cells without the unit of this rank."""
    rest = np.delete(np.arange(rows.ranks), unit - 1)
    key = (rows.key - rows.top_key[:, unit - 1]) % 2**32
    top = rows.top[:, rest]
    return Contributions.of(rows.n - 1, top.sum(axis=1), top=top, key=key, top_key=rows.top_key[:, rest])


def test_variances_of_the_worked_example() -> None:
    method, layers = LayeredPerturbation(), Layers()
    assert method.epsilon.variance == pytest.approx(7.3333e-4, rel=1e-4)
    assert layers.moved(layers.squares(X), np.ones((1, 3)), 5)[0] == pytest.approx(2652)
    assert contribution_variances(method.scheme, X)[0, 0] == pytest.approx(25.705, abs=5e-4)
    assert total_variance(method.scheme, X)[0] == pytest.approx(12.012, abs=5e-4)
    rows = Contributions.of(np.array([12.0]), X.sum(axis=1), top=X)
    assert method.errors(rows)[0] / X.sum() == pytest.approx(0.0107, abs=5e-5)


@pytest.mark.parametrize("hash_", ["keyed", "paper"])
@pytest.mark.parametrize("chosen", [(1, 1, 1), (1.7, 1.4, 1.2), (3, 2, 1.5)])
def test_variances_are_the_printed_formulas(chosen: tuple[float, float, float], hash_: str) -> None:
    method = LayeredPerturbation(factors=chosen, hash=hash_)
    found = contribution_variances(method.scheme, X)[0] / method.epsilon.variance
    np.testing.assert_allclose(found, [formula(X[0], i, chosen, method.layers.square) for i in range(1, 13)], rtol=1e-12)


# -------------------------------------------------------------------- K, L and M for a target


def reached(x: Any, found: Any, **settings: Any) -> Any:
    """The share of the target x²/30 that the variances of x̂₁, x̂₂ and x̂₃ reach."""
    scheme = LpmScheme(noise=Noise(low=0.05, high=0.1), factors=lambda _: found, **settings)
    target = np.where(x == 0, 1, x**2 / 30)
    return (contribution_variances(scheme, x) / target)[:, :3]


def of(x: Any, most: float = np.inf, taper: float = 1.0) -> tuple[Any, Any]:
    """K, L, M and the share of the target that they reach, NN = 30."""
    sigma2 = Noise(low=0.05, high=0.1).variance
    assert sigma2 == pytest.approx(0.0045833, rel=1e-4)
    found = factors(x, Layers(), target=30, variance=sigma2, most=most, taper=taper)
    return found[0], reached(x, found)[0]


def test_factors_without_bounds_reach_the_target() -> None:
    found, ratio = of(Y)
    np.testing.assert_allclose(found, [1.57299, 1.13859, 2.14196], atol=5e-6)
    np.testing.assert_allclose(ratio, 1, rtol=1e-12)


def test_a_bound_of_two_misses_it_at_rank_three() -> None:
    found, ratio = of(Y, most=2)
    np.testing.assert_allclose(found, [1.55174, 1.23499, 2], atol=5e-6)
    np.testing.assert_allclose(ratio, [1, 1, 0.889], atol=5e-4)


def test_a_dominant_unit_needs_a_larger_factor() -> None:
    larger = Y.copy()
    larger[0, 0] = 500
    assert of(larger, most=2)[0][0] == pytest.approx(2.64077, abs=5e-6)
    assert of(larger, most=2, taper=0.25)[0][0] == pytest.approx(2 + 0.25 * 0.64077, abs=5e-6)


def test_nearly_equal_contributions_need_none() -> None:
    even = np.arange(100.0, 88, -1)[np.newaxis]
    found, ratio = of(even)
    assert found.tolist() == [1, 1, 1]
    assert (ratio > 2).all()


def test_factors_of_short_and_empty_cells_are_defined() -> None:
    short = np.zeros((4, 12))
    short[1, 0], short[2, :2], short[3, :3] = 5, (5, 4), (5, -4, 3)
    with np.errstate(all="raise"):
        found = factors(short, Layers(), target=30, variance=Noise(low=0.05, high=0.1).variance)
    assert np.isfinite(found).all()
    assert (found >= 1).all()
    assert found[0].tolist() == [1, 1, 1]
    assert (reached(short, found)[short[:, :3] != 0] >= 1 - 1e-12).all()


@pytest.mark.parametrize(("consistent", "mixed"), [(1, 5), (2, 5), (3, 5), (3, 0), (4, 0), (7, 2)])
def test_factors_reach_the_target_with_any_number_of_layers(consistent: int, mixed: int) -> None:
    layers = Layers(consistent=consistent, mixed=mixed)
    x = np.sort(np.random.default_rng(2).lognormal(3, 1.5, (200, 12)))[:, ::-1]
    found = factors(x, layers, target=30, variance=Noise(low=0.05, high=0.1).variance)
    ratio = reached(x, found, consistent=consistent, mixed=mixed)[:, : layers.solved]
    own = found[:, : layers.solved]
    np.testing.assert_allclose(ratio[own > 1], 1, rtol=1e-9)
    assert (ratio[own == 1] >= 1 - 1e-12).all()
    assert (found[:, layers.solved :] == 1).all()


# -------------------------------------------------------------------- simulation


@pytest.mark.parametrize("settings", [{}, {"factors": (1.7, 1.4, 1.2)}, {"target": 30, "low": 0.05, "high": 0.1}])
def test_simulated_sums_have_the_variance_of_the_formula(settings: dict[str, Any]) -> None:
    method = LayeredPerturbation(**settings)
    rows = drawn(X[0], 100_000)
    noise = method.noise(rows)
    error = method.errors(rows)[0]
    assert abs(noise.mean()) < 3 * error / len(noise) ** 0.5
    assert noise.var() / error**2 == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("unit", [1, 4, 7, 11])
def test_simulated_differences_have_the_variance_of_the_formula(unit: int) -> None:
    method = LayeredPerturbation()
    rows = drawn(X[0], 100_000)
    change = method.noise(rows) - method.noise(without(rows, unit))
    assert change.var() / (method.epsilon.variance * formula(X[0], unit)) == pytest.approx(1, abs=0.01)


def test_the_simulated_hash_of_the_source_has_the_variance_of_its_formula() -> None:
    method = LayeredPerturbation(hash="paper-centred")
    rows = drawn(X[0], 200_000)
    key = rows.top_key % 1000
    rows = Contributions.of(rows.n, rows.total, top=rows.top, key=key.sum(axis=1), top_key=key)
    assert method.layers.square == pytest.approx(((np.arange(1000) % 8 / 7) ** 2).mean())
    assert method.noise(rows).var() / method.errors(rows)[0] ** 2 == pytest.approx(1, abs=0.01)


def changed_by(shift: int, method: LayeredPerturbation) -> float:
    """(1 − α)²·E(ε'' − ε')²/(2σ²) of a unit of rank 5 and key 0 when one with key ``shift`` leaves the cell; paper: α = 0."""
    before = np.arange(1000)
    key = np.zeros((1000, 5), np.int64)
    top = np.tile([0.0, 0, 0, 0, 1.0], (1000, 1))
    rows = [
        Contributions.of(np.full(1000, 5.0), np.ones(1000), top=top, key=cell, top_key=key) for cell in (before, before + shift)
    ]
    noise = [method.noise(row) for row in rows]
    return float(((noise[1] - noise[0]) ** 2).mean() / (2 * method.epsilon.variance))


def test_taking_out_a_unit_shifts_the_noise_of_the_source_and_draws_the_keyed_anew() -> None:
    paper = LayeredPerturbation(hash="paper-centred")
    found = [changed_by(shift, paper) for shift in (0, 1, 10, 50, 100, 250, 500)]
    np.testing.assert_allclose(found, [0, 0.005, 0.05, 0.23, 0.44, 1.01, 1.94], atol=0.006)
    keyed = np.array([changed_by(shift, LayeredPerturbation()) for shift in (1, 10, 50, 100, 250, 500)])
    assert keyed.min() > 0.8 * keyed.max(), "any change of the cell draws ε' anew"


# -------------------------------------------------------------------- the same contributors, the same noise

CODES = {"region": list("NESW"), "sector": list("ABC"), "size": ["s", "m", "l"]}
SECRET = Secret("a secret of many characters")


def records() -> pd.DataFrame:
    chance = np.random.default_rng(11)
    rows = 320
    frame = pd.DataFrame({name: chance.choice(codes, rows) for name, codes in CODES.items()})
    frame["unit"] = [hashlib.sha256(str(i).encode()).hexdigest()[:9] for i in range(rows)]
    frame["turnover"] = np.round(chance.lognormal(6, 1.2, rows), -1) * chance.choice([1, 1, 1, 1, -1], rows)
    return frame


def a_random_table(
    frame: pd.DataFrame, chance: np.random.Generator, as_frame: Callable[[pd.DataFrame], Any]
) -> tuple[Table, Any]:
    """A table over random spanning variables and filters, and the filtered records."""
    role = dict(zip(CODES, chance.choice(["span", "filter", "leave"], 3, p=[0.5, 0.35, 0.15]), strict=True))
    role[str(chance.choice(list(CODES)))] = "span"
    where = {
        name: sorted(chance.choice(CODES[name], int(chance.integers(1, 3)), replace=False).tolist())
        for name in CODES
        if role[name] == "filter"
    }
    spanning = [name for name in CODES if role[name] == "span"]
    chance.shuffle(spanning)
    mixed = frame.iloc[chance.permutation(len(frame))].reset_index(drop=True)
    microdata = read_microdata(as_frame(mixed), unit="unit")
    table = tabulate(microdata, spanning=spanning, response="turnover", ranks=10, where=where, secret=SECRET)
    kept = frame
    for name, codes in where.items():
        kept = kept[kept[name].isin(codes)]
    return table, kept


def by_contributors(table: Table, kept: pd.DataFrame) -> dict[frozenset[str], float]:
    """The shown number of each cell by the set of its contributors, found from the records alone."""
    shown = {}
    layout = table.layouts[0]
    columns = [layout.column(v) for v in range(len(layout.variables))]
    for line, cell in enumerate(layout.cell):
        inside = kept
        for name, column in zip(layout.variables, columns, strict=True):
            if column[line] in CODES[name]:
                inside = inside[inside[name] == column[line]]
        if table.perturbed[cell]:
            shown[frozenset(inside["unit"])] = float(table.shown[cell])
    return shown


def test_the_same_contributors_carry_the_same_noise_in_a_thousand_pairs_of_tables() -> None:
    frame, chance = records(), np.random.default_rng(12)
    method = LayeredPerturbation(minimum=2, low=0.1, high=0.3)
    kinds: list[Callable[[pd.DataFrame], Any]] = [lambda mixed: mixed, pl.from_pandas]
    tables, changed = [], []
    for number in range(46):
        table, kept = a_random_table(frame, chance, kinds[number % 2])
        after = method.apply(table)
        changed += (after.shown != after.value)[after.perturbed].tolist()
        tables.append(by_contributors(after, kept))
    pairs = list(combinations(tables, 2))
    met = 0
    for left, right in pairs:
        for units in left.keys() & right.keys():
            met += 1
            assert left[units] == right[units]
    assert len(pairs) > 1000
    assert met > 2000
    assert np.mean(changed) > 0.98
    every = {units: shown for table in tables for units, shown in table.items()}
    assert len(set(every.values())) > 0.8 * len(every)
