"""What an audit found wrong, in the words a repair can act on: codes and demands, never values."""

from __future__ import annotations

import dataclasses

__all__ = ["Finding"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Finding:
    """One demand that a release does not meet.

    ``kind``: ``exact`` (a suppressed cell is known), ``too narrow`` (its interval ends too early),
    ``insider`` (a contributor who knows the cells ``knows`` recomputes ``cell``), ``union`` (the published sum of the
    hidden cells ``together`` fails the rule ``rule``; ``equation`` is its row), ``estimate`` (numbers with noise estimate
    ``cell`` too closely), ``not proved`` (numerics or time).
    ``up``/``down``/``width``: how far above and below its true value, and how wide, the interval of ``cell`` must
    reach for somebody who knows ``knows``; 0 where that is not the trouble.
    """

    kind: str
    cell: int = -1
    knows: tuple[int, ...] = ()
    together: tuple[int, ...] = ()
    equation: int = -1
    rule: str = ""
    up: float = 0.0
    down: float = 0.0
    width: float = 0.0
