"""Sums over the records of a released file, by the codes that they were released with: all that estimates are made of."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError, ParameterError, near
from discreet.inference.axes import Layout, Question, ask, code_numbers
from discreet.inference.survey import Survey, checked_weights, units_of
from discreet.model.contributions import Floats, Integers
from discreet.model.counted import counted
from discreet.model.encoded import Coded, encoded
from discreet.model.randomised import Randomised
from discreet.model.released import ReleasedFile

__all__ = ["Tally", "strata_of", "tally"]

POLICIES = ("error", "drop", "zero")
"""What is done with records that have no value."""

MOST_CELLS = 50_000_000
"""Of a table and of the released counts behind it: some gigabytes."""

Refit = Callable[[Layout], Layout]
"""Puts other categories along an axis."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Tally:
    """Sums over groups of records (``entries``) that were released alike and belong to one unit.

    ``part`` and ``cell`` of shape (entries,): the stratum, and the cell of ``layout.inner``; ``unit`` the household or
    cluster, 0 where neither matters; ``first[m]`` the sum of measure m, ``second[m][m2]`` that of products of two measures;
    ``values[m]`` randomised columns by whose true numbers a measure is to be multiplied; ``units`` for each unit its stratum
    of the design.  ``left_out``: records without a value.  ``notes``: what an analyst must know.
    """

    layout: Layout
    part: Integers
    cell: Integers
    unit: Integers
    first: tuple[Floats, ...]
    second: tuple[tuple[Floats, ...], ...]
    units: Integers
    values: tuple[tuple[str, ...], ...] = ((),)
    designed: bool = False
    together: str | None = None
    left_out: int = 0
    notes: tuple[str, ...] = ()

    @property
    def variables(self) -> list[Randomised]:
        """The randomised variables that the table is by."""
        return list(dict.fromkeys(block.variable for block in self.layout.blocks if block.variable and block.axis.columns))

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

    Errors: InputError for columns that are not there or are no numbers, bad weights, and tables that are too large;
    ParameterError for an unknown word.
    """
    policy = file.microdata.missing.on_value if on_value is None else on_value
    if policy not in POLICIES:
        raise ParameterError("on_value", f"{policy!r} is not one of {', '.join(POLICIES)}{near(policy, POLICIES)}")
    for column in columns:
        file.microdata.check_column(column, "the numbers")
    randomised = tuple(dict.fromkeys(column for column in columns if file.document.variable_of(column) is not None))
    question = ask(file, by, randomised)
    households = {variable.together for _, variable in question.asked if variable is not None and variable.together}
    if len(households) > 1:
        problem = f"variables were randomised by different households: {' and '.join(sorted(map(repr, households)))}"
        raise InputError("table", problem, "ask for them in separate tables")
    together = next(iter(households), None)
    if survey == Survey() and not columns and together is None:
        return _counted(file, question, survey, refit)
    return _summed(file, question, survey, columns, refit, together, policy)


def strata_of(tally: Tally) -> Iterator[tuple[slice, int]]:
    """The entries of each stratum of the design, and how many clusters it has."""
    numbers, sizes = np.unique(tally.units, return_counts=True)
    ends = np.searchsorted(tally.units[tally.unit], numbers, side="right").tolist()
    for start, end, n in zip([0, *ends], ends, sizes.tolist(), strict=False):
        yield slice(start, end), n


def _counted(file: ReleasedFile, question: Question, survey: Survey, refit: Refit | None) -> Tally:
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
        notes=survey.notes(file),
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
    coded = {**question.coded(), **survey.coded()}
    if together is not None:
        coded["household"] = (together,)
    plain = {f"value{m}": column for m, column in enumerate(columns) if column not in question.values}
    held = encoded(file.microdata, coded, plain | ({} if survey.weight is None else {"weight": survey.weight}))
    layout = question.layout({name: one.categories for name, one in held.coded.items()})
    part, cell = _place(layout, held.coded, file.microdata.rows)
    values, absent = {column: held.numbers[name] for name, column in plain.items()}, np.zeros(len(cell), bool)
    for column, numbers in values.items():
        absent |= _missing(column, ~np.isfinite(numbers), policy)
    for column in question.values:
        layout, empty = _numbered(file, layout, column, policy, cell)
        absent |= empty
    weight = checked_weights(survey.weight, held.numbers.get("weight", np.ones(len(cell))))
    weight = np.where(absent, 0.0, weight) if policy == "drop" else weight
    values = {column: np.where(np.isfinite(numbers), numbers, 0.0) for column, numbers in values.items()}
    measures = [weight, *(weight * values[column] if column in values else weight for column in columns)]
    alone = np.zeros(len(cell), np.int64)
    if survey.designed and survey.cluster is None:  # records by what is summed, so that their order in the file changes nothing
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
        values=((), *((one,) if one in question.values else () for one in columns)),
        designed=survey.designed,
        together=together,
        left_out=int(absent.sum()) if policy == "drop" else 0,
        notes=survey.notes(file),
    )
    return _grouped(records)


def _missing(column: str, missing: NDArray[np.bool_], policy: str) -> NDArray[np.bool_]:
    if policy == "error" and missing.any():
        fix = "say what to do with them: on_value = 'drop' or 'zero' (--on-value drop)"
        raise InputError(f"column {column!r}", f"{int(missing.sum())} records have no value", fix)
    return missing


def _numbered(file: ReleasedFile, layout: Layout, column: str, policy: str, cell: Integers) -> tuple[Layout, NDArray[np.bool_]]:
    """The layout with the numbers that the codes of a randomised column stand for, and which records surely have none.

    Where the missing code was randomised like others, a record may have none in truth whatever its released code is: it then
    counts by its pseudo-indicator, as everything does.
    """
    place = next(i for i, one in enumerate(layout.blocks) if one.variable is not None and column in one.variable.columns)
    block, microdata = layout.blocks[place], file.microdata
    at, released = block.source.index(column), np.unravel_index(cell, layout.inner)[place]
    codes = [category[at] for category in block.released]
    numbers = code_numbers(column, codes, decimal_comma=microdata.decimal_comma, missing=microdata.missing.values)
    known = np.isfinite(numbers)
    if not known.all() and policy == "error":
        _missing(column, ~known[released], policy)
        problem = "the code of missing values was randomised like others, so that some records may have no value"
        raise InputError(
            f"column {column!r}", problem, "say what to do with them: on_value = 'drop' or 'zero' (--on-value drop)"
        )
    used = known if policy == "drop" else np.ones(len(known), bool)
    kept = block.variable is not None and block.variable.missing == "kept"
    surely = np.array([kept and not any(category) for category in block.released])[released]
    return layout.with_numbers(column, np.where(known, numbers, 0.0), used * 1.0), surely


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
    """The number of each record's unit, and the design's stratum of each unit; without a design all are in one stratum."""
    nowhere = np.zeros(len(alone), np.int64)
    cluster, design = (rows[name].codes.astype(np.int64) if name in rows else None for name in ("cluster", "design"))
    households = {} if together is None else {together: rows["household"].codes.astype(np.int64)}
    if survey.designed and design is None:
        design = nowhere
    unit, strata = units_of(cluster, households, design, alone)
    unit = nowhere if unit is None else unit
    return unit, np.zeros(int(unit.max(initial=0)) + 1, np.int64) if strata is None else strata


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
