"""How much of the noise on both sides of an equation may come from the same contributors, so that it cancels out."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from discreet.model.contributions import Floats, Integers
from discreet.model.table import Bools, Table

__all__ = ["shared_noise"]

DEPTHS = (1, 2, 4, 10**6)
"""How many of the largest contributions may carry all the noise; the depth at which most is shared counts."""


def shared_noise(table: Table, equations: sparse.csr_array, spread: Floats, rows: Integers) -> Floats:
    """For each of these equations the most variance that contributors among the largest on both sides can have in common.

    ``spread`` the variance of each entry of the equations.  That of a cell is taken to lie on its d largest contributions in
    proportion to their squares.  A contributor who is among those of cells on both sides (told by record key) may carry the
    same noise on both; what is less than that in common only adds to the error of an estimate.  0 where no keys are held.
    """
    sums = table.contributions
    if table.kind == "frequency" or not sums.top_key.any() or not rows.size:
        return np.zeros(len(rows))
    chosen = np.concatenate([np.arange(equations.indptr[row], equations.indptr[row + 1]) for row in rows])
    number = np.repeat(np.arange(len(rows)), np.diff(equations.indptr)[rows])
    noisy = spread[chosen] > 0
    chosen, number = chosen[noisy], number[noisy]
    cells, above = equations.indices[chosen], equations.data[chosen] > 0
    most = np.zeros(len(rows))
    for depth in DEPTHS[: int(np.searchsorted(DEPTHS, sums.ranks)) + 1]:
        squares = sums.top[cells, :depth] ** 2
        total = squares.sum(axis=1, keepdims=True)
        share = np.divide(squares, total, out=np.zeros_like(squares), where=total > 0) * spread[chosen][:, np.newaxis]
        most = np.maximum(most, _in_common(number, sums.top_key[cells, :depth], above, share, len(rows)))
    return most


def _in_common(number: Integers, key: Integers, above: Bools, share: Floats, size: int) -> Floats:
    """Per equation the sum over contributors of the smaller of their shares above and below."""
    held = share > 0
    names = np.broadcast_to(number[:, np.newaxis], key.shape)[held] * 2**32 + key[held]
    who, place = np.unique(names, return_inverse=True)
    up = np.broadcast_to(above[:, np.newaxis], key.shape)[held]
    sides = [np.bincount(place, share[held] * side, minlength=len(who)) for side in (up, ~up)]
    return np.asarray(np.bincount(who // 2**32, np.minimum(*sides), minlength=size), float)
