"""Records of a model with a response of yes or no, gathered by what was released of them, beside all they may truly be."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from discreet.errors import ParameterError
from discreet.inference.design import Column
from discreet.inference.pseudo import Observed, Weighed, grouped
from discreet.model.contributions import Floats, Integers

__all__ = ["Patterns", "gathered", "latent_factors"]

MOST = 10_000
"""So many combinations of true categories a model may have."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Patterns:
    """O different records, in C cells of what is certain of them, and the A combinations of true categories they may have.

    The design row of a record of combination a is the product of ``certain[cell]`` (C, p) and ``latent[a]`` (A, p).
    ``rows`` (O, factors) with ``chances`` and ``pseudo``, both (rows, A) for each latent factor, tell of the combination;
    ``yes`` and ``no`` (O,) are the chances of the released response where the true one is 1, and 0; ``answer`` of shape
    (O, 1), or (1, A) where the latent factors hold it, is its unbiased estimate.  ``cell`` (O,) numbers the cells, ``start``
    (C + 1,) says where each begins.
    """

    certain: Floats
    latent: Floats
    rows: Integers
    chances: tuple[Floats, ...]
    pseudo: tuple[Floats, ...]
    yes: Floats
    no: Floats
    answer: Floats
    start: Integers
    cell: Integers
    weighed: Weighed

    def own(self, tables: Sequence[Floats], first: int, last: int) -> Floats:
        """The product of the tables' rows for patterns from one to before another, of shape (patterns, A)."""
        found = np.ones((last - first, len(self.latent)))
        for table, rows in zip(tables, self.rows[first:last].T, strict=True):
            found *= table[rows]
        return found


def latent_factors(observed: Observed, columns: Sequence[Column]) -> list[int]:
    """The factors of the design that were randomised."""
    used = sorted({place for column in columns for place in column.parts})
    return [place for place in used if observed.factors[place].variable is not None]


def gathered(observed: Observed, columns: Sequence[Column], response: Column, latent: Sequence[int]) -> Patterns:
    """The patterns of a file; factors that are not ``latent`` are taken at their word, and so is a response among them.

    Errors: ParameterError where there are too many combinations of true categories.
    """
    factors = observed.factors
    ((asked, one),) = response.parts.items()
    known = sorted({place for column in columns for place in column.parts} - set(latent))
    of = _combinations([len(factors[place].categories) for place in latent])
    pairs = list(zip(latent, of, strict=True))
    codes = [factors[place].codes for place in known]
    codes += [factors[place].stratum[factors[place].codes] for place in ((*latent, asked) if latent else ())]
    cells = len(codes)
    codes += [factors[place].codes for place in (*latent, asked)]
    numbers = sorted({number for column in columns for number in column.numbers})
    if numbers:
        order = np.lexsort([*(observed.numbers[number] for number in numbers), *codes[::-1]])
        rows, pattern = np.stack(codes, axis=1)[order], np.argsort(order)
        cell = np.arange(observed.records)
    else:
        rows, pattern = grouped(codes, observed.records)
        order = np.unique(pattern, return_index=True)[1]
        cell = grouped(list(rows[:, :cells].T), len(rows))[1]
    start = np.flatnonzero(np.diff(cell, prepend=-1))
    shape = np.ones((of.shape[1], len(columns)))
    for place, categories in pairs:
        shape *= np.stack([column.on(place, len(factors[place].categories))[categories] for column in columns], axis=1)
    own, last = factors[asked], rows[:, -1]
    inside = dict(pairs).get(asked)
    return Patterns(
        certain=np.stack([column.released(observed, known)[order[start]] for column in columns], axis=1),
        latent=shape,
        rows=rows[:, cells:-1],
        chances=tuple(factors[place].chance[:, categories] for place, categories in pairs),
        pseudo=tuple(factors[place].pseudo[:, categories] for place, categories in pairs),
        yes=(own.chance @ one)[last],
        no=(own.chance @ (1 - one))[last],
        answer=(own.pseudo @ one)[last][:, None] if inside is None else one[inside][None, :],
        start=np.append(start, len(rows)),
        cell=cell,
        weighed=Weighed.of(observed, pattern),
    )


def _combinations(sizes: Sequence[int]) -> Integers:
    """The category of each factor in all combinations, of shape (factors, A)."""
    combinations = math.prod(sizes)
    if combinations > MOST:
        problem = f"the randomised covariates have {combinations:,} combinations of categories, and {MOST:,} are the most"
        raise ParameterError("covariates", problem, "name fewer of them")
    return np.indices(tuple(sizes)).reshape(len(sizes), combinations)
