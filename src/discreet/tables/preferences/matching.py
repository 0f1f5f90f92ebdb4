"""Which cells of a table a list of codes names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet.errors import HierarchyError, InputError, ParameterError, near, some
from discreet.model.contributions import Integers
from discreet.model.equations import locate
from discreet.model.layout import Layout
from discreet.model.pattern import Pattern
from discreet.model.table import Table

__all__ = ["check_entries", "entry_cells", "pattern_cells"]

_ANY, _UNKNOWN = -1, -2


def check_entries(where: str, entries: Sequence[Mapping[str, Any]], numbers: Sequence[str]) -> None:
    """A ParameterError that lists every entry without codes, or without its numbers of at least 0."""
    found = []
    for i, entry in enumerate(entries):
        words = ("codes", *numbers)
        found += [f"entry {i + 1}: unknown word {key!r}{near(key, words)}" for key in entry if key not in words]
        codes = entry.get("codes")
        if not isinstance(codes, Mapping) or not all(_is_code(code) for code in codes.values()):
            found.append(f"entry {i + 1}: codes are a table of texts")
        for name in numbers:
            given = entry.get(name)
            if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given < np.inf:
                found.append(f"entry {i + 1}: {name} takes a number of at least 0")
    if found:
        raise ParameterError(where, "; ".join(found), "write { codes = { variable = 'code' }, " + f"{numbers[0]} = 1 }}")


def _is_code(code: Any) -> bool:
    return isinstance(code, str | int) and not isinstance(code, bool)


def entry_cells(where: str, table: Table, entries: Sequence[Mapping[str, Any]]) -> list[Integers]:
    """The cells of each entry's codes, in every layout that has all its variables; InputError where there are none."""
    variables = list(dict.fromkeys(name for layout in table.layouts for name in layout.variables))
    found = []
    for i, entry in enumerate(entries):
        for name in entry["codes"]:
            if name not in variables:
                problem = f"entry {i + 1}: {name!r} is no spanning variable{near(name, variables)}"
                raise InputError(where, problem, f"use {some(variables)}")
        layouts = [layout for layout in table.layouts if all(name in layout.variables for name in entry["codes"])]
        cells = [layout.cell[_lines(layout, entry["codes"])] for layout in layouts]
        found.append(np.unique(np.concatenate(cells)) if cells else np.zeros(0, np.int64))
        if not found[-1].size:
            named = ", ".join(f"{name}={code}" for name, code in entry["codes"].items())
            raise InputError(where, f"entry {i + 1}: no cell matches {named}", "use codes that occur in the table")
    return found


def _lines(layout: Layout, codes: Mapping[str, Any]) -> Integers:
    wanted = np.zeros(len(layout.variables), np.int64)
    for name, code in codes.items():
        wanted[layout.variables.index(name)] = _position(layout, name, str(code))
    return np.flatnonzero(((layout.codes == wanted) | (wanted == _ANY)).all(axis=1))


def _position(layout: Layout, name: str, code: str) -> int:
    if code == "*":
        return _ANY
    try:
        return layout.hierarchies[layout.variables.index(name)].position(code)
    except HierarchyError:
        return _UNKNOWN


def pattern_cells(table: Table, pattern: Pattern) -> Integers:
    """The cell of each line of an earlier pattern, -1 where this table has none.

    Columns of the pattern that are no spanning variable are passed over.  A line is looked for in every layout that has the
    others; a variable of the layout that the pattern lacks stands at its total.
    """
    known = {name for layout in table.layouts for name in layout.variables}
    columns = [v for v, name in enumerate(pattern.variables) if name in known]
    found = np.full(len(pattern.hidden), -1, np.int64)
    for layout in table.layouts if columns else ():
        if not {pattern.variables[v] for v in columns} <= set(layout.variables):
            continue
        wanted = np.zeros((len(found), len(layout.variables)), np.int32)
        for v in columns:
            name, codes = pattern.variables[v], pattern.codes[:, v].tolist()
            places = {code: _position(layout, name, code) for code in dict.fromkeys(codes) if code != "*"}
            wanted[:, layout.variables.index(name)] = [places.get(code, _UNKNOWN) for code in codes]
        line = locate(layout.codes, wanted)
        found = np.where((found < 0) & (line >= 0), layout.cell[np.maximum(line, 0)], found)
    return found
