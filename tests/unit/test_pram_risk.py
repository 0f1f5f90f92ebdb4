"""Risk after PRAM: formulas against worked examples and brute force, and the summary of a whole file."""

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from discreet.errors import InputError, ParameterError
from discreet.io.microdata import read_microdata
from discreet.microdata.risk.named import named_records, named_units
from discreet.microdata.risk.pram import expectation_ratios, joint_odds, match_probability, odds_bound, posterior_odds
from discreet.microdata.risk.pram_file import pram_risk
from discreet.model.encoded import Coded, encoded
from discreet.model.pram_file import PramFile
from discreet.model.randomised import PramDocument, Randomised
from discreet.model.transition import TransitionMatrix

NINE = [[0.9, 0.1], [0.1, 0.9]]


def sex(matrix: Any = NINE) -> TransitionMatrix:
    return TransitionMatrix.of(["f", "m"], matrix)


def cyclic(counts: list[int], c: float = 0.1) -> TransitionMatrix:
    """The invariant cyclic matrix of SPEC A.6: a constant flow around the categories."""
    size, least = len(counts), min(counts)
    matrix = np.zeros((size, size))
    for k, n in enumerate(counts):
        matrix[k, k] = 1 - c * least / n
        matrix[k, (k + 1) % size] = c * least / n
    return TransitionMatrix.of("abcdefgh"[:size], matrix)


def pram_file(columns: dict[str, Any], variables: list[Randomised], *, seed: int = 0, **roles: str) -> PramFile:
    """A file whose variables are drawn here, record by record, from their matrices."""
    microdata = read_microdata(pd.DataFrame(columns), **roles)
    chance = np.random.default_rng(seed)
    file = PramFile(microdata=microdata, key=np.arange(microdata.rows))
    for variable in variables:
        wanted = {"own": variable.columns} | ({"stratum": variable.strata} if variable.strata else {})
        held = encoded(microdata, wanted).coded
        own = held["own"]
        released = own.codes.copy()
        for i, code in enumerate(own.codes):
            stratum = held["stratum"].categories[held["stratum"].codes[i]] if variable.strata else ()
            matrix = variable.matrices[stratum]
            if own.categories[code] in matrix.categories:
                row = matrix.matrix[matrix.position(own.categories[code])]
                drawn = matrix.categories[chance.choice(len(row), p=row)]
                released[i] = own.categories.index(drawn)
        file = file.with_variable(variable, own, Coded(own.categories, released))
    return file


# ------------------------------------------------------------------------------- formulas


def test_expectation_ratios_of_the_invariant_cyclic_matrix() -> None:
    counts = [50, 30, 20, 10]
    assert expectation_ratios(cyclic(counts), counts) == pytest.approx([49, 29, 19, 9])


def test_under_invariance_the_expectation_ratio_is_that_of_the_diagonal() -> None:
    counts = np.array([50.0, 30, 20, 10])
    share = counts / counts.sum()
    matrix = TransitionMatrix.of("abcd", 0.6 * np.eye(4) + 0.4 * share)
    stay = matrix.diagonal
    assert expectation_ratios(matrix, counts) == pytest.approx(stay / (1 - stay))


def test_expectation_ratios_at_the_ends() -> None:
    matrix = TransitionMatrix.of("abc", [[1, 0, 0], [0, 0.5, 0.5], [0, 1, 0]])
    assert expectation_ratios(matrix, [3, 4, 2])[:2] == pytest.approx([math.inf, 1.0])
    assert expectation_ratios(matrix, [3, 4, 2])[2] == 0
    assert math.isnan(expectation_ratios(matrix, [3, 0, 0])[1])
    assert expectation_ratios(TransitionMatrix.identity([]), []).shape == (0,)


@pytest.mark.parametrize("counts", [[1, 2, 3], [1, -2], [1, math.nan], [[1, 2]]])
def test_counts_that_do_not_fit_are_refused(counts: Any) -> None:
    with pytest.raises(InputError, match="counts"):
        expectation_ratios(sex(), counts)
    with pytest.raises(InputError, match="counts"):
        posterior_odds(sex(), counts, "f")


