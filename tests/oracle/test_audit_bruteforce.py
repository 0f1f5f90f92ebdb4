"""The audit against linear programs written anew over the whole dense system, on random small tables."""

import dataclasses

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from discreet.audit import audit
from discreet.model.hierarchy import Hierarchy
from discreet.model.intruder import Intruder
from discreet.model.knowledge import header_total, percentages
from discreet.model.table import Table
from discreet.testing import small_table

TREE = Hierarchy.from_parents([("Total", "a"), ("Total", "b"), ("a", "a1"), ("a", "a2"), ("b", "b1"), ("b", "b2"), ("b", "b3")])
GROUPED = Hierarchy.from_parents(
    [("Total", c) for c in "wxyz"], groupings=[{"wx": ["w", "x"], "yz": ["y", "z"]}, {"xy": ["x", "y"]}]
)


def linked(table: Table, rng: np.random.Generator) -> Table:
    """A second table over the same cells: an equation that splits some published sum in another way."""
    inner = np.flatnonzero(rng.random(table.cells) < 0.4)
    if len(inner) < 2:
        return table
    total = np.zeros(table.cells)
    total[inner] = rng.choice([1.0, 1.0, -1.0], len(inner))
    slack = total @ table.value
    keep = table.equations.shape[0]
    absorbed = np.flatnonzero(np.abs(table.value) == abs(slack))
    absorbed = absorbed[total[absorbed] == 0]
    if not absorbed.size and slack != 0:
        return table
    if slack != 0:
        total[absorbed[0]] = -slack / table.value[absorbed[0]]
    rows = sparse.csr_array(sparse.vstack([table.equations, sparse.csr_array(total[None])]))
    assert rows.shape[0] == keep + 1
    return table.replace(equations=rows)


def random_table(seed: int) -> Table:
    rng = np.random.default_rng(seed)
    kind = seed % 5
    hierarchies = {3: [TREE, Hierarchy.flat("PQ")], 4: [GROUPED, Hierarchy.flat("PQ")]}.get(kind)
    shape = {0: (3, 3), 1: (2, 4), 2: (2, 2, 3), 3: (5, 2), 4: (4, 2)}[kind]
    values = rng.integers(0, 12, shape).astype(float)
    intruder = Intruder(
        nonnegative=[None, None, False][rng.integers(3)],
        prior=[None, None, 40.0][rng.integers(3)],
        insiders=["none", "singletons", "pairs"][rng.integers(3)],
    )
    if intruder.nonnegative is False:
        values -= 3
    table = small_table(values, hierarchies=hierarchies, n=rng.integers(1, 6, shape), intruder=intruder)
    table = linked(table, rng)
    if seed % 3 == 0:
        table = linked(table, rng)
    status = rng.choice(3, table.cells, p=[0.45, 0.3, 0.25]).astype(np.int8)
    levels = np.where(status == 2, rng.integers(0, 4, table.cells), 0).astype(float)
    table = table.replace(status=status, upper_protection=levels, lower_protection=levels[::-1] * (status == 2))
    if seed % 4 == 0:
        table = table.replace(listed=rng.random(table.cells) > 0.1)
        table = table.replace(knowledge=(header_total(table, {}),))
    if seed % 4 == 1:
        table = table.replace(knowledge=(percentages(table, of="v2", decimals=int(rng.integers(0, 2)), hidden=seed % 8 == 1),))
    return table


def constraints(table: Table, fixed: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, list[tuple[float, float]]]:
    """Every relation in dense form, over the values themselves: rows, what they equal, and further ranges as bounds."""
    public = ((table.status == 0) & table.listed).copy()
    rows, sides = [table.equations.toarray()], [np.zeros(table.equations.shape[0])]
    held = np.flatnonzero(public | np.isin(np.arange(table.cells), fixed))
    rows.append(np.eye(table.cells)[held])
    sides.append(table.value[held])
    nonnegative = table.intruder.nonnegative is None and (table.value >= 0).all()
    bounds = []
    for value in table.value:
        low, high = (0.0 if nonnegative else -np.inf), np.inf
        if table.intruder.prior:
            near = table.intruder.prior / 100 * abs(value)
            low, high = max(low, value - near), min(high, value + near)
        bounds.append((low, high))
    return np.vstack(rows), np.concatenate(sides), bounds


def facts(table: Table) -> tuple[np.ndarray, np.ndarray]:
    """Knowledge as ``rows @ y <= sides``."""
    public = (table.status == 0) & table.listed
    rows, sides = [np.zeros((0, table.cells))], [np.zeros(0)]
    for known in table.knowledge:
        for row, low, high, cell in zip(known.matrix.toarray(), known.low, known.high, known.while_published, strict=True):
            if cell >= 0 and not public[cell]:
                continue
            for factor, side in ((1, high), (-1, -low)):
                if np.isfinite(side):
                    rows.append(factor * row[None])
                    sides.append(np.array([side]))
    return np.vstack(rows), np.concatenate(sides)


