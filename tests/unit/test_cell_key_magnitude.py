"""The cell key method for magnitudes: what the noise is in proportion to, where it stops, and how large it is on average."""

import dataclasses
import time
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from discreet.errors import InputError, ParameterError
from discreet.method import build
from discreet.model.contributions import Contributions
from discreet.model.ptable import PTable
from discreet.model.table import Table
from discreet.tables.perturb.cell_key_magnitude import CellKeyMagnitude
from discreet.tables.perturb.ptable_design import design_magnitudes
from discreet.tables.rules import MinimumFrequency

CELLS = 20_000


def fair(up: float = 1, *, row: float = 5, block: str = "all") -> PTable:
    """Up or down by ``up`` with even chances, but at the scales 0 and 1."""
    return PTable.of([0, 1, row, row], [0, 0, -up, up], [1, 1, 0.5, 0.5], block=block)


def joined(*parts: PTable) -> PTable:
    fields = ("row", "change", "upper", "blocks")
    return PTable(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in fields})


def alike(value: float, top: list[float], *, cells: int = CELLS, n: float = 5, seed: int = 1, **given: Any) -> Table:
    """Many cells that differ in their keys alone."""
    held = Contributions.of(
        np.full(cells, n),
        np.full(cells, value),
        top=np.tile(np.array(top, float), (cells, 1)),
        key=np.random.default_rng(seed).integers(0, 2**32, cells),
        **given,
    )
    return Table.of((), np.full(cells, value), held, sparse.csr_array((0, cells)), decimals=2)


def noises(method: CellKeyMagnitude, table: Table) -> list[float]:
    """The different amounts of noise."""
    shown = method.apply(table).shown
    return np.unique((shown - table.value).round(6)).tolist()


def test_noise_is_a_share_of_the_weighted_contribution() -> None:
    table = alike(10_000, [300, 200], top_weighted=np.tile([600.0, 900.0], (CELLS, 1)))
    assert noises(CellKeyMagnitude(ptable=fair(), share=0.1), table) == [-60, 60]
    two = noises(CellKeyMagnitude(ptable=fair(), share=0.1, layers=(1, 0.5)), table)
    assert two == [-105, -15, 15, 105]


def test_noise_is_a_share_of_the_weighted_mean_or_of_the_value() -> None:
    table = alike(10_000, [], weight=np.full(CELLS, 40.0))
    assert noises(CellKeyMagnitude(ptable=fair(), share=0.1, base="mean"), table) == [-25, 25]
    assert noises(CellKeyMagnitude(ptable=fair(), share=0.1, base="sum"), table) == [-1000, 1000]


@pytest.mark.parametrize(
    ("largest", "share"),
    [
        (50, 0.3),
        (99.99, 0.3),
        (100, 0.3),
        (300, 0.03 + (0.9 - 0.03) * 0.5**3),
        (1e9, 0.03 + (3e6 - 0.03) * (200 / (1e9 + 100)) ** 3),
    ],
)
def test_the_share_comes_down_above_the_flex_point(largest: float, share: float) -> None:
    method = CellKeyMagnitude(ptable=fair(), flex_point=100, small_share=0.3, share=0.03)
    assert noises(method, alike(1e10, [largest])) == pytest.approx([-share * largest, share * largest], rel=1e-6)


def test_the_power_says_how_fast() -> None:
    method = CellKeyMagnitude(ptable=fair(), flex_point=100, small_share=0.3, share=0.03, power=1)
    size = 300 * (0.03 + 0.87 * 0.5)
    assert noises(method, alike(1e6, [300])) == pytest.approx([-size, size])


def test_between_two_rows_lies_the_line_between_their_changes() -> None:
    """X = 300 is 3 δ, half way from row 1 (no change) to row 5 (± 1)."""
    assert noises(CellKeyMagnitude(ptable=fair(), share=0.5), alike(300, [200])) == [-50, 50]


def test_no_number_changes_its_sign_and_zeros_stay_zero() -> None:
    ptable = design_magnitudes(10, 3, 2, (1, 5, 10))
    method = CellKeyMagnitude(ptable=ptable, share=0.9, layers=(1, 1, 0.7))
    for top in ([100, 0, 0], [60, 30, 10], [90, 9, 1]):
        after = method.apply(alike(100, top))
        assert after.shown.min() >= 0
        assert (after.shown < 1).any(), "the case must come near 0"
        assert (after.shown_low <= 0).all()
        negative = method.apply(alike(-100, [-x for x in top]))
        np.testing.assert_array_equal(negative.shown, -after.shown)
        assert (negative.shown_high[negative.shown < 0] == 0).all()
    assert not method.apply(alike(0, [0, 0, 0])).shown.any()
    mixed = method.apply(alike(10, [200, -190, 0]))
    assert mixed.shown.min() >= 0


