"""Rounding methods: what they show, what readers know from it, totals, thresholds and chance."""

import dataclasses
from decimal import Decimal

import numpy as np
import pytest
from scipy import sparse

from discreet.errors import InputError, ParameterError
from discreet.model.hierarchy import Hierarchy
from discreet.model.table import Table
from discreet.tables.rounding import (
    RoundConventional,
    RoundGraduated,
    RoundMidpoint,
    RoundRandom,
    RoundSignificant,
    SmallCountAdjustment,
    narrow_outputs,
    true_range,
)
from discreet.tables.rounding.parts import parts_of
from discreet.tables.rounding.rounded import chance_of
from discreet.tables.rounding.scheme import Scale
from discreet.tables.rules import APriori, MinimumFrequency
from discreet.testing import small_table

STEPS = ((18, 3), (99, 5), (999, 10))
TREE = Hierarchy.from_parents([("Total", "AB"), ("AB", "A"), ("AB", "B"), ("Total", "CD"), ("CD", "C"), ("CD", "D")])

METHODS = [
    *(RoundConventional(base=base, ties=ties) for base in (1, 2, 5, 6) for ties in ("half-up", "half-even", "half-down")),
    *(RoundRandom(base=base) for base in (2, 3, 10)),
    *(RoundGraduated(steps=STEPS, above=100, to=to) for to in ("half-up", "half-even", "half-down", "random")),
    RoundGraduated(steps=((7, 2), (8, 5), (11, 20), (50, 4)), above=30, to="half-even"),
    RoundGraduated(steps=((7, 2), (8, 5), (11, 20), (50, 4)), above=30, to="random"),
    *(RoundSignificant(digits=digits, ties=ties) for digits in (1, 2) for ties in ("half-up", "half-even", "half-down")),
    RoundMidpoint(base=6),
    RoundMidpoint(base=5),
    SmallCountAdjustment(base=5),
    SmallCountAdjustment(base=5, zero_up_to=0),
    SmallCountAdjustment(base=5, zero_up_to=4),
    SmallCountAdjustment(base=2, zero_up_to=1),
]
COUNTS_ONLY = (RoundMidpoint, SmallCountAdjustment)


def counts(inner, *, seed: int = 3, **fields) -> Table:
    """A frequency table with record keys."""
    table = small_table(inner, kind="frequency", **fields)
    key = np.random.default_rng(seed).integers(1, 2**32, table.cells)
    return table.replace(contributions=dataclasses.replace(table.contributions, key=key))


def shown(table: Table, **codes: str) -> float:
    return float(table.numbers[table.cell(**codes)])


# -------------------------------------------------------------------- what is shown, and what it tells


@pytest.mark.parametrize("kind", [np.int64, object])
@pytest.mark.parametrize("method", METHODS, ids=str)
def test_the_range_of_a_shown_number_is_exactly_what_can_be_shown_so(method, kind: type) -> None:
    """All true values and many draws, enumerated."""
    true = np.arange(0 if isinstance(method, COUNTS_ONLY) else -2300, 2301)
    scheme = method.scheme(Scale(0, 0))
    seen: dict[int, list[int]] = {}
    for chance in (0.001, 0.3, 0.5, 0.7, 0.999) if scheme.random else (None,):
        out = scheme.round(true.astype(kind), None if chance is None else np.full(len(true), chance))
        assert scheme.possible(out).all()
        for value, number in zip(true.tolist(), out.tolist(), strict=True):
            seen.setdefault(number, []).append(value)
    inside = [number for number in seen if abs(number) <= 1900]
    low, high = scheme.reach(np.array(inside, kind))
    assert len(inside) > 8
    for number, least, most in zip(inside, low.tolist(), high.tolist(), strict=True):
        assert (min(seen[number]), max(seen[number])) == (least, most), number
    never = np.setdiff1d(np.arange(1900), inside)
    assert not scheme.possible(never.astype(kind)).any()


@pytest.mark.parametrize(
    ("ties", "expected"),
    [("half-up", [0, 6, 6, 12, -6]), ("half-even", [0, 0, 6, 12, 0]), ("half-down", [0, 0, 6, 6, 0])],
)
def test_ties(ties: str, expected: list[int]) -> None:
    table = small_table([2, 3, 4, 9, -3])
    after = RoundConventional(base=6, ties=ties).apply(table)
    assert [shown(after, v1=code) for code in "ABCDE"] == expected


