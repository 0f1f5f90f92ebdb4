"""Swapping with fixed margins: risky records exchange values so that the published margins stay exactly as they are."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from discreet.errors import InputError, ParameterError, near, some
from discreet.method import check_params, param
from discreet.microdata.protect.swap.choose import Choice
from discreet.microdata.protect.swap.edits import Edits
from discreet.microdata.protect.swap.further import swap_further
from discreet.microdata.protect.swap.larger import LargerSwaps
from discreet.microdata.protect.swap.margin_foreseen import MarginForeseen, margin_foreseen
from discreet.microdata.protect.swap.orders import positions
from discreet.microdata.protect.swap.pairs import Exchange
from discreet.microdata.protect.swap.places import Places
from discreet.model.combinations import Combinations, combinations
from discreet.model.encoded import Coded
from discreet.model.margins import Margins
from discreet.model.noise import mixed
from discreet.model.swap_file import SwapFile, Swapped

__all__ = ["MarginSwap"]

WIDEST = 62
"""Variables; sets of them are numbers of 64 bits."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class MarginSwap:
    """Records that stand out exchange values with others, and all given margins stay exactly as they are.

    Let the graph of the margins have an edge between any two variables that stand in one margin.  Records i and j, which differ
    in the variables D, can exchange their values on a side E of D, with something of D on either side, exactly if no margin
    holds variables of both sides: E is a union of components of the graph on D.  Record i then has j's values on E, and keeps
    all its other values and all other columns, and j likewise.  No variable of ``stay`` is in E; between the sides that this
    leaves the distance decides: the sum over E of that between both codes, 1 for codes without order.  A column that is named
    in ``travel`` moves with its variable; all others stay.  Empty codes are a category like any other.

    A record is risky if at most ``at_most`` records have its combination of ``keys``.  For each, the ``candidates`` best
    exchanges are sought, and of all of these, disjoint pairs are chosen together, by a matching that changes as many risky
    records as it can at the least distance in all (or the largest).  That is repeated, then also with records that have moved,
    until no more of them change.  Those that no pair can change take part in a swap of up to ``records`` records, if there is
    one.  With more than 1,000 risky records, so many are matched at a time.

    Guards against: finding a person by a rare combination of keys and reading its other values; being certain that such a
    combination in the released file is that of a person.
    Does not guard against: what the margins themselves tell, also of records that they prove to exist, which no swap can
    change; values of the side that stays, which are still together; a second release of the same records with other swaps.
    """

    NAME: ClassVar[str] = "margin-swap"
    SOURCE: ClassVar[str] = (
        "Takemura, Hara (2007), Conditions for swappability of records in a microdata set when some marginals are fixed, "
        "Computational Statistics 22; Dalenius, Reiss (1982), Data-swapping, JSPI 6(1)"
    )

    variables: tuple[str, ...] = param(doc="the columns that may move, and those on which margins, keys and edits depend")
    margins: tuple[Any, ...] = param(doc="the margins that stay exactly as they are, each a list of variables")
    keys: tuple[str, ...] = param((), "the key variables: records that few others are like in all of them are risky")
    at_most: int = param(1, "a record is risky if at most so many records have its combination of keys", at_least=1)
    effect: str = param(
        "keys",
        "what a swap must do to a risky record: break up its combination of keys, or change the record in any way",
        choices=("keys", "any"),
    )
    stay: tuple[str, ...] = param((), "variables that never leave their record's other columns, and so stay together")
    travel: Mapping[str, Any] | None = param(None, "other columns that move with a variable, as column = variable")
    forbid: tuple[Any, ...] = param((), "edits: combinations that no record may get, as variable = code or list of codes")
    distance: str = param("least", "whether swaps change as little as they can or as much", choices=("least", "most"))
    order: Mapping[str, Any] | None = param(
        None, "variables whose codes have an order, as variable = list of codes, or 'numbers' where they are numbers"
    )
    candidates: int = param(50, "how many exchanges are considered for each risky record", at_least=1)
    records: int = param(2, "the most records of one swap, of those that no pair can change", at_least=2)
    seconds: float = param(60.0, "time for all swaps of more than two records together", unit="s", above=0)
    rate: float = param(
        0.0, "further records swap by chance until this share of all has changed", unit="share", at_least=0, at_most=1
    )

    def __post_init__(self) -> None:
        check_params(self)
        for name in ("variables", "keys", "stay"):
            listed = getattr(self, name)
            if len(set(listed)) < len(listed):
                raise ParameterError(f"{self.NAME}.{name}", "names a column twice", "name each column once")
        if not 2 <= len(self.variables) <= WIDEST:
            raise ParameterError(f"{self.NAME}.variables", f"takes 2 to {WIDEST} columns", "name the columns that may move")
        travel, order = dict(self.travel or {}), dict(self.order or {})
        named = {"keys": self.keys, "stay": self.stay, "travel": tuple(map(str, travel.values())), "order": tuple(order)}
        for name, listed in named.items():
            for variable in listed:
                if variable not in self.variables:
                    problem = f"{variable!r} is not among the variables{near(variable, self.variables)}"
                    raise ParameterError(f"{self.NAME}.{name}", problem, f"the variables are: {some(self.variables, 40)}")
        if shared := sorted(set(travel) & set(self.variables)):
            problem = f"{shared[0]!r} is a variable, and moves by itself"
            raise ParameterError(f"{self.NAME}.travel", problem, "name other columns")
        if not self.keys and not self.rate:
            raise ParameterError(self.NAME, "no record is to be swapped", "name keys, by which records are risky, or a rate")
        if self.effect == "keys" and len(self.keys) < 2:
            problem = "a combination of fewer than two keys cannot be broken up"
            raise ParameterError(f"{self.NAME}.effect", problem, "name more keys, or take effect = 'any'")
        try:
            Margins.of(self.variables, self.margins)
        except InputError as error:
            raise ParameterError(f"{self.NAME}.margins", f"{error.where} {error.problem}", error.fix) from None

    def foreseen(self, file: SwapFile, /) -> MarginForeseen:
        """How many records are risky, and how many of them no swap of two records can change; nothing is changed.

        Errors: InputError for a column that is not there.
        """
        for column in self.variables:
            file.microdata.check_column(column, self.NAME)
        margins = Margins.of(self.variables, [*self.margins, *([self.stay] if self.stay else [])])
        return margin_foreseen(file, margins, self.keys, self.at_most, math.ceil(self.rate * len(file.key) - 1e-9))

    def apply(self, file: SwapFile, /) -> SwapFile:
        """The file with the risky records, and further ones, swapped; all margins are counted again.

        Facts tell how many records were risky, changed, proved impossible to change, or left, and why.

        Errors: InputError for a column that is not there or is part of the records' id, a variable with codes that its order
        does not list, and where the package rustworkx is not installed; ParameterError for an edit that cannot be used.
        """
        for column in (*self.variables, *(self.travel or {})):
            file.microdata.check_column(column, self.NAME)
            if column in file.record:
                raise InputError(f"column {column!r}", "is part of the records' id", "swap other columns")
        coded = file.coded(self.variables)
        sizes = [len(column.categories) for column in coded]
        exchange = self._exchange(coded)
        key = (mixed(f"{self.NAME} {len(file.steps)}", file.key) >> np.uint64(1)).astype(np.int64)
        places = Places(np.stack([column.codes for column in coded], axis=1), key)
        at = [self.variables.index(name) for name in self.keys]
        alike = combinations(places.start[:, at], [sizes[v] for v in at])
        risky = (alike.counts <= self.at_most)[alike.of] if self.keys else np.zeros(len(key), bool)
        larger = LargerSwaps(places, exchange, self.records, self.seconds) if self.records > 2 else None
        choice = Choice(places, exchange, sizes, risky, most=self.candidates, larger=larger)
        choice.run()
        free = ~places.changed(list(range(len(sizes))))
        swap_further(places, exchange, sizes, free, math.ceil(self.rate * len(key) - 1e-9) - int((~free).sum()))
        step = Swapped(
            method=self.NAME,
            columns=(*self.variables, *(self.travel or {})),
            margins=Margins.of(self.variables, self.margins),
            facts=self._facts(choice, alike, at),
        )
        origin = {name: places.origin[:, v] for v, name in enumerate(self.variables)}
        origin |= {column: origin[variable] for column, variable in (self.travel or {}).items()}
        moved = {column: origin[column] for column in step.columns if (origin[column] != np.arange(len(key))).any()}
        return file.moved(moved, dataclasses.replace(step, columns=tuple(moved)))

    def _exchange(self, coded: Sequence[Coded]) -> Exchange:
        """What is allowed, by the positions of variables and codes."""

        def bits(names: Sequence[str]) -> int:
            return sum(1 << self.variables.index(name) for name in names)

        together = [self.stay] if self.stay else []
        place = {}
        for variable, order in (self.order or {}).items():
            v = self.variables.index(variable)
            place[v] = positions(f"{self.NAME}.order", variable, order, coded[v])
        return Exchange(
            margins=Margins.of(self.variables, [*self.margins, *together]),
            keys=bits(self.keys) if self.effect == "keys" else 0,
            stay=bits(self.stay),
            edits=Edits.of(self.NAME, self.forbid, self.variables, coded),
            place=place,
            far=self.distance == "most",
        )

    def _facts(self, choice: Choice, alike: Combinations, at: list[int]) -> dict[str, int | float | str]:
        """What came of the risky records, and how much has changed."""
        places, changed = choice.places, choice.changed
        records = len(places.key)
        found: dict[str, int | float | str] = {"records": records}
        if self.keys:
            told = Counter(choice.told.get(r, "others") for r in np.flatnonzero(choice.risky & ~changed).tolist())
            both = combinations(
                np.concatenate([places.start[:, at], places.codes[:, at]]), [alike.sizes[v] for v in range(len(at))]
            )
            rare = np.unique(both.of[:records][choice.risky])
            found |= {
                "risky records": int(choice.risky.sum()),
                "risky records changed": int(changed.sum()),
                "risky records that no swap can change": told["impossible"],
                "risky records without an allowed swap": told["no swap"],
                "risky records undecided in time": told["undecided"],
                "risky records whose partners others took": told["others"],
                "rare combinations of keys": len(rare),
                "rare combinations of keys that still occur": len(np.intersect1d(rare, both.of[records:])),
            }
        if self.rate:
            found["records to change"] = math.ceil(self.rate * records - 1e-9)
        moved = places.codes != places.start
        return found | {"records changed": int(moved.any(axis=1).sum()), "values changed": int(moved.sum())}
