"""What swapping cost: cells of margins that changed, values that moved, and how numbers now go together.

The figures are for the data steward; the true counts follow from some of them.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.loss.number_changes import Correlation, GroupMeans, NumberLoss, correlation, group_means, number_loss
from discreet.model.combinations import combinations
from discreet.model.contributions import Floats
from discreet.model.encoded import Coded
from discreet.model.margins import Margins
from discreet.model.swap_file import SwapFile

__all__ = ["ColumnLoss", "MarginLoss", "SwapLoss", "swap_loss"]


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class MarginLoss:
    """How far the counts t of one margin, as the file stands, lie from the true ones a.

    ``cells`` hold a record before or after; in ``changed`` of them t is not a.  ``largest`` is the largest abs(t - a), ``size``
    the number of records, and ``moved`` = ½ Σ abs(t - a) of them are counted in another cell.  ``hellinger`` is the Hellinger
    distance sqrt(½ Σ (sqrt(t) - sqrt(a))²).
    """

    variables: tuple[str, ...]
    size: int
    cells: int
    changed: int
    largest: int
    moved: int
    hellinger: float

    def __repr__(self) -> str:
        return f"MarginLoss({' × '.join(self.variables)}: {self.changed} of {self.cells} cells changed)"

    @property
    def share(self) -> float:
        """The share of the cells that changed."""
        return self.changed / self.cells

    @property
    def hellinger_utility(self) -> float:
        """1 - Hellinger distance / sqrt(number of records): 1 where nothing changes."""
        return 1 - self.hellinger / float(np.sqrt(self.size))


@dataclasses.dataclass(frozen=True, kw_only=True)
class ColumnLoss:
    """Of how many records a ``column`` has the value of another record: ``swapped``, and ``changed`` where it differs."""

    column: str
    swapped: int
    changed: int


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SwapLoss:
    """The information lost by all swaps of a file.  Confidential.

    Of ``records``, ``swapped`` have a value of another record in some column, and ``changed`` a value that differs from
    their own; these have ``values_changed`` such values together.
    """

    records: int
    swapped: int
    changed: int
    values_changed: int
    columns: tuple[ColumnLoss, ...]
    margins: tuple[MarginLoss, ...]
    numbers: tuple[NumberLoss, ...]
    correlations: tuple[Correlation, ...]
    means: tuple[GroupMeans, ...]

    def __repr__(self) -> str:
        return f"SwapLoss({self.changed} of {self.records} records changed, {len(self.margins)} margins)"

    @property
    def swapped_share(self) -> float:
        """The share of the records of which some column moved."""
        return self.swapped / self.records

    @property
    def changed_share(self) -> float:
        """The share of the records that differ from what they were."""
        return self.changed / self.records

    @property
    def distance(self) -> float:
        """In how many columns a changed record differs from what it was, on average; 0 where none changed."""
        return self.values_changed / self.changed if self.changed else 0.0

    def rows(self) -> list[dict[str, object]]:
        """Every margin as a row of plain values, for a frame of your choice."""
        found = []
        for each in self.margins:
            plain = {field.name: getattr(each, field.name) for field in dataclasses.fields(each)}
            derived = {"share": each.share, "hellinger_utility": each.hellinger_utility}
            found.append(plain | {"variables": " × ".join(each.variables)} | derived)
        return found


def swap_loss(
    file: SwapFile,
    margins: Margins | Iterable[Sequence[str] | str],
    *,
    numbers: Sequence[str] = (),
    by: Sequence[str] = (),
) -> SwapLoss:
    """Compare the records as they stand, after all swaps, with what they were at first.

    ``margins``: sets of columns whose tables of counts are compared, those that are not fixed above all.  ``numbers``: columns
    of numbers, whose means, values and correlations with each other are compared, and also their means in the groups of each
    of the columns ``by``.  An empty code is a code like any other; a missing number is left out.

    What it does not do: weigh counts and correlations, where the file has weights.

    Errors: InputError for a column that is not there, or named twice in one place, for ``by`` without numbers, and for a
    column of numbers that holds others.
    """
    sets = [(margin,) if isinstance(margin, str) else tuple(margin) for margin in _sets(margins)]
    for what, names in (*((f"margin {' × '.join(margin)}", margin) for margin in sets), ("numbers", numbers), ("by", by)):
        if len(set(names)) < len(names) or (what.startswith("margin") and not names):
            raise InputError(what, "is empty or names a column twice", "name each column once")
    if by and not numbers:
        raise InputError(
            "by", "groups have means of numbers, and no numbers are named", "name columns of numbers: numbers = […]"
        )
    names = list(dict.fromkeys([*itertools.chain(*sets), *by, *(name for name in file.origin if name not in numbers)]))
    before = dict(zip(names, file.coded(names, true=True), strict=True))
    after = dict(zip(names, file.coded(names), strict=True))
    held = {name: (file.numbers(name, true=True), file.numbers(name)) for name in numbers}
    weight = file.microdata.roles.weight
    weights = None if weight is None else (file.numbers(weight, true=True), file.numbers(weight))
    swapped, changed, columns = np.zeros(len(file.key), bool), np.zeros(len(file.key), np.int64), []
    for name, origin in file.origin.items():
        moved = origin != np.arange(len(origin))
        differ = _differ(*held[name]) if name in held else before[name].codes != after[name].codes
        columns.append(ColumnLoss(column=name, swapped=int(moved.sum()), changed=int(differ.sum())))
        swapped |= moved
        changed += differ
    return SwapLoss(
        records=len(file.key),
        swapped=int(swapped.sum()),
        changed=int(np.count_nonzero(changed)),
        values_changed=int(changed.sum()),
        columns=tuple(columns),
        margins=tuple(_margin(margin, before, after) for margin in sets),
        numbers=tuple(number_loss(name, *pair, weights) for name, pair in held.items()),
        correlations=tuple(
            correlation(one, other, held[one], held[other]) for one, other in itertools.combinations(numbers, 2)
        ),
        means=tuple(group_means(name, held[name], group, (before[group], after[group])) for name in numbers for group in by),
    )


def _sets(margins: Margins | Iterable[Sequence[str] | str]) -> Iterable[Sequence[str] | str]:
    return margins.sets if isinstance(margins, Margins) else margins


def _differ(before: Floats, after: Floats) -> NDArray[np.bool_]:
    """Where two numbers, or a number and a missing one, are not the same."""
    return np.asarray((before != after) & ~(np.isnan(before) & np.isnan(after)))


def _margin(variables: tuple[str, ...], before: Mapping[str, Coded], after: Mapping[str, Coded]) -> MarginLoss:
    codes = [np.stack([held[name].codes for name in variables], axis=1) for held in (before, after)]
    cells = combinations(np.concatenate(codes), [len(before[name].categories) for name in variables])
    records = len(codes[0])
    true, now = (np.bincount(of, minlength=len(cells.counts)) for of in (cells.of[:records], cells.of[records:]))
    change = np.abs(now - true)
    return MarginLoss(
        variables=variables,
        size=records,
        cells=len(change),
        changed=int(np.count_nonzero(change)),
        largest=int(change.max()),
        moved=int(change.sum()) // 2,
        hellinger=float(np.sqrt(((np.sqrt(now) - np.sqrt(true)) ** 2).sum() / 2)),
    )
