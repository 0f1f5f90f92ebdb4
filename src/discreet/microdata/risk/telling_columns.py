"""Columns that stay as they are and tell the true code of a randomised variable, as a label tells its code."""

from __future__ import annotations

import dataclasses

from discreet.model.association import guessed, values_of
from discreet.model.pram_file import PramFile

__all__ = ["TellingColumn", "telling_columns"]

STRONG = 0.5
"""From which strength on a column is named."""

ENOUGH = 10
"""How many records have a value at least before their commonest code is guessed; of fewer, many agree by chance."""

MOST_VALUES = 10_000
"""About how many values a column has at most; those with more, and those with few records a value, are left out."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class TellingColumn:
    """What a ``column`` that stays as it is tells of the true codes of a randomised ``variable``.

    ``seen`` the share of the records whose codes are guessed right where the guess is what most records with the same value
    have, ``blind`` where it is what most records of the file have.
    """

    variable: str
    column: str
    seen: float
    blind: float

    @property
    def strength(self) -> float:
        """Of the records that are guessed wrong without the column, the share that it puts right: 1 where it tells all."""
        return (self.seen - self.blind) / (1 - self.blind)


def telling_columns(file: PramFile) -> tuple[TellingColumn, ...]:
    """For each randomised variable the columns that tell its true codes, the most telling first.

    Looked at are the columns that are released unless others are asked for and were not randomised, but not the column of
    households that were changed by one draw.  A column is named where it puts right at least half of what is guessed wrong
    without it.

    What it does not do: look at columns with more than about 10,000 values or fewer than five records a value, at several
    columns together, or at weights.
    """
    microdata = file.microdata
    taken = {column for variable in file.variables for column in variable.columns}
    plain = [column for column in file.shown if column not in taken] if file.variables else []
    most = min(MOST_VALUES, microdata.rows // ENOUGH)
    few = [column for column, values in values_of(microdata, plain).items() if values <= most]
    found: list[TellingColumn] = []
    for variable in file.variables:
        shares = {name: guessed(microdata, variable.columns, name, ENOUGH) for name in few if name != variable.together}
        told = [
            TellingColumn(variable=variable.name, column=name, seen=seen, blind=blind)
            for name, (blind, seen) in shares.items()
            if blind < 1
        ]
        found += sorted((one for one in told if one.strength >= STRONG), key=lambda one: -one.strength)
    return tuple(found)
