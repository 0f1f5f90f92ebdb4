"""Chooses the method of secondary suppression that suits a table, and says why."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np
from scipy import sparse

from discreet.method import check_params, param
from discreet.model.table import Table
from discreet.tables.suppress.anytime import SearchSuppression
from discreet.tables.suppress.exact import ExactSuppression
from discreet.tables.suppress.gauss import GaussSuppression
from discreet.tables.suppress.moves.attackers import Space, hideable

__all__ = ["Size", "Suppression"]

_EXACT, _EXACT_BEYOND = {1: 2000, 2: 400, 3: 120}, 80
"""Up to so many cells that could be hidden, by dimensions and beyond, the optimum is mostly proved within seconds."""
_A_SECOND, _A_SECOND_BEYOND = {1: 400, 2: 100, 3: 20}, 3
"""So many cells that could be hidden, by dimensions and beyond, are searched with profit in a second."""
_WORK = 0.5
"""Units of work for a second of the time limit: so few that the work ends the search, and not the clock of the machine."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Size:
    """What decides how much work a table is.

    ``cells`` and ``sensitive`` are counts; ``free`` the open cells that could be hidden to protect others: those which
    equations tie, over any number of steps, to a suppressed cell; ``dimensions`` the spanning variables of the widest
    table, or, where bare equations are given, the number of sums that a finest cell is a part of, in the median.
    """

    cells: int
    sensitive: int
    free: int
    dimensions: int

    @classmethod
    def of(cls, table: Table) -> Size:
        """The size of a table, whatever the order of its cells."""
        choice = hideable(table)
        parts = Space.of(table).parts(choice | table.unknown)
        touched = np.isin(parts, np.unique(parts[table.suppressed]))
        return cls(
            cells=table.cells,
            sensitive=int(table.primary.sum()),
            free=int((choice & touched).sum()),
            dimensions=_variables(table) or _sums(table),
        )

    def __str__(self) -> str:
        dimensions = "1 dimension" if self.dimensions == 1 else f"{self.dimensions} dimensions"
        return f"{self.free:,} of {self.cells:,} cells could be hidden, {dimensions}"


def _variables(table: Table) -> int:
    """Spanning variables of the widest layout that tell more than one cell apart; 0 where a single one lists all cells."""
    widest = max((int((np.ptp(layout.codes, axis=0) > 0).sum()) for layout in table.layouts), default=0)
    return widest if widest > 1 or _sums(table) == 1 else 0


def _sums(table: Table) -> int:
    """The number of sums that a finest cell is a part of, in the median."""
    columns = sparse.csc_array(table.equations)
    parts, totals = (np.diff(sparse.csc_array(side).indptr) for side in (columns > 0, columns < 0))
    finest = parts[(totals == 0) & (parts > 0)]
    return int(np.median(finest)) if finest.size else 1


@dataclasses.dataclass(frozen=True, kw_only=True)
class Suppression:
    """Choose the method that hides least in the time given, by the size and dimensions of the table, and apply it.

    With ``free`` the number of open cells that equations tie to a suppressed one and ``dimensions`` the number of spanning
    variables: exact-suppression where ``free`` is so small that the optimum is found soon; gauss-suppression where
    ``free`` is more than can be searched in ``time_limit``; search-suppression for all tables in between.  The table's
    history and the report say what was chosen and why.

    Guards against: what the chosen method guards against; the audits and repairs that follow see to the rest.
    Does not guard against: what the chosen method does not, until these are done.  The choice counts cells, not seconds,
    so that it is the same on every machine.
    """

    NAME: ClassVar[str] = "suppression"
    SOURCE: ClassVar[str] = (
        "Our own; the thresholds follow docs/suppression_comparison.md.  That size decides between exact, modular and simpler "
        "methods: Hundepool et al. (2012), Statistical Disclosure Control, chapter 4."
    )

    time_limit: float = param(120.0, "the chosen method ends after this long with the best pattern so far", unit="s", above=0)

    def __post_init__(self) -> None:
        check_params(self)

    def apply(self, table: Table, /) -> Table:
        """The table with secondary suppressions; NotProtectedError where no pattern would do."""
        if not table.suppressed.any():
            return table.with_secondary(self.NAME, np.zeros(table.cells, bool))
        size = Size.of(table)
        method, why = self.chosen(size)
        return method.apply(table.with_step(self.NAME, f"{method.NAME} chosen: {why} ({size})"))

    def limits(self, dimensions: int) -> tuple[int, int]:
        """Up to how many free cells the optimum is looked for, and up to how many a search is, with so many dimensions."""
        exact = _EXACT.get(dimensions, _EXACT_BEYOND)
        return exact, max(exact, int(_A_SECOND.get(dimensions, _A_SECOND_BEYOND) * self.time_limit))

    def chosen(self, size: Size) -> tuple[ExactSuppression | GaussSuppression | SearchSuppression, str]:
        """The method for a table of this size, and the reason in words."""
        limit, (exact, search) = self.time_limit, self.limits(size.dimensions)
        if size.free <= exact:
            return ExactSuppression(time_limit=limit), "small enough for the optimum"
        if size.free <= search:
            return SearchSuppression(work=limit * _WORK, time_limit=limit), f"a search finds cheap patterns in {limit:g} s"
        return GaussSuppression(), f"too large to search in {limit:g} s"