@pytest.mark.parametrize(
    ("value", "top", "layers", "share"),
    [
        (5000.0, [300, 200, 100], (1.0, 0.5, 0.2), 0.2),
        (500.0, [300, 150, 50], (1.0,), 0.2),
        (500.0, [300, 150, 50], (1.0,), 0.8),
        (100.0, [100, 0, 0], (1.0, 1.0, 1.0), 0.4),
        (900.0, [600, 300, 0], (1.0, 0.5), 0.1),
    ],
)
def test_noise_is_unbiased_and_as_large_as_its_error_says(
    value: float, top: list[float], layers: tuple[float, ...], share: float
) -> None:
    table = alike(value, top, cells=200_000)
    after = CellKeyMagnitude(ptable=design_magnitudes(10, 3, 2, (1, 5, 10)), layers=layers, share=share).apply(table)
    noise = after.shown - value
    assert np.ptp(after.shown_error) == 0
    error = float(after.shown_error[0])
    assert abs(noise.mean()) < 4 * error / np.sqrt(len(noise))
    assert np.sqrt((noise**2).mean()) == pytest.approx(error, rel=0.015)


def test_layers_have_independent_keys() -> None:
    table = alike(1e6, [1000, 1000], cells=100_000)
    ptable = design_magnitudes(10, 3, 2, (1, 5, 10))
    one = CellKeyMagnitude(ptable=ptable, share=0.1).apply(table).shown - table.value
    both = CellKeyMagnitude(ptable=ptable, share=0.1, layers=(1, 1)).apply(table).shown - table.value
    assert abs(np.corrcoef(one, both - one)[0, 1]) < 0.015
    assert (both - one).std() == pytest.approx(one.std(), rel=0.02)


