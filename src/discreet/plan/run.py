"""Runs a plan: checks everything, protects and audits every table, and writes what may be published."""

from __future__ import annotations

import dataclasses
import os
import platform
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from discreet.audit import Audit, audit, publish
from discreet.audit.rounding import RoundingAudit, rounding_audit
from discreet.errors import InputError, NotProtectedError
from discreet.io.published import FORMATS, write_published
from discreet.io.staging import gathered
from discreet.loss import PerturbationLoss, SuppressionLoss, perturbation_loss, suppression_loss
from discreet.model.published import Exemption, PublishedTable
from discreet.model.table import Table
from discreet.plan.protect import Progress, apply_all, secure
from discreet.plan.read import Plan, TablePlan, read_plan
from discreet.plan.sections import OutputSection
from discreet.plan.shared import share_pattern
from discreet.plan.sources import Sources

__all__ = ["Run", "TableRun", "check_out", "run_plan", "write_release"]

ROUNDING_SECONDS = 30.0
"""The rounding audit of a table, which the report tells and nothing depends on, takes no longer."""

PARTS = ("discreet", "numpy", "scipy", "duckdb", "highspy", "narwhals")


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TableRun:
    """What became of one table of a plan, or of the tables that are protected together (``name`` then has a +).

    ``methods`` the methods that were applied, in order; ``published`` None where the table is refused, and ``refusal``
    then says why; ``audit`` the last one; ``seconds`` the whole run of this table; ``perturbation`` None where no cell is
    shown rounded or with noise.
    """

    name: str
    table: Table
    methods: tuple[Any, ...]
    audit: Audit
    published: PublishedTable | None
    loss: SuppressionLoss
    seconds: float
    refusal: str = ""
    perturbation: PerturbationLoss | None = None
    rounding: RoundingAudit | None = None

    def __repr__(self) -> str:
        return f"TableRun({self.name}: {self.table!r}, {'published' if self.published else 'refused'})"


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Run:
    """A plan that was run: its text as written and as parsed, the versions used, when it started, and its tables.

    ``notes`` are lines about the input, such as an encoding that was found.
    """

    plan_text: str
    plan: Mapping[str, Any]
    versions: Mapping[str, str]
    started: str
    tables: tuple[TableRun, ...]
    notes: tuple[str, ...] = ()
    output: OutputSection = dataclasses.field(default_factory=OutputSection)

    def __repr__(self) -> str:
        return f"Run({len(self.tables)} tables, {len(self.refused)} refused, started {self.started})"

    @property
    def refused(self) -> tuple[TableRun, ...]:
        """The tables that may not be published."""
        return tuple(one for one in self.tables if one.published is None)

    @property
    def file_names(self) -> list[str]:
        """The release files that this plan could write, whatever its output section says."""
        return [f"{layout.name}.{kind}" for one in self.tables for layout in one.table.layouts for kind in FORMATS]


def run_plan(
    path: str | Path | Plan, out: str | Path | None = None, *, time_limit: float | None = None, progress: Progress | None = None
) -> Run:
    """Run a plan (its file, or what ``read_plan`` made of it); with ``out``, write what is proved into that folder.

    Everything is checked before anything is protected.  A table that cannot be proved is refused: nothing is written for it,
    and a release file of an earlier run is removed.  ``time_limit`` seconds a table for audit and repair together, and as many
    again once its numbers are perturbed.

    Errors: PlanError, InputError and their kin before anything was written; a refused table is no error but told in ``Run``.
    """
    say = progress or (lambda _: None)
    started = datetime.now(UTC).isoformat(timespec="seconds")
    plan = path if isinstance(path, Plan) else read_plan(path)
    if out is not None:
        check_out(plan, out)
    say(f"{plan.path.name}: reading the input")
    sources = Sources(plan)
    tables = sources.tables()
    run = Run(
        plan_text=plan.text,
        plan=plan.content,
        versions={"python": platform.python_version()} | {part: version(part) for part in PARTS},
        started=started,
        tables=_table_runs(tables, time_limit, say),
        notes=sources.notes,
        output=plan.output,
    )
    if out is not None:
        with gathered(Path(out), stale=run.file_names) as folder:
            write_release(run, folder)
    return run


