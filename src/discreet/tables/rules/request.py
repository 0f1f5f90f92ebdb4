"""The request rule."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from discreet.errors import InputError
from discreet.method import check_params, param
from discreet.model.contributions import Contributions
from discreet.model.table import Bools, Table
from discreet.tables.rules.coalition import GUARD, coalition, negative_param

__all__ = ["Request"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request:
    """A cell is sensitive when a contributor asked for protection and holds much of it.

    Contributors protect themselves by request code 1 or 2 (0: none).  With x₁ the largest contribution of a cell and X
    its (weighted) total, a cell is sensitive when the largest contributor asked and ``x₁ > t/100 · X``, t being
    ``p1`` for code 1 and ``p2`` for code 2; or when anybody asked and fewer than ``min_frequency`` contribute
    (holdings where they are declared).  The protection level, up and down, is ``range``/100 of the cell's value.

    Guards against: showing those who asked to be hidden, as in foreign trade statistics.
    Does not guard against: anything for those who did not ask.
    """

    NAME: ClassVar[str] = "request"
    SOURCE: ClassVar[str] = "τ-ARGUS user's manual 4.1, request rule"
    unions: ClassVar[bool] = False

    p1: float = param(doc="the largest share that a contributor with request code 1 may hold", unit="%", at_least=0, below=100)
    p2: float | None = param(None, "the same for request code 2; by default as for code 1", unit="%", at_least=0, below=100)
    min_frequency: float = param(0.0, "the smallest number of contributors of a cell in which anybody asked", at_least=0)
    range: float = param(0.0, "how far from its value a sensitive cell is kept uncertain", unit="% of the value", at_least=0)
    negative: str = negative_param()

    def __post_init__(self) -> None:
        check_params(self)

    @property
    def ranks_needed(self) -> int:
        """How many largest contributions of each cell the rule looks at."""
        return 1

    def sensitive(self, contributions: Contributions, /) -> Bools:
        """Which rows fail the rule."""
        c = contributions
        everybody = dataclasses.replace(c, top_waiver=np.zeros_like(c.top_waiver))
        who = coalition(self.NAME, everybody, others=0, weights="sample", negative=self.negative)
        asked = c.top_request[:, 0] if c.ranks else np.zeros(len(c), np.int64)
        if not np.isin(c.top_request, (0, 1, 2)).all():
            raise InputError(self.NAME, "a request code is none of 0, 1 and 2", "recode the requests to 0 (none), 1 and 2")
        share = np.where(asked == 2, self.p1 if self.p2 is None else self.p2, self.p1) / 100
        large = (asked > 0) & who.fires(who.known - share * who.total)
        few = (c.requests > 0) & (c.holdings > 0) & (c.holdings < self.min_frequency * (1 - GUARD))
        return np.asarray(large | few)

    def apply(self, table: Table, /) -> Table:
        """The table with the sensitive cells marked."""
        return table.with_primary(self, self.sensitive(table.contributions), upper=self.range / 100 * np.abs(table.value))
