"""What readers who know the threshold rules can tell of counts that are shown perturbed, and of hidden ones beside them."""

from __future__ import annotations

import numpy as np

from discreet.model.contributions import Floats
from discreet.model.table import Status, Table

__all__ = ["by_thresholds"]


def by_thresholds(table: Table, low: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
    """Bounds of the counts of a perturbed table that take its rules into account, and the least count above 0 of each cell.

    A rule with the method ``passes(table)`` says from which count on it lets each cell pass.  Cells that are shown have
    passed it: they are 0, or at least that number.  Where all hidden cells are sensitive, and by such rules alone, each is
    known to have failed one.  Where sensitive cells are shown too, nobody can tell.
    """
    least = np.zeros(table.cells)
    rules = [rule for rule in table.rules if hasattr(rule, "passes")]
    if table.kind != "frequency" or not table.perturbed.any() or (table.perturbed & table.primary).any() or not rules:
        return low, high, least
    passes, zeros = np.max([rule.passes(table) for rule in rules], axis=0), any(rule.zeros for rule in rules)
    told = table.perturbed & (passes > 0)
    high = np.where(told & (high < passes), 0.0, high)
    low = np.where(told & ((low > 0) | zeros), np.maximum(low, passes), low)
    least = np.where(told & (low <= 0) & (high > 0) & np.isfinite(high), passes, 0.0)
    if len(rules) == len(table.rules) and not (table.status == Status.SECONDARY).any():
        failed = table.suppressed & (passes > 0)
        high = np.where(failed, np.minimum(high, np.ceil(passes) - 1), high)
        low = np.where(failed, np.maximum(low, 0.0 if zeros else 1.0), low)
    return np.minimum(low, table.value), np.maximum(high, table.value), least
