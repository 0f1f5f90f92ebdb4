"""Targeted swapping of households, beside the seconds seen of another tool."""

from __future__ import annotations

import numpy as np

import discreet as dc
from benchmarks.households import GEOGRAPHY, households_of
from benchmarks.registry import Stage, subject
from discreet.microdata.protect.swap.start import start_swap
from discreet.microdata.protect.swap.targeted import TargetedSwap
from discreet.model.swap_file import SwapFile

__all__ = ["METHODS", "check_households", "targeted"]

SECRET = "a secret of a benchmark, for nothing else"

SEEN = {40_000: 2.9, 400_000: 41.8}
"""CPU seconds seen of recordSwap of R's sdcMicro 5.8.0, for so many households of 2.5 persons."""

METHODS = {
    donors: TargetedSwap(
        household="household",
        geography=tuple(GEOGRAPHY),
        risk=("age", "sex", "birthplace", "work"),
        k=3,
        profiles=(("size", "tenure"), ("size",)),
        rate=0.05,
        donors=donors,
    )
    for donors in ("anywhere", "nearest")
}
"""Donors from anywhere, as that tool draws them, and from the nearest larger area."""


def check_households(before: SwapFile, after: SwapFile) -> None:
    """Refuses households that were torn apart, or of which there are other numbers of a size in an area than before."""
    household = before.combinations(["household"]).of
    first = np.unique(household, return_index=True)[1]
    tables = []
    for file in (before, after):
        cell = file.combinations([*GEOGRAPHY, "size"])
        if (cell.of[first][household] != cell.of).any():
            raise AssertionError("a household was torn apart")
        tables.append((cell.codes.tolist(), np.bincount(cell.of[first]).tolist()))
    if tables[0] != tables[1]:
        raise AssertionError("households of an area are others than they were")


@subject("swap-targeted", "targeted swapping of 100,000 and 1,000,000 persons in households, k = 3 and a rate of 5 %")
def targeted(stage: Stage) -> None:
    """R itself is not run: its seconds are those that this file names.  Households are counted again after each swap."""
    for households, seen in SEEN.items():
        path = households_of(stage, households)
        with stage.timed(f"{households:,} households: keys") as facts:
            file = start_swap(dc.read_microdata(path, unit="person"), dc.Secret(SECRET))
            facts["persons"] = len(file.key)
        for donors, method in METHODS.items():
            with stage.timed(f"{households:,} households: donors {donors}") as facts:
                swapped = method.apply(file)
            told = swapped.steps[0].facts
            facts["forced"] = f"{int(told['households forced']) / households:.0%}"
            facts["swapped"] = f"{told['share of households swapped']:.0%}"
            facts["left their region"] = told["households that left their region"]
            facts["R s"] = seen
            facts["times as fast"] = f"{seen / stage.readings[-1].cpu:.1f}"
            check_households(file, swapped)
