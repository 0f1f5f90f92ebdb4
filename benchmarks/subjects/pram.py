"""PRAM: applied to many records, estimated in many cells, designed for many categories, and replicated."""

from __future__ import annotations

from pathlib import Path
from statistics import NormalDist
from typing import Any

import duckdb
import numpy as np

import discreet as dc
from benchmarks.measure import peak_megabytes, seconds_of_processor, text_table
from benchmarks.persons import VARIABLES, persons_of
from benchmarks.registry import Stage, subject
from benchmarks.replicates import HEADER, failed, models, survey, tables
from discreet.inference.counts import estimate_counts
from discreet.io.pram import read_pram, write_pram
from discreet.microdata.protect.pram import KAry, Occurrence, Target, TypeOne, achieved
from discreet.microdata.protect.pram.apply import Pram, start_pram
from discreet.model.pram_file import PramFile
from discreet.model.released import ReleasedFile

__all__ = ["applied", "banded", "bare_scan", "released_cells"]

MILLION = 1_000_000
SECRET = "a secret of a benchmark, for nothing else"
REPLICATES = 2_000
SIZES = (46, 100)
"""Categories of each of three variables: about a hundred thousand cells, and a million."""


def bare_scan(path: Path) -> int:
    """Plain SQL that counts the codes of each variable, straight from the file; how many there are."""
    with duckdb.connect() as connection:
        counts = (f"select count(*) from (select {name}, count(*) from '{path}' group by 1)" for name in VARIABLES)
        return sum(int(connection.execute(sql).fetchall()[0][0]) for sql in counts)


def applied(records: Any, facts: dict[str, int | float | str]) -> PramFile:
    """Reads the records, makes a key for each and randomises the three variables; seconds of each step are noted."""
    began = seconds_of_processor()

    def note(step: str) -> None:
        nonlocal began
        now = seconds_of_processor()
        facts[f"{step} s"], began = round(now - began, 2), now

    file = start_pram(dc.read_microdata(records, unit="id"), dc.Secret(SECRET))
    note("keys")
    for name, codes in VARIABLES.items():
        file = Pram(columns=(name,), design=TypeOne(keep=0.8)).apply(file)
        note(f"K={codes}")
    return file


def released_cells(folder: Path, codes: int, records: int) -> ReleasedFile:
    """A released file of three randomised variables with so many codes each."""
    chance = np.random.default_rng(2026)
    path = folder / f"cells-{codes}.parquet"
    columns = {name: chance.integers(0, codes, records) for name in ("a", "b", "c")} | {"id": np.arange(records)}
    for name in ("a", "b", "c"):
        columns[name][:codes] = np.arange(codes)
    with duckdb.connect() as connection:
        connection.register("made", columns)
        texts = ", ".join(f"printf('%03d', {name}) as {name}" for name in ("a", "b", "c"))
        connection.execute(f"copy (select * replace ({texts}) from made) to '{path}' (format parquet)")
    file = start_pram(dc.read_microdata(path, unit="id"), dc.Secret(SECRET))
    for name in ("a", "b", "c"):
        file = Pram(columns=(name,), design=KAry(epsilon=6)).apply(file)
    write_pram(file, folder, name=f"released-{codes}.parquet")
    return read_pram(folder / f"released-{codes}.pram.json")


def banded(categories: int) -> Occurrence:
    """Skewed counts of ordered categories."""
    counts = np.exp(np.random.default_rng(2026).normal(4, 1.2, categories)).astype(int) + 1
    return Occurrence.of([f"c{k:04d}" for k in range(categories)], counts)


# -------------------------------------------------------------------- the subjects


