"""How a table is read, and what is published beside it: the lines of its layouts, and linear facts about its cells."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.errors import InputError, some
from discreet.model.contributions import Floats, Integers
from discreet.model.hierarchy import Hierarchy

__all__ = ["Knowledge", "Layout"]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Layout:
    """One published table as people read it: lines of codes, each pointing to a cell.

    ``codes`` has shape (lines, variables) and holds positions in ``hierarchies[v].codes``; position 0 is the
    total.  Two lines may point to one cell (a region with a single county).
    """

    name: str
    variables: tuple[str, ...]
    hierarchies: tuple[Hierarchy, ...]
    codes: NDArray[np.int32]
    cell: Integers

    def column(self, variable: int) -> NDArray[np.object_]:
        """The code of each line for one spanning variable, as text."""
        names = np.array(self.hierarchies[variable].codes, object)
        return names[self.codes[:, variable]]

    def line(self, codes: Mapping[str, str]) -> int | None:
        """The line with these codes (a variable left out means its total), or None where the table has none."""
        wanted = np.zeros(len(self.variables), np.int32)
        for name, code in codes.items():
            if name not in self.variables:
                raise InputError(self.name, f"{name!r} is no spanning variable", f"use {some(self.variables)}")
            v = self.variables.index(name)
            wanted[v] = self.hierarchies[v].position(code)
        found = np.flatnonzero((self.codes == wanted).all(axis=1))
        return int(found[0]) if found.size else None


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Knowledge:
    """Linear facts published beside the cells: ``low <= matrix @ value <= high``.

    A row counts only while the cell in ``while_published`` is published (-1: always), such as a percentage
    that is hidden together with its cell.  ``what`` names each row for messages.
    """

    matrix: sparse.csr_array
    low: Floats
    high: Floats
    while_published: Integers
    what: tuple[str, ...]
