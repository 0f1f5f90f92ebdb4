"""What the largest contributors of a cell know together: the common ground of the concentration rules."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from discreet.errors import InputError
from discreet.method import param
from discreet.model.contributions import Contributions, Floats
from discreet.model.table import Bools, Table

__all__ = ["GUARD", "Coalition", "coalition", "in_response", "negative_param", "weights_param"]

GUARD = 1e-12
"""Sides of an inequality that differ by less than this share of the cell's total count as equal, hence not sensitive."""


def weights_param() -> Any:
    """The field ``weights`` of a concentration rule."""
    return param(
        "sample",
        "how sampling weights count: 'sample' compares unweighted contributions with the weighted total; 'expand' counts "
        "each unit as often as its weight says; 'public' takes the weights as known and compares weighted contributions",
        choices=("sample", "expand", "public"),
    )


def negative_param() -> Any:
    """The field ``negative`` of a concentration rule."""
    return param(
        "absolute",
        "contributions below 0: 'absolute' judges absolute values, so that a table and its negative are judged alike; "
        "'error' refuses them",
        choices=("absolute", "error"),
    )


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Coalition:
    """The largest possible victim of each cell and the others who might pool what they know, arrays of shape (cells,).

    ``total`` X, the sum of the absolute weighted contributions; ``target`` x_s, the largest contribution without
    waiver (0 where every contributor waived); ``known`` x_s and the largest of the other contributions together.
    """

    total: Floats
    target: Floats
    known: Floats

    def fires(self, excess: Floats) -> Bools:
        """Whether a rule's excess is above 0 by more than rounding, in cells that have somebody to protect."""
        return np.asarray((excess > GUARD * self.total) & (self.target > 0))


def coalition(rule: str, contributions: Contributions, *, others: int, weights: str, negative: str) -> Coalition:
    """The target of each cell together with its ``others`` largest other contributors.

    Each contributor has a number of copies: 1, or its weight with ``weights = "expand"``.  The target comes first
    with one copy; the rest of the ``others + 1`` places are filled from the largest copies down, the last one in part
    where weights are not whole.  With ``weights = "public"`` what is known of a contributor is its weighted contribution.
    """
    c = contributions
    if negative == "error":
        _refuse_negative(rule, c)
    size = np.abs(c.top)
    counted = np.abs(c.top_weighted) if weights == "public" else size
    copies = _ratio(np.abs(c.top_weighted), size) if weights == "expand" else np.ones_like(size)
    _refuse_short(rule, c, others + 1, copies)
    beyond, beyond_weighted = np.abs(c.unwaived_top), np.abs(c.unwaived_weighted)
    rows = np.arange(len(c))
    free = ~c.top_waiver & (size > 0)
    listed = free.any(axis=1)
    rank = np.argmax(free, axis=1) if c.ranks else np.zeros(len(c), np.int64)

    def of_target(ranked: Floats, otherwise: Floats) -> Floats:
        return np.where(listed, ranked[rows, rank], otherwise) if c.ranks else otherwise

    target = of_target(size, beyond)
    own = np.minimum(of_target(copies, _ratio(beyond_weighted, beyond) if weights == "expand" else np.ones(len(c))), 1.0)
    left = copies.copy()
    left[rows[listed], rank[listed]] -= own[listed]
    room = (others + 1 - own)[:, None] - (np.cumsum(left, axis=1) - left)
    known = own * of_target(counted, beyond_weighted if weights == "public" else beyond)
    known = known + (np.clip(room, 0.0, left) * counted).sum(axis=1)
    return Coalition(total=c.absolute, target=target, known=known)


def in_response(table: Table, level: Floats) -> Floats:
    """A protection level found on the rule variable, in units of the published response.

    The same thing unless the rule looks at a shadow variable: the level then keeps its share of the cell.
    """
    basis, value = np.abs(table.contributions.total), np.abs(table.value)
    shadow = (np.abs(table.contributions.total - table.value) > table.unit) & (basis > 0)
    return level * np.divide(value, basis, out=np.ones_like(basis), where=shadow)


def _ratio(weighted: Floats, unweighted: Floats) -> Floats:
    return np.divide(weighted, unweighted, out=np.ones_like(unweighted), where=unweighted > 0)


def _refuse_short(rule: str, c: Contributions, need: int, copies: Floats) -> None:
    more = (c.holdings > c.ranks) & (copies.sum(axis=1) < need)
    if c.ranks:
        more &= c.top[:, -1] != 0
    if more.any():
        largest = f"the {need} largest contributions" if need > 1 else "the largest contribution"
        raise InputError(
            rule,
            f"needs {largest} of each cell; the table holds {c.ranks}, too few in {int(more.sum())} cells",
            f"tabulate a response with ranks = {max(need, c.ranks + 1)}, or name the columns that hold them (max1, max2, …)",
        )


def _refuse_negative(rule: str, c: Contributions) -> None:
    below = (c.absolute - c.total > 1e-9 * c.absolute) | (c.top < 0).any(axis=1)
    if below.any():
        raise InputError(
            rule,
            f"{int(below.sum())} cells hold contributions below 0 and negative = 'error' was asked for",
            "judge absolute values: negative = 'absolute'",
        )
