"""The rounding audit: how closely rounded numbers are known from all that is published, beside what each promises alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from discreet.audit.intervals import NOISE, Clock, intervals, whole_intervals
from discreet.audit.system import SHORT, TOLERANCE, Component, graph, system
from discreet.audit.whole import seek_whole_tables
from discreet.errors import InputError
from discreet.model.contributions import Floats, Integers
from discreet.model.table import Bools, Table
from discreet.solve.highs import solve
from discreet.solve.problem import Outcome, Program

__all__ = ["RoundingAudit", "published_rounding_audit", "rounding_audit"]

ROUNDS = 1000
"""Relations are followed from one to the next at most so often."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RoundingAudit:
    """How closely each rounded number is known; arrays over the cells ``cell``.

    ``promised_low``/``promised_high`` between which true values the number alone may stand; ``attained_low``/``attained_high``
    what is left of that once all published numbers, totals, thresholds, 0 as the least and whole numbers are reckoned with;
    ``determined`` a single value is left; ``narrowed`` fewer values than promised, but more than one; ``proved`` both ends are
    exact, otherwise the true interval may be narrower still.  Arrays can tell true values: they stay in the house.

    ``counts`` of ``cells``, ``determined``, ``narrowed``, ``not proved``, ``relations``; of ``contradicting`` relations, which
    no numbers within the promised ranges fulfil, because the declared policy is not the one the numbers were made with; and
    of ``cells not judged``, since they hang together with such a relation.
    """

    cell: Integers
    promised_low: Floats
    promised_high: Floats
    attained_low: Floats
    attained_high: Floats
    determined: Bools
    narrowed: Bools
    proved: Bools
    counts: Mapping[str, Any]

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            array = getattr(self, field.name)
            if isinstance(array, np.ndarray):
                array.setflags(write=False)
        object.__setattr__(self, "counts", MappingProxyType(dict(self.counts)))

    def __repr__(self) -> str:
        told = ", ".join(f"{self.counts[word]} {word}" for word in ("determined", "narrowed", "not proved"))
        wrong = "" if self.holds else f"; {self.counts['contradicting']} relations contradict it: the declared policy is wrong"
        return f"RoundingAudit({self.counts['cells']} cells: {told}{wrong})"

    @property
    def holds(self) -> bool:
        """No published relation contradicts the declared policy."""
        return not self.counts["contradicting"]


def rounding_audit(table: Table, *, time_limit: float | None = None) -> RoundingAudit:
    """What readers of a whole table know of its rounded numbers, beside what each number alone says.

    Of every cell that is shown perturbed between finite bounds.  ``time_limit`` in seconds; what it leaves open is counted as
    not proved.
    """
    clock = Clock(time_limit)
    plain = table.with_intruder(dataclasses.replace(table.intruder, prior=None, nonempty=False))
    nothing = np.full(table.cells, np.nan)
    low, high = plain.replace(lower=nothing, upper=nothing).bounds()
    targets = table.perturbed & np.isfinite(low) & np.isfinite(high)
    whole = bool(table.intruder.integer)
    attained_low, attained_high, proved = table.value.copy(), table.value.copy(), np.ones(table.cells, bool)
    for component in system(table).components:
        here = component.cells
        down, up, ends = _ends(component, targets[here], clock, whole)
        attained_low[here], attained_high[here], proved[here] = table.value[here] + down, table.value[here] + up, ends
    finest = table.decimals if table.published_decimals is None else table.published_decimals
    return _result(
        np.flatnonzero(targets),
        (low, high),
        (np.maximum(attained_low, low), np.minimum(attained_high, high)),
        proved,
        np.ones(table.cells, bool),
        10.0**-finest,
        {"relations": table.equations.shape[0], "contradicting": 0, "cells not judged": 0, "programs solved": clock.solves},
        clock,
    )


