"""The risk that is left in a file after PRAM: by variable, stratum and category, and what the owner should be warned of."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet.errors import InputError, ParameterError
from discreet.microdata.risk.population import population_weights, summed, unrandomised
from discreet.microdata.risk.pram_warnings import pram_warnings
from discreet.microdata.risk.telling_columns import telling_columns
from discreet.microdata.risk.variable import StratumRisk, VariableRisk
from discreet.model.contributions import Floats
from discreet.model.encoded import Coded
from discreet.model.pram_file import PramFile
from discreet.model.randomised import Randomised, Stratum
from discreet.model.transition import Category

__all__ = ["PramRisk", "pram_risk"]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PramRisk:
    """What a released file still tells, for the owner alone: it holds true counts.

    ``unchanged`` the share of records all of whose randomised variables were left as they are, expected and met; ``weighted``
    whether posterior probabilities are those for the population; ``rare`` and ``most`` what the warnings call a rare category
    and the largest expectation ratio it should have.
    """

    variables: tuple[VariableRisk, ...]
    records: int
    unchanged: tuple[float, float]
    weighted: bool
    rare: int
    most: float
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"PramRisk({self.records} records, {len(self.variables)} randomised variables, {len(self.warnings)} warnings)"

    @property
    def epsilon(self) -> float:
        """Local differential privacy of a record in all randomised variables together: the sum; may be infinite."""
        return math.fsum(each.epsilon for each in self.variables)

    def rows(self) -> list[dict[str, Any]]:
        """One a variable, stratum and category, ready for a frame: counts, shares, expectation ratio and posterior."""
        out = []
        for each in self.variables:
            for part in each.strata:
                for k, label in enumerate(part.matrix.labels):
                    n = int(part.true[k])
                    out.append(
                        {
                            "variable": each.variable.name,
                            "stratum": " / ".join(part.stratum),
                            "category": label,
                            "true": n,
                            "released": int(part.released[k]),
                            "stay": float(part.matrix.diagonal[k]),
                            "expected_share": 1 - float(part.matrix.diagonal[k]),
                            "changed_share": int(part.changed[k]) / n if n else math.nan,
                            "expectation_ratio": float(part.expectation_ratios[k]),
                            "posterior": float(part.posterior[k]),
                            "rare": n <= self.rare,
                        }
                    )
        return out


def pram_risk(file: PramFile, *, columns: Sequence[str] | None = None, rare: int = 10, most: float = 1.0) -> PramRisk:
    """The risk of every randomised variable of a file: by stratum and category, and in warnings.

    ``columns``: those that will be released, by default the same as those of :func:`discreet.write_pram`; among them it looks
    for some that give a randomised variable away.  ``rare``: a category of a stratum with at most so many records is rare;
    ``most`` the expectation ratio above which a rare category brings a warning.  Where a column has the role of weight,
    posterior probabilities are those for the population.

    It takes an intruder who knows nothing else of a record; for one who knows a key see
    :func:`discreet.microdata.risk.named.named_records`.

    Errors: InputError where a column is not there, where records have no weight, or a category or stratum without a matrix;
    ParameterError for ``rare`` or ``most`` below 0.
    """
    if rare < 0 or not most >= 0:
        raise ParameterError("risk of PRAM", "rare and most cannot be below 0", "give 0 to be warned of no rare category")
    groups = {variable.strata for variable in file.variables} | {_household(variable) for variable in file.variables}
    names = {columns: f"group {i}" for i, columns in enumerate(sorted(groups - {()}))}
    held = unrandomised(file.microdata, {name: columns for columns, name in names.items()})
    coded = {columns: held.coded[name] for columns, name in names.items()}
    weight = population_weights(file.microdata, held)
    stay, same = np.ones(len(file.key)), np.ones(len(file.key), bool)
    variables = []
    for variable, true, released in zip(file.variables, file.true, file.released, strict=True):
        stratum, household = coded.get(variable.strata), coded.get(_household(variable))
        one = VariableRisk(variable=variable, strata=_strata(variable, _tables(true, released, stratum, household, weight)))
        variables.append(one)
        same &= true.codes == released.codes
        stay *= _stay_of_records(one, true, stratum)
    n = len(file.key)
    unchanged = float(np.sort(stay).sum()) / n, int(same.sum()) / n
    risk = PramRisk(
        variables=tuple(variables), records=n, unchanged=unchanged, weighted=weight is not None, rare=rare, most=most
    )
    telling = telling_columns(file, columns)
    return dataclasses.replace(risk, warnings=pram_warnings(risk.variables, telling, rare=rare, most=most))


def _household(variable: Randomised) -> tuple[str, ...]:
    return () if variable.together is None else (variable.together,)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class _Tables:
    """What a :class:`StratumRisk` holds, each of shape (strata, all categories of the file)."""

    strata: tuple[Stratum, ...]
    categories: tuple[Category, ...]
    counts: Mapping[str, Any]


def _tables(true: Coded, released: Coded, stratum: Coded | None, household: Coded | None, weight: Floats | None) -> _Tables:
    strata: tuple[Stratum, ...] = ((),) if stratum is None else stratum.categories
    shape = (len(strata), len(true.categories))
    first = np.zeros(len(true.codes), np.int64) if stratum is None else stratum.codes * np.int64(shape[1])
    before, after = first + true.codes, first + released.codes
    size = None if household is None else np.bincount(household.codes)[household.codes].astype(float)
    whole = shape[0] * shape[1]
    counts = {
        "true": np.bincount(before, minlength=whole),
        "released": np.bincount(after, minlength=whole),
        "changed": np.bincount(before[true.codes != released.codes], minlength=whole),
        "population": summed(before, whole, weight),
        "true_squares": summed(before, whole, size),
        "released_squares": summed(after, whole, size),
    }
    return _Tables(
        strata=strata, categories=true.categories, counts={name: table.reshape(shape) for name, table in counts.items()}
    )


def _strata(variable: Randomised, tables: _Tables) -> tuple[StratumRisk, ...]:
    """The tables cut into strata, on the categories of each matrix; what no matrix knows is refused."""
    where = {category: place for place, category in enumerate(tables.categories)}
    kept = where.get(("",) * len(variable.columns), -1) if variable.missing == "kept" else -1
    fix = "take the file that was randomised with these matrices"
    parts = []
    for row, codes in enumerate(tables.strata):
        true = tables.counts["true"][row]
        held = int(true.sum()) - (int(true[kept]) if kept >= 0 else 0)
        matrix = variable.matrices.get(codes)
        if matrix is None:
            if held:
                problem = f"has no matrix for the stratum {' / '.join(codes)!r}, which the file has"
                raise InputError(f"PRAM, {variable.name}", problem, fix)
            continue
        at = np.array([where.get(category, len(where)) for category in matrix.categories], np.int64)
        picked = {name: np.append(table[row], 0)[at] for name, table in tables.counts.items()}
        if int(picked["true"].sum()) != held:
            raise InputError(f"PRAM, {variable.name}", "the file has categories that the matrix does not know", fix)
        parts.append(StratumRisk(stratum=codes, matrix=matrix, **picked))
    return tuple(parts)


def _stay_of_records(risk: VariableRisk, true: Coded, stratum: Coded | None) -> Floats:
    """The probability of each record to keep its category; empty codes that are kept stay for certain."""
    strata: tuple[Stratum, ...] = ((),) if stratum is None else stratum.categories
    where = {category: place for place, category in enumerate(true.categories)}
    rows = {codes: row for row, codes in enumerate(strata)}
    stay = np.ones((len(strata), len(true.categories)))
    for part in risk.strata:
        for category, probability in zip(part.matrix.categories, part.matrix.diagonal, strict=True):
            if category in where:
                stay[rows[part.stratum], where[category]] = probability
    return np.asarray(stay[0 if stratum is None else stratum.codes, true.codes])
