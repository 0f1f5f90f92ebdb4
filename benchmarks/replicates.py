"""Replicates of PRAM: are the estimates unbiased, and do their intervals hold the truth as often as they say?

    python -m benchmarks.replicates [REPLICATES]

Everything goes through the library: records get keys from a secret and their ids, are randomised by an own matrix, and are
estimated from what a released file and its document hold.  All replicates of a table are randomised and estimated as one
file, in which the replicate is a column that stays as it is, which changes nothing for any of them.  A model is fitted to
each replicate's own released file.

Counts and weighted totals keep the true file and draw the randomisation anew, so the truth is that of the file.  Totals of
a survey draw clusters with replacement from a population as well, and models draw the whole file anew: their truth is that of
the model.  A fit is compared with that to the file before it was randomised, too, which is what an analyst would have had.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

import discreet as dc
from benchmarks.measure import text_table
from discreet.inference.counts import estimate_counts
from discreet.inference.estimates import Estimates
from discreet.inference.fit import Fit
from discreet.inference.linear import linear_regression
from discreet.inference.logistic import logistic_regression
from discreet.inference.sums import estimate_totals
from discreet.io.pram import read_pram, write_pram
from discreet.microdata.protect.pram import OwnMatrix
from discreet.microdata.protect.pram.apply import Pram, start_pram
from discreet.model.pram_file import PramFile
from discreet.model.randomised import PramDocument
from discreet.model.released import ReleasedFile

__all__ = ["HEADER", "Line", "failed", "models", "replicated", "survey", "tables"]

SECRET = "a secret of replicates, for nothing else"
P4 = ((0.80, 0.10, 0.05, 0.05), (0.10, 0.80, 0.05, 0.05), (0.15, 0.05, 0.70, 0.10), (0.10, 0.10, 0.20, 0.60))
P3 = ((0.80, 0.15, 0.05), (0.10, 0.85, 0.05), (0.20, 0.10, 0.70))
P2 = ((0.90, 0.10), (0.20, 0.80))
MATRICES = {"trade": (("t1", "t2", "t3", "t4"), P4), "area": (("a1", "a2", "a3"), P3), "smoker": (("no", "yes"), P2)}
STRATA, CLUSTERS, DRAWN, MEMBERS = 2, 100, 60, 8
"""Of the population: strata, clusters in each, how many are drawn, and members of a cluster."""
BATCH = 100
"""So many files of a model are held at a time."""


@dataclasses.dataclass(frozen=True)
class Line:
    """What came of one number over all replicates; arrays have one entry a replicate."""

    what: str
    truth: float
    estimate: np.ndarray
    error: np.ndarray
    low: np.ndarray
    high: np.ndarray
    naive: np.ndarray
    full: np.ndarray | None = None

    @property
    def bias(self) -> float:
        """The mean error of the estimates in standard errors of that mean."""
        return _in_errors(self.estimate - self.truth)

    @property
    def apart(self) -> float:
        """The mean difference from the fit to the file before it was randomised, in its standard errors; NaN without one."""
        return np.nan if self.full is None else _in_errors(self.estimate - self.full)

    @property
    def coverage(self) -> float:
        """How often the interval holds the truth."""
        return float(((self.low <= self.truth) & (self.truth <= self.high)).mean())

    @property
    def row(self) -> tuple[str, ...]:
        """As it is printed."""
        means = (self.truth, float(self.naive.mean()), float(self.estimate.mean()))
        errors = self.error.mean() / self.estimate.std(ddof=1)
        return (
            self.what,
            *(f"{mean:.3f}" for mean in means),
            f"{self.bias:.2f}",
            f"{100 * self.coverage:.1f}",
            f"{errors:.3f}",
            "" if self.full is None else f"{self.apart:.2f}",
        )


HEADER = ("what", "truth", "naive", "corrected", "bias in SE", "coverage %", "SE / sd", "from full file in SE")


def _in_errors(differences: np.ndarray) -> float:
    return float(differences.mean() / (differences.std(ddof=1) / np.sqrt(len(differences))))


def failed(lines: Sequence[Line], *, sigmas: float, low: float, high: float) -> list[str]:
    """The numbers whose bias or coverage is outside of what is allowed."""
    return [line.what for line in lines if abs(line.bias) > sigmas or not low <= line.coverage <= high]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    given = sys.argv[1:] if arguments is None else arguments
    lines = replicated(int(given[0]) if given else 2_000)
    print(text_table(HEADER, [line.row for line in lines]))
    return 0


def replicated(replicates: int, seed: int = 2026) -> list[Line]:
    """All lines: tables, totals of a survey, models."""
    return [*tables(replicates, seed), *survey(replicates, seed), *models(replicates, seed)]


# -------------------------------------------------------------------- files


def codes_of(name: str, shares: np.ndarray, chance: np.random.Generator) -> np.ndarray:
    """A code for each record, drawn by its row of shares."""
    drawn = (chance.random((len(shares), 1)) > np.cumsum(shares, axis=1)[:, :-1]).sum(axis=1)
    return np.array(MATRICES[name][0])[drawn]


def randomised(frame: pd.DataFrame, columns: Sequence[str]) -> PramFile:
    """The frame, whose columns ``replicate`` and ``record`` name a record, with these columns randomised."""
    file = start_pram(dc.read_microdata(frame), dc.Secret(SECRET), record=("replicate", "record"))
    for column in columns:
        file = Pram(columns=(column,), design=OwnMatrix.of(*MATRICES[column])).apply(file)
    return file


def released(file: PramFile, columns: Sequence[str]) -> ReleasedFile:
    """What an analyst reads."""
    with TemporaryDirectory() as folder:
        write_pram(file, folder, name="released.csv", columns=columns)
        return read_pram(Path(folder) / "released.pram.json")


def one_by_one(frame: pd.DataFrame, file: PramFile, replicates: int) -> Iterator[tuple[ReleasedFile, ReleasedFile]]:
    """Each replicate by itself as it was released, and as it was before; all have the same number of records."""
    seen = frame.copy()
    for variable, own in zip(file.variables, file.released, strict=True):
        seen[variable.columns[0]] = np.array([code for (code,) in own.categories])[own.codes]
    size = len(frame) // replicates
    nothing = PramDocument(file="replicate", records=size, variables=(), released=())
    for r in range(replicates):
        part = seen.iloc[r * size : (r + 1) * size]
        counts = [
            {(): tuple(int((part[variable.columns[0]] == code).sum()) for (code,) in variable.matrices[()].categories)}
            for variable in file.variables
        ]
        document = PramDocument(file="replicate", records=size, variables=file.variables, released=tuple(counts))
        before = dc.read_microdata(frame.iloc[r * size : (r + 1) * size], threads=1)
        yield (
            ReleasedFile(microdata=dc.read_microdata(part, threads=1), document=document),
            ReleasedFile(microdata=before, document=nothing),
        )


# -------------------------------------------------------------------- lines


def of_table(what: str, found: Estimates, truth: np.ndarray) -> list[Line]:
    """One line a cell of a table whose first axis are the replicates; ``truth`` has the shape of the other axes."""
    axes = found.axes[1:]
    lines = []
    for at in np.ndindex(truth.shape):
        label = " ".join(axis.labels[i] for axis, i in zip(axes, at, strict=True))
        numbers = (found.estimate, found.error, found.low, found.high, found.naive)
        lines.append(Line(f"{what}, {label}", float(truth[at]), *(array[:, *at] for array in numbers)))
    return lines


def of_fits(what: str, fits: Sequence[Fit], full: Sequence[Fit], truth: Sequence[float]) -> list[Line]:
    """One line a coefficient; ``full`` are the fits to the files before they were randomised."""
    columns = (
        np.array([fit.params for fit in fits]),
        np.array([fit.bse for fit in fits]),
        *np.moveaxis(np.array([fit.conf_int() for fit in fits]), 2, 0),
        np.array([fit.naive for fit in fits]),
        np.array([fit.params for fit in full]),
    )
    return [
        Line(f"{what}, {name}", value, *(column[:, i] for column in columns))
        for i, (name, value) in enumerate(zip(fits[0].names, truth, strict=True))
    ]


def cross(frame: pd.DataFrame, columns: Sequence[str], values: np.ndarray) -> np.ndarray:
    """Sums of values by codes, an axis for each column."""
    codes = [np.unique(frame[column], return_inverse=True) for column in columns]
    table = np.zeros([len(names) for names, _ in codes])
    np.add.at(table, tuple(at for _, at in codes), values)
    return table


# -------------------------------------------------------------------- subjects


def tables(replicates: int, seed: int, records: int = 1_500) -> list[Line]:
    """Counts and weighted totals of one file that is randomised again and again."""
    chance = np.random.default_rng(seed)
    shares = np.tile([0.4, 0.3, 0.2, 0.1], (records, 1))
    once = pd.DataFrame({"record": np.arange(records), "sex": np.where(chance.random(records) < 0.5, "m", "w")})
    once["trade"] = codes_of("trade", shares, chance)
    once["area"] = codes_of(
        "area", np.where((once["trade"] == "t1").to_numpy()[:, None], [0.5, 0.3, 0.2], [0.3, 0.4, 0.3]), chance
    )
    once["value"] = np.exp(chance.normal(1, 0.6, records)).round(2)
    once["weight"] = (1 + 2 * chance.random(records)).round(2)
    frame = pd.concat([once] * replicates, ignore_index=True)
    frame["replicate"] = np.repeat([f"{r:06d}" for r in range(replicates)], records)
    file = randomised(frame, ["trade", "area"])
    columns = ["replicate", "sex", "trade", "area", "value", "weight"]
    told = released(file, columns)
    one = np.ones(records)
    weighted = (once["weight"] * once["value"]).to_numpy()
    counted = estimate_counts(told, ["replicate", "trade"])
    crossed = estimate_counts(told, ["replicate", "trade", "area", "sex"])
    total = estimate_totals(told, "value", ["replicate", "trade"], weight="weight")
    return [
        *of_table("counts", counted, cross(once, ["trade"], one)),
        *of_table("counts", crossed, cross(once, ["trade", "area", "sex"], one)),
        *of_table("weighted totals", total, cross(once, ["trade"], weighted)),
    ]


def survey(replicates: int, seed: int) -> list[Line]:
    """Weighted totals of a survey that is drawn again and again: clusters with replacement, in strata."""
    chance = np.random.default_rng(seed + 1)
    size = STRATA * CLUSTERS * MEMBERS
    leaning = np.repeat(chance.random(STRATA * CLUSTERS), MEMBERS)[:, None]
    population = pd.DataFrame({"stratum": np.repeat([f"s{s}" for s in range(STRATA)], CLUSTERS * MEMBERS)})
    population["trade"] = codes_of("trade", leaning * [0.6, 0.2, 0.1, 0.1] + (1 - leaning) * [0.2, 0.4, 0.2, 0.2], chance)
    population["value"] = np.exp(0.5 * leaning[:, 0] + chance.normal(1, 0.5, size)).round(2)
    first = np.arange(STRATA) * CLUSTERS
    drawn = (first[:, None] + chance.integers(0, CLUSTERS, (replicates, STRATA, DRAWN))).ravel()
    rows = (drawn[:, None] * MEMBERS + np.arange(MEMBERS)).ravel()
    frame = population.iloc[rows].reset_index(drop=True)
    each = STRATA * DRAWN * MEMBERS
    frame["record"] = np.tile(np.arange(each), replicates)
    frame["cluster"] = np.repeat(np.arange(len(drawn)), MEMBERS)
    frame["replicate"] = np.repeat([f"{r:06d}" for r in range(replicates)], each)
    frame["weight"] = CLUSTERS / DRAWN
    told = released(randomised(frame, ["trade"]), ["replicate", "trade", "value", "weight", "cluster", "stratum"])
    plan: dict[str, Any] = {"weight": "weight", "cluster": "cluster", "design_strata": ["replicate", "stratum"]}
    total = estimate_totals(told, "value", ["replicate", "trade"], **plan)
    return of_table("survey totals", total, cross(population, ["trade"], population["value"].to_numpy()))


def models(replicates: int, seed: int, records: int = 8_000) -> list[Line]:
    """Linear and logistic regressions, each time of another file; some files are drawn and randomised at a time."""
    chance = np.random.default_rng(seed + 2)
    linear: tuple[list[Fit], list[Fit]] = ([], [])
    logistic: tuple[list[Fit], list[Fit]] = ([], [])
    for first in range(0, replicates, BATCH):
        names = [f"{r:06d}" for r in range(first, min(first + BATCH, replicates))]
        frame = modelled(len(names) * records, chance)
        frame["record"] = np.tile(np.arange(records), len(names))
        frame["replicate"] = np.repeat(names, records)
        file = randomised(frame, ["area", "smoker"])
        for pair in one_by_one(frame.drop(columns=["record", "replicate"]), file, len(names)):
            for told, straight, curved in zip(pair, linear, logistic, strict=True):
                straight.append(linear_regression(told, "income", ["sex", "area", "smoker", "hours"], numeric=["hours"]))
                curved.append(logistic_regression(told, "smoker", ["sex", "area"], category="yes"))
    return [
        *of_fits("linear", *linear, (1.0, 0.5, 1.0, -1.0, -0.8, 0.7)),
        *of_fits("logistic", *logistic, (-0.5, 0.8, -0.7, 0.5)),
    ]


def modelled(size: int, chance: np.random.Generator) -> pd.DataFrame:
    """So many records, drawn from the models."""
    frame = pd.DataFrame({"sex": np.where(chance.random(size) < 0.5, "m", "w")})
    man = (frame["sex"] == "m").to_numpy()
    frame["area"] = codes_of("area", np.where(man[:, None], [0.5, 0.3, 0.2], [0.3, 0.4, 0.3]), chance)
    frame["hours"] = chance.normal(0, 1, size).round(3)
    area = pd.get_dummies(frame["area"]).to_numpy(float)
    smokes = chance.random(size) < 1 / (1 + np.exp(-(-0.5 + 0.8 * ~man - 0.7 * area[:, 1] + 0.5 * area[:, 2])))
    frame["smoker"] = np.where(smokes, "yes", "no")
    frame["income"] = 1 + area @ [0, 1.0, -1.0] + 0.5 * ~man - 0.8 * smokes + 0.7 * frame["hours"] + chance.normal(0, 1, size)
    return frame


if __name__ == "__main__":
    sys.exit(main())
