"""What other numbers than the true ones do to a table as a whole: does it still add up, rank and relate as it did?"""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np

from discreet.loss.spread import Spread, round_steps
from discreet.model.contributions import Floats, Integers
from discreet.model.layout import Layout
from discreet.model.table import Bools, Table

__all__ = ["Additivity", "Association", "Order", "additivity", "associations", "orders"]

_MOST_KEYS = 2**31


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class Additivity:
    """Whether totals equal the sum of their parts, over the ``equations`` whose cells are all shown.

    ``left_out`` equations have a cell that is not shown; ``broken`` are off by half a unit of the last published decimal or
    more; ``gap`` spreads the sum of the parts less the total over all ``equations``.
    """

    equations: int
    left_out: int
    broken: int
    gap: Spread

    def __repr__(self) -> str:
        return f"Additivity({self.broken} of {self.equations} equations do not add up)"


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class Order:
    """What becomes of the ranking of the codes of one ``level`` of a ``variable``, all other variables held fixed.

    ``neighbours`` pairs that follow each other in the ranking by true value and differ; of these, ``turned`` are shown in the
    opposite order and ``tied`` as equal.  ``correlation`` Spearman's, the mean over ``rankings`` lines (those of at least
    three cells that are not all equal); NaN where there is none.
    """

    table: str
    variable: str
    level: int
    neighbours: int
    turned: int
    tied: int
    rankings: int
    correlation: float

    def __repr__(self) -> str:
        return f"Order({self.variable} level {self.level}: {self.turned} of {self.neighbours} neighbours changed places)"


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class Association:
    """How strongly two spanning variables go together in the two-way table of their finest codes, all others at the total.

    Cramér's V = sqrt(χ² / (N · min(rows - 1, columns - 1))), from the ``true`` and the ``shown`` numbers; ``chi_squared`` and
    ``chi_squared_shown`` the χ² of independence behind it.
    """

    table: str
    variables: tuple[str, str]
    cells: int
    true: float
    shown: float
    chi_squared: float
    chi_squared_shown: float

    def __repr__(self) -> str:
        return f"Association({' × '.join(self.variables)}: {self.cells} cells)"


def additivity(table: Table) -> Additivity:
    """The gap of every equation whose cells are all shown; gaps within the precision of a float count as none."""
    numbers = table.numbers
    known = ~np.isnan(numbers)
    filled = np.where(known, numbers, 0.0)
    size = abs(table.equations)
    whole = size @ (~known).astype(float) == 0
    gap = (table.equations @ filled)[whole]
    gap = np.where(np.abs(gap) <= 1e-11 * (size @ np.abs(filled))[whole], 0.0, gap)
    decimals = table.decimals if table.published_decimals is None else table.published_decimals
    broken = np.abs(gap) >= 0.5 * 10.0**-decimals
    most = float(np.abs(gap).max(initial=0.0))
    return Additivity(
        equations=int(whole.sum()),
        left_out=int((~whole).sum()),
        broken=int(broken.sum()),
        gap=Spread.of(gap, round_steps(most, whole=table.decimals == 0)),
    )


# -------------------------------------------------------------------- ranks


def orders(table: Table) -> tuple[Order, ...]:
    """One :class:`Order` for each level below the total of each spanning variable of each layout."""
    numbers = table.numbers
    place = {name: _places(column) for name, column in (("true", table.value), ("shown", numbers))}
    out = []
    for layout in table.layouts:
        lines = np.flatnonzero(~np.isnan(numbers[layout.cell]))
        cell = layout.cell[lines]
        for v, (name, hierarchy) in enumerate(zip(layout.variables, layout.hierarchies, strict=True)):
            level = hierarchy.level[layout.codes[lines, v]]
            within = np.flatnonzero(level > 0)
            if not within.size:
                continue
            group = _rest(layout, lines[within], v) * (hierarchy.depth + 1) + level[within]
            ranked = _Ranked(group, cell[within], table.value, numbers, place)
            out += [
                ranked.order(level[within] == at, table=layout.name, variable=name, level=at)
                for at in range(1, hierarchy.depth + 1)
            ]
    return tuple(out)


def _places(column: Floats) -> Integers:
    """The place of each cell in the order of the column, ties in the order of the cells."""
    place = np.empty(len(column), np.int64)
    place[np.argsort(column, kind="stable")] = np.arange(len(column))
    return place


def _rest(layout: Layout, lines: Integers, variable: int) -> Integers:
    """A number for each combination of the codes of the other variables."""
    key, many = np.zeros(len(lines), np.int64), 1
    for v, hierarchy in enumerate(layout.hierarchies):
        if v == variable:
            continue
        many *= len(hierarchy.codes)
        key = key * len(hierarchy.codes) + layout.codes[lines, v]
        if many > _MOST_KEYS:
            found, key = np.unique(key, return_inverse=True)
            many = len(found)
    return key


