"""Made-up cells for attacks: declared contributions, random record keys, and the numbers that a method shows of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from discreet.errors import InputError, ParameterError
from discreet.model.contributions import Contributions, Floats, Integers
from discreet.model.noise import HALF, UnitNoise
from discreet.model.table import Table

__all__ = ["PROFILES", "Cells", "Perturbing", "Profile", "attackable", "paper"]

ALL, PAPER = 2**32, 1000
"""How many keys there are: of 32 bits, or those of the paper's hash."""

FEWEST = 12
"""Fewer units would leave cells so small, once two are taken out, that methods do not publish them."""

BATCH = 100_000
"""How many cells are perturbed at a time."""

LARGER = 8

_DECIMALS = {"magnitude": 9, "frequency": 0}


class Perturbing(Protocol):
    """A method that shows other numbers than the true ones.

    Looked at where it has them: ``ranks_needed`` largest contributions, the ``unit_noise`` that each unit carries, the
    ``minimum`` of units for a cell to be shown, and a ``hash`` that begins with "paper".
    """

    def apply(self, table: Table, /) -> Table:
        """The table with the numbers that are shown."""
        ...


@dataclasses.dataclass(frozen=True, kw_only=True)
class Profile:
    """The contributions of an imagined cell, largest first; of a count each is 1."""

    name: str
    what: str
    contributions: tuple[float, ...]
    kind: str = "magnitude"

    def __post_init__(self) -> None:
        x = np.array(self.contributions, float)
        if self.kind not in _DECIMALS:
            raise ParameterError("Profile.kind", f"{self.kind!r} is not magnitude or frequency")
        if len(x) < FEWEST:
            raise ParameterError(
                "Profile.contributions", f"are {len(x)}, fewer than {FEWEST}", "give more, small ones at the end"
            )
        if not np.isfinite(x).all() or (x <= 0).any() or (np.diff(x) > 0).any():
            raise ParameterError("Profile.contributions", "are not positive and largest first", "sort them, leave out zeros")
        if self.kind == "frequency" and (x != 1).any():
            raise ParameterError("Profile.contributions", "of a count are not all 1", "give 1 for each unit")

    @property
    def units(self) -> int:
        """How many units contribute."""
        return len(self.contributions)


PROFILES = (
    Profile(
        name="graded",
        what="sizes that fall off slowly, as in most cells that are not sensitive",
        contributions=(100, 60, 40, 20, 18, 16, 15, 14, 13, 12, 10, 5),
    ),
    Profile(
        name="dominant",
        what="one unit with about two thirds of the cell",
        contributions=(400, 60, 40, 20, 18, 16, 15, 14, 13, 12, 10, 5),
    ),
    Profile(name="even", what="units of about the same size", contributions=(30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19)),
    Profile(name="count", what="20 people, each counted once", contributions=(1,) * 20, kind="frequency"),
)
"""Cells made up for attacks; none of them is a real one."""


