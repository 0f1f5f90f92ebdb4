"""The axes of a table that an analyst asks for, and the small matrix by which each is corrected."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from discreet.errors import InputError, some
from discreet.model.contributions import Floats, Integers
from discreet.model.randomised import Randomised, Stratum
from discreet.model.released import ReleasedFile
from discreet.model.transition import Category, TransitionMatrix

__all__ = ["Axis", "Block", "Factors", "Layout", "Question", "ask", "code_numbers", "inverse_of", "variable_of"]


@dataclasses.dataclass(frozen=True)
class Axis:
    """One axis of a table: a column, or the columns of one compound variable, and the categories along it."""

    columns: tuple[str, ...]
    categories: tuple[Category, ...]

    def __len__(self) -> int:
        return len(self.categories)

    def __repr__(self) -> str:
        return f"Axis({' × '.join(self.columns)}: {len(self)} categories)"

    @property
    def labels(self) -> list[str]:
        """The categories as people read them; empty codes are shown as "(empty)"."""
        return [" / ".join(code or "(empty)" for code in category) for category in self.categories]


@dataclasses.dataclass(frozen=True)
class Factors:
    """For each axis the matrix (released, asked) by which a stratum's counts are multiplied; None changes nothing.

    ``places``: where an axis is a column of strata, the one position that this stratum has on it, else None.
    """

    matrices: tuple[Floats | None, ...]
    places: tuple[int | None, ...]

    def times(self, other: Factors) -> Factors:
        """The elementwise product, for second moments; what changes nothing stays so, as it picks the cell itself."""
        pairs = zip(self.matrices, other.matrices, strict=True)
        products = tuple(None if one is None or two is None else one * two for one, two in pairs)
        places = zip(self.places, other.places, strict=True)
        return Factors(products, tuple(two if one is None else one for one, two in places))

    def along(self, counts: Floats, first: int = 0) -> Floats:
        """The counts multiplied along every axis, from axis ``first`` on; never a Kronecker product."""
        for axis, matrix in enumerate(self.matrices, first):
            if matrix is not None:
                counts = np.moveaxis(np.tensordot(counts, matrix, axes=(axis, 0)), -1, axis)
        return counts

    def add_to(self, table: Floats, counts: Floats, first: int = 0) -> None:
        """Adds the multiplied counts of this stratum to a table of the axes asked for."""
        table[(slice(None),) * first + self.where] += self.along(counts, first)

    @property
    def transposed(self) -> Factors:
        """The way back: released and asked exchanged."""
        return Factors(tuple(None if matrix is None else matrix.T for matrix in self.matrices), self.places)

    def filled(self, sizes: Sequence[int]) -> tuple[Floats, ...]:
        """The matrices in full, for a table with these numbers of categories."""
        full = []
        for matrix, place, size in zip(self.matrices, self.places, sizes, strict=True):
            unchanged = np.eye(size) if place is None else np.eye(size)[place : place + 1]
            full.append(unchanged if matrix is None else matrix)
        return tuple(full)

    def indicators(self, released: Sequence[Integers], cells: Sequence[Integers], axes: Sequence[int]) -> list[Floats]:
        """On each of these axes the pseudo-indicators of cells for rows, both given by positions on all axes: (rows, cells)."""
        found = []
        for axis in axes:
            matrix, place, row, cell = self.matrices[axis], self.places[axis], released[axis], cells[axis]
            if matrix is not None:
                found.append(matrix[row][:, cell])
            else:
                found.append(
                    (row[:, None] == cell if place is None else np.broadcast_to(cell == place, (len(row), len(cell)))) * 1.0
                )
        return found

    @property
    def where(self) -> tuple[slice, ...]:
        """The part of the table that this stratum is in."""
        return tuple(slice(None) if place is None else slice(place, place + 1) for place in self.places)


@dataclasses.dataclass(frozen=True)
class Block:
    """An axis asked for and what it is made of.

    ``source`` the columns of the file; ``released`` their categories there; ``members`` of shape (released, asked) 1 where a
    category belongs to one of those asked for, None where they are the same; ``fixed`` where the column is one of strata.
    ``numbers`` gives for randomised columns that are added up the number of each released category; such a block may have no
    column that is asked for, and is then an axis of length 1.
    """

    axis: Axis
    source: tuple[str, ...]
    released: tuple[Category, ...]
    variable: Randomised | None = None
    members: Floats | None = None
    fixed: bool = False
    numbers: Mapping[str, Floats] = dataclasses.field(default_factory=dict)

    def times(self, values: Sequence[str]) -> Floats | None:
        """The members multiplied with the numbers of those of the columns ``values`` that are here."""
        members = self.members
        for column in values:
            if column in self.numbers and members is not None:
                members = members * self.numbers[column][:, None]
        return members


@dataclasses.dataclass(frozen=True)
class Question:
    """Which columns are asked for, by the variable that each belongs to, and the columns of strata this needs.

    ``values``: randomised columns whose codes are added up as numbers.
    """

    asked: tuple[tuple[tuple[str, ...], Randomised | None], ...]
    strata: tuple[str, ...]
    values: tuple[str, ...] = ()

    def coded(self) -> dict[str, Sequence[str]]:
        """What has to be fetched of the file, each axis by its number."""
        columns: dict[str, Sequence[str]] = {
            str(place): asked if variable is None else variable.columns
            for place, (asked, variable) in enumerate(self.asked)
            if variable is not None or asked[0] not in self.strata
        }
        return {**columns, "strata": self.strata} if self.strata else columns

    def layout(self, found: Mapping[str, tuple[Category, ...]]) -> Layout:
        """The axes, for the categories that were found in the file."""
        parts = found.get("strata", ((),))
        blocks = []
        for place, (asked, variable) in enumerate(self.asked):
            if variable is not None:
                blocks.append(_randomised_block(asked, variable, found[str(place)]))
                continue
            fixed = asked[0] in self.strata
            held = found[str(place)] if not fixed else _codes_of(parts, self.strata.index(asked[0]))
            blocks.append(Block(Axis(asked, held), asked, held, fixed=fixed))
        return Layout(tuple(blocks), self.strata, parts)


@dataclasses.dataclass(frozen=True)
class Layout:
    """The blocks of a table, and the strata (``parts``, codes of the columns ``strata``) in which its matrices differ."""

    blocks: tuple[Block, ...]
    strata: tuple[str, ...]
    parts: tuple[Stratum, ...]

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes of the table, one for each block; those without a column are of length 1."""
        return tuple(block.axis for block in self.blocks)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the table."""
        return tuple(len(block.axis) for block in self.blocks)

    @property
    def inner(self) -> tuple[int, ...]:
        """Of the released counts of one stratum."""
        return tuple(1 if block.fixed else len(block.released) for block in self.blocks)

    @property
    def cells(self) -> int:
        """Of the released counts of one stratum."""
        return math.prod(self.inner)

    @property
    def variables(self) -> tuple[Randomised, ...]:
        """The randomised variables asked for."""
        return tuple(block.variable for block in self.blocks if block.variable is not None)

    def with_axis(self, place: int, axis: Axis, members: Floats) -> Layout:
        """The same with other categories along one axis; ``members`` tells which of the old ones each is made of."""
        old = self.blocks[place]
        joined = members if old.members is None else old.members @ members
        block = dataclasses.replace(old, axis=axis, members=joined)
        return dataclasses.replace(self, blocks=(*self.blocks[:place], block, *self.blocks[place + 1 :]))

    def with_numbers(self, column: str, numbers: Floats, used: Floats) -> Layout:
        """The same with the number of each category of a randomised column that is added up, and 0 for those not ``used``."""
        place = next(i for i, one in enumerate(self.blocks) if one.variable is not None and column in one.variable.columns)
        old = self.blocks[place]
        members = None if old.members is None else old.members * used[:, None]
        block = dataclasses.replace(old, members=members, numbers={**old.numbers, column: numbers})
        return dataclasses.replace(self, blocks=(*self.blocks[:place], block, *self.blocks[place + 1 :]))

    def singly(self) -> Layout:
        """The same with all categories that are released along each axis."""
        return dataclasses.replace(self, blocks=tuple(dataclasses.replace(block, members=None) for block in self.blocks))

    def factors(self, part: int, values: Sequence[str] = ()) -> Factors:
        """What makes unbiased estimates of a stratum's released counts: rows of inverse matrices, summed over members.

        ``values``: randomised columns with whose true numbers the counts are multiplied.

        Errors: InputError where a matrix has no inverse.
        """
        return self._factors(part, inverse_of, values)

    def forward(self, part: int) -> Factors:
        """What makes the expected released counts of a stratum's true ones: the matrices, summed over members."""
        return self._factors(part, lambda variable, stratum, matrix: matrix.matrix)

    def naive(self, part: int, values: Sequence[str] = ()) -> Factors:
        """What makes the table of the released codes as they are."""
        return self._factors(part, None, values)

    def _factors(
        self,
        part: int,
        chosen: Callable[[Randomised, Stratum, TransitionMatrix], Floats] | None,
        values: Sequence[str] = (),
    ) -> Factors:
        matrices: list[Floats | None] = []
        places: list[int | None] = []
        for block in self.blocks:
            matrix, place = block.times(values), None
            if block.fixed:
                own = block.released.index((self.parts[part][self.strata.index(block.source[0])],))
                matrix, place = (None, own) if matrix is None else (matrix[own : own + 1], None)
            elif block.variable is not None and chosen is not None:
                own_matrix = _embedded(block, self.stratum(block.variable, part), chosen)
                matrix = own_matrix if matrix is None else own_matrix @ matrix
            matrices.append(matrix)
            places.append(place)
        return Factors(tuple(matrices), tuple(places))

    def stratum(self, variable: Randomised, part: int) -> Stratum:
        """The codes by which the matrix of a variable is chosen in this stratum."""
        return tuple(self.parts[part][self.strata.index(column)] for column in variable.strata)


