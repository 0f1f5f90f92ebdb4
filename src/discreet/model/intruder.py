"""Whom a table is protected against: what the intruder knows beforehand, and what must stay unknown.

Protection and audit read the same assumptions from here and share nothing else.
"""

from __future__ import annotations

import dataclasses

from discreet.method import check_params, param

__all__ = ["Intruder"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Intruder:
    """The assumptions a release is audited under; every one can be declared in a plan.

    Guards against recomputation by an outsider from all published equations, by single contributors (and
    pairs) who know their own cell, and by adding hidden cells up.  Does not guard against
    knowledge from outside the table that is not declared here.
    """

    nonnegative: bool | None = param(
        None, "it is known that no value is below 0; by default true exactly when no contribution is negative"
    )
    prior: float | None = param(
        None, "the intruder knows every value to within this much beforehand", unit="% of the value", above=0
    )
    nonempty: bool = param(
        False, "it is known which cells are not empty: a hidden count of at least 1 unit is known to be at least 1"
    )
    integer: bool | None = param(
        None, "values are whole numbers and the intruder uses that (integer intervals); by default true for counts"
    )
    levels: bool = param(True, "demand the protection levels of the rules; false demands only that nothing is known exactly")
    insiders: str = param(
        "pairs",
        "contributors who know a hidden cell: the only contributor of a cell, or both of a two-contributor cell together",
        choices=("none", "singletons", "pairs"),
    )
    perturbed: str = param(
        "all",
        "which cells shown rounded or with noise must not be recomputed exactly: all, or only those a rule found sensitive",
        choices=("all", "sensitive"),
    )
    unions: bool = param(True, "the sum of the hidden cells of an equation must pass the sensitivity rules too")

    def __post_init__(self) -> None:
        check_params(self)
