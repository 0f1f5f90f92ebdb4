"""The exact method's parameters, its outcome in time and out of time, sums of hidden cells, and what it refuses."""

import itertools
import time

import numpy as np
import pytest

from discreet.audit import audit
from discreet.errors import NotProtectedError, ParameterError
from discreet.model.intruder import Intruder
from discreet.model.table import Table
from discreet.tables.rules import Dominance, MinimumFrequency
from discreet.tables.suppress import METHODS, ExactSuppression, GaussSuppression, repair
from discreet.tables.suppress.cutting import search
from discreet.tables.suppress.moves.attackers import Demand, preference
from discreet.testing import assert_same_table, small_table

OUTSIDER = Intruder(insiders="none", unions=False)


class Marked:
    NAME = "marked"
    unions = False

    def sensitive(self, contributions):
        return np.zeros(len(contributions), bool)


def square(size: int, primaries: int, seed: int = 1, **levels) -> Table:
    rng = np.random.default_rng(seed)
    inner = np.round(rng.lognormal(4, 1, (size, size))) + 1
    table = small_table(inner, intruder=OUTSIDER)
    inside = np.flatnonzero((table.layouts[0].codes > 0).all(axis=1))
    sensitive = np.zeros(table.cells, bool)
    sensitive[rng.choice(inside, primaries, replace=False)] = True
    return table.with_primary(Marked(), sensitive, upper=0.2 * table.value, lower=0.15 * table.value)


@pytest.mark.parametrize("method", METHODS)
def test_a_table_without_primaries_stays_as_it_is(method: type) -> None:
    table = small_table([[1, 2], [3, 4]])
    assert_same_table(method().apply(table), table)


def test_it_is_no_dearer_than_elimination_and_repair() -> None:
    table = square(6, 4)
    done = ExactSuppression().apply(table)
    assert done.history[-1].counts["outcome"] == "optimal"
    assert done.history[-1].counts["gap"] == 0
    assert not audit(done).findings
    plain = GaussSuppression().apply(table)
    if not audit(plain).findings:
        assert done.cost[done.secondary].sum() <= plain.cost[plain.secondary].sum()


def test_out_of_time_a_safe_pattern_comes_back_and_says_so() -> None:
    table = square(12, 10)
    done = ExactSuppression(time_limit=0.05).apply(table)
    assert done.history[-1].counts["outcome"] == "best so far"
    assert 0 < done.history[-1].counts["gap"] <= 1
    assert not audit(done).findings


def test_the_time_limit_is_kept() -> None:
    table, limit = square(40, 20), 2.0
    start = time.perf_counter()
    done = ExactSuppression(time_limit=limit).apply(table)
    assert time.perf_counter() - start < 1.1 * limit + 0.3
    assert done.history[-1].counts["outcome"] == "best so far"


@pytest.mark.parametrize("seed", range(3))
def test_out_of_time_it_is_no_dearer_than_elimination_and_repair(seed: int) -> None:
    table = square(14, 20, seed=seed)
    done = ExactSuppression(time_limit=1.0).apply(table)
    plain = GaussSuppression().apply(table)
    while findings := audit(plain).findings:
        plain = repair(plain, findings)
    assert not audit(done).findings
    assert done.cost[done.secondary].sum() <= plain.cost[plain.secondary].sum() * (1 + 1e-9)


def test_a_limit_too_short_for_any_pattern_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_AT_LEAST", 0.0)
    done = ExactSuppression(time_limit=1e-9).apply(square(12, 10))
    assert done.history[-1].counts["outcome"] == "unfinished"
    while findings := audit(done).findings:
        done = repair(done, findings)
    assert audit(done).safe


def test_a_gap_ends_the_search_earlier() -> None:
    table = square(8, 6, seed=3)
    best = ExactSuppression().apply(table)
    near = ExactSuppression(gap=0.5).apply(table)
    assert near.history[-1].counts["outcome"] in ("optimal", "within gap")
    assert near.cost[near.secondary].sum() <= best.cost[best.secondary].sum() / 0.5
    assert near.history[-1].counts["programs"] <= best.history[-1].counts["programs"]


def test_the_same_pattern_every_time() -> None:
    table = square(6, 4, seed=5)
    assert_same_table(ExactSuppression().apply(table), ExactSuppression().apply(table))