def ask(file: ReleasedFile, by: Sequence[str], values: Sequence[str] = ()) -> Question:
    """The question after a table by these columns, and of randomised columns ``values`` whose codes are added up.

    Errors: InputError for a column that is not there, is asked for twice, or whose matrices are not public.
    """
    groups: dict[str, tuple[list[str], Randomised | None]] = {}
    for column in by:
        variable = variable_of(file, column, "the table")
        columns, _ = groups.setdefault(column if variable is None else variable.name, ([], variable))
        if column in columns:
            raise InputError("table", f"column {column!r} is asked for twice", "name each column once")
        columns.append(column)
    for column in values:
        variable = variable_of(file, column, "the table")
        if column in by:
            problem = "is added up, and the table is by its codes as well"
            raise InputError(f"column {column!r}", problem, "leave it out of by, or ask for counts")
        if variable is not None:
            groups.setdefault(variable.name, ([], variable))
    asked = tuple((tuple(columns), variable) for columns, variable in groups.values())
    strata = tuple(dict.fromkeys(column for _, variable in asked if variable for column in variable.strata))
    return Question(asked, strata, tuple(values))


def variable_of(file: ReleasedFile, column: str, what: str) -> Randomised | None:
    """The randomised variable that a column belongs to, None where it was left as it is.

    Errors: InputError for a column that is not there, or whose matrices are not public.
    """
    file.microdata.check_column(column, what)
    variable = file.document.variable_of(column)
    if variable is not None and not variable.matrices:
        problem = "its matrices are not public, so that nothing unbiased can be said of it"
        raise InputError(f"PRAM document, {variable.name}", problem, f"ask the owner of the file for {what}")
    return variable


