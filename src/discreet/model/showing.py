"""What the methods that round or add noise have in common: which cells they are about, and what they need."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.method import param
from discreet.model.contributions import Floats
from discreet.model.table import Table

__all__ = ["known_noise", "need_contributions", "need_keys", "sensitive_cells", "to_show", "within"]


def sensitive_cells() -> Any:
    """The parameter that says what becomes of cells that are suppressed so far."""
    return param(
        "hide",
        "cells that are suppressed so far stay hidden, or are shown perturbed and judged by the audit as they are shown",
        choices=("hide", "show"),
    )


def known_noise() -> Any:
    """The parameter that says whether readers know how large the noise can be."""
    return param(False, "readers know low and high, and the audit takes it that they use the bounds that follow; else secret")


def to_show(table: Table, sensitive: str) -> NDArray[np.bool_]:
    """The cells that a method perturbs: listed, and not suppressed unless those are to be shown."""
    return table.listed & (~table.suppressed | (sensitive == "show"))


def need_contributions(table: Table, method: str, ranks: int = 0) -> None:
    """Refuses a table that does not hold the contributions to its response, the ``ranks`` largest of each cell one by one."""
    if table.kind == "frequency":
        raise InputError(method, "is for sums of a response, not for counts", "use cell keys or rounding for counts")
    held = table.contributions
    if (np.abs(held.total - table.value) > table.unit + 1e-9 * np.abs(table.value)).any():
        problem = "looks at the contributions to the response, and the table holds those to a shadow variable"
        raise InputError(method, problem, "leave out the shadow variable")
    if held.ranks < ranks and (held.holdings > held.ranks).any():
        problem = f"needs the {ranks} largest contributions of each cell, and {held.ranks} are kept"
        raise InputError(method, problem, f"count it from records with ranks = {ranks}, as a plan does by itself")


def need_keys(table: Table, method: str) -> None:
    """Refuses a table without record keys."""
    if not table.contributions.keyed:
        raise InputError(
            method,
            "needs record keys, and the table has none",
            "count it from records with a column record_key, or with a secret: secret_file or secret_environment in a plan, "
            "tabulate(..., secret=Secret.from_file(...)) in Python",
        )


def within(table: Table, shown: Floats, share: float | None) -> tuple[Floats, Floats]:
    """What readers can tell of the value X behind a number Z that is off by at most ``share`` of the contributions' sum.

    Nothing where they do not know the share (None).
    Where no contribution is negative and no weight below 1: Z/(1 + share) ≤ X ≤ Z/(1 − share), and half a unit
    more, as Z is rounded.  Nothing where negative values are possible, or occur in spite of what was declared.
    """
    nothing = np.full(table.cells, -np.inf), np.full(table.cells, np.inf)
    if share is None:
        return nothing
    half, least = table.unit / 2, table.floor()
    low = np.maximum(shown - half, 0.0) / (1 + share)
    high = (shown + half) / (1 - share) if share < 1 else np.full(table.cells, np.inf)
    new = ~np.isnan(shown)
    outside = new & ((low > table.value + half) | (high < table.value - half))
    if outside.any() or (least < 0).any():
        return nothing
    return low, high