def test_ties_of_decimals_are_exact() -> None:
    """0.285 is a little less as a float, and 0.05 * 2.5 is a little more than 0.125."""
    values = [0.285, 1.005, 2.675, 0.125, 8.075]
    table = small_table(values, decimals=3)
    to_cents = RoundConventional(base=0.01).apply(table)
    assert [shown(to_cents, v1=code) for code in "ABCDE"] == [0.29, 1.01, 2.68, 0.13, 8.08]
    even = RoundConventional(base=0.01, ties="half-even").apply(table)
    assert [shown(even, v1=code) for code in "ABCDE"] == [0.28, 1.0, 2.68, 0.12, 8.08]
    nickels = RoundConventional(base=0.05).apply(table)
    assert shown(nickels, v1="D") == 0.15
    cell = table.cell(v1="D")
    assert (nickels.shown_low[cell], nickels.shown_high[cell]) == (0.125, 0.174)


def test_a_base_has_no_more_decimals_than_are_published() -> None:
    table = small_table([1.25, 2.5], decimals=2)
    with pytest.raises(ParameterError, match=r"round-conventional\.base: 0\.001 has more decimals"):
        RoundConventional(base=0.001).apply(table)
    with pytest.raises(ParameterError, match=r"0\.05 has more decimals"):
        RoundConventional(base=0.05).apply(table.replace(published_decimals=1))
    assert shown(RoundConventional(base=0.5).apply(table.replace(published_decimals=1)), v1="A") == 1.5


def test_values_of_more_than_fifteen_digits_are_rounded_exactly() -> None:
    table = small_table([123_456_789_012_345.25, 7.5], decimals=6)
    after = RoundConventional(base=10).apply(table)
    assert [shown(after, v1=code) for code in "AB"] == [123_456_789_012_350, 10]
    six = RoundSignificant(digits=6).apply(table)
    assert shown(six, v1="A") == 123_457_000_000_000


def test_cells_told_exactly_are_left_as_they_are() -> None:
    after = RoundMidpoint().apply(counts([0, 1, 6, 7]))
    assert [shown(after, v1=code) for code in "ABCD"] == [0, 3, 3, 9]
    assert after.perturbed.sum() == 4
    assert after.history[-1].counts == {"perturbed": 4, "left as they are": 1}
    kept = RoundSignificant(digits=2).apply(counts([7, 99, 100, 105]))
    assert [shown(kept, v1=code) for code in "ABCD"] == [7, 99, 100, 100]
    assert kept.perturbed[[kept.cell(v1=code) for code in "ABCD"]].tolist() == [False, False, True, True]
    assert np.isnan(kept.shown_error).all()


def test_what_stays_hidden_and_what_is_shown() -> None:
    table = MinimumFrequency(n=5).apply(counts([2, 12, 30]))
    hidden = RoundConventional().apply(table)
    assert np.isnan(shown(hidden, v1="A"))
    both = RoundConventional(sensitive="show").apply(table)
    assert shown(both, v1="A") == 0
    assert both.shown_high[both.cell(v1="A")] == 2


def test_significant_digits_stop_at_the_published_decimals() -> None:
    table = small_table([1.2345, 123.456, 99_999.5], decimals=4, published_decimals=2)
    after = RoundSignificant(digits=4).apply(table)
    assert [shown(after, v1=code) for code in "ABC"] == [1.23, 123.5, 100_000]
    cell = table.cell(v1="A")
    assert (after.shown_low[cell], after.shown_high[cell]) == (1.2251, 1.2349)


@pytest.mark.parametrize("method", [RoundMidpoint(), SmallCountAdjustment()])
def test_methods_for_counts_refuse_sums(method) -> None:
    with pytest.raises(InputError, match="whole counts"):
        method.apply(small_table([1, 2]))


def test_parameters_that_cannot_be() -> None:
    with pytest.raises(ParameterError, match="does not end above"):
        RoundGraduated(steps=((18, 3), (18, 5)), above=10)
    with pytest.raises(ParameterError, match="must be above 0"):
        RoundGraduated(steps=((18, 0),), above=10)
    with pytest.raises(ParameterError, match="not below the base"):
        SmallCountAdjustment(base=3, zero_up_to=3)


# -------------------------------------------------------------------- chance


def test_random_rounding_is_unbiased_with_its_variance() -> None:
    draws = 60_000
    key = np.random.default_rng(5).integers(0, 2**32, draws)
    for base in (3, 5, 10):
        scheme = RoundRandom(base=base).scheme(Scale(0, 0))
        for value in (0, 1, 7, base, 2 * base - 1, 1234):
            out = scheme.round(np.full(draws, value), chance_of(key, "round-random"))
            r = value % base
            if r == 0:
                assert (out == value).all()
                continue
            assert out.mean() == pytest.approx(value, abs=4.5 * np.sqrt(r * (base - r) / draws))
            assert out.var() == pytest.approx(r * (base - r), rel=0.03)


