"""Runs the section [swap] of a plan: applies its methods in order, and writes what may be released."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from discreet.errors import PlanError
from discreet.io.staging import gathered
from discreet.io.swap import write_swapped, write_swaps
from discreet.microdata.protect.swap.start import start_swap
from discreet.microdata.risk.undone import undoing_columns
from discreet.model.swap_file import SwapFile
from discreet.plan.protect import Progress
from discreet.plan.read import Plan, read_plan
from discreet.plan.read_swap import SwapPlan
from discreet.plan.release_sections import CONFIDENTIAL
from discreet.plan.run import check_out
from discreet.plan.sources import Sources, needed_secret
from discreet.plan.swap_sections import SwapSection

__all__ = ["REPORT", "SwapRun", "foresee_swap", "run_swap", "swap_names", "write_swap_run"]

REPORT = f"{CONFIDENTIAL}/swap-report.html"
"""The owner's report of a run, which holds true counts."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SwapRun:
    """A plan whose section [swap] was run: the swapped file, the section and its methods, and what these foresaw and did.

    Confidential, as ``file`` holds the true records.  ``seconds`` the whole run; ``notes`` are lines about it, such as an
    encoding that was found.
    """

    file: SwapFile
    section: SwapSection
    methods: tuple[Any, ...]
    told: tuple[str, ...]
    seconds: float
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"SwapRun({self.file!r})"

    @property
    def keys(self) -> tuple[tuple[str, ...], int]:
        """The key variables of the owner's report, and at most how many records of a combination make it risky."""
        if self.section.keys:
            return self.section.keys, self.section.at_most
        with_keys = (method for method in self.methods if getattr(method, "keys", ()))
        return next(((method.keys, method.at_most) for method in with_keys), ((), 1))

    @property
    def changed(self) -> int:
        """How many records have a value that comes from another record."""
        moved = [origin != np.arange(len(origin)) for origin in self.file.origin.values()]
        return int(np.logical_or.reduce(moved).sum()) if moved else 0


def run_swap(path: str | Path | Plan, out: str | Path | None = None, *, progress: Progress | None = None) -> SwapRun:
    """Swap records as a plan's section [swap] says (its file, or what ``read_plan`` made of it).

    With ``out``, the release and the owner's list of swaps are written into that folder, both or none.  Everything is checked
    before anything is read or swapped.  The same plan, records and secret give the same release, whatever the order of the
    records: what was done can be repeated as long as the secret is kept.

    Errors: PlanError, InputError and their kin, before anything was written.
    """
    say = progress or (lambda _: None)
    began = time.perf_counter()
    plan = path if isinstance(path, Plan) else read_plan(path)
    asked = _asked(plan)
    if out is not None:
        check_out(plan, out, swap_names(plan))
    sources, file = _started(plan, asked, say)
    told: list[str] = []
    for method in asked.methods:
        told += _foreseen(method, file)
        say(told[-1] if hasattr(method, "foreseen") else method.NAME)
        file = method.apply(file)
        told.append(str(file.steps[-1]))
    run = SwapRun(
        file=file,
        section=asked.section,
        methods=asked.methods,
        told=tuple(told),
        seconds=time.perf_counter() - began,
        notes=(*sources.notes, *_warnings(file, asked.section)),
    )
    if out is not None:
        with gathered(Path(out), stale=swap_names(plan)) as folder:
            write_swap_run(run, folder)
    return run


def foresee_swap(path: str | Path | Plan, *, progress: Progress | None = None) -> list[str]:
    """What each step of a plan's section [swap] would have to move, in words; nothing is written.

    A step is looked at on the records as the steps before it leave them, so these are made, and the last one is not.

    Errors: as for :func:`run_swap`.
    """
    say = progress or (lambda _: None)
    plan = path if isinstance(path, Plan) else read_plan(path)
    asked = _asked(plan)
    file, told = _started(plan, asked, say)[1], list[str]()
    for i, method in enumerate(asked.methods, 1):
        say(method.NAME)
        told += _foreseen(method, file) or [f"{method.NAME} moves what its parameters say, and nothing is forced"]
        file = method.apply(file) if i < len(asked.methods) else file
    return told


def swap_names(plan: Plan) -> list[str]:
    """The files that the section [swap] of this plan could write."""
    release = _asked(plan).section.release
    return [release, f"{CONFIDENTIAL}/{_list_name(release)}", REPORT]


def write_swap_run(run: SwapRun, folder: str | Path) -> Path:
    """The release, written into this folder, and the owner's list of swaps, written into ``confidential`` in it."""
    section, place = run.section, Path(folder)
    (place / CONFIDENTIAL).mkdir(mode=0o700, exist_ok=True)
    write_swaps(run.file, place / CONFIDENTIAL, name=_list_name(section.release))
    return write_swapped(run.file, place, name=section.release, columns=section.columns, renumber=section.renumber)


def _foreseen(method: Any, file: SwapFile) -> list[str]:
    """What a method foresees of this file, where it foresees anything."""
    return [f"{method.NAME} foresees: {method.foreseen(file)}"] if hasattr(method, "foreseen") else []


def _warnings(file: SwapFile, section: SwapSection) -> list[str]:
    """What the owner should know before the release leaves."""
    if not file.origin:
        return ["no value moved, so that the release holds the true records"]
    released = [column for column in section.columns or file.shown if column not in section.renumber]
    return [
        f"column {one.column!r} stays and tells the true {one.moved!r}: let it move too, or leave it out of the release"
        for one in undoing_columns(file, released)
    ]


def _list_name(release: str) -> str:
    return f"{PurePath(release).stem}.swaps.csv"


def _started(plan: Plan, asked: SwapPlan, say: Progress) -> tuple[Sources, SwapFile]:
    secret = needed_secret(plan)
    say(f"{plan.path.name}: reading the records")
    sources = Sources(plan)
    return sources, start_swap(sources.records(), secret, record=asked.section.record)


def _asked(plan: Plan) -> SwapPlan:
    if plan.swap is None:
        raise PlanError(plan.path.name, "has no section [swap]", "make its tables with: discreet run PLAN")
    return plan.swap
