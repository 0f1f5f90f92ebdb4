"""What an analyst is told: notes, flags, errors, tables; and cases at the edge."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from discreet.errors import InputError, ParameterError
from discreet.inference.counts import estimate_counts
from discreet.inference.estimates import Estimates
from discreet.inference.extra_keys import matched_counts
from discreet.inference.nonnegative import em_counts, truncated
from discreet.inference.sums import estimate_means, estimate_proportions, estimate_totals
from discreet.io.microdata import read_microdata
from discreet.model.encoded import encoded
from discreet.model.microdata import Microdata, Missing
from discreet.model.randomised import PramDocument, Randomised
from discreet.model.released import ReleasedFile, released_counts
from discreet.model.transition import TransitionMatrix

SEX = TransitionMatrix.of(["f", "m"], [[0.9, 0.1], [0.2, 0.8]])


def released(records: Microdata | pd.DataFrame, *variables: Randomised, public: bool = True) -> ReleasedFile:
    held = records if isinstance(records, Microdata) else read_microdata(records)
    counts = []
    for one in variables:
        columns = {"own": one.columns} | ({"strata": one.strata} if one.strata else {})
        codes = encoded(held, columns).coded
        counts.append(released_counts(one, codes["own"], codes.get("strata")) if one.matrices else {})
    document = PramDocument(file="r.csv", records=held.rows, variables=variables, released=tuple(counts), public=public)
    return ReleasedFile(microdata=held, document=document)


def people(**more: object) -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "sex": list("fffmmfmmffmf"),
            "region": list("nsnsnsnsnsns"),
            "weight": np.linspace(1, 2.1, 12),
            "income": np.arange(12.0),
            "area": [f"a{i // 3}" for i in range(12)],
        }
    )
    return frame.assign(**more)


def sex(**more: object) -> Randomised:
    return Randomised(columns=("sex",), matrices={(): SEX}, **more)  # type: ignore[arg-type]  # fields of any kind


def test_nothing_changed_means_no_error_at_all() -> None:
    file = released(people(), Randomised(columns=("sex",), matrices={(): TransitionMatrix.identity(["f", "m"])}))
    for estimates in (
        estimate_counts(file, ["sex", "region"]),
        estimate_counts(file, ["sex"], weight="weight"),
        estimate_totals(file, "income", ["region", "sex"], weight="weight"),
        estimate_means(file, "income", ["sex"]),
        estimate_proportions(file, ["sex"], ["region"]),
        estimate_counts(file, ["region"]),
    ):
        assert (estimates.variance == 0).all()
        np.testing.assert_array_equal(estimates.estimate, estimates.naive)
        assert not estimates.clipped.any()


def test_one_category_and_no_column() -> None:
    one = Randomised(columns=("sex",), matrices={(): TransitionMatrix.identity(["f"])})
    file = released(pd.DataFrame({"sex": ["f", "f"], "income": [1.0, 4.0]}), one)
    assert estimate_counts(file, ["sex"]).estimate.tolist() == [2.0]
    assert estimate_counts(file, []).rows() == [
        {"estimate": 2.0, "error": 0.0, "low": 2.0, "high": 2.0, "naive": 2.0, "negative": False, "clipped": False}
    ]
    assert float(estimate_means(file, "income").estimate) == 2.5


def test_rows_order_and_frame_kind_change_nothing() -> None:
    frame = people(weight=np.random.default_rng(1).random(12), home=[f"h{i % 5}" for i in range(12)])
    frames = [frame, frame.sample(frac=1, random_state=3), frame.iloc[::-1]]
    variable = sex()
    for ask in (
        lambda file: estimate_counts(file, ["sex", "region"], weight="weight"),
        lambda file: estimate_totals(file, "income", ["sex"], weight="weight", cluster="home"),
        lambda file: estimate_totals(file, "income", ["sex"], weight="weight", design_strata=["region"]),
        lambda file: em_counts(file, ["sex", "region"], replicates=20, seed=1),
    ):
        first, *others = [ask(released(one, variable)) for one in frames]
        others.append(ask(released(read_microdata(pl.from_pandas(frame)), variable)))
        for other in others:
            for name in ("estimate", "variance", "low", "high", "naive"):
                np.testing.assert_array_equal(getattr(first, name), getattr(other, name))


def test_flags_and_text() -> None:
    file = released(pd.DataFrame({"sex": ["m"] * 20}), sex())
    estimates = estimate_counts(file, ["sex"])
    assert estimates.negative.tolist() == [True, False]
    text = str(estimates)
    assert text.startswith("counts by sex\nvariance: randomisation, given the true file\n")
    assert "std. error" in text
    assert "1 estimates are negative" in text
    assert "negative" in estimates.table()
    assert estimates.table(1).endswith("… and 1 more cells")
    assert list(estimates.columns()) == ["sex", "estimate", "error", "low", "high", "naive", "negative", "clipped"]
    with pytest.raises(ValueError, match="read-only"):
        estimates.estimate[0] = 1


def test_negative_variances_are_clipped_and_flagged() -> None:
    """A record's covariance can be indefinite: a cyclic matrix has a second positive entry in each row of its inverse."""
    P = [[0.6, 0.4, 0.0], [0.0, 0.6, 0.4], [0.4, 0.0, 0.6]]
    file = released(pd.DataFrame({"x": ["a"]}), Randomised(columns=("x",), matrices={(): TransitionMatrix.of("abc", P)}))
    q = np.linalg.inv(P)[0]
    estimates = estimate_counts(file, ["x"])
    expected = q**2 - q
    assert estimates.clipped.tolist() == [False, False, True]
    assert any("1 negative estimates of variance were set to 0" in note for note in estimates.notes)
    assert "variance clipped at 0" in estimates.table()
    np.testing.assert_allclose(estimates.variance, np.maximum(expected, 0))
    np.testing.assert_allclose(np.diag(estimates.covariance()), expected)