def test_the_surgeon_who_is_released_as_a_woman_is_probably_a_man() -> None:
    assert posterior_odds(sex(), [1, 99], "m", released="f") == pytest.approx(11)
    assert posterior_odds(sex(), [1, 99], "f") == pytest.approx(1 / 11)
    assert posterior_odds(sex(), [1, 9], "m", released="f") == pytest.approx(1)


def test_posterior_odds_at_the_ends() -> None:
    assert posterior_odds(sex(np.eye(2)), [1, 99], "f") == math.inf
    assert posterior_odds(sex(), [0, 99], "f") == 0
    with pytest.raises(InputError, match="nobody in these counts"):
        posterior_odds(sex(np.eye(2)), [0, 99], "f")
    with pytest.raises(InputError, match="no category 'w'"):
        posterior_odds(sex(), [1, 99], "w")


def brute_odds(matrices: list[TransitionMatrix], counts: Any, key: Any, seen: Any) -> float:
    true = false = 0.0
    for cell in itertools.product(*(range(len(matrix.categories)) for matrix in matrices)):
        p = counts[cell]
        for matrix, k, code in zip(matrices, cell, seen, strict=True):
            p *= matrix.matrix[k, matrix.position(code)]
        if all(matrix.position(code) == k for matrix, k, code in zip(matrices, cell, key, strict=True)):
            true += p
        else:
            false += p
    return true / false


def test_keys_of_several_variables_take_the_product() -> None:
    chance = np.random.default_rng(1)
    matrices = [
        sex(),
        TransitionMatrix.of("abc", chance.dirichlet([5, 2, 1], 3)),
        TransitionMatrix.of("wxyz", 0.5 * np.eye(4) + 0.125),
    ]
    counts = chance.integers(0, 9, (2, 3, 4)).astype(float)
    counts[0, 1, 2] = 2
    for seen in (("f", "b", "y"), ("m", "b", "x")):
        expected = brute_odds(matrices, counts, ("f", "b", "y"), seen)
        assert joint_odds(matrices, counts, ("f", "b", "y"), seen) == pytest.approx(expected)
        named = {
            tuple(matrix.labels[k] for matrix, k in zip(matrices, cell, strict=True)): n for cell, n in np.ndenumerate(counts)
        }
        assert joint_odds(matrices, named, ("f", "b", "y"), seen) == pytest.approx(expected)


def test_an_unperturbed_variable_in_the_key_only_selects() -> None:
    job = TransitionMatrix.identity(["surgeon", "nurse"])
    counts = [[1, 500], [99, 40]]
    assert joint_odds([sex(), job], counts, ("m", "surgeon"), ("f", "surgeon")) == pytest.approx(11)


def test_keys_and_counts_must_fit() -> None:
    with pytest.raises(InputError, match="another length"):
        joint_odds([sex()], [1, 2], ("f", "m"))
    with pytest.raises(InputError, match="shape"):
        joint_odds([sex(), sex()], [1, 2], ("f", "m"))
    with pytest.raises(InputError, match="not one code a variable"):
        joint_odds([sex(), sex()], {("f",): 1}, ("f", "m"))


@pytest.mark.parametrize("sampled", [0.3, 0.05])
def test_match_probability_is_that_of_all_samples_and_draws(sampled: float) -> None:
    """Every unit is drawn or not, and if drawn changed or not; among the outcomes with one record of key j, is it the one?"""
    matrix = TransitionMatrix.of("ab", [[0.7, 0.3], [0.2, 0.8]])
    units = [0, 0, 1, 1, 1]
    for j in range(2):
        target = units.index(j)
        hit = single = 0.0
        for outcome in itertools.product(range(3), repeat=len(units)):  # released as a, as b, or not drawn
            p = 1.0
            for unit, what in zip(units, outcome, strict=True):
                p *= 1 - sampled if what == 2 else sampled * matrix.matrix[unit, what]
            if outcome.count(j) == 1:
                single += p
                hit += p * (outcome[target] == j)
        found = match_probability(matrix, [2, 3], sampled=sampled)
        assert found[j] == pytest.approx(hit / single)


