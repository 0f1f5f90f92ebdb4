"""Swaps of three and more records, where all two-way margins stay, and what such margins prove."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pandas as pd

import discreet as dc
from benchmarks.registry import Stage, subject
from discreet.microdata.protect.swap.moves import smallest_move
from discreet.microdata.risk.given_away import given_away
from discreet.model.combinations import Combinations, combinations
from discreet.model.margins import Margins

__all__ = ["census"]

SIZES = (3, 4, 5, 2, 4, 3)
NAMES = ("sex", "age", "area", "work", "school", "home")
RECORDS = 5_000
UNIQUES = 100


def census(records: int) -> Combinations:
    """Records of six dependent variables: each has the code of its kind of person with 60 %, else any."""
    chance = np.random.default_rng(2026)
    kind = chance.integers(0, 6, records)
    columns = []
    for v, size in enumerate(SIZES):
        usual, any_ = (7 * kind + 3 * v) % size, chance.integers(0, size, records)
        columns.append(np.where(chance.random(records) < 0.6, usual, any_))
    return combinations(np.stack(columns, axis=1).astype(np.int32), SIZES)


@subject(
    "swap-moves", f"moves for {UNIQUES} sample uniques among {RECORDS:,} records × {len(SIZES)}, all two-way margins fixed"
)
def moves_for_uniques(stage: Stage) -> None:
    """The smallest move of each, and the audit of the same margins for all records."""
    held = census(RECORDS)
    margins = Margins.of(NAMES, list(itertools.combinations(NAMES, 2)))
    alone = np.flatnonzero(held.counts == 1)
    chosen = np.random.default_rng(1).choice(alone, UNIQUES, replace=False)
    with stage.timed("smallest moves") as facts:
        found = [smallest_move(held, margins, int(which)) for which in chosen]
        facts["records"] = ", ".join(f"{n}: {times}" for n, times in sorted(Counter(move.records for move in found).items()))
        facts["proved"] = sum(move.smallest or move.impossible for move in found)
    file = dc.read_microdata(pd.DataFrame(held.codes[held.of], columns=list(NAMES)))
    with stage.timed("audit of the margins") as facts:
        audit = given_away(file, margins, seconds=120)
        facts["combinations"] = len(held.counts)
        facts["undecided"] = int(audit.undecided.sum())
