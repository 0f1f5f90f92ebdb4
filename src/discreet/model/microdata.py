"""Confidential records with declared roles, held by an engine; nothing of them is ever shown."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from discreet.engine.duckdb import Engine
from discreet.errors import InputError, near, some
from discreet.method import check_params, param

__all__ = ["Microdata", "Missing", "Roles"]

SHOWN_ROLES = ("weight",)
"""Roles whose columns are released unless others are asked for; the others name units or are of no use outside."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Missing:
    """What counts as missing and what happens to it; the counts are kept in the table's history."""

    codes: tuple[str, ...] = param((), "codes that mean 'missing', beside empty fields")
    on_code: str = param(
        "error",
        "a record whose spanning code is missing: refuse, leave it out, or count it in a category of its own",
        choices=("error", "drop", "category"),
    )
    category: str = param("?", "the code of that category")
    values: tuple[str, ...] = param(
        (), "response values that mean 'missing', beside empty fields and NaN, as written in the file"
    )
    on_value: str = param(
        "error",
        "a record whose response is missing: refuse, leave it out, or count the unit with a response of 0",
        choices=("error", "drop", "zero"),
    )

    def __post_init__(self) -> None:
        check_params(self)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Roles:
    """Which column plays which part; columns without a role may be spanning variables, responses, or nothing."""

    unit: str | None = param(None, "column that names the unit (person, enterprise); without it each record is a unit")
    holding: str | None = param(None, "column that names the holding a unit belongs to; it then is the contributor")
    weight: str | None = param(None, "column with the sampling weight; published values are weighted sums")
    record_key: str | None = param(None, "column with the record key: a whole number in [0, 2^32) or a fraction in [0, 1)")
    request: str | None = param(None, "column with the request code: empty or 0 for none, else 1 or 2")
    waiver: str | None = param(None, "column that is 1 where the unit waived its protection, else empty or 0")
    count: str | None = param(None, "column that says how many units a row stands for (frequency tables from counted rows)")

    def __post_init__(self) -> None:
        check_params(self)

    def named(self) -> dict[str, str]:
        """The roles that are given, with their columns."""
        pairs = ((field.name, getattr(self, field.name)) for field in dataclasses.fields(self))
        return {role: column for role, column in pairs if column is not None}


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Microdata:
    """Records in an engine; ``types`` gives each column's engine type.

    ``source``: what SQL selects from, where it is called ``records``, and ``counted`` the number of records there as SQL.
    ``decimal_comma``: text columns write decimals with a comma.  ``notes`` what was found on reading.
    """

    engine: Engine
    name: str
    types: Mapping[str, str]
    rows: int
    roles: Roles = dataclasses.field(default_factory=Roles)
    missing: Missing = dataclasses.field(default_factory=Missing)
    decimal_comma: bool = False
    notes: tuple[str, ...] = ()
    source: str = "records"
    counted: str = "COUNT(*)"

    def __post_init__(self) -> None:
        for role, column in self.roles.named().items():
            self.check_column(column, f"role {role}")
        taken: dict[str, str] = {}
        for role, column in self.roles.named().items():
            if column in taken:
                raise InputError(
                    f"column {column!r}", f"plays two parts, {taken[column]} and {role}", "give each role its own column"
                )
            taken[column] = role

    def __repr__(self) -> str:
        return f"Microdata({self.name}: {self.rows} records, {len(self.types)} columns, roles {self.roles.named()})"

    def check_column(self, column: str, what: str) -> None:
        """Refuses a column that the records do not have."""
        if column not in self.types:
            raise InputError(
                self.name,
                f"no column {column!r} for {what}{near(column, self.types)}",
                f"the columns are: {some(self.types, 40)}",
            )

    def shown(self, record: Sequence[str]) -> tuple[str, ...]:
        """The columns that a release of records has unless others are asked for: all but their id, the columns ``record``, and
        those of roles other than the weight."""
        hidden = {*record, *(column for role, column in self.roles.named().items() if role not in SHOWN_ROLES)}
        return tuple(column for column in self.types if column not in hidden)

    def count(self, condition: str) -> int:
        """How many records meet a condition, which is SQL."""
        return int(self.engine.fetch(f"SELECT {self.counted} AS n FROM {self.source} WHERE {condition}")["n"][0])
