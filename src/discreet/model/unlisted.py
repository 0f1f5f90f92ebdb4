"""Cells that a release leaves out although nothing protects them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from discreet.errors import InputError, near, some
from discreet.model.equations import seen_through
from discreet.model.layout import Layout
from discreet.model.table import Bools, Table

__all__ = ["unlist"]


def unlist(table: Table, cells: Sequence[Mapping[str, str]]) -> Table:
    """The table without these cells in its release; the intruder sees none of them, but nothing protects them either.

    Each entry names cells by one code a spanning variable: a variable left out means its total, ``"*"`` any code.

    Errors: InputError for an entry that matches no cell.
    """
    listed = table.listed.copy()
    for entry in cells:
        found = [layout.cell[_lines(layout, entry)] for layout in table.layouts if set(entry) <= set(layout.variables)]
        if not any(lines.size for lines in found):
            names = list(dict.fromkeys(name for layout in table.layouts for name in layout.variables))
            wrong = [f"{name!r} is no spanning variable{near(name, names)}" for name in entry if name not in names]
            problem = "; ".join(wrong) or f"no cell has the codes {', '.join(f'{name}={code}' for name, code in entry.items())}"
            raise InputError("unlisted", problem, f"the spanning variables are {some(names)}")
        for lines in found:
            listed[lines] = False
    return table.replace(listed=listed, equations=seen_through(table.equations, ~listed))


def _lines(layout: Layout, entry: Mapping[str, str]) -> Bools:
    hit = np.ones(len(layout.codes), bool)
    for v, name in enumerate(layout.variables):
        code = entry.get(name, layout.hierarchies[v].total)
        if code != "*":
            hit &= layout.column(v) == code
    return hit
