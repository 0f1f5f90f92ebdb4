"""Loglinear models of true tables, fitted to a released file."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from discreet.errors import InputError, ParameterError, near, some
from discreet.inference.cells import Cells, cells_of
from discreet.inference.design import Reference, columns_of
from discreet.inference.fit import Fit, p_value
from discreet.inference.pseudo import observe
from discreet.inference.survey import Survey
from discreet.inference.survey import columns_of as names_of
from discreet.model.contributions import Floats
from discreet.model.released import ReleasedFile
from discreet.model.transition import Category

__all__ = ["LoglinearFit", "loglinear"]

WAYS = ("likelihood", "minimum-chi-square")
CODINGS = ("effect", "treatment")


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LoglinearFit(Fit):
    """A fit with the table behind it: ``cells`` and, of shape (cells,), their ``estimated`` and ``fitted`` true counts.

    ``estimated`` are those without a model, some of which may be negative.
    """

    cells: tuple[Category, ...]
    estimated: Floats
    fitted: Floats


def loglinear(
    file: ReleasedFile,
    by: str | Sequence[str],
    terms: str | Sequence[str | Sequence[str]],
    *,
    coding: str = "effect",
    reference: Reference | None = None,
    weight: str | None = None,
    cluster: str | None = None,
    design_strata: str | Sequence[str] = (),
    way: str = "likelihood",
    on_missing: str = "error",
) -> LoglinearFit:
    """A hierarchical loglinear model ``log T = Xβ`` of the true counts T of the table ``by``, fitted to a released file.

    ``terms`` lists the highest interactions, such as ``[("sex", "region"), "age"]``; what is below them is added.  "effect"
    ``coding`` compares each code with the mean of all, "treatment" with the ``reference``, by default the first.

    ``way`` "likelihood": maximises ``Σ_x N_x log m_x − Σ m`` with ``m = PᵀT`` over the released cells x and their counts N; the
    table must hold the strata of its randomised variables, and all columns of a compound one.  "minimum-chi-square":
    minimises ``(T̂ − T)ᵀ V̂⁻¹ (T̂ − T)`` with T̂ the estimated counts and V̂ their joint covariance, which must have an inverse.
    V̂ holds the noise of PRAM and of drawing the records; with weights or clusters, standard errors are sandwiches.

    Fit of the model: "Wald" is ``rᵀL (LᵀV̂L)⁻¹ Lᵀr`` with ``r = T̂ − T`` and L orthogonal to what the coefficients can change;
    "G²" compares released with fitted released counts, where records are drawn independently and unweighted.

    What it does not do: more than 3,000 cells, or cells that are 0 in the true file but possible (coefficients then run off).
    Errors: InputError for columns that are not there or hold empty fields, coefficients that run to infinity, tables too large.
    Source: Thompson, Baker (1981), Composite link functions in generalized linear models, Applied Statistics 30(2);
    van den Hout, van der Heijden (2002), Randomized response, statistical disclosure control and misclassification, Int.
    Statist. Review 70(2).
    """
    _check_words(way, coding, reference)
    closed = _closed(by := names_of(by), [terms] if isinstance(terms, str) else terms)
    observed = observe(file, by, (), Survey.of(file, weight, cluster, design_strata), on_missing=on_missing)
    columns, notes = columns_of(observed, closed, reference=reference, coding=coding)
    cells = cells_of(observed, by)
    _check_whole(way, cells)
    names, design, left = _used(tuple(column.name for column in columns), cells.design(columns, observed))
    plain = weight is None and observed.cluster is None
    likely = way == "likelihood"
    estimated = _by_likelihood(cells, design, names, plain=plain) if likely else _by_chi_square(cells, design, names)
    fitted = np.exp(design @ estimated[0])
    more, told = _fit_of_model(cells, design, fitted)
    how = "information" if plain else "sandwich"
    return LoglinearFit(
        model="Loglinear model",
        response=f"count of {' × '.join(by)}",
        method=f"{way.replace('-', ' ')}; standard errors: {how if likely else 'joint covariance of the cells'}",
        names=names,
        params=estimated[0],
        cov=estimated[1],
        naive=_naive(cells, design, names),
        nobs=observed.records,
        facts={**estimated[2], **more},
        notes=(*observed.notes, *notes, *left, *told),
        cells=cells.codes,
        estimated=cells.estimated,
        fitted=fitted,
    )


def _check_words(way: str, coding: str, reference: Reference | None) -> None:
    for where, given, known in (("way", way, WAYS), ("coding", coding, CODINGS)):
        if given not in known:
            raise ParameterError(where, f"{given!r} is not known{near(given, known)}", f"say {' or '.join(map(repr, known))}")
    if coding == "effect" and reference:
        raise ParameterError("reference", "means nothing with effect coding", "leave it out, or choose coding='treatment'")


def _check_whole(way: str, cells: Cells) -> None:
    if way == "likelihood" and not cells.whole:
        problem = "the table leaves out strata of a randomised variable, or columns randomised together with its own"
        raise ParameterError("way", problem, "add them to by, or choose way='minimum-chi-square'")


def _closed(by: Sequence[str], terms: Sequence[str | Sequence[str]]) -> list[tuple[str, ...]]:
    """The terms and all below them, the lower ones first, in the order of the table's columns."""
    if len(set(by)) < len(by) or not by:
        raise ParameterError("by", "is no list of different columns", "name the columns of the table")
    found: set[tuple[str, ...]] = set()
    for term in terms:
        named = {term} if isinstance(term, str) else set(term)
        for column in sorted(named - set(by)):
            raise ParameterError("terms", f"{column!r} is no column of the table{near(column, by)}", f"say {', '.join(by)}")
        own = [column for column in by if column in named]
        for size in range(1, len(own) + 1):
            found |= set(combinations(own, size))
    return sorted(found, key=lambda term: (len(term), [by.index(column) for column in term]))


