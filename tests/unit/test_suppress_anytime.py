"""The search that has a safe pattern at once: witnesses, cuts that hold everywhere, parts chosen anew, budgets of work."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from discreet.audit import audit
from discreet.errors import NotProtectedError, ParameterError
from discreet.model.intruder import Intruder
from discreet.model.knowledge import Knowledge
from discreet.model.table import Table
from discreet.tables.rules import MinimumFrequency
from discreet.tables.suppress import ExactSuppression, SearchSuppression
from discreet.tables.suppress.cutting.descent import Descent
from discreet.tables.suppress.moves.attackers import Ask, Space
from discreet.tables.suppress.moves.incidence import Incidence
from discreet.tables.suppress.moves.nearby import Nearby, Work
from discreet.tables.suppress.moves.sums import Sums
from discreet.tables.suppress.moves.unions import relations, sensitive_sums
from discreet.testing import assert_same_table, small_table

OUTSIDER = Intruder(insiders="none", unions=False)


class Marked:
    NAME = "marked"
    unions = False

    def sensitive(self, contributions):
        return np.zeros(len(contributions), bool)


def random_table(shape: tuple[int, ...], primaries: int, seed: int, intruder: Intruder = OUTSIDER, zeros: float = 0.1) -> Table:
    rng = np.random.default_rng(seed)
    inner = np.where(rng.random(shape) < zeros, 0.0, np.round(rng.lognormal(3, 1, shape)) + 1)
    table = small_table(inner, intruder=intruder)
    inside = np.flatnonzero((table.layouts[0].codes > 0).all(axis=1) & (table.value > 0))
    sensitive = np.zeros(table.cells, bool)
    sensitive[rng.choice(inside, primaries, replace=False)] = True
    return table.with_primary(Marked(), sensitive, upper=0.2 * table.value, lower=0.15 * table.value, sliding=0.4 * table.value)


def cost_of(table: Table) -> float:
    return float(table.cost[table.secondary].sum())


def begun(table: Table) -> Descent:
    descent = Descent(table, np.zeros(table.cells, bool))
    assert not descent.complete()
    return descent


@pytest.mark.parametrize("shape", [(4, 5), (6, 6), (3, 3, 3)])
@pytest.mark.parametrize("seed", range(4))
def test_every_pattern_is_proved_and_no_cheaper_than_the_optimum(shape: tuple[int, ...], seed: int) -> None:
    table = random_table(shape, 4, seed)
    found, best = SearchSuppression().apply(table), ExactSuppression(time_limit=20).apply(table)
    assert audit(found).safe
    assert best.history[-1].counts["outcome"] == "optimal"
    assert cost_of(best) <= cost_of(found) * (1 + 1e-9)
    assert cost_of(found) <= cost_of(best) * 1.25


def test_on_small_tables_it_mostly_finds_the_optimum() -> None:
    tables = [random_table((5, 5), 4, seed) for seed in range(10, 22)]
    pairs = [(cost_of(SearchSuppression().apply(t)), cost_of(ExactSuppression(time_limit=20).apply(t))) for t in tables]
    assert sum(np.isclose(found, best) for found, best in pairs) >= 9


def test_every_cut_holds_for_every_safe_pattern() -> None:
    table = random_table((2, 3), 2, 0, zeros=0.0)
    descent = begun(table)
    for cell in np.flatnonzero(descent.hidden & descent.choice).tolist():
        descent.renew(np.array([cell]), 10)
    choice = np.flatnonzero(descent.choice)
    matrix, least = descent.pool.matrix(table.cells)
    assert least.size
    safe = 0
    for pattern in itertools.product([False, True], repeat=len(choice)):
        hide = np.zeros(table.cells, bool)
        hide[choice] = pattern
        trial = Descent(table, hide)
        if not trial.prove_all():
            safe += 1
            assert (matrix @ hide.astype(float) >= least - 1e-6).all()
    assert safe > 1


def test_the_search_says_how_far_from_the_optimum_it_may_be() -> None:
    counts = SearchSuppression().apply(random_table((6, 6), 6, 3)).history[-1].counts
    assert 0 <= counts["gap"] < 1
    assert counts["cuts"] > 0


def test_no_work_gives_the_first_pattern_and_more_work_a_cheaper_one() -> None:
    table = random_table((9, 9), 14, 5)
    first, last = SearchSuppression(work=0).apply(table), SearchSuppression().apply(table)
    assert audit(first).safe
    assert cost_of(last) < cost_of(first)
    assert first.history[-1].counts["saved"] == 0


def test_the_same_work_gives_the_same_pattern() -> None:
    table = random_table((9, 9), 14, 6)
    once, again = SearchSuppression(work=0.2).apply(table), SearchSuppression(work=0.2).apply(table)
    assert (once.status == again.status).all()


def test_a_table_that_nothing_can_protect_is_refused_with_the_cells_in_the_way() -> None:
    table = random_table((2, 2), 1, 1)
    frozen = table.replace(frozen=~table.primary)
    with pytest.raises(NotProtectedError, match="must be published"):
        SearchSuppression().apply(frozen)


def test_a_table_without_sensitive_cells_stays_as_it_is() -> None:
    table = small_table([[1, 2], [3, 4]])
    assert_same_table(SearchSuppression().apply(table), table)


@pytest.mark.parametrize(("field", "value"), [("work", -1), ("time_limit", 0)])
def test_parameters_are_checked(field: str, value: float) -> None:
    with pytest.raises(ParameterError, match=field):
        SearchSuppression(**{field: value})


# ---------------------------------------------------------------- its parts


def test_a_witness_stops_counting_when_a_cell_of_it_is_shown_and_counts_again_when_hidden() -> None:
    descent = begun(random_table((5, 5), 3, 2))
    witnesses = descent.witnesses
    cell = next(c for c in np.flatnonzero(descent.hidden & descent.choice).tolist() if witnesses._using.get(c))
    shown, nothing = np.array([cell]), np.zeros(0, np.int64)
    lost = witnesses.change(shown, nothing)
    assert lost.size
    assert any(witnesses.question(c) is not None for c in lost.tolist())
    witnesses.change(nothing, shown)
    assert all(witnesses.question(c) is None for c in witnesses.judged().tolist())


def test_a_witness_moves_within_the_bounds_and_leaves_every_equation_as_it_is() -> None:
    table = random_table((5, 5), 4, 7)
    descent = begun(table)
    for witness in descent.witnesses.moves:
        move = np.zeros(len(descent.space.owner))
        move[witness.columns] = witness.values
        assert np.abs(descent.space.matrix @ move).max() < 1e-6
        assert (table.value + witness.ahead * move[: table.cells] >= -1e-6).all()
        assert (table.value - witness.behind * move[: table.cells] >= -1e-6).all()


def test_contributors_who_know_a_cell_need_a_witness_that_leaves_it_alone() -> None:
    rng = np.random.default_rng(3)
    inner = np.round(rng.lognormal(4, 1, (6, 6))) + 1
    n = rng.integers(1, 9, (6, 6))
    table = MinimumFrequency(n=3, range=10).apply(small_table(inner, n=n))
    done = SearchSuppression().apply(table)
    proof = audit(done)
    assert proof.safe
    assert proof.counts["insiders"] > 0


def sensitive_together(table: Table, hidden: np.ndarray) -> set[tuple[int, ...]]:
    """Equation by equation: the hidden cells that stand alone on one side, if their sum fails a rule."""
    groups = []
    for cells, factors, _ in relations(table):
        inside = hidden[cells]
        if inside.sum() > 1 and table.primary[cells[inside]].any() and len(set(factors[inside].tolist())) == 1:
            groups.append(cells[inside])
    return {tuple(group.tolist()) for group, bad in zip(groups, sensitive_sums(table, groups), strict=True) if bad}


def test_sums_are_judged_as_by_one_look_at_the_whole_table() -> None:
    rng = np.random.default_rng(4)
    n = rng.integers(1, 5, (6, 6))
    table = MinimumFrequency(n=4).apply(small_table(n.astype(float), n=n))
    sums = Sums(table)
    for _ in range(20):
        hidden = table.suppressed | ((rng.random(table.cells) < 0.3) & (table.status == 0))
        want = sensitive_together(table, hidden)
        assert {tuple(union.together.tolist()) for union in sums.failing(hidden)} == want
        some = np.flatnonzero(rng.random(table.cells) < 0.2)
        near = {tuple(union.together.tolist()) for union in sums.failing(hidden, some)}
        assert near <= want


def test_the_surroundings_of_a_cell_are_its_rings_and_no_more_than_asked_for() -> None:
    table = small_table(np.ones((8, 8)))
    incidence, loose = Incidence.of(Space.of(table).matrix), np.ones(table.cells, bool)
    corner = np.array([table.cell(v1="A", v2="B")])
    ring = incidence.around(corner, loose, 10_000)
    assert len(ring) == table.cells
    few = incidence.around(corner, loose, 12)
    assert len(few) == 12
    assert corner[0] in few


def test_a_question_without_an_answer_nearby_may_have_one_farther_away() -> None:
    table = random_table((6, 6), 2, 9, zeros=0.0)
    space = Space.of(table)
    incidence, hidden = Incidence.of(space.matrix), np.ones(table.cells, bool)
    cell = int(np.flatnonzero(table.primary)[0])
    ask = Ask(cell=cell, knows=(), signs=(1,), need=1.0)
    alone = Nearby(space, incidence, np.array([cell]), np.zeros(table.cells), Work())
    assert alone.move(ask, hidden, 1, 1.0) is None
    whole = Nearby(space, incidence, np.arange(table.cells), np.zeros(table.cells), Work())
    found = whole.move(ask, hidden, 1, 1.0)
    assert found is not None
    assert found[1][np.searchsorted(found[0], cell)] == pytest.approx(1.0)


def test_a_limit_too_short_for_the_first_pattern_says_unfinished() -> None:
    done = SearchSuppression(time_limit=1e-6).apply(random_table((9, 9), 14, 5))
    assert done.history[-1].counts["outcome"] == "unfinished"


@pytest.mark.parametrize(("second", "found"), [(1.0, 1), (2.0, 0)])
def test_a_published_fact_gives_away_a_sum_only_where_it_counts_the_cells_alike(second: float, found: int) -> None:
    n = np.array([[1, 9, 9], [9, 1, 9]])
    table = MinimumFrequency(n=3).apply(small_table(n.astype(float), n=n))
    cells = np.flatnonzero(table.primary)
    matrix = sparse.csr_array(([1.0, second], ([0, 0], cells)), shape=(1, table.cells))
    told = matrix @ table.value
    fact = Knowledge(matrix=matrix, low=told, high=told, while_published=np.array([-1]), what=("a fact",))
    sums = Sums(table.replace(knowledge=(fact,)))
    together = [union.together.tolist() for union in sums.failing(table.suppressed)]
    assert together == [cells.tolist()] * found
