"""Estimates from a released file against sums over its records, one by one, with the joint matrix written out."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from discreet.inference.counts import estimate_counts
from discreet.inference.estimates import Estimates
from discreet.inference.extra_keys import matched_counts
from discreet.inference.sums import estimate_means, estimate_proportions, estimate_ratios, estimate_totals
from discreet.io.microdata import read_microdata
from discreet.model.encoded import encoded
from discreet.model.randomised import PramDocument, Randomised
from discreet.model.released import ReleasedFile, released_counts
from discreet.model.transition import TransitionMatrix

Record = dict[str, Any]


def released(frame: pd.DataFrame, *variables: Randomised) -> ReleasedFile:
    records = read_microdata(frame)
    counts = []
    for variable in variables:
        columns = {"own": variable.columns} | ({"strata": variable.strata} if variable.strata else {})
        held = encoded(records, columns).coded
        counts.append(released_counts(variable, held["own"], held.get("strata")))
    document = PramDocument(file="released.csv", records=records.rows, variables=variables, released=tuple(counts))
    return ReleasedFile(microdata=records, document=document)


def random_matrix(generator: np.random.Generator, size: int) -> np.ndarray:
    matrix = generator.random((size, size)) + 2 * size * np.eye(size)
    return matrix / matrix.sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def survey() -> ReleasedFile:
    """One plain variable, one with a matrix for each region, a compound one with an impossible pair and kept empty codes."""
    g = np.random.default_rng(20)
    n = 60
    pairs = [("m", "x"), ("m", "y"), ("f", "x"), ("", "")]
    compound = [pairs[i] for i in g.integers(0, 4, n)]
    region = g.choice(["east", "west"], n)
    job = np.where(region == "east", g.choice(["j1", "j2", "j3"], n), g.choice(["j1", "j2"], n))
    frame = pd.DataFrame(
        {
            "age": g.choice(["old", "young"], n),
            "job": job,
            "sex": [pair[0] for pair in compound],
            "ill": [pair[1] for pair in compound],
            "region": region,
            "area": g.choice(["a1", "a2", "a3"], n),
            "cluster": [f"c{i}" for i in g.integers(0, 14, n)],
            "weight": g.uniform(1, 5, n).round(2),
            "income": g.normal(10, 5, n).round(1),
            "hours": g.uniform(1, 40, n).round(),
        }
    )
    frame["stratum"] = frame["cluster"].isin(["c0", "c1", "c2", "c3", "c4"]).map({True: "s1", False: "s2"})
    jobs = {
        ("east",): TransitionMatrix.of(["j1", "j2", "j3"], random_matrix(g, 3)),
        ("west",): TransitionMatrix.of(["j2", "j1"], random_matrix(g, 2)),
    }
    sexes = TransitionMatrix.of([("f", "x"), ("m", "x"), ("m", "y")], random_matrix(g, 3))
    return released(
        frame,
        Randomised(columns=("age",), matrices={(): TransitionMatrix.of(["young", "old"], random_matrix(g, 2))}),
        Randomised(columns=("job",), matrices=jobs, strata=("region",)),
        Randomised(columns=("sex", "ill"), matrices={(): sexes}),
    )


def records_of(file: ReleasedFile) -> list[Record]:
    rows = file.microdata.engine.fetch_in_order("SELECT * FROM records")
    return [dict(zip(rows, line, strict=True)) for line in zip(*rows.values(), strict=True)]


def indicators(file: ReleasedFile, record: Record, cells: Sequence[dict[str, str]]) -> np.ndarray:
    """The pseudo-indicators of a record, from the inverse matrices entry by entry."""
    found = np.ones(len(cells))
    for c, cell in enumerate(cells):
        asked = dict(cell)
        for variable in file.document.variables:
            own = {column: asked.pop(column) for column in variable.columns if column in asked}
            if not own:
                continue
            code = tuple(record[column] for column in variable.columns)
            if not any(code):
                found[c] *= all(value == "" for value in own.values())
                continue
            matrix = variable.matrices[tuple(record[column] for column in variable.strata)]
            row = np.linalg.inv(matrix.matrix)[matrix.categories.index(code)]
            fits = [
                all(category[variable.columns.index(column)] == value for column, value in own.items())
                for category in matrix.categories
            ]
            found[c] *= row @ np.array(fits, float)
        found[c] *= all(record[column] == value for column, value in asked.items())
    return found


def cells_of(estimates: Estimates) -> list[dict[str, str]]:
    return [{column: row[column] for column in estimates.by} for row in estimates.rows()]


QUESTIONS = [
    [],
    ["age"],
    ["job"],
    ["region"],
    ["sex"],
    ["ill", "age"],
    ["job", "region"],
    ["region", "job", "sex"],
    ["sex", "area", "ill"],
    ["age", "job", "sex", "ill", "area"],
]


def conditional(d: np.ndarray, g: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Σ g·h·(d dᵀ − diag d), record by record."""
    return np.einsum("i,i,ia,ib->ab", g, h, d, d) - np.diag((g * h) @ d)


