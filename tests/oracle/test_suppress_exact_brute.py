"""The exact optimum against all patterns of hidden cells, each judged by linear programs of another library."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from discreet.errors import NotProtectedError
from discreet.model.hierarchy import Hierarchy
from discreet.model.intruder import Intruder
from discreet.model.table import Table
from discreet.tables.suppress.exact import ExactSuppression
from discreet.testing import small_table

TREE = Hierarchy.from_parents([("T", "a"), ("T", "b"), ("a", "a1"), ("a", "a2"), ("b", "b1"), ("b", "b2")], total="T")
GROUPED = Hierarchy.from_parents(
    [("T", "x"), ("T", "y"), ("T", "z")], total="T", groupings=[{"xy": ["x", "y"]}, {"yz": ["y", "z"]}]
)
SHAPES = {
    "two": ((2, 3), None),
    "three": ((2, 2, 2), None),
    "tree": ((4, 2), (TREE, Hierarchy.flat(["p", "q"]))),
    "linked": ((3, 2), (GROUPED, Hierarchy.flat(["p", "q"]))),
}
MOST_FREE = 13


class Marked:
    NAME = "marked"

    def sensitive(self, contributions):
        return np.zeros(len(contributions), bool)


def random_table(kind: str, seed: int, insiders: str) -> Table:
    rng = np.random.default_rng([seed, len(kind)])
    shape, trees = SHAPES[kind]
    inner = rng.integers(2 * (seed % 3), 30, shape).astype(float)
    owners = rng.integers(1, 9, shape)
    intruder = Intruder(insiders=insiders, unions=False)
    table = small_table(inner, hierarchies=trees, n=owners, intruder=intruder)
    sensitive = np.zeros(table.cells, bool)
    positive = np.flatnonzero(table.value > 0)
    layout = table.layouts[0]
    leaves = [np.isin(layout.codes[:, v], tree.leaves) for v, tree in enumerate(layout.hierarchies)]
    inside = np.intersect1d(layout.cell[np.all(leaves, axis=0)], positive)
    small = positive[np.argsort(table.value[positive], kind="stable")][: np.prod(shape)]
    sensitive[rng.choice(inside if seed % 3 else small, rng.integers(1, 3), replace=False)] = True
    open_cells = np.flatnonzero(~sensitive)
    large_last = open_cells[np.argsort(table.value[open_cells] * rng.uniform(0.5, 1.5, len(open_cells)), kind="stable")]
    frozen = np.zeros(table.cells, bool)
    frozen[large_last[MOST_FREE:]] = True
    up, down, wide = (rng.choice([0, 0.05, 0.15, 0.3]) * table.value for _ in range(3))
    cost = rng.integers(0, 20, table.cells).astype(float) if seed % 2 else table.cost
    return table.replace(frozen=frozen, cost=cost).with_primary(Marked(), sensitive, upper=up, lower=down, sliding=wide)


def reach(table: Table, hidden: np.ndarray, cell: int, sign: int, knows=()) -> float:
    """How far the cell can move from its value, by one linear program over all cells."""
    low, high = table.bounds()
    still = ~hidden
    still[list(knows)] = True
    bounds = [
        (0, 0) if still[i] else (low[i] - table.value[i], None if np.isinf(high[i]) else high[i] - table.value[i])
        for i in range(table.cells)
    ]
    aim = np.zeros(table.cells)
    aim[cell] = -sign
    found = linprog(aim, A_eq=table.equations.toarray(), b_eq=np.zeros(table.equations.shape[0]), bounds=bounds)
    return np.inf if found.status == 3 else -found.fun


def meets_all(table: Table, hidden: np.ndarray) -> bool:
    done = table.with_secondary("brute force", hidden)
    up, down, wide = done.needs()
    for cell in np.flatnonzero(done.suppressed):
        above = reach(done, hidden, cell, 1)
        below = reach(done, hidden, cell, -1)
        enough = (above >= up[cell] * (1 - 1e-6), below >= down[cell] * (1 - 1e-6), above + below >= wide[cell] * (1 - 1e-6))
        if not all(enough):
            return False
    for knows in done.insiders():
        for cell in np.flatnonzero(done.primary):
            if cell not in knows:
                width = reach(done, hidden, cell, 1, knows) + reach(done, hidden, cell, -1, knows)
                if width < done.exactness()[cell] * (1 - 1e-6):
                    return False
    return True


def brute_force(table: Table) -> float | None:
    """The least cost over all patterns, None if no pattern will do."""
    free = np.flatnonzero(~table.frozen & ~table.suppressed)
    patterns = np.array(list(itertools.product([False, True], repeat=len(free))))
    hidden = np.zeros((len(patterns), table.cells), bool)
    hidden[:, free] = patterns
    hidden |= table.suppressed
    uses = (table.equations != 0).astype(int)
    alone = ((uses @ hidden.T.astype(int)) == 1).any(axis=0)  # a lone hidden cell of an equation is known exactly
    hidden = hidden[~alone]
    costs = (hidden & ~table.suppressed) @ table.cost
    for pattern in np.argsort(costs, kind="stable"):
        if meets_all(table, hidden[pattern]):
            return float(costs[pattern])
    return None


@pytest.mark.parametrize("batch", range(6))
@pytest.mark.parametrize("insiders", ["none", "pairs"])
@pytest.mark.parametrize("kind", list(SHAPES))
def test_no_pattern_is_cheaper(kind: str, insiders: str, batch: int) -> None:
    for seed in range(6 * batch, 6 * batch + 6):
        table = random_table(kind, seed, insiders)
        best = brute_force(table)
        if best is None:
            with pytest.raises(NotProtectedError):
                ExactSuppression().apply(table)
            continue
        done = ExactSuppression().apply(table)
        assert done.history[-1].counts["outcome"] == "optimal"
        assert done.cost[done.secondary].sum() == pytest.approx(best), f"{kind} {seed}"
        assert meets_all(table, done.suppressed)
