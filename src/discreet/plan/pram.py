"""Runs the section [pram] of a plan: randomises the variables in order, and writes what may be released."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path, PurePath

from discreet.errors import PlanError
from discreet.io.pram import DOCUMENT, PRIVATE, write_pram
from discreet.io.staging import gathered
from discreet.microdata.protect.pram.apply import Pram, start_pram
from discreet.microdata.risk.pram_file import PramRisk, pram_risk
from discreet.model.pram_file import PramFile
from discreet.model.randomised import PramDocument
from discreet.plan.pram_sections import PramSection
from discreet.plan.protect import Progress
from discreet.plan.read import Plan, read_plan
from discreet.plan.read_pram import PramPlan
from discreet.plan.release_sections import CONFIDENTIAL
from discreet.plan.run import check_out
from discreet.plan.sources import Sources, needed_secret

__all__ = ["REPORT", "PramRun", "pram_names", "run_pram", "write_pram_run"]

REPORT = f"{CONFIDENTIAL}/pram-report.html"
"""The owner's report of a run, which holds true counts."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PramRun:
    """A plan whose section [pram] was run: the randomised file, what risk is left in it, and the section itself.

    Confidential, as ``file`` holds the true codes and ``risk`` true counts.  ``seconds`` the whole run; ``notes`` are lines
    about the input, such as an encoding that was found.
    """

    file: PramFile
    risk: PramRisk
    section: PramSection
    seconds: float
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"PramRun({self.file!r})"


def run_pram(path: str | Path | Plan, out: str | Path | None = None, *, progress: Progress | None = None) -> PramRun:
    """Randomise records as a plan's section [pram] says (its file, or what ``read_plan`` made of it).

    With ``out``, the release, its document and, where matrices are not public, the owner's document are written into that
    folder, all of them or none.  Everything is checked before anything is read or drawn.

    Errors: PlanError, InputError and their kin, before anything was written.
    """
    say = progress or (lambda _: None)
    began = time.perf_counter()
    plan = path if isinstance(path, Plan) else read_plan(path)
    asked = _asked(plan)
    if out is not None:
        check_out(plan, out, pram_names(plan))
    secret = needed_secret(plan)
    say(f"{plan.path.name}: reading the records")
    sources = Sources(plan)
    file = start_pram(sources.records(), secret, record=asked.section.record)
    for method in asked.methods:
        say(f"{Pram.NAME}: {' × '.join(method.columns)}")
        file = method.apply(file)
    run = PramRun(
        file=file,
        risk=pram_risk(file, columns=asked.section.columns),
        section=asked.section,
        seconds=time.perf_counter() - began,
        notes=sources.notes,
    )
    if out is not None:
        with gathered(Path(out), stale=pram_names(plan)) as folder:
            write_pram_run(run, folder)
    return run


def pram_names(plan: Plan) -> list[str]:
    """The files that the section [pram] of this plan could write, whether or not its matrices are public."""
    release = _asked(plan).section.release
    return [release, PurePath(release).stem + DOCUMENT, f"{CONFIDENTIAL}/{PurePath(release).stem}{PRIVATE}", REPORT]


def write_pram_run(run: PramRun, folder: str | Path) -> PramDocument:
    """The release and its document, written into this folder; what stays with the owner goes into ``confidential``."""
    section = run.section
    place = Path(folder)
    document = write_pram(
        run.file,
        place,
        name=section.release,
        columns=section.columns,
        public=section.public,
        counts_known=section.counts_known,
    )
    (place / CONFIDENTIAL).mkdir(mode=0o700, exist_ok=True)
    if not section.public:
        own = PurePath(section.release).stem + PRIVATE
        (place / own).replace(place / CONFIDENTIAL / own)
    return document


def _asked(plan: Plan) -> PramPlan:
    if plan.pram is None:
        raise PlanError(plan.path.name, "has no section [pram]", "make its tables with: discreet run PLAN")
    return plan.pram
