"""On random tables of every kind the main job ends safe or refuses, and both methods agree on which."""

import numpy as np
import pytest

from discreet.audit import audit
from discreet.errors import NotProtectedError
from discreet.model.hierarchy import Hierarchy
from discreet.model.intruder import Intruder
from discreet.model.table import Table
from discreet.tables.rules import MinimumFrequency
from discreet.tables.suppress import ExactSuppression, GaussSuppression, repair
from discreet.testing import small_table

TREE = Hierarchy.from_parents([("T", "a"), ("T", "b"), ("a", "a1"), ("a", "a2"), ("b", "b1"), ("b", "b2")], total="T")
GROUPED = Hierarchy.from_parents(
    [("T", "x"), ("T", "y"), ("T", "z")], total="T", groupings=[{"xy": ["x", "y"]}, {"yz": ["y", "z"]}]
)
SHAPES = {
    "two": ((3, 4), None),
    "three": ((2, 2, 2), None),
    "tree": ((4, 3), (TREE, Hierarchy.flat("pqr"))),
    "linked": ((3, 3), (GROUPED, Hierarchy.flat("pqr"))),
}
WORLDS = {
    "sums and pairs": ({"insiders": "pairs"}, 1.0, 0),
    "huge": ({"insiders": "none", "unions": False}, 1e10, 0),
    "tiny": ({"insiders": "singletons", "unions": False}, 1e-3, 6),
    "negative": ({"insiders": "singletons", "unions": False}, -1.0, 2),
    "known to 70 %": ({"insiders": "none", "unions": False, "prior": 70}, 1.0, 0),
    "whole numbers": ({"insiders": "none", "unions": False, "integer": True}, 1.0, 0),
}


class Marked:
    NAME = "marked"
    unions = False

    def sensitive(self, contributions):
        return np.zeros(len(contributions), bool)


def random_table(world: str, kind: str, seed: int) -> Table:
    rng = np.random.default_rng([seed, len(world), len(kind)])
    intruder, scale, decimals = WORLDS[world]
    shape, trees = SHAPES[kind]
    inner = np.round(rng.lognormal(2, 1.2, shape) * abs(scale), decimals) * (rng.choice([-1, 1], shape) if scale < 0 else 1)
    inner[rng.random(shape) < 0.15] = 0
    owners = rng.integers(1, 8, shape)
    table = small_table(inner, hierarchies=trees, n=owners, decimals=decimals, intruder=Intruder(**intruder))
    frozen = np.zeros(table.cells, bool)
    frozen[np.argsort(-np.abs(table.value))[: rng.integers(0, table.cells // 3)]] = True
    table = table.replace(frozen=frozen, exempt=frozen)
    sensitive = np.zeros(table.cells, bool)
    sensitive[rng.choice(np.flatnonzero((table.value != 0) & ~frozen), 2, replace=False)] = True
    level = rng.choice([0, 0.1, 0.3]) * np.abs(table.value)
    wide = rng.choice([0, 0.4]) * np.abs(table.value)
    table = table.with_primary(Marked(), sensitive, upper=level, lower=level, sliding=wide)
    return MinimumFrequency(n=3).apply(table) if table.intruder.unions else table


def secured(method, table: Table) -> Table | None:
    """After audit and repair in turns; None where protection was refused."""
    try:
        table = method.apply(table)
        while findings := audit(table).findings:
            table = repair(table, findings)
    except NotProtectedError as refused:
        return None if refused.details else table
    return table


@pytest.mark.parametrize("kind", list(SHAPES))
@pytest.mark.parametrize("world", list(WORLDS))
def test_safe_or_refused_and_both_methods_agree(world: str, kind: str) -> None:
    for seed in range(4):
        table = random_table(world, kind, seed)
        plain = secured(GaussSuppression(), table)
        best = secured(ExactSuppression(time_limit=30), table)
        assert (plain is None) == (best is None), f"{world}, {kind}, {seed}"
        if plain is None or best is None:
            continue
        for done in (plain, best):
            assert audit(done).counts["safe"] == done.suppressed.sum()
            assert (done.status >= table.status).all()
            assert not (done.suppressed & done.frozen).any()
        if not table.intruder.integer:
            assert best.history[-1].method == "exact-suppression", "the exact pattern needs no repair"
            assert best.cost[best.secondary].sum() <= plain.cost[plain.secondary].sum() * (1 + 1e-9)
