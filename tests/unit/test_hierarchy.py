"""Code trees: making them, what they refuse, what they know."""

import time

import numpy as np
import pytest
from scipy import sparse

from discreet.errors import HierarchyError
from discreet.model.equations import equations_of, fold, in_order, locate, merged
from discreet.model.hierarchy import Hierarchy
from discreet.testing import small_table

ODD = [
    "01.1",
    "Nuenen, Gerwen",
    "Zürich",
    "A;B",
    '"q"',
    "  pad",
    "@x",
    ".lead",
    "Décembre",
    "🙂",
    "x ",
    "0",
    "a\tb",
    "long " * 9,
]
NACE = [("A", "A1"), ("A", "A2"), ("B", "B1"), ("B", "B2"), ("B", "B3")]


def names(hierarchy: Hierarchy, positions) -> list[str]:
    return [hierarchy.codes[i] for i in positions]


def test_parents_make_a_tree_in_preorder():
    tree = Hierarchy.from_parents(NACE, labels={"A": "Farming", "Z": "nowhere"})
    assert tree.codes == ("Total", "A", "A1", "A2", "B", "B1", "B2", "B3")
    assert tree.trees.tolist() == [[-1, 0, 1, 1, 0, 4, 4, 4]]
    assert tree.level.tolist() == [0, 1, 2, 2, 1, 2, 2, 2]
    assert tree.height.tolist() == [2, 1, 0, 0, 1, 0, 0, 0]
    assert names(tree, tree.leaves) == ["A1", "A2", "B1", "B2", "B3"]
    assert tree.depth == 2
    assert tree.labels == {"A": "Farming"}
    assert repr(tree) == "Hierarchy(8 codes, 5 leaves, 1 tree(s), 2 levels)"


def test_codes_are_opaque():
    tree = Hierarchy.flat(ODD)
    assert list(tree.codes[1:]) == ODD
    assert set(tree.data_codes) == set(ODD)
    tree.check_data_codes(ODD)
    assert tree.positions(ODD).tolist() == list(range(1, len(ODD) + 1))


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ([("A", "A1"), ("B", "A1")], "code 'A1' stands under 'A' and under 'B'"),
        ([("A", "A1"), ("A", "A1")], "stands twice under 'A'"),
        ([("A", "B"), ("B", "C"), ("C", "A")], "round in a circle"),
        ([("X", "Y"), ("A", "B"), ("B", "A")], "round in a circle: 'B', 'A'"),
        ([("A", "A")], "round in a circle"),
        ([("A", "Total")], "the total and also part of 'A'"),
        ([], "holds no codes"),
        ([("A", "")], "a code is empty"),
    ],
)
def test_broken_parents_are_refused(pairs, words):
    with pytest.raises(HierarchyError, match=words):
        Hierarchy.from_parents(pairs)


def test_all_codes_with_two_parents_are_listed():
    with pytest.raises(HierarchyError) as caught:
        Hierarchy.from_parents([(up, f"c{i}") for i in range(6) for up in "AB"])
    assert [code for code, *_ in caught.value.details] == [f"c{i}" for i in range(6)]
    assert "and 3 more" in str(caught.value)


def test_own_total_and_a_leaf_with_its_code():
    assert Hierarchy.flat(["a", "Total"], total="All").total == "All"
    with pytest.raises(HierarchyError, match="also the code of the total"):
        Hierarchy.flat(["a", "Total"])


def test_levels_do_not_depend_on_row_order():
    rows = [("B", "B2", "B22"), ("A", "A1", "A11"), ("B", "B2", "B21"), ("A", "A1", "A12"), ("B", "B1", "B11")]
    tree = Hierarchy.from_levels(rows)
    assert tree.codes == Hierarchy.from_levels(reversed(rows)).codes
    assert tree.codes == ("Total", "A", "A1", "A11", "A12", "B", "B1", "B11", "B2", "B21", "B22")


def test_levels_with_holes_and_repeated_codes():
    tree = Hierarchy.from_levels([("A", "X", "X"), ("B", None, "B1"), ("B", "", "B2"), ("C", None, None), (None, None, None)])
    assert tree.codes == ("Total", "A", "X", "B", "B1", "B2", "C")
    assert tree.trees.tolist() == [[-1, 0, 1, 0, 3, 3, 0]]


def test_a_fine_code_under_two_coarse_codes():
    words = "'x' stands under 'A' and under 'B'; code 'y' stands under 'A' and under 'C'"
    with pytest.raises(HierarchyError, match=words) as caught:
        Hierarchy.from_levels([("A", "x"), ("B", "x"), ("A", "y"), ("C", "y"), ("C", "z")])
    assert [code for code, *_ in caught.value.details] == ["x", "y"]
    with pytest.raises(HierarchyError, match="'1' stands under 'Total' and under '2'"):
        Hierarchy.from_levels([("1", "1a"), ("2", "1")])


