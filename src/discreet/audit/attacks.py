"""What an intruder learns from a method that adds noise, by attacking cells made up for the purpose.

Nothing confidential enters: the cells hold declared contributions, their units random record keys, and the method perturbs
them as it would any table.  One draw of all keys is a *replicate*; over the replicates a simulator tells how far the intruder's
estimate of a contribution is from it.  The intruder may ask for cells that differ in a chosen unit, as users of custom
tables can, and for as many of them as told.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.audit.profiles import PROFILES, Cells, Perturbing, Profile, attackable, paper
from discreet.errors import ParameterError
from discreet.model.contributions import Floats, Integers

__all__ = [
    "Attacked",
    "Exactness",
    "Learnt",
    "Shifts",
    "attack_report",
    "averaging",
    "rank_change",
    "same_hash",
    "shift",
    "subset_query",
    "zero_noise",
]

QUERIES = (1, 10, 100)
REPLICATES = 400
WITHIN = 5.0
RANKS = (1, 2, 5, 11)
"""One of each layer of layered perturbation: the largest two, a mixed one, and one without noise of its own."""

SMALL = 1e-9
"""Noise below this share of the number is none."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Learnt:
    """What an intruder learns of single contributions; arrays over pairs of a contribution and a number of repetitions.

    ``rank`` of the contribution in its cell; ``repeated`` how often the attack was repeated with other cells, ``numbers`` how
    many published numbers that takes; ``error`` the root mean square error of the estimate and ``floor`` what is left of it
    however often the attack is repeated (0 where that cannot be told from nothing, NaN where it was not measured), both in %
    of the contribution; ``near``
    the share of replicates whose estimate is within ``within`` % of the contribution.
    """

    attack: str
    rank: Integers
    repeated: Integers
    numbers: Integers
    error: Floats
    floor: Floats
    near: Floats
    within: float
    replicates: int

    def to_columns(self) -> dict[str, list[Any]]:
        """One row a contribution and number of repetitions."""
        columns: dict[str, list[Any]] = {"attack": [self.attack] * len(self.rank)}
        for name in ("rank", "repeated", "numbers", "error", "floor", "near"):
            columns[name] = getattr(self, name).tolist()
        return columns


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Shifts:
    """What the key of a unit tells of it in the paper's hash: arrays over keys.

    ``error`` of the estimate in % of the contribution; ``ratio`` of its mean square to that with a key drawn at random.
    """

    key: Integers
    error: Floats
    ratio: Floats
    rank: int
    replicates: int

    def to_columns(self) -> dict[str, list[Any]]:
        """One row a key."""
        return {name: getattr(self, name).tolist() for name in ("key", "error", "ratio")}


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Exactness:
    """How often noise is none: ``rank`` of the contribution that is estimated, 0 for the sum of the cell; arrays over them.

    ``exact`` the share of replicates without any error; ``least`` the smallest error seen, in % of the number.
    """

    rank: Integers
    exact: Floats
    least: Floats
    replicates: int

    def to_columns(self) -> dict[str, list[Any]]:
        """One row for the sum of the cell, and one a contribution."""
        return {name: getattr(self, name).tolist() for name in ("rank", "exact", "least")}


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Attacked:
    """All attacks on the cells of one profile: the repeated ones, single ``subsets``, ``exactness``, and ``shifts`` or None."""

    profile: Profile
    learnt: tuple[Learnt, ...]
    subsets: Learnt
    exactness: Exactness
    shifts: Shifts | None


def averaging(
    method: Perturbing,
    profile: Profile,
    *,
    ranks: Sequence[int] = RANKS,
    queries: Sequence[int] = QUERIES,
    within: float = WITHIN,
    replicates: int = REPLICATES,
    seed: int = 1,
) -> Learnt:
    """Averaging: x̂ᵢ is the mean of Z − Z₋ᵢ over q pairs of cells with and without unit i, each with another small unit beside.

    The noise of a cell differs from pair to pair and averages out, the noise that belongs to units stays.  Whoever asks needs
    no knowledge of the contributions.  ``queries`` the numbers q of pairs.
    """
    cells = Cells(method, profile, replicates=replicates, seed=seed)
    targets = _targets(profile, ranks)
    rows = cells.beside(max(_counts(queries)))
    numbers = cells.numbers(rows, [[], *([target] for target in targets)])
    estimates = numbers[..., :1] - numbers[..., 1:]
    return _learnt("averaging", profile, targets, estimates, queries, 2, within)


def subset_query(
    method: Perturbing,
    profile: Profile,
    *,
    ranks: Sequence[int] | None = None,
    within: float = WITHIN,
    replicates: int = 10 * REPLICATES,
    seed: int = 1,
) -> Learnt:
    """Subset query: x̂ᵢ = Z − Z₋ᵢ from one cell and the same without unit i; ``ranks`` all of the profile by default."""
    cells = Cells(method, profile, replicates=replicates, seed=seed)
    targets = _targets(profile, range(1, profile.units + 1) if ranks is None else ranks)
    numbers = cells.numbers(cells.beside(1), [[], *([target] for target in targets)])
    return _learnt("subset query", profile, targets, numbers[..., :1] - numbers[..., 1:], (1,), 2, within)