def test_graduated_and_small_counts_are_unbiased_too() -> None:
    draws = 60_000
    key = np.random.default_rng(6).integers(0, 2**32, draws)
    for method, values in (
        (RoundGraduated(steps=STEPS, above=100, to="random"), (2, 19, 97, 993, 1250)),
        (SmallCountAdjustment(base=3), (1, 2, 3, 7)),
    ):
        for value in values:
            out = method.scheme(Scale(0, 0)).round(np.full(draws, value), chance_of(key, method.NAME))
            assert out.mean() == pytest.approx(value, abs=4.5 * out.std() / np.sqrt(draws))


def test_draws_are_uniform_also_from_poor_keys_and_differ_between_methods() -> None:
    poor = np.arange(1000)
    one, other = chance_of(poor, "round-random"), chance_of(poor, "small-count-adjustment")
    assert ((one > 0) & (one < 1)).all()
    assert np.histogram(one, 10, (0, 1))[0].min() > 60
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.1
    assert abs(np.corrcoef(one[:-1], one[1:])[0, 1]) < 0.1


def test_the_same_records_are_rounded_alike_in_every_table() -> None:
    first, second = counts([7, 8, 9, 11]), counts([[11, 9], [8, 7]], seed=8)
    keys = {7: 123456, 8: 99, 9: 2**31, 11: 5}

    def keyed(table: Table) -> Table:
        key = np.array([keys.get(int(value), 1) for value in table.value])
        return table.replace(contributions=dataclasses.replace(table.contributions, key=key))

    method = RoundRandom(base=4)
    one, two = method.apply(keyed(first)), method.apply(keyed(second))
    for value in keys:
        assert set(one.numbers[one.value == value]) == set(two.numbers[two.value == value])


def test_without_keys_there_is_no_chance() -> None:
    table = small_table([1, 2], kind="frequency")
    for method in (RoundRandom(), SmallCountAdjustment(), RoundGraduated(steps=STEPS, above=100, to="random")):
        with pytest.raises(InputError, match="needs record keys"):
            method.apply(table)
    assert SmallCountAdjustment(zero_up_to=1).apply(table).perturbed.any()


def test_the_published_error_tells_nothing_of_the_remainder() -> None:
    after = RoundRandom(base=5).apply(counts(np.arange(40)))
    inner = inner_cells(after)
    assert np.allclose(after.shown_error[inner], np.sqrt((25 - 1) / 6))
    summed = RoundRandom(base=5, totals="recompute").apply(counts(np.arange(40)))
    assert summed.shown_error[summed.cell()] == pytest.approx(np.sqrt(40 * (25 - 1) / 6))
    true_zero = RoundRandom(base=5, totals="recompute").apply(MinimumFrequency(n=6).apply(counts([0, 7, 8])))
    assert true_zero.shown_error[true_zero.cell()] == pytest.approx(np.sqrt(2 * (25 - 1) / 6))
    small = SmallCountAdjustment(base=3).apply(counts([0, 1, 2, 3, 4, 5]))
    assert small.shown_error[small.cell()] == pytest.approx(np.sqrt(4 * (9 - 1) / 6))


# -------------------------------------------------------------------- small counts


def test_small_counts_change_and_totals_are_added_up() -> None:
    table = counts([[1, 2, 3], [0, 4, 9]])
    after = SmallCountAdjustment(base=3, zero_up_to=1).apply(table)
    rows = [[shown(after, v1=r, v2=c) for c in "ABC"] for r in "AB"]
    assert rows == [[0, 3, 3], [0, 4, 9]]
    assert [shown(after, v1=code) for code in "AB"] == [6, 13]
    assert shown(after) == 19
    cell = after.cell(v1="A")
    assert (after.shown_low[cell], after.shown_high[cell]) == (0 + 2 + 2, 1 + 3 + 3)
    assert not after.perturbed[after.cell(v2="C", v1="B")]
    alone = SmallCountAdjustment(base=3, zero_up_to=1, totals="independent").apply(table)
    assert shown(alone) == 19
    assert shown(alone, v1="A") == 6
    assert not alone.perturbed[alone.cell(v1="A")]


# -------------------------------------------------------------------- totals


