"""How much of the information loss a report may tell.

Numbers of hidden cells are told as they are: the release shows them.  What the cells *hold* is told only as a share in
whole per cent, and only of a group of at least :data:`FEWEST` hidden cells of which none holds more than half; so is their
mean interval width, as it could be set against the intervals that anyone can compute.  Where one level of a variable is
withheld alone it could be worked out from the others, so the level with the fewest hidden cells is withheld with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from discreet.loss import Hidden, SuppressionLoss
from discreet.model.table import Table

__all__ = ["FEWEST", "loss_facts"]

FEWEST = 5
"""The fewest hidden cells of which a value, cost or width is told."""

_MOST_CODES = 12
_EDGES = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
_BINS = ("≤ 5 %", "≤ 10 %", "≤ 20 %", "≤ 50 %", "≤ 100 %", "≤ 200 %", "≤ 500 %", "above", "no limit")


def loss_facts(table: Table, loss: SuppressionLoss) -> dict[str, Any]:
    """The loss as JSON: ``total`` and ``inner`` groups, ``levels`` and ``codes`` by variable, and ``widths``.

    A group holds counts ``cells``, ``of``, ``primary``, ``secondary`` and the shares ``value``, ``cost`` and mean
    ``width`` in whole per cent, null where withheld.  ``codes`` lists those with most hidden cells.  ``cost_is_value``
    says that cost and value are one.
    """
    variables = list(dict.fromkeys(group.variable for group in loss.by_level))
    return {
        "fewest": FEWEST,
        "cost_is_value": bool(np.array_equal(table.cost, np.abs(table.value))),
        "total": _counts(loss.total) | {"width": _width(loss.total)},
        "inner": _counts(loss.inner) | {"width": _width(loss.inner)} | _shares([loss.inner])[0],
        "levels": {name: _levels([group for group in loss.by_level if group.variable == name]) for name in variables},
        "codes": {name: _codes(table, [group for group in loss.by_code if group.variable == name]) for name in variables},
        "widths": _widths(table, loss),
    }


def _counts(group: Hidden) -> dict[str, Any]:
    return {"cells": group.cells, "of": group.of_cells, "primary": group.primary, "secondary": group.secondary}


def _width(group: Hidden) -> int | None:
    told = group.bounded >= FEWEST and group.widest <= group.width * group.bounded / 2
    return round(100 * group.width) if told else None


def _shares(groups: Sequence[Hidden]) -> list[dict[str, int | None]]:
    """The shares of value and cost of groups that make up one whole."""
    value = _told(groups, lambda group: group.largest <= group.value / 2)
    cost = _told(groups, lambda group: group.largest_cost <= group.cost / 2)
    return [
        {
            "value": round(100 * group.share_of_value) if tell_value else None,
            "cost": round(100 * group.share_of_cost) if tell_cost else None,
        }
        for group, tell_value, tell_cost in zip(groups, value, cost, strict=True)
    ]


def _told(groups: Sequence[Hidden], spread: Callable[[Hidden], bool]) -> list[bool]:
    told = [group.cells == 0 or (group.cells >= FEWEST and spread(group)) for group in groups]
    if told.count(False) == 1 and len(groups) > 1:
        others = [i for i, group in enumerate(groups) if told[i] and group.cells]
        if others:
            told[min(others, key=lambda i: groups[i].cells)] = False
    return told


def _levels(groups: Sequence[Hidden]) -> list[dict[str, Any]]:
    shares = _shares(groups)
    return [
        {"level": group.level} | _counts(group) | share | {"width": _width(group)}
        for group, share in zip(groups, shares, strict=True)
    ]


def _codes(table: Table, groups: Sequence[Hidden]) -> list[dict[str, Any]]:
    labels: dict[str, str] = {}
    for layout in table.layouts:
        for name, hierarchy in zip(layout.variables, layout.hierarchies, strict=True):
            if name == groups[0].variable:
                labels |= hierarchy.labels
    most = sorted((group for group in groups if group.cells), key=lambda group: -group.cells)[:_MOST_CODES]
    return [{"code": group.code, "label": labels.get(group.code, ""), "level": group.level} | _counts(group) for group in most]


def _widths(table: Table, loss: SuppressionLoss) -> dict[str, Any] | None:
    """How many hidden cells have which relative interval width, or None where there are too few to tell.

    ``counted`` all of them, ``wide`` those whose interval is wider than their value, ``without`` those left out.
    """
    known = ~np.isnan(loss.relative_width)
    if known.sum() < FEWEST:
        return None
    width, primary = loss.relative_width[known], table.primary[loss.cell[known]]
    at = np.where(np.isinf(width), len(_BINS) - 1, np.searchsorted(_EDGES, width))
    return {
        "bins": list(_BINS),
        "primary": np.bincount(at[primary], minlength=len(_BINS)).tolist(),
        "secondary": np.bincount(at[~primary], minlength=len(_BINS)).tolist(),
        "counted": int(known.sum()),
        "wide": int((width > 1).sum()),
        "without": int((~known).sum()),
    }
