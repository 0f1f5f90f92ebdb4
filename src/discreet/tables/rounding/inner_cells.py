"""Rounding of small counts by inner cells, with all totals added up anew."""

from __future__ import annotations

import dataclasses
import time
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.errors import InputError
from discreet.method import check_params, param
from discreet.model.contributions import Floats
from discreet.model.showing import sensitive_cells, to_show
from discreet.model.table import Table
from discreet.tables.rounding.exchange import evenly
from discreet.tables.rounding.inner_search import InnerSearch
from discreet.tables.rounding.parts import Parts, in_reading_order, parts_of
from discreet.tables.rounding.rounded import need_counts

__all__ = ["InnerCellRounding"]

Bools = NDArray[np.bool_]


@dataclasses.dataclass(frozen=True, kw_only=True)
class InnerCellRounding:
    """Round small inner counts to 0 or a base, chosen so that all published totals stay close, and add the totals up anew.

    Inner cells are those that are the total of no others.  Each inner count y with 0 < y < b that belongs to a shown count
    below b (or, with ``cells`` = ``all``, each inner count 0 < y < b) becomes y' = 0 or y' = b; every other cell is the sum of
    its inner cells.  Counts 1 … b − 1 then occur nowhere among the shown cells.  With z before and z' after, the choice makes
    the largest ``\\|z' − z\\|`` of a shown cell as small as it can be, and then the Hellinger distance ``√(½ Σ (√z' − √z)²)``.
    It is found by integer programs, where they would be large by exchanges, ``moves`` of them at most for each inner count; the
    history tells whether the choice is proved to be the best, and it is the same on every machine.

    Readers can tell that an inner count shown as 0 is less than b, and one shown as b is 1 … b; of a total made of m
    inner cells that it is within (b − 1)·m.  Hidden inner counts below b are rounded too, as the sums give what they became.

    Guards against: counts 1 … b − 1, and differences of shown numbers that would give one away, as sums hold exactly.
    Does not guard against: counts of b and more, which are exact where nothing small belongs to them; small counts that are
    not published, belong to larger ones only, and follow from the difference of two of those, unless ``cells`` = ``all``.
    """

    NAME: ClassVar[str] = "inner-cell-rounding"
    SOURCE: ClassVar[str] = (
        "Langsrud and Heldal (2018), An algorithm for small count rounding of tabular data, "
        "Privacy in Statistical Databases 2018"
    )

    base: int = param(3, "b: smaller counts are rounded to 0 or to this", at_least=2)
    cells: str = param(
        "contributing",
        "which small inner counts are rounded: those that belong to small shown counts, or all",
        choices=("contributing", "all"),
    )
    moves: int = param(30, "exchanges tried for each inner count of a large table", at_least=1)
    sensitive: str = sensitive_cells()

    def __post_init__(self) -> None:
        check_params(self)

    def apply(self, table: Table, /) -> Table:
        """The table with small counts rounded and additive totals."""
        start = time.perf_counter()
        need_counts(table, self.NAME)
        order, equations = in_reading_order(table)
        parts, value, show = parts_of(equations), table.value[order], to_show(table, self.sensitive)[order]
        if parts.closing.shape[0]:
            raise InputError(
                self.NAME, "needs totals that are each one sum of inner cells", "link no tables with other inner cells"
            )
        hidden = table.suppressed[order] & ~show
        chosen, rounded, proved = self._rounded(parts, value, show, hidden)
        exact = hidden[parts.inner] & ~chosen & (value[parts.inner] > 0)
        if exact.any():
            problem = f"{int(exact.sum())} hidden inner cells are no small counts, and the new totals would give them away"
            raise InputError(
                self.NAME, problem, "show them (sensitive = 'show'), hide nothing before, or use controlled rounding"
            )
        after = parts.sums @ rounded
        touched = parts.sums @ chosen.astype(float) > 0
        low, high = self._told(parts, after)
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        shown = np.where(show & touched, after, np.nan)[place]
        kept_back = ~show & touched & np.isnan(table.lower[order]) & np.isnan(table.upper[order])
        table = table.replace(
            lower=np.where(kept_back, low, table.lower[order])[place],
            upper=np.where(kept_back, high, table.upper[order])[place],
        )
        seconds, counts = time.perf_counter() - start, {"inner cells rounded": int(chosen.sum()), "proved best": int(proved)}
        return table.with_shown(self.NAME, shown, low=low[place], high=high[place], seconds=seconds, **counts)

    def _told(self, parts: Parts, after: Floats) -> tuple[Floats, Floats]:
        """What readers know of each cell that holds rounded counts."""
        inner = np.asarray(parts.sums.sum(axis=1)).ravel()
        ups = np.minimum(np.floor(after / self.base), inner)
        low = np.maximum(after - (self.base - 1) * ups, 0.0)
        high = after + (self.base - 1) * (inner - np.minimum(ups, np.where(inner == 1, inner, 0)))
        return low, high

    def _rounded(self, parts: Parts, value: Floats, show: Bools, hidden: Bools) -> tuple[Bools, Floats, bool]:
        """Which inner counts are rounded, all inner counts afterwards, and whether no choice is better.

        They are rounded again until no shown count is small.
        """
        inner = value[parts.inner]
        small = (inner > 0) & (inner < self.base)
        chosen, after = small & (hidden[parts.inner] | (self.cells == "all")), inner
        proved = True
        while True:
            sums = parts.sums @ after
            told = show & (sums > 0) & (sums < self.base)
            more = small & (parts.sums.T @ told.astype(float) > 0) & ~chosen
            chosen, done = chosen | more, not more.any() and (after is not inner or not chosen.any())
            if done:
                return chosen, after, proved
            after, proved = self._settled(parts, value, show, chosen)

    def _settled(self, parts: Parts, value: Floats, show: Bools, chosen: Bools) -> tuple[Floats, bool]:
        """The inner counts, the chosen ones as 0 or the base, such that shown sums stay close; whether none are closer."""
        inner, base = value[parts.inner], float(self.base)
        which = np.flatnonzero(chosen)
        held = sparse.csr_array(parts.sums[:, which])
        seen = np.flatnonzero(show & (np.diff(held.indptr) > 0))
        fixed = value[seen] - held[seen] @ inner[which]
        search = InnerSearch(held=sparse.csr_array(held[seen]), fixed=fixed, target=value[seen], base=base)
        up, proved = search.best(evenly(inner[which] / base), self.moves)
        after = inner.copy()
        after[which] = base * up
        return after, proved
