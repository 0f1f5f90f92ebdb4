"""Swaps of several records: the fewest that can change one record while margins stay, or a proof that none can."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from discreet.errors import InputError, ParameterError
from discreet.microdata.protect.swap.move_boxes import Box, boxes, wider_boxes
from discreet.microdata.protect.swap.move_cells import Barred, Cells, FixedMargins, fixed_margins
from discreet.microdata.protect.swap.move_program import LeastCounts, search_move
from discreet.model.combinations import Combinations, packed
from discreet.model.contributions import Integers
from discreet.model.margins import Margins

__all__ = ["Move", "permuted", "smallest_move"]

How = Literal["pair", "box", "bound", "program"]
Stopped = Literal["", "time", "cells", "records"]

BOX = 2_048
"""Cells that are looked at in one box."""

ROUNDING = 1e-6
"""A table has whole numbers of records: a bound that is so much above one proves the next."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Move:
    """A swap of ``records`` records that changes each of them while all margins stay; 0 where none was found.

    ``out`` are their combinations, that of the record asked for first, of shape (records,); ``into`` the codes that they have
    afterwards, of shape (records, variables), put beside each other so that few values change.
    ``smallest``: it is proved that no swap of fewer records changes the record; ``impossible``: that no swap of any number
    does; ``bound``: that it takes at least so many (one more than there are records where it is impossible).
    ``how`` the last step that was taken: ``pair``, ``box`` (a search between the codes of two records), ``bound`` (of a linear
    program) or ``program`` (an integer program on all cells); ``stopped`` what left it open, if anything: ``time``, ``cells``
    (too many to look at all) or ``records`` (none of as few as were asked for).
    """

    out: Integers
    into: NDArray[np.int32]
    smallest: bool
    impossible: bool
    bound: int
    how: How
    stopped: Stopped = ""

    @property
    def records(self) -> int:
        """How many records the swap changes."""
        return len(self.out)

    def __repr__(self) -> str:
        told = "impossible" if self.impossible else f"{self.records} records" if self.records else "none found"
        return f"Move({told}{', the fewest' if self.smallest else ''})"


def smallest_move(
    held: Combinations,
    margins: Margins,
    which: int,
    *,
    most: int | None = None,
    seconds: float = 60.0,
    proven: bool = False,
    barred: Barred | None = None,
) -> Move:
    """The swap of fewest records that changes a record of combination ``which`` and keeps the margins of all records.

    In this order: a pair; if there is none and the margins are decomposable, it is impossible; integer programs on boxes, the
    cells between the codes of the record and those of one other; a linear program on all cells that the margins have seen,
    whose bound may prove that it is impossible; boxes that two others span; and an integer program on all cells.  Boxes end
    once the fewest records are found that margins of so many variables allow, and the last program is left out when a swap was
    found before, unless it is to be ``proven`` the smallest.

    ``most`` records may be changed, as many as needed by default; ``seconds`` is the time for one record.  Running out of it is
    an outcome, and so are more than 200,000 cells, with which nothing but boxes is looked at.  A swap keeps the counts of every
    variable, also of those in no margin.

    ``barred`` says which rows of codes no further record may get; then no pair is looked for by itself, what is impossible may
    be so for that reason alone, and decomposable margins prove nothing before a program does.

    Which record of a combination moves, and what else should decide between swaps of equally many records, is not its matter.

    Errors: InputError where the margins are not over the variables of ``held``; ParameterError for a combination that does
    not exist, fewer than 2 records or no time.
    """
    if len(margins.variables) != len(held.sizes):
        raise InputError("margins", "are not over the variables of the combinations", "make both from the same variables")
    if not 0 <= which < len(held.counts):
        raise ParameterError("swapping", f"there is no combination number {which}", f"give one below {len(held.counts)}")
    if (most is not None and most < 2) or not seconds > 0:
        raise ParameterError("swapping", "it takes at least 2 records, and time", "give most >= 2 and seconds above 0")
    fixed = fixed_margins(held, margins, barred)
    return _Search(fixed, which, most, seconds).run(proven)


def permuted(out: NDArray[np.int32], into: NDArray[np.int32]) -> Integers:
    """For each record and variable, from which of the records its value comes: itself wherever the value stays.

    ``out`` and ``into`` are the codes before and after, of shape (records, variables), and so is the result: each of its
    columns is a permutation, with ``into[r, v] == out[result[r, v], v]``.

    Errors: InputError where some variable has not the same codes before and after.
    """
    found = np.repeat(np.arange(len(out))[:, None], out.shape[1], axis=1) if len(out) else np.zeros(out.shape, np.int64)
    for v in range(out.shape[1]):
        changed = np.flatnonzero(out[:, v] != into[:, v])
        source = changed[np.argsort(out[changed, v], kind="stable")]
        target = changed[np.argsort(into[changed, v], kind="stable")]
        if (out[source, v] != into[target, v]).any():
            raise InputError(
                "swapping", "records would have codes that none of them had", "move values between the records only"
            )
        found[target, v] = source
    return found


