"""Spanning variables found in the equations alone, and proved by making the equations anew."""

import numpy as np
import pytest
from scipy import sparse

from discreet.model.equations import equations_of, fold, merged
from discreet.model.hierarchy import Hierarchy
from discreet.model.layout import Layout
from discreet.model.link import link
from discreet.model.spanned import spanned
from discreet.testing import small_table

TREE = Hierarchy.from_parents([("T", "a"), ("T", "b"), ("a", "a1"), ("a", "a2"), ("b", "b1"), ("b", "b2")], total="T")
DEEP = Hierarchy.from_parents(
    [("T", "a"), ("T", "b"), ("a", "c"), ("a", "d"), ("c", "c1"), ("c", "c2"), ("c", "c3")], total="T"
)
GROUPED = Hierarchy.from_parents([("T", "x"), ("T", "y"), ("T", "z")], total="T", groupings=[{"xy": ["x", "y"]}])
SHAPES = {
    "one": [DEEP],
    "two": [Hierarchy.flat("ABC"), Hierarchy.flat("pqrs")],
    "square": [Hierarchy.flat("AB"), Hierarchy.flat("pq")],
    "trees": [TREE, DEEP],
    "three": [Hierarchy.flat("AB"), TREE, Hierarchy.flat("pqr")],
    "four": [Hierarchy.flat("AB"), Hierarchy.flat("CD"), Hierarchy.flat("EF"), Hierarchy.flat("pq")],
}


def equations_with(trees: list[Hierarchy], gaps: float, seed: int) -> sparse.csr_array:
    """Between the cells of a table without its empty ones; totals that are left with a single part are one cell with it."""
    rng = np.random.default_rng(seed)
    full = small_table(rng.random([len(tree.leaves) for tree in trees]) >= gaps, hierarchies=trees)
    layout = full.layouts[0]
    equations, _, _ = merged(equations_of(trees, layout.codes[full.value[layout.cell] > 0]))
    return sparse.csr_array(equations[:, rng.permutation(equations.shape[1])])


def found(equations: sparse.csr_array) -> Layout | None:
    return spanned(equations, [str(cell) for cell in range(equations.shape[1])], "t")


def rows(equations: sparse.csr_array) -> set[tuple[tuple[int, float], ...]]:
    split = np.split(np.arange(equations.nnz), equations.indptr[1:-1])
    return {tuple(sorted(zip(equations.indices[at].tolist(), equations.data[at].tolist(), strict=True))) for at in split}


@pytest.mark.parametrize("kind", SHAPES)
def test_the_codes_of_a_whole_table(kind: str) -> None:
    trees = SHAPES[kind]
    equations = equations_with(trees, 0, seed=1)
    layout = found(equations)
    assert layout is not None
    assert sorted(len(tree.codes) for tree in layout.hierarchies) == sorted(len(tree.codes) for tree in trees)
    assert sorted(tree.depth for tree in layout.hierarchies) == sorted(tree.depth for tree in trees)
    assert len(layout.cell) == equations.shape[1]
    assert rows(equations_of(layout.hierarchies, layout.codes)[:, np.argsort(layout.cell)]) == rows(equations)


@pytest.mark.parametrize("kind", SHAPES)
def test_the_codes_of_tables_with_gaps(kind: str) -> None:
    wanted = 0
    for seed in range(30):
        equations = equations_with(SHAPES[kind], 0.35, seed)
        layout = found(equations)
        if layout is not None:
            wanted += 1
            made = fold(equations_of(layout.hierarchies, layout.codes), layout.cell, equations.shape[1])
            assert rows(made) == rows(equations) or rows(-made) == rows(equations), f"seed {seed}"
            assert set(layout.cell.tolist()) == set(range(equations.shape[1]))
    assert wanted >= 20, "merged cells must not keep the variables from being found"


def test_codes_are_the_cells_that_vary_in_one_variable() -> None:
    table = small_table(np.ones((2, 3)))
    layout = found(table.equations)
    assert layout is not None
    assert layout.variables == ("v1", "v2")
    inner = table.cell(v1="B", v2="C")
    line = int(np.flatnonzero(layout.cell == inner)[0])
    names = {tree.codes[code] for tree, code in zip(layout.hierarchies, layout.codes[line], strict=True)}
    assert names == {str(table.cell(v1="B")), str(table.cell(v2="C"))}


def test_what_no_single_table_spans() -> None:
    grouped = small_table(np.ones((3, 2)), hierarchies=[GROUPED, Hierarchy.flat("pq")])
    dropped = small_table(np.ones((2, 3))).equations[1:]
    for equations in (grouped.equations, dropped, dropped[:0], sparse.csr_array([[1.0, 1.0, 0.0]])):
        assert found(equations) is None


def test_linked_tables_span_what_neither_shows() -> None:
    parts = [small_table(np.ones((2, 2)), variables=["v1", other]) for other in ("v2", "v3")]
    linked = link(*parts, names=["first", "second"])
    layout = found(linked.equations)
    assert layout is not None
    assert len(layout.variables) == 3
    assert len(layout.cell) == linked.cells < 27
