"""Noise on every contribution, as Evans, Zayatz and Slanta add it."""

from __future__ import annotations

import dataclasses
import time
from typing import ClassVar

import numpy as np

from discreet.errors import InputError
from discreet.method import check_params, param
from discreet.model.noise import Noise, UnitNoise
from discreet.model.showing import known_noise, need_contributions, sensitive_cells, to_show, within
from discreet.model.table import Table
from discreet.tables.perturb.moments import EzsScheme

__all__ = ["EvansZayatzSlanta"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class EvansZayatzSlanta:
    """Multiply every contribution by noise of its unit, the same wherever the unit is counted, and add up.

    With the total X of a cell and the contributions x_i of its units it shows ``Z = X + Σ ε_i·x_i`` over all units, rounded to
    the decimals of the table.  ε_i is made from the unit's record key alone, low ≤ \\|ε_i\\| ≤ high.  Tables stay additive but
    for that rounding.  With weights w_i the multiplier is ε_i + w_i: X is the weighted total, and only the unit's own share
    carries noise.

    The ``direction`` of ε_i is the unit's own; or that of its ``company``, so that the noise of its units does not cancel out;
    or ``balanced``: within each inner cell alternating with the size of the contribution, so that most of it does, also in
    the margins.  The standard error is ``σ·√(Σ x_i²)`` with σ² = V ε, the units of a holding added up before they are
    squared: exact for units that are nobody's part; for holdings and for balanced noise the largest it can be, as long as no
    contribution is negative.

    Where no contribution is negative and no weight below 1, whoever has ``known`` low and high can tell that X lies between
    Z/(1 + high) and Z/(1 − high); so offices keep them secret.

    Guards against: finding a contribution to within less than ``low``, from one cell or from many.
    Does not guard against: estimates that are further off.  Z less the same cell without unit i is (1 + ε_i)·x_i, whoever
    else is in the cell and however often it is asked.  Balanced directions change with the inner cells of a table, and
    the two directions of a unit average out: use them where one table is made of the records.  Keys from a column,
    rather than a secret, give a unit the same noise for every response, which gives their ratio away.
    """

    NAME: ClassVar[str] = "ezs"
    SOURCE: ClassVar[str] = (
        "Evans, Zayatz and Slanta (1998), Using noise for disclosure limitation of establishment tabular data, Journal of "
        "Official Statistics 14(4); balanced directions after Massell and Funk (2007)"
    )

    shape: str = param("split-triangular", "the distribution of the noise", choices=("split-triangular", "uniform"))
    low: float = param(0.02, "the least noise (a)", unit="share of the contribution", at_least=0)
    high: float = param(0.04, "the most noise (b)", unit="share of the contribution", above=0, below=1)
    direction: str = param(
        "unit",
        "whether the noise goes up or down: each unit's own, that of its company, or alternating within inner cells",
        choices=("unit", "company", "balanced"),
    )
    known: bool = known_noise()
    sensitive: str = sensitive_cells()

    def __post_init__(self) -> None:
        check_params(self)
        Noise(shape=self.shape, low=self.low, high=self.high)  # refuses what does not fit together

    @property
    def unit_noise(self) -> UnitNoise:
        """The noise of each unit, which ``tabulate`` adds up."""
        return UnitNoise(noise=self.scheme.noise, direction=self.direction)

    @property
    def scheme(self) -> EzsScheme:
        """What the variance and protection calculator asks for, where the directions are not balanced."""
        return EzsScheme(noise=Noise(shape=self.shape, low=self.low, high=self.high))

    def apply(self, table: Table, /) -> Table:
        """The table with the noise of all its units."""
        start = time.perf_counter()
        need_contributions(table, self.NAME)
        if table.unit_noise != self.unit_noise:
            held = "no unit noise" if table.unit_noise is None else "the unit noise of other settings"
            fix = "tabulate(..., unit_noise=method.unit_noise); a plan does so where ezs is among the table's methods"
            raise InputError(self.NAME, f"the table holds {held}", fix)
        sums = table.contributions
        show = to_show(table, self.sensitive) & (sums.holdings > 0)
        shown = np.where(show, np.round(table.value + sums.noise, table.decimals) + 0.0, np.nan)
        low, high = within(table, shown, self.high if self.known else None)
        error = np.sqrt(self.scheme.noise.variance * sums.squares)
        return table.with_shown(self.NAME, shown, low=low, high=high, error=error, seconds=time.perf_counter() - start)