def test_intervals_follow_the_level() -> None:
    file = released(people(), sex())
    wide, narrow = estimate_counts(file, ["sex"], level=0.99), estimate_counts(file, ["sex"], level=0.5)
    np.testing.assert_allclose(wide.high - wide.estimate, 2.5758293 * wide.error)
    assert (narrow.high < wide.high).all()
    for level in (0.0, 1.0, 95.0):
        with pytest.raises(ParameterError, match="between 0 and 1"):
            estimate_counts(file, ["sex"], level=level)


def test_kept_empty_codes_are_a_category_of_their_own() -> None:
    file = released(people(sex=[*"fffmmfmmff", None, None]), sex())
    estimates = estimate_counts(file, ["sex"])
    assert [row["sex"] for row in estimates.rows()] == ["f", "m", ""]
    assert estimates.estimate[2] == 2
    assert estimates.variance[2] == 0
    assert estimates.estimate.sum() == pytest.approx(12)
    assert "(empty)" in estimates.table()
    most = em_counts(file, ["sex"])
    np.testing.assert_allclose(most.estimate, estimates.estimate)


def test_an_empty_domain_has_no_mean() -> None:
    file = released(people(sex=["m"] * 12), sex())
    means = estimate_means(file, "income", ["sex"])
    assert np.isnan(means.estimate[0])
    assert np.isnan(means.variance[0])
    assert means.estimate[1] == pytest.approx(5.5)
    assert "–" in means.table()


def test_records_without_a_value() -> None:
    income = np.where(np.arange(12) < 3, np.nan, np.arange(12.0))
    file = released(people(income=income), sex())
    with pytest.raises(InputError, match="3 records have no value"):
        estimate_totals(file, "income", ["sex"])
    dropped = estimate_means(file, "income", on_value="drop")
    assert float(dropped.estimate) == pytest.approx(np.nanmean(income))
    assert "3 records without a value of income were left out." in dropped.notes
    zero = estimate_means(file, "income", on_value="zero")
    assert float(zero.estimate) == pytest.approx(np.nansum(income) / 12)
    with pytest.raises(ParameterError, match="did you mean 'drop'"):
        estimate_means(file, "income", on_value="dropp")
    declared = read_microdata(people(), missing=Missing(values=("4",), on_value="drop"))
    assert float(estimate_means(released(declared, sex()), "income").estimate) == pytest.approx((66 - 4) / 11)


