"""How a deviation spreads over a group of cells."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from discreet.model.contributions import Floats

__all__ = ["PROBABILITIES", "Spread", "round_steps"]

PROBABILITIES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
"""Where the quantiles of a :class:`Spread` are taken."""

_MOST_STEPS = 12
_MOST_WHOLE = 8


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class Spread:
    """The distribution of a signed deviation d over ``counted`` cells; NaN where there are none.  Confidential.

    ``mean`` of d (the bias), ``mean_size`` of abs(d), ``root_mean_square``, ``largest`` abs(d); ``quantiles`` of abs(d) at
    :data:`PROBABILITIES`.  ``counts`` of cells in the classes that the sizes ``edges`` e_1 < … < e_k make: below -e_k,
    up to -e_(k-1), …, up to but not 0, exactly 0, above 0 up to e_1, …, above e_k.
    """

    counted: int
    mean: float
    mean_size: float
    root_mean_square: float
    largest: float
    quantiles: tuple[float, ...]
    edges: tuple[float, ...]
    counts: tuple[int, ...]

    def __repr__(self) -> str:
        return f"Spread({self.counted} cells)"

    def quantile(self, probability: float) -> float:
        """The size that this share of the cells does not exceed; one of :data:`PROBABILITIES`."""
        return self.quantiles[PROBABILITIES.index(probability)]

    @classmethod
    def of(cls, deviation: Floats, edges: tuple[float, ...]) -> Spread:
        """The spread of these deviations in classes of these sizes."""
        many = len(deviation)
        sizes = np.abs(deviation)
        at = [max(0, math.ceil(share * many - 1e-9) - 1) for share in PROBABILITIES]
        above = [int(np.count_nonzero(deviation > edge)) for edge in (0.0, *edges)]
        below = [int(np.count_nonzero(deviation < -edge)) for edge in (0.0, *edges)]
        classes = [*np.diff(below[::-1], prepend=0), many - above[0] - below[0], *np.diff(above[::-1], prepend=0)[::-1]]
        return cls(
            counted=many,
            mean=float(deviation.mean()) if many else math.nan,
            mean_size=float(sizes.mean()) if many else math.nan,
            root_mean_square=float(np.sqrt(np.mean(sizes**2))) if many else math.nan,
            largest=float(sizes.max()) if many else math.nan,
            quantiles=tuple(np.partition(sizes, at)[at].tolist()) if many else (math.nan,) * len(at),
            edges=edges,
            counts=tuple(int(count) for count in classes),
        )


def round_steps(size: float, *, whole: bool = False) -> tuple[float, ...]:
    """Round numbers 1, 2, 5, 10, … of which the last is the first one that reaches ``size``; for whole numbers up to 8 all."""
    if not size > 0:
        return (1.0,)
    if whole and size <= _MOST_WHOLE:
        return tuple(float(step) for step in range(1, max(1, math.ceil(size)) + 1))
    top = math.floor(math.log10(size))
    steps = [m * 10.0**e for e in range(top - 4, top + 2) for m in (1, 2, 5)]
    last = next(i for i, step in enumerate(steps) if step >= size * (1 - 1e-12))
    return tuple(step for step in steps[last - _MOST_STEPS + 1 : last + 1] if not whole or step >= 1)
