"""Code trees from files, frames, lists and dicts: what is read, byte for byte, and what is refused."""

from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discreet.errors import HierarchyError, InputError, ParameterError
from discreet.io.hierarchies import read_hierarchy, read_labels, read_levels, read_pairs, read_prefixes, read_tree
from discreet.model.hierarchy import Hierarchy

ODD = ["01.1", "Nuenen, Gerwen", "Zürich", "A;B", '"q"', "  pad", ".lead", "Décembre", "🙂", "x ", "é\u0301", "00"]


def write(folder: Path, text: str | bytes, name: str = "codes.hrc") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def edges(tree: Hierarchy) -> dict[str, str]:
    return {code: tree.codes[up] for code, up in zip(tree.codes, tree.trees[0], strict=True) if up >= 0}


# -------------------------------------------------------------------- lead strings and indentation


def test_lead_strings(tmp_path):
    tree = read_hierarchy(write(tmp_path, "A\n@A1\n@@A11\n@A2\nB\n@B1"))
    assert edges(tree) == {"A": "Total", "A1": "A", "A11": "A1", "A2": "A", "B": "Total", "B1": "B"}


def test_padded_codes_of_a_real_file(shared):
    tree = read_hierarchy(shared / "data/argus/samples/region2.hrc", labels=shared / "data/argus/samples/region.cdl")
    assert tree.codes[1:8] == ("Nr", " 1", " 2", " 3", "Os ", " 4", " 5")
    assert tree.labels[" 1"] == "Groningen"
    assert len(tree.leaves) == 12


def test_line_ends_do_not_belong_to_codes(shared):
    argus = shared / "data/argus"
    windows = read_hierarchy(argus / "golden/Simple2D_InputData/region2.hrc")
    assert windows.codes[1:5] == ("Nr", " 1", " 2", " 3")
    doubled = read_hierarchy(argus / "golden/Batch/ex2/hier_region_ex2.hrc")
    assert doubled.codes == ("Total", "A", "B", "C", "D")
    padded = argus / "golden/Batch/ex2/hier_gender_ex2.hrc"
    with pytest.raises(HierarchyError, match=r"first line lies below the first level.*\n.*lead = '@'"):
        read_hierarchy(padded)
    assert read_hierarchy(padded, lead="@").codes == ("Total", "  male", "female")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\r\r\n"])
def test_all_line_ends(tmp_path, end):
    assert read_tree(write(tmp_path, end.join(["A", "@A1", "", "@A2 ", ""]))).codes == ("Total", "A", "A1", "A2 ")


def test_odd_codes_byte_for_byte(tmp_path):
    path = write(
        tmp_path, "\n".join(f"top\n{code}" if not i else code for i, code in enumerate(f"->{code}" for code in [*ODD, "@x"]))
    )
    tree = read_tree(path, lead="->")
    assert list(tree.codes[2:]) == [*ODD, "@x"]


@pytest.mark.parametrize("step", ["  ", "\t", "    ", " "])
def test_indentation_is_found(tmp_path, step):
    tree = read_hierarchy(write(tmp_path, f"A\n{step}A1\n{step * 2}A11 x\n{step}A2\nB\n"))
    assert edges(tree) == {"A": "Total", "A1": "A", "A11 x": "A1", "A2": "A", "B": "Total"}


def test_a_listed_total_is_the_total(tmp_path):
    path = write(tmp_path, "All\n@A\n@@A1\n@B")
    assert edges(read_hierarchy(path, total="All")) == {"A": "All", "A1": "A", "B": "All"}
    assert edges(read_hierarchy(path))["All"] == "Total"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A\n@@A11", "line 2 lies 2 levels deeper .code 'A11'.: a level is left out"),
        ("@A", "first line lies below the first level"),
        ("A\n\n@A1\nB\n@A1", "code 'A1' stands on line 3 and on line 5"),
        ("A\n@A", "code 'A' stands on line 1 and on line 2"),
        ("A\n@@", "line 2 has lead strings but no code"),
        ("A\n  B\n   C", "line 3 is indented by a part of a level"),
        ("A\n\tB\n  C", "line 3 is indented by a part of a level"),
        ("", "holds no codes"),
        ("\n \n\r\n", "holds no codes"),
        ("A\nTotal", "code 'Total' is the total and also part of 'Total'"),
    ],
)
def test_broken_files(tmp_path, text, words):
    with pytest.raises(HierarchyError, match=words) as caught:
        read_hierarchy(write(tmp_path, text))
    assert caught.value.where == "codes.hrc"
    assert str(tmp_path) not in str(caught.value)


def test_even(tmp_path):
    path = write(tmp_path, "A\n@A1\nB")
    assert read_hierarchy(path).depth == 2
    with pytest.raises(HierarchyError, match="declared even: 'B'"):
        read_hierarchy(path, even=True)


# -------------------------------------------------------------------- encodings


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks(tmp_path, encoding):
    assert read_tree(write(tmp_path, "Zürich\n@é".encode(encoding))).codes == ("Total", "Zürich", "é")


