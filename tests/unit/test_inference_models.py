"""Regression, loglinear models and the test of independence on released files: what they take, tell and refuse."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import special

from discreet.errors import InputError, ParameterError
from discreet.inference.fit import Fit
from discreet.inference.independence import independence_test
from discreet.inference.linear import linear_regression
from discreet.inference.logistic import logistic_regression
from discreet.inference.loglinear import loglinear
from discreet.io.microdata import read_microdata
from discreet.model.encoded import encoded
from discreet.model.microdata import Microdata
from discreet.model.randomised import PramDocument, Randomised
from discreet.model.released import ReleasedFile, released_counts
from discreet.model.transition import TransitionMatrix

P3 = np.array([[0.8, 0.15, 0.05], [0.1, 0.85, 0.05], [0.2, 0.1, 0.7]])
P2 = np.array([[0.9, 0.1], [0.2, 0.8]])
REGIONS, SEXES = ["north", "east", "south"], ["m", "f"]


def variable(columns: Any, categories: Any, matrix: Any, **more: Any) -> Randomised:
    named = (columns,) if isinstance(columns, str) else tuple(columns)
    matrices = matrix if isinstance(matrix, dict) else {(): TransitionMatrix.of(categories, matrix)}
    return Randomised(columns=named, matrices=matrices, **more)


REGION = variable("region", REGIONS, P3)
SEX = variable("sex", SEXES, P2)


def released(frame: pd.DataFrame | Microdata, *variables: Randomised) -> ReleasedFile:
    microdata = frame if isinstance(frame, Microdata) else read_microdata(frame)
    counts = []
    for one in variables:
        held = encoded(microdata, {"own": one.columns, **({"strata": one.strata} if one.strata else {})}).coded
        counts.append(released_counts(one, held["own"], held.get("strata")))
    document = PramDocument(file="x", records=microdata.rows, variables=variables, released=tuple(counts))
    return ReleasedFile(microdata=microdata, document=document)


def move(rng: np.random.Generator, true: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    return (rng.random(len(true))[:, None] > matrix.cumsum(axis=1)[true]).sum(axis=1)


def survey(n: int = 3000, seed: int = 1) -> pd.DataFrame:
    """A released survey: region and sex are randomised, stratum, age, income and job are not."""
    rng = np.random.default_rng(seed)
    region, stratum, age = rng.choice(3, n, p=[0.5, 0.3, 0.2]), rng.integers(0, 2, n), rng.uniform(20, 60, n)
    sex = (rng.random(n) < 0.4 + 0.1 * region).astype(int)
    income = 10 + 2 * region - 3 * sex + 0.1 * age + stratum + rng.normal(size=n)
    job = rng.random(n) < special.expit(-1 + 0.8 * region - 0.5 * sex)
    return pd.DataFrame(
        {
            "region": np.array(REGIONS)[move(rng, region, P3)],
            "sex": np.array(SEXES)[move(rng, sex, P2)],
            "stratum": np.array(["a", "b"])[stratum],
            "age": age,
            "income": income,
            "job": np.where(job, "yes", "no"),
            "weight": rng.uniform(1, 3, n),
            "home": [f"h{i // 2}" for i in range(n)],
            "psu": [f"p{i // 20}" for i in range(n)],
            "draw": [f"d{i // 200}" for i in range(n)],
        }
    )


@pytest.fixture(scope="module")
def file() -> ReleasedFile:
    return released(survey(), REGION, SEX)


@pytest.fixture(scope="module")
def fit(file: ReleasedFile) -> Fit:
    return linear_regression(file, "income", ["region", "sex", "stratum", "age"], numeric=["age"])


def test_a_fit_reads_like_those_of_statsmodels(fit: Fit) -> None:
    assert fit.names == ("intercept", "region[east]", "region[south]", "sex[f]", "stratum[b]", "age")
    assert np.abs(fit.params - [10, 2, 4, -3, 1, 0.1]).max() < 4 * fit.bse.max()
    np.testing.assert_allclose(fit.bse, np.sqrt(np.diag(fit.cov)))
    np.testing.assert_allclose(fit.conf_int(level=0.9)[:, 1], fit.params + 1.6448536 * fit.bse)
    np.testing.assert_allclose(fit.pvalues, 2 * special.ndtr(-np.abs(fit.params / fit.bse)))
    assert repr(fit) == "Fit(Linear regression of income: 6 coefficients, 3000 records)"
    text = fit.summary(level=0.9)
    for part in ("corrected for PRAM", "3,000", "sex[f]", "std err", "[0.05", "0.95]", "naive", "R²", "biased"):
        assert part in text
    assert [row["name"] for row in fit.records()] == list(fit.names)
    assert fit.records()[3]["coef"] == fit.params[3]
    assert pd.DataFrame(fit.records()).shape == (6, 8)


def test_several_coefficients_are_tested_at_once(fit: Fit) -> None:
    statistic, df, p = fit.wald_test(["region[east]", "region[south]"])
    assert statistic > 100
    assert (df, p < 1e-6) == (2, True)
    alone = fit.wald_test(["age"])
    assert alone[0] == pytest.approx(fit.tvalues[5] ** 2)
    assert alone[2] == pytest.approx(fit.pvalues[5])
    with pytest.raises(ParameterError, match="did you mean 'sex\\[f\\]'"):
        fit.wald_test(["sex[F]"])
    with pytest.raises(ParameterError, match="between 0 and 1"):
        fit.conf_int(level=95)


def test_the_order_of_the_file_does_not_matter() -> None:
    frame = survey(600)
    one, other = released(frame, REGION, SEX), released(frame.sample(frac=1, random_state=3), REGION, SEX)
    calls: list[Callable[[ReleasedFile], Fit]] = [
        lambda file: linear_regression(
            file, "income", ["region", "age"], numeric=["age"], weight="weight", cluster="home", design_strata=["stratum"]
        ),
        lambda file: logistic_regression(file, "job", ["region", "sex"], weight="weight"),
        lambda file: logistic_regression(file, "job", ["region", "age"], numeric=["age"], way="corrected-score"),
        lambda file: loglinear(file, ["region", "sex"], ["region", "sex"]),
    ]
    for call in calls:
        first, second = call(one), call(other)
        np.testing.assert_array_equal(first.params, second.params)
        np.testing.assert_array_equal(first.cov, second.cov)


def test_reference_and_merged_codes(file: ReleasedFile, fit: Fit) -> None:
    other = linear_regression(
        file, "income", ["region", "sex", "stratum", "age"], numeric=["age"], reference={"region": "south"}
    )
    assert other.names[1:3] == ("region[north]", "region[east]")
    assert other.params[1] == pytest.approx(-fit.params[2])
    merged = linear_regression(file, "income", ["region"], merge={"region": {"east": "other", "south": "other"}})
    assert merged.names == ("intercept", "region[other]")


def test_the_part_of_a_compound_variable_and_strata() -> None:
    # two columns randomised as one, with an own matrix in each stratum, of which one lacks a combination
    rng, n = np.random.default_rng(4), 8000
    cells = [("north", "m"), ("north", "f"), ("east", "m")]
    stratum, true = rng.integers(0, 2, n), rng.choice(3, n, p=[0.5, 0.3, 0.2])
    true = np.where(stratum == 1, np.minimum(true, 1), true)
    out = np.where(stratum == 0, move(rng, true, P3), move(rng, np.minimum(true, 1), P2))
    y = 1 + 2 * (true == 2) - 1.0 * (true == 1) + stratum + rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "region": [cells[k][0] for k in out],
            "sex": [cells[k][1] for k in out],
            "stratum": np.array(["a", "b"])[stratum],
            "y": y,
        }
    )
    matrices = {("a",): TransitionMatrix.of(cells, P3), ("b",): TransitionMatrix.of(cells[:2], P2)}
    file = released(frame, variable(("region", "sex"), cells, matrices, strata=("stratum",)))
    fit = linear_regression(file, "y", ["region", "sex", "stratum"], interactions=[("region", "sex")])
    assert fit.names == ("intercept", "region[east]", "sex[f]", "stratum[b]")
    assert "region[east]:sex[f]" in fit.notes[0]
    assert (np.abs(fit.params - [1, 2, -1, 1]) < 4 * fit.bse).all()
    assert (np.abs(fit.naive - [1, 2, -1, 1])[1:3] > 6 * fit.bse[1:3]).all()
    job = logistic_regression(file, "sex", ["stratum"], category="f", way="corrected-score")
    shares = [(true[stratum == s] == 1).mean() for s in (0, 1)]
    assert job.params.cumsum() == pytest.approx(special.logit(shares), abs=0.3)
    table = loglinear(file, ["sex", "region", "stratum"], [("stratum", "region")], coding="treatment")
    assert len(table.cells) == 5
    assert ("f", "east", "a") not in table.cells
    assert ("m", "east", "b") not in table.cells
    assert "region[east]:stratum[b]" in table.notes[0]
    with pytest.raises(InputError, match="depend on each other"):
        loglinear(file, ["sex", "region", "stratum"], [("stratum", "region")])
    alone = loglinear(file, ["region"], ["region"], way="minimum-chi-square")
    assert alone.fitted == pytest.approx(alone.estimated)
    assert alone.fitted == pytest.approx([(true < 2).sum(), (true == 2).sum()], rel=0.1)
    with pytest.raises(ParameterError, match="leaves out strata"):
        loglinear(file, ["region"], ["region"])
    test = independence_test(file, "sex", "stratum")
    assert not test.keeps_size
    assert "depends on strata" in test.notes[0]


def test_a_randomised_response() -> None:
    rng, n = np.random.default_rng(5), 6000
    score, group = rng.choice(3, n, p=[0.5, 0.3, 0.2]), rng.integers(0, 2, n)
    score = np.where(group == 1, np.minimum(score + 1, 2), score)
    frame = pd.DataFrame({"score": move(rng, score, P3).astype(str), "group": np.array(["a", "b"])[group]})
    file = released(frame, variable("score", ["0", "1", "2"], P3))
    mean = linear_regression(file, "score", ["group"])
    own = [score[group == k].mean() for k in (0, 1)]
    assert (np.abs(mean.params - [own[0], own[1] - own[0]]) < 4 * mean.bse).all()
    share = linear_regression(file, "score", ["group"], category="2")
    assert share.response == "score[2]"
    chance = logistic_regression(file, "score", ["group"], category="2", way="corrected-score")
    assert special.expit(chance.params.cumsum()) == pytest.approx(share.params.cumsum())  # saturated: the same means
    with pytest.raises(ParameterError, match="one of 3 categories"):
        logistic_regression(file, "score", ["group"], category="2")
    with pytest.raises(ParameterError, match="3 codes"):
        logistic_regression(file, "score", ["group"], way="corrected-score")
    with pytest.raises(InputError, match="codes that are no numbers"):
        linear_regression(released(survey(200), REGION), "region", ["stratum"])


def test_surveys(file: ReleasedFile) -> None:
    plain = linear_regression(file, "income", ["region"])
    weighted = linear_regression(file, "income", ["region"], weight="weight")
    design = linear_regression(file, "income", ["region"], weight="weight", cluster="psu", design_strata=["draw"])
    assert (weighted.bse > plain.bse).all()
    np.testing.assert_allclose(design.params, weighted.params)
    assert (design.bse != weighted.bse).all()
    assert "sandwich by cluster" in design.method
    for call in (logistic_regression, linear_regression):
        response = "job" if call is logistic_regression else "income"
        alone = call(file, response, ["sex"], cluster="home").bse / call(file, response, ["sex"]).bse
        assert np.abs(np.log(alone)).max() < 0.1  # members of these homes are independent
    rows = survey(600).assign(weight=lambda frame: np.where(frame.index < 300, 0.0, 2.0))
    half = linear_regression(released(rows, REGION), "income", ["region"], weight="weight")
    assert half.nobs == 300
    lower = linear_regression(released(rows[300:], REGION), "income", ["region"])
    np.testing.assert_allclose(half.params, lower.params)
    np.testing.assert_allclose(half.cov, lower.cov)
    with pytest.raises(InputError, match="single cluster"):
        linear_regression(file, "income", ["region"], cluster="draw", design_strata=["draw"])


def test_households_drawn_together_are_clusters() -> None:
    frame = survey(1000)
    frame["region"] = frame["region"].iloc[::2].repeat(2).to_numpy()
    file = released(frame, variable("region", REGIONS, P3, together="home"))
    assert "by cluster" in linear_regression(file, "income", ["region"]).method
    assert "by cluster" in logistic_regression(file, "job", ["region"]).method
    test = independence_test(file, "region", "job")
    assert not test.keeps_size
    assert "depend on each other" in test.notes[0]
    frame["cut"] = [f"c{i // 3}" for i in range(1000)]
    file = released(frame, variable("region", REGIONS, P3, together="home"))
    with pytest.raises(InputError, match="whole households"):
        linear_regression(file, "income", ["region"], cluster="cut")


def test_missing_fields() -> None:
    frame = survey(800)
    frame.loc[:9, "region"] = ""
    frame.loc[5:24, "income"] = np.nan
    file = released(frame, REGION, SEX)
    with pytest.raises(InputError, match="'region': 10 records have no code"):
        linear_regression(file, "income", ["region"])
    with pytest.raises(InputError, match="'income': 20 records have no number"):
        linear_regression(file, "income", ["sex"])
    fit = linear_regression(file, "income", ["region"], on_missing="drop")
    assert (fit.nobs, fit.notes) == (775, ("25 records with empty fields are left out",))
    rest = linear_regression(released(frame[25:], REGION), "income", ["region"])
    np.testing.assert_array_equal(fit.params, rest.params)
    own = variable("region", [*REGIONS, ""], np.full((4, 4), 0.05) + np.eye(4) * 0.8, missing="category")
    assert (
        "region[]"
        in linear_regression(released(frame.iloc[:5].assign(income=range(5)).pipe(_with_all), own), "income", ["region"]).names
    )


def _with_all(frame: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([frame.assign(region=code) for code in (*REGIONS, "")], ignore_index=True)


@pytest.mark.parametrize(
    ("wrong", "error", "said"),
    [
        ({"covariates": ["regoin"]}, InputError, "did you mean 'region'"),
        ({"covariates": ["region", "region"]}, ParameterError, "twice"),
        ({"covariates": ["region", "income"]}, ParameterError, "is the response"),
        ({"numeric": ["age"]}, ParameterError, "'age' is no covariate"),
        ({"covariates": ["region"], "numeric": ["region"]}, InputError, "codes that are no numbers: 'north'"),
        ({"interactions": [("region", "stratum")]}, ParameterError, "'stratum' is no covariate"),
        ({"interactions": [("region",)]}, ParameterError, "fewer than two"),
        ({"reference": {"region": "west"}}, ParameterError, "no code 'west'"),
        ({"reference": {"age": "1"}}, ParameterError, "'age' is no covariate"),
        ({"merge": {"region": {"west": "x"}}}, ParameterError, "no code 'west'"),
        ({"merge": {"region": dict.fromkeys(REGIONS, "x")}}, InputError, "one category only"),
        ({"covariates": ["home"]}, ParameterError, "numeric="),
        ({"weight": "sex"}, InputError, "was randomised and cannot be the weight"),
        ({"cluster": "sex"}, InputError, "was randomised and cannot be the clusters"),
        ({"design_strata": "region"}, InputError, "was randomised and cannot be the strata"),
        ({"weight": "stratum"}, InputError, "text where a number is needed"),
        ({"cluster": "none"}, InputError, "no column 'none'"),
        ({"on_missing": "dorp"}, ParameterError, "did you mean 'drop'"),
    ],
)
def test_what_does_not_fit_is_refused(file: ReleasedFile, wrong: dict[str, Any], error: type, said: str) -> None:
    with pytest.raises(error, match=said):
        linear_regression(file, "income", **{"covariates": ["region", "sex"], **wrong})


def test_what_cannot_be_estimated_is_refused() -> None:
    frame = survey(400)
    frame["copy"] = frame["stratum"]
    frame["same"] = "s"
    frame["flat"] = 1.0
    file = released(frame, REGION)
    with pytest.raises(InputError, match=r"depend linearly.*stratum\[b\]"):
        linear_regression(file, "income", ["region", "stratum", "copy"])
    with pytest.raises(InputError, match=r"depend linearly.*stratum\[b\]"):
        logistic_regression(file, "job", ["region", "stratum", "copy"])
    for column, numeric in (("same", []), ("flat", ["flat"])):
        with pytest.raises(InputError, match="constant"):
            linear_regression(file, "income", [column], numeric=numeric)
    frame["job"] = np.where(frame["stratum"] == "a", "yes", frame["job"])
    with pytest.raises(InputError, match="separate the response"):
        logistic_regression(released(frame, REGION), "job", ["stratum"])
    frame.loc[frame["region"] == "south", "region"] = "north"
    with pytest.raises(InputError, match=r"not above 0 for the codes 'south'"):
        linear_regression(released(frame, REGION), "income", ["region"])
    hidden = released(frame, REGION)
    document = PramDocument(file="x", records=400, variables=(variable("region", [], {}),), released=({},), public=False)
    object.__setattr__(hidden, "document", document)
    with pytest.raises(InputError, match="not public"):
        linear_regression(hidden, "income", ["region"])
    with pytest.raises(InputError, match=r"matrix of region: .*explain the released one equally well"):
        linear_regression(released(frame, variable("region", REGIONS, np.full((3, 3), 1 / 3))), "income", ["region"])


def test_logistic_ways(file: ReleasedFile) -> None:
    likely = logistic_regression(file, "job", ["region", "sex", "stratum"])
    score = logistic_regression(file, "job", ["region", "sex", "stratum"], way="corrected-score")
    assert likely.response == "job[yes]"
    assert (np.abs(likely.params - score.params) < 3 * score.bse).all()
    assert (likely.bse < 1.05 * score.bse).all()
    turned = logistic_regression(file, "job", ["region", "sex", "stratum"], category="no")
    np.testing.assert_allclose(turned.params, -likely.params, atol=1e-6)
    with pytest.raises(ParameterError, match="choose way='corrected-score'"):
        logistic_regression(file, "job", ["region", "age"], numeric=["age"])
    with pytest.raises(ParameterError, match="did you mean 'likelihood'"):
        logistic_regression(file, "job", ["region"], way="likelyhood")
    with pytest.raises(ParameterError, match="has no code 'maybe'"):
        logistic_regression(file, "job", ["region"], category="maybe")
    few = logistic_regression(released(survey(150), REGION, SEX), "job", ["region", "stratum", "sex"])
    assert "fewer than 5 records" not in " ".join(few.notes)
    crossed = released(survey(150, 2).assign(psu=lambda frame: frame.index % 20), REGION)
    assert "fewer than 5 records" in logistic_regression(crossed, "job", ["region", "psu"]).notes[0]


def test_loglinear_models(file: ReleasedFile) -> None:
    saturated = loglinear(file, ["region", "sex"], [("region", "sex")])
    np.testing.assert_allclose(saturated.fitted, saturated.estimated, rtol=1e-6)
    assert saturated.cells[:2] == (("north", "m"), ("north", "f"))
    assert saturated.facts["df"] == 0
    least = loglinear(file, ["region", "sex"], [("region", "sex")], way="minimum-chi-square")
    np.testing.assert_allclose(least.params, saturated.params, atol=1e-6)
    np.testing.assert_allclose(least.cov, saturated.cov, atol=1e-6)
    model = loglinear(file, ["region", "sex", "stratum"], ["stratum", ("sex", "region")])
    assert model.names[1:5] == ("region[north]", "region[east]", "sex[m]", "stratum[a]")
    assert model.facts["df"] == 5
    assert model.facts["G²"] == pytest.approx(model.facts["Wald"], rel=0.15)
    assert model.facts["p(Wald)"] > 0.001
    poor = loglinear(file, ["region", "sex"], ["region", "sex"])
    assert poor.facts["p(G²)"] < 0.01
    assert poor.fitted.sum() == pytest.approx(3000)
    treated = loglinear(file, ["region", "sex"], ["region", "sex"], coding="treatment", reference={"sex": "f"})
    assert treated.names[-1] == "sex[m]"
    np.testing.assert_allclose(treated.fitted, poor.fitted, rtol=1e-6)
    weighted = loglinear(file, ["region", "sex"], ["region", "sex"], weight="weight")
    assert "G²" not in weighted.facts
    assert weighted.fitted.sum() == pytest.approx(file_weight(), rel=1e-9)
    for wrong, said in (
        ({"terms": ["age"]}, "'age' is no column of the table"),
        ({"by": ["sex", "sex"]}, "different columns"),
        ({"way": "gls"}, "'gls' is not known"),
        ({"coding": "dummy"}, "'dummy' is not known"),
        ({"reference": {"sex": "f"}}, "means nothing"),
    ):
        with pytest.raises(ParameterError, match=said):
            loglinear(file, **{"by": ["region", "sex"], "terms": ["sex"], **wrong})  # type: ignore[arg-type]
    with pytest.raises(InputError, match="covariances are needed"):
        loglinear(file, ["psu", "draw", "sex"], ["sex"])


def file_weight() -> float:
    return float(survey()["weight"].sum())


def test_plain_loglinear_models_are_those_of_the_table() -> None:
    # nothing randomised: closed form of independence, n_a n_b / n, and the likelihood ratio
    frame = survey(500)
    fit = loglinear(released(frame), ["stratum", "job"], ["stratum", "job"])
    table = pd.crosstab(frame["stratum"], frame["job"]).to_numpy()
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / 500
    np.testing.assert_allclose(fit.fitted, expected.ravel(), rtol=1e-6)
    assert fit.facts["G²"] == pytest.approx(2 * (table * np.log(table / expected)).sum(), rel=1e-5)
    np.testing.assert_allclose(fit.naive, fit.params, atol=1e-6)


def test_coefficients_at_infinity_are_refused() -> None:
    frame = pd.DataFrame({"sex": ["m"] * 50 + ["f"] * 50, "job": ["yes"] * 50 + ["no"] * 30 + ["yes"] * 20})
    with pytest.raises(InputError, match="run to infinity"):
        loglinear(released(frame), ["sex", "job"], [("sex", "job")])
    with pytest.raises(InputError, match="no inverse"):
        loglinear(released(frame), ["sex", "job"], ["sex", "job"], way="minimum-chi-square")


def test_independence(file: ReleasedFile) -> None:
    test = independence_test(file, "region", "sex")
    assert test.keeps_size
    assert (test.df, test.wald_df) == (2, 2)
    assert test.wald == pytest.approx(test.chi2, rel=0.25)
    assert 0 < test.kept[0] < test.kept[1] < test.kept[2] < 1
    before, after = test.power(0.06)
    assert 0.05 < after < before < 1
    assert test.power(0)[1] == pytest.approx(0.05)
    assert "tell as much as" in test.summary()
    assert repr(test) == "IndependenceTest(region × sex: 3000 records, 2 degrees of freedom)"
    plain = independence_test(file, "stratum", "job")
    table = pd.crosstab(survey()["stratum"], survey()["job"]).to_numpy()
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / 3000
    assert plain.chi2 == pytest.approx(((table - expected) ** 2 / expected).sum())
    assert plain.kept == (pytest.approx(1), pytest.approx(1), pytest.approx(1))
    with pytest.raises(ParameterError, match="'sex' again"):
        independence_test(file, "sex", "sex")
    with pytest.raises(ParameterError, match="between 0 and 1"):
        test.power(0.1, 5)


def test_what_a_binary_variable_keeps_is_in_closed_form() -> None:
    # ρ² = (θ0 + θ1 − 1)² t(1−t) / x(1−x), with t true and x released share of ones
    frame = survey(2000)
    kept = independence_test(released(frame, SEX), "sex", "job").kept[1]
    x = (frame["sex"] == "f").mean()
    t = (x - 0.1) / 0.7
    assert kept == pytest.approx(0.49 * t * (1 - t) / (x * (1 - x)))


def test_impossible_combinations_are_not_independent() -> None:
    cells = [("north", "m"), ("north", "f"), ("east", "m")]
    frame = pd.DataFrame({"region": ["north", "north", "east"] * 40, "sex": ["m", "f", "m"] * 40})
    with pytest.raises(InputError, match="cannot occur"):
        independence_test(released(frame, variable(("region", "sex"), cells, P3)), "region", "sex")


def test_strata_of_the_design_may_be_named_by_one_column(file: ReleasedFile) -> None:
    one, several = (
        linear_regression(file, "income", "sex", cluster="psu", design_strata=named) for named in ("draw", ["draw"])
    )
    np.testing.assert_array_equal(one.cov, several.cov)
    with pytest.raises(ParameterError, match="fewer than two columns"):
        linear_regression(file, "income", ["region", "sex"], interactions=("region", "sex"))
    with pytest.raises(InputError, match="single cluster"):
        linear_regression(released(survey(60).assign(all="a"), SEX), "income", "sex", cluster="all")


def test_households_that_were_drawn_as_one_are_not_cut_by_strata_of_the_design() -> None:
    frame = survey(600).assign(odd=[f"o{i % 2}" for i in range(600)], pair=[f"q{i // 100}" for i in range(600)])
    frame["sex"] = frame["sex"].to_numpy()[np.arange(600) // 2 * 2]
    file = released(frame, variable("sex", SEXES, P2, together="home"))
    for fit in (linear_regression, logistic_regression):
        response = "income" if fit is linear_regression else "job"
        with pytest.raises(InputError, match="cut by clusters or strata"):
            fit(file, response, ["sex"], design_strata="odd")
        own, named = (fit(file, response, ["sex"], design_strata="pair", **more) for more in ({}, {"cluster": "home"}))
        np.testing.assert_allclose(own.cov, named.cov)


def test_clusters_without_a_record_in_the_model_still_count() -> None:
    # as for a domain: the clusters of a stratum were drawn, whether they hold such records or not
    frame = survey(2000)
    frame.loc[frame["psu"].isin(["p3", "p7", "p15"]), "income"] = np.nan
    file = released(frame, REGION, SEX)
    kept = linear_regression(file, "income", ["sex"], cluster="psu", design_strata="draw", on_missing="drop")
    own = released(frame[frame["income"].notna()], REGION, SEX)
    fit = linear_regression(own, "income", ["sex"], cluster="psu", design_strata="draw")
    np.testing.assert_allclose(kept.params, fit.params)
    z = np.linalg.inv(P2)[(frame["sex"] == "f").astype(int)]
    used, y = frame["income"].notna().to_numpy(), frame["income"].fillna(0).to_numpy()
    moment = np.array([[used.sum(), z[used, 1].sum()], [z[used, 1].sum(), z[used, 1].sum()]])
    psi = used[:, None] * (
        np.column_stack([y, z[:, 1] * y])
        - np.column_stack([kept.params[0] + z[:, 1] * kept.params[1], z[:, 1] * kept.params.sum()])
    )
    sums = pd.DataFrame(psi).groupby([frame["draw"], frame["psu"]]).sum()
    meat = sum(len(own) * own.cov().to_numpy() for _, own in sums.groupby(level=0))
    np.testing.assert_allclose(kept.cov, np.linalg.inv(moment) @ meat @ np.linalg.inv(moment).T)
    assert np.abs(kept.cov / fit.cov - 1).max() > 1e-3


def test_weights_of_the_file_that_are_not_used_are_told() -> None:
    file = released(read_microdata(survey(400), weight="weight"), REGION, SEX)
    for fit in (
        linear_regression(file, "income", "sex"),
        logistic_regression(file, "job", "sex"),
        loglinear(file, "sex", "sex"),
    ):
        assert any("has weights, which are not used" in note for note in fit.notes)
    assert not linear_regression(file, "income", "sex", weight="weight").notes


def test_only_numbers_may_stand_for_a_randomised_column_of_numbers() -> None:
    frame = survey(500).assign(children=np.resize(["0", "1", "2", ""], 500))
    own = variable("children", ["0", "1", "2"], P3)
    fit = linear_regression(released(frame, own), "income", ["children"], numeric="children", on_missing="drop")
    assert fit.names == ("intercept", "children")
    mixed = variable("children", ["0", "1", "2", ""], np.full((4, 4), 0.1) + np.eye(4) * 0.6, missing="category")
    with pytest.raises(InputError, match="which is no number"):
        linear_regression(released(frame, mixed), "income", ["children"], numeric="children")
