"""How many records hold each combination of codes, counted in the engine."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np

from discreet.engine.sql import EXACT
from discreet.errors import InputError
from discreet.model.contributions import Integers
from discreet.model.encoded import Coded, code_type
from discreet.model.microdata import Microdata

__all__ = ["Counted", "counted"]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Counted:
    """The combinations that occur, each with its codes in ``coded`` and ``n`` records; shape (combinations,)."""

    coded: Mapping[str, Coded]
    n: Integers

    def __repr__(self) -> str:
        return f"Counted({len(self.n)} combinations of {len(self.coded)} columns)"


def counted(microdata: Microdata, coded: Mapping[str, Sequence[str]]) -> Counted:
    """The records by the codes of some columns, each name with its column or the columns of a compound variable.

    Codes are as in :func:`~discreet.model.encoded.encoded`: those that are missing are ``""``.  Memory is that of the
    combinations that occur; their order is that of their codes.

    Errors: InputError for a column that is not there, and for more than 2^53 possible combinations.
    """
    categories, number = {}, "CAST(0 AS BIGINT)"
    for v, (name, columns) in enumerate(coded.items()):
        for column in columns:
            microdata.check_column(column, name)
        position, categories[name] = code_type(microdata, columns, f"coded{v}")
        number = f"({number}) * {len(categories[name])} + CAST({position} AS BIGINT)"
    sizes = [len(found) for found in categories.values()]
    if math.prod(sizes) >= EXACT:
        problem = f"{' × '.join(map(str, sizes))} codes make more cells than can be numbered"
        raise InputError(microdata.name, problem, "ask for fewer columns")
    cells = f"(SELECT {number} AS cell FROM {microdata.source}) AS cells"
    rows = microdata.engine.fetch(f"SELECT cell, COUNT(*) AS n FROM {cells} GROUP BY cell ORDER BY cell")
    places = np.unravel_index(rows["cell"].astype(np.int64), sizes or (1,))
    found = {name: Coded(categories[name], place.astype(np.int32)) for name, place in zip(coded, places, strict=False)}
    return Counted(found, rows["n"].astype(np.int64))
