"""What the sections of a plan have in common that release records."""

from __future__ import annotations

import dataclasses
from pathlib import PurePath

from discreet.errors import ParameterError
from discreet.method import check_params, param

__all__ = ["CONFIDENTIAL", "ReleaseSection", "check_named_once"]

CONFIDENTIAL = "confidential"
"""The subfolder with what stays with the owner, so that it does not leave by accident with the release."""

KINDS = (".csv", ".parquet")
"""How the name of a released file may end."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReleaseSection:
    """The released file, its columns, and what names a record."""

    release: str = param("released.csv", "the name of the released file, which ends in .csv or .parquet")
    columns: tuple[str, ...] | None = param(
        None,
        "the columns that are released; by default all but those that name records and those with a role other than weight",
    )
    record: tuple[str, ...] = param((), "the columns that together name a record; by default the column of the unit")

    def __post_init__(self) -> None:
        check_params(self)
        name = PurePath(self.release)
        if name.name != self.release or name.suffix not in KINDS or self.release.startswith("."):
            raise ParameterError(
                "release", f"{self.release!r} cannot be the name of the released file", f"end it in {' or '.join(KINDS)}"
            )
        for key in ("columns", "record"):
            check_named_once(key, getattr(self, key) or ())


def check_named_once(key: str, columns: tuple[str, ...]) -> None:
    """Refuses a list of columns in which one stands twice."""
    twice = sorted({column for column in columns if columns.count(column) > 1})
    if twice:
        raise ParameterError(key, f"column {twice[0]!r} is named twice", "name each column once")
