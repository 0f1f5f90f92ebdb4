"""What rounding and noise cost the reader of a release: how far the shown numbers lie from the true ones.

The figures here are for the data steward: a deviation added to the shown number *is* the true one.  The report tells only
what many cells have in common (``report/perturbation.py``).
"""

from __future__ import annotations

import dataclasses

import numpy as np

from discreet.loss.lines import lines_of
from discreet.loss.relations import Additivity, Association, Order, additivity, associations, orders
from discreet.loss.spread import PROBABILITIES, Spread, round_steps
from discreet.model.contributions import Floats, Integers
from discreet.model.table import Table

__all__ = ["RELATIVE_EDGES", "Deviation", "PerturbationLoss", "perturbation_loss"]

RELATIVE_EDGES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
"""The classes of relative deviations."""


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class Deviation:
    """How far the numbers t that one group of cells shows lie from their values a.  Confidential.

    ``variable`` and ``level`` name the group (empty and -1: all cells).  ``cells`` are shown; of these, ``perturbed`` show
    another number than their value, or the same by chance, and ``changed`` really differ.  Over all shown cells:
    ``absolute`` spreads t - a, ``relative`` (t - a) / abs(a) where a is not 0, ``root`` sqrt(t) - sqrt(a) (with the
    sign of a negative number before its root).  ``size`` sums abs(a).  Of the perturbed cells, ``zeros`` show 0 and
    ``false_zeros`` of them hold something; ``nonzeros`` show something and ``false_nonzeros`` of them hold 0.
    """

    variable: str = ""
    level: int = -1
    cells: int
    perturbed: int
    changed: int
    size: float
    absolute: Spread
    relative: Spread
    root: Spread
    zeros: int
    false_zeros: int
    nonzeros: int
    false_nonzeros: int

    def __repr__(self) -> str:
        where = f"{self.variable} level {self.level}: " if self.variable else ""
        return f"Deviation({where}{self.perturbed} of {self.cells} shown cells perturbed)"

    @property
    def share(self) -> float:
        """Sum of abs(t - a) as a share of the sum of abs(a)."""
        return self.absolute.mean_size * self.cells / self.size if self.size else 0.0

    @property
    def hellinger(self) -> float:
        """The Hellinger distance sqrt(½ Σ (sqrt(t) - sqrt(a))²)."""
        return self.root.root_mean_square * float(np.sqrt(self.cells / 2)) if self.cells else 0.0

    @property
    def hellinger_utility(self) -> float:
        """1 - Hellinger distance / sqrt(Σ abs(a)): 1 where nothing changes."""
        return 1 - self.hellinger / float(np.sqrt(self.size)) if self.size else 1.0

    def row(self) -> dict[str, object]:
        """Plain values, for a frame of your choice."""
        plain = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        spreads = {name: plain.pop(name) for name in ("absolute", "relative", "root")}
        for name, spread in spreads.items():
            plain |= {f"{name}_{what}": getattr(spread, what) for what in ("mean", "mean_size", "root_mean_square", "largest")}
            plain |= {f"{name}_q{100 * at:g}": size for at, size in zip(PROBABILITIES, spread.quantiles, strict=True)}
        return plain | {what: getattr(self, what) for what in ("share", "hellinger", "hellinger_utility")}


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PerturbationLoss:
    """The information lost by showing other numbers than the true ones.  Confidential.

    Cells that show no number are left out.  ``total`` all shown cells, margins too; ``inner`` the cells that no
    other cell is a part of; ``by_level`` a group for each level of each spanning variable.  ``additivity``, ``orders`` and
    ``associations`` say whether the table still adds up, ranks and relates as it did.  ``cell`` lists the shown cells and
    ``deviation`` how far each lies from its value.
    """

    total: Deviation
    inner: Deviation
    by_level: tuple[Deviation, ...]
    additivity: Additivity
    orders: tuple[Order, ...]
    associations: tuple[Association, ...]
    cell: Integers
    deviation: Floats

    def __repr__(self) -> str:
        return f"PerturbationLoss({self.total.perturbed} of {self.total.cells} shown cells perturbed)"

    def rows(self) -> list[dict[str, object]]:
        """Every group as a row of plain values, for a frame of your choice."""
        return [group.row() for group in (self.total, self.inner, *self.by_level)]


def perturbation_loss(table: Table) -> PerturbationLoss:
    """Compare the numbers that the table shows with its values; numbers as shown, before any rounding at the release."""
    measure = _Measure(table)
    shown = np.flatnonzero(~np.isnan(measure.number))
    inner = np.ones(table.cells, bool)
    inner[table.equations.indices[table.equations.data < 0]] = False
    by_level = []
    for variable, _, level, number, cells in lines_of(table):
        here = ~np.isnan(measure.number[cells])
        at, cells = level[number[here]], cells[here]
        for one in range(int(level.max()) + 1):
            group = np.flatnonzero(np.bincount(cells[at == one], minlength=table.cells))
            if group.size:
                by_level.append(measure.of(group, variable=variable, level=one))
    return PerturbationLoss(
        total=measure.of(shown),
        inner=measure.of(shown[inner[shown]]),
        by_level=tuple(by_level),
        additivity=additivity(table),
        orders=orders(table),
        associations=associations(table),
        cell=shown,
        deviation=measure.absolute[shown],
    )


class _Measure:
    """The deviations of each cell, and their spread over groups of cells."""

    def __init__(self, table: Table) -> None:
        self.number = table.numbers
        self.perturbed = table.perturbed
        self.value = table.value
        self.absolute = self.number - table.value
        with np.errstate(divide="ignore", invalid="ignore"):
            self.relative = self.absolute / np.abs(table.value)
        self.root = _root(self.number) - _root(table.value)
        whole = table.decimals == 0
        self.steps = {"absolute": self._steps(self.absolute, whole=whole), "root": self._steps(self.root, whole=False)}

    @staticmethod
    def _steps(deviation: Floats, *, whole: bool) -> tuple[float, ...]:
        """Classes up to the size that one cell in a hundred exceeds, the same for every group."""
        sizes = np.abs(deviation[~np.isnan(deviation)])
        sizes = sizes[sizes > 0]
        return round_steps(float(np.quantile(sizes, 0.99)) if sizes.size else 0.0, whole=whole)

    def of(self, cells: Integers, **name: str | int) -> Deviation:
        """What happened to a group of shown cells."""
        number, value, perturbed = self.number[cells], self.value[cells], self.perturbed[cells]
        absolute = self.absolute[cells]
        zero, held = perturbed & (number == 0), value != 0
        return Deviation(
            **name,  # type: ignore[arg-type]  # the two names of a group, a text and a number
            cells=len(cells),
            perturbed=int(perturbed.sum()),
            changed=int((absolute != 0).sum()),
            size=float(np.abs(value).sum()),
            absolute=Spread.of(absolute, self.steps["absolute"]),
            relative=Spread.of(self.relative[cells[held]], RELATIVE_EDGES),
            root=Spread.of(self.root[cells], self.steps["root"]),
            zeros=int(zero.sum()),
            false_zeros=int((zero & held).sum()),
            nonzeros=int((perturbed & ~zero).sum()),
            false_nonzeros=int((perturbed & ~zero & ~held).sum()),
        )


def _root(number: Floats) -> Floats:
    return np.asarray(np.sign(number) * np.sqrt(np.abs(number)))