def test_where_invariance_ends_the_notes_say_so() -> None:
    by_region = {("n",): SEX, ("s",): SEX}
    file = released(people(), sex(invariant="sample"))
    strata = released(people(), Randomised(columns=("sex",), matrices=by_region, strata=("region",), invariant="sample"))
    population = released(people(), sex(invariant="population"))

    def note(estimates: Estimates) -> str:
        return " ".join(note for note in estimates.notes if "invariant" in note)

    assert "naive values are unbiased" in note(estimate_counts(file, ["sex"]))
    assert "not when crossed with region" in note(estimate_counts(file, ["sex", "region"]))
    assert "for sample counts, not for the population" in note(estimate_counts(file, ["sex"], weight="weight"))
    assert "within region: the naive values are unbiased" in note(estimate_counts(strata, ["region", "sex"]))
    assert "naive values are unbiased" in note(estimate_counts(population, ["sex"], weight="weight"))
    assert "naive values are biased" in note(estimate_totals(file, "income", ["sex"]))
    assert note(estimate_counts(released(people(), sex()), ["sex", "region"])) == ""


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        ([[0.5, 0.5], [0.5, 0.5]], "transition matrix of sex"),
        ([[0.5 + 1e-9, 0.5 - 1e-9], [0.5, 0.5]], "several true files explain"),
    ],
)
def test_matrices_without_an_inverse_are_refused(matrix: list[list[float]], words: str) -> None:
    file = released(people(), Randomised(columns=("sex",), matrices={(): TransitionMatrix.of(["f", "m"], matrix)}))
    with pytest.raises(InputError, match=words):
        estimate_counts(file, ["sex"])
    assert estimate_counts(file, ["region"]).estimate.tolist() == [6, 6]


def test_the_stratum_of_a_singular_matrix_is_named() -> None:
    flat = TransitionMatrix.of(["f", "m"], [[0.5, 0.5], [0.5, 0.5]])
    file = released(people(), Randomised(columns=("sex",), matrices={("n",): SEX, ("s",): flat}, strata=("region",)))
    with pytest.raises(InputError, match="sex, stratum 's'"):
        estimate_counts(file, ["sex"])


def test_questions_that_cannot_be_answered() -> None:
    homes = [f"h{i // 2}" for i in range(12)]
    pairs = Randomised(columns=("job", "grade"), matrices={(): TransitionMatrix.of([("x", "1"), ("y", "2")], np.eye(2))})
    own = [("x", "1"), ("y", "2")] * 6
    frame = people(home=homes, flat=homes, job=[a for a, _ in own], grade=[b for _, b in own], kind=["k"] * 12)
    kind = Randomised(columns=("kind",), matrices={(): TransitionMatrix.identity(["k"])}, together="flat")
    file = released(frame, sex(together="home"), kind, pairs)
    for problem, ask in {
        "no column 'sexx'": lambda: estimate_counts(file, ["sexx"]),
        "asked for twice": lambda: estimate_counts(file, ["sex", "sex"]),
        "no numbers: 'x', 'y'": lambda: estimate_totals(file, "job", ["sex"]),
        "by its codes as well": lambda: estimate_totals(file, "grade", ["grade"]),
        "different households": lambda: estimate_counts(file, ["sex", "kind"]),
        "cannot be the weight": lambda: estimate_counts(file, ["sex"], weight="grade"),
        "cannot be the clusters": lambda: estimate_counts(file, ["sex"], cluster="job"),
        "cannot be the strata of the design": lambda: estimate_counts(file, ["sex"], design_strata=["job"]),
        "cut by clusters": lambda: estimate_counts(file, ["sex"], cluster="area"),
        "single cluster": lambda: estimate_counts(file, ["region"], cluster="area", design_strata=["area"]),
        "hold text where a number": lambda: estimate_counts(file, ["sex"], weight="region"),
        "no entry for codes of 'region': 's'": lambda: matched_counts(file, ["region"], "region", {"n": "x"}, name="r"),
        "is not asked for": lambda: matched_counts(file, ["sex"], "region", {}, name="r"),
        "already has a column": lambda: matched_counts(file, ["sex", "region"], "region", {}, name="sex"),
        "with others of its compound": lambda: matched_counts(file, ["job", "grade"], "job", {}, name="r"),
    }.items():
        with pytest.raises(InputError, match=problem):
            ask()


def test_weights_must_be_there_and_not_below_zero() -> None:
    several = {
        "1 records have no weight": np.r_[np.nan, np.ones(11)],
        "12 records": -np.ones(12),
        "all weights are 0": np.zeros(12),
    }
    for words, weights in several.items():
        file = released(people(weight=weights), sex())
        with pytest.raises(InputError, match=words):
            estimate_counts(file, ["sex"], weight="weight")


def test_matrices_that_stay_with_the_owner_give_no_estimates() -> None:
    held = read_microdata(people())
    document = PramDocument(file="r.csv", records=12, variables=(), released=())
    file = ReleasedFile(microdata=held, document=document)
    kept_back = Randomised(columns=("sex",), matrices={})
    object.__setattr__(
        file, "document", PramDocument(file="r.csv", records=12, variables=(kept_back,), released=({},), public=False)
    )
    with pytest.raises(InputError, match="its matrices are not public"):
        estimate_counts(file, ["sex"])
    assert estimate_counts(file, ["region"]).estimate.tolist() == [6, 6]


