"""Random code trees: what is written is read back, sums are sums, and the order of the input does not matter."""

from itertools import pairwise

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.io.hierarchies import read_tree
from discreet.model.equations import equations_of, merged
from discreet.model.hierarchy import Hierarchy
from discreet.testing import small_table

CODE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\x1a\x00"), min_size=1, max_size=6)


@st.composite
def parents(draw: st.DrawFn, most: int = 14) -> list[tuple[str, str]]:
    """(parent, child) pairs of a random tree with arbitrary codes."""
    codes = draw(st.lists(CODE.filter(lambda code: code.strip() and code != "Total"), min_size=1, max_size=most, unique=True))
    nodes = ["Total", *codes]
    return [(nodes[draw(st.integers(0, i))], code) for i, code in enumerate(codes)]


def below(pairs: list[tuple[str, str]], node: str) -> set[str]:
    """The leaves of a node by plain recursion."""
    children = [child for parent, child in pairs if parent == node]
    return set().union(*(below(pairs, child) for child in children)) if children else {node}


@given(parents())
def test_closure_levels_and_alike_follow_from_recursion(pairs):
    tree = Hierarchy.from_parents(pairs)
    leaf, node = tree.closure()
    held = {code: {tree.codes[a] for a, b in zip(leaf, node, strict=True) if tree.codes[b] == code} for code in tree.codes}
    assert held == {code: below(pairs, code) for code in tree.codes}
    for i, one in enumerate(tree.codes):
        assert tree.alike[i] == next(k for k, other in enumerate(tree.codes) if held[other] == held[one])
        assert i == 0 or tree.level[i] == tree.level[tree.trees[0, i]] + 1
        assert tree.trees[0, i] < i


@given(parents(), st.sampled_from(["@", "->", "\t", "§§"]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_written_tree_is_read_back(tmp_path_factory, pairs, lead):
    tree = Hierarchy.from_parents([(up, f"c{down}") if up == "Total" else (f"c{up}", f"c{down}") for up, down in pairs])
    path = tmp_path_factory.mktemp("trees") / "tree.hrc"
    path.write_bytes("\n".join(lead * int(tree.level[i] - 1) + tree.codes[i] for i in range(1, len(tree.codes))).encode())
    again = read_tree(path, lead=lead)
    assert again.codes == tree.codes
    assert again.trees.tolist() == tree.trees.tolist()


@given(parents(), st.randoms())
def test_level_rows_in_any_order_give_one_tree(pairs, random):
    tree = Hierarchy.from_parents(pairs)
    up = {child: parent for parent, child in pairs}
    rows = []
    for leaf in tree.leaves:
        path = [tree.codes[leaf]]
        while path[0] in up and up[path[0]] != "Total":
            path.insert(0, up[path[0]])
        rows.append([*path, *[None] * (len(pairs) - len(path))])
    made = Hierarchy.from_levels(rows)
    random.shuffle(rows)
    again = Hierarchy.from_levels(rows)
    assert made.codes == again.codes
    assert made.trees.tolist() == again.trees.tolist()
    assert {code: below(pairs, code) for code in made.codes} == {code: below(pairs, code) for code in tree.codes}


@st.composite
def grouped(draw: st.DrawFn) -> Hierarchy:
    """A random tree with groupings whose groups are drawn from disjoint codes."""
    tree = Hierarchy.from_parents(draw(parents(9)))
    groupings = []
    for number in range(draw(st.integers(0, 2))):
        leaves = draw(st.lists(st.sampled_from([tree.codes[leaf] for leaf in tree.leaves]), min_size=1, unique=True))
        groupings.append({f"sum of {number}": leaves})
    return tree.grouped(groupings)


@given(grouped(), st.integers(1, 3), st.data())
@settings(deadline=None)
def test_every_table_over_a_tree_adds_up_and_has_one_cell_a_number(tree, width, data):
    flat = Hierarchy.flat([f"x{i}" for i in range(width)])
    shape = (len(tree.leaves), width)
    values = np.array(data.draw(st.lists(st.integers(-5, 9), min_size=shape[0] * width, max_size=shape[0] * width))).reshape(
        shape
    )
    table = small_table(values, hierarchies=[tree, flat], variables=["a", "b"])
    assert abs(table.equations @ table.value).max(initial=0) == 0
    layout = table.layouts[0]
    leaf, node = tree.closure()
    sets = [frozenset(leaf[node == code].tolist()) for code in range(len(tree.codes))]
    atoms = [(sets[a], frozenset(range(1, width + 1)) if b == 0 else frozenset([b])) for a, b in layout.codes]
    assert len(set(atoms)) == table.cells
    assert len(set(zip(atoms, layout.cell.tolist(), strict=True))) == table.cells
    inner = len(tree.leaves) * width
    assert np.linalg.matrix_rank(table.equations.toarray()) == table.cells - inner if table.equations.shape[0] else True


@given(grouped(), st.integers(1, 4))
def test_a_cut_tree_keeps_its_sums(tree, level):
    cut = tree.to_level(level)
    whole = {code: set() for code in tree.codes}
    for leaf, node in zip(*tree.closure(), strict=True):
        whole[tree.codes[node]].add(tree.codes[leaf])
    now = {code: set() for code in cut.codes}
    data = cut.data_codes
    for leaf, node in zip(*cut.closure(), strict=True):
        now[cut.codes[node]] |= {code for code, at in data.items() if at == leaf and code in whole and whole[code] == {code}}
    for code in cut.codes:
        assert now[code] == whole[code]
    assert all(int(level_of) <= level for level_of in cut.level)


@given(st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=1, max_size=25))
@settings(deadline=None)
def test_merging_changes_no_solution(lines):
    """Random sets of lines: after merging, a value for each cell solves the same equations as before."""
    trees = [Hierarchy.from_parents([("Total", "A"), ("A", "A1"), ("Total", "B")])] * 3
    codes = np.unique(np.array(lines, np.int32), axis=0)
    before = equations_of(trees, codes)
    after, cell, first = merged(before)
    assert cell[first].tolist() == list(range(len(first)))
    rank = np.linalg.matrix_rank
    free_before = len(codes) - (rank(before.toarray()) if before.shape[0] else 0)
    free_after = len(first) - (rank(after.toarray()) if after.shape[0] else 0)
    assert free_before == free_after
    assert all(one <= other for one, other in pairwise(first))
