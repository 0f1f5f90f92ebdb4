"""What the methods that round or add noise have in common: which cells they are about, and what they need."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.method import param
from discreet.model.table import Table

__all__ = ["need_keys", "sensitive_cells", "to_show"]


def sensitive_cells() -> Any:
    """The parameter that says what becomes of cells that are suppressed so far."""
    return param(
        "hide",
        "cells that are suppressed so far stay hidden, or are shown perturbed and judged by the audit as they are shown",
        choices=("hide", "show"),
    )


def to_show(table: Table, sensitive: str) -> NDArray[np.bool_]:
    """The cells that a method perturbs: listed, not perturbed yet, and not suppressed unless those are to be shown."""
    return table.listed & ~table.perturbed & (~table.suppressed | (sensitive == "show"))


def need_keys(table: Table, method: str) -> None:
    """Refuses a table without record keys."""
    if not table.contributions.keyed:
        raise InputError(
            method,
            "needs record keys, and the table has none",
            "declare a column with record keys, or a secret from which they are made, when the records are read and counted",
        )