def test_covariances_of_chosen_cells() -> None:
    file = released(people(), sex())
    estimates = estimate_counts(file, ["region", "sex"])
    chosen = estimates.covariance([{"sex": "m", "region": "s"}, ("n", "f"), 1])
    every = estimates.covariance()
    np.testing.assert_allclose(chosen, every[np.ix_([3, 0, 1], [3, 0, 1])])
    for cells, words in (
        ([{"sex": "m"}], "needs one code for each"),
        ([("x", "f")], "no category 'x' of region"),
        ([4], "outside"),
        ([-1], "outside"),
    ):
        with pytest.raises(InputError, match=words):
            estimates.covariance(cells)
    with pytest.raises(InputError, match="no covariances in closed form"):
        truncated(estimates).covariance()


def test_a_bootstrap_is_repeatable_and_stays_on_the_simplex() -> None:
    counts = {"a": 60, "b": 45, "c": 2, "d": 3}
    P = [[0.8, 0.1, 0.05, 0.05], [0.1, 0.8, 0.05, 0.05], [0.15, 0.05, 0.7, 0.1], [0.1, 0.1, 0.2, 0.6]]
    frame = pd.DataFrame({"x": np.repeat(list(counts), list(counts.values()))})
    file = released(frame, Randomised(columns=("x",), matrices={(): TransitionMatrix.of("abcd", P)}))
    one, again, other = (em_counts(file, ["x"], replicates=200, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.high, again.high)
    assert (one.high != other.high).any()
    assert (one.low >= 0).all()
    assert one.low[2] < 1e-9
    assert one.estimate[2] == 0
    assert one.high[2] == estimate_counts(file, ["x"]).high[2] > 0  # all replicates but a few are 0 there
    assert (one.low <= one.estimate + 1e-9).all()
    assert "seed 1" in one.source
    for wrong in ({"replicates": 10}, {"seed": 1}):
        with pytest.raises(ParameterError, match="go together"):
            em_counts(file, ["x"], **wrong)
    with pytest.raises(ParameterError, match="not multinomial"):
        em_counts(file, ["x"], weight="x", replicates=10, seed=1)


def test_em_by_strata_and_of_a_part_of_a_compound_variable() -> None:
    """Against iterations on the joint matrix of each stratum, written out."""
    g = np.random.default_rng(4)
    pairs = [("f", "x"), ("m", "x"), ("m", "y")]
    P = {"n": np.array([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]])}
    P["s"] = np.array([[0.5, 0.3, 0.2], [0.1, 0.7, 0.2], [0.3, 0.1, 0.6]])
    codes = [pairs[i] for i in g.choice(3, 40, p=[0.1, 0.2, 0.7])]
    frame = pd.DataFrame({"sex": [a for a, _ in codes], "ill": [b for _, b in codes], "region": list("ns") * 20})
    matrices = {(region,): TransitionMatrix.of(pairs, P[region]) for region in "ns"}
    file = released(frame, Randomised(columns=("sex", "ill"), matrices=matrices, strata=("region",)))
    expected = np.zeros((2, 2))
    for row, region in enumerate("ns"):
        own = [code for code, r in zip(codes, frame["region"], strict=True) if r == region]
        n = np.array([own.count(pair) for pair in pairs])
        pi = np.full(3, 1 / 3)
        for _ in range(20_000):
            pi = pi * (P[region] @ (n / 20 / (pi @ P[region])))
        expected[row] += [20 * pi[0], 20 * pi[1:].sum()]
    found = em_counts(file, ["region", "sex"])
    np.testing.assert_allclose(found.estimate, expected, atol=1e-6)


def test_no_table_is_more_likely_than_that_of_em() -> None:
    """At the maximum of the likelihood its slope is 1 for every share above 0, and at most 1 for the others."""
    g = np.random.default_rng(11)
    matrices, columns = [], {}
    for name, size in (("a", 4), ("b", 5), ("c", 6)):
        matrices.append(0.7 * np.eye(size) + 0.3 / size)
        columns[name] = g.choice(size, 300, p=g.dirichlet(np.ones(size) / 2)).astype(str)
    variables = [
        Randomised(columns=(name,), matrices={(): TransitionMatrix.of([str(k) for k in range(len(P))], P)})
        for name, P in zip(columns, matrices, strict=True)
    ]
    found = em_counts(released(pd.DataFrame(columns), *variables), list(columns))
    shares, counts = found.estimate / 300, found.naive
    mixed = np.einsum("abc,ai,bj,ck->ijk", shares, *matrices)
    slope = np.einsum("ijk,ai,bj,ck->abc", counts / 300 / mixed, *matrices)
    assert (found.estimate < 1e-6).sum() > 40
    assert slope.max() < 1 + 1e-6
    np.testing.assert_allclose(slope[shares > 1e-6], 1, atol=1e-5)


