"""What rounding and noise change, counted by hand, by brute force and against another tool's figures."""

import csv
import itertools
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from discreet.loss import perturbation_loss
from discreet.loss.perturbation import RELATIVE_EDGES
from discreet.loss.spread import PROBABILITIES, Spread, round_steps
from discreet.model.hierarchy import Hierarchy
from discreet.testing import small_table


class Marked:
    NAME = "marked"


def shown_as(table: Any, numbers: Any) -> Any:
    return table.with_shown("by hand", np.asarray(numbers, float), low=-np.inf, high=np.inf, error=np.nan)


def by_hand() -> Any:
    """Rows A, B by columns x, y: values 1, 4 / 9, 0 and margins, of which (B, y) shows 1, (A, x) 0 and (B, x) 16."""
    table = small_table([[1, 4], [9, 0]], variables=["row", "col"], hierarchies=[Hierarchy.flat("AB"), Hierarchy.flat("xy")])
    numbers = np.full(table.cells, np.nan)
    for row, col, number in (("A", "x", 0), ("A", "y", 4), ("B", "x", 16), ("B", "y", 1)):
        numbers[table.cell(row=row, col=col)] = number
    return shown_as(table, numbers)


def random_table(seed: int = 3, *, hidden: bool = False) -> Any:
    chance = np.random.default_rng(seed)
    rows = Hierarchy.from_parents([("A", f"a{i}") for i in range(4)] + [("B", f"b{i}") for i in range(3)])
    inner = chance.integers(0, 12, (7, 5, 3)).astype(float)
    table = small_table(inner, variables=["r", "c", "s"], hierarchies=[rows, Hierarchy.flat("vwxyz"), Hierarchy.flat("mfd")])
    if hidden:
        table = table.with_primary(Marked(), chance.random(table.cells) < 0.1)
    return shown_as(table, np.where(table.suppressed, np.nan, np.maximum(0, table.value + chance.integers(-2, 3, table.cells))))


def test_a_small_table_by_hand() -> None:
    loss = perturbation_loss(by_hand())
    inner = loss.inner
    assert (inner.cells, inner.perturbed, inner.changed) == (4, 4, 3)
    assert (loss.total.cells, loss.total.perturbed, loss.total.changed) == (9, 4, 3)
    assert inner.absolute.mean == pytest.approx((-1 + 0 + 7 + 1) / 4)
    assert inner.absolute.mean_size == pytest.approx((1 + 0 + 7 + 1) / 4)
    assert inner.absolute.root_mean_square == pytest.approx(math.sqrt((1 + 49 + 1) / 4))
    assert inner.absolute.largest == 7
    assert (inner.relative.counted, inner.relative.mean_size) == (3, pytest.approx((1 + 0 + 7 / 9) / 3))
    assert inner.share == pytest.approx(9 / 14)
    assert inner.hellinger == pytest.approx(math.sqrt((1 + 0 + 1 + 1) / 2))
    assert inner.hellinger_utility == pytest.approx(1 - math.sqrt(1.5) / math.sqrt(14))
    assert (inner.zeros, inner.false_zeros, inner.nonzeros, inner.false_nonzeros) == (1, 1, 3, 1)
    groups = {(group.variable, group.level): group.cells for group in loss.by_level}
    assert groups == {("row", 0): 3, ("row", 1): 6, ("col", 0): 3, ("col", 1): 6}
    rows = loss.rows()
    assert rows[1]["absolute_mean_size"] == inner.absolute.mean_size
    assert rows[1]["hellinger"] == inner.hellinger
    assert len(rows) == 2 + 4


def test_the_gap_between_parts_and_their_total() -> None:
    added = perturbation_loss(by_hand()).additivity
    assert (added.equations, added.left_out, added.broken) == (6, 0, 4)  # rows and columns; the margins still add up
    assert added.gap.mean_size == pytest.approx((1 + 8 + 6 + 1) / 6)
    assert added.gap.largest == 8
    hidden = by_hand().with_primary(Marked(), np.arange(9) == by_hand().cell(row="A"))
    added = perturbation_loss(hidden).additivity
    assert (added.equations, added.left_out, added.broken) == (4, 2, 3)


