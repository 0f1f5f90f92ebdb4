"""The section [pram] of a plan file: every key explained once, for the check and for people."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

from discreet.errors import ParameterError
from discreet.method import param
from discreet.plan.release_sections import ReleaseSection

__all__ = ["PramSection"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class PramSection(ReleaseSection):
    """Records that are released after their variables were randomised, each as an entry [[pram.variables]] says.

    An entry takes the parameters of the method `pram`, and as `design` how its transition matrix is made:
    `design = { method = "k-ary", epsilon = 2 }`; `discreet methods` lists the designs.
    """

    NAME: ClassVar[str] = "[pram]"

    public: bool = param(
        True, "the document beside the release holds the matrices; false keeps them with the owner, and no analyst can correct"
    )
    counts_known: bool = param(
        False,
        "the true counts of each category (by stratum), which public matrices tell where they are invariant, are public anyway",
    )
    variables: tuple[Mapping[str, Any], ...] = param(doc="what is randomised and how, one entry [[pram.variables]] each")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.variables:
            raise ParameterError("variables", "nothing is randomised", "add an entry [[pram.variables]]")
