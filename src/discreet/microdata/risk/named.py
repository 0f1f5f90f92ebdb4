"""What a released file tells of somebody whose key is known: odds before and after, for keys and for named units."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.engine.sql import literal
from discreet.errors import InputError, near
from discreet.microdata.risk.population import population_weights, summed, unrandomised
from discreet.microdata.risk.pram import odds_bound
from discreet.model.contributions import Floats, Integers
from discreet.model.encoded import Coded, encoded, plain_code
from discreet.model.pram_file import PramFile
from discreet.model.transition import TransitionMatrix

__all__ = ["NamedRecord", "named_records", "named_units"]

Key = Mapping[str, str]
"""Columns with their codes."""


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class NamedRecord:
    """What a release tells of a record: confidential, as it holds a true key.

    ``key`` the true codes, ``released`` those that are seen; ``prior`` the odds that a record with the codes that were not
    randomised has the key, and ``posterior`` the same once it is seen how it was released; ``epsilon`` of the variables in
    the key together.
    """

    key: Key
    released: Key
    prior: float
    posterior: float
    epsilon: float

    def __repr__(self) -> str:
        return f"NamedRecord({', '.join(self.key)})"

    @property
    def probability(self) -> float:
        """The probability that who is released like this has the key."""
        return 1.0 if np.isinf(self.posterior) else self.posterior / (1 + self.posterior)

    @property
    def bound(self) -> float:
        """What the posterior odds cannot exceed: e^ε times the prior odds."""
        return odds_bound(self.prior, self.epsilon)


def named_records(file: PramFile, keys: Sequence[Key], *, released: Sequence[Key] | None = None) -> tuple[NamedRecord, ...]:
    """For each key the odds that a record released like this is truly so, against all other records that could be.

    ``keys`` e.g. ``{"sex": "f", "occupation": "surgeon"}``: true codes of at least one randomised column, of columns that were
    left as they are, and of the strata that chose the matrices; ``released`` the codes seen for each key, where others than
    the true ones: of randomised columns only, as the rest was released as it was.  The product of the probabilities of all
    variables in the key is taken, and the records of the file as the population, by weight where a column has that role.

    Others than this file's records, and what is known of several records of a household together, are not taken into account.

    Errors: InputError for columns or codes that are not there, a stratum that the key does not name, a key of no randomised
    column, or where no record of the file can be released like this.
    Source: Gouweleeuw, Kooiman, Willenborg, De Wolf (1998), JOS 14(4).
    """
    if released is not None and len(released) != len(keys):
        raise InputError("named records", f"{len(keys)} keys and {len(released)} released ones", "give one for each key")
    seen = [{} for _ in keys] if released is None else released
    for key, other in zip(keys, seen, strict=True):
        _check_key(file, key, other)
    columns = sorted({column for key in keys for column in key})
    population = _Population.of(file, columns)
    return tuple(population.odds(key, {**key, **other}) for key, other in zip(keys, seen, strict=True))


def named_units(file: PramFile, units: Sequence[str], columns: Sequence[str]) -> tuple[NamedRecord, ...]:
    """The same for the records of these units, with the true and released codes that they have in ``columns``.

    ``units`` ids as the column with the role of unit has them; ``columns`` what an intruder knows of them, the strata of its
    randomised columns among them.  One answer for each record of a unit: units in the given order, records in that of the file.

    Errors: as :func:`named_records`, and InputError where no column names the unit or a unit is not in the file.
    """
    unit = file.microdata.roles.unit
    if unit is None:
        raise InputError("named units", "no column names the unit", "declare unit = 'column'")
    for column in columns:
        file.microdata.check_column(column, "the key")
    text = plain_code(file.microdata, unit)
    cases = " ".join(f"WHEN {literal(str(one))} THEN {i}" for i, one in enumerate(units))
    where = encoded(file.microdata, {}, extra={"unit": f"CASE {text} {cases} ELSE -1 END" if units else "-1"}).extra["unit"]
    absent = len(units) - len(np.unique(where[where >= 0]))
    if absent:
        raise InputError("named units", f"{absent} of {len(units)} are not in the file", "name each unit once, by its id")
    rows = np.flatnonzero(where >= 0)
    rows = rows[np.argsort(where[rows], kind="stable")]
    plain = [column for column in columns if not _randomised(file, column)]
    held = encoded(file.microdata, {column: (column,) for column in plain}).coded
    keys: list[dict[str, str]] = [{} for _ in rows]
    seen: list[dict[str, str]] = [{} for _ in rows]
    for column in columns:
        for i, row in enumerate(rows):
            keys[i][column] = _code(file, held, column, int(row), true=True)
            if column not in held:
                seen[i][column] = _code(file, held, column, int(row), true=False)
    return named_records(file, keys, released=seen)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class _Population:
    """The different combinations of all variables and columns in the keys, and how often each occurs."""

    file: PramFile
    variables: tuple[int, ...]
    """Places of the randomised variables."""
    parts: Mapping[int | str, tuple[Coded, Integers]]
    """Of each variable (its place) or column (its name): the categories, and the code of each combination."""
    count: Floats

    @classmethod
    def of(cls, file: PramFile, columns: Sequence[str]) -> _Population:
        places = sorted({file.column(column) for column in columns if _randomised(file, column)})
        plain = [column for column in columns if not _randomised(file, column)]
        held = unrandomised(file.microdata, {column: (column,) for column in plain})
        coded: dict[int | str, Coded] = {place: file.true[place] for place in places} | dict(held.coded)
        group = np.zeros(len(file.key), np.int64)
        for part in coded.values():
            group = np.unique(group * len(part.categories) + part.codes, return_inverse=True)[1].reshape(-1)
        _, first = np.unique(group, return_index=True)
        count = summed(group, len(first), population_weights(file.microdata, held))
        parts = {name: (part, part.codes[first].astype(np.int64)) for name, part in coded.items()}
        return cls(file=file, variables=tuple(places), parts=parts, count=count)

    def odds(self, key: Key, released: Key) -> NamedRecord:
        """Of the records with the key's codes that were not randomised: those with the key against the others."""
        alike = np.ones(len(self.count), bool)
        for column in key:
            if column in self.parts:
                alike &= _matching(self.parts[column][0], (column,), key)[self.parts[column][1]]
        own, likely, epsilon = np.ones(len(self.count), bool), np.ones(len(self.count)), 0.0
        for place in self.variables:
            variable = self.file.variables[place]
            if not set(variable.columns) & set(key):
                continue
            coded, codes = self.parts[place]
            matrix = variable.matrices[tuple(key[column] for column in variable.strata)]
            own &= _matching(coded, variable.columns, key)[codes]
            likely *= _column(coded, matrix, _matching(coded, variable.columns, released))[codes]
            epsilon += matrix.epsilon
        before, after = self.count * alike, self.count * alike * likely
        if not after.any():
            raise InputError(
                "named records", "no record of the file can be released like this", "name codes that occur together"
            )
        with np.errstate(divide="ignore"):
            prior, posterior = (float(np.divide(n[own].sum(), n[~own].sum())) for n in (before, after))
        return NamedRecord(key=dict(key), released=dict(released), prior=prior, posterior=posterior, epsilon=epsilon)


