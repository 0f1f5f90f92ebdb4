"""Which cells stand in which equations, looked up for a few of them at a time in tables of any size."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.model.contributions import Floats, Integers
from discreet.model.table import Bools

__all__ = ["Incidence", "by_label"]


@dataclasses.dataclass(frozen=True, eq=False)
class Incidence:
    """A sparse matrix by rows and by columns; numbers go in and out as sorted arrays without repetition."""

    by_row: sparse.csr_array
    by_column: sparse.csc_array

    @classmethod
    def of(cls, matrix: sparse.csr_array) -> Incidence:
        """Both views of a matrix."""
        by_row = sparse.csr_array(matrix)
        by_row.sum_duplicates()
        return cls(by_row, sparse.csc_array(by_row))

    def rows(self, columns: Integers) -> Integers:
        """The rows in which any of these columns stands."""
        place, _ = _ranges(self.by_column.indptr, columns)
        return np.unique(self.by_column.indices[place]).astype(np.int64)

    def columns(self, rows: Integers) -> Integers:
        """The columns that stand in any of these rows."""
        place, _ = _ranges(self.by_row.indptr, rows)
        return np.unique(self.by_row.indices[place]).astype(np.int64)

    def entries(self, rows: Integers) -> tuple[Integers, Integers, Floats]:
        """All entries of these rows: the position of the row in ``rows``, the column and the factor."""
        place, owner = _ranges(self.by_row.indptr, rows)
        return owner, self.by_row.indices[place].astype(np.int64), self.by_row.data[place]

    def around(self, seeds: Integers, loose: Bools, most: int, price: Floats | None = None) -> Integers:
        """The ``most`` loose columns nearest to the seeds, ring by ring of shared rows.

        Of the last ring those that share most rows with the others, as they close the shortest cycles; then the cheapest.
        """
        found, ring = np.array(seeds, np.int64), np.array(seeds, np.int64)
        while ring.size and found.size < most:
            rows = self.rows(ring)
            near = self.columns(rows)
            ring = np.setdiff1d(near[loose[near]], found, assume_unique=True)
            if ring.size > most - found.size:
                touched = np.zeros(self.by_row.shape[0], bool)
                touched[self.rows(found)] = True
                place, owner = self.places(ring)
                shared = np.bincount(owner, touched[place], len(ring))
                first = np.zeros(len(ring)) if price is None else price[ring]
                ring = np.sort(ring[np.lexsort((ring, first, -shared))][: most - found.size])
            found = np.union1d(found, ring)
        return found

    def places(self, columns: Integers) -> tuple[Integers, Integers]:
        """All entries of these columns: the row, and the position of the column in ``columns``."""
        place, owner = _ranges(self.by_column.indptr, columns)
        return self.by_column.indices[place].astype(np.int64), owner

    def part(self, columns: Integers) -> tuple[Integers, sparse.csr_array]:
        """The rows that these columns stand in, and the matrix of these rows and columns alone."""
        place, owner = _ranges(self.by_column.indptr, columns)
        rows, line = np.unique(self.by_column.indices[place], return_inverse=True)
        shape = (len(rows), len(columns))
        return rows.astype(np.int64), sparse.csr_array((self.by_column.data[place], (line, owner)), shape=shape)


def _ranges(starts: NDArray[Any], which: Integers) -> tuple[Integers, Integers]:
    """The positions of all entries of some lines, and for each entry which of these lines it belongs to."""
    first, length = starts[which].astype(np.int64), (starts[which + 1] - starts[which]).astype(np.int64)
    owner = np.repeat(np.arange(len(which)), length)
    offset = np.arange(int(length.sum())) - np.repeat(np.cumsum(length) - length, length)
    return np.repeat(first, length) + offset, owner


def by_label(labels: Integers, cells: Integers) -> list[Integers]:
    """The cells of each label, in the order of the labels."""
    order = np.argsort(labels, kind="stable")
    return [part for part in np.split(cells[order], np.flatnonzero(np.diff(labels[order])) + 1) if part.size]
