"""What every way of rounding has in common: exact whole numbers to round, and what a shown number tells of the true one."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.method import param
from discreet.model.contributions import Floats
from discreet.model.table import Bools, Table

__all__ = ["Rounding", "Scale", "Scheme", "Units", "shown_from_param", "totals_param"]

Units = NDArray[Any]
"""Whole numbers of units of the last decimal: 64-bit, or Python integers where values have more than 15 digits."""


@dataclasses.dataclass(frozen=True)
class Scale:
    """How many decimals the values have, and how many of them are published."""

    decimals: int
    published: int

    @classmethod
    def of(cls, table: Table) -> Scale:
        """The scale of a table."""
        return cls(table.decimals, table.decimals if table.published_decimals is None else table.published_decimals)

    def units(self, value: Floats) -> Units:
        """The values in units of the last decimal."""
        scaled = value * 10.0**self.decimals
        if np.abs(scaled).max(initial=0.0) < 2.0**53:
            return np.rint(scaled).astype(np.int64)
        return np.array([round(Fraction(number) * 10**self.decimals) for number in value.tolist()], object)

    def numbers(self, units: Units) -> Floats:
        """The nearest floats of whole numbers of units."""
        return np.asarray(units / 10**self.decimals, float)

    def whole(self, number: float, where: str) -> int:
        """A parameter in units; ParameterError where it has more decimals than are published."""
        exact = Fraction(repr(number))
        if (exact * 10**self.published).denominator != 1:
            finest = f"a multiple of {10.0**-self.published:g}, the last published decimal"
            raise ParameterError(where, f"{number:g} has more decimals than are published", f"give {finest}")
        return int(exact * 10**self.decimals)


class Scheme(Protocol):
    """A way of rounding whole numbers of units, fixed but for chance."""

    @property
    def random(self) -> bool:
        """Chance decides."""
        ...

    def round(self, units: Units, chance: Floats | None) -> Units:
        """What is shown of these true values; ``chance`` uniform in (0, 1)."""
        ...

    def reach(self, shown: Units) -> tuple[Units, Units]:
        """The least and the largest true value that can be shown so."""
        ...

    def possible(self, shown: Units) -> Bools:
        """Whether anything can be shown so."""
        ...

    def variance(self, shown: Units) -> Floats:
        """The variance of shown − true over true values of every remainder alike: it says nothing of the true value."""
        ...


class Rounding(Protocol):
    """A method that shows rounded numbers."""

    NAME: ClassVar[str]

    @property
    def totals(self) -> str:
        """``independent`` or ``recompute``."""
        ...

    @property
    def sensitive(self) -> str:
        """What becomes of cells that are suppressed so far."""
        ...

    @property
    def shown_from(self) -> float | None:
        """The least count above 0 that is shown, as the published rules say."""
        ...

    def scheme(self, scale: Scale) -> Scheme:
        """The way of rounding numbers of so many decimals."""
        ...


def totals_param(default: str = "independent") -> Any:
    """The parameter that says how totals come about."""
    return param(
        default,
        "each total is rounded like any other cell, or is the sum of the rounded inner cells below it",
        choices=("independent", "recompute"),
    )


def shown_from_param() -> Any:
    """The parameter that says what readers know from a threshold rule."""
    return param(
        None,
        "the least count above 0 that is shown as far as the published rules say: 6 where counts of 1 to 5 are hidden; "
        "by default what the minimum frequency rules applied to the table say",
        unit="units",
        at_least=1,
    )
