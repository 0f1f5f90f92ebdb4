"""JJ files: what is read, what is written, and what is refused with which line."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from discreet.errors import AdditivityError, InputError, ParameterError
from discreet.io.jj import read_jj, write_jj
from discreet.model.contributions import Contributions
from discreet.model.intruder import Intruder
from discreet.model.knowledge import header_total
from discreet.model.table import Table
from discreet.tables.suppress import HypercubeSuppression
from discreet.testing import small_table

FOUR = """0
4
0 60.5 60 s 0 90 0 0 0
1 20 7 u 0 90 2 3 8
2 30.5 30 M 0 90 1 1 0
3 10 0 z 10 10 0 0 0
1
0 4 : 0 (-1) 1 (1) 2 (1) 3 (1)
"""
SECRET = "731904"


def written(folder: Path, text: str, frequencies: str = "") -> Path:
    path = folder / "four.jj"
    path.write_text(text, "latin-1")
    if frequencies:
        (folder / "four.jj.frq").write_text(frequencies, "utf-8")
    return path


class Marked:
    NAME = "marked"

    def sensitive(self, contributions):
        return np.zeros(len(contributions), bool)


def marked(table: Table, **levels) -> Table:
    return marked_at(table, table.cell(v1="A", v2="B"), **levels)


def marked_at(table: Table, cell: int, **levels) -> Table:
    return table.with_primary(Marked(), np.arange(table.cells) == cell, **levels)


def test_every_field_is_read(tmp_path: Path) -> None:
    table = read_jj(written(tmp_path, FOUR, "9 0\n1 0\n5 0\n3 0\n"))
    assert table.value.tolist() == [60.5, 20, 30.5, 10]
    assert table.decimals == 1
    assert table.cost.tolist() == [60, 7, 30, 0]
    assert table.primary.tolist() == [False, True, False, False]
    assert table.secondary.tolist() == [False, False, True, False]
    assert table.frozen.tolist() == [False, False, False, True]
    assert table.lower.tolist() == [0, 0, 0, 10]
    assert table.upper.tolist() == [90, 90, 90, 10]
    assert table.lower_protection.tolist() == [0, 2, 0, 0], "levels count for primary cells only"
    assert table.upper_protection.tolist() == [0, 3, 0, 0]
    assert table.sliding_protection.tolist() == [0, 8, 0, 0]
    assert table.contributions.n.tolist() == [9, 1, 5, 3]
    assert table.equations.toarray().tolist() == [[-1, 1, 1, 1]]
    assert table.label(2) == "cell=2"
    assert table.cell(cell="2") == 2
    assert [group.tolist() for group in table.insiders()] == [[1]]
    assert table.history[-1].counts == {"lines": 4, "relations": 1}


def test_without_frequencies_nobody_is_taken_to_know_a_cell(tmp_path: Path) -> None:
    table = read_jj(written(tmp_path, FOUR))
    assert table.insiders() == ()
    (tmp_path / "other.txt").write_text("9 0\n1 0\n5 0\n3 0\n", "utf-8")
    assert len(read_jj(tmp_path / "four.jj", frequencies=tmp_path / "other.txt").insiders()) == 1


def test_odd_spellings_are_read_alike(tmp_path: Path) -> None:
    plain = read_jj(written(tmp_path, FOUR))
    odd = (
        "\n0\n\n4\n7; 60.5; 60; S; 0; 9e1; 0; 0\n"
        "2\t20\t7\tU\t0\tinf\t2.0\t3\t8\n1 30.5 30 m 0 90 1 1 0\r\n3 10. 0 z 10 10 0 0 0\n"
        "1\n0.0 4 :7 (+1) 2( -1 )\n  1 (-1.0)\n 3(-1)\n\n"
    )
    other = read_jj(written(tmp_path, odd))
    for name in ("value", "cost", "status", "frozen", "lower", "upper_protection", "lower_protection", "sliding_protection"):
        assert getattr(other, name).tolist() == getattr(plain, name).tolist(), name
    assert other.equations.toarray().tolist() == [[-1, 1, 1, 1]], "the total is the cell with a sign of its own"
    assert other.label(0) == "cell=7"
    assert other.bounds()[1].tolist() == [90, np.inf, 90, 10]


def test_a_relation_given_twice_counts_once(tmp_path: Path) -> None:
    text = FOUR.replace("\n1\n0 4", "\n2\n0 4 : 3 (1) 2 (1) 1 (1) 0 (-1)\n0 4")
    assert read_jj(written(tmp_path, text)).equations.shape == (1, 4)


def test_bounds_that_the_value_contradicts_are_left_out_and_counted(tmp_path: Path) -> None:
    table = read_jj(written(tmp_path, FOUR.replace("60.5 60 s 0 90", "60.5 60 s 61 50")))
    low, high = table.bounds()
    assert (low[0], high[0]) == (0, np.inf)
    assert table.history[-1].counts["bounds that the values contradict, left out"] == 1


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (FOUR, "", "ends where the number 0 should stand"),
        ("0\n4\n", "1\n4\n", "line 1 is not the number 0"),
        ("\n4\n", "\nfour\n", "line 2 does not hold the number of cells"),
        ("\n4\n", "\n0\n", "line 2 says that there are no cells"),
        ("\n4\n", "\n5\n", "line 7 has 1 fields"),
        ("\n4\n", "\n3\n", "line 6 does not hold the number of relations"),
        ("1 20 7 u 0 90 2 3 8", "1 20 7 u 0 90 2 3 8 9", "line 4 has 10 fields"),
        ("1 20 7 u", "0 20 7 u", "line 4 has the index of an earlier cell"),
        ("1 20 7 u", "x 20 7 u", "line 4 does not begin with the index of a cell"),
        ("1 20 7 u", "1 20 7 q", "line 4 has an unknown status"),
        ("1 20 7 u", f"1 {SECRET}x 7 u", "line 4 holds no number as value"),
        ("1 20 7 u", "1 inf 7 u", "line 4 holds no number as value"),
        ("1 20 7 u", "1 1,5 7 u", "line 4 holds no number as value"),
        ("1 20 7 u", "1 20 -7 u", "line 4 holds a negative cost"),
        ("0 90 2 3 8", "0 nan 2 3 8", "line 4 holds no number as upper bound"),
        ("0 90 2 3 8", "0 90 2 -3 8", "line 4 holds a negative upper protection level"),
        ("\n1\n0 4", "\n2\n0 4", "ends where a relation should stand"),
        ("\n1\n0 4", "\n0\n0 4", "line 8 stands behind the last relation"),
        ("0 4 : 0", "5 4 : 0", "line 8 is a relation with a constant"),
        ("0 4 : 0", "0 4 0", "line 8 is not a relation"),
        ("0 4 : 0", "0 5 : 0", "ends where the rest of a relation should stand"),
        ("0 4 : 0", "0 3 : 0", "line 8 has more cells than the 3"),
        ("1 (1) 2 (1)", f"1 (1) {SECRET} (1)", "line 8 names a cell that is not there"),
        ("1 (1) 2 (1)", "1 (1) 1 (1)", "line 8 names cell '1' twice"),
        ("1 (1) 2 (1)", "1 (1) 2 (0.5)", "line 8 has a factor other than 1 and -1 at cell '2'"),
        ("1 (1) 2 (1)", "1 (1) and 2 (1)", "line 8 "),
        ("3 (1)\n", "3\n", "line 8 is not a relation from some place on"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_line(tmp_path: Path, old: str, new: str, told: str) -> None:
    assert old in FOUR
    with pytest.raises(InputError, match=r"four\.jj") as refused:
        read_jj(written(tmp_path, FOUR.replace(old, new, 1)))
    assert told in str(refused.value)
    assert SECRET not in str(refused.value)


def test_spanning_variables_are_found(tmp_path: Path) -> None:
    table = small_table([[20, 50, 10], [8, 19, 22]])
    again = read_jj(write_jj(table, tmp_path / "t.jj"), spanning=True)
    assert again.layouts[0].variables == ("v1", "v2")
    first, second = table.cell(v1="A"), table.cell(v2="C")
    inner = table.cell(v1="A", v2="C")
    assert again.label(inner) in (f"v1={first}, v2={second}", f"v1={second}, v2={first}")
    assert HypercubeSuppression().apply(marked_at(again, inner)).secondary.sum() == 3
    alone = FOUR.replace("60.5 60", "50.5 60").replace("0 4 : 0 (-1) 1 (1) 2 (1) 3 (1)", "0 3 : 0 (-1) 1 (1) 2 (1)")
    with pytest.raises(InputError, match="variables that span one table"):
        read_jj(written(tmp_path, alone), spanning=True)
    assert read_jj(tmp_path / "four.jj").equations.shape == (1, 4)


def test_relations_that_do_not_hold(tmp_path: Path) -> None:
    path = written(tmp_path, FOUR.replace("30.5 30 M", "30.4 30 M"))
    with pytest.raises(AdditivityError, match="line 8") as refused:
        read_jj(path)
    assert "30.4" not in str(refused.value)
    slack = read_jj(path, on_nonadditive="slack")
    assert slack.equations.shape == (0, 4)
    assert slack.history[-1].counts["relations given up"] == 1
    with pytest.raises(ParameterError, match="did you mean 'slack'"):
        read_jj(path, on_nonadditive="slak")


def test_residues_of_float_sums_are_no_error(tmp_path: Path) -> None:
    text = "0\n3\n0 0.30000000000000004 1 s 0 9 0 0 0\n1 0.1 1 s 0 9 0 0 0\n2 0.2 1 s 0 9 0 0 0\n1\n0 3 : 0 (-1) 1 (1) 2 (1)\n"
    table = read_jj(written(tmp_path, text))
    assert (table.decimals, table.value[0]) == (1, 0.3)
    thirds = text.replace("0.30000000000000004", "1.0").replace("0.1", repr(1 / 3)).replace("0.2", "0.666666666666666")
    assert read_jj(written(tmp_path, thirds)).equations.shape[0] == 1


@pytest.mark.parametrize(
    ("lines", "told"), [("9 0\n1 0\n", "2 lines for 4 cells"), ("9 0\n1 0\nx 0\n3 0\n", "line 3 does not")]
)
def test_frequencies_that_do_not_fit(tmp_path: Path, lines: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        read_jj(written(tmp_path, FOUR, lines))


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    table = marked(
        small_table([[20, 50, 10], [8, 19.25, 22]], n=[[2, 1, 5], [5, 6, 7]], decimals=2), upper=5, lower=8, sliding=20
    )
    frozen = np.arange(table.cells) == table.cell(v1="A")
    hide = np.arange(table.cells) == table.cell(v1="B", v2="B")
    table = table.replace(frozen=frozen, cost=np.sqrt(table.value)).with_secondary("before", hide)
    again = read_jj(write_jj(table, tmp_path / "t.jj"))
    for name in ("value", "cost", "status", "frozen", "upper_protection", "lower_protection", "sliding_protection"):
        np.testing.assert_array_equal(getattr(again, name), getattr(table, name), err_msg=name)
    np.testing.assert_array_equal(again.contributions.n, table.contributions.n)
    assert again.equations.toarray().tolist() == table.equations.toarray().tolist()
    assert again.decimals == 2
    text = (tmp_path / "t.jj").read_text("utf-8").splitlines()
    assert text[:2] == ["0", "12"]
    assert text[2].split()[1] == "129.25"
    assert text[15].startswith("0 3 : 0 (-1) ")
    write_jj(again, tmp_path / "again.jj")
    assert (tmp_path / "again.jj").read_bytes() == (tmp_path / "t.jj").read_bytes()


def test_a_primary_cell_without_levels_must_not_be_known_exactly(tmp_path: Path) -> None:
    again = read_jj(write_jj(marked(small_table([[20, 50], [8, 19]])), tmp_path / "t.jj"))
    assert again.sliding_protection[again.primary].tolist() == [1]
    assert (again.needs()[2] == marked(small_table([[20, 50], [8, 19]])).needs()[2]).all()


def test_bounds_leave_room_for_every_level(tmp_path: Path) -> None:
    table = marked(small_table([[-5, 50], [8, -70]]), upper=900, lower=700)
    again = read_jj(write_jj(table, tmp_path / "t.jj"))
    low, high = again.bounds()
    assert (high - again.value >= again.upper_protection).all()
    assert (again.value - low >= again.lower_protection).all()
    assert np.isfinite(low).all()
    assert np.isfinite(high).all()
    known = write_jj(table.with_intruder(Intruder(prior=10)), tmp_path / "known.jj")
    assert read_jj(known).bounds()[1][table.cell(v1="A", v2="B")] == pytest.approx(55)


def test_costs_can_be_scaled(tmp_path: Path) -> None:
    table = small_table([[2000, 5000], [0, 900]])
    again = read_jj(write_jj(table, tmp_path / "t.jj", largest_cost=20000))
    assert again.cost.max() == 20000
    assert again.cost.min() == 1
    assert (again.cost == np.round(again.cost)).all()
    with pytest.raises(ParameterError, match="largest_cost"):
        write_jj(table, tmp_path / "t.jj", largest_cost=0)


def test_frequencies_of_an_earlier_file_do_not_stay(tmp_path: Path) -> None:
    table = small_table([[20, 50], [8, 19]])
    write_jj(table, tmp_path / "t.jj")
    assert (tmp_path / "t.jj.frq").read_text("utf-8").startswith("40 0\n")
    nobody = table.replace(contributions=Contributions.of(np.zeros(table.cells), table.value))
    write_jj(nobody, tmp_path / "t.jj")
    assert not (tmp_path / "t.jj.frq").exists()


def test_contributors_are_holdings(tmp_path: Path) -> None:
    table = small_table([[20, 50], [8, 19]])
    held = np.full(table.cells, 2.0)
    table = table.replace(contributions=dataclasses.replace(table.contributions, holdings=held))
    assert read_jj(write_jj(table, tmp_path / "t.jj")).contributions.n.tolist() == held.tolist()


def test_what_a_jj_file_cannot_express_is_refused(tmp_path: Path) -> None:
    table = small_table([[20, 50], [8, 19]], kind="frequency")
    unlisted = table.replace(listed=np.arange(table.cells) > 0)
    shown = table.with_shown("rounded", np.where(np.arange(table.cells) == 4, 20.0, np.nan))
    for other in (unlisted, shown, table.replace(knowledge=(header_total(table),))):
        with pytest.raises(InputError, match="cannot express"):
            write_jj(other, tmp_path / "t.jj")
        assert not (tmp_path / "t.jj").exists()


def test_the_file_of_another_tool(shared: Path, tmp_path: Path) -> None:
    """sdcTable's own example, put together from the columns in which its test shows it; its bounds contradict its values."""
    lines = (shared / "data" / "argus" / "sdctable" / "jjformat.md").read_text("utf-8").split("inp_b")[0].splitlines()
    body = [line.partition(": ")[2].split() for line in lines if line.lstrip()[:1].isdigit() and ": " in line]
    cells = [f"{i} {value} {cost} {' '.join(rest)}" for i, value, _, cost, *rest in (line for line in body if len(line) == 10)]
    relations = ["0 " + " ".join(line[1:]) for line in body if len(line) > 10 or ":" in line]
    text = "\n".join(["0", str(len(cells)), *cells, str(len(relations)), *relations, ""])
    table = read_jj(written(tmp_path, text))
    assert (table.cells, table.equations.shape[0]) == (15, 8)
    assert abs(table.equations @ table.value).max() == 0
    assert table.history[-1].counts["bounds that the values contradict, left out"] == 11
    assert sparse.issparse(table.equations)
