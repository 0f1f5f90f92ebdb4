"""What swapping did to columns of numbers: their values, means in groups, and correlations."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from discreet.errors import InputError
from discreet.model.contributions import Floats
from discreet.model.encoded import Coded

__all__ = ["Correlation", "GroupMeans", "NumberLoss", "correlation", "group_means", "number_loss"]


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class NumberLoss:
    """What happened to the ``values`` of a ``column`` of numbers that are not missing.  Confidential.

    ``changed`` differ from what they were; of the records that have a value before and after, ``mean_change`` is the mean of
    abs(after - before).  ``mean_before`` and ``mean_after`` are weighted where the file has weights, and equal where it has
    none, as the values only changed places.  ``deviation`` is the standard deviation of the values, which stays.
    """

    column: str
    values: int
    changed: int
    mean_change: float
    mean_before: float
    mean_after: float
    deviation: float

    def __repr__(self) -> str:
        return f"NumberLoss({self.column}: {self.changed} of {self.values} values changed)"

    @property
    def relative_change(self) -> float:
        """The mean change as a share of the standard deviation; 0 where all values are equal."""
        return self.mean_change / self.deviation if self.deviation else 0.0


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class Correlation:
    """Pearson's correlation of two columns over the records that have both, before and after; NaN where one is constant."""

    first: str
    second: str
    before: float
    after: float

    def __repr__(self) -> str:
        return f"Correlation({self.first}, {self.second})"


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class GroupMeans:
    """How the means of a ``column`` changed in the groups that the codes of ``by`` make, and that have values both before and
    after: the ``largest`` change and the ``root_mean_square`` one, as shares of the column's standard deviation."""

    column: str
    by: str
    groups: int
    largest: float
    root_mean_square: float

    def __repr__(self) -> str:
        return f"GroupMeans({self.column} by {self.by}: {self.groups} groups)"


def number_loss(column: str, before: Floats, after: Floats, weights: tuple[Floats, Floats] | None) -> NumberLoss:
    """The loss of one column; arrays of shape (records,), the weights before and after.

    Errors: InputError where the column has no value, and for weights that are missing, negative or 0 altogether.
    """
    held, both = ~np.isnan(before), ~np.isnan(before) & ~np.isnan(after)
    if not held.any():
        raise InputError(f"column {column!r}", "holds no number", "choose another column")
    change = np.abs(after[both] - before[both])
    one, other = (None, None) if weights is None else weights
    return NumberLoss(
        column=column,
        values=int(held.sum()),
        changed=int(np.count_nonzero(change)) + int((held & ~both).sum()),
        mean_change=float(change.mean()) if len(change) else 0.0,
        mean_before=_mean(column, before, one),
        mean_after=_mean(column, after, other),
        deviation=float(before[held].std()),
    )


def correlation(first: str, second: str, one: tuple[Floats, Floats], other: tuple[Floats, Floats]) -> Correlation:
    """The correlation of two columns before and after; each as a pair of arrays of shape (records,)."""
    before, after = (_pearson(x, y) for x, y in zip(one, other, strict=True))
    return Correlation(first=first, second=second, before=before, after=after)


def group_means(column: str, numbers: tuple[Floats, Floats], by: str, groups: tuple[Coded, Coded]) -> GroupMeans:
    """The means of a column in the groups of another, both before and after."""
    size = len(groups[0].categories)
    means = []
    for values, group in zip(numbers, groups, strict=True):
        held = ~np.isnan(values)
        codes = group.codes[held]
        many = np.bincount(codes, minlength=size)
        sums = np.bincount(codes, values[held], size)
        means.append(np.divide(sums, many, out=np.full(size, np.nan), where=many > 0))
    change = np.abs(means[1] - means[0])
    change = change[~np.isnan(change)]
    deviation = float(numbers[0][~np.isnan(numbers[0])].std())
    if deviation:
        change = change / deviation
    return GroupMeans(
        column=column,
        by=by,
        groups=len(change),
        largest=float(change.max(initial=0.0)),
        root_mean_square=float(np.sqrt(np.mean(change**2))) if len(change) else 0.0,
    )


def _mean(column: str, values: Floats, weight: Floats | None) -> float:
    """The mean of the values that are not missing, by sums that are exact, so that their order changes no digit."""
    held = ~np.isnan(values)
    if weight is None:
        return math.fsum(values[held]) / int(held.sum())
    own = weight[held]
    if not (np.isfinite(own) & (own >= 0)).all() or not own.any():
        raise InputError("the weights", f"of the values of {column!r} are missing, negative or all 0", "give each record one")
    return math.fsum(values[held] * own) / math.fsum(own)


def _pearson(x: Floats, y: Floats) -> float:
    both = ~np.isnan(x) & ~np.isnan(y)
    x, y = x[both], y[both]
    if not len(x) or x.min() == x.max() or y.min() == y.max():
        return math.nan
    a, b = x - x.mean(), y - y.mean()
    return float((a * b).sum()) / math.sqrt(float((a * a).sum()) * float((b * b).sum()))
