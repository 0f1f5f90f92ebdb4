"""Which records can be swapped while margins stay: all at once by counting, and for one the list of its partners."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.engine.sql import all_of, literal
from discreet.errors import InputError, ParameterError
from discreet.model.combinations import Combinations, counts_alike
from discreet.model.contributions import Integers
from discreet.model.encoded import encoded, plain_code
from discreet.model.margins import Margins
from discreet.model.swap_file import SwapFile
from discreet.model.transition import Category

__all__ = ["Partner", "Partners", "RecordPartners", "Swappable", "partner_lists", "partners_of", "swap_partners", "swappable"]

Flags = NDArray[np.bool_]
Sets = NDArray[np.unsignedinteger]

WIDEST = 62
"""Variables of which a set fits into one number."""

TABLE = 16
"""Up to so many variables, it is looked up once for all sets of them whether two records that differ there are partners."""


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Swappable:
    """For each combination the number of records that one of its records can be swapped with, through each separator.

    ``partners`` has shape (combinations, separators), in the order of ``margins.separators``; ``of`` is the combination of
    each record.  A record may be a partner through several separators, and is counted in each.
    """

    margins: Margins
    partners: Integers
    of: Integers

    def __repr__(self) -> str:
        return f"Swappable({int(self.records.sum())} of {len(self.of)} records, {self.partners.shape[1]} separators)"

    @property
    def any(self) -> Flags:
        """Which combinations can be swapped with another record at all; shape (combinations,)."""
        return self.at_least > 0

    @property
    def at_least(self) -> Integers:
        """How many partners each record has at least: the most through one separator; shape (combinations,)."""
        return np.asarray(self.partners.max(axis=1, initial=0), np.int64)

    @property
    def records(self) -> Flags:
        """Which records can be swapped; shape (records,), in the order of the combinations' ``of``."""
        return self.any[self.of]

    @property
    def share(self) -> float:
        """The share of records that can be swapped."""
        return float(self.records.mean()) if len(self.of) else 0.0


def swappable(held: Combinations, margins: Margins) -> Swappable:
    """How many partners each record has, for all records at once, by counting.

    Let S be a minimal separator of the graph of the margins and C_1, …, C_m the components without it; N_S the number of
    records with the codes of record i on S, N_t of those that agree with it outside C_t, N of those equal to it.  Then i can be
    swapped with ``N_S − Σ_t (N_t − N) − N`` records through S, and with no record at all if that is 0 for every S.

    It says nothing of swaps of three or more records: if the margins are decomposable these change no further records, else see
    :func:`~discreet.microdata.protect.swap.moves.smallest_move`.

    Errors: InputError where the margins are not over the variables of ``held``, or have more than 100,000 separators.
    Source: Takemura, Hara (2007), Conditions for swappability of records in a microdata set when some marginals are fixed,
    Computational Statistics 22.
    """
    _check(held, margins)
    everything = frozenset(margins.variables)
    wanted: defaultdict[frozenset[str], list[tuple[int, int]]] = defaultdict(list)
    for s, separator in enumerate(margins.separators):
        wanted[frozenset(separator.variables)].append((s, 1))
        for component in separator.components:
            wanted[everything.difference(component)].append((s, -1))
    found = np.zeros((len(held.counts), len(margins.separators)), np.int64)
    for names, uses in wanted.items():
        at = [v for v, name in enumerate(margins.variables) if name in names]
        others = counts_alike(held.codes[:, at], [held.sizes[v] for v in at], held.counts) - held.counts
        for s, sign in uses:
            found[:, s] += sign * others
    return Swappable(margins, found, held.of)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Partners:
    """The combinations that a record of combination ``which`` can be swapped with, in the order of codes.

    ``combinations`` are their numbers and ``differ`` the variables in which each differs from it, as bits in the order of the
    variables; both of shape (partners,).  A *partner* below is a position in them.
    """

    held: Combinations
    margins: Margins
    which: int
    combinations: Integers
    differ: Integers

    def __repr__(self) -> str:
        return f"Partners({self.records} records of {len(self.combinations)} combinations)"

    @property
    def counts(self) -> Integers:
        """The records of each; shape (partners,)."""
        return self.held.counts[self.combinations]

    @property
    def records(self) -> int:
        """How many records it can be swapped with."""
        return int(self.counts.sum())

    def through(self) -> dict[tuple[str, ...], int]:
        """How many records it can be swapped with through each separator, by the variables of this."""
        fits = _through(self.differ, self.margins)
        records = (self.counts[:, None] * fits).sum(axis=0)
        return dict(zip((one.variables for one in self.margins.separators), records.tolist(), strict=True))

    def nearest(self, most: int | None = None) -> Integers:
        """The partners that differ in the fewest variables first, then in the order of codes; all, or at most so many."""
        return np.asarray(np.argsort(np.bitwise_count(self.differ), kind="stable")[:most])

    def components(self, partner: int) -> tuple[tuple[str, ...], ...]:
        """The two or more parts into which the graph of the margins falls on the variables in which the two differ."""
        return tuple(map(self._named, self.margins.components(int(self.differ[partner]))))

    def outcomes(self, partner: int) -> tuple[tuple[str, ...], ...]:
        """The sets of variables whose values can be exchanged, each giving a different table: 2^(c−1) − 1 for c components.

        They are unions of components, those of the fewest first.  Exchanging instead the others of the variables in which the
        two differ gives the same table, and all columns that do not move, such as weights, stand with the other one of the
        records; of two such sets the one without the first component is given.
        """
        parts = list(self.margins.components(int(self.differ[partner])))[1:]
        chosen = sorted(range(1, 1 << len(parts)), key=int.bit_count)
        return tuple(self._named(sum(part for t, part in enumerate(parts) if bits >> t & 1)) for bits in chosen)

    def _named(self, bits: int) -> tuple[str, ...]:
        return tuple(name for v, name in enumerate(self.margins.variables) if bits >> v & 1)