def brute_interval(table: Table, cell: int, fixed: tuple[int, ...] = ()) -> tuple[float, float]:
    equal, sides, bounds = constraints(table, fixed)
    below, most = facts(table)
    ends = []
    for sign in (1, -1):
        aim = sign * np.eye(table.cells)[cell]
        found = linprog(aim, A_ub=below, b_ub=most + 1e-9, A_eq=equal, b_eq=sides, bounds=bounds)
        assert found.status in (0, 3), found.message
        ends.append(sign * found.fun if found.status == 0 else -sign * np.inf)
    return ends[0], ends[1]


@pytest.mark.parametrize("block", range(12))
def test_intervals_equal_brute_force(block: int) -> None:
    for seed in range(block * 18, block * 18 + 18):
        table = random_table(seed)
        result = audit(table)
        assert np.array_equal(result.cell, np.flatnonzero(table.status > 0))
        for cell, low, high, verdict in zip(result.cell, result.lower, result.upper, result.verdict, strict=True):
            want = brute_interval(table, int(cell))
            assert (low, high) == pytest.approx(want, abs=1e-6), (seed, cell)
            down, up = table.value[cell] - want[0], want[1] - table.value[cell]
            below = constraints(table, ())[2][cell][0]
            levels = table.upper_protection[cell], min(table.lower_protection[cell], table.value[cell] - below)
            reached = table.status[cell] != 2 or (up >= levels[0] - 1e-6 and down >= levels[1] - 1e-6)
            assert verdict == ("exact" if up + down < 1 - 1e-6 else "safe" if reached else "too narrow"), (seed, cell)


def made_up(table: Table, owner: int) -> tuple[int, ...]:
    """The hidden cells of which the contributors of one cell make up everything, by walking up and down the sums."""
    n, held = table.contributions.n, {owner}
    sums = []
    for row in table.equations.toarray():
        total, parts = np.flatnonzero(row < 0), np.flatnonzero(row > 0)
        if len(total) == 1 and n[parts].max() <= n[total[0]] <= n[parts].sum():
            sums.append((int(total[0]), set(parts.tolist()), set(parts[n[parts] > 0].tolist())))
    while True:
        more = held.union(*(parts for total, parts, _ in sums if total in held))
        more |= {total for total, parts, filled in sums if held >= (filled or parts)}
        if more == held:
            return tuple(sorted(cell for cell in held if table.unknown[cell]))
        held = more


@pytest.mark.parametrize("block", range(6))
def test_insiders_equal_brute_force(block: int) -> None:
    for seed in range(block * 10, block * 10 + 10):
        table = random_table(seed)
        table = table.with_intruder(dataclasses.replace(table.intruder, insiders="pairs"))
        result = audit(table)
        exact = {int(cell) for cell in result.cell[result.verdict == "exact"]}
        want = set()
        few = (table.status > 0) & np.isin(table.contributions.n, (1, 2))
        for knows in {made_up(table, owner) for owner in np.flatnonzero(few).tolist()}:
            for cell in np.flatnonzero(table.status == 2):
                if int(cell) in (*knows, *exact):
                    continue
                low, high = brute_interval(table, int(cell), knows)
                if high - low < 1 - 1e-6:
                    want.add((int(cell), knows))
        assert {(f.cell, f.knows) for f in result.findings if f.kind == "insider"} == want, seed
        assert result.counts["insider pairs not proved"] == 0


@pytest.mark.parametrize("seed", [s for s in range(60) if s % 4 != 1 and s % 3 == 0])
def test_integer_intervals_equal_brute_force(seed: int) -> None:
    table = random_table(seed)
    table = table.with_intruder(dataclasses.replace(table.intruder, integer=True))
    equal, sides, bounds = constraints(table, ())
    below, most = facts(table)
    low, high = np.array(bounds).T
    result = audit(table)
    for cell, least, greatest in zip(result.cell, result.integer_lower, result.integer_upper, strict=True):
        for sign, end in ((1, least), (-1, greatest)):
            aim = sign * np.eye(table.cells)[cell]
            limits = [LinearConstraint(equal, sides, sides), LinearConstraint(below, -np.inf, most + 1e-9)]
            room = Bounds(np.maximum(low, table.value - 1e4), np.minimum(high, table.value + 1e4))
            found = milp(aim, constraints=limits, bounds=room, integrality=np.ones(table.cells))
            assert found.status == 0
            if np.isinf(end):
                assert abs(found.fun - sign * table.value[cell]) > 1e3
            else:
                assert sign * found.fun == pytest.approx(end, abs=1e-6), (seed, cell)
