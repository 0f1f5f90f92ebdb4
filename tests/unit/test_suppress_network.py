"""Tables as networks: flows are moves; circles, in one and in several; what is refused, and why."""

import dataclasses

import numpy as np
import pytest
from scipy import linalg

from discreet.audit import audit
from discreet.errors import InputError
from discreet.model.equations import equations_of, merged
from discreet.model.hierarchy import Hierarchy
from discreet.model.intruder import Intruder
from discreet.model.layout import Layout
from discreet.model.table import Table
from discreet.tables.rules import MinimumFrequency
from discreet.tables.suppress import NetworkSuppression
from discreet.tables.suppress.circles.arcs import Network, network_of
from discreet.testing import assert_same_table, small_table

OUTSIDER = Intruder(insiders="none", unions=False)
TREE = Hierarchy.from_parents([("T", "a"), ("T", "b"), ("a", "a1"), ("a", "a2"), ("b", "b1"), ("b", "b2")], total="T")
CHAIN = Hierarchy.from_parents(
    [("T", "a"), ("T", "b"), ("a", "aa"), ("aa", "a1"), ("aa", "a2"), ("b", "b1"), ("b1", "b11")], total="T"
)
ONLY = Hierarchy.from_parents([("T", "x"), ("x", "p"), ("x", "q"), ("x", "r")], total="T")
FLAT = Hierarchy.flat("pqr")
GROUPED = Hierarchy.from_parents(
    [("T", "x"), ("T", "y"), ("T", "z")], total="T", groupings=[{"xy": ["x", "y"]}, {"yz": ["y", "z"]}]
)
SHAPES = {
    "flat by flat": ((4, 3), None),
    "tree by flat": ((4, 3), (TREE, FLAT)),
    "flat by tree": ((3, 4), (FLAT, TREE)),
    "chains by chain": ((3, 3), (CHAIN, ONLY)),
    "tree alone": ((4,), (TREE,)),
    "flat alone": ((5,), None),
}


class Marked:
    NAME = "marked"
    unions = False

    def sensitive(self, contributions):
        return np.zeros(len(contributions), bool)


def marked(table: Table, *cells: dict[str, str], **levels) -> Table:
    sensitive = np.zeros(table.cells, bool)
    sensitive[[table.cell(codes) for codes in cells]] = True
    return table.with_primary(Marked(), sensitive, **levels)


def hidden(table: Table) -> set[str]:
    return {table.label(int(cell)) for cell in np.flatnonzero(table.secondary)}


def without_empty(table: Table) -> Table:
    """The table without its cells of value 0, as it is made from records."""
    layout = table.layouts[0]
    codes = layout.codes[table.value[layout.cell] != 0]
    equations, cell, first = merged(equations_of(layout.hierarchies, codes))
    place = layout.cell[table.value[layout.cell] != 0][first]
    slim = Layout(name="table", variables=layout.variables, hierarchies=layout.hierarchies, codes=codes, cell=cell)
    return Table.of((slim,), table.value[place], table.contributions.take(place), equations, intruder=table.intruder)


def random_table(kind: str, seed: int, **intruder) -> Table:
    rng = np.random.default_rng([seed, len(kind)])
    shape, trees = SHAPES[kind]
    inner = rng.integers(1, 60, shape) * (rng.random(shape) < 0.75)
    inner.flat[0] = 7
    owners = rng.integers(1, 7, shape)
    return without_empty(small_table(inner, hierarchies=trees, n=owners * (inner > 0), intruder=Intruder(**intruder)))


def with_sensitive(table: Table, rng: np.random.Generator, share: float) -> Table:
    few = rng.choice(table.cells, min(3, table.cells), replace=False)
    sensitive = np.isin(np.arange(table.cells), few)
    wide = rng.choice([0, 0.3]) * table.value
    return table.with_primary(Marked(), sensitive, upper=share * table.value, lower=share * table.value, sliding=wide)


