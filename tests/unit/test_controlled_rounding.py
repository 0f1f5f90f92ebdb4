"""Controlled rounding: additive, within its window, as near as can be, and honest about what it could not do."""

import itertools
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from discreet.audit import audit, publish
from discreet.errors import InputError, NotProtectedError, ParameterError
from discreet.model.hierarchy import Hierarchy
from discreet.model.link import link
from discreet.model.table import Table
from discreet.tables.rounding.controlled import ControlledRounding
from discreet.tables.rounding.exchange import Exchange, evenly
from discreet.tables.rounding.parts import parts_of
from discreet.tables.rules import MinimumFrequency
from discreet.testing import small_table


def counts(inner: Any, **fields: Any) -> Table:
    return small_table(np.asarray(inner, float), kind="frequency", **fields)


def tree(groups: int, each: int) -> Hierarchy:
    names = [f"g{i}" for i in range(groups)]
    return Hierarchy.from_parents([*(("Total", g) for g in names), *((g, f"{g}x{j}") for g in names for j in range(each))])


PARITY = [[[(i + j + k + 1) % 2 for k in range(2)] for j in range(2)] for i in range(2)]


def windows(table: Table, base: int, steps: int = 0) -> list[range]:
    below, rest = table.value // base, table.value % base
    low, high = np.maximum(below - steps, 0), below + (rest > 0) + steps
    return [range(int(a), int(b) + 1) for a, b in zip(low, high, strict=True)]


def every_rounding(table: Table, base: int, steps: int = 0) -> list[np.ndarray]:
    """All roundings of a small two-way table, by trying every choice of its inner cells."""
    total = np.unique(table.equations.indices[table.equations.data < 0])
    inner = np.setdiff1d(np.arange(table.cells), total)
    sizes = windows(table, base, steps)
    found = []
    for choice in itertools.product(*(sizes[cell] for cell in inner)):
        v = np.full(table.cells, np.nan)
        v[inner] = choice
        while np.isnan(v).any():
            for row in range(table.equations.shape[0]):
                entries = slice(table.equations.indptr[row], table.equations.indptr[row + 1])
                cells, signs = table.equations.indices[entries], table.equations.data[entries]
                parts, whole = cells[signs > 0], cells[signs < 0][0]
                if not np.isnan(v[parts]).any():
                    v[whole] = v[parts].sum()
        if not (table.equations @ v).any() and all(x in window for x, window in zip(v, sizes, strict=True)):
            found.append(base * v)
    return found


def test_the_table_of_the_users_has_four_roundings_and_the_best_is_found() -> None:
    table = counts([[3, 8], [4, 6]])
    found = every_rounding(table, 5)
    assert len(found) == 4
    assert min(np.abs(v - table.value).sum() for v in found) == 12
    after = ControlledRounding(base=5).apply(table)
    inner = [[after.shown[after.cell(v1=a, v2=b)] for b in "AB"] for a in "AB"]
    assert inner == [[0, 10], [5, 5]]
    assert np.abs(after.shown - table.value).sum() == 12
    assert after.history[-1].counts["proved optimal"] == 1


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("steps", [0, 1])
def test_small_tables_are_rounded_as_well_as_by_trying_everything(seed: int, steps: int) -> None:
    table = counts(np.random.default_rng(seed).integers(0, 9, (2, 3)))
    best = min(np.abs(v - table.value).sum() for v in every_rounding(table, 3, steps))
    after = ControlledRounding(base=3, steps=steps, gap=0).apply(table)
    assert np.abs(after.shown - table.value).sum() == best
    assert not (table.equations @ after.shown).any()


def test_the_parity_table_has_no_rounding_without_a_step() -> None:
    table = counts(PARITY)
    with pytest.raises(NotProtectedError, match="which is proved") as caught:
        ControlledRounding(base=2).apply(table)
    assert "steps = 1" in caught.value.fix
    after = ControlledRounding(base=2, steps=1).apply(table)
    assert np.abs(after.shown - table.value).sum() == 18
    assert not (table.equations @ after.shown).any()


@pytest.mark.parametrize(("base", "steps"), [(3, 1), (5, 0), (10, 0)])
def test_three_dimensions_with_hierarchies_add_up_within_the_window(base: int, steps: int) -> None:
    trees = [tree(2, 3), tree(2, 2), tree(2, 2)]
    table = counts(np.random.default_rng(base).poisson(4, (6, 4, 4)), hierarchies=trees)
    after = ControlledRounding(base=base, steps=steps, rounds=40).apply(table)
    assert not (table.equations @ after.shown).any()
    assert (np.abs(after.shown - table.value) < base * (steps + 1)).all()
    assert not (after.shown % base).any()
    assert (after.shown_low <= table.value).all()
    assert (table.value <= after.shown_high).all()
    proof = audit(after)
    assert proof.safe
    assert publish(after, audit=proof).layout().value.sum() == after.shown[table.layouts[0].cell].sum()


