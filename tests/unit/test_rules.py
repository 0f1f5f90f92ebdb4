"""What every sensitivity rule has in common, and the rules that count rather than compare contributions."""

from typing import Any

import numpy as np
import pytest

from discreet.errors import InputError, ParameterError
from discreet.method import build, check_params, parameters, to_dict
from discreet.model.contributions import Contributions
from discreet.model.table import SensitivityRule
from discreet.tables.rules import (
    METHODS,
    PQ,
    APriori,
    Dominance,
    KDisclosure,
    MinimumFrequency,
    PPercent,
    Request,
    ZeroUnsafe,
)
from discreet.testing import small_table

EXAMPLES: tuple[Any, ...] = (
    MinimumFrequency(),
    Dominance(),
    PPercent(),
    PQ(),
    Request(p1=50),
    ZeroUnsafe(range=10),
    APriori(entries=({"codes": {"v1": "A"}, "status": "unsafe"},)),
    KDisclosure(variable="v1"),
)


def counted(n: Any, **given: Any) -> Contributions:
    n = np.asarray(n, float)
    return Contributions.of(n, given.pop("total", 10 * n), **given)


def test_every_rule_of_the_family_is_here() -> None:
    assert {type(rule) for rule in EXAMPLES} == set(METHODS)


@pytest.mark.parametrize("rule", EXAMPLES, ids=lambda rule: rule.NAME)
class TestEveryRule:
    def test_explains_itself(self, rule: Any) -> None:
        assert rule.SOURCE
        assert "Guards against" in type(rule).__doc__
        assert "Does not guard against" in type(rule).__doc__
        assert all(parameter.doc for parameter in parameters(type(rule)))

    def test_round_trips_through_a_plan(self, rule: Any) -> None:
        settings = to_dict(rule)
        assert settings.pop("method") == rule.NAME
        assert build(type(rule), settings) == rule

    def test_is_applied_to_unions_only_if_it_can_judge_them(self, rule: Any) -> None:
        assert rule.unions == (rule.NAME in ("min-frequency", "dominance", "p-percent", "p-q"))
        assert isinstance(rule, SensitivityRule) or not rule.unions

    def test_leaves_its_table_alone_and_says_the_same_twice(self, rule: Any) -> None:
        top = [[[50, 20], [5, 4], [9, 1]], [[8, 8], [0, 0], [3, 2]]]
        frequency = rule.NAME == "k-disclosure"
        table = small_table([[90, 10, 10], [20, 0, 8]], n=None if frequency else [[9, 2, 3], [4, 5, 6]], top=top)
        table = table.replace(kind="frequency" if frequency else "magnitude")
        before = {name: getattr(table, name).copy() for name in ("status", "fired", "upper_protection", "exempt")}
        once, twice = rule.apply(table), rule.apply(table)
        for name, array in before.items():
            np.testing.assert_array_equal(getattr(table, name), array)
            np.testing.assert_array_equal(getattr(once, name), getattr(twice, name))
        assert len(once.history) > len(table.history)


