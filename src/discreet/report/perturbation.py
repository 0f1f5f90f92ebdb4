"""How much of what rounding and noise cost a report may tell.

A deviation of a single cell, beside the number shown, is the true value; so nothing is told of a single cell, and nothing
from which one could be worked out:

- a mean is told of a group in which at least :data:`FEWEST` cells changed, not all by equally much, and is rounded so
  coarsely that a change of any one cell, even one as large as the largest, stays within its rounding;
- a quantile is told where at least :data:`FEWEST` cells lie on either side of it, to two digits;
- the largest deviation is told only as the next round number above it (1, 2, 5, 10 …): it belongs to one cell;
- histograms, and how many zeros are false, are told of at least :data:`ENOUGH` perturbed cells that are not nearly all alike.

What follows from the shown numbers alone is told exactly: whether they add up, and their published standard errors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.loss import Association, Deviation, Order, PerturbationLoss, Spread
from discreet.loss.spread import round_steps
from discreet.model.contributions import Floats
from discreet.model.published import ERROR_GRADES
from discreet.report.loss import FEWEST

__all__ = ["ENOUGH", "error_facts", "perturbation_facts"]

ENOUGH = 30
"""The fewest perturbed cells of which a distribution is told."""

_ALIKE = 0.9
_SPREAD = 1.05


def perturbation_facts(loss: PerturbationLoss) -> dict[str, Any]:
    """The loss as JSON; what is withheld is null.

    ``total`` and ``levels`` by variable: counts ``cells`` and ``perturbed``, the mean ``absolute`` and ``relative``
    deviation, and the relative deviation that ``half`` and ``most`` (95 %) of the cells do not exceed.  ``whole`` more about
    all cells: ``bias``, ``largest`` and ``largest_relative`` (round numbers that no cell exceeds), ``share`` of all
    deviation in all value, ``hellinger`` and ``hellinger_utility``, and ``zeros``.  ``histograms`` of the relative and
    absolute deviation; ``additivity``, ``orders`` (null: fewer than :data:`FEWEST` pairs, or too few to tell) and
    ``associations``.
    """
    variables = list(dict.fromkeys(group.variable for group in loss.by_level))
    return {
        "fewest": FEWEST,
        "enough": ENOUGH,
        "total": _group(loss.total),
        "levels": {name: _levels([group for group in loss.by_level if group.variable == name]) for name in variables},
        "whole": _whole(loss.total),
        "histograms": _histograms(loss),
        "additivity": {
            "equations": loss.additivity.equations,
            "left_out": loss.additivity.left_out,
            "broken": loss.additivity.broken,
            "mean": _digits(loss.additivity.gap.mean_size),
            "largest": _digits(loss.additivity.gap.largest),
        },
        "orders": [_order(order) for order in loss.orders if order.neighbours],
        "associations": [_association(one, loss.total) for one in loss.associations],
    }


# -------------------------------------------------------------------- groups of cells


def _relative_of(group: Deviation) -> int:
    """How many perturbed cells have a relative deviation."""
    return group.false_zeros + group.nonzeros - group.false_nonzeros


def _changed(spread: Spread) -> int:
    return spread.counted - spread.counts[len(spread.edges) + 1]


def _various(spread: Spread, perturbed: int) -> bool:
    """Whether enough cells changed, and the perturbed ones not all by equally much."""
    if _changed(spread) < FEWEST:
        return False
    return spread.root_mean_square >= _SPREAD * spread.mean_size * math.sqrt(spread.counted / perturbed)


def _grain(spread: Spread, perturbed: int) -> float:
    """How coarsely a mean of these sizes must be rounded; infinite where it may not be told at all."""
    if not _various(spread, perturbed):
        return math.inf
    digits = 10.0 ** (math.floor(math.log10(spread.mean_size)) - 1)
    grain = max(digits, round_steps(2 * spread.largest / spread.counted)[-1])
    return grain if grain <= spread.mean_size else math.inf


def _steps(number: float, grain: float) -> float | None:
    return float(f"{round(number / grain) * grain:.10g}") if math.isfinite(grain) else None


def _quantile(spread: Spread, perturbed: int, probability: float) -> float | None:
    beyond = min(probability, 1 - probability) * spread.counted
    return _digits(spread.quantile(probability)) if beyond >= FEWEST and _various(spread, perturbed) else None


def _digits(number: float, digits: int = 2) -> float | None:
    return float(f"{number:.{digits}g}") if math.isfinite(number) else None


def _group(group: Deviation) -> dict[str, Any]:
    held = _relative_of(group)
    return {
        "cells": group.cells,
        "perturbed": group.perturbed,
        "absolute": _steps(group.absolute.mean_size, _grain(group.absolute, group.perturbed)),
        "relative": _steps(group.relative.mean_size, _grain(group.relative, held)),
        "half": _quantile(group.relative, held, 0.5),
        "most": _quantile(group.relative, held, 0.95),
    }


def _levels(groups: Sequence[Deviation]) -> list[dict[str, Any]]:
    return [{"level": group.level} | _group(group) for group in groups]


def _whole(group: Deviation) -> dict[str, Any]:
    """More about all cells together."""
    grain = _grain(group.absolute, group.perturbed)
    told = math.isfinite(grain)
    return {
        "bias": _steps(group.absolute.mean, grain),
        "largest": _above(group.absolute),
        "largest_relative": _above(group.relative),
        "share": _digits(group.share) if told else None,
        "hellinger": _digits(group.hellinger, 3) if told else None,
        "hellinger_utility": _digits(group.hellinger_utility, 3) if told else None,
        "zeros": {
            "shown": group.zeros,
            "false": _some(group.false_zeros, group.zeros),
            "others": group.nonzeros,
            "false_others": _some(group.false_nonzeros, group.nonzeros),
        },
    }


def _above(spread: Spread) -> float | None:
    """The next round number above the largest size."""
    return round_steps(spread.largest)[-1] if _changed(spread) >= FEWEST else None


def _some(part: int, whole: int) -> int | None:
    """How many of the shown numbers are false, where this says nothing of nearly all of them."""
    return part if whole == 0 or (whole >= ENOUGH and FEWEST <= part <= whole - FEWEST) else None


# -------------------------------------------------------------------- distributions


def _histograms(loss: PerturbationLoss) -> dict[str, dict[str, Any] | None]:
    return {name: _histogram(getattr(loss.total, name), getattr(loss.inner, name), loss) for name in ("relative", "absolute")}


def _histogram(total: Spread, inner: Spread, loss: PerturbationLoss) -> dict[str, Any] | None:
    """Counts of cells by signed classes of their deviation: inner cells and margins apart, or together where one are few."""
    margins = [every - some for every, some in zip(total.counts, inner.counts, strict=True)]
    perturbed = loss.total.perturbed - loss.inner.perturbed
    if _unlike(inner.counts, loss.inner.perturbed) and _unlike(margins, perturbed):
        series = {"inner": list(inner.counts), "margins": margins}
    elif _unlike(total.counts, loss.total.perturbed):
        series = {"all": list(total.counts)}
    else:
        return None
    return {"edges": list(total.edges), "series": series}


def _unlike(counts: Sequence[int], perturbed: int) -> bool:
    return perturbed >= ENOUGH and max(counts) <= _ALIKE * sum(counts)


# -------------------------------------------------------------------- relations


def _order(order: Order) -> dict[str, Any]:
    told = order.neighbours >= ENOUGH and math.isfinite(order.correlation)
    return {
        "table": order.table,
        "variable": order.variable,
        "level": order.level,
        "neighbours": order.neighbours,
        "turned": order.turned if order.turned >= FEWEST else None,
        "tied": order.tied if order.tied >= FEWEST else None,
        "correlation": round(order.correlation, 2) if told else None,
    }


def _association(one: Association, total: Deviation) -> dict[str, Any]:
    told = one.cells >= ENOUGH and total.perturbed >= ENOUGH
    return {
        "table": one.table,
        "variables": list(one.variables),
        "true": round(one.true, 2) if told else None,
        "shown": round(one.shown, 2),
    }


def error_facts(value: Floats, error: Floats) -> dict[str, Any] | None:
    """How many published numbers have which standard error, as a share of themselves; None where no number has one."""
    noisy = ~np.isnan(error)
    if not noisy.any():
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(error[noisy] == 0, 0.0, error[noisy] / np.abs(value[noisy]))
    at = np.searchsorted(np.array(ERROR_GRADES) * (1 + 1e-9), share)
    bins = [f"≤ {100 * grade:g} %" for grade in ERROR_GRADES]
    return {
        "bins": [*bins, "above"],
        "cells": np.bincount(at, minlength=len(bins) + 1).tolist(),
        "counted": int(noisy.sum()),
    }