def test_first_order_match_probability() -> None:
    assert match_probability(sex(), [1, 99]) == pytest.approx([0.9 / (0.9 + 9.9), 0.9 / (0.1 + 89.1)])
    assert match_probability(sex(np.eye(2)), [1, 4]) == pytest.approx([1, 0.25])
    assert match_probability(sex(np.eye(2)), [1, 4], sampled=0.5) == pytest.approx([1, 0.25])
    with pytest.raises(ParameterError, match="share of a population"):
        match_probability(sex(), [1, 4], sampled=1)


# ------------------------------------------------------------------------------- epsilon


def test_epsilon_is_infinite_where_a_column_mixes_zeros_with_others() -> None:
    assert sex().epsilon == pytest.approx(math.log(9))
    assert TransitionMatrix.of("ab", [[1, 0], [0.1, 0.9]]).epsilon == math.inf
    assert TransitionMatrix.of("ab", [[1, 0], [1, 0]]).epsilon == 0
    assert cyclic([50, 30, 20, 10]).epsilon == math.inf


def test_the_bound_of_epsilon_is_met_by_the_surgeon() -> None:
    assert odds_bound(99, math.log(9)) == pytest.approx(891)
    assert odds_bound(1 / 99, sex().epsilon) == pytest.approx(posterior_odds(sex(), [1, 99], "f"))
    assert odds_bound(0, math.inf) == 0
    assert odds_bound(0.5, math.inf) == math.inf
    assert odds_bound(0.5, 1e4) == math.inf


def test_posterior_odds_stay_within_the_bound() -> None:
    chance = np.random.default_rng(3)
    for _ in range(200):
        matrix = TransitionMatrix.of("abcd", chance.dirichlet(np.ones(4), 4))
        counts = chance.integers(1, 50, 4)
        k, x = chance.integers(0, 4, 2)
        prior = counts[k] / (counts.sum() - counts[k])
        assert posterior_odds(matrix, counts, "abcd"[k], "abcd"[x]) <= odds_bound(prior, matrix.epsilon) * (1 + 1e-12)


# ------------------------------------------------------------------------------- a whole file

REGION = ["n"] * 60 + ["s"] * 140
AREA = ["a"] * 30 + ["b"] * 25 + ["c"] * 5 + ["a"] * 80 + ["b"] * 60
RANDOMISED = Randomised(columns=("sex",), matrices={(): sex()})


def two_variables() -> PramFile:
    """Sex with one matrix, area with one for each region; area c occurs in the north only."""
    north = TransitionMatrix.of("abc", [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]])
    south = TransitionMatrix.of("ab", [[0.7, 0.3], [0, 1]])
    columns = {"sex": (["f"] * 9 + ["m"]) * 20, "region": REGION, "area": AREA, "weight": [1.0, 3.0] * 100}
    area = Randomised(columns=("area",), matrices={("n",): north, ("s",): south}, strata=("region",))
    return pram_file(columns, [RANDOMISED, area], seed=7, weight="weight")


