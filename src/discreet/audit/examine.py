"""The audit: proves for every suppressed cell, insider and published sum that a release keeps what it must."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.estimates import estimate_findings
from discreet.audit.insiders import insider_pairs
from discreet.audit.intervals import Clock, Reach, intervals, whole_intervals
from discreet.audit.result import VERDICTS, Audit
from discreet.audit.system import SHORT, Component, system
from discreet.audit.unions import union_findings
from discreet.audit.whole import seek_whole_tables
from discreet.errors import InputError
from discreet.model.contributions import Floats
from discreet.model.finding import Finding
from discreet.model.table import Table

__all__ = ["audit"]


def audit(table: Table, *, time_limit: float | None = None) -> Audit:
    """Prove a table, or say what is wrong with it.

    Over all published equations and declared knowledge: the feasibility interval of every cell that is suppressed, or shown
    rounded or with noise; whether a contributor who knows its own hidden cells recomputes another's; whether the sum of the
    hidden cells of an equation is sensitive; how closely numbers with noise estimate a sensitive cell.  What could not be
    proved within ``time_limit`` seconds is reported as not proved.  Of perturbed cells that are not sensitive the intervals are
    found only as far as it takes to show that they are not known exactly.

    Guards against every intruder whom ``table.intruder`` describes.  Does not guard against knowledge that is not
    declared, nor against other releases that are not part of the table.
    """
    clock = Clock(time_limit)
    if table.intruder.integer:
        _check_whole(table)
    seen = _Seen(table)
    whole = system(table)
    known = whole.known.copy()
    for component in whole.components:
        reach = _reach(table, component, seen, clock)
        point = reach.proved & ((reach.high - reach.low) * component.scale < SHORT * table.exactness()[component.cells])
        known[component.cells[point]] = True
    verdict, findings = _judge(table, seen)
    pairs = [0, 0, 0]
    insiders = table.insiders(unlisted=True)
    if insiders:
        _insiders(table, whole.components, seen, clock, pairs, findings)
    unions, failed = union_findings(table, known, whole.equalities, seen.low, seen.high) if table.intruder.unions else (0, [])
    estimates, close = estimate_findings(table)
    findings += [*failed, *close]
    return _result(
        table,
        seen,
        verdict,
        findings,
        {
            "suppressed": int(table.suppressed.sum()),
            "perturbed": int(table.perturbed.sum()),
            **{word: int((verdict[table.judged] == word).sum()) for word in VERDICTS},
            "insiders": len(insiders),
            "insider pairs checked": pairs[0],
            "insider pairs failed": pairs[1],
            "insider pairs not proved": pairs[2],
            "unions checked": unions,
            "unions failed": len({finding.together for finding in failed}),
            "estimates checked": estimates,
            "estimates failed": len(close),
            "components": len(whole.components),
            "programs solved": clock.solves,
            "seconds": round(clock.seconds, 3),
        },
    )


class _Seen:
    """Per cell of the table: how far it can move (in its own units), proved and witnessed; 0 where it is known."""

    def __init__(self, table: Table) -> None:
        self.low, self.high, self.seen_low, self.seen_high = (np.zeros(table.cells) for _ in range(4))
        self.whole_low, self.whole_high = np.zeros(table.cells), np.zeros(table.cells)
        self.proved = np.ones(table.cells, bool)

    def take(self, component: Component, reach: Reach, whole: Reach | None) -> None:
        cells, scale = component.cells, component.scale
        self.low[cells], self.high[cells] = _tidy(reach.low * scale, component), _tidy(reach.high * scale, component)
        judged = reach if whole is None else whole
        self.seen_low[cells], self.seen_high[cells] = judged.seen_low * scale, judged.seen_high * scale
        self.proved[cells] = judged.proved
        if whole is not None:
            self.whole_low[cells], self.whole_high[cells] = whole.low * scale, whole.high * scale


def _tidy(ends: Floats, component: Component) -> Floats:
    """Ends that are a whole number of the last decimal's units but for the solver's noise, without the noise."""
    unit = component.step * component.scale
    steps = np.rint(np.where(np.isfinite(ends), ends, 0) / unit) * unit
    return np.where(np.isfinite(ends) & (np.abs(steps - ends) <= SHORT * unit), steps, ends)


def _reach(table: Table, component: Component, seen: _Seen, clock: Clock) -> Reach:
    up, down, width = (need[component.cells] / component.scale for need in table.needs())
    every = np.ones(len(component.cells), bool)
    need = np.maximum(np.maximum(up, down), width)
    integer = bool(table.intruder.integer)
    enough = (table.perturbed & ~table.primary)[component.cells]
    reach = intervals(component, every, clock, need=need, whole=integer, enough=enough)
    whole = None
    if integer:
        if enough.any():
            seek_whole_tables(component, reach, ~enough | (reach.moves(True) < need), clock)
        whole = whole_intervals(component, reach, every, clock, need=need, enough=enough)
    seen.take(component, reach, whole)
    return reach


def _judge(table: Table, seen: _Seen) -> tuple[NDArray[np.object_], list[Finding]]:
    """The verdict of each cell and the findings of suppressed ones."""
    up, down, width = table.needs()
    exactness = table.exactness()
    slack = SHORT * np.maximum(np.maximum(up, down), exactness)
    low, high = (seen.whole_low, seen.whole_high) if table.intruder.integer else (seen.low, seen.high)
    met = {
        "up": seen.seen_high >= up - slack,
        "down": -seen.seen_low >= down - slack,
        "width": seen.seen_high - seen.seen_low >= width * (1 - SHORT),
    }
    safe = met["up"] & met["down"] & met["width"]
    short = (high < up - slack) | (-low < down - slack) | (high - low < width * (1 - SHORT))
    exact = high - low < exactness * (1 - SHORT)
    words = [safe, ~seen.proved | ~short, exact]
    verdict = np.asarray(np.select(words, ["safe", "not proved", "exact"], "too narrow"), object)
    findings = []
    for cell in np.flatnonzero(table.judged & ~safe).tolist():
        demands = (("up", up), ("down", down), ("width", width))
        unmet = {name: 0.0 if met[name][cell] else float(demand[cell]) for name, demand in demands}
        findings.append(Finding(kind=verdict[cell], cell=cell, up=unmet["up"], down=unmet["down"], width=unmet["width"]))
    return verdict, findings


def _insiders(
    table: Table,
    components: tuple[Component, ...],
    seen: _Seen,
    clock: Clock,
    pairs: list[int],
    findings: list[Finding],
) -> None:
    """Check every insider against every sensitive cell that an outsider does not know already.

    Where exact numbers are published an insider either recomputes a cell or knows little of it.  Rounded ones would tell it
    nearly, so beside them the interval must be as wide as both protection levels together.  Of the insiders for whom a
    cell could not be decided, the first one stands for all.
    """
    insiders = table.insiders(unlisted=True)
    width = table.exactness()
    up, down, wide = table.needs()
    apart = np.maximum(np.maximum(up + down, wide), width)
    open_to_all = seen.seen_high - seen.seen_low < width * (1 - SHORT)
    for component in components:
        cells = component.cells
        targets = (table.primary & ~open_to_all)[cells]
        demand = (apart if table.perturbed[cells].any() else width)[cells]
        found = insider_pairs(component, targets, demand / component.scale, insiders, clock, whole=bool(table.intruder.integer))
        for i, amount in enumerate((found.checked, len(found.failed), len(found.undecided))):
            pairs[i] += amount
        first_of = dict(sorted(found.undecided, reverse=True))
        for kind, listed in (("insider", sorted(found.failed)), ("not proved", sorted(first_of.items()))):
            for spot, insider in listed:
                cell = int(cells[spot])
                knows = tuple(int(one) for one in insiders[insider])
                findings.append(Finding(kind=kind, cell=cell, knows=knows, width=float(demand[spot])))


def _result(table: Table, seen: _Seen, verdict: NDArray[np.object_], findings: list[Finding], counts: dict[str, Any]) -> Audit:
    cell = np.flatnonzero(table.judged).astype(np.int64)
    up, down, width = table.needs()
    value = table.value[cell]
    missing = np.full(len(cell), np.nan)
    whole = bool(table.intruder.integer)
    return Audit(
        table=table,
        cell=cell,
        lower=value + seen.low[cell],
        upper=value + seen.high[cell],
        integer_lower=np.round(value + seen.whole_low[cell], table.decimals) if whole else missing,
        integer_upper=np.round(value + seen.whole_high[cell], table.decimals) if whole else missing.copy(),
        need_up=up[cell],
        need_down=down[cell],
        need_width=width[cell],
        verdict=verdict[cell],
        findings=tuple(findings),
        counts=counts,
    )


def _check_whole(table: Table) -> None:
    steps = table.value / table.unit
    broken = np.flatnonzero(np.abs(steps - np.rint(steps)) > SHORT * np.maximum(np.abs(steps), 1))
    if broken.size:
        raise InputError(
            "intruder.integer",
            f"{broken.size} cells are no whole multiples of {table.unit:g}, for one: {table.label(int(broken[0]))}",
            "leave integer = false for values that are not whole numbers",
        )