def _used(names: tuple[str, ...], design: Floats) -> tuple[tuple[str, ...], Floats, tuple[str, ...]]:
    """The columns that some cell has, with a note on others.

    Errors: InputError where cells that cannot occur leave columns that depend on each other.
    """
    left = [names[int(j)] for j in np.flatnonzero(np.abs(design).sum(axis=0) == 0)]
    used = [j for j, name in enumerate(names) if name not in left]
    names, design = tuple(names[j] for j in used), design[:, used]
    if np.linalg.matrix_rank(design) < len(names):
        problem = "some combinations cannot occur, so that coefficients depend on each other"
        raise InputError("terms", problem, "choose coding='treatment', or name fewer or lower terms")
    return names, design, (f"left out, for no cell has them: {some(left)}",) if left else ()


def _start(cells: Cells, design: Floats) -> Floats:
    logs = np.log(np.maximum(cells.estimated, 0.002 * cells.weighed.count.sum() / len(design)))
    return np.asarray(np.linalg.lstsq(design, logs)[0])


class _Point:
    """The likelihood at some coefficients: value, gradient, and the information, complete or observed."""

    def __init__(self, chance: Floats, count: Floats, design: Floats, params: Floats) -> None:
        self.params, self.design, self.count = params, design, count
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            self.means = np.exp(design @ params)
            self.moves = chance * self.means
            self.seen = self.moves.sum(axis=1)
            self.value = float(count @ np.log(self.seen) - self.means.sum())

    def scores(self) -> Floats:
        return np.asarray((self.moves @ self.design) / self.seen[:, None])

    def gradient(self) -> Floats:
        return np.asarray(self.count @ self.scores() - self.means @ self.design)

    def complete(self) -> Floats:
        return np.asarray((self.design.T * self.means) @ self.design)

    def observed(self) -> Floats:
        scores, expected = self.scores(), (self.count / self.seen) @ self.moves
        return np.asarray((scores.T * self.count) @ scores + (self.design.T * (self.means - expected)) @ self.design)


def _by_likelihood(
    cells: Cells, design: Floats, names: tuple[str, ...], *, plain: bool
) -> tuple[Floats, Floats, dict[str, float]]:
    point = _maximum(cells.chance, cells.weighed.count, design, _start(cells, design), names)
    cov = np.asarray(np.linalg.inv(point.observed()))
    if not plain:
        return point.params, cov @ cells.weighed.meat(point.scores()) @ cov, {}
    count, freedom = cells.weighed.count, len(design) - len(names)
    deviance = 2 * float(count @ np.log(count / point.seen))
    return point.params, cov, {"G²": deviance, "p(G²)": p_value(deviance, freedom)}


