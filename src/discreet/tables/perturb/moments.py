"""What noise costs and what it protects: the variance of a perturbed sum, and of what is learnt of each contribution.

The unit of rank r (by absolute value, largest first) carries the noise multiplier m_r, of mean 0: the cell is published as
Z = X + Σ m_r x_r.  Whoever also sees Z₋ᵢ, the same cell without unit i, estimates its contribution by x̂ᵢ = Z − Z₋ᵢ; in the
smaller cell the units after rank i move up by one.  With v_r = V m_r, with c_rq the covariance of a unit's multipliers at
rank r in the one cell and at rank q in the other, and with independent units:

    V(Z)  = Σ v_r x_r²
    V(x̂ᵢ) = v_i x_i² + Σ_{r<i} 2(v_r − c_rr) x_r² + Σ_{r>i} (v_r + v_{r−1} − 2c_{r,r−1}) x_r²

A scheme says what v and c are; all else follows.  It also draws multipliers, and :func:`simulated` measures both variances with
the ranks, the factors and the fresh noise of the smaller cell made anew.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from discreet.errors import InputError, ParameterError
from discreet.model.contributions import Floats, Integers
from discreet.model.noise import Noise

__all__ = [
    "EzsScheme",
    "LpmScheme",
    "Scheme",
    "Simulated",
    "TcmScheme",
    "contribution_variances",
    "protection",
    "simulated",
    "total_variance",
]

BATCH = 1_000_000
"""About how many multipliers a simulation draws at a time."""


class Scheme(Protocol):
    """How the noise multiplier of a unit depends on its rank in the cell; ``x`` are ranked cells, shape (cells, ranks)."""

    @property
    def noise(self) -> Noise:
        """The distribution of the noise of one unit."""
        ...

    def variances(self, x: Floats, /) -> Floats:
        """v_r at each rank, of shape (cells or 1, ranks)."""
        ...

    def covariances(self, x: Floats, up: int, /) -> Floats:
        """c_{r, r−up} at each rank r > ``up``."""
        ...

    def multipliers(self, x: Floats, noise: Floats, share: Floats, fresh: Floats, /) -> Floats:
        """m_r of units with ``noise`` and a ``share`` in [0, 1) that they have everywhere, and ``fresh`` noise of this cell."""
        ...


@dataclasses.dataclass(frozen=True, kw_only=True)
class LpmScheme:
    """Layered perturbation: m_r = ±f_r ε for ranks 1 … ``consistent``, ±α ε + (1 − α) ε' for the next ``mixed``, then 0.

    The sign is + at odd ranks and − at even ones.  ε and the share α are the unit's own, ε' is fresh in each cell.
    ``factors`` f = (K, L, M, …), 1 where none is given, or a function that works them out for each of the cells, shape
    (cells, factors): the formulas then let the smaller cell have those of the cell itself, which is an approximation.
    ``alpha``: ``uniform`` shares, or ``eighths``, the eight steps 0, 1/7 … 1.
    """

    noise: Noise = dataclasses.field(default_factory=Noise)
    factors: tuple[float, ...] | Callable[[Floats], Floats] = (1.0, 1.0, 1.0)
    consistent: int = 4
    mixed: int = 5
    alpha: str = "uniform"

    def __post_init__(self) -> None:
        if min(self.consistent, self.mixed) < 0:
            raise ParameterError("LpmScheme", "has a layer of fewer than 0 ranks", "give 0 or more")
        if not callable(self.factors) and len(self.factors) > self.consistent:
            trouble = f"has {len(self.factors)} factors for {self.consistent} consistent ranks"
            raise ParameterError("LpmScheme.factors", trouble, "give at most one factor a consistent rank")
        if self.alpha not in ("uniform", "eighths"):
            raise ParameterError("LpmScheme.alpha", f"{self.alpha!r} is not uniform or eighths")

    @property
    def second_moment(self) -> float:
        """E α², which is also E (1 − α)²."""
        return 1 / 3 if self.alpha == "uniform" else 5 / 14

    def variances(self, x: Floats, /) -> Floats:
        """f²σ², then 2E(α²)σ², then 0."""
        steady, mixed = self._layers(x)
        out: Floats = self.noise.variance * (steady**2 + 2 * self.second_moment * mixed**2)
        return out

    def covariances(self, x: Floats, up: int, /) -> Floats:
        """Those of the parts in ε, as ε' is another one in the other cell; E α = 1/2."""
        steady, mixed = self._layers(x)
        there, mixed_there = np.roll(steady, up, axis=-1), np.roll(mixed, up, axis=-1)
        across = (steady * mixed_there + mixed * there) / 2
        out: Floats = self.noise.variance * (steady * there + across + self.second_moment * mixed * mixed_there)
        return out

    def multipliers(self, x: Floats, noise: Floats, share: Floats, fresh: Floats, /) -> Floats:
        """±f ε, then ±α ε + (1 − α) ε', then 0."""
        steady, mixed = self._layers(x)
        alpha = share if self.alpha == "uniform" else np.floor(8 * share) / 7
        out: Floats = (steady + mixed * alpha) * noise + np.abs(mixed) * (1 - alpha) * fresh
        return out

    def _layers(self, x: Floats) -> tuple[Floats, Floats]:
        """±f at the consistent ranks, and ±1 at the mixed ones; 0 at all others."""
        rank = np.arange(x.shape[-1])
        sign = np.where(rank % 2 == 0, 1.0, -1.0)
        factors = self.factors(x) if callable(self.factors) else np.array([self.factors])
        size = np.ones((len(factors), max(len(rank), factors.shape[1])))
        size[:, : factors.shape[1]] = factors
        steady = sign * size[:, : len(rank)] * (rank < self.consistent)
        mixed = sign * ((rank >= self.consistent) & (rank < self.consistent + self.mixed))
        return steady, mixed[np.newaxis, :]


