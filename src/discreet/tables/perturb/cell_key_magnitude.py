"""The cell key method for magnitudes: noise in proportion to the largest contributions, looked up by the cell key."""

from __future__ import annotations

import dataclasses
import math
import time
from functools import cached_property
from typing import ClassVar

import numpy as np

from discreet.errors import InputError, ParameterError
from discreet.method import check_params, param
from discreet.model.contributions import Floats, Integers
from discreet.model.noise import mixed
from discreet.model.ptable import KEYS, PTable
from discreet.model.showing import need_contributions, need_keys, sensitive_cells, to_show
from discreet.model.table import Bools, Table

__all__ = ["CellKeyMagnitude"]

MOST_LAYERS = 6
MOST_DIGITS = 9
POWER = 3.0
"""How fast the flex function falls from the share of small amounts to that of large ones, unless told otherwise."""

DIRECTION = 0
"""The tag of the key that gives noise its direction; those of the layers are 1, 2 …"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class CellKeyMagnitude:
    """Each sum is shown with noise that is a share of its largest contributions and is looked up by its cell key.

    With the value X of a cell, its largest weighted contributions x₁ … x_k (by absolute value) and the running value z,
    which is X at first, layer j adds ``δ_j · v_j`` to z, away from 0 where v_j > 0; ``δ_j = min(ε_j · m(x_j) · |x_j|, |z|)``.
    v_j is what the p-table has for the key of the layer at the scale ``a = |z| / δ_j``: the last row where a lies beyond
    it, and between two rows the line between their changes for the same key.  As no change of a p-table leads below 0,
    no number changes its sign, and zeros stay zero.  ``base`` takes the weighted mean of the cell in place of x₁, or X itself.

    The share is ``m(x) = p``, or with a ``flex_point`` f and a ``small_share`` s ``m(x) = s`` below f and
    ``m(x) = p + (s·x/f − p) · (2f/(f + x))^q`` from there on, which comes down from s to p.

    The blocks of the p-table say the rest.  ``all`` is for every cell; ``even`` and ``odd`` in its place are for cells with
    such a number of contributors, with one layer only.  ``small_cells`` is for cells with ``|X| < √V / (s·√Σε²)``, V the
    variance of its last row: there is one layer then, with δ = 1.  Noise has mean 0 where the rows of the p-table have.
    ``extra`` μ widens the first layer of sensitive cells to ``δ₁ · (μ + |v₁|)`` in the direction of v₁ (where v₁ = 0, of
    another key), but not beyond 0; these cells are biased where the row of the p-table is not symmetric.

    Errors are root mean squares over all keys, taken layer by layer from X; those of cells with ``extra`` noise leave out
    that it stops at 0.  What a number tells for certain is taken to be the sign of the value alone: how far it can be off
    depends on the contributions, and is much more than it usually is.

    The cell key is that of all records in the cell, those with a response of 0 among them.  Where these shall not count,
    tabulate without them.

    Guards against: an estimate of a large contribution that is closer than the noise on it, and differences between tables,
    as one contributor more or less gives the cell another key.
    Does not guard against: averages over many cells with the same large contributions, cells of both signs that add up to
    exactly 0 or nearly so, and the addition of cells, whose numbers no longer add up.
    """

    NAME: ClassVar[str] = "cell-key-magnitude"
    SOURCE: ClassVar[str] = (
        "Giessing and Tent (2019), Concepts for generalising tools implementing the cell key method to the case of continuous "
        "variables, UNECE/Eurostat work session on statistical data confidentiality; parameters as in the R package cellKey"
    )

    ptable: PTable | str = param(  # noqa: RUF009 - a field, as all others
        doc="the p-table, or in a plan the path of its file: its blocks are all, or even and odd, and small_cells beside them"
    )
    base: str = param(
        "top",
        "what noise is in proportion to: the largest contributions, the mean contribution, or the value itself",
        choices=("top", "mean", "sum"),
    )
    layers: tuple[float, ...] = param(
        (1.0,), "ε: how much of its noise each of the largest contributions carries, falling from 1", at_least=0, at_most=1
    )
    share: float = param(
        0.05,
        "p: the noise of one unit of change, of large amounts if there is a flex point",
        unit="share",
        above=0,
        at_most=1,
    )
    flex_point: float | None = param(None, "f: the amount above which the share falls from small_share to share", above=0)
    small_share: float | None = param(None, "s: the share of amounts up to the flex point", unit="share", above=0, at_most=1)
    power: float | None = param(None, "q: how fast the share falls above the flex point; 3 when not given", at_least=1)
    extra: float = param(0.0, "μ: units of change added to the first layer of sensitive cells that are shown", at_least=0)
    keys: str = param(
        "hash",
        "the key of layer j: a hash of the cell key, or its decimals turned by j − 1 places (rotate) or j places (rotate-all)",
        choices=("hash", "rotate", "rotate-all"),
    )
    digits: int | None = param(
        None, "how many decimals the record keys have, for keys that are rotated", at_least=1, at_most=MOST_DIGITS
    )
    sensitive: str = sensitive_cells()

    def __post_init__(self) -> None:
        check_params(self)
        self._check_layers()
        if isinstance(self.ptable, PTable):
            self._check_blocks(self.ptable)
        if (self.flex_point is None) != (self.small_share is None):
            raise ParameterError(f"{self.NAME}.flex_point", "goes together with small_share", "give both or neither")
        if self.power is not None and self.flex_point is None:
            raise ParameterError(f"{self.NAME}.power", "is of no use without a flex point", "give flex_point and small_share")
        if self.small_share is not None and self.small_share < self.share:
            raise ParameterError(f"{self.NAME}.small_share", "is below share", "give at least as much")
        if (self.digits is None) != (self.keys == "hash"):
            raise ParameterError(f"{self.NAME}.digits", "goes together with keys that are rotated", "give both or neither")
        if self.extra and self.sensitive == "hide":
            raise ParameterError(f"{self.NAME}.extra", "is for cells that are hidden", 'set sensitive = "show"')

    def _check_layers(self) -> None:
        where = f"{self.NAME}.layers"
        if not 1 <= len(self.layers) <= MOST_LAYERS:
            raise ParameterError(where, f"names {len(self.layers)} contributions", f"give 1 to {MOST_LAYERS} numbers")
        if self.layers[0] != 1 or any(after > before for before, after in zip(self.layers, self.layers[1:], strict=False)):
            raise ParameterError(where, "does not fall from 1", "give 1 to the largest contribution and no more to the next")
        if len(self.layers) > 1 and self.base != "top":
            raise ParameterError(where, f"has several numbers, and base is {self.base!r}", 'leave it out, or set base = "top"')

    def _check_blocks(self, ptable: PTable) -> None:
        where, names = f"{self.NAME}.ptable", set(ptable.names)
        if names - {"small_cells"} not in ({"all"}, {"even", "odd"}):
            problem = f"has the blocks {', '.join(ptable.names)}"
            raise ParameterError(where, problem, "give it a block all, or two blocks even and odd, and small_cells at will")
        if "even" in names and len(self.layers) > 1:
            raise ParameterError(where, "tells even from odd, which is for one layer", "give one layer, or a block all")
        if ptable.repeat != 1:
            raise ParameterError(where, "repeats its last rows, which only counts can", "give a p-table for magnitudes")
        if any(ptable.block(name).rows[0] > 1 for name in names):
            raise ParameterError(where, "has no row for the scale 1, the least there is", "begin each block with row 0 or 1")

    @property
    def ranks_needed(self) -> int:
        """How many largest contributions of each cell carry noise."""
        return len(self.layers) if self.base == "top" else 0

    def apply(self, table: Table, /) -> Table:
        """The table with noise in all cells that are shown."""
        began = time.perf_counter()
        self._check_table(table)
        cells = np.flatnonzero(to_show(table, self.sensitive))
        noise, square = self._noise(table, cells)
        shown, error = np.full(table.cells, np.nan), np.full(table.cells, np.nan)
        shown[cells], error[cells] = table.value[cells] + noise, np.sqrt(square)
        return table.with_shown(
            self.NAME,
            shown,
            low=np.where(shown > 0, 0.0, -np.inf),
            high=np.where(shown < 0, 0.0, np.inf),
            error=error,
            seconds=time.perf_counter() - began,
        )

    def _check_table(self, table: Table) -> None:
        need_keys(table, self.NAME)
        if self.base == "top":
            need_contributions(table, self.NAME, self.ranks_needed)
        elif table.kind == "frequency":
            raise InputError(self.NAME, "is for sums of a response, not for counts", "use cell keys or rounding for counts")

    # ---------------------------------------------------------------- the noise

    def _noise(self, table: Table, cells: Integers) -> tuple[Floats, Floats]:
        """The noise of these cells, and its mean square."""
        value = table.value[cells]
        key, widened = table.contributions.key[cells], table.primary[cells] & (self.extra > 0)
        small = np.abs(value) < self._separation
        running, square = np.abs(value), np.zeros(len(cells))
        for layer, amount in enumerate(self._amounts(table, cells)):
            keys, wide = self._layer_keys(key, layer), widened & (layer == 0)
            delta = self.layers[layer] * self._share_of(amount) * amount
            delta = np.where(small, float(layer == 0), delta)
            blocks = self._blocks_of(table.contributions.holdings[cells], small)
            change, mean_square = np.zeros(len(cells)), np.zeros(len(cells))
            for block, rows in blocks:
                change[rows] = block.change(*block.place(_scale(running[rows], delta[rows])), keys[rows])
                mean_square[rows] = block.mean_square(*block.place(_scale(np.abs(value[rows]), delta[rows])))
                more = rows[wide[rows]]
                if more.size:
                    away = np.where(change[more] == 0, _direction(key[more]), np.sign(change[more]))
                    change[more] = away * (self.extra + np.abs(change[more]))
                    size = block.mean_size(*block.place(_scale(np.abs(value[more]), delta[more])))
                    mean_square[more] += self.extra**2 + 2 * self.extra * size
            square += np.minimum(delta, np.abs(value)) ** 2 * mean_square
            running = np.maximum(running + np.minimum(delta, running) * change, 0.0)
        return np.sign(value) * (running - np.abs(value)), square

    def _amounts(self, table: Table, cells: Integers) -> list[Floats]:
        """What the noise of each layer is in proportion to."""
        held = table.contributions
        if self.base == "top":
            top = np.abs(held.top_weighted[cells])
            return [top[:, rank] if rank < held.ranks else np.zeros(len(cells)) for rank in range(len(self.layers))]
        value = np.abs(table.value[cells])
        if self.base == "sum":
            return [value]
        weight = held.weight[cells]
        return [np.divide(value, weight, out=np.zeros(len(cells)), where=weight > 0)]

    def _share_of(self, amount: Floats) -> Floats:
        """m(x)."""
        if self.flex_point is None or self.small_share is None:
            return np.full(len(amount), self.share)
        power = POWER if self.power is None else self.power
        falls = (self.small_share * amount / self.flex_point - self.share) * (
            2 * self.flex_point / (self.flex_point + amount)
        ) ** power
        return np.where(amount < self.flex_point, self.small_share, self.share + falls)

    def _layer_keys(self, key: Integers, layer: int) -> Integers:
        """The keys of a layer, counted from 0."""
        if self.digits is None:
            return _hashed(key, layer + 1)
        tens = 10**self.digits
        turned = ((key * tens + KEYS // 2) // KEYS) % tens
        for _ in range(layer + (self.keys == "rotate-all")):
            turned = turned * 10 % tens + turned * 10 // tens
        return np.asarray(np.ceil(turned * (KEYS / tens)), np.int64)

    # ---------------------------------------------------------------- the p-table

    @cached_property
    def _blocks(self) -> dict[str, _Block]:
        ptable = self.ptable
        if isinstance(ptable, str):
            raise ParameterError(f"{self.NAME}.ptable", "is the name of a file that was not read", "give the p-table itself")
        return {name: _Block(ptable.block(name)) for name in ptable.names}

    @property
    def _separation(self) -> float:
        """Below which value cells are small ones; 0 where there is no block for them."""
        if "small_cells" not in self._blocks:
            return 0.0
        variance = float(self._blocks["small_cells"].table.variance[-1])
        share = self.share if self.small_share is None else self.small_share
        return math.sqrt(variance) / (share * math.hypot(*self.layers))

    def _blocks_of(self, contributors: Floats, small: Bools) -> list[tuple[_Block, Integers]]:
        """The cells of each block."""
        odd = contributors % 2 == 1
        which = {"all": ~small, "even": ~small & ~odd, "odd": ~small & odd, "small_cells": small}
        return [(block, np.flatnonzero(which[name])) for name, block in self._blocks.items()]


class _Block:
    """One block of a p-table, with changes between its rows.

    A place is a row and how far from there to the next one, from 0 to 1.
    """

    def __init__(self, table: PTable) -> None:
        self.table = table
        self.rows = table.rows
        self.steps = [self._steps(row) for row in range(len(self.rows))]
        self.squares = np.array([[step @ low**2, step @ (low * high), step @ high**2] for step, low, high in self.steps])

    def place(self, scale: Floats) -> tuple[Integers, Floats]:
        """Where a scale lies; beyond the last row it lies there."""
        row = np.clip(np.searchsorted(self.rows, scale, side="right") - 1, 0, len(self.rows) - 1)
        after = np.append(self.rows[1:], np.inf)[row]
        return row, (np.minimum(scale, self.rows[-1]) - self.rows[row]) / (after - self.rows[row])

    def change(self, row: Integers, part: Floats, key: Integers) -> Floats:
        """The change for a key."""
        above = np.minimum(row + 1, len(self.rows) - 1)
        return (1 - part) * self.table.at(row, key) + part * self.table.at(above, key)

    def mean_square(self, row: Integers, part: Floats) -> Floats:
        """The mean square of the change over all keys."""
        low, across, high = self.squares[row].T
        return np.asarray((1 - part) ** 2 * low + 2 * part * (1 - part) * across + part**2 * high)

    def mean_size(self, row: Integers, part: Floats) -> Floats:
        """The mean size of the change over all keys."""
        out = np.zeros(len(row))
        for one in np.unique(row):
            here = np.flatnonzero(row == one)
            for chance, low, high in zip(*self.steps[one], strict=True):
                out[here] += chance * np.abs((1 - part[here]) * low + part[here] * high)
        return out

    def _steps(self, row: int) -> tuple[Floats, Floats, Floats]:
        """The shares of the keys between which neither this row's change nor the next one's differs, and both changes."""
        pair = [self._line(row), self._line(min(row + 1, len(self.rows) - 1))]
        ends = np.unique(np.concatenate([upper for upper, _ in pair]))
        low, high = (change[np.searchsorted(upper, ends)] for upper, change in pair)
        return np.diff(ends, prepend=0.0) / (self.table.keys or 1), low, high

    def _line(self, row: int) -> tuple[Floats, Floats]:
        lines = self.table.row == self.rows[row]
        return self.table.upper[lines], self.table.change[lines]


def _scale(value: Floats, delta: Floats) -> Floats:
    """a = value / δ, at least 1; 1 too where there is no noise."""
    return np.maximum(np.divide(value, delta, out=np.ones(len(value)), where=delta > 0), 1.0)


def _direction(key: Integers) -> Floats:
    return np.where(_hashed(key, DIRECTION) < KEYS // 2, -1.0, 1.0)


def _hashed(key: Integers, tag: int) -> Integers:
    """A 32-bit key for this tag, independent of those for other tags."""
    return (mixed(f"cell-key-magnitude {tag}", key) >> np.uint64(32)).astype(np.int64)
