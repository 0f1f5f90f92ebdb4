"""Where a swap of few records is looked for first: in boxes, each of the record's codes and one other code a variable."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from discreet.model.combinations import Combinations, packed
from discreet.model.contributions import Integers
from discreet.model.margins import Margins

__all__ = ["Box", "boxes", "wider_boxes"]

Box = tuple[NDArray[np.bool_], ...]
"""The codes of each variable that a cell may have, as ``box[v][code]``."""

Codes = NDArray[np.int32]

EACH = 20
"""Boxes of so many variables that are looked into for one record."""

NEAR = 4_000
"""Combinations that are compared with each other, those that differ from the record in the fewest variables."""

PAIRED = 300
"""Combinations of which each two span a box."""

BLOCK = 1_000
"""Boxes whose records are counted at a time."""


def boxes(held: Combinations, margins: Margins, which: int, least: int) -> Iterator[Box]:
    """For one other combination after the other the codes of both.

    Those of few variables come first, whose programs are small, and among them those that most records fit into; equally good
    ones in the order of their codes.  Left out are those that differ only in variables of one margin, where nothing can move,
    and boxes of fewer records than ``least``, which a swap has at least.
    """
    near = _nearest(held, which, NEAR)
    yield from _ordered(held, margins, which, least, near, held.codes[near])


def wider_boxes(held: Combinations, margins: Margins, which: int, least: int) -> Iterator[Box]:
    """The same for every two other combinations that fit into one box, of the nearest."""
    near = held.codes[_nearest(held, which, PAIRED)]
    mine = held.codes[which]
    differs = near != mine
    fit = np.ones((len(near), len(near)), bool)
    for v in range(near.shape[1]):
        own = near[:, v]
        fit &= ~differs[:, None, v] | ~differs[None, :, v] | (own[:, None] == own[None, :])
    first, second = np.nonzero(np.triu(fit, 1))
    corners = np.where(differs[first], near[first], near[second])
    _, kept = np.unique(packed(corners, held.sizes), return_index=True)
    yield from _ordered(held, margins, which, least, _nearest(held, which, BLOCK), corners[kept])


def _nearest(held: Combinations, which: int, most: int) -> Integers:
    """The combinations that differ in the fewest variables, in the order of their codes."""
    differing = (held.codes != held.codes[which]).sum(axis=1)
    return np.sort(np.argsort(differing, kind="stable")[:most])


def _ordered(held: Combinations, margins: Margins, which: int, least: int, near: Integers, corners: Codes) -> Iterator[Box]:
    """The boxes between the record and these corners, which are in the order of their codes."""
    differs = corners != held.codes[which]
    open_ = np.ones(len(corners), bool)
    for margin in margins.sets:
        open_ &= differs[:, [v for v, name in enumerate(margins.variables) if name not in margin]].any(axis=1)
    corners, differs = corners[open_], differs[open_]
    inside = _inside(held, held.codes[which], near, corners)
    order = np.lexsort((-inside, differs.sum(axis=1)))
    order = order[inside[order] >= least]
    width = differs.sum(axis=1)[order]
    for at in order[np.arange(len(order)) - np.searchsorted(width, width) < EACH].tolist():
        box = tuple(np.zeros(size, bool) for size in held.sizes)
        for v, codes in enumerate(box):
            codes[[held.codes[which, v], corners[at, v]]] = True
        yield box


def _inside(held: Combinations, mine: Codes, near: Integers, corners: Codes) -> Integers:
    """How many of these records are in the box of each corner: those whose codes that differ from the record's are its own."""

    def marked(codes: Codes) -> NDArray[np.float32]:
        """One column a code that is not the record's."""
        columns = [(codes[:, v : v + 1] == np.arange(size)) & (np.arange(size) != mine[v]) for v, size in enumerate(held.sizes)]
        return np.concatenate(columns, axis=1).astype(np.float32)

    marks = marked(held.codes[near])
    many, counts = marks.sum(axis=1), held.counts[near].astype(np.float64)
    found = np.zeros(len(corners), np.int64)
    for at in range(0, len(corners), BLOCK):
        part = slice(at, at + BLOCK)
        found[part] = ((marked(corners[part]) @ marks.T) == many) @ counts
    return found
