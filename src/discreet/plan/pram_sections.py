"""The section [pram] of a plan file: every key explained once, for the check and for people."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, ClassVar

from discreet.errors import ParameterError
from discreet.method import check_params, param

__all__ = ["KINDS", "PramSection"]

KINDS = (".csv", ".parquet")
"""How the name of a released file may end."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class PramSection:
    """Records that are released after their variables were randomised, each as an entry [[pram.variables]] says.

    An entry takes the parameters of the method `pram`, and as `design` how its transition matrix is made:
    `design = { method = "k-ary", epsilon = 2 }`; `discreet methods` lists the designs.
    """

    NAME: ClassVar[str] = "[pram]"

    release: str = param("released.csv", "the name of the released file, which ends in .csv or .parquet")
    columns: tuple[str, ...] | None = param(
        None,
        "the columns that are released; by default all but those that name records and those with a role other than weight",
    )
    public: bool = param(
        True, "the document beside the release holds the matrices; false keeps them with the owner, and no analyst can correct"
    )
    counts_known: bool = param(
        False,
        "the true counts of each category (by stratum), which public matrices tell where they are invariant, are public anyway",
    )
    record: tuple[str, ...] = param((), "the columns that together name a record; by default the column of the unit")
    variables: tuple[Mapping[str, Any], ...] = param(doc="what is randomised and how, one entry [[pram.variables]] each")

    def __post_init__(self) -> None:
        check_params(self)
        name = PurePath(self.release)
        if name.name != self.release or name.suffix not in KINDS or self.release.startswith("."):
            raise ParameterError(
                "release", f"{self.release!r} cannot be the name of the released file", f"end it in {' or '.join(KINDS)}"
            )
        if not self.variables:
            raise ParameterError("variables", "nothing is randomised", "add an entry [[pram.variables]]")
        for key in ("columns", "record"):
            listed = getattr(self, key) or ()
            twice = sorted({column for column in listed if listed.count(column) > 1})
            if twice:
                raise ParameterError(key, f"column {twice[0]!r} is named twice", "name each column once")
