"""The columns of a released file as a model sees them: for each code that was released, what it tells of the true one."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.errors import InputError, ParameterError, near
from discreet.inference.axes import code_numbers, inverse_of, variable_of
from discreet.inference.survey import Survey, checked_weights, designed, units_of
from discreet.model.contributions import Floats, Integers
from discreet.model.encoded import Coded, encoded
from discreet.model.randomised import Randomised
from discreet.model.released import ReleasedFile
from discreet.model.transition import Category

__all__ = ["Factor", "Observed", "Weighed", "between", "grouped", "observe"]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Factor:
    """A column, or columns randomised as one, on K true ``categories``; ``codes[i]`` is the row of record i's released code.

    A row is a released category in one stratum.  Arrays of shape (rows, K): ``pseudo`` is its row of P⁻¹, the pseudo-indicators
    d*, with E(d* | true category k) = the k-th unit vector; ``chance`` is Pr(released as this row | true category); ``plain``
    says which category it is at its word.  All three are the unit matrix where nothing was randomised.  ``stratum`` of shape
    (rows,) numbers the strata.
    """

    columns: tuple[str, ...]
    categories: tuple[Category, ...]
    codes: Integers
    pseudo: Floats
    chance: Floats
    plain: Floats
    stratum: Integers
    variable: Randomised | None = None

    def __repr__(self) -> str:
        return f"Factor({' × '.join(self.columns)}, {len(self.categories)} categories)"

    @classmethod
    def certain(cls, columns: tuple[str, ...], own: Coded) -> Factor:
        """A column that was not randomised, with the categories that its records have."""
        used, codes = np.unique(own.codes, return_inverse=True)
        unit, rows = np.eye(len(used)), np.zeros(len(used), np.int64)
        named = tuple(own.categories[int(at)] for at in used)
        codes = codes.astype(np.int64)
        return cls(columns=columns, categories=named, codes=codes, pseudo=unit, chance=unit, plain=unit, stratum=rows)

    @classmethod
    def randomised(cls, variable: Randomised, own: Coded, stratum: Coded | None) -> Factor:
        """A randomised variable; its categories are those of the matrices of all strata that the records are in."""
        wide = len(own.categories)
        at = own.codes.astype(np.int64) if stratum is None else stratum.codes.astype(np.int64) * wide + own.codes
        pairs, codes = np.unique(at, return_inverse=True)
        strata = ((),) if stratum is None else stratum.categories
        used = sorted({int(pair) // wide for pair in pairs})
        matrices = {s: variable.matrices[strata[s]] for s in used}
        categories = tuple(dict.fromkeys(category for s in used for category in matrices[s].categories))
        place = {category: k for k, category in enumerate(categories)}
        pseudo, chance, plain = (np.zeros((len(pairs), len(categories))) for _ in range(3))
        for s, matrix in matrices.items():
            rows = np.flatnonzero(pairs // wide == s)
            columns = np.array([place[category] for category in matrix.categories])
            known = {category: k for k, category in enumerate(matrix.categories)}
            released = np.array([known[own.categories[int(pair) % wide]] for pair in pairs[rows]])
            pseudo[np.ix_(rows, columns)] = inverse_of(variable, strata[s], matrix)[released]
            chance[np.ix_(rows, columns)] = matrix.matrix.T[released]
            plain[rows, columns[released]] = 1.0
        return cls(
            columns=variable.columns,
            categories=categories,
            codes=codes.astype(np.int64),
            pseudo=pseudo,
            chance=chance,
            plain=plain,
            stratum=pairs // wide,
            variable=variable,
        )

    def labels(self, column: str) -> tuple[str, ...]:
        """The code that each category has in one of the columns."""
        part = self.columns.index(column)
        return tuple(category[part] for category in self.categories)

    def at_its_word(self) -> Factor:
        """The same, with released codes taken for true ones."""
        return dataclasses.replace(self, pseudo=self.plain, chance=self.plain)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Observed:
    """The columns of a model, fetched together: ``factors``, and ``numbers``, ``weight`` and ``cluster`` of shape (records,).

    ``values`` are, for randomised columns that are taken as numbers, the number of each category of their factor.
    ``cluster`` numbers the groups in which records depend on each other: of the sample, or households changed by one draw;
    ``design`` of shape (clusters,) the stratum of the sample that each is in, those included that no record here belongs to.
    """

    factors: tuple[Factor, ...]
    numbers: Mapping[str, Floats]
    records: int
    values: Mapping[str, Floats] = dataclasses.field(default_factory=dict)
    weight: Floats | None = None
    cluster: Integers | None = None
    design: Integers | None = None
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Observed({self.records} records, {len(self.factors)} factors, {len(self.numbers)} numbers)"

    @cached_property
    def weights(self) -> Floats:
        """The weight of each record, 1 where there are none."""
        return np.ones(self.records) if self.weight is None else self.weight

    @property
    def clusters(self) -> int:
        """How many clusters there are."""
        return (
            len(self.design)
            if self.design is not None
            else 0
            if self.cluster is None
            else int(self.cluster.max(initial=-1)) + 1
        )

    def factor(self, column: str) -> int:
        """The place of the factor that a column belongs to."""
        return next(place for place, factor in enumerate(self.factors) if column in factor.columns)

    def at_its_word(self) -> Observed:
        """The same, with released codes taken for true ones."""
        return dataclasses.replace(self, factors=tuple(factor.at_its_word() for factor in self.factors))


def observe(
    file: ReleasedFile, categorical: Sequence[str], numeric: Sequence[str], survey: Survey, *, on_missing: str = "error"
) -> Observed:
    """The columns of a model; empty codes and numbers are an "error", or their records are left out ("drop").

    ``numeric``: columns that are taken as numbers; a randomised one stands for those that its codes are.

    Errors: InputError for a column that is not there, empty fields (with how many), bad weights, clusters that cut through
    households, strata of a single cluster, matrices that are not public, and text where a number is needed.
    """
    if on_missing not in ("error", "drop"):
        problem = f"{on_missing!r} is no policy{near(on_missing, ('error', 'drop'))}"
        raise ParameterError("on_missing", problem, "say 'error' or 'drop'")
    coded_numbers = [column for column in numeric if file.document.variable_of(column) is not None]
    plain = [column for column in numeric if column not in coded_numbers]
    variables = _variables(file, [*categorical, *coded_numbers])
    wanted = {" × ".join(columns): columns for columns in variables}
    randomised = [variable for variable in variables.values() if variable is not None]
    households = dict.fromkeys(variable.together for variable in randomised if variable.together)
    strata = {f"strata of {variable.name}": variable.strata for variable in randomised if variable.strata}
    coded = {**wanted, **strata, **{f"households {column}": (str(column),) for column in households}, **survey.coded()}
    held = encoded(file.microdata, coded, {f"number {column}": column for column in plain} | _weighed(survey))
    numbers = {column: held.numbers[f"number {column}"] for column in plain}
    keep, notes = _kept(file, variables, held.coded, numbers, on_missing)
    weight = held.numbers.get("weight")
    if weight is not None:
        weight = np.where(keep, weight, 0.0)
        keep &= checked_weights(survey.weight, weight) > 0
    kept = {name: Coded(one.categories, one.codes[keep]) for name, one in held.coded.items()}
    factors = []
    for columns, variable in variables.items():
        own = kept[" × ".join(columns)]
        if variable is None:
            factors.append(Factor.certain(columns, own))
        else:
            factors.append(Factor.randomised(variable, own, kept.get(f"strata of {variable.name}")))
    cluster, design = (held.coded[one].codes.astype(np.int64) if one in held.coded else None for one in ("cluster", "design"))
    dependent = {str(column): held.coded[f"households {column}"].codes.astype(np.int64) for column in households}
    unit, stratum = units_of(cluster, dependent, design, np.arange(len(keep)))
    return Observed(
        factors=tuple(factors),
        numbers={column: number[keep] for column, number in numbers.items()},
        values=_values(file, factors, coded_numbers),
        records=int(keep.sum()),
        weight=None if weight is None else weight[keep],
        cluster=None if unit is None else unit[keep],
        design=stratum,
        notes=(*survey.notes(file), *notes),
    )


def _weighed(survey: Survey) -> dict[str, str]:
    return {} if survey.weight is None else {"weight": survey.weight}


def _values(file: ReleasedFile, factors: Sequence[Factor], columns: Sequence[str]) -> dict[str, Floats]:
    """The numbers that the categories of randomised columns stand for."""
    found = {}
    for column in columns:
        factor = next(factor for factor in factors if column in factor.columns)
        found[column] = code_numbers(column, factor.labels(column), decimal_comma=file.microdata.decimal_comma)
        if np.isnan(found[column]).any():
            problem = "was randomised with the missing code as one of its categories, which is no number"
            raise InputError(f"column {column!r}", problem, "name it as a categorical column")
    return found


def _variables(file: ReleasedFile, columns: Iterable[str]) -> dict[tuple[str, ...], Randomised | None]:
    """The columns by what was randomised as one, in the order in which they are named."""
    found: dict[tuple[str, ...], Randomised | None] = {}
    for column in columns:
        variable = variable_of(file, column, "the model")
        found[(column,) if variable is None else variable.columns] = variable
    return found


def _kept(
    file: ReleasedFile,
    variables: Mapping[tuple[str, ...], Randomised | None],
    coded: Mapping[str, Coded],
    numbers: Mapping[str, Floats],
    on_missing: str,
) -> tuple[NDArray[np.bool_], tuple[str, ...]]:
    """Which records have all that the model needs, and a note on those that have not."""
    keep = np.ones(file.microdata.rows, bool)
    for columns, variable in variables.items():
        if variable is None or variable.missing == "kept":
            name = " × ".join(columns)
            none = np.array([category == ("",) * len(columns) for category in coded[name].categories])
            keep &= _full(name, ~none[coded[name].codes], "code", on_missing)
    for name, held in numbers.items():
        keep &= _full(name, np.isfinite(held), "number", on_missing)
    lost = int((~keep).sum())
    if lost == len(keep):
        raise InputError(file.microdata.name, "no record has all columns of the model", "choose other columns")
    return keep, (f"{lost} records with empty fields are left out",) if lost else ()


def _full(name: str, full: NDArray[np.bool_], what: str, on_missing: str) -> NDArray[np.bool_]:
    lost = int((~full).sum())
    if lost and on_missing == "error":
        raise InputError(f"column {name!r}", f"{lost} records have no {what}", "leave them out: on_missing='drop'")
    return full


def grouped(codes: Sequence[Integers], records: int) -> tuple[Integers, Integers]:
    """The different combinations of codes, of shape (groups, columns), and which one each record has, of shape (records,)."""
    key = np.zeros(records, np.int64)
    for column in codes:
        wide = int(column.max(initial=0)) + 1
        if (int(key.max(initial=0)) + 1) * wide >= 2**62:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
        key = key * wide + column
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    rows = np.stack([column[first] for column in codes], axis=1) if codes else np.zeros((len(first), 0), np.int64)
    return rows.astype(np.int64), group.astype(np.int64)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Weighed:
    """The records of each pattern, or other group, summed: weights ``count`` and their ``squares``, of shape (patterns,).

    ``clusters`` holds the weights of each cluster (rows) in each pattern, None where records are independent; ``design`` the
    stratum of each cluster.
    """

    count: Floats
    squares: Floats
    clusters: sparse.csr_array | None
    design: Integers | None

    @classmethod
    def of(cls, observed: Observed, pattern: Integers) -> Weighed:
        """The sums for the pattern of each record; they do not depend on the order of the file."""
        order = np.lexsort((observed.weights, pattern))
        pattern, weight = pattern[order], observed.weights[order]
        clusters = None
        if observed.cluster is not None:
            rows = observed.cluster[order]
            shape = (observed.clusters, int(pattern.max(initial=-1)) + 1)
            clusters = sparse.csr_array((weight, (rows, pattern)), shape=shape)
        count, squares = (np.bincount(pattern, power).astype(float) for power in (weight, weight**2))
        return cls(count=count, squares=squares, clusters=clusters, design=observed.design)

    def meat(self, scores: Floats) -> Floats:
        """The sum over records, or clusters, of the products of their weighted scores; ``scores`` of shape (patterns, p)."""
        if self.clusters is None:
            return np.asarray((scores * self.squares[:, None]).T @ scores, float)
        return between(self.clusters @ scores, self.design)


def between(sums: Floats, design: Integers | None) -> Floats:
    """The sum of products of clusters' scores (clusters, p), around the mean of their stratum where there are strata."""
    return np.asarray(sums.T @ sums, float) if design is None else designed(sums, sums, design)
