"""What hiding a cell costs."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from discreet.errors import InputError, ParameterError
from discreet.method import check_params, param
from discreet.model.contributions import Floats
from discreet.model.table import Table
from discreet.tables.preferences.matching import check_entries, entry_cells

__all__ = ["Cost"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cost:
    """Say what hiding a cell costs; secondary suppression hides cells of little total cost.

    ``cost[i] = x[i] ** power``, or ``log(1 + x[i])`` where ``power`` is 0, with ``x[i]`` by ``of``: "value", the cell's
    absolute value; "n", its number of contributors; "unit", 1 for every cell, so that few cells are hidden; "variable",
    the cost that the table has already: the column that its section names as ``cost``, a file's costs, or its values.
    A power between 0 and 1 makes large cells less precious, so that fewer cells are hidden in all.

    ``cells`` gives single cells a cost of their own: each entry has ``codes``, one code a spanning variable (one left out
    means its total, ``"*"`` any code), and ``cost``; the last entry that names a cell holds.  Cells of cost 0 are
    hidden first, but none without need.

    Guards against: nothing; it decides which of the patterns that protect is chosen.
    Does not guard against: costs that tell of the values: a reader who knows them learns which patterns were too dear.
    """

    NAME: ClassVar[str] = "cost"
    SOURCE: ClassVar[str] = "Hundepool et al. (2012), Statistical Disclosure Control, section 4.4; τ-ARGUS user's manual 4.1"

    of: str = param("value", "what a cell's cost comes from", choices=("value", "n", "unit", "variable"))
    power: float = param(1.0, "the power it is raised to; 0 stands for its logarithm", at_least=0, at_most=4)
    cells: tuple[dict[str, Any], ...] = param(
        (), "costs of single cells, a list such as [{ codes = { region = 'North' }, cost = 5 }, …]"
    )

    def __post_init__(self) -> None:
        check_params(self)
        if self.of == "unit" and self.power != 1:
            raise ParameterError(f"{self.NAME}.power", "changes nothing where every cell costs 1", "leave it out, or of")
        check_entries(f"{self.NAME}.cells", self.cells, ("cost",))

    def apply(self, table: Table, /) -> Table:
        """The table with other costs; InputError where an a-priori cost would be lost."""
        if self.of != "variable" and any(step.method == "a-priori" and "cost" in step.counts for step in table.history):
            raise InputError(
                self.NAME, "would replace the costs that a-priori gives", "give a-priori after it, or say of = 'variable'"
            )
        cost = self._costs(table)
        matched = 0
        for entry, found in zip(self.cells, entry_cells(f"{self.NAME}.cells", table, self.cells), strict=True):
            cost[found] = entry["cost"]
            matched += int(found.size)
        counts = {"single cells": matched} if self.cells else {}
        return table.replace(cost=cost).with_step(self.NAME, f"costs by {self.of}", **counts)

    def _costs(self, table: Table) -> Floats:
        sizes = {"value": np.abs(table.value), "n": table.contributions.n, "variable": table.cost}
        size = np.asarray(sizes.get(self.of, np.ones(table.cells)), float)
        return np.asarray(np.log1p(size) if self.power == 0 else size**self.power, float)
