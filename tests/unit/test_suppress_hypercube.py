"""Hypercubes: published examples, the reach of a lone cube, protection levels, insiders, links between subtables."""

import dataclasses

import numpy as np
import pytest

from discreet.audit import audit
from discreet.errors import InputError, ParameterError
from discreet.model.hierarchy import Hierarchy
from discreet.model.intruder import Intruder
from discreet.model.table import Table
from discreet.tables.suppress import HypercubeSuppression
from discreet.tables.suppress.cubes import Cubes
from discreet.tables.suppress.moves.attackers import Ask, Space
from discreet.tables.suppress.moves.probing import Prober
from discreet.tables.suppress.subtables import subtables
from discreet.testing import assert_same_table, small_table

OUTSIDER = Intruder(insiders="none", unions=False)
TREE = Hierarchy.from_parents([("T", "a"), ("T", "b"), ("a", "a1"), ("a", "a2"), ("b", "b1"), ("b", "b2")], total="T")


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


def test_instruments_a_square_of_two_makers_by_two_instruments() -> None:
    rows, columns = Hierarchy.flat(["Harps", "Pianos"]), Hierarchy.flat("ABCD")
    table = small_table(
        [[58, 60, 36, 76], [92, 85, 59, 100]], variables=("item", "maker"), hierarchies=[rows, columns], intruder=OUTSIDER
    )
    sensitive = {"item": "Harps", "maker": "B"}, {"item": "Pianos", "maker": "D"}
    done = HypercubeSuppression().apply(marked(table, *sensitive, upper=5))
    assert hidden(done) == {"item=Harps, maker=D", "item=Pianos, maker=B"}
    assert not audit(done).findings


@pytest.mark.parametrize("weigh", ["number", "log", "cost"])
def test_the_cheapest_column_completes_the_square(weigh: str) -> None:
    counts = [[18, 2], [14, 19], [12, 10], [11, 14]]
    regions, genders = Hierarchy.flat("ABCD"), Hierarchy.flat(["male", "female"])
    table = small_table(
        counts, variables=("region", "gender"), hierarchies=[regions, genders], kind="frequency", intruder=OUTSIDER
    )
    done = HypercubeSuppression(weigh=weigh).apply(marked(table, {"region": "A", "gender": "female"}))
    assert hidden(done) == {"region=A, gender=male", "region=C, gender=male", "region=C, gender=female"}


def test_number_first_or_cost_first() -> None:
    table = marked(small_table([1.0, 300.0, 400.0], intruder=OUTSIDER), {"v1": "A"})
    cheap = table.cost.copy()
    cheap[table.cell()] = 10.0
    table = table.replace(cost=cheap)
    assert hidden(HypercubeSuppression().apply(table)) == {"v1=B"}
    assert hidden(HypercubeSuppression(weigh="log").apply(table)) == {"v1=Total"}
    assert hidden(HypercubeSuppression(weigh="cost").apply(table)) == {"v1=Total"}


@pytest.mark.parametrize("seed", range(20))
def test_what_a_lone_cube_allows_is_what_a_linear_program_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = small_table(rng.integers(1, 50, (3, 3)).astype(float))
    (part,) = subtables(table)
    low, high = table.bounds()
    rise, fall = np.minimum(high - table.value, rng.integers(5, 60, table.cells)), table.value - low
    at = tuple(int(place) for place in rng.integers(0, 4, 2))
    cube = Cubes(part, rise[part.cells], fall[part.cells]).cheapest(at, rng.random(part.cells.shape), (0.0, 0.0, 0.0))
    assert cube is not None
    cells = part.cells.ravel()[cube.corners]
    loose = np.zeros(table.cells)
    loose[cells] = 1.0
    prober = Prober(dataclasses.replace(Space.of(table), rise=rise, fall=fall))
    for sign, reach in ((1, cube.rise), (-1, cube.fall)):
        ask = Ask(cell=int(cells[0]), knows=(), signs=(sign,), need=1000.0)
        assert prober.ask(ask, loose).reach * 1000 == pytest.approx(reach)