def test_the_summary_counts_what_was_held_and_released() -> None:
    file = two_variables()
    risk = pram_risk(file)
    of_sex, area = risk.variables
    assert [part.stratum for part in area.strata] == [("n",), ("s",)]
    assert of_sex.strata[0].true.tolist() == [180, 20]
    assert area.strata[0].true.tolist() == [30, 25, 5]
    assert area.strata[1].true.tolist() == [80, 60]
    assert of_sex.strata[0].population.tolist() == [100 * 1 + 80 * 3, 20 * 3]
    true, released = file.true[1].codes, file.released[1].codes
    south = np.array(REGION) == "s"
    assert area.strata[1].released.tolist() == [(released[south] == k).sum() for k in (0, 1)]
    assert area.strata[1].changed.tolist() == [((released != true) & south & (true == k)).sum() for k in (0, 1)]
    assert area.changed_share == (true != released).mean()
    assert area.expected_share == pytest.approx((30 * 0.2 + 25 * 0.2 + 5 * 0.6 + 80 * 0.3) / 200)
    assert area.diagonal == (pytest.approx(0.4), pytest.approx(1))
    assert risk.epsilon == math.inf
    assert of_sex.epsilon == pytest.approx(math.log(9))
    same = (file.true[0].codes == file.released[0].codes) & (true == released)
    assert risk.unchanged == (pytest.approx(0.9 * (1 - area.expected_share)), same.mean())


def test_shares_by_category_are_over_all_strata() -> None:
    area = pram_risk(two_variables()).variables[1]
    first = area.by_category()[0]
    assert (first["category"], first["records"]) == ("a", 110)
    assert first["expected_share"] == pytest.approx((30 * 0.2 + 80 * 0.3) / 110)
    assert first["changed_share"] == sum(int(part.changed[0]) for part in area.strata) / 110


def test_posterior_probabilities_are_for_the_population() -> None:
    file = two_variables()
    part = pram_risk(file).variables[0].strata[0]
    F = part.population
    assert part.posterior == pytest.approx([0.9 * F[0] / (0.9 * F[0] + 0.1 * F[1]), 0.9 * F[1] / (0.9 * F[1] + 0.1 * F[0])])
    assert part.expectation_ratios == pytest.approx([81, 1])


def test_rows_for_a_frame() -> None:
    rows = pram_risk(two_variables()).rows()
    assert len(rows) == 2 + 3 + 2
    rare = next(row for row in rows if row["category"] == "c")
    assert (rare["variable"], rare["stratum"], rare["true"], rare["rare"]) == ("area", "n", 5, True)
    assert rare["expectation_ratio"] == pytest.approx(0.4 * 5 / (0.1 * 55))


def told(variables: list[Randomised], columns: dict[str, Any], **more: Any) -> str:
    return "\n".join(pram_risk(pram_file(columns, variables, seed=5), **more).warnings)


def test_what_a_file_is_warned_of() -> None:
    text = "\n".join(pram_risk(two_variables()).warnings)
    assert "area: epsilon is infinite in 1 of 2 strata ('s')" in text
    assert "released as one of these is so for certain, as no other may become it: 'a (s)'" in text
    assert "All variables together have an infinite epsilon, because of 'area'." in text
    about = [line for line in text.splitlines() if line.startswith("sex: ")]
    assert len(about) == 1
    assert about[0].startswith("sex: the column 'weight', which stays as it is, gives some categories away: f (")


def test_rare_categories_that_are_released_too_truly_are_named() -> None:
    columns = {"sex": ["f"] * 3 + ["m"] * 7}
    hard = Randomised(columns=("sex",), matrices={(): sex([[0.99, 0.01], [0.01, 0.99]])})
    assert "sex: rare categories (at most 5 records) with an expectation ratio above 1" in told([hard], columns, rare=5)
    assert told([hard], columns, rare=0) == ""
    assert told([hard], columns, rare=3, most=50) == ""
    with pytest.raises(ParameterError, match="below 0"):
        told([hard], columns, rare=-1)


def test_invariant_matrices_tell_the_counts_they_were_made_for() -> None:
    columns = {"group": list("a" * 50 + "b" * 30 + "c" * 20 + "d" * 10)}
    t = np.array([50, 30, 20, 10]) / 110
    rank_one = TransitionMatrix.of("abcd", 0.5 * np.eye(4) + 0.5 * t)
    variable = Randomised(columns=("group",), matrices={(): rank_one}, invariant="sample")
    text = told([variable], columns)
    assert "relative true counts (records) of all categories" in text
    assert "epsilon holds only where the counts" in text
    plain = Randomised(columns=("group",), matrices={(): rank_one})
    assert "relative true counts" not in told([plain], columns)
    blocks = TransitionMatrix.of("abcd", np.kron(np.eye(2), NINE))
    variable = Randomised(columns=("group",), matrices={(): blocks}, invariant="sample")
    assert "of categories that can become each other" in told([variable], columns)
    risk = pram_risk(pram_file(columns, [variable]))
    assert risk.variables[0].gap == pytest.approx(blocks.gap([50, 30, 20, 10]))
    assert risk.variables[0].gap > 1


