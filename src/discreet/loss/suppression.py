"""How much of a table suppression hides: cells, value and cost, by level and by code of each spanning variable.

The figures here are for the data steward: the value hidden in a group of one cell *is* that cell.  The report
tells shares only, and only of groups that give nothing away (``report/loss.py``).
"""

from __future__ import annotations

import dataclasses
from typing import Protocol

import numpy as np

from discreet.loss.lines import lines_of
from discreet.model.contributions import Floats, Integers
from discreet.model.table import Bools, Table

__all__ = ["Hidden", "Intervals", "SuppressionLoss", "suppression_loss"]


class Intervals(Protocol):
    """What is needed of an audit: between which bounds an intruder can place each suppressed cell."""

    @property
    def cell(self) -> Integers:
        """The suppressed cells."""
        ...

    @property
    def lower(self) -> Floats:
        """The lower end of the interval of each of them."""
        ...

    @property
    def upper(self) -> Floats:
        """The upper end."""
        ...


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class Hidden:
    """What is hidden in one group of cells, out of what the group holds.  Confidential.

    ``variable`` and ``level`` or ``code`` name the group (empty and -1: all cells).  ``value`` and ``cost`` sum the
    hidden cells' absolute values and costs; ``largest`` and ``largest_cost`` are the largest single ones.  ``width`` is
    the mean and ``widest`` the largest, over ``bounded`` cells, of (upper - lower) / abs(value), their feasibility
    interval relative to what it hides; cells of value 0 and cells without both bounds stay out, the latter are counted
    in ``unbounded``.
    """

    variable: str = ""
    level: int = -1
    code: str = ""
    cells: int
    of_cells: int
    primary: int
    secondary: int
    value: float
    of_value: float
    cost: float
    of_cost: float
    largest: float
    largest_cost: float
    width: float
    widest: float
    bounded: int
    unbounded: int

    def __repr__(self) -> str:
        where = f"{self.variable} {self.code or f'level {self.level}'}: " if self.variable else ""
        return f"Hidden({where}{self.cells} of {self.of_cells} cells, {self.primary} primary, {self.secondary} secondary)"

    @property
    def share_of_cells(self) -> float:
        """Hidden cells as a share of all."""
        return _share(self.cells, self.of_cells)

    @property
    def share_of_value(self) -> float:
        """Hidden value as a share of all value."""
        return _share(self.value, self.of_value)

    @property
    def share_of_cost(self) -> float:
        """Hidden cost as a share of all cost."""
        return _share(self.cost, self.of_cost)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SuppressionLoss:
    """The information lost by suppression.  Confidential: sums over few hidden cells give them away.

    ``total`` all listed cells, margins too; ``inner`` the cells that no other cell is a part of, whose share of value
    is the hidden share of the published total; ``by_level`` a group for each level of each spanning variable;
    ``by_code`` a group for each code.  ``cell`` lists the suppressed cells and ``relative_width`` their interval
    widths: infinite where the intruder has no bound, NaN for a value of 0 or without an interval.
    """

    total: Hidden
    inner: Hidden
    by_level: tuple[Hidden, ...]
    by_code: tuple[Hidden, ...]
    cell: Integers
    relative_width: Floats

    def __repr__(self) -> str:
        return f"SuppressionLoss({self.total.cells} of {self.total.of_cells} cells hidden)"

    def rows(self) -> list[dict[str, object]]:
        """Every group as a row of plain values, for a frame of your choice."""
        groups = (self.total, *self.by_level, *self.by_code)
        shares = ("share_of_cells", "share_of_value", "share_of_cost")
        return [dataclasses.asdict(group) | {name: getattr(group, name) for name in shares} for group in groups]


def suppression_loss(table: Table, intervals: Intervals | None = None) -> SuppressionLoss:
    """Count and add up what the table hides; ``intervals`` is an audit of the same table.

    A cell that stands under several codes (a region with one county) counts once under each of them.  Cells that are
    not listed are neither hidden nor published and stay out.
    """
    measure = _Measure(table, intervals)
    every = np.flatnonzero(table.listed)
    minus = table.equations.data < 0
    totals = np.unique(table.equations.indices[minus])
    by_level: list[Hidden] = []
    by_code: list[Hidden] = []
    for variable, codes, level, number, cells in lines_of(table):
        by_level += measure.groups(level[number], cells, [{"variable": variable, "level": at} for at in range(level.max() + 1)])
        names = [{"variable": variable, "code": code, "level": int(at)} for code, at in zip(codes, level, strict=True)]
        by_code += measure.groups(number, cells, names)
    one = np.zeros(len(every), np.int64)
    inner = every[~np.isin(every, totals)]
    suppressed = np.flatnonzero(table.suppressed)
    return SuppressionLoss(
        total=measure.groups(one, every, [{}])[0],
        inner=measure.groups(one[: len(inner)], inner, [{}])[0],
        by_level=tuple(group for group in by_level if group.of_cells),
        by_code=tuple(group for group in by_code if group.of_cells),
        cell=suppressed,
        relative_width=measure.width[suppressed],
    )


class _Measure:
    """The quantities of each cell, and their sums over groups of cells."""

    def __init__(self, table: Table, intervals: Intervals | None) -> None:
        self.hidden: Bools = table.suppressed
        self.primary: Bools = table.primary & table.suppressed
        self.value = np.abs(table.value)
        self.cost = table.cost
        self.width = np.full(table.cells, np.nan)
        if intervals is not None:
            cell, value = intervals.cell, self.value[intervals.cell]
            with np.errstate(divide="ignore", invalid="ignore"):
                self.width[cell] = np.where(value > 0, (intervals.upper - intervals.lower) / value, np.nan)

    def groups(self, group: Integers, cell: Integers, names: list[dict[str, object]]) -> list[Hidden]:
        """The sums over each group; ``group[i]`` is the group of ``cell[i]``, and a pair that comes twice counts once."""
        group, cell = np.unique(np.stack([group, cell]), axis=1)
        size = len(names)

        def total(weights: Floats | Bools, within: Bools) -> Floats:
            sums: Floats = np.bincount(group[within], np.asarray(weights, float)[cell[within]], size).astype(float)
            return sums

        every, hidden = np.ones(len(cell), bool), self.hidden[cell]
        bounded = hidden & np.isfinite(self.width[cell])
        largest, largest_cost = np.zeros(size), np.zeros(size)
        np.maximum.at(largest, group[hidden], self.value[cell[hidden]])
        np.maximum.at(largest_cost, group[hidden], self.cost[cell[hidden]])
        widest = np.zeros(size)
        np.maximum.at(widest, group[bounded], self.width[cell[bounded]])
        counts = {
            "cells": total(self.hidden, every),
            "of_cells": np.bincount(group, minlength=size),
            "primary": total(self.primary, every),
            "bounded": np.bincount(group[bounded], minlength=size),
            "unbounded": total(np.isposinf(self.width), hidden),
        }
        amounts = {
            "value": total(self.value, hidden),
            "of_value": total(self.value, every),
            "cost": total(self.cost, hidden),
            "of_cost": total(self.cost, every),
            "largest": largest,
            "largest_cost": largest_cost,
            "width": total(self.width, bounded),
            "widest": widest,
        }
        out = []
        for i, name in enumerate(names):
            whole = {key: int(array[i]) for key, array in counts.items()}
            whole["secondary"] = whole["cells"] - whole["primary"]
            real = {key: float(array[i]) for key, array in amounts.items()}
            real["width"] = real["width"] / whole["bounded"] if whole["bounded"] else float("nan")
            out.append(Hidden(**(name | whole | real)))  # type: ignore[arg-type]
        return out


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
