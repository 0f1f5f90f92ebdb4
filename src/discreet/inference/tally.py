"""Sums over the records of a released file, by the codes that they were released with: all that estimates are made of."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from discreet.errors import InputError, ParameterError, near
from discreet.inference.axes import Layout, Question, ask
from discreet.model.contributions import Floats, Integers
from discreet.model.counted import counted
from discreet.model.encoded import Coded, encoded
from discreet.model.released import ReleasedFile

__all__ = ["Survey", "Tally", "strata_of", "tally"]

POLICIES = ("error", "drop", "zero")
"""What is done with records that have no value."""

MOST_CELLS = 50_000_000
"""Of a table and of the released counts behind it: some gigabytes."""

Refit = Callable[[Layout], Layout]
"""Puts other categories along an axis."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Survey:
    """How the sample was drawn, as far as variances need it: the weight, the ultimate clusters and the strata of the design.

    Without clusters and strata the variance is that of the randomisation alone, given the true file.
    """

    weight: str | None = None
    cluster: str | None = None
    strata: tuple[str, ...] = ()

    @property
    def designed(self) -> bool:
        """Whether the variance of the sample is asked for."""
        return self.cluster is not None or bool(self.strata)

    def check(self, file: ReleasedFile) -> None:
        """Refuses columns that are not there, or were randomised."""
        numbers = {"the weight": self.weight, "the clusters": self.cluster} | dict.fromkeys(self.strata, None)
        columns = [(what, column) for what, column in numbers.items() if column is not None]
        columns += [("the strata of the design", column) for column in self.strata]
        for what, column in columns:
            file.microdata.check_column(column, what)
            if file.document.variable_of(column) is not None:
                problem = f"was randomised and cannot be {what}"
                raise InputError(f"column {column!r}", problem, "name a column that was left as it is")


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Tally:
    """Sums over groups of records (``entries``) that were released alike and belong to one unit.

    ``part`` and ``cell`` of shape (entries,): the stratum, and the cell of ``layout.inner``; ``unit`` the household or
    cluster, 0 where neither matters; ``first[m]`` the sum of measure m, ``second[m][m2]`` that of products of two measures;
    ``units`` for each unit its stratum of the design.  ``left_out``: records without a value.
    """

    layout: Layout
    part: Integers
    cell: Integers
    unit: Integers
    first: tuple[Floats, ...]
    second: tuple[tuple[Floats, ...], ...]
    units: Integers
    designed: bool = False
    together: str | None = None
    left_out: int = 0

    def dense(self, part: int, numbers: Floats, rows: slice = slice(None)) -> Floats | None:
        """Numbers of these entries, added up to the released cells of a stratum; None where it has no such entry."""
        own = self.part[rows] == part
        if not own.any():
            return None
        sums = np.bincount(self.cell[rows][own], numbers[rows][own], self.layout.cells)
        return np.asarray(sums, float).reshape(self.layout.inner)


def tally(
    file: ReleasedFile,
    by: Sequence[str],
    survey: Survey,
    columns: Sequence[str] = (),
    refit: Refit | None = None,
    on_value: str | None = None,
) -> Tally:
    """The sums for a table ``by`` these columns.

    Measure 0 is the weight (1 without one) and the further ones are weight × value of each of ``columns``.  Records without
    a value are refused, left out or taken as 0 as ``on_value`` says, or where it is None ``missing.on_value`` of the records.

    Errors: InputError for columns that are not there, are no numbers or were randomised, missing weights, and tables that
    are too large; ParameterError for an unknown word.
    """
    survey.check(file)
    policy = file.microdata.missing.on_value if on_value is None else on_value
    if policy not in POLICIES:
        raise ParameterError("on_value", f"{policy!r} is not one of {', '.join(POLICIES)}{near(policy, POLICIES)}")
    question = ask(file, by)
    households = {variable.together for _, variable in question.asked if variable is not None and variable.together}
    if len(households) > 1:
        problem = f"variables were randomised by different households: {' and '.join(sorted(map(repr, households)))}"
        raise InputError("table", problem, "ask for them in separate tables")
    together = next(iter(households), None)
    if survey == Survey() and not columns and together is None:
        return _counted(file, question, refit)
    return _summed(file, question, survey, columns, refit, together, policy)