def designed(d: np.ndarray, g: np.ndarray, h: np.ndarray, records: list[Record], strata: bool) -> np.ndarray:
    found = np.zeros((d.shape[1], d.shape[1]))
    names = [(r["stratum"] if strata else "", r["cluster"]) for r in records]
    for stratum in sorted({name[0] for name in names}):
        clusters = sorted({name for name in names if name[0] == stratum})
        member = np.array([[name == cluster for name in names] for cluster in clusters], float)
        z, y = member @ (g[:, None] * d), member @ (h[:, None] * d)
        found += len(clusters) / (len(clusters) - 1) * (z - z.mean(0)).T @ (y - y.mean(0))
    return found


@pytest.mark.parametrize("by", QUESTIONS, ids="-".join)
@pytest.mark.parametrize("weight", [None, "weight"])
def test_counts_and_all_their_covariances(survey: ReleasedFile, by: list[str], weight: str | None) -> None:
    estimates = estimate_counts(survey, by, weight=weight)
    records = records_of(survey)
    d = np.array([indicators(survey, record, cells_of(estimates)) for record in records])
    w = np.array([record["weight"] if weight else 1.0 for record in records])
    covariance = conditional(d, w, w)
    np.testing.assert_allclose(np.ravel(estimates.estimate), w @ d, atol=1e-11)
    np.testing.assert_allclose(np.ravel(estimates.variance), np.maximum(np.diag(covariance), 0), atol=1e-11)
    np.testing.assert_allclose(estimates.covariance(), covariance, atol=1e-11)
    assert estimates.estimate.sum() == pytest.approx(w.sum())


