"""Tables of whole numbers that prove how far many cells can move, found for all of them together."""

from __future__ import annotations

from itertools import count

import numpy as np

from discreet.audit.intervals import NOISE, Clock, Reach, whole_program
from discreet.audit.system import Component
from discreet.model.table import Bools
from discreet.solve.highs import solve

__all__ = ["seek_whole_tables"]

WORTH = 3
"""So many ends a table must settle, or the rest is left to a program for each end."""
GAP = 0.02
"""A table need not be the best one: it proves whatever it shows."""
LONGEST = 10.0
"""Seconds that one search may take."""
AIMS = ("up", "down", "both")


def seek_whole_tables(component: Component, reach: Reach, targets: Bools, clock: Clock) -> None:
    """Adds whole tables to what a reach has seen, as long as they take several more targets to their ends.

    All targets that are not at an end yet are moved at once: all up, all down, and each to one of its ends left, in turn.
    """
    step = component.step
    half, idle = np.arange(len(component.cells)) % 2 == 0, 0
    up, down = _left(reach, targets, step)
    for turn in count():
        left = up.sum() + down.sum()
        if not left or idle == len(AIMS) or clock.over:
            return
        aim = AIMS[turn % len(AIMS)]
        rise, fall = (
            (up & (half | ~down), down & ~(up & half)) if aim == "both" else (up & (aim == "up"), down & (aim == "down"))
        )
        half = ~half if aim == "both" else half
        program = whole_program(component, fall * 1.0 - rise * 1.0)
        limit = clock.left()
        clock.solves += 1
        outcome = solve(program, time_limit=LONGEST if limit is None else min(limit, LONGEST), mip_gap=GAP)
        if outcome.x is not None:
            reach.witness(component, np.rint(outcome.x[: len(half)]) * step, whole=True)
        up, down = _left(reach, targets, step)
        idle = 0 if left - up.sum() - down.sum() >= WORTH else idle + 1


def _left(reach: Reach, targets: Bools, step: float) -> tuple[Bools, Bools]:
    """The targets that no whole table has taken to their upper, and to their lower end; ends without limit left out."""
    high, low = np.floor(reach.high / step + NOISE), np.ceil(reach.low / step - NOISE)
    up = targets & np.isfinite(high) & (high - reach.whole_high / step > 0.5)
    return up, targets & np.isfinite(low) & (reach.whole_low / step - low > 0.5)
