"""Stored outcomes of GaussSuppression 1.2.3: same primaries, no more secondaries, and nothing follows from the published."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from discreet.model.hierarchy import Hierarchy
from discreet.model.intruder import Intruder
from discreet.model.table import Table
from discreet.tables.suppress import GaussSuppression
from discreet.testing import small_table

RECOMPUTATION_ONLY = Intruder(insiders="none", unions=False, levels=False)


class AtMost:
    NAME = "at most"

    def sensitive(self, contributions):
        return np.zeros(len(contributions), bool)


def tree_of(frame: pd.DataFrame, leaf: str, *groupings: str) -> Hierarchy:
    leaves = list(dict.fromkeys(frame[leaf]))
    groups = [
        {str(code): list(dict.fromkeys(part[leaf])) for code, part in frame.groupby(column, sort=False)} for column in groupings
    ]
    return Hierarchy.from_parents([("Total", code) for code in leaves], total="Total", groupings=groups)


def table_of(frame: pd.DataFrame, response: str, hierarchies: dict[str, Hierarchy]) -> Table:
    """All lines of the table, those without a record as zeros."""
    shape = [len(tree.leaves) for tree in hierarchies.values()]
    inner = np.zeros(shape)
    where = [
        frame[name].map({tree.codes[leaf]: i for i, leaf in enumerate(tree.leaves)}).to_numpy()
        for name, tree in hierarchies.items()
    ]
    np.add.at(inner, tuple(where), frame[response].to_numpy(float))
    return small_table(
        inner,
        variables=list(hierarchies),
        hierarchies=list(hierarchies.values()),
        kind="frequency",
        intruder=RECOMPUTATION_ONLY,
    )


def region_table(frame: pd.DataFrame) -> Table:
    trees = {"region": tree_of(frame, "region", "fylke", "kostragr"), "hovedint": tree_of(frame, "hovedint")}
    if "mnd" in frame:
        trees["mnd"] = tree_of(frame, "mnd", "mnd2")
    return table_of(frame, "ant", trees)


def flat_table(frame: pd.DataFrame, response: str, *variables: str) -> Table:
    return table_of(frame, response, {name: tree_of(frame, name) for name in variables})


CASES = {
    "z1_default": ("SSBtools_z1", lambda f: flat_table(f, "ant", "region", "hovedint"), 3, True),
    "z2_default": ("SSBtools_z2", region_table, 3, True),
    "z2_noprotectzeros": ("SSBtools_z2", region_table, 3, False),
    "z2_singleton_none": ("SSBtools_z2", region_table, 2, False),
    "z3_maxN5": ("SSBtools_z3", region_table, 5, True),
    "df_default": ("df_15cells", lambda f: flat_table(f, "values", "var1", "var2"), 3, True),
    "df_nosingleton": ("df_15cells", lambda f: flat_table(f, "values", "var1", "var2"), 3, False),
    "zeros_nosing": ("zeros_3x3", lambda f: flat_table(f, f.columns[2], *f.columns[:2]), 3, True),
}


@pytest.mark.parametrize("case", list(CASES))
def test_same_primaries_no_more_secondaries(case: str, shared: Path) -> None:
    source, build, most, zeros = CASES[case]
    oracles = shared / "oracles"
    index = pd.read_csv(oracles / "r_outcomes" / "INDEX_gauss.csv").set_index("file").loc[f"{case}.csv"]
    table = build(pd.read_csv(oracles / "r_data" / f"{source}.csv", dtype={"region": str, "hovedint": str, "var1": str}))
    sensitive = (table.value <= most) & (zeros | (table.value > 0))
    done = GaussSuppression().apply(table.with_primary(AtMost(), sensitive))
    lines = done.status[done.layouts[0].cell]
    assert len(lines) == index.cells
    assert (lines == 2).sum() == index.primary
    assert (lines == 1).sum() <= index.secondary
    assert not determined(done)


def test_linked_tables_over_one_population(shared: Path) -> None:
    """Two tables, age by EU by year and country by year, as one system in which age by country is not published."""
    frame = pd.read_csv(shared / "oracles" / "r_data" / "linked_vignette.csv", dtype={"year": str})
    trees = {
        "age": tree_of(frame, "age"),
        "geo": Hierarchy.from_parents(dict.fromkeys(zip(frame["eu"], frame["geo"], strict=True)), total="Total"),
        "year": tree_of(frame, "year"),
    }
    table = table_of(frame, "freq", trees)
    layout = table.layouts[0]
    age_by_country = np.isin(layout.codes[:, 1], trees["geo"].leaves) & (layout.codes[:, 0] > 0)
    european = layout.column(1) == "nonEU"  # one and the same as its only country, so listed in either case
    listed = np.zeros(table.cells, bool)
    listed[layout.cell[~age_by_country | european]] = True
    empty = table.value == 0
    table = table.replace(listed=listed, frozen=empty)
    done = GaussSuppression().apply(table.with_primary(AtMost(), (table.value <= 2) & listed & ~empty))
    shown = ~age_by_country & ~empty[layout.cell]
    lines = done.status[layout.cell][shown]
    assert (len(lines), (lines == 2).sum()) == (41, 9)
    assert (lines == 1).sum() <= 5
    assert not determined(done)


@pytest.mark.parametrize(("case", "primary", "secondary"), [("mag1_dom80", 4, 5), ("mag1_few1", 2, 5)])
def test_magnitudes(case: str, primary: int, secondary: int, shared: Path) -> None:
    frame = pd.read_csv(shared / "oracles" / "r_data" / "SSBtools_magnitude1.csv")
    stored = pd.read_csv(shared / "oracles" / "r_outcomes" / f"{case}.csv")
    trees = {name: tree_of(frame, name) for name in ("sector4", "geo")}
    pivot = frame.groupby(["sector4", "geo"])["value"].sum()
    inner = [[pivot.get((row, column), 0.0) for column in trees["geo"].codes[1:]] for row in trees["sector4"].codes[1:]]
    table = small_table(inner, variables=list(trees), hierarchies=list(trees.values()), decimals=1, intruder=RECOMPUTATION_ONLY)
    sensitive = np.zeros(table.cells, bool)
    for line in stored[stored["primary"]].itertuples():
        sensitive[table.cell(sector4=line.sector4, geo=line.geo)] = True
    done = GaussSuppression().apply(table.with_primary(AtMost(), sensitive))
    lines = done.status[done.layouts[0].cell]
    assert ((lines == 2).sum(), len(lines)) == (primary, 20)
    assert (lines == 1).sum() <= secondary
    assert not determined(done)


def determined(table: Table) -> list[int]:
    """Suppressed cells that are linear combinations of published ones: no direction of freedom moves them."""
    hidden = np.flatnonzero(table.unknown)
    _, singular, right = np.linalg.svd(table.equations[:, hidden].toarray())
    rank = int((singular > 1e-9).sum())
    still = hidden[np.abs(right[rank:]).max(axis=0, initial=0.0) < 1e-9]
    return still[table.suppressed[still]].tolist()


def test_the_check_sees_a_lone_hidden_cell() -> None:
    table = small_table([[3, 4], [5, 6]], intruder=RECOMPUTATION_ONLY)
    lone = np.arange(table.cells) == table.cell(v1="A", v2="A")
    assert determined(table.with_primary(AtMost(), lone)) == [table.cell(v1="A", v2="A")]
