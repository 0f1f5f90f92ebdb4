"""Design by target: the transition matrix that meets given targets, by one linear program."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from discreet.errors import ParameterError, some
from discreet.method import check_params, param
from discreet.microdata.protect.pram.moves import SEED, check_order, order_param, positions
from discreet.microdata.protect.pram.occurrence import Occurrence
from discreet.microdata.protect.pram.target_explained import conflict
from discreet.microdata.protect.pram.target_program import TargetProgram
from discreet.microdata.protect.pram.target_rows import Asked, Moves
from discreet.model.contributions import Floats
from discreet.model.transition import ILL, TransitionMatrix

__all__ = ["Target"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Target:
    """The matrix with the least, or most, expected change among all that meet the targets, by one linear program.

    With T_k the count of category k, p_kl the probability that a record of k is released as l and F_k the count of k in the
    population, it minimises (``change="least"``) or maximises (``"most"``) ``Σ_k T_k (1 − p_kk)`` such that, where asked:

    - invariant: ``Σ_k T_k p_kl = T_l`` for all l, so that released counts need no correction on average;
    - most, least: ``least_k ≤ p_kk ≤ most_k``;
    - ratio: ``T_k p_kk ≤ ratio_k · Σ_{j≠k} T_j p_jk``, the expectation ratio of true to false among those released as k;
    - odds: ``F_k p_kx ≤ odds_k · Σ_{j≠k} F_j p_jx`` for every x, the posterior odds of k however it is released;
    - epsilon: ``p_kl ≤ e^epsilon · p_jl`` for all j, k, l, local differential privacy.  It holds without regard to what the
      counts tell: a matrix made for T is private only as far as T itself is public;
    - spread: ``p_kl ≥ spread · (1 − p_kk) / m_k`` for each of the m_k moves of k; with 1 all moves are equally likely;
    - reach: ``p_kl = 0`` for categories more than ``reach`` steps apart in the ``order`` of codes, among those that occur.

    ``most``, ``least``, ``ratio`` and ``odds`` are a number for all categories that have an allowed move, or a table of some
    of them by label; one that does not occur in a stratum has no target there.  An invariant matrix makes no move
    from which no chain of moves leads back.
    Of several best matrices it takes one with the largest smallest diagonal entry; which moves are used is left to the
    solver.  Such a matrix is sparse and may be singular.  Where its condition number is above ``condition``, it is mixed
    with as little as is enough (by doubling from 1/1024) of another of the best; else of one that meets the same targets
    and has the largest smallest diagonal entry of all, or uses all moves as evenly as can be, whichever leaves the expected
    change closer to the best.  ``achieved`` tells what came of it.

    Guards against: recognition by a category that is released as it is, as far as the targets say.
    Does not guard against: what other variables tell about the category; a matrix of the most change without a ``least``
    may be little more than new names for the categories; whoever has the matrix and knows ratios, or odds without a population,
    that were asked for, from working the counts out.  ``epsilon`` needs all pairs of categories: 10⁴ of 100
    categories, which take half a minute, and minutes beyond; ``k-ary`` needs no program.
    """

    NAME: ClassVar[str] = "target"
    SOURCE: ClassVar[str] = SEED + ", on invariant PRAM"

    invariant: bool = param(True, "whether the matrix leaves the counts as they are on average")
    most: float | Mapping[str, float] | None = param(None, "the largest probability of staying", at_least=0, at_most=1)
    least: float | Mapping[str, float] | None = param(None, "the least probability of staying", at_least=0, at_most=1)
    ratio: float | Mapping[str, float] | None = param(None, "the largest expectation ratio, true to false", at_least=0)
    odds: float | Mapping[str, float] | None = param(None, "the largest posterior odds, whatever is released", at_least=0)
    population: Mapping[str, float] | None = param(None, "population counts for the odds; else those of the occurrence")
    epsilon: float | None = param(None, "local differential privacy: the largest log ratio within a column", above=0)
    reach: int | None = param(None, "the largest number of steps of a move; by default any", unit="steps", at_least=1)
    order: tuple[str, ...] = order_param()
    spread: float = param(0.0, "how evenly the moves of a category are used, 1 for equally", at_least=0, at_most=1)
    change: str = param("least", "the expected change wanted", choices=("least", "most"))
    condition: float | None = param(100.0, "the largest condition number; nothing for no limit", at_least=1)

    def __post_init__(self) -> None:
        check_params(self)
        for name, top in (("most", 1.0), ("least", 1.0), ("ratio", math.inf), ("odds", math.inf), ("population", math.inf)):
            given = getattr(self, name)
            for category, value in given.items() if isinstance(given, Mapping) else ():
                number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
                if not number or not 0 <= value <= top or (name == "population" and value == 0):
                    limits = "from 0 to 1" if top == 1 else "above 0" if name == "population" else "of at least 0"
                    raise ParameterError(f"target.{name}", f"category {category!r} needs a number {limits}")
        if self.change == "least" and self.most is self.ratio is self.odds is self.epsilon is None:
            problem = "without a target for protection the least change is no change"
            raise ParameterError("target", problem, "give most, ratio, odds or epsilon, or ask for the most change")
        if self.population is not None and self.odds is None:
            raise ParameterError("target.population", "population counts are used for odds only", "give odds, or leave it out")
        if self.order and self.reach is None:
            raise ParameterError("target.order", "the order of codes is used for reach only", "give reach, or leave it out")
        check_order(self.NAME, self.order)

    @property
    def named(self) -> tuple[str, ...]:
        """The categories that the targets name, so that a misspelt one can be found where all categories are known."""
        given = [getattr(self, name) for name in ("most", "least", "ratio", "odds")]
        return tuple(dict.fromkeys(category for one in given if isinstance(one, Mapping) for category in one))

    @property
    def tells_counts(self) -> bool:
        """Whether bounds that the counts entered into are met exactly, from which the counts then follow."""
        return self.ratio is not None or (self.odds is not None and self.population is None)

    def matrix(self, occurrence: Occurrence, /) -> TransitionMatrix:
        """The matrix for these categories.

        Errors: ParameterError where no matrix meets the targets, saying which have to give way and by how much, or
        where all that were found are singular or worse conditioned than asked.
        """
        size = len(occurrence.categories)
        if not size:
            return TransitionMatrix.identity(())
        asked, moves = self.asked(occurrence), self.moves(occurrence)
        if self.epsilon is not None and len(moves) < size * (size - 1):
            problem = "with epsilon every category must be able to become every other one, and some moves are not allowed"
            fix = "leave out epsilon, or allow all moves: no reach, none forbidden, no least of 1"
            raise ParameterError("target.epsilon", problem, fix)
        program = TargetProgram(occurrence, moves, asked)
        best = program.best()
        if best is None:
            raise conflict(occurrence, moves, asked)
        if self.condition is None or best.condition <= self.condition:
            return best
        return self._conditioned(best, program, occurrence.counts, self.condition)

    def asked(self, occurrence: Occurrence) -> Asked:
        """The targets as arrays in the order of the categories."""
        labels = occurrence.labels
        movable = occurrence.allowed.sum(axis=1) > 1

        def each(given: float | Mapping[str, float] | None) -> Floats:
            if isinstance(given, Mapping):
                return np.array([given.get(label, np.nan) for label in labels], float)
            return np.where(movable, np.nan if given is None else given, np.nan)

        lacking = [label for label in labels if self.population is not None and label not in self.population]
        if lacking:
            problem = f"has no population count for {some(lacking)}"
            raise ParameterError("target.population", problem, "give the population count of every category that occurs")
        return Asked(
            invariant=self.invariant,
            most=each(self.most),
            least=each(self.least),
            ratio=each(self.ratio),
            odds=each(self.odds),
            population=occurrence.counts if self.population is None else each(self.population),
            epsilon=self.epsilon,
            spread=self.spread,
            change=self.change,
        )

    def moves(self, occurrence: Occurrence) -> Moves:
        """The moves the matrix may make."""
        close = np.repeat(~(self.asked(occurrence).least >= 1)[:, np.newaxis], len(occurrence.categories), axis=1)
        if self.reach is not None:
            place = positions(self.NAME, self.order, occurrence)
            close &= np.abs(place[np.newaxis] - place[:, np.newaxis]) <= self.reach
        return Moves.of(occurrence, close, invariant=self.invariant)

    def _conditioned(self, best: TransitionMatrix, program: TargetProgram, counts: Floats, limit: float) -> TransitionMatrix:
        """The mixture of the best matrix with another one of the same targets that is invertible enough."""
        closest = best.condition

        def mixed(other: TransitionMatrix) -> list[TransitionMatrix]:
            nonlocal closest
            for share in 2.0 ** np.arange(-10, 1):
                made = TransitionMatrix(best.categories, (1 - share) * best.matrix + share * other.matrix)
                closest = min(closest, made.condition)
                if made.condition <= limit:
                    return [made]
            return []

        found = mixed(program.other_best()) or mixed(program.most_staying()) + mixed(program.most_even())
        if not found:
            how = "are singular" if closest > ILL else f"have a condition number of {closest:.3g} or more (asked: {limit:g})"
            problem = f"the matrices found for these targets {how}, so that estimates would be noise"
            fix = "let categories stay more often, allow more moves, ask for less privacy, or allow a larger condition number"
            raise ParameterError("target.condition", problem, fix)
        sign = 1 if self.change == "least" else -1
        return min(found, key=lambda made: sign * float(counts @ (1 - made.diagonal)))
