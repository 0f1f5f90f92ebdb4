"""The risk of one randomised variable: what was held, what was released, and what that tells, by stratum and category."""

from __future__ import annotations

import dataclasses
import math
from functools import cached_property
from typing import Any

import numpy as np

from discreet.microdata.risk.pram import expectation_ratios
from discreet.model.contributions import Floats, Integers
from discreet.model.randomised import Randomised, Stratum
from discreet.model.transition import TransitionMatrix

__all__ = ["StratumRisk", "VariableRisk"]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class StratumRisk:
    """A variable in one stratum; every array has shape (categories,), in the order of the matrix.  Confidential.

    ``true`` and ``released`` counts of records, ``changed`` how many records of each true category were released as another,
    ``population`` the true counts by weight, or the records where no column is the weight.  ``true_squares`` and
    ``released_squares`` sum, over the draws, the squared number of records that a draw decided on: a household, or one record,
    where they equal the counts.
    """

    stratum: Stratum
    matrix: TransitionMatrix
    true: Integers
    released: Integers
    changed: Integers
    population: Floats
    true_squares: Floats
    released_squares: Floats

    def __repr__(self) -> str:
        return f"StratumRisk({' / '.join(self.stratum) or 'all'}: {len(self.true)} categories)"

    @property
    def records(self) -> int:
        """How many records were randomised."""
        return int(self.true.sum())

    @cached_property
    def expectation_ratios(self) -> Floats:
        """True against false among the records released as each category, as expected."""
        return expectation_ratios(self.matrix, self.true)

    @cached_property
    def posterior(self) -> Floats:
        """The probability that somebody of the population who is released as k is truly k; NaN where nobody is."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.matrix.diagonal * self.population / (self.matrix.matrix.T @ self.population)

    @property
    def expected_changes(self) -> Floats:
        """How many records of each true category are released as another on average."""
        return self.true * (1 - self.matrix.diagonal)

    @property
    def spread_of_changes(self) -> float:
        """The standard deviation of the number of changed records."""
        stay = self.matrix.diagonal
        return math.sqrt(float((self.true_squares * stay * (1 - stay)).sum()))


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class VariableRisk:
    """A randomised variable in all its strata, in the order of their codes.  Confidential."""

    variable: Randomised
    strata: tuple[StratumRisk, ...]

    def __repr__(self) -> str:
        return f"VariableRisk({self.variable.name}: {len(self.strata)} strata)"

    @property
    def records(self) -> int:
        """How many records were randomised: those with a code, or all where empty is a category."""
        return sum(each.records for each in self.strata)

    @property
    def epsilon(self) -> float:
        """Local differential privacy, the largest of all strata."""
        return self.variable.epsilon

    @property
    def condition(self) -> float:
        """The largest condition number of all strata."""
        return max((each.matrix.condition for each in self.strata), default=1.0)

    @property
    def diagonal(self) -> tuple[float, float]:
        """The smallest and the largest probability of a category that occurs to stay as it is."""
        stay = np.concatenate([each.matrix.diagonal[each.true > 0] for each in self.strata] or [np.ones(1)])
        return float(stay.min(initial=1.0)), float(stay.max(initial=0.0)) if stay.size else 1.0

    @property
    def expected_share(self) -> float:
        """The share of records that are released as another category on average."""
        return math.fsum(each.expected_changes.sum() for each in self.strata) / max(self.records, 1)

    @property
    def changed_share(self) -> float:
        """The share of records that were released as another category."""
        return sum(int(each.changed.sum()) for each in self.strata) / max(self.records, 1)

    @property
    def gap(self) -> float:
        """How far the matrices are from leaving the counts as they are on average, the largest of all strata.

        In records, or by weight where the matrices were made for the population.
        """
        population = self.variable.invariant == "population"
        return max((each.matrix.gap(each.population if population else each.true) for each in self.strata), default=0.0)

    def by_category(self) -> list[dict[str, Any]]:
        """Each category over all strata, in the order in which it is met: category, records, expected and changed share."""
        held: dict[str, list[float]] = {}
        for each in self.strata:
            for label, *numbers in zip(each.matrix.labels, each.true, each.expected_changes, each.changed, strict=True):
                sums = held.setdefault(label, [0.0, 0.0, 0.0])
                sums[:] = [one + float(other) for one, other in zip(sums, numbers, strict=True)]
        return [
            {
                "category": label,
                "records": int(n),
                "expected_share": expected / n if n else math.nan,
                "changed_share": changed / n if n else math.nan,
            }
            for label, (n, expected, changed) in held.items()
        ]
