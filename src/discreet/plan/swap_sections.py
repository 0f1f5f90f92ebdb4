"""The section [swap] of a plan file: every key explained once, for the check and for people."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

from discreet.errors import ParameterError
from discreet.method import param
from discreet.plan.release_sections import ReleaseSection, check_named_once

__all__ = ["SwapSection"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class SwapSection(ReleaseSection):
    """Records that are released after they exchanged values, by the methods of the entries [[swap.step]] in their order.

    An entry names its method and takes its parameters: `method = "random-swap"`; `discreet methods` lists those for swapping.
    """

    NAME: ClassVar[str] = "[swap]"

    renumber: tuple[str, ...] = param(
        (),
        "released columns that get new numbers in an order made from the secret, such as numbers of households: given area by "
        "area, they tell where a household was",
    )
    keys: tuple[str, ...] = param(
        (), "the key variables by which the owner's report counts risky records; by default those of the first step with keys"
    )
    at_most: int = param(1, "a record is risky there if at most so many have its combination of these keys", at_least=1)
    step: tuple[Mapping[str, Any], ...] = param(doc="what is swapped and how, one entry [[swap.step]] each, in order")

    def __post_init__(self) -> None:
        super().__post_init__()
        for key in ("renumber", "keys"):
            check_named_once(key, getattr(self, key))
        if self.at_most > 1 and not self.keys:
            raise ParameterError("at_most", "is for keys, and none are named here", "name keys beside it")
        if not self.step:
            raise ParameterError("step", "nothing is swapped", "add an entry [[swap.step]]")
        absent = [column for column in self.renumber if self.columns is not None and column not in self.columns]
        if absent:
            raise ParameterError("renumber", f"column {absent[0]!r} is not among the released columns", "add it there")
