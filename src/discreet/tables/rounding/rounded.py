"""From a way of rounding to a table that shows rounded numbers, and what its readers know of the true ones."""

from __future__ import annotations

import dataclasses
import time

import numpy as np

from discreet.errors import InputError, ParameterError
from discreet.model.contributions import Floats, Integers
from discreet.model.noise import mixed
from discreet.model.showing import need_keys, to_show
from discreet.model.table import Bools, Table
from discreet.tables.rounding.scheme import Rounding, Scale, Units
from discreet.tables.rounding.totals import Rounded, recomputed

__all__ = ["chance_of", "need_counts", "show_rounded"]


def show_rounded(table: Table, method: Rounding) -> Table:
    """The table with its cells rounded.

    A cell whose shown number tells its value exactly is left as it is.  That a count shown is 0 or at least the threshold is
    what readers know beforehand of every cell, so it becomes the cell's ``lower``.
    """
    began = time.perf_counter()
    scale = Scale.of(table)
    scheme = method.scheme(scale)
    if scheme.random:
        need_keys(table, method.NAME)
    chosen = to_show(table, method.sensitive)
    threshold = _threshold(table, method, chosen, scale)
    shown = scheme.round(scale.units(table.value), chance_of(table.contributions.key, method.NAME) if scheme.random else None)
    low, high = scheme.reach(shown)
    if table.kind == "frequency":
        low = np.maximum(low, 0)
    rounded = Rounded(shown=shown, low=low, high=high, variance=scheme.variance(shown))
    if method.totals == "recompute":
        exact = threshold.exact(rounded)
        rounded = dataclasses.replace(rounded, variance=np.where(exact, 0.0, rounded.variance))
        rounded = recomputed(table, method.NAME, rounded, chosen & ~(table.suppressed & exact), chosen)
    exact = chosen & threshold.exact(rounded)
    told = chosen & ~exact
    narrowed = told & threshold.narrows(rounded)
    counts = {"left as they are": int(exact.sum()), "narrowed by the threshold": int(narrowed.sum())}
    after = table.with_shown(
        method.NAME,
        np.where(told, scale.numbers(rounded.shown), np.nan),
        low=scale.numbers(rounded.low),
        high=scale.numbers(rounded.high),
        error=np.sqrt(rounded.variance) / 10.0**scale.decimals if scheme.random else np.nan,
        seconds=time.perf_counter() - began,
        **{name: count for name, count in counts.items() if count},
    )
    return after.replace(lower=np.where(narrowed, np.fmax(table.lower, scale.numbers(threshold.least)), table.lower))


def need_counts(table: Table, method: str) -> None:
    """Refuses a table whose cells are not whole counts."""
    if table.kind != "frequency":
        raise InputError(method, "is about whole counts, and the table holds sums", "round a table that counts units")
    if table.decimals:
        fix = "leave out the weights, or round to a multiple of a base"
        raise InputError(method, "is about whole counts, and the table holds weighted ones with decimals", fix)


def chance_of(key: Integers, name: str) -> Floats:
    """A number in (0, 1) from each cell key, uniform and another one for each method; the key itself need not be uniform."""
    return ((mixed(name, key) >> np.uint64(12)).astype(float) + 0.5) / 2.0**52


@dataclasses.dataclass(frozen=True)
class _Threshold:
    """The least count that each cell can have when it is shown, in units; 0 may be shown too unless ``zeros`` are hidden."""

    least: Units
    zeros: bool

    def exact(self, rounded: Rounded) -> Bools:
        """Numbers that stand for a single true value: also a 0 where no other count that small is shown."""
        only_zero = (rounded.low <= 0) & (rounded.high >= 0) & (rounded.high < self.least)
        return np.asarray((rounded.low == rounded.high) | only_zero, bool)

    def narrows(self, rounded: Rounded) -> Bools:
        """Numbers of which the threshold tells more than the rounding does."""
        return np.asarray((rounded.low < self.least) & ((rounded.low > 0) | self.zeros), bool)


def _threshold(table: Table, method: Rounding, chosen: Bools, scale: Scale) -> _Threshold:
    """What readers know from the published threshold rules; nothing of cells that were declared safe."""
    if method.shown_from is not None and table.kind != "frequency":
        raise ParameterError(
            f"{method.NAME}.shown_from", "is about counts, and the table holds sums", "leave it out for magnitude tables"
        )
    rules = []
    if table.kind == "frequency" and method.sensitive == "hide":
        rules = [rule for rule in table.rules if hasattr(rule, "passes") and rule.passes(table).any()]
    declared = np.where(table.exempt, 0.0, method.shown_from or 0.0)
    passes = np.max([declared, *(rule.passes(table) for rule in rules)], axis=0)
    value = scale.units(table.value)
    least = np.ceil(passes * 10**scale.decimals - 1e-9).astype(np.int64)
    below = chosen & np.asarray((value > 0) & (value < least), bool)
    if below.any():
        few = f"{int(below.sum())} cells to be shown are counts above 0 and below {passes.max():g}"
        raise InputError(
            method.NAME,
            f"{few}, which the rules say are hidden",
            "apply the minimum frequency rule before the rounding, or declare the shown_from that is true of the table",
        )
    return _Threshold(least, any(rule.zeros for rule in rules))
