"""The rounding audit against brute force, and what it says of wrong policies, limits and infinite ranges."""

import dataclasses
import itertools

import numpy as np
import pytest
from scipy import sparse

from discreet.audit import rounding
from discreet.audit.rounding import published_rounding_audit, rounding_audit
from discreet.audit.thresholds import by_thresholds
from discreet.errors import InputError
from discreet.model.knowledge import header_total
from discreet.model.table import Table
from discreet.tables.rounding import RoundConventional, RoundMidpoint, RoundRandom, SmallCountAdjustment
from discreet.tables.rounding.parts import parts_of
from discreet.tables.rules import MinimumFrequency
from discreet.testing import small_table


def counts(inner, seed: int = 0) -> Table:
    table = small_table(inner, kind="frequency")
    key = np.random.default_rng(seed).integers(1, 2**32, table.cells)
    return table.replace(contributions=dataclasses.replace(table.contributions, key=key))


def brute_force(table: Table) -> tuple[np.ndarray, np.ndarray]:
    """The least and largest value of each cell over all whole tables that agree with what is known of each cell."""
    low, high = table.bounds()
    low, high = np.where(table.unknown, low, table.value), np.where(table.unknown, high, table.value)
    inner = parts_of(table.equations).inner
    most = np.minimum(high, 60)
    grid = np.array(list(itertools.product(*(np.arange(low[c], most[c] + 1) for c in inner))))
    sums = np.array([inner_sums(table, cell, inner) for cell in range(table.cells)])
    every = grid @ sums.T
    fits = ((every >= low) & (every <= high)).all(axis=1)
    return every[fits].min(axis=0), every[fits].max(axis=0)


def inner_sums(table: Table, cell: int, inner: np.ndarray) -> np.ndarray:
    """Which inner cells a cell is the sum of."""
    codes = table.layouts[0].codes
    line = {int(c): codes[i] for i, c in enumerate(table.layouts[0].cell)}
    return np.array([all(a in (0, b) for a, b in zip(line[cell], line[int(part)], strict=True)) for part in inner], float)


METHODS = [
    RoundConventional(base=3),
    RoundConventional(base=4, ties="half-even"),
    RoundConventional(base=5, totals="recompute"),
    RoundRandom(base=3),
    RoundMidpoint(base=3),
    SmallCountAdjustment(base=3),
    SmallCountAdjustment(base=4, zero_up_to=1, totals="independent"),
]


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_the_attained_intervals_are_those_of_brute_force(method, seed: int) -> None:
    inner = np.random.default_rng(seed).integers(0, 9, [(2, 2), (2, 3), (5,), (1, 4)][seed])
    table = method.apply(counts(inner, seed))
    found = rounding_audit(table)
    low, high = brute_force(table)
    np.testing.assert_array_equal(found.attained_low, low[found.cell])
    np.testing.assert_array_equal(found.attained_high, high[found.cell])
    assert found.proved.all()
    assert found.counts["cells"] == table.perturbed.sum()
    assert found.counts["determined"] == (low == high)[found.cell].sum()
    low, high = low[found.cell], high[found.cell]
    narrowed = ((low > found.promised_low) | (high < found.promised_high)) & (low < high)
    assert found.counts["narrowed"] == narrowed.sum()


def test_many_whole_numbers_are_moved_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """In three dimensions not every corner is whole; the same ends with fewer programs."""
    table = RoundConventional(base=5).apply(counts(np.random.default_rng(2).integers(0, 30, (4, 4, 4))))
    together = rounding_audit(table)
    monkeypatch.setattr(rounding, "seek_whole_tables", lambda *ignored: None)
    alone = rounding_audit(table)
    np.testing.assert_array_equal(together.attained_low, alone.attained_low)
    np.testing.assert_array_equal(together.attained_high, alone.attained_high)
    assert together.proved.all()
    assert together.counts["programs solved"] < alone.counts["programs solved"]


@pytest.mark.parametrize("seed", range(6))
def test_published_numbers_alone_tell_the_same(seed: int) -> None:
    """Without the truth: from equations and ranges, also where cells are hidden without bound."""
    table = counts(np.random.default_rng(seed).integers(0, 12, (3, 3)), seed)
    if seed % 2:
        table = MinimumFrequency(n=4).apply(table)
    table = RoundConventional(base=5).apply(table)
    inside = rounding_audit(table)
    low, high, _ = by_thresholds(table, *table.bounds())
    low, high = np.where(table.unknown, low, table.value), np.where(table.unknown, high, table.value)
    outside = published_rounding_audit(table.equations, low, high)
    assert outside.holds
    at = np.isin(outside.cell, inside.cell)
    np.testing.assert_array_equal(outside.cell[at], inside.cell[np.isin(inside.cell, outside.cell)])
    same = np.isin(inside.cell, outside.cell)
    np.testing.assert_array_equal(outside.attained_low[at], inside.attained_low[same])
    np.testing.assert_array_equal(outside.attained_high[at], inside.attained_high[same])


