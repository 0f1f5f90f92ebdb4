"""The simplest tables that agree with a release: one cell higher, and all totals above it with it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.model.contributions import Integers

__all__ = ["lifts"]

Bools = NDArray[np.bool_]


def lifts(relations: sparse.csr_array, equations: sparse.csr_array, endless: Bools) -> sparse.csr_array:
    """For each ``endless`` cell below endless totals only: itself and those totals, shape (lifts, cells).

    Moved up by one amount, whatever it is, they agree with all published ``relations``, which is checked.  ``equations``
    parts +1, totals −1; arrays over the cells.
    """
    which = np.flatnonzero(endless)
    size = len(endless)
    lifted = sparse.csr_array((np.ones(len(which)), (np.arange(len(which)), which)), shape=(len(which), size))
    if not which.size:
        return lifted
    up, held = _above(equations), -1
    while lifted.nnz > held:
        held = lifted.nnz
        lifted = sparse.csr_array(lifted + lifted @ up)
        lifted.data[:] = 1.0
    stuck = lifted @ (~endless).astype(float) > 0
    off = sparse.csr_array(relations @ lifted.T)
    off.eliminate_zeros()
    stuck[np.unique(off.indices)] = True
    return sparse.csr_array(lifted[np.flatnonzero(~stuck)])


def _above(equations: sparse.csr_array) -> sparse.csr_array:
    """Which cells are totals of which parts, over all equations with a single total."""
    rows: Integers = np.repeat(np.arange(equations.shape[0]), np.diff(equations.indptr))
    minus = equations.data < 0
    single = np.bincount(rows[minus], minlength=equations.shape[0]) == 1
    total = np.zeros(equations.shape[0], np.int64)
    total[rows[minus]] = equations.indices[minus]
    part = ~minus & single[rows]
    ends = equations.indices[part], total[rows[part]]
    return sparse.csr_array((np.ones(part.sum()), ends), shape=(equations.shape[1],) * 2)
