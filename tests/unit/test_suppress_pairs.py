"""Insiders answered many at a time: never cleared wrongly, and mostly cleared."""

import time

import numpy as np
import pytest

from discreet.model.hierarchy import Hierarchy
from discreet.model.intruder import Intruder
from discreet.model.table import Table
from discreet.tables.rules import MinimumFrequency
from discreet.tables.suppress import GaussSuppression
from discreet.tables.suppress.moves.attackers import Demand, Space
from discreet.tables.suppress.moves.pairs import insider_demands, unmet_insiders
from discreet.tables.suppress.moves.probing import TOLERANCE, Prober
from discreet.testing import small_table

TREE = Hierarchy.from_parents(
    [("T", "a"), ("T", "b"), ("a", "a1"), ("a", "a2"), ("a", "a3"), ("b", "b1"), ("b", "b2"), ("b", "b3")], total="T"
)


def hidden_table(seed: int, insiders: str, *, mended: bool) -> Table:
    rng = np.random.default_rng(seed)
    n = rng.integers(0, 6, (6, 5))
    value = np.where(n > 0, np.round(rng.lognormal(2, 1.5, n.shape)) + 1, 0)
    table = small_table(value, hierarchies=[TREE, Hierarchy.flat("vwxyz")], n=n, intruder=Intruder(insiders=insiders))
    table = MinimumFrequency(n=3).apply(table)
    if mended:
        return GaussSuppression().apply(table)
    return table.with_secondary("by chance", (rng.random(table.cells) < 0.4) & ~table.frozen)


def wrong(space: Space, table: Table, asked: list[Demand]) -> set[tuple[int, tuple[int, ...]]]:
    prober, amount = Prober(space), table.unknown.astype(float)
    asks = [ask for demand in asked for ask in demand.asks()]
    return {(ask.cell, ask.knows) for ask in asks if prober.ask(ask, amount).reach < 1 - TOLERANCE}


@pytest.mark.parametrize("insiders", ["singletons", "pairs"])
@pytest.mark.parametrize("mended", [True, False])
def test_what_is_left_open_holds_all_that_fail(insiders: str, mended: bool) -> None:
    every, left = 0, 0
    for seed in range(12):
        table = hidden_table(seed, insiders, mended=mended)
        space = Space.of(table)
        asked = list(insider_demands(table, space, table.suppressed, table.unknown))
        open_still = list(unmet_insiders(table, space, table.suppressed, time.perf_counter() + 60))
        assert wrong(space, table, open_still) == wrong(space, table, asked)
        every, left = every + len(asked), left + len(open_still) - len(wrong(space, table, asked))
    assert every > 100
    assert left < 0.2 * every, "most of those that are safe are cleared"


def test_without_time_all_are_left_open() -> None:
    table = hidden_table(1, "singletons", mended=True)
    space = Space.of(table)
    asked = list(insider_demands(table, space, table.suppressed, table.unknown))
    assert asked
    assert list(unmet_insiders(table, space, table.suppressed, 0.0)) == asked


def test_a_prober_of_the_hidden_cells_alone_says_the_same() -> None:
    table = hidden_table(3, "pairs", mended=True)
    space, amount = Space.of(table), table.unknown.astype(float)
    whole, part = Prober(space), Prober(space, table.unknown)
    asks = [ask for d in insider_demands(table, space, table.suppressed, table.unknown) for ask in d.asks()]
    for ask in asks[:40]:
        assert part.ask(ask, amount).reach == pytest.approx(whole.ask(ask, amount).reach, rel=1e-6)
