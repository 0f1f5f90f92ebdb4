"""What each sensitive cell needs in a network: circles of hidden cells, found as the cheapest paths that close them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

import numpy as np

from discreet.model.insiders import known_to_insiders
from discreet.model.table import Bools, Table
from discreet.tables.suppress.circles.arcs import Network
from discreet.tables.suppress.circles.paths import Paths
from discreet.tables.suppress.moves.attackers import hideable, preference

__all__ = ["Circles", "Service"]

_ROOM = 1 - 1e-9
_LEAST = 2.0**-6
"""A need is put together from circles that carry this part of it at least."""
_STEP = 1e-6
"""The price of passing a hidden cell, in prices of the cheapest open one: of the ways that cost nothing the short ones."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Service:
    """What meets the needs of one cell: how far the other cells on its circles can move, and what was hidden for it."""

    moved: dict[int, float]
    opened: tuple[int, ...]
    cost: float


class Circles:
    """The network of a table with the cells hidden so far, and a search for circles that serve a cell."""

    def __init__(self, network: Network, table: Table, singletons: bool) -> None:
        self.network = network
        low, high = table.bounds()
        rise, fall = np.maximum(high - table.value, 0.0), np.maximum(table.value - low, 0.0)
        self.room = (rise.tolist(), fall.tolist())
        unit = table.unit if table.intruder.integer else 0.0
        needs = np.stack(table.needs())
        self.needs: list[list[float]] = (np.ceil(needs / unit * _ROOM) * unit if unit else needs).T.tolist()
        self.exact: list[float] = table.exactness().tolist()
        self.guarded: list[bool] = (table.primary & table.suppressed).tolist()
        self.cost: list[float] = preference(table).tolist()
        self.kept: list[bool] = table.unknown.tolist()
        self.hidden = list(self.kept)
        self.loose = table.unknown.copy()
        self.choice: list[bool] = hideable(table).tolist()
        self.groups, self.knowers = _insiders(table, singletons, table.unknown | hideable(table))
        self.excused: list[set[int]] = [set(known) for known in self.knowers]
        self.paths = Paths(network, network.rooms(rise, fall), self.cost, _STEP * min(self.cost, default=1.0))
        self.price_all(shared=True)

    def price_all(self, *, shared: bool) -> None:
        """Set all prices: hidden cells almost free and open ones at their cost, or hidden ones at their cost and no others."""
        self.shared = shared
        for cell in range(len(self.hidden)):
            self.price(cell)

    def price(self, cell: int) -> None:
        """Set the price of the cell's edges by whether it is hidden; closed where it may not be passed."""
        hidden = self.hidden[cell]
        free = self.kept[cell] or (self.shared and hidden)
        self.paths.price(cell, free=free, closed=not hidden and not (self.shared and self.choice[cell]))

    def hide_all(self) -> None:
        """Hide every cell that may be hidden and has a place in the network; the cheapest circles are those of least cost."""
        for cell, may in enumerate(self.choice):
            self.hidden[cell] |= may and bool(self.network.arcs[cell])
        self.loose[:] = self.hidden
        self.price_all(shared=False)

    def turn(self, cell: int, hidden: bool) -> None:
        """Hide a cell or publish it again."""
        self.hidden[cell] = self.loose[cell] = hidden
        self.price(cell)

    def place(self, cell: int) -> int:
        """A number by which cells are ordered whatever their order in the table."""
        arcs = self.network.arcs[cell]
        return arcs[0] if arcs else len(self.network.cell)

    def service(self, cell: int, limit: float = math.inf, *, excuse: bool = False) -> Service | None:
        """The cheapest way found to serve a cell; None where it would not cost less than the limit.

        ``excuse`` those insiders from now on against whom no circle helps.
        """
        best: Service | None = None
        for up, down in self._aims(cell):
            attempt = _Attempt(self, cell, limit if best is None else min(limit, best.cost), excuse)
            if attempt.run(up, down):
                best = Service(moved=attempt.moved, opened=tuple(attempt.opened), cost=attempt.spent)
            attempt.undo()
            if best is not None and best.cost <= 0:
                break
        return best

    def _aims(self, cell: int) -> Iterator[tuple[float, float]]:
        """How far up and down the cell shall move: as far as it needs, and for a greater width farther up or down."""
        up, down, width = self.needs[cell]
        width = width if up or down or width else self.exact[cell]
        if up + down >= width:
            yield up, down
            return
        for aim in ((up, width - up), (width - down, down)):
            if aim[0] <= self.room[0][cell] and aim[1] <= self.room[1][cell]:
                yield aim


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Flow:
    """A flow that moves one cell: the other cells on it, how far they can move, which of them are to be hidden."""

    moved: dict[int, float]
    opened: list[int]
    cost: float


