"""Sums of hidden cells that a release gives away: each must pass the sensitivity rules like a cell of its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.model.contributions import Integers
from discreet.model.finding import Finding
from discreet.model.table import Table

__all__ = ["union_findings"]


def union_findings(table: Table, known: NDArray[np.bool_], equalities: sparse.csr_array) -> tuple[int, list[Finding]]:
    """How many published sums of hidden cells were judged, and those that fail a rule.

    An equality whose unknown cells all stand on one side publishes their sum; one with a perturbed cell does not.  Only sums of
    at least two cells, one of them sensitive, matter.  A sum that is itself a cell declared safe is passed over, as the rules
    pass that cell over.  A rule opts out by the class attribute ``unions = False``.
    """
    rules = [rule for rule in table.rules if getattr(rule, "unions", True)]
    equations, groups = _published_sums(table, known, equalities)
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


def _published_sums(table: Table, known: NDArray[np.bool_], equalities: sparse.csr_array) -> tuple[list[int], list[Integers]]:
    rows = np.repeat(np.arange(equalities.shape[0]), np.diff(equalities.indptr))
    columns, factors = equalities.indices, equalities.data
    size = equalities.shape[0]
    hidden = ~known[columns]
    count = np.bincount(rows[hidden], minlength=size)
    net = np.bincount(rows[hidden], factors[hidden], minlength=size)
    gross = np.bincount(rows[hidden], np.abs(factors[hidden]), minlength=size)
    one_by_one = np.bincount(rows[hidden], factors[hidden] ** 2, minlength=size) == gross
    sensitive = np.bincount(rows[hidden], table.primary[columns[hidden]], minlength=size) > 0
    is_cell = np.bincount(rows[~hidden], minlength=size) == 1
    waved = is_cell & (np.bincount(rows[~hidden], table.exempt[columns[~hidden]], minlength=size) > 0)
    approximate = np.bincount(rows[hidden], table.perturbed[columns[hidden]], minlength=size) > 0
    candidates = np.flatnonzero((count >= 2) & (np.abs(net) == gross) & one_by_one & sensitive & ~waved & ~approximate)
    sums: dict[tuple[int, ...], int] = {}
    for row in candidates.tolist():
        entries = columns[equalities.indptr[row] : equalities.indptr[row + 1]]
        sums.setdefault(tuple(sorted(entries[~known[entries]].tolist())), row)
    return list(sums.values()), [np.array(cells, np.int64) for cells in sums]
