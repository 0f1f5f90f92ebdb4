"""Rounding by inner cells beside the stored outcomes of SmallCountRounding (R) on the same inputs, and the handbook's cases."""

import csv
import pathlib

import numpy as np
import pytest
from scipy import sparse

from discreet.loss import perturbation_loss
from discreet.model.contributions import Contributions
from discreet.model.table import Table
from discreet.tables.rounding.controlled import ControlledRounding
from discreet.tables.rounding.inner_cells import InnerCellRounding
from discreet.testing import small_table

AREAS = {"region": ["fylke", "kostragr"], "mnd": ["mnd2"]}
RUNS = [
    ("e6", "e6", "freq", 3, {"geo": ["eu"]}),
    ("e6_formula", "e6", "freq", 3, {"geo": ["eu"]}),
    ("exPSD5", "exPSD", "freq", 5, {}),
    ("z2_10", "z2", "ant", 10, AREAS),
    ("z3_5", "z3", "ant", 5, AREAS),
    ("sosial_4", "sosialFiktiv", "ant", 4, AREAS),
]
BETTER = ("z3_5", "sosial_4")


def published(
    shared: pathlib.Path, run: str, records: str, count: str, more: dict[str, list[str]]
) -> tuple[Table, np.ndarray, np.ndarray]:
    """The cells that R published as a table over its inner cells; the cell of each line, and R's rounded counts."""
    oracles = shared / "oracles"
    with (oracles / "r_data" / f"SmallCount_{records}.csv").open() as file:
        inner = list(csv.DictReader(file))
    with (oracles / "r_outcomes" / f"pls_{run}_publish.csv").open() as file:
        lines = list(csv.DictReader(file))
    value = [float(row[count]) for row in inner]
    listed = [False] * len(inner)
    cell, rows, columns, signs = [], [], [], []
    variables = [variable for variable in lines[0] if variable not in COUNTS]
    members = {variable: _members(inner, variable, more) for variable in variables}
    for line in lines:
        parts = sorted(set.intersection(*(members[variable][line[variable]] for variable in variables)))
        if len(parts) == 1:
            listed[parts[0]] = True
            cell.append(parts[0])
            continue
        rows += [rows[-1] + 1 if rows else 0] * (len(parts) + 1)
        columns += [*parts, len(value)]
        signs += [1.0] * len(parts) + [-1.0]
        cell.append(len(value))
        value.append(float(line["original"]))
        listed.append(True)
    equations = sparse.csr_array((signs, (rows, columns)), shape=(len(set(rows)), len(value)))
    values = np.array(value)
    assert not (equations @ values).any(), "the lines are read as sums of the right inner cells"
    table = Table.of((), values, Contributions.of(values, values), equations, kind="frequency", listed=np.array(listed))
    return table, np.array(cell), np.array([float(line["rounded"]) for line in lines])


COUNTS = ("original", "rounded", "difference")


def _members(inner: list[dict[str, str]], variable: str, more: dict[str, list[str]]) -> dict[str, set[int]]:
    """The inner cells that each code of a variable stands for."""
    found: dict[str, set[int]] = {"Total": set(range(len(inner)))}
    for i, row in enumerate(inner):
        for column in (variable, *more.get(variable, [])):
            found.setdefault(row[column], set()).add(i)
    return found


def _utility(true: np.ndarray, shown: np.ndarray) -> float:
    """1 − H/√Σ z, as that package reports it."""
    return float(1 - np.sqrt(((np.sqrt(true) - np.sqrt(shown)) ** 2).sum() / 2) / np.sqrt(true.sum()))


@pytest.mark.parametrize(("run", "records", "count", "base", "more"), RUNS, ids=[run[0] for run in RUNS])
def test_inner_cells_are_rounded_at_least_as_well_as_by_r(
    shared: pathlib.Path, run: str, records: str, count: str, base: int, more: dict[str, list[str]]
) -> None:
    table, cell, theirs = published(shared, run, records, count, more)
    after = InnerCellRounding(base=base).apply(table)
    true, ours = table.value[cell], np.where(after.perturbed, after.shown, after.value)[cell]
    assert not ((ours > 0) & (ours < base)).any()
    largest, utility = np.abs(ours - true).max(), _utility(true, ours)
    if run in BETTER:
        assert largest < np.abs(theirs - true).max()
        assert utility > _utility(true, theirs)
    else:  # no choice is better, which is proved, and theirs is as good
        assert after.history[-1].counts["proved best"] == 1
        assert largest == np.abs(theirs - true).max()
        assert utility == pytest.approx(_utility(true, theirs), abs=1e-9)
    assert perturbation_loss(after).total.absolute.largest >= np.abs(ours - true).max()


@pytest.mark.parametrize(("run", "records", "count", "base", "more"), RUNS[:4], ids=[run[0] for run in RUNS[:4]])
def test_controlled_rounding_of_the_same_cells_adds_up_within_its_window(
    shared: pathlib.Path, run: str, records: str, count: str, base: int, more: dict[str, list[str]]
) -> None:
    table, cell, _ = published(shared, run, records, count, more)
    after = ControlledRounding(base=base, rounds=50).apply(table)
    assert (np.abs(after.shown - table.value)[cell] < base).all()
    assert not (after.shown[cell] % base).any()


def test_the_handbooks_table_is_rounded_better_than_printed() -> None:
    """Frequency tables, controlled rounding to base 5: the printed solution changes the twelve numbers by 22 in all."""
    table = small_table([[1, 0], [3, 3], [12, 20]], kind="frequency")
    after = ControlledRounding(base=5).apply(table)
    assert np.abs(after.shown - table.value).sum() == 18
    assert not (table.equations @ after.shown).any()
    assert after.history[-1].counts["proved optimal"] == 1