@subject(
    "pram-apply-10M", "PRAM of 10,000,000 records × 3 variables with 5, 20 and 400 codes, beside plain counts of the codes"
)
def apply_ten_million(stage: Stage) -> None:
    """From the file; keys are hashed from ids."""
    path = persons_of(stage, 10 * MILLION)
    bare = "bare counts of the codes"
    with stage.timed(bare) as facts:
        facts["codes"] = bare_scan(path)
    before = peak_megabytes()
    with stage.timed("keys and three variables", against=bare) as facts:
        file = applied(path, facts)
        facts["MB more"] = round(peak_megabytes() - before)
    with stage.timed("written as parquet with its document", against=bare) as facts:
        write_pram(file, stage.folder / "out", name="released.parquet")
        facts["MB more"] = round(peak_megabytes() - before)


@subject("pram-apply-10M-frame", "the same from a frame that is in memory: how much memory is needed over the frame's")
def apply_to_a_frame(stage: Stage) -> None:
    """The frame is an arrow table."""
    path = persons_of(stage, 10 * MILLION)
    with stage.timed("the frame") as facts:
        with duckdb.connect() as connection:
            frame = connection.execute(f"select * from '{path}'").fetch_arrow_table()
        facts["MB of the frame"] = round(frame.nbytes / 1e6)
    before = peak_megabytes()
    with stage.timed("keys and three variables") as facts:
        applied(frame, facts)
        facts["MB more"] = round(peak_megabytes() - before)


@subject("pram-crosstab", "counts of 3 randomised variables with all variances: 97,336 cells, then 1,000,000")
def crosstab(stage: Stage) -> None:
    """Of a million records each; the released file is read and checked before."""
    for codes in SIZES:
        file = released_cells(stage.folder, codes, MILLION)
        before = peak_megabytes()
        with stage.timed(f"{codes}³ cells") as facts:
            found = estimate_counts(file, ["a", "b", "c"])
            facts["cells"] = found.estimate.size
            facts["negative"] = int(found.negative.sum())
            facts["MB more"] = round(peak_megabytes() - before)


@subject("pram-design-1000", "a linear program for the matrix of 1,000 categories with moves of at most 10 steps")
def design_a_thousand(stage: Stage) -> None:
    """Invariant with bounds on the diagonal; then with expectation ratios of rare categories."""
    occurrence = banded(1_000)
    rare = {label: 1.0 for label, n in zip(occurrence.labels, occurrence.counts, strict=True) if n < 20}
    designs = {
        "invariant": Target(most=0.8, least=0.5, reach=10),
        "invariant, spread": Target(most=0.8, least=0.5, reach=10, spread=0.01),
        f"expectation ratio of {len(rare)} rare ones": Target(invariant=False, ratio=rare, most=0.95, least=0.5, reach=10),
    }
    for name, design in designs.items():
        with stage.timed(name) as facts:
            matrix = design.matrix(occurrence)
        told = achieved(design, occurrence, matrix)
        facts |= {"condition": f"{told.condition:.1f}", "changed": f"{told.share:.1%}", "gap": f"{told.gap:.1g}"}


@subject("pram-replicates", f"{REPLICATES:,} replicates: bias and coverage of counts, weighted totals and regressions")
def replicates(stage: Stage) -> None:
    """Prints naive and corrected means of every number."""
    for name, make in {"tables": tables, "survey": survey, "models": models}.items():
        with stage.timed(name) as facts:
            lines = make(REPLICATES, 2026)
        print(text_table(HEADER, [line.row for line in lines]), end="\n\n", flush=True)
        facts["numbers"] = len(lines)
        facts["largest bias in SE"] = f"{max(abs(line.bias) for line in lines):.2f}"
        facts["coverage"] = f"{min(line.coverage for line in lines):.1%} to {max(line.coverage for line in lines):.1%}"
        facts["outside 2 SE or 93-97 %"] = len(failed(lines, sigmas=2, low=0.93, high=0.97))
        facts["outside 2 SE by chance"] = f"{2 * NormalDist().cdf(-2) * len(lines):.1f}"
        apart = [abs(line.apart) for line in lines if line.full is not None]
        if apart:
            facts["largest difference from the full file in SE"] = f"{max(apart):.2f}"