def test_keys_that_are_rotated_lead_to_the_next_digit() -> None:
    """The key 0.8123 with the digits 8, 1, 2: the first layer goes up, the second and the third go down."""
    table = alike(1000, [100, 10, 1], cells=3)
    held = dataclasses.replace(table.contributions, key=np.array([0.8123, 0.1823, 0.1283]) @ np.eye(3) * 2**32 // 1)
    held = dataclasses.replace(held, key=held.key.astype(np.int64))
    table = table.replace(contributions=held)
    given: dict[str, Any] = {"ptable": fair(), "share": 1, "layers": (1, 1, 1), "digits": 4}
    first = CellKeyMagnitude(keys="rotate", **given).apply(table).shown - 1000
    assert first.tolist() == [100 - 10 - 1, -100 + 10 - 1, -100 - 10 + 1]
    turned = CellKeyMagnitude(keys="rotate-all", **given).apply(table).shown - 1000
    assert turned.tolist() == [-100 - 10 - 1, 100 - 10 - 1, -100 + 10 - 1]


def test_parity_takes_the_block_of_the_number_of_contributors() -> None:
    method = CellKeyMagnitude(ptable=joined(fair(1, block="even"), fair(3, block="odd")), share=0.1)
    assert noises(method, alike(1e4, [100], n=4)) == [-10, 10]
    assert noises(method, alike(1e4, [100], n=5)) == [-30, 30]
    company = alike(1e4, [100], n=5, holdings=np.full(CELLS, 4.0))
    assert noises(method, company) == [-10, 10]


def test_small_cells_change_like_counts() -> None:
    """Below √2 / (0.05 · √1.25) = 25.298 the changes are those of the block, and of one layer."""
    small = PTable.of([0, 1, 1, 1, 3, 3], [0, -1, 0, 1, -(2**0.5), 2**0.5], [1, 0.25, 0.5, 0.25, 0.5, 0.5], block="small_cells")
    method = CellKeyMagnitude(ptable=joined(fair(), small), share=0.05, layers=(1, 0.5))
    assert noises(method, alike(25.29, [20, 5])) == pytest.approx([-(2**0.5), 2**0.5], abs=1e-6)
    assert noises(method, alike(25.3, [20, 5])) == [-1.125, -0.875, 0.875, 1.125]
    assert noises(method, alike(1, [1, 0])) == [-1, 0, 1]
    assert noises(method, alike(0.5, [0.5, 0])) == [-0.5, 0, 0.5]
    flexed = dataclasses.replace(method, flex_point=1e6, small_share=0.5)
    assert noises(flexed, alike(2.6, [2, 0.6])) != noises(method, alike(2.6, [2, 0.6]))


def test_sensitive_cells_stay_hidden_or_are_shown_with_extra_noise() -> None:
    ptable = PTable.of([0, 1, 5, 5, 5], [0, 0, -1, 0, 1], [1, 1, 0.25, 0.5, 0.25])
    sensitive = MinimumFrequency(n=6).apply(alike(1e4, [100]))
    hidden = CellKeyMagnitude(ptable=ptable).apply(sensitive)
    assert not hidden.perturbed.any()
    plain = CellKeyMagnitude(ptable=ptable, sensitive="show").apply(sensitive)
    assert np.unique(plain.shown - 1e4).tolist() == [-5, 0, 5]
    method = CellKeyMagnitude(ptable=ptable, sensitive="show", extra=2)
    wide = method.apply(sensitive)
    noise = wide.shown - 1e4
    assert np.unique(noise).tolist() == [-15, -10, 10, 15]
    moved = plain.shown != 1e4
    np.testing.assert_array_equal(np.sign(noise[moved]), np.sign((plain.shown - 1e4)[moved]))
    assert np.sqrt((noise**2).mean()) == pytest.approx(wide.shown_error[0], rel=0.01)
    assert abs(noise.mean()) < 0.4
    np.testing.assert_array_equal(method.apply(alike(1e4, [100])).shown, plain.shown)
    near = method.apply(MinimumFrequency(n=6).apply(alike(100, [100])).replace(decimals=2))
    assert near.shown.min() >= 0


def test_the_errors_of_cells_with_extra_noise_hold_between_rows_too() -> None:
    ptable = design_magnitudes(10, 3, 2, (1, 5, 10))
    sensitive = MinimumFrequency(n=6).apply(alike(1000, [250], cells=200_000))
    after = CellKeyMagnitude(ptable=ptable, sensitive="show", extra=0.5, share=0.5).apply(sensitive)
    assert np.sqrt(((after.shown - 1000) ** 2).mean()) == pytest.approx(after.shown_error[0], rel=0.01)


def test_the_same_contributors_carry_the_same_noise() -> None:
    chance = np.random.default_rng(4)
    top = -np.sort(-chance.integers(1, 1000, (500, 3)), axis=1).astype(float)
    held = Contributions.of(np.full(500, 3.0), top.sum(axis=1), top=top, key=chance.integers(0, 2**32, 500))
    table = Table.of((), top.sum(axis=1), held, sparse.csr_array((0, 500)))
    method = CellKeyMagnitude(ptable=design_magnitudes(10, 3, 2, (1, 5, 10)), layers=(1, 0.5, 0.2))
    whole = method.apply(table).shown
    for part in (chance.permutation(500), np.arange(0, 500, 7)):
        other = Table.of((), table.value[part], held.take(part), sparse.csr_array((0, len(part))))
        np.testing.assert_array_equal(method.apply(other).shown, whole[part])


def test_a_hundred_thousand_cells_with_six_layers_take_about_a_second() -> None:
    table = alike(5000, [900, 800, 700, 600, 500, 400], cells=100_000)
    method = CellKeyMagnitude(ptable=design_magnitudes(10, 3, 2, (1, 5, 10)), layers=(1, 1, 1, 1, 1, 1))
    began = time.process_time()
    method.apply(table)
    assert time.process_time() - began < 3


SPLIT = joined(fair(block="even"), fair(block="odd"))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"layers": ()}, "0 contributions"),
        ({"layers": (1,) * 7}, "7 contributions"),
        ({"layers": (0.5,)}, "does not fall from 1"),
        ({"layers": (1, 0.2, 0.5)}, "does not fall from 1"),
        ({"layers": (1, 0.5), "base": "mean"}, "base is 'mean'"),
        ({"flex_point": 100}, "goes together with small_share"),
        ({"small_share": 0.5}, "goes together with small_share"),
        ({"small_share": 0.01, "flex_point": 100}, "is below share"),
        ({"power": 2}, "of no use without a flex point"),
        ({"keys": "rotate"}, "goes together with keys that are rotated"),
        ({"digits": 5}, "goes together with keys that are rotated"),
        ({"extra": 1}, "for cells that are hidden"),
        ({"ptable": fair(block="even")}, "has the blocks even"),
        ({"ptable": joined(fair(), fair(block="odd"))}, "has the blocks all, odd"),
        ({"ptable": SPLIT, "layers": (1, 0.5)}, "tells even from odd"),
        ({"ptable": PTable.of([2, 2], [-1, 1], [0.5, 0.5])}, "no row for the scale 1"),
        ({"ptable": PTable.of_keys([[0, 0], [-1, 1]], repeat=2)}, "repeats its last rows"),
        ({"ptable": 3}, "takes PTable or text"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ParameterError, match=told):
        build(CellKeyMagnitude, {"ptable": fair()} | settings)


def test_a_p_table_that_was_not_read_is_refused() -> None:
    with pytest.raises(ParameterError, match="the name of a file that was not read"):
        CellKeyMagnitude(ptable="ptable.csv").apply(alike(100, [60], cells=10))


def test_tables_that_it_is_not_for_are_refused() -> None:
    method = CellKeyMagnitude(ptable=fair(), layers=(1, 0.5))
    assert method.ranks_needed == 2
    table = alike(100, [60, 40], cells=10)
    for other, told in (
        (alike(100, [60], cells=10), "needs the 2 largest contributions of each cell, and 1 are kept"),
        (table.replace(kind="frequency"), "not for counts"),
        (table.replace(value=table.value + 7), "those to a shadow"),
        (table.replace(contributions=dataclasses.replace(table.contributions, key=np.zeros(10, np.int64))), "record keys"),
    ):
        with pytest.raises(InputError, match=told):
            method.apply(other)
    with pytest.raises(InputError, match="not for counts"):
        CellKeyMagnitude(ptable=fair(), base="sum").apply(table.replace(kind="frequency"))
    few = alike(100, [100], cells=10, n=1)
    assert method.apply(few).perturbed.all(), "a cell of one contributor has no second one"
    shadowed = table.replace(value=table.value + 7)
    assert CellKeyMagnitude(ptable=fair(), base="sum").apply(shadowed).perturbed.all()
