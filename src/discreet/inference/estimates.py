"""Estimates from a released file, with what is needed to judge them: standard errors, intervals, naive values and flags."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError, ParameterError, near, some
from discreet.inference.axes import Axis
from discreet.model.contributions import Floats, Integers

__all__ = ["Estimates", "normal_estimates", "quantile"]

MOST_JOINT = 5000
"""Cells whose covariances are given at once: 200 MB."""

LINES = 200
"""Shown as text; ``rows`` has all."""

ROUNDED = 1e-12
"""A variance below 0 by no more than this share of the squared estimate is a rounded 0."""

NUMBERS = ("estimate", "error", "low", "high", "naive")


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Estimates:
    """A table of estimates; all arrays have one axis for each of ``axes``.

    ``estimate``; ``variance`` (0 where its estimate was negative: ``clipped``); ``low`` and ``high`` the interval at ``level``;
    ``naive`` the same from the released codes as if nothing had been changed; ``source`` says which variance it is, and
    ``notes`` what else an analyst must know.
    """

    what: str
    by: tuple[str, ...]
    axes: tuple[Axis, ...]
    estimate: Floats
    variance: Floats
    low: Floats
    high: Floats
    naive: Floats
    clipped: NDArray[np.bool_]
    level: float
    source: str
    notes: tuple[str, ...] = ()
    joint: Callable[[Integers], Floats] | None = None

    def __post_init__(self) -> None:
        for array in (self.estimate, self.variance, self.low, self.high, self.naive, self.clipped):
            array.setflags(write=False)

    def __repr__(self) -> str:
        return f"Estimates({self.what} by {', '.join(self.by) or 'nothing'}: {self.estimate.size} cells)"

    @property
    def error(self) -> Floats:
        """The standard error of each cell."""
        return np.asarray(np.sqrt(self.variance), float)

    @property
    def negative(self) -> NDArray[np.bool_]:
        """Where the estimate is below 0, which unbiased estimates of small numbers often are."""
        return np.asarray(self.estimate < 0)

    def position(self, codes: Mapping[str, str] | Sequence[str]) -> int:
        """The place in the raveled table of the cell with these codes, by column or in the order of ``by``.

        Errors: InputError for a column or code that the table has not.
        """
        wanted = dict(codes) if isinstance(codes, Mapping) else dict(zip(self.by, codes, strict=False))
        if set(wanted) != set(self.by) or len(codes) != len(self.by):
            problem = f"needs one code for each of: {', '.join(self.by) or 'no column'}"
            raise InputError("cell", problem, "name each column of the table once")
        places = []
        for axis in self.axes:
            category = tuple(wanted[column] for column in axis.columns)
            if category not in axis.categories:
                label = " / ".join(category)
                problem = f"there is no category {label!r} of {' × '.join(axis.columns)}{near(label, axis.labels)}"
                raise InputError("cell", problem, f"its categories are: {some(axis.labels)}")
            places.append(axis.categories.index(category))
        return int(np.ravel_multi_index(places, self.estimate.shape)) if places else 0

    def covariance(self, cells: Sequence[int | Mapping[str, str] | Sequence[str]] | None = None) -> Floats:
        """The covariance matrix of the estimates of these cells, of all by default; shape (cells, cells).

        A cell is given by its codes, or by its place in the raveled table.  Variances are those estimated, never clipped.

        Errors: InputError for cells that are not there, for more than 5,000 at once, and where no covariance is known.
        """
        if self.joint is None:
            raise InputError(self.what, "have no covariances in closed form", "take those of the unbiased estimates")
        wanted = range(self.estimate.size) if cells is None else cells
        if len(wanted) > MOST_JOINT:
            raise InputError(self.what, f"the covariances of {len(wanted)} cells are too many", f"choose up to {MOST_JOINT}")
        places = [cell if isinstance(cell, int | np.integer) else self.position(cell) for cell in wanted]
        outside = sum(not 0 <= place < self.estimate.size for place in places)
        if outside:
            raise InputError(self.what, f"{outside} cells are outside the table", f"it has {self.estimate.size} cells")
        return self.joint(np.array(places, np.int64))

    def columns(self) -> dict[str, list[Any]]:
        """The table as columns, one line a cell, ready for any library of frames."""
        places = np.unravel_index(np.arange(self.estimate.size), self.estimate.shape) if self.axes else ()
        found: dict[str, list[Any]] = {}
        for column in self.by:
            at, axis = next((i, axis) for i, axis in enumerate(self.axes) if column in axis.columns)
            codes = [category[axis.columns.index(column)] for category in axis.categories]
            found[column] = [codes[place] for place in places[at].tolist()]
        for name in NUMBERS:
            found[name] = np.ravel(getattr(self, name)).tolist()
        return found | {"negative": np.ravel(self.negative).tolist(), "clipped": np.ravel(self.clipped).tolist()}

    def rows(self) -> list[dict[str, Any]]:
        """The table as one dict a cell: its codes, estimate, standard error, interval, naive value and flags."""
        columns = self.columns()
        return [dict(zip(columns, line, strict=True)) for line in zip(*columns.values(), strict=True)]

    def table(self, most: int = LINES) -> str:
        """The table as plain text, its first ``most`` lines."""
        columns = {name: column[:most] for name, column in self.columns().items()}
        flags = [
            ", ".join(flag for flag, on in (("negative", below), ("variance clipped at 0", cut)) if on)
            for below, cut in zip(columns.pop("negative"), columns.pop("clipped"), strict=True)
        ]
        shown = {name: [code or "(empty)" for code in columns[name]] for name in self.by}
        shown |= {name: [_number(float(number)) for number in columns[name]] for name in NUMBERS}
        if any(flags):
            shown["flags"] = flags
        heads = dict(zip(NUMBERS, ("estimate", "std. error", f"{self.level:.0%} low", "high", "naive"), strict=True))
        cells = [[heads.get(name, name), *map(str, column)] for name, column in shown.items()]
        widths = [max(map(len, column)) for column in cells]
        left = [name in self.by or name == "flags" for name in shown]
        lines = [
            "  ".join(text.ljust(w) if to_left else text.rjust(w) for text, w, to_left in zip(line, widths, left, strict=True))
            for line in zip(*cells, strict=True)
        ]
        if self.estimate.size > most:
            lines.append(f"… and {self.estimate.size - most} more cells")
        return "\n".join(line.rstrip() for line in lines)

    def __str__(self) -> str:
        title = f"{self.what} by {', '.join(self.by)}" if self.by else self.what
        notes = ["", *self.notes] if self.notes else []
        return "\n".join([title, f"variance: {self.source}", "", self.table(), *notes])


def normal_estimates(
    *,
    what: str,
    by: Sequence[str],
    axes: tuple[Axis, ...],
    estimate: Floats,
    variance: Floats,
    naive: Floats,
    level: float,
    source: str,
    notes: Sequence[str] = (),
    joint: Callable[[Integers], Floats] | None = None,
) -> Estimates:
    """Estimates with intervals by the normal distribution; negative estimates of variance become 0 and are flagged.

    The arrays may have an axis of length 1 for each of ``axes`` that has no column; these are left out.
    """
    axes = tuple(axis for axis in axes if axis.columns)
    shape = tuple(len(axis) for axis in axes)
    estimate, variance, naive = (np.reshape(array, shape) for array in (estimate, variance, naive))
    clipped = variance < -ROUNDED * np.maximum(np.abs(estimate), np.abs(naive)) ** 2
    variance = np.maximum(variance, 0.0)
    reach = quantile(level) * np.sqrt(variance)
    more = list(notes)
    if clipped.any():
        more.append(f"{int(clipped.sum())} negative estimates of variance were set to 0: the cells hold too few records.")
    if np.isnan(estimate).any():
        more.append(
            f"{int(np.isnan(estimate).sum())} cells have no value: what they are divided by is estimated as 0 or below."
        )
    if (estimate < 0).any():
        text = f"{int((estimate < 0).sum())} estimates are negative, as unbiased estimates of small numbers can be;"
        more.append(f"{text} em_counts and truncated give none below 0.")
    return Estimates(
        what=what,
        by=tuple(by),
        axes=axes,
        estimate=estimate,
        variance=variance,
        low=estimate - reach,
        high=estimate + reach,
        naive=naive,
        clipped=clipped,
        level=level,
        source=source,
        notes=tuple(more),
        joint=joint,
    )


def quantile(level: float) -> float:
    """How many standard errors an interval of this level reaches to each side.

    Errors: ParameterError for a level that is none.
    """
    if not 0 < level < 1:
        raise ParameterError("level", f"must be between 0 and 1, not {level:g}", "0.95 means 95 %")
    return NormalDist().inv_cdf((1 + level) / 2)


def _number(number: float) -> str:
    if not np.isfinite(number):
        return "–"
    return f"{number:,.1f}" if abs(number) >= 100 else f"{number:.4g}"
