"""The cell key method for counts."""

from __future__ import annotations

import dataclasses
import time
from functools import cached_property
from typing import ClassVar

import numpy as np

from discreet.errors import InputError, ParameterError
from discreet.method import check_params, param
from discreet.model.contributions import Floats, Integers
from discreet.model.equations import locate
from discreet.model.ptable import KEYS, PTable
from discreet.model.showing import need_keys, sensitive_cells, to_show
from discreet.model.table import Bools, Table
from discreet.tables.perturb.ptable_design import design_counts

__all__ = ["CellKey"]

SMALL = 2**16
"""Record keys below this are no 32-bit keys but whole numbers of another convention."""

BY_CHANCE = 40.0
"""Bits of surprise: what happens by chance once in 2^40 times has another reason."""

MEAN_0 = 1e-6
"""What the mean of a row may be by rounding of its digits."""

DESIGN = ("blocked", "stay", "monotone", "exact")


@dataclasses.dataclass(frozen=True, kw_only=True)
class CellKey:
    """Each count changes by what a p-table has for its cell key, so that the same people change it in the same way anywhere.

    Each record has a random key; the cell key is the sum of the keys of the records in a cell, as a fraction modulo 1, or
    modulo M where the p-table has M whole keys.  A count n is shown as ``n + v``, with the change v that row n of the p-table
    has for the cell key; larger counts look at its last row, or at its last rows in turn.  The p-table is given (``ptable``),
    or made from the ``largest`` change D and the ``variance`` V: each row is then the distribution of most entropy with mean 0
    and a variance of at most V over the changes −D … D that do not lead below 0 nor to the counts 1 … ``blocked``.

    A weighted count w of n records is shown as ``(n + v) · w/n``.  Empty cells stay 0.  With ``zeros = "perturb"`` they look at
    row 0 instead, with the sum of the cell keys of their codes' margins as key, unless nobody at all has one of the codes.

    Readers who have the p-table can tell the true counts that a number may stand for; of weighted counts nothing, as weights
    are confidential.  Errors are the largest standard deviation among the rows that may have led to the number.

    Guards against: differences between tables and small counts, as no number is certain, and averages over repeated tables, as
    the same records give the same number.
    Does not guard against: the sums of many cells, whose noise cancels out, and whoever has the record keys.
    """

    NAME: ClassVar[str] = "cell-key"
    SOURCE: ClassVar[str] = (
        "Fraser and Wooton (2005), A proposed method for confidentialising tabular output to protect against differencing; "
        "Giessing (2016), Computational issues in the design of transition probabilities and disclosure risk estimation for "
        "additive noise, Privacy in Statistical Databases 2016"
    )

    ptable: PTable | str | None = param(  # noqa: RUF009 - a field, as all others
        None, "the p-table, or in a plan the path of its file; not with the design parameters"
    )
    largest: int | None = param(None, "D: the largest change of a count, up or down", at_least=1, at_most=1000)
    variance: float | None = param(None, "V: the largest variance of the change", above=0)
    blocked: int = param(0, "js: the counts 1, 2 … to this one never occur in the result", at_least=0, at_most=1000)
    stay: float = param(0.0, "the least probability that a count does not change", at_least=0, below=1)
    monotone: bool | tuple[bool, ...] = param(
        True, "no larger decrease is more likely than a smaller one; one answer, or one for each row from 1 on"
    )
    exact: bool = param(False, "the variance of each row is V, not at most V")
    zeros: str = param(
        "keep", "whether empty cells stay 0 or change as row 0 of the given p-table says", choices=("keep", "perturb")
    )
    sensitive: str = sensitive_cells()

    def __post_init__(self) -> None:
        check_params(self)
        design = {name: getattr(self, name) for name in DESIGN}
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        if self.ptable is None:
            self._check_design()
        elif self.largest is not None or self.variance is not None or design != {name: defaults[name] for name in DESIGN}:
            fix = "give a p-table, or what it shall be made from"
            raise ParameterError(f"{self.NAME}.ptable", "is given together with parameters of its design", fix)
        if isinstance(self.ptable, PTable) and not self.ptable.for_counts:
            problem = "is not made for counts: it needs the rows 0 (or 1), 1, 2 … and whole changes in one block"
            raise ParameterError(f"{self.NAME}.ptable", problem, "give a p-table for counts")
        if self.zeros == "perturb" and not isinstance(self.ptable, str) and not self._moves_zeros:
            raise ParameterError(f"{self.NAME}.zeros", "is 'perturb', and the p-table has no row 0 that changes anything")

    def _check_design(self) -> None:
        if self.largest is None or self.variance is None:
            fix = "give a p-table, or largest and variance to make one"
            raise ParameterError(f"{self.NAME}.ptable", "is missing, and so is what it could be made from", fix)
        _ = self._table

    @cached_property
    def _table(self) -> PTable:
        if isinstance(self.ptable, str):
            raise ParameterError(f"{self.NAME}.ptable", "is the name of a file that was not read", "give the p-table itself")
        if isinstance(self.ptable, PTable):
            return self.ptable
        design = {"monotone": self.monotone, "blocked": self.blocked, "stay": self.stay, "exact": self.exact}
        return design_counts(self.largest or 0, self.variance or 0.0, **design)

    @property
    def _moves_zeros(self) -> bool:
        return bool(self._table.rows[0] == 0 and self._table.change[self._table.row == 0].any())

    def apply(self, table: Table, /) -> Table:
        """The table with all cells that are shown perturbed."""
        began = time.perf_counter()
        ptable = self._table
        if table.kind != "frequency":
            raise InputError(
                self.NAME, "is for counts, and the table sums a response", "use the cell key method for magnitudes"
            )
        need_keys(table, self.NAME)
        count, key = _counts(table), table.contributions.key
        self._check_keys(count, key)
        filled = count > 0
        change = np.where(filled, ptable.change_of(count, key), 0.0)
        if self.zeros == "perturb":
            change += _changes_of_zeros(table, ptable, filled)
        perturbed = count + change
        weight = np.divide(table.value, count, out=np.ones(table.cells), where=filled)
        low, high, error = ptable.reading(perturbed, zeros=self.zeros == "perturb")
        if (weight != 1).any():
            low, high, error = np.full(table.cells, -np.inf), np.full(table.cells, np.inf), error * weight
        shown = np.where(to_show(table, self.sensitive), perturbed * weight, np.nan)
        biased = int((np.abs(ptable.mean) > MEAN_0).sum())
        told = {"rows of the p-table whose mean is not 0": biased} if biased else {}
        seconds = time.perf_counter() - began
        return table.with_shown(self.NAME, shown, low=low, high=high, error=error, seconds=seconds, **told)

    def _check_keys(self, count: Floats, key: Integers) -> None:
        """Refuses record keys of another convention than that of the p-table."""
        keys = self._table.keys
        filled = count > 0
        n, held = count[filled], key[filled]
        if keys is None:
            if (held < n * SMALL).all() and _surprise(n, held) > BY_CHANCE:
                raise InputError(
                    self.NAME,
                    "the record keys are small whole numbers, and the p-table is for keys that are fractions in [0, 1)",
                    "give a p-table of whole keys, or divide the record keys by their number of values",
                )
        elif keys & (keys - 1) and ((held > n * (keys - 1)).any() or (n * (keys - 1.0) >= KEYS).any()):
            raise InputError(
                self.NAME,
                f"the p-table has {keys} keys, and sums of record keys are held modulo 2^32 and not known modulo {keys}",
                "use a p-table whose number of keys is a power of 2, or record keys and counts that are small enough",
            )


