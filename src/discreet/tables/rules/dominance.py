"""The (n,k) dominance rule."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from discreet.method import check_params, param
from discreet.model.contributions import Contributions, Floats
from discreet.model.table import Bools, Table
from discreet.tables.rules.coalition import Coalition, coalition, in_response, negative_param, weights_param

__all__ = ["Dominance"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Dominance:
    """A cell is sensitive when its n largest contributors hold more than k % of it.

    With the contributions x₁ ≥ x₂ ≥ … of a cell and X their sum, a cell is sensitive when ``x₁ + … + xₙ > k/100 · X``
    (equality is not sensitive, also after rounding: 1e-12 of X), and its protection level, up and down, is
    ``100/k · (x₁ + … + xₙ) − X``.  Contributors with a waiver are not protected: the n are then the largest
    without waiver and the n − 1 largest of all others.  Several (n,k) are several methods.

    Weights: X is the weighted total.  ``sample`` adds up unweighted contributions, ``public`` weighted ones; ``expand``
    lists every contribution as often as its weight says (the last copy in part) and adds up the first n of that list.
    ``expand`` is meant for units: a holding of several units is expanded by its mean weight.

    Guards against: reading a published cell as a good estimate of what its n largest contributors hold.
    Does not guard against: the second largest contributor's subtraction when n is 1; the p% rule does.
    """

    NAME: ClassVar[str] = "dominance"
    SOURCE: ClassVar[str] = "Hundepool et al. (2012), Statistical Disclosure Control, Wiley, chapter 4"
    unions: ClassVar[bool] = True

    n: int = param(1, "how many of the largest contributors are added up", at_least=1)
    k: float = param(85.0, "the largest share that they may hold", unit="%", above=0, below=100)
    weights: str = weights_param()
    negative: str = negative_param()

    def __post_init__(self) -> None:
        check_params(self)

    @property
    def ranks_needed(self) -> int:
        """How many largest contributions of each cell the rule looks at."""
        return self.n

    def sensitive(self, contributions: Contributions, /) -> Bools:
        """Which rows fail the rule."""
        who = self._who(contributions)
        return who.fires(self._excess(who))

    def apply(self, table: Table, /) -> Table:
        """The table with the sensitive cells marked."""
        who = self._who(table.contributions)
        excess = self._excess(who)
        return table.with_primary(self, who.fires(excess), upper=in_response(table, excess))

    def _excess(self, who: Coalition) -> Floats:
        return 100 / self.k * who.known - who.total

    def _who(self, contributions: Contributions) -> Coalition:
        return coalition(self.NAME, contributions, others=self.n - 1, weights=self.weights, negative=self.negative)