def test_sums_of_money_are_rounded_in_their_own_decimals() -> None:
    table = small_table(np.random.default_rng(2).lognormal(4, 1, (4, 3)).round(2), decimals=2)
    after = ControlledRounding(base=2.5).apply(table)
    assert np.abs(table.equations @ after.shown).max() < 1e-9
    assert (np.abs(after.shown - table.value) < 2.5).all()
    assert np.allclose(after.shown / 2.5, np.rint(after.shown / 2.5))
    with pytest.raises(ParameterError, match="more decimals than are published"):
        ControlledRounding(base=0.125).apply(table)


def test_what_hidden_cells_were_rounded_to_counts_as_known() -> None:
    table = MinimumFrequency(n=4).apply(counts([[3, 8, 9], [14, 6, 2], [7, 12, 11]]))
    assert table.primary.sum() == 2
    after = ControlledRounding(base=5).apply(table)
    hidden = table.primary
    assert after.suppressed[hidden].all()
    low, high = after.bounds()
    assert (high - low)[hidden].max() <= 8
    assert (low <= table.value).all()
    shown = ControlledRounding(base=5, sensitive="show").apply(table)
    assert shown.perturbed.all()


def test_a_limit_of_time_is_an_outcome_or_told() -> None:
    table = counts(np.random.default_rng(1).poisson(2, (12, 12, 8)), hierarchies=[tree(3, 4), tree(3, 4), tree(2, 4)])
    with pytest.raises(NotProtectedError, match="in time"):
        ControlledRounding(base=5, time_limit=0.01).apply(table)


@pytest.mark.parametrize(("mean", "steps"), [(6.0, 0), (1.0, 1)])
def test_large_tables_are_improved_part_by_part_and_the_gap_is_told(mean: float, steps: int) -> None:
    trees = [tree(3, 3), tree(3, 3), tree(2, 4)]
    table = counts(np.random.default_rng(0).poisson(mean, (9, 9, 8)), hierarchies=trees)
    few, many = (ControlledRounding(base=5, steps=steps, rounds=rounds, gap=0.5).apply(table) for rounds in (2, 25))
    for after in (few, many):
        assert not (table.equations @ after.shown).any()
        assert (np.abs(after.shown - table.value) < 5 * (steps + 1)).all()
    off = [np.abs(after.shown - table.value).sum() for after in (few, many)]
    gaps = [after.history[-1].counts["gap in per cent"] for after in (few, many)]
    assert off[1] < off[0]
    assert 0 <= gaps[1] < gaps[0]
    least = off[1] * (1 - gaps[1] / 100)
    assert off[0] * (1 - gaps[0] / 100) == pytest.approx(least, rel=1e-4), "the bound is one of the table, not of the search"
    again = ControlledRounding(base=5, steps=steps, rounds=25, gap=0.5).apply(table)
    np.testing.assert_array_equal(again.shown, many.shown)


def test_a_table_that_is_perturbed_already_is_refused() -> None:
    table = counts([[3, 8], [4, 6]])
    after = ControlledRounding(base=5).apply(table)
    with pytest.raises(InputError, match="perturbed already"):
        ControlledRounding(base=5).apply(after)


def test_bounds_that_are_declared_of_hidden_cells_stay() -> None:
    table = MinimumFrequency(n=4).apply(counts([[3, 8, 9], [14, 6, 2], [7, 12, 11]]))
    lower = np.where(table.primary, table.value - 1, np.nan)
    after = ControlledRounding(base=5).apply(table.replace(lower=lower))
    assert (after.bounds()[0][table.primary] >= lower[table.primary]).all()


def test_linked_tables_are_rounded_together() -> None:
    chance = np.random.default_rng(4)
    cube = chance.integers(0, 15, (3, 4, 3))
    one = counts(cube.sum(axis=2), variables=["a", "b"])
    other = counts(cube.sum(axis=1), variables=["a", "c"])
    table = link(one, other, names=["ab", "ac"])
    after = ControlledRounding(base=5).apply(table)
    assert after.perturbed.all()
    assert not (table.equations @ after.shown).any()
    assert (np.abs(after.shown - table.value) < 5).all()


def test_the_search_for_a_start_keeps_what_closes_linked_tables() -> None:
    equations = sparse.csr_array(np.array([[1, 1, 0, 0, -1], [0, 0, 1, 1, -1]], float))
    parts = parts_of(equations)
    assert parts.inner.tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(np.abs(parts.closing.toarray()), [[1, 1, 1, 1]])
    exchange = Exchange(
        matrix=parts.closing,
        start=np.zeros(1),
        low=np.zeros(1),
        high=np.zeros(1),
        least=np.zeros(4),
        most=np.array([0, 1, 1, 1.0]),
        loss=lambda sums: 0 * sums,
    )
    settled = exchange.settle(np.array([0, 1.0, 0, 0]), 20, over=lambda: False, feasible=True)
    assert settled.excess == 0
    assert not (parts.closing @ settled.point).any()


def test_even_shares_add_up_to_within_one_half() -> None:
    share = np.random.default_rng(0).random(100)
    steps = evenly(share)
    assert set(steps) == {0, 1}
    assert np.abs(np.cumsum(steps - share)).max() <= 0.5
