"""discreet beside the stored outcomes of an R package: sensitive cells, secondary ones, and what full protection costs.

    python -m benchmarks.peers.r_outcomes FOLDER

``FOLDER`` holds ``r_data/`` and ``r_outcomes/`` (with ``INDEX_gauss.csv``, which names the call behind each outcome).
``exact only`` is elimination alone: no cell is a combination of published ones, which is what those runs give; ``mended``
also keeps an outsider from exact values that follow because nothing is below 0; ``in full`` meets every protection level,
insiders and sums of hidden cells included.  Both end proved.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import discreet as dc
from benchmarks.measure import text_table
from discreet.audit import audit
from discreet.model.table import Table

Build = Callable[[Path], tuple[Table, np.ndarray]]
"""The table of a case, and which of its lines are published."""


@dataclasses.dataclass(frozen=True)
class Case:
    """One stored outcome: how to build its table with discreet, and the rules that find its sensitive cells."""

    name: str
    build: Build
    rules: tuple[Any, ...]


@dataclasses.dataclass(frozen=True)
class Found:
    """What discreet makes of a case; cells by their codes, under every code they have."""

    lines: int
    primary: frozenset[tuple[str, ...]]
    secondary: int
    alone: Table
    secondary_mended: int
    secondary_in_full: int
    safe_in_full: bool


def frame_of(folder: Path, name: str) -> pd.DataFrame:
    """One data set as text, the way it was stored."""
    return pd.read_csv(folder / "r_data" / f"{name}.csv", dtype=str)


def grouped(frame: pd.DataFrame, leaf: str, *above: str) -> dc.Hierarchy:
    """The codes of ``leaf`` under a total, and each column above them as a grouping of its own."""
    groupings = [{code: sorted(set(part[leaf])) for code, part in frame.groupby(column)} for column in above]
    return dc.Hierarchy.flat(sorted(set(frame[leaf]))).grouped(groupings)


def counts(data: str, count: str, **trees: Sequence[str]) -> Build:
    """A frequency table over the given variables, each with the columns that group it."""

    def build(folder: Path) -> tuple[Table, np.ndarray]:
        frame = frame_of(folder, data)
        spanning = {leaf: grouped(frame, leaf, *above) for leaf, above in trees.items()}
        return whole(dc.tabulate(dc.read_microdata(frame, count=count), spanning=spanning, empty="possible"))

    return build


def region(
    data: str, count: str | None = "ant", response: str | None = None, unit: str | None = None, **more: Sequence[str]
) -> Build:
    """Region with its two groupings, by main interest (and what ``more`` adds)."""

    def build(folder: Path) -> tuple[Table, np.ndarray]:
        frame = frame_of(folder, data)
        trees = {"region": ("fylke", "kostragr"), "hovedint": (), **more}
        spanning = {leaf: grouped(frame, leaf, *above) for leaf, above in trees.items()}
        records = dc.read_microdata(frame, count=count, unit=unit)
        return whole(dc.tabulate(records, spanning=spanning, response=response, empty="possible"))

    return build


def sectors(unit: str | None = None) -> Build:
    """The magnitude table, sector by country."""

    def build(folder: Path) -> tuple[Table, np.ndarray]:
        records = dc.read_microdata(frame_of(folder, "SSBtools_magnitude1"), unit=unit)
        return whole(dc.tabulate(records, spanning=["sector4", "geo"], response="value", empty="possible"))

    return build


def sectors_by_formula(folder: Path) -> tuple[Table, np.ndarray]:
    """Two tables: private or public by country, and sector by union or not; contributions by company."""
    frame = frame_of(folder, "SSBtools_magnitude1")
    spanning = {
        "sector4": dc.Hierarchy.from_levels(_pairs(frame, "sector2", "sector4")),
        "geo": dc.Hierarchy.from_levels(_pairs(frame, "eu", "geo")),
    }
    table = dc.tabulate(dc.read_microdata(frame, unit="company"), spanning=spanning, response="value")
    single = [("sector4", set(frame["sector4"])), ("geo", set(frame["geo"]))]
    joint = [("sector4", set(frame["sector2"])), ("geo", set(frame["eu"]))]
    return without(table, single, joint)


def margins_only(folder: Path) -> tuple[Table, np.ndarray]:
    """Two one-way tables over the same records: their crossing is not published."""
    table, _ = counts("df_15cells", "values", var1=(), var2=())(folder)
    codes = [
        (name, set(tree.codes[1:])) for name, tree in zip(table.layouts[0].variables, table.layouts[0].hierarchies, strict=True)
    ]
    return without(table, codes)


def countries(data: str, *, empty: str) -> Build:
    """Age by union by year, and country by year: single countries are not crossed with age."""

    def build(folder: Path) -> tuple[Table, np.ndarray]:
        frame = frame_of(folder, data)
        spanning = {"age": None, "geo": dc.Hierarchy.from_levels(_pairs(frame, "eu", "geo")), "year": None}
        table = dc.tabulate(dc.read_microdata(frame, count="freq"), spanning=spanning, empty=empty)
        table = table if empty == "possible" else table.replace(frozen=table.value == 0)
        return without(table, [("age", set(frame["age"])), ("geo", set(frame["geo"]))])

    return build


def _pairs(frame: pd.DataFrame, *levels: str) -> list[tuple[str, ...]]:
    return sorted(set(zip(*(frame[level] for level in levels), strict=True)))


def whole(table: Table) -> tuple[Table, np.ndarray]:
    """All lines are published."""
    return table, np.ones(len(table.layouts[0].cell), bool)


def without(table: Table, *crossings: Sequence[tuple[str, set[str]]]) -> tuple[Table, np.ndarray]:
    """The table without these crossings of codes: not published, and no rule looks at them."""
    layout = table.layouts[0]
    crossed = np.zeros(len(layout.cell), bool)
    for codes in crossings:
        inside = [np.isin(layout.column(layout.variables.index(name)), list(own)) for name, own in codes]
        crossed |= np.all(inside, axis=0)
    shown = np.zeros(table.cells, bool)
    shown[layout.cell[~crossed]] = True
    return table.replace(listed=shown, exempt=~shown), ~crossed


SMALL, NONE = dc.MinimumFrequency, ()
CASES = (
    Case("z1_default", counts("SSBtools_z1", "ant", region=NONE, hovedint=NONE), (SMALL(n=4, zeros=True),)),
    Case("z2_default", region("SSBtools_z2"), (SMALL(n=4, zeros=True),)),
    Case("z2_noprotectzeros", region("SSBtools_z2"), (SMALL(n=4),)),
    *(Case(f"z2_singleton_{kind}", region("SSBtools_z2"), (SMALL(n=3),)) for kind in ("none", "subSpace", "subSum", "anySum")),
    Case("z3_maxN5", region("SSBtools_z3", mnd=("mnd2",)), (SMALL(n=6, zeros=True),)),
    Case("df_default", counts("df_15cells", "values", var1=NONE, var2=NONE), (SMALL(n=4, zeros=True),)),
    Case("df_main_effects_maxN10", margins_only, (SMALL(n=11, zeros=True),)),
    *(
        Case(name, counts("df_15cells", "values", var1=NONE, var2=NONE), (SMALL(n=4),))
        for name in ("df_secondaryZeros", "df_nosingleton", "df_singleton")
    ),
    *(
        Case(name, counts("zeros_3x3", "freq", row=NONE, col=NONE), (SMALL(n=4, zeros=True),))
        for name in ("zeros_nosing", "zeros_anySum")
    ),
    *(
        Case(name, counts("zeros_3x3", "freq", row=NONE, col=NONE), (SMALL(n=4),))
        for name in ("zeros_secZ_nosing", "zeros_secZ")
    ),
    Case("ex1_small_age_geo", counts("SSBtools_example1", "freq", age=NONE, geo=NONE), (SMALL(n=4, zeros=True),)),
    Case("ex1_formula", countries("SSBtools_example1", empty="possible"), (SMALL(n=3, zeros=True),)),
    Case("linked_global", countries("linked_vignette", empty="structural"), (SMALL(n=3),)),
    Case("mag1_dom80", sectors(), (dc.Dominance(n=1, k=80),)),
    Case("mag1_dom_contr", sectors("company"), (dc.Dominance(n=1, k=80), dc.Dominance(n=2, k=99))),
    Case("mag1_dom_contr_formula", sectors_by_formula, (dc.Dominance(n=1, k=80), dc.Dominance(n=2, k=99))),
    *(Case(name, sectors_by_formula, (dc.PPercent(p=10),)) for name in ("mag1_pp10", "mag1_pp10_intervals")),
    Case("mag1_few1", sectors(), (SMALL(n=2, zeros=False),)),
    Case("mag1_few2_contr", sectors("company"), (SMALL(n=3),)),
    Case(
        "z2micro_dom_sub2Sum",
        region("z2_micro_seed123", None, "value", "char"),
        (dc.Dominance(n=1, k=65), dc.Dominance(n=2, k=85)),
    ),
    *(
        Case(f"z2micro_few_{kind}", region("z2_micro_seed123", None, "value", "char"), (SMALL(n=3),))
        for kind in ("numFFF", "numFTF", "numFTT", "numttHTT", "numTTTTT")
    ),
)


def find(case: Case, folder: Path) -> Found:
    """Run one case twice: from exact recomputation only, and in full."""
    table, shown = case.build(folder)
    for rule in case.rules:
        table = rule.apply(table)
    outsider = table.with_intruder(dc.Intruder(insiders="none", unions=False, levels=False))
    alone = dc.GaussSuppression(singletons=False).apply(outsider)
    mended = dc.protect(alone, [dc.GaussSuppression(singletons=False)])
    full = dc.protect(table, [dc.GaussSuppression()])
    layout = table.layouts[0]
    codes = list(zip(*(layout.column(v) for v in range(len(layout.variables))), strict=True))
    sensitive = table.primary[layout.cell] & shown
    return Found(
        lines=int(shown.sum()),
        primary=frozenset(line for line, hit in zip(codes, sensitive, strict=True) if hit),
        secondary=int(alone.secondary[layout.cell][shown].sum()),
        alone=alone,
        secondary_mended=int(mended.secondary[layout.cell][shown].sum()),
        secondary_in_full=int(full.secondary[layout.cell][shown].sum()),
        safe_in_full=audit(full).safe,
    )


def stored(case: Case, folder: Path) -> tuple[int, frozenset[tuple[str, ...]], int]:
    """Lines, sensitive cells (variables in the order of ours) and number of secondary cells of the stored outcome."""
    frame = pd.read_csv(folder / "r_outcomes" / f"{case.name}.csv", dtype=str)
    variables = case.build(folder)[0].layouts[0].variables
    sensitive = frame["primary"] == "TRUE"
    hidden = frame["suppressed"] == "TRUE"
    cells = frozenset(itertools.chain(zip(*(frame[name][sensitive] for name in variables), strict=True)))
    return len(frame), cells, int((hidden & ~sensitive).sum())


HEAD = ("case", "lines", "primary", "same", "stored", "exact only", "mended", "in full", "proved")


def main() -> None:
    """Prints one line a case: secondary cells as stored, by elimination alone, with its repair, and in full."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    rows = []
    for case in CASES:
        lines, primary, secondary = stored(case, folder)
        found = find(case, folder)
        same = found.primary == primary and found.lines == lines
        counted = (found.secondary, found.secondary_mended, found.secondary_in_full)
        row = (case.name, found.lines, len(found.primary), same, secondary, *counted, found.safe_in_full)
        rows.append(tuple(str(cell) for cell in row))
    print(text_table(HEAD, rows))


if __name__ == "__main__":
    main()
