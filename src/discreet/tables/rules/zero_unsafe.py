"""The rule that hides cells to which everybody contributes nothing."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from discreet.method import check_params, param
from discreet.model.contributions import Contributions
from discreet.model.table import Bools, Table

__all__ = ["ZeroUnsafe"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ZeroUnsafe:
    """A cell is sensitive when it has contributors and all contributions are 0.

    Such a cell tells each of its contributors' values exactly.  A share of 0 is 0, so the protection level is an absolute
    amount, ``range``.  It holds upwards, and downwards too where the table has values below 0.

    Guards against: reading an exact 0 for everybody in a cell.
    Does not guard against: empty cells (see ``zeros`` of the minimum frequency rule).
    """

    NAME: ClassVar[str] = "zero-unsafe"
    SOURCE: ClassVar[str] = "τ-ARGUS user's manual 4.1, zero-unsafe rule"
    unions: ClassVar[bool] = False

    range: float = param(doc="how far from 0 the cell must seem possible, in units of the response", above=0)

    def __post_init__(self) -> None:
        check_params(self)

    @property
    def ranks_needed(self) -> int:
        """How many largest contributions of each cell the rule looks at."""
        return 0

    def sensitive(self, contributions: Contributions, /) -> Bools:
        """Which rows fail the rule."""
        nothing = (contributions.absolute == 0) & (contributions.absolute_unweighted == 0)
        return np.asarray((contributions.n > 0) & nothing)

    def apply(self, table: Table, /) -> Table:
        """The table with the sensitive cells marked."""
        down = self.range if (table.value < 0).any() else 0.0
        return table.with_primary(self, self.sensitive(table.contributions), upper=self.range, lower=down)
