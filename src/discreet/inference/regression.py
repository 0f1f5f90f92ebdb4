"""What regressions have in common: the columns of a file that are asked for, as a response and a design."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from discreet.errors import ParameterError
from discreet.inference.design import Column, Merge, Reference, check_occurring, columns_of, indicator, number, terms_of
from discreet.inference.pseudo import Observed, observe
from discreet.inference.survey import Survey
from discreet.inference.survey import columns_of as names_of
from discreet.model.released import ReleasedFile

__all__ = ["Regression"]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Regression:
    """The columns of a design, and the response, on what was observed."""

    observed: Observed
    columns: tuple[Column, ...]
    response: Column
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Regression({self.response.name} on {len(self.columns)} columns)"

    @classmethod
    def of(
        cls,
        file: ReleasedFile,
        response: str,
        covariates: str | Sequence[str],
        *,
        numeric: str | Sequence[str],
        category: str | None,
        interactions: Sequence[Sequence[str]],
        reference: Reference | None,
        merge: Merge | None,
        survey: Survey,
        on_missing: str,
        of_numbers: bool = False,
    ) -> Regression:
        """The same for columns of a file; the response is one category, or a number where it may be ``of_numbers``.

        Errors: as :func:`~discreet.inference.linear.linear_regression`.
        """
        covariates, numeric = names_of(covariates), names_of(numeric)
        terms = terms_of(covariates, numeric, interactions)
        if response in covariates:
            raise ParameterError("covariates", f"{response!r} is the response", "leave it out")
        categorical = [column for column in covariates if column not in numeric]
        counted = of_numbers and category is None
        asked = [*categorical, *([] if counted else [response])], [*numeric, *([response] if counted else [])]
        observed = observe(file, *asked, survey, on_missing=on_missing)
        answer = number(observed, response) if counted else indicator(observed, response, category)
        check_occurring(observed, categorical, merge)
        columns, notes = columns_of(observed, terms, reference=reference, merge=merge)
        return cls(observed=observed, columns=tuple(columns), response=answer, notes=(*observed.notes, *notes))