def test_matrices_that_ruin_estimates() -> None:
    columns = {"sex": ["f"] * 50 + ["m"] * 70}
    assert "singular" in told([Randomised(columns=("sex",), matrices={(): sex([[0.5, 0.5], [0.5, 0.5]])})], columns)
    text = told([Randomised(columns=("sex",), matrices={(): sex([[0.502, 0.498], [0.498, 0.502]])})], columns)
    assert "the condition number is above 100" in text
    assert "singular" not in text


def test_a_variable_that_stays_as_it_is() -> None:
    columns = {"sex": ["f"] * 50 + ["m"] * 70}
    text = told([Randomised(columns=("sex",), matrices={(): sex(np.eye(2))})], columns)
    assert "sex: nothing changes; what is released there is the truth." in text
    assert "for certain" not in text


def test_other_matrices_than_those_applied_are_noticed() -> None:
    file = pram_file({"sex": ["f"] * 500 + ["m"] * 700}, [RANDOMISED])
    assert pram_risk(file).warnings == ()
    other = Randomised(columns=("sex",), matrices={(): sex([[0.6, 0.4], [0.4, 0.6]])})
    swapped = PramFile(microdata=file.microdata, key=file.key, variables=(other,), true=file.true, released=file.released)
    assert "more than 6 standard deviations" in pram_risk(swapped).warnings[0]


