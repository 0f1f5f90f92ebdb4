"""Columns that a plan names and its records do not have, found before anything is read."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from discreet.errors import InputError, near, some
from discreet.io.microdata import column_names
from discreet.model.microdata import Roles
from discreet.plan.lines import Where

__all__ = ["unknown_columns"]

RELEASED = {
    "columns": "the release",
    "record": "what names a record",
    "renumber": "new numbers",
    "keys": "the keys of the report",
}
"""What lists columns in a section that releases records."""

SWAPPED = {
    "variables": "a variable of the margins",
    "travel": "what travels",
    "columns": "what is swapped",
    "within": "the strata",
    "household": "the households",
    "geography": "the geography",
    "risk": "the risk",
    "profiles": "a profile",
    "carry": "what is carried",
}
"""The parameters of methods of swapping that name columns."""

Named = Iterator[tuple[Where, Any, str]]


def unknown_columns(content: Mapping[str, Any], folder: Path) -> Iterator[tuple[Where, str]]:
    """Where the plan names a column that the header of its records does not have, in words.

    Looks at the plan as written, so that these problems are told together with all others; says nothing where the
    records cannot be read, which reading them will say better.
    """
    microdata = content.get("microdata")
    if not isinstance(microdata, dict) or not isinstance(microdata.get("path"), str):
        return
    options = {key: microdata.get(key) for key in ("delimiter", "encoding", "columns")}
    try:
        known = column_names(folder / microdata["path"], **options)
    except (InputError, OSError, TypeError, ValueError):
        return
    for where, column, what in _named(content):
        if isinstance(column, str) and column not in known:
            meant = near(column, known) or f"; they have: {some(known, 12)}"
            yield where, f"the records have no column {column!r} for {what}{meant}"


def _named(content: Mapping[str, Any]) -> Named:
    for role in dataclasses.fields(Roles):
        if role.name in content["microdata"]:
            yield ("microdata", role.name), content["microdata"][role.name], f"role {role.name}"
    yield from _released(content)
    yield from _randomised(content.get("pram"))
    yield from _swapped(content.get("swap"))
    trees = _entries(content.get("hierarchies"))
    for name, table in _entries(content.get("tables")).items():
        where: Where = ("tables", name)
        if "given" in table:
            continue
        for key in ("response", "shadow", "cost"):
            if key in table:
                yield (*where, key), table[key], f"the {key}"
        if isinstance(table.get("where"), dict):
            for column in table["where"]:
                yield (*where, "where", column), column, "the filter"
        if isinstance(table.get("spanning"), list):
            yield from _spanning((*where, "spanning"), table["spanning"], trees)


def _released(content: Mapping[str, Any]) -> Named:
    """The columns that the sections [pram] and [swap] release, and those that name a record."""
    for name in ("pram", "swap"):
        section = content.get(name)
        if isinstance(section, dict):
            for key, what in RELEASED.items():
                yield from (((name, key, i), column, what) for i, column in _listed(section.get(key)))


def _randomised(section: Any) -> Named:
    """The columns that entries of the section [pram] name."""
    for v, entry in _listed(section.get("variables")) if isinstance(section, dict) else ():
        where: Where = ("pram", "variables", v)
        for key, what in (("columns", "a randomised variable"), ("within", "the strata")):
            for i, column in _listed(entry.get(key)) if isinstance(entry, dict) else ():
                yield (*where, key, i), column, what
        if isinstance(entry, dict) and "together" in entry:
            yield (*where, "together"), entry["together"], "the households"


def _swapped(section: Any) -> Named:
    """The columns that steps of the section [swap] name; what has to be among these, their methods check."""
    for i, step in _listed(section.get("step")) if isinstance(section, dict) else ():
        for key, what in SWAPPED.items() if isinstance(step, dict) else ():
            yield from _within(("swap", "step", i, key), step.get(key), what)


def _within(where: Where, value: Any, what: str) -> Named:
    """The columns in a name, in lists of names however deep, or in the keys of a table."""
    if isinstance(value, str):
        yield where, value, what
    for key, item in enumerate(value) if isinstance(value, list) else ():
        yield from _within((*where, key), item, what)
    for key in value if isinstance(value, dict) else ():
        yield (*where, key), key, what


def _listed(value: Any) -> Iterator[tuple[int, Any]]:
    return iter(enumerate(value if isinstance(value, list) else ()))


def _spanning(where: Where, items: Sequence[Any], trees: Mapping[str, Mapping[str, Any]]) -> Named:
    for i, item in enumerate(items):
        variable = item.get("variable") if isinstance(item, dict) else item
        tree = item.get("hierarchy", variable) if isinstance(item, dict) else item
        levels = trees.get(tree, {}).get("columns") if isinstance(tree, str) else None
        if levels is None:
            yield (*where, i), variable, f"spanning variable {variable!r}"
        else:
            for column in levels if isinstance(levels, list) else ():
                yield ("hierarchies", str(tree), "columns"), column, f"a level of {variable!r}"


def _entries(section: Any) -> dict[str, dict[str, Any]]:
    return {name: entry for name, entry in section.items() if isinstance(entry, dict)} if isinstance(section, dict) else {}
