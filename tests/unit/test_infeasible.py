"""What no pattern can protect is found before work starts, and the smallest set to free is the smallest."""

from itertools import combinations

import numpy as np
import pytest

from discreet.errors import NotProtectedError
from discreet.model.hierarchy import Hierarchy
from discreet.model.intruder import Intruder
from discreet.model.table import Status, Table
from discreet.plan.protect import protect
from discreet.tables.rules import MinimumFrequency
from discreet.tables.suppress import GaussSuppression
from discreet.tables.suppress.infeasible import hopeless, refusal, refuse_hopeless
from discreet.tables.suppress.moves.attackers import Ask, Space, demands, hideable
from discreet.tables.suppress.moves.probing import TOLERANCE, Prober
from discreet.tables.suppress.moves.reaching import reaches
from discreet.testing import small_table

OUTSIDER = Intruder(insiders="none", unions=False)
TREE = Hierarchy.from_parents([("T", "a"), ("T", "b"), ("a", "a1"), ("a", "a2"), ("b", "b1"), ("b", "b2")], total="T")


class Marked:
    NAME = "marked"
    unions = False

    def sensitive(self, contributions):
        return np.zeros(len(contributions), bool)


def marked(table: Table, cells: list[int], **levels) -> Table:
    return table.with_primary(Marked(), np.isin(np.arange(table.cells), cells), **levels)


def random_table(seed: int, frozen: float = 0.5) -> Table:
    """Some zeros, some frozen cells, two sensitive ones."""
    rng = np.random.default_rng(seed)
    shape = (2, 4) if seed % 2 else (4, 3)
    trees = [Hierarchy.flat("xy"), TREE] if seed % 2 else [TREE, Hierarchy.flat("xyz")]
    table = small_table(rng.integers(0, 30, shape), hierarchies=trees, intruder=OUTSIDER)
    inner = rng.choice(table.cells, 2, replace=False)
    level = np.ceil(0.3 * table.value)
    table = marked(table, inner.tolist(), upper=level, lower=np.floor(0.2 * table.value), sliding=level * (seed % 3 == 0))
    return table.replace(frozen=(rng.random(table.cells) < frozen) & ~table.primary)


def plainly(table: Table) -> list[int]:
    """The cells with a demand that fails when everything is hidden, by one linear program for each question."""
    amount = (table.unknown | hideable(table)).astype(float)
    prober = Prober(Space.of(table))
    failing = [d for d in demands(table) if any(prober.ask(ask, amount).reach < 1 - TOLERANCE for ask in d.asks())]
    return [demand.cell for demand in failing]


@pytest.mark.parametrize("seed", range(40))
def test_the_quick_look_finds_what_plain_programs_find(seed: int) -> None:
    table = random_table(seed)
    assert [demand.cell for demand in hopeless(table)] == plainly(table)


def test_both_kinds_occur_above() -> None:
    lost = [bool(plainly(random_table(seed))) for seed in range(40)]
    assert 10 <= sum(lost) <= 35


@pytest.mark.parametrize("seed", range(12))
def test_moves_seen_without_a_program_are_possible(seed: int) -> None:
    table = random_table(seed, frozen=0.3)
    space, loose = Space.of(table), table.unknown | hideable(table)
    rise, fall = reaches(space, loose)
    prober = Prober(space)
    for sign, far in ((1, rise), (-1, fall)):
        for cell in np.flatnonzero(far):
            ask = Ask(cell=int(cell), knows=(), signs=(sign,), need=float(min(far[cell], 1000.0)))
            assert prober.ask(ask, loose.astype(float)).reach >= 1 - TOLERANCE
    assert rise[~loose].max() == fall[~loose].max() == 0


def test_two_cells_move_against_each_other_under_a_total_that_stands_still() -> None:
    table = marked(small_table([5, 7, 9], intruder=OUTSIDER), [1], upper=3)
    table = table.replace(frozen=np.arange(4) == table.cell())
    rise, fall = reaches(Space.of(table), table.unknown | hideable(table))
    assert rise[table.cell(v1="A")] == 9
    assert fall[table.cell(v1="A")] == 5
    assert rise[table.cell()] == 0


def freed(error: NotProtectedError) -> set[str]:
    return {line["cell"] for line in error.details if line.get("free")}


def smallest(table: Table) -> int | None:
    """By trying every set of frozen cells."""
    frozen = np.flatnonzero(table.frozen & (table.status == Status.OPEN))
    for size in range(len(frozen) + 1):
        for cells in combinations(frozen.tolist(), size):
            if not plainly(table.replace(frozen=table.frozen & ~np.isin(np.arange(table.cells), cells))):
                return size
    return None


@pytest.mark.parametrize("seed", [0, 5, 7, 8, 10, 12, 15, 16, 17, 20, 23, 25])
def test_the_smallest_set_is_the_smallest(seed: int) -> None:
    table = random_table(seed, frozen=0.4)
    lost = hopeless(table)
    assert lost
    error = refusal(table, "test", lost)
    wanted = smallest(table)
    if wanted is not None:
        assert len(freed(error)) == wanted
        kept = [table.label(cell) not in freed(error) for cell in range(table.cells)]
        assert not hopeless(table.replace(frozen=table.frozen & np.array(kept)))


def test_among_smallest_sets_the_cheapest() -> None:
    table = marked(small_table([5, 7, 9], intruder=OUTSIDER), [1], upper=3)
    table = table.replace(frozen=~table.primary, cost=np.array([9.0, 1.0, 4.0, 2.0]))
    with pytest.raises(NotProtectedError, match="allow 'v1=C' to be hidden") as caught:
        refuse_hopeless(table, "test")
    assert freed(caught.value) == {"v1=C"}
    assert caught.value.where == "test"


def test_nothing_to_free_where_values_are_known() -> None:
    table = marked(small_table([0, 7], intruder=OUTSIDER), [2], upper=3)
    known = np.isin(np.arange(3), [table.cell()])
    table = table.replace(lower=np.where(known, 7.0, np.nan), upper=np.where(known, 7.0, np.nan))
    with pytest.raises(NotProtectedError, match="known beforehand") as caught:
        refuse_hopeless(table, "test")
    assert not freed(caught.value)
    assert "allow" not in caught.value.fix


def test_protect_finds_it_before_it_hides_anything() -> None:
    """Elimination alone would start: the cell can be kept from exact recomputation, but not by as much as asked."""
    table = small_table([[0, 4], [9, 9]], n=[[5, 1], [5, 5]], intruder=OUTSIDER)
    frozen = np.isin(np.arange(table.cells), [table.cell(v1="A"), table.cell(v2="B")])
    said: list[str] = []
    with pytest.raises(NotProtectedError, match="'v1=A, v2=B' cannot be protected") as caught:
        protect(table.replace(frozen=frozen), [MinimumFrequency(n=3, range=100), GaussSuppression()], progress=said.append)
    assert caught.value.where == "gauss-suppression"
    assert not any("audit" in text for text in said)


def test_a_table_without_demands_is_not_looked_at() -> None:
    assert hopeless(small_table([1, 2])) == []
