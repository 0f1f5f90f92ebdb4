"""What swapping did to the records that stand out: how many kept their combination of keys, and how often a find is right."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from discreet.microdata.risk.key_population import Population
from discreet.microdata.risk.uniques import KeyCounts, key_counts
from discreet.model.swap_file import SwapFile

__all__ = ["SwapRisk", "swap_risk"]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SwapRisk:
    """Small counts over key variables in the true records and in those to be released.  Confidential.

    A record is risky where at most ``at_most`` records have its combination of keys.  ``risky`` records are in the true file,
    and ``broken`` of them now have another combination; ``shown`` records are risky in the file as it stands, and ``right``
    of them have the combination that they truly have.  Of ``population_uniques``, risky records that are alone in the
    population too, ``population_broken`` have another combination; both are None without counts of the population.
    """

    at_most: int
    before: KeyCounts
    after: KeyCounts
    risky: int
    broken: int
    shown: int
    right: int
    population_uniques: int | None
    population_broken: int | None

    def __repr__(self) -> str:
        return f"SwapRisk({', '.join(self.before.keys)}: {self.broken} of {self.risky} risky records have another combination)"

    @property
    def broken_share(self) -> float:
        """The share of the risky records that now have another combination; 1 where there are none."""
        return self.broken / self.risky if self.risky else 1.0

    @property
    def right_share(self) -> float:
        """How often an intruder is right who finds a risky record in the released file; 0 where there are none."""
        return self.right / self.shown if self.shown else 0.0


def swap_risk(file: SwapFile, keys: Sequence[str], *, at_most: int = 1, population: Population | None = None) -> SwapRisk:
    """The small counts of key variables before and after all swaps of this file, and what is left of the risky records.

    ``population`` as for :func:`~discreet.microdata.risk.uniques.key_counts`.  A record that keeps its combination may yet
    have lost other values that moved; this looks at the keys alone.

    Errors: as for ``key_counts``; ParameterError for ``at_most`` below 1.
    """
    before = key_counts(file, keys, population=population, true=True)
    after = key_counts(file, keys)
    broken = np.zeros(len(file.key), bool)
    for true, now in zip(file.coded(before.keys, true=True), file.coded(before.keys), strict=True):
        broken |= true.codes != now.codes
    risky, shown = before.risky(at_most), after.risky(at_most)
    alone = None if population is None else risky & before.risky(of="population")
    return SwapRisk(
        at_most=at_most,
        before=before,
        after=after,
        risky=int(risky.sum()),
        broken=int((risky & broken).sum()),
        shown=int(shown.sum()),
        right=int((shown & ~broken).sum()),
        population_uniques=None if alone is None else int(alone.sum()),
        population_broken=None if alone is None else int((alone & broken).sum()),
    )
