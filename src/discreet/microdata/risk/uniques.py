"""Sample uniques and small counts over key variables, over subsets of them, and what population counts say about them."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError, ParameterError, some
from discreet.microdata.risk.key_population import Population, population_counts
from discreet.model.combinations import Combinations, counts_alike
from discreet.model.contributions import Floats, Integers
from discreet.model.swap_file import SwapFile

__all__ = ["KeyCounts", "PopulationRisk", "SubsetCounts", "key_counts"]

SMALL = 10
"""Up to which count the records of a subset are told."""

MOST = 20_000
"""Subsets of keys that are looked at."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class SubsetCounts:
    """How many records share their codes in these ``keys`` with few others: ``small[c - 1]`` records are of a combination
    that c records have, for c = 1, …, 10."""

    keys: tuple[str, ...]
    small: tuple[int, ...]

    @property
    def uniques(self) -> int:
        """The records that are alone with their codes."""
        return self.small[0]


@dataclasses.dataclass(frozen=True, kw_only=True)
class PopulationRisk:
    """What the counts F of the population say of the records that are alone in the file with their combination of keys.

    ``uniques`` such records; ``population_uniques`` of them are alone in the population too, F = 1; ``matches`` is the sum of
    1 / F over them: how many an intruder would get right, in expectation, who takes each for one of the F persons who could
    be it.  ``matches_of_all`` is that sum over all records.
    """

    uniques: int
    population_uniques: int
    matches: float
    matches_of_all: float

    @property
    def share(self) -> float:
        """The share of the file's uniques that are alone in the population; 0 where there are none."""
        return self.population_uniques / self.uniques if self.uniques else 0.0


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class KeyCounts:
    """How many records share their combination of ``keys``, for each record and for subsets of the keys.  Confidential.

    ``held`` are the combinations; ``population`` holds the population's count of each, where it was given, and ``fewest[s]``,
    for sizes s of subsets that were asked for, the smallest count that a combination has in any s of the keys, and so in any
    subset of up to s; both of shape (combinations,).  Of each subset, ``subsets`` tells how many records have small counts.
    Arrays of shape (records,) are in the order of the records' secret keys, as in the file.
    """

    keys: tuple[str, ...]
    held: Combinations
    population: Integers | None
    fewest: Mapping[int, Integers]
    subsets: tuple[SubsetCounts, ...]

    def __repr__(self) -> str:
        return f"KeyCounts({', '.join(self.keys)}: {self.uniques} of {len(self.held.of)} records are sample uniques)"

    @property
    def counts(self) -> Integers:
        """For each record how many records have its combination of all keys; shape (records,)."""
        return self.held.counts[self.held.of]

    @property
    def uniques(self) -> int:
        """The sample uniques: records that are alone with their combination of all keys."""
        return int(np.count_nonzero(self.held.counts == 1))

    def small(self, at_most: int) -> int:
        """How many records share their combination of all keys with at most so many records, themselves counted."""
        return int(self.held.counts[self.held.counts <= at_most].sum())

    def of(self, keys: Sequence[str]) -> Integers:
        """For each record how many records have its codes in these of the keys; shape (records,).

        Errors: InputError for a name that is not among the keys.
        """
        if unknown := [key for key in keys if key not in self.keys]:
            raise InputError("keys", f"{unknown[0]!r} is not among them", f"the keys are: {some(self.keys, 40)}")
        at = [self.keys.index(key) for key in keys]
        return _alike(self.held, at)[self.held.of]

    def risky(self, at_most: int = 1, *, size: int | None = None, of: str = "sample") -> NDArray[np.bool_]:
        """Which records have a count of at most ``at_most``; shape (records,).

        The count is that of records with the same combination of all keys, or with ``size`` the smallest in any subset of up
        to so many keys; ``of = "population"`` takes the population's count of the combination of all keys.

        Errors: ParameterError for sizes that were not asked for, and for the population where its counts are not given.
        """
        if of not in ("sample", "population"):
            raise ParameterError("of", f"{of!r} is not sample or population")
        if at_most < 1:
            raise ParameterError("at_most", f"must be at least 1, not {at_most}", "1 finds the records that are alone")
        if of == "population":
            if size is not None:
                raise ParameterError("size", "subsets are counted in the file alone", "leave out size or of")
            if self.population is None:
                raise ParameterError("of", "no population counts are given", "give key_counts(…, population=…)")
            return np.asarray((self.population <= at_most)[self.held.of])
        if size is not None and size not in self.fewest:
            fix = f"give key_counts(…, subsets={size}) or more" if 0 < size <= len(self.keys) else "give 1 or more keys"
            raise ParameterError("size", f"subsets of {size} keys were not counted", fix)
        counts = self.held.counts if size is None else self.fewest[size]
        return np.asarray((counts <= at_most)[self.held.of])

    @property
    def smallest_unique(self) -> Integers:
        """For each record how many keys are enough to be alone, 0 where none that were looked at are; shape (records,)."""
        found = np.zeros(len(self.held.counts), np.int64)
        for size in sorted(self.fewest, reverse=True):
            found[self.fewest[size] == 1] = size
        return found[self.held.of]

    @property
    def risk(self) -> Floats | None:
        """For each record 1 / F, with F the population's count of its combination; shape (records,); None without counts."""
        return None if self.population is None else np.asarray(1 / self.population)[self.held.of]

    @property
    def population_risk(self) -> PopulationRisk | None:
        """What the population's counts say of the sample uniques; None where they are not given."""
        if self.population is None:
            return None
        alone = self.held.counts == 1
        return PopulationRisk(
            uniques=self.uniques,
            population_uniques=int(np.count_nonzero(self.population[alone] == 1)),
            matches=math.fsum(1 / self.population[alone]),
            matches_of_all=math.fsum(self.held.counts / self.population),
        )


