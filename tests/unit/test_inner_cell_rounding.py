"""Rounding by inner cells: no small counts left, totals that add up, and close to what they were."""

import itertools

import numpy as np
import pytest

from discreet.audit import audit
from discreet.errors import InputError
from discreet.model.table import Table
from discreet.tables.rounding import inner_search
from discreet.tables.rounding.inner_cells import InnerCellRounding
from discreet.tables.rules import MinimumFrequency
from discreet.testing import small_table


def counts(seed: int, shape: tuple[int, ...] = (5, 4), most: int = 12) -> Table:
    return small_table(np.random.default_rng(seed).integers(0, most, shape).astype(float), kind="frequency")


def inner_of(table: Table) -> np.ndarray:
    totals = np.unique(table.equations.indices[table.equations.data < 0])
    return np.setdiff1d(np.arange(table.cells), totals)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("base", [3, 5])
def test_no_small_count_is_left_and_sums_hold(seed: int, base: int) -> None:
    table = counts(seed)
    after = InnerCellRounding(base=base).apply(table)
    numbers = after.numbers
    assert not (table.equations @ numbers).any()
    assert not ((numbers > 0) & (numbers < base)).any()
    inner = inner_of(table)
    small = (table.value[inner] > 0) & (table.value[inner] < base)
    assert set(numbers[inner][small]) <= {0, base}
    np.testing.assert_array_equal(numbers[inner][~small], table.value[inner][~small])
    assert not after.perturbed[inner][~small].any()
    told = after.perturbed
    assert (after.shown_low <= table.value)[told].all()
    assert (table.value <= after.shown_high)[told].all()
    assert audit(after).counts["exact"] == 0


@pytest.mark.parametrize("seed", range(6))
def test_no_other_choice_is_closer(seed: int) -> None:
    table = counts(seed, (3, 3), 6)
    after = InnerCellRounding(base=5).apply(table)
    inner = inner_of(table)
    chosen = inner[after.perturbed[inner]]
    totals = np.zeros((table.cells, len(inner)))
    for cell in range(table.cells):
        moved = table.value.copy()
        totals[cell] = _holds(table, cell, inner, moved)

    def far(numbers: np.ndarray) -> tuple[float, float]:
        hellinger = ((np.sqrt(numbers) - np.sqrt(table.value)) ** 2).sum()
        return float(np.abs(numbers - table.value).max()), round(float(hellinger), 6)

    best = (np.inf, np.inf)
    for choice in itertools.product((0.0, 5.0), repeat=len(chosen)):
        now = table.value[inner].copy()
        now[np.searchsorted(inner, chosen)] = choice
        best = min(best, far(totals @ now))
    assert far(after.numbers) == best
    assert after.history[-1].counts["proved best"] == 1


def test_large_tables_are_rounded_by_exchanges_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    table = counts(4)
    proved = InnerCellRounding(base=5).apply(table)
    monkeypatch.setattr(inner_search, "LARGE", 0)
    after = InnerCellRounding(base=5).apply(table)
    assert (proved.history[-1].counts["proved best"], after.history[-1].counts["proved best"]) == (1, 0)
    assert not (table.equations @ after.numbers).any()
    assert not ((after.numbers > 0) & (after.numbers < 5)).any()
    largest = [np.abs(rounded.numbers - table.value).max() for rounded in (proved, after)]
    assert largest[0] <= largest[1]


def _holds(table: Table, cell: int, inner: np.ndarray, _: np.ndarray) -> np.ndarray:
    """Which inner cells belong to a cell, read off its codes."""
    layout = table.layouts[0]
    codes = layout.codes[np.flatnonzero(layout.cell == cell)[0]]
    rows = [layout.codes[np.flatnonzero(layout.cell == one)[0]] for one in inner]
    return np.array([all(c in (0, r) for c, r in zip(codes, row, strict=True)) for row in rows], float)


def test_all_small_counts_are_rounded_where_that_is_asked_for() -> None:
    table = counts(3, (6, 5), 9)
    listed = np.ones(table.cells, bool)
    listed[inner_of(table)] = False
    table = table.replace(listed=listed)
    some, every = (InnerCellRounding(base=5, cells=cells).apply(table) for cells in ("contributing", "all"))
    assert some.history[-1].counts["inner cells rounded"] < every.history[-1].counts["inner cells rounded"]
    assert every.perturbed.any()


def test_hidden_counts_are_rounded_too_or_refused() -> None:
    table = MinimumFrequency(n=3).apply(counts(1))
    assert table.primary.any()
    after = InnerCellRounding(base=5).apply(table)
    low, high = after.bounds()
    hidden = after.suppressed
    assert hidden.any()
    assert (low <= table.value)[hidden].all()
    assert (high - low)[hidden].max() <= 4
    with pytest.raises(InputError, match="would give them away"):
        InnerCellRounding(base=3).apply(MinimumFrequency(n=6).apply(counts(1)))
    with pytest.raises(InputError, match="is about whole counts"):
        InnerCellRounding().apply(small_table([[1, 2], [3, 4]]))
