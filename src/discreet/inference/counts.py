"""Counts and cross-tables of the true codes, estimated from the released ones."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.inference.estimates import Estimates, normal_estimates
from discreet.inference.moments import Moments
from discreet.inference.survey import Survey, columns_of
from discreet.inference.tally import Tally, tally
from discreet.model.randomised import Randomised
from discreet.model.released import ReleasedFile

__all__ = ["counts_of", "estimate_counts", "table_notes", "variance_source"]


def estimate_counts(
    file: ReleasedFile,
    by: str | Sequence[str],
    *,
    weight: str | None = None,
    cluster: str | None = None,
    design_strata: str | Sequence[str] = (),
    level: float = 0.95,
) -> Estimates:
    """How many records, or how much weight, each combination of true codes has, without bias.

    ``by`` any columns, randomised or not; of a compound variable all or some.  Each inverse matrix is applied along its axis,
    ``T̂ = (⊗ P_v)⁻ᵀ N`` without the product being made, and with elementwise squares of the inverses
    ``V̂(T̂) = (⊗ P_v⁻¹∘P_v⁻¹)ᵀ N₂ − (⊗ P_v)⁻ᵀ N₂``, N released counts and N₂ the same of squared weights (N where there are
    none).  Where a matrix was chosen by strata this is done in each, and added up.  Empty codes that were kept are a category.

    The variance is that of the randomisation, given the true file.  With ``cluster`` (ultimate clusters; for a simple random
    sample the column that tells records apart) or ``design_strata`` it is that of sample and randomisation together, as if
    clusters had been drawn with replacement: ``Σ_h n_h/(n_h−1) Σ_c (z_c − z̄_h)²``.  Where households were randomised by one
    draw, their members count as having one true code of that variable if they were released alike, and clusters that are
    smaller than households give way to these.

    Not done: finite population corrections, calibrated weights, estimates that cannot be negative (see
    :func:`~discreet.inference.nonnegative.em_counts`).

    Errors: InputError for columns that are not there or cannot be used, and matrices that are singular or not public.

    Source: Gouweleeuw et al. (1998), Post randomisation for statistical disclosure control, JOS 14(4), section 3.
    """
    by, survey = columns_of(by), Survey.of(file, weight, cluster, design_strata)
    return counts_of(tally(file, by, survey), by, weight, level)


def counts_of(sums: Tally, by: Sequence[str], weight: str | None, level: float) -> Estimates:
    """The table of these sums."""
    moments = Moments(sums)
    return normal_estimates(
        what="counts" if weight is None else f"counts weighted with {weight}",
        by=by,
        axes=sums.layout.axes,
        estimate=moments.total(0),
        variance=moments.covariance(0, 0),
        naive=moments.naive(0),
        level=level,
        source=variance_source(sums),
        notes=table_notes(sums, by, plain=weight is None),
        joint=lambda cells: moments.joint(0, 0, cells),
    )


def variance_source(sums: Tally) -> str:
    """Which variance it is, in words."""
    if sums.designed:
        return "sample and randomisation together, ultimate clusters drawn with replacement"
    return "randomisation, given the true file" if sums.layout.variables else "none: no column was randomised"


def table_notes(sums: Tally, by: Sequence[str], *, plain: bool) -> list[str]:
    """Weights that are not used; and where naive values are unbiased, or only seem to be.

    Invariance does not extend to crossings or weights.
    """
    notes = list(sums.notes)
    for variable in sums.variables:
        if not variable.invariant:
            continue
        others = [column for column in by if column not in (*variable.columns, *variable.strata)]
        counts = "sample" if plain else "population"
        if others:
            what = f"{variable.name} is invariant by itself{_within(variable)}, not when crossed with {', '.join(others)}"
            notes.append(f"{what}: the naive values are biased.")
        elif variable.invariant != counts:
            what = f"{variable.name} is invariant for {variable.invariant} counts, not for the {counts} counts asked for"
            notes.append(f"{what}: the naive values are biased.")
        else:
            notes.append(f"{variable.name} is invariant{_within(variable)}: the naive values are unbiased too.")
    return notes


def _within(variable: Randomised) -> str:
    return f" within {' × '.join(variable.strata)}" if variable.strata else ""
