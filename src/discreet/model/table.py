"""The table: cells on one axis, linear equations between them, and how much each cell is protected."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from discreet.errors import InputError, ParameterError, some
from discreet.model.contributions import Contributions, Floats, Integers
from discreet.model.insiders import known_to_insiders
from discreet.model.intruder import Intruder
from discreet.model.layout import Knowledge, Layout
from discreet.model.noise import UnitNoise

__all__ = ["SensitivityRule", "Status", "Step", "Table"]

Bools = NDArray[np.bool_]


class Status(enum.IntEnum):
    """How much a cell is protected; a method can only raise it."""

    OPEN = 0
    SECONDARY = 1
    PRIMARY = 2


@runtime_checkable
class SensitivityRule(Protocol):
    """What the audit needs of a rule, to judge sums of hidden cells by the same words."""

    NAME: Any

    def sensitive(self, contributions: Contributions, /) -> Bools:
        """Which rows fail the rule."""
        ...


@dataclasses.dataclass(frozen=True, kw_only=True)
class Step:
    """One line of a table's history: no value, weight or key, only what was done and counts."""

    method: str
    what: str
    counts: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    seconds: float = 0.0


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Table:
    """An immutable table of cells; arrays of shape (cells,) unless said otherwise.

    ``value`` exact sums rounded once to a float; ``decimals`` how many the values have;
    ``equations @ value == 0`` with +1 for parts and -1 for their total, shape (equations, cells);
    ``frozen`` must be published (a-priori or structural); ``exempt`` declared safe beforehand, rules pass it over;
    ``listed`` False for cells that are not published although nothing protects them (a total left out);
    ``fired`` bit r is set where ``rules[r]`` found the cell sensitive;
    ``upper_protection`` etc. how far from the true value the intruder's bounds must stay at least;
    ``published_decimals`` decimals of the release where it shall have fewer than the exact sums;
    ``unit_noise`` that of which ``contributions.noise`` is the sum, where they hold any;
    ``lower``/``upper`` a-priori bounds known for single cells, NaN where the intruder's general knowledge counts;
    ``shown`` the number that the release shows instead of the value (rounded, or with noise), NaN for every other cell;
    ``shown_low``/``shown_high`` what that number and the published rules of the method tell of the value (infinite: nothing);
    ``shown_error`` the standard error of a number shown with noise, NaN where chance plays no part;
    ``intruder`` knows that counts are whole numbers unless it is declared otherwise.
    """

    layouts: tuple[Layout, ...]
    response: str
    kind: str
    value: Floats
    decimals: int
    contributions: Contributions
    equations: sparse.csr_array
    cost: Floats
    status: NDArray[np.int8]
    frozen: Bools
    exempt: Bools
    listed: Bools
    fired: NDArray[np.uint64]
    upper_protection: Floats
    lower_protection: Floats
    sliding_protection: Floats
    lower: Floats
    upper: Floats
    shown: Floats
    shown_low: Floats
    shown_high: Floats
    shown_error: Floats
    rules: tuple[Any, ...] = ()
    knowledge: tuple[Knowledge, ...] = ()
    intruder: Intruder = dataclasses.field(default_factory=Intruder)
    published_decimals: int | None = None
    unit_noise: UnitNoise | None = None
    history: tuple[Step, ...] = ()

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            array = getattr(self, field.name)
            if isinstance(array, np.ndarray):
                if len(array) != len(self.value):
                    raise InputError(f"Table.{field.name}", f"has {len(array)} entries for {len(self.value)} cells")
                array.setflags(write=False)
        told = (self.shown_low > self.value + self.unit / 2) | (self.shown_high < self.value - self.unit / 2)
        if (told & self.perturbed).any():
            cell = self.label(int(np.flatnonzero(told & self.perturbed)[0]))
            raise InputError("Table.shown", f"the value of {cell} lies outside what its shown number is said to tell of it")
        if self.intruder.integer is None:
            whole = self.kind == "frequency" and self.decimals == 0
            object.__setattr__(self, "intruder", dataclasses.replace(self.intruder, integer=whole))
        if self.published_decimals is not None and not 0 <= self.published_decimals <= self.decimals:
            raise ParameterError(
                "published_decimals",
                f"is {self.published_decimals}, but the values have {self.decimals}",
                "publish no more decimals than there are, and no fewer than 0",
            )

    @classmethod
    def of(
        cls,
        layouts: tuple[Layout, ...],
        value: ArrayLike,
        contributions: Contributions,
        equations: sparse.csr_array,
        **given: Any,
    ) -> Table:
        """A table in which nothing is protected yet; ``given`` overrides any field."""
        values = np.array(value, float)
        cells = len(values)
        fields: dict[str, Any] = {
            "response": "value",
            "kind": "magnitude",
            "decimals": 0,
            "cost": np.abs(values),
            "status": np.zeros(cells, np.int8),
            "frozen": np.zeros(cells, bool),
            "exempt": np.zeros(cells, bool),
            "listed": np.ones(cells, bool),
            "fired": np.zeros(cells, np.uint64),
            "upper_protection": np.zeros(cells),
            "lower_protection": np.zeros(cells),
            "sliding_protection": np.zeros(cells),
            "lower": np.full(cells, np.nan),
            "upper": np.full(cells, np.nan),
            "shown": np.full(cells, np.nan),
            "shown_low": np.full(cells, -np.inf),
            "shown_high": np.full(cells, np.inf),
            "shown_error": np.full(cells, np.nan),
        } | given
        return cls(layouts=layouts, value=values, contributions=contributions, equations=equations, **fields)

    # ---------------------------------------------------------------- looking at it

    def __repr__(self) -> str:
        tables = ", ".join(" × ".join(layout.variables) for layout in self.layouts)
        perturbed = f", {int(self.perturbed.sum())} perturbed" if self.perturbed.any() else ""
        return (
            f"Table({self.response} by {tables}: {self.cells} cells, {self.equations.shape[0]} equations, "
            f"{int(self.primary.sum())} primary, {int(self.secondary.sum())} secondary{perturbed})"
        )

    @property
    def cells(self) -> int:
        """The number of different cells."""
        return len(self.value)

    @property
    def primary(self) -> Bools:
        """Cells that a sensitivity rule or the user found sensitive."""
        return np.asarray(self.status == Status.PRIMARY)

    @property
    def secondary(self) -> Bools:
        """Cells hidden to protect others."""
        return np.asarray(self.status == Status.SECONDARY)

    @property
    def perturbed(self) -> Bools:
        """Cells that show another number than their value: rounded, or with noise."""
        return ~np.isnan(self.shown)

    @property
    def suppressed(self) -> Bools:
        """Primary or secondary, and not shown perturbed."""
        return np.asarray((self.status != Status.OPEN) & ~self.perturbed)

    @property
    def unknown(self) -> Bools:
        """Cells whose value the release does not show: suppressed, not listed, or perturbed."""
        return self.suppressed | ~self.listed | self.perturbed

    @property
    def judged(self) -> Bools:
        """Cells that must not be recomputed: suppressed ones, and the perturbed ones that ``intruder.perturbed`` names."""
        return self.suppressed | (self.perturbed & (self.primary | (self.intruder.perturbed == "all")))

    @property
    def numbers(self) -> Floats:
        """The number that the release shows of each cell before any rounding at the release; NaN where it shows none."""
        kept = np.where(self.unknown, np.nan, self.value)
        return np.where(self.perturbed, self.shown, kept)

    @property
    def unit(self) -> float:
        """One unit of the last decimal of the exact values."""
        return float(10.0**-self.decimals)

    def label(self, cell: int) -> str:
        """The codes of a cell, for messages: ``nace=C, region=North``."""
        for layout in self.layouts:
            lines = np.flatnonzero(layout.cell == cell)
            if lines.size:
                codes = layout.codes[lines[0]]
                parts = [
                    f"{name}={hierarchy.codes[code]}"
                    for name, hierarchy, code in zip(layout.variables, layout.hierarchies, codes, strict=True)
                ]
                return ", ".join(parts)
        return f"cell {cell}"

    def cell(self, codes: Mapping[str, str] | None = None, /, *, table: str | None = None, **more: str) -> int:
        """The cell with these codes (a variable left out means its total)."""
        wanted = dict(codes or {}) | more
        for layout in self.layouts:
            if table is None or layout.name == table:
                line = layout.line(wanted)
                if line is not None:
                    return int(layout.cell[line])
        raise InputError("table", f"no cell with codes {wanted}", "use codes that occur in the table")

    # ---------------------------------------------------------------- changing it

    def replace(self, **changes: Any) -> Table:
        """A copy with other fields.  Statuses are raised with the ``with_`` methods, never here."""
        return dataclasses.replace(self, **changes)

    def with_intruder(self, intruder: Intruder) -> Table:
        """The same table under other assumptions about the intruder."""
        return self.replace(intruder=intruder)

    def with_step(self, method: str, what: str, seconds: float = 0.0, **counts: Any) -> Table:
        """The same table with one more line of history."""
        return self.replace(history=(*self.history, Step(method=method, what=what, counts=counts, seconds=seconds)))

    def with_primary(
        self,
        rule: Any,
        sensitive: Bools,
        *,
        upper: ArrayLike = 0.0,
        lower: ArrayLike | None = None,
        sliding: ArrayLike = 0.0,
    ) -> Table:
        """Raise cells to PRIMARY and remember which rule fired; exempt and empty frozen cells are passed over.

        Protection levels given by several rules: the larger one holds.  ``lower`` defaults to ``upper``.
        """
        hit = np.asarray(sensitive, bool) & ~self.exempt
        clash = np.flatnonzero(hit & self.frozen)
        if clash.size:
            raise InputError(
                rule.NAME,
                f"{clash.size} cells are sensitive and at the same time forced to be published: "
                f"{some((self.label(int(c)) for c in clash), 3)}",
                "declare them safe a priori (status = 'safe') or do not force them to be published",
                details=[self.label(int(c)) for c in clash],
            )
        up = np.broadcast_to(np.asarray(upper, float), hit.shape)
        low = up if lower is None else np.broadcast_to(np.asarray(lower, float), hit.shape)
        slide = np.broadcast_to(np.asarray(sliding, float), hit.shape)
        bit = np.uint64(1) << np.uint64(len(self.rules))
        return self._hidden(hit).replace(
            status=np.where(hit, Status.PRIMARY, self.status).astype(np.int8),
            fired=np.where(hit, self.fired | bit, self.fired),
            rules=(*self.rules, rule),
            upper_protection=np.where(hit, np.maximum(self.upper_protection, up), self.upper_protection),
            lower_protection=np.where(hit, np.maximum(self.lower_protection, low), self.lower_protection),
            sliding_protection=np.where(hit, np.maximum(self.sliding_protection, slide), self.sliding_protection),
            history=(
                *self.history,
                Step(method=rule.NAME, what="primary suppression", counts={"sensitive": int(hit.sum())}),
            ),
        )

    def with_secondary(self, method: str, hide: Bools, seconds: float = 0.0, **counts: Any) -> Table:
        """Raise open cells to SECONDARY; a frozen cell is refused."""
        hide = np.asarray(hide, bool) & (self.status == Status.OPEN)
        clash = np.flatnonzero(hide & (self.frozen | ~self.listed))
        if clash.size:
            raise InputError(method, f"cell {self.label(int(clash[0]))} must be published and cannot be hidden")
        added = {"secondary": int(hide.sum())} | counts
        return self._hidden(hide).replace(
            status=np.where(hide, Status.SECONDARY, self.status).astype(np.int8),
            history=(*self.history, Step(method=method, what="secondary suppression", counts=added, seconds=seconds)),
        )

    def _hidden(self, cells: Bools) -> Table:
        """The same table without the perturbed numbers of these cells, which are to be hidden."""
        gone = cells & self.perturbed
        return self.replace(shown=np.where(gone, np.nan, self.shown)) if gone.any() else self

    def with_shown(
        self,
        method: str,
        shown: Floats,
        *,
        low: ArrayLike = -np.inf,
        high: ArrayLike = np.inf,
        error: ArrayLike = np.nan,
        seconds: float = 0.0,
        **counts: Any,
    ) -> Table:
        """Show another number than the value where ``shown`` is not NaN, also in cells that are suppressed so far.

        ``low``/``high`` bound the value as a reader who knows the method can; ``error`` the standard error of the number.
        A cell is perturbed once: numbers built on numbers would give no bounds and no error that hold.
        """
        new = ~np.isnan(np.asarray(shown, float))
        again = np.flatnonzero(new & (self.perturbed | ~self.listed))
        if again.size:
            why = "is perturbed already" if self.perturbed[again[0]] else "is not listed"
            raise InputError(
                method, f"cell {self.label(int(again[0]))} {why}", "use one method that rounds or adds noise a table"
            )

        def put(before: Floats, after: ArrayLike) -> Floats:
            return np.where(new, np.asarray(after, float), before)

        given = {"shown": shown, "shown_low": low, "shown_high": high, "shown_error": error}
        changed = self.replace(**{name: put(getattr(self, name), numbers) for name, numbers in given.items()})
        return changed.with_step(method, "perturbation", seconds, perturbed=int(new.sum()), **counts)

    # ---------------------------------------------------------------- what must stay unknown

    def bounds(self) -> tuple[Floats, Floats]:
        """What the intruder knows beforehand of each cell: lower and upper bound, always holding the true value."""
        know = self.intruder
        low = self.floor()
        high = np.full(self.cells, np.inf)
        if know.nonempty and self.kind == "frequency":
            low = np.maximum(low, np.where(self.contributions.n > 0, 1.0, -np.inf))
        if know.prior is not None:
            near = know.prior / 100 * np.abs(self.value)
            low, high = np.maximum(low, self.value - near), np.minimum(high, self.value + near)
        low = np.where(np.isnan(self.lower), low, np.minimum(self.lower, self.value))
        high = np.where(np.isnan(self.upper), high, np.maximum(self.upper, self.value))
        told = self.perturbed
        low = np.where(told, np.maximum(low, np.minimum(self.shown_low, self.value)), low)
        return low, np.where(told, np.minimum(high, np.maximum(self.shown_high, self.value)), high)

    def floor(self) -> Floats:
        """0 where values are known not to be negative: by declaration, or since no value and no contribution is.

        Counts never are; of a response whose contributions are not held (the rules look at a shadow) the values must do.
        """
        sums, declared = self.contributions, self.intruder.nonnegative
        unseen = self.kind == "frequency" or bool((np.abs(sums.total - self.value) > self.unit).any())
        found = (self.value >= 0).all() and (unseen or np.isclose(sums.absolute, sums.total, rtol=1e-9, atol=0).all())
        return np.where((self.value >= 0) & (found if declared is None else declared), 0.0, -np.inf)

    def rounded(self) -> dict[str, int]:
        """How many cells have more digits than a float holds, for the table's history; nothing where none has."""
        count = int((np.abs(self.value) >= 2**53 * self.unit).sum())
        return {"cells of more than 15 digits, whose last ones are rounded": count} if count else {}

    def exactness(self) -> Floats:
        """The width below which a cell counts as known exactly: a unit of the last published decimal; hidden, a millionth."""
        shown = self.decimals if self.published_decimals is None else self.published_decimals
        return np.maximum(10.0**-shown, np.where(self.perturbed, 0.0, 1e-6 * np.abs(self.value)))

    def needs(self) -> tuple[Floats, Floats, Floats]:
        """How far up, how far down and how wide the interval of each judged cell must reach (0 for other cells).

        Downwards never below 0 where values are known not to be negative.
        """
        levels = self.primary & self.intruder.levels
        floor = self.floor()
        up = np.where(levels, self.upper_protection, 0.0)
        down = np.where(levels, np.minimum(self.lower_protection, self.value - floor), 0.0)
        width = np.where(self.judged, np.maximum(levels * self.sliding_protection, self.exactness()), 0.0)
        return up, down, width

    def insiders(self, *, unlisted: bool = False) -> tuple[Integers, ...]:
        """Groups of unknown cells (unlisted ones only if ``unlisted``) known to one contributor or the pair in a cell of two.

        Each array lists the cells whose value the insider can write down before looking at the release: those of which it
        makes up all contributors, and what follows of their parts and totals.
        """
        if self.intruder.insiders == "none":
            return ()
        most = 1 if self.intruder.insiders == "singletons" else 2
        kept_back = self.suppressed | self.perturbed
        among = self.unknown if unlisted else kept_back
        return tuple(cells[among[cells]] for cells in known_to_insiders(self.contributions, self.equations, kept_back, most))
