"""Secondary suppression by hypercubes: every sensitive cell becomes a corner of a cube of hidden cells."""

from __future__ import annotations

import dataclasses
import time
from typing import ClassVar

import numpy as np

from discreet.method import check_params, param
from discreet.model.contributions import Floats, Integers
from discreet.model.table import Bools, Table
from discreet.tables.suppress.cubes import Cube, Cubes
from discreet.tables.suppress.moves.attackers import Space, hideable, preference
from discreet.tables.suppress.moves.probing import Prober
from discreet.tables.suppress.subtables import Subtable, check_layouts, subtables

__all__ = ["HypercubeSuppression"]

_EXACT = 1 - 1e-9


@dataclasses.dataclass(frozen=True, kw_only=True)
class HypercubeSuppression:
    """Make every sensitive cell a corner of a cube whose corners are all hidden, subtable by subtable until nothing changes.

    In a subtable (one total and its parts for each spanning variable) a cube has the codes ``x[v]`` of the sensitive cell
    and one other code ``y[v]`` for each variable ``v``: two corners in one dimension, four in two, ``2**k`` in ``k``.  Its
    corners can move together by ``min(room[c])`` over corners ``c``, where ``room[c]`` is how far the value lies from what
    the intruder knows beforehand, above for the corners that move up and below for those that move down.  A cube will do
    if this is the upper protection level at least, in the other direction the lower one, and together the sliding one.
    Of these the one is taken that hides fewest further cells, then fewest margins, then least ``sum(log(1 + cost[c]))``
    (``weigh`` orders them otherwise).  A corner that also lies in other subtables must move there as far.

    Guards against: intervals that are too narrow, as far as single cubes tell; with ``singletons``, also contributors
    who know a hidden cell of their own: a cube with such a corner is followed by another one without it.
    Does not guard against: what several subtables tell together, sums of hidden cells that fail a rule, and cells that
    need several cubes at once, counted as "unmet"; the audit finds these and the repair mends them.  It hides more
    than other methods, since the room of several cubes is not added up.
    """

    NAME: ClassVar[str] = "hypercube-suppression"
    SOURCE: ClassVar[str] = (
        "Repsilber (1994), Preservation of confidentiality in aggregated data; Giessing and Repsilber (2002), Tools and "
        "strategies to protect multiple tables with the GHQUAR cell suppression engine, in Inference Control in Statistical "
        "Databases; search and order here are our own."
    )

    weigh: str = param(
        "number",
        "what makes a cube cheap: the number of new cells first, the sum of their log costs, or the sum of their costs",
        choices=("number", "log", "cost"),
    )
    singletons: bool = param(True, "a second cube where a contributor or two would know a corner of the first")

    def __post_init__(self) -> None:
        check_params(self)

    def apply(self, table: Table, /) -> Table:
        """The table with secondary suppressions; InputError where its equations do not follow from its spanning variables."""
        start = time.perf_counter()
        if not table.suppressed.any():
            return table.with_secondary(self.NAME, np.zeros(table.cells, bool))
        check_layouts(table, self.NAME)
        choice, parts, prober = hideable(table), subtables(table), Prober(Space.of(table))
        while True:
            search = _Search(table, parts, choice, self.weigh, self.singletons)
            search.run()
            fresh = search.hidden & ~table.unknown
            dead = prober.immovable(np.flatnonzero(fresh), table.exactness(), (choice | table.unknown).astype(float))
            if not dead.size:
                break
            choice[dead] = False
        return table.with_secondary(self.NAME, fresh, time.perf_counter() - start, cubes=search.cubes, unmet=search.unmet)


class _Search:
    """Visits subtables that hold unmet needs, top down, again and again; hidden cells and needs only grow."""

    def __init__(self, table: Table, parts: list[Subtable], choice: Bools, weigh: str, singletons: bool) -> None:
        self.parts, self.weigh, self.exact = parts, weigh, table.exactness()
        self.hidden, self.choice = table.unknown.copy(), choice
        low, high = table.bounds()
        self.rise, self.fall = np.maximum(high - table.value, 0.0), np.maximum(table.value - low, 0.0)
        self.cost = preference(table)
        self.unit = table.unit if table.intruder.integer else 0.0
        self.needs = np.stack(table.needs())
        if self.unit:
            self.needs = np.ceil(self.needs / self.unit * _EXACT) * self.unit
        most = {"none": 0, "singletons": 1, "pairs": 2}[table.intruder.insiders] if singletons else 0
        held = table.contributions
        contributors = np.where(held.holdings > 0, held.holdings, held.n)
        self.owned = (contributors >= 1) & (contributors <= most)
        self.guarded = table.primary & table.suppressed & bool(self.owned.any())
        self.met = [np.zeros((3, part.cells.size)) for part in self.parts]
        self.safe = [np.zeros(part.cells.size, bool) for part in self.parts]
        self.cubes, self.failed = 0, np.zeros(table.cells, bool)

    @property
    def unmet(self) -> int:
        """How many sensitive or hidden cells lack a cube in some subtable."""
        return int(self.failed.sum())

    def run(self) -> None:
        """Until every need is met by a cube in each subtable, or known to have none there."""
        busy = True
        while busy:
            busy = False
            for number in range(len(self.parts)):
                due = self._due(number)
                if due.size:
                    busy = True
                    _Visit(self, number).meet(due)

    def _due(self, number: int) -> Integers:
        """The lines of a subtable whose cells have unmet needs, the greatest need first."""
        cells = self.parts[number].cells.ravel()
        needs = self.needs[:, cells]
        due = ((needs * _EXACT > self.met[number]).any(axis=0) | (self.guarded[cells] & ~self.safe[number])) & (cells >= 0)
        lines = np.flatnonzero(due)
        if not lines.size:
            return lines
        return np.asarray(lines[np.argsort(-needs[:, lines].max(axis=0), kind="stable")], np.int64)


