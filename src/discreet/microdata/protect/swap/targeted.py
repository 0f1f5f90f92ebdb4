"""Targeted record swapping: households that stand out where they live change places with others like them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError, ParameterError
from discreet.method import check_params, param
from discreet.microdata.protect.swap.donors import donors, drawn, elsewhere
from discreet.microdata.protect.swap.households import Alike, Households, alike, households
from discreet.model.contributions import Integers
from discreet.model.margins import Margins
from discreet.model.swap_file import SwapFile, Swapped

__all__ = ["Foreseen", "TargetedSwap"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Foreseen:
    """What targeted swapping would have to do, known before it is done: numbers of households.

    ``forced`` tells for each column of the geography how many have a member like fewer than ``k`` persons in their area of
    this level, and not yet in one of a coarser level; ``alone`` of those how many are like no household in another area, under
    any profile, and so have no donor; ``asked`` how many the rate asks for.
    """

    k: int
    rate: float
    households: int
    forced: Mapping[str, int]
    alone: int
    asked: int

    @property
    def total(self) -> int:
        """How many households are forced."""
        return sum(self.forced.values())

    @property
    def share(self) -> float:
        """Which share of all households is forced."""
        return self.total / self.households if self.households else 0.0

    def __str__(self) -> str:
        levels = ", ".join(f"{count:,} by {column}" for column, count in self.forced.items() if count)
        told = f"{self.total:,} of {self.households:,} households ({self.share:.1%}) must swap for k = {self.k}"
        if self.total:
            told += f": {levels}; with their donors up to {min(2 * self.total, self.households):,} will"
        if self.alone:
            told += f"; {self.alone:,} of them are like none elsewhere and cannot"
        if self.rate:
            told += f"; the rate of {self.rate:g} asks for {self.asked:,}"
        return f"{told}, and k decides how many swap" if self.total > self.asked else told


@dataclasses.dataclass(frozen=True, kw_only=True)
class TargetedSwap:
    """Households that stand out where they live exchange their places with households that are like them elsewhere.

    For a person and a level of the ``geography``, let n be the number of persons in the same area of the level with the same
    ``risk`` variables; the risk of a household is the largest 1/n of its members.  Level by level, from coarse to fine, every
    household with a member of n < ``k`` that has not swapped yet asks for a donor.  At the finest level further ones then ask,
    drawn in proportion to their risk, until a share ``rate`` of all households has swapped, forced ones and donors counted.
    A donor has not swapped yet, lies outside the area at that level, and is like the household under a profile: its
    members have, all together, the same codes in these columns, and so are as many.  Profiles are tried in their order, and
    for each first the nearest larger area; among those that fit, donors are drawn in proportion to their risk.

    All columns of the geography, and those to ``carry``, are exchanged person by person between members with the same codes in
    the profile: the whole household moves, at most once and never within its area.  So these tables stay exactly as they are,
    of persons and of households: those without geography and carried columns, and those of geography, carried columns and what
    all profiles that were used have in common, the number of members in any case.  Risk is that of the file as it comes in.
    Empty codes are codes like any other.  If k forces more households to swap than the rate asks for, they do: see
    :meth:`foreseen`.

    Guards against: finding somebody by what is rare where they live; certainty that a person who stands out in a small area
    lives there.
    Does not guard against: finding those who stand out anywhere, as with a combination that is rare in the whole file; what
    stays with a household and tells its place, such as its number; households that found no donor, which facts count.  How
    columns outside the profiles go together with areas is damaged, in small areas most.
    """

    NAME: ClassVar[str] = "targeted-swap"
    SOURCE: ClassVar[str] = (
        "Shlomo, Tudor, Groom (2010), Data swapping for protecting census tables, Privacy in Statistical Databases, LNCS 6344; "
        "targeted record swapping as in the censuses of England and Wales"
    )

    household: str = param(doc="the column that tells households apart")
    geography: tuple[str, ...] = param(doc="the columns of areas that are exchanged, from coarse to fine")
    risk: tuple[str, ...] = param(doc="the columns by which persons may be found in their area")
    k: int = param(3, "households with a member like fewer than so many persons in its area must swap", at_least=1)
    profiles: tuple[Any, ...] = param(
        ((),), "in what a donor must be alike, each a list of columns, tried in order; [] is the number of members alone"
    )
    rate: float = param(0.05, "households swap until this share of all has", unit="share", at_least=0, at_most=1)
    carry: tuple[str, ...] = param((), "other columns that go with the geography")
    donors: str = param(
        "nearest",
        "where donors come from: the nearest larger area with one that fits, or anywhere outside the area",
        choices=("nearest", "anywhere"),
    )

    def __post_init__(self) -> None:
        check_params(self)
        for name in ("geography", "risk", "profiles"):
            if not getattr(self, name):
                raise ParameterError(f"{self.NAME}.{name}", "is empty", "name at least one")
        if self.k == 1 and not self.rate:
            raise ParameterError(self.NAME, "no household is to be swapped", "take a larger k, or a rate")
        self._check_columns("geography", self.geography)
        self._check_columns("carry", self.carry, moves=self.geography)
        self._check_columns("risk", self.risk, moves=self._moving)
        for i, profile in enumerate(self.profiles, 1):
            if isinstance(profile, str) or not all(isinstance(column, str) for column in profile):
                problem = f"profile {i} is no list of columns"
                raise ParameterError(f"{self.NAME}.profiles", problem, "write [['size', 'tenure'], ['size']]")
            self._check_columns(f"profiles, profile {i}", profile, moves=self._moving)
            for j, earlier in enumerate(self.profiles[: i - 1], 1):
                if set(earlier) <= set(profile):
                    problem = f"profile {i} holds all of profile {j}, and finds no donor that this one does not"
                    raise ParameterError(f"{self.NAME}.profiles", problem, "put profiles of more columns first")

    def _check_columns(self, name: str, columns: Sequence[str], moves: Sequence[str] = ()) -> None:
        where = f"{self.NAME}.{name}"
        if len(set(columns)) < len(columns):
            raise ParameterError(where, "names a column twice", "name each column once")
        if self.household in columns:
            raise ParameterError(where, f"names {self.household!r}, which tells households apart", "leave it out")
        if shared := [column for column in columns if column in moves]:
            raise ParameterError(where, f"names {shared[0]!r}, which moves already", "name columns that stay")

    @property
    def _moving(self) -> tuple[str, ...]:
        return (*self.geography, *self.carry)

    def foreseen(self, file: SwapFile) -> Foreseen:
        """How many households k forces to swap, against what the rate asks for; nothing is swapped.

        Errors: InputError for a column that is not there, persons without a household, and households in several areas.
        """
        held, same = self._held(file)
        return self._foreseen(held, same)

    def apply(self, file: SwapFile, /) -> SwapFile:
        """The file with places exchanged; the tables that stay are counted again.

        Facts tell how many households were forced, level by level, and could not; how many swapped, by which profile, and how
        many of them left their area of each level.

        Errors: as for :meth:`foreseen`, and InputError where the rate asks for less than one pair and k for none, and where no
        household that should swap has a donor.
        """
        held, same = self._held(file)
        foreseen = self._foreseen(held, same)
        if not foreseen.total and self.rate and not foreseen.asked:
            problem = f"a share of {self.rate:g} of {foreseen.households} households is less than one pair"
            raise InputError(f"{self.NAME}.rate", problem, "take a larger rate")
        swaps = _Swaps(self, held, same, f"{self.NAME} {len(file.steps)}")
        swaps.run(foreseen.asked)
        if foreseen.total + foreseen.asked and not swaps.swapped.any():
            problem = "no household that should swap is like another outside its area"
            raise InputError(f"{self.NAME}.profiles", problem, "add a profile of fewer or coarser columns")
        used = [tuple(profile) for p, profile in enumerate(self.profiles) if (swaps.profile == p).any()]
        common = [column for column in (used or self.profiles)[0] if all(column in profile for profile in used)]
        others = list(dict.fromkeys([*(column for profile in self.profiles for column in profile), *self.risk]))
        margins = Margins.of((*self._moving, *others), [(*self._moving, *common), others])
        step = Swapped(method=self.NAME, columns=self._moving, margins=margins, facts=swaps.facts(foreseen))
        return file.moved(dict.fromkeys(self._moving, swaps.origin()), step)

    def _held(self, file: SwapFile) -> tuple[Households, list[Alike]]:
        columns = (self.household, *self._moving, *self.risk, *(column for profile in self.profiles for column in profile))
        for column in columns:
            file.microdata.check_column(column, self.NAME)
        held = households(file, self.household, self.geography, self.risk)
        return held, [alike(file, held, profile) for profile in self.profiles]

    def _foreseen(self, held: Households, same: Sequence[Alike]) -> Foreseen:
        forced = held.forced(self.k)
        first = np.argmax(forced, axis=1)[forced.any(axis=1)]
        counts = np.bincount(first, minlength=len(self.geography))
        everyone, finest = np.ones(len(held.key), bool), len(self.geography) - 1
        found = np.logical_or.reduce([elsewhere(held, one, everyone, finest) for one in same])
        return Foreseen(
            k=self.k,
            rate=self.rate,
            households=len(held.key),
            forced=dict(zip(self.geography, counts.tolist(), strict=True)),
            alone=int((forced.any(axis=1) & ~found).sum()),
            asked=2 * math.floor(self.rate * len(held.key) / 2 + 1e-9),
        )


class _Swaps:
    """The swaps as they go on: for each household its ``partner``, itself while it has none, and by which profile."""

    def __init__(self, method: TargetedSwap, held: Households, same: Sequence[Alike], purpose: str) -> None:
        self.method, self.held, self.same, self.purpose = method, held, same, purpose
        self.partner = np.arange(len(held.key))
        self.profile = np.full(len(held.key), -1)

    @property
    def swapped(self) -> NDArray[np.bool_]:
        return self.profile >= 0

    def run(self, asked: int) -> None:
        """The forced households, level by level, then further ones until so many households have swapped."""
        forced, finest = self.held.forced(self.method.k), len(self.method.geography) - 1
        for level in range(finest + 1):
            self._exchange(forced[:, level], level, f"{self.purpose} forced")
        more = 0
        while (pairs := (asked - int(self.swapped.sum())) // 2) > 0:
            free = ~self.swapped
            can = np.flatnonzero(np.logical_or.reduce([elsewhere(self.held, one, free, finest) for one in self.same]))
            if not len(can):
                break
            asking = np.zeros(len(free), bool)
            risk = 1 / self.held.fewest[can, finest]
            asking[can[drawn(risk, self.held.key[can], pairs, f"{self.purpose} rate {more}")]] = True
            self._exchange(asking, finest, f"{self.purpose} more {more}")
            more += 1

    def _exchange(self, asking: NDArray[np.bool_], level: int, purpose: str) -> None:
        """Finds donors for those that ask: profile by profile, and for each from the nearest larger area outwards."""
        nearest = range(level - 1, -1, -1) if self.method.donors == "nearest" else ()
        for p, same in enumerate(self.same):
            for within in (*nearest, None):
                free = ~self.swapped
                if not (left := asking & free).any():
                    return
                told = f"{purpose} {level} {p} {within}"
                partner = donors(self.held, same, left, free, level, within, told)
                found = partner != np.arange(len(partner))
                self.partner[found], self.profile[found] = partner[found], p

    def origin(self) -> Integers:
        """For each person the one whose place it gets."""
        origin = np.arange(len(self.held.of))
        for p, same in enumerate(self.same):
            moves = np.flatnonzero(self.profile == p)
            size = self.held.size[moves]
            member = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
            own = np.repeat(same.first[moves], size) + member
            other = np.repeat(same.first[self.partner[moves]], size) + member
            origin[same.members[own]] = same.members[other]
        return origin

    def facts(self, foreseen: Foreseen) -> dict[str, int | float | str]:
        """What was forced, and what came of it."""
        swapped, count = self.swapped, foreseen.households
        forced = self.held.forced(self.method.k).any(axis=1)
        found: dict[str, int | float | str] = {"households": count, "persons": len(self.held.of)}
        found |= {f"households forced by {column}": number for column, number in foreseen.forced.items()}
        found |= {
            "households forced": foreseen.total,
            "households forced and like none elsewhere": foreseen.alone,
            "households forced and swapped": int((forced & swapped).sum()),
            "households that the rate asks for": foreseen.asked,
            "households swapped": int(swapped.sum()),
            "share of households swapped": float(swapped.sum() / count) if count else 0.0,
            "persons swapped": int(self.held.size[swapped].sum()),
        }
        for level, column in enumerate(self.method.geography):
            area = self.held.at(level)
            found[f"households that left their {column}"] = int((area != area[self.partner]).sum())
        for p, profile in enumerate(self.method.profiles):
            name = " × ".join(profile) or "the number of members"
            found[f"households swapped by {name}"] = int((self.profile == p).sum())
        return found
