"""Whether two variables are independent in the true file, and what randomising took of the test's power."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from scipy import special

from discreet.errors import InputError, ParameterError
from discreet.inference.cells import Cells, cells_of
from discreet.inference.fit import p_value
from discreet.inference.pseudo import Factor, Observed, observe
from discreet.inference.survey import Survey
from discreet.model.contributions import Floats
from discreet.model.released import ReleasedFile

__all__ = ["IndependenceTest", "independence_test"]


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class IndependenceTest:
    """Two tests of independence of columns ``a`` and ``b``.

    ``chi2`` is Pearson's on the released table at its word, ``wald`` that on the corrected table with its joint covariance.
    ``keeps_size`` whether the first holds its level in spite of PRAM.  ``kept`` the share of the noncentrality (the records'
    worth) that the released file keeps of the true one near independence: the least, the mean and the most over all
    associations that two such variables can have.
    """

    a: str
    b: str
    nobs: int
    chi2: float
    df: int
    pvalue: float
    keeps_size: bool
    wald: float
    wald_df: int
    wald_pvalue: float
    kept: tuple[float, float, float]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"IndependenceTest({self.a} × {self.b}: {self.nobs} records, {self.df} degrees of freedom)"

    def power(self, effect: float, level: float = 0.05) -> tuple[float, float]:
        """The chance to find an association on the true file, and on the released one, with this many records.

        ``effect`` is Cohen's w: the root of ``Σ (π − π_a π_b)² / (π_a π_b)`` in the true population; .1 is small, .5 large.

        Errors: ParameterError for a negative effect, or a level that is no probability.
        """
        if effect < 0 or not 0 < level < 1:
            raise ParameterError("power", "needs an effect of at least 0 and a level between 0 and 1", "give effect=0.1")
        far = self.nobs * effect**2
        limit = float(special.chdtri(self.df, level))
        before, after = (1 - float(special.chndtr(limit, self.df, share * far)) for share in (1.0, self.kept[1]))
        return before, after

    def summary(self) -> str:
        """The tests as plain text."""
        least, mean, most = self.kept
        holds = "keeps its size" if self.keeps_size else "does not keep its size"
        lines = [
            f"Independence of {self.a} and {self.b}",
            f"records   {self.nobs:,}",
            f"released table at its word   χ² {self.chi2:.4f}   df {self.df}   p {self.pvalue:.4f}   ({holds})",
            f"corrected table, Wald        χ² {self.wald:.4f}   df {self.wald_df}   p {self.wald_pvalue:.4f}",
            f"of the power   {mean:.1%} of the records' worth is kept ({least:.1%} to {most:.1%}): "
            f"{self.nobs:,} released records tell as much as {mean * self.nobs:,.0f} true ones",
        ]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def independence_test(
    file: ReleasedFile,
    a: str,
    b: str,
    *,
    cluster: str | None = None,
    design_strata: str | Sequence[str] = (),
    on_missing: str = "error",
) -> IndependenceTest:
    """Tests whether two columns, randomised or not, are independent in the true file.

    Variables that were randomised independently of each other, each by one matrix, stay independent if they were: the usual χ²
    on the released table keeps its size.  It has less power, and correcting the table does not bring that back:
    near independence the noncentrality shrinks by ``ρ_a² ρ_b²``, with ρ the singular values but the first of
    ``diag(x)^-½ Pᵀ diag(t)^½`` (t true and x released shares) of each variable, one for each direction of association.

    ``wald``: ``hᵀ (J V̂ Jᵀ)⁻¹ h`` with ``h = T̂/n − (T̂_a/n)(T̂_b/n)`` on the estimated table and J its derivative; to be used
    where the χ² does not keep its size: strata with different matrices, columns randomised as one, households or clusters.

    What it does not do: weights (use :func:`~discreet.inference.loglinear.loglinear`), exact tests for small tables.
    Errors: InputError for columns that are not there, constant or hold empty fields, and tables too large.
    """
    if a == b:
        raise ParameterError("b", f"is {a!r} again", "name two columns")
    observed = observe(file, [a, b], (), Survey.of(file, None, cluster, design_strata), on_missing=on_missing)
    cells = cells_of(observed, [a, b])
    keeps, notes = _size(observed, a, b)
    chi2, df, few = _pearson(cells)
    wald, rank = _wald(cells)
    if few:
        notes = (*notes, "more than a fifth of the expected counts are below 5: p-values are rough")
    kept_a, kept_b = _kept(observed, a), _kept(observed, b)
    return IndependenceTest(
        a=a,
        b=b,
        nobs=observed.records,
        chi2=chi2,
        df=df,
        pvalue=p_value(chi2, df),
        keeps_size=keeps,
        wald=wald,
        wald_df=rank,
        wald_pvalue=p_value(wald, rank),
        kept=(
            float(kept_a.min() * kept_b.min()),
            float(kept_a.mean() * kept_b.mean()),
            float(kept_a.max() * kept_b.max()),
        ),
        notes=(*observed.notes, *notes),
    )


def _size(observed: Observed, a: str, b: str) -> tuple[bool, tuple[str, ...]]:
    """Whether independence survives in the released table, and if not why."""
    reasons = []
    if observed.factor(a) == observed.factor(b):
        reasons.append(f"{a} and {b} were randomised as one variable")
    reasons += [
        f"the matrix of {column} depends on strata, which may depend on the other column"
        for column in (a, b)
        if len(np.unique(observed.factors[observed.factor(column)].stratum)) > 1
    ]
    if observed.cluster is not None and observed.clusters < observed.records:
        reasons.append("records of a cluster depend on each other")
    elif observed.design is not None:
        reasons.append("the strata of the sample may depend on the columns")
    return not reasons, tuple(f"the χ² on the released table does not keep its size: {reason}" for reason in reasons)


def _pearson(cells: Cells) -> tuple[float, int, bool]:
    """The statistic, its degrees of freedom, and whether expected counts are small."""
    table = _grid(cells, cells.weighed.count @ cells.plain)
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    if min(table.shape) < 2:
        raise InputError(" × ".join(cells.by), "one of the columns has one released code only", "choose other columns")
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    few = bool((expected < 5).mean() > 0.2)
    return float(np.sum((table - expected) ** 2 / expected)), (table.shape[0] - 1) * (table.shape[1] - 1), few


def _grid(cells: Cells, values: Floats) -> Floats:
    """The cells as a table of two ways."""
    rows, columns = (list(dict.fromkeys(cell[way] for cell in cells.codes)) for way in (0, 1))
    if len(rows) * len(columns) != len(cells.codes):
        problem = "some combinations cannot occur, so that the columns are not independent"
        raise InputError(" × ".join(cells.by), problem, "there is nothing to test")
    order = {cell: at for at, cell in enumerate(cells.codes)}
    return np.asarray(values)[[[order[row, column] for column in columns] for row in rows]]


def _wald(cells: Cells) -> tuple[float, int]:
    table = _grid(cells, cells.estimated)
    at = _grid(cells, np.arange(len(cells.codes), dtype=float)).astype(int)
    n, rows, columns = table.sum(), table.sum(axis=1), table.sum(axis=0)
    if min(table.shape) < 2:
        raise InputError(" × ".join(cells.by), "one of the columns is constant", "choose other columns")
    i, j = (one.ravel() for one in np.indices((len(rows) - 1, len(columns) - 1)))
    k, m = (one.ravel() for one in np.indices(table.shape))
    gap = table[i, j] / n - rows[i] * columns[j] / n**2
    same_row, same_column = i[:, None] == k, j[:, None] == m
    slope = (same_row & same_column) / n - (table[i, j] / n**2 - 2 * rows[i] * columns[j] / n**3)[:, None]
    slope -= (same_row * columns[j][:, None] + same_column * rows[i][:, None]) / n**2
    order = at.ravel()
    spread = slope @ cells.covariance[np.ix_(order, order)] @ slope.T
    return float(gap @ np.linalg.pinv(spread, hermitian=True) @ gap), int(np.linalg.matrix_rank(spread, hermitian=True))


def _kept(observed: Observed, column: str) -> Floats:
    """The squared singular values but the first, of shape (codes − 1,): what each direction keeps of its variance."""
    factor = observed.factors[observed.factor(column)]
    labels = factor.labels(column)
    codes = list(dict.fromkeys(labels))
    members = np.array([[float(label == code) for code in codes] for label in labels])
    joint = members.T @ _moved(factor) @ members
    used = joint.sum(axis=0) > 0
    joint = joint[:, used][joint.sum(axis=1) > 0]
    rho = np.linalg.svd(joint / np.sqrt(np.outer(joint.sum(axis=1), joint.sum(axis=0))), compute_uv=False)
    found = np.zeros(max(int(used.sum()) - 1, 1))
    found[: min(len(rho) - 1, len(found))] = rho[1 : len(found) + 1] ** 2
    return np.minimum(found, 1.0)


def _moved(factor: Factor) -> Floats:
    """How many records of true category k (columns) are expected to be released as l (rows), by estimated true counts."""
    seen = np.bincount(factor.codes, minlength=len(factor.pseudo)).astype(float)
    found = np.zeros((len(factor.categories), len(factor.categories)))
    for stratum in np.unique(factor.stratum):
        own = factor.stratum == stratum
        true = np.maximum(seen[own] @ factor.pseudo[own], 0.0)
        found += factor.plain[own].T @ (factor.chance[own] * true)
    return found
