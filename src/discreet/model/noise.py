"""Noise distributions, and the permanent noise multiplier of each unit."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from scipy import special

from discreet.errors import ParameterError
from discreet.method import check_params, param
from discreet.model.contributions import Floats, Integers

__all__ = ["HALF", "Noise", "UnitNoise"]

HALF = 2**31
"""A record key has 32 bits: the first one gives the direction, the others the size of the noise."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Noise:
    """A symmetric distribution of noise ε around 0.

    ``split-triangular``: low ≤ \\|ε\\| ≤ high with density (high − \\|ε\\|)/(high − low)², most at ``low``, 0 at ``high``;
    ``uniform``: \\|ε\\| uniform between them; ``normal``: standard deviation ``high`` (``low`` must be 0), unbounded.
    """

    shape: str = param(
        "split-triangular",
        "the distribution of the noise",
        choices=("split-triangular", "uniform", "normal"),
    )
    low: float = param(0.02, "the least noise (a)", unit="share of the contribution", at_least=0)
    high: float = param(0.04, "the most noise (b); of normal noise its standard deviation", unit="share", above=0)

    def __post_init__(self) -> None:
        check_params(self)
        if self.low >= self.high:
            raise ParameterError("noise", f"low = {self.low:g} is not below high = {self.high:g}", "give low < high")
        if self.shape == "normal" and self.low:
            raise ParameterError("noise", "normal noise has no least size", "give low = 0, and its standard deviation as high")

    @property
    def variance(self) -> float:
        """V ε."""
        a, b = self.low, self.high
        if self.shape == "normal":
            return b * b
        return (3 * a * a + 2 * a * b + b * b) / 6 if self.shape == "split-triangular" else (a * a + a * b + b * b) / 3

    @property
    def mean_size(self) -> float:
        """E \\|ε\\|."""
        a, b = self.low, self.high
        if self.shape == "normal":
            return b * math.sqrt(2 / math.pi)
        return (2 * a + b) / 3 if self.shape == "split-triangular" else (a + b) / 2

    def quantile(self, u: Floats) -> Floats:
        """The noise at a probability ``u`` in (0, 1), any shape."""
        u = np.asarray(u, float)
        below = u < 0.5
        return np.where(below, -1.0, 1.0) * self._size(np.where(below, 2 * u, 2 * (1 - u)))

    def of_key(self, key: Integers, direction: Integers | None = None) -> Floats:
        """The noise of a 32-bit key, any shape; its direction that of another key where one is given."""
        key = np.asarray(key, np.int64)
        first = key if direction is None else np.asarray(direction, np.int64)
        return np.where(first < HALF, -1.0, 1.0) * self._size((key % HALF + 0.5) / HALF)

    def _size(self, v: Floats) -> Floats:
        """The size at a probability counted from the largest size down."""
        if self.shape == "normal":
            return np.asarray(self.high * -special.ndtri(v / 2))
        return self.high - (self.high - self.low) * (np.sqrt(v) if self.shape == "split-triangular" else v)


@dataclasses.dataclass(frozen=True, kw_only=True)
class UnitNoise:
    """One permanent noise multiplier a unit: the same for a unit wherever it is counted, made from its record key.

    ``direction`` of the noise: ``unit`` each unit its own; ``company`` all units of a holding the same; ``balanced``
    alternating with the size of the contribution within each inner cell of the table, so that more of it cancels out.
    """

    noise: Noise
    direction: str = "unit"

    def __post_init__(self) -> None:
        if self.noise.shape == "normal":
            raise ParameterError(
                "noise", "normal noise is not the same on every engine", "choose split-triangular or uniform for unit noise"
            )
        if self.direction not in ("unit", "company", "balanced"):
            raise ParameterError("direction", f"{self.direction!r} is not unit, company or balanced")

    def sql(self, cell: str, decimals: int) -> str:
        """multiplier * x of each row of ``facts``, as an exact decimal; ``cell`` the columns of an inner cell."""
        share = f"((record_key % {HALF} + 0.5) / {HALF}.0)"
        spread = f"SQRT({share})" if self.noise.shape == "split-triangular" else share
        size = f"({self.noise.high!r} - {self.noise.high - self.noise.low!r} * {spread})"
        sign = f"CASE WHEN {'own_key' if self.direction == 'company' else 'record_key'} < {HALF} THEN -1 ELSE 1 END"
        if self.direction == "balanced":
            window = f"(PARTITION BY {cell} ORDER BY ABS(x) DESC, x DESC, record_key)"
            first = f"CASE WHEN FIRST_VALUE(record_key) OVER {window} < {HALF} THEN -1 ELSE 1 END"
            sign = f"{first} * (1 - 2 * ((ROW_NUMBER() OVER {window} - 1) % 2))"
        return f"CAST({sign} * {size} * CAST(x AS DOUBLE) AS DECIMAL(38, {decimals}))"