@pytest.mark.parametrize(
    "method", [RoundConventional(base=3), RoundRandom(base=3), RoundMidpoint(), SmallCountAdjustment(base=4)]
)
def test_recomputed_totals_add_up_and_their_bounds_are_sums(method) -> None:
    method = dataclasses.replace(method, totals="recompute")
    rows = Hierarchy.flat("XYZ")
    table = counts(np.random.default_rng(2).integers(0, 9, (3, 4)), hierarchies=[rows, TREE])
    after = method.apply(table)
    assert np.abs(after.equations @ after.numbers).max() == 0
    low, high = (np.where(after.perturbed, ends, after.numbers) for ends in (after.shown_low, after.shown_high))
    assert np.abs(after.equations @ low).max() == 0
    assert np.abs(after.equations @ high).max() == 0
    alone = dataclasses.replace(method, totals="independent").apply(table)
    inner = inner_cells(table)
    np.testing.assert_array_equal(after.numbers[inner], alone.numbers[inner])


def inner_cells(table):
    return np.isin(np.arange(table.cells), parts_of(table.equations).inner)


def test_inner_cells_are_those_without_parts() -> None:
    table = counts(np.ones((2, 4)), hierarchies=[Hierarchy.flat("XY"), TREE])
    assert inner_cells(table).sum() == 8
    assert not inner_cells(table)[table.cell(v1="X", v2="AB")]


def test_a_total_over_a_hidden_cell_is_not_recomputed() -> None:
    table = MinimumFrequency(n=3).apply(counts([[2, 9, 8], [7, 6, 5]]))
    with pytest.raises(InputError, match="3 cells stand above inner cells that are hidden") as caught:
        RoundConventional(totals="recompute").apply(table)
    assert "v1=A, v2=Total" in str(caught.value)
    assert RoundConventional(totals="recompute", sensitive="show").apply(table).perturbed.all()


def test_a_total_over_an_unlisted_cell_is_not_recomputed() -> None:
    table = counts([2, 9, 8])
    listed = np.ones(table.cells, bool)
    listed[table.cell(v1="B")] = False
    with pytest.raises(InputError, match="not listed"):
        RoundConventional(totals="recompute").apply(table.replace(listed=listed))


def test_a_hidden_cell_that_would_be_told_exactly_is_not_summed_either() -> None:
    """4 is no small count: it would stay hidden, and the recomputed total beside its other parts would give it away."""
    table = counts([4, 1, 2])
    hide = np.zeros(table.cells, bool)
    hide[table.cell(v1="A")] = True
    table = table.with_secondary("before", hide)
    with pytest.raises(InputError, match="hidden"):
        SmallCountAdjustment(base=3, sensitive="show").apply(table)


def test_totals_of_linked_tables_that_do_not_share_their_parts_are_refused() -> None:
    """The total of 3 + 3 + 3 rounds to 15, that of 9 to 10."""
    table = counts([3, 3, 3, 9])
    names = [table.cell(v1=code) for code in "ABCD"]
    rows = np.zeros((2, table.cells))
    rows[0, [*names[:3]]], rows[1, names[3]] = 1, 1
    rows[:, table.cell()] = -1
    value = table.value.copy()
    value[table.cell()] = 9
    tied = table.replace(value=value, equations=sparse.csr_array(rows))
    with pytest.raises(InputError, match="different sums in different tables"):
        RoundConventional(totals="recompute").apply(tied)
    assert RoundConventional().apply(tied).perturbed.all()


def test_cells_that_are_their_own_parts_are_refused() -> None:
    table = counts([0, 0])
    rows = np.array([[-1.0, 1, 1], [1, -1, 1]])
    looped = table.replace(value=np.zeros(3), equations=sparse.csr_array(rows))
    with pytest.raises(InputError, match="parts of themselves"):
        RoundConventional(totals="recompute").apply(looped)


# -------------------------------------------------------------------- thresholds


def test_what_a_threshold_rule_tells_is_reckoned_with() -> None:
    table = MinimumFrequency(n=6).apply(counts([0, 3, 6, 7, 8, 40]))
    after = RoundConventional(base=5).apply(table)
    assert [shown(after, v1=code) for code in "ACDEF"] == [0, 5, 5, 10, 40]
    low, high = after.bounds()
    five = [after.cell(v1=code) for code in "CD"]
    assert low[five].tolist() == [6, 6]
    assert high[five].tolist() == [7, 7]
    assert after.shown_low[five].tolist() == [3, 3], "the promise of the number alone stays on record"
    assert not after.perturbed[after.cell(v1="A")], "a 0 can only be a 0"
    assert after.history[-1].counts["narrowed by the threshold"] == 2


