"""A table cut into subtables, and the cubes in one of them against all cubes written out."""

import itertools

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.model.hierarchy import Hierarchy
from discreet.model.table import Table
from discreet.tables.suppress.cubes import Cubes
from discreet.tables.suppress.subtables import check_layouts, subtables
from discreet.testing import small_table

DRINKS = Hierarchy.from_parents(
    [
        *(("drinks", part) for part in ("alcoholic", "soft")),
        *(("alcoholic", part) for part in ("beer", "vine", "liquor")),
        *(("vine", part) for part in ("red", "white", "rosé")),
        *(("soft", part) for part in ("water", "lemonade", "juice")),
    ],
    total="drinks",
)
TREE = Hierarchy.from_parents([("T", "a"), ("T", "b"), ("a", "a1"), ("a", "a2"), ("b", "b1"), ("b", "b2")], total="T")


def test_drinks_are_four_subtables_linked_by_three_cells() -> None:
    table = small_table(np.arange(1.0, 9.0), hierarchies=[DRINKS])
    parts = subtables(table)
    assert [len(part.cells) for part in parts] == [3, 4, 4, 4]
    times = np.bincount(np.concatenate([part.cells for part in parts]))
    linking = {table.label(cell) for cell in np.flatnonzero(times == 2)}
    assert linking == {"v1=alcoholic", "v1=soft", "v1=vine"}


def test_subtables_come_top_down_and_know_their_margins() -> None:
    table = small_table(np.arange(1.0, 13.0).reshape(4, 3), hierarchies=[TREE, Hierarchy.flat("pqr")])
    parts = subtables(table)
    assert [part.cells.shape for part in parts] == [(3, 4)] * 3
    assert table.label(int(parts[0].cells[0, 0])) == "v1=T, v2=Total"
    assert table.label(int(parts[1].cells[0, 1])) == "v1=a, v2=p"
    assert parts[0].margin.sum() == 6
    for part in parts:
        signed = part.side * table.value[part.cells] * np.where(part.margin, -1.0, 1.0)
        assert signed.shape == part.cells.shape
        assert part.side[0, 0] == 1
        assert part.side[0, 1] == part.side[1, 0] == -1


def test_a_variable_with_one_code_is_no_axis() -> None:
    one = Hierarchy(("Total",), np.array([[-1]], np.int32))
    table = small_table([[1.0], [2.0]], hierarchies=[Hierarchy.flat("AB"), one])
    assert [part.cells.shape for part in subtables(table)] == [(3,)]


def test_equations_of_no_spanning_variable_are_refused() -> None:
    table = small_table([[1, 2], [3, 4]])
    check_layouts(table, "method")
    more = table.equations.tolil()
    more.resize(table.equations.shape[0] + 1, table.cells)
    cells = [table.cell(v1="A", v2="A"), table.cell(v1="A", v2="B"), table.cell(v1="B", v2="A"), table.cell(v1="B")]
    more[-1, cells] = [1, 1, 1, -1]
    with pytest.raises(InputError, match="1 equations of the table do not follow"):
        check_layouts(table.replace(equations=more.tocsr(), value=table.value), "method")


def cubes_written_out(table: Table, cells: np.ndarray, at: tuple[int, ...]) -> list[tuple[list[int], list[int]]]:
    """The cells and the moves of each cube of a target: a product of moves that each variable allows."""
    out = []
    for other in itertools.product(*[[y for y in range(size) if y != x] for x, size in zip(at, cells.shape, strict=True)]):
        corners, moves = [], []
        for choice in itertools.product([0, 1], repeat=len(at)):
            place = tuple(y if chosen else x for x, y, chosen in zip(at, other, choice, strict=True))
            with_total = [x == 0 or y == 0 for x, y in zip(at, other, strict=True)]
            moves.append(
                int(np.prod([1 if free or not chosen else -1 for free, chosen in zip(with_total, choice, strict=True)]))
            )
            corners.append(int(cells[place]))
        out.append((corners, moves))
    return out


@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 3), (2, 2, 2, 2)])
def test_the_cheapest_cube_is_the_cheapest_of_all(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(len(shape))
    for _ in range(12):
        table = small_table(rng.integers(1, 60, shape).astype(float))
        (part,) = subtables(table)
        rise, fall = rng.integers(1, 20, table.cells).astype(float), table.value
        price = np.where(rng.random(table.cells) < 0.2, np.inf, rng.integers(0, 50, table.cells) + rng.random(table.cells))
        at = tuple(int(rng.integers(0, size + 1)) for size in shape)
        target = int(part.cells[at])
        price[target] = 0.0
        up, down, width = rng.integers(0, 8, 3).astype(float) * [1, 1, 2]
        found = Cubes(part, rise[part.cells], fall[part.cells]).cheapest(at, price[part.cells], (up, down, width))
        best = np.inf
        for corners, moves in cubes_written_out(table, part.cells, at):
            move = np.zeros(table.cells)
            move[corners] = moves
            assert not np.any(table.equations @ move)
            above = min(rise[c] if m > 0 else fall[c] for c, m in zip(corners, moves, strict=True))
            below = min(fall[c] if m > 0 else rise[c] for c, m in zip(corners, moves, strict=True))
            if above >= up and below >= down and above + below >= width:
                best = min(best, price[corners].sum())
        if found is None:
            assert np.isinf(best)
            continue
        assert found.price == pytest.approx(best)
        move = np.zeros(table.cells)
        move[part.cells.ravel()[found.corners]] = np.where(found.turned == 1, -1, 1)
        assert not np.any(table.equations @ move)
        assert part.cells.ravel()[found.corners[0]] == target
