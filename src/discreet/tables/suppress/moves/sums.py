"""Sums of hidden cells that equations give away, checked for a few equations at a time."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from discreet.model.contributions import Floats, Integers
from discreet.model.table import Bools, Table
from discreet.tables.suppress.moves.incidence import Incidence
from discreet.tables.suppress.moves.unions import Union, sensitive_sums

__all__ = ["Sums"]


class Sums:
    """The equations of a table and its exactly published facts, and which of their hidden sums fail a rule."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.asked = table.intruder.unions and any(getattr(rule, "unions", True) for rule in table.rules)
        blocks, frames = [sparse.csr_array(table.equations)], [np.full(table.equations.shape[0], -1)]
        for known in table.knowledge:
            exact = np.flatnonzero(known.low == known.high)
            blocks.append(sparse.csr_array(known.matrix)[exact])
            frames.append(known.while_published[exact])
        self.frame = np.concatenate(frames).astype(np.int64)
        self.incidence = Incidence.of(sparse.csr_array(sparse.vstack(blocks)))
        self.framed = np.flatnonzero(self.frame >= 0)
        self._judged: dict[bytes, bool] = {}

    def failing(self, loose: Bools, cells: Integers | None = None) -> list[Union]:
        """The sensitive sums under a pattern of ``loose`` cells: of all equations, or of those of some cells.

        Such a sum has two hidden cells or more, one of them primary, all on one side and counted alike.
        """
        if not self.asked:
            return []
        if cells is None:
            rows = np.arange(self.incidence.by_row.shape[0])
        else:
            rows = np.union1d(self.incidence.rows(cells), self.framed[np.isin(self.frame[self.framed], cells)])
        rows = rows[(self.frame[rows] < 0) | ~loose[np.maximum(self.frame[rows], 0)]]
        line, column, factor = self.incidence.entries(rows)
        inside, size = loose[column], len(rows)
        count = np.bincount(line, inside, size)
        least, most = np.full(size, np.inf), np.full(size, -np.inf)
        np.minimum.at(least, line[inside], factor[inside])
        np.maximum.at(most, line[inside], factor[inside])
        primary = np.bincount(line, inside & self.table.primary[column], size)
        suspect = (count >= 2) & (primary > 0) & (least == most)
        starts = np.searchsorted(line, np.arange(size + 1))
        found = []
        for spot in np.flatnonzero(suspect).tolist():
            part = slice(starts[spot], starts[spot + 1])
            found.append(self._union(int(rows[spot]), column[part], factor[part], inside[part]))
        return self._sensitive([union for union in found if union is not None])

    def _union(self, row: int, cells: Integers, factors: Floats, inside: Bools) -> Union | None:
        """The hidden cells of an equation together; None where their sum is itself a cell that was declared safe."""
        shown = cells[~inside]
        if len(shown) == 1 and self.table.exempt[shown[0]]:
            return None
        signs = np.sign(factors).astype(np.int64)
        return Union(cells=cells, signs=signs, together=cells[inside], frame=int(self.frame[row]))

    def _sensitive(self, unions: list[Union]) -> list[Union]:
        names = [union.together.tobytes() for union in unions]
        new = {name: union.together for name, union in zip(names, unions, strict=True) if name not in self._judged}
        if new:
            self._judged.update(zip(new, sensitive_sums(self.table, list(new.values())).tolist(), strict=True))
        return [union for union, name in zip(unions, names, strict=True) if self._judged[name]]