def partners_of(held: Combinations, margins: Margins, which: int) -> Partners:
    """The combinations that a record of combination ``which`` can be swapped with: all that differ from it in variables on
    which the graph of the margins is disconnected.

    Errors: InputError where the margins are not over the variables of ``held``, are over more than 62, or have more than
    100,000 separators; ParameterError for a combination that does not exist.
    """
    return next(partner_lists(held, margins, [which]))


def partner_lists(held: Combinations, margins: Margins, which: Sequence[int] | Integers) -> Iterator[Partners]:
    """The same for many combinations, one after the other, so that only one list is held at a time."""
    _check(held, margins)
    numbers = np.asarray(which, np.int64)
    if len(numbers) and not 0 <= numbers.min() <= numbers.max() < len(held.counts):
        raise ParameterError("swapping", "asks for a combination that does not exist", f"give numbers below {len(held.counts)}")
    k = len(margins.variables)
    if k > WIDEST:
        raise InputError("margins", f"are over {k} variables", f"leave out some that are in no margin: at most {WIDEST}")
    kind = np.min_scalar_type((1 << k) - 1)
    table = _fits(np.arange(1 << k, dtype=kind), margins) if k <= TABLE else None
    # columns of as few bytes as hold their codes: comparing them takes most of the time
    columns = [held.codes[:, v].astype(np.min_scalar_type(size)) for v, size in enumerate(held.sizes)]
    return (_partners(held, margins, one, columns, kind, table) for one in numbers.tolist())


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class Partner:
    """Records with the same ``codes`` that one record can be swapped with, and how many there are.  Confidential.

    The two differ in the variables of ``components``; ``outcomes`` are the sets of variables on which they can exchange values.
    """

    codes: Mapping[str, str]
    records: int
    components: tuple[tuple[str, ...], ...]
    outcomes: tuple[tuple[str, ...], ...]

    def __repr__(self) -> str:
        return f"Partner(differs in {sum(map(len, self.components))} variables, {len(self.outcomes)} outcomes)"


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class RecordPartners:
    """What one record of a file can be swapped with.  Confidential: it says what other records there are."""

    partners: Partners
    categories: tuple[tuple[Category, ...], ...]

    def __repr__(self) -> str:
        return f"RecordPartners({self.records} records of {len(self)} combinations)"

    def __len__(self) -> int:
        return len(self.partners.combinations)

    @property
    def records(self) -> int:
        """How many records it can be swapped with."""
        return self.partners.records

    def through(self) -> dict[tuple[str, ...], int]:
        """How many through each separator of the margins' graph, by its variables; one may be found through several."""
        return self.partners.through()

    @property
    def codes(self) -> dict[str, str]:
        """The codes of the record itself."""
        return self._codes(self.partners.which)

    def nearest(self, most: int | None = None) -> tuple[Partner, ...]:
        """The partners that differ in the fewest variables first, then in the order of codes; all, or at most so many."""
        found = self.partners
        return tuple(
            Partner(
                codes=self._codes(int(found.combinations[partner])),
                records=int(found.counts[partner]),
                components=found.components(partner),
                outcomes=found.outcomes(partner),
            )
            for partner in found.nearest(most).tolist()
        )

    def _codes(self, combination: int) -> dict[str, str]:
        row = self.partners.held.codes[combination].tolist()
        named = zip(self.partners.margins.variables, self.categories, row, strict=True)
        return {name: categories[code][0] for name, categories, code in named}


