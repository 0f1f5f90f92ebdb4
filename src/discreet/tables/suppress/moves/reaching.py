"""How far cells can certainly move, seen without a linear program: finest cells with all the totals above them."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from discreet.model.contributions import Floats, Integers
from discreet.model.table import Bools
from discreet.tables.suppress.moves.attackers import Space

__all__ = ["reaches"]


def reaches(space: Space, loose: Bools) -> tuple[Floats, Floats]:
    """How far up and how far down each cell can certainly move while all ``loose`` cells may; shape (cells,) each.

    A finest cell moves with every total above it; two finest cells move against each other, and what cannot move above the
    one and above the other, if it is the same, stands still.  What these cannot do a longer chain may do, so the true reach
    is never less.
    """
    raised, balanced = space.raised
    open_by = space.spread(loose.astype(float)) > 0
    rise = space.slack_rise + np.where(open_by, space.rise, 0.0)
    fall = space.slack_fall + np.where(open_by, space.fall, 0.0)
    held = (rise <= 0) & (fall <= 0)
    up, down = _least(raised, np.where(held, np.inf, rise)), _least(raised, np.where(held, np.inf, fall))
    mark = np.random.default_rng(0).integers(1, 2**64, len(held), dtype=np.uint64)
    above = raised.T.astype(np.uint64) @ np.where(held, mark, np.uint64(0))
    free = balanced & (above == 0)
    single = np.where(free, up, 0.0), np.where(free, down, 0.0)
    kinds = np.where(balanced, np.unique(above, return_inverse=True)[1], -1)
    found = []
    for one, mine, other in zip(single, (up, down), (down, up), strict=True):
        partner = _partners(kinds, other)
        paired = np.where(partner >= 0, np.minimum(mine, other[partner]), 0.0)
        apart = raised - raised.multiply(raised[:, np.maximum(partner, 0)])
        found.append(np.maximum(_most(raised, one), _most(apart, paired))[: space.cells])
    return found[0], found[1]


def _least(raised: sparse.csc_array, room: Floats) -> Floats:
    """The least room among the cells of each column."""
    return np.asarray(np.minimum.reduceat(room[raised.indices], raised.indptr[:-1])) if raised.nnz else np.zeros(0)


def _most(rows: sparse.csc_array, far: Floats) -> Floats:
    """The largest of the numbers of the columns in which each cell is."""
    out = np.zeros(rows.shape[0])
    at = sparse.coo_array(rows)
    there = at.data != 0
    np.maximum.at(out, at.coords[0][there], far[at.coords[1][there]])
    return out


def _partners(kinds: Integers, far: Floats) -> Integers:
    """For each column the one of its kind that goes farthest, and for that one the next; -1 where there is none."""
    order = np.lexsort((np.arange(len(kinds)), -far, kinds))
    order = order[kinds[order] >= 0]
    partner = np.full(len(kinds), -1, np.int64)
    if not order.size:
        return partner
    ordered = kinds[order]
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    size = np.diff(np.append(first, len(ordered)))
    partner[order] = np.repeat(order[first], size)
    second = np.where(size > 1, order[np.minimum(first + 1, len(order) - 1)], -1)
    partner[order[first]] = second
    return partner
