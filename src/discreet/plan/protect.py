"""Methods in order, then audit and repair in turn until the audit proves the table."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from discreet.audit import Audit, audit
from discreet.audit.publish import unsigned
from discreet.model.published import Exemption
from discreet.model.table import Table
from discreet.plan.catalog import PERTURBATION, SUPPRESSION
from discreet.tables.preferences import KeepPattern
from discreet.tables.suppress import repair
from discreet.tables.suppress.infeasible import refuse_hopeless

__all__ = ["Method", "Progress", "apply_all", "protect", "secure"]

Progress = Callable[[str], None]


class Method(Protocol):
    """Anything that turns a table into a table no less protected: a method of the catalog or your own."""

    def apply(self, table: Table, /) -> Table:
        """The table, more protected."""
        ...


def protect(
    table: Table, methods: Sequence[Method], *, time_limit: float | None = None, progress: Progress | None = None
) -> Table:
    """Apply the methods in order, then hide further cells until the audit proves every demand.

    Without a suppression method nothing is hidden beyond what the methods hide themselves.  After ``time_limit`` seconds the
    table comes back as it is by then; ``publish`` still demands its proof.

    Errors: NotProtectedError names the cells that cannot be protected, and what stands in the way.
    """
    began = time.monotonic()
    say = progress or _silent
    deadline = None if time_limit is None else began + time_limit
    applied = apply_all(table, methods, deadline=deadline, progress=say)
    return secure(applied, methods, time_limit=_left(deadline), progress=say)[0]


def apply_all(
    table: Table,
    methods: Sequence[Method],
    *,
    exceptions: Sequence[Exemption] = (),
    deadline: float | None = None,
    progress: Progress | None = None,
) -> Table:
    """Apply the methods in order; what was hidden is repaired before a method rounds or adds noise.

    Afterwards it could not be: a cell that is perturbed hides less than one that is shown and could be hidden.
    """
    say = progress or _silent
    for number, method in enumerate(methods):
        if getattr(method, "NAME", "") in PERTURBATION and _suppress(methods[:number]):
            table, _ = secure(table, methods[:number], exceptions=exceptions, time_limit=_left(deadline), progress=say)
        say(f"{getattr(method, 'NAME', type(method).__name__)}")
        if not exceptions and _suppress([method]):
            refuse_hopeless(table, str(getattr(method, "NAME", "")))
        table = method.apply(table)
    return table


def _suppress(methods: Sequence[Method]) -> bool:
    return any(getattr(method, "NAME", "") in SUPPRESSION for method in methods)


def secure(
    table: Table,
    methods: Sequence[Method],
    *,
    exceptions: Sequence[Exemption] = (),
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> tuple[Table, Audit]:
    """Audit the table and, where one of the methods suppresses, repair it until it is safe; with the last audit.

    Each round hides at least one more cell, so the rounds end.  What ``exceptions`` sign is not repaired, nor are close
    estimates from numbers with noise, which call for more noise.
    """
    say = progress or _silent
    deadline = None if time_limit is None else time.monotonic() + time_limit
    while True:
        say(f"audit of {int(table.suppressed.sum())} suppressed cells")
        proof = audit(table, time_limit=_left(deadline))
        unmet = unsigned(table, exceptions, proof)
        late = deadline is not None and time.monotonic() >= deadline
        mendable = [finding for finding in unmet if finding.kind != "estimate"]
        if late or not mendable or not _suppress(methods):
            return _compared(table, proof, methods)
        say(f"repair: {len(mendable)} demands are not met yet")
        table = repair(table, mendable, ahead=not exceptions)


def _compared(table: Table, proof: Audit, methods: Sequence[Method]) -> tuple[Table, Audit]:
    """The same with a line of history that tells what is otherwise than in an earlier pattern, if one was to be kept."""
    for method in methods:
        if isinstance(method, KeepPattern):
            table = method.compared(table)
    return table, proof if proof.table is table else dataclasses.replace(proof, table=table)


def _left(deadline: float | None) -> float | None:
    return None if deadline is None else max(0.0, deadline - time.monotonic())


def _silent(_: str) -> None:
    return None
