"""Cells hidden in a network because others need them, and hidden no longer where these can be served otherwise."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from discreet.model.table import Table
from discreet.tables.suppress.circles.cycles import Circles, Service
from discreet.tables.suppress.moves.sums import Sums
from discreet.tables.suppress.moves.unions import Union, mend

__all__ = ["Revision"]

_CHEAPER = 1 - 1e-9


class Revision:
    """A pattern, the services it consists of, and a journal with which changes can be taken back.

    ``services[key]`` serves the cell ``key``; with a negative key it hides cells so that a sum of hidden cells passes the
    rules.  ``users[cell]`` are the keys of the services that a cell is hidden for; ``unmet`` counts the cells for which,
    or against some insider for which, hiding everything would not do.
    """

    def __init__(self, circles: Circles, table: Table) -> None:
        self.circles, self.table = circles, table
        self.sums = Sums(table)
        self.cost = np.array(circles.cost)
        self.services: dict[int, Service] = {}
        self.users: list[set[int]] = [set() for _ in circles.hidden]
        needy = [cell for cell, needs in enumerate(circles.needs) if max(needs) > 0]
        needy.sort(key=lambda cell: (-max(circles.needs[cell]), circles.place(cell)))
        self._rank = {cell: number for number, cell in enumerate(needy)}
        self._journal: list[tuple[int, Service | bool]] = []
        self.unmet = 0

    def start(self) -> None:
        """Hide everything, serve every cell that has needs, and publish cells as long as all can be served, dearest first."""
        circles = self.circles
        circles.hide_all()
        for cell in self._rank:
            found = circles.service(cell, excuse=True)
            self.unmet += found is None or len(circles.excused[cell]) > len(circles.knowers[cell])
            if found is not None:
                self._serve(cell, found)
        self._end(keep=True)
        for cell in self._secondary():
            self._thin(cell)
        circles.price_all(shared=True)
        self._settle(self._secondary(), math.inf)
        self._end(keep=True)

    def round(self) -> bool:
        """Try to exchange each secondary cell for cheaper ones, the dearest first; whether any could be."""
        return sum(self._exchange(cell) for cell in self._secondary() if self.circles.hidden[cell]) > 0

    def _secondary(self) -> list[int]:
        """The cells hidden here, the dearest first."""
        circles = self.circles
        cells = [cell for cell, hidden in enumerate(circles.hidden) if hidden and not circles.kept[cell]]
        return sorted(cells, key=lambda cell: (-self.cost[cell], circles.place(cell)))

    # ---------------------------------------------------------------- changes, each with its line in the journal

    def _serve(self, key: int, service: Service) -> None:
        for cell in service.opened:
            self._turn(cell, True)
        self._keep(key, service)
        self._journal.append((key, service))

    def _drop(self, keys: Iterable[int]) -> None:
        for key in keys:
            self._journal.append((key, self._forget(key)))

    def _turn(self, cell: int, hidden: bool) -> None:
        self.circles.turn(cell, hidden)
        self._journal.append((cell, hidden))

    def _keep(self, key: int, service: Service) -> None:
        self.services[key] = service
        for cell in service.moved:
            self.users[cell].add(key)

    def _forget(self, key: int) -> Service:
        service = self.services.pop(key)
        for cell in service.moved:
            self.users[cell].discard(key)
        return service

    def _end(self, *, keep: bool) -> bool:
        """Close the journal: what it says stays, or is taken back."""
        for key, change in [] if keep else reversed(self._journal):
            if isinstance(change, bool):
                self.circles.turn(key, not change)
            elif self.services.get(key) is change:
                self._forget(key)
            else:
                self._keep(key, change)
        self._journal.clear()
        return keep

    # ---------------------------------------------------------------- one cell

    def _lost(self, cell: int) -> list[int]:
        """What has to be served anew without a cell, the greatest need first."""
        last = len(self._rank)
        return sorted(self.users[cell], key=lambda key: (self._rank.get(key, last), key))

    def _thin(self, cell: int) -> bool:
        """Publish a cell if all can be served by other hidden cells, and no sum comes to fail a rule."""
        lost, around = self._lost(cell), np.array([cell])
        before = {union.cells.tobytes() for union in self.sums.failing(self.circles.loose, around)}
        self._drop(lost)
        self._turn(cell, False)
        after = {union.cells.tobytes() for union in self.sums.failing(self.circles.loose, around)}
        return self._end(keep=after <= before and self._again(lost, math.inf) is not None)

    def _exchange(self, cell: int) -> bool:
        """Publish a cell, and those hidden for the same services alone, if these can be had for less without it."""
        circles, lost = self.circles, self._lost(cell)
        touched = {cell}.union(*(self.services[key].moved for key in lost))
        self._drop(lost)
        gone = [one for one in sorted(touched) if not self.users[one] and circles.hidden[one] and not circles.kept[one]]
        self._drop(one for one in gone if one in self.services)
        for one in gone:
            self._turn(one, False)
        circles.choice[cell] = False
        circles.price(cell)
        left = self._again([key for key in lost if key >= 0], float(self.cost[gone].sum()) * _CHEAPER)
        better = left is not None and self._settle(sorted(touched), left)
        circles.choice[cell] = True
        self._end(keep=better)
        circles.price(cell)
        return better

    def _again(self, keys: list[int], budget: float) -> float | None:
        """Serve these again, those that are hidden still; returns what is left of a budget, None if it is not enough."""
        for key in keys:
            if self.circles.hidden[key]:
                found = self.circles.service(key, budget)
                if found is None:
                    return None
                self._serve(key, found)
                budget -= found.cost
        return budget

    def _settle(self, cells: list[int], budget: float) -> bool:
        """Let cells hidden for others not be known exactly, and sums around these cells pass; False if it costs too much."""
        circles = self.circles
        while True:
            bare = [cell for cell in cells if circles.hidden[cell] and not circles.kept[cell] and not self._moves(cell)]
            for cell in bare:
                found = circles.service(cell, budget)
                if found is None and math.isfinite(budget):
                    return False
                self._serve(cell, Service(moved={}, opened=(), cost=0.0) if found is None else found)
                budget -= 0.0 if found is None else found.cost
            changed = np.array([*cells, *(key for key, change in self._journal if change is True)], np.int64)
            more: list[int] = []
            for union in self.sums.failing(circles.loose, np.unique(changed)):
                added = self._mended(union)
                if added is None and math.isfinite(budget):
                    return False
                more += [] if added is None else added.opened
                budget -= 0.0 if added is None else added.cost
                if budget <= 0:
                    return False
            if not more and not bare:
                return True
            cells = sorted({*cells, *more})

    def _moves(self, cell: int) -> bool:
        """Whether a hidden cell can move by its exactness, in its own circle or in that of another cell."""
        exact = self.circles.exact[cell]
        return cell in self.services or any(self.services[key].moved[cell] >= exact for key in self.users[cell])

    def _mended(self, union: Union) -> Service | None:
        """Hide what lets a sum pass; None where nothing does."""
        circles = self.circles
        found = mend(self.table, circles.loose, np.array(circles.choice), self.cost, union)
        if found is None:
            return None
        opened = tuple(found.tolist())
        service = Service(moved=dict.fromkeys(opened, 0.0), opened=opened, cost=float(self.cost[found].sum()))
        if opened:
            self._serve(min(-1, min(self.services, default=0) - 1), service)
        return service
