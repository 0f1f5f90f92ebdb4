"""The cell key method for counts."""

import dataclasses
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from discreet.errors import InputError, ParameterError
from discreet.io.microdata import read_microdata
from discreet.model.hierarchy import Hierarchy
from discreet.model.keys import Secret
from discreet.model.ptable import KEYS, PTable
from discreet.model.table import Table
from discreet.model.tabulate import tabulate
from discreet.tables.perturb.cell_key import CellKey
from discreet.testing import small_table

METHOD = CellKey(largest=4, variance=2.0, blocked=1)
MOVES_ZEROS = PTable.of([0, 0, 1, 1], [0, 2, -1, 1], [0.5, 0.5, 0.5, 0.5])


def keyed(counts: Any, seed: int = 1, **fields: Any) -> Table:
    table = small_table(np.asarray(counts, float), kind="frequency", **fields)
    held = table.contributions
    key = np.where(held.n > 0, np.random.default_rng(seed).integers(1, KEYS, table.cells), 0)
    return table.replace(contributions=dataclasses.replace(held, key=key))


def records(frame: Any, **roles: Any) -> Table:
    return tabulate(read_microdata(frame, record_key="key", **roles), spanning=["group"])


# -------------------------------------------------------------------- what it does


def test_every_count_changes_as_the_p_table_says() -> None:
    table = keyed(np.random.default_rng(2).integers(0, 12, (5, 6)))
    after = METHOD.apply(table)
    ptable = PTable.of(*_lines(METHOD))
    for cell in range(table.cells):
        change = ptable.change_of(table.value[cell], table.contributions.key[cell]) if table.value[cell] else 0
        assert after.shown[cell] == table.value[cell] + change
    assert (after.shown >= 0).all()
    assert not (after.shown == 1).any()
    assert (after.shown[table.value == 0] == 0).all()
    assert (after.shown != table.value).any()


def _lines(method: CellKey) -> tuple[Any, Any, Any]:
    made = method._table
    return made.row, made.change, made.probability


def test_the_bounds_hold_and_the_error_tells_no_more_than_the_number() -> None:
    for seed in range(20):
        table = keyed(np.random.default_rng(seed).integers(0, 12, (5, 6)), seed)
        after = METHOD.apply(table)
        assert (after.shown_low <= table.value).all()
        assert (after.shown_high >= table.value).all()
        assert (after.shown_low >= 0).all()
        assert (after.shown_high - after.shown_low > 0).all(), "no number is certain"
        for number in np.unique(after.shown):
            same = after.shown == number
            for told in (after.shown_low, after.shown_high, after.shown_error):
                assert len(np.unique(told[same])) == 1


def test_noise_has_mean_0_and_the_variance_asked_for() -> None:
    table = keyed(np.full((100, 100), 9))
    after = METHOD.apply(table)
    inner = table.value == 9
    noise = (after.shown - table.value)[inner]
    assert abs(noise.mean()) < 5 * np.sqrt(2 / 1e4)
    assert noise.var() == pytest.approx(2, rel=0.05)
    assert after.shown_error[inner] == pytest.approx(np.sqrt(2))


# -------------------------------------------------------------------- keys (N01, N05)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_cell_keys_are_sums_of_record_keys_modulo_1(frame: Any) -> None:
    """N05."""
    given = {"group": ["a", "a", "b", "b"], "other": ["x"] * 4, "key": [0.11, 0.52, 0.93, 0.27]}
    table = records(frame(given))
    fraction = {code: table.contributions.key[table.cell(group=code)] / KEYS for code in ("a", "b")}
    assert fraction == {"a": pytest.approx(0.63, abs=1e-8), "b": pytest.approx(0.20, abs=1e-8)}
    assert table.contributions.key[table.cell()] / KEYS == pytest.approx(0.83, abs=1e-8)
    order = [2, 0, 3, 1]
    shuffled = records(frame({name: [column[i] for i in order] for name, column in given.items()}))
    np.testing.assert_array_equal(METHOD.apply(shuffled).shown, METHOD.apply(table).shown)


