"""Moves that come out of a solver nearly invariant are made exactly so."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph
from scipy.sparse.linalg import spsolve

from discreet.model.contributions import Floats

__all__ = ["balanced"]

_ENOUGH = 1e-14


def balanced(shares: sparse.csr_array, counts: Floats, *, passes: int = 20) -> sparse.csr_array:
    """The probabilities of moving, shape (categories, categories), scaled so that as much enters each category as leaves it.

    ``shares[k, l]`` is the probability of the move from k to l, nothing on the diagonal; ``counts`` of shape (categories,).
    The flows ``f_kl = counts_k · shares_kl`` become ``f_kl · exp(φ_k − φ_l)``, with φ by Newton's method: each step solves the
    Laplacian of the flows.  Moves from which no chain of moves leads back are set to zero first, for nothing balances them.
    Done when the imbalance is below 1e-14 of every count, or after ``passes`` steps.
    Source: balancing of matrices by diagonal scaling, Osborne (1960), On pre-conditioning of matrices, J. ACM 7(4).
    """
    size = len(counts)
    flows = sparse.coo_array(shares)
    true, released = flows.coords
    flow = flows.data * counts[true]
    _, part = csgraph.connected_components(shares, directed=True, connection="strong")
    returns = part[true] == part[released]
    true, released, flow = true[returns], released[returns], flow[returns]
    ground = np.zeros(size)
    ground[np.unique(part, return_index=True)[1]] = 1.0
    for _ in range(passes):
        leaves, enters = (np.bincount(end, weights=flow, minlength=size) for end in (true, released))
        if (np.abs(leaves - enters) <= _ENOUGH * counts).all():
            break
        one_way = sparse.csr_array((flow, (true, released)), shape=(size, size))
        anchor = ground * np.where(leaves + enters > 0, leaves + enters, 1.0)
        laplacian = sparse.diags_array(leaves + enters + anchor) - one_way - one_way.T
        potential = spsolve(sparse.csc_array(laplacian), enters - leaves)
        flow = flow * np.exp(np.clip(potential[true] - potential[released], -1.0, 1.0))
    return sparse.csr_array((flow / counts[true], (true, released)), shape=(size, size))