def test_no_parameter_is_ignored() -> None:
    for method in METHODS:
        with pytest.raises(ParameterError, match="unknown parameter 'colour'"):
            build(method, {"colour": 1})


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        (PPercent, {"p": 0}),
        (PPercent, {"p": 101}),
        (PPercent, {"coalition": 0}),
        (PPercent, {"weights": "some"}),
        (PPercent, {"negative": "shift"}),
        (PPercent, {"p": float("nan")}),
        (Dominance, {"n": 1.5}),
        (Dominance, {"k": 100}),
        (PQ, {"p": 20, "q": 20}),
        (MinimumFrequency, {"n": 0}),
        (MinimumFrequency, {"count": "records"}),
        (Request, {}),
        (Request, {"p1": 100}),
        (ZeroUnsafe, {"range": 0}),
        (KDisclosure, {"variable": "v1", "k": -1}),
        (KDisclosure, {"variable": "v1", "width": 0}),
    ],
)
def test_refuses_what_it_cannot_use(method: type, settings: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        build(method, settings)


def test_decimals_are_allowed() -> None:
    for rule in (PPercent(p=7.4), Dominance(k=90.909), PQ(p=2.5, q=33.3), MinimumFrequency(n=2.5), Request(p1=66.6)):
        check_params(rule)


# -------------------------------------------------------------------- minimum frequency


def test_minimum_frequency_is_strict_on_both_sides() -> None:
    assert MinimumFrequency(n=3).sensitive(counted([0, 1, 2, 3, 4])).tolist() == [False, True, True, False, False]


def test_empty_cells_are_sensitive_only_on_request() -> None:
    assert MinimumFrequency(n=3, zeros=True).sensitive(counted([0, 2, 3])).tolist() == [True, True, False]


def test_what_is_counted() -> None:
    cell = counted([3.0], weight=[2.5 + 3.0 + 5.5], holdings=[2.0])
    assert MinimumFrequency(n=10).sensitive(cell).tolist() == [True]
    assert MinimumFrequency(n=10, count="weighted").sensitive(cell).tolist() == [False]
    assert MinimumFrequency(n=11.5, count="weighted").sensitive(cell).tolist() == [True]
    assert MinimumFrequency(n=3).sensitive(cell).tolist() == [False]
    assert MinimumFrequency(n=3, count="holdings").sensitive(cell).tolist() == [True]


def test_a_weighted_count_that_is_n_but_for_rounding_is_enough() -> None:
    assert sum([0.1] * 3) != 0.3
    for weight in (0.1 + 0.2, 0.3, 0.7 - 0.4):
        assert MinimumFrequency(n=0.3, count="weighted").sensitive(counted([3], weight=[weight])).tolist() == [False]


def test_frequency_range_is_a_share_of_the_value() -> None:
    table = small_table([[40, 60], [70, 80]], n=[[2, 9], [9, 9]])
    plain = MinimumFrequency(n=3).apply(table)
    ranged = MinimumFrequency(n=3, range=20).apply(table)
    cell = table.cell(v1="A", v2="A")
    assert plain.primary.tolist() == ranged.primary.tolist() == [i == cell for i in range(table.cells)]
    assert plain.upper_protection[cell] == 0
    assert ranged.upper_protection[cell] == ranged.lower_protection[cell] == 8
    assert ranged.upper_protection.sum() == 8


def test_one_sum_of_hidden_cells_is_judged_like_a_cell() -> None:
    cells = counted([4, 5, 17])
    union = cells.union([np.array([0, 1]), np.array([0, 1, 2])])
    assert MinimumFrequency(n=11).sensitive(union).tolist() == [True, False]


# -------------------------------------------------------------------- rules together


def test_rules_combine_by_or_and_each_leaves_its_mark() -> None:
    """{50}; {85,10,5}; {60,35,5}; {40,30,30}; {60,40} with n < 3, (1,80), (2,90): A, B, C, none, A in priority order."""
    top = [[50, 0, 0], [85, 10, 5], [60, 35, 5], [40, 30, 30], [60, 40, 0]]
    table = small_table([50, 100, 100, 100, 100], n=[1, 3, 3, 3, 2], top=top)
    for rule in (MinimumFrequency(n=3), Dominance(n=1, k=80), Dominance(n=2, k=90)):
        table = rule.apply(table)
    letters = ["A" if bits & 1 else "B" if bits & 2 else "C" if bits & 4 else "" for bits in table.fired.tolist()]
    assert [letters[table.cell(v1=code)] for code in "ABCDE"] == ["A", "B", "C", "", "A"]
    assert table.primary.sum() == 4
    assert int(table.fired[table.cell(v1="A")]) == 0b111


def test_the_larger_protection_level_holds_whatever_the_order() -> None:
    table = small_table([100, 100], n=[2, 9], top=[[90, 5], [20, 20]])
    rules = (MinimumFrequency(n=3, range=30), PPercent(p=10), Dominance(n=1, k=80))
    forth, back = table, table
    for rule in rules:
        forth = rule.apply(forth)
    for rule in reversed(rules):
        back = rule.apply(back)
    np.testing.assert_array_equal(forth.upper_protection, back.upper_protection)
    np.testing.assert_array_equal(forth.status, back.status)
    assert forth.upper_protection[table.cell(v1="A")] == 30


# -------------------------------------------------------------------- zero-unsafe


def test_zero_unsafe_needs_contributors_who_all_give_nothing() -> None:
    cells = Contributions.of([3, 0, 3, 2], [0, 0, 5, 0], absolute=[0, 0, 5, 8])
    assert ZeroUnsafe(range=10).sensitive(cells).tolist() == [True, False, False, False]


def test_zero_unsafe_protects_by_an_amount_and_downwards_only_where_values_can_be_negative() -> None:
    positive = ZeroUnsafe(range=10).apply(small_table([0, 7, 9], n=[3, 3, 3]))
    mixed = ZeroUnsafe(range=10).apply(small_table([0, -7, 9], n=[3, 3, 3]))
    cell = positive.cell(v1="A")
    assert positive.primary.sum() == mixed.primary.sum() == 1
    assert (positive.upper_protection[cell], positive.lower_protection[cell]) == (10, 0)
    assert (mixed.upper_protection[cell], mixed.lower_protection[cell]) == (10, 10)


# -------------------------------------------------------------------- request


def asked(code: Any, top: Any = ((60, 30),), requests: Any = (1,), n: Any = (9,)) -> Contributions:
    return Contributions.of(n, [100.0] * len(n), top=top, top_request=code, requests=requests)


def test_request_has_a_threshold_for_each_code() -> None:
    rule = Request(p1=70, p2=50)
    assert rule.sensitive(asked([[1, 0]])).tolist() == [False]
    assert rule.sensitive(asked([[2, 0]])).tolist() == [True]
    assert Request(p1=50).sensitive(asked([[2, 0]])).tolist() == [True]
    assert Request(p1=60).sensitive(asked([[1, 0]])).tolist() == [False], "equality is not sensitive"
    assert Request(p1=59.9).sensitive(asked([[1, 0]])).tolist() == [True]


def test_only_the_largest_contributor_counts_for_the_share() -> None:
    assert Request(p1=20).sensitive(asked([[0, 1]])).tolist() == [False]
    assert Request(p1=20).sensitive(asked([[0, 0]], requests=[0])).tolist() == [False]


def test_anybody_who_asked_counts_in_small_cells() -> None:
    rule = Request(p1=90, min_frequency=3, range=15)
    assert rule.sensitive(asked([[0, 1]], n=[2])).tolist() == [True]
    assert rule.sensitive(asked([[0, 1]], n=[3])).tolist() == [False]
    assert rule.sensitive(asked([[0, 0]], n=[2], requests=[0])).tolist() == [False]
    table = small_table([100, 50], n=[2, 9], top=[[60, 40], [9, 9]])
    contributions = table.contributions
    request = np.zeros_like(contributions.top_request)
    request[table.cell(v1="A"), 1] = 1
    table = table.replace(
        contributions=Contributions.of(
            contributions.n, contributions.total, top=contributions.top, top_request=request, requests=request.sum(axis=1)
        )
    )
    table = rule.apply(table)
    assert np.flatnonzero(table.primary).tolist() == [table.cell(v1="A")]
    assert table.upper_protection[table.cell(v1="A")] == 15


def test_a_waiver_does_not_undo_a_request() -> None:
    cell = Contributions.of([9], [100], top=[[60, 30]], top_request=[[1, 0]], requests=[1], top_waiver=[[True, False]])
    assert Request(p1=50).sensitive(cell).tolist() == [True]


def test_request_codes_that_mean_nothing_are_refused() -> None:
    with pytest.raises(InputError, match="none of 0, 1 and 2"):
        Request(p1=50).sensitive(asked([[3, 0]]))
