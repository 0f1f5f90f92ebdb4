"""What PRAM did to a file: the variables, their matrices, and what an analyst may be told of it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

from discreet.errors import InputError, some
from discreet.model.transition import TransitionMatrix

__all__ = ["PramDocument", "Randomised", "Stratum"]

Stratum = tuple[str, ...]
"""The codes of a stratum, one for each column of strata; () where there are none."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Randomised:
    """How one variable, or several columns as one compound variable, was randomised.

    ``columns`` one, or those of the compound; ``strata`` columns that were not randomised, by whose codes the matrix was
    chosen; ``matrices`` one for each stratum, on the categories that occur there; ``together`` the column of households whose
    records were changed by one draw; ``missing`` "kept" where empty codes stayed empty, or "category" where "" is a category
    like others; ``invariant`` "" or the counts that the matrices leave as they are on average: "sample" or "population";
    ``telling`` and ``design``, which stay with the owner: that true counts can be worked out from the matrices, and what made
    them, with the targets that were asked for.
    """

    columns: tuple[str, ...]
    matrices: Mapping[Stratum, TransitionMatrix]
    strata: tuple[str, ...] = ()
    together: str | None = None
    missing: str = "kept"
    invariant: str = ""
    telling: bool = False
    design: str = ""

    def __post_init__(self) -> None:
        for stratum, matrix in self.matrices.items():
            if len(stratum) != len(self.strata):
                problem = (
                    f"the stratum {' / '.join(stratum)!r} has {len(stratum)} codes for {len(self.strata)} columns of strata"
                )
                raise InputError(self.name, problem, "give one code for each column of strata")
            if any(len(category) != len(self.columns) for category in matrix.categories):
                problem = f"a category has not one code for each of the {len(self.columns)} columns"
                raise InputError(self.name, problem, "name categories of a compound variable by the codes of all its columns")

    def __repr__(self) -> str:
        return f"Randomised({self.name}, {len(self.matrices)} matrices)"

    @property
    def name(self) -> str:
        """The variable as people read it."""
        return " × ".join(self.columns)

    @property
    def epsilon(self) -> float:
        """Local differential privacy, the largest of all strata."""
        return max((matrix.epsilon for matrix in self.matrices.values()), default=0.0)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PramDocument:
    """What goes with a released file: everything that an analyst needs for unbiased answers, and nothing confidential.

    ``released`` the counts of each variable in the released file (by stratum, in the order of the matrix's categories), by
    which a file and its document are known to belong together; ``public`` is False where the matrices stay with the owner,
    whose document then holds them and the analyst's does not.  The variables were randomised independently of each other.
    """

    file: str
    records: int
    variables: tuple[Randomised, ...]
    released: tuple[Mapping[Stratum, tuple[int, ...]], ...]
    public: bool = True
    made_by: str = ""

    def __post_init__(self) -> None:
        taken: dict[str, str] = {}
        for variable in self.variables:
            for column in variable.columns:
                if column in taken:
                    others = {taken[column], variable.name} - {column}
                    problem = f"column {column!r} is randomised twice" + (f", also in {some(sorted(others))}" if others else "")
                    fix = "randomise a column once; two matrices of which one undoes the other would give the true counts away"
                    raise InputError("PRAM document", problem, fix)
                taken[column] = variable.name
        for variable in self.variables:
            for column in (*variable.strata, *([variable.together] if variable.together else [])):
                if column in taken:
                    problem = f"column {column!r} chooses the matrix of {variable.name} and is itself randomised"
                    raise InputError("PRAM document", problem, "take strata and households from columns that stay as they are")

    def __repr__(self) -> str:
        return f"PramDocument({self.file}: {self.records} records, {len(self.variables)} randomised variables)"

    @property
    def epsilon(self) -> float:
        """Local differential privacy of a record in all randomised variables together: the sum; may be infinite."""
        return math.fsum(variable.epsilon for variable in self.variables)

    def variable_of(self, column: str) -> Randomised | None:
        """The randomised variable that a column belongs to, None where it was left as it is."""
        return next((variable for variable in self.variables if column in variable.columns), None)
