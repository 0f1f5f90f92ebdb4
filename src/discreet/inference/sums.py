"""Totals, means, ratios and proportions by domain, where the domains may have been randomised."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.inference.counts import table_notes, variance_source
from discreet.inference.estimates import Estimates, normal_estimates
from discreet.inference.moments import Moments
from discreet.inference.survey import Survey, columns_of
from discreet.inference.tally import Tally, tally
from discreet.model.contributions import Floats, Integers
from discreet.model.released import ReleasedFile

__all__ = ["estimate_means", "estimate_proportions", "estimate_ratios", "estimate_totals"]


def estimate_totals(
    file: ReleasedFile,
    column: str,
    by: str | Sequence[str] = (),
    *,
    weight: str | None = None,
    cluster: str | None = None,
    design_strata: str | Sequence[str] = (),
    on_value: str | None = None,
    level: float = 0.95,
) -> Estimates:
    """The total of a column of numbers in each combination of true codes of ``by``, without bias.

    ``Â = Σ_i g_i·d*_i``, g weight × value and d* the pseudo-indicators of a record: the product over the variables of the
    row of the inverse matrix that belongs to its released code.  Variance and its kind are as in
    :func:`~discreet.inference.counts.estimate_counts`, ``V̂ = P⁻ᵀ diag(S) P⁻¹ − diag(P⁻ᵀ S)`` with S the sums of g².
    ``on_value``: records without a value are an "error", left out ("drop") or taken as 0 ("zero").

    A column that was randomised, and whose codes are numbers f(k), such as a number of children, is added up by its true
    codes: ``Â = Σ_k f(k) T̂_k`` in each domain, so that g_i is the weight and d*_i has the factor ``Σ_k f(k)·q_xk`` of this
    column, q the inverse matrix; in the last term of V̂ stands f².

    Errors: InputError for columns that are not there or hold no numbers, a randomised column that is added up and in ``by`` as
    well, missing values that no policy was declared for, and matrices that are singular or not public.

    Source: as for counts; the extension to totals follows from the pseudo-indicators being unbiased record by record.
    """
    by, survey = columns_of(by), Survey.of(file, weight, cluster, design_strata)
    sums = tally(file, by, survey, (column,), on_value=on_value)
    moments = Moments(sums)
    return normal_estimates(
        what=f"totals of {column}{_weighted(weight)}",
        by=by,
        axes=sums.layout.axes,
        estimate=moments.total(1),
        variance=moments.covariance(1, 1),
        naive=moments.naive(1),
        level=level,
        source=variance_source(sums),
        notes=_notes(sums, by, (column,)),
        joint=lambda cells: moments.joint(1, 1, cells),
    )


def estimate_means(
    file: ReleasedFile,
    column: str,
    by: str | Sequence[str] = (),
    *,
    weight: str | None = None,
    cluster: str | None = None,
    design_strata: str | Sequence[str] = (),
    on_value: str | None = None,
    level: float = 0.95,
) -> Estimates:
    """The mean of a column of numbers in each combination of true codes: its estimated total over the estimated count.

    The variance is that of the linearised ratio, see :func:`estimate_ratios`; where an estimated count is 0 or below, the mean
    and its variance are NaN.  Biased of the order 1/n, as every ratio.  Errors as for :func:`estimate_totals`.
    """
    by, survey = columns_of(by), Survey.of(file, weight, cluster, design_strata)
    sums = tally(file, by, survey, (column,), on_value=on_value)
    return _ratios(sums, (1, 0), f"means of {column}{_weighted(weight)}", by, (column,), level)


def estimate_ratios(
    file: ReleasedFile,
    numerator: str,
    denominator: str,
    by: str | Sequence[str] = (),
    *,
    weight: str | None = None,
    cluster: str | None = None,
    design_strata: str | Sequence[str] = (),
    on_value: str | None = None,
    level: float = 0.95,
) -> Estimates:
    """The ratio of the totals of two columns in each combination of true codes.

    ``V̂(R̂) = (V̂(Ŷ) − 2·R̂·V̂(Ŷ, X̂) + R̂²·V̂(X̂)) / X̂²`` with the joint variances of both totals; NaN where the estimated
    denominator is 0 or below.  Errors as for :func:`estimate_totals`.
    """
    by, survey = columns_of(by), Survey.of(file, weight, cluster, design_strata)
    sums = tally(file, by, survey, (numerator, denominator), on_value=on_value)
    what = f"ratios of {numerator} to {denominator}{_weighted(weight)}"
    return _ratios(sums, (1, 2), what, by, (numerator, denominator), level)


def estimate_proportions(
    file: ReleasedFile,
    of: str | Sequence[str],
    within: str | Sequence[str] = (),
    *,
    weight: str | None = None,
    cluster: str | None = None,
    design_strata: str | Sequence[str] = (),
    level: float = 0.95,
) -> Estimates:
    """The share of each combination of true codes of ``of`` in its domain, a combination of those of ``within``.

    The shares of a domain add up to 1; one can be below 0 or above 1.  The variance is that of the linearised ratio of two
    counts with their joint variance, as in :func:`estimate_ratios`; NaN where the estimated count of a domain is 0 or below.
    Errors as for :func:`~discreet.inference.counts.estimate_counts`.
    """
    shares = columns_of(of)
    by = (*columns_of(within), *shares)
    sums = tally(file, by, Survey.of(file, weight, cluster, design_strata))
    moments = Moments(sums, frozenset(shares))
    counts, domains = moments.total(0), _above(moments.total(0, "domain"))
    ratio = counts / domains
    cross, own = moments.covariance(0, 0, "cell", "domain"), moments.covariance(0, 0, "domain", "domain")
    variance = (moments.covariance(0, 0) - 2 * ratio * cross + ratio**2 * own) / domains**2
    axes = sums.layout.axes

    def joint(cells: Integers) -> Floats:
        places = np.unravel_index(np.arange(ratio.size), ratio.shape)
        codes = [
            [axis.categories[i][j] for i in place.tolist()]
            for axis, place in zip(axes, places, strict=True)
            for j, column in enumerate(axis.columns)
            if column not in shares
        ]
        names = np.array(["\x1f".join(line) for line in zip(*codes, strict=True)] if codes else [""] * ratio.size)
        needed = np.flatnonzero(np.isin(names, names[cells]))
        slopes = (cells[:, None] == needed) - np.ravel(ratio)[cells, None] * (names[cells, None] == names[needed])
        slopes = slopes / np.ravel(domains)[cells, None]
        return np.asarray(slopes @ moments.joint(0, 0, needed) @ slopes.T, float)

    return normal_estimates(
        what=f"proportions{_weighted(weight)} of {', '.join(shares)}",
        by=by,
        axes=axes,
        estimate=ratio,
        variance=variance,
        naive=moments.naive(0) / _above(moments.naive(0, "domain")),
        level=level,
        source=variance_source(sums),
        notes=table_notes(sums, by, plain=weight is None),
        joint=joint,
    )


def _ratios(
    sums: Tally, measures: tuple[int, int], what: str, by: Sequence[str], columns: Sequence[str], level: float
) -> Estimates:
    moments, (top, bottom) = Moments(sums), measures
    below = _above(moments.total(bottom))
    ratio = moments.total(top) / below
    variance = moments.covariance(top, top) - 2 * ratio * moments.covariance(top, bottom)
    variance = (variance + ratio**2 * moments.covariance(bottom, bottom)) / below**2

    def joint(cells: Integers) -> Floats:
        r, d = np.ravel(ratio)[cells], np.ravel(below)[cells]
        crossed = moments.joint(top, bottom, cells) * r
        found = moments.joint(top, top, cells) - crossed - crossed.T + np.outer(r, r) * moments.joint(bottom, bottom, cells)
        return np.asarray(found / np.outer(d, d), float)

    return normal_estimates(
        what=what,
        by=by,
        axes=sums.layout.axes,
        estimate=ratio,
        variance=variance,
        naive=moments.naive(top) / _above(moments.naive(bottom)),
        level=level,
        source=variance_source(sums),
        notes=_notes(sums, by, columns),
        joint=joint,
    )


def _above(numbers: Floats) -> Floats:
    """NaN where there is nothing to divide by."""
    return np.where(numbers > 0, numbers, np.nan)


def _weighted(weight: str | None) -> str:
    return "" if weight is None else f", weighted with {weight}"


def _notes(sums: Tally, by: Sequence[str], columns: Sequence[str]) -> list[str]:
    notes = list(sums.notes)
    if sums.left_out:
        notes.append(f"{sums.left_out} records without a value of {' or '.join(dict.fromkeys(columns))} were left out.")
    invariant = [variable.name for variable in sums.variables if variable.invariant]
    what = f"not for sums of {columns[0]}: the naive values are biased."
    return notes + [f"{name} is invariant for counts, {what}" for name in invariant]
