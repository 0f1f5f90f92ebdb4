"""Applies PRAM: starts with the secret key of each record, and then randomises one variable after the other."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from discreet.errors import InputError, ParameterError, SdcError, near
from discreet.method import check_params, param
from discreet.microdata.protect.pram.draw import drawn
from discreet.microdata.protect.pram.forbidden import allowed_moves
from discreet.microdata.protect.pram.occurrence import Design, Occurrence, design_text, tells_counts
from discreet.model.code_keys import record_code_keys
from discreet.model.contributions import Floats, Integers
from discreet.model.encoded import Coded, encoded
from discreet.model.keys import Secret
from discreet.model.microdata import Microdata
from discreet.model.pram_file import PramFile
from discreet.model.randomised import PramDocument, Randomised, Stratum
from discreet.model.transition import TransitionMatrix

__all__ = ["Pram", "start_pram"]

CLOSE = 1e-6
"""How far a matrix that is called invariant may be from leaving the counts as they are, as a share of all records."""


def start_pram(microdata: Microdata, secret: Secret, *, record: str | Sequence[str] = ()) -> PramFile:
    """Records with a secret key each, of which no variable is randomised yet.

    The key is 60 bits of a SHA-256 hash of the secret and the record's id: the columns ``record``, by default that
    of the role unit.  So the same record is always changed in the same way, whatever the order, engine or other variables.

    Errors: InputError where there is no id, where records miss it or share one, for rows that stand for several records, and
    for a secret of the paper's hash, which has only a thousand values; ParameterError for a secret that is none.
    """
    if not isinstance(secret, Secret):
        raise ParameterError("secret", "is no Secret", "make one: Secret.from_file('secret.txt')")
    columns, key = record_code_keys(microdata, secret, "PRAM", record)
    return PramFile(microdata=microdata, key=key, record=columns, secret=secret)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pram:
    """Each record is released with a category drawn from the row of its true one in a transition matrix.

    With p_kl the probability that a record of category k is released as l, a number u in [0, 1), made from the record's key
    and the names of the columns, decides: the record stays if ``u < p_kk``, and else gets the category into whose part of
    [p_kk, 1), of length p_kl, u falls.  Several ``columns`` are one compound variable.  In each stratum of ``within`` the
    design makes a matrix of its own on the categories that occur there, so that no combination with the columns of strata
    arises that the file did not have, nor a new one of the columns of a compound variable.  A stratum with one category stays
    as it is.  With ``together``, the records of a household are changed by one draw; its records must have the same codes.

    Guards against: being certain of a category, or of a match, that is seen in the released file.
    Does not guard against: columns that are released beside it and tell the category; members of a household, or several
    records of one person, who share a category and are drawn one by one; what several variables tell together; a second release
    of the same records with another matrix, of which each tells something.
    """

    NAME: ClassVar[str] = "pram"
    SOURCE: ClassVar[str] = (
        "Gouweleeuw, Kooiman, Willenborg, De Wolf (1998), Post randomisation for statistical disclosure control, JOS 14(4)"
    )

    columns: tuple[str, ...] = param(doc="the column to randomise, or several that are randomised as one compound variable")
    design: Design = param(doc="how the transition matrix is made")  # noqa: RUF009 - param makes a field, not a default
    within: tuple[str, ...] = param((), "columns of strata: each has a matrix of its own, on the categories that occur in it")
    keep: tuple[Any, ...] = param((), "categories that no record leaves or enters; of a compound variable as 'a / b'")
    forbid: tuple[Any, ...] = param((), "moves that are forbidden, as pairs [from, to]; '*' stands for all others")
    counts: str = param(
        "sample",
        "what the design takes as the counts of the categories: the records, or the sums of their weights",
        choices=("sample", "population"),
    )
    missing: str = param(
        "kept", "empty codes stay empty, or are a category that is randomised like others", choices=("kept", "category")
    )
    together: str | None = param(None, "the column of households whose records are changed by one draw")

    def __post_init__(self) -> None:
        check_params(self)
        if not self.columns:
            raise ParameterError(f"{self.NAME}.columns", "is empty", "name the column to randomise")
        for name in ("columns", "within"):
            if len(set(getattr(self, name))) < len(getattr(self, name)):
                raise ParameterError(f"{self.NAME}.{name}", "names a column twice", "name each column once")

    def apply(self, file: PramFile, /) -> PramFile:
        """The file with one more randomised variable.

        Errors: InputError for a column that is not there or was randomised before, no code at all, households that differ in
        the variable, a weight that is missing or negative, and a matrix that breaks what is allowed; ParameterError for
        categories that do not occur.
        """
        microdata, population = file.microdata, self.counts == "population"
        self._check_columns(file)
        for column in (*self.columns, *self.within, *([self.together] if self.together else [])):
            microdata.check_column(column, f"PRAM of {self.name}")
        if population and microdata.roles.weight is None:
            raise InputError("PRAM", "counts of the population need weights", "declare weight = 'column', or take the sample")
        weights = {"weight": microdata.roles.weight} if population and microdata.roles.weight else {}
        asked = {"own": self.columns} | ({"stratum": self.within} if self.within else {})
        households = {"key": file.hashed("PRAM household", (self.together,))} if self.together else {}
        held = encoded(microdata, asked, weights, households)
        own, stratum = held.coded["own"], held.coded.get("stratum")
        key = held.extra.get("key", file.key)
        cell = own.codes.astype(np.int64)
        if stratum is not None:
            cell += stratum.codes.astype(np.int64) * len(own.categories)
        if self.together:
            self._check_households(key, cell)
        strata = ((),) if stratum is None else stratum.categories
        records = np.bincount(cell, minlength=len(strata) * len(own.categories)).reshape(len(strata), len(own.categories))
        counts = _weighted(self.name, cell, held.numbers["weight"], records) if weights else records.astype(float)
        matrices = self._matrices(own, strata, records, counts)
        variable = Randomised(
            columns=self.columns,
            matrices=matrices,
            strata=self.within,
            together=self.together,
            missing=self.missing,
            invariant=self.counts if self.design.invariant else "",
            telling=tells_counts(self.design) or any(_left_alike(matrices, own, strata, n) for n in (records, counts)),
            design=design_text(self.design),
        )
        return file.with_variable(variable, own, drawn(matrices, own, stratum, key, self.columns))

    @property
    def name(self) -> str:
        """The variable as people read it."""
        return " × ".join(self.columns)

    def _check_columns(self, file: PramFile) -> None:
        for column in self.columns:
            if column in file.record:
                problem = "is part of the records' id, from which the draws are made"
                raise InputError(f"column {column!r}", problem, "tell records apart by other columns")
        planned = Randomised(columns=self.columns, matrices={}, strata=self.within, together=self.together)
        variables = (*file.variables, planned)
        PramDocument(file=file.microdata.name, records=len(file.key), variables=variables, released=())

    def _check_households(self, household: Integers, cell: Integers) -> None:
        """Refuses households whose records differ in what decides their draw."""
        order = np.argsort(household, kind="stable")
        household, cell = household[order], cell[order]
        differ = (household[1:] == household[:-1]) & (cell[1:] != cell[:-1])
        if differ.any():
            count = len(np.unique(household[1:][differ]))
            problem = f"{count} households hold records with different codes, and one draw cannot change them together"
            fix = "randomise variables of the household together, and those of its members one by one: leave out together"
            raise InputError(f"PRAM of {self.name}", problem, fix)

    def _matrices(
        self, own: Coded, strata: Sequence[Stratum], records: Integers, counts: Floats
    ) -> dict[Stratum, TransitionMatrix]:
        """One matrix for each stratum in which the variable has a code, made for the counts of shape (strata, categories)."""
        name, size = self.name, len(own.categories)
        chosen = np.array([self.missing == "category" or any(category) for category in own.categories], bool)
        if not (records[:, chosen] > 0).any():
            raise InputError(f"PRAM of {name}", "all its codes are empty", "choose another column")
        empty_stays = self.missing == "kept"
        among = [category for category, taken in zip(own.categories, chosen, strict=True) if taken]
        _check_named(f"PRAM of {name}", self.design, among)
        allowed = np.eye(size, dtype=bool)
        allowed[np.ix_(chosen, chosen)] = allowed_moves(self.NAME, among, self.keep, self.forbid, empty_stays=empty_stays)
        matrices = {}
        for s, codes in enumerate(strata):
            at = np.flatnonzero(chosen & (records[s] > 0))
            if not len(at):
                continue
            categories = tuple(own.categories[k] for k in at)
            where = f"PRAM of {name}" + (f", stratum {' / '.join(codes)!r}" if self.within else "")
            matrices[codes] = _designed(where, self.design, categories, counts[s, at], allowed[np.ix_(at, at)])
        return matrices


def _check_named(where: str, design: Any, categories: Sequence[tuple[str, ...]]) -> None:
    """Refuses targets, of the design or of the one that it starts from, for a category that occurs in no stratum."""
    labels = [" / ".join(category) for category in categories]
    unknown = [label for label in getattr(design, "named", ()) if label not in labels]
    if unknown:
        problem = f"the design {design.NAME!r} has a target for {unknown[0]!r}, which does not occur{near(unknown[0], labels)}"
        raise ParameterError(where, problem, "leave it out, or name a category that occurs")
    if hasattr(design, "start"):
        _check_named(where, design.start, categories)


def _left_alike(matrices: dict[Stratum, TransitionMatrix], own: Coded, strata: Sequence[Stratum], records: Any) -> bool:
    """Whether a matrix leaves these counts of its stratum as they are, and no others, so that it tells them."""
    place = {category: k for k, category in enumerate(own.categories)}
    for counts, codes in zip(records, strata, strict=True):
        if (matrix := matrices.get(codes)) is None:
            continue
        held = counts[[place[category] for category in matrix.categories]]
        doubly = np.abs(matrix.matrix.sum(axis=0) - 1).max() < CLOSE  # leaves equal counts alike, whatever the true ones
        if not doubly and matrix.gap(held) <= CLOSE * held.sum():
            return True
    return False


def _designed(
    where: str, design: Design, categories: tuple[tuple[str, ...], ...], counts: Floats, allowed: Any
) -> TransitionMatrix:
    """The matrix of a stratum, which keeps to what is allowed, whoever wrote the design."""
    if len(categories) == 1:
        return TransitionMatrix.identity(categories)
    try:
        made = design.matrix(Occurrence(categories=categories, counts=counts, allowed=allowed))
    except (InputError, ParameterError) as error:
        raise _told(where, error) from None
    if made.categories != categories:
        raise InputError(where, f"the design {design.NAME!r} made a matrix of other categories", "mend the design")
    barred = np.argwhere((made.matrix > 0) & ~allowed)
    if len(barred):
        true, released = (made.labels[k] for k in barred[0])
        raise InputError(where, f"the design {design.NAME!r} releases {true!r} as {released!r}, which is forbidden", "mend it")
    if design.invariant and made.gap(counts) > CLOSE * counts.sum():
        raise InputError(where, f"the design {design.NAME!r} is no invariant one: the counts change", "mend the design")
    return made


def _told(where: str, error: SdcError) -> SdcError:
    """The same error, which also tells of which variable and stratum it is."""
    return type(error)(f"{where}, {error.where}", error.problem, error.fix, details=error.details)


def _weighted(name: str, cell: Integers, weight: Floats, records: Integers) -> Floats:
    """The sums of weights in the shape of the counts of records: exact, so that the order of records changes no digit."""
    bad = int((~np.isfinite(weight) | (weight < 0)).sum())
    if bad:
        raise InputError(f"PRAM of {name}", f"{bad} records have no weight or one below 0", "give each record a weight")
    ends = np.cumsum(records.ravel())
    ordered = weight[np.argsort(cell, kind="stable")]
    sums = [math.fsum(ordered[end - n : end].tolist()) for end, n in zip(ends, records.ravel(), strict=True)]
    found = np.reshape(sums, records.shape)
    if ((found == 0) & (records > 0)).any():
        problem = "the weights of a category add up to 0"
        raise InputError(f"PRAM of {name}", problem, "join it with another, or take counts = 'sample'")
    return found
