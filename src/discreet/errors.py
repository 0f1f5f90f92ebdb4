"""Every error a user can meet, each with where it happened, what is wrong and one way to mend it.

    SdcError                       .where .problem .fix
    ├─ InputError(ValueError)         the data do not fit what was declared
    │   ├─ HierarchyError                a code without parent, a level that does not add up
    │   └─ AdditivityError               totals do not equal their parts
    ├─ ParameterError(ValueError)     a method cannot use this parameter
    ├─ PlanError(ValueError)          the plan file; all problems at once, with line and near matches
    ├─ SolverError                    no backend, or the backend broke
    └─ NotProtectedError              a release was asked for and refused

A message never holds a response value, a weight, a key or a record: errors end up in logs and e-mails.
Codes and column names are not confidential and are named.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

__all__ = [
    "AdditivityError",
    "HierarchyError",
    "InputError",
    "NotProtectedError",
    "ParameterError",
    "PlanError",
    "SdcError",
    "SolverError",
    "near",
    "some",
]


class SdcError(Exception):
    """The root of all errors of discreet.

    ``where`` names the file, column, variable, method or cell; ``problem`` says what is wrong;
    ``fix`` says one thing that mends it.  ``details`` may hold a frame-like list of all offenders.
    """

    def __init__(self, where: str, problem: str, fix: str = "", *, details: Iterable[Any] = ()) -> None:
        self.where = where
        self.problem = problem
        self.fix = fix
        self.details = list(details)
        super().__init__(where, problem, fix)

    def __str__(self) -> str:
        text = f"{self.where}: {self.problem}"
        return f"{text}\n  fix: {self.fix}" if self.fix else text


class InputError(SdcError, ValueError):
    """The data do not fit what was declared."""


class HierarchyError(InputError):
    """A code tree is broken, or the data hold a code that the tree does not."""


class AdditivityError(InputError):
    """Totals do not equal the sum of their parts; ``details`` lists every offending relation."""


class ParameterError(SdcError, ValueError):
    """A method was given a parameter that it cannot use."""


class PlanError(SdcError, ValueError):
    """A plan file has problems; ``details`` lists all of them."""


class SolverError(SdcError):
    """No solver can be had, or the solver broke."""


class NotProtectedError(SdcError):
    """A release was asked for and refused; ``details`` lists the cells, never their values."""


def near(word: str, known: Iterable[str]) -> str:
    """``" (did you mean 'x'?)"`` for the closest of the known words, or an empty string."""
    listed = list(known)
    matches = [other for other in listed if other.casefold() == word.casefold()]
    matches += get_close_matches(word, listed, n=1, cutoff=0.6)
    return f" (did you mean {matches[0]!r}?)" if matches else ""


def some(items: Iterable[object], most: int = 5) -> str:
    """The first few items for a message: ``'a', 'b' and 7 more``."""
    listed = [repr(item) if isinstance(item, str) else str(item) for item in items]
    shown = ", ".join(listed[:most])
    return shown if len(listed) <= most else f"{shown} and {len(listed) - most} more"
