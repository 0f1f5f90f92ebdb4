"""A table of true counts estimated from a released file, with the covariance of all its cells: for models of tables."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from discreet.errors import InputError
from discreet.inference.design import Column
from discreet.inference.pseudo import Factor, Observed, Weighed, grouped
from discreet.model.contributions import Floats, Integers
from discreet.model.transition import Category

__all__ = ["Cells", "cells_of"]

MOST = 3000
"""So many cells a table with all covariances may have."""

LARGEST = 3 * 10**7
"""So many pairs of a released combination and a cell."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Cells:
    """The true cells of columns ``by``, and what each released combination (group of records) tells of them.

    ``codes`` one category a cell; ``places`` (factors, cells) a category of each factor that the cell stands for, by the
    ``factors``' places; ``pseudo``, ``chance`` and ``plain`` (groups, cells) as in
    :class:`~discreet.inference.pseudo.Factor`; ``group`` (records,) says which group each record is in.
    """

    by: tuple[str, ...]
    codes: tuple[Category, ...]
    factors: tuple[int, ...]
    places: Integers
    pseudo: Floats
    chance: Floats
    plain: Floats
    weighed: Weighed
    whole: bool

    def __repr__(self) -> str:
        return f"Cells({' × '.join(self.by)}: {len(self.codes)} cells)"

    @property
    def estimated(self) -> Floats:
        """The estimated true counts, of shape (cells,); some may be negative."""
        return np.asarray(self.weighed.count @ self.pseudo)

    @property
    def covariance(self) -> Floats:
        """Of the estimates, of shape (cells, cells), by the noise of PRAM and of drawing the records (with random number)."""
        return self.weighed.meat(self.pseudo)

    def design(self, columns: Sequence[Column], observed: Observed) -> Floats:
        """The columns on the cells, of shape (cells, columns)."""
        found = np.ones((len(self.codes), len(columns)))
        for place, categories in zip(self.factors, self.places, strict=True):
            size = len(observed.factors[place].categories)
            found *= np.stack([column.on(place, size)[categories] for column in columns], axis=1)
        return found


def cells_of(observed: Observed, by: Sequence[str]) -> Cells:
    """The cells of these columns; what a compound variable or a stratum does not allow is no cell.

    Errors: InputError where the table is too large.
    """
    used = sorted({observed.factor(column) for column in by})
    factors = [observed.factors[place] for place in used]
    asked = [_asked(factor, by) for factor in factors]
    size = math.prod(len(codes) for codes, _, _ in asked)
    rows, group = grouped([factor.codes for factor in factors], observed.records)
    if size > MOST or size * len(rows) > LARGEST:
        problem = f"the table has {size:,} cells, and all their covariances are needed"
        raise InputError(" × ".join(by), problem, "cross fewer columns, or columns of fewer codes")
    of = np.indices(tuple(len(codes) for codes, _, _ in asked)).reshape(len(factors), size)
    pseudo, chance, plain = (np.ones((len(rows), size)) for _ in range(3))
    for f, (factor, (_, _, members)) in enumerate(zip(factors, asked, strict=True)):
        for found, table in ((pseudo, factor.pseudo), (chance, factor.chance), (plain, factor.plain)):
            found *= (table @ members)[rows[:, f]][:, of[f]]
    named = [tuple(asked[f][0][k] for f, k in enumerate(cell)) for cell in of.T.tolist()]
    order = [(used.index(observed.factor(column)), _part(factors, used, observed, by, column)) for column in by]
    codes = [tuple(cell[f][part] for f, part in order) for cell in named]
    keep = np.flatnonzero([_possible(factors, by, cell) for cell in codes])
    return Cells(
        by=tuple(by),
        codes=tuple(codes[int(cell)] for cell in keep),
        factors=tuple(used),
        places=np.stack([asked[f][1][of[f]] for f in range(len(factors))])[:, keep],
        pseudo=pseudo[:, keep],
        chance=chance[:, keep],
        plain=plain[:, keep],
        weighed=Weighed.of(observed, group),
        whole=all(_whole(factor, by) for factor in factors),
    )


def _asked(factor: Factor, by: Sequence[str]) -> tuple[list[Category], Integers, Floats]:
    """The categories of a factor as far as they are asked for, one of each by its place, and which belong to it (K, asked)."""
    parts = [part for part, column in enumerate(factor.columns) if column in by]
    short = [tuple(category[part] for part in parts) for category in factor.categories]
    codes = list(dict.fromkeys(short))
    members = np.array([[float(one == code) for code in codes] for one in short])
    return codes, members.argmax(axis=0), members


def _part(factors: Sequence[Factor], used: Sequence[int], observed: Observed, by: Sequence[str], column: str) -> int:
    own = factors[used.index(observed.factor(column))]
    return [name for name in own.columns if name in by].index(column)


def _whole(factor: Factor, by: Sequence[str]) -> bool:
    """Whether the table tells all that the released code depends on: the whole variable and its strata."""
    if factor.variable is None:
        return True
    strata = factor.variable.strata if len(np.unique(factor.stratum)) > 1 else ()
    return all(column in by for column in (*factor.columns, *strata))


def _possible(factors: Sequence[Factor], by: Sequence[str], cell: Category) -> bool:
    """Whether the matrices of the cell's stratum know its categories."""
    code = dict(zip(by, cell, strict=True))
    for factor in factors:
        variable = factor.variable
        if variable is not None and all(column in by for column in (*variable.columns, *variable.strata)):
            matrix = variable.matrices.get(tuple(code[column] for column in variable.strata))
            if matrix is None or tuple(code[column] for column in variable.columns) not in matrix.categories:
                return False
    return True