def test_gaps_of_floats_and_of_hidden_decimals_are_none() -> None:
    table = small_table(np.full((3, 30), 0.1), decimals=1)
    assert perturbation_loss(table).additivity.broken == 0
    tenths = shown_as(table, np.where(np.arange(table.cells) < 5, table.value + 0.1, np.nan))
    assert perturbation_loss(tenths).additivity.broken > 0
    assert perturbation_loss(tenths.replace(published_decimals=0)).additivity.broken == 0


def test_cells_that_show_nothing_are_left_out() -> None:
    table = random_table(hidden=True)
    assert table.suppressed.sum() > 10
    loss = perturbation_loss(table)
    kept = ~table.suppressed
    deviation = (table.shown - table.value)[kept]
    assert loss.total.cells == kept.sum()
    assert loss.total.absolute.mean_size == pytest.approx(np.abs(deviation).mean())
    np.testing.assert_array_equal(loss.cell, np.flatnonzero(kept))
    np.testing.assert_array_equal(loss.deviation, deviation)
    unlisted = table.replace(listed=np.arange(table.cells) > 3)
    assert perturbation_loss(unlisted.replace(shown=np.full(table.cells, np.nan))).total.cells == (unlisted.listed & kept).sum()


def test_levels_by_brute_force() -> None:
    table = random_table(hidden=True)
    (layout,) = table.layouts
    for group in perturbation_loss(table).by_level:
        v = layout.variables.index(group.variable)
        lines = layout.hierarchies[v].level[layout.codes[:, v]] == group.level
        cells = np.unique(layout.cell[lines & ~table.suppressed[layout.cell]])
        deviation = table.shown[cells] - table.value[cells]
        assert group.cells == len(cells)
        assert group.absolute.mean == pytest.approx(deviation.mean())
        assert group.changed == (deviation != 0).sum()
        root = np.sqrt(table.shown[cells]) - np.sqrt(table.value[cells])
        assert group.hellinger == pytest.approx(math.sqrt((root**2).sum() / 2))


def test_rankings_by_brute_force() -> None:
    table = random_table()
    (layout,) = table.layouts
    lines = {tuple(codes): cell for codes, cell in zip(layout.codes.tolist(), layout.cell.tolist(), strict=True)}
    for order in perturbation_loss(table).orders:
        v = layout.variables.index(order.variable)
        others = [range(len(h.codes)) for u, h in enumerate(layout.hierarchies) if u != v]
        codes = np.flatnonzero(layout.hierarchies[v].level == order.level)
        pairs, turned, tied, correlations = 0, 0, 0, []
        for rest in itertools.product(*others):
            cells = [lines[(*rest[:v], int(code), *rest[v:])] for code in codes]
            ranked = sorted(cells, key=lambda cell: (table.value[cell], cell))
            for a, b in itertools.pairwise(ranked):
                pairs += table.value[a] < table.value[b]
                turned += table.value[a] < table.value[b] and table.shown[a] > table.shown[b]
                tied += table.value[a] < table.value[b] and table.shown[a] == table.shown[b]
            x, y = table.value[cells], table.shown[cells]
            if len(cells) >= 3 and len(set(x)) > 1 and len(set(y)) > 1:
                correlations.append(stats.spearmanr(x, y).statistic)
        assert (order.neighbours, order.turned, order.tied) == (pairs, turned, tied), order
        assert order.rankings == len(correlations)
        assert order.correlation == pytest.approx(np.mean(correlations)) if correlations else math.isnan(order.correlation)


def test_association_of_two_variables_against_scipy() -> None:
    table = random_table()
    (layout,) = table.layouts
    found = {one.variables: one for one in perturbation_loss(table).associations}
    assert set(found) == {("r", "c"), ("r", "s"), ("c", "s")}
    for (v, w), one in found.items():
        trees = {name: layout.hierarchies[layout.variables.index(name)] for name in (v, w)}
        names = [[trees[name].codes[leaf] for leaf in trees[name].leaves] for name in (v, w)]
        cells = np.array([[table.cell({v: a, w: b}) for b in names[1]] for a in names[0]])
        for numbers, strength, chi in (
            (table.value, one.true, one.chi_squared),
            (table.shown, one.shown, one.chi_squared_shown),
        ):
            assert strength == pytest.approx(stats.contingency.association(numbers[cells].astype(int), method="cramer"))
            assert chi == pytest.approx(stats.chi2_contingency(numbers[cells], correction=False).statistic)


