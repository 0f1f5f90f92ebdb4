"""Worked examples of the handbook, the τ-ARGUS manual and the course slides."""

from typing import Any

import numpy as np
import pytest

from discreet.model.contributions import Contributions
from discreet.tables.rules import PQ, Dominance, MinimumFrequency, PPercent
from discreet.testing import small_table


def cells(*contributions: tuple[float, ...]) -> Contributions:
    top = np.zeros((len(contributions), 6))
    for row, x in zip(top, contributions, strict=True):
        row[: min(len(x), 6)] = sorted(x, reverse=True)[:6]
    return Contributions.of([len(x) for x in contributions], [sum(x) for x in contributions], top=top)


def sensitive(rule: Any, *x: float) -> bool:
    return bool(rule.sensitive(cells(x))[0])


def level(rule: Any, *x: float) -> float:
    """The upper protection level of one cell of a table."""
    top = (sorted(x, reverse=True) + [0.0] * 6)[:6]
    table = rule.apply(small_table([sum(x), 600.0], top=[top, [100.0] * 6], decimals=3))
    return float(table.upper_protection[table.cell(v1="A")])


PIANOS = (81, 5, 2, 2, 2)


def test_pianos() -> None:
    """81, 5, 2, 2, 2 of 92 million: Y computes 92 − 5 = 87, 7.407 % above 81."""
    assert sensitive(PPercent(p=7.408), *PIANOS)
    assert not sensitive(PPercent(p=7.407), *PIANOS)
    assert not sensitive(PPercent(p=100 * 6 / 81), *PIANOS), "at equality"
    assert level(PPercent(p=10), *PIANOS) == pytest.approx(2.1)
    assert sensitive(Dominance(n=1, k=88.04), *PIANOS)
    assert not sensitive(Dominance(n=1, k=88.05), *PIANOS)
    assert sensitive(Dominance(n=2, k=93.47), *PIANOS)
    assert not sensitive(Dominance(n=2, k=93.48), *PIANOS)
    assert level(Dominance(n=2, k=90), *PIANOS) == pytest.approx(3.556, abs=5e-4)


def test_one_ninety_fails_to_see_the_second_contributor() -> None:
    """50 000; 49 000; three others 1 000 together: the second bounds the first by 51 000, within 2 %."""
    x = (50_000, 49_000, 400, 300, 300)
    assert not sensitive(Dominance(n=1, k=90), *x)
    assert sensitive(PPercent(p=2.1), *x)
    assert not sensitive(PPercent(p=2), *x)


def test_dominance_of_two_hides_what_p_percent_lets_pass() -> None:
    """52 000; 50 000; others 8 000: an estimate is 15.4 % off, and two hold 92.7 %."""
    x = (52_000, 50_000, 5_000, 3_000)
    assert not sensitive(PPercent(p=10), *x)
    assert sensitive(PPercent(p=15.4), *x)
    assert sensitive(Dominance(n=2, k=90.909), *x)
    assert not sensitive(Dominance(n=2, k=92.73), *x)


def test_holdings() -> None:
    """700, 200, 60, 40, 10 is safe at p = 10; the first two are one holding, and it is not."""
    assert not sensitive(PPercent(p=10), 700, 200, 60, 40, 10)
    assert sensitive(PPercent(p=10), 900, 60, 40, 10)
    assert level(PPercent(p=10), 900, 60, 40, 10) == pytest.approx(40)


@pytest.mark.parametrize(("second", "expected"), [(300, True), (280, False)])
def test_a_table_that_was_given_without_microdata(second: float, expected: bool) -> None:
    """Total 1000, five contributors, the largest 620: 1000 − 620 − 300 = 80 < 93."""
    given = Contributions.of([5], [1000], top=[[620, second]])
    assert PPercent(p=15).sensitive(given).tolist() == [expected]
    assert MinimumFrequency(n=3).sensitive(given).tolist() == [False]


def test_the_p_q_rule_is_the_p_percent_rule_with_less_to_learn() -> None:
    for x in (PIANOS, (100, 60, 15), (100, 60, 5), (700, 200, 60, 40, 10), (7,)):
        for p, q in ((5, 50), (10, 25), (20, 80), (3, 300)):
            assert sensitive(PQ(p=p, q=q), *x) == sensitive(PPercent(p=100 * p / q), *x)
            assert level(PQ(p=p, q=q), *x) == pytest.approx(level(PPercent(p=100 * p / q), *x))