def _surprise(n: Floats, key: Integers) -> float:
    """How unlikely it is, in bits, that all these sums of n random 32-bit keys are so small; equal sums are one."""
    different = np.unique(key, return_index=True)[1]
    return float(-np.log2(np.minimum(n[different] * (SMALL / KEYS), 1.0)).sum())


def _counts(table: Table) -> Floats:
    """The unweighted counts: records, or units where the contributions are those to a shadow variable."""
    held = table.contributions
    count = held.unweighted if np.array_equal(held.total, table.value) else held.n
    if (count != np.rint(count)).any():
        count = held.n
    if (count < 0).any() or ((count == 0) & (table.value != 0)).any():
        raise InputError("cell-key", "some counts are negative, or have no contributors", "check the table that was given")
    return count


def _changes_of_zeros(table: Table, ptable: PTable, filled: Bools) -> Floats:
    """How empty cells change: 0 where one of their codes has no record, as for every cell that is not empty."""
    change, done = np.zeros(table.cells), filled.copy()
    for layout in table.layouts:
        cells, first = np.unique(layout.cell, return_index=True)
        new = ~done[cells]
        cells, codes = cells[new], layout.codes[first[new]]
        done[cells] = True
        key, possible = np.zeros(len(cells), np.int64), np.ones(len(cells), bool)
        for v in range(codes.shape[1]):
            margin = np.zeros_like(codes)
            margin[:, v] = codes[:, v]
            line = locate(layout.codes, margin)
            at = layout.cell[line]
            possible &= (line >= 0) & filled[at]
            key += np.where(codes[:, v] > 0, table.contributions.key[at], 0)
        change[cells] = np.where(possible, ptable.change_of(np.zeros(len(cells)), key % KEYS), 0.0)
    return change
