"""Subtable by subtable: optimal where there is one, never cheaper than the optimum where there are several, safe as a whole."""

import numpy as np
import pytest
from scipy import sparse

from discreet.audit import audit
from discreet.errors import InputError, NotProtectedError, ParameterError
from discreet.model.hierarchy import Hierarchy
from discreet.model.intruder import Intruder
from discreet.model.table import Table
from discreet.tables.suppress import ExactSuppression, ModularSuppression, modular
from discreet.testing import assert_same_table, small_table

OUTSIDER = Intruder(insiders="none", unions=False)
TREE = Hierarchy.from_parents(
    [("T", "a"), ("T", "b"), ("a", "a1"), ("a", "a2"), ("a", "a3"), ("b", "b1"), ("b", "b2"), ("b", "b3")], total="T"
)
DEEP = Hierarchy.from_parents(
    [("T", "p"), ("T", "q"), ("p", "p1"), ("p", "p2"), ("q", "q1"), ("q", "q2"), ("q1", "q11"), ("q1", "q12")], total="T"
)


class Marked:
    NAME = "marked"
    unions = False

    def sensitive(self, contributions):
        return np.zeros(len(contributions), bool)


def marked(table: Table, cells: np.ndarray, **levels) -> Table:
    return table.with_primary(Marked(), np.isin(np.arange(table.cells), cells), **levels)


def inside(table: Table) -> np.ndarray:
    """The cells without a total among their codes."""
    layout = table.layouts[0]
    leaves = [np.isin(layout.codes[:, v], tree.leaves) for v, tree in enumerate(layout.hierarchies)]
    return layout.cell[np.all(leaves, axis=0)]


def hierarchical(seed: int, *, trees: tuple[Hierarchy, ...] = (TREE, DEEP), insiders: str = "none") -> Table:
    rng = np.random.default_rng(seed)
    shape = tuple(len(tree.leaves) for tree in trees)
    values = np.round(rng.lognormal(3, 1, shape)) + rng.integers(0, 2, shape)
    intruder = Intruder(insiders=insiders, unions=False)
    table = small_table(values, hierarchies=trees, n=rng.integers(1, 7, shape), intruder=intruder)
    positive = inside(table)[table.value[inside(table)] > 1]
    cells = rng.choice(positive, 4, replace=False)
    return marked(table, cells, upper=0.2 * table.value, lower=0.1 * table.value, sliding=0.4 * table.value)


def cost(table: Table) -> float:
    return float(table.cost[table.secondary].sum())


@pytest.mark.parametrize(
    "levels", [{"upper": 8, "lower": 8}, {"upper": 11, "lower": 10}, {"upper": 8, "lower": 5, "sliding": 20}]
)
def test_a_single_subtable_is_solved_to_the_optimum(levels: dict) -> None:
    table = small_table([[20, 50, 10], [8, 19, 22], [17, 32, 12]], intruder=OUTSIDER)
    table = marked(table, np.array([table.cell(v1="B", v2="C")]), **levels)
    done = ModularSuppression().apply(table)
    assert cost(done) + 22 == (85 if levels["upper"] == 11 else 59)
    assert done.history[-1].counts["subtables"] == 1


@pytest.mark.parametrize("insiders", ["none", "pairs"])
@pytest.mark.parametrize("seed", range(6))
def test_safe_as_a_whole_and_never_cheaper_than_the_optimum(seed: int, insiders: str) -> None:
    table = hierarchical(seed, insiders=insiders)
    done, best = ModularSuppression().apply(table), ExactSuppression(time_limit=20).apply(table)
    assert audit(done).safe
    assert best.history[-1].counts["outcome"] == "optimal"
    assert cost(best) <= cost(done) * (1 + 1e-9) <= 2.5 * cost(best)


def test_three_dimensions() -> None:
    table = hierarchical(3, trees=(TREE, Hierarchy.flat(["x", "y", "z"]), Hierarchy.flat(["1", "2"])))
    done = ModularSuppression().apply(table)
    assert audit(done).safe
    assert done.history[-1].counts["subtables"] == 3