def test_prefixes():
    tree = Hierarchy.from_prefixes(["0111", "0112", "0210", "12"], (1, 2))
    assert tree.codes == ("Total", "0", "01", "0111", "0112", "02", "0210", "1", "12")
    with pytest.raises(HierarchyError, match="beginning of other codes: '01'"):
        Hierarchy.from_prefixes(["01", "0111"], (2,))
    for lengths in ((), (2, 1), (1, 1), (0, 1)):
        with pytest.raises(HierarchyError, match="do not grow"):
            Hierarchy.from_prefixes(["0111"], lengths)


def test_even_levels():
    Hierarchy.from_parents(NACE).check_even()
    with pytest.raises(HierarchyError, match=r"2 codes end above level 2 .*: 'C', 'D'") as caught:
        Hierarchy.from_parents([*NACE, ("Total", "C"), ("Total", "D")]).check_even("nace.hrc")
    assert caught.value.details == ["C", "D"]


def test_unknown_data_codes_are_all_listed():
    tree = Hierarchy.flat(["01", "Nord", "Süd"])
    with pytest.raises(HierarchyError) as caught:
        tree.check_data_codes(["1", "nord ", "Süd", "Xyz", *(f"u{i}" for i in range(9))], variable="region")
    assert caught.value.details == sorted(["1", "nord ", "Xyz", *(f"u{i}" for i in range(9))])
    text = str(caught.value)
    assert "column 'region': 12 codes are not in the hierarchy" in text
    assert "'1' (did you mean '01'?)" in text
    assert "'nord ' (did you mean 'Nord'?)" in text
    assert "and 7 more" in text


def test_inner_codes_and_the_total_in_the_data():
    tree = Hierarchy.from_parents(NACE)
    with pytest.raises(HierarchyError, match="1 codes that have parts in the hierarchy: 'A'"):
        tree.check_data_codes(["A", "A1"], variable="nace")
    with pytest.raises(HierarchyError, match="carry the code of the total, 'Total'"):
        tree.check_data_codes(["Total", "A1"])
    tree.to_level(1).check_data_codes(["A1", "B2", "A"])


def test_unknown_position():
    with pytest.raises(HierarchyError, match=r"unknown code 'a1' \(did you mean 'A1'\?\)"):
        Hierarchy.from_parents(NACE).position("a1")
    with pytest.raises(HierarchyError, match="2 codes are not in the hierarchy"):
        Hierarchy.from_parents(NACE).positions(["A", "Q", "R"])


# -------------------------------------------------------------------- groupings


def test_groupings_add_trees():
    groupings = [{"B_F": ["B", "C", "F"]}, {"B_C": ["B", "C"]}, {"C_F": ["C", "F"]}]
    tree = Hierarchy.flat("BCFG").grouped(groupings, labels={"C_F": "x"})
    assert len(tree.trees) == 4
    assert tree.labels == {"C_F": "x"}
    assert names(tree, tree.leaves) == list("BCFG")
    leaf, node = tree.closure()
    held = {name: {tree.codes[a] for a, b in zip(leaf, node, strict=True) if tree.codes[b] == name} for name in tree.codes}
    assert held["B_F"] == set("BCF")
    assert held["C_F"] == set("CF")
    assert held["Total"] == set("BCFG")
    table = small_table([1, 2, 4, 8], hierarchies=[tree])
    assert table.value[table.cell(v1="C_F")] == 6
    assert abs(table.equations @ table.value).max() == 0
    assert table.equations.shape == (4, 8)


def test_groups_of_groups_and_of_inner_codes():
    tree = Hierarchy.from_parents(NACE, groupings=[{"G": ["A", "B1"], "H": ["B2", "B3"]}, {"GH": ["G", "H"]}])
    assert tree.level[tree.position("G")] == 1
    assert tree.alike[tree.position("GH")] == 0
    with_groups = small_table([1, 2, 3, 4, 5], hierarchies=[tree])
    assert with_groups.cell(v1="GH") == with_groups.cell()


@pytest.mark.parametrize(
    ("groupings", "words"),
    [
        ([{"A": ["B1"]}], "carries the code of another node"),
        ([{"Total": ["B1"]}], "carries the code of another node"),
        ([{"G": ["b1"]}], r"unknown code 'b1' \(did you mean"),
        ([{"G": []}], "sums no codes"),
        ([{"G": ["A", "A1"]}], "counts a code twice"),
        ([{"G": ["A"], "H": ["A", "B"]}], "stands in two groups of one grouping"),
        ([{"G": ["A1", "H"]}, {"H": ["B", "G"]}], "round in a circle"),
        ([{"G": ["A1"]}, {"G": ["A2"]}], "counts a code twice, or stands for other codes elsewhere"),
    ],
)
def test_broken_groupings(groupings, words):
    with pytest.raises(HierarchyError, match=words):
        Hierarchy.from_parents(NACE, groupings=groupings)


