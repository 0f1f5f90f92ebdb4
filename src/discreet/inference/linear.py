"""Linear regression on a released file: the normal equations of the true file, estimated without bias."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from discreet.errors import InputError, some
from discreet.inference.design import Column, Merge, Reference
from discreet.inference.fit import Fit
from discreet.inference.pseudo import Observed, between, grouped
from discreet.inference.regression import Regression
from discreet.inference.survey import Survey
from discreet.model.contributions import Floats, Integers
from discreet.model.released import ReleasedFile

__all__ = ["linear_regression", "regress"]

BLOCK = 2**22
"""How many numbers are worked on at a time."""


def linear_regression(
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
    on_missing: str = "error",
) -> Fit:
    """The least squares coefficients of the true file, estimated from a released one, with standard errors.

    ``covariates`` are categorical, randomised or not, save those also named in ``numeric``; ``interactions`` lists covariates
    to be multiplied; ``reference`` gives the code that others are compared with (else the first), ``merge`` codes taken
    together.  A randomised column in ``numeric`` stands for the numbers that its true codes are.  ``response`` is a column of
    numbers, randomised or not; with ``category`` the response is 1 for that code and 0 for others.  ``weight``, ``cluster``
    (ultimate clusters) and ``design_strata`` name columns of the survey; households that were changed by one draw are clusters
    of themselves.  Empty fields ``on_missing`` are an "error", or their records are left out ("drop").

    With d* the record's row of P⁻¹ for each randomised variable, Z the design row made of them and M_i the row's products
    ZZᵀ, in which a product of two functions f, g of one and the same variable is Σ_k f(k)g(k)d*_k:
    ``β̂ = (Σ w M_i)⁻¹ Σ w Z_i y_i``, both sums being unbiased for those of the true file, and
    ``V̂ = M⁻¹ (Σ ψψᵀ) M⁻ᵀ`` with ``ψ_i = w_i (Z_i y_i − M_i β̂)``, summed by cluster first, and around the means of strata.

    What it does not do: corrections for finite populations, or for anything but PRAM that happened to the file.
    Errors: InputError for columns that are not there, constant, linearly dependent, or hold empty fields, and for codes that
    are estimated not to occur; ParameterError for parameters that do not fit.
    Source: Gouweleeuw, Kooiman, Willenborg, De Wolf (1998), JOS 14(4); van den Hout, Kooiman (2006), Estimating the linear
    regression model with categorical covariates subject to randomized response, CSDA 50(11).
    """
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
        of_numbers=True,
    )
    fit = regress(asked.observed, asked.columns, asked.response)
    return dataclasses.replace(fit, notes=(*asked.notes, *fit.notes))


def regress(observed: Observed, columns: Sequence[Column], response: Column) -> Fit:
    """The fit for given design columns; see :func:`linear_regression`.

    Errors: InputError where the columns are linearly dependent.
    """
    names = tuple(column.name for column in columns)
    moments = _Moments.of(observed, [*columns, response])
    total = moments.total()
    M, Zy, yy = total[:-1, :-1], total[:-1, -1], float(total[-1, -1])
    scale = np.sqrt(np.maximum(np.diag(M), 1e-300))
    eigen, vectors = np.linalg.eigh(M / np.outer(scale, scale))
    near_zero = np.abs(eigen) < 1e-10 * np.abs(eigen).max()
    if near_zero.any():
        loads = np.abs(vectors[:, near_zero]).max(axis=1)
        dependent = [name for name, load in zip(names, loads, strict=True) if load > 1e-6]
        raise InputError("covariates", f"depend linearly on each other: {some(dependent)}", "leave one of them out")
    inverse = np.linalg.inv(M / np.outer(scale, scale)) / np.outer(scale, scale)
    params = inverse @ Zy
    rest = yy - float(params @ Zy)
    mean = Zy[names.index("intercept")] / moments.weight.sum()
    spread = yy - mean * mean * moments.weight.sum()
    notes = []
    if eigen[0] < 0:
        notes.append(
            "the estimated normal matrix is not positive definite: too few records for so much noise; do not rely on it"
        )
    if rest < 0 or spread <= 0:
        notes.append("the estimated residual variance is negative: R² says nothing")
    return Fit(
        model="Linear regression",
        response=response.name,
        method=_method(observed),
        names=names,
        params=params,
        cov=inverse @ moments.meat(params) @ inverse.T,
        naive=_naive(observed, columns, response),
        nobs=observed.records,
        facts={"R²": 1 - rest / spread if spread > 0 else np.nan, "residual sd": _root(rest / moments.weight.sum())},
        notes=tuple(notes),
    )


def _method(observed: Observed) -> str:
    how = "sandwich by cluster" if observed.cluster is not None else "sandwich"
    return f"pseudo-indicators{'' if observed.weight is None else ', weighted'}; standard errors: {how}"


def _root(value: float) -> float:
    return float(np.sqrt(max(value, 0.0)))


def _naive(observed: Observed, columns: Sequence[Column], response: Column) -> Floats:
    total = _Moments.of(observed.at_its_word(), [*columns, response]).total()
    if np.linalg.matrix_rank(total[:-1, :-1], hermitian=True) < len(columns):
        return np.full(len(columns), np.nan)
    return np.asarray(np.linalg.solve(total[:-1, :-1], total[:-1, -1]))


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class _Moments:
    """The unbiased products of the columns (the response last), record by record; records of one combination of codes together.

    ``rows`` (groups, factors) is the row of each factor, ``start`` (groups + 1,) where its records begin; ``numbers``
    (records, products) the distinct products of numbers and ``at`` (columns,) which one each column holds.
    """

    pseudo: tuple[Floats, ...]
    functions: tuple[Floats, ...]
    rows: Integers
    start: Integers
    numbers: Floats
    at: Integers
    weight: Floats
    cluster: Integers | None
    clusters: int
    design: Integers | None

    @classmethod
    def of(cls, observed: Observed, columns: Sequence[Column]) -> _Moments:
        used = sorted({place for column in columns for place in column.parts})
        factors = [observed.factors[place] for place in used]
        kinds = sorted({column.numbers for column in columns})
        numbers = np.ones((observed.records, len(kinds)))
        for kind, names in enumerate(kinds):
            for name in names:
                numbers[:, kind] *= observed.numbers[name]
        rows, group = grouped([factor.codes for factor in factors], observed.records)
        keys = [*numbers.T, observed.weights, *([] if observed.cluster is None else [observed.cluster]), group]
        order = np.lexsort(keys)  # sums do not depend on the order of the file
        return cls(
            pseudo=tuple(factor.pseudo for factor in factors),
            functions=tuple(
                np.stack([column.on(place, len(factor.categories)) for column in columns])
                for place, factor in zip(used, factors, strict=True)
            ),
            rows=rows,
            start=np.concatenate([[0], np.cumsum(np.bincount(group))]).astype(np.int64),
            numbers=numbers[order],
            at=np.array([kinds.index(column.numbers) for column in columns]),
            weight=observed.weights[order],
            cluster=None if observed.cluster is None else observed.cluster[order],
            clusters=observed.clusters,
            design=observed.design,
        )

    def total(self) -> Floats:
        """The sum over all records, of shape (columns, columns)."""
        found = np.zeros((len(self.at), len(self.at)))
        for first, last, products in self._blocks():
            held = slice(self.start[first], self.start[last])
            begin = self.start[first:last] - self.start[first]
            weighted = self.numbers[held] * self.weight[held, None]
            for r in range(self.numbers.shape[1]):
                sums = np.add.reduceat(weighted * self.numbers[held, r, None], begin, axis=0)
                own = np.flatnonzero(self.at == r)
                found[own] += np.einsum("gjk,gk->jk", products[:, own], sums[:, self.at])
        return found

    def meat(self, params: Floats) -> Floats:
        """The sum of ψψᵀ, of shape (covariates, covariates)."""
        p, weights = len(params), np.append(-params, 1.0)
        holds = np.equal.outer(self.at, np.arange(self.numbers.shape[1])).astype(float)
        found = np.zeros((p, p))
        kept = []
        for first, last, products in self._blocks():
            sides = (products[:, :p] * weights) @ holds
            step = max(1, BLOCK // p)
            end = int(self.start[last])
            for begin in range(int(self.start[first]), end, step):
                held = slice(begin, min(begin + step, end))
                group = np.searchsorted(self.start[first : last + 1], np.arange(held.start, held.stop), side="right") - 1
                psi = np.zeros((held.stop - held.start, p))
                for r in range(holds.shape[1]):
                    psi += sides[:, :, r][group] * self.numbers[held, r, None]
                psi *= self.numbers[held][:, self.at[:p]] * self.weight[held, None]
                if self.cluster is None:
                    found += psi.T @ psi
                else:
                    kept.append(psi)
        if self.cluster is not None:
            every = np.concatenate(kept)
            sums = [np.bincount(self.cluster, every[:, j], self.clusters) for j in range(p)]
            by_cluster = np.stack(sums, axis=1).astype(float)
            found = between(by_cluster, self.design)
        return found

    def _blocks(self) -> Iterator[tuple[int, int, Floats]]:
        """Groups from one to before another, and their products of shape (groups, columns, columns)."""
        width = len(self.at)
        step = max(1, BLOCK // (width * width))
        for first in range(0, len(self.rows), step):
            last = min(first + step, len(self.rows))
            products = np.ones((last - first, width, width))
            for pseudo, functions, rows in zip(self.pseudo, self.functions, self.rows[first:last].T, strict=True):
                used, which = np.unique(rows, return_inverse=True)
                table = (pseudo[used][:, None, :] * functions) @ functions.T
                products *= table[which]
            yield first, last, products