def published_rounding_audit(
    equations: Any,
    low: ArrayLike,
    high: ArrayLike,
    *,
    unit: float = 1.0,
    whole: bool = True,
    time_limit: float | None = None,
) -> RoundingAudit:
    """The same for a published table of which nobody has the true numbers.

    ``equations @ value == 0`` with +1 at parts and −1 at their total, shape (equations, cells); ``low``/``high`` between which
    true values each cell lies by the declared policy, which may be another one for each level of the table (the same number
    twice where a cell is exact, an infinite end where nothing is known); ``unit`` of the last decimal, ``whole`` true values
    are multiples of it.  Cells that hang together with a contradicting relation are not judged.

    Errors: InputError where the arrays do not fit each other.
    """
    clock = Clock(time_limit)
    matrix, least, most = sparse.csr_array(equations, dtype=float), np.array(low, float), np.array(high, float)
    if least.shape != most.shape or matrix.shape[1:] != least.shape or np.isnan(least).any() or np.isnan(most).any():
        raise InputError("rounding audit", "equations, low and high do not fit", "give one number a cell, infinite if unknown")
    if (least > most).any():
        raise InputError("rounding audit", f"{int((least > most).sum())} cells have low above high", "correct the bounds")
    point, wrong = _possible(matrix, least, most, unit if whole else None, clock)
    free = np.flatnonzero(least < most)
    judged, proved = np.zeros(len(least), bool), np.zeros(len(least), bool)
    attained = least.copy(), most.copy()
    if point is not None and free.size:
        for component in _components(matrix[:, free], free, wrong, least - point, most - point, unit):
            here = component.cells
            ends = _ends(component, np.ones(len(here), bool), clock, whole)
            attained[0][here], attained[1][here], proved[here] = point[here] + ends[0], point[here] + ends[1], ends[2]
            judged[here] = True
    counts = {"relations": matrix.shape[0], "contradicting": int(wrong.sum())}
    judged |= point is None
    counts |= {"cells not judged": int((~judged[free]).sum()), "programs solved": clock.solves}
    return _result(free, (least, most), attained, proved, judged, unit, counts, clock)


def _result(
    cell: Integers,
    promised: tuple[Floats, Floats],
    attained: tuple[Floats, Floats],
    proved: Bools,
    judged: Bools,
    unit: float,
    counts: dict[str, Any],
    clock: Clock,
) -> RoundingAudit:
    low, high, down, up = (ends[cell] for ends in (*promised, *attained))
    determined = up - down < unit * (1 - SHORT)
    slack = SHORT * np.maximum(unit, np.where(np.isfinite(up - down), up - down, 0.0))
    narrowed = ((down > low + slack) | (up < high - slack)) & ~determined
    told = {
        "determined": int(determined.sum()),
        "narrowed": int(narrowed.sum()),
        "not proved": int((judged & ~proved)[cell].sum()),
    }
    return RoundingAudit(
        cell=cell,
        promised_low=low,
        promised_high=high,
        attained_low=down,
        attained_high=up,
        determined=determined,
        narrowed=narrowed,
        proved=proved[cell],
        counts={"cells": len(cell)} | told | counts | {"seconds": round(clock.seconds, 3)},
    )


# -------------------------------------------------------------------- the interval of each cell


def _ends(component: Component, targets: Bools, clock: Clock, whole: bool) -> tuple[Floats, Floats, Bools]:
    """How far each target can move down and up in the table's units, and whether that is exact."""
    step = component.step
    if _is_forest(component, whole):
        if whole:
            lower, upper = np.ceil(component.lower / step - NOISE) * step, np.floor(component.upper / step + NOISE) * step
            component = dataclasses.replace(component, lower=lower, upper=upper)
        low, high = component.reachable(ROUNDS)
        return low * component.scale, high * component.scale, np.ones(len(low), bool)
    need = np.full(len(component.cells), step)
    reach = intervals(component, targets, clock, need=need, whole=whole)
    if whole:
        seek_whole_tables(component, reach, targets, clock)
        reach = whole_intervals(component, reach, targets, clock, need=need)
        reach.low, reach.high = np.rint(reach.low / step) * step, np.rint(reach.high / step) * step
    return reach.low * component.scale, reach.high * component.scale, reach.proved


def _is_forest(component: Component, whole: bool) -> bool:
    """Whether cells and relations form no circle: bounds that follow from one relation after the other are then exact."""
    matrix = component.matrix
    if component.gaps.any():
        return False
    if whole and not ((np.abs(matrix.data) == 1).all() and (component.low == 0).all() and (component.high == 0).all()):
        return False
    pieces, _ = connected_components(graph(matrix), directed=False)
    return bool(matrix.nnz == sum(matrix.shape) - pieces)


