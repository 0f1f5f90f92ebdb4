"""Swapping with fixed margins: which of many records can be swapped, and what with."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np

import discreet as dc
from benchmarks.census import MARGINS, VARIABLES, census_of
from benchmarks.measure import peak_megabytes
from benchmarks.registry import Stage, subject
from discreet.microdata.protect.swap.partners import partner_lists, swappable
from discreet.microdata.protect.swap.start import start_swap
from discreet.model.margins import Margins
from discreet.model.swap_file import SwapFile

__all__ = ["counted_sets", "group_bys", "started"]

MILLION = 1_000_000
RISKY = 1_000
SECRET = "a secret of a benchmark, for nothing else"


def counted_sets(margins: Margins) -> list[tuple[str, ...]]:
    """The sets of variables by which records must be counted to know how many partners each has."""
    found: dict[tuple[str, ...], None] = {margins.variables: None}
    for separator in margins.separators:
        found[separator.variables] = None
        for part in separator.components:
            found[tuple(name for name in margins.variables if name not in part)] = None
    return [names for names in found if names]


def group_bys(path: Path, sets: list[tuple[str, ...]]) -> int:
    """Plain SQL that counts the records by each of these sets, straight from the file; how many groups there are."""
    with duckdb.connect() as connection:
        counts = (f"select count(n), sum(n) from (select count(*) as n from '{path}' group by {', '.join(s)})" for s in sets)
        return sum(int(connection.execute(sql).fetchall()[0][0]) for sql in counts)


def started(path: Path) -> SwapFile:
    """The records with a key each."""
    return start_swap(dc.read_microdata(path, unit="id"), dc.Secret(SECRET))


@subject("swap-flags-1M", "which of 1,000,000 records × 10 variables can be swapped, 8 margins fixed, beside bare group-bys")
def flags(stage: Stage) -> None:
    """From the file; the group-bys are those that the flags need, each once."""
    path = census_of(stage, MILLION)
    margins = Margins.of(tuple(VARIABLES), MARGINS)
    sets = counted_sets(margins)
    bare = "bare group-bys"
    with stage.timed(bare) as facts:
        facts["groups"] = group_bys(path, sets)
        facts["group-bys"] = len(sets)
    with stage.timed("keys"):
        file = started(path)
    before = peak_megabytes()
    with stage.timed("codes and flags", against=bare) as facts:
        held = file.combinations(margins.variables)
        found = swappable(held, margins)
        facts["share"] = f"{found.share:.1%}"
        facts["combinations"] = len(held.counts)
        facts["separators"] = len(margins.separators)
        facts["MB more"] = round(peak_megabytes() - before)


@subject("swap-partners", f"all partners of {RISKY:,} sample uniques among 1,000,000 records × 10 variables, 8 margins fixed")
def partners(stage: Stage) -> None:
    """Of the sample uniques that come first in the order of keys."""
    file = started(census_of(stage, MILLION))
    margins = Margins.of(tuple(VARIABLES), MARGINS)
    held = file.combinations(margins.variables)
    alone = np.flatnonzero(held.counts[held.of] == 1)[:RISKY]
    before = peak_megabytes()
    with stage.timed(f"partners of {len(alone):,} records") as facts:
        records = np.array([found.records for found in partner_lists(held, margins, held.of[alone])])
        facts["MB more"] = round(peak_megabytes() - before)
    facts["partners on average"] = round(records.mean())
    facts["fewest"], facts["most"] = int(records.min()), int(records.max())
    with stage.timed("the same by separator") as facts:
        through = np.array([list(found.through().values()) for found in partner_lists(held, margins, held.of[alone[:100]])])
        facts["records"] = len(through)
    if not np.array_equal(through, swappable(held, margins).partners[held.of[alone[:100]]]):
        raise AssertionError("partners that were listed are not those that were counted")