def key_counts(
    file: SwapFile,
    keys: Sequence[str],
    *,
    subsets: int | None = None,
    population: Population | None = None,
    true: bool = False,
) -> KeyCounts:
    """How many records share their combination of the key variables, as the file stands or with ``true`` as it was at first.

    ``subsets``: also look at every subset of up to so many keys.  ``population`` gives the count of each combination in the
    population that the file is drawn from: a mapping of tuples of codes, in the order of ``keys``, to whole numbers (those of
    combinations that the file lacks are not needed); or the population as microdata, one row a unit, or with the role
    ``count`` one row for several.  They belong to true codes.  An empty code is a code like any other.

    What it does not do: guess at the population where it is not given, or take the sample's weights for its counts.

    Errors: InputError for keys that are not there or none at all; for population counts of keys that have moved; for counts
    that are not whole, miss a combination or are below the file's own.  ParameterError for sizes of subsets that there are
    not, or of more than 20,000 subsets.
    """
    keys = (keys,) if isinstance(keys, str) else tuple(keys)
    if not keys or len(set(keys)) < len(keys):
        raise InputError("keys", "are none, or name a column twice", "name each key variable once")
    _check_subsets(keys, subsets)
    moved = [key for key in keys if key in file.origin]
    if population is not None and moved and not true:
        problem = f"belong to true codes, and {moved[0]!r} has been swapped"
        raise InputError("population counts", problem, "count the file as it was at first: true=True")
    held = file.combinations(keys, true=true)
    counted = None
    if population is not None:
        categories = [[category[0] for category in column.categories] for column in file.coded(keys, true=true)]
        counted = population_counts(population, keys, categories, held)
    fewest, found = {}, []
    for size in range(1, (subsets or 0) + 1):
        fewest[size] = np.full(len(held.counts), len(held.of))
        for at in itertools.combinations(range(len(keys)), size):
            alike = _alike(held, at)
            np.minimum(fewest[size], alike, out=fewest[size])
            records = np.bincount(np.minimum(alike, SMALL + 1), held.counts, SMALL + 2)[1 : SMALL + 1]
            found.append(SubsetCounts(keys=tuple(keys[v] for v in at), small=tuple(map(int, records))))
    return KeyCounts(keys=keys, held=held, population=counted, fewest=fewest, subsets=tuple(found))


def _check_subsets(keys: Sequence[str], subsets: int | None) -> None:
    if subsets is None:
        return
    if not 1 <= subsets <= len(keys):
        raise ParameterError("subsets", f"must be from 1 to {len(keys)}, not {subsets}", "the keys are so many")
    if (many := sum(math.comb(len(keys), size) for size in range(1, subsets + 1))) > MOST:
        raise ParameterError(
            "subsets", f"there are {many:,} subsets of up to {subsets} keys", "take fewer keys or a smaller size"
        )


def _alike(held: Combinations, at: Sequence[int]) -> Integers:
    """For each combination how many records have its codes in these variables."""
    return counts_alike(held.codes[:, list(at)], [held.sizes[v] for v in at], held.counts)
