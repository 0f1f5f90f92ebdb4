"""Elimination and lines of vectors, against fractions."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.tables.suppress.eliminate.publishing import PRIME, residue
from discreet.tables.suppress.eliminate.reference import Freedom, echelon


@pytest.mark.parametrize("number", [1.0, -1.0, 0.25, -3.5, 0.1, 1e-9, 12345.678])
def test_residues_are_exact(number: float) -> None:
    exact = Fraction(number)
    assert residue(number) * exact.denominator % PRIME == exact.numerator % PRIME


@pytest.mark.parametrize("seed", range(20))
def test_pivots_say_how_a_column_follows_from_later_ones(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-1, 2, (5, 8))
    rows = [{column: int(value) % PRIME for column, value in enumerate(row) if value} for row in matrix]
    solved = echelon(rows, 8)
    assert len(solved) == np.linalg.matrix_rank(matrix)
    for column, rest in solved.items():
        assert all(other > column for other in rest)
    ranks = [np.linalg.matrix_rank(matrix[:, : k + 1]) for k in range(8)]
    growing = {k for k in range(8) if ranks[k] > (ranks[k - 1] if k else 0)}
    assert set(solved) == growing


def test_every_solution_obeys_the_pivots() -> None:
    rows = [{0: 1, 1: 1, 2: PRIME - 1}, {1: 1, 3: 1, 4: PRIME - 1}]
    solved = echelon(rows, 5)
    values = {2: 7, 3: 11, 4: 5}
    for column in (1, 0):
        values[column] = sum(factor * values[other] for other, factor in solved[column].items()) % PRIME
    for row in rows:
        assert sum(factor * values[column] for column, factor in row.items()) % PRIME == 0


def watching(**options) -> Freedom:
    freedom = Freedom(**options)
    freedom.watch(1, {10: 1})
    freedom.watch(2, {11: 1})
    freedom.watch(3, {10: 1, 11: 1})
    return freedom


def test_a_multiple_of_a_watched_vector_determines_it() -> None:
    freedom = watching()
    assert freedom.determines({10: 5, 11: 5})
    assert freedom.determines({11: PRIME - 2})
    assert not freedom.determines({10: 1, 11: 2})


def test_publishing_takes_one_parameter_away() -> None:
    freedom = watching()
    assert freedom.publish({10: 1, 11: PRIME - 1})
    assert len({parameter for vector in freedom.vectors.values() for parameter in vector}) == 1
    assert len(set(freedom.line.values())) == 1
    assert all(freedom.vectors.values())


def test_an_owner_must_not_come_onto_the_line_of_a_secret() -> None:
    freedom = Freedom(secrets=frozenset({2}))
    freedom.watch(1, {10: 1}, frozenset({1}))
    freedom.watch(2, {11: 1})
    before = dict(freedom.vectors)
    assert not freedom.publish({10: 1, 11: 1})
    assert freedom.vectors == before
    freedom.knows[1] = frozenset({1, 2})
    assert freedom.publish({10: 1, 11: 1})


def test_known_sums_are_no_cells_to_protect() -> None:
    freedom = Freedom()
    freedom.watch(1, {10: 1, 11: 1})
    freedom.watch(-1, {10: 1})
    assert not freedom.determines({10: 3})
    assert freedom.publish({10: 1})
    assert freedom.vectors[-1] == {}
