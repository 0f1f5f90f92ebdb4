"""Circles in networks and hypercubes on random tables: never cheaper than the optimum, and the same in any unit."""

import functools

import numpy as np
import pytest

from discreet.audit import audit
from discreet.errors import NotProtectedError
from discreet.model.hierarchy import Hierarchy
from discreet.model.intruder import Intruder
from discreet.model.table import Table
from discreet.tables.suppress import ExactSuppression, HypercubeSuppression, NetworkSuppression, repair
from discreet.testing import small_table

TREE = Hierarchy.from_parents([("T", "a"), ("T", "b"), ("a", "a1"), ("a", "a2"), ("b", "b1"), ("b", "b2")], total="T")
BOTH = [NetworkSuppression(), HypercubeSuppression(), HypercubeSuppression(weigh="cost")]


class Marked:
    NAME = "marked"
    unions = False

    def sensitive(self, contributions):
        return np.zeros(len(contributions), bool)


def random_table(seed: int, scale: float = 1.0) -> Table:
    rng = np.random.default_rng(seed)
    shape = (4, 4) if seed % 2 else (3, 5)
    inner = np.round(rng.lognormal(3, 1, shape)) * (rng.random(shape) > 0.1)
    owners = rng.integers(1, 6, shape)
    trees = (TREE, Hierarchy.flat("pqrs")) if seed % 2 else None
    intruder = Intruder(insiders=("none", "singletons", "pairs")[seed % 3], unions=False)
    table = small_table(scale * inner, hierarchies=trees, n=owners, intruder=intruder)
    sensitive = np.zeros(table.cells, bool)
    sensitive[rng.choice(np.flatnonzero(table.value > 0), 3, replace=False)] = True
    frozen = ~sensitive & (rng.random(table.cells) < 0.1)
    up, down, wide = (rng.choice([0, 0.1, 0.3]) * table.value for _ in range(3))
    return table.replace(frozen=frozen).with_primary(Marked(), sensitive, upper=up, lower=down, sliding=wide)


def secured(method, table: Table) -> Table | None:
    """After audit and repair in turns; None where protection was refused."""
    try:
        table = method.apply(table)
        while findings := audit(table).findings:
            table = repair(table, findings)
    except NotProtectedError:
        return None
    return table


@functools.cache
def optimum(seed: int) -> Table | None:
    return secured(ExactSuppression(time_limit=30), random_table(seed))


@pytest.mark.parametrize("seed", range(12))
def test_no_cheaper_than_the_optimum_and_refused_where_it_is(seed: int) -> None:
    table, best = random_table(seed), optimum(seed)
    for method in BOTH:
        done = secured(method, table)
        assert (done is None) == (best is None), method.NAME
        if done is not None and best is not None:
            assert done.cost[done.secondary].sum() >= best.cost[best.secondary].sum() * (1 - 1e-9)
            assert not (done.suppressed & done.frozen).any()


def test_circles_are_close_to_the_optimum() -> None:
    costs = np.zeros(2)
    for seed in range(12):
        done, best = secured(NetworkSuppression(), random_table(seed)), optimum(seed)
        if done is not None and best is not None:
            costs += done.cost[done.secondary].sum(), best.cost[best.secondary].sum()
    assert costs[0] <= 1.05 * costs[1]


@pytest.mark.parametrize("method", BOTH[:2], ids=lambda method: method.NAME)
def test_the_unit_of_the_values_is_irrelevant(method) -> None:
    for seed in range(6):
        small, large = (method.apply(random_table(seed, scale)) for scale in (1e3, 1e6))
        np.testing.assert_array_equal(small.status, large.status)
