"""Reads and writes JJ files, the format in which the field passes suppression problems from one solver to another.

A JJ file holds the number 0; the number of cells; a line a cell: index, value, cost, status, lower and upper bound, lower,
upper and sliding protection level; the number of relations; and a line a relation: ``0 n : total (-1) part (1) part (1) …``.
Statuses: ``s`` open, ``u`` primary, ``m`` secondary, ``z`` must be published (or empty).  A file of the same name and
``.frq`` may stand beside it: a line a cell with its number of contributors and 0.
"""

from __future__ import annotations

import decimal
import math
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.errors import AdditivityError, InputError, ParameterError, near, some
from discreet.io.columns import read_text
from discreet.model.contributions import Contributions, Floats
from discreet.model.equations import fold, residuals
from discreet.model.hierarchy import Hierarchy
from discreet.model.layout import Layout
from discreet.model.spanned import spanned
from discreet.model.table import Status, Table

__all__ = ["read_jj", "write_jj"]

NUMBERS = (
    "value", "cost", "lower bound", "upper bound", "lower protection level", "upper protection level",
    "sliding protection level",
)  # fmt: skip
LETTERS = {"s": Status.OPEN, "u": Status.PRIMARY, "m": Status.SECONDARY, "z": Status.OPEN}
TERM = re.compile(r"\s*(\S+?)\s*\(\s*([+-]?[\d.]+)\s*\)")
FLOAT_DIGITS = decimal.Context(prec=15)
RESIDUE = 1e-12
"""What may be missing in a relation, as part of its largest value: less than one unit of 12 digits."""

BOUND = 1.5
"""How far beyond the largest values a bound stands where the intruder knows none: the habit of tau-Argus."""


def read_jj(
    source: str | os.PathLike[str],
    *,
    frequencies: str | os.PathLike[str] | None = None,
    on_nonadditive: str = "error",
    spanning: bool = False,
) -> Table:
    """The table in a JJ file; its cells are coded by their indices, in one variable ``cell``.

    ``frequencies``: the file with the number of contributors of each cell; by default the one beside it, named like it and
    ``.frq``, where there is one.  Without it no cell counts as known to a single contributor.
    ``on_nonadditive``: "error", or "slack" (relations that do not hold are given up and counted).
    Protection levels count for primary cells only; 0 asks that the value is not known exactly.  A bound that its value
    contradicts is nobody's knowledge: it is left out and counted.  Relations with a constant, or with other factors than 1
    and -1, are refused.
    ``spanning``: find the variables ``v1``, ``v2``, … from which the relations follow, and code the cells by them; their codes
    are the indices of the cells that vary in one variable alone.  Methods that work by subtables need this.
    What it does not do: keep anything that the format has no place for, such as codes and rules.

    Errors: InputError naming the line that does not fit, or saying that nothing spans the table; AdditivityError naming every
    line whose relation does not hold.
    """
    if on_nonadditive not in (policies := ("error", "slack")):
        trouble = f"{on_nonadditive!r} is not one of {', '.join(policies)}{near(on_nonadditive, policies)}"
        raise ParameterError("read_jj.on_nonadditive", trouble)
    path = Path(source)
    file = _Lines(path)
    file.constant()
    cells = _Cells(file, file.count("cells"))
    equations, lines = _relations(file, file.count("relations"), cells.place)
    if next(file, None) is not None:
        file.refuse("stands behind the last relation", "check the number of relations")
    broken = _broken(equations, cells)
    if broken.size and on_nonadditive == "error":
        where = [f"line {lines[row]}" for row in broken.tolist()]
        fix = "correct the values (their last decimal included), or give these relations up: on_nonadditive = 'slack'"
        raise AdditivityError(path.name, f"{len(where)} relations do not hold: {some(where)}", fix, details=where)
    beside = Path(f"{path}.frq") if frequencies is None else Path(frequencies)
    counted = frequencies is not None or beside.is_file()
    n = _frequencies(beside, cells.size) if counted else np.zeros(cells.size)
    kept = np.setdiff1d(np.arange(len(lines)), broken)
    said = fold(sparse.csr_array(equations[kept]), np.arange(cells.size), cells.size)
    told = {"relations given up": len(broken), "bounds that the values contradict, left out": cells.contradicted}
    layout = spanned(said, list(cells.place), path.stem) if spanning else cells.layout(path.stem)
    if layout is None:
        trouble = "its relations do not follow from variables that span one table"
        raise InputError(path.name, trouble, "use a method that reads the relations alone, such as gauss-suppression")
    table = cells.table(layout, n, said)
    counts = {what: count for what, count in told.items() if count}
    return table.with_step("read", "a JJ file", lines=cells.size, relations=len(lines), **counts, **table.rounded())