def test_history_holds_no_costs() -> None:
    done = ExactSuppression().apply(square(5, 3))
    assert set(done.history[-1].counts) == {"secondary", "outcome", "gap", "cuts", "programs"}


@pytest.mark.parametrize("settings", [{"time_limit": 0}, {"gap": 1.0}, {"gap": -0.1}])
def test_impossible_parameters_are_refused(settings: dict) -> None:
    with pytest.raises(ParameterError):
        ExactSuppression(**settings)


def test_free_cells_are_hidden_only_with_need() -> None:
    table = small_table([[5, 6, 7], [8, 9, 4]], cost=np.zeros(12), intruder=OUTSIDER)
    table = table.with_primary(Marked(), np.arange(table.cells) == table.cell(v1="A", v2="A"))
    assert ExactSuppression().apply(table).suppressed.sum() == 4
    assert (preference(table) > 0).all()


def test_earlier_secondary_cells_are_kept_and_protected_too() -> None:
    table = small_table([[5, 6, 7], [8, 9, 4]], intruder=OUTSIDER)
    table = table.with_primary(Marked(), np.arange(table.cells) == table.cell(v1="A", v2="A"))
    lone = np.arange(table.cells) == table.cell(v1="B", v2="C")
    for method in (ExactSuppression(), GaussSuppression()):
        done = method.apply(table.with_secondary("by hand", lone))
        assert done.secondary[lone].all()
        assert not audit(done).findings


def test_demands_fall_into_questions() -> None:
    asks = list(Demand(cell=3, up=2.0, down=1.0, width=3.0).asks())
    assert [(ask.signs, ask.need) for ask in asks] == [((1,), 2.0), ((-1,), 1.0)]
    wide = list(Demand(cell=3, up=2.0, width=3.0, knows=(4,)).asks())
    assert [ask.signs for ask in wide] == [(1,), (1, -1)]
    assert wide[1].demand() == Demand(cell=3, width=3.0, knows=(4,))


def test_a_protection_level_out_of_reach_is_refused_before_the_search() -> None:
    """The intruder knows every value to within 10 %: no pattern gives 20 %."""
    table = small_table([[50, 60], [70, 80]], intruder=Intruder(insiders="none", unions=False, prior=10))
    lone = np.arange(table.cells) == table.cell(v1="A", v2="A")
    with pytest.raises(NotProtectedError, match="cannot be protected"):
        ExactSuppression().apply(table.with_primary(Marked(), lone, upper=10.0))


# ---------------------------------------------------------------- sums of hidden cells, against all patterns


def firms(seed: int) -> Table:
    """One row of cells of a few contributors each, judged by a threshold on units or by dominance."""
    rng = np.random.default_rng(seed)
    n = rng.integers(1, 6, 6)
    top, total = np.zeros((6, 2)), np.zeros(6)
    for cell in range(6):
        amounts = np.sort(rng.integers(1, 60, n[cell]))[::-1]
        top[cell][: min(2, n[cell])] = amounts[:2]
        total[cell] = amounts.sum()
    table = small_table(total, n=n, top=top, intruder=Intruder(insiders="none", levels=False))
    rule = MinimumFrequency(n=int(rng.integers(3, 7))) if seed % 2 else Dominance(n=1, k=70)
    return rule.apply(table)


def allowed(table: Table, hidden: np.ndarray) -> bool:
    """In one row: two hidden cells at least, and unless the total is among them their sum passes the rule."""
    if hidden.sum() < 2:
        return False
    if hidden[0]:
        return True
    together = table.contributions.union([np.flatnonzero(hidden)])
    return not any(rule.sensitive(together)[0] for rule in table.rules)


@pytest.mark.parametrize("seed", range(24))
def test_the_cheapest_pattern_whose_sum_passes(seed: int) -> None:
    table = firms(seed)
    if not table.primary.any() or table.primary[0]:
        table = table.replace(rules=table.rules).with_primary(Marked(), np.arange(7) == 1)
    free = np.flatnonzero(~table.suppressed)
    best = np.inf
    for pattern in itertools.product([False, True], repeat=len(free)):
        hidden = table.suppressed.copy()
        hidden[free] = pattern
        if allowed(table, hidden):
            best = min(best, table.cost[hidden & ~table.suppressed].sum())
    done = ExactSuppression().apply(table)
    assert done.cost[done.secondary].sum() == pytest.approx(best)