class _Search:
    """The search for one record: the best swap so far, and what is proved."""

    def __init__(self, fixed: FixedMargins, which: int, most: int | None, seconds: float) -> None:
        self.fixed, self.which, self.most = fixed, which, most
        now = time.monotonic()
        self.half, self.until = now + seconds / 2, now + seconds
        self.out = np.zeros(0, np.int64)
        self.into = np.zeros((0, len(fixed.held.sizes)), np.int32)
        self.bound = 2

    def run(self, proven: bool) -> Move:
        """The steps one after the other, until the record is changed or shown to be one that cannot be."""
        self.bound = max(2, 2 ** (_smallest_open(self.fixed.margins) - 1))
        if self.fixed.barred is None:
            if self._pair():
                return self._told("pair")
            if self.fixed.margins.decomposable:
                return self._impossible("pair")
            self.bound = max(3, self.bound)
        if self.most is not None and self.bound > self.most:
            return self._told("pair", "records")
        cut = self._look_into(boxes)
        if self._done(proven):
            return self._told("box", "time" if cut else "")
        if (cells := self.fixed.cells()) is not None and not len(self.out):
            least, _ = LeastCounts(self.fixed, cells).least(self.which, seconds=self._left())
            if least > self.fixed.held.counts[self.which] - 1 + ROUNDING:
                return self._impossible("bound")
        cut = self._look_into(wider_boxes)
        if self._done(proven):
            return self._told("box", "time" if cut else "")
        return self._told("box", "cells") if cells is None else self._program(cells)

    def _left(self) -> float:
        return max(self.until - time.monotonic(), 0.0)

    def _done(self, proven: bool) -> bool:
        return len(self.out) == self.bound or (len(self.out) > 0 and not proven)

    def _pair(self) -> bool:
        """Whether a pair will do: with the combination that differs in the fewest variables, first in the order of codes."""
        codes = self.fixed.held.codes
        differs = codes != codes[self.which]
        _, first, kind = np.unique(
            packed(differs.astype(np.int32), [2] * differs.shape[1]), return_index=True, return_inverse=True
        )
        parts = [list(self.fixed.margins.components(_bits(differs[at]))) for at in first]
        fits = np.flatnonzero(np.array([len(part) > 1 for part in parts])[kind])
        if not len(fits):
            return False
        other = int(fits[np.argmin(differs[fits].sum(axis=1))])
        self.out = np.array([self.which, other])
        self.into = codes[self.out]
        moved = [v for v in range(codes.shape[1]) if parts[kind[other]][0] >> v & 1]
        self.into[:, moved] = self.into[::-1, moved]
        return True

    def _look_into(self, made: Callable[[Combinations, Margins, int, int], Iterator[Box]]) -> bool:
        """Looks into boxes for fewer and fewer records; whether the time was too short for all of them."""
        for allowed in made(self.fixed.held, self.fixed.margins, self.which, self.bound):
            if (left := self.half - time.monotonic()) <= 0:
                return True
            if (cells := self.fixed.cells(allowed, most=BOX)) is None:
                continue
            most = len(self.out) - 1 if len(self.out) else self.most
            found = search_move(self.fixed, cells, self.which, least=self.bound, most=most, seconds=left)
            self._take(cells, found.change)
            if len(self.out) == self.bound:
                break
        return False

    def _program(self, cells: Cells) -> Move:
        """What can be found or proved on all cells that the margins have seen."""
        start, most = (self._change(cells), len(self.out)) if len(self.out) else (None, self.most)
        found = search_move(self.fixed, cells, self.which, least=self.bound, most=most, seconds=self._left(), start=start)
        self._take(cells, found.change)
        if math.isinf(found.bound):
            if most is None:
                return self._impossible("program")
            self.bound = most + 1
            return self._told("program", "records")
        self.bound = int(found.bound)
        return self._told("program", "time" if found.cut else "")

    def _take(self, cells: Cells, change: Integers | None) -> None:
        """Keeps a swap that is better: the records as they are, the one asked for first, beside what they become."""
        if change is None:
            return
        lost, won = np.maximum(-change, 0), np.maximum(change, 0)
        if len(self.out) and lost.sum() >= len(self.out):
            return
        out = np.repeat(cells.held[lost > 0], lost[lost > 0])
        out = np.concatenate([[self.which], np.delete(out, np.flatnonzero(out == self.which)[0])])
        into = np.repeat(cells.codes[won > 0], won[won > 0], axis=0)
        changed = (self.fixed.held.codes[out][:, None, :] != into[None, :, :]).sum(axis=2)
        self.out, self.into = out, into[linear_sum_assignment(changed)[1]]

    def _change(self, cells: Cells) -> Integers:
        """The swap so far as the change of the number of records in each of these cells."""
        moved = np.concatenate([self.fixed.held.codes[self.out], self.into])
        number = packed(np.concatenate([cells.codes, moved]), self.fixed.held.sizes)
        at = np.searchsorted(number[: len(cells.codes)], number[len(cells.codes) :])
        change = np.zeros(len(cells.codes), np.int64)
        np.add.at(change, at, np.repeat([-1, 1], len(self.out)))
        return change

    def _told(self, how: How, stopped: Stopped = "") -> Move:
        smallest = len(self.out) > 0 and len(self.out) == self.bound
        return Move(
            out=self.out, into=self.into, smallest=smallest, impossible=False, bound=self.bound, how=how, stopped=stopped
        )

    def _impossible(self, how: How) -> Move:
        bound = int(self.fixed.held.counts.sum()) + 1
        return Move(out=self.out, into=self.into, smallest=False, impossible=True, bound=bound, how=how)


def _bits(differs: NDArray[np.bool_]) -> int:
    return sum(1 << v for v, differ in enumerate(differs.tolist()) if differ)


def _smallest_open(margins: Margins) -> int:
    """The size s of the smallest set of variables that no margin holds: a swap changes at least 2^(s−1) records.

    Let f be the change of the table.  Some variable has two codes with which f is not 0; with each of them, f changes the table
    of the other variables such that the margins with that variable stay, and of these, without it, all hold every set of fewer
    than s − 1 variables.  So by induction Σ |f| ≥ 2^s, and half of it are losses.
    """
    size, held = 0, {frozenset[str]()}
    while held and all(open_ := [next((margin for margin in margins.sets if part.issubset(margin)), None) for part in held]):
        pairs = zip(held, open_, strict=True)
        held = {part | {v} for part, margin in pairs for v in margins.variables if margin and v not in margin}
        size += 1
    return size
