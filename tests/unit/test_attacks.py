"""Attacks on noise, against worked variances and against small methods whose noise is known exactly."""

import dataclasses
import json
import math
import re
from typing import Any

import numpy as np
import pytest

from discreet.audit import attacks
from discreet.audit.attacks import attack_report, averaging, rank_change, same_hash, shift, subset_query, zero_noise
from discreet.audit.profiles import PROFILES, Cells, Profile, attackable
from discreet.errors import InputError, ParameterError
from discreet.model.noise import Noise, UnitNoise
from discreet.model.table import Table
from discreet.report.attacks import attack_chart, attack_facts
from discreet.report.verdict import grouped
from discreet.tables.perturb.ezs import EvansZayatzSlanta
from discreet.tables.perturb.layered import LayeredPerturbation
from discreet.tables.perturb.tcm import TopContributors
from discreet.tables.rules import MinimumFrequency

GRADED, DOMINANT, EVEN, COUNT = PROFILES
X = np.array(GRADED.contributions)
LPM = LayeredPerturbation()
SIGMA2 = LPM.epsilon.variance


@dataclasses.dataclass(frozen=True, kw_only=True)
class OfCells:
    """Normal noise of the cell alone, from its key: of this standard deviation, and a ``share`` of the largest contribution."""

    sd: float = 3.0
    share: float = 0.0
    minimum: int = 0

    def apply(self, table: Table, /) -> Table:
        key = table.contributions.key
        error = np.full(table.cells, self.sd) + (self.share * table.contributions.top[:, 0] if self.share else 0)
        noise = Noise(shape="normal", low=0, high=1).of_key((key * 2654435761 + 12345) % 2**32) * error
        shown = np.where(table.contributions.n >= self.minimum, table.value + noise, np.nan)
        hidden = np.isnan(shown)
        return table.replace(status=hidden.astype(np.int8)).with_shown("cells", shown, error=error)


@dataclasses.dataclass(frozen=True, kw_only=True)
class OfLargest:
    """The largest contribution is multiplied by 1 + ε, with the ε of its unit."""

    def apply(self, table: Table, /) -> Table:
        held = table.contributions
        noise = Noise().of_key(held.top_key[:, 0]) * held.top[:, 0]
        return table.with_shown("largest", table.value + noise, error=np.abs(noise))


def lines(result: Any) -> dict[tuple[int, int], dict[str, Any]]:
    columns = result.to_columns()
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return {(row["rank"], row["repeated"]): row for row in rows}


# ---------------------------------------------------------------- averaging


def test_averaging_takes_cell_noise_away_with_the_root_of_the_pairs() -> None:
    rows = lines(averaging(OfCells(), GRADED, replicates=1000))
    for rank, pairs in rows:
        wanted = 100 * 3 * math.sqrt(2 / pairs) / X[rank - 1]
        assert rows[rank, pairs]["error"] == pytest.approx(wanted, rel=0.1)
        assert rows[rank, pairs]["numbers"] == 2 * pairs
        assert rows[rank, pairs]["floor"] == 0


def test_averaging_leaves_the_noise_of_units() -> None:
    rows = lines(averaging(EvansZayatzSlanta(), GRADED, replicates=1000, within=2.0))
    for row in rows.values():
        assert row["error"] == pytest.approx(2.708, rel=0.02)
        assert row["floor"] == pytest.approx(row["error"], rel=1e-6)
        assert row["near"] == 0, "noise of at least 2 % never lies within it"


def test_averaging_of_the_layered_method_as_worked_out() -> None:
    """A unit of rank 11 and size 10 is given away: its standard error falls .76, .24, .074 with 1, 10, 100 pairs."""
    rows = lines(averaging(LPM, GRADED, ranks=(11,), replicates=1000))
    for pairs, worked in ((1, 0.76), (10, 0.24), (100, 0.074)):
        assert rows[11, pairs]["error"] / 10 == pytest.approx(worked, rel=0.06)
    assert rows[11, 100]["floor"] == 0
    assert rows[11, 100]["near"] == 1


def test_what_averaging_cannot_take_away_as_worked_out() -> None:
    """The floor variances: K², (K + L)², (L + M)², (M + 1)², 7/3, 4/3 four times, 1/3 of x²σ²; of rank 5 1/3, 4/3 …, 1/3."""
    method = LayeredPerturbation(factors=(1.5, 1.3, 1.2))
    first, second, third = method.factors
    below = 7 / 3 * X[4] ** 2 + 4 / 3 * (X[5:9] ** 2).sum() + X[9] ** 2 / 3
    sums = np.array([first, first + second, second + third, third + 1])
    of_first = ((sums * X[:4]) ** 2).sum() + below
    of_fourth = X[3] ** 2 + below
    rows = lines(averaging(method, GRADED, ranks=(1, 4), queries=(100,), replicates=2000))
    for rank, worked in ((1, of_first), (4, of_fourth)):
        assert rows[rank, 100]["floor"] == pytest.approx(100 * math.sqrt(worked * SIGMA2) / X[rank - 1], rel=0.04)