def test_association_needs_a_whole_table_without_negatives() -> None:
    table = by_hand()
    assert len(perturbation_loss(table).associations) == 1
    assert perturbation_loss(table.replace(shown=np.where(table.shown == 16, -1.0, table.shown))).associations == ()
    assert (
        perturbation_loss(table.replace(shown=np.where(table.shown == 16, 0.0, table.shown))).associations == ()
    )  # one row left
    unlisted = np.arange(9) != table.cell(row="A", col="y")
    table = small_table([[1, 4], [9, 0]]).replace(listed=unlisted)
    assert perturbation_loss(table).associations == ()


def test_classes_and_quantiles_of_a_spread() -> None:
    spread = Spread.of(np.array([-7.0, -2, -1, -0.5, 0, 0, 0.5, 1, 1.5, 2, 2.5]), (1.0, 2.0))
    assert spread.counts == (1, 1, 2, 2, 2, 2, 1)
    assert sum(spread.counts) == spread.counted == 11
    sizes = np.sort([7, 2, 1, 0.5, 0, 0, 0.5, 1, 1.5, 2, 2.5])
    for probability in PROBABILITIES:
        reached = spread.quantile(probability)
        assert (sizes <= reached).mean() >= probability
        assert (sizes < reached).mean() < probability
    empty = Spread.of(np.zeros(0), RELATIVE_EDGES)
    assert empty.counted == sum(empty.counts) == 0
    assert math.isnan(empty.mean_size)


@pytest.mark.parametrize(
    ("size", "whole", "last", "many"),
    [
        (0.0, False, 1, 1),
        (3, True, 3, 3),
        (8, True, 8, 8),
        (9, True, 10, 4),
        (7.3, False, 10, 12),
        (10, False, 10, 12),
        (0.05, False, 0.05, 12),
    ],
)
def test_round_steps(size: float, whole: bool, last: float, many: int) -> None:
    steps = round_steps(size, whole=whole)
    assert steps[-1] == pytest.approx(last)
    assert len(steps) == many
    assert list(steps) == sorted(set(steps))


def test_negative_values_keep_their_sign() -> None:
    table = shown_as(small_table([-4.0, 9.0]), [np.nan, -1, 16])
    loss = perturbation_loss(table)
    assert loss.inner.hellinger == pytest.approx(math.sqrt((1 + 1) / 2))
    assert loss.inner.relative.mean == pytest.approx((3 / 4 + 7 / 9) / 2)
    assert loss.inner.size == 13


def test_nothing_of_a_value_is_in_a_repr() -> None:
    table = shown_as(small_table([[7919.0, 52], [33, 44]]), np.full(9, 8111.0))
    loss = perturbation_loss(table)
    parts = [loss, loss.total, loss.total.absolute, loss.additivity, *loss.orders, *loss.associations, *loss.by_level]
    text = " ".join(repr(part) for part in parts)
    assert "PerturbationLoss(9 of 9 shown cells perturbed)" in text
    assert not re.search(r"7919|8111|192|\d{3}", text)


@pytest.mark.parametrize("name", ["pls_e6", "pls_exPSD5", "pls_z2_10", "pls_sosial_4", "pls_z3_5"])
def test_figures_equal_those_of_small_count_rounding_in_r(shared: Path, name: str) -> None:
    folder = shared / "oracles" / "r_outcomes"
    with (folder / f"{name}_publish.csv").open() as file:
        lines = list(csv.DictReader(file))
    with (folder / "INDEX_other.csv").open() as file:
        (summary,) = (row["summary"] for row in csv.DictReader(file) if row["file"] == f"{name}_publish.csv")
    told = dict(part.split("=") for part in summary.split())
    table = small_table([float(line["original"]) for line in lines])
    table = table.replace(listed=np.arange(table.cells) != table.cell())
    numbers = np.full(table.cells, np.nan)
    numbers[table.listed] = [float(line["rounded"]) for line in lines]
    loss = perturbation_loss(shown_as(table, numbers)).total
    assert loss.hellinger_utility == pytest.approx(float(told["HDutility"]), abs=1e-6)
    assert loss.absolute.largest == float(told["maxdiff"])
    assert loss.absolute.mean_size == pytest.approx(float(told["meanAbsDiff"]), abs=1e-4)
    assert loss.absolute.root_mean_square == pytest.approx(float(told["rootMeanSquare"]), abs=1e-4)
