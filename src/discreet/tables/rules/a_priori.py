"""What the user declares of single cells beforehand."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from discreet.errors import HierarchyError, InputError, ParameterError, near, some
from discreet.method import check_params, param
from discreet.model.contributions import Floats, Integers
from discreet.model.equations import locate
from discreet.model.hierarchy import Hierarchy
from discreet.model.layout import Layout
from discreet.model.table import Bools, Table

__all__ = ["APriori"]

_STATUSES = ("safe", "unsafe", "protected", "secondary")
_LEVELS = ("upper_protection", "lower_protection", "sliding_protection")
_NUMBERS = ("cost", "lower", "upper", *_LEVELS, "range")
_ANY, _UNKNOWN = -1, -2


@dataclasses.dataclass(frozen=True, kw_only=True)
class APriori:
    """Statuses, costs, bounds and protection levels given by hand.

    Each entry names cells by ``codes``, one code a spanning variable: a variable left out means its total, ``"*"`` any code,
    the total included.  An entry holds for every table that has all its variables.  It says at least one of:
    ``status`` "safe" (rules pass the cell over), "unsafe" (sensitive, with a protection level of ``range`` % of its value,
    20 unless given), "protected" (must be published) or "secondary" (hidden, needing no protection itself);
    ``cost`` above 0; ``lower`` and ``upper``, bounds that the intruder knows; ``upper_protection``, ``lower_protection`` and
    ``sliding_protection``, which hold as soon as the cell is sensitive, and where a rule demands more, the rule's level holds.

    Entries that match no cell are listed in the table's history.  Two entries that say different things of one cell are an
    error, and so is declaring a cell safe or protected after it was hidden: give this method before the rules.

    Guards against: what only people know of single cells, such as a promise or last year's pattern.
    Does not guard against: a wrong declaration; a cell declared safe is published whatever it tells.
    """

    NAME: ClassVar[str] = "a-priori"
    SOURCE: ClassVar[str] = "τ-ARGUS user's manual 4.1, a priori information"
    unions: ClassVar[bool] = False

    entries: tuple[dict[str, Any], ...] = param(
        doc="a list such as [{ codes = { region = 'North' }, status = 'protected' }, …]; further words: " + ", ".join(_NUMBERS)
    )

    def __post_init__(self) -> None:
        check_params(self)
        found = [f"entry {i + 1}: {what}" for i, entry in enumerate(self.entries) for what in _problems(entry)]
        if found:
            example = "write { codes = { variable = 'code' }, status = 'safe' }"
            raise ParameterError(f"{self.NAME}.entries", "; ".join(found), example)

    @property
    def ranks_needed(self) -> int:
        """How many largest contributions of each cell the rule looks at."""
        return 0

    def apply(self, table: Table, /) -> Table:
        """The table with everything declared of its cells; see the history for entries that match no cell."""
        self._refuse_unknown_variables(table)
        matches = _matches(table, [entry["codes"] for entry in self.entries])
        said = self._settled(table, matches)
        unmatched = [_words(entry["codes"]) for entry, cells in zip(self.entries, matches, strict=True) if not cells.size]
        what = "a-priori declarations"
        if unmatched:
            what += f"; no cell matches {some(unmatched, 20)}"
        counts = {key: len(cells) for key, cells in said.items() if key not in ("status", "range")}
        statuses = said.get("status", {})
        counts |= {status: list(statuses.values()).count(status) for status in _STATUSES if status in statuses.values()}
        table = self._with_statuses(_with_numbers(self.NAME, table, said), statuses, said.get("range", {}))
        return table.with_step(self.NAME, what, entries=len(self.entries), unmatched=len(unmatched), **counts)

    def _with_statuses(self, table: Table, statuses: Mapping[int, str], ranges: Mapping[int, float]) -> Table:
        chosen = {status: _where(table, [cell for cell, s in statuses.items() if s == status]) for status in _STATUSES}
        first = "give the a-priori statuses before the rules"
        self._refuse(table, chosen["safe"] & table.primary, "declared safe, and sensitive by a rule before", first)
        self._refuse(table, chosen["protected"] & table.suppressed, "declared protected, and hidden before", first)
        self._refuse(table, chosen["unsafe"] & table.exempt, "declared unsafe, and safe before", "declare each cell once")
        table = table.replace(exempt=table.exempt | chosen["safe"])
        if chosen["unsafe"].any():
            share = np.zeros(table.cells)
            share[list(ranges)] = list(ranges.values())
            table = table.with_primary(self, chosen["unsafe"], upper=share / 100 * np.abs(table.value))
        table = table.replace(frozen=table.frozen | chosen["protected"])
        return table.with_secondary(self.NAME, chosen["secondary"]) if chosen["secondary"].any() else table

    def _settled(self, table: Table, matches: Sequence[Integers]) -> dict[str, dict[int, Any]]:
        """What is said of each cell, by word."""
        said: dict[str, dict[int, Any]] = {}
        conflicts: dict[int, str] = {}
        for entry, cells in zip(self.entries, matches, strict=True):
            words = {key: value for key, value in entry.items() if key != "codes"}
            if words.get("status") == "unsafe":
                words.setdefault("range", 0.0 if "upper_protection" in words or "lower_protection" in words else 20.0)
            for key, value in words.items():
                known = said.setdefault(key, {})
                for cell in cells.tolist():
                    if known.setdefault(cell, value) != value:
                        conflicts.setdefault(cell, key)
        if conflicts:
            named = [f"{table.label(cell)} ({key})" for cell, key in conflicts.items()]
            problem = f"entries contradict each other: {some(named, 3)}"
            raise InputError(self.NAME, problem, "say each thing once a cell", details=named)
        return said

    def _refuse_unknown_variables(self, table: Table) -> None:
        variables = list(dict.fromkeys(name for layout in table.layouts for name in layout.variables))
        for i, entry in enumerate(self.entries):
            for name in entry["codes"]:
                if name not in variables:
                    problem = f"{name!r} is no spanning variable{near(name, variables)}"
                    raise InputError(f"{self.NAME}.entries, entry {i + 1}", problem, f"use {some(variables)}")

    def _refuse(self, table: Table, cells: Bools, problem: str, fix: str) -> None:
        clash = [table.label(int(cell)) for cell in np.flatnonzero(cells)]
        if clash:
            raise InputError(self.NAME, f"{some(clash, 3)}: {problem}", fix, details=clash)


def _problems(entry: Mapping[str, Any]) -> Iterator[str]:
    words = ("codes", "status", *_NUMBERS)
    yield from (f"unknown word {key!r}{near(key, words)}" for key in entry if key not in words)
    codes = entry.get("codes")
    if not isinstance(codes, Mapping):
        yield "codes is missing"
    elif not all(isinstance(code, str | int) and not isinstance(code, bool) for code in codes.values()):
        yield "codes are text"
    if not any(key in entry for key in words[1:-1]):
        yield f"says nothing: give one of {', '.join(words[1:-1])}"
    status = entry.get("status")
    if "status" in entry and status not in _STATUSES:
        yield f"status {status!r} is not one of {', '.join(_STATUSES)}{near(str(status), _STATUSES)}"
    for key in _NUMBERS:
        number = entry.get(key, 1.0)
        if isinstance(number, bool) or not isinstance(number, int | float) or not np.isfinite(number):
            yield f"{key} takes a number"
        elif key == "cost" and number <= 0:
            yield "cost must be above 0"
        elif key in (*_LEVELS, "range") and number < 0:
            yield f"{key} must be at least 0"
    if (
        isinstance(low := entry.get("lower"), int | float)
        and isinstance(high := entry.get("upper"), int | float)
        and low > high
    ):
        yield "lower is above upper"
    if "range" in entry and status != "unsafe":
        yield "range belongs to status = 'unsafe'"


def _matches(table: Table, wanted: Sequence[Mapping[str, Any]]) -> list[Integers]:
    """The cells of each entry, over all layouts."""
    found: list[list[Integers]] = [[] for _ in wanted]
    for layout in table.layouts:
        fitting = [i for i, codes in enumerate(wanted) if all(name in layout.variables for name in codes)]
        rows = np.array([_row(layout, wanted[i]) for i in fitting], np.int32).reshape(-1, len(layout.variables))
        exact = (rows != _ANY).all(axis=1)
        lines = locate(layout.codes, rows[exact])
        for i, line in zip(np.flatnonzero(exact), lines, strict=True):
            if line >= 0:
                found[fitting[i]].append(layout.cell[[line]])
        for i in np.flatnonzero(~exact):
            found[fitting[i]].append(layout.cell[((layout.codes == rows[i]) | (rows[i] == _ANY)).all(axis=1)])
    return [np.unique(np.concatenate(cells)) if cells else np.zeros(0, np.int64) for cells in found]


def _row(layout: Layout, codes: Mapping[str, Any]) -> list[int]:
    hierarchies = dict(zip(layout.variables, layout.hierarchies, strict=True))
    return [_position(tree, str(codes[name])) if name in codes else 0 for name, tree in hierarchies.items()]


def _position(hierarchy: Hierarchy, code: str) -> int:
    if code == "*":
        return _ANY
    try:
        return hierarchy.position(code)
    except HierarchyError:
        return _UNKNOWN


def _with_numbers(name: str, table: Table, said: Mapping[str, Mapping[int, float]]) -> Table:
    def given(word: str, otherwise: Floats) -> Floats:
        array = otherwise.copy()
        array[list(said.get(word, {}))] = list(said.get(word, {}).values())
        return array

    lower, upper = given("lower", table.lower), given("upper", table.upper)
    outside = [table.label(int(cell)) for cell in np.flatnonzero((lower > table.value) | (upper < table.value))]
    if outside:
        problem = f"the bounds of {some(outside, 3)} do not hold the true value"
        raise InputError(name, problem, "correct lower and upper", details=outside)
    levels = {word: np.maximum(getattr(table, word), given(word, getattr(table, word))) for word in _LEVELS}
    return table.replace(cost=given("cost", table.cost), lower=lower, upper=upper, **levels)


def _where(table: Table, cells: Sequence[int]) -> Bools:
    mask = np.zeros(table.cells, bool)
    mask[list(cells)] = True
    return mask


def _words(codes: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={code}" for name, code in codes.items()) or "the grand total"