# ---------------------------------------------------------------- subsets, rank changes


def test_subset_queries_of_the_layered_method_as_worked_out() -> None:
    """V(x̂₁) = 25.705, 5.07 % of x₁; ranks beyond 9 have 2/3·σ²·Σ x² over ranks 5 to 9."""
    learnt = subset_query(LPM, GRADED, replicates=10_000)
    assert learnt.rank.tolist() == list(range(1, 13))
    assert learnt.error[0] == pytest.approx(math.sqrt(25.705), rel=0.02)
    late = math.sqrt(2 / 3 * SIGMA2 * (X[4:9] ** 2).sum())
    np.testing.assert_allclose(learnt.error[9:], 100 * late / X[9:], rtol=0.03)
    assert np.isnan(learnt.floor).all()


def test_subset_queries_of_other_methods_as_worked_out() -> None:
    """EZS: 2.71 % of every unit.  TCM with factors 3, 2, 1.5, 1: V(x̂₁) = 70.44."""
    np.testing.assert_allclose(subset_query(EvansZayatzSlanta(), GRADED).error, 2.708, rtol=0.03)
    assert subset_query(TopContributors(), GRADED, ranks=(1,)).error[0] == pytest.approx(math.sqrt(70.44), rel=0.02)


def test_a_rank_change_cancels_noise_whose_sign_goes_by_rank() -> None:
    """With K = L = M = 1 the permanent noise of ranks 2 to 4 cancels: what is left is that of the mixed layer."""
    plain, moved = (lines(attack(LPM, GRADED, ranks=(1, 2), queries=(1, 10))) for attack in (averaging, rank_change))
    assert moved[2, 1]["numbers"] == 4
    assert moved[2, 1]["error"] < plain[2, 1]["error"] / 4
    assert moved[1, 1]["error"] == pytest.approx(3.3, rel=0.1)
    ezs = lines(rank_change(EvansZayatzSlanta(), GRADED, ranks=(2,), queries=(1,), replicates=2000))
    assert ezs[2, 1]["error"] == pytest.approx(2.708, rel=0.03), "nothing goes by rank"


def test_a_rank_change_by_hand() -> None:
    """Only the largest carries noise: the estimate of the second largest has half the noise of either, or none."""
    rows = lines(rank_change(OfLargest(), GRADED, ranks=(1, 2, 3), queries=(1,), replicates=4000))
    sigma = math.sqrt(SIGMA2)
    # x̂₁: the mean of ε₁x₁ − ε₂x₂ and ε₁x₁ − ε₃x₃;  x̂₂: of 0 and ε₂x₂ − ε₃x₃;  x̂₃: never any
    first = math.hypot(100, 60 / 2, 40 / 2) * sigma
    second = math.hypot(60, 40) / 2 * sigma
    assert rows[1, 1]["error"] == pytest.approx(first, rel=0.03)
    assert rows[2, 1]["error"] == pytest.approx(100 * second / 60, rel=0.03)
    assert rows[3, 1]["error"] == pytest.approx(0, abs=1e-9)


# ---------------------------------------------------------------- hashes


def test_same_hash_takes_unit_noise_off() -> None:
    assert lines(same_hash(EvansZayatzSlanta(), GRADED, queries=(1,)))[1, 1]["error"] == pytest.approx(0, abs=1e-6)
    rows = lines(same_hash(LayeredPerturbation(hash="paper-centred"), DOMINANT, replicates=1000))
    plain = subset_query(LayeredPerturbation(hash="paper-centred"), DOMINANT, ranks=(1,)).error[0]
    assert rows[1, 100]["error"] < rows[1, 1]["error"] < 0.7 * plain
    assert rows[1, 100]["numbers"] == 202
    with pytest.raises(ParameterError, match="counts does not"):
        same_hash(OfCells(), COUNT)


def test_the_shift_attack_as_worked_out() -> None:
    """E(ε'' − ε')²/2σ² is .005, .05, .23, .44, 1.01, 1.94 for shifts 1, 10, 50, 100, 250, 500, and 0 for a key of 0."""
    done = shift(LayeredPerturbation(hash="paper"), GRADED, replicates=20_000)
    worked = [0, 0.005, 0.05, 0.23, 0.44, 1.01, 1.94]
    np.testing.assert_allclose(done.ratio, worked, rtol=0.08, atol=0.002)
    assert done.error[0] == pytest.approx(0, abs=1e-6)
    assert list(done.to_columns()) == ["key", "error", "ratio"]
    with pytest.raises(ParameterError, match="does not use it"):
        shift(LPM, GRADED)


