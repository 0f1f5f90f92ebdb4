"""Perturbed tables of many records, against plain SQL for the same cells on the same engine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import duckdb

import discreet as dc
from benchmarks.records import CODES, PREFIXES, records_of
from benchmarks.registry import Stage, subject
from discreet import read_microdata, tabulate
from discreet.model.keys import Secret
from discreet.model.ptable import PTable

__all__ = ["Bare", "counts", "lpm", "magnitudes", "spanning"]

MILLION = 1_000_000
VARIABLES = ("nace", "region", "size")
KEPT = 10
"""The largest contributions kept of each cell: nine that carry noise, and one more for the variances."""

R_COUNTS, R_MAGNITUDES = 3.5, 54.0
"""Seconds seen of R's cellKey, for counts of 1,000,000 records and for sums of 100,000."""


# -------------------------------------------------------------------- plain SQL


class Bare:
    """Plain SQL straight from the file, on an engine of its own: leaf cells and, with ``margins``, all cells above them.

    Margins are merged level by level, each from the one below, which is the cheapest way: a code one character shorter is its
    parent, and T the total.
    """

    def __init__(self, path: Path, *, margins: bool = True, variables: tuple[str, ...] = VARIABLES) -> None:
        self.margins = margins
        self.cell = ", ".join(variables)
        self.records = f"read_parquet('{path}')"
        self.engine = duckdb.connect(config={"preserve_insertion_order": False})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.engine.close()

    def count(self, *columns: str) -> int:
        """Counts, and sums of these columns; the number of cells."""
        sums = "".join(f", sum({column}) as {column}" for column in columns)
        self._make("sums", f"select {self.cell}, count(*) as n{sums} from {self.records} group by {self.cell}")
        self._roll("sums", lambda rows: f"select {self.cell}, sum(n) as n{sums} from ({rows}) group by {self.cell}")
        return self._size("sums")

    def top(self) -> int:
        """The ten largest contributions with the units that made them; how many rows that is."""

        def best(rows: str) -> str:
            place = f"row_number() over (partition by {self.cell} order by turnover desc, id)"
            return f"select {self.cell}, id, turnover from (select *, {place} as place from ({rows})) where place <= {KEPT}"

        self._make("tops", best(f"select {self.cell}, id, turnover from {self.records}"))
        self._roll("tops", best)
        return self._size("tops")

    def values(self) -> int:
        """The ten largest contributions as a list of amounts, which tells nothing of who made them; the number of cells."""
        self._make("lists", f"select {self.cell}, max(turnover, {KEPT}) as top from {self.records} group by {self.cell}")
        flat = f"select {self.cell}, max(amount, {KEPT}) as top from (select {self.cell}, unnest(top) as amount from"
        self._roll("lists", lambda rows: f"{flat} ({rows})) group by {self.cell}")
        return self._size("lists")

    def _make(self, table: str, rows: str) -> None:
        self.engine.execute(f"create table {table} as {rows}")

    def _roll(self, table: str, merge: Callable[[str], str]) -> None:
        if not self.margins:
            return
        for name in VARIABLES:
            for length in range(len(CODES[name][0]), 1, -1):
                above = f"substr({name}, 1, {length - 1})" if length > 2 else "'T'"
                rows = f"select * replace ({above} as {name}) from {table} where length({name}) = {length}"
                self.engine.execute(f"insert into {table} {merge(rows)}")

    def _size(self, table: str) -> int:
        return int(self.engine.execute(f"select count(*) from {table}").fetchall()[0][0])


# -------------------------------------------------------------------- ours


def spanning() -> dict[str, Any]:
    """The trees of the spanning variables, from their codes."""
    trees = {name: dc.Hierarchy.from_prefixes(CODES[name], lengths) for name, lengths in PREFIXES.items()}
    return {name: trees.get(name) or dc.Hierarchy.flat(CODES[name]) for name in VARIABLES}


FEW = ("area", "age", "work", "sex")
"""Flat variables with 3,360 inner cells: the table of ``benchmarks.peers.cell_keys``."""


def lpm(path: Path, *, key: str | None = None, unit: str | None = None) -> Any:
    """A table perturbed by LPM in all its margins, with keys from a column or hashed from a secret."""
    method = dc.LayeredPerturbation()
    microdata = read_microdata(path, unit=unit, record_key=key)
    secret = None if key else Secret("a secret of a benchmark, for nothing else")
    table = tabulate(microdata, spanning=spanning(), response="turnover", ranks=method.ranks_needed, secret=secret)
    return method.apply(table)