class _Ranked:
    """Cells in groups, ranked within each by their true and by their shown numbers."""

    def __init__(self, group: Integers, cell: Integers, value: Floats, shown: Floats, place: dict[str, Integers]) -> None:
        self.group, self.value, self.shown = group, value[cell], shown[cell]
        cells = len(value)
        by_value = np.argsort(group * cells + place["true"][cell])
        by_shown = np.argsort(group * cells + place["shown"][cell])
        self.order_of = by_value
        sorted_group = group[by_value]
        self.first = np.flatnonzero(np.diff(sorted_group, prepend=-1))
        self.size = np.diff(self.first, append=len(group))
        self.ranks = [_mid_ranks(self.value, by_value, self.first), _mid_ranks(self.shown, by_shown, self.first)]

    def order(self, chosen: Bools, *, table: str, variable: str, level: int) -> Order:
        """The order of the groups whose cells are chosen."""
        left, right = self.order_of[:-1], self.order_of[1:]
        apart = (self.group[left] == self.group[right]) & chosen[left] & (self.value[left] != self.value[right])
        rise = self.shown[right[apart]] - self.shown[left[apart]]
        spearman = self._spearman[chosen[self.order_of[self.first]]]
        spearman = spearman[~np.isnan(spearman)]
        return Order(
            table=table,
            variable=variable,
            level=level,
            neighbours=int(apart.sum()),
            turned=int((rise < 0).sum()),
            tied=int((rise == 0).sum()),
            rankings=len(spearman),
            correlation=float(spearman.mean()) if spearman.size else float("nan"),
        )

    @property
    def _spearman(self) -> Floats:
        """The rank correlation within each group, in sorted order; NaN where it says nothing."""
        middle = np.repeat((self.size - 1) / 2, self.size)
        one, other = (ranks[self.order_of] - middle for ranks in self.ranks)
        products = [np.add.reduceat(product, self.first) for product in (one * other, one * one, other * other)]
        says = (self.size >= 3) & (products[1] > 0) & (products[2] > 0)
        out = np.full(len(self.size), np.nan)
        out[says] = products[0][says] / np.sqrt(products[1][says] * products[2][says])
        return out


def _mid_ranks(column: Floats, order: Integers, first: Integers) -> Floats:
    """The rank of each cell within its group, equal numbers sharing the mean of their ranks."""
    starts = np.zeros(len(order), bool)
    starts[first] = True
    ordered = column[order]
    starts[1:] |= ordered[1:] != ordered[:-1]
    run = np.flatnonzero(starts)
    length = np.diff(run, append=len(order))
    middle = np.repeat(run + (length - 1) / 2, length)
    ranks = np.empty(len(order))
    ranks[order] = middle - np.repeat(first, np.diff(first, append=len(order)))
    return ranks


# -------------------------------------------------------------------- association


def associations(table: Table) -> tuple[Association, ...]:
    """One :class:`Association` for each two variables of a layout whose two-way table is shown whole and has no negatives."""
    numbers = table.numbers
    out = []
    for layout in table.layouts:
        for v, w in itertools.combinations(range(len(layout.variables)), 2):
            lines = _two_way(layout, v, w)
            cell = layout.cell[lines]
            true, shown = table.value[cell], numbers[cell]
            if np.isnan(shown).any() or min(true.min(initial=0), shown.min(initial=0)) < 0:
                continue
            codes = layout.codes[lines][:, [v, w]].astype(np.int64)
            of_true, of_shown = _cramer(codes, true), _cramer(codes, shown)
            if of_true and of_shown:
                names = (layout.variables[v], layout.variables[w])
                strengths = {"true": of_true[0], "shown": of_shown[0]}
                chi = {"chi_squared": of_true[1], "chi_squared_shown": of_shown[1]}
                out.append(Association(table=layout.name, variables=names, cells=len(cell), **strengths, **chi))
    return tuple(out)


def _two_way(layout: Layout, v: int, w: int) -> Integers:
    """The lines of the finest codes of two variables, with the totals of all others."""
    chosen = np.ones(len(layout.codes), bool)
    for u, hierarchy in enumerate(layout.hierarchies):
        if u in (v, w):
            leaf = np.zeros(len(hierarchy.codes), bool)
            leaf[hierarchy.leaves] = True
            chosen &= leaf[layout.codes[:, u]]
        else:
            chosen &= layout.codes[:, u] == 0
    return np.flatnonzero(chosen)


def _cramer(codes: Integers, number: Floats) -> tuple[float, float] | None:
    """Cramér's V and χ² of a two-way table; None where it has no two rows or no two columns."""
    row, column = np.bincount(codes[:, 0], number), np.bincount(codes[:, 1], number)
    fewest = min(int((row > 0).sum()), int((column > 0).sum()))
    if fewest < 2:
        return None
    held = number > 0
    expected = row[codes[held, 0]] * column[codes[held, 1]]
    mean_square = max(0.0, float((number[held] ** 2 / expected).sum()) - 1.0)
    return float(np.sqrt(mean_square / (fewest - 1))), mean_square * float(number.sum())
