"""Gaussian elimination against its definition, written out plainly with the ranks of dense matrices."""

import numpy as np
import pytest

from discreet.errors import NotProtectedError
from discreet.model.hierarchy import Hierarchy
from discreet.model.intruder import Intruder
from discreet.model.table import Table
from discreet.tables.suppress import GaussSuppression
from discreet.testing import small_table

TREE = Hierarchy.from_parents(
    [("T", "a"), ("T", "b"), ("a", "a1"), ("a", "a2"), ("b", "b1"), ("b", "b2"), ("b", "b3")], total="T"
)
GROUPED = Hierarchy.from_parents([("T", "x"), ("T", "y"), ("T", "z")], total="T", groupings=[{"g": ["x", "y"]}])
SHAPES = {"two": ((3, 4), None), "three": ((2, 2, 3), None), "linked": ((5, 3), (TREE, GROUPED))}
MOST_OWNERS = {"none": 0, "singletons": 1, "pairs": 2}


class Marked:
    NAME = "marked"

    def sensitive(self, contributions):
        return np.zeros(len(contributions), bool)


def random_table(kind: str, seed: int, insiders: str = "none", **fields) -> Table:
    rng = np.random.default_rng([seed, len(kind)])
    shape, trees = SHAPES[kind]
    inner = rng.integers(0, 9, shape) * rng.integers(1, 9, shape).astype(float)
    owners = rng.integers(1, 6, shape)
    table = small_table(inner, hierarchies=trees, n=owners, intruder=Intruder(insiders=insiders), **fields)
    sensitive = np.zeros(table.cells, bool)
    sensitive[rng.choice(table.cells, rng.integers(1, 4), replace=False)] = True
    frozen = np.zeros(table.cells, bool)
    frozen[rng.choice(table.cells, rng.integers(0, 3), replace=False)] = True
    unlisted = np.zeros(table.cells, bool)
    unlisted[rng.choice(table.cells, rng.integers(0, 2), replace=False)] = True
    cost = rng.permutation(table.cells) + 1.0
    table = table.replace(frozen=frozen & ~sensitive, listed=~unlisted | sensitive | frozen, cost=cost)
    return table.with_primary(Marked(), sensitive)


def determined(table: Table, unknown: np.ndarray, cell: int) -> bool:
    """Whether the cell follows from all cells that are not unknown: no move over the unknown ones changes it."""
    others = [c for c in np.flatnonzero(unknown) if c != cell]
    matrix = table.equations[:, others].toarray()
    more = np.column_stack([matrix, table.equations[:, [cell]].toarray()])
    return np.linalg.matrix_rank(more) > (np.linalg.matrix_rank(matrix) if others else 0)


