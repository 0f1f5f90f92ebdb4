"""The population that an intruder takes a record to come from: columns as they are, and weights where there are any."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from discreet.errors import InputError
from discreet.model.contributions import Floats, Integers
from discreet.model.encoded import Encoded, encoded
from discreet.model.microdata import Microdata

__all__ = ["population_weights", "summed", "unrandomised"]


def unrandomised(microdata: Microdata, coded: Mapping[str, tuple[str, ...]]) -> Encoded:
    """Columns of the file as they are, and the weights where a column has that role."""
    weight = microdata.roles.weight
    return encoded(microdata, coded, {"weight": weight} if weight else {})


def population_weights(microdata: Microdata, held: Encoded) -> Floats | None:
    """The weight of each record, or None where no column has that role.

    Errors: InputError where a weight is missing or negative.
    """
    if microdata.roles.weight is None:
        return None
    weight = held.numbers["weight"]
    bad = int((~np.isfinite(weight) | (weight < 0)).sum())
    if bad:
        raise InputError(
            f"column {microdata.roles.weight!r}",
            f"{bad} records have no weight, or a negative one",
            "give each record a weight",
        )
    return weight


def summed(places: Integers, size: int, weight: Floats | None) -> Floats:
    """How much weight lies at each place, added in an order that does not depend on that of the records."""
    if weight is None:
        return np.bincount(places, minlength=size).astype(float)
    order = np.lexsort((weight, places))
    return np.asarray(np.bincount(places[order], weights=weight[order], minlength=size), float)
