"""Noise distributions, and the permanent noise multiplier of each unit."""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import special

from discreet.errors import ParameterError
from discreet.method import check_params, param
from discreet.model.contributions import Floats, Integers

__all__ = ["HALF", "Noise", "UnitNoise", "hashed", "mixed"]

HALF = 2**31
"""A record key has 32 bits: the first one gives the direction, the others the size of the noise."""

PURPOSE = "unit noise"
"""What is hashed before a record key, so that the noise of a unit has nothing to do with other numbers made from its key."""

CHUNK = 2**16
"""How many hashes are made at a time."""


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
    """One permanent noise multiplier a unit, made from its record key: its size the same wherever the unit is counted.

    ``direction`` of the noise: ``unit`` each unit its own; ``company`` all units of a holding the same; ``balanced``
    alternating from one contributor to the next smaller one within each inner cell of the table, the largest with its own,
    so that more of it cancels out.  Balanced directions depend on who else is in the cell.
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

    def sql(self, rows: str, cell: str, decimals: int, hash_of: Callable[[str, int], str]) -> str:
        """The rows of ``facts`` and their ``noise``, multiplier * x as an exact decimal; ``cell`` the columns of an inner cell.

        Keys are hashed once more, by the engine's ``hash_of``: so they need not fill 32 bits, and no cell key tells noise.
        """

        def drawn(key: str) -> str:
            return hash_of(f"'{PURPOSE}' || CAST({key} AS VARCHAR)", 32)

        def sign(key: str) -> str:
            return f"CASE WHEN {drawn(key)} < {HALF} THEN -1 ELSE 1 END"

        share = f"((MOD({drawn('record_key')}, {HALF}) + 0.5e0) / {_double(HALF)})"
        spread = f"SQRT({share})" if self.noise.shape == "split-triangular" else share
        size = f"({_double(self.noise.high)} - {_double(self.noise.high - self.noise.low)} * {spread})"
        direction = sign("own_key" if self.direction == "company" else "record_key")
        if self.direction == "balanced":
            own = f"CASE WHEN who IS NULL THEN x ELSE SUM(x) OVER (PARTITION BY {cell}, who) END"
            rows = f"SELECT *, {own} AS own_x FROM ({rows}) AS single"
            # a contributor's records stand together, and single records that agree in all of this are as good as one
            order = "ABS(own_x) DESC, own_x DESC, COALESCE(CAST(who AS VARCHAR), ''), CASE WHEN who IS NULL THEN own_key END"
            window = f"(PARTITION BY {cell} ORDER BY {order}"
            turn = f"(1 - 2 * MOD(DENSE_RANK() OVER {window}) - 1, 2))"
            first = sign(f"FIRST_VALUE(own_key) OVER {window}, own_key)")
            direction = f"{first} * {turn} * CASE WHEN own_x < 0 THEN -1 ELSE 1 END"
        number = f"{direction} * {size} * CAST(x AS DOUBLE)"
        return f"SELECT *, CAST({number} AS DECIMAL(38, {decimals})) AS noise FROM ({rows}) AS keyed"


def _double(number: float) -> str:
    """A number as SQL of the engine's floating kind: without an exponent it would be read as a decimal."""
    text = repr(float(number))
    return text if "e" in text else f"{text}e0"


def hashed(purpose: bytes, words: Integers) -> Integers:
    """63 bits for each row of whole numbers, by BLAKE2b; another ``purpose`` gives independent ones."""
    start = hashlib.blake2b(digest_size=8, person=purpose)
    rows = np.ascontiguousarray(words, "<i8")
    digests = np.empty(len(rows), "<i8")
    for first in range(0, len(rows), CHUNK):
        made = []
        for row in rows[first : first + CHUNK]:
            one = start.copy()
            one.update(row)
            made.append(one.digest())
        digests[first : first + len(made)] = np.frombuffer(b"".join(made), "<i8")
    return digests & np.int64(2**63 - 1)


def mixed(purpose: str, key: Integers) -> NDArray[np.uint64]:
    """64 bits for each key, by the finalizer of SplitMix64: quick, for keys that are secret and as many as cells.

    Another ``purpose`` gives other ones, and keys that do not fill 32 bits give uniform ones.
    """
    tag = int.from_bytes(hashlib.blake2b(purpose.encode(), digest_size=8).digest(), "little")
    bits = key.astype(np.uint64) + np.uint64(tag)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return bits ^ (bits >> np.uint64(31))