def test_protection_levels_ask_for_larger_corners() -> None:
    inner = [[20.0, 5.0, 90.0], [30.0, 3.0, 80.0], [10.0, 200.0, 70.0]]
    table = small_table(inner, intruder=OUTSIDER)
    little = HypercubeSuppression().apply(marked(table, {"v1": "A", "v2": "A"}, upper=2, lower=2))
    much = HypercubeSuppression().apply(marked(table, {"v1": "A", "v2": "A"}, upper=18, lower=18))
    assert "v1=A, v2=B" in hidden(little)
    assert hidden(much) == {"v1=A, v2=C", "v1=B, v2=A", "v1=B, v2=C"}
    assert not audit(much).findings


def test_a_corner_that_a_contributor_knows_calls_for_a_second_cube() -> None:
    inner = [[52.0, 15, 62, 17], [24.0, 18, 31, 8], [40.0, 33, 47, 36]]
    owners = np.full((3, 4), 9.0)
    owners[0, 1] = owners[0, 3] = 1
    plain = small_table(inner, n=owners, intruder=Intruder(insiders="singletons", unions=False))
    table = marked(plain, {"v1": "A", "v2": "B"}, {"v1": "A", "v2": "D"})
    assert not audit(HypercubeSuppression().apply(table)).findings
    naive = audit(HypercubeSuppression(singletons=False).apply(table)).findings
    assert {finding.kind for finding in naive} == {"insider"}


def test_a_hidden_margin_is_protected_where_it_is_a_part() -> None:
    inner = np.array([[9.0, 0], [0, 30], [40, 35], [60, 55]])
    table = small_table(inner, hierarchies=[TREE, Hierarchy.flat("pq")], intruder=OUTSIDER)
    frozen = np.zeros(table.cells, bool)
    table = marked(table.replace(frozen=frozen), {"v1": "a1", "v2": "p"}, upper=1, lower=1)
    done = HypercubeSuppression().apply(table)
    assert not audit(done).findings
    assert done.history[-1].counts["unmet"] == 0


def test_a_cell_without_a_cube_is_counted_and_left_to_the_repair() -> None:
    table = small_table([[9.0, 5], [4, 7]], intruder=OUTSIDER)
    frozen = np.ones(table.cells, bool)
    frozen[table.cell(v1="A", v2="A")] = False
    done = HypercubeSuppression().apply(marked(table.replace(frozen=frozen), {"v1": "A", "v2": "A"}))
    assert done.history[-1].counts["unmet"] == 1
    assert not done.secondary.any()


def test_five_dimensions() -> None:
    rng = np.random.default_rng(5)
    table = small_table(rng.integers(1, 90, (3, 2, 2, 3, 2)).astype(float), intruder=OUTSIDER)
    small = np.argsort(table.value)[:6]
    sensitive = np.isin(np.arange(table.cells), small)
    table = table.with_primary(Marked(), sensitive, upper=np.where(sensitive, 1.0, 0.0))
    done = HypercubeSuppression().apply(table)
    assert not audit(done).findings
    assert done.history[-1].counts["unmet"] == 0


def test_an_unknown_weight_is_refused() -> None:
    with pytest.raises(ParameterError, match="number, log, cost"):
        HypercubeSuppression(weigh="logs")


def test_a_total_that_is_not_listed_hides_for_nothing() -> None:
    table = marked(small_table([9.0, 50, 60], intruder=OUTSIDER), {"v1": "A"}, upper=3, lower=3)
    listed = np.ones(table.cells, bool)
    listed[table.cell()] = False
    done = HypercubeSuppression().apply(table.replace(listed=listed))
    assert not done.secondary.any()
    assert not audit(done).findings


def test_nothing_to_protect_changes_nothing() -> None:
    table = small_table([[1, 2], [3, 4]])
    assert_same_table(HypercubeSuppression().apply(table), table)


def test_a_table_without_layouts_is_refused() -> None:
    table = marked(small_table([[1, 2], [3, 4]]), {"v1": "A", "v2": "A"})
    with pytest.raises(InputError, match="do not follow from its spanning variables"):
        HypercubeSuppression().apply(table.replace(layouts=()))
