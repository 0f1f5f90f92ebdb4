"""The perturbation table of the cell key method: how often, and for which keys, a count changes by how much."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import InputError, some
from discreet.model.contributions import Floats, Integers

__all__ = ["KEYS", "PTable"]

KEYS = 2**32
"""How many different keys a cell can have: the sum of its record keys modulo this."""

CLOSE = 1e-6
"""How far the probabilities of a file may be from a sum of 1, and a target below 0, by rounding of its digits."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PTable:
    """A p-table: arrays over its lines, sorted by block and row, each row a distribution of changes.

    A line says: where the true count (for magnitudes, the anchor of the scale) is ``row``, keys from the ``upper`` of the
    line before (0 in the first one of a row) up to below its own ``upper`` change it by ``change``.

    There are two conventions of keys.  Fractions in [0, 1), ``keys`` None: ``upper`` is the cumulative probability, 1 at the
    end of a row, and a cell key counts as key/2^32.  Whole numbers below ``keys``: ``upper`` is a whole number, ``keys`` at the
    end of a row, and a cell key counts modulo ``keys``.

    ``blocks`` names the block of each line ("all"; magnitudes may have "even", "odd" and "small_cells" ones).  Counts
    beyond the last row look at the last ``repeat`` rows in turn; 1 is: always at the last one.  ``source`` is the file that
    the table was read from.  Tables are equal where their contents are, whatever their source.
    """

    row: Floats
    change: Floats
    upper: Floats
    blocks: NDArray[np.object_]
    keys: int | None = None
    repeat: int = 1
    source: str | None = None

    def __post_init__(self) -> None:
        for name in ("row", "change", "upper"):
            self._keep(name, np.array(getattr(self, name), float) + 0.0)  # no line changes by −0
        self._keep("blocks", np.array(self.blocks, object))
        self._check_lines()
        self._check_rows()
        if self.keys is None:
            upper = self.upper.copy()
            upper[self._last] = 1.0
            self._keep("upper", upper)

    def _keep(self, name: str, array: NDArray[Any]) -> None:
        array.setflags(write=False)
        object.__setattr__(self, name, array)

    # ---------------------------------------------------------------- making one

    @classmethod
    def of(
        cls,
        row: ArrayLike,
        change: ArrayLike,
        probability: ArrayLike,
        *,
        block: str = "all",
        source: str | None = None,
    ) -> PTable:
        """A table of fractional keys, one block, from the probability of each change; the order of lines is kept in a row."""
        order = np.argsort(np.asarray(row, float), kind="stable")
        rows = np.array(row, np.float64)[order]
        chance = np.array(probability, np.float64)[order]
        upper: Floats = np.concatenate([np.cumsum(part) for part in np.split(chance, np.flatnonzero(np.diff(rows)) + 1)])
        changes = np.asarray(change, float)[order]
        return cls(row=rows, change=changes, upper=upper, blocks=np.full(len(rows), block, object), source=source)

    @classmethod
    def of_keys(cls, change: ArrayLike, *, first: int = 1, repeat: int = 1, source: str | None = None) -> PTable:
        """A table of whole keys from the matrix of changes: one line a count from ``first`` on, one column a key from 0 on."""
        matrix = np.asarray(change, float)
        if matrix.ndim != 2 or not matrix.size:
            raise InputError(_named(source), "is no matrix of changes", "give one line a count and one column a key")
        size, keys = matrix.shape
        ends = np.ones((size, keys), bool)
        ends[:, :-1] = matrix[:, 1:] != matrix[:, :-1]
        line, column = np.nonzero(ends)
        return cls(
            row=np.asarray(line + first, np.float64),
            change=matrix[line, column],
            upper=np.asarray(column + 1, np.float64),
            blocks=np.full(len(line), "all", object),
            keys=keys,
            repeat=repeat,
            source=source,
        )

    @classmethod
    def joined(cls, tables: Mapping[str, PTable]) -> PTable:
        """One table of several of fractional keys, each of one block, which gets the name that it has here."""
        for name, table in tables.items():
            if table.keys is not None or len(table.names) > 1:
                raise InputError(
                    _named(table.source), f"cannot be block {name!r}", "join tables of fractional keys and one block"
                )
        blocks = np.repeat(np.array(list(tables), object), [len(table.row) for table in tables.values()])
        return cls(
            row=np.concatenate([table.row for table in tables.values()]),
            change=np.concatenate([table.change for table in tables.values()]),
            upper=np.concatenate([table.upper for table in tables.values()]),
            blocks=blocks,
        )

    # ---------------------------------------------------------------- looking at it

    def __repr__(self) -> str:
        kind = "fractional keys" if self.keys is None else f"{self.keys} keys"
        return f"PTable({len(self._last)} rows, changes up to {self.largest:g}, {kind}, blocks: {', '.join(self.names)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PTable):
            return NotImplemented
        arrays = ((getattr(self, name), getattr(other, name)) for name in ("row", "change", "upper", "blocks"))
        return (self.keys, self.repeat) == (other.keys, other.repeat) and all(np.array_equal(a, b) for a, b in arrays)

    def __hash__(self) -> int:
        arrays = (self.row.tobytes(), self.change.tobytes(), self.upper.tobytes(), tuple(self.blocks))
        return hash((self.keys, self.repeat, *arrays))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the blocks, in order."""
        return tuple(dict.fromkeys(self.blocks))

    def block(self, name: str) -> PTable:
        """The block of this name as a table of its own."""
        lines = self.blocks == name
        if not lines.any():
            raise InputError(_named(self.source), f"has no block {name!r}", f"it has: {some(self.names)}")
        if lines.all():
            return self
        held = {field: getattr(self, field)[lines] for field in ("row", "change", "upper", "blocks")}
        return dataclasses.replace(self, **held)

    @property
    def rows(self) -> Floats:
        """The true counts (or anchors) that have a row, rising; of a table of one block."""
        if len(self.names) > 1:
            raise InputError(_named(self.source), f"has several blocks: {some(self.names)}", "choose one: table.block(name)")
        return self.row[self._last]

    @cached_property
    def probability(self) -> Floats:
        """The probability of each line."""
        lower = np.concatenate([[0.0], self.upper[:-1]])
        lower[np.concatenate([[0], self._last[:-1] + 1])] = 0.0
        return np.asarray((self.upper - lower) / (1 if self.keys is None else self.keys))

    @property
    def largest(self) -> float:
        """The largest change, up or down."""
        return float(np.abs(self.change).max())

    @cached_property
    def mean(self) -> Floats:
        """The mean change of each row."""
        return self._sums(self.probability * self.change)

    @cached_property
    def variance(self) -> Floats:
        """The variance of the change in each row."""
        return np.asarray(self._sums(self.probability * self.change**2) - self.mean**2)

    @cached_property
    def for_counts(self) -> bool:
        """One block of whole counts without a gap, from 0 or 1 on, and whole changes."""
        if len(self.names) > 1:
            return False
        rows = self.rows
        return bool(rows[0] in (0, 1) and (np.diff(rows) == 1).all() and (self.change == np.rint(self.change)).all())

    # ---------------------------------------------------------------- looking things up

    def at(self, index: ArrayLike, key: ArrayLike) -> Floats:
        """The change that the ``index``-th row has for a cell key (sum of record keys modulo 2^32), any shape."""
        scale = KEYS if self.keys is None else self.keys
        place = np.asarray(index, np.int64) * scale + np.asarray(key, np.int64) % scale
        return np.asarray(self.change[np.searchsorted(self._edges, place, side="right")])

    def row_of(self, count: ArrayLike) -> Integers:
        """Which row a count looks at, counted from 0; -1 for a count below the first one, which does not change."""
        self._need_counts()
        whole = np.asarray(count, float)
        size, first = len(self.rows), self.rows[0]
        beyond = whole - first - size
        turned = np.where(beyond < 0, beyond + size, size - self.repeat + beyond % self.repeat)
        return np.asarray(np.maximum(turned, -1)).astype(np.int64)

    def change_of(self, count: ArrayLike, key: ArrayLike) -> Floats:
        """By how much counts of at least 0 with these cell keys change."""
        row = self.row_of(count)
        return np.where(row >= 0, self.at(np.maximum(row, 0), key), 0.0)

    def reading(self, shown: ArrayLike, *, zeros: bool = False) -> tuple[Floats, Floats, Floats]:
        """What a reader who has the table can say of the true count behind a perturbed one: at least, at most, and the error.

        The error is the largest standard deviation of the rows that can show the number, so that it tells no more than
        the number does.  ``zeros`` says that empty cells change too; otherwise they stay 0.
        """
        low, high, error = self._told(zeros)
        number = np.asarray(shown, float)
        last = len(low) - 1
        turns = np.maximum(np.ceil((number - last) / self.repeat), 0) * self.repeat
        place = np.rint(number - turns).astype(np.int64)
        return low[place] + turns, high[place] + turns, error[place]

    def _told(self, zeros: bool) -> tuple[Floats, Floats, Floats]:
        """``reading`` of each number up to where the rows repeat themselves."""
        self._need_counts()
        largest = int(self.largest)
        size = int(self.rows[-1]) + largest + self.repeat
        count = np.arange(size + largest + 1)
        row = self.row_of(count)
        if not zeros:
            row[0] = -1
        starts = np.concatenate([[0], self._last[:-1] + 1])
        width = np.where(row < 0, 1, self._last[row] + 1 - starts[row])
        of = np.repeat(count, width)
        line = np.arange(len(of)) - np.repeat(np.cumsum(width) - width, width) + np.repeat(starts[row], width)
        still = row[of] < 0
        possible = still | (self.probability[line] > 0)
        target = np.rint(of + np.where(still, 0.0, self.change[line])).astype(np.int64)
        kept = possible & (target <= size)
        low, high, variance = np.full(size + 1, np.inf), np.full(size + 1, -np.inf), np.zeros(size + 1)
        np.minimum.at(low, target[kept], of[kept])
        np.maximum.at(high, target[kept], of[kept])
        np.maximum.at(variance, target[kept], np.where(still, 0.0, self.variance[row[of]])[kept])
        low[0], high[0] = 0.0, max(high[0], 0.0)  # cells that nobody can be in stay 0 in any case
        return low, high, np.sqrt(variance)

    # ---------------------------------------------------------------- within

    @cached_property
    def _last(self) -> Integers:
        """The last line of each row."""
        new = (self.row[1:] != self.row[:-1]) | (self.blocks[1:] != self.blocks[:-1])
        return np.flatnonzero(np.append(new, True))

    @cached_property
    def _edges(self) -> Integers:
        """Where the keys of each line end, those of all rows one after the other."""
        scale = KEYS if self.keys is None else self.keys
        ends = np.ceil(self.upper * KEYS) if self.keys is None else self.upper
        return np.minimum(ends, scale).astype(np.int64) + self._row_of_line() * scale

    def _row_of_line(self) -> Integers:
        return np.repeat(np.arange(len(self._last)), np.diff(self._last, prepend=-1))

    def _sums(self, of_lines: Floats) -> Floats:
        return np.asarray(np.bincount(self._row_of_line(), of_lines, len(self._last)))

    def _need_counts(self) -> None:
        if not self.for_counts:
            raise InputError(
                _named(self.source),
                "is not made for counts: its rows are not 0 (or 1), 1, 2 … in one block, or its changes are not whole numbers",
                "give a p-table for counts",
            )

    def _check_lines(self) -> None:
        where = _named(self.source)
        size = len(self.row)
        if not size or any(len(array) != size for array in (self.change, self.upper, self.blocks)):
            raise InputError(where, "its columns are empty or differ in length", "give each line a row, a change and a bound")
        numbers = np.stack([self.row, self.change, self.upper])
        trouble = (
            (~np.isfinite(numbers).all(axis=0), "a number is missing"),
            (self.row < 0, "the true count is negative"),
            (self.row + self.change < -CLOSE, "the change leads below 0"),
        )
        for bad, what in trouble:
            if bad.any():
                raise InputError(where, f"line {self._line(int(np.flatnonzero(bad)[0]))}: {what}", "correct the p-table")
        top = 1.0 if self.keys is None else self.keys
        outside = (self.upper < 0) | (self.upper > top + CLOSE)
        if self.keys is not None:
            outside |= self.upper != np.rint(self.upper)
        if outside.any():
            raise InputError(
                where, f"line {self._line(int(np.flatnonzero(outside)[0]))}: its keys end outside [0, {top:g}]", "correct it"
            )

    def _check_rows(self) -> None:
        where = _named(self.source)
        ends = self._last
        top = 1.0 if self.keys is None else float(self.keys)
        short = np.flatnonzero(np.abs(self.upper[ends] - top) > CLOSE)
        if short.size:
            row, ended = self.row[ends[short[0]]], self.upper[ends[short[0]]]
            what = "the probabilities of a row must add up to 1" if self.keys is None else "each key needs its change"
            raise InputError(where, f"the keys of row {row:g} end at {ended:g} and not at {top:g}", what)
        fall = (self.upper[1:] < self.upper[:-1]) & ~np.isin(np.arange(len(self.row) - 1), ends)
        if fall.any():
            line = self._line(int(np.flatnonzero(fall)[0]) + 1)
            raise InputError(where, f"line {line}: its keys end before those of the line above", "no probability is negative")
        heads = list(zip(self.blocks[ends], self.row[ends], strict=True))
        place = {name: at for at, name in enumerate(self.names)}
        order = [(place[name], row) for name, row in heads]
        if any(after <= before for before, after in pairwise(order)):
            raise InputError(where, "its rows are not in order, or one stands twice", "sort the lines by block, row and change")
        if not 1 <= self.repeat <= len(ends):
            raise InputError(where, f"repeats its last {self.repeat} rows and has {len(ends)}", "repeat fewer rows")

    def _line(self, line: int) -> str:
        return f"{line + 1} (row {self.row[line]:g}, change {self.change[line]:g})"


def _named(source: str | None) -> str:
    return Path(source).name if source else "p-table"