@pytest.mark.parametrize("by", QUESTIONS, ids="-".join)
@pytest.mark.parametrize("strata", [False, True])
def test_totals_with_the_variance_of_the_design(survey: ReleasedFile, by: list[str], strata: bool) -> None:
    design = ("stratum",) if strata else ()
    estimates = estimate_totals(survey, "income", by, weight="weight", cluster="cluster", design_strata=design)
    records = records_of(survey)
    d = np.array([indicators(survey, record, cells_of(estimates)) for record in records])
    g = np.array([record["weight"] * record["income"] for record in records])
    covariance = designed(d, g, g, records, strata)
    np.testing.assert_allclose(np.ravel(estimates.estimate), g @ d, atol=1e-9)
    np.testing.assert_allclose(np.ravel(estimates.variance), np.diag(covariance), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(estimates.covariance(), covariance, rtol=1e-9, atol=1e-8)


Variance = Callable[[np.ndarray, np.ndarray, np.ndarray, list[Record]], np.ndarray]


@pytest.mark.parametrize("cluster", [None, "cluster"])
@pytest.mark.parametrize("by", [["age"], ["job", "sex"], ["region", "job"]], ids="-".join)
def test_means_and_ratios_by_the_delta_method(survey: ReleasedFile, by: list[str], cluster: str | None) -> None:
    records = records_of(survey)
    w, y, x = (np.array([record[name] for record in records]) for name in ("weight", "income", "hours"))
    variance: Variance = (
        (lambda d, g, h, _: conditional(d, g, h)) if cluster is None else lambda d, g, h, r: designed(d, g, h, r, False)
    )
    mean = estimate_means(survey, "income", by, weight="weight", cluster=cluster)
    ratio = estimate_ratios(survey, "income", "hours", by, weight="weight", cluster=cluster)
    for estimates, below in ((mean, np.ones(len(x))), (ratio, x)):
        d = np.array([indicators(survey, record, cells_of(estimates)) for record in records])
        top, bottom = (w * y) @ d, (w * below) @ d
        bottom = np.where(bottom > 1e-9, bottom, np.nan)  # nobody in the west has the job j3
        r = top / bottom
        one, two = w * y, w * below
        cross = variance(d, one, two, records) * r
        sandwich = variance(d, one, one, records) - cross - cross.T + np.outer(r, r) * variance(d, two, two, records)
        expected = sandwich / np.outer(bottom, bottom)
        np.testing.assert_allclose(np.ravel(estimates.estimate), r, rtol=1e-9)
        np.testing.assert_allclose(np.ravel(estimates.variance), np.maximum(np.diag(expected), 0), rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(estimates.covariance(), expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("cluster", [None, "cluster"])
@pytest.mark.parametrize(
    ("of", "within"),
    [(["age"], []), (["job"], ["region"]), (["region"], ["job"]), (["ill"], ["sex"]), (["sex", "area"], ["ill", "age"])],
)
def test_proportions_within_domains(survey: ReleasedFile, of: list[str], within: list[str], cluster: str | None) -> None:
    records = records_of(survey)
    estimates = estimate_proportions(survey, of, within, weight="weight", cluster=cluster)
    cells = cells_of(estimates)
    d = np.array([indicators(survey, record, cells) for record in records])
    w = np.array([record["weight"] for record in records])
    joint = conditional(d, w, w) if cluster is None else designed(d, w, w, records, False)
    domain = np.array([[all(a[c] == b[c] for c in within) for b in cells] for a in cells], float)
    counts = w @ d
    below = domain @ counts
    below = np.where(below > 0, below, np.nan)
    share = counts / below
    slopes = (np.eye(len(cells)) - share[:, None] * domain) / below[:, None]
    expected = slopes @ joint @ slopes.T
    np.testing.assert_allclose(np.ravel(estimates.estimate), share, rtol=1e-9)
    np.testing.assert_allclose(np.ravel(estimates.variance), np.maximum(np.diag(expected), 0), rtol=1e-8, atol=1e-12)
    known = np.isfinite(share)
    np.testing.assert_allclose(
        estimates.covariance(np.flatnonzero(known).tolist()), expected[np.ix_(known, known)], rtol=1e-8, atol=1e-10
    )


def test_three_axes_agree_with_the_kronecker_matrix_and_margins_with_their_parts() -> None:
    g = np.random.default_rng(3)
    sizes, n = (2, 3, 4), 400
    codes = {f"v{i}": g.integers(0, size, n).astype(str) for i, size in enumerate(sizes)}
    matrices = [random_matrix(g, size) for size in sizes]
    variables = [
        Randomised(columns=(f"v{i}",), matrices={(): TransitionMatrix.of([str(k) for k in range(size)], matrices[i])})
        for i, size in enumerate(sizes)
    ]
    file = released(pd.DataFrame(codes), *variables)
    estimates = estimate_counts(file, ["v0", "v1", "v2"])
    inverse = np.linalg.inv(np.kron(np.kron(matrices[0], matrices[1]), matrices[2]))
    counts = np.ravel(estimates.naive)
    true = inverse.T @ counts
    covariance = inverse.T @ np.diag(counts) @ inverse - np.diag(true)
    np.testing.assert_allclose(np.ravel(estimates.estimate), true, atol=1e-11)
    np.testing.assert_allclose(estimates.covariance(), covariance, atol=1e-11)
    np.testing.assert_allclose(np.ravel(estimates.variance), np.diag(covariance), atol=1e-11)
    margin = estimate_counts(file, ["v1"])
    adds = np.kron(np.kron(np.ones((2, 1)), np.eye(3)), np.ones((4, 1)))
    np.testing.assert_allclose(margin.estimate, adds.T @ true, atol=1e-11)
    np.testing.assert_allclose(margin.covariance(), adds.T @ covariance @ adds, atol=1e-11)
    two_way = estimate_counts(file, ["v0", "v1"])
    np.testing.assert_allclose(
        two_way.estimate, np.linalg.inv(matrices[0]).T @ two_way.naive @ np.linalg.inv(matrices[1]), atol=1e-11
    )


def test_an_extra_key_sums_the_corrected_axis_with_its_covariances(survey: ReleasedFile) -> None:
    key = {"j1": "manual", "j2": "new", "j3": "manual"}
    for by in (["age", "job"], ["job", "region", "sex"]):
        fine = estimate_counts(survey, by, weight="weight")
        coarse = matched_counts(survey, by, "job", key, name="kind", weight="weight")
        adds = np.zeros((fine.estimate.size, coarse.estimate.size))
        for i, row in enumerate(cells_of(fine)):
            for j, wide in enumerate(cells_of(coarse)):
                same = all(row[column] == wide[column] for column in by if column != "job")
                adds[i, j] = same and wide["kind"] == key[row["job"]]
        covariance = adds.T @ fine.covariance() @ adds
        np.testing.assert_allclose(np.ravel(coarse.estimate), adds.T @ np.ravel(fine.estimate), atol=1e-10)
        np.testing.assert_allclose(coarse.covariance(), covariance, atol=1e-9)
        np.testing.assert_allclose(np.ravel(coarse.variance), np.maximum(np.diag(covariance), 0), atol=1e-9)


def test_households_randomised_by_one_draw_have_unbiased_variances() -> None:
    """All outcomes of two households' draws and three members' own draws: the mean of the estimates is the truth."""
    home = np.array([[0.8, 0.2], [0.3, 0.7]])
    own = np.array([[0.9, 0.1], [0.25, 0.75]])
    household, true_home, true_own = [0, 0, 1], [0, 1], [0, 1, 1]
    weights = [1.0, 2.0, 1.5]
    tables, variances, joints = [], [], []
    chances = []
    for homes in itertools.product((0, 1), repeat=2):
        for owns in itertools.product((0, 1), repeat=3):
            chance = np.prod([home[t, x] for t, x in zip(true_home, homes, strict=True)])
            chance *= np.prod([own[t, x] for t, x in zip(true_own, owns, strict=True)])
            frame = pd.DataFrame(
                {
                    "household": ["p", "p", "q"],
                    "home": [f"h{homes[h]}" for h in household],
                    "own": [f"o{x}" for x in owns],
                    "weight": weights,
                }
            )
            file = released(
                frame,
                Randomised(columns=("home",), matrices={(): TransitionMatrix.of(["h0", "h1"], home)}, together="household"),
                Randomised(columns=("own",), matrices={(): TransitionMatrix.of(["o0", "o1"], own)}),
            )
            estimates = estimate_counts(file, ["home", "own"], weight="weight")
            chances.append(chance)
            tables.append(np.ravel(estimates.estimate))
            joints.append(estimates.covariance())
            variances.append(np.diag(joints[-1]))
            if not estimates.clipped.any():
                np.testing.assert_allclose(np.ravel(estimates.variance), variances[-1], atol=1e-12)
    p, found = np.array(chances), np.array(tables)
    truth = np.zeros((2, 2))
    for h, o, w in zip(household, true_own, weights, strict=True):
        truth[true_home[h], o] += w
    np.testing.assert_allclose(p @ found, np.ravel(truth), atol=1e-12)
    exact = (p[:, None] * (found - np.ravel(truth))).T @ (found - np.ravel(truth))
    np.testing.assert_allclose(np.einsum("s,sab->ab", p, np.array(joints)), exact, atol=1e-12)


@pytest.mark.parametrize(
    "by", [["home"], ["job", "home"], ["region", "home", "age"], ["age", "sex", "home", "job"]], ids="-".join
)
def test_pairs_of_household_members_one_by_one(by: list[str]) -> None:
    """Σ g_i·g_j·(d_i(a)·d_j(b) − known) over all pairs of a household, a home drawn once for all its members."""
    g = np.random.default_rng(5)
    household = g.integers(0, 25, 60)
    region = np.array(["east", "west"])[g.integers(0, 2, 25)]
    frame = pd.DataFrame(
        {
            "household": household.astype(str),
            "region": region[household],
            "home": np.array(["h0", "h1", "h2"])[g.integers(0, 3, 25)][household],
            "age": g.choice(["old", "young"], 60),
            "job": g.choice(["j0", "j1"], 60),
            "sex": g.choice(["f", "m"], 60),
            "weight": g.uniform(1, 3, 60).round(2),
        }
    )
    homes = {(code,): TransitionMatrix.of(["h0", "h1", "h2"], random_matrix(g, 3)) for code in ("east", "west")}
    jobs = {(code,): TransitionMatrix.of(["j0", "j1"], random_matrix(g, 2)) for code in ("old", "young")}
    file = released(
        frame,
        Randomised(columns=("home",), matrices=homes, strata=("region",), together="household"),
        Randomised(columns=("job",), matrices=jobs, strata=("age",)),
    )
    estimates = estimate_counts(file, by, weight="weight")
    records, cells = records_of(file), cells_of(estimates)
    own = [{column: code for column, code in cell.items() if column != "home"} for cell in cells]
    home = [{"home": cell["home"]} for cell in cells]
    d = np.array([indicators(file, record, cells) for record in records])
    once, apart = (np.array([indicators(file, record, part) for record in records]) for part in (home, own))
    alike = np.array([[a == b for b in home] for a in home])
    w = frame["weight"].to_numpy()
    expected = conditional(d, w, w)
    for i, j in itertools.permutations(range(60), 2):
        if household[i] == household[j]:
            known = alike * once[i][:, None] * np.outer(apart[i], apart[j])
            expected += w[i] * w[j] * (np.outer(d[i], d[j]) - known)
    np.testing.assert_allclose(estimates.covariance(), expected, atol=1e-10)
    np.testing.assert_allclose(np.ravel(estimates.variance), np.maximum(np.diag(expected), 0), atol=1e-10)
    within = [column for column in by if column != "home"]
    shares = estimate_proportions(file, ["home"], within, weight="weight")
    counts = np.ravel(estimate_counts(file, [*within, "home"], weight="weight").estimate)
    every = estimate_counts(file, [*within, "home"], weight="weight").covariance()
    domain = np.kron(np.eye(len(counts) // 3), np.ones((3, 3)))
    below = domain @ counts
    slopes = (np.eye(len(counts)) - (counts / below)[:, None] * domain) / below[:, None]
    expected = np.diag(slopes @ every @ slopes.T)
    np.testing.assert_allclose(np.ravel(shares.variance), np.maximum(expected, 0), rtol=1e-8, atol=1e-12)