class Cells:
    """Replicates of an imagined cell: the record keys of its units, and of small units more.

    There is at least one small unit, and so many that the cell without two units still has as many as the method demands.  A
    *row* is the cell with all units, as an array of their keys; the last unit is one of the small ones.
    """

    def __init__(self, method: Perturbing, profile: Profile, *, replicates: int, seed: int) -> None:
        if replicates < 1:
            raise ParameterError("replicates", "is less than 1", "give a whole number of at least 1")
        more = max(1, int(getattr(method, "minimum", 0)) + 2 - profile.units)
        small = profile.contributions[-1] / (1 if profile.kind == "frequency" else 2)
        self.x = np.array([*profile.contributions, *[small] * more], float)
        self.total = float(self.x.sum())
        self._method, self._kind = method, profile.kind
        self._most = PAPER if paper(method) else ALL
        self._chance = np.random.default_rng(seed)
        self._keys = self._draw((replicates, len(self.x)))

    def _draw(self, shape: tuple[int, ...]) -> Integers:
        return self._chance.integers(0, self._most, shape)

    def beside(self, pairs: int) -> Integers:
        """Rows of shape (replicates, pairs, units): the same units each time, but another small one."""
        rows = np.repeat(self._keys[:, np.newaxis], pairs, axis=1)
        rows[..., -1] = self._draw(rows.shape[:2])
        return rows

    def among_others(self, unit: int, pairs: int) -> Integers:
        """Rows in which only this unit's key stays, and all others are drawn anew each time."""
        rows = self._draw((len(self._keys), pairs, len(self.x)))
        rows[..., unit] = self._keys[:, [unit]]
        return rows

    def with_key(self, unit: int, key: int) -> Integers:
        """One row a replicate, in which this unit has this key."""
        rows = self.beside(1)
        rows[..., unit] = key
        return rows

    def perturbed(self, rows: Integers, left_out: Sequence[Sequence[int]]) -> Table:
        """The table of each row without the units left out, as the method gives it back."""
        return self._method.apply(_table(self._method, self._kind, self.x, rows.reshape(-1, len(self.x)), left_out))

    def numbers(self, rows: Integers, left_out: Sequence[Sequence[int]]) -> Floats:
        """What the method shows of each row without the units left out, shape (replicates, pairs, cells)."""
        flat, step = rows.reshape(-1, len(self.x)), max(1, BATCH // len(left_out))
        parts = [self.perturbed(flat[at : at + step], left_out).numbers for at in range(0, len(flat), step)]
        shown = np.concatenate(parts)
        if np.isnan(shown).any():
            raise InputError(
                "attack", "the method does not publish cells like those of this profile", "choose a profile with more units"
            )
        return shown.reshape(*rows.shape[:2], len(left_out))


def paper(method: Perturbing) -> bool:
    """Whether the method works on the paper's hash, with keys below 1000."""
    return str(getattr(method, "hash", "")).startswith("paper")


def attackable(method: Perturbing, profile: Profile) -> bool:
    """Whether the method shows every cell like this profile with noise of a known standard error.

    And of magnitudes, noise that grows with the contributions: other noise, as that of random rounding, is as much or as
    little in per cent as the made-up contributions are large or small.
    """
    sizes = [1] if profile.kind == "frequency" else [1, LARGER]
    errors = []
    for size in sizes:
        scaled = dataclasses.replace(profile, contributions=tuple(size * x for x in profile.contributions))
        cells = Cells(method, scaled, replicates=8, seed=1)
        try:
            done = cells.perturbed(cells.beside(1), [[], [0, 1]])
        except (InputError, ParameterError):
            return False
        if not (done.perturbed & np.isfinite(done.shown_error)).all():
            return False
        errors.append(float(done.shown_error.sum()))
    return errors[-1] > 0 and errors[-1] * 2 > errors[0] * sizes[-1]


def _table(method: Perturbing, kind: str, x: Floats, keys: Integers, left_out: Sequence[Sequence[int]]) -> Table:
    """A table of the cells of each row: all units, less those left out of each cell."""
    units, wide = len(x), max(len(x), int(getattr(method, "ranks_needed", 0)))
    place = np.full((len(left_out), wide), units)
    for cell, gone in enumerate(left_out):
        stay = np.delete(np.arange(units), list(gone))
        place[cell, : len(stay)] = stay
    padded_x, padded_keys = np.append(x, 0.0), np.append(keys, np.zeros((len(keys), 1), np.int64), axis=1)
    top = np.broadcast_to(padded_x[place], (len(keys), *place.shape)).reshape(-1, wide)
    top_key = padded_keys[:, place].reshape(-1, wide)
    held = np.tile(place < units, (len(keys), 1))
    given: dict[str, Any] = {"key": top_key.sum(axis=1) % 2**32}
    unit_noise = getattr(method, "unit_noise", None)
    if unit_noise is not None:
        given |= {"noise": _unit_noise(unit_noise, top, top_key), "squares": (top**2).sum(axis=1)}
    if kind == "magnitude":
        names = place + units * np.arange(len(keys))[:, np.newaxis, np.newaxis]
        given |= {"top": top, "top_key": top_key, "top_id": np.where(held, names.reshape(-1, wide), -1)}
    count, total = held.sum(axis=1).astype(float), top.sum(axis=1)
    contributions = Contributions.of(count, total, **given)
    nothing = sparse.csr_array((0, len(total)))
    return Table.of((), total, contributions, nothing, kind=kind, decimals=_DECIMALS[kind], unit_noise=unit_noise)


def _unit_noise(unit_noise: UnitNoise, top: Floats, key: Integers) -> Floats:
    """Σ ε_i x_i of each cell, which stands for an inner cell of its own."""
    noise = unit_noise.noise.of_key(key)
    if unit_noise.direction == "balanced":
        first = np.where(key[:, :1] < HALF, -1.0, 1.0)
        noise = np.abs(noise) * first * np.where(np.arange(key.shape[1]) % 2, -1.0, 1.0)
    return np.asarray((noise * top).sum(axis=1), float)
