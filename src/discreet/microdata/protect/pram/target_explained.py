"""Which targets of a design cannot be met together, and by how much they would have to give way."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence

import numpy as np

from discreet.errors import ParameterError, some
from discreet.microdata.protect.pram.occurrence import Occurrence
from discreet.microdata.protect.pram.target_program import TargetProgram
from discreet.microdata.protect.pram.target_rows import Asked, Moves

__all__ = ["Relaxation", "conflict"]

_KINDS = ("most", "least", "ratio", "odds")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Relaxation:
    """A target that has to give way: its kind, the category (empty for spread), what was asked and what would do."""

    kind: str
    category: str
    asked: float
    needed: float

    def __str__(self) -> str:
        return self.told([self.category])

    def told(self, categories: Sequence[str]) -> str:
        """The same of all these categories, in words."""
        if self.kind == "spread":
            return f"spread would have to be at most {self.needed:g} (asked: {self.asked:g})"
        who = f"category {categories[0]!r}" if len(categories) == 1 else f"categories {some(categories)} each"
        if self.kind in ("most", "least"):
            need, told = ("least", "most") if self.kind == "most" else ("most", "least")
            return f"{who} would have to stay with probability at {need} {self.needed:g} (asked: at {told} {self.asked:g})"
        what = {"ratio": "an expectation ratio", "odds": "posterior odds"}[self.kind]
        need = f"of {self.needed:.4g}" if math.isfinite(self.needed) else "without limit"
        return f"{who} would have to be allowed {what} {need} (asked: at most {self.asked:g})"


def conflict(occurrence: Occurrence, moves: Moves, asked: Asked) -> ParameterError:
    """The error that explains why no matrix meets these targets; its details are the relaxations.

    If spread alone is too much, it says how much spread there can be.  Otherwise the bounds on staying give way by the least
    sum of probabilities; then the ratios and odds that had to give way too, all by the smallest common factor.  With the
    numbers told, and no spread, there is a matrix.  They are shares and odds that follow from the counts: for the owner.
    """
    even = dataclasses.replace(asked, spread=0.0)
    if asked.spread > 0 and _possible(occurrence, moves, even):

        def eased(part: float) -> bool:
            return _possible(occurrence, moves, dataclasses.replace(asked, spread=asked.spread * (1 - part)))

        needed = math.floor(asked.spread * (1 - _least(eased, 1e-3)) * 1e4) / 1e4
        found = [Relaxation(kind="spread", category="", asked=asked.spread, needed=needed)]
    else:
        found = _relaxations(occurrence, moves, even)
    alike: dict[Relaxation, list[str]] = {}
    for one in found:
        alike.setdefault(dataclasses.replace(one, category=""), []).append(one.category)
    told = [one.told(categories) for one, categories in alike.items()]
    rest = f"; and {len(told) - 5} more" if len(told) > 5 else ""
    listed = ("together, " if len(told) > 1 else "") + "; ".join(told[:5]) + rest
    problem = f"no {'invariant ' if asked.invariant else ''}matrix meets these targets: {listed}"
    return ParameterError("target", problem, "ask for no more than that, or allow more moves", details=found)


def _relaxations(occurrence: Occurrence, moves: Moves, asked: Asked) -> list[Relaxation]:
    relaxed = TargetProgram(occurrence, moves, asked).relaxed()
    staying = relaxed.matrix.diagonal
    give = {kind: getattr(asked, kind).copy() for kind in _KINDS}
    for kind, at in relaxed.broken:
        if kind == "most":
            give[kind][at] = math.ceil(staying[at] * 1e4 - 1e-3) / 1e4
        elif kind == "least":
            give[kind][at] = math.floor(staying[at] * 1e4 + 1e-3) / 1e4
    scaled = [(kind, at) for kind, at in relaxed.broken if kind in ("ratio", "odds")]

    def loosened(factor: float) -> Asked:
        for kind, at in scaled:
            give[kind][at] = max(getattr(asked, kind)[at], 1e-3) * factor if math.isfinite(factor) else np.nan
        return dataclasses.replace(asked, **give)

    if scaled:
        loosened(_growth(lambda factor: _possible(occurrence, moves, loosened(factor))))
    labels = occurrence.labels
    return [
        Relaxation(kind=kind, category=labels[at], asked=float(getattr(asked, kind)[at]), needed=_known(give[kind][at]))
        for kind, at in relaxed.broken
    ]


def _known(value: float) -> float:
    return math.inf if math.isnan(value) else float(value)


def _growth(works: Callable[[float], bool], *, most: float = 2.0**30) -> float:
    """The smallest factor above 1 that works, rounded up to four digits; infinite where there is none."""
    factor = 2.0
    while not works(factor):
        factor *= 2
        if factor > most:
            return math.inf
    return factor / 2 * (1 + _least(lambda part: works(factor / 2 * (1 + part)), 1e-4))


def _least(works: Callable[[float], bool], precision: float) -> float:
    """The least number from 0 to 1 that works, by halving, where 1 does and all above one that works."""
    low, high = 0.0, 1.0
    while high - low > precision:
        middle = (low + high) / 2
        low, high = (low, middle) if works(middle) else (middle, high)
    return high


def _possible(occurrence: Occurrence, moves: Moves, asked: Asked) -> bool:
    return TargetProgram(occurrence, moves, asked).possible()
