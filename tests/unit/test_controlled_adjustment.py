"""Controlled adjustment: sensitive cells move far enough, the table stays additive, and others move as little as possible."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from discreet.audit import audit, publish
from discreet.errors import InputError, NotProtectedError
from discreet.model.table import Table
from discreet.tables.rounding.adjustment import ControlledAdjustment
from discreet.tables.rules import MinimumFrequency, PPercent
from discreet.testing import small_table


@dataclasses.dataclass(frozen=True)
class Declared:
    """Stands for whatever made a cell sensitive."""

    NAME = "declared"
    unions = False


def handbook(**levels: Any) -> Table:
    """The 3 × 3 table of the handbook with its cell (II, C) sensitive."""
    table = small_table([[20, 50, 10], [8, 19, 22], [17, 32, 12]])
    sensitive = np.zeros(table.cells, bool)
    sensitive[table.cell(v1="B", v2="C")] = True
    return table.with_primary(Declared(), sensitive, **levels)


def random_table(seed: int, shape: tuple[int, ...] = (4, 5), decimals: int = 1) -> Table:
    chance = np.random.default_rng(seed)
    top = np.sort(chance.lognormal(3, 1.2, (*shape, 4)), axis=-1)[..., ::-1].round(decimals)
    return PPercent(p=15).apply(small_table(top.sum(axis=-1), top=top, decimals=decimals))


def test_the_handbooks_table_is_adjusted_at_the_least_cost() -> None:
    after = ControlledAdjustment(most=100, gap=0).apply(handbook(upper=5.0))
    moved = after.shown - after.value
    assert np.abs(moved).sum() == 20
    assert sorted(np.abs(moved)[moved != 0]) == [5, 5, 5, 5]
    assert not moved[after.cell()]
    assert np.abs(after.equations @ after.shown).max() == 0


@pytest.mark.parametrize("directions", ["best", "alternate"])
@pytest.mark.parametrize("weights", ["unit", "value", "relative"])
@pytest.mark.parametrize("seed", range(4))
def test_sensitive_cells_move_far_enough_and_sums_still_hold(seed: int, weights: str, directions: str) -> None:
    table = random_table(seed)
    assert table.primary.any()
    after = ControlledAdjustment(most=100, weights=weights, directions=directions).apply(table)
    moved = after.shown - after.value
    at = table.primary
    far = (moved >= table.upper_protection - 1e-9) | (moved <= -table.lower_protection + 1e-9)
    assert far[at].all()
    assert (np.abs(moved) >= table.unit * (1 - 1e-9))[at].all()
    assert np.abs(table.equations @ after.shown).max() < 1e-9
    assert (after.shown >= 0).all()
    assert (np.abs(moved) <= table.value + 1e-9)[~at].all()
    assert np.allclose(np.round(after.shown, table.decimals), after.shown)
    assert not after.suppressed.any()
    assert audit(after).safe
    assert not np.isnan(publish(after).layout().value).any()


def test_the_best_directions_cost_no_more_than_those_in_turn() -> None:
    for seed in range(4):
        table = random_table(seed)
        best, turn = (ControlledAdjustment(most=100, gap=0, directions=how).apply(table) for how in ("best", "alternate"))
        cost = [np.abs(one.shown - one.value).sum() for one in (best, turn)]
        assert cost[0] <= cost[1] + 1e-6


def test_weights_choose_what_moves() -> None:
    table = handbook(upper=5.0)
    by_value = ControlledAdjustment(most=100, weights="value", gap=0).apply(table)
    cost = (np.abs(by_value.shown - by_value.value) * by_value.value).sum()
    plain = ControlledAdjustment(most=100, gap=0).apply(table)
    assert cost <= (np.abs(plain.shown - plain.value) * plain.value).sum()


def test_counts_stay_counts_in_three_dimensions() -> None:
    counts = np.random.default_rng(3).integers(0, 30, (3, 3, 3)).astype(float)
    table = MinimumFrequency(n=4).apply(small_table(counts, kind="frequency"))
    assert table.primary.any()
    after = ControlledAdjustment(most=100).apply(table)
    assert (after.shown == np.rint(after.shown)).all()
    assert not (table.equations @ after.shown).any()
    assert (np.abs(after.shown - after.value)[table.primary] >= 1).all()


def test_cells_that_must_be_published_stay() -> None:
    table = handbook(upper=5.0)
    frozen = np.zeros(table.cells, bool)
    frozen[[table.cell(v1="B"), table.cell(v2="C")]] = True
    after = ControlledAdjustment(most=100).apply(table.replace(frozen=frozen))
    assert not after.perturbed[frozen].any()
    assert np.abs(table.equations @ np.where(after.perturbed, after.shown, after.value)).max() == 0


def test_a_table_that_cannot_be_adjusted_is_refused() -> None:
    with pytest.raises(NotProtectedError, match="moves all 1 sensitive cells far enough"):
        ControlledAdjustment(most=1).apply(handbook(upper=5.0))
    with pytest.raises(InputError, match="no sensitive cell"):
        ControlledAdjustment().apply(small_table([[1, 2], [3, 4]]))