class _Attempt:
    """One way to serve a cell; what it hides is hidden until it is undone."""

    def __init__(self, circles: Circles, cell: int, limit: float, excuse: bool) -> None:
        self.circles, self.cell, self.limit, self.excuse = circles, cell, limit, excuse
        self.spent = 0.0
        self.opened: list[int] = []
        self.ways: list[frozenset[int]] = []
        self.moved: dict[int, float] = {}

    def run(self, up: float, down: float) -> bool:
        """Whether the cell can move so far both ways, and can for everybody who knows some cells as well."""
        for way, need in enumerate((up, down)):
            if need > 0 and not self._take(self._flow(need, way)):
                return False
        return not self.circles.guarded[self.cell] or self._guard()

    def undo(self) -> None:
        """Publish again what was hidden."""
        for cell in self.opened:
            self.circles.turn(cell, False)

    def _guard(self) -> bool:
        """Circles that leave alone what those know who know something in every circle so far."""
        circles, wide = self.circles, self.circles.exact[self.cell]
        excused = circles.excused[self.cell]
        while True:
            each = [set().union(*(circles.knowers[one] for one in way)) for way in self.ways]
            knowing = set.intersection(*each) - excused
            if not knowing:
                return True
            if self._around(knowing, wide):
                continue
            for group in sorted(knowing):
                if not self._around({group}, wide):
                    if not self.excuse:
                        return False
                    excused.add(group)

    def _around(self, groups: set[int], need: float) -> bool:
        """A circle without what these groups know, one way or the other, whichever is cheaper."""
        circles = self.circles
        avoid: set[int] = set().union(*(circles.groups[group] for group in groups)) - {self.cell}
        circles.paths.shut(avoid)
        flow = self._flow(need, 0)
        if flow is None or flow.cost > 0:
            other = self._flow(need, 1, math.inf if flow is None else flow.cost)
            flow = flow if other is None else other
        for cell in avoid:
            circles.price(cell)
        return self._take(flow)

    def _take(self, flow: _Flow | None) -> bool:
        if flow is None:
            return False
        for cell in flow.opened:
            self.circles.turn(cell, True)
        self.opened += flow.opened
        self.spent += flow.cost
        self.ways.append(frozenset(flow.moved))
        for cell, far in flow.moved.items():
            self.moved[cell] = max(self.moved.get(cell, 0.0), far)
        return True

    def _flow(self, need: float, way: int, limit: float = math.inf) -> _Flow | None:
        """A flow that moves the cell by the need, up (way 0) or down (way 1), in one circle or, failing that, in several."""
        circles, network = self.circles, self.circles.network
        if not network.arcs[self.cell] or circles.room[way][self.cell] < need * _ROOM:
            return None
        own = 2 * network.arcs[self.cell][0] + way
        goal, start = network.ends[own]
        paths, limit = circles.paths, min(limit, self.limit - self.spent)
        rooms = paths.rooms
        held = rooms[own], rooms[own ^ 1]
        rooms[own] = rooms[own ^ 1] = -1.0
        put: list[tuple[list[int], float]] = []
        opened: list[int] = []
        moved: dict[int, float] = {}
        left, least, cost = need, need, 0.0
        while left > need * 1e-9:
            path = paths.cheapest(start, goal, min(least, left), limit - cost)
            if isinstance(path, bool):
                least /= 2
                if path or least < need * _LEAST:
                    break
                continue
            most = min(rooms[edge] for edge in path)
            amount = min(most, left)
            far = most if amount == need else amount
            paths.push(path, amount)
            put.append((path, amount))
            for edge in path:
                cell = network.cell[edge // 2]
                moved[cell] = max(moved.get(cell, 0.0), far)
                if not circles.hidden[cell]:
                    circles.turn(cell, True)
                    opened.append(cell)
                    cost += circles.cost[cell]
            left -= amount
        for path, amount in put:
            paths.push(path, -amount)
        rooms[own], rooms[own ^ 1] = held
        for cell in opened:
            circles.turn(cell, False)
        moved.pop(self.cell, None)
        return _Flow(moved=moved, opened=opened, cost=cost) if left <= need * 1e-9 else None


def _insiders(table: Table, singletons: bool, among: Bools) -> tuple[list[frozenset[int]], list[tuple[int, ...]]]:
    """Which of the cells that are or may be hidden each insider would know, and the insiders who know each cell."""
    most = {"none": 0, "singletons": 1, "pairs": 2}[table.intruder.insiders] if singletons else 0
    found = known_to_insiders(table.contributions, table.equations, among, most) if most else ()
    knowers: list[list[int]] = [[] for _ in range(table.cells)]
    groups = []
    for number, cells in enumerate(found):
        groups.append(frozenset(cells.tolist()))
        for cell in cells.tolist():
            knowers[cell].append(number)
    return groups, [tuple(known) for known in knowers]
