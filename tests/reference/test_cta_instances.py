"""The instances of controlled tabular adjustment as tables: put together, passed through JJ files, solved and audited.

Castro's instances hold, for each cell, the bounds of its change and a weight of two over its value.  A cell that must change by
at least so much is sensitive with that protection level; one that cannot change is empty.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from scipy import sparse

from discreet.audit import audit
from discreet.errors import InputError
from discreet.io.jj import read_jj, write_jj
from discreet.model.contributions import Contributions
from discreet.model.hierarchy import Hierarchy
from discreet.model.layout import Layout
from discreet.model.table import Status, Table
from discreet.plan.protect import protect
from discreet.tables.suppress import GaussSuppression


class Instance(NamedTuple):
    matrix: sparse.csr_array
    weight: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


def from_arrays(folder: Path, name: str) -> Instance:
    def array(what: str) -> np.ndarray:
        return np.load(folder / f"{name}_{what}.npy")

    weight = array("Q_diag_vals")
    entries = (array("A_vals"), (array("A_rows"), array("A_cols")))
    matrix = sparse.csr_array(entries, shape=(int(array("m")), len(weight)))
    return Instance(matrix, weight, array("lower_bounds"), array("upper_bounds"))


def from_archive(folder: Path, name: str) -> Instance:
    held, bounds = np.load(folder / f"{name}_full.npz"), np.load(folder / f"{name}_bounds.npz")
    matrix = sparse.csr_array((held["A_data"], (held["A_row"], held["A_col"])), shape=tuple(held["A_shape"]))
    return Instance(matrix, held["Q_diagonal"], bounds["lower"], bounds["upper"])


def from_sif(folder: Path, name: str) -> Instance:
    sections: dict[str, list[list[str]]] = {}
    for line in (folder / f"{name.upper()}.SIF").read_text("ascii").splitlines():
        if line and not line.startswith("*"):
            if line[0] != " ":
                sections[line.split()[0]] = []
            else:
                sections[list(sections)[-1]].append(line.split())
    rows = {row: number for number, (kind, row) in enumerate(sections["ROWS"]) if kind == "E"}
    cells = {cell: number for number, cell in enumerate(dict.fromkeys(line[0] for line in sections["COLUMNS"]))}
    matrix = sparse.lil_array((len(rows), len(cells)))
    for cell, *pairs in sections["COLUMNS"]:
        for row, factor in zip(pairs[::2], pairs[1::2], strict=True):
            matrix[rows[row], cells[cell]] = float(factor)
    lower, upper, weight = np.full(len(cells), -np.inf), np.zeros(len(cells)), np.zeros(len(cells))
    for kind, _, cell, bound in sections["BOUNDS"]:
        (lower if kind == "LO" else upper)[cells[cell]] = float(bound)
    for cell, _, factor in sections["QMATRIX"]:
        weight[cells[cell]] = float(factor)
    return Instance(sparse.csr_array(matrix), weight, lower, upper)


def as_table(instance: Instance) -> Table:
    """The finest cells have their values to seven digits in the file; totals are summed up anew."""
    matrix = instance.matrix[np.flatnonzero(np.diff(instance.matrix.indptr))]
    empty, sensitive = instance.upper <= 0, instance.lower > 0
    value = np.where(empty, 0.0, np.round(2 / instance.weight))
    minus = sparse.coo_array(matrix < 0)
    totals, first = np.unique(minus.coords[1], return_index=True)
    parts = sparse.csr_array(matrix.maximum(0))[minus.coords[0][first]]
    value[totals] = 0
    while (value[totals] != parts @ value).any():
        value[totals] = parts @ value
    assert abs(matrix @ value).max() == 0
    tree = Hierarchy.flat([str(cell) for cell in range(len(value))])
    codes = np.arange(1, len(value) + 1, dtype=np.int32)[:, np.newaxis]
    layout = Layout(name="cta", variables=("cell",), hierarchies=(tree,), codes=codes, cell=np.arange(len(value)))
    levels = np.where(sensitive, instance.lower, 0.0)
    status = np.where(sensitive, Status.PRIMARY, Status.OPEN).astype(np.int8)
    contributions = Contributions.of(np.zeros(len(value)), value)
    more = {"lower_protection": np.minimum(levels, value), "upper_protection": levels, "status": status, "frozen": empty}
    return Table.of((layout,), value, contributions, matrix, **more)


INSTANCES = {
    "targus": (from_sif, 162, 63, 13),
    "hie1372d": (from_archive, 637, 525, 50),
    "table1": (from_arrays, 1584, 510, 146),
    "table3": (from_arrays, 4992, 2464, 517),
    "table6": (from_arrays, 1584, 510, 146),
    "table7": (from_arrays, 624, 230, 17),
    "table8": (from_arrays, 1271, 72, 3),
}
SPANNED = {
    "targus": [9, 18],
    "table8": [31, 41],
    "table1": [6, 8, 33],
    "table3": [6, 8, 8, 13],
    "table6": [6, 8, 33],
    "table7": [6, 8, 13],
}
"""How many codes the variables have, totals included; hie1372d is several tables linked without a common total."""

SOLVED = ("targus", "hie1372d", "table7", "table8")
"""Those whose protection and proof take little time."""


@pytest.mark.parametrize("name", INSTANCES)
def test_it_loads_and_passes_through_a_jj_file(shared: Path, tmp_path: Path, name: str) -> None:
    load, cells, equations, sensitive = INSTANCES[name]
    table = as_table(load(shared / "data" / "cta", name))
    again = read_jj(write_jj(table, tmp_path / f"{name}.jj"))
    assert (again.cells, again.equations.shape[0], again.primary.sum()) == (cells, equations, sensitive)
    for field in ("value", "cost", "status", "frozen", "upper_protection", "lower_protection"):
        np.testing.assert_array_equal(getattr(again, field), getattr(table, field), err_msg=field)
    assert abs(again.equations @ again.value).max() == 0


@pytest.mark.parametrize("name", INSTANCES)
def test_the_variables_that_span_it(shared: Path, tmp_path: Path, name: str) -> None:
    path = write_jj(as_table(INSTANCES[name][0](shared / "data" / "cta", name)), tmp_path / f"{name}.jj")
    if name == "hie1372d":
        with pytest.raises(InputError, match="span one table"):
            read_jj(path, spanning=True)
        return
    table = read_jj(path, spanning=True)
    codes = [len(tree.codes) for tree in table.layouts[0].hierarchies]
    assert sorted(codes) == SPANNED[name]
    assert table.cells == np.prod(codes)
    assert abs(table.equations - read_jj(path).equations).sum() == 0


@pytest.mark.parametrize("name", SOLVED)
def test_it_is_solved_and_audited(shared: Path, tmp_path: Path, name: str) -> None:
    table = read_jj(write_jj(as_table(INSTANCES[name][0](shared / "data" / "cta", name)), tmp_path / f"{name}.jj"))
    assert not audit(table).safe
    done = protect(table, [GaussSuppression()])
    assert audit(done).safe
    assert not (done.suppressed & done.frozen).any()
    assert audit(read_jj(write_jj(done, tmp_path / "done.jj"))).safe
