"""Sums of hidden cells that the release gives away, judged by the table's own sensitivity rules."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

import numpy as np

from discreet.errors import NotProtectedError, some
from discreet.model.contributions import Floats, Integers
from discreet.model.table import Bools, Table

__all__ = ["Union", "mend", "relations", "sensitive_sums", "union_refusal"]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Union:
    """An equation between ``cells`` (``signs`` +1 on one side, -1 on the other) whose hidden cells are ``together``.

    ``frame`` is the cell with which the equation itself disappears, -1 for one that is always published.
    """

    cells: Integers
    signs: Integers
    together: Integers
    frame: int = -1


def relations(table: Table) -> Iterator[tuple[Integers, Floats, int]]:
    """The cells, factors and frame of every equation of the table and of every fact that is published exactly."""
    matrices = [(table.equations, np.full(table.equations.shape[0], -1))]
    for known in table.knowledge:
        exact = np.flatnonzero(known.low == known.high)
        matrices.append((known.matrix[exact], known.while_published[exact]))
    for matrix, frames in matrices:
        for row, frame in enumerate(frames.tolist()):
            part = slice(matrix.indptr[row], matrix.indptr[row + 1])
            yield np.asarray(matrix.indices[part], np.int64), matrix.data[part], int(frame)


def sensitive_sums(table: Table, groups: list[Integers]) -> Bools:
    """Which groups of cells have a sum that fails one of the table's rules."""
    bad = np.zeros(len(groups), bool)
    rules = [rule for rule in table.rules if getattr(rule, "unions", True)]
    if groups and rules:
        together = table.contributions.union(groups)
        for rule in rules:
            bad |= rule.sensitive(together)
    return bad


def mend(table: Table, hidden: Bools, choice: Bools, cost: Floats, union: Union) -> Integers | None:
    """The cheapest reasonable cells to hide so that a sensitive sum passes or is not published any more.

    Either the cheapest cell of the other side (or the frame); or the cheapest single cell of the same side that helps; or
    the cheapest ones of that side added until the sum passes, less those that prove superfluous.  None where nothing
    helps; no cells where others hidden since help already.
    """
    cells, signs = union.cells, union.signs
    more = hidden[cells] & ~np.isin(cells, union.together)
    held = np.concatenate([union.together, cells[more]])
    side = signs == signs[np.isin(cells, union.together)][0]
    elsewhere = (more & ~side).any() or (union.frame >= 0 and hidden[union.frame])
    if elsewhere or not sensitive_sums(table, [held])[0]:
        return np.zeros(0, np.int64)
    free = choice[cells] & ~hidden[cells]
    others = np.append(cells[free & ~side], [union.frame] if union.frame >= 0 and choice[union.frame] else [])
    ways = [np.array([cell]) for cell in _cheapest(others.astype(np.int64), cost)[:1]]
    same = _cheapest(cells[free & side], cost)
    alone = sensitive_sums(table, [np.append(held, cell) for cell in same])
    ways += [np.array([cell]) for cell, fails in zip(same, alone, strict=True) if not fails][:1]
    added: list[int] = []
    for cell in same:
        added.append(cell)
        if not sensitive_sums(table, [np.array([*held, *added])])[0]:
            ways.append(_without_superfluous(table, held, added))
            break
    return min(ways, key=lambda way: (float(cost[way].sum()), way.tolist()), default=None)


def _cheapest(cells: Integers, cost: Floats) -> list[int]:
    return [int(cell) for cell in cells[np.lexsort((cells, cost[cells]))]]


def _without_superfluous(table: Table, held: Integers, added: Iterable[int]) -> Integers:
    kept = list(added)
    for cell in reversed(list(kept)):
        fewer = [other for other in kept if other != cell]
        if fewer and not sensitive_sums(table, [np.array([*held, *fewer])])[0]:
            kept = fewer
    return np.array(sorted(kept), np.int64)


def union_refusal(table: Table, method: str, hidden: Bools, unions: Iterable[Union]) -> NotProtectedError:
    """The error for sums of hidden cells that stay sensitive although everything that may be hidden is hidden."""
    together: dict[int, str] = {}
    frozen: dict[int, str] = {}
    for union in unions:
        held = hidden[union.cells] | ~table.listed[union.cells]
        together |= {int(cell): table.label(int(cell)) for cell in union.cells[held]}
        frozen |= {int(cell): table.label(int(cell)) for cell in union.cells[~held]}
    problem = f"the sum of these hidden cells fails a sensitivity rule: {some(together.values())}"
    fix = "declare the cells safe, or audit with unions = false"
    if frozen:
        problem += f"; in the way, as they must be published: {some(frozen.values())}"
        fix = f"allow one of {some(frozen.values())} to be hidden, or {fix}"
    details = [{"cell": label, "role": "hidden, and its sum is sensitive"} for label in together.values()]
    details += [{"cell": label, "role": "must be published"} for label in frozen.values()]
    return NotProtectedError(method, problem, fix, details=details)