def rank_change(
    method: Perturbing,
    profile: Profile,
    *,
    ranks: Sequence[int] = RANKS,
    queries: Sequence[int] = QUERIES,
    within: float = WITHIN,
    replicates: int = REPLICATES,
    seed: int = 1,
) -> Learnt:
    """Rank change: x̂ᵢ is the mean of Z − Z₋ᵢ and the same difference without the largest other unit, over q such pairs.

    Without a unit above them all others move up a rank, so noise whose sign goes by rank changes sign and cancels out in the
    mean.
    """
    cells = Cells(method, profile, replicates=replicates, seed=seed)
    targets = _targets(profile, ranks)
    rows = cells.beside(max(_counts(queries)))
    left_out = [[], [0], [1], *([target] for target in targets), *([target, _largest_other(target)] for target in targets)]
    numbers = cells.numbers(rows, left_out)
    whole, count = numbers[..., :1], len(targets)
    moved = numbers[..., [1 + _largest_other(target) for target in targets]]
    estimates = (whole - numbers[..., 3 : 3 + count] + moved - numbers[..., 3 + count :]) / 2
    return _learnt("rank change", profile, targets, estimates, queries, 4, within)


def same_hash(
    method: Perturbing,
    profile: Profile,
    *,
    ranks: Sequence[int] = (1,),
    queries: Sequence[int] = QUERIES,
    within: float = WITHIN,
    replicates: int = REPLICATES,
    seed: int = 1,
) -> Learnt:
    """Same hash: the intruder has a unit with the record key of unit i, learns its noise, and takes it off that of unit i.

    Own unit and target are of the same size and rank, in cells with otherwise different units.  From q pairs of cells with and
    without the own unit follows its relative noise m = mean(Z − Z₋ₒ)/x − 1, and x̂ᵢ = (Z − Z₋ᵢ)/(1 + m).
    """
    if profile.kind == "frequency":
        raise ParameterError(
            "same_hash", "is about noise that belongs to units, and that of counts does not", "give magnitudes"
        )
    cells = Cells(method, profile, replicates=replicates, seed=seed)
    targets, most = _targets(profile, ranks), max(_counts(queries))
    estimates = np.empty((replicates, len(queries), len(targets)))
    for place, target in enumerate(targets):
        seen = cells.numbers(cells.beside(1), [[], [target]])
        own = cells.numbers(cells.among_others(target, most), [[], [target]])
        noise = (own[..., 0] - own[..., 1]) / profile.contributions[target]
        for at, repeats in enumerate(queries):
            estimates[:, at, place] = (seen[..., 0] - seen[..., 1])[:, 0] / noise[:, :repeats].mean(axis=1)
    held = [_summary(estimates[:, at], profile, targets, within) for at in range(len(queries))]
    return _table("same hash", targets, queries, [2 * repeats + 2 for repeats in queries], held, None, within, replicates)


def shift(
    method: Perturbing,
    profile: Profile,
    *,
    keys: Sequence[int] = (0, 1, 10, 50, 100, 250, 500),
    rank: int = 11,
    replicates: int = 10 * REPLICATES,
    seed: int = 1,
) -> Shifts:
    """Shift: with the paper's hash, taking out a unit of key h shifts the hashes of all others in the cell by h.

    A small shift changes their noise little, so a unit without noise of its own (rank 10 and below) is given away by
    x̂ᵢ = Z − Z₋ᵢ; with h = 0 exactly.  ``keys`` the keys h of the unit at ``rank``.
    """
    if not paper(method):
        raise ParameterError("shift", "attacks the paper's hash, and the method does not use it", "give a method in paper mode")
    (target,) = _targets(profile, (rank,))
    cells = Cells(method, profile, replicates=replicates, seed=seed)
    size = abs(profile.contributions[target])

    def square(rows: Integers) -> float:
        numbers = cells.numbers(rows, [[], [target]])
        return float(((numbers[..., 0] - numbers[..., 1] - profile.contributions[target]) ** 2).mean())

    squares = np.array([square(cells.with_key(target, key)) for key in keys])
    return Shifts(
        key=np.array(keys, np.int64),
        error=100 * np.sqrt(squares) / size,
        ratio=squares / square(cells.beside(1)),
        rank=rank,
        replicates=replicates,
    )


def zero_noise(
    method: Perturbing,
    profile: Profile,
    *,
    ranks: Sequence[int] = RANKS,
    replicates: int = 10 * REPLICATES,
    seed: int = 1,
) -> Exactness:
    """Zero-noise check: how often a cell is shown as it is, and how often Z − Z₋ᵢ is the contribution of unit i exactly."""
    cells = Cells(method, profile, replicates=replicates, seed=seed)
    targets = _targets(profile, ranks)
    numbers = cells.numbers(cells.beside(1), [[], *([target] for target in targets)])[:, 0]
    truth = np.array([cells.total, *(profile.contributions[target] for target in targets)])
    off = np.abs(np.concatenate([numbers[:, :1], numbers[:, :1] - numbers[:, 1:]], axis=1) / truth - 1)
    return Exactness(
        rank=np.array([0, *ranks], np.int64),
        exact=(off < SMALL).mean(axis=0),
        least=100 * off.min(axis=0),
        replicates=replicates,
    )


