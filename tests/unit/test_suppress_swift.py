"""The compiled elimination against the reference in plain Python: the same cells, whatever room there is."""

import dataclasses
import importlib.util

import numpy as np
import pytest
from scipy import sparse

from discreet.model.hierarchy import Hierarchy
from discreet.model.intruder import Intruder
from discreet.model.table import Table
from discreet.tables.suppress import GaussSuppression, gauss
from discreet.tables.suppress.eliminate import reference, swift
from discreet.tables.suppress.eliminate.publishing import PRIME, Publishing
from discreet.tables.suppress.eliminate.residues import ABSENT, added, compiled, inverse, negative, solved_rows, sum_of, times
from discreet.tables.suppress.moves.attackers import hideable
from discreet.testing import small_table

pytest.importorskip("numba")

TREE = Hierarchy.from_parents(
    [("T", "a"), ("T", "b"), ("a", "a1"), ("a", "a2"), ("a", "a3"), ("b", "b1"), ("b", "b2")], total="T"
)


class Marked:
    NAME = "marked"

    def sensitive(self, contributions):
        return np.zeros(len(contributions), bool)


def business(seed: int, insiders: str) -> Table:
    """Few contributors own many cells each, so that they know sums as well."""
    rng = np.random.default_rng(seed)
    total, n = rng.integers(0, 30, (5, 3, 3)).astype(float), rng.integers(1, 5, (5, 3, 3))
    table = small_table(
        total, hierarchies=[TREE, Hierarchy.flat("uvw"), Hierarchy.flat("xyz")], n=n, intruder=Intruder(insiders=insiders)
    )
    ids = np.stack([rng.integers(0, 3, table.cells), rng.integers(3, 5, table.cells)], axis=1)
    top = np.column_stack([table.value, np.zeros(table.cells)])
    contributions = dataclasses.replace(table.contributions, top=top, top_id=ids)
    chosen = np.append(rng.choice(table.cells, 5, replace=False), np.flatnonzero(table.contributions.n == 1))
    table = table.replace(cost=rng.permutation(table.cells) + 1.0, contributions=contributions)
    return table.with_primary(Marked(), np.isin(np.arange(table.cells), chosen))


def task(table: Table) -> Publishing:
    method = GaussSuppression()
    return Publishing.of(table, method._ranked(table, hideable(table)), method._owned(table), insiders=True)


def residues(draw: np.random.Generator, count: int) -> list[int]:
    return [0, 1, 2, PRIME - 1, PRIME - 2, 2**32, 2**32 - 1, *draw.integers(0, PRIME, count).tolist()]


def test_arithmetic_is_that_of_whole_numbers_modulo_the_prime() -> None:
    some = residues(np.random.default_rng(0), 12)
    for a in some:
        one = np.uint64(a)
        assert (int(negative(one)) + a) % PRIME == 0
        assert int(inverse(one)) * a % PRIME == (a > 0)
        for b in some:
            assert int(times(one, np.uint64(b))) == a * b % PRIME
            assert int(sum_of(one, np.uint64(b))) == (a + b) % PRIME


@pytest.mark.parametrize("seed", range(5))
def test_rows_are_added_place_by_place(seed: int) -> None:
    draw = np.random.default_rng(seed)
    ends = [np.sort(draw.choice(12, size, replace=False)) for size in (6, 7)]
    values = [draw.integers(1, PRIME, size).astype(np.uint64) for size in (6, 7)]
    shared = np.intersect1d(*ends)[0]
    factor = int(draw.integers(1, PRIME))
    cancelled = -factor * int(values[1][ends[1] == shared][0]) % PRIME
    values[0][ends[0] == shared] = cancelled
    wanted = dict(zip(ends[0].tolist(), values[0].tolist(), strict=True))
    for at, value in zip(ends[1].tolist(), values[1].tolist(), strict=True):
        wanted[at] = (wanted.get(at, 0) + factor * value) % PRIME
    out, sums = np.zeros(13, np.int64), np.zeros(13, np.uint64)
    size = added(ends[0], values[0], np.uint64(factor), ends[1], values[1], out, sums)
    assert dict(zip(out[:size].tolist(), sums[:size].tolist(), strict=True)) == {at: v for at, v in wanted.items() if v}
    assert shared not in out[:size]


@pytest.mark.parametrize("seed", range(8))
def test_pivots_are_those_of_the_reference(seed: int) -> None:
    matrix = sparse.csr_array(sparse.random_array((14, 16), density=0.25, rng=seed, data_sampler=lambda size: np.ones(size)))
    matrix.sort_indices()
    ones = np.ones(matrix.nnz, np.uint64)
    at, size, place, value = solved_rows(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), ones, 16)
    rows = [dict.fromkeys(row.nonzero()[0].tolist(), 1) for row in matrix.toarray()]
    found = {
        column: dict(zip(place[at[column] :][: size[column]].tolist(), value[at[column] :].tolist(), strict=False))
        for column in range(16)
        if size[column] != ABSENT
    }
    wanted = reference.echelon(rows, 16)
    assert found.keys() == wanted.keys()
    assert filled(found) == filled(wanted)


def filled(solved: dict[int, dict[int, int]]) -> list[int]:
    """What all columns are when those that are no pivot are 1, 2, 3, ..."""
    values = list(range(1, 17))
    for column in sorted(solved, reverse=True):
        values[column] = sum(factor * values[other] for other, factor in solved[column].items()) % PRIME
    return values


@pytest.mark.parametrize("insiders", ["none", "singletons", "pairs"])
def test_the_same_cells_are_hidden(insiders: str) -> None:
    hidden = []
    for seed in range(10):
        one = task(business(seed, insiders))
        assert swift.partners(one) == reference.partners(one)
        hidden.append(len(swift.partners(one)[1]))
    assert sum(hidden) > 20


def test_sums_that_somebody_knows_are_among_the_trials() -> None:
    tasks = [task(business(seed, "singletons")) for seed in range(10)]
    assert sum(len(one.known) for one in tasks) > 5
    assert any((one.alone >= 0).any() for one in tasks)


def test_room_that_runs_out_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    one = task(business(3, "pairs"))
    wanted, times_packed, plain = swift.partners(one), [], swift._roomier

    def packed(state, room):
        times_packed.append(room)
        return plain(state, room)

    monkeypatch.setattr(swift, "_roomier", packed)
    monkeypatch.setattr(swift, "_ROOM", 0)
    assert swift.partners(one) == wanted
    assert len(times_packed) > 3


def test_lost_targets_are_the_same() -> None:
    table = business(1, "none")
    one = task(table.replace(frozen=~table.suppressed))
    lost, hidden = swift.partners(one)
    assert lost
    assert not hidden
    assert (lost, hidden) == reference.partners(one)


def test_large_tables_go_to_the_compiled_kernel_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    table = business(5, "singletons")
    wanted = GaussSuppression().apply(table).status
    taken = []
    plain = swift.partners
    monkeypatch.setattr(swift, "partners", lambda one: taken.append(1) or plain(one))
    monkeypatch.setattr(gauss, "_LARGE", 0)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert (GaussSuppression().apply(table).status == wanted).all()
    assert not taken
    monkeypatch.undo()
    monkeypatch.setattr(swift, "partners", lambda one: taken.append(1) or plain(one))
    monkeypatch.setattr(gauss, "_LARGE", 0)
    assert (GaussSuppression().apply(table).status == wanted).all()
    assert len(taken) == (importlib.util.find_spec("numba") is not None)


def test_without_numba_functions_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "numba", None)
    assert compiled(abs) is abs
