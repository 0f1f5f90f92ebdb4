"""How the sample was drawn, as far as estimates need it: weights, clusters, strata, and households that were drawn as one."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from discreet.errors import InputError
from discreet.model.contributions import Floats, Integers
from discreet.model.released import ReleasedFile

__all__ = ["Survey", "checked_weights", "columns_of", "designed", "units_of"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Survey:
    """The weight, the ultimate clusters and the strata of the design.

    Without clusters and strata the variance of a table is that of the randomisation alone, given the true file.
    """

    weight: str | None = None
    cluster: str | None = None
    strata: tuple[str, ...] = ()

    @classmethod
    def of(cls, file: ReleasedFile, weight: str | None, cluster: str | None, design_strata: str | Sequence[str]) -> Survey:
        """The same for these columns of a file.

        Errors: InputError for columns that are not there, or were randomised, and for what is no released file.
        """
        if not isinstance(file, ReleasedFile):
            raise InputError("file", "is no released file", "read it by its document: read_pram('….pram.json')")
        survey = cls(weight=weight, cluster=cluster, strata=columns_of(design_strata))
        named = [(column, what) for column, what in ((weight, "the weight"), (cluster, "the clusters")) if column is not None]
        for column, what in [*named, *((column, "the strata of the design") for column in survey.strata)]:
            file.microdata.check_column(column, what)
            if file.document.variable_of(column) is not None:
                problem = f"was randomised and cannot be {what}"
                raise InputError(f"column {column!r}", problem, "name a column that was left as it is")
        return survey

    @property
    def designed(self) -> bool:
        """Whether the variance of the sample is asked for."""
        return self.cluster is not None or bool(self.strata)

    def coded(self) -> dict[str, Sequence[str]]:
        """What has to be fetched of the file."""
        found: dict[str, Sequence[str]] = {} if self.cluster is None else {"cluster": (self.cluster,)}
        return found | ({"design": self.strata} if self.strata else {})

    def notes(self, file: ReleasedFile) -> tuple[str, ...]:
        """That the file has weights, where they are not used."""
        known = file.microdata.roles.weight
        if known is None or self.weight is not None:
            return ()
        return (f"The file has weights, which are not used: these are estimates for its records; weight={known!r} takes them.",)


def columns_of(names: str | Sequence[str]) -> tuple[str, ...]:
    """One column, or several."""
    return (names,) if isinstance(names, str) else tuple(names)


def checked_weights(column: str | None, weights: Floats) -> Floats:
    """Refuses weights that are none.

    Errors: InputError where some are missing, infinite or negative, or all are 0.
    """
    bad = int((~(weights >= 0) | np.isinf(weights)).sum())
    if bad or (len(weights) and not weights.any()):
        problem = f"{bad} records have no weight, or one below 0" if bad else "all weights are 0"
        raise InputError(f"column {column!r}", problem, "give each record a weight of 0 or more")
    return weights


def units_of(
    cluster: Integers | None, households: Mapping[str, Integers], strata: Integers | None, alone: Integers
) -> tuple[Integers | None, Integers | None]:
    """The unit that each record belongs to, and the stratum of each unit; None where there are none.

    They are numbered stratum by stratum.  Units are the clusters of the sample, each within its stratum, and where these are
    not coarser the households that were randomised by one draw; with strata alone they are the records, numbered ``alone``.

    Errors: InputError where one cuts through another, or a stratum has a single unit, which tells nothing of how they vary.
    """
    wide = 1 if strata is None else int(strata.max(initial=0)) + 1
    base = np.zeros(len(alone), np.int64) if strata is None else strata
    groups = {} if cluster is None else {"": cluster * wide + base}
    unit = _coarsest(groups | dict(households))
    if strata is None:
        if cluster is not None and unit is not None and len(np.unique(unit)) < 2:
            raise InputError("cluster", "there is a single cluster, whose variance cannot be estimated", "name other clusters")
        return unit, None
    unit = alone if unit is None else unit
    most = int(unit.max(initial=0)) + 1
    pairs, number = np.unique(strata * most + unit, return_inverse=True)
    if households and len(pairs) > len(np.unique(unit)):
        raise _cut(next(iter(households)))
    design = pairs // most
    sizes = np.unique(design, return_counts=True)[1]
    single = int((sizes == 1).sum())
    if single:
        problem = f"{single} of {len(sizes)} strata have a single cluster, whose variance cannot be estimated"
        raise InputError("design_strata", problem, "join such strata with like ones")
    return number.astype(np.int64), design.astype(np.int64)


def designed(totals: Floats, other: Floats, design: Integers) -> Floats:
    """The covariance of sums over clusters that are drawn with replacement in each stratum of the design.

    ``Σ_h n_h/(n_h − 1) Σ_c (z_c − z̄_h)(z'_c − z̄'_h)ᵀ`` for the clusters' totals z and z', of shape (clusters, numbers).
    """
    sizes = np.bincount(design)
    used = sizes[design]
    means = np.stack([np.bincount(design, weights=column) for column in totals.T], axis=1)[design] / used[:, None]
    return np.asarray(((totals - means) * (used / (used - 1))[:, None]).T @ other, float)


def _coarsest(groups: Mapping[str, Integers]) -> Integers | None:
    """The groups with the fewest numbers, of which the others must be parts."""
    if not groups:
        return None
    numbered = {name: np.unique(codes, return_inverse=True)[1].astype(np.int64) for name, codes in groups.items()}
    most = {name: int(codes.max(initial=0)) + 1 for name, codes in numbered.items()}
    coarsest = min(most, key=lambda name: most[name])
    for name, codes in numbered.items():
        if len(np.unique(codes * most[coarsest] + numbered[coarsest])) > most[name]:
            raise _cut(name or coarsest)
    return numbered[coarsest]


def _cut(household: str) -> InputError:
    problem = "its households, which were randomised together, are cut by clusters or strata, or by other households"
    return InputError(f"column {household!r}", problem, "name clusters and strata that hold whole households")
