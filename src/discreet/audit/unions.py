"""Sums of hidden cells that a release gives away: each must pass the sensitivity rules like a cell of its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.model.contributions import Floats, Integers
from discreet.model.finding import Finding
from discreet.model.table import Table

__all__ = ["union_findings"]


def union_findings(
    table: Table, known: NDArray[np.bool_], equalities: sparse.csr_array, low: Floats, high: Floats
) -> tuple[int, list[Finding]]:
    """How many published sums of hidden cells were judged, and those that fail a rule.

    An equality whose hidden cells all stand on one side publishes their sum, or about their sum where other cells are
    perturbed: these are within ``low`` and ``high`` of their values at most.  It does not count as published if it can be
    further off, both ways, than each sensitive cell of the sum must be: by its protection levels, and its exactness.  Only
    sums of at least two cells, one of them sensitive, matter.  A sum that is itself a cell declared safe is passed over, as the
    rules pass that cell over.  A rule opts out by the class attribute ``unions = False``.
    """
    rules = [rule for rule in table.rules if getattr(rule, "unions", True)]
    equations, groups = _published_sums(table, known, equalities, low, high)
    if not groups or not rules:
        return 0, []
    together = table.contributions.union(groups)
    found = []
    for rule in rules:
        fails = np.asarray(rule.sensitive(together), bool)
        found += [
            Finding(
                kind="union",
                together=tuple(groups[i].tolist()),
                equation=equations[i] if equations[i] < table.equations.shape[0] else -1,
                rule=str(rule.NAME),
            )
            for i in np.flatnonzero(fails)
        ]
    return len(groups), found


def _published_sums(
    table: Table, known: NDArray[np.bool_], equalities: sparse.csr_array, low: Floats, high: Floats
) -> tuple[list[int], list[Integers]]:
    rows = np.repeat(np.arange(equalities.shape[0]), np.diff(equalities.indptr))
    columns, factors = equalities.indices, equalities.data
    size = equalities.shape[0]
    about = table.perturbed & ~known
    hidden = ~(known | about)[columns]
    count = np.bincount(rows[hidden], minlength=size)
    net = np.bincount(rows[hidden], factors[hidden], minlength=size)
    gross = np.bincount(rows[hidden], np.abs(factors[hidden]), minlength=size)
    one_by_one = np.bincount(rows[hidden], factors[hidden] ** 2, minlength=size) == gross
    sensitive = np.bincount(rows[hidden], table.primary[columns[hidden]], minlength=size) > 0
    is_cell = np.bincount(rows[~hidden], minlength=size) == 1
    waved = is_cell & (np.bincount(rows[~hidden], table.exempt[columns[~hidden]], minlength=size) > 0)
    uncertain = _uncertain(table, equalities, about, hidden, np.where(net > 0, -1.0, 1.0), low, high)
    candidates = np.flatnonzero((count >= 2) & (np.abs(net) == gross) & one_by_one & sensitive & ~waved & ~uncertain)
    unseen = ~(known | about)
    sums: dict[tuple[int, ...], int] = {}
    for row in candidates.tolist():
        entries = columns[equalities.indptr[row] : equalities.indptr[row + 1]]
        sums.setdefault(tuple(sorted(entries[unseen[entries]].tolist())), row)
    return list(sums.values()), [np.array(cells, np.int64) for cells in sums]


def _uncertain(
    table: Table,
    equalities: sparse.csr_array,
    about: NDArray[np.bool_],
    hidden: NDArray[np.bool_],
    side: Floats,
    low: Floats,
    high: Floats,
) -> NDArray[np.bool_]:
    """Rows in which perturbed cells leave the sum of the hidden ones as open as its most demanding sensitive cell must be."""
    size = equalities.shape[0]
    rows = np.repeat(np.arange(size), np.diff(equalities.indptr))
    columns, factors = equalities.indices, equalities.data * side[rows]
    noisy = about[columns]
    ends = [factors[noisy] * end[columns[noisy]] for end in (low, high)]
    down, up = (np.bincount(rows[noisy], pick(*ends), minlength=size) for pick in (np.minimum, np.maximum))
    need = [np.zeros(size) for _ in range(3)]
    asking = hidden & table.primary[columns]
    for most, demand in zip(need, table.needs(), strict=True):
        np.maximum.at(most, rows[asking], demand[columns[asking]])
    enough = (up >= need[0]) & (-down >= need[1]) & (up - down >= need[2])
    return np.asarray(enough & (np.bincount(rows[noisy], minlength=size) > 0), bool)