@dataclasses.dataclass(frozen=True, kw_only=True)
class EzsScheme:
    """Evans, Zayatz and Slanta: m_r = ε, the unit's own at every rank; so x̂ᵢ = (1 + εᵢ) xᵢ whatever else is in the cell."""

    noise: Noise = dataclasses.field(default_factory=Noise)

    def variances(self, x: Floats, /) -> Floats:
        """σ²."""
        return np.full((1, x.shape[-1]), self.noise.variance)

    def covariances(self, x: Floats, up: int, /) -> Floats:
        """σ²: the multiplier is the same in every cell."""
        return self.variances(x)

    def multipliers(self, x: Floats, noise: Floats, share: Floats, fresh: Floats, /) -> Floats:
        """ε."""
        return noise


@dataclasses.dataclass(frozen=True, kw_only=True)
class TcmScheme:
    """Top contributors: m_r = f_r d s at the ranks that have a magnitude f, then 0.

    The direction d = ±1 is the unit's own, the size s = \\|ε\\| is fresh in each cell.  The covariances are those for a
    direction that the intruder does not know; of one that is known, d (f_r − f_{r−1}) E(s) x_r is a bias and no variance.
    """

    noise: Noise = dataclasses.field(default_factory=Noise)
    magnitudes: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0)

    def variances(self, x: Floats, /) -> Floats:
        """f²σ²."""
        return self.noise.variance * self._magnitudes(x) ** 2

    def covariances(self, x: Floats, up: int, /) -> Floats:
        """f_r f_{r−up} μ² with μ = E s."""
        size = self._magnitudes(x)
        return self.noise.mean_size**2 * size * np.roll(size, up, axis=-1)

    def multipliers(self, x: Floats, noise: Floats, share: Floats, fresh: Floats, /) -> Floats:
        """f d s."""
        out: Floats = self._magnitudes(x) * np.sign(noise) * np.abs(fresh)
        return out

    def _magnitudes(self, x: Floats) -> Floats:
        out = np.zeros((1, max(x.shape[-1], len(self.magnitudes))))
        out[0, : len(self.magnitudes)] = self.magnitudes
        return out[:, : x.shape[-1]]


def total_variance(scheme: Scheme, x: ArrayLike) -> Floats:
    """V(Z) of one cell with the contributions ``x``, or of many, ``x`` of shape (cells, contributions).

    ``x`` is in any order, with 0 where a cell has fewer; it may stop after the last rank that the scheme perturbs.
    """
    cells, _, shape = _ranked(x)
    out: Floats = (scheme.variances(cells) * cells**2).sum(axis=-1).reshape(shape[:-1])
    return out


