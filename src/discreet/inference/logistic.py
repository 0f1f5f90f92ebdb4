"""Logistic regression on a released file whose response or covariates were randomised."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from scipy import special

from discreet.errors import InputError, ParameterError, near
from discreet.inference.design import Column, Merge, Reference
from discreet.inference.fit import Fit
from discreet.inference.likelihood import check_columns, check_information, curvature, maximise
from discreet.inference.patterns import Patterns, gathered, latent_factors
from discreet.inference.pseudo import Observed
from discreet.inference.regression import Regression
from discreet.inference.survey import Survey
from discreet.model.contributions import Floats
from discreet.model.released import ReleasedFile

__all__ = ["WAYS", "classify", "logistic_regression"]

WAYS = ("likelihood", "corrected-score")

MOST = 2 * 10**7
"""So many pairs of a pattern and a combination of true categories the likelihood holds at once."""


def logistic_regression(
    file: ReleasedFile,
    response: str,
    covariates: str | Sequence[str],
    *,
    numeric: str | Sequence[str] = (),
    category: str | None = None,
    interactions: Sequence[Sequence[str]] = (),
    reference: Reference | None = None,
    merge: Merge | None = None,
    weight: str | None = None,
    cluster: str | None = None,
    design_strata: str | Sequence[str] = (),
    way: str = "likelihood",
    on_missing: str = "error",
) -> Fit:
    """The coefficients of ``Pr(response = category | z) = expit(zᵀβ)`` in the true file, estimated from a released one.

    Columns are named as in :func:`~discreet.inference.linear.linear_regression`; of two codes of the response the second is
    ``category`` where none is named.

    ``way`` "likelihood": ``Pr(y, x | z) = Σ_ξ Pr(ξ | z) p_ξx Σ_η Pr(η | ξ, z) p_ηy`` with ξ the true randomised covariates,
    x the released ones, η and y the true and the released response.  A randomised response must have two categories.  The
    shares Pr(ξ | z) are saturated: free in each cell of the other covariates and strata; so covariates that are numbers are
    refused beside randomised ones, and sparse cells are told in the notes.  Maximised by EM and Newton's steps; standard
    errors by the observed information, by the scores' sandwich where there are weights or clusters.  It needs the model to be
    right; where it is not, "corrected-score" still estimates the fit of the true file.

    ``way`` "corrected-score": solves ``Σ w Σ_ξ d*(ξ) Z(ξ) (y* − expit(Z(ξ)ᵀβ)) = 0`` with d*(ξ) the product of
    pseudo-indicators and y* the pseudo-indicator of the response; unbiased whatever ξ depends on, so numbers are welcome, and
    a response of any number of categories; less precise, and in small files it may have no solution.  Standard errors by the
    sandwich.

    What it does not do: more than two outcomes at once.
    Errors: InputError for columns that are not there, constant, or hold empty fields, for categories that separate the response
    and where no solution is found; ParameterError for parameters that do not fit.
    Source: van den Hout, van der Heijden, Gilchrist (2007), The logistic regression model with response variables subject to
    randomized response, CSDA 51(12); van den Hout, Kooiman (2006), CSDA 50(11); Akazawa, Kinukawa, Nakamura (1998), A note on
    the corrected score function adjusting for misclassification, J. Japan Statist. Soc. 28(1).
    """
    if way not in WAYS:
        raise ParameterError("way", f"{way!r} is no way to fit{near(way, WAYS)}", f"say {' or '.join(map(repr, WAYS))}")
    asked = Regression.of(
        file,
        response,
        covariates,
        numeric=numeric,
        category=category,
        interactions=interactions,
        reference=reference,
        merge=merge,
        survey=Survey.of(file, weight, cluster, design_strata),
        on_missing=on_missing,
    )
    fit = classify(asked.observed, asked.columns, asked.response, way)
    return dataclasses.replace(fit, notes=(*asked.notes, *fit.notes))


def classify(observed: Observed, columns: Sequence[Column], response: Column, way: str = "likelihood") -> Fit:
    """The fit for given design columns; see :func:`logistic_regression`."""
    names = tuple(column.name for column in columns)
    latent = latent_factors(observed, columns)
    if way == "likelihood":
        _check_likelihood(observed, columns, response, latent)
    patterns = gathered(observed, columns, response, latent)
    check_columns(patterns, names)
    naive = _naive(observed, columns, response)
    start = np.clip(np.nan_to_num(naive), -5.0, 5.0)
    facts: dict[str, float] = {}
    if way == "likelihood":
        params, cov, facts, notes = _by_likelihood(patterns, start, names, plain=observed.weight is None)
    else:
        params, cov, notes = _by_score(patterns, start)
    how = "observed information" if way == "likelihood" and not _sandwich(observed, patterns) else "sandwich"
    how += " by cluster" if observed.cluster is not None else ""
    return Fit(
        model="Logistic regression",
        response=response.name,
        method=f"{way.replace('-', ' ')}{'' if observed.weight is None else ', weighted'}; standard errors: {how}",
        names=names,
        params=params,
        cov=cov,
        naive=naive,
        nobs=observed.records,
        facts=facts,
        notes=notes,
    )


def _sandwich(observed: Observed, patterns: Patterns) -> bool:
    return observed.weight is not None or patterns.weighed.clusters is not None


def _check_likelihood(observed: Observed, columns: Sequence[Column], response: Column, latent: Sequence[int]) -> None:
    mend = "choose way='corrected-score'"
    (asked,) = response.parts
    factor = observed.factors[asked]
    if asked in latent:
        raise ParameterError("way", f"{response.name!r} was randomised together with a covariate", mend)
    if factor.variable is not None and len(factor.categories) > 2:
        problem = f"{response.name!r} is one of {len(factor.categories)} categories that were randomised among each other"
        raise ParameterError("way", problem, mend)
    if latent and any(column.numbers for column in columns):
        problem = "a likelihood would need to know how randomised covariates depend on those that are numbers"
        raise ParameterError("numeric", problem, mend)


def _by_likelihood(
    patterns: Patterns, start: Floats, names: tuple[str, ...], *, plain: bool
) -> tuple[Floats, Floats, dict[str, float], tuple[str, ...]]:
    if len(patterns.cell) * len(patterns.latent) > MOST:
        problem = "the randomised covariates and the cells of the others have too many combinations"
        raise ParameterError("covariates", problem, "choose way='corrected-score', or name fewer of them")
    best = maximise(patterns, start)
    check_information(best.information, patterns, names)
    cov = np.asarray(np.linalg.inv(best.information), float)
    if not plain or patterns.weighed.clusters is not None:
        cov = cov @ patterns.weighed.meat(best.scores) @ cov
    notes = []
    if len(patterns.latent) > 1:
        held = np.add.reduceat(patterns.weighed.count, patterns.start[:-1])
        sparse = int((held < 5 * len(patterns.latent)).sum())
        if sparse:
            notes.append(
                f"{sparse} of {len(held)} cells of the other covariates hold fewer than 5 records for each combination of the "
                "randomised ones: estimates may be biased, compare way='corrected-score'"
            )
        if best.boundary:
            notes.append(f"{best.boundary} shares of combinations of true categories are estimated as 0, and held there")
    return best.params, cov, {"log lik": best.log_likelihood} if plain else {}, tuple(notes)


def _naive(observed: Observed, columns: Sequence[Column], response: Column) -> Floats:
    """The fit with released codes at their word; NaN where there is none."""
    plain = observed.at_its_word()
    patterns, names = gathered(plain, columns, response, ()), tuple(column.name for column in columns)
    try:
        check_columns(patterns, names)
        best = maximise(patterns, np.zeros(len(columns)))
        check_information(best.information, patterns, names)
    except InputError:
        return np.full(len(columns), np.nan)
    return best.params


def _by_score(patterns: Patterns, start: Floats) -> tuple[Floats, Floats, tuple[str, ...]]:
    """Newton's steps on the corrected score, shortened while they do not bring it closer to 0."""
    scale = np.sqrt(np.diag(_score(patterns, np.zeros(len(start)))[1]))
    if not np.isfinite(scale).all() or (scale <= 0).any():
        problem = "the noise of randomising is too large for the corrected score"
        raise InputError("covariates", problem, "name fewer covariates, or take rare codes together by merge=")
    params = start
    score, slope, _ = _score(patterns, params)
    for _ in range(100):
        try:
            step = np.linalg.solve(slope, score)
        except np.linalg.LinAlgError:
            break
        if abs(float(score @ step)) < 1e-12:
            inverse = np.linalg.inv(slope)
            notes: tuple[str, ...] = ()
            if np.linalg.eigvalsh(slope / np.outer(scale, scale))[0] < 0:
                notes = (
                    "the slope of the corrected score is not positive definite: the noise is too large, do not rely on this",
                )
            return params, inverse @ patterns.weighed.meat(_score(patterns, params, each=True)[2]) @ inverse.T, notes
        size, now = 1.0, float(np.sum((score / scale) ** 2))
        while size > 1e-9:
            tried = _score(patterns, params + size * step)
            if np.sum((tried[0] / scale) ** 2) < now:
                break
            size /= 2
        params = params + size * step
        score, slope, _ = tried
    problem = "the corrected score has no solution that is found: codes separate the response, or the noise is too large"
    raise InputError("response", problem, "name fewer covariates, or take rare codes together by merge=")


def _score(patterns: Patterns, params: Floats, *, each: bool = False) -> tuple[Floats, Floats, Floats]:
    """The sum of scores (p,), its slope (p, p) with the sign turned, and on demand the score of each pattern (O, p)."""
    p, most = len(params), len(patterns.cell)
    score, slope, found = np.zeros(p), np.zeros((p, p)), np.zeros((most if each else 0, p))
    step = max(1, 2**22 // max(len(patterns.latent), p))
    for first in range(0, most, step):
        last = min(first + step, most)
        rows = patterns.certain[patterns.cell[first:last]]
        mean = special.expit((rows * params) @ patterns.latent.T)
        own = patterns.own(patterns.pseudo, first, last)
        answer = patterns.answer if len(patterns.answer) == 1 else patterns.answer[first:last]
        scores = rows * ((own * (answer - mean)) @ patterns.latent)
        count = patterns.weighed.count[first:last]
        score += count @ scores
        slope += curvature(rows, patterns.latent, own * mean * (1 - mean) * count[:, None])
        if each:
            found[first:last] = scores
    return score, slope, found
