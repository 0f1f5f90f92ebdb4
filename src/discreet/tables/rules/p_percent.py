"""The p% rule."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from discreet.method import check_params, param
from discreet.model.contributions import Contributions, Floats
from discreet.model.table import Bools, Table
from discreet.tables.rules.coalition import Coalition, coalition, in_response, negative_param, weights_param

__all__ = ["PPercent", "precision"]


def precision(who: Coalition, p: float) -> Floats:
    """How much closer than p % of the target the coalition can come: ``p/100·x_s − (X − known)``."""
    return p / 100 * who.target - (who.total - who.known)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PPercent:
    """A cell is sensitive when its second largest contributor can estimate the largest to within p %.

    With the contributions x₁ ≥ x₂ ≥ … of a cell, X their sum and m the size of the ``coalition``, a cell is sensitive when
    ``X − x₁ − x₂ − … − x₍m₊₁₎ < p/100 · x₁`` (equality is not sensitive, also after rounding: 1e-12 of X), and its protection
    level, up and down, is ``p/100 · x₁ − (X − x₁ − … − x₍m₊₁₎)``.  Contributors with a waiver are not protected: x₁ is
    then the largest contribution without waiver, x₂ … the largest of all others.

    Weights: X is the weighted total.  ``sample`` subtracts unweighted contributions, ``public`` weighted ones; ``expand``
    lists every contribution as often as its weight says (the last copy in part) and subtracts the first m + 1 of that list.
    ``expand`` is meant for units: a holding of several units is expanded by its mean weight.

    Guards against: a contributor, or m together, subtracting what they know from the published cell.
    Does not guard against: larger coalitions, or knowledge from outside about single contributions.
    """

    NAME: ClassVar[str] = "p-percent"
    SOURCE: ClassVar[str] = "Hundepool et al. (2012), Statistical Disclosure Control, Wiley, chapter 4"
    unions: ClassVar[bool] = True

    p: float = param(10.0, "the closest an estimate may come to a contribution", unit="%", above=0, at_most=100)
    coalition: int = param(1, "how many contributors may pool what they know", at_least=1)
    weights: str = weights_param()
    negative: str = negative_param()

    def __post_init__(self) -> None:
        check_params(self)

    @property
    def ranks_needed(self) -> int:
        """How many largest contributions of each cell the rule looks at."""
        return self.coalition + 1

    def sensitive(self, contributions: Contributions, /) -> Bools:
        """Which rows fail the rule."""
        who = self._who(contributions)
        return who.fires(precision(who, self.p))

    def apply(self, table: Table, /) -> Table:
        """The table with the sensitive cells marked."""
        who = self._who(table.contributions)
        excess = precision(who, self.p)
        return table.with_primary(self, who.fires(excess), upper=in_response(table, excess))

    def _who(self, contributions: Contributions) -> Coalition:
        return coalition(self.NAME, contributions, others=self.coalition, weights=self.weights, negative=self.negative)
