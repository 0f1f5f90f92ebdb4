"""Noise on the largest contributions, as the Top Contributors Method adds it."""

from __future__ import annotations

import dataclasses
import time
from typing import ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.method import check_params, param
from discreet.model.contributions import Contributions, Floats
from discreet.model.noise import Noise, hashed
from discreet.model.showing import known_noise, need_contributions, need_keys, sensitive_cells, to_show, within
from discreet.model.table import Table
from discreet.tables.perturb.moments import TcmScheme, total_variance
from discreet.tables.perturb.unit_keys import need_unit_keys

__all__ = ["TopContributors"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class TopContributors:
    """Add noise to the largest contributions of each cell, in a direction that each contributor keeps everywhere.

    With the total X of a cell and its contributions x₁ … x_t, ranked by absolute value, it shows ``Z = X + Σ m_r·d·s·x_r`` over
    the ranks r that have a magnitude m_r, rounded to the decimals of the table.  The direction d = ±1 comes from the
    contributor's record key alone; the size s, low ≤ s ≤ high, from its key and the cell's, so that it is another one as soon
    as one contributor comes or goes.  With weights X is the weighted total, and the noise that of the unweighted contributions.
    The standard error is ``√(Σ m_r²·E(s²)·x_r²)``.

    The magnitudes (K, L, M, 1) with sizes between a and b are comparable with the layered method's factors K, L, M and
    noise between a and b; the defaults (0.6, 0.4, 0.3, 0.2) with 0.1 … 0.2 are (3, 2, 1.5, 1) with 0.02 … 0.04.

    Where no contribution is negative and no weight below 1, whoever has ``known`` low and high can tell that X lies between
    Z/(1 + c) and Z/(1 − c), with c = high times the largest magnitude; so offices keep them secret.

    Guards against: finding a large contribution from one cell, or from the difference between two.
    Does not guard against: averages over many cells with the same largest contributors, in which s averages out and only
    d·m_r·E(s) stays; differences that a known direction explains; estimates of contributions of lower ranks, which carry
    no noise of their own.
    """

    NAME: ClassVar[str] = "tcm"
    SOURCE: ClassVar[str] = (
        "Thompson, Broadfoot and Elazar (2013), Methodology for the automatic confidentialisation of statistical outputs from "
        "remote servers at the Australian Bureau of Statistics; variances corrected from Tambay (2017)"
    )

    magnitudes: tuple[float, ...] = param(
        (0.6, 0.4, 0.3, 0.2), "how much noise the largest contribution carries, the second largest, and so on", above=0
    )
    shape: str = param("split-triangular", "the distribution of the sizes", choices=("split-triangular", "uniform"))
    low: float = param(0.1, "the smallest size (a), before it is multiplied by the magnitude", at_least=0)
    high: float = param(0.2, "the largest size (b), before it is multiplied by the magnitude", above=0)
    known: bool = known_noise()
    sensitive: str = sensitive_cells()

    def __post_init__(self) -> None:
        check_params(self)
        if not self.magnitudes:
            raise ParameterError("tcm.magnitudes", "names no contribution that carries noise", "give at least one magnitude")
        Noise(shape=self.shape, low=self.low, high=self.high)  # refuses what does not fit together

    @property
    def ranks_needed(self) -> int:
        """How many largest contributions of each cell carry noise."""
        return len(self.magnitudes)

    @property
    def scheme(self) -> TcmScheme:
        """What the variance and protection calculator asks for."""
        return TcmScheme(noise=Noise(shape=self.shape, low=self.low, high=self.high), magnitudes=self.magnitudes)

    def noise(self, contributions: Contributions, /) -> Floats:
        """Z − X of each cell before any rounding."""
        ranks = min(self.ranks_needed, contributions.ranks)
        top, unit_key = contributions.top[:, :ranks], contributions.top_key[:, :ranks]
        held = top != 0
        cell_key = np.broadcast_to(contributions.key[:, np.newaxis], top.shape)[held]
        units, who = np.unique(unit_key[held], return_inverse=True)
        direction = hashed(b"tcm unit", units[:, np.newaxis])[who] % 2**32
        size = hashed(b"tcm cell", np.stack([cell_key, unit_key[held]], axis=1)) % 2**32
        drawn = np.zeros(top.shape)
        drawn[held] = self.scheme.noise.of_key(size, direction)
        return np.asarray((drawn * top) @ np.array(self.magnitudes[:ranks], float))

    def apply(self, table: Table, /) -> Table:
        """The table with noise on the largest contributions of each cell."""
        start = time.perf_counter()
        need_contributions(table, self.NAME, self.ranks_needed)
        need_keys(table, self.NAME)
        need_unit_keys(table, self.NAME)
        show = to_show(table, self.sensitive) & (table.contributions.holdings > 0)
        cells = np.flatnonzero(show)
        held = table.contributions.take(cells)
        shown, error = np.full(table.cells, np.nan), np.full(table.cells, np.nan)
        shown[cells] = np.round(table.value[cells] + self.noise(held), table.decimals) + 0.0
        error[cells] = np.sqrt(total_variance(self.scheme, held.top))
        low, high = within(table, shown, self.high * max(self.magnitudes) if self.known else None)
        return table.with_shown(self.NAME, shown, low=low, high=high, error=error, seconds=time.perf_counter() - start)