class _Lines(Iterator[str]):
    """The lines of a file that hold something, and which one was read last."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self._rest = enumerate(read_text(path, encoding="latin-1").splitlines(), 1)
        self.number = 0

    def __next__(self) -> str:
        for number, text in self._rest:
            if text.strip():
                self.number = number
                return text.strip()
        raise StopIteration

    def wanted(self, what: str) -> str:
        """The next line, which must be there."""
        text = next(self, None)
        if text is None:
            raise InputError(self.name, f"ends where {what} should stand", "check that the file is complete")
        return text

    def refuse(self, problem: str, fix: str) -> NoReturn:
        """An error about the line read last."""
        raise InputError(self.name, f"line {self.number} {problem}", fix)

    def constant(self) -> None:
        """The first line, which is 0."""
        if _float(self.wanted("the number 0")) != 0:
            self.refuse("is not the number 0, with which a JJ file begins", "check that it is a JJ file")

    def count(self, what: str) -> int:
        """A line that holds nothing but how many of something follow."""
        text = self.wanted(f"the number of {what}")
        if not text.isdecimal():
            self.refuse(f"does not hold the number of {what}", f"check that the number of {what} before it is right")
        return int(text)


class _Cells:
    """The lines of the cells."""

    def __init__(self, file: _Lines, size: int) -> None:
        if not size:
            file.refuse("says that there are no cells", "check that the file is complete")
        self.size = size
        self.place: dict[str, int] = {}
        self.exact: list[decimal.Decimal] = []
        self.letters: list[str] = []
        rows = []
        for place in range(size):
            fields = file.wanted("a cell").replace(";", " ").split()
            if len(fields) not in (8, 9):
                fix = "index, value, cost, status, two bounds and two or three protection levels"
                file.refuse(f"has {len(fields)} fields where a cell has 9 (or 8, without a sliding level)", fix)
            if not fields[0].isdecimal():
                file.refuse("does not begin with the index of a cell", "check the number of cells")
            if self.place.setdefault(fields[0], place) != place:
                file.refuse("has the index of an earlier cell", "give each cell an index of its own")
            letter = fields[3].lower()
            if letter not in LETTERS:
                file.refuse("has an unknown status", "use s (open), u (primary), m (secondary) or z (must be published)")
            self.letters.append(letter)
            rows.append(self._numbers(file, [*fields[1:3], *fields[4:], "0"][: len(NUMBERS)]))
        value, self.cost, lower, upper, self.low_level, self.up_level, self.sliding = np.array(rows).T
        self.decimals = max(max(-int(number.as_tuple().exponent), 0) for number in self.exact)
        self.value = np.array([float(number) for number in self.exact])
        self.lower, self.upper = np.where(lower > value, np.nan, lower), np.where(upper < value, np.nan, upper)
        self.contradicted = int((np.isnan(self.lower) | np.isnan(self.upper)).sum())

    def _numbers(self, file: _Lines, fields: Sequence[str]) -> list[float]:
        numbers = [_float(field) for field in fields]
        for name, number in zip(NUMBERS, numbers, strict=True):
            if math.isnan(number) or (math.isinf(number) and "bound" not in name):
                file.refuse(f"holds no number as {name}", "write numbers with a decimal point and no thousands marks")
            if number < 0 and ("level" in name or name == "cost"):
                file.refuse(f"holds a negative {name}", "write 0 where there is none")
        self.exact.append(FLOAT_DIGITS.create_decimal(fields[0]).normalize(FLOAT_DIGITS))
        return numbers

    def units(self) -> NDArray[np.object_]:
        """The values as whole numbers of units of the last decimal."""
        units = np.empty(self.size, object)
        units[:] = [int(number.scaleb(self.decimals)) for number in self.exact]
        return units

    def layout(self, name: str) -> Layout:
        """A line a cell, coded by its index."""
        indices = list(self.place)
        tree = Hierarchy.flat(indices, source=name)
        codes = tree.positions(indices, variable="cell")[:, np.newaxis].astype(np.int32)
        return Layout(name=name, variables=("cell",), hierarchies=(tree,), codes=codes, cell=np.arange(self.size))

    def table(self, layout: Layout, n: Floats, equations: sparse.csr_array) -> Table:
        """The table, with the relations as its equations."""
        status = np.array([LETTERS[letter] for letter in self.letters], np.int8)
        primary = status == Status.PRIMARY
        return Table.of(
            (layout,),
            self.value,
            Contributions.of(n, self.value),
            equations,
            decimals=self.decimals,
            status=status,
            frozen=np.array(self.letters) == "z",
            cost=self.cost,
            lower=self.lower,
            upper=self.upper,
            lower_protection=np.where(primary, self.low_level, 0.0),
            upper_protection=np.where(primary, self.up_level, 0.0),
            sliding_protection=np.where(primary, self.sliding, 0.0),
        )


def _relations(file: _Lines, count: int, place: dict[str, int]) -> tuple[sparse.csr_array, list[int]]:
    """+1 at the parts and -1 at the total of each relation, and the line of each."""
    ends, at, factors, lines = [0], [], [], []
    for _ in range(count):
        head, colon, text = file.wanted("a relation").partition(":")
        begun = head.split()
        if not colon or len(begun) != 2 or not begun[1].isdecimal() or begun[1] == "0":
            file.refuse("is not a relation", "0 3 : 0 (-1) 1 (1) 2 (1), or check the number of relations")
        if _float(begun[0]) != 0:
            file.refuse("is a relation with a constant", "make the constant a cell that must be published (z), and write 0")
        lines.append(file.number)
        terms = _terms(file, text, int(begun[1]), place)
        signs = [factor for _, factor in terms]
        turn = -1 if signs.count(1) == 1 and len(signs) > 2 else 1
        at += [cell for cell, _ in terms]
        factors += [turn * factor for factor in signs]
        ends.append(len(at))
    entries = (np.array(factors, float), np.array(at, np.int64), np.array(ends, np.int64))
    return sparse.csr_array(entries, shape=(count, len(place))), lines


def _terms(file: _Lines, text: str, size: int, place: dict[str, int]) -> list[tuple[int, int]]:
    """The cells and factors of a relation, which may go on over several lines."""
    terms: dict[int, int] = {}
    while True:
        read = 0
        for found in TERM.finditer(text):
            index, factor = found[1], _float(found[2])
            if found.start() != read:
                break
            read = found.end()
            if index not in place:
                file.refuse("names a cell that is not there", "check the indices of the cells")
            if abs(factor) != 1:
                file.refuse(f"has a factor other than 1 and -1 at cell {index!r}", "write the relation as a sum of cells")
            if place[index] in terms:
                file.refuse(f"names cell {index!r} twice", "name each cell once in a relation")
            terms[place[index]] = int(factor)
        if text[read:].strip():
            file.refuse("is not a relation from some place on", "write each cell with its factor: 0 (-1) 1 (1) 2 (1)")
        if len(terms) > size:
            file.refuse(f"has more cells than the {size} said before the colon", "check the number of cells in the relation")
        if len(terms) == size:
            return list(terms.items())
        text = file.wanted("the rest of a relation")


def _broken(equations: sparse.csr_array, cells: _Cells) -> NDArray[np.int64]:
    """The relations that do not hold, but for what sums of floats of 15 digits leave."""
    if not equations.shape[0]:
        return np.zeros(0, np.int64)
    units = cells.units()
    largest = np.maximum.reduceat(np.abs(units)[equations.indices], equations.indptr[:-1])
    return np.flatnonzero(np.abs(residuals(equations, units)) > RESIDUE * largest.astype(float))


def _frequencies(path: Path, cells: int) -> Floats:
    """The number of contributors of each cell."""
    file = _Lines(path)
    counts = []
    for text in file:
        count = _float(text.split()[0])
        if not 0 <= count < math.inf:
            file.refuse("does not begin with a number of contributors", "write it, and 0 behind it, a line a cell")
        counts.append(count)
    if len(counts) != cells:
        raise InputError(path.name, f"has {len(counts)} lines for {cells} cells", "take the file that belongs to this JJ file")
    return np.array(counts)


def _float(text: str) -> float:
    """The number, NaN where the text is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


