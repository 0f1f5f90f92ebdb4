"""What true values a published number may stand for, as every reader can say who knows the method."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from discreet.errors import InputError, ParameterError
from discreet.model.contributions import Floats
from discreet.tables.rounding.scheme import Rounding, Scale

__all__ = ["narrow_outputs", "true_range"]


def true_range(shown: ArrayLike, method: Rounding, *, decimals: int = 0, negative: bool = False) -> tuple[Floats, Floats]:
    """The least and the largest true value that each published number may stand for.

    Of a number rounded by itself, not of a total that is the sum of rounded parts.  ``decimals`` of the true values,
    ``negative`` whether they may be below 0.  What is not published (NaN) may be anything.  Where the
    method declares ``shown_from``, no true value above 0 is smaller.

    Errors: InputError where a number cannot have been shown by this method.
    """
    numbers = np.asarray(shown, float).ravel()
    hidden = np.isnan(numbers)
    scale = Scale(decimals, decimals)
    units = scale.units(np.where(hidden, 0.0, numbers))
    scheme = method.scheme(scale)
    low, high = scheme.reach(units)
    low = low if negative else np.maximum(low, 0)
    least = math.ceil((method.shown_from or 0) * 10**decimals)
    only_zero = (low <= 0) & (high >= 0) & (high < least)
    low, high = np.where((low > 0) & (low < least), least, low), np.where(only_zero, 0, high)
    odd = ~scheme.possible(units) | (low > high) | (np.abs(scale.numbers(units) - np.where(hidden, 0, numbers)) > 1e-9)
    if (odd & ~hidden).any():
        raise InputError(
            "true_range",
            f"{int((odd & ~hidden).sum())} numbers cannot have been published by {method.NAME} as it is declared",
            "declare the method, its base and its threshold as the publisher describes them",
        )
    ends = (np.where(hidden, -np.inf if negative else 0.0, scale.numbers(low)), np.where(hidden, np.inf, scale.numbers(high)))
    return ends[0].reshape(np.shape(shown)), ends[1].reshape(np.shape(shown))


def narrow_outputs(method: Rounding, *, decimals: int = 0) -> tuple[tuple[float, float, float], ...]:
    """The published numbers above 0 that tell more than the rounding promises, because smaller counts are hidden.

    Of each the number, and the least and the largest true value it can stand for: where counts of 1 to 5 are hidden and the
    rest is rounded to base 5, a published 5 means 6 or 7.  Empty where the threshold and the base fit each other.
    """
    if method.shown_from is None:
        raise ParameterError(f"{method.NAME}.shown_from", "is not declared", "give the least count that is shown")
    scheme = method.scheme(Scale(decimals, decimals))
    least = math.ceil(method.shown_from * 10**decimals)
    shown = np.unique(scheme.round(np.array([least, least]), np.array([0.0, 1.0]) if scheme.random else None))
    low, high = scheme.reach(shown)
    told = (shown > 0) & (low > 0) & (low < least)
    scaled = [(number, least, most) for number, most in zip(shown[told].tolist(), high[told].tolist(), strict=True)]
    return tuple((number / 10**decimals, first / 10**decimals, last / 10**decimals) for number, first, last in scaled)
