"""P-tables: the noun, its files, and its design by maximum entropy."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from discreet.errors import InputError, ParameterError
from discreet.io.ptables import read_ptable, write_ptable
from discreet.model.ptable import KEYS, PTable
from discreet.tables.perturb.ptable_design import design_counts, design_magnitudes

SMALL = PTable.of([0, 1, 1, 2, 2, 2], [0, -1, 1, -1, 0, 1], [1, 0.5, 0.5, 0.25, 0.5, 0.25])


def key(fraction: float) -> int:
    return int(fraction * KEYS)


# -------------------------------------------------------------------- the noun


def test_looked_up_by_cumulative_probability() -> None:
    assert SMALL.rows.tolist() == [0, 1, 2]
    assert SMALL.at(2, [key(0), key(0.2499), key(0.25), key(0.7499), key(0.75), KEYS - 1]).tolist() == [-1, -1, 0, 0, 1, 1]
    assert SMALL.change_of([0, 1, 1, 2, 900], [KEYS - 1, 0, key(0.5), 0, key(0.8)]).tolist() == [0, -1, 1, -1, 1]


def test_the_moments_of_each_row() -> None:
    assert SMALL.mean.tolist() == [0, 0, 0]
    assert SMALL.variance.tolist() == [0, 1, 0.5]
    assert SMALL.largest == 1
    assert SMALL.probability.tolist() == [1, 0.5, 0.5, 0.25, 0.5, 0.25]


def test_equal_where_the_contents_are(tmp_path: Path) -> None:
    again = PTable.of([1, 0, 1, 2, 2, 2], [-1, 0, 1, -1, 0, 1], [0.5, 1, 0.5, 0.25, 0.5, 0.25], source="elsewhere")
    assert again == SMALL
    assert hash(SMALL) == hash(again)
    assert PTable.of([0, 1, 1], [0, -1, 1], [1, 0.5, 0.5]) != SMALL
    assert SMALL != "a table"
    assert PTable.of_keys([[0, 1]]) != PTable.of_keys([[0, 1], [0, 1]], repeat=2)
    assert "0.25" not in repr(SMALL)


def test_it_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        SMALL.change[0] = 5


@pytest.mark.parametrize(
    ("row", "change", "probability", "message"),
    [
        ([1, 1], [-1, 1], [0.5, 0.4], "row 1 end at 0.9 and not at 1"),
        ([1, 1, 1], [-1, 0, 1], [0.7, -0.2, 0.5], r"line 2 \(row 1, change 0\): its keys end before"),
        ([1, 1], [-2, 2], [0.5, 0.5], r"line 1 \(row 1, change -2\): the change leads below 0"),
        ([-1], [1], [1], "the true count is negative"),
        ([1, 1], [-1, np.nan], [0.5, 0.5], "a number is missing"),
        ([], [], [], "empty"),
        ([1], [0], [1.5], r"its keys end outside \[0, 1\]"),
    ],
)
def test_tables_that_are_none(row: list[float], change: list[float], probability: list[float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        PTable.of(row, change, probability)


def test_rows_in_disorder_and_bad_repeats() -> None:
    with pytest.raises(InputError, match="not in order"):
        PTable(row=[2, 1], change=[0, 0], upper=[1, 1], blocks=["all", "all"])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="repeats its last 3 rows and has 2"):
        PTable.of_keys([[0, 0], [0, 0]], repeat=3)
    with pytest.raises(InputError, match="no matrix"):
        PTable.of_keys([1, 2])


def test_blocks_of_magnitudes() -> None:
    even, odd = PTable.of([1, 1], [-0.5, 0.5], [0.5, 0.5]), PTable.of([1, 1], [-1, 1], [0.5, 0.5])
    both = PTable.joined({"even": even, "odd": odd})
    assert both.names == ("even", "odd")
    assert both.block("odd").change.tolist() == [-1, 1]
    assert both.block("even").at(0, [0, KEYS - 1]).tolist() == [-0.5, 0.5]
    with pytest.raises(InputError, match="no block 'all'"):
        both.block("all")
    with pytest.raises(InputError, match="several blocks"):
        _ = both.rows
    with pytest.raises(InputError, match="cannot be block 'x'"):
        PTable.joined({"x": both})
    with pytest.raises(InputError, match="not made for counts"):
        even.change_of([1], [0])


def test_whole_keys_repeat_their_last_rows() -> None:
    table = PTable.of_keys([[0, 1], [-1, 2], [3, 3]], repeat=2)
    assert len(table.row) == 5, "neighbouring keys with the same change share a line"
    assert table.change_of([1, 2, 3, 4, 5, 6], 1).tolist() == [1, 2, 3, 2, 3, 2]
    assert table.change_of([0, 2, 2], [1, 6, 7]).tolist() == [0, -1, 2], "keys count modulo 2, and 0 has no row"
    assert table.variance.tolist() == [0.25, 2.25, 0]


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize(
    "table",
    [
        design_counts(3, 2.0, blocked=1),
        PTable.of_keys([[0, 1, 0], [-1, 2, 0], [3, 3, 0], [0, 0, 2]], repeat=3),
        PTable.of_keys([[1, 2, 1], [-1, -1, 0], [0, 1, -2]], first=0, repeat=2),
    ],
)
def test_what_a_reader_can_tell(table: PTable, zeros: bool) -> None:
    """Against every count and every line of the table."""
    seen: dict[int, list[tuple[int, float]]] = {}
    for count in range(80):
        row = int(table.row_of(count))
        still = row < 0 or (count == 0 and not zeros)
        changes = [0.0] if still else table.change[table.row == table.rows[row]].tolist()
        for change in [0.0, *changes] if count == 0 else changes:
            seen.setdefault(int(count + change), []).append((count, 0.0 if still else float(table.variance[row])))
    for shown in range(60):
        if shown in seen:
            counts, variances = zip(*seen[shown], strict=True)
            low, high, error = table.reading(shown, zeros=zeros)
            assert (low, high) == (min(counts), max(counts))
            assert error == pytest.approx(np.sqrt(max(variances)))


def test_readings_of_large_counts_are_quick_and_right() -> None:
    low, high, error = design_counts(5, 3.0).reading([10**9])
    assert (low.item(), high.item()) == (10**9 - 5, 10**9 + 5)
    assert error.item() == pytest.approx(np.sqrt(3))


# -------------------------------------------------------------------- files


def test_written_and_read_again(tmp_path: Path) -> None:
    tables = [
        SMALL,
        design_counts(4, 2.0, blocked=2),
        PTable.joined({"even": design_magnitudes(2, 1.0, 4, (1, 2)), "odd": design_magnitudes(3, 1.0, 2, (1, 3))}),
        PTable.of_keys([[0, 1, 1], [-1, 0, 1]]),
    ]
    for table in tables:
        path = write_ptable(table, tmp_path / "table.csv")
        again = read_ptable(path)
        assert again == table
        assert again.source == str(path)
        assert read_ptable(pd.read_csv(path)) == table
        assert read_ptable(pl.read_csv(path)) == table
        assert read_ptable(pl.read_csv(path).to_dict(as_series=False)).source is None
    repeated = PTable.of_keys([[0, 1], [-1, 2]], repeat=2)
    assert read_ptable(write_ptable(repeated, tmp_path / "table.csv"), repeat=2) == repeated


def test_other_spellings(tmp_path: Path) -> None:
    argus = tmp_path / "argus.txt"
    argus.write_text("i;j;p_ij;v;p_ij_ub\n0;0;1;0;1\n1;0;0,5;-1;0,5\n1;2;5.0E-01;1;1\n")
    bare = {"i": [0, 1, 1], "v": [0, -1, 1], "p": [1.0, 0.5, 0.5]}
    named = tmp_path / "named.csv"
    named.write_text('"","i","v","p_int_ub","type"\n"1",0,0,1,"all"\n"2",1,1,1,"all"\n"3",1,-1,0.5,"all"\n')
    expected = PTable.of([0, 1, 1], [0, -1, 1], [1, 0.5, 0.5])
    assert read_ptable(argus) == read_ptable(bare) == read_ptable(named) == expected


def test_a_matrix_of_keys_by_counts(tmp_path: Path) -> None:
    """One line a key; a count c in the tail looks at the (c mod SmallN)-th of the last SmallN columns."""
    chance = np.random.default_rng(3)
    matrix = chance.integers(-1, 3, (8, 10))
    path = tmp_path / "matrix.csv"
    path.write_text("\n".join(",".join(map(str, line)) for line in matrix))
    table = read_ptable(path, repeat=4)
    for count in range(1, 40):
        column = count if count <= 6 else 7 + count % 4
        for cell_key in range(8, 16):
            assert table.change_of(count, cell_key) == matrix[cell_key % 8, column - 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "is no p-table: its columns are 'a', 'b'"),
        ("i,v\n1,2\n", "neither probabilities nor their bounds"),
        ("i,p_int_ub\n1,1\n", "no column 'v'"),
        ("i,v,p_int_ub\n1,x,1\n", "line 1 below the header: v is no number"),
        ("i,j,v,p_int_ub\n1,3,1,1\n", "line 1 below the header: j is not i . v"),
        ("i,v,p,p_int_ub\n1,0,.5,.6\n1,0,.4,1\n", "line 1 below the header: p is not the length"),
        ("i,v,p_int_ub\n1,0,.6\n", "row 1 end at 0.6"),
        ("pcv,ckey,pvalue\n1,0,0\n1,1,0\n2,1,0\n", "no line for count 2 and key 0"),
        ("pcv,ckey,pvalue\n1,0,0\n1,0,1\n", "several lines for count 1 and key 0"),
        ("pcv,ckey,pvalue\n1,0,0\n9,9,1\n", "2 lines for 9 counts and 10 keys"),
        ("pcv,ckey,pvalue\n1,0.5,0\n", "ckey is no whole number"),
        ("0,1\n0,x\n", "line 2 does not hold 2 whole numbers"),
        ("0,-1\n0,1\n0,2\n", "leads below 0|row 2"),
    ],
)
def test_files_that_are_none(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text(text)
    if text.startswith("0,-1"):
        assert read_ptable(path).rows.tolist() == [1, 2]
        path.write_text("-2,1\n0,1\n")
    with pytest.raises(InputError, match=message if not text.startswith("0,-1") else "leads below 0"):
        read_ptable(path)


def test_repeats_that_cannot_be(tmp_path: Path) -> None:
    path = write_ptable(SMALL, tmp_path / "table.csv")
    with pytest.raises(InputError, match="repeats its last row"):
        read_ptable(path, repeat=2)
    path.write_text("0,1\n0,1\n")
    with pytest.raises(InputError, match="cannot repeat 3 of its 2 columns"):
        read_ptable(path, repeat=3)


# -------------------------------------------------------------------- design


@pytest.mark.parametrize("blocked", [0, 1, 3])
@pytest.mark.parametrize("largest", [2, 4, 9])
@pytest.mark.parametrize("variance", [0.3, 2.5, 30.0])
def test_every_row_keeps_its_constraints(largest: int, variance: float, blocked: int) -> None:
    if largest <= blocked or variance < blocked:
        with pytest.raises(ParameterError, match=r"row 1 .*(variances from|has mean 0)"):
            design_counts(largest, variance, blocked=blocked, stay=0.2)
        return
    table = design_counts(largest, variance, blocked=blocked, stay=0.2)
    assert table.for_counts
    assert np.abs(table.mean).max() < 1e-9
    assert (table.variance <= variance + 1e-9).all()
    assert table.largest <= largest
    target = table.row + table.change
    assert not ((target >= 1) & (target <= blocked)).any()
    assert (table.probability[(table.change == 0) & (table.row > blocked)] >= 0.2 - 1e-9).all()
    for row in table.rows:
        left = table.probability[(table.row == row) & (table.change <= 0)]
        assert (np.diff(left) >= -1e-9).all()
    symmetric = table.probability[table.row == table.rows[-1]]
    np.testing.assert_allclose(symmetric, symmetric[::-1], atol=1e-9)


def test_an_exact_variance_is_met() -> None:
    table = design_counts(4, 1.5, exact=True, monotone=False)
    np.testing.assert_allclose(table.variance[1:], 1.5, atol=1e-9)


def test_no_distribution_near_it_has_more_entropy() -> None:
    table = design_counts(3, 1.4, blocked=1)
    for row in (1, 3, 5):
        p, v = table.probability[table.row == row], table.change[table.row == row]
        fixed = np.linalg.svd(np.stack([np.ones(len(v)), v, v**2]))[2][3:]
        chance = np.random.default_rng(1)
        for direction in chance.normal(size=(50, len(fixed))) @ fixed if len(fixed) else ():
            step = 1e-4 * direction / np.abs(direction).max()
            other = p + np.minimum(step, 0.5 * p).clip(-0.5 * p)
            left = other[v <= 0]
            if abs(other.sum() - 1) < 1e-12 and abs(other @ v) < 1e-12 and (np.diff(left) >= 0).all():
                assert -(other @ np.log(other)) <= -(p @ np.log(p)) + 1e-12


@pytest.mark.parametrize(
    ("settings", "row", "message"),
    [
        ({"largest": 3, "variance": 2.0, "blocked": 2, "exact": True}, "row 4", "-1, 0, 1, 2, 3.* variances from 0 to 1.71429"),
        ({"largest": 3, "variance": 1.9, "blocked": 2}, "row 1", "-1, 2, 3 with mean 0 have variances from 2 to 3"),
        ({"largest": 2, "variance": 1.0, "blocked": 3}, "row 1", "changes -1 has mean 0"),
        ({"largest": 5, "variance": 3.0, "stay": 0.9, "exact": True}, "row 1", "stay as often as asked"),
    ],
)
def test_what_cannot_be_is_explained(settings: dict[str, float], row: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message) as caught:
        design_counts(**settings)  # type: ignore[arg-type]
    assert caught.value.where.startswith(row)


def test_the_least_variance_that_can_be() -> None:
    """Row 1 of D = 3, js = 2 and V = 2 has one distribution only: v = −1 and 2, never 3."""
    table = design_counts(3, 2.0, blocked=2)
    np.testing.assert_allclose(table.probability[table.row == 1], [2 / 3, 1 / 3, 0], atol=1e-7)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: design_counts(0, 1.0), "largest"),
        (lambda: design_counts(2, 0.0), "variance"),
        (lambda: design_counts(2, 1.0, stay=1.0), "stay"),
        (lambda: design_counts(2, 1.0, blocked=-1), "blocked"),
        (lambda: design_counts(2, 1.0, monotone=(True,)), "monotone"),
        (lambda: design_magnitudes(2, 1.0, 0, (1,)), "steps"),
        (lambda: design_magnitudes(2, 1.0, 2, ()), "anchors"),
        (lambda: design_magnitudes(2, 1.0, 2, (2, 1)), "anchors"),
        (lambda: design_magnitudes(2, 1.0, 2, (0.3,)), "anchors"),
    ],
)
def test_parameters_of_a_design(call: object, name: str) -> None:
    with pytest.raises(ParameterError) as caught:
        call()  # type: ignore[operator]
    assert caught.value.where == name
