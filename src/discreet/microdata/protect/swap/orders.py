"""Variables whose codes have an order: where each code is on a line."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.errors import ParameterError, near, some
from discreet.microdata.protect.swap.pairs import STEP
from discreet.model.contributions import Integers
from discreet.model.encoded import Coded

__all__ = ["positions"]


def positions(where: str, variable: str, order: Any, coded: Coded) -> Integers:
    """The place of each code on a line of length ``STEP``; -1 for empty codes, which are not on it.

    ``order`` lists the codes, which are then equally far from the next ones, or is ``"numbers"``, where they are numbers and
    as far from each other as these are.

    Errors: ParameterError for codes that are not listed, or listed twice, or no numbers.
    """
    texts = [category[0] for category in coded.categories]
    codes = [text for text in texts if text]
    if order == "numbers":
        values = dict.fromkeys(codes, 0.0)
        for code in codes:
            try:
                values[code] = float(code)
            except ValueError:
                problem = f"{variable!r} has codes that are no numbers, such as {code!r}"
                raise ParameterError(where, problem, "list its codes in order") from None
    elif isinstance(order, list | tuple):
        listed = [str(code) for code in order]
        if len(set(listed)) < len(listed):
            raise ParameterError(where, f"lists a code of {variable!r} twice", "list each code once")
        if missing := [code for code in codes if code not in listed]:
            problem = f"does not list the codes {some(missing)} of {variable!r}{near(missing[0], listed)}"
            raise ParameterError(where, problem, "list all codes that occur, in order")
        values = {code: float(number) for number, code in enumerate(listed)}
    else:
        raise ParameterError(
            where, f"takes a list of the codes of {variable!r} in order, or 'numbers'", "list its codes in order"
        )
    line = np.array([values[code] for code in codes])
    if not np.isfinite(line).all():
        raise ParameterError(where, f"{variable!r} has codes that are no finite numbers", "list its codes in order")
    length = max(values.values(), default=0.0) - min(values.values(), default=0.0)
    found = np.full(len(texts), -1, np.int64)
    found[[text != "" for text in texts]] = np.rint((line - min(values.values(), default=0.0)) * (STEP / (length or 1.0)))
    return found