# -------------------------------------------------------------------- writing


def write_jj(table: Table, path: str | os.PathLike[str], *, largest_cost: float | None = None) -> Path:
    """Writes the table as a JJ file with the file ``.frq`` beside it; cells in order, indices from 0.

    Bounds are what the intruder is declared to know beforehand; where that is nothing, 1.5 times the smallest or largest
    value that is at stake.  A primary cell without protection levels gets as sliding level the width below which it counts as
    known exactly.  ``largest_cost``: costs become whole numbers from 1 to this (tau-Argus: 20000); by default they stay.
    Contributors are holdings, where there are any; without contributors no ``.frq`` is written, and one that stood there is
    removed.

    The file holds every true value: it is as confidential as the table, and no release.
    What it does not hold: codes, rules, facts beside the cells; insiders known to be the same.

    Errors: InputError for cells that are perturbed or not listed and for facts published beside the cells, which a JJ file
    cannot express.
    """
    _check_writable(table)
    value = [f"{number:.{table.decimals}f}" for number in table.value.tolist()]
    letters = np.array(["s", "m", "u"])[table.status]
    letters = np.where(table.frozen & (table.status == Status.OPEN), "z", letters)
    cost = [_text(number) for number in _costs(table, largest_cost).tolist()]
    columns = [value, cost, letters.tolist()]
    columns += [[_text(number) for number in column.tolist()] for column in (*_bounds(table), *_levels(table))]
    file = Path(path)
    with file.open("w", encoding="ascii", newline="\n") as stream:
        stream.write(f"0\n{table.cells}\n")
        stream.writelines(f"{index} {' '.join(fields)}\n" for index, fields in enumerate(zip(*columns, strict=True)))
        equations = table.equations
        stream.write(f"{equations.shape[0]}\n")
        for row in range(equations.shape[0]):
            part = slice(equations.indptr[row], equations.indptr[row + 1])
            terms = zip(equations.data[part].tolist(), equations.indices[part].tolist(), strict=True)
            line = " ".join(f"{cell} ({factor:g})" for factor, cell in sorted(terms))
            stream.write(f"0 {part.stop - part.start} : {line}\n")
    _write_frequencies(table, Path(f"{file}.frq"))
    return file