class Plain:
    """The method as its documentation says it, cell by cell."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.unknown = ~table.frozen
        self.owned = (table.contributions.n >= 1) & (table.contributions.n <= MOST_OWNERS[table.intruder.insiders])
        self.groups = [tuple(group.tolist()) for group in table.insiders()]
        self.hidden: list[int] = []

    def told(self) -> set:
        """Pairs of what a contributor knows and a primary cell that follows from it."""
        pairs = set()
        for knows in [*self.groups, *((cell,) for cell in self.hidden if self.owned[cell])]:
            unknown = self.unknown.copy()
            unknown[list(knows)] = False
            for cell in np.flatnonzero(self.table.primary):
                if cell not in knows and determined(self.table, unknown, cell):
                    pairs.add((knows, cell))
        return pairs

    def lost(self) -> bool:
        watched = [*np.flatnonzero(self.table.suppressed), *self.hidden]
        return any(determined(self.table, self.unknown, cell) for cell in watched)

    def run(self) -> set[int] | None:
        if self.lost():
            return None
        low, _ = self.table.bounds()
        free = np.flatnonzero((self.table.status == 0) & ~self.table.frozen & self.table.listed)
        accepted = self.told()
        for cell in sorted(free, key=lambda c: (self.table.value[c] > low[c], not self.owned[c], -self.table.cost[c])):
            self.unknown[cell] = False
            if self.lost() or not self.told() <= accepted:
                self.unknown[cell] = True
                self.hidden.append(int(cell))
                accepted |= self.told()
        return set(self.hidden)


@pytest.mark.parametrize("insiders", list(MOST_OWNERS))
@pytest.mark.parametrize("kind", list(SHAPES))
def test_it_does_what_its_definition_says(kind: str, insiders: str) -> None:
    outcomes = []
    for seed in range(12):
        table = random_table(kind, seed, insiders)
        wanted = Plain(table).run()
        if wanted is None:
            with pytest.raises(NotProtectedError):
                GaussSuppression().apply(table)
        else:
            assert set(np.flatnonzero(GaussSuppression().apply(table).secondary).tolist()) == wanted, f"{kind} {seed}"
        outcomes.append(wanted)
    assert sum(bool(wanted) for wanted in outcomes) >= 4


@pytest.mark.parametrize("kind", list(SHAPES))
def test_nothing_follows_from_the_published_and_nothing_is_weakened(kind: str) -> None:
    for seed in range(100, 125):
        table = random_table(kind, seed)
        try:
            done = GaussSuppression().apply(table)
        except NotProtectedError:
            continue
        assert (done.status >= table.status).all()
        assert not (done.suppressed & done.frozen).any()
        for cell in np.flatnonzero(done.suppressed):
            assert not determined(done, done.unknown, cell)
        again = GaussSuppression().apply(done)
        assert (again.status == done.status).all(), "a second run finds nothing to do"


@pytest.mark.parametrize("kind", list(SHAPES))
def test_the_order_of_cells_and_equations_does_not_matter(kind: str) -> None:
    for seed in range(200, 210):
        table = random_table(kind, seed, "pairs").replace(frozen=np.zeros(len(random_table(kind, seed).value), bool))
        order = np.random.default_rng(seed).permutation(table.cells)
        rows = np.random.default_rng(seed).permutation(table.equations.shape[0])
        moved = {
            name: getattr(table, name)[order]
            for name in ("value", "cost", "status", "frozen", "exempt", "listed", "fired", "lower", "upper")
        }
        moved |= {name: getattr(table, name)[order] for name in ("upper_protection", "lower_protection", "sliding_protection")}
        mixed = table.replace(
            layouts=(), equations=table.equations[rows][:, order], contributions=table.contributions.take(order), **moved
        )
        assert (GaussSuppression().apply(mixed).status == GaussSuppression().apply(table).status[order]).all()


def test_a_dearer_cell_is_published_when_either_would_do() -> None:
    table = small_table([[5, 6, 7], [8, 9, 10], [4, 4, 4]], intruder=Intruder(insiders="none"))
    lone = np.arange(table.cells) == table.cell(v1="A", v2="A")
    done = GaussSuppression().apply(table.with_primary(Marked(), lone))
    labels = {done.label(int(cell)) for cell in np.flatnonzero(done.secondary)}
    assert labels == {"v1=A, v2=B", "v1=C, v2=A", "v1=C, v2=B"}


def test_zeros_serve_only_when_asked_for() -> None:
    table = small_table([[5, 0, 7], [8, 9, 10], [4, 4, 4]], intruder=Intruder(insiders="none"))
    lone = np.arange(table.cells) == table.cell(v1="A", v2="A")
    table = table.with_primary(Marked(), lone)
    zero = table.cell(v1="A", v2="B")
    assert not GaussSuppression().apply(table).suppressed[zero]
    assert GaussSuppression(use_zeros=True).apply(table).suppressed[zero]


def test_without_singletons_fewer_cells_are_hidden() -> None:
    table = small_table(
        [[52, 15, 62, 17], [24, 18, 31, 8]], n=[[5, 1, 5, 5], [5, 5, 5, 5]], intruder=Intruder(insiders="singletons")
    )
    marked = np.isin(np.arange(table.cells), [table.cell(v1="A", v2="B"), table.cell(v1="A", v2="D")])
    table = table.with_primary(Marked(), marked)
    assert GaussSuppression(singletons=False).apply(table).secondary.sum() == 2
    assert GaussSuppression().apply(table).secondary.sum() == 4