def strata_of(tally: Tally) -> Iterator[tuple[slice, int]]:
    """The entries of each stratum of the design, and how many clusters it has.

    Errors: InputError where a stratum has one cluster only, which tells nothing of how clusters vary.
    """
    numbers, sizes = np.unique(tally.units, return_counts=True)
    single = int((sizes == 1).sum())
    if single:
        problem = f"{single} of {len(sizes)} strata of the design have a single cluster, whose variance cannot be estimated"
        raise InputError("design", problem, "join such strata with like ones")
    ends = np.searchsorted(tally.units[tally.unit], numbers, side="right").tolist()
    for start, end, n in zip([0, *ends], ends, sizes.tolist(), strict=False):
        yield slice(start, end), n


def _counted(file: ReleasedFile, question: Question, refit: Refit | None) -> Tally:
    found = counted(file.microdata, question.coded())
    layout = question.layout({name: one.categories for name, one in found.coded.items()})
    part, cell = _place(layout, found.coded, len(found.n))
    order = np.lexsort((cell, part))
    n = found.n[order].astype(float)
    nothing = np.zeros(len(n), np.int64)
    return Tally(
        layout=layout if refit is None else refit(layout),
        part=part[order],
        cell=cell[order],
        unit=nothing,
        first=(n,),
        second=((n,),),
        units=np.zeros(1, np.int64),
    )


def _summed(
    file: ReleasedFile,
    question: Question,
    survey: Survey,
    columns: Sequence[str],
    refit: Refit | None,
    together: str | None,
    policy: str,
) -> Tally:
    coded = question.coded()
    if survey.cluster is not None:
        coded["cluster"] = (survey.cluster,)
    if survey.strata:
        coded["design"] = survey.strata
    if together is not None:
        coded["household"] = (together,)
    for column in columns:
        if file.document.variable_of(column) is not None:
            fix = "ask for its counts and combine its categories"
            raise InputError(f"column {column!r}", "was randomised and cannot be added up", fix)
    numbers = {f"value{m}": column for m, column in enumerate(columns)}
    if survey.weight is not None:
        numbers["weight"] = survey.weight
    held = encoded(file.microdata, coded, numbers)
    measures, left_out = _measures(file, held.numbers, survey, columns, policy)
    layout = question.layout({name: one.categories for name, one in held.coded.items()})
    part, cell = _place(layout, held.coded, file.microdata.rows)
    alone = np.zeros(len(cell), np.int64)
    if survey.designed and survey.cluster is None:
        alone[np.lexsort((*measures, cell, part))] = np.arange(len(cell))
    unit, units = _units(held.coded, survey, together, alone)
    records = Tally(
        layout=layout if refit is None else refit(layout),
        part=part,
        cell=cell,
        unit=unit,
        first=tuple(measures),
        second=(),
        units=units,
        designed=survey.designed,
        together=together,
        left_out=left_out,
    )
    return _grouped(records)