def _column(coded: Coded, matrix: TransitionMatrix, seen: NDArray[np.bool_]) -> Floats:
    """The probability of each category to be released as one of those seen; what the matrix does not know stays as it is."""
    where = {category: place for place, category in enumerate(coded.categories)}
    known = [(k, where[category]) for k, category in enumerate(matrix.categories) if category in where]
    rows, places = np.array(known, np.int64).reshape(-1, 2).T
    out = seen.astype(float)
    out[places] = matrix.matrix[np.ix_(rows, rows)] @ seen[places]
    return out


def _matching(coded: Coded, columns: Sequence[str], key: Key) -> NDArray[np.bool_]:
    """Which categories have the key's codes, in those of these columns that it names."""
    named = [(i, key[column]) for i, column in enumerate(columns) if column in key]
    return np.array([all(category[i] == code for i, code in named) for category in coded.categories], bool)


def _randomised(file: PramFile, column: str) -> bool:
    return any(column in variable.columns for variable in file.variables)


def _code(file: PramFile, held: Mapping[str, Coded], column: str, row: int, *, true: bool) -> str:
    if column in held:
        coded, part = held[column], 0
    else:
        place = file.column(column)
        coded = (file.true if true else file.released)[place]
        part = file.variables[place].columns.index(column)
    return coded.categories[int(coded.codes[row])][part]


def _check_key(file: PramFile, key: Key, released: Key) -> None:
    if not any(_randomised(file, column) for column in key):
        fix = "name a randomised column too; of the others the release tells the truth"
        raise InputError("named records", "a key names no randomised column", fix)
    for column in released:
        if column not in key or not _randomised(file, column):
            problem = f"a released code of {column!r}, which is no randomised column of the key"
            raise InputError("named records", problem, "name released codes of the key's randomised columns only")
    for column, code in (*key.items(), *released.items()):
        if not _randomised(file, column):
            file.microdata.check_column(column, "the key")
            continue
        place = file.column(column)
        part = file.variables[place].columns.index(column)
        codes = {category[part] for category in file.true[place].categories}
        if code not in codes:
            problem = f"no record has the code {code!r} in {column!r}{near(code, codes)}"
            raise InputError("named records", problem, "name a code that occurs")
    for place in {file.column(column) for column in key if _randomised(file, column)}:
        _check_stratum(file, place, key)


def _check_stratum(file: PramFile, place: int, key: Key) -> None:
    variable = file.variables[place]
    for column in variable.strata:
        if column not in key:
            problem = f"the matrix of {variable.name} was chosen by {column!r}, which the key does not name"
            raise InputError("named records", problem, f"add {column!r} to the key")
    codes = tuple(key[column] for column in variable.strata)
    if codes not in variable.matrices:
        problem = f"{variable.name} has no matrix for the stratum {' / '.join(codes)!r}"
        raise InputError("named records", problem, "name a stratum of the file")
