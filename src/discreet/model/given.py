"""A table given without microdata: its lines checked, its margins completed, its equations proved."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.errors import AdditivityError, InputError, some
from discreet.model.contributions import Contributions, Floats, Integers
from discreet.model.equations import equations_of, locate, merged, residuals, seen_through
from discreet.model.hierarchy import Hierarchy
from discreet.model.join import check_agreement, join
from discreet.model.layout import Layout
from discreet.model.table import Status, Table

__all__ = ["STATUSES", "GivenLines", "given_table"]

STATUSES = ("open", "primary", "secondary", "frozen", "empty")
"""What a given line may be: a frozen one must be published, an empty one has no contributor."""

Bools = NDArray[np.bool_]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GivenLines:
    """The lines of an aggregated table, arrays of shape (lines,) and ``top`` (lines, ranks).

    ``codes`` positions in each hierarchy, shape (lines, variables); ``value`` whole numbers of units of the last
    decimal (Python integers, so sums are exact); ``n`` contributors and ``holdings`` where they differ from units;
    ``shadow`` the sum of the variable that ``top`` belongs to (the value where not given); ``status`` positions in
    :data:`STATUSES`; ``lower``/``upper`` NaN where not given; ``listed`` False for lines that are not published.
    """

    variables: tuple[str, ...]
    hierarchies: tuple[Hierarchy, ...]
    codes: NDArray[np.int32]
    value: NDArray[np.object_]
    decimals: int
    n: Floats
    holdings: Floats
    shadow: Floats
    top: Floats
    status: Integers
    cost: Floats
    lower: Floats
    upper: Floats
    upper_protection: Floats
    lower_protection: Floats
    listed: Bools

    def __repr__(self) -> str:
        return f"GivenLines({len(self.codes)} lines)"

    def label(self, line: int) -> str:
        """The codes of a line, for messages."""
        return ", ".join(f"{name}={code}" for name, code in self.names(line).items())

    def names(self, line: int) -> dict[str, str]:
        """The code of a line for each spanning variable."""
        both = zip(self.variables, self.hierarchies, self.codes[line], strict=True)
        return {name: hierarchy.codes[code] for name, hierarchy, code in both}

    def values(self) -> Floats:
        """The values as the nearest floats."""
        return np.array([number / 10**self.decimals for number in self.value.tolist()], float)

    def take(self, lines: Any) -> GivenLines:
        """Some of the lines."""
        return dataclasses.replace(self, **{name: getattr(self, name)[lines] for name in _BY_LINE})


_BY_LINE = tuple(
    field.name for field in dataclasses.fields(GivenLines) if field.name not in ("variables", "hierarchies", "decimals")
)


def given_table(
    lines: GivenLines,
    *,
    name: str,
    response: str,
    kind: str,
    totals: str,
    on_nonadditive: str,
    empty: str,
) -> Table:
    """The table of these lines.

    ``totals`` "given": margins that are not among the lines are not published, though readers can sum them up where they
    stand between a given total and given parts; "compute": they are summed.
    ``on_nonadditive`` "error", "recompute_totals" (from the finest lines up), or "slack" (such relations are given up).
    ``empty`` what a line of 0 without contributors is: "structural" (known to be 0, no cell) or "possible" (a cell).

    Errors: InputError for lines that occur twice or contradict themselves; AdditivityError that names every
    relation which does not hold.
    """
    counts: dict[str, Any] = {"lines": len(lines.codes)}
    _check_twice(lines)
    _check_lines(lines)
    lines, added = _with_margins(lines, between=totals == "given")
    if totals == "compute":
        counts["margins computed"] = added
    broken = _broken(lines)
    if broken.size and on_nonadditive == "recompute_totals":
        lines, counts["totals recomputed"] = _recomputed(lines)
        broken = _broken(lines)
    if broken.size and on_nonadditive != "slack":
        raise _additivity_error(lines, broken, on_nonadditive)
    if broken.size:
        counts["relations given up"] = len(broken)
    _check_top(lines)
    vacant = _vacant(lines) if empty == "structural" else np.zeros(len(lines.codes), bool)
    if vacant.any():
        counts["empty"] = int(vacant.sum())
        lines = lines.take(np.flatnonzero(~vacant))
    if not len(lines.codes):
        raise InputError(name, "has no cell that is not empty", "check the columns of values and contributors")
    table = _assembled(lines, name, response, kind)
    return table.with_step("read", "a table given without microdata", **counts, **table.rounded())


def _assembled(lines: GivenLines, name: str, response: str, kind: str) -> Table:
    """The table: lines that are one cell merged, the stronger status and the larger level kept."""
    equations = equations_of(lines.hierarchies, lines.codes)
    equations, cell, first = merged(equations[np.flatnonzero(residuals(equations, lines.value) == 0)])
    labels = lines.label
    check_agreement({"number of contributors": lines.n, "number of holdings": lines.holdings}, cell, labels, name)
    suppressed = np.array([Status.OPEN, Status.PRIMARY, Status.SECONDARY, Status.OPEN, Status.OPEN], np.int8)
    fields = {
        "status": suppressed[lines.status],
        "frozen": lines.status == STATUSES.index("frozen"),
        "cost": lines.cost,
        "lower": lines.lower,
        "upper": lines.upper,
        "upper_protection": lines.upper_protection,
        "lower_protection": lines.lower_protection,
        "listed": lines.listed,
    }
    joined = join(fields, cell, labels, name)
    shown = np.flatnonzero(lines.listed | ~joined["listed"][cell])
    layout = Layout(
        name=name, variables=lines.variables, hierarchies=lines.hierarchies, codes=lines.codes[shown], cell=cell[shown]
    )
    contributions = Contributions.of(lines.n, lines.shadow, top=lines.top, holdings=lines.holdings)
    return Table.of(
        (layout,),
        lines.values()[first],
        contributions.take(first),
        seen_through(equations, ~joined["listed"]),
        response=response,
        kind=kind,
        decimals=lines.decimals,
        **joined,
    )


# -------------------------------------------------------------------- checks


def _refuse(lines: GivenLines, bad: NDArray[Any], problem: str, fix: str) -> None:
    at = np.flatnonzero(bad)
    if at.size:
        labels = [lines.label(int(line)) for line in at]
        raise InputError("table", f"{problem} ({len(labels)} lines): {some(labels, 4)}", fix, details=labels)


def _check_twice(lines: GivenLines) -> None:
    first = locate(lines.codes[::-1], lines.codes)
    again = first != np.arange(len(lines.codes))[::-1]
    _refuse(lines, again, "the same codes stand on several lines", "add these lines up, or tell them apart by another variable")


def _check_lines(lines: GivenLines) -> None:
    value = lines.values()
    zero = lines.value == 0
    _refuse(lines, lines.n < 0, "the number of contributors is negative", "correct the column of contributors")
    _refuse(lines, ~zero & (lines.n == 0), "there is a value without contributors", "correct the value or the contributors")
    vacant = lines.status == STATUSES.index("empty")
    _refuse(lines, vacant & ~zero, "the status says empty and there is a value", "correct the status or the value")
    _refuse(lines, lines.holdings > lines.n, "there are more holdings than units", "correct the two columns")
    _refuse(lines, lines.cost < 0, "the cost is negative", "give each line a cost of 0 or more")
    _refuse(lines, (lines.lower > value) | (lines.upper < value), "the value lies outside its bounds", "correct the bounds")
    levels = (lines.upper_protection < 0) | (lines.lower_protection < 0)
    _refuse(lines, levels, "a protection level is negative", "give each level as a distance of 0 or more")


def _check_top(lines: GivenLines) -> None:
    size = np.abs(lines.top)
    grows = np.asarray((np.diff(size, axis=1) > 0).any(axis=1))
    _refuse(lines, grows, "the largest contributions do not fall", "name the columns from the largest down")
    contributors = np.minimum(lines.n, lines.holdings)
    many = (size > 0).sum(axis=1) > np.ceil(contributors)
    _refuse(lines, many, "there are more largest contributions than contributors", "correct one of these columns")
    if (lines.top >= 0).all() and (lines.shadow >= 0).all():
        above = size.sum(axis=1) > lines.shadow * (1 + 1e-9) + 0.5 * 10.0**-lines.decimals
        _refuse(lines, above, "the largest contributions add up to more than the cell", "correct the columns")


def _broken(lines: GivenLines) -> Integers:
    """(total, part) lines of every relation that does not hold, shape (relations, 2)."""
    equations = equations_of(lines.hierarchies, lines.codes)
    rows = np.flatnonzero(residuals(equations, lines.value) != 0)
    pairs = []
    for row in rows:
        entries = slice(equations.indptr[row], equations.indptr[row + 1])
        at, sign = equations.indices[entries], equations.data[entries]
        pairs.append((at[sign < 0][0], at[sign > 0][0]))
    return np.array(pairs, np.int64).reshape(-1, 2)


def _additivity_error(lines: GivenLines, broken: Integers, policy: str) -> AdditivityError:
    details = []
    for total, part in broken:
        over = [v for v, changed in enumerate(lines.codes[total] != lines.codes[part]) if changed]
        relation = f"total does not equal the sum of its parts over {lines.variables[over[0]]}"
        if len(over) > 1:
            relation = f"does not equal the same cell {lines.label(int(part))}"
        details.append(lines.names(int(total)) | {"relation": relation})
    told = [
        f"{lines.label(int(total))}: {found['relation']}" for (total, _), found in zip(broken[:4], details[:4], strict=True)
    ]
    more = f"; and {len(details) - 4} more" if len(details) > 4 else ""
    fix = "correct the lines (a line left out counts as 0), or choose on_nonadditive = 'recompute_totals' or 'slack'"
    if policy == "recompute_totals":
        fix = "these totals have different sums over different variables: correct the inner lines, or use 'slack'"
    return AdditivityError("table", f"{len(details)} relations do not hold: {'; '.join(told)}{more}", fix, details=details)


def _vacant(lines: GivenLines) -> Bools:
    """Lines of 0 without contributors or status; a total stays while one of its parts does."""
    plain = np.isin(lines.status, (STATUSES.index("open"), STATUSES.index("empty")))
    vacant: Bools = np.asarray((lines.value == 0) & (lines.n == 0) & plain, bool)
    equations = equations_of(lines.hierarchies, lines.codes)
    parts, totals = equations.maximum(0), (-equations).maximum(0)
    while True:
        needed = vacant & (totals.T @ (parts @ (~vacant).astype(float)) > 0)
        if not needed.any():
            return vacant
        vacant = vacant & ~needed


# -------------------------------------------------------------------- margins


def _with_margins(lines: GivenLines, *, between: bool) -> tuple[GivenLines, int]:
    """With a line for every sum of given lines, as far as it is missing, and how many these are.

    ``between``: only those that are themselves parts of a given line; they are not listed.
    """
    given = len(lines.codes)
    codes = lines.codes
    for v, hierarchy in enumerate(lines.hierarchies):
        fresh = codes
        while len(fresh):
            above = [_moved(fresh, v, tree) for tree in hierarchy.trees]
            wanted = np.unique(np.concatenate(above), axis=0)
            fresh = wanted[locate(codes, wanted) < 0]
            codes = np.concatenate([codes, fresh])
    if between:
        codes = codes[_part_of(codes, lines.hierarchies, np.arange(len(codes)) < given)]
    added = len(codes) - given
    if not added:
        return lines, 0
    grown: dict[str, Any] = {"codes": codes}
    for name in _BY_LINE[1:]:
        array = getattr(lines, name)
        missing = np.nan if name in ("lower", "upper") else 0
        grown[name] = np.concatenate([array, np.full((added, *array.shape[1:]), missing, array.dtype)])
    grown["listed"][given:] = not between
    return _summed(dataclasses.replace(lines, **grown), np.arange(len(codes)) >= given), added


def _part_of(codes: NDArray[np.int32], hierarchies: Sequence[Hierarchy], given: Bools) -> Bools:
    """The given lines, and those that are parts, or parts of parts, of a given one."""
    equations = equations_of(hierarchies, codes)
    parts, totals = sparse.csr_array(equations.maximum(0)), sparse.csr_array((-equations).maximum(0))
    inside = given
    while True:
        more = inside | (parts.T @ (totals @ inside.astype(float)) > 0)
        if (more == inside).all():
            return inside
        inside = more


def _moved(codes: NDArray[np.int32], variable: int, tree: NDArray[np.int32]) -> NDArray[np.int32]:
    above = tree[codes[:, variable]]
    moved = codes[above >= 0].copy()
    moved[:, variable] = above[above >= 0]
    return moved


def _recomputed(lines: GivenLines) -> tuple[GivenLines, int]:
    """With every total recomputed from its parts; the other numbers follow only where the value changed."""
    again = _summed(lines, np.ones(len(lines.codes), bool))
    changed = again.value != lines.value
    out: dict[str, Any] = {name: getattr(lines, name).copy() for name in ("n", "shadow", "cost", "value")}
    for name, array in out.items():
        array[changed] = getattr(again, name)[changed]
    out["holdings"] = np.where(lines.holdings == lines.n, out["n"], lines.holdings)
    return dataclasses.replace(lines, **out), int(changed.sum())


def _summed(lines: GivenLines, wanted: Bools) -> GivenLines:
    """With the wanted lines set to the sum of their parts, from the finest up; each over its first variable with parts."""
    equations = equations_of(lines.hierarchies, lines.codes)
    height = np.sum([h.height[lines.codes[:, v]] for v, h in enumerate(lines.hierarchies)], axis=0)
    row = np.repeat(np.arange(equations.shape[0]), np.diff(equations.indptr))
    total = np.empty(equations.shape[0], np.int64)
    total[row[equations.data < 0]] = equations.indices[equations.data < 0]
    totals, first = np.unique(total, return_index=True)
    chosen = first[wanted[totals]]
    out = {name: getattr(lines, name).copy() for name in ("value", "n", "holdings", "shadow", "cost", "top")}
    for level in np.unique(height[total[chosen]]):
        for equation in chosen[height[total[chosen]] == level]:
            entries = slice(equations.indptr[equation], equations.indptr[equation + 1])
            parts = equations.indices[entries][equations.data[entries] > 0]
            at = total[equation]
            for name in ("value", "n", "holdings", "shadow", "cost"):
                out[name][at] = out[name][parts].sum()
            largest = out["top"][parts].ravel()
            order = np.argsort(-np.abs(largest), kind="stable")[: lines.top.shape[1]]
            out["top"][at] = largest[order]
    return dataclasses.replace(lines, **out)