def test_combined_hierarchies():
    first = Hierarchy.from_parents(NACE, labels={"A": "first"})
    pairs = [("odd", "A1"), ("odd", "B1"), ("even", "A2"), ("even", "B2"), ("even", "B3")]
    other = Hierarchy.from_parents(pairs, labels={"odd": "Odd", "A": "other"})
    both = Hierarchy.combined(first, other)
    assert both.codes == (*first.codes, "odd", "even")
    assert both.labels == {"A": "first", "odd": "Odd"}
    assert names(both, both.leaves) == names(first, first.leaves)
    assert both.level[both.position("odd")] == 1
    table = small_table([1, 2, 4, 8, 16], hierarchies=[both])
    assert table.value[table.cell(v1="odd")] == 5
    assert table.equations.shape[0] == 6
    assert len(Hierarchy.combined(first, first).trees) == 1


def test_combined_refuses_what_does_not_fit():
    first = Hierarchy.from_parents(NACE)
    with pytest.raises(HierarchyError, match="different leaves: 'B3'"):
        Hierarchy.combined(first, Hierarchy.flat(["A1", "A2", "B1", "B2"]))
    with pytest.raises(HierarchyError, match="totals differ"):
        Hierarchy.combined(first, Hierarchy.flat(["A1", "A2", "B1", "B2", "B3"], total="T"))
    swapped = Hierarchy.from_parents([("A", "B1"), ("A", "B2"), ("A", "B3"), ("C", "A1"), ("C", "A2")])
    with pytest.raises(HierarchyError, match="different leaves in the hierarchies: 'A'"):
        Hierarchy.combined(first, swapped)


def test_one_more_leaf():
    tree = Hierarchy.combined(Hierarchy.from_parents(NACE), Hierarchy.flat(["A1", "A2", "B1", "B2", "B3"])).with_leaf("?")
    assert tree.codes[-1] == "?"
    assert tree.trees[:, -1].tolist() == [0, 0]
    table = small_table([1, 2, 3, 4, 5, 6], hierarchies=[tree])
    assert table.value[table.cell()] == 21
    assert abs(table.equations @ table.value).max() == 0
    with pytest.raises(HierarchyError, match="already there"):
        tree.with_leaf("A")


# -------------------------------------------------------------------- cutting


def test_cut_to_a_level():
    tree = Hierarchy.from_parents(NACE, groupings=[{"AB": ["A", "B"]}, {"x": ["A1", "B1"]}], labels={"A": "a", "A1": "a1"})
    cut = tree.to_level(1)
    assert cut.codes == ("Total", "A", "B", "AB")
    assert cut.trees.tolist() == [[-1, 0, 0, -1], [-1, 3, 3, -1]]
    assert cut.labels == {"A": "a"}
    assert cut.data_codes == {"A": 1, "B": 2, "A1": 1, "A2": 1, "B1": 2, "B2": 2, "B3": 2}
    assert names(cut, cut.leaves) == ["A", "B"]
    assert tree.to_level(2) is tree
    assert cut.to_level(1) is cut
    with pytest.raises(HierarchyError, match="above the first level"):
        tree.to_level(0)


def test_cutting_twice_keeps_every_data_code():
    tree = Hierarchy.from_prefixes([f"{i:03}" for i in range(1000)], (1, 2))
    twice, once = tree.to_level(2).to_level(1), tree.to_level(1)
    assert twice.codes == once.codes
    deep = {code: at for code, at in once.data_codes.items() if len(code) == 3}
    assert {code: twice.data_codes[code] for code in deep} == deep
    Hierarchy.combined(once, once).check_data_codes(["999"])


def test_a_total_of_another_tree_goes_when_one_of_its_parts_does():
    first = Hierarchy.from_parents([("Total", "a"), ("Total", "P"), ("P", "b"), ("P", "c")])
    other = Hierarchy.from_parents([("Total", "a"), ("Total", "b"), ("Total", "c")])
    cut = Hierarchy.combined(first, other).to_level(1)
    assert cut.codes == ("Total", "a", "P")
    assert len(cut.trees) == 1


# -------------------------------------------------------------------- equations


def test_single_child_chain_is_one_cell_under_several_codes():
    chain = Hierarchy.from_parents([("A", "A1"), ("A1", "A11"), ("B", "B1"), ("B", "B2")])
    table = small_table([[1, 2], [3, 4], [5, 6]], hierarchies=[chain, Hierarchy.flat("xy")], variables=["nace", "sex"])
    for sex in ("Total", "x", "y"):
        assert len({table.cell(nace=code, sex=sex) for code in ("A", "A1", "A11")}) == 1
    assert table.cells == 15
    assert len(table.layouts[0].cell) == 21
    assert abs(table.equations @ table.value).max() == 0
    assert np.linalg.matrix_rank(table.equations.toarray()) == 15 - 6


