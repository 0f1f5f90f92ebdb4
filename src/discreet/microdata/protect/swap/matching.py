"""Disjoint pairs of records, chosen all together: a matching of maximum weight."""

from __future__ import annotations

import numpy as np

from discreet.errors import InputError
from discreet.model.contributions import Integers
from discreet.model.noise import mixed

__all__ = ["disjoint_pairs"]

NOISE = 32
"""Bits of chance that decide between matchings of equal gain and cost."""


def disjoint_pairs(first: Integers, second: Integers, gain: Integers, cost: Integers, key: Integers) -> Integers:
    """Which of these pairs of records to take, so that no record is in two of them: positions in ascending order.

    They have the largest sum of ``gain``, whole numbers above 0; of all such choices the least sum of ``cost``; and of these
    the one that the keys of the pairs draw.  All arrays have shape (pairs,).  A pair may be listed twice.

    Errors: InputError where the package rustworkx is not installed.
    """
    if not len(first):
        return np.zeros(0, np.int64)
    try:
        import rustworkx
    except ImportError:
        raise InputError("margin-swap", "the package rustworkx is not installed", 'pip install "discreet[swap]"') from None
    records, ends = np.unique(np.concatenate([first, second]), return_inverse=True)
    low, high = np.sort(ends.reshape(2, -1), axis=0)
    nodes = len(records)
    # one more of gain outweighs what all pairs together can cost, and one less of cost all their bits of chance
    scale = int(2 * np.abs(cost).max() + 1) * nodes
    chance = (mixed("margin-swap matching", key) >> np.uint64(64 - NOISE)).tolist()
    unit = nodes << NOISE
    weights = [(g * scale - c) * unit + bits for g, c, bits in zip(gain.tolist(), cost.tolist(), chance, strict=True)]
    kept = _worthwhile(low, high, weights, nodes)
    graph: rustworkx.PyGraph[None, int] = rustworkx.PyGraph(multigraph=False)
    graph.add_nodes_from([None] * nodes)
    graph.add_edges_from([(a, b, weights[at]) for (a, b), at in kept.items()])
    taken = rustworkx.max_weight_matching(graph, weight_fn=int)
    return np.sort(np.array([kept[min(pair), max(pair)] for pair in taken], np.int64))


def _worthwhile(low: Integers, high: Integers, weights: list[int], nodes: int) -> dict[tuple[int, int], int]:
    """The position of each pair that can be in the best matching: of those of a record whose partners have no other pair,
    only the one of largest weight can."""
    position = dict(zip(zip(low.tolist(), high.tolist(), strict=True), range(len(low)), strict=True))
    ends = np.array(list(position))
    number = np.bincount(ends.ravel(), minlength=nodes)
    best: dict[int, tuple[int, int]] = {}
    kept = {}
    for (a, b), at in position.items():
        lone = number[a] == 1 or number[b] == 1
        if not lone:
            kept[a, b] = at
            continue
        busy = b if number[a] == 1 else a
        if busy not in best or weights[at] > weights[position[best[busy]]]:
            best[busy] = (a, b)
    return kept | {pair: position[pair] for pair in best.values()}