def node_sums(network: Network) -> np.ndarray:
    """One row a node: +1 for arcs that leave it, -1 for those that reach it."""
    matrix = np.zeros((len(network.leaving), len(network.cell)))
    for arc in range(len(network.cell)):
        tail, head = network.ends[2 * arc]
        matrix[tail, arc] += 1
        matrix[head, arc] -= 1
    return matrix


@pytest.mark.parametrize("kind", list(SHAPES))
def test_flows_in_circles_are_the_moves_of_the_table(kind: str) -> None:
    for seed in range(8):
        table = random_table(kind, seed)
        network = network_of(table, "network")
        assert {cell for cell, arcs in enumerate(network.arcs) if arcs} == set(range(table.cells))
        flows = linalg.null_space(node_sums(network))
        move = np.zeros((table.cells, flows.shape[1]))
        move[list(network.cell)] = flows
        np.testing.assert_allclose(move[list(network.cell)], flows, atol=1e-9, err_msg="arcs of one cell flow alike")
        np.testing.assert_allclose(table.equations @ move, 0, atol=1e-9)
        assert flows.shape[1] == table.cells - np.linalg.matrix_rank(table.equations.toarray())


@pytest.mark.parametrize("insiders", ["none", "singletons", "pairs"])
@pytest.mark.parametrize("kind", list(SHAPES))
def test_what_it_says_is_met_needs_no_repair(kind: str, insiders: str) -> None:
    met = 0
    for seed in range(10):
        rng = np.random.default_rng([seed, 3])
        table = with_sensitive(random_table(kind, seed, insiders=insiders, unions=False), rng, 0.1)
        done = NetworkSuppression().apply(table)
        if done.history[-1].counts["unmet"] == 0:
            findings = audit(done).findings
            assert not [one for one in findings if one.kind != "insider"]
            met += not findings
    assert met >= 5


@pytest.mark.parametrize("kind", list(SHAPES))
def test_rounds_make_nothing_dearer(kind: str) -> None:
    for seed in range(4):
        table = with_sensitive(random_table(kind, seed, insiders="none", unions=False), np.random.default_rng(seed), 0.2)
        costs = [done.cost[done.secondary].sum() for done in (NetworkSuppression(rounds=r).apply(table) for r in (0, 1, 3))]
        assert costs == sorted(costs, reverse=True)


def test_the_cheapest_circle_of_the_published_example() -> None:
    table = small_table([[20, 50, 10], [8, 19, 22], [17, 32, 12]], intruder=OUTSIDER)
    done = NetworkSuppression().apply(marked(table, {"v1": "B", "v2": "C"}, upper=8, lower=8))
    assert hidden(done) == {"v1=B, v2=A", "v1=C, v2=A", "v1=C, v2=C"}
    more = NetworkSuppression().apply(marked(table, {"v1": "B", "v2": "C"}, upper=11, lower=10))
    assert more.cost[more.suppressed].sum() == 85
    assert not audit(more).findings


def test_several_circles_add_up_where_one_has_no_room() -> None:
    table = small_table([[40.0, 15, 15, 15], [15.0, 90, 90, 90], [15.0, 90, 90, 90]], intruder=OUTSIDER)
    frozen = np.zeros(table.cells, bool)
    frozen[[table.cell(v1=row) for row in "ABC"] + [table.cell(v2=column) for column in "ABCD"] + [table.cell()]] = True
    done = NetworkSuppression().apply(marked(table.replace(frozen=frozen), {"v1": "A", "v2": "A"}, upper=25, lower=25))
    assert done.history[-1].counts["unmet"] == 0
    assert not audit(done).findings


def test_each_insider_is_left_aside_by_some_circle() -> None:
    inner = [[52.0, 15, 62, 17], [24.0, 18, 31, 8]]
    owners = np.full((2, 4), 9.0)
    owners[0, 1] = 1
    table = small_table(inner, n=owners, intruder=Intruder(insiders="singletons", unions=False))
    table = marked(table, {"v1": "A", "v2": "B"}, {"v1": "A", "v2": "D"})
    done = NetworkSuppression().apply(table)
    assert not audit(done).findings
    assert done.cost[done.suppressed].sum() == 134
    naive = NetworkSuppression(singletons=False).apply(table)
    assert {finding.kind for finding in audit(naive).findings} == {"insider"}
    assert naive.cost[naive.suppressed].sum() == 58