def test_a_total_with_a_single_code_is_that_code():
    table = small_table([[1, 2]], hierarchies=[Hierarchy.from_parents([("only", "leaf")]), Hierarchy.flat("xy")])
    assert table.cells == 3
    assert table.equations.shape == (1, 3)


def test_totals_of_the_same_parts_are_one_cell():
    tree = Hierarchy.flat("abc", total="T").grouped([{"all": ["a", "b", "c"]}, {"g": ["a", "b"], "gc": ["c"]}])
    table = small_table([1, 2, 4], hierarchies=[tree])
    assert table.cell(v1="all") == table.cell()
    assert table.cell(v1="gc") == table.cell(v1="c")
    assert table.cells == 5


def test_the_same_sum_over_equal_lines_is_found_step_by_step():
    # region R holds only county K; the lines of K and R by sex are equal, and R's line of the total is not given
    region, sex = Hierarchy.from_parents([("R", "K"), ("S", "L"), ("S", "M")]), Hierarchy.flat("xy")
    codes = np.array([[region.position(r), sex.position(s)] for r in ("R", "K") for s in ("Total", "x", "y")], np.int32)
    equations, cell, first = merged(equations_of([region, sex], codes))
    assert cell.tolist() == [0, 1, 2, 0, 1, 2]
    assert first.tolist() == [0, 1, 2]
    assert equations.toarray().tolist() == [[-1, 1, 1]]


def test_lines_that_are_absent_count_as_zero():
    tree = Hierarchy.from_parents(NACE)
    codes = np.array([[tree.position(code)] for code in ("Total", "A", "A1", "B", "B1", "B2")], np.int32)
    equations, cell, _ = merged(equations_of([tree], codes))
    assert cell[1] == cell[2]
    assert equations.toarray().tolist() == [[-1, 1, 1, 0, 0], [0, 0, -1, 1, 1]]


def test_locate_takes_any_number_of_variables():
    rng = np.random.default_rng(1)
    codes = np.unique(rng.integers(0, 2**20, (500, 9)).astype(np.int32), axis=0)
    mixed = rng.permutation(len(codes))
    assert locate(codes, codes[mixed]).tolist() == mixed.tolist()
    assert locate(codes, codes[:3] + 1).tolist() == [-1, -1, -1]
    assert locate(codes[:0], codes[:2]).tolist() == [-1, -1]


def test_locate_finds_no_line_for_a_code_that_is_none():
    codes = np.array([[0, 2], [1, 0]], np.int32)
    assert locate(codes, np.array([[1, -1], [-1, 2], [1, 0]], np.int32)).tolist() == [-1, -1, 1]


def test_sparse_and_dense_codes_are_found_alike():
    """A list of all numbers up to the largest is used for some, a search for others."""
    chance = np.random.default_rng(3)
    for most in (4, 2**20):
        codes = np.unique(chance.integers(0, most, (200, 3), dtype=np.int32), axis=0)[::-1]
        at = {tuple(line): number for number, line in enumerate(codes.tolist())}
        wanted = np.concatenate([codes[::2], chance.integers(0, most, (50, 3), dtype=np.int32)])
        assert locate(codes, wanted).tolist() == [at.get(tuple(line), -1) for line in wanted.tolist()]
        assert codes[in_order(codes)].tolist() == sorted(codes.tolist())


def test_equations_that_say_the_same_are_held_once():
    """Against a plain comparison of all rows, of which many are equal or negatives of each other."""
    chance = np.random.default_rng(11)
    for _ in range(50):
        rows = chance.integers(-1, 2, (40, 4)).astype(float)
        kept: dict[tuple[float, ...], list[float]] = {}
        for row in rows.tolist():
            lead = next((entry for entry in row if entry), 0.0)
            if lead:
                kept.setdefault(tuple(entry * lead for entry in row), row)
        folded = fold(sparse.csr_array(rows), np.arange(4), 4)
        assert folded.toarray().tolist() == list(kept.values())


def test_a_hundred_thousand_codes_are_quick():
    pairs = [(f"A{i // 400}", f"B{i // 20}") for i in range(0, 100_000, 20)]
    pairs += [(f"B{i // 20}", f"C{i}") for i in range(100_000)]
    start = time.process_time()
    tree = Hierarchy.from_parents(pairs)
    assert len(tree.closure()[0]) == 400_000
    assert tree.depth == 3
    assert len(tree.to_level(2).codes) == 5251
    assert tree.alike[-1] == len(tree.codes) - 1
    with pytest.raises(HierarchyError):
        tree.check_data_codes([f"D{i}" for i in range(1000)])
    assert time.process_time() - start < 4
