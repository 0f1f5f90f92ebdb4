"""Edits: combinations of codes that a record must not have, and which records have them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError, near, some
from discreet.model.encoded import Coded

__all__ = ["Edits"]

Flags = NDArray[np.bool_]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Edits:
    """For each edit, and each of its variables by position, which codes take part: a record breaks it if all its codes do."""

    forbidden: tuple[Mapping[int, Flags], ...] = ()

    def __repr__(self) -> str:
        return f"Edits({len(self.forbidden)})"

    @classmethod
    def of(cls, where: str, forbid: Sequence[Any], variables: Sequence[str], coded: Sequence[Coded]) -> Edits:
        """Edits as ``{"age": ["0-4", "5-14"], "married": "yes"}``: a code or a list of codes for each variable.

        Errors: ParameterError for an edit that is no mapping or empty, a variable that is not among these, and a code that
        does not occur.
        """
        found = []
        for number, edit in enumerate(forbid, 1):
            at = f"{where}, edit {number}"
            if not isinstance(edit, Mapping) or not edit:
                raise ParameterError(at, "is no table of codes", 'write {"age": ["0-4", "5-14"], "married": "yes"}')
            flags: dict[int, Flags] = {}
            for variable, codes in edit.items():
                if variable not in variables:
                    problem = f"{variable!r} is not among the variables{near(str(variable), variables)}"
                    raise ParameterError(at, problem, "name it among the variables, and in stay if it must not move")
                v = list(variables).index(variable)
                texts = [category[0] for category in coded[v].categories]
                named = [str(code) for code in (codes if isinstance(codes, list | tuple) else [codes])]
                unknown = [code for code in named if code not in texts]
                if unknown or not named:
                    problem = f"{variable!r} never is {some(unknown)}{near(unknown[0], texts)}" if unknown else "names no code"
                    raise ParameterError(at, problem, "name codes that occur")
                flags[v] = np.isin(texts, named)
            found.append(flags)
        return cls(tuple(found))

    def met(self, codes: NDArray[np.int32]) -> list[dict[int, Flags]]:
        """For each edit and variable, whether the row's code takes part; ``codes`` has shape (rows, variables)."""
        return [{v: flag[codes[:, v]] for v, flag in edit.items()} for edit in self.forbidden]

    def broken(self, codes: NDArray[np.int32]) -> Flags:
        """Which rows break which edits; shape (rows, edits)."""
        found = np.zeros((len(codes), len(self.forbidden)), bool)
        for e, edit in enumerate(self.met(codes)):
            found[:, e] = np.logical_and.reduce(list(edit.values()))
        return found
