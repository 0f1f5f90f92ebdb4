"""The layers of the Layered Perturbation Method: what noise each rank carries, and the factors K, L, M that reach a target."""

from __future__ import annotations

import dataclasses

import numpy as np

from discreet.model.contributions import Floats

__all__ = ["FACTORS", "Layers", "factors"]

FACTORS = 3
"""K, L and M: the three largest contributions have a factor of their own."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Layers:
    """Which ranks of a cell carry which noise; ranks go by size, the largest contribution has rank 1.

    ``consistent``: ranks 1 … c carry ±f_r·ε_i·x_i, with the permanent noise ε_i of the unit and factors f = (K, L, M, 1, 1 …);
    ``mixed``: the next ranks, up to R, carry {±α_i·ε_i + (1 − α_i)·ε'_i}·x_i, with noise ε'_i of this unit in this cell;
    the others carry none.  Signs are + at odd ranks and − at even ones.  ``square`` is E α² (E α is 1/2).

    Variances are in units of σ² = V ε, for independent ε, ε' and α, and for factors that stay as they are when a unit is
    taken out.  ``top`` holds the largest contributions by rank, shape (cells, ranks), and ``chosen`` K, L, M, shape (cells, 3).
    """

    consistent: int = 4
    mixed: int = 5
    square: float = 1 / 3

    @property
    def last(self) -> int:
        """R, the last rank that carries noise."""
        return self.consistent + self.mixed

    @property
    def solved(self) -> int:
        """How many ranks have a factor of their own."""
        return min(FACTORS, self.consistent)

    def squares(self, top: Floats) -> Floats:
        """The squared contributions of ranks 1 … R + 1, zeros where a cell has fewer."""
        out = np.zeros((len(top), self.last + 1))
        held = min(top.shape[1], self.last + 1)
        out[:, :held] = top[:, :held] ** 2
        return out

    def factor(self, chosen: Floats, rank: int) -> Floats:
        """f_r of a consistent rank."""
        return chosen[:, rank - 1] if rank <= FACTORS else np.ones(len(chosen))

    def moved(self, x2: Floats, chosen: Floats, first: int) -> Floats:
        """What the units of rank ``first`` and below add to V(x̂_i)/σ² by moving up one rank when unit i is taken out.

        x_j² times (f_j + f_{j−1})² between consistent ranks, 2·E α² + f_c + f_c² from mixed to consistent, 6·E α² between
        mixed ranks, and what the last rank's noise is to a unit that had none.
        """
        total = np.zeros(len(x2))
        for rank in range(first, self.last + 2):
            above = self.factor(chosen, rank - 1)
            if rank <= self.consistent:
                change = (self.factor(chosen, rank) + above) ** 2
            elif rank == self.consistent + 1:
                change = 2 * self.square + above + above**2 if self.mixed else above**2
            else:
                change = np.full(len(x2), (6 if rank <= self.last else 2) * self.square)
            total += x2[:, rank - 1] * change
        return total


def factors(top: Floats, layers: Layers, *, target: float, variance: float, most: float = np.inf, taper: float = 1.0) -> Floats:
    """K, L and M of each cell, shape (cells, 3), with which V(x̂_i) = x_i²/NN at ranks 1, 2 and 3, or as near as they may go.

    ``target`` NN, ``variance`` σ² = V ε.  V(x̂_i)/σ² is a quadratic in the factor of rank i once those of the ranks below are
    known, so M is found first, then L, then K: each the largest root; 1 where that is smaller or there is none, as the target
    is met already; and at most c = ``most`` for M and L, c + ``taper``·(K − c) for a K above c.
    """
    x2 = layers.squares(top)
    out = np.ones((len(x2), FACTORS))
    for rank in range(layers.solved, 0, -1):
        own, below = x2[:, rank - 1], x2[:, rank]
        square, linear, fixed = _change(layers, out, rank)
        a, b = own + square * below, linear * below
        c = fixed * below + layers.moved(x2, out, rank + 2) - own / (target * variance)
        inside = b**2 - 4 * a * c
        real = (a > 0) & (inside >= 0)
        root = np.divide(np.sqrt(np.where(real, inside, 0.0)) - b, 2 * a, out=np.ones_like(a), where=real)
        beyond = (taper if rank == 1 else 0.0) * np.maximum(root - most, 0.0)
        out[:, rank - 1] = np.maximum(np.minimum(root, most) + beyond, 1.0)
    return out


def _change(layers: Layers, chosen: Floats, rank: int) -> tuple[float, Floats | float, Floats | float]:
    """What moving up to ``rank`` adds for the unit next below: square, linear and constant term in the factor of ``rank``."""
    if rank < layers.consistent:
        below = layers.factor(chosen, rank + 1)
        return 1.0, 2 * below, below**2
    return (1.0, 1.0, 2 * layers.square) if layers.mixed else (1.0, 0.0, 0.0)