def test_other_encodings_are_named(tmp_path):
    latin = write(tmp_path, "A\nZürich".encode("latin-1"))
    with pytest.raises(InputError, match=r"codes.hrc: line 2 is not utf-8 text\n.*encoding = 'latin-1'"):
        read_tree(latin)
    assert read_tree(latin, encoding="latin-1").codes[2] == "Zürich"
    windows = write(tmp_path, "A\nO’Neill".encode("cp1252"))
    with pytest.raises(InputError, match="encoding = 'cp1252'"):
        read_tree(windows)
    assert read_tree(windows, encoding="cp1252").codes[2] == "O’Neill"
    with pytest.raises(InputError, match="there is no encoding 'utf-88'"):
        read_tree(windows, encoding="utf-88")
    with pytest.raises(InputError, match="utf-16"):
        read_tree(write(tmp_path, "A\nB".encode("utf-16-le")))


def test_a_missing_file_with_a_near_name(tmp_path):
    write(tmp_path, "A", "nace.hrc")
    with pytest.raises(InputError, match=r"no such file \(did you mean 'nace.hrc'\?\)"):
        read_tree(tmp_path / "nace.hcr")


# -------------------------------------------------------------------- pairs


PAIRS = {"parent": ["", "A", "A", "A1"], "child": ["A", "A1", "A2", "A11"], "label": ["one", "two", "three", "four"]}


def test_pairs_from_csv_and_frames(tmp_path):
    lines = ["parent;child;label", *(";".join(line) for line in zip(*PAIRS.values(), strict=True)), ';"x;""y"" ";z']
    wanted = {"A": "Total", "A1": "A", "A2": "A", "A11": "A1", 'x;"y" ': "Total"}
    from_file = read_hierarchy(write(tmp_path, "\n".join(lines), "nace.csv"), label="label")
    assert edges(from_file) == wanted
    assert from_file.labels["A1"] == "two"
    longer = {name: [*column, end] for (name, column), end in zip(PAIRS.items(), ["", 'x;"y" ', "z"], strict=True)}
    for frame in (pd.DataFrame(longer), pl.DataFrame(longer), pa.table(longer), pl.LazyFrame(longer)):
        tree = read_hierarchy(frame, label="label")
        assert edges(tree) == wanted
        assert tree.labels == from_file.labels


def test_the_one_code_at_the_top_is_the_total():
    with_root = {"parent": [None, "EU", "EU", "FR"], "child": ["EU", "FR", "DE", "FR1"]}
    wanted = {"FR": "EU", "DE": "EU", "FR1": "FR"}
    assert edges(read_hierarchy(pl.DataFrame(with_root))) == wanted
    assert edges(read_pairs({key: column[1:] for key, column in with_root.items()})) == wanted
    assert edges(read_pairs(with_root, total="EU")) == wanted
    assert edges(read_pairs(with_root, total="World"))["EU"] == "World"
    assert edges(read_pairs({"parent": ["A", "B"], "child": ["A1", "B1"]}))["A"] == "Total"


def test_integer_codes_become_text():
    pandas_floats = pd.DataFrame({"parent": [float("nan"), 1, 1], "child": [1, 11, 12]})
    assert edges(read_hierarchy(pandas_floats)) == {"11": "1", "12": "1"}
    assert edges(read_hierarchy(pd.DataFrame({"a": [1, 1, 2], "b": [10, 11, 20]}))) == {
        "1": "Total", "10": "1", "11": "1", "2": "Total", "20": "2",
    }  # fmt: skip
    assert read_hierarchy({1: [11, 12], 2: None}).codes == ("Total", "1", "11", "12", "2")
    assert read_hierarchy(range(3)).codes == ("Total", "0", "1", "2")
    with pytest.raises(InputError, match="broken number"):
        read_hierarchy(pd.DataFrame({"a": [1.5]}))


def test_broken_pairs(tmp_path):
    for lines, words in (
        ("parent,child\nA,B\nB,A", "round in a circle"),
        ("parent,child\nA,B\nC,B", "stands under 'A' and under 'C'"),
        ("parent,child\nA,", "row 1 has no child"),
        ("parent,child", "holds no lines below its header"),
        ("parent,child\nA,B,C", "line 2 has 3 fields where there are 2 columns"),
        ("parent,parent\nA,B", "'parent' stands twice in the header"),
        ("parent,\nA,B", "column 2 has no name"),
        ("", "is empty"),
    ):
        with pytest.raises(InputError, match=words):
            read_hierarchy(write(tmp_path, lines, "bad.csv"), parent="parent", child="child")
    with pytest.raises(InputError, match=r"no column 'kid' for the children"):
        read_pairs({"parent": ["A"], "child": ["B"]}, child="kid")


# -------------------------------------------------------------------- levels, prefixes, dicts, lists


def test_level_columns(shared):
    tree = read_hierarchy(shared / "data/argus/linked_business/activity_corr_table.csv")
    assert edges(tree)["06"] == "B"
    assert edges(tree)["B"] == "BE"
    assert edges(tree)["X"] == "AZ"
    assert len(tree.leaves) == 92
    with pytest.raises(HierarchyError, match="declared even: 'X'"):
        read_levels(shared / "data/argus/linked_business/activity_corr_table.csv", even=True)