def test_a_margin_that_must_open_has_its_own_subtable_solved_again() -> None:
    one = Hierarchy.from_parents([("T", "a"), ("T", "b"), ("a", "a1"), ("a", "a2"), ("b", "b1"), ("b", "b2")], total="T")
    table = small_table([9, 40, 30, 25], hierarchies=[one], intruder=OUTSIDER)
    other = table.cell(v1="a2")
    table = marked(table, np.array([table.cell(v1="a1")]), upper=2.0, lower=2.0)
    table = table.replace(frozen=np.arange(table.cells) == other)
    done = ModularSuppression().apply(table)
    assert audit(done).safe
    assert done.history[-1].counts["again"] == 1
    assert done.secondary[[table.cell(v1="a"), table.cell(v1="b")]].all()


@pytest.mark.parametrize(("seed", "more"), [(1, False), (2, True), (4, True)])
def test_what_no_subtable_sees_is_mended_at_the_end(seed: int, more: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    done = ModularSuppression().apply(hierarchical(seed))
    assert (done.history[-1].counts["repaired"] > 0) == more
    assert audit(done).safe
    monkeypatch.setattr(modular, "_proved", lambda table, hidden, method: hidden & ~table.suppressed)
    assert audit(ModularSuppression().apply(hierarchical(seed))).safe != more


@pytest.mark.parametrize(("insiders", "cheapest"), [("none", 58), ("singletons", 134)])
def test_an_owner_who_would_see_through_the_plain_optimum(insiders: str, cheapest: int) -> None:
    table = small_table(
        [[52, 15, 62, 17], [24, 18, 31, 8]],
        n=[[5, 1, 5, 5], [5, 5, 5, 5]],
        intruder=Intruder(insiders=insiders, unions=False),
    )
    table = marked(table, np.array([table.cell(v1="A", v2="B"), table.cell(v1="A", v2="D")]))
    assert cost(ModularSuppression().apply(table)) + 15 + 17 == cheapest


def test_out_of_time_the_rest_is_protected_together() -> None:
    table = hierarchical(1)
    done = ModularSuppression(time_limit=1e-9).apply(table)
    assert done.history[-1].counts["solved"] == 0
    assert audit(done).safe


def test_the_same_pattern_every_time() -> None:
    assert_same_table(ModularSuppression().apply(hierarchical(2)), ModularSuppression().apply(hierarchical(2)))


def test_a_cell_that_nothing_can_protect_is_named() -> None:
    table = small_table([5, 60, 70], variables=["v"], intruder=OUTSIDER)
    table = marked(table, np.array([table.cell(v="A")]), upper=1.0)
    with pytest.raises(NotProtectedError, match="v=A"):
        ModularSuppression().apply(table.replace(frozen=~table.primary))


def test_further_equations_are_refused() -> None:
    table = small_table([[5, 5], [7, 7]], intruder=OUTSIDER)
    table = marked(table, np.array([table.cell(v1="A", v2="A")]))
    more = sparse.csr_array(([1.0, -1.0], ([0, 0], [table.cell(v1="A", v2="A"), table.cell(v1="A", v2="B")])), (1, table.cells))
    with pytest.raises(InputError, match="do not follow from its spanning variables"):
        ModularSuppression().apply(table.replace(equations=sparse.csr_array(sparse.vstack([table.equations, more]))))


@pytest.mark.parametrize("settings", [{"reopen": 0.5}, {"time_limit": 0}])
def test_impossible_parameters_are_refused(settings: dict) -> None:
    with pytest.raises(ParameterError):
        ModularSuppression(**settings)


def test_a_subtable_too_large_for_the_optimum_is_protected_by_elimination(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modular, "_LARGEST", 3)
    monkeypatch.setattr(modular.Search, "run", lambda search: pytest.fail("solved to the optimum"))
    assert audit(ModularSuppression().apply(hierarchical(1))).safe