# -------------------------------------------------------------------- published numbers


def _possible(
    matrix: sparse.csr_array, low: Floats, high: Floats, step: float | None, clock: Clock
) -> tuple[Floats | None, Bools]:
    """Numbers within the bounds that fulfil the relations, None if time is over; and the relations that do not hold for them.

    Where not all can hold, as little as possible is missed in all.  A relation also counts as wrong where it contradicts the
    bounds of its own cells.
    """
    scale = 1.0 if step is None else step
    alone = _contradict(matrix, low, high, scale)
    outcome = _nearest(matrix, low / scale, high / scale, clock, whole=False)
    if step is not None and outcome.x is not None and np.abs(outcome.x - np.rint(outcome.x))[: len(low)].max(initial=0) > NOISE:
        outcome = _nearest(matrix, np.ceil(low / scale - NOISE), np.floor(high / scale + NOISE), clock, whole=True)
    if outcome.x is None:
        return None, alone
    point = outcome.x[: len(low)]
    point = np.rint(point) if step is not None else point
    missed = np.abs(matrix @ point) > SHORT * (1 + abs(matrix) @ np.abs(point))
    return np.clip(point * scale, low, high), alone | missed


def _contradict(matrix: sparse.csr_array, low: Floats, high: Floats, scale: float) -> Bools:
    plus, minus = matrix.maximum(0), (-matrix).maximum(0)
    with np.errstate(invalid="ignore"):
        least, most = plus @ low - minus @ high, plus @ high - minus @ low
    return np.asarray((least > SHORT * scale) | (most < -SHORT * scale), bool)


def _nearest(matrix: sparse.csr_array, low: Floats, high: Floats, clock: Clock, *, whole: bool) -> Outcome:
    rows, size = matrix.shape
    slack = sparse.eye_array(rows)
    clock.solves += 1
    program = Program(
        np.concatenate([np.zeros(size), np.ones(2 * rows)]),
        sparse.csr_array(sparse.hstack([matrix, slack, -slack])),
        np.zeros(rows),
        np.zeros(rows),
        np.concatenate([low, np.zeros(2 * rows)]),
        np.concatenate([high, np.full(2 * rows, np.inf)]),
        np.arange(size + 2 * rows) < size if whole else None,
    )
    return solve(program, time_limit=clock.left())


def _components(
    matrix: sparse.csr_array, free: Integers, wrong: Bools, lower: Floats, upper: Floats, unit: float
) -> Iterator[Component]:
    """The cells that hang together with no wrong relation: all that form no circle at once, then each other component."""
    size = matrix.shape[1]
    pieces, label = connected_components(graph(matrix), directed=False)
    of_cell, of_row = label[:size], label[size:]
    bad = np.bincount(of_row[wrong], minlength=pieces) > 0
    entries = np.bincount(of_row, np.diff(matrix.indptr), minlength=pieces)
    circular = (entries != np.bincount(label, minlength=pieces) - 1) & ~bad
    group = np.where(bad, -1, np.where(circular, np.arange(pieces) + 1, 0))
    order_cells, order_rows = np.argsort(group[of_cell], kind="stable"), np.argsort(group[of_row], kind="stable")
    cell_groups, row_groups = group[of_cell][order_cells], group[of_row][order_rows]
    for name in np.unique(cell_groups[cell_groups >= 0]).tolist():
        cells = order_cells[slice(*np.searchsorted(cell_groups, [name, name + 1]))]
        lines = order_rows[slice(*np.searchsorted(row_groups, [name, name + 1]))]
        nothing = np.zeros(len(lines))
        yield Component(
            cells=free[cells],
            matrix=sparse.csr_array(matrix[lines][:, cells]),
            low=nothing,
            high=nothing,
            lower=lower[free[cells]],
            upper=upper[free[cells]],
            scale=1.0,
            allowed=TOLERANCE * unit,
            step=unit,
            lifts=sparse.csr_array((0, len(cells))),
            empty=-np.ones(len(cells)),
            least=np.full(len(cells), -np.inf),
        )
