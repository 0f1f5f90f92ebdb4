"""The lines of a table, one spanning variable at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from discreet.model.contributions import Integers
from discreet.model.table import Table

__all__ = ["lines_of"]


def lines_of(table: Table) -> Iterator[tuple[str, list[str], Integers, Integers, Integers]]:
    """For each spanning variable of any layout: its codes, their levels, and the code and the cell of each listed line."""
    names = dict.fromkeys(name for layout in table.layouts for name in layout.variables)
    for name in names:
        level: dict[str, int] = {}
        numbers, cells = [], []
        for layout in table.layouts:
            if name not in layout.variables:
                continue
            v = layout.variables.index(name)
            hierarchy = layout.hierarchies[v]
            for code, at in zip(hierarchy.codes, hierarchy.level, strict=True):
                level.setdefault(code, int(at))
            position = {code: i for i, code in enumerate(level)}
            number = np.array([position[code] for code in hierarchy.codes], np.int64)
            listed = table.listed[layout.cell]
            numbers.append(number[layout.codes[listed, v]])
            cells.append(layout.cell[listed])
        yield name, list(level), np.array(list(level.values()), np.int64), np.concatenate(numbers), np.concatenate(cells)