def test_households_that_share_a_draw_are_one_draw() -> None:
    microdata = read_microdata(pd.DataFrame({"rent": ["f"] * 60 + ["m"] * 40, "home": [str(i // 10) for i in range(100)]}))
    own = encoded(microdata, {"own": ("rent",)}).coded["own"]
    turned = Coded(own.categories, np.where(np.arange(100) < 40, 1 - own.codes, own.codes))
    for together, squares, warned in (("home", [600, 400], 0), (None, [60, 40], 2)):
        one = Randomised(columns=("rent",), matrices={(): sex()}, together=together)
        risk = pram_risk(PramFile(microdata=microdata, key=np.arange(100), variables=(one,), true=(own,), released=(turned,)))
        assert risk.variables[0].strata[0].true_squares.tolist() == squares
        # four of ten homes are less odd than 40 of 100 records; drawn one by one, these are told by their home
        assert len(risk.warnings) == warned


def test_empty_codes_are_kept_or_a_category() -> None:
    columns = {"sex": ["f"] * 40 + ["m"] * 50 + [None] * 10}
    risk = pram_risk(pram_file(columns, [RANDOMISED]))
    assert (risk.records, risk.variables[0].records) == (100, 90)
    assert risk.unchanged[0] == pytest.approx(0.91)
    matrix = TransitionMatrix.of(["", "f", "m"], 0.7 * np.eye(3) + 0.1)
    own = Randomised(columns=("sex",), matrices={(): matrix}, missing="category")
    assert pram_risk(pram_file(columns, [own])).variables[0].records == 100


def test_a_file_without_variables_and_a_variable_without_codes() -> None:
    columns = {"sex": ["", "", ""]}
    risk = pram_risk(pram_file(columns, []))
    assert (risk.records, risk.epsilon, risk.warnings, risk.unchanged) == (3, 0, (), (1, 1))
    risk = pram_risk(pram_file(columns, [RANDOMISED]))
    assert (risk.variables[0].records, risk.variables[0].changed_share, risk.unchanged) == (0, 0, (1, 1))


def test_categories_and_strata_without_a_matrix_are_refused() -> None:
    microdata = read_microdata(pd.DataFrame({"sex": ["f", "m", "x"], "region": ["n", "s", "s"]}))
    own = encoded(microdata, {"own": ("sex",)}).coded["own"]
    file = PramFile(microdata=microdata, key=np.arange(3), variables=(RANDOMISED,), true=(own,), released=(own,))
    with pytest.raises(InputError, match="the matrix does not know"):
        pram_risk(file)
    wide = TransitionMatrix.identity(["f", "m", "x"])
    one = Randomised(columns=("sex",), matrices={("n",): wide}, strata=("region",))
    file = PramFile(microdata=microdata, key=np.arange(3), variables=(one,), true=(own,), released=(own,))
    with pytest.raises(InputError, match="no matrix for the stratum 's'"):
        pram_risk(file)


def test_row_order_does_not_matter() -> None:
    chance = np.random.default_rng(11)
    columns = {"sex": chance.choice(["f", "m"], 200), "weight": chance.random(200)}
    whole = pram_file(columns, [RANDOMISED], weight="weight")
    order = chance.permutation(200)
    turned = read_microdata(pd.DataFrame({name: values[order] for name, values in columns.items()}), weight="weight")
    coded = [Coded(part.categories, part.codes[order]) for part in (whole.true[0], whole.released[0])]
    other = PramFile(microdata=turned, key=whole.key[order], variables=(RANDOMISED,), true=(coded[0],), released=(coded[1],))
    assert pram_risk(whole).rows() == pram_risk(other).rows()


def test_nothing_confidential_in_what_is_shown() -> None:
    file = two_variables()
    risk = pram_risk(file)
    assert repr(risk) == "PramRisk(200 records, 2 randomised variables, 4 warnings)"
    assert repr(risk.variables[1]) == "VariableRisk(area: 2 strata)"
    assert repr(risk.variables[1].strata[0]) == "StratumRisk(n: 3 categories)"
    (named,) = named_records(file, [{"sex": "m"}])
    assert repr(named) == "NamedRecord(sex)"


# ------------------------------------------------------------------------------- named records


def surgeons(men: int) -> PramFile:
    columns = {
        "id": [f"p{i}" for i in range(men + 31)],
        "sex": ["f"] + ["m"] * men + ["f"] * 20 + ["m"] * 10,
        "occupation": ["surgeon"] * (men + 1) + ["nurse"] * 30,
    }
    return pram_file(columns, [RANDOMISED], unit="id")


@pytest.mark.parametrize(("men", "odds"), [(99, 11), (9, 1)])
def test_the_surgeon_of_a_file(men: int, odds: float) -> None:
    file = surgeons(men)
    (woman,) = named_records(file, [{"sex": "f", "occupation": "surgeon"}])
    assert 1 / woman.posterior == pytest.approx(odds)
    assert woman.prior == pytest.approx(1 / men)
    assert woman.probability == pytest.approx(1 / (1 + odds))
    assert woman.posterior == pytest.approx(woman.bound)
    (man,) = named_records(file, [{"sex": "m", "occupation": "surgeon"}], released=[{"sex": "f"}])
    assert man.posterior == pytest.approx(odds)
    assert man.released == {"sex": "f", "occupation": "surgeon"}


def test_units_have_the_odds_of_the_keys_they_have() -> None:
    file = surgeons(9)
    named = named_units(file, ["p3", "p0"], ["sex", "occupation"])
    assert [one.key for one in named] == [{"sex": s, "occupation": "surgeon"} for s in ("m", "f")]
    for one, row in zip(named, (3, 0), strict=True):
        released = file.released[0].categories[file.released[0].codes[row]][0]
        assert one.released == {"sex": released, "occupation": "surgeon"}
        assert one.posterior == named_records(file, [one.key], released=[{"sex": released}])[0].posterior
    with pytest.raises(InputError, match="1 of 2 are not in the file") as caught:
        named_units(file, ["p3", "zz9"], ["sex"])
    assert "zz9" not in str(caught.value)
    assert named_units(file, [], ["sex"]) == ()


def test_units_need_a_column_that_names_them() -> None:
    with pytest.raises(InputError, match="no column names the unit"):
        named_units(two_variables(), ["1"], ["sex"])


def test_several_variables_strata_and_weights_by_brute_force() -> None:
    file = two_variables()
    key, seen = {"sex": "m", "area": "b", "region": "n"}, {"sex": "f", "area": "a"}
    (named,) = named_records(file, [key], released=[seen])
    own = others = 0.0
    for i in range(200):
        s, a = (file.true[v].categories[file.true[v].codes[i]][0] for v in (0, 1))
        if REGION[i] != "n":
            continue
        p = [1.0, 3.0][i % 2]
        for variable, stratum, true, released in ((0, (), s, "f"), (1, ("n",), a, "a")):
            matrix = file.variables[variable].matrices[stratum]
            p *= matrix.matrix[matrix.position(true), matrix.position(released)]
        own, others = (own + p, others) if (s, a) == ("m", "b") else (own, others + p)
    assert named.posterior == pytest.approx(own / others)
    assert named.epsilon == pytest.approx(math.log(9) + file.variables[1].matrices["n",].epsilon)
    assert named.posterior <= named.bound


def test_part_of_a_compound_variable_may_be_the_key() -> None:
    pair = TransitionMatrix.of([("f", "y"), ("f", "o"), ("m", "y")], [[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.2, 0.2, 0.6]])
    columns = {"sex": ["f"] * 50 + ["m"] * 30, "age": ["y"] * 20 + ["o"] * 30 + ["y"] * 30}
    file = pram_file(columns, [Randomised(columns=("sex", "age"), matrices={(): pair})])
    (named,) = named_records(file, [{"sex": "f"}])
    assert named.posterior == pytest.approx((20 * 0.8 + 30 * 0.7) / (30 * 0.4))
    (whole,) = named_records(file, [{"sex": "f", "age": "o"}])
    assert whole.posterior == pytest.approx(30 * 0.6 / (20 * 0.3 + 30 * 0.2))


def test_empty_codes_that_are_kept_name_themselves() -> None:
    file = pram_file({"sex": ["f"] * 40 + ["m"] * 50 + [None] * 10}, [RANDOMISED])
    assert named_records(file, [{"sex": ""}])[0].posterior == math.inf
    assert named_records(file, [{"sex": ""}])[0].probability == 1
    assert named_records(file, [{"sex": "f"}])[0].posterior == pytest.approx(40 * 0.9 / (50 * 0.1))


@pytest.mark.parametrize(
    ("keys", "released", "problem"),
    [
        ([{"region": "n"}], None, "names no randomised column"),
        ([{"sex": "w"}], None, "no record has the code 'w'"),
        ([{"area": "a"}], None, "chosen by 'region', which the key does not name"),
        ([{"area": "a", "region": "w"}], None, "no matrix for the stratum 'w'"),
        ([{"sex": "f", "kind": "a"}], None, "no column 'kind'"),
        ([{"sex": "f"}], [{"region": "n"}], "no randomised column of the key"),
        ([{"sex": "f"}], [], "1 keys and 0 released"),
        ([{"sex": "f", "area": "c", "region": "s"}], None, "can be released like this"),
    ],
)
def test_keys_that_cannot_be_are_refused(keys: Any, released: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        named_records(two_variables(), keys, released=released)


def test_the_document_sums_epsilon_over_its_variables() -> None:
    variables = (RANDOMISED, Randomised(columns=("job",), matrices={(): TransitionMatrix.of("ab", [[0.8, 0.2], [0.4, 0.6]])}))
    document = PramDocument(file="f.csv", records=0, variables=variables, released=({}, {}))
    assert document.epsilon == pytest.approx(math.log(9) + math.log(3))
