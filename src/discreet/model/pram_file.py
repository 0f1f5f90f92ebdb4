"""Confidential records of which some variables are already randomised: what the methods of PRAM turn into a further one."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from discreet.errors import InputError
from discreet.model.code_keys import hashed_codes
from discreet.model.contributions import Integers
from discreet.model.encoded import Coded
from discreet.model.keys import Secret
from discreet.model.microdata import Microdata
from discreet.model.randomised import PramDocument, Randomised

__all__ = ["PramFile"]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PramFile:
    """Records, the secret key of each, and for each randomised variable its true and its released codes.

    ``key`` has shape (records,), 60 bits a record, made from a secret and the record's id; ``true`` and ``released`` hold one
    column (or compound) for each of ``variables``, in the order of the file and on the same categories.  ``record`` are the
    columns of the id, and ``secret`` makes the keys of households and the order of the released file.  Confidential: only what
    :func:`discreet.write_pram` makes of it may leave.
    """

    microdata: Microdata
    key: Integers
    variables: tuple[Randomised, ...] = ()
    true: tuple[Coded, ...] = ()
    released: tuple[Coded, ...] = ()
    record: tuple[str, ...] = ()
    secret: Secret | None = None

    def __repr__(self) -> str:
        return f"PramFile({self.microdata.name}: {len(self.key)} records, {len(self.variables)} randomised variables)"

    @property
    def shown(self) -> tuple[str, ...]:
        """The columns that are released unless others are asked for: all but the ids and those of roles other than weight."""
        return self.microdata.shown(self.record)

    def with_variable(self, variable: Randomised, true: Coded, released: Coded) -> PramFile:
        """The same with one more randomised variable.

        Errors: InputError where a column was randomised before, or is a stratum or household of another variable.
        """
        variables = (*self.variables, variable)
        PramDocument(file=self.microdata.name, records=len(self.key), variables=variables, released=())
        return dataclasses.replace(self, variables=variables, true=(*self.true, true), released=(*self.released, released))

    def hashed(self, purpose: str, columns: Sequence[str]) -> str:
        """60 secret bits for the codes of these columns, as SQL; see :func:`~discreet.model.code_keys.hashed_codes`."""
        if self.secret is None:
            raise InputError("PRAM", "the file holds no secret", "begin with start_pram(microdata, secret)")
        return hashed_codes(self.microdata, self.secret, purpose, columns)

    def column(self, name: str) -> int:
        """The place of the randomised variable with this column (or with this name, for a compound one)."""
        for place, variable in enumerate(self.variables):
            if name == variable.name or name in variable.columns:
                return place
        raise InputError("PRAM", f"{name!r} is no randomised variable", "name a variable that was randomised")
