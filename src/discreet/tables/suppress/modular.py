"""Secondary suppression subtable by subtable, from the margins inwards, and then as a whole."""

from __future__ import annotations

import dataclasses
import time
from typing import ClassVar

import numpy as np
from scipy import sparse

from discreet.errors import NotProtectedError
from discreet.method import check_params, param
from discreet.model.contributions import Integers
from discreet.model.table import Bools, Status, Table
from discreet.tables.suppress.cutting.descent import Descent
from discreet.tables.suppress.cutting.search import Search
from discreet.tables.suppress.gauss import GaussSuppression
from discreet.tables.suppress.infeasible import refuse_hopeless
from discreet.tables.suppress.moves.attackers import Space, hideable, preference
from discreet.tables.suppress.moves.incidence import Incidence
from discreet.tables.suppress.moves.probing import Prober
from discreet.tables.suppress.subtables import check_layouts, subtables

__all__ = ["ModularSuppression"]

_NODES, _PROGRAMS = 500, 30
"""So much branching in an integer program, and so many of them, are for one subtable: work, not time."""
_LARGEST = 1000
"""A subtable of more cells is not solved to the optimum; elimination gives its pattern."""
_AROUND = 25
"""So many hidden cells around one that the whole table asks for are chosen anew together."""
_WORK = 10.0
"""No part is chosen anew once the proof and this have taken so much work, each unit about a second of one processor."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModularSuppression:
    """Protect each subtable at least cost on its own, from the margins inwards, and then the table as a whole.

    A subtable holds, for each spanning variable, one total and its parts.  In the order of the level of their totals each
    is solved as ``minimise sum(c[i] * z[i])`` over ``z[i]`` in {0, 1} (1 = hidden) under the capacity cuts of
    exact-suppression; ``c[i]`` is the cost of cell ``i``, ``reopen`` times the cost where a subtable solved before shows
    the cell.  Cells hidden in one subtable are hidden cells to protect in all others that hold them; where that
    concerns a subtable already solved, it is solved again.  What is hidden then is proved for the whole table, and the
    cheapest reasonable cells are hidden in addition where the subtables alone did not see a way to recompute a cell.

    Guards against: everything the audit of a table looks for: narrow intervals, insiders, sensitive sums.
    Does not guard against: knowledge that the intruder's assumptions do not declare.  The least cost of each subtable is
    not the least of the table, and a subtable of more than 1,000 cells is protected by elimination instead.  Needs
    equations that follow from the spanning variables.
    """

    NAME: ClassVar[str] = "modular-suppression"
    SOURCE: ClassVar[str] = (
        "de Wolf (2002), HiTaS: a heuristic approach to cell suppression in hierarchical tables, in Domingo-Ferrer (ed.), "
        "Inference Control in Statistical Databases, LNCS 2316; the proof of the whole table is our own."
    )

    reopen: float = param(4.0, "how many times its cost hiding a cell counts that a subtable solved before shows", at_least=1)
    time_limit: float = param(
        600.0, "subtables left after this long are protected only together, at the end", unit="s", above=0
    )

    def __post_init__(self) -> None:
        check_params(self)

    def apply(self, table: Table, /) -> Table:
        """The table with secondary suppressions.

        Errors: InputError where equations do not follow from the spanning variables; NotProtectedError, before long work,
        where no pattern would do.
        """
        start = time.perf_counter()
        check_layouts(table, self.NAME)
        if not table.suppressed.any():
            return table.with_secondary(self.NAME, np.zeros(table.cells, bool))
        refuse_hopeless(table, self.NAME)
        inward = _Inward(table, self.reopen, start + self.time_limit)
        inward.run()
        hidden = _proved(table, inward.hidden, self.NAME)
        return table.with_secondary(
            self.NAME,
            hidden,
            time.perf_counter() - start,
            subtables=len(inward.parts),
            solved=inward.solved,
            again=inward.again,
            repaired=int((hidden & ~inward.hidden).sum()),
        )


def _proved(table: Table, hidden: Bools, method: str) -> Bools:
    """The secondary cells of a pattern, and more where the table as a whole needs them."""
    descent = Descent(table, hidden & ~table.suppressed)
    descent.secured(method)
    added = np.flatnonzero(descent.hidden & descent.choice & ~hidden)
    for cell in added[np.lexsort((added, -descent.cost[added]))].tolist():
        if descent.hidden[cell] and descent.work.done < _WORK:
            descent.renew(np.array([cell]), _AROUND)
    return descent.hidden & descent.choice


class _Inward:
    """The subtables of a table, and what is hidden by now."""

    def __init__(self, table: Table, reopen: float, deadline: float) -> None:
        self.reopen, self.deadline = reopen, deadline
        self.parts = [np.unique(part.cells[part.cells >= 0]) for part in subtables(table)]
        self.hidden = table.suppressed.copy()
        self.shown = np.zeros(table.cells, bool)
        self.solved = self.again = 0
        self.incidence = Incidence.of(sparse.csr_array(table.equations))
        self.length = np.diff(self.incidence.by_row.indptr)
        self.whole = _apart(table)
        self.holding: list[list[int]] = [[] for _ in range(table.cells)]
        for number, cells in enumerate(self.parts):
            for cell in cells.tolist():
                self.holding[cell].append(number)

    def run(self) -> None:
        """Solve one subtable after the other; one whose margins another has hidden comes again."""
        done: set[int] = set()
        left = set(range(len(self.parts)))
        while left and time.perf_counter() < self.deadline:
            number = min(left)
            left.discard(number)
            self.again += number in done
            done.add(number)
            cells = self.parts[number]
            fresh = self._solve(cells) if self.hidden[cells].any() else cells[:0]
            self.shown[cells] = True
            for cell in fresh.tolist():
                left |= {other for other in self.holding[cell] if other != number and other in done}

    def _solve(self, cells: Integers) -> Integers:
        """Hide what a subtable needs on its own; returns the cells hidden in addition."""
        part = self._part(cells)
        if not part.equations.shape[0]:
            return cells[:0]
        self.solved += 1
        try:
            found = self._pattern(part)
        except NotProtectedError:
            return cells[:0]  # the proof of the whole table finds a way, or says why there is none
        fresh = cells[found & ~self.hidden[cells]]
        self.hidden[fresh] = True
        return fresh

    def _pattern(self, part: Table) -> Bools:
        """What is hidden of a subtable in the end."""
        if part.cells > _LARGEST:
            return GaussSuppression(singletons=part.intruder.insiders != "none").apply(part).suppressed
        left = self.deadline - time.perf_counter()
        return Search(part, ModularSuppression.NAME, left, 0.0, nodes=_NODES, most=_PROGRAMS).run().hidden

    def _part(self, cells: Integers) -> Table:
        """The cells of a subtable, with the equations between them alone, as a table."""
        whole, rows = self.whole, self.incidence.rows(cells)
        columns = self.incidence.by_row[rows][:, cells]
        inside = np.diff(columns.indptr) == self.length[rows]
        fields = (field.name for field in dataclasses.fields(whole))
        arrays = {name: held[cells] for name in fields if isinstance(held := getattr(whole, name), np.ndarray)}
        arrays["status"] = np.where(self.hidden[cells] & (arrays["status"] == Status.OPEN), Status.SECONDARY, arrays["status"])
        arrays["cost"] = np.where(self.shown[cells], self.reopen, 1.0) * arrays["cost"]
        equations = sparse.csr_array(columns[inside])
        return whole.replace(**arrays, contributions=whole.contributions.take(cells), equations=equations)


def _apart(table: Table) -> Table:
    """The table with all that its cells inherit from the whole written down cell by cell.

    Cells that would be known exactly although every cell were hidden that may be are not offered to any subtable.
    """
    low, high = table.bounds()
    loose = table.unknown | hideable(table)
    dead = Prober(Space.of(table)).immovable(np.flatnonzero(hideable(table)), table.exactness(), loose.astype(float))
    return table.replace(
        lower=low,
        upper=high,
        cost=preference(table),
        frozen=table.frozen | np.isin(np.arange(table.cells), dead),
        intruder=dataclasses.replace(table.intruder, nonnegative=bool(np.isfinite(table.floor()).any())),
        layouts=(),
        knowledge=(),
        history=(),
    )
