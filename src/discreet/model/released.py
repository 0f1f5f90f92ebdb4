"""A released file and its document, as the analyst holds them."""

from __future__ import annotations

import dataclasses

import numpy as np

from discreet.errors import InputError, some
from discreet.model.encoded import Coded, encoded
from discreet.model.microdata import Microdata
from discreet.model.randomised import PramDocument, Randomised, Stratum

__all__ = ["ReleasedFile", "released_counts"]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ReleasedFile:
    """The records of a released file, and the document that tells how they were randomised.

    Errors: InputError where the two do not belong together: other columns, another number of records, codes that no matrix
    knows, strata without a matrix, or other counts.
    """

    microdata: Microdata
    document: PramDocument

    def __post_init__(self) -> None:
        document, microdata = self.document, self.microdata
        another = "take the document that was released with this file"
        if microdata.rows != document.records:
            problem = f"has {microdata.rows} records, and its document is about {document.records}"
            raise InputError(microdata.name, problem, another)
        for variable, counts in zip(document.variables, document.released, strict=True):
            columns = (*variable.columns, *variable.strata, *([variable.together] if variable.together else []))
            for column in columns:
                microdata.check_column(column, f"the document's variable {variable.name!r}")
            held = encoded(
                microdata,
                {"own": variable.columns, "stratum": variable.strata} if variable.strata else {"own": variable.columns},
            )
            found = released_counts(variable, held.coded["own"], held.coded.get("stratum"))
            if found != {stratum: tuple(numbers) for stratum, numbers in counts.items()}:
                problem = f"the released counts of {variable.name!r} are not those of its document"
                raise InputError(microdata.name, problem, another)

    def __repr__(self) -> str:
        return f"ReleasedFile({self.document!r})"


def released_counts(variable: Randomised, own: Coded, stratum: Coded | None) -> dict[Stratum, tuple[int, ...]]:
    """How many records of each stratum have each category of its matrix; empty codes that were kept are not counted.

    Errors: InputError for a code that the matrix of its stratum does not know, or a stratum without a matrix.
    """
    strata: tuple[Stratum, ...] = ((),) if stratum is None else stratum.categories
    at = np.zeros(len(own.codes), np.int64) if stratum is None else stratum.codes.astype(np.int64)
    counts = np.bincount(at * len(own.categories) + own.codes, minlength=len(strata) * len(own.categories))
    found: dict[Stratum, tuple[int, ...]] = {}
    for codes, row in zip(strata, counts.reshape(len(strata), -1).tolist(), strict=True):
        held = {category: n for category, n in zip(own.categories, row, strict=True) if n}
        if variable.missing == "kept":
            held.pop(("",) * len(variable.columns), None)
        matrix = variable.matrices.get(codes)
        if matrix is None:
            if held:
                problem = f"has no matrix for the stratum {' / '.join(codes)!r}, which the file has"
                raise InputError(
                    f"PRAM document, {variable.name}", problem, "take the document that was released with this file"
                )
            continue
        unknown = [" / ".join(category) for category in held if category not in matrix.categories]
        if unknown:
            problem = f"the file has categories that its matrix does not know: {some(unknown)}"
            raise InputError(f"PRAM document, {variable.name}", problem, "take the document that was released with this file")
        found[codes] = tuple(held.get(category, 0) for category in matrix.categories)
    return found