def _measures(
    file: ReleasedFile, numbers: Mapping[str, Floats], survey: Survey, columns: Sequence[str], policy: str
) -> tuple[list[Floats], int]:
    """The weight and weight × value of each column, 0 for records that are left out, and how many these are."""
    rows = file.microdata.rows
    weight = numbers.get("weight", np.ones(rows))
    if not np.isfinite(weight).all():
        problem = f"{int((~np.isfinite(weight)).sum())} records have no weight"
        raise InputError(f"column {survey.weight!r}", problem, "give each record a weight")
    if (weight < 0).any():
        raise InputError(f"column {survey.weight!r}", "some weights are negative", "give each record a weight of 0 or more")
    values = [numbers[f"value{m}"] for m in range(len(columns))]
    absent = np.zeros(len(weight), bool)
    for column, value in zip(columns, values, strict=True):
        missing = ~np.isfinite(value)
        if missing.any() and policy == "error":
            fix = "say what to do with them: on_value = 'drop' or 'zero'"
            raise InputError(f"column {column!r}", f"{int(missing.sum())} records have no value", fix)
        absent |= missing
    counted_with = np.where(absent, 0.0, weight) if policy == "drop" else weight
    held = [counted_with * np.where(np.isfinite(value), value, 0.0) for value in values]
    return [counted_with, *held], int(absent.sum()) if policy == "drop" else 0


def _place(layout: Layout, coded: Mapping[str, Coded], size: int) -> tuple[Integers, Integers]:
    """The stratum and the released cell of each row.

    Errors: InputError for a table, or counts behind it, of more cells than fit in memory.
    """
    largest = max(layout.cells, math.prod(layout.shape))
    if largest > MOST_CELLS:
        raise InputError("table", f"has {largest} cells, which do not fit in memory", "ask for fewer columns")
    cell = np.zeros(size, np.int64)
    for place, block in enumerate(layout.blocks):
        if not block.fixed:
            at, own = {category: i for i, category in enumerate(block.released)}, coded[str(place)]
            known = np.array([at[category] for category in own.categories], np.int64)
            cell = cell * len(block.released) + known[own.codes]
    part = coded["strata"].codes.astype(np.int64) if layout.strata else np.zeros(size, np.int64)
    return part, cell


def _units(rows: Mapping[str, Coded], survey: Survey, together: str | None, alone: Integers) -> tuple[Integers, Integers]:
    """The number of each record's unit, and the design's stratum of each unit; a cluster in two strata is two.

    ``alone`` numbers the records by what is summed, for where each is a cluster.
    """
    size = len(alone)
    if not survey.designed:
        if together is None:
            return np.zeros(size, np.int64), np.zeros(1, np.int64)
        households = rows["household"]
        return households.codes.astype(np.int64), np.zeros(len(households.categories), np.int64)
    stratum = rows["design"].codes.astype(np.int64) if survey.strata else np.zeros(size, np.int64)
    own = rows["cluster"].codes.astype(np.int64) if survey.cluster is not None else alone
    pairs = stratum * (int(own.max(initial=0)) + 1) + own
    different, first, unit = np.unique(pairs, return_index=True, return_inverse=True)
    if together is not None:
        household = rows["household"].codes.astype(np.int64)
        if len(np.unique(household * len(different) + unit)) > len(np.unique(household)):
            problem = "some households, which were randomised together, are in several clusters"
            raise InputError(f"column {together!r}", problem, "name clusters that hold whole households")
    return unit.astype(np.int64), stratum[first]


def _grouped(records: Tally) -> Tally:
    """The same by entries; numbers are added in the order of their size, so that the order of rows changes nothing."""
    order = np.lexsort((*records.first, records.cell, records.part, records.unit))
    unit, part, cell = records.unit[order], records.part[order], records.cell[order]
    measures = [numbers[order] for numbers in records.first]
    new = np.ones(len(order), bool)
    new[1:] = (unit[1:] != unit[:-1]) | (part[1:] != part[:-1]) | (cell[1:] != cell[:-1])
    start = np.flatnonzero(new)

    def added(numbers: Floats) -> Floats:
        return np.asarray(np.add.reduceat(numbers, start), float) if len(start) else numbers

    return dataclasses.replace(
        records,
        part=part[start],
        cell=cell[start],
        unit=unit[start],
        first=tuple(added(numbers) for numbers in measures),
        second=tuple(tuple(added(one * two) for two in measures) for one in measures),
    )
