"""Worked examples of rounding: from offices' rules, real situations and real files."""

import csv
import dataclasses
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from discreet.audit import audit, publish
from discreet.audit.rounding import published_rounding_audit, rounding_audit
from discreet.errors import NotProtectedError
from discreet.model.table import Table
from discreet.tables.rounding import (
    RoundConventional,
    RoundGraduated,
    RoundMidpoint,
    RoundRandom,
    RoundSignificant,
    narrow_outputs,
    true_range,
)
from discreet.tables.rules import MinimumFrequency
from discreet.testing import small_table


def counts(inner) -> Table:
    table = small_table(inner, kind="frequency")
    key = np.random.default_rng(11).integers(1, 2**32, table.cells)
    return table.replace(contributions=dataclasses.replace(table.contributions, key=key))


def one_by_one(method, values, **fields) -> list[float]:
    """Each value in a cell of its own."""
    table = small_table(values, **fields)
    after = method.apply(table)
    return [float(after.numbers[after.cell(v1=chr(65 + i))]) for i in range(len(values))]


# -------------------------------------------------------------------- rules of offices


def test_rounding_of_counts_by_the_us_census_bureau() -> None:
    """Counts and their roundings from the bureau's public test files of its Disclosure Review Board rules, ties half-even."""
    steps = ((99, 10), (999, 50), (9999, 100), (99_999, 500), (999_999, 1000))
    method = RoundGraduated(steps=steps, above=1000, to="half-even")
    before = [41, 142, 689, 15, 10_032, 167, 22, 500_932, 17, 150, 1234, 123_456]
    assert one_by_one(method, before) == [40, 150, 700, 20, 10_000, 150, 20, 501_000, 20, 150, 1200, 123_000]
    assert one_by_one(method, [25, 35, 99, 125, 175, 999, 1250]) == [20, 40, 100, 100, 200, 1000, 1200]


def test_four_significant_digits_by_the_us_census_bureau() -> None:
    """Numbers and their roundings from the same files."""
    method = RoundSignificant()
    before = [170.1111111, 16612.832, 7_003_200, 6700.32, 1_007_382, 55.2, 1.111111, 123.4567, 0.5, 0.000012345]
    after = [170.1, 16610, 7_003_000, 6700, 1_007_000, 55.2, 1.111, 123.5, 0.5, 0.00001234]
    assert one_by_one(method, before[:9], decimals=7) == after[:9]
    assert one_by_one(method, before[9:], decimals=9) == after[9:]


def test_graduated_random_rounding_by_stats_nz() -> None:
    """Base 3 up to 18, 19 to 18 or 20, then bases 5, 10 and 100 (Microdata output guide)."""
    method = RoundGraduated(steps=((18, 3), (99, 5), (999, 10)), above=100, to="random")
    expected = {17: {15, 18}, 18: {18}, 19: {18, 20}, 20: {20}, 21: {20, 25}, 97: {95, 100}, 100: {100}, 996: {990, 1000}}
    expected |= {1: {0, 3}, 1001: {1000, 1100}, 1100: {1100}, 0: {0}}
    for value, numbers in expected.items():
        table = counts(np.full((5, 20), value))
        after = method.apply(table)
        assert set(after.numbers[after.value == value]) == numbers


# -------------------------------------------------------------------- situations


def test_cells_rounded_by_themselves_do_not_add_up() -> None:
    """R01: 3, 8, 4 and 6 become 5, 10, 5 and 5, and their total of 21 becomes 20."""
    after = RoundConventional(base=5).apply(counts([[3, 8], [4, 6]]))
    inner = [after.numbers[after.cell(v1=r, v2=c)] for r in "AB" for c in "AB"]
    assert inner == [5, 10, 5, 5]
    assert sum(inner) == 25
    assert after.numbers[after.cell()] == 20
    again = RoundConventional(base=5, totals="recompute").apply(counts([[3, 8], [4, 6]]))
    assert again.numbers[again.cell()] == 25


def test_hiding_up_to_five_and_rounding_to_five_reveals_six_and_seven() -> None:
    """R03: a published 5 can only be 6 or 7; with up to 7 hidden, 5 never appears and 10 is 8 to 12."""
    assert narrow_outputs(RoundConventional(base=5, shown_from=6)) == ((5, 6, 7),)
    assert narrow_outputs(RoundConventional(base=5, shown_from=8)) == ()
    every = np.arange(1, 60)
    table = RoundConventional(base=5).apply(MinimumFrequency(n=6).apply(counts(every)))
    found = rounding_audit(table)
    five = table.shown[found.cell] == 5
    assert set(table.value[found.cell[five]]) == {6, 7}
    assert set(zip(found.attained_low[five], found.attained_high[five], strict=True)) == {(6, 7)}
    assert found.counts["narrowed"] >= 2
    fitting = RoundConventional(base=5).apply(MinimumFrequency(n=8).apply(counts(every)))
    assert 5 not in fitting.shown
    ten = fitting.shown == 10
    assert set(fitting.value[ten]) == {8, 9, 10, 11, 12}
    assert (fitting.bounds()[0][ten] == 8).all()