def test_tables_too_large_are_refused_before_they_are_made() -> None:
    n = 3000
    frame = pd.DataFrame({f"v{i}": np.arange(n) for i in range(4)})
    file = released(frame)
    with pytest.raises(InputError, match="ask for fewer columns"):
        estimate_counts(file, ["v0", "v1", "v2"])
    with pytest.raises(InputError, match="up to 5000"):
        estimate_counts(file, ["v0", "v1"]).covariance()


def test_what_is_shown_holds_no_record() -> None:
    file = released(people(), sex())
    assert repr(estimate_counts(file, ["sex", "region"])) == "Estimates(counts by sex, region: 4 cells)"


def test_one_column_may_be_named_by_itself() -> None:
    file = released(people(), sex())
    for ask in (estimate_counts, em_counts):
        assert ask(file, "sex").estimate.tolist() == ask(file, ["sex"]).estimate.tolist()
    assert estimate_totals(file, "income", "region").by == ("region",)
    assert estimate_proportions(file, "sex", "region").by == ("region", "sex")
    one, several = (estimate_counts(file, "sex", cluster="area", design_strata=named) for named in ("region", ["region"]))
    np.testing.assert_array_equal(one.variance, several.variance)


def test_weights_that_are_not_used_are_told() -> None:
    file = released(read_microdata(people(), weight="weight"), sex())
    plain = estimate_counts(file, ["sex"]), estimate_means(file, "income", ["sex"]), estimate_proportions(file, ["sex"])
    for estimates in (*plain, em_counts(file, ["sex"])):
        assert "The file has weights, which are not used" in estimates.notes[0]
        assert "weight='weight'" in str(estimates)
    assert not estimate_counts(file, ["sex"], weight="weight").notes
    assert not estimate_counts(released(people(), sex()), ["sex"]).notes


def test_households_that_were_drawn_as_one_are_clusters_where_none_or_smaller_ones_are_named() -> None:
    frame = people(home=[f"h{i // 3}" for i in range(12)], half=list("ababababcdcd"), person=[f"p{i:02d}" for i in range(12)])
    frame["sex"], frame["part"] = list("fffmmmfffmmm"), list("xxxxxxyyyyyy")
    file = released(frame, sex(together="home"))
    named = estimate_counts(file, ["sex"], cluster="home", design_strata="part")
    for other in ({"design_strata": "part"}, {"cluster": "person", "design_strata": "part"}):
        np.testing.assert_allclose(estimate_counts(file, ["sex"], **other).covariance(), named.covariance())
    with pytest.raises(InputError, match="cut by clusters or strata"):
        estimate_counts(file, ["sex"], design_strata="half")
    with pytest.raises(ParameterError, match="not multinomial"):
        em_counts(file, ["sex"], replicates=10, seed=1)


def test_an_extra_key_is_of_texts() -> None:
    file = released(people(), sex())
    for key in ({"n": 1, "s": 2}, {1: "x"}):
        with pytest.raises(InputError, match="no texts"):
            matched_counts(file, ["region"], "region", key, name="r")  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(InputError, match="a single cluster"):
        estimate_counts(released(people(all="a"), sex()), ["sex"], cluster="all")


def test_a_category_that_was_never_released() -> None:
    matrix = TransitionMatrix.of(["f", "m", "x"], np.full((3, 3), 0.1) + 0.7 * np.eye(3))
    file = released(people(), Randomised(columns=("sex",), matrices={(): matrix}))
    assert estimate_counts(file, "sex").negative.tolist() == [False, False, True]
    assert em_counts(file, "sex").estimate[2] == 0
    for estimates, cells in ((estimate_means(file, "income", "sex"), 1), (estimate_proportions(file, "region", "sex"), 2)):
        assert np.isnan(estimates.estimate).sum() == cells
        assert f"{cells} cells have no value" in estimates.notes[-1]


def test_what_is_no_released_file() -> None:
    for wrong in ("open.csv", read_microdata(people())):
        with pytest.raises(InputError, match="read it by its document"):
            estimate_counts(wrong, "sex")  # type: ignore[arg-type]  # wrong on purpose