def test_a_cell_that_is_determined_is_counted_so() -> None:
    """Three times 0, which is 2 at most, and a total of 5, which is then 6 at most; a heading that says 6 gives all away."""
    table = RoundConventional(base=5).apply(counts([2, 2, 2]))
    found = rounding_audit(table)
    assert found.counts["determined"] == 0
    assert found.counts["narrowed"] == 1
    told = table.replace(knowledge=(header_total(table),))
    found = rounding_audit(told)
    assert found.counts["determined"] == 4
    assert found.counts["narrowed"] == 0
    np.testing.assert_array_equal(found.attained_low, told.value[found.cell])


def test_real_numbers() -> None:
    table = RoundConventional(base=0.5).apply(small_table([[0.25, 0.25], [3.0, 4.1]], decimals=2))
    found = rounding_audit(table)
    where = {table.label(int(cell)): i for i, cell in enumerate(found.cell)}
    total, part = where["v1=A, v2=Total"], where["v1=A, v2=A"]
    assert (found.promised_low[part], found.promised_high[part]) == (0.25, 0.74)
    assert found.attained_high[part] == pytest.approx(0.49)
    assert (found.attained_low[total], found.attained_high[total]) == pytest.approx((0.5, 0.74))


def test_no_time_no_proof() -> None:
    table = RoundConventional(base=5).apply(counts(np.arange(36).reshape(6, 6)))
    found = rounding_audit(table, time_limit=0)
    assert found.counts["not proved"] > 0
    assert (found.attained_low <= table.value[found.cell]).all()
    assert (found.attained_high >= table.value[found.cell]).all()
    low, high = table.bounds()
    nothing = published_rounding_audit(table.equations, low, high, time_limit=0)
    assert nothing.counts["not proved"] == nothing.counts["cells"] == table.cells
    assert nothing.counts["determined"] == nothing.counts["narrowed"] == 0


def test_contradictions_are_no_success() -> None:
    """20 = 5 + 5 cannot be base 5 to the nearest; the other row can."""
    equations = sparse.csr_array(np.array([[1.0, 1, -1, 0, 0, 0], [0, 0, 0, 1, 1, -1]]))
    low = np.array([3, 3, 18, 3, 3, 8])
    found = published_rounding_audit(equations, low, low + 4)
    assert not found.holds
    assert found.counts["contradicting"] == 1
    assert found.counts["cells not judged"] == 3
    assert found.counts["not proved"] == 0
    assert found.proved.tolist() == [False] * 3 + [True] * 3
    np.testing.assert_array_equal(found.attained_low[:3], low[:3])


def test_a_contradiction_may_take_several_relations() -> None:
    """x + y, y + z and x + z are all 1: halves fulfil this, whole numbers do not."""
    equations = np.array([[1.0, 1, 0, -1], [0, 1, 1, -1], [1, 0, 1, -1]])
    found = published_rounding_audit(equations, [0, 0, 0, 1], [1, 1, 1, 1])
    assert found.counts["contradicting"] == 1
    halves = published_rounding_audit(equations, [0, 0, 0, 1], [1, 1, 1, 1], whole=False)
    assert halves.holds
    assert halves.counts["determined"] == 3
    np.testing.assert_allclose(halves.attained_low, 0.5)


def test_ranges_without_end() -> None:
    equations = np.array([[1.0, 1, -1], [0, 0, 0]])
    found = published_rounding_audit(equations, [0, 3, -np.inf], [np.inf, 7, 12])
    assert found.attained_low.tolist() == [0, 3, 3]
    assert found.attained_high.tolist() == [9, 7, 12]
    assert found.counts["narrowed"] == 2
    free = published_rounding_audit(np.zeros((0, 2)), [-np.inf, 1], [np.inf, 1])
    assert free.counts["cells"] == 1
    assert free.counts["narrowed"] == 0


def test_arrays_must_fit() -> None:
    with pytest.raises(InputError, match="do not fit"):
        published_rounding_audit(np.zeros((1, 3)), [0, 0], [1, 1])
    with pytest.raises(InputError, match="1 cells have low above high"):
        published_rounding_audit(np.zeros((1, 2)), [0, 2], [1, 1])


def test_nothing_recovered_is_printed() -> None:
    table = RoundConventional(base=1000).apply(counts([4321, 8765]))
    told = table.replace(knowledge=(header_total(table),))
    found = rounding_audit(told)
    assert "RoundingAudit(3 cells" in repr(found)
    for text in (repr(found), str(found), str(dict(found.counts))):
        assert not any(str(number) in text for number in (4321, 8765, 13086))
    with pytest.raises(ValueError, match="read-only"):
        found.attained_low[0] = 1
