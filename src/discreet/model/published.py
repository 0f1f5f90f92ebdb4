"""A table that may leave the house: it holds no value of a hidden cell, and remembers how it was proved."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError, ParameterError
from discreet.model.contributions import Floats
from discreet.model.hierarchy import Hierarchy
from discreet.model.table import Status, Step, Table

__all__ = ["ERROR_GRADES", "Exemption", "PublishedLayout", "PublishedTable"]

ERROR_GRADES = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""The standard errors that readers are told of sums with noise, as shares of the published number."""

WORDS = {Status.OPEN: "published", Status.SECONDARY: "secondary", Status.PRIMARY: "primary"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Exemption:
    """A cell released although the audit finds something wrong with it: which, why, and who answers for it.

    ``codes`` the cell's code per spanning variable, one left out means the total; ``table`` the layout's name where
    several tables have such a cell.
    """

    codes: Mapping[str, str]
    reason: str
    signed_by: str
    table: str | None = None

    def __post_init__(self) -> None:
        for name in ("reason", "signed_by"):
            if not getattr(self, name).strip():
                raise ParameterError(f"Exemption.{name}", "is empty", "give a reason and the name of who answers for it")
        object.__setattr__(self, "codes", MappingProxyType(dict(self.codes)))


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PublishedLayout:
    """One table as its readers get it: arrays over its lines.

    ``codes`` positions in ``hierarchies[v].codes``, shape (lines, variables); ``value`` NaN where hidden;
    ``status`` ``published``, ``primary`` or ``secondary``; ``error`` the standard error of a value with noise, NaN for others.
    """

    name: str
    variables: tuple[str, ...]
    hierarchies: tuple[Hierarchy, ...]
    codes: NDArray[np.int32]
    value: Floats
    status: NDArray[np.object_]
    error: Floats

    def __post_init__(self) -> None:
        for array in (self.codes, self.value, self.status, self.error):
            array.setflags(write=False)

    def column(self, variable: int) -> NDArray[np.object_]:
        """The code of each line for one spanning variable, as text."""
        return np.array(self.hierarchies[variable].codes, object)[self.codes[:, variable]]

    def __repr__(self) -> str:
        hidden = int(np.isnan(self.value).sum())
        return f"PublishedLayout({self.name}: {' × '.join(self.variables)}, {len(self.value)} lines, {hidden} hidden)"


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PublishedTable:
    """What may be written to a file for the public; only ``publish`` makes one.

    ``decimals`` those of the published numbers; ``exceptions`` the cells released by signature; ``audit`` the counts of the
    proof; ``history`` what was done, without values.
    """

    response: str
    layouts: tuple[PublishedLayout, ...]
    decimals: int
    exceptions: tuple[Exemption, ...]
    audit: Mapping[str, Any]
    history: tuple[Step, ...]

    @classmethod
    def of(
        cls, table: Table, *, decimals: int, exceptions: tuple[Exemption, ...] = (), audit: Mapping[str, Any]
    ) -> PublishedTable:
        """Copy what is public of a table: values of hidden cells are dropped, lines that are not listed left out."""
        shown = np.round(table.numbers, decimals)
        words = np.array([WORDS[Status(status)] for status in range(len(WORDS))], object)
        word = np.where(table.perturbed, WORDS[Status.OPEN], words[table.status])
        error = _told_error(table)
        layouts = []
        for layout in table.layouts:
            lines = np.flatnonzero(table.listed[layout.cell])
            cells = layout.cell[lines]
            layouts.append(
                PublishedLayout(
                    name=layout.name,
                    variables=layout.variables,
                    hierarchies=layout.hierarchies,
                    codes=layout.codes[lines],
                    value=shown[cells] + 0.0,
                    status=word[cells],
                    error=error[cells],
                )
            )
        return cls(
            response=table.response,
            layouts=tuple(layouts),
            decimals=decimals,
            exceptions=exceptions,
            audit=MappingProxyType(dict(audit)),
            history=table.history,
        )

    def __repr__(self) -> str:
        tables = ", ".join(
            f"{' × '.join(layout.variables)}: {len(layout.value)} lines, {int(np.isnan(layout.value).sum())} hidden"
            for layout in self.layouts
        )
        signed = f"; {len(self.exceptions)} exceptions signed" if self.exceptions else ""
        return f"PublishedTable({self.response} by {tables}{signed})"

    def layout(self, table: str | None = None) -> PublishedLayout:
        """The layout with this name; the name may be left out where there is one."""
        if table is None and len(self.layouts) == 1:
            return self.layouts[0]
        for layout in self.layouts:
            if layout.name == table:
                return layout
        names = ", ".join(repr(layout.name) for layout in self.layouts)
        raise InputError("PublishedTable", f"no single table {table!r}", f"name one of {names}")

    def to_columns(self, table: str | None = None, *, distinguish: bool = False) -> dict[str, Any]:
        """One column a spanning variable, the response (NaN where hidden) and the status.

        Where numbers carry noise, ``standard_error`` follows.  The exact error of a sum with noise tells how large its largest
        contributions are, and that of a weighted count its mean weight, so they are rounded up to the next of
        :data:`ERROR_GRADES`, as a share of the published number, and left out where they exceed it; that of other counts
        tells nothing and stays as it is.

        The status of every hidden cell reads ``suppressed``: whoever could tell a sensitive cell from one that is hidden
        to protect it would know which contributors are few or large, and where to dig.  ``distinguish`` writes
        ``primary`` and ``secondary`` instead, for the file that stays in the house.
        """
        layout = self.layout(table)
        columns: dict[str, Any] = {name: layout.column(v) for v, name in enumerate(layout.variables)}
        status = layout.status if distinguish else np.where(layout.status == "published", layout.status, "suppressed")
        shown = [(self.response, layout.value), ("status", status)]
        if not np.isnan(layout.error).all():
            shown.append(("standard_error", layout.error))
        for name, column in shown:
            columns[_free(name, columns)] = column
        return columns

    def to_pandas(self, table: str | None = None, *, distinguish: bool = False) -> Any:
        """A pandas frame of one table."""
        return _import("pandas").DataFrame(self.to_columns(table, distinguish=distinguish))

    def to_polars(self, table: str | None = None, *, distinguish: bool = False) -> Any:
        """A polars frame of one table; a hidden value is null."""
        polars = _import("polars")
        columns = self.to_columns(table, distinguish=distinguish)
        lists = {name: column.tolist() if column.dtype == object else column for name, column in columns.items()}
        return polars.DataFrame(lists).with_columns(polars.selectors.float().fill_nan(None))


def _told_error(table: Table) -> Floats:
    """The standard error that readers are told."""
    error = np.where(table.perturbed, table.shown_error, np.nan)
    if table.kind == "frequency" and np.array_equal(table.contributions.weight, table.contributions.n):
        return error
    size = np.abs(np.where(table.perturbed, table.shown, np.nan))
    grades = np.array(ERROR_GRADES) * size[:, np.newaxis]
    enough = grades >= error[:, np.newaxis]
    told = grades[np.arange(len(size)), enough.argmax(axis=1)]
    return np.where(enough.any(axis=1), told, np.nan)


def _free(name: str, taken: Mapping[str, Any]) -> str:
    while name in taken:
        name += "_"
    return name


def _import(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError:
        raise InputError(name, "is not installed", f"install it (pip install {name}) or use to_columns()") from None
