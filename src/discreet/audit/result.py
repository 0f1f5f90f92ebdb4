"""What an audit says: the interval and verdict of every cell that it judges, all findings, and counts."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.standards import standards
from discreet.model.contributions import Floats, Integers
from discreet.model.finding import Finding
from discreet.model.table import Table

__all__ = ["VERDICTS", "Audit"]

VERDICTS = ("safe", "too narrow", "exact", "not proved")


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Audit:
    """The independent proof of one table; arrays over the cells ``cell`` that must not be recomputed.

    These are the suppressed cells, and those shown rounded or with noise that ``intruder.perturbed`` names.

    ``lower``/``upper`` the feasibility interval over real numbers; ``integer_lower``/``integer_upper`` over whole
    numbers, NaN unless the intruder uses that; ``need_up``/``need_down`` how far the interval must reach above and below the
    true value, ``need_width`` how wide it must be; ``verdict`` one of ``safe`` (proved by explicit tables that were checked in
    plain arithmetic), ``too narrow``, ``exact``, ``not proved`` (numerics or time; never safe).
    ``findings`` all demands that are not met, those of insiders and sums of hidden cells included.
    """

    table: Table
    cell: Integers
    lower: Floats
    upper: Floats
    integer_lower: Floats
    integer_upper: Floats
    need_up: Floats
    need_down: Floats
    need_width: Floats
    verdict: NDArray[np.object_]
    findings: tuple[Finding, ...]
    counts: Mapping[str, Any]

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            array = getattr(self, field.name)
            if isinstance(array, np.ndarray):
                array.setflags(write=False)
        object.__setattr__(self, "counts", MappingProxyType(dict(self.counts)))

    def __repr__(self) -> str:
        verdicts = ", ".join(f"{self.counts[word]} {word}" for word in VERDICTS if self.counts[word])
        kinds = ("insider pairs", "unions", *(["estimates"] if self.counts["estimates checked"] else []))
        others = " and ".join(", ".join(f"{self.counts[f'{kind} failed']} {kind}" for kind in kinds).rsplit(", ", 1))
        return f"Audit({len(self.cell)} cells judged: {verdicts or 'none'}; {others} failed)"

    @property
    def safe(self) -> bool:
        """Every demand was proved to be met."""
        return not self.findings

    @cached_property
    def standards(self) -> Mapping[str, bool]:
        """Which of the minimum audit standards of the handbook on statistical disclosure control hold.

        PS1 no sensitive cell is known exactly from one sub-table; PS1* each interval from one sub-table reaches its
        protection levels; PS2 no contributor recomputes the sensitive cell of another within one equation; PS2* nor within one
        sub-table.  ``full`` before a name: the same over all published equations together.
        """
        return MappingProxyType(standards(self.table, self.cell, self.verdict, self.findings))

    def to_columns(self) -> dict[str, list[Any]]:
        """One row a judged cell: its codes, interval, what was required, verdict; no true values."""
        table = self.table
        columns: dict[str, list[Any]] = {}
        places = [_first_lines(layout.cell, table.cells)[self.cell] for layout in table.layouts]
        owner = np.argmax(np.array([place >= 0 for place in places]), axis=0)
        columns["table"] = [table.layouts[which].name for which in owner]
        for name in dict.fromkeys(name for layout in table.layouts for name in layout.variables):
            columns[name] = [None] * len(self.cell)
        for which, layout in enumerate(table.layouts):
            for v, name in enumerate(layout.variables):
                codes = layout.column(v)
                for row in np.flatnonzero((owner == which) & (places[which] >= 0)).tolist():
                    columns[name][row] = codes[places[which][row]]
        columns["status"] = ["primary" if sensitive else "secondary" for sensitive in table.primary[self.cell]]
        for name in ("lower", "upper", "integer_lower", "integer_upper", "need_up", "need_down", "need_width", "verdict"):
            columns[name] = getattr(self, name).tolist()
        return columns


def _first_lines(cell: Integers, cells: int) -> Integers:
    first = np.full(cells, -1, np.int64)
    first[cell[::-1]] = np.arange(len(cell))[::-1]
    return first