def test_the_same_records_carry_the_same_noise_in_any_table() -> None:
    chance = np.random.default_rng(4)
    frame = pd.DataFrame({"id": range(300), "a": chance.choice(["p", "q", "r"], 300), "b": chance.choice(["x", "y"], 300)})
    secret = Secret("a secret of more than sixteen characters")
    data = read_microdata(frame, unit="id")
    both = METHOD.apply(tabulate(data, spanning=["a", "b"], secret=secret))
    one = METHOD.apply(tabulate(data, spanning=["b"], secret=secret))
    filtered = METHOD.apply(tabulate(data, spanning=["a"], where={"b": ["x"]}, secret=secret))
    for code in ("x", "y"):
        assert one.shown[one.cell(b=code)] == both.shown[both.cell(b=code)]
    for code in ("p", "q", "r"):
        assert filtered.shown[filtered.cell(a=code)] == both.shown[both.cell(a=code, b="x")]
    assert filtered.shown[filtered.cell()] == one.shown[one.cell(b="x")]


def test_whole_record_keys_are_not_taken_for_fractions() -> None:
    """N01: as fractions they would all be 0, and every cell would change in the same way."""
    chance = np.random.default_rng(6)
    frame = pd.DataFrame({"group": chance.choice(list("abcdef"), 40), "key": chance.integers(0, 256, 40)})
    table = records(frame)
    with pytest.raises(InputError, match="small whole numbers"):
        METHOD.apply(table)
    whole = PTable.of_keys(np.tile(np.arange(256) % 3 - 1, (20, 1)), repeat=10)
    after = CellKey(ptable=whole).apply(table)
    for code in "abcdef":
        inside = frame[frame.group == code]
        key = int(inside.key.sum()) % 256
        assert after.shown[after.cell(group=code)] == len(inside) + key % 3 - 1


def test_few_small_keys_may_be_chance() -> None:
    table = keyed([[1, 0], [0, 0]])
    held = table.contributions
    lucky = table.replace(contributions=dataclasses.replace(held, key=np.where(held.n > 0, 7, 0)))
    assert METHOD.apply(lucky).perturbed.all()


def test_numbers_of_keys_that_do_not_divide_2_32() -> None:
    ptable = PTable.of_keys(np.zeros((5, 100)) + np.arange(100) % 2)
    frame = pd.DataFrame({"group": ["a", "a", "b"], "key": [99, 98, 3]})
    after = CellKey(ptable=ptable).apply(records(frame))
    assert after.shown[after.cell(group="a")] == 2 + 197 % 100 % 2
    with pytest.raises(InputError, match="100 keys"):
        CellKey(ptable=ptable).apply(keyed([[3, 4], [5, 6]]))


def test_refuses_tables_without_keys_and_magnitudes() -> None:
    with pytest.raises(InputError, match="needs record keys"):
        METHOD.apply(small_table([[1, 2], [3, 4]], kind="frequency"))
    with pytest.raises(InputError, match="is for counts"):
        METHOD.apply(small_table([[1, 2], [3, 4]]))


def test_counts_without_contributors_are_refused() -> None:
    table = keyed([[3, 4], [5, 6]])
    held = dataclasses.replace(table.contributions, n=np.zeros(table.cells), unweighted=np.zeros(table.cells))
    with pytest.raises(InputError, match="no contributors"):
        METHOD.apply(table.replace(contributions=held))


# -------------------------------------------------------------------- weights


def test_weighted_counts_keep_their_mean_weight() -> None:
    chance = np.random.default_rng(8)
    frame = pd.DataFrame(
        {"group": chance.choice(["a", "b", "c"], 60), "key": chance.random(60), "w": chance.choice([1.5, 2.5, 10.0], 60)}
    )
    weighted, plain = METHOD.apply(records(frame, weight="w")), METHOD.apply(records(frame))
    mean = weighted.value / plain.value
    np.testing.assert_allclose(weighted.shown, plain.shown * mean)
    np.testing.assert_allclose(weighted.shown_error, plain.shown_error * mean)
    assert np.isinf(weighted.shown_low).all()
    assert np.isinf(weighted.shown_high).all()


def test_a_shadow_does_not_become_the_count() -> None:
    table = keyed([[3, 4], [5, 6]])
    held = table.contributions
    shadow = dataclasses.replace(held, total=held.total * 50, unweighted=held.total * 50)
    np.testing.assert_array_equal(METHOD.apply(table.replace(contributions=shadow)).shown, METHOD.apply(table).shown)


# -------------------------------------------------------------------- zeros (N07)


