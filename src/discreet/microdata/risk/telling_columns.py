"""Columns that stay as they are and tell the true code of a randomised variable, as a label tells its code."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from discreet.model.association import given_away, guessed, values_of
from discreet.model.pram_file import PramFile
from discreet.model.transition import Category

__all__ = ["STRONG", "TellingColumn", "telling_columns"]

STRONG = 0.5
"""From which strength on a column is named."""

PART = 0.1
"""From which share on of the records of a category, given away by a column, it is named."""

ENOUGH = 5
"""How many records have a value at least before their commonest code is guessed; of fewer, many agree by chance."""

MOST_VALUES = 10_000
"""About how many values a column has at most; those with more, and those with few records a value, are left out."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class TellingColumn:
    """What a ``column`` that stays as it is tells of the true codes of a randomised ``variable``.

    ``seen`` the share of the records whose codes are guessed right where the guess is what most records with the same value
    have, ``blind`` where it is what most records of the file have; ``given`` for some categories the share of their records
    whose value gives the category away; ``stratum`` whether the column chose the variable's matrices.
    """

    variable: str
    column: str
    seen: float
    blind: float
    given: Mapping[Category, float]
    stratum: bool

    @property
    def strength(self) -> float:
        """Of the records that are guessed wrong without the column, the share that it puts right: 1 where it tells all."""
        return (self.seen - self.blind) / (1 - self.blind)


def telling_columns(file: PramFile, columns: Sequence[str] | None = None) -> tuple[TellingColumn, ...]:
    """For each randomised variable the columns that tell its true codes, the most telling first.

    Looked at are the ``columns`` to release, by default those that are released unless others are asked for, which were not
    randomised, but not the column of households that were changed by one draw.  A column is named where it puts right at
    least half of what is guessed wrong without it, or gives at least a tenth of the records of a category away.  Records
    without a code are left out where such stay as they are.

    What it does not do: look at columns with more than about 10,000 values or fewer than five records a value, or at several
    columns together.  Shares are of records, whatever their weights.
    """
    microdata = file.microdata
    released = file.shown if columns is None else columns
    for name in released:
        microdata.check_column(name, "the release")
    taken = {column for variable in file.variables for column in variable.columns}
    plain = [name for name in released if name not in taken] if file.variables else []
    most = min(MOST_VALUES, microdata.rows // ENOUGH)
    few = [name for name, values in values_of(microdata, plain).items() if values <= most]
    found: list[TellingColumn] = []
    for variable in file.variables:
        empty = variable.missing == "category"
        told: list[TellingColumn] = []
        for name in few:
            if name == variable.together:
                continue
            blind, seen = guessed(microdata, variable.columns, name, ENOUGH, empty=empty)
            if blind < 1:
                given = given_away(microdata, variable.columns, name, empty=empty)
                given = {category: share for category, share in given.items() if share >= PART}
                stratum = name in variable.strata
                told.append(
                    TellingColumn(variable=variable.name, column=name, seen=seen, blind=blind, given=given, stratum=stratum)
                )
        named = [one for one in told if one.strength >= STRONG or one.given]
        found += sorted(named, key=lambda one: -one.strength)
    return tuple(found)