def attack_report(
    method: Perturbing,
    profiles: Sequence[Profile] = PROFILES,
    *,
    queries: Sequence[int] = QUERIES,
    within: float = WITHIN,
    replicates: int = REPLICATES // 2,
    seed: int = 1,
) -> tuple[Attacked, ...]:
    """All attacks that apply to a method, on each profile whose cells it shows with noise; empty where there is none.

    Rank changes are tried on magnitudes only, as all contributions to a count are alike; same hash and shift on methods that
    use the paper's hash.
    """
    done = []
    for profile in profiles:
        if not attackable(method, profile):
            continue
        sums = profile.kind == "magnitude"
        ranks = RANKS if sums else (1,)
        chosen: dict[str, Any] = {"ranks": ranks, "queries": queries, "within": within, "replicates": replicates, "seed": seed}
        once: dict[str, Any] = {"replicates": 10 * replicates, "seed": seed}
        learnt = [averaging(method, profile, **chosen)]
        if sums:
            learnt.append(rank_change(method, profile, **chosen))
        if sums and paper(method):
            learnt.append(same_hash(method, profile, **(chosen | {"ranks": (1,)})))
        done.append(
            Attacked(
                profile=profile,
                learnt=tuple(learnt),
                subsets=subset_query(method, profile, ranks=None if sums else ranks, within=within, **once),
                exactness=zero_noise(method, profile, ranks=ranks, **once),
                shifts=shift(method, profile, **once) if sums and paper(method) else None,
            )
        )
    return tuple(done)


# ---------------------------------------------------------------- what all of them share


def _largest_other(target: int) -> int:
    return 0 if target else 1


def _targets(profile: Profile, ranks: Sequence[int]) -> list[int]:
    """The positions of these ranks in the profile."""
    if not all(1 <= rank <= profile.units for rank in ranks) or not len(ranks):
        raise ParameterError(
            "ranks", f"are not all from 1 to {profile.units}", "name ranks of contributions that the profile has"
        )
    return [rank - 1 for rank in ranks]


def _counts(queries: Sequence[int]) -> Sequence[int]:
    if not len(queries) or min(queries) < 1:
        raise ParameterError("queries", "are not all at least 1", "give how often the attack is repeated, such as 1, 10, 100")
    return queries


def _summary(estimates: Floats, profile: Profile, targets: Sequence[int], within: float) -> tuple[Floats, Floats]:
    """Mean square error of each target and the share of replicates within so many per cent; both relative to the target."""
    truth = np.array([profile.contributions[target] for target in targets])
    off = estimates / truth - 1
    return (off**2).mean(axis=0), (np.abs(off) <= within / 100).mean(axis=0)


def _learnt(
    attack: str,
    profile: Profile,
    targets: Sequence[int],
    estimates: Floats,
    queries: Sequence[int],
    numbers: int,
    within: float,
) -> Learnt:
    """From the estimates of each pair, shape (replicates, pairs, targets)."""
    replicates, most, _ = estimates.shape
    means = np.cumsum(estimates, axis=1)
    held = [_summary(means[:, repeats - 1] / repeats, profile, targets, within) for repeats in queries]
    floor = None
    if most > 1:
        truth = np.array([profile.contributions[target] for target in targets])
        whole, _ = _summary(means[:, -1] / most, profile, targets, within)
        left = whole - estimates.var(axis=1, ddof=1).mean(axis=0) / truth**2 / most
        floor = np.sqrt(np.where(left > 2 * np.sqrt(2 / replicates) * whole, left, 0))
    return _table(attack, targets, queries, [numbers * repeats for repeats in queries], held, floor, within, replicates)


def _table(
    attack: str,
    targets: Sequence[int],
    queries: Sequence[int],
    numbers: Sequence[int],
    held: Sequence[tuple[Floats, Floats]],
    floor: Floats | None,
    within: float,
    replicates: int,
) -> Learnt:
    """One row a target and number of repetitions, from the summaries of each number of repetitions."""
    squares, near = (np.stack(column, axis=1).ravel() for column in zip(*held, strict=True))
    repeats = len(queries)
    return Learnt(
        attack=attack,
        rank=np.repeat(np.array(targets) + 1, repeats),
        repeated=np.tile(np.array(queries, np.int64), len(targets)),
        numbers=np.tile(np.array(numbers, np.int64), len(targets)),
        error=100 * np.sqrt(squares),
        floor=np.full(len(squares), np.nan) if floor is None else 100 * np.repeat(floor, repeats),
        near=near,
        within=within,
        replicates=replicates,
    )