def test_many_keys_protect_little_as_worked_out() -> None:
    """4.1 % of the keys give less than a tenth of the average mean square, and 23 % less than half."""
    h, noise = np.arange(1000), Noise()
    moved = noise.quantile((h[:, None] - h) % 1000 / 1000 + 0.0005) - noise.quantile(h / 1000 + 0.0005)[:, None]
    exact = (moved**2).mean(axis=0) / (2 * noise.variance)
    assert (exact < 0.1).mean() == pytest.approx(0.041, abs=0.001)
    assert (exact < 0.5).mean() == pytest.approx(0.23, abs=0.005)
    keys = (20, 60, 150, 400)
    done = shift(LayeredPerturbation(hash="paper-centred"), GRADED, keys=keys, replicates=10_000)
    np.testing.assert_allclose(done.ratio, exact[list(keys)], rtol=0.1)


# ---------------------------------------------------------------- zero noise


def test_zero_noise_is_found() -> None:
    none = zero_noise(LPM, GRADED, replicates=1000)
    assert none.rank.tolist() == [0, 1, 2, 5, 11]
    assert (none.exact == 0).all()
    assert (none.least > 0).all()
    some = zero_noise(OfLargest(), GRADED, replicates=200)
    np.testing.assert_array_equal(some.exact, [0, 0, 1, 1, 1])
    assert some.to_columns()["least"][2] == pytest.approx(0, abs=1e-9)


# ---------------------------------------------------------------- the cells


def test_cells_are_what_a_table_would_hold() -> None:
    method = EvansZayatzSlanta()
    cells = Cells(method, GRADED, replicates=3, seed=5)
    rows = cells.beside(2)
    assert rows.shape == (3, 2, 13)
    assert (rows[:, 0, :-1] == rows[:, 1, :-1]).all()
    assert (rows[:, 0, -1] != rows[:, 1, -1]).all()
    table = cells.perturbed(rows, [[], [0, 3]])
    held = table.contributions
    assert table.cells == 12
    np.testing.assert_array_equal(held.n, [13, 11] * 6)
    np.testing.assert_array_equal(held.total, held.top.sum(axis=1))
    np.testing.assert_array_equal(held.top[1, :3], [60, 40, 18])
    np.testing.assert_array_equal(held.top_id[1, -2:], -1)
    keys = rows.reshape(-1, 13)
    np.testing.assert_array_equal(held.key[::2], keys.sum(axis=1) % 2**32)
    np.testing.assert_array_equal(held.key[1::2], (keys.sum(axis=1) - keys[:, 0] - keys[:, 3]) % 2**32)
    by_unit = method.unit_noise.noise.of_key(keys) * cells.x
    np.testing.assert_allclose(held.noise[::2], by_unit.sum(axis=1))


def test_balanced_noise_alternates() -> None:
    noise = UnitNoise(noise=Noise(), direction="balanced")
    cells = Cells(EvansZayatzSlanta(direction="balanced"), EVEN, replicates=50, seed=5)
    held = cells.perturbed(cells.beside(1), [[]]).contributions
    sizes = np.abs(noise.noise.of_key(held.top_key)) * held.top
    np.testing.assert_allclose(np.abs(held.noise), np.abs((sizes * (-1.0) ** np.arange(13)).sum(axis=1)))