class _Visit:
    """One subtable, its cells' prices kept up to date while cubes are chosen."""

    def __init__(self, search: _Search, number: int) -> None:
        self.search, self.part = search, search.parts[number]
        self.met, self.safe = search.met[number], search.safe[number]
        self.cells = self.part.cells.ravel()
        shape, there = self.part.cells.shape, self.part.cells >= 0
        self.cube = Cubes(self.part, search.rise[self.part.cells], search.fall[self.part.cells])
        self.owned = there & search.owned[self.part.cells]
        free = search.hidden[self.cells]
        usable = free | search.choice[self.cells]
        weight = _weights(search.weigh, search.cost[self.cells], self.part.margin.ravel(), len(shape))
        self.price = np.where(usable & there.ravel(), np.where(free, 0.0, weight), np.inf).reshape(shape)

    def meet(self, due: Integers) -> None:
        """Find a cube for each of these lines."""
        search = self.search
        for line in due.tolist():
            cell = int(self.cells[line])
            at = tuple(int(place) for place in np.unravel_index(line, self.part.cells.shape))
            up, down, width = search.needs[:, cell].tolist()
            if search.guarded[cell] and not self.safe[line]:
                self._guarded(at, cell, (up, down, width))
                self.safe[line] = True
            elif (search.needs[:, cell] * _EXACT > self.met[:, line]).any():
                self._take(self.cube.cheapest(at, self.price, _loosened(up, down, width)), (up, down, width))
            if (search.needs[:, cell] * _EXACT > self.met[:, line]).any():
                search.failed[cell] = True
                self.met[:, line] = search.needs[:, cell]

    def _guarded(self, at: tuple[int, ...], cell: int, needs: tuple[float, float, float]) -> None:
        """A cube without a corner that an insider knows; or two cubes, which no insider knows both, if they are cheaper."""
        search, wanted, little = self.search, _loosened(*needs), (0.0, 0.0, float(self.search.exact[cell]))
        first = self.cube.cheapest(at, self.price, wanted)
        if first is None:
            return
        known = self._known(first, at)
        if not known.any():
            self._take(first, needs)
            return
        clean = self.cube.cheapest(at, self.price, wanted, self._others(at))
        paid = self.price.copy()
        paid.flat[first.corners] = 0.0
        second = self.cube.cheapest(at, paid, little, known)
        if clean is not None and (second is None or clean.price <= first.price + second.price):
            self._take(clean, needs)
            return
        self._take(first, needs)
        self._take(second, little)
        search.failed[cell] |= second is None

    def _others(self, at: tuple[int, ...]) -> Bools:
        """The lines that insiders know, except the target's own."""
        return np.asarray(self.owned & (self.part.cells != self.part.cells[at]))

    def _known(self, cube: Cube, at: tuple[int, ...]) -> Bools:
        """The corners of a cube that insiders know, except the target's own."""
        marked = np.zeros(self.part.cells.size, bool)
        marked[cube.corners] = self._others(at).ravel()[cube.corners]
        return marked.reshape(self.part.cells.shape)

    def _take(self, cube: Cube | None, needs: tuple[float, float, float]) -> None:
        """Hide the corners of a cube; each must now move everywhere as far as it does for the target."""
        if cube is None:
            return
        search = self.search
        search.cubes += 1
        up, down, width = needs
        if up + down < width:
            if cube.rise >= cube.fall:
                up = min(cube.rise, width - down)
                down = width - up
            else:
                down = min(cube.fall, width - up)
                up = width - down
        moved = np.where(cube.turned == 1, np.array([[down], [up]]), np.array([[up], [down]]))
        cells = self.cells[cube.corners]
        for row in (0, 1):
            np.maximum.at(search.needs[row], cells, moved[row])
            np.maximum.at(self.met[row], cube.corners, moved[row])
        self.met[2, cube.corners] = np.maximum(self.met[2, cube.corners], up + down)
        fresh = cells[~search.hidden[cells]]
        if fresh.size:
            search.hidden[fresh] = True
            search.needs[2, fresh] = np.maximum(search.needs[2, fresh], search.exact[fresh])
            self.price[np.isin(self.part.cells, fresh)] = 0.0


def _loosened(up: float, down: float, width: float) -> tuple[float, float, float]:
    """The needs without what rounding adds."""
    return up * _EXACT, down * _EXACT, width * _EXACT


def _weights(weigh: str, cost: Floats, margin: Bools, variables: int) -> Floats:
    """The price of hiding each line, such that sums over corners order cubes as wanted."""
    if weigh == "cost":
        return cost
    log = np.log1p(cost)
    if weigh == "log":
        return log + 1e-6
    corners = 2.0**variables
    least = 64.0 * corners
    return np.asarray(least * (corners + 1.0) + least * margin + log, float)
