"""Every row that is stored holds for every pattern that should satisfy it, and rounding cuts off more."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from discreet.model.intruder import Intruder
from discreet.tables.suppress.cutting.cuts import Cuts, rounded
from discreet.tables.suppress.moves.attackers import Ask, Space, hideable
from discreet.tables.suppress.moves.probing import Cut, Prober, cut_of
from discreet.testing import small_table


def least(size: int, rows: list, cost: np.ndarray) -> float:
    matrix = np.zeros((len(rows), size))
    for line, (cells, weights, _) in enumerate(rows):
        matrix[line, cells] = weights
    return linprog(cost, A_ub=-matrix, b_ub=[-row[2] for row in rows], bounds=(0, 1)).fun


@pytest.mark.parametrize("seed", range(40))
def test_rounding_cuts_off_no_whole_pattern(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(3, 9))
    weights = np.round(np.minimum(rng.uniform(0.05, 1.3, size), 1.0), 2)
    last = rng.random() < 0.3
    row = (np.arange(size), np.append(weights[:-1], -1.0) if last else weights, 0.0 if last else 1.0)
    patterns = np.array(list(itertools.product([0.0, 1.0], repeat=size)))
    allowed = patterns[patterns @ row[1] >= row[2] - 1e-9]
    sharper = 0
    for point in rng.dirichlet(np.ones(len(patterns)), 20) @ patterns:
        for cells, fresh, bound in rounded(row, point):
            assert (allowed[:, cells] @ fresh >= bound - 1e-9).all()
            assert (bound - fresh @ point) / np.linalg.norm(fresh) > (row[2] - row[1] @ point) / np.linalg.norm(row[1])
            sharper += 1
    assert sharper or seed % 2


def test_two_of_three_cells_are_needed_where_one_is_too_small() -> None:
    row = (np.arange(3), np.array([0.6, 0.6, 0.6]), 1.0)
    point = np.array([0.6, 0.6, 0.6])
    assert row[1] @ point >= 1.0
    ((_, weights, bound),) = rounded(row, point)
    assert bound / weights[0] == pytest.approx(2.0)
    cost = np.array([1.0, 2.0, 4.0])
    assert least(3, [row], cost) < 3.0 == pytest.approx(least(3, [row, (np.arange(3), weights, bound)], cost))


def prepared() -> tuple:
    table = small_table([[20, 50, 10], [8, 19, 22], [17, 32, 12]], intruder=Intruder(insiders="none", unions=False))
    cell = table.cell(v1="B", v2="C")
    table = table.with_primary(type("Rule", (), {"NAME": "rule"})(), np.arange(table.cells) == cell, upper=11, lower=10)
    space = Space.of(table)
    return table, space, Cuts(space, hideable(table), table.unknown), cell


def test_rows_are_stored_once() -> None:
    table, space, cuts, cell = prepared()
    ask = Ask(cell=cell, knows=(), signs=(1,), need=11.0)
    amount = table.unknown.astype(float)
    probe = Prober(space).ask(ask, np.where(amount > 0, 1.0, 1e-3), most=1.0)
    cut = cut_of(space, ask, probe.prices, amount)
    assert cuts.keep(cut, ask, amount)
    have = len(cuts.rows)
    assert not cuts.keep(cut, ask, amount)
    assert len(cuts.rows) == have
    assert not cuts.keep(Cut(cells=cut.cells, weights=cut.weights, least=cut.least), ask, np.ones(table.cells))


def test_no_cell_is_hidden_alone_in_an_equation() -> None:
    table, _, cuts, _ = prepared()
    amount = table.unknown.astype(float)
    alone = table.cell(v1="A", v2="A")
    amount[alone] = 1.0
    assert cuts.tie(amount)
    column = int(cuts.column[alone])
    for cells, weights, bound in cuts.rows:
        assert bound == 0
        assert weights[cells == column] == -1.0
        assert weights.sum() == len(cells) - 2
    assert not cuts.tie(table.unknown.astype(float))
