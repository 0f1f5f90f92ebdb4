"""Counts of the population for combinations of key variables, found for those that a file holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError, some
from discreet.model.combinations import Combinations, packed
from discreet.model.contributions import Floats, Integers
from discreet.model.encoded import encoded
from discreet.model.microdata import Microdata

__all__ = ["Population", "population_counts"]

Population = Mapping[tuple[str, ...], int] | Microdata
"""Counts by tuples of codes, or the population as rows."""


def population_counts(
    population: Population, keys: Sequence[str], categories: Sequence[Sequence[str]], held: Combinations
) -> Integers:
    """How many units of the population have each of the combinations ``held``, whose codes are places in ``categories``.

    Shape (combinations,).  Errors: InputError as for :func:`~discreet.microdata.risk.uniques.key_counts`.
    """
    place = [{category: i for i, category in enumerate(listed)} for listed in categories]
    if isinstance(population, Microdata):
        codes, counts = _of_rows(population, keys, place)
    else:
        codes, counts = _of_mapping(population, keys, place)
    if not (np.isfinite(counts).all() and (counts >= 0).all() and (counts == np.floor(counts)).all()):
        raise InputError("population counts", "are not all whole numbers from 0 on", "count units, not weights or shares")
    known = (codes >= 0).all(axis=1)
    numbers = packed(np.concatenate([held.codes, codes[known]]), held.sizes)
    own, others = numbers[: len(held.codes)], numbers[len(held.codes) :]
    at = np.minimum(np.searchsorted(own, others), len(own) - 1)
    here = own[at] == others
    found = np.bincount(at[here], counts[known][here], len(own)).astype(np.int64)
    if (short := found < held.counts).any():
        problem = f"are below the file's own for the combinations of {int(held.counts[short].sum())} records"
        fix = f"count the population that the file is drawn from, with the file's codes of {some(keys)}"
        raise InputError("population counts", problem, fix)
    return found


def _of_rows(
    population: Microdata, keys: Sequence[str], place: Sequence[Mapping[str, int]]
) -> tuple[NDArray[np.int32], Floats]:
    """The rows' codes, as places among those of the file or -1, and how many units each stands for."""
    if population.roles.weight is not None:
        problem = f"has weights, in column {population.roles.weight!r}: it is a sample"
        raise InputError("the population", problem, "give the population, one row a unit or with counts: count = 'column'")
    count = population.roles.count
    rows = encoded(population, {key: [key] for key in keys}, {} if count is None else {"count": count})
    codes = []
    for key, known in zip(keys, place, strict=True):
        column = rows.coded[key]
        codes.append(np.array([known.get(category[0], -1) for category in column.categories], np.int32)[column.codes])
    counts = np.ones(len(codes[0])) if count is None else rows.numbers["count"]
    return np.stack(codes, axis=1), counts


def _of_mapping(
    population: Mapping[tuple[str, ...], int], keys: Sequence[str], place: Sequence[Mapping[str, int]]
) -> tuple[NDArray[np.int32], Floats]:
    """The same of counts by tuples of codes."""
    if any(not isinstance(codes, tuple) or len(codes) != len(keys) for codes in population):
        raise InputError("population counts", f"are not all of tuples of {len(keys)} codes", f"one code each of {some(keys)}")
    if any(isinstance(count, bool) or not isinstance(count, int | float | np.integer) for count in population.values()):
        raise InputError("population counts", "are not all numbers", "count the units of each combination")
    rows = [[known.get(str(code), -1) for known, code in zip(place, codes, strict=True)] for codes in population]
    return np.array(rows, np.int32).reshape(-1, len(keys)), np.array(list(population.values()), float)
