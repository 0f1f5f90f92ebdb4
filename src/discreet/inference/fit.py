"""A fitted model: coefficients with standard errors, intervals and tests, and what the released codes alone would have said."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np
from scipy import special

from discreet.errors import ParameterError, near
from discreet.inference.estimates import quantile
from discreet.inference.survey import columns_of
from discreet.model.contributions import Floats

__all__ = ["Fit", "p_value"]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Fit:
    """Coefficients of a model of the true file, estimated from the released one; arrays are in the order of ``names``.

    ``params`` of shape (coefficients,) with covariance ``cov``, which holds the noise of PRAM beside that of sampling;
    ``naive`` the coefficients with released codes taken for true ones, for comparison only (NaN where there are none);
    ``nobs`` records used; ``facts`` further numbers of the fit by name; ``notes`` what a reader must know of it.
    """

    model: str
    response: str
    method: str
    names: tuple[str, ...]
    params: Floats
    cov: Floats
    naive: Floats
    nobs: int
    facts: Mapping[str, float]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Fit({self.model} of {self.response}: {len(self.names)} coefficients, {self.nobs} records)"

    @property
    def bse(self) -> Floats:
        """The standard errors."""
        return np.asarray(np.sqrt(np.maximum(np.diag(self.cov), 0.0)))

    @property
    def tvalues(self) -> Floats:
        """Coefficients over their standard errors: standard normal in large files where the true coefficient is 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.params / self.bse)

    @property
    def pvalues(self) -> Floats:
        """Two-sided, by the normal distribution."""
        return np.asarray(2 * special.ndtr(-np.abs(self.tvalues)))

    def conf_int(self, *, level: float = 0.95) -> Floats:
        """Intervals of shape (coefficients, 2) that hold the true coefficient with probability ``level`` in large files."""
        half = quantile(level) * self.bse
        return np.stack([self.params - half, self.params + half], axis=1)

    def wald_test(self, names: str | Sequence[str]) -> tuple[float, int, float]:
        """Whether these coefficients are all 0: the Wald statistic, its degrees of freedom and the p-value.

        Errors: ParameterError for a name that is no coefficient.
        """
        names = columns_of(names)
        unknown = [name for name in names if name not in self.names]
        if unknown or not names:
            what = f"no coefficient {unknown[0]!r}{near(unknown[0], self.names)}" if unknown else "no coefficient is named"
            raise ParameterError("wald_test", what, f"the coefficients are: {', '.join(self.names)}")
        at = [self.names.index(name) for name in names]
        statistic = float(self.params[at] @ np.linalg.solve(self.cov[np.ix_(at, at)], self.params[at]))
        return statistic, len(at), p_value(statistic, len(at))

    def records(self) -> list[dict[str, str | float]]:
        """One row a coefficient, as any frame library takes them."""
        columns = (self.params, self.bse, self.tvalues, self.pvalues, *self.conf_int().T, self.naive)
        keys = ("coef", "std err", "z", "P>|z|", "lower", "upper", "naive")
        return [
            {"name": name, **dict(zip(keys, map(float, row), strict=True))}
            for name, row in zip(self.names, zip(*columns, strict=True), strict=True)
        ]

    def summary(self, *, level: float = 0.95) -> str:
        """The fit as plain text."""
        tail = (1 - level) / 2
        heads = ("coef", "std err", "z", "P>|z|", f"[{tail:.4g}", f"{1 - tail:.4g}]", "naive")
        wide = max(12, *map(len, self.names))
        lines = [f"{self.model}, corrected for PRAM", f"response  {self.response}", f"records   {self.nobs:,}"]
        lines += [f"method    {self.method}"]
        lines += [f"{name:<9} {value:,.6g}" for name, value in self.facts.items()]
        lines += ["", " " * wide + "".join(f"{head:>11}" for head in heads), "-" * (wide + 11 * len(heads))]
        columns = (self.params, self.bse, self.tvalues, self.pvalues, *self.conf_int(level=level).T, self.naive)
        for name, row in zip(self.names, zip(*columns, strict=True), strict=True):
            cells = [f"{value:.3f}" if at in (2, 3) else _short(value) for at, value in enumerate(row)]
            lines.append(f"{name:<{wide}}" + "".join(f"{cell:>11}" for cell in cells))
        lines += ["", *(f"note: {note}" for note in ("naive takes released codes for true ones: biased", *self.notes))]
        return "\n".join(lines)


def _short(value: float) -> str:
    return f"{value:.4f}" if abs(value) < 1e5 or math.isnan(value) else f"{value:.4e}"


def p_value(statistic: float, freedom: int) -> float:
    """The chance of a χ² at least this large with so many degrees of freedom."""
    return float(special.chdtrc(freedom, max(statistic, 0.0))) if freedom else 1.0