def code_numbers(column: str, codes: Sequence[str], *, decimal_comma: bool, missing: Sequence[str] = ()) -> Floats:
    """The numbers that codes of a randomised column stand for, NaN where they are missing.

    Errors: InputError for codes that are no numbers.
    """
    found, wrong = np.full(len(codes), np.nan), []
    for place, code in enumerate(codes):
        if code and code not in missing:
            try:
                found[place] = float(code.replace(",", ".") if decimal_comma else code)
            except ValueError:
                wrong.append(code)
    wrong += [code for code, number in zip(codes, found, strict=True) if np.isinf(number)]
    if wrong:
        problem = f"was randomised and has codes that are no numbers: {some(dict.fromkeys(wrong))}"
        raise InputError(f"column {column!r}", problem, "ask for its counts or shares, or name a category")
    return found


def _embedded(block: Block, stratum: Stratum, chosen: Callable[[Randomised, Stratum, TransitionMatrix], Floats]) -> Floats:
    """A matrix of this stratum on all categories of the axis; empty codes that were kept stand for themselves, others are 0."""
    variable, released = block.variable, block.released
    full = np.zeros((len(released), len(released)))
    if variable is None:
        return full
    empty = ("",) * len(variable.columns)
    if variable.missing == "kept" and empty in released:
        full[released.index(empty), released.index(empty)] = 1.0
    matrix = variable.matrices.get(stratum)
    if matrix is not None:
        at = {category: place for place, category in enumerate(released)}
        places = [at[category] for category in matrix.categories]
        full[np.ix_(places, places)] = chosen(variable, stratum, matrix)
    return full


def inverse_of(variable: Randomised, stratum: Stratum, matrix: TransitionMatrix) -> Floats:
    """The inverse of the matrix of a variable in a stratum.

    Errors: InputError, which tells of which one, where there is none.
    """
    try:
        return matrix.inverse
    except InputError as error:
        where = f", stratum {' / '.join(stratum)!r}" if stratum else ""
        raise InputError(f"transition matrix of {variable.name}{where}", error.problem, error.fix) from None


def _randomised_block(asked: tuple[str, ...], variable: Randomised, found: tuple[Category, ...]) -> Block:
    """The axis of a randomised variable: all categories of its matrices, and the empty code where it was kept and occurs."""
    lists = list(dict.fromkeys(matrix.categories for matrix in variable.matrices.values()))
    known = lists[0] if len(lists) == 1 else tuple(sorted({category for one in lists for category in one}))
    empty = ("",) * len(variable.columns)
    released = (*known, empty) if variable.missing == "kept" and empty in found and empty not in known else known
    if asked == variable.columns:
        return Block(Axis(asked, released), asked, released, variable)
    at = [variable.columns.index(column) for column in asked]
    parts = [tuple(category[i] for i in at) for category in released]
    categories = tuple(dict.fromkeys(parts))
    members = np.array([[part == category for category in categories] for part in parts], float)
    return Block(Axis(asked, categories), variable.columns, released, variable, members)


def _codes_of(parts: Sequence[Stratum], place: int) -> tuple[Category, ...]:
    return tuple((code,) for code in sorted({part[place] for part in parts}))