def counts(path: Path, ptable: PTable, variables: Any) -> Any:
    """Counts perturbed by cell keys, in all margins."""
    return dc.CellKey(ptable=ptable).apply(tabulate(read_microdata(path, record_key="key"), spanning=variables))


def magnitudes(path: Path, ptable: PTable, variables: Any) -> Any:
    """Sums perturbed by cell keys, three contributions of each cell with noise, in all margins."""
    method = dc.CellKeyMagnitude(ptable=ptable, layers=(1.0, 0.6, 0.4))
    table = tabulate(read_microdata(path, record_key="key"), spanning=variables, response="turnover", ranks=method.ranks_needed)
    return method.apply(table)


def note(facts: dict[str, int | float | str], table: Any) -> None:
    """What was made, and what the method alone took."""
    facts["cells"] = len(table.layouts[0].cell)
    facts["perturbed"] = int(table.perturbed.sum())
    facts["tabulate s"] = round(table.history[0].seconds, 2)


# -------------------------------------------------------------------- the subjects


@subject(
    "lpm-10M", "LPM over all margins of nace4 × region3 × size from 10,000,000 records, beside plain top-10 SQL for the same"
)
def lpm_ten_million(stage: Stage) -> None:
    """The bare side knows no keys and checks nothing; the sides with ids look for units that have several records."""
    path = records_of(stage, 10 * MILLION)
    bare = "bare top-10, all margins"
    with stage.timed("bare top-10, leaf cells only") as facts, Bare(path, margins=False) as sql:
        facts["cells"], facts["rows"] = sql.count("turnover"), sql.top()
    with stage.timed(bare) as facts, Bare(path) as sql:
        facts["cells"], facts["rows"] = sql.count("turnover"), sql.top()
    with stage.timed("bare amounts without their units, all margins", against=bare) as facts, Bare(path) as sql:
        sql.count("turnover")
        facts["cells"] = sql.values()
    with stage.timed("LPM, keys from a column", against=bare) as facts:
        note(facts, lpm(path, key="key"))
    with stage.timed("LPM, keys from a column, unit ids", against=bare) as facts:
        note(facts, lpm(path, key="key", unit="id"))
    with stage.timed("LPM, keys hashed from unit ids", against=bare) as facts:
        note(facts, lpm(path, unit="id"))


@subject("cell-key-10M", "cell keys on counts of 10,000,000 records with all margins, beside the bare group-by with key sums")
def cell_key_ten_million(stage: Stage) -> None:
    """The same cells on both sides; the p-table is given."""
    path, ptable = records_of(stage, 10 * MILLION), dc.design_counts(5, 2.0)
    bare = "bare group-by with key sums, all margins"
    with stage.timed("bare group-by with key sums, leaf cells only") as facts, Bare(path, margins=False) as sql:
        facts["cells"] = sql.count("key")
    with stage.timed(bare) as facts, Bare(path) as sql:
        facts["cells"] = sql.count("key")
    with stage.timed("cell keys on counts", against=bare) as facts:
        note(facts, counts(path, ptable, spanning()))
    bare = "bare group-by with key sums, 3,360 cells without margins"
    with stage.timed(bare) as facts, Bare(path, margins=False, variables=FEW) as sql:
        facts["cells"] = sql.count("key")
    with stage.timed("cell keys on counts, 3,360 inner cells and margins", against=bare) as facts:
        note(facts, counts(path, ptable, FEW))


@subject(
    "cell-key-R", "cell keys on counts of 1,000,000 and on sums of 100,000 records, beside the seconds seen of R's cellKey"
)
def cell_key_beside_r(stage: Stage) -> None:
    """R itself is not run: its seconds are those that this file names."""
    many, some = records_of(stage, MILLION), records_of(stage, MILLION // 10)
    ptables = dc.design_counts(5, 2.0), dc.design_magnitudes(5, 2.0, steps=4, anchors=(1.0, 2.0, 3.0, 5.0, 10.0))
    for name, variables in {"3,360 inner cells": FEW, "nace4 × region3 × size": spanning()}.items():
        with stage.timed(f"counts of 1,000,000, {name}") as facts:
            note(facts, counts(many, ptables[0], variables))
            facts["R s"] = R_COUNTS
        with stage.timed(f"sums of 100,000, {name}") as facts:
            note(facts, magnitudes(some, ptables[1], variables))
            facts["R s"] = R_MAGNITUDES
