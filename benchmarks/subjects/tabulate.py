"""Tabulating a large register, against the bare group-by of the same cells on the same engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb

import discreet as dc
from benchmarks.registry import Stage, subject

MILLION = 1_000_000


def bare_group_by(path: Path, parts: dict[str, str], activity: tuple[str, ...], region: tuple[str, ...]) -> int:
    """Counts and sums of all cells with all margins straight from DuckDB; the number of cells.

    The activity levels are cut out of the code; ``parts`` gives the section of each division.
    """
    levels = {"section": "section", "division": "nace[:2]", "branch": "nace[:4]", "nace": "nace"}
    columns = ", ".join(f"{levels[level]} as {level}" for level in activity)
    sections = ", ".join(f"('{division}', '{section}')" for division, section in parts.items())
    with duckdb.connect() as connection:
        connection.execute(f"""
            create table cells as
            select count(*) as n, sum(turnover) as value, max(turnover) as largest
            from (select {columns}, {", ".join(region)}, turnover
                  from read_parquet('{path}') join (values {sections}) names(part, section) on part = nace[:2])
            group by rollup({", ".join(activity)}), rollup({", ".join(region)})""")
        return int(connection.execute("select count(*) from cells").fetchall()[0][0])


def bare_scan(path: Path) -> int:
    """One pass over the records without any grouping; their number."""
    with duckdb.connect() as connection:
        found = connection.execute(f"""select count(*), sum(turnover), min(nace), min(region3), min("group"), min(enterprise)
                                       from read_parquet('{path}')""")
        return int(found.fetchall()[0][0])


def sections_of(path: Path) -> dict[str, str]:
    """The section of each division, from the tree beside the register."""
    found: dict[str, str] = {}
    section = ""
    for line in path.with_name("nace.hrc").read_text(encoding="utf-8").splitlines():
        depth = len(line) - len(line.lstrip("@"))
        if depth == 0:
            section = line
        elif depth == 1:
            found[line[1:]] = section
    return found


@subject("tabulate-1M", "tabulate 1,000,000 records: nace divisions × region level 2, and all levels of both")
def tabulate_million(stage: Stage) -> None:
    """Cells with margins, holdings and largest contributions, beside the plain sums of the same cells."""
    path = stage.register(MILLION)
    parts = sections_of(path)
    with stage.timed("bare scan") as facts:
        facts["records"] = bare_scan(path)
    with stage.timed("bare group-by, 2 levels", against="bare scan") as facts:
        facts["cells"] = bare_group_by(path, parts, ("section", "division"), ("region1", "region2"))
    microdata = dc.read_microdata(path, unit="enterprise", holding="group")
    nace = dc.read_hierarchy(path.with_name("nace.hrc"), lead="@")
    with stage.timed("tabulate, 2 levels", against="bare group-by, 2 levels") as facts:
        spanning: dict[str, Any] = {"nace": nace.to_level(2), "region": ["region1", "region2"]}
        facts["cells"] = len(dc.tabulate(microdata, spanning=spanning, response="turnover").layouts[0].cell)
    with stage.timed("bare group-by, all levels", against="bare scan") as facts:
        levels = ("section", "division", "branch", "nace"), ("region1", "region2", "region3")
        facts["cells"] = bare_group_by(path, parts, *levels)
    with stage.timed("tabulate, all levels", against="bare group-by, all levels") as facts:
        spanning = {"nace": nace, "region": ["region1", "region2", "region3"]}
        facts["cells"] = len(dc.tabulate(microdata, spanning=spanning, response="turnover").layouts[0].cell)
