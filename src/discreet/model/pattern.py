"""Which lines of an earlier release were hidden."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.model.layout import Layout
from discreet.model.published import PublishedLayout, PublishedTable
from discreet.model.table import Bools, Table

__all__ = ["Pattern"]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Pattern:
    """The lines of one published table, and which of them showed no value.

    ``codes`` texts of shape (lines, variables); ``hidden`` of shape (lines,); ``source`` the file it was read from.
    """

    variables: tuple[str, ...]
    codes: NDArray[Any]
    hidden: Bools
    source: str | None = None

    def __post_init__(self) -> None:
        if self.codes.shape != (len(self.hidden), len(self.variables)):
            raise InputError(
                "Pattern", f"has codes of shape {self.codes.shape} for {len(self.hidden)} lines", "give one a line"
            )
        self.codes.setflags(write=False)
        self.hidden.setflags(write=False)

    def __repr__(self) -> str:
        return f"Pattern({' × '.join(self.variables)}: {len(self.hidden)} lines, {int(self.hidden.sum())} hidden)"

    @classmethod
    def of(cls, release: Table | PublishedTable) -> tuple[Pattern, ...]:
        """The pattern of each layout of a table or of what was published of it."""
        if isinstance(release, Table):
            return tuple(cls._from(layout, release.suppressed[layout.cell]) for layout in release.layouts)
        return tuple(cls._from(layout, np.array(layout.status != "published", bool)) for layout in release.layouts)

    @classmethod
    def _from(cls, layout: Layout | PublishedLayout, hidden: Bools) -> Pattern:
        codes = np.stack([layout.column(v) for v in range(len(layout.variables))], axis=1)
        return cls(variables=layout.variables, codes=codes, hidden=hidden)
