"""Columns that stay where they are and tell the true values of others that moved, as a town tells its district."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from discreet.model.association import guessed, values_of
from discreet.model.swap_file import SwapFile

__all__ = ["UndoingColumn", "undoing_columns"]

STRONG = 0.9
"""From which strength on a column undoes a swap; margins that are kept tell much, but hardly ever so much."""

ENOUGH = 5
"""How many records have a value at least before their commonest code is guessed; of fewer, many agree by chance."""

MOST_VALUES = 10_000
"""About how many values a column has at most that is looked at."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class UndoingColumn:
    """A ``column`` that stays and tells the true values of one that ``moved``.

    ``strength``: of the records whose value is guessed wrong without the column, the share that it puts right.
    """

    column: str
    moved: str
    strength: float


def undoing_columns(file: SwapFile, columns: Sequence[str] | None = None) -> tuple[UndoingColumn, ...]:
    """The columns to be released (by default those that are unless others are asked for) that stay and undo a swap.

    Of the true records, those with the same value of such a column have nearly all the same value of the column that moved; who
    sees another one in the release knows that it came from elsewhere, and what stood there.

    What it does not do: look at columns with more than about 10,000 values or fewer than five records a value, as numbers of
    households, which also tell a place if they were given area by area; nor at several columns together.

    Errors: InputError for a column that is not there.
    """
    microdata = file.microdata
    for column in columns or ():
        microdata.check_column(column, "the release")
    stay = [column for column in (file.shown if columns is None else columns) if column not in file.origin]
    values = values_of(microdata, [*stay, *file.origin])
    few = [column for column in stay if 1 < values[column] <= min(MOST_VALUES, microdata.rows // ENOUGH)]
    found = []
    for moved in file.origin:
        for column in few if 1 < values[moved] <= MOST_VALUES else ():
            if values[column] >= 0.9 * values[moved]:  # with fewer values it cannot tell nearly all
                blind, seen = guessed(microdata, [moved], column, ENOUGH, empty=True)
                strength = (seen - blind) / (1 - blind) if blind < 1 else 0.0
                found += [UndoingColumn(column=column, moved=moved, strength=strength)] if strength >= STRONG else []
    return tuple(found)
