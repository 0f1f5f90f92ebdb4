"""Hide a few more cells until what an audit found wrong is right."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from discreet.errors import NotProtectedError, some
from discreet.model.finding import Finding
from discreet.model.table import Table
from discreet.tables.suppress.infeasible import refusal
from discreet.tables.suppress.moves.attackers import Demand, Space, hideable, preference
from discreet.tables.suppress.moves.sums import Sums
from discreet.tables.suppress.moves.unions import Union, mend, relations, union_refusal
from discreet.tables.suppress.opening import Opener

__all__ = ["repair"]

_NAME = "repair"
_STRETCHES = (1.0, 1.001, 1.1, 2.0)


def repair(table: Table, findings: Sequence[Finding], *, ahead: bool = True) -> Table:
    """The table with more secondary suppressions, so that every demand an audit found unmet is met.

    Takes the demands one after the other, largest first, with the hidden set growing, and opens for each the cheapest
    reasonable cells.  Every call hides at least one more cell or raises, so audit and repair in turns come to an end.
    The order of the findings does not matter.  With ``ahead`` the cells hidden on the way are looked after as well, so
    that the next audit finds nothing wrong with them; leave it out where some failures are signed for.

    Errors: NotProtectedError naming the cells that cannot be protected and those that stand in the way.
    """
    start = time.perf_counter()
    if not findings:
        return table
    opener = Opener(Space.of(table), table.suppressed, hideable(table), preference(table), table)
    wanted = _demands(table, findings)
    unions = _unions(table, findings)
    for stretch in _STRETCHES:
        unmet = [demand for demand in wanted if not opener.meet(demand, stretch=stretch)]
        if unmet and stretch == 1.0:
            raise refusal(table, _NAME, unmet)
        _mend(table, opener, unions)
        if ahead:
            _look_ahead(table, opener)
        if (opener.hidden & ~table.suppressed).any():
            return table.with_secondary(_NAME, opener.hidden, time.perf_counter() - start, findings=len(findings))
    raise _no_progress(table, findings)


def _demands(table: Table, findings: Sequence[Finding]) -> list[Demand]:
    """One demand for each cell and each knowledge of the intruder, the largest first."""
    exact = table.exactness()
    merged: dict[tuple[int, tuple[int, ...]], Demand] = {}
    for finding in findings:
        if finding.kind == "union" or finding.cell < 0:
            continue
        knows = tuple(sorted(finding.knows))
        none = finding.up <= 0 and finding.down <= 0 and finding.width <= 0
        width = float(exact[finding.cell]) if none else finding.width
        old = merged.get((finding.cell, knows), Demand(cell=finding.cell))
        needs = {"up": max(old.up, finding.up), "down": max(old.down, finding.down), "width": max(old.width, width)}
        if table.intruder.integer:
            needs = {name: np.ceil(need / table.unit - 1e-6) * table.unit for name, need in needs.items()}
        merged[finding.cell, knows] = Demand(cell=finding.cell, knows=knows, **needs)
    return sorted(merged.values(), key=lambda d: (-max(d.up, d.down, d.width), d.cell, d.knows))


def _unions(table: Table, findings: Sequence[Finding]) -> list[Union]:
    """The sums found sensitive, each with the equation that publishes it."""
    groups = sorted({finding.together for finding in findings if finding.kind == "union"})
    if not groups:
        return []
    starting: dict[int, list[tuple[int, ...]]] = {}
    for group in groups:
        starting.setdefault(group[0], []).append(group)
    found, unknown = [], table.unknown
    for cells, factors, frame in relations(table):
        inside = set(cells[unknown[cells]].tolist())
        for together in sorted(group for cell in inside for group in starting.get(cell, ()) if inside.issuperset(group)):
            signs = np.sign(factors).astype(np.int64)
            held = np.array(together, np.int64)
            if len(set(signs[np.isin(cells, held)].tolist())) == 1:
                found.append(Union(cells=cells, signs=signs, together=held, frame=frame))
    return found


def _mend(table: Table, opener: Opener, unions: Sequence[Union]) -> None:
    stuck = []
    for union in unions:
        more = mend(table, opener.hidden, opener.choice, opener.cost, union)
        if more is None:
            stuck.append(union)
        else:
            opener.hidden[more] = True
    if stuck:
        raise union_refusal(table, _NAME, opener.hidden, stuck)


def _look_ahead(table: Table, opener: Opener) -> None:
    """Protect the cells hidden on the way from being known exactly, and the sums that they have come to be part of.

    Nothing else can have become worse: every table that agreed with the release before still does.
    """
    seen, wide, sums = table.suppressed.copy(), table.exactness(), Sums(table)
    while (fresh := np.flatnonzero(opener.hidden & ~seen)).size:
        seen[fresh] = True
        for cell in fresh.tolist():
            opener.meet(Demand(cell=cell, width=float(wide[cell])))
        for union in sums.failing(opener.hidden | table.unknown):
            new = np.isin(union.together, fresh).any()
            more = mend(table, opener.hidden, opener.choice, opener.cost, union) if new else None
            if more is not None:
                opener.hidden[more] = True


def _no_progress(table: Table, findings: Sequence[Finding]) -> NotProtectedError:
    cells = sorted({finding.cell for finding in findings if finding.cell >= 0})
    return NotProtectedError(
        _NAME,
        f"nothing that can be hidden in addition changes {len(findings)} findings of the audit: "
        f"{some(table.label(cell) for cell in cells)}",
        "give the audit more time, or declare these cells safe",
        details=[{"cell": table.label(cell), "role": "not proved"} for cell in cells],
    )
