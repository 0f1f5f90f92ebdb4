"""Variances where households were randomised by one draw: the pairs of their members, and chosen cells one by one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from discreet.errors import InputError
from discreet.inference.axes import Factors
from discreet.inference.tally import Tally
from discreet.model.contributions import Floats, Integers

__all__ = ["LARGEST", "chosen", "joint_pairs", "pair_covariance"]

LARGEST = 20_000_000
"""How many numbers are held at once where clusters, pairs or chosen cells are worked through in turn."""


def chosen(tally: Tally, cells: Integers, values: Sequence[Sequence[str]]) -> Iterator[tuple[Integers, list[Floats]]]:
    """Some entries at a time and their pseudo-indicators of chosen cells: shapes (entries,) and (entries, cells).

    Those are given for each of ``values``, the randomised columns by whose numbers they are multiplied.
    """
    layout = tally.layout
    step = max(1, LARGEST // max(1, len(cells)))
    for part in range(len(layout.parts)):
        own = np.flatnonzero(tally.part == part)
        for begin in range(0, len(own), step):
            rows = own[begin : begin + step]
            yield rows, [_indicators(tally, part, rows, cells, range(len(layout.axes)), columns) for columns in values]


def pair_covariance(tally: Tally, one: int, two: int, kinds: Callable[[int], Sequence[Factors]]) -> Floats:
    """What pairs of records of a household add to the covariance in each cell of the totals of measures ``one`` and ``two``.

    For members i ≠ j of a household: Σ g_i·h_j·(d_i·d'_j − known), where ``known`` estimates whether both are in the cell: for
    variables drawn independently it is the product of the two pseudo-indicators, and nothing remains; for one drawn together it
    is the pseudo-indicator itself where the two were released alike, else 0.  ``kinds`` gives for a stratum the factors of
    the first total, those of the second one and those of being in both.
    """
    layout, table = tally.layout, np.zeros(tally.layout.shape)
    for p, q, first, second, weight in _by_parts(tally, *_pairs(tally, one, two)):
        one_full, both_full = (kinds(p)[i].filled(layout.shape) for i in (0, 2))
        two_full = kinds(q)[1].filled(layout.shape)
        released = [np.unravel_index(tally.cell[rows], layout.inner) for rows in (first, second)]
        alive = np.ones(len(first), bool)
        numbers, products, known = [], [], []
        for axis, block in enumerate(layout.blocks):
            size = layout.inner[axis]
            different, number = np.unique(released[0][axis] * size + released[1][axis], return_inverse=True)
            i, j = np.divmod(different, size)
            product = one_full[axis][i] * two_full[axis][j]
            jointly = block.variable is not None and block.variable.together is not None
            both = both_full[axis][i] * (i == j)[:, None] if jointly else product
            used = (product != 0).any(axis=1) | (both != 0).any(axis=1)
            alive &= used[number]
            numbers.append((np.cumsum(used) - 1)[number])
            products.append(product[used])
            known.append(both[used])
        shape = tuple(len(matrix) for matrix in products)
        if math.prod(shape) > LARGEST:
            problem = f"pairs of members of a household make {math.prod(shape)} combinations"
            raise InputError("table", problem, "ask for fewer columns at a time")
        if alive.any():
            cell = np.ravel_multi_index([number[alive] for number in numbers], shape)
            counts = np.asarray(np.bincount(cell, weight[alive], math.prod(shape)), float).reshape(shape)
            nowhere = (None,) * len(shape)
            table += Factors(tuple(products), nowhere).along(counts) - Factors(tuple(known), nowhere).along(counts)
    return table


def joint_pairs(tally: Tally, one: int, two: int, cells: Integers) -> Floats:
    """The same for the covariances of chosen cells with each other."""
    layout = tally.layout
    blocks = list(enumerate(layout.blocks))
    jointly = [axis for axis, block in blocks if block.variable is not None and block.variable.together is not None]
    apart = [axis for axis, _ in blocks if axis not in jointly]
    of_one, of_two = tally.values[one], tally.values[two]
    at = np.unravel_index(cells, layout.shape) if layout.shape else ()
    alike = np.array([at[axis][:, None] == at[axis] for axis in jointly]).all(axis=0)
    found = np.zeros((len(cells), len(cells)))
    step = max(1, LARGEST // max(1, len(cells)))
    for p, q, first, second, weight in _by_parts(tally, *_pairs(tally, one, two)):
        for begin in range(0, len(first), step):
            some = slice(begin, begin + step)
            rows, others, g = first[some], second[some], weight[some]
            own, once = (_indicators(tally, p, rows, cells, axes, of_one) for axes in (apart, jointly))
            other, again = (_indicators(tally, q, others, cells, axes, of_two) for axes in (apart, jointly))
            both = _indicators(tally, p, rows, cells, jointly, (*of_one, *of_two))
            released = [np.unravel_index(tally.cell[entries], layout.inner) for entries in (rows, others)]
            same = np.array([released[0][axis] == released[1][axis] for axis in jointly]).all(axis=0)
            found += (g[:, None] * own * once).T @ (other * again)
            found -= alike * (((g * same)[:, None] * own * both).T @ other)
    return found


def _pairs(tally: Tally, one: int, two: int) -> tuple[Integers, Integers, Floats]:
    """All ordered pairs of entries of a household, and the sum of g_i·h_j over the pairs of different records in them."""
    size = np.bincount(tally.unit, minlength=len(tally.units))
    start = np.cumsum(size) - size
    partners = size[tally.unit]
    first = np.repeat(np.arange(len(tally.unit)), partners)
    within = np.arange(len(first)) - np.repeat(np.cumsum(partners) - partners, partners)
    second = start[tally.unit[first]] + within
    weight = tally.first[one][first] * tally.first[two][second]
    weight[first == second] -= tally.second[one][two]
    used = weight != 0
    return first[used], second[used], weight[used]


def _by_parts(
    tally: Tally, first: Integers, second: Integers, weight: Floats
) -> Iterator[tuple[int, int, Integers, Integers, Floats]]:
    """The pairs by the strata that their two entries are in."""
    parts = len(tally.layout.parts)
    both = tally.part[first] * parts + tally.part[second]
    for pair in np.unique(both).tolist():
        own = both == pair
        yield pair // parts, pair % parts, first[own], second[own], weight[own]


def _indicators(tally: Tally, part: int, rows: Integers, cells: Integers, axes: Sequence[int], values: Sequence[str]) -> Floats:
    """The product of the pseudo-indicators along these axes, of shape (rows, cells)."""
    layout, found = tally.layout, np.ones((len(rows), len(cells)))
    if layout.shape:
        released = np.unravel_index(tally.cell[rows], layout.inner)
        at = np.unravel_index(cells, layout.shape)
        for matrix in layout.factors(part, values).indicators(released, at, axes):
            found *= matrix
    return found