def test_sums_of_hidden_cells_pass_the_rules() -> None:
    table = small_table([17.0, 4, 5], kind="frequency", intruder=Intruder(insiders="none"))
    done = NetworkSuppression().apply(MinimumFrequency(n=11).apply(table))
    assert hidden(done) == {"v1=A"}
    assert not audit(done).findings


def test_whole_numbers_move_by_whole_units() -> None:
    table = small_table([[3, 8, 9], [7, 6, 5], [4, 9, 8]], kind="frequency", intruder=Intruder(insiders="none", unions=False))
    done = NetworkSuppression().apply(marked(table, {"v1": "A", "v2": "A"}, upper=1.5, lower=1.5))
    assert not audit(done).findings


def test_a_cell_that_nothing_protects_is_counted_and_left_to_the_repair() -> None:
    table = small_table([[9.0, 5], [4, 7]], intruder=OUTSIDER)
    frozen = np.ones(table.cells, bool)
    frozen[table.cell(v1="A", v2="A")] = False
    done = NetworkSuppression().apply(marked(table.replace(frozen=frozen), {"v1": "A", "v2": "A"}))
    assert done.history[-1].counts["unmet"] == 1
    assert not done.secondary.any()


def test_what_was_hidden_before_stays_hidden_and_helps() -> None:
    table = marked(small_table([[20, 50, 10], [8, 19, 22], [17, 32, 12]], intruder=OUTSIDER), {"v1": "B", "v2": "C"}, upper=8)
    before = np.zeros(table.cells, bool)
    before[[table.cell(v1="B", v2="B"), table.cell(v1="A", v2="B"), table.cell(v1="A", v2="C")]] = True
    done = NetworkSuppression().apply(table.with_secondary("before", before))
    assert (done.secondary == before).all()


def test_a_total_that_is_not_listed_hides_for_nothing() -> None:
    table = marked(small_table([9.0, 50, 60], intruder=OUTSIDER), {"v1": "A"}, upper=3, lower=3)
    listed = np.ones(table.cells, bool)
    listed[table.cell()] = False
    done = NetworkSuppression().apply(table.replace(listed=listed))
    assert not done.secondary.any()
    assert not audit(done).findings


def test_nothing_to_protect_changes_nothing() -> None:
    table = small_table([[1, 2], [3, 4]])
    assert_same_table(NetworkSuppression().apply(table), table)


@pytest.mark.parametrize(
    ("shape", "trees", "why"),
    [
        ((2, 2, 2), None, "more than two spanning variables is no network: 'v1', 'v2', 'v3'"),
        ((4, 4), (TREE, TREE), "two hierarchies"),
        ((3, 2), (GROUPED, Hierarchy.flat("pq")), "do not nest are no network: 'v1'"),
    ],
)
def test_a_table_that_is_no_network_is_refused_with_the_reason(shape, trees, why: str) -> None:
    table = small_table(np.arange(1.0, np.prod(shape) + 1).reshape(shape), hierarchies=trees, intruder=OUTSIDER)
    sensitive = np.arange(table.cells) == 0
    with pytest.raises(InputError, match=why):
        NetworkSuppression().apply(table.with_primary(Marked(), sensitive))


def test_linked_tables_and_missing_totals_are_refused() -> None:
    table = marked(small_table([[1, 2], [3, 4]], intruder=OUTSIDER), {"v1": "A", "v2": "A"})
    with pytest.raises(InputError, match="2 linked tables are no network"):
        NetworkSuppression().apply(table.replace(layouts=table.layouts * 2))
    layout = table.layouts[0]
    cut = dataclasses.replace(layout, codes=layout.codes[1:], cell=layout.cell[1:])
    kept = table.equations[:0]
    with pytest.raises(InputError, match="leaves out a total"):
        NetworkSuppression().apply(table.replace(layouts=(cut,), equations=kept))
