"""The p%, (p,q) and dominance rules: strictness, coalitions, weights, waivers, negative values, missing ranks."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.model.contributions import Contributions
from discreet.tables.rules import PQ, Dominance, PPercent
from discreet.tables.rules.coalition import coalition
from discreet.testing import small_table


def cell(*x: float, w: Sequence[float] | None = None, ranks: int = 6, **given: Any) -> Contributions:
    """One cell with these contributions, largest in absolute value first."""
    w = [1.0] * len(x) if w is None else list(w)
    order = sorted(range(len(x)), key=lambda i: -abs(x[i]))
    top = ([x[i] for i in order] + [0.0] * ranks)[:ranks]
    weighted = ([x[i] * w[i] for i in order] + [0.0] * ranks)[:ranks]
    pairs = list(zip(x, w, strict=True))
    return Contributions.of(
        [len(x)],
        [sum(a * b for a, b in pairs)],
        top=[top],
        top_weighted=np.array([weighted]),
        weight=[sum(w)],
        unweighted=[sum(x)],
        absolute=[sum(abs(a) * b for a, b in pairs)],
        absolute_unweighted=[sum(abs(a) for a in x)],
        **given,
    )


def fires(rule: Any, contributions: Contributions) -> bool:
    return bool(rule.sensitive(contributions)[0])


def level(rule: Any, *x: float, **given: Any) -> float:
    """The protection level that the rule gives a cell with these contributions, beside a large harmless cell."""
    one = cell(*x, **given)
    table = small_table([one.total[0], 0.0], decimals=6)
    harmless = [one.take([0]), cell(*[1000.0] * 50).take([0])]
    order = [table.cell(), table.cell(v1="A"), table.cell(v1="B")]
    rows = np.array([1, 0, 1])[np.argsort(order)]
    both = Contributions(
        **{name: np.concatenate([getattr(part, name) for part in harmless])[rows] for name in one.__dataclass_fields__}
    )
    table = rule.apply(table.replace(contributions=both))
    return float(table.upper_protection[table.cell(v1="A")])


# -------------------------------------------------------------------- strictness


@pytest.mark.parametrize("scale", [1, 0.1, 0.01, 1e-9, 1e13, 1 / 3])
def test_equality_is_not_sensitive_whatever_the_decimals(scale: float) -> None:
    assert not fires(PPercent(p=10), cell(*(scale * x for x in (100, 60, 10))))
    assert fires(PPercent(p=10), cell(*(scale * x for x in (100, 60, 9.999))))
    assert not fires(Dominance(n=1, k=80), cell(*(scale * x for x in (80, 20))))
    assert fires(Dominance(n=1, k=79.999), cell(*(scale * x for x in (80, 20))))
    assert not fires(PQ(p=10, q=50), cell(*(scale * x for x in (100, 60, 20))))
    assert fires(PQ(p=10, q=50), cell(*(scale * x for x in (100, 60, 19.99))))


def test_decimal_sums_do_not_flip_a_verdict() -> None:
    """Every pair of tenths that is exactly at the threshold, with the total added up in floats."""
    for tenths in range(1, 60):
        largest = tenths / 10
        rest = [largest / 100] * 10
        assert not fires(PPercent(p=10), cell(largest, largest, *rest)), tenths
        share = Contributions.of([3], [0.1 + 0.2], top=[[0.1, 0.1, 0.1]])
        assert not fires(Dominance(n=2, k=200 / 3), share)
        assert not fires(Dominance(n=2, k=66.66666666666667), share)


def test_empty_and_all_zero_cells_have_nobody_to_protect() -> None:
    empty = Contributions.of([0, 3], [0, 0], top=[[0, 0], [0, 0]])
    for rule in (PPercent(), PQ(), Dominance(n=1, k=50), Dominance(n=2, k=50)):
        assert rule.sensitive(empty).tolist() == [False, False]


def test_one_and_two_contributors_are_always_sensitive_to_the_p_percent_rule() -> None:
    assert fires(PPercent(p=0.001), cell(5))
    assert fires(PPercent(p=0.001), cell(5, 5))
    assert not fires(PPercent(p=0.001), cell(5, 5, 1))


def test_a_larger_coalition_knows_more() -> None:
    contributions = cell(100, 60, 30, 5)
    assert [fires(PPercent(p=10, coalition=m), contributions) for m in (1, 2, 3)] == [False, True, True]
    assert level(PPercent(p=10, coalition=2), 100, 60, 30, 5) == pytest.approx(5)
    assert PPercent(coalition=4).ranks_needed == PQ(coalition=4).ranks_needed == Dominance(n=5).ranks_needed == 5


# -------------------------------------------------------------------- levels


def test_levels_are_the_formulas_of_the_handbook() -> None:
    assert level(PPercent(p=10), 100, 60, 5) == pytest.approx(10 - 5)
    assert level(PQ(p=10, q=50), 100, 60, 5) == pytest.approx(20 - 5)
    assert level(Dominance(n=1, k=50), 100, 60, 5) == pytest.approx(2 * 100 - 165)
    assert level(Dominance(n=2, k=80), 100, 60, 5) == pytest.approx(1.25 * 160 - 165)
    assert level(PPercent(p=10), 100, 60, 15) == 0, "not sensitive"


def test_lower_level_equals_upper_level() -> None:
    table = PPercent(p=10).apply(small_table([105, 200], top=[[80, 20], [20, 20]]))
    np.testing.assert_array_equal(table.lower_protection, table.upper_protection)
    assert (table.sliding_protection == 0).all()
    assert table.upper_protection[table.cell(v1="A")] == pytest.approx(3)


def test_a_level_found_on_a_shadow_keeps_its_share_of_the_response() -> None:
    shadow = small_table([100, 300], top=[[90, 5], [20, 20]])
    same = PPercent(p=10).apply(shadow)
    table = PPercent(p=10).apply(shadow.replace(value=shadow.value * 1000.0))
    cell_a = table.cell(v1="A")
    assert same.upper_protection[cell_a] == pytest.approx(9 - 5)
    assert table.upper_protection[cell_a] == pytest.approx(1000 * (9 - 5))


# -------------------------------------------------------------------- weights


@pytest.mark.parametrize(("weights", "remainder"), [("expand", 270), ("sample", 360), ("public", 0)])
def test_the_three_conventions_of_the_manuals(weights: str, remainder: float) -> None:
    """(100, weight 4) and (10, weight 7): X = 470."""
    contributions = cell(100, 10, w=[4, 7])
    who = coalition("p-percent", contributions, others=1, weights=weights, negative="absolute")
    assert who.total[0] == 470
    assert who.target[0] == 100
    assert who.total[0] - who.known[0] == remainder
    assert fires(PPercent(p=10, weights=weights), contributions) is (remainder < 10)
    assert level(PPercent(p=10, weights=weights), 100, 10, w=[4, 7]) == max(10 - remainder, 0)


@pytest.mark.parametrize(("weights", "known"), [("expand", 200), ("sample", 110), ("public", 470)])
def test_the_three_conventions_seen_through_dominance(weights: str, known: float) -> None:
    contributions = cell(100, 10, w=[4, 7])
    share = 100 * known / 470
    assert fires(Dominance(n=2, k=min(share - 0.01, 99.99), weights=weights), contributions)
    if share < 99:
        assert not fires(Dominance(n=2, k=share + 0.01, weights=weights), contributions)


@pytest.mark.parametrize("rule", [PPercent, PQ, Dominance])
def test_without_weights_all_conventions_are_one(rule: Any) -> None:
    for contributions in (cell(100, 60, 5), cell(100, 60, 15), cell(3), cell(9, 8, 7, 6, 5)):
        verdicts = {fires(rule(weights=weights), contributions) for weights in ("expand", "sample", "public")}
        assert len(verdicts) == 1


def test_copies_fill_up_in_part_where_weights_are_not_whole() -> None:
    """The first two places of 1.5 × 100 and 3 × 10: one copy of 100, then half of 100 and half of 10."""
    contributions = cell(100, 10, w=[1.5, 3])
    share = 100 * 155 / 180
    assert fires(Dominance(n=2, k=share - 0.01, weights="expand"), contributions)
    assert not fires(Dominance(n=2, k=share + 0.01, weights="expand"), contributions)


def test_expanding_by_whole_weights_is_repeating_the_units() -> None:
    rng = np.random.default_rng(1)
    for _ in range(300):
        x = rng.integers(1, 100, rng.integers(1, 6))
        w = rng.integers(1, 4, len(x))
        weighted, repeated = cell(*x, w=w), cell(*np.repeat(x, w), ranks=9)
        for rule in (PPercent(p=40, coalition=2, weights="expand"), Dominance(n=3, k=70, weights="expand")):
            assert fires(rule, weighted) == fires(rule, repeated)


# -------------------------------------------------------------------- waivers


def test_a_waived_giant_is_no_target() -> None:
    """S24: {900 waived, 60, 40} under (1,85)."""
    assert fires(Dominance(n=1, k=85), cell(900, 60, 40))
    assert not fires(Dominance(n=1, k=85), cell(900, 60, 40, top_waiver=np.array([[True] + [False] * 5])))


def test_a_waived_giant_still_knows() -> None:
    """The target is 60, the coalition 900: 1000 − 900 − 60 = 40 against p % of 60."""
    contributions = cell(900, 60, 40, top_waiver=np.array([[True] + [False] * 5]))
    assert fires(PPercent(p=67), contributions)
    assert not fires(PPercent(p=66), contributions)
    assert fires(Dominance(n=2, k=95.9), contributions)
    assert not fires(Dominance(n=2, k=96), contributions)


def test_the_target_may_lie_beyond_the_ranks_that_are_held() -> None:
    """{50, 40, 5} with both held ranks waived: the target 5 is known apart; the coalition is the largest, 50."""
    waived = {"top_waiver": np.array([[True, True]]), "unwaived_top": [5.0], "unwaived_weighted": [5.0]}
    contributions = cell(50, 40, 5, ranks=2, **waived)
    assert not fires(PPercent(p=100), contributions)
    assert fires(PPercent(p=1, coalition=2), cell(50, 40, 5, ranks=3, top_waiver=[[True, True, False]]))
    assert fires(Dominance(n=2, k=57), contributions)
    assert not fires(Dominance(n=2, k=58), contributions)


def test_where_all_waived_nothing_is_sensitive() -> None:
    contributions = cell(90, 5, top_waiver=np.ones((1, 6), bool))
    for rule in (PPercent(p=50), Dominance(n=1, k=10), Dominance(n=2, k=10), PQ(p=10, q=20)):
        assert not fires(rule, contributions)


def test_a_waiver_leaves_the_other_copies_of_the_target() -> None:
    """Copies 900 (waived), 60, 60, 40: the target 60, the coalition 900; 1060 − 960 = 100."""
    waiver = np.array([[True] + [False] * 5])
    rule = PPercent(p=100, coalition=2, weights="expand")
    assert level(rule, 900, 60, 40, w=[1, 2, 1], top_waiver=waiver) == pytest.approx(60 - 40)
    assert not fires(PPercent(p=100, weights="expand"), cell(900, 60, 40, w=[1, 2, 1], top_waiver=waiver))


# -------------------------------------------------------------------- negative contributions


@pytest.mark.parametrize(("x", "sensitive"), [((100, 60, 5), True), ((100, 60, 15), False), ((100, -95, -15), False)])
def test_absolute_values_are_judged(x: tuple[float, ...], sensitive: bool) -> None:
    """S17 and S18."""
    assert fires(PPercent(p=10), cell(*x)) is sensitive
    assert fires(PPercent(p=10), cell(*(-value for value in x))) is sensitive


@pytest.mark.parametrize("rule", [PPercent, PQ, Dominance])
def test_negative_contributions_can_be_refused(rule: Any) -> None:
    with pytest.raises(InputError, match="below 0") as caught:
        rule(negative="error").sensitive(cell(-77.5, 12, 3))
    assert "77" not in str(caught.value)
    rule(negative="error").sensitive(cell(77.5, 12, 3))


# -------------------------------------------------------------------- missing ranks


def test_a_rule_says_which_ranks_it_lacks() -> None:
    with pytest.raises(InputError, match="needs the 3 largest contributions of each cell; the table holds 2") as caught:
        PPercent(coalition=2).sensitive(cell(5, 4, 3, 2, ranks=2))
    assert "ranks = 3" in caught.value.fix
    with pytest.raises(InputError, match="needs the largest contribution of each cell; the table holds 0"):
        Dominance(n=1).sensitive(Contributions.of([5], [10]))


def test_ranks_that_no_cell_has_are_not_missed() -> None:
    assert fires(PPercent(coalition=4), cell(5, 4, ranks=2))
    assert Dominance(n=1).sensitive(Contributions.of([0, 0], [0, 0])).tolist() == [False, False]
    assert not fires(Dominance(n=3, k=60), Contributions.of([9], [10], top=[[5, 0]])), "the others gave nothing"


def test_weights_below_one_need_more_ranks() -> None:
    with pytest.raises(InputError, match="too few in 1 cells") as caught:
        Dominance(n=2, weights="expand").sensitive(cell(9, 8, 7, w=[0.5, 0.5, 4], ranks=2))
    assert "ranks = 3" in caught.value.fix


# -------------------------------------------------------------------- sums of hidden cells


def test_the_union_of_sensitive_cells_is_judged_by_the_same_words() -> None:
    """S06: 900; 40, 10; 30, 20; 300, 200, 100; 20, 30, 25, 25 under (1,80)."""
    parts = [cell(900), cell(40, 10), cell(30, 20), cell(300, 200, 100), cell(20, 30, 25, 25)]
    cells = Contributions(**{n: np.concatenate([getattr(p, n) for p in parts]) for n in parts[0].__dataclass_fields__})
    union = cells.union([np.array([0, 1, 2]), np.array([0, 1, 2, 4]), np.array([0, 1, 2, 3])])
    assert Dominance(n=1, k=80).sensitive(union).tolist() == [True, True, False]
