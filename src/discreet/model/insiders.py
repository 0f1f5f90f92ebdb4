"""Which cells a contributor can write down before looking at a release, knowing its own contributions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.model.contributions import Contributions, Integers
from discreet.model.equations import owned

__all__ = ["known_to_insiders"]


def known_to_insiders(
    contributions: Contributions, equations: sparse.csr_array, among: NDArray[np.bool_], most: int
) -> tuple[Integers, ...]:
    """For each group of at most ``most`` contributors who make up a cell ``among`` these: all cells that follow for them."""
    contributors = np.where(contributions.holdings > 0, contributions.holdings, contributions.n)
    known = np.flatnonzero(among & (contributors >= 1) & (contributors <= most))
    ranks = min(most, contributions.ranks)
    groups: dict[tuple[tuple[int, ...], int], list[int]] = {}
    for cell in known.tolist():
        who = tuple(sorted(int(i) for i in contributions.top_id[cell, :ranks] if i >= 0))
        stranger = -1 if len(who) == contributors[cell] else cell
        groups.setdefault((who, stranger), []).append(cell)
    for (who, stranger), cells in groups.items():
        for one in who if len(who) == 2 or stranger >= 0 else ():
            cells.extend(groups.get(((one,), -1), []))
    return owned(equations, list(groups.values()), contributors)
