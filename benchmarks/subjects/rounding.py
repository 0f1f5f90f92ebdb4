"""Controlled rounding of a table of three variables with hierarchies, from two hundred cells to ten thousand."""

from __future__ import annotations

import numpy as np

from benchmarks.registry import Stage, subject
from discreet.model.hierarchy import Hierarchy
from discreet.tables.rounding import ControlledRounding
from discreet.testing import small_table

SHAPES = {
    "455 cells": ((2, 3), (2, 2), (2, 2)),
    "3,328 cells": ((3, 4), (3, 4), (3, 3)),
    "9,975 cells": ((4, 5), (4, 4), (3, 5)),
}
SECONDS = 300.0


def tree(groups: int, each: int) -> Hierarchy:
    """A hierarchy of so many groups of so many codes."""
    names = [f"g{i}" for i in range(groups)]
    return Hierarchy.from_parents([*(("Total", g) for g in names), *((g, f"{g}x{j}") for g in names for j in range(each))])


@subject(
    "controlled-rounding", "round three-dimensional tables with hierarchies to base 5, additive, each count by less than 5"
)
def controlled_rounding(stage: Stage) -> None:
    """Random counts of 6 on average; the outcome is checked before it is reported."""
    for name, shape in SHAPES.items():
        counts = np.random.default_rng(0).poisson(6.0, [groups * each for groups, each in shape]).astype(float)
        table = small_table(counts, hierarchies=[tree(*one) for one in shape], kind="frequency")
        with stage.timed(name) as facts:
            after = ControlledRounding(base=5, time_limit=SECONDS).apply(table)
            moved = np.abs(after.shown - table.value)
            if (table.equations @ after.shown).any() or moved.max() >= 5:
                raise ValueError("the rounding is not additive, or moves a count too far")
            told = after.history[-1].counts
            facts |= {"cells": table.cells, "largest change": float(moved.max()), "mean change": round(float(moved.mean()), 3)}
            facts |= {"gap %": float(told["gap in per cent"]), "optimal": str(bool(told["proved optimal"]))}
