"""Several lines or cells that turn out to be one: numbers must agree, the stronger protection holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError, some
from discreet.model.contributions import Integers

__all__ = ["check_agreement", "join"]

_HOLDS: Mapping[str, Any] = {
    "status": np.maximum,
    "frozen": np.logical_or,
    "exempt": np.logical_or,
    "listed": np.logical_or,
    "fired": np.bitwise_or,
    "cost": np.maximum,
    "upper_protection": np.maximum,
    "lower_protection": np.maximum,
    "sliding_protection": np.maximum,
    "lower": np.fmax,
    "upper": np.fmin,
}


def check_agreement(
    numbers: Mapping[str, NDArray[Any]], cell: Integers, label: Callable[[int], str], where: str, tolerance: float = 0.0
) -> None:
    """Refuses lines of one cell whose numbers differ, naming the lines and what differs, never the numbers."""
    _, first = np.unique(cell, return_index=True)
    for what, array in numbers.items():
        beside = array[first][cell]
        far = np.abs(array - beside) > tolerance * (1 + np.abs(beside))
        lines = np.flatnonzero(far if far.ndim == 1 else far.any(axis=1))
        if lines.size:
            labels = [f"{label(int(line))} and {label(int(first[cell[line]]))}" for line in lines]
            raise InputError(
                where,
                f"these are one and the same cell and differ in their {what}: {some(labels, 3)}",
                "correct one of them",
                details=labels,
            )


def join(
    fields: Mapping[str, NDArray[Any]], cell: Integers, label: Callable[[int], str], where: str
) -> dict[str, NDArray[Any]]:
    """One entry a cell: the stronger status, the larger level and cost, the tighter bounds; flags of any of them."""
    cells = int(cell.max(initial=-1)) + 1
    _, first = np.unique(cell, return_index=True)
    out = {}
    for name, array in fields.items():
        joined = array[first].copy()
        _HOLDS[name].at(joined, cell, array)
        out[name] = joined
    clash = np.flatnonzero(out["frozen"] & (out["status"] > 0)) if cells else np.zeros(0, int)
    if clash.size:
        labels = [" and ".join(label(int(line)) for line in np.flatnonzero(cell == one)[:3]) for one in clash]
        raise InputError(
            where,
            f"these are one and the same cell, suppressed here and to be published there: {some(labels, 3)}",
            "take back one of the two statuses",
            details=labels,
        )
    return out