def test_zeros_change_only_where_somebody_has_each_code() -> None:
    counts = np.random.default_rng(9).integers(0, 2, (12, 12)).astype(float)
    counts[3] = 0
    table = keyed(counts)
    kept = CellKey(ptable=MOVES_ZEROS).apply(table)
    assert (kept.shown[table.value == 0] == 0).all()
    after = CellKey(ptable=MOVES_ZEROS, zeros="perturb").apply(table)
    nobody = table.layouts[0].cell[table.layouts[0].column(0) == "D"]
    assert (after.shown[nobody] == 0).all()
    moved = (table.value == 0) & (after.shown > 0)
    empty = (table.value == 0).sum() - len(nobody)
    assert 0.3 * empty < moved.sum() < 0.7 * empty
    filled = table.value > 0
    np.testing.assert_array_equal(after.shown[filled], kept.shown[filled])
    assert (after.shown_low <= table.value).all()
    assert (after.shown_high >= table.value).all()


def test_the_history_tells_of_rows_whose_mean_is_not_0() -> None:
    table = keyed([[3, 4], [5, 6]])
    assert CellKey(ptable=MOVES_ZEROS).apply(table).history[-1].counts["rows of the p-table whose mean is not 0"] == 1
    assert METHOD.apply(table).history[-1].counts == {"perturbed": 9}


def test_an_empty_cell_changes_in_the_same_way_in_a_larger_table() -> None:
    chance = np.random.default_rng(10)
    frame = pd.DataFrame({name: chance.choice(list("pqrstu"), 25) for name in ("a", "b", "c")} | {"key": chance.random(25)})
    data = read_microdata(frame, record_key="key")
    method = CellKey(ptable=MOVES_ZEROS, zeros="perturb")
    two, three = (method.apply(tabulate(data, spanning=list(names), empty="possible")) for names in ("ab", "abc"))
    layout = two.layouts[0]
    for a, b, cell in zip(layout.column(0), layout.column(1), layout.cell, strict=True):
        codes = {name: code for name, code in (("a", a), ("b", b)) if code != "Total"}
        assert two.shown[cell] == three.shown[three.cell(codes)]
    assert ((two.value == 0) & (two.shown > 0)).any()


def test_perturbed_zeros_need_a_row_0_that_changes() -> None:
    with pytest.raises(ParameterError, match="no row 0 that changes"):
        CellKey(largest=3, variance=2.0, zeros="perturb")
    with pytest.raises(ParameterError, match="no row 0 that changes"):
        CellKey(ptable=PTable.of_keys([[0, 1]]), zeros="perturb")


# -------------------------------------------------------------------- parameters


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "is missing"),
        ({"largest": 3}, "is missing"),
        ({"ptable": MOVES_ZEROS, "largest": 3}, "together with parameters of its design"),
        ({"ptable": MOVES_ZEROS, "stay": 0.5}, "together with parameters of its design"),
        ({"ptable": "file.csv", "variance": 2.0}, "together with parameters of its design"),
        ({"ptable": PTable.of([0, 1, 1], [0, -0.5, 0.5], [1, 0.5, 0.5])}, "not made for counts"),
        ({"largest": 3, "variance": 1.9, "blocked": 2}, "variances from 2 to 3"),
    ],
)
def test_parameters_that_cannot_be_used(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        CellKey(**settings)


def test_a_file_that_was_not_read() -> None:
    method = CellKey(ptable="file.csv")
    with pytest.raises(ParameterError, match="was not read"):
        method.apply(keyed([[1, 2], [3, 4]]))
    assert dataclasses.replace(method, ptable=MOVES_ZEROS).apply(keyed([[1, 2], [3, 4]])).perturbed.all()


def test_a_given_table_and_the_same_one_designed() -> None:
    table = keyed(np.random.default_rng(11).integers(0, 9, (4, 4)))
    given = CellKey(ptable=METHOD._table)
    np.testing.assert_array_equal(given.apply(table).shown, METHOD.apply(table).shown)


def test_suppressed_cells_stay_hidden_unless_they_are_to_be_shown() -> None:
    table = keyed([[3, 4], [5, 6]]).with_secondary("before", np.arange(9) == 4)
    assert METHOD.apply(table).suppressed.tolist() == (np.arange(9) == 4).tolist()
    assert not dataclasses.replace(METHOD, sensitive="show").apply(table).suppressed.any()


def test_cells_of_a_hierarchy_do_not_add_up_and_are_not_forced_to() -> None:
    tree = Hierarchy.from_parents([("Total", "AB"), ("AB", "A"), ("AB", "B"), ("Total", "C")])
    table = keyed(np.full((3, 3), 20.0), hierarchies=[tree, Hierarchy.flat(["x", "y", "z"])])
    after = METHOD.apply(table)
    assert np.abs(table.equations @ table.value).max() == 0
    assert np.abs(table.equations @ after.shown).max() > 0
