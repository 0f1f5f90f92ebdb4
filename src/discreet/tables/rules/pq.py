"""The (p,q) rule."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from discreet.errors import ParameterError
from discreet.method import check_params, param
from discreet.model.contributions import Contributions
from discreet.model.table import Bools, Table
from discreet.tables.rules.coalition import Coalition, coalition, in_response, negative_param, weights_param
from discreet.tables.rules.p_percent import precision

__all__ = ["PQ"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class PQ:
    """A cell is sensitive when it sharpens what is known of its largest contribution from within q % to within p %.

    Everybody is taken to know every contribution to within q % before publication.  With the contributions
    x₁ ≥ x₂ ≥ … of a cell, X their sum and m the size of the ``coalition``, a cell is sensitive when
    ``X − x₁ − … − x₍m₊₁₎ < (p/q) · x₁``, and its protection level, up and down, is ``(p/q) · x₁ − (X − x₁ − … − x₍m₊₁₎)``.
    It is the p% rule with 100·p/q in place of p; q = 100 stands for no more knowledge than that nothing is below 0.
    A variable that can be below 0 is known less well beforehand: q above 100, namely 100·f where contributions are known
    to within f times their size.  Waivers, weights and rounding as in the p% rule.

    Guards against: a contributor, or m together, subtracting what they know from the published cell.
    Does not guard against: contributions that somebody knows better than q %.
    """

    NAME: ClassVar[str] = "p-q"
    SOURCE: ClassVar[str] = "Hundepool et al. (2012), Statistical Disclosure Control, Wiley, chapter 4"
    unions: ClassVar[bool] = True

    p: float = param(10.0, "the closest an estimate may come to a contribution", unit="%", above=0)
    q: float = param(100.0, "how closely contributions are known beforehand; above p", unit="%", above=0)
    coalition: int = param(1, "how many contributors may pool what they know", at_least=1)
    weights: str = weights_param()
    negative: str = negative_param()

    def __post_init__(self) -> None:
        check_params(self)
        if self.p >= self.q:
            raise ParameterError(f"{self.NAME}.p", "must be below q", "p: how closely a contribution may be known afterwards")

    @property
    def ranks_needed(self) -> int:
        """How many largest contributions of each cell the rule looks at."""
        return self.coalition + 1

    def sensitive(self, contributions: Contributions, /) -> Bools:
        """Which rows fail the rule."""
        who = self._who(contributions)
        return who.fires(precision(who, 100 * self.p / self.q))

    def apply(self, table: Table, /) -> Table:
        """The table with the sensitive cells marked."""
        who = self._who(table.contributions)
        excess = precision(who, 100 * self.p / self.q)
        return table.with_primary(self, who.fires(excess), upper=in_response(table, excess))

    def _who(self, contributions: Contributions) -> Coalition:
        return coalition(self.NAME, contributions, others=self.coalition, weights=self.weights, negative=self.negative)
