"""Random swapping: the baseline with which every other way of swapping is compared."""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar

import numpy as np

from discreet.errors import InputError
from discreet.method import check_params, param
from discreet.microdata.protect.swap.named_columns import check_named
from discreet.model.margins import Margins
from discreet.model.noise import mixed
from discreet.model.swap_file import SwapFile, Swapped

__all__ = ["RandomSwap"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class RandomSwap:
    """A share of the records exchange some columns, each with another record that is drawn at random.

    Of n records, ``floor(rate · n / 2)`` pairs, disjoint and drawn by secret keys, exchange all of ``columns`` together; with
    ``within``, both records of a pair are in one stratum, so that the counts of strata by ``columns`` stay.  Where strata are
    so small that there are fewer pairs, all there are move.

    Guards against: being certain that the values beside a record's other columns are its own.
    Does not guard against: finding the records that stand out, which are left alone as often as any others; of the columns
    that stay and those that move, how they go together is damaged everywhere alike.
    """

    NAME: ClassVar[str] = "random-swap"
    SOURCE: ClassVar[str] = "Dalenius, Reiss (1982), Data-swapping: a technique for disclosure control, JSPI 6(1)"

    columns: tuple[str, ...] = param(doc="the columns that change places, together")
    rate: float = param(0.05, "how many of the records change places with another", unit="share", above=0, at_most=1)
    within: tuple[str, ...] = param((), "columns of strata: records change places inside each, so that its counts stay")

    def __post_init__(self) -> None:
        check_params(self)
        check_named(self.NAME, self.columns, self.within)

    def apply(self, file: SwapFile, /) -> SwapFile:
        """The file with these columns swapped; the margin of strata by all the columns is kept, and counted again.

        Errors: InputError for a column that is not there, and where the rate or the strata leave no pair to swap.
        """
        records = len(file.key)
        pairs = math.floor(self.rate * records / 2 + 1e-9)
        if not pairs:
            problem = f"a share of {self.rate:g} of {records} records is less than one pair"
            raise InputError(f"{self.NAME}.rate", problem, "take a larger rate")
        purpose = f"{self.NAME} {len(file.steps)} {' '.join(self.columns)}"
        strata = file.combinations(self.within).of if self.within else np.zeros(records, np.int64)
        order = np.lexsort((mixed(f"{purpose} pairs", file.key), strata))
        size = np.bincount(strata)
        place = np.arange(records) - (np.cumsum(size) - size)[strata[order]]
        first = np.flatnonzero((place % 2 == 0) & (place + 1 < size[strata[order]]))
        if not len(first):
            raise InputError(f"{self.NAME}.within", "no stratum holds two records", "take fewer or coarser columns")
        drawn = first[np.argsort(mixed(f"{purpose} rate", file.key[order[first]]), kind="stable")[:pairs]]
        one, other = order[drawn], order[drawn + 1]
        moved = np.arange(records)
        moved[one], moved[other] = other, one
        of = file.combinations(self.columns).of
        facts = {
            "records": records,
            "records to swap": 2 * pairs,
            "records swapped": 2 * len(drawn),
            "records changed": 2 * int(np.count_nonzero(of[one] != of[other])),
        }
        together = (*self.within, *self.columns)
        step = Swapped(method=self.NAME, columns=self.columns, margins=Margins.of(together, [together]), facts=facts)
        return file.moved(dict.fromkeys(self.columns, moved), step)
