"""The subjects; importing this package registers them all."""

from benchmarks.subjects import (
    demo,
    perturbation,
    pram,
    rounding,
    suppression,
    swap_moves,
    swap_partners,
    swap_rank,
    swap_targeted,
    tabulate,
)

__all__ = [
    "demo",
    "perturbation",
    "pram",
    "rounding",
    "suppression",
    "swap_moves",
    "swap_partners",
    "swap_rank",
    "swap_targeted",
    "tabulate",
]
