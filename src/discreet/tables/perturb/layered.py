"""The Layered Perturbation Method."""

from __future__ import annotations

import dataclasses
import time
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError, ParameterError
from discreet.method import check_params, param
from discreet.model.contributions import Contributions, Floats, Integers
from discreet.model.noise import HALF, Noise, hashed
from discreet.model.showing import known_noise, need_contributions, need_keys, to_show, within
from discreet.model.table import Bools, Table
from discreet.tables.perturb.layers import FACTORS, Layers, factors
from discreet.tables.perturb.moments import LpmScheme, contribution_variances, total_variance
from discreet.tables.perturb.unit_keys import need_unit_keys
from discreet.tables.rules import MinimumFrequency

__all__ = ["LayeredPerturbation"]

MODULUS = 1000
"""The number of different keys of the paper's hash."""

WORD = 2**32
"""The low bits of a hash make the noise, the high ones the share α."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class LayeredPerturbation:
    """Noise in layers: the largest contributors carry the same noise everywhere, the next ones partly that of the cell.

    With the contributions x₁ … of a cell ranked by size (absolute value, ties by record key) and X their sum, it shows
    ``Z = X + K·ε₁x₁ − L·ε₂x₂ + M·ε₃x₃ − ε₄x₄ + Σ {(−1)^(r+1)·α_r·ε_r + (1 − α_r)·ε'_r}·x_r``, the sum over ranks r = 5 … 9.
    ε_r of variance σ² and α_r, uniform on (0, 1), are permanent numbers of the unit that has rank r in this cell; ε'_r, of
    the same distribution as ε_r, belongs to this unit in this cell, and is another one as soon as a contributor comes or goes.
    ``consistent`` and ``mixed`` say how many ranks have noise of the first and of the second kind.  Cells of fewer
    contributors have fewer terms.  The standard error is σ·√(K²x₁² + L²x₂² + M²x₃² + x₄² + 2·E α²·Σ x_r²).

    K, L and M are the ``factors``, or are found in each cell for a ``target`` NN, so that the difference x̂_i between the cell
    with and without unit i has the variance x_i²/NN for i = 1, 2, 3, within bounds: L and M from 1 to c (``most``), K from 1,
    and of a K above c the share ``taper`` of K − c is left.  The history counts the cells that miss the target so.

    Cells of fewer than ``minimum`` contributors are hidden.  Sensitive cells stay hidden, unless ``sensitive`` is ``slight``:
    then those are shown whose standard error is at least the protection level that their rules ask for, where they ask
    for one.  Empty cells stay 0.  In a weighted total each unit's noise is that of its own, unweighted contribution: those for
    whom it stands are not in the file.

    Where no contribution is negative and no weight below 1, whoever has ``known`` low, high and the factors can tell that X
    lies between Z/(1 + c) and Z/(1 − c), with c = high times the largest factor; so offices keep them secret.

    ``hash`` = ``paper`` reproduces the source's numbers from keys h = (id·P) mod 1000: ε at the probability h/1000, ε' at
    ((h + Σh) mod 1000)/1000, α = (h mod 8)/7; the sum is the cell key, which holds it up to 4 million contributors.
    ``paper-centred`` takes (h + 1/2)/1000, which makes the noise 0 on average.  Both are weak: units whose ids end alike share
    their noise, and taking out one unit shifts all other ε' by its h.

    Guards against: finding a contribution from one cell, or from the difference between two cells or tables; for the largest
    contributors also averages over many tables; with ``target``, estimates of the three largest closer than it says.
    Does not guard against: averages over many pairs of cells, for contributions beyond the consistent ranks, which carry less
    lasting noise or none; subtracting shown cells from their total where a hidden part is large beside their noise, which
    the audit tells; changes of rank, as all signs below a unit that comes or goes turn, so that what the cells say with it and
    without it of a smaller unit, added up, carries little noise (the attack report counts it); zeros, as noise
    vanishes where all contributions are 0, or in the rounding of small numbers.
    """

    NAME: ClassVar[str] = "lpm"
    SOURCE: ClassVar[str] = (
        "Tambay (2017), A layered perturbation method for the protection of tabular outputs, Survey Methodology 43(1); "
        "signs of the mixed terms after a removal by the rank in the cell."
    )

    consistent: int = param(4, "how many of the largest contributions carry only permanent noise", at_least=1)
    mixed: int = param(5, "how many of the next ones carry permanent noise mixed with noise of the cell", at_least=0)
    shape: str = param("split-triangular", "the distribution of the noise", choices=("split-triangular", "uniform", "normal"))
    low: float = param(0.02, "the least noise (a); 0 for normal noise", unit="share of the contribution", at_least=0)
    high: float = param(0.04, "the most noise (b); of normal noise its standard deviation", unit="share", above=0)
    factors: tuple[float, float, float] = param(
        (1.0, 1.0, 1.0), "K, L and M, which multiply the noise of the three largest contributions", above=0
    )
    target: float | None = param(
        None, "NN: find K, L and M in each cell so that estimates of its three largest have the variance x²/NN", above=0
    )
    most: float = param(1.9, "the bound c of L and M, and of K before the taper, when they are found", at_least=1, at_most=2)
    taper: float = param(0.5, "the share that is left of what K has above the bound", at_least=0, at_most=1)
    minimum: int = param(10, "the fewest contributors of a cell that is shown", at_least=0)
    sensitive: str = param(
        "hide",
        "suppressed cells stay hidden; or primary ones are shown if the noise gives the protection asked for ('slight'); "
        "or all are shown and judged by the audit as they are shown ('show')",
        choices=("hide", "slight", "show"),
    )
    known: bool = known_noise()
    hash: str = param(
        "keyed",
        "how noise is made from keys: by a cryptographic hash, or as in the source, for reproduction",
        choices=("keyed", "paper", "paper-centred"),
    )

    def __post_init__(self) -> None:
        check_params(self)
        epsilon = self.epsilon
        if self.target is None and (self.most, self.taper) != (type(self).most, type(self).taper):
            raise ParameterError(
                "lpm", "has bounds for factors that are not to be found", "give a target, or leave out most and taper"
            )
        if self.target is not None and self.factors != (1, 1, 1):
            raise ParameterError("lpm.factors", "are given, and a target to find them for", "leave out one of the two")
        if self.known and (self.target is not None or epsilon.shape == "normal"):
            problem = (
                "is for bounded noise and fixed factors: normal noise, or factors found for a target, have no bound to know"
            )
            raise ParameterError("lpm.known", problem, "leave it out, or choose other noise and factors")
        if any(factor != 1 for factor in self.factors[self.consistent :]):
            problem = f"has a factor for a rank beyond the {self.consistent} consistent ones"
            raise ParameterError("lpm.factors", problem, "give 1 for these ranks, or more consistent ranks")
        if self.hash == "paper" and epsilon.shape == "normal":
            raise ParameterError("lpm.hash", "makes infinite normal noise of key 0", "choose paper-centred")

    @property
    def ranks_needed(self) -> int:
        """How many largest contributions of each cell the method looks at."""
        return self.layers.last + 1

    @property
    def layers(self) -> Layers:
        """Which ranks carry which noise."""
        return Layers(consistent=self.consistent, mixed=self.mixed, square=1 / 3 if self.hash == "keyed" else 5 / 14)

    @property
    def epsilon(self) -> Noise:
        """The distribution of ε and ε'."""
        return Noise(shape=self.shape, low=self.low, high=self.high)

    @property
    def scheme(self) -> LpmScheme:
        """What the variance and protection calculator asks for."""
        return LpmScheme(
            noise=self.epsilon,
            factors=self.factors[: self.consistent] if self.target is None else self.factors_of,
            consistent=self.consistent,
            mixed=self.mixed,
            alpha="uniform" if self.hash == "keyed" else "eighths",
        )

    def factors_of(self, top: Floats) -> Floats:
        """K, L and M of cells with these largest contributions by rank, shape (cells, 3)."""
        if self.target is None:
            return np.broadcast_to(np.array(self.factors, float), (len(top), FACTORS))
        variance = self.epsilon.variance
        return factors(top, self.layers, target=self.target, variance=variance, most=self.most, taper=self.taper)

    def noise(self, contributions: Contributions, /) -> Floats:
        """Z − X of each cell before any rounding, whatever its number of contributors; from ``top`` and the keys alone."""
        top, key = self._padded(contributions.top), self._padded(contributions.top_key)
        if self.hash == "keyed":
            noise, share, fresh = self._keyed(top, key, contributions.key)
        else:
            noise, share, fresh = self._of_paper(key, contributions.key)
        terms = self.scheme.multipliers(top, noise, share, fresh) * top
        return np.asarray(np.cumsum(terms, axis=1)[:, -1])

    def errors(self, contributions: Contributions, /) -> Floats:
        """The standard error √V(Z) of each cell."""
        return np.asarray(np.sqrt(total_variance(self.scheme, self._padded(contributions.top))))

    def apply(self, table: Table, /) -> Table:
        """The table with small cells hidden and all others shown with noise."""
        start = time.perf_counter()
        self._check(table)
        if self.minimum:
            table = MinimumFrequency(n=self.minimum, count="holdings").apply(table)
        error = self.errors(table.contributions)
        show, slight = self._to_show(table, error)
        cells = np.flatnonzero(show)
        shown = np.full(table.cells, np.nan)
        shown[cells] = np.round(table.value[cells] + self.noise(table.contributions.take(cells)), table.decimals) + 0.0
        counts = {}
        if self.sensitive == "slight":
            counts["slightly sensitive and shown"] = int((show & slight).sum())
        if self.target is not None:
            counts["missing the target"] = int(self._missed(table.contributions.top[cells], self.target).sum())
        low, high = within(table, shown, self.high * max(1.0, *self.factors) if self.known else None)
        seconds = time.perf_counter() - start
        return table.with_shown(self.NAME, shown, low=low, high=high, error=error, seconds=seconds, **counts)

    def _check(self, table: Table) -> None:
        need_contributions(table, self.NAME, self.ranks_needed)
        need_keys(table, self.NAME)
        need_unit_keys(table, self.NAME)

    def _to_show(self, table: Table, error: Floats) -> tuple[Bools, Bools]:
        """The cells to show, and those that are primary but slightly sensitive."""
        level = np.maximum(np.maximum(table.upper_protection, table.lower_protection), table.sliding_protection)
        slight = table.primary & (level > 0) & (error >= level)
        contributors = table.contributions.holdings
        enough = ((contributors >= self.minimum) | table.exempt) & (contributors > 0)
        show = to_show(table, "hide")
        if self.sensitive != "hide":
            show |= to_show(table, "show") & (slight | (self.sensitive == "show"))
        return show & enough, slight

    def _missed(self, top: Floats, target: float) -> Bools:
        """Cells in which a difference x̂_i has a smaller variance than the target."""
        ranks = slice(0, self.layers.solved)
        top = self._padded(top)
        reached, wanted = contribution_variances(self.scheme, top)[:, ranks], top[:, ranks] ** 2 / target
        return np.asarray((reached < wanted * (1 - 1e-9)).any(axis=1))

    # ---------------------------------------------------------------- from keys to numbers

    def _padded(self, top: NDArray[Any]) -> NDArray[Any]:
        """All ranks that matter, zeros where a cell has fewer."""
        held = top[:, : self.ranks_needed]
        return np.pad(held, ((0, 0), (0, self.ranks_needed - held.shape[1])))

    def _keyed(self, top: Floats, key: Integers, cell: Integers) -> tuple[Floats, Floats, Floats]:
        """ε and α of the unit at each rank, from its ``key`` alone, and its ε' in the cell with the key ``cell``."""
        noise, share, fresh = (np.zeros(top.shape) for _ in range(3))
        rank = np.arange(top.shape[1])
        held = (top != 0) & (rank < self.layers.last)
        units, who = np.unique(key[held], return_inverse=True)
        bits = hashed(b"lpm unit", units[:, np.newaxis])
        noise[held] = self.epsilon.of_key(bits % WORD)[who]
        share[held] = ((bits // WORD + 0.5) / HALF)[who]
        mixed = held & (rank >= self.consistent)
        cells = np.broadcast_to(cell[:, np.newaxis], key.shape)
        fresh[mixed] = self.epsilon.of_key(hashed(b"lpm cell", np.stack([cells[mixed], key[mixed]], axis=1)) % WORD)
        return noise, share, fresh

    def _of_paper(self, key: Integers, cell: Integers) -> tuple[Floats, Floats, Floats]:
        """The same as the source makes them, whose shares go in eighths."""
        if ((key < 0) | (key >= MODULUS)).any():
            raise InputError(self.NAME, "needs keys below 1000 for the paper's hash", "make them from a secret in paper mode")
        middle = 0.5 if self.hash == "paper-centred" else 0.0
        noise = self.epsilon.quantile((key + middle) / MODULUS)
        fresh = self.epsilon.quantile(((key + cell[:, np.newaxis]) % MODULUS + middle) / MODULUS)
        return noise, (key % 8 + 0.5) / 8, fresh