def test_level_columns_of_frames():
    frame = pl.DataFrame({"id": [7, 8, 9], "coarse": ["B", "A", "A"], "fine": ["b", "a2", "a1"]})
    tree = read_hierarchy(frame, columns=["coarse", "fine"], total="All", labels={"A": "Alpha"})
    assert tree.codes == ("All", "A", "a1", "a2", "B", "b")
    assert tree.labels == {"A": "Alpha"}
    with pytest.raises(HierarchyError, match="'a1' stands under 'A' and under 'B'"):
        read_levels(pl.DataFrame({"coarse": ["A", "B"], "fine": ["a1", "a1"]}))
    with pytest.raises(ParameterError, match="names no level column"):
        read_levels(frame, columns=[])
    with pytest.raises(InputError, match=r"no column 'corse' for a level \(did you mean 'coarse'\?\)"):
        read_levels(frame, columns=["corse"])


def test_nested_dicts():
    tree = read_hierarchy({"A": {"A1": {}, "A2": None, "A3": ["A31", {"A32": ["A321"]}]}, "B": ["B1"]})
    assert edges(tree) == {
        "A": "Total", "A1": "A", "A2": "A", "A3": "A", "A31": "A3", "A32": "A3", "A321": "A32", "B": "Total", "B1": "B",
    }  # fmt: skip
    assert read_hierarchy({"All": {"A": None, "B": None}}, total="All").codes == ("All", "A", "B")
    with pytest.raises(HierarchyError, match="below 'A' stands a str"):
        read_hierarchy({"A": "label"})
    with pytest.raises(HierarchyError, match="code 'x' stands under 'A' and under 'B'"):
        read_hierarchy({"A": ["x"], "B": ["x"]})
    with pytest.raises(HierarchyError, match="holds no codes"):
        read_hierarchy({})


def test_prefixes_and_lists():
    tree = read_hierarchy([111, "112", "211"], prefix_lengths=(1, 2), even=True)
    assert tree.codes == ("Total", "1", "11", "111", "112", "2", "21", "211")
    assert read_prefixes(["é1", "é2"], [1]).codes == ("Total", "é", "é1", "é2")
    with pytest.raises(HierarchyError, match="declared even: '3'"):
        read_hierarchy(["111", "3"], prefix_lengths=(1, 2), even=True)
    assert read_hierarchy(ODD).codes[1:] == tuple(ODD)
    with pytest.raises(HierarchyError, match="stands twice under 'Total'"):
        read_hierarchy(["a", "a"])


def test_groupings_everywhere(tmp_path):
    groupings = [{"G": ["A1", "B1"]}]
    for source, options in (
        (write(tmp_path, "A\n@A1\nB\n@B1"), {}),
        ({"A": ["A1"], "B": ["B1"]}, {}),
        (["A1", "B1"], {"prefix_lengths": [1]}),
        (pl.DataFrame({"a": ["A", "B"], "b": ["A1", "B1"]}), {}),
        (pl.DataFrame({"parent": ["A", "B"], "child": ["A1", "B1"]}), {}),
    ):
        tree = read_hierarchy(source, groupings=groupings, **options)
        assert tree.codes == ("Total", "A", "A1", "B", "B1", "G")
        assert tree.trees[1].tolist() == [-1, -1, 5, -1, 5, -1]


def test_options_that_cannot_be_used_are_refused(tmp_path):
    path = write(tmp_path, "A")
    for source, options in (
        ({"A": None}, {"lead": "@"}),
        (["A"], {"delimiter": ","}),
        (["A"], {"prefix_lengths": [1], "lead": "@"}),
        (path, {"delimiter": ","}),
        (pl.DataFrame({"a": ["A"]}), {"lead": "@"}),
        (pl.DataFrame({"parent": ["A"], "child": ["b"]}), {"prefix_lengths": [1]}),
    ):
        with pytest.raises(ParameterError, match="cannot be used with"):
            read_hierarchy(source, **options)
    with pytest.raises(InputError, match="an encoding can be given for a file only"):
        read_hierarchy(pl.DataFrame({"a": ["A"]}), encoding="utf-8")
    with pytest.raises(ParameterError, match="lead string is empty"):
        read_hierarchy(path, lead="")
    with pytest.raises(InputError, match="cannot read a int"):
        read_hierarchy(7)


def test_labels(tmp_path):
    assert read_labels(write(tmp_path, " 1,Gro, ningen\r\n\r\nA,\r\n", "r.cdl")) == {" 1": "Gro, ningen", "A": ""}
    assert read_labels(write(tmp_path, 'code,label\n"a,b","x, y"\n', "r.csv")) == {"a,b": "x, y"}
    with pytest.raises(InputError, match="line 2 has no comma"):
        read_labels(write(tmp_path, "a,b\nc", "r.cdl"))
    assert read_hierarchy({1: None}, labels={1: "one"}).labels == {"1": "one"}