def test_the_same_seed_gives_the_same_and_another_one_another() -> None:
    one, again, other = (subset_query(LPM, GRADED, ranks=(1,), replicates=50, seed=seed).error for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert one != other


def test_small_units_are_added_until_cells_are_published() -> None:
    rows = lines(averaging(OfCells(minimum=20), GRADED, ranks=(1,), queries=(1,), replicates=2000))
    assert rows[1, 1]["error"] == pytest.approx(3 * math.sqrt(2), rel=0.05)

    @dataclasses.dataclass(frozen=True)
    class Secretive:
        def apply(self, table: Table, /) -> Table:
            return OfCells(minimum=20).apply(table)

    with pytest.raises(InputError, match="does not publish"):
        averaging(Secretive(), GRADED)
    assert attack_report(Secretive(), (GRADED,)) == ()


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"contributions": (3.0, 2.0)}, "fewer than 12"),
        ({"contributions": tuple(range(1, 14))}, "largest first"),
        ({"contributions": (2.0,) * 12, "kind": "frequency"}, "not all 1"),
        ({"contributions": (1.0,) * 12, "kind": "share"}, "not magnitude"),
    ],
)
def test_profiles_are_checked(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(ParameterError, match=problem):
        Profile(name="odd", what="odd", **given)


@pytest.mark.parametrize(
    "given", [{"ranks": (13,)}, {"ranks": ()}, {"ranks": (0,)}, {"queries": ()}, {"queries": (0,)}, {"replicates": 0}]
)
def test_simulators_check_what_they_are_given(given: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        averaging(OfCells(), GRADED, **given)


# ---------------------------------------------------------------- the report


def test_noise_that_does_not_grow_with_contributions_says_nothing_of_made_up_ones() -> None:
    assert not attackable(OfCells(sd=3.0), GRADED)
    assert attackable(OfCells(sd=0.0, share=0.05), GRADED)
    assert attackable(OfCells(sd=3.0), COUNT)
    assert [attacked.profile.name for attacked in attack_report(OfCells(), queries=(1,), replicates=20)] == ["count"]
    assert all(
        attackable(method, profile) for method in (LPM, EvansZayatzSlanta(), TopContributors()) for profile in PROFILES[:3]
    )


def test_no_attack_on_what_adds_no_noise() -> None:
    assert not attackable(MinimumFrequency(), GRADED)
    assert attack_report(MinimumFrequency()) == ()
    assert attack_facts(MinimumFrequency()) is None


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    short = {"queries": (1, 10), "replicates": 60}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("discreet.report.attacks.attack_report", lambda method: attack_report(method, **short))
        facts = attack_facts(LayeredPerturbation(hash="paper"))
    assert facts is not None
    return facts


def test_facts_tell_what_was_learnt(told: dict[str, Any]) -> None:
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert told["method"] == "lpm"
    assert [profile["name"] for profile in told["profiles"]] == ["graded", "dominant", "even"]
    graded = told["profiles"][0]
    assert [attack["attack"] for attack in graded["attacks"]] == ["averaging", "rank change", "same hash"] == list(told["what"])
    first = graded["attacks"][0]
    assert (first["repeated"], first["numbers"]) == ([1, 10], [2, 20])
    assert [row["rank"] for row in first["rows"]] == [1, 2, 5, 11]
    assert [row["contribution"] for row in first["rows"]] == [100, 60, 18, 10]
    assert first["rows"][3]["errors"][1] < first["rows"][3]["errors"][0] / 2
    assert len(graded["subsets"]) == 12
    assert graded["shifts"]["keys"][0] == {"key": 0, "error": 0.0, "ratio": 0.0}
    assert told["largest"]["rank"] == 2
    assert told["closest"]["error"] <= told["largest"]["error"]


def test_counts_are_attacked_too() -> None:
    count = attack_report(OfCells(sd=1.0), (COUNT,), queries=(1, 100), replicates=200)[0]
    assert [learnt.attack for learnt in count.learnt] == ["averaging"]
    assert lines(count.learnt[0])[1, 100]["error"] == pytest.approx(100 * math.sqrt(2 / 100), rel=0.15)
    assert count.shifts is None


def test_the_section_of_the_report(told: dict[str, Any]) -> None:
    jinja2 = pytest.importorskip("jinja2", reason="the report needs jinja2")
    loader = jinja2.PackageLoader("discreet.report")
    environment = jinja2.Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters["grouped"] = grouped
    environment.globals["attack_chart"] = attack_chart
    page = environment.get_template("attacks.html").render(table={"attacks": [told]})
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))
    for words in (
        "attacking the noise: lpm",
        "made up for the purpose",
        "closest estimate of one of the three largest contributions",
        "Rank change:",
        "Same hash:",
        "11th largest unit",
        "nothing left",
        "Shift: with the paper's hash",
    ):
        assert words in text
    assert environment.get_template("attacks.html").render(table={"attacks": []}).strip() == ""


def test_the_chart_holds_a_point_a_number(told: dict[str, Any]) -> None:
    profile = told["profiles"][0]
    chart = attack_chart(profile, told["within"])
    points = sum(len(row["errors"]) for attack in profile["attacks"] for row in attack["rows"])
    assert chart.count("<circle") == points
    assert chart.count("largest unit") == 4
    assert "NaN" not in chart
    heights = [float(y) for y in re.findall(r'cy="([\d.]+)"', chart)]
    assert min(heights) >= 34
    assert max(heights) <= 34 + 130


def test_every_attack_is_explained() -> None:
    for name in attacks.__all__:
        assert (getattr(attacks, name).__doc__ or "").strip(), name