def _maximum(chance: Floats, count: Floats, design: Floats, start: Floats, names: tuple[str, ...]) -> _Point:
    """Newton's steps, with the information of the true file while that of the released one has no inverse.

    Errors: InputError where the maximum is at infinity or not found.
    """
    point = _Point(chance, count, design, start)
    for _ in range(500):
        gradient, information = point.gradient(), point.observed()
        try:
            np.linalg.cholesky(information)
            step = np.linalg.solve(information, gradient)
            if float(gradient @ step) < 1e-11:
                _check_finite(information, point.complete(), names)
                return point
        except np.linalg.LinAlgError:
            step = np.linalg.lstsq(point.complete(), gradient)[0]
        size = 1.0
        while size > 1e-9:
            tried = _Point(chance, count, design, point.params + size * step)
            if tried.value >= point.value - 1e-13 * abs(point.value):
                break
            size /= 2
        point = tried
    problem = "the likelihood has no maximum that is found: some combinations may be estimated not to occur"
    raise InputError("terms", problem, "name fewer or lower terms")


def _check_finite(information: Floats, complete: Floats, names: tuple[str, ...]) -> None:
    scale = np.sqrt(np.maximum(np.diag(complete), 1e-300))
    eigen, vectors = np.linalg.eigh(information / np.outer(scale, scale))
    if eigen[0] < 1e-8 or np.diag(complete).min() < 1e-6:
        loads = np.abs(vectors[:, 0])
        held = [name for name, load in zip(names, loads, strict=True) if load > 0.1]
        problem = f"the file says nothing of {some(held)}: they run to infinity or depend on each other"
        raise InputError("terms", problem, "name fewer or lower terms")


def _by_chi_square(cells: Cells, design: Floats, names: tuple[str, ...]) -> tuple[Floats, Floats, dict[str, float]]:
    """Gauss's and Newton's steps on the distance in the metric of the covariance.

    Errors: InputError where the covariance has no inverse, or no minimum is found.
    """
    covariance, estimated = cells.covariance, cells.estimated
    scale = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    if np.linalg.eigvalsh(covariance / np.outer(scale, scale))[0] < 1e-10:
        problem = "the covariance of the estimated cells has no inverse: released cells are empty, or there are few clusters"
        raise InputError(" × ".join(cells.by), problem, "cross fewer columns, or choose way='likelihood'")
    inverse = np.linalg.inv(covariance)
    params = _start(cells, design)
    for _ in range(200):
        means = np.exp(design @ params)
        rest, moves = estimated - means, design * means[:, None]
        normal, gradient = moves.T @ inverse @ moves, moves.T @ inverse @ rest
        step = np.linalg.lstsq(normal, gradient)[0]
        if float(gradient @ step) < 1e-11:
            _check_finite(normal, moves.T @ (moves / np.maximum(means, 1e-300)[:, None]), names)
            distance = float(rest @ inverse @ rest)
            freedom = len(design) - len(names)
            return params, np.asarray(np.linalg.inv(normal)), {"χ²": distance, "p(χ²)": p_value(distance, freedom)}
        size, now = 1.0, float(rest @ inverse @ rest)
        while size > 1e-9:
            with np.errstate(over="ignore", invalid="ignore"):
                far = estimated - np.exp(design @ (params + size * step))
                if float(far @ inverse @ far) < now:
                    break
            size /= 2
        params = params + size * step
    problem = "no minimum is found: some combinations may be estimated not to occur"
    raise InputError("terms", problem, "name fewer or lower terms, or choose way='likelihood'")


def _fit_of_model(cells: Cells, design: Floats, fitted: Floats) -> tuple[dict[str, float], tuple[str, ...]]:
    """The Wald statistic of what the model leaves over."""
    freedom = len(design) - design.shape[1]
    if not freedom:
        return {"Wald": 0.0, "df": 0.0, "p(Wald)": 1.0}, ()
    moves = design * np.sqrt(fitted)[:, None]
    basis = np.linalg.qr(moves, mode="complete")[0][:, design.shape[1] :] / np.sqrt(fitted)[:, None]
    rest = basis.T @ (cells.estimated - fitted)
    spread = basis.T @ cells.covariance @ basis
    rank = int(np.linalg.matrix_rank(spread, hermitian=True))
    statistic = float(rest @ np.linalg.pinv(spread, hermitian=True) @ rest)
    notes = (f"the Wald statistic has {rank} degrees of freedom: released cells are empty",) if rank < freedom else ()
    return {"Wald": statistic, "df": float(freedom), "p(Wald)": p_value(statistic, rank)}, notes


def _naive(cells: Cells, design: Floats, names: tuple[str, ...]) -> Floats:
    """The fit with released codes at their word; NaN where there is none."""
    try:
        return _maximum(cells.plain, cells.weighed.count, design, _start(cells, design), names).params
    except InputError:
        return np.full(len(names), np.nan)
