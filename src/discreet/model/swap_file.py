"""Confidential records of which some columns changed places: what every method of swapping turns into a further one."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from discreet.errors import InputError, some
from discreet.model.code_keys import code_keys
from discreet.model.combinations import Combinations, combinations
from discreet.model.contributions import Floats, Integers
from discreet.model.encoded import Coded, encoded
from discreet.model.keys import Secret
from discreet.model.margins import Margins
from discreet.model.microdata import Microdata

__all__ = ["SwapFile", "Swapped"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Swapped:
    """What one method did: its name, the columns that moved, the margins that it kept, and ``facts``, which are counts."""

    method: str
    columns: tuple[str, ...]
    margins: Margins | None
    facts: Mapping[str, int | float | str]

    def __str__(self) -> str:
        facts = ", ".join(
            f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}" for name, value in self.facts.items()
        )
        return f"{self.method} of {some(self.columns, 12) or 'no column'}: {facts}"


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SwapFile:
    """Records in the order of their secret keys, and for each column that moved the record from which its values come.

    ``rows[i]`` is the place in the file of the record with the i-th smallest key, and ``key[i]`` that key: 60 bits, made from
    the secret and the record's id, the columns ``record``.  ``origin[column][i]`` is the record whose value record i now has:
    a permutation, so that the counts of every single column stay.  All arrays are in the order of keys, which the order of
    the file does not change.  Confidential: only what :func:`discreet.write_swapped` makes of it may leave.
    """

    microdata: Microdata
    secret: Secret
    record: tuple[str, ...]
    rows: Integers
    key: Integers
    origin: Mapping[str, Integers] = dataclasses.field(default_factory=dict)
    steps: tuple[Swapped, ...] = ()

    def __repr__(self) -> str:
        return f"SwapFile({self.microdata.name}: {len(self.key)} records, {len(self.origin)} columns moved)"

    @property
    def shown(self) -> tuple[str, ...]:
        """The columns that are released unless others are asked for: all but the ids and those of roles other than weight."""
        return self.microdata.shown(self.record)

    def coded(self, columns: Sequence[str], *, true: bool = False) -> tuple[Coded, ...]:
        """Each column as it stands now, or with ``true`` as it was at first; in the order of keys, empty codes as ``""``."""
        held = encoded(self.microdata, {column: [column] for column in columns}).coded
        found = []
        for column in columns:
            codes = held[column].codes[self.rows]
            moved = None if true else self.origin.get(column)
            found.append(Coded(held[column].categories, codes if moved is None else codes[moved]))
        return tuple(found)

    def numbers(self, column: str, *, true: bool = False) -> Floats:
        """A column of numbers as it stands now, or with ``true`` as it was at first; in the order of keys, empty as NaN."""
        values = encoded(self.microdata, {}, {column: column}).numbers[column][self.rows]
        moved = None if true else self.origin.get(column)
        return values if moved is None else values[moved]

    def keys(self, purpose: str, columns: Sequence[str]) -> Integers:
        """60 secret bits for the codes of these columns, such as that of a household; in the order of keys."""
        return code_keys(self.microdata, self.secret, purpose, columns)[self.rows]

    def moved(self, origin: Mapping[str, Integers], step: Swapped) -> SwapFile:
        """The same after one more method: ``origin[column][i]`` is the record whose value, as it stood, record i now has.

        Errors: InputError for a column of the record's id; where ``origin`` is no permutation; and where a margin that the
        step promises to keep did not stay, which is counted again here for whatever method.
        """
        for column in origin:
            if column in self.record:
                raise InputError(f"column {column!r}", "is part of the records' id", "swap other columns")
        found = dict(self.origin)
        for column, moved in origin.items():
            self.microdata.check_column(column, "swapping")
            if not np.array_equal(np.sort(moved), np.arange(len(self.key))):
                raise InputError(
                    f"column {column!r}", "values would be lost or doubled", "mend the method: move by permutations"
                )
            found[column] = self.origin[column][moved] if column in self.origin else np.asarray(moved, np.int64)
        if step.margins is not None:
            self._check_kept(step.margins, origin, step.method)
        return dataclasses.replace(self, origin=found, steps=(*self.steps, step))

    def _check_kept(self, margins: Margins, origin: Mapping[str, Integers], method: str) -> None:
        """Counts each margin as it stands and as it will; of one column alone, a permutation leaves all counts as they are."""
        counted = [margin for margin in margins.sets if len(margin) > 1 and not origin.keys().isdisjoint(margin)]
        names = [name for name in margins.variables if any(name in margin for margin in counted)]
        now = dict(zip(names, self.coded(names), strict=True))
        then = {
            name: Coded(column.categories, column.codes[origin[name]]) if name in origin else column
            for name, column in now.items()
        }
        for margin in counted:
            before, after = (_together([held[name] for name in margin]) for held in (now, then))
            if not (np.array_equal(before.codes, after.codes) and np.array_equal(before.counts, after.counts)):
                raise InputError(f"margin {' × '.join(margin)}", f"did not stay under {method}", "mend the method")

    def tallies(self, margins: Margins, *, true: bool = False) -> dict[tuple[str, ...], Combinations]:
        """For each margin the combinations of codes that occur, and how many records have each."""
        coded = dict(zip(margins.variables, self.coded(margins.variables, true=true), strict=True))
        return {margin: _together([coded[name] for name in margin]) for margin in margins.sets}

    def kept(self) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
        """The margins that some step kept: those that are as they were at first, counted again, and those others changed."""
        kept: list[tuple[str, ...]] = []
        changed: list[tuple[str, ...]] = []
        for margin in dict.fromkeys(margin for step in self.steps if step.margins is not None for margin in step.margins.sets):
            alone = Margins.of(margin, [margin])
            now, then = self.tallies(alone)[margin], self.tallies(alone, true=True)[margin]
            (kept if _alike(now, then) else changed).append(margin)
        return kept, changed

    def combinations(self, variables: Sequence[str], *, true: bool = False) -> Combinations:
        """The different combinations of codes in these variables, and which one each record has, in the order of keys."""
        return _together(self.coded(variables, true=true))


def _together(coded: Sequence[Coded]) -> Combinations:
    codes = np.stack([column.codes for column in coded], axis=1)
    return combinations(codes, [len(column.categories) for column in coded])


def _alike(one: Combinations, other: Combinations) -> bool:
    """Whether the same combinations occur, each as often."""
    return np.array_equal(one.codes, other.codes) and np.array_equal(one.counts, other.counts)