def _table_runs(
    tables: Sequence[tuple[tuple[TablePlan, ...], Table]], time_limit: float | None, say: Progress
) -> tuple[TableRun, ...]:
    """Every table protected; those that share a pattern first of all by that."""
    shared: dict[int, Table | str] = {}
    words = [group[0].section.shared_pattern for group, _ in tables]
    for word in dict.fromkeys(word for word in words if word is not None):
        places = [place for place, other in enumerate(words) if other == word]
        parts = [(tables[k][1], tables[k][0][0].methods, _exceptions(tables[k][0])) for k in places]
        told = _teller(say, f"pattern {word}")
        try:
            shared |= dict(zip(places, share_pattern(parts, time_limit=time_limit, progress=told), strict=True))
        except NotProtectedError as error:
            shared |= dict.fromkeys(places, str(error))
    runs = (_table_run(group, table, time_limit, say, shared.get(k)) for k, (group, table) in enumerate(tables))
    return tuple(runs)


def _exceptions(group: Sequence[TablePlan]) -> list[Exemption]:
    return [Exemption(**dataclasses.asdict(entry), table=part.name) for part in group for entry in part.exceptions]


def _teller(say: Progress, name: str) -> Progress:
    return lambda text: say(f"{name}: {text}")


def _table_run(
    group: Sequence[TablePlan], table: Table, time_limit: float | None, say: Progress, shared: Table | str | None = None
) -> TableRun:
    """``shared`` the table under the pattern that it shares, or why there is none."""
    began = time.perf_counter()
    name, one = " + ".join(one.name for one in group), group[0]
    exceptions, told = _exceptions(group), _teller(say, name)
    proof, published, refusal = None, None, shared if isinstance(shared, str) else ""
    try:
        deadline = None if time_limit is None else time.monotonic() + time_limit
        if isinstance(shared, Table):
            table = shared
        elif not refusal:
            table = apply_all(table, one.methods, exceptions=exceptions, deadline=deadline, progress=told)
        if not refusal:
            table, proof = secure(table, one.methods, exceptions=exceptions, time_limit=time_limit, progress=told)
            published = publish(table, exceptions=exceptions, audit=proof)
    except NotProtectedError as error:
        refusal = str(error)
    proof = proof or audit(table, time_limit=time_limit)
    return TableRun(
        name=name,
        table=table,
        methods=one.methods,
        audit=proof,
        published=published,
        loss=suppression_loss(table, proof),
        seconds=time.perf_counter() - began,
        refusal=refusal,
        perturbation=perturbation_loss(table) if table.perturbed.any() else None,
        rounding=rounding_audit(table, time_limit=_least(time_limit)) if published and _bounded(table) else None,
    )


def _bounded(table: Table) -> bool:
    """Some shown number bounds the value behind it."""
    return bool((table.perturbed & np.isfinite(table.shown_low) & np.isfinite(table.shown_high)).any())


def _least(time_limit: float | None) -> float:
    return ROUNDING_SECONDS if time_limit is None else min(time_limit, ROUNDING_SECONDS)


# -------------------------------------------------------------------- files


def write_release(run: Run, folder: str | Path) -> list[Path]:
    """The release files of every table that is proved, written into this folder."""
    options = dataclasses.asdict(run.output)
    return [file for one in run.tables if one.published for file in write_published(one.published, folder, **options)]


def check_out(plan: Plan, out: str | Path, names: Sequence[str] = ()) -> None:
    """Refuses, before a long run, a folder that cannot be written or in which a release would replace the plan's input.

    ``names`` are the files that will be written there, by default those of the plan's tables and their report.
    """
    target, other = _folder(out), "choose another folder for the output"
    inputs = {file.resolve() for file in plan.files}
    of_tables = ["report.html", "report.json", *(f"{table.name}.{kind}" for table in plan.tables for kind in FORMATS)]
    for name in names or of_tables:
        place = target / name
        if place.resolve() in inputs:
            raise InputError(name, "is input of the plan, and the output would replace it", other)
        if place.is_dir():
            raise InputError(name, "is a folder where the output writes a file", other)
        if place.parent.is_file() and place.parent != target:
            raise InputError(place.parent.name, "is a file where the output needs a folder", other)
    there = next(folder for folder in (target.absolute(), *target.absolute().parents) if folder.exists())
    if not (there.is_dir() and os.access(there, os.W_OK)):
        raise InputError(str(out), "cannot be written", other)


def _folder(out: str | Path) -> Path:
    target = Path(out)
    if target.exists() and not target.is_dir():
        raise InputError(target.name, "is a file, not a folder", "choose another folder for the output")
    return target