def swap_partners(file: SwapFile, margins: Margins, record: Mapping[str, object]) -> RecordPartners:
    """What one record of a file can be swapped with while these margins stay, as the file stands now.

    ``record`` gives its id, as column = code.

    Errors: InputError where the columns are not those of the id, where no record has it, and as for :func:`partners_of`.
    """
    if set(record) != set(file.record):
        raise InputError("swap partners", f"the id of a record is in {', '.join(file.record)}", "give the code of each column")
    microdata = file.microdata
    wanted = all_of(f"{plain_code(microdata, column)} = {literal(str(code))}" for column, code in record.items())
    here = encoded(microdata, {}, extra={"here": f"CASE WHEN {wanted} THEN 1 ELSE 0 END"}).extra["here"]
    found = np.flatnonzero(here[file.rows])
    if not len(found):
        raise InputError("swap partners", "no record has this id", "give the id as it stands in the file")
    held = file.combinations(margins.variables)
    categories = tuple(column.categories for column in file.coded(margins.variables))
    return RecordPartners(partners_of(held, margins, int(held.of[found[0]])), categories)


def _partners(
    held: Combinations,
    margins: Margins,
    which: int,
    columns: Sequence[NDArray[np.integer]],
    kind: np.dtype[np.unsignedinteger],
    table: Flags | None,
) -> Partners:
    """Compares one combination with all; ``table`` tells for each set of variables whether it makes partners."""
    differ = np.zeros(len(held.counts), kind)
    for v, column in enumerate(columns):
        differ |= (column != column[which]) * kind.type(1 << v)
    found = np.flatnonzero(_fits(differ, margins) if table is None else table[differ])
    return Partners(held, margins, which, found, differ[found].astype(np.int64))


def _fits(differ: Sets, margins: Margins) -> Flags:
    """Whether two records are partners that differ in these variables, given as bits; shape (sets,)."""
    return np.asarray(_through(differ, margins).any(axis=1))


def _through(differ: Sets | Integers, margins: Margins) -> Flags:
    """Through which separators they are: they agree there, and differ in two components; shape (sets, separators)."""
    place = {name: v for v, name in enumerate(margins.variables)}

    def bits(names: Sequence[str]) -> np.integer:
        return differ.dtype.type(sum(1 << place[name] for name in names))

    found = np.zeros((len(differ), len(margins.separators)), bool)
    for s, separator in enumerate(margins.separators):
        agree = np.flatnonzero(differ & bits(separator.variables) == 0)
        met = np.zeros(len(agree), np.int64)
        for component in separator.components:
            met += differ[agree] & bits(component) != 0
        found[agree, s] = met > 1
    return found


def _check(held: Combinations, margins: Margins) -> None:
    if len(margins.variables) != len(held.sizes):
        raise InputError("margins", "are not over the variables of the combinations", "make both from the same variables")