def test_counts_of_seven_alone_below_a_threshold_of_seven_are_refused() -> None:
    """Up to 6 hidden and base 5: a published 5 is a 7."""
    table = RoundConventional(base=5).apply(MinimumFrequency(n=7).apply(counts([[7, 30, 50], [21, 40, 60]])))
    proof = audit(table)
    assert [finding.kind for finding in proof.findings] == ["exact"]
    with pytest.raises(NotProtectedError, match="v1=A, v2=A"):
        publish(table, audit=proof)


def test_midpoint_six() -> None:
    """R04."""
    after = RoundMidpoint(base=6).apply(counts(np.arange(19)))
    inner = [after.numbers[after.cell(v1=chr(65 + i))] for i in range(19)]
    assert inner == [0, *[3] * 6, *[9] * 6, *[15] * 6]


def test_a_published_zero_and_five_are_no_suppressed_numbers() -> None:
    """R06."""
    low, high = true_range([0, 5], RoundConventional(base=5))
    assert list(zip(low, high, strict=True)) == [(0, 2), (3, 7)]


def test_totals_beside_their_parts_narrow_conventional_rounding() -> None:
    """SPEC B.7: a true 3 is published as 5, and the row 5 + 5 = 5 tells that it is 3 or 4, and its total 6 or 7."""
    table = RoundConventional(base=5).apply(counts([[1, 0], [3, 3], [12, 20]]))
    found = rounding_audit(table)
    interval = {
        table.label(int(cell)): (low, high)
        for cell, low, high in zip(found.cell, found.attained_low, found.attained_high, strict=True)
    }
    assert interval["v1=B, v2=A"] == interval["v1=B, v2=B"] == (3, 4)
    assert interval["v1=B, v2=Total"] == (6, 7)
    assert found.counts["determined"] == 0
    assert audit(table).safe


def test_one_policy_for_each_level_and_a_wrong_guess() -> None:
    """R08 in small: local numbers are exact with 1 and 2 hidden, the region is rounded to base 5."""
    true = np.array([2, 9, 1, 14, 2, 33])
    hidden = (true >= 1) & (true <= 2)
    regions = np.array([true[:3].sum(), true[3:].sum()])
    low_region, high_region = true_range(5 * np.floor(regions / 5 + 0.5), RoundConventional(base=5))
    equations = sparse.csr_array(np.array([[1.0, 1, 1, 0, 0, 0, -1, 0], [0, 0, 0, 1, 1, 1, 0, -1]]))
    low = np.concatenate([np.where(hidden, 1, true), low_region])
    high = np.concatenate([np.where(hidden, 2, true), high_region])
    right = published_rounding_audit(equations, low, high)
    assert right.holds
    assert right.counts["cells"] == 5
    assert right.counts["determined"] == 0
    assert right.counts["narrowed"] == 2
    exact = published_rounding_audit(equations, np.r_[low[:6], regions], np.r_[high[:6], regions])
    assert exact.counts["determined"] == 1, "12 leaves 3 for the first two, and 49 leaves 2 for the last one"
    wrong = published_rounding_audit(equations, np.r_[low[:6], regions + 40], np.r_[high[:6], regions + 44])
    assert not wrong.holds
    assert wrong.counts["contradicting"] == 2
    assert wrong.counts["determined"] == wrong.counts["narrowed"] == 0
    assert wrong.counts["cells not judged"] == 5
    assert "the declared policy is wrong" in repr(wrong)


def census(shared: Path) -> np.ndarray:
    """Total, men and women of every line of counts of a census table that was rounded at random to base 5."""
    path = shared / "data/published/ca_census2016_age_sex_98-400-X2016001.csv"
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = list(csv.reader(file))[1:]
    numbers = [[float(cell) for cell in line[13:16]] for line in lines if all(line[13:16]) and "verage" not in line[10]]
    return np.array(numbers)


def test_a_real_census_table_rounded_at_random(shared: Path) -> None:
    """R07: 43 % of the lines do not add up, which the right policy explains and a wrong one does not."""
    numbers = census(shared)
    lines = len(numbers)
    assert (numbers % 5 == 0).all()
    gap = numbers[:, 0] - numbers[:, 1] - numbers[:, 2]
    assert (gap != 0).mean() == pytest.approx(0.43, abs=0.005)
    rows = np.repeat(np.arange(lines), 3)
    equations = sparse.csr_array((np.tile([-1.0, 1, 1], lines), (rows, np.arange(3 * lines))), shape=(lines, 3 * lines))
    right = published_rounding_audit(equations, *true_range(numbers.ravel(), RoundRandom(base=5)))
    assert right.holds
    assert right.counts["cells"] == 3 * lines
    assert right.counts["not proved"] == right.counts["determined"] == 0
    low, high = true_range(numbers, RoundConventional(base=5))
    wrong = published_rounding_audit(equations, low.ravel(), high.ravel())
    apart = (low[:, 1] + low[:, 2] > high[:, 0]) | (high[:, 1] + high[:, 2] < low[:, 0])
    assert wrong.counts["contradicting"] == apart.sum() >= (np.abs(gap) == 10).sum() > 500