def test_the_rule_counts_only_where_the_cells_hold_what_it_counts() -> None:
    weighted = counts([0, 9, 8], n=[0, 3, 4])
    after = RoundConventional().apply(MinimumFrequency(n=3).apply(weighted))
    assert np.isnan(after.lower).all()
    shown_too = RoundConventional(sensitive="show").apply(MinimumFrequency(n=6).apply(counts([0, 3, 40])))
    assert np.isnan(shown_too.lower).all()
    assert shown_too.perturbed.all()


def test_zeros_that_are_hidden_narrow_the_shown_ones() -> None:
    table = MinimumFrequency(n=3, zeros=True).apply(counts([0, 4, 40]))
    after = RoundConventional(base=10).apply(table)
    assert after.suppressed[after.cell(v1="A")]
    assert after.bounds()[0][after.cell(v1="B")] == 3


def test_cells_declared_safe_are_no_witnesses_of_the_threshold() -> None:
    table = APriori(entries=({"codes": {"v1": "A"}, "status": "safe"},)).apply(counts([2, 9, 40]))
    after = RoundConventional(base=5).apply(MinimumFrequency(n=6).apply(table))
    assert shown(after, v1="A") == 0
    assert after.bounds()[1][after.cell(v1="A")] == 2
    assert after.perturbed[after.cell(v1="A")]


def test_a_declared_threshold_must_be_true() -> None:
    given = counts([0, 3, 7, 40])
    with pytest.raises(InputError, match="1 cells to be shown are counts above 0 and below 6"):
        RoundConventional(shown_from=6).apply(given)
    hide = np.zeros(given.cells, bool)
    hide[given.cell(v1="B")] = True
    after = RoundConventional(shown_from=6).apply(given.with_secondary("given", hide))
    assert after.bounds()[0][after.cell(v1="C")] == 6
    with pytest.raises(ParameterError, match="magnitude"):
        RoundConventional(shown_from=6).apply(small_table([1, 2]))


def test_a_threshold_that_does_not_fit_the_base_is_found_beforehand() -> None:
    assert narrow_outputs(RoundConventional(base=5, shown_from=6)) == ((5, 6, 7),)
    assert narrow_outputs(RoundConventional(base=5, shown_from=8)) == ()
    assert narrow_outputs(RoundConventional(base=5, shown_from=7)) == ((5, 7, 7),)
    assert narrow_outputs(RoundRandom(base=5, shown_from=6)) == ((5, 6, 9),)
    assert narrow_outputs(RoundMidpoint(shown_from=7)) == ()
    assert narrow_outputs(RoundGraduated(steps=((99, 10), (999, 50)), above=100, to="half-even", shown_from=15)) == ()
    with pytest.raises(ParameterError, match="not declared"):
        narrow_outputs(RoundConventional())


# -------------------------------------------------------------------- reading published numbers


def test_the_true_range_of_published_numbers() -> None:
    low, high = true_range([0, 5, 10, np.nan], RoundConventional(base=5))
    assert low.tolist() == [0, 3, 8, 0]
    assert high.tolist() == [2, 7, 12, np.inf]
    low, high = true_range([[0, -5]], RoundRandom(base=5), negative=True)
    assert low.tolist() == [[-4, -9]]
    assert high.tolist() == [[4, -1]]
    low, high = true_range(0.15, RoundConventional(base=0.05), decimals=3)
    assert (float(low), float(high)) == (0.125, 0.174)
    low, high = true_range([0, 5, 10], RoundConventional(base=5, shown_from=6))
    assert low.tolist() == [0, 6, 8]
    assert high.tolist() == [0, 7, 12]


@pytest.mark.parametrize(
    ("number", "method"),
    [
        (7, RoundConventional(base=5)),
        (5, RoundConventional(base=5, shown_from=8)),
        (2, SmallCountAdjustment()),
        (4.5, RoundMidpoint()),
    ],
)
def test_numbers_that_cannot_have_been_published_so(number: float, method) -> None:
    with pytest.raises(InputError, match="1 numbers cannot have been published"):
        true_range([number], method)


def test_a_scale_is_exact() -> None:
    scale = Scale(3, 2)
    values = np.array([0.001, 4503599627370.497, -1.005])
    exact = [int(Decimal(repr(value)) * 1000) for value in values.tolist()]
    assert scale.units(values).tolist() == exact
    assert scale.numbers(scale.units(values)).tolist() == values.tolist()
    assert scale.whole(0.25, "base") == 250
