"""Totals by cell, and their variances and covariances, from sums over groups of records; axis by axis.

A record released in category x has the pseudo-indicator d(a) = Π_v q_v[x_v, a_v], with q_v the inverse matrix of variable v
summed over the categories that a stands for; its mean is 1 in the record's true cell, else 0.  With numbers g, h of the
records, the covariance of Σ g·d(a) and Σ h·d(b) given the true file is estimated without bias by
Σ g·h·(d(a)·d(b) − 1[a=b]·d(a)).  Where a total is of a number f(ξ) of the true category itself, q_v[x_v, a_v] is summed with
these numbers, and the product of two of them stands in the last term.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from discreet.errors import InputError
from discreet.inference.axes import Factors
from discreet.inference.pairs import LARGEST, chosen, joint_pairs, pair_covariance
from discreet.inference.survey import designed
from discreet.inference.tally import Tally, strata_of
from discreet.model.contributions import Floats, Integers

__all__ = ["Kind", "Moments"]

Kind = Literal["cell", "domain"]
"""A total of the cell itself, or of the domain it is in: the cells that differ from it in the columns of shares only."""


@dataclasses.dataclass(frozen=True)
class Moments:
    """Totals and their second moments for a table.

    ``shares``: the columns within whose totals shares are taken; a cell's domain is given by all other columns.
    """

    tally: Tally
    shares: frozenset[str] = frozenset()

    def total(self, measure: int, kind: Kind = "cell") -> Floats:
        """The estimated total of a measure in each cell."""
        values = self.tally.values[measure]
        return self._applied(self.tally.first[measure], lambda part: self.factors(part, kind, values))

    def naive(self, measure: int, kind: Kind = "cell") -> Floats:
        """The total by the released codes as they are."""
        layout, values = self.tally.layout, self.tally.values[measure]
        return self._applied(self.tally.first[measure], lambda part: self._of_kind(layout.naive(part, values), kind))

    def covariance(self, one: int, two: int, kind: Kind = "cell", other: Kind = "cell") -> Floats:
        """For each cell the covariance of its total of measure ``one``, of this kind, and that of ``two``, of the other."""
        if self.tally.designed:
            return self._of_design(one, two, kind, other)
        own: Kind = "domain" if kind == other == "domain" else "cell"
        products, of_one, of_two = self.tally.second[one][two], self.tally.values[one], self.tally.values[two]

        def kinds(part: int) -> list[Factors]:
            asked = ((kind, of_one), (other, of_two), (own, (*of_one, *of_two)))
            return [self.factors(part, it, values) for it, values in asked]

        def product(part: int) -> Factors:
            first, second, _ = kinds(part)
            return first.times(second)

        found = self._applied(products, product)
        found -= self._applied(products, lambda part: self.factors(part, own, (*of_one, *of_two)))
        if self.tally.together is not None:
            found += pair_covariance(self.tally, one, two, kinds)
        return found

    def joint(self, one: int, two: int, cells: Integers) -> Floats:
        """The covariances of the totals of measure ``one`` in chosen cells (rows) with those of ``two`` (columns).

        ``cells``: positions in the raveled table.
        """
        if self.tally.designed:
            return self._joint_of_design(one, two, cells)
        found, own = np.zeros((len(cells), len(cells))), np.zeros(len(cells))
        products, of_one, of_two = self.tally.second[one][two], self.tally.values[one], self.tally.values[two]
        for rows, (first, second, both) in chosen(self.tally, cells, (of_one, of_two, (*of_one, *of_two))):
            found += first.T @ (products[rows, None] * second)
            own += products[rows] @ both
        found -= np.where(cells[:, None] == cells, own[:, None], 0.0)
        if self.tally.together is not None:
            found += joint_pairs(self.tally, one, two, cells)
        return found

    def factors(self, part: int, kind: Kind, values: Sequence[str] = ()) -> Factors:
        """What a stratum's released counts are multiplied by."""
        return self._of_kind(self.tally.layout.factors(part, values), kind)

    def _of_kind(self, factors: Factors, kind: Kind) -> Factors:
        """For domains: summed over the cells of each, the sum standing in all of them."""
        if kind == "cell":
            return factors
        matrices, places = list(factors.matrices), list(factors.places)
        for place, axis in enumerate(self.tally.layout.axes):
            kept = [i for i, column in enumerate(axis.columns) if column not in self.shares]
            if len(kept) == len(axis.columns):
                continue
            codes = [tuple(category[i] for i in kept) for category in axis.categories]
            numbers = {code: number for number, code in enumerate(dict.fromkeys(codes))}
            domain = np.array([numbers[code] for code in codes])
            same = (domain[:, None] == domain) * 1.0
            old, at = matrices[place], places[place]
            matrices[place] = (same if at is None else same[at : at + 1]) if old is None else old @ same
            places[place] = None
        return Factors(tuple(matrices), tuple(places))

    def _applied(self, numbers: Floats, factors: Callable[[int], Factors], rows: slice = slice(None)) -> Floats:
        table = np.zeros(self.tally.layout.shape)
        for part in range(len(self.tally.layout.parts)):
            counts = self.tally.dense(part, numbers, rows)
            if counts is not None:
                factors(part).add_to(table, counts)
        return table

    def _of_design(self, one: int, two: int, kind: Kind, other: Kind) -> Floats:
        """Clusters drawn with replacement in each stratum: Σ_h n_h/(n_h−1)·Σ_c (z_c − z̄_h)(z'_c − z̄'_h)."""
        first, table = self.tally.first, np.zeros(self.tally.layout.shape)
        for rows, n in strata_of(self.tally):
            squares = self._squares(rows, one, two, kind, other)
            sums = self._applied(first[one], lambda part: self.factors(part, kind, self.tally.values[one]), rows)
            others = self._applied(first[two], lambda part: self.factors(part, other, self.tally.values[two]), rows)
            table += n / (n - 1) * (squares - sums * others / n)
        return table

    def _squares(self, rows: slice, one: int, two: int, kind: Kind, other: Kind) -> Floats:
        """The sum over clusters of the products of their totals; a cluster of a single entry needs no table of its own."""
        tally, layout = self.tally, self.tally.layout
        of_one, of_two = tally.values[one], tally.values[two]
        unit = tally.unit[rows]
        sizes = np.diff(np.flatnonzero(np.diff(unit, prepend=-1)), append=len(unit))
        several = np.repeat(sizes, sizes) > 1
        products = np.zeros(len(tally.unit))
        products[rows] = np.where(several, 0.0, tally.first[one][rows] * tally.first[two][rows])
        table = self._applied(
            products, lambda part: self.factors(part, kind, of_one).times(self.factors(part, other, of_two)), rows
        )
        entries = np.flatnonzero(several) + (rows.start or 0)
        clusters, number = np.unique(tally.unit[entries], return_inverse=True)
        step = max(1, LARGEST // max(layout.cells, math.prod(layout.shape)))
        for begin in range(0, len(clusters), step):
            own = entries[slice(*np.searchsorted(number, [begin, begin + step]))]
            local, size = number[np.searchsorted(entries, own)] - begin, min(step, len(clusters) - begin)
            table += np.einsum(
                "c...,c...->...",
                self._by_cluster(own, local, size, one, kind),
                self._by_cluster(own, local, size, two, other),
            )
        return table

    def _by_cluster(self, rows: Integers, cluster: Integers, size: int, measure: int, kind: Kind) -> Floats:
        layout, numbers, values = self.tally.layout, self.tally.first[measure], self.tally.values[measure]
        table = np.zeros((size, *layout.shape))
        for part in np.unique(self.tally.part[rows]):
            own = self.tally.part[rows] == part
            cell = cluster[own] * layout.cells + self.tally.cell[rows[own]]
            counts = np.asarray(np.bincount(cell, numbers[rows[own]], size * layout.cells), float)
            self.factors(int(part), kind, values).add_to(table, counts.reshape(size, *layout.inner), 1)
        return table

    def _joint_of_design(self, one: int, two: int, cells: Integers) -> Floats:
        units = len(self.tally.units)
        if units * len(cells) > 10 * LARGEST:
            problem = f"{len(cells)} cells × {units} clusters are too many for joint covariances"
            raise InputError("covariance", problem, "choose fewer cells")
        totals = np.zeros((2, units, len(cells)))
        for rows, indicators in chosen(self.tally, cells, (self.tally.values[one], self.tally.values[two])):
            for side, (measure, own) in enumerate(zip((one, two), indicators, strict=True)):
                np.add.at(totals[side], self.tally.unit[rows], self.tally.first[measure][rows, None] * own)
        return designed(totals[0], totals[1], self.tally.units)