def contribution_variances(scheme: Scheme, x: ArrayLike) -> Floats:
    """V(x̂ᵢ) for each contribution, in the order and shape of ``x``; ``x`` as in :func:`total_variance`, with one rank more.

    The smaller cell is taken to be published with noise as well, however few units it has.
    """
    cells, order, shape = _ranked(x)
    squares, own = cells**2, np.broadcast_to(scheme.variances(cells), cells.shape)
    before, after = np.zeros(cells.shape), np.zeros(cells.shape)
    stay = (own - scheme.covariances(cells, 0))[:, :-1]
    before[:, 1:] = np.cumsum(2 * stay * squares[:, :-1], axis=-1)
    move = own[:, 1:] + own[:, :-1] - 2 * np.broadcast_to(scheme.covariances(cells, 1), cells.shape)[:, 1:]
    after[:, :-1] = np.cumsum((move * squares[:, 1:])[:, ::-1], axis=-1)[:, ::-1]
    out = np.empty(cells.shape)
    np.put_along_axis(out, order, own * squares + before + after, axis=-1)
    return out.reshape(shape)


def protection(scheme: Scheme, x: ArrayLike) -> Floats:
    """The standard deviation of x̂ᵢ in % of \\|xᵢ\\|, as :func:`contribution_variances`; NaN where xᵢ is 0."""
    size = np.abs(np.asarray(x, float))
    return 100 * np.sqrt(contribution_variances(scheme, x)) / np.where(size > 0, size, np.nan)


def _ranked(x: ArrayLike) -> tuple[Floats, Integers, tuple[int, ...]]:
    """The cells with their contributions ranked, which contribution each rank is, and the shape that was given."""
    given = np.asarray(x, float)
    if not given.size or not np.isfinite(given).all():
        raise InputError("contributions", "are missing or no numbers", "give at least one contribution a cell, 0 for none")
    cells = given.reshape(-1, given.shape[-1] if given.ndim else 1)
    order = np.argsort(-np.abs(cells), axis=-1, kind="stable")
    return np.take_along_axis(cells, order, axis=-1), order, given.shape


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Simulated:
    """Mean squares over many draws: ``total`` of Z − X, ``contributions`` of x̂ᵢ − xᵢ, in the order of the contributions."""

    total: float
    contributions: Floats
    replicates: int


def simulated(scheme: Scheme, x: ArrayLike, *, replicates: int, chance: np.random.Generator) -> Simulated:
    """Both variances of one cell, measured: each unit in turn is taken out, and the rest ranked and perturbed as a new cell.

    ε and α of a unit stay the same; what is fresh in a cell is drawn again for each cell.
    """
    units = np.asarray(x, float)
    if units.ndim != 1:
        raise InputError("contributions", "are those of several cells", "simulate one cell at a time")
    if replicates < 1:
        raise ParameterError("replicates", f"is {replicates}", "draw at least once")
    whole = _ranked(units)
    without = [_ranked(np.delete(units, i)) if len(units) > 1 else None for i in range(len(units))]
    total, squares = 0.0, np.zeros(len(units))
    rows = max(1, BATCH // len(units))
    for start in range(0, replicates, rows):
        shape = (min(rows, replicates - start), len(units))
        noise, share = _noise(scheme, shape, chance), chance.random(shape)
        error = _error(scheme, whole, noise, share, chance)
        total += float((error**2).sum())
        for i, rest in enumerate(without):
            others = np.arange(len(units)) != i
            again = 0.0 if rest is None else _error(scheme, rest, noise[:, others], share[:, others], chance)
            squares[i] += float(((error - again) ** 2).sum())
    return Simulated(total=total / replicates, contributions=squares / replicates, replicates=replicates)


def _noise(scheme: Scheme, shape: tuple[int, int], chance: np.random.Generator) -> Floats:
    return scheme.noise.quantile(chance.random(shape))


def _error(
    scheme: Scheme,
    ranked: tuple[Floats, Integers, tuple[int, ...]],
    noise: Floats,
    share: Floats,
    chance: np.random.Generator,
) -> Floats:
    """Z − X of one cell in each replicate; ``noise`` and ``share`` in the order of the units."""
    x, order, _ = ranked
    fresh = _noise(scheme, (len(noise), x.shape[-1]), chance)
    drawn: Floats = scheme.multipliers(x, noise[:, order[0]], share[:, order[0]], fresh) @ x[0]
    return drawn
