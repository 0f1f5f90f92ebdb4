"""Attribute and group disclosure in frequency tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from discreet.errors import InputError, near, some
from discreet.method import check_params, param
from discreet.model.contributions import Contributions, Floats, Integers
from discreet.model.hierarchy import Hierarchy
from discreet.model.layout import Layout
from discreet.model.table import Bools, Table
from discreet.tables.rules.coalition import GUARD

__all__ = ["KDisclosure"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class KDisclosure:
    """A count is sensitive when it shows that everybody of a group, up to k people, falls in one sensitive category.

    For each group (one line of the other spanning variables, margins included) with the counts c_i over the finest categories
    of the sensitive ``variable`` and t = Σ c_i > 0, category i is sensitive when ``c_i > 0 and t − c_i ≤ k``: those who know
    k people of the group see that all others are in i.  k = 0: all are; k = 1: all but one.  The coarser codes of a tree
    are judged like categories, and with ``width`` w so are runs of up to w neighbouring categories (for ordered ones),
    unless they cover all that is possible.  With ``zeros``, c_i = 0 in a group with t > 0 is sensitive as well: it shows
    that nobody is in i.

    What is hidden: the cell of the category or code, or the non-empty cells of the run, unless a part of it tells as much.
    That alone is not enough, for t could be hidden to balance them while all other counts stay readable; so the sum of
    the other categories of the group, r = t − c_i, enters the table as a further sensitive cell that no layout lists and
    that must seem able to exceed k: its upper protection level is k − r and one unit of the last decimal.
    For ``zeros`` c_i itself must seem able to be above 0.

    Categories that are impossible beforehand (structural zeros) count as absent; a group in which only one is possible
    tells nothing new.

    Guards against: learning an attribute of everybody in a group.
    Does not guard against: recognising people in small cells; use it together with the minimum frequency rule.
    """

    NAME: ClassVar[str] = "k-disclosure"
    SOURCE: ClassVar[str] = "Hundepool et al. (2012), Statistical Disclosure Control, Wiley, chapter 5 (attribute disclosure)"
    unions: ClassVar[bool] = False

    variable: str = param(doc="the sensitive spanning variable")
    k: float = param(0.0, "how many people of a group somebody may know", unit="people", at_least=0)
    width: int = param(1, "how many neighbouring categories may count as one", unit="categories", at_least=1)
    exempt: tuple[str, ...] = param((), "codes that may be learnt; what holds such a category is passed over too")
    max_group: float | None = param(None, "groups of more people than this are passed over", unit="people", above=0)
    zeros: bool = param(False, "that nobody of a group is in a category is sensitive too")

    def __post_init__(self) -> None:
        check_params(self)

    @property
    def ranks_needed(self) -> int:
        """How many largest contributions of each cell the rule looks at."""
        return 0

    def apply(self, table: Table, /) -> Table:
        """The table with the sensitive cells marked, and with one more cell for each sum that must stay unknown."""
        if table.kind != "frequency":
            raise InputError(self.NAME, "reads counts, and this is no frequency table", "use it on a table of counts")
        layouts = [layout for layout in table.layouts if self.variable in layout.variables]
        if not layouts:
            known = list(dict.fromkeys(name for layout in table.layouts for name in layout.variables))
            problem = f"{self.variable!r} is no spanning variable{near(self.variable, known)}"
            raise InputError(self.NAME, problem, f"use {some(known)}")
        shown = np.zeros(table.cells, bool)
        level = np.zeros(table.cells)
        rests: dict[tuple[int, ...], None] = {}
        for layout in layouts:
            v = layout.variables.index(self.variable)
            hierarchy = layout.hierarchies[v]
            cell = _groups(layout, v)
            for told, shortest, others in self._revealing(table, hierarchy, cell):
                if not table.exempt[told].all():
                    shown[told] |= shortest
                    rests.setdefault(tuple(others.tolist()))
            empty = self._empty(table, hierarchy, cell)
            shown[empty], level[empty] = True, table.unit
        return self._marked(table, shown, level, [np.array(rest) for rest in rests])

    def _judged(self, counts: Floats) -> Bools:
        """The groups that have people and are not too large."""
        size = counts.sum(axis=1)
        return np.asarray((size > 0) & (size <= (np.inf if self.max_group is None else self.max_group)))

    def _sets(self, hierarchy: Hierarchy) -> tuple[sparse.csr_array, Integers]:
        """The sets of categories to judge, shape (sets, categories), and the code of each, -1 for runs."""
        leaves = len(hierarchy.leaves)
        exempt = np.isin(np.arange(len(hierarchy.codes)), [hierarchy.position(code) for code in self.exempt])
        category = np.full(len(hierarchy.codes), -1)
        category[hierarchy.leaves] = np.arange(leaves)
        leaf, code = hierarchy.closure()
        member = sparse.csr_array((np.ones(len(leaf)), (code, category[leaf])), shape=(len(hierarchy.codes), leaves))
        run = [(start, width) for width in range(2, min(self.width, leaves) + 1) for start in range(leaves - width + 1)]
        rows = np.repeat(np.arange(len(run)), [width for _, width in run])
        columns = np.concatenate([np.arange(start, start + width) for start, width in run]) if run else rows
        runs = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(run), leaves))
        sets = sparse.csr_array(sparse.vstack([member, runs]))
        own = np.concatenate([np.arange(len(hierarchy.codes)), np.full(len(run), -1)])
        keep = (sets @ exempt[hierarchy.leaves].astype(float) == 0) & ~np.append(exempt, np.zeros(len(run), bool))
        keep[0] = False
        return sparse.csr_array(sets[np.flatnonzero(keep)]), own[keep]

    def _revealing(self, table: Table, hierarchy: Hierarchy, cell: Integers) -> Iterator[tuple[Integers, bool, Integers]]:
        """For each group and set that tells: the cells that say so, whether no part of the set tells, the other cells."""
        sets, own = self._sets(hierarchy)
        leaf = cell[:, hierarchy.leaves]
        counts = np.where(leaf >= 0, table.value[leaf], 0.0)
        size = counts.sum(axis=1, keepdims=True)
        inside = (sets @ counts.T).T
        proper = (leaf >= 0).sum(axis=1, keepdims=True) > (sets @ (leaf >= 0).T.astype(float)).T
        tells = self._judged(counts)[:, None] & proper & (inside > 0) & (size - inside <= self.k + GUARD * size)
        large = np.diff(sets.indptr)
        for group in np.flatnonzero(tells.any(axis=1)):
            found = np.flatnonzero(tells[group])
            common = (sets[found] @ sets[found].T).toarray()
            holds_part = ((common == large[found]) & (large[found] < large[found][:, None])).any(axis=1)
            for number, part in zip(found, holds_part, strict=True):
                within = np.zeros(leaf.shape[1], bool)
                within[sets.indices[sets.indptr[number] : sets.indptr[number + 1]]] = True
                told = leaf[group, within & (counts[group] > 0)]
                if own[number] >= 0 and cell[group, own[number]] >= 0:
                    told = cell[group, own[[number]]]
                yield told, not part, np.sort(leaf[group, ~within & (leaf[group] >= 0)])

    def _empty(self, table: Table, hierarchy: Hierarchy, cell: Integers) -> Integers:
        """The cells of categories in which nobody of a group is, where that is sensitive."""
        if not self.zeros:
            return np.zeros(0, np.int64)
        leaf = cell[:, hierarchy.leaves]
        counts = np.where(leaf >= 0, table.value[leaf], 0.0)
        harmless = np.isin(hierarchy.leaves, [hierarchy.position(code) for code in self.exempt])
        return np.asarray(leaf[(leaf >= 0) & (counts == 0) & self._judged(counts)[:, None] & ~harmless])

    def _marked(self, table: Table, shown: Bools, level: Floats, rests: Sequence[Integers]) -> Table:
        old = table.cells
        table = _with_sums(table, rests)
        more = np.maximum(self.k + table.unit - table.value[old:], 0.0)
        sensitive = np.concatenate([shown, np.ones(len(rests), bool)])
        return table.with_primary(self, sensitive, upper=np.concatenate([level, more]), lower=0.0)


def _groups(layout: Layout, variable: int) -> Integers:
    """The cell of each group and code of the variable, -1 where the table has none; shape (groups, codes)."""
    others = layout.codes.copy()
    others[:, variable] = 0
    groups, group = np.unique(others, axis=0, return_inverse=True)
    cell = np.full((len(groups), len(layout.hierarchies[variable].codes)), -1, np.int64)
    cell[group.ravel(), layout.codes[:, variable]] = layout.cell
    return cell


def _with_sums(table: Table, groups: Sequence[Integers]) -> Table:
    """The table with one more cell for the sum of each group of cells, known to its equations and to no layout."""
    if not groups:
        return table
    cells = table.cells + len(groups)
    member = sparse.lil_array((len(groups), cells))
    for row, group in enumerate(groups):
        member[row, group] = 1.0
        member[row, table.cells + row] = -1.0
    sums = table.contributions.union(groups)
    fields = {f.name: [getattr(table.contributions, f.name), getattr(sums, f.name)] for f in dataclasses.fields(sums)}
    changes: dict[str, Any] = {name: np.array([getattr(table, name)[g].sum() for g in groups]) for name in ("value", "cost")}
    changes |= {"status": 0, "frozen": False, "exempt": False, "listed": False, "fired": 0, "lower": np.nan, "upper": np.nan}
    changes |= {"upper_protection": 0.0, "lower_protection": 0.0, "sliding_protection": 0.0}
    changes |= {"shown": np.nan, "shown_low": -np.inf, "shown_high": np.inf, "shown_error": np.nan}
    for name, more in changes.items():
        old = getattr(table, name)
        changes[name] = np.concatenate([old, np.broadcast_to(np.asarray(more, old.dtype), len(groups))])
    return table.replace(
        contributions=Contributions(**{name: np.concatenate(parts) for name, parts in fields.items()}),
        equations=sparse.csr_array(sparse.vstack([_wider(table.equations, cells), member.tocsr()])),
        knowledge=tuple(dataclasses.replace(known, matrix=_wider(known.matrix, cells)) for known in table.knowledge),
        **changes,
    )


def _wider(matrix: sparse.csr_array, cells: int) -> sparse.csr_array:
    return sparse.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], cells))
