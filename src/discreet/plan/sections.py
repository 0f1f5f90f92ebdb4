"""The sections of a plan file: every key explained once, for the check and for people."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

from discreet.errors import ParameterError
from discreet.method import check_params, param
from discreet.model.microdata import Roles

__all__ = [
    "ExceptionEntry",
    "GivenSection",
    "HierarchySection",
    "MicrodataSection",
    "OutputSection",
    "PercentagesEntry",
    "SpanningEntry",
    "TableSection",
]


@dataclasses.dataclass(frozen=True, kw_only=True)
class MicrodataSection(Roles):
    """The confidential records, and the part that each special column plays."""

    NAME: ClassVar[str] = "[microdata]"

    path: str = param(doc="a csv or parquet file, relative to the plan")
    delimiter: str | None = param(None, "the sign between the columns of a csv file; found when not given")
    decimal: str | None = param(None, "the decimal mark of a csv file; found when not given", choices=(".", ","))
    encoding: str | None = param(None, "the encoding of a csv file; found when not given")
    columns: tuple[tuple[str, int, int], ...] | None = param(
        None, "the columns of a fixed-width file: [['region', 1, 4], …], each a name, its first position from 1 and its width"
    )
    secret_file: str | None = param(
        None, "a file, relative to the plan, with the secret from which record keys are made; it is never written anywhere"
    )
    secret_environment: str | None = param(None, "the environment variable with that secret, where no file holds it")
    key_hash: str = param(
        "sha256",
        "record keys as a keyed hash of unit and response, or as (id · secret number) mod 1000 like the paper, to reproduce it",
        choices=("sha256", "paper"),
    )
    missing: Mapping[str, Any] | None = param(None, "what counts as missing and what happens to it: { on_code = 'drop', … }")

    def __post_init__(self) -> None:
        super().__post_init__()
        sources = {
            "secret_file": self.secret_file,
            "secret_environment": self.secret_environment,
            "record_key": self.record_key,
        }
        given = [name for name, source in sources.items() if source is not None]
        if len(given) > 1:
            raise ParameterError(" and ".join(given), "record keys come from one of them", "leave out the others")
        if self.key_hash != type(self).key_hash and given in ([], ["record_key"]):
            raise ParameterError("key_hash", "says how record keys are made from a secret, and no secret is named")


@dataclasses.dataclass(frozen=True, kw_only=True)
class HierarchySection:
    """The code tree of a spanning variable, from exactly one of file, tree, columns or prefix_lengths."""

    NAME: ClassVar[str] = "hierarchy"

    file: str | None = param(
        None, "an indented or lead-string file (.hrc), or a csv file of parents and children or of levels, relative to the plan"
    )
    tree: Mapping[str, Any] | None = param(None, "the tree itself, as nested tables and lists")
    columns: tuple[str, ...] | None = param(None, "level columns of the microdata, coarse to fine")
    prefix_lengths: tuple[int, ...] | None = param(
        None, "how many characters of the data's codes each level shows, such as [1, 2, 4]", at_least=1
    )
    total: str | None = param(None, "the code of the total, 'Total' by default")
    labels: str | None = param(None, "a file of codes and labels, relative to the plan")
    groupings: tuple[Mapping[str, Any], ...] = param(
        (), "further sums over the same codes, which need not nest: { GROUP = ['code', …] }"
    )
    level: int | None = param(None, "publish no code below this level", at_least=1)
    even: bool = param(False, "refuse a tree whose leaves do not all stand on one level")
    lead: str | None = param(None, "the lead string of the file, such as '@'; found when not given")
    parent: str | None = param(None, "the column of parents in a csv file, 'parent' by default")
    child: str | None = param(None, "the column of children in a csv file, 'child' by default")
    encoding: str | None = param(None, "the encoding of file and labels, UTF-8 by default")

    def __post_init__(self) -> None:
        check_params(self)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SpanningEntry:
    """One spanning variable of a table."""

    NAME: ClassVar[str] = "spanning"

    variable: str = param(doc="the column, or the name of a hierarchy of level columns")
    hierarchy: str | None = param(
        None, "an entry of [hierarchies]; by default the one with the variable's name, else a flat list"
    )
    level: int | None = param(None, "publish no code below this level", at_least=1)
    total: str | None = param(None, "the code of the total of a variable without hierarchy, 'Total' by default")

    def __post_init__(self) -> None:
        check_params(self)


@dataclasses.dataclass(frozen=True, kw_only=True)
class GivenSection:
    """A table that comes without microdata, one line a cell; most words name columns."""

    NAME: ClassVar[str] = "given"

    path: str = param(doc="a csv file, relative to the plan")
    value: str = param("value", "the cell value")
    n: str | None = param(None, "the number of contributors; needed unless kind is 'frequency'")
    holdings: str | None = param(None, "the number of holdings, where a contributor is a holding")
    top: tuple[str, ...] = param((), "the largest contributions, largest first")
    shadow: str | None = param(None, "the variable that the largest contributions belong to, where it is not the value")
    status: str | None = param(None, "letters or words for open (S), primary (U), secondary (M), frozen (P) or empty (E)")
    statuses: Mapping[str, str] | None = param(None, "what further words in the status column mean: { Z = 'frozen' }")
    cost: str | None = param(None, "how much a cell is worth")
    lower: str | None = param(None, "a lower bound that the intruder knows beforehand")
    upper: str | None = param(None, "an upper bound that the intruder knows beforehand")
    lower_protection: str | None = param(None, "the lower protection level")
    upper_protection: str | None = param(None, "the upper protection level")
    kind: str = param("magnitude", "sums, or counts of units", choices=("magnitude", "frequency"))
    decimals: int | None = param(None, "decimals of the values; found when not given", at_least=0)
    missing_n: int | None = param(None, "what an empty number of contributors stands for", at_least=0)
    totals: str = param(
        "given", "the margins are among the lines, or are to be summed where missing", choices=("given", "compute")
    )
    on_nonadditive: str = param(
        "error", "what to do with sums that do not hold", choices=("error", "recompute_totals", "slack")
    )
    empty: str = param("structural", "lines of 0 without contributors are no cells, or are", choices=("structural", "possible"))
    total: str | None = param(None, "the code of the total for variables without hierarchy, 'Total' by default")
    strip_codes: bool = param(False, "blanks around codes are padding")
    names: tuple[str, ...] | None = param(None, "the columns of a file without a header line")
    delimiter: str | None = param(None, "the sign between the columns; found when not given")
    decimal_mark: str | None = param(None, "the decimal mark; found when not given", choices=(".", ","))
    encoding: str | None = param(None, "the encoding of the file; UTF-8 when not given")

    def __post_init__(self) -> None:
        check_params(self)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TableSection:
    """One table: what it shows, which methods protect it, and what else is known or published."""

    NAME: ClassVar[str] = "[tables]"

    spanning: tuple[Any, ...] = param(doc="the spanning variables: names, or { variable = 'nace', level = 2 }")
    response: str | None = param(None, "the column that is summed; without it the table counts units")
    methods: tuple[Any, ...] | None = param(None, "the methods, in order; by default those at the top of the plan")
    given: Mapping[str, Any] | None = param(
        None, "a table that comes without microdata: { path = 'table.csv', value = 'turnover', n = 'n', … }"
    )
    shadow: str | None = param(None, "the column the sensitivity rules look at, where it is not the response")
    cost: str | None = param(None, "the column that says how much a cell is worth; secondary suppression avoids costly cells")
    where: Mapping[str, Any] | None = param(None, "keep the records whose columns have these codes: { region1 = ['KA'] }")
    empty: str = param(
        "structural", "cells without records are known zeros and no cells, or of value 0", choices=("structural", "possible")
    )
    decimals: int | None = param(None, "decimals of the response; found when not given", at_least=0)
    unlisted: tuple[Mapping[str, Any], ...] = param(
        (), "cells left out though nothing protects them, each { region = 'North' }; '*' any code, one left out the total"
    )
    header_totals: tuple[Mapping[str, Any], ...] = param(
        (), "totals that a heading publishes though the table leaves them out, each { region = 'North' }; {} the grand total"
    )
    percentages: Mapping[str, Any] | None = param(
        None, "percentages that are published beside the table: { of = 'region', decimals = 1 }"
    )
    published_decimals: int | None = param(None, "round the published numbers to fewer decimals than they have", at_least=0)
    shared_pattern: str | None = param(
        None, "a word; tables of different responses with the same word hide the same cells, in a pattern that protects all"
    )
    intruder: Mapping[str, Any] | None = param(None, "whom this table is protected against; by default [intruder]")
    exceptions: tuple[Any, ...] = param(
        (), "unsafe cells that are published all the same, each { codes = {…}, reason = '…', signed_by = '…' }"
    )

    def __post_init__(self) -> None:
        check_params(self)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExceptionEntry:
    """A cell that is published although the audit finds something wrong with it."""

    NAME: ClassVar[str] = "exception"

    codes: Mapping[str, str] = param(doc="the code of the cell per spanning variable; one left out means the total")
    reason: str = param(doc="why it may be published")
    signed_by: str = param(doc="who answers for it")

    def __post_init__(self) -> None:
        check_params(self)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PercentagesEntry:
    """Percentages of each cell in its total over one variable, published beside the table."""

    NAME: ClassVar[str] = "percentages"

    of: str = param(doc="the spanning variable over which they add up to 100")
    decimals: int = param(1, "how many decimals they show", at_least=0)
    hidden: bool = param(False, "they are shown beside hidden cells too")

    def __post_init__(self) -> None:
        check_params(self)


@dataclasses.dataclass(frozen=True, kw_only=True)
class OutputSection:
    """How the release files are written."""

    NAME: ClassVar[str] = "[output]"

    formats: tuple[str, ...] = param(("csv",), "the kinds of files", choices=("csv", "parquet"))
    delimiter: str = param(",", "the sign between the columns of a csv file")
    decimal: str = param(".", "the decimal mark of a csv file", choices=(".", ","))
    hidden: str = param("", "what a csv file shows in the place of a hidden value")

    def __post_init__(self) -> None:
        check_params(self)
        if len(self.delimiter) != 1 or self.delimiter == self.decimal:
            raise ParameterError(
                "output.delimiter",
                f"{self.delimiter!r} cannot stand between columns",
                "use one character that is not the decimal mark",
            )
