"""The pattern of an earlier release is kept where that protects."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from discreet.errors import InputError, ParameterError, some
from discreet.method import check_params, param
from discreet.model.pattern import Pattern
from discreet.model.table import Bools, Status, Table
from discreet.tables.preferences.matching import pattern_cells
from discreet.tables.suppress.moves.attackers import Space, hideable
from discreet.tables.suppress.moves.probing import Prober

__all__ = ["KeepPattern", "PatternChanges"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class PatternChanges:
    """How a table's pattern differs from an earlier one, by the labels of cells.

    ``kept`` counts the cells that were hidden and are; ``hidden`` were published and are hidden now; ``published`` were hidden
    and are published now; ``unmatched`` counts hidden lines of the earlier release without a cell in the table.
    """

    kept: int
    hidden: tuple[str, ...]
    published: tuple[str, ...]
    unmatched: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class KeepPattern:
    """Keep the pattern of an earlier release, last year's or one that is revised, as far as it protects this table.

    ``keep`` "prefer": ``cost[i] *= factor`` for every open cell ``i`` that was hidden then, so that these are hidden first, but
    only where needed.  "fix": they are hidden in any case, other than those that must be published or that would be known
    exactly whatever is hidden.  In both, further cells are hidden where the old pattern does not protect, and the
    table's history tells what had to change: which cells are hidden that were published, and the other way round.

    Guards against: with "fix", readers of a revision who would find in the earlier release what the new one hides less.
    Does not guard against: a cell that was published then and is hidden now; its old value is out.
    """

    NAME: ClassVar[str] = "keep-pattern"
    SOURCE: ClassVar[str] = (
        "Our own; that last year's suppressions get a low cost: τ-ARGUS user's manual 4.1, a priori information"
    )

    patterns: tuple[Any, ...] = param(
        doc="the earlier release: in a plan csv files relative to it, in Python what read_pattern or Pattern.of give"
    )
    keep: str = param(
        "prefer", "the old pattern is a preference, or its cells are hidden in any case", choices=("prefer", "fix")
    )
    factor: float = param(
        0.001, "with prefer, a cell hidden then costs this part of what it costs otherwise", at_least=0, at_most=1
    )

    def __post_init__(self) -> None:
        check_params(self)
        if not self.patterns or not all(isinstance(one, Pattern | str) for one in self.patterns):
            raise ParameterError(f"{self.NAME}.patterns", "takes patterns or, in a plan, files", "see: discreet.read_pattern")
        if self.keep == "fix" and self.factor != type(self).factor:
            raise ParameterError(f"{self.NAME}.factor", "changes nothing with keep = 'fix'", "leave it out")

    def apply(self, table: Table, /) -> Table:
        """The table with the old pattern preferred, or hidden again."""
        hidden, _, unmatched = self._then(table)
        again = hidden & (table.status == Status.OPEN) & table.listed
        found = {"hidden then": int(hidden.sum()), "lines without a cell": unmatched}
        if self.keep == "prefer":
            changed = table.replace(cost=np.where(again, self.factor * table.cost, table.cost))
            return changed.with_step(self.NAME, "old pattern preferred", **found)
        again &= hideable(table)
        loose = (table.unknown | hideable(table)).astype(float)
        again[Prober(Space.of(table)).immovable(np.flatnonzero(again), table.exactness(), loose)] = False
        return table.with_secondary(self.NAME, again, **found)

    def changes(self, table: Table) -> PatternChanges:
        """What is otherwise in this table than in the earlier release."""
        hidden, shown, unmatched = self._then(table)
        return PatternChanges(
            kept=int((hidden & table.suppressed).sum()),
            hidden=tuple(table.label(int(cell)) for cell in np.flatnonzero(shown & table.suppressed)),
            published=tuple(table.label(int(cell)) for cell in np.flatnonzero(hidden & ~table.unknown)),
            unmatched=unmatched,
        )

    def compared(self, table: Table) -> Table:
        """The table with a line of history that tells what had to change; the same table where it tells that already."""
        found = self.changes(table)
        what = "compared with the old pattern"
        what += f"; hidden now: {some(found.hidden, 20)}" if found.hidden else ""
        what += f"; published now: {some(found.published, 20)}" if found.published else ""
        counts = {"kept": found.kept, "hidden now": len(found.hidden), "published now": len(found.published)}
        known = table.history and table.history[-1]
        return table if known and known.what == what else table.with_step(self.NAME, what, **counts)

    def _then(self, table: Table) -> tuple[Bools, Bools, int]:
        """Cells that were hidden, cells that were published and not hidden, and how many hidden lines have no cell."""
        hidden, shown, unmatched = np.zeros(table.cells, bool), np.zeros(table.cells, bool), 0
        for pattern in self.patterns:
            if isinstance(pattern, str):
                raise InputError(self.NAME, f"{pattern!r} is not read yet", "give read_pattern(...); a plan reads its files")
            cells = pattern_cells(table, pattern)
            hidden[cells[pattern.hidden & (cells >= 0)]] = True
            shown[cells[~pattern.hidden & (cells >= 0)]] = True
            unmatched += int((pattern.hidden & (cells < 0)).sum())
        if not (hidden.any() or shown.any()):
            raise InputError(self.NAME, "no line of the old pattern is a cell of this table", "check its columns and codes")
        return hidden, shown & ~hidden, unmatched