def _check_writable(table: Table) -> None:
    fix = "write the table as it was before that"
    if table.perturbed.any():
        raise InputError("write_jj", "some cells show rounded or noisy numbers, which a JJ file cannot express", fix)
    if table.knowledge:
        raise InputError("write_jj", "facts are published beside the cells, which a JJ file cannot express", fix)
    if not table.listed.all():
        trouble = f"{int((~table.listed).sum())} cells are not published although nothing protects them"
        raise InputError("write_jj", f"{trouble}, which a JJ file cannot express", "list the totals that stand between others")


def _costs(table: Table, largest: float | None) -> Floats:
    if largest is None:
        return table.cost
    if not 1 <= largest < math.inf:
        raise ParameterError("write_jj.largest_cost", "is not a number of at least 1", "tau-Argus takes 20000")
    most = float(table.cost.max(initial=0.0)) or 1.0
    return np.maximum(1.0, np.round(table.cost * (largest / most)))


def _bounds(table: Table) -> tuple[Floats, Floats]:
    """The bounds, with numbers in place of infinite ones, wide enough for every protection level."""
    low, high = table.bounds()
    up, down, slide = _levels(table)[1], _levels(table)[0], _levels(table)[2]
    least = BOUND * min(0.0, float((table.value - np.maximum(down, slide)).min()))
    most = BOUND * max(1.0, float((table.value + np.maximum(up, slide)).max()))
    return np.where(np.isinf(low), least, low), np.where(np.isinf(high), most, high)


def _levels(table: Table) -> tuple[Floats, Floats, Floats]:
    """The lower, upper and sliding protection levels, 0 for all but primary cells."""
    asked = table.primary & table.intruder.levels
    down, up = np.where(asked, table.lower_protection, 0.0), np.where(asked, table.upper_protection, 0.0)
    slide = np.where(asked, table.sliding_protection, 0.0)
    exact = table.primary & (down + up == 0)
    return down, up, np.where(exact, np.maximum(slide, table.exactness()), slide)


def _write_frequencies(table: Table, path: Path) -> None:
    held = table.contributions
    n = np.where(held.holdings > 0, held.holdings, held.n)
    if n.any():
        path.write_text("".join(f"{_text(count)} 0\n" for count in n.tolist()), "ascii")
    else:
        path.unlink(missing_ok=True)


def _text(number: float) -> str:
    return str(int(number)) if number == int(number) and abs(number) < 2**53 else repr(number)
