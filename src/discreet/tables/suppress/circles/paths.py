"""Cheapest paths in a network whose edges have a price, or are free for now, or closed, and have room for so much flow."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator, Sequence

from discreet.tables.suppress.circles.arcs import Network

__all__ = ["Paths"]

_ROOM = 1 - 1e-9


class _Side:
    """What a search knows from one end of the path: costs and last edges of the nodes met, and those to look at next."""

    def __init__(self, node: int) -> None:
        self.best = {node: 0.0}
        self.came: dict[int, int] = {}
        self.heap = [(0.0, node)]


class Paths:
    """Searches from both ends that look at free edges first and at the others by their price, as far as may be cheaper.

    ``rooms[edge]`` is how much can flow along an edge; flows put on the network change it.  ``step`` is what a free edge
    costs, so that of the paths that cost nothing the short ones are taken.
    """

    def __init__(self, network: Network, rooms: list[float], cost: Sequence[float], step: float) -> None:
        self.network, self.rooms, self.step = network, rooms, step
        full = [cost[cell] / len(network.arcs[cell]) for cell in network.cell for _ in (0, 1)]
        self._full, self._price = full, [math.inf] * len(full)
        self._free: list[dict[int, int]] = [{} for _ in network.leaving]
        self._dear = [sorted((full[edge], edge, other) for other, edge in edges) for edges in network.leaving]

    def price(self, cell: int, *, free: bool, closed: bool) -> None:
        """Make a cell's edges free, or closed, or cost what they cost."""
        for arc in self.network.arcs[cell]:
            for edge in (2 * arc, 2 * arc + 1):
                self._price[edge] = math.inf if closed else self.step if free else self._full[edge]
                start, end = self.network.ends[edge]
                if free and not closed:
                    self._free[start][edge] = end
                else:
                    self._free[start].pop(edge, None)

    def shut(self, cells: Iterable[int]) -> None:
        """Close the edges of these cells until they are priced again."""
        for cell in cells:
            self.price(cell, free=False, closed=True)

    def cheapest(self, start: int, goal: int, amount: float, limit: float) -> list[int] | bool:
        """The edges of the cheapest path with room for an amount.

        Where no path costs less than the limit, whether the limit may be what stands in the way.
        """
        sides = (_Side(start), _Side(goal))
        bound, met, cut = limit, -1, False
        while sides[0].heap and sides[1].heap:
            ahead, behind = sides[0].heap[0][0], sides[1].heap[0][0]
            if ahead + behind >= bound:
                cut |= met < 0
                break
            turn = int(behind < ahead)
            here, there = sides[turn], sides[1 - turn].best
            for cost, edge, other in self._steps(here, turn, amount * _ROOM, bound):
                cut |= edge < 0
                if edge >= 0 and cost < here.best.get(other, bound):
                    here.best[other], here.came[other] = cost, edge
                    heapq.heappush(here.heap, (cost, other))
                    if cost + there.get(other, math.inf) < bound:
                        bound, met = cost + there[other], other
        if met < 0:
            return cut
        return self._joined(sides, met)

    def _steps(self, side: _Side, turn: int, wanted: float, bound: float) -> Iterator[tuple[float, int, int]]:
        """Where the nearest node of a side leads and at what cost, below the bound; an edge of -1 if the bound cut some off."""
        spent, node = heapq.heappop(side.heap)
        if spent > side.best[node]:
            return
        rooms, price, near = self.rooms, self._price, spent + self.step
        if near < bound:
            for edge, other in self._free[node].items():
                if rooms[edge ^ turn] >= wanted:
                    yield near, edge, other
        for full, edge, other in self._dear[node]:
            if spent + full >= bound:
                yield bound, -1, node
                return
            if price[edge] == full and rooms[edge ^ turn] >= wanted:
                yield spent + full, edge, other

    def _joined(self, sides: tuple[_Side, _Side], met: int) -> list[int]:
        """The edges of both sides' paths to the node where they met, all in the direction from start to goal."""
        edges: list[int] = []
        for turn, side in enumerate(sides):
            node = met
            while node in side.came:
                edge = side.came[node]
                edges.append(edge ^ turn)
                node = self.network.ends[edge][0]
        return edges

    def push(self, edges: Iterable[int], amount: float) -> None:
        """Put a flow on edges, a negative one to take it off again."""
        for edge in edges:
            self.rooms[edge] -= amount
            self.rooms[edge ^ 1] += amount
