"""Controlled rounding."""

from __future__ import annotations

import dataclasses
import time
from typing import ClassVar, NoReturn

import numpy as np

from discreet.errors import InputError, NotProtectedError
from discreet.method import check_params, param
from discreet.model.showing import sensitive_cells, to_show
from discreet.model.table import Table
from discreet.tables.rounding.controlled_search import Answer, Choice, search
from discreet.tables.rounding.parts import in_reading_order
from discreet.tables.rounding.scheme import Scale

__all__ = ["ControlledRounding"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ControlledRounding:
    """Round each cell to one of its neighbouring multiples of a base, such that the table still adds up.

    A value ``a = b·u + r``, 0 ≤ r < b, is shown as ``b·v`` with v = u or u + 1, and v = u where r = 0 (zero-restricted
    rounding); with ``steps`` K > 0 it may go K multiples further either way, not below 0 where no value is.  All equations hold
    for the v, those of hierarchies and of linked tables too, and ``Σ \\|b·v − a\\|`` over the shown cells is as small as can be
    found.

    Tables of two variables without hierarchy always have such a rounding, and one linear program finds it; small tables are
    one integer program; in larger ones a first rounding is improved part by part, and what is found after ``rounds`` parts,
    when the ``gap`` is small enough, or at ``time_limit``, is taken.  The history tells the gap to the best that
    any rounding could be, and whether it is proved optimal.  All but the ``time_limit`` counts work, not seconds, so that every
    machine finds the same.  Hidden cells are rounded inside, to keep the sums, and stay hidden; as the sums may give what they
    were rounded to, the audit takes it that readers know it.

    Readers can tell that a value is less than b (with ``steps``, (K + 1)·b) away from its number, and the audit knows
    it too; that sums hold tells nothing more, as they hold for the numbers, not for what is left out.

    Guards against: small counts and exact values, and differences between numbers of one table, which hold exactly.
    Does not guard against: other tables of the same records that are rounded for themselves, whose ranges can be cut with
    these; values that all are multiples of the base, which stay.
    """

    NAME: ClassVar[str] = "controlled-rounding"
    SOURCE: ClassVar[str] = (
        "Cox (1987), A constructive procedure for unbiased controlled rounding, JASA 82; "
        "Salazar, Staggermeier and Bycroft (2005), Controlled rounding implementation"
    )

    base: float = param(5.0, "the number of which multiples are shown", above=0)
    steps: int = param(0, "how many multiples further than the neighbouring ones a cell may go", at_least=0, at_most=100)
    rounds: int = param(400, "how many parts of a large table are improved at most", at_least=1)
    gap: float = param(1.0, "the search may end when no rounding saves more than this", unit="% of the distance", at_least=0)
    time_limit: float | None = param(None, "seconds after which the best rounding found so far is taken", unit="s", above=0)
    sensitive: str = sensitive_cells()

    def __post_init__(self) -> None:
        check_params(self)

    def apply(self, table: Table, /) -> Table:
        """The table with every cell shown as a multiple of the base.

        Errors: NotProtectedError where no such rounding exists, or none was found; ParameterError for a base with more
        decimals than the table; InputError for a table with perturbed cells.
        """
        start = time.perf_counter()
        if table.perturbed.any():
            problem = f"{int(table.perturbed.sum())} cells are perturbed already, and sums with these would not hold"
            raise InputError(self.NAME, problem, "use one method that rounds or adds noise a table")
        base, shift = float(Scale.of(table).whole(self.base, f"{self.NAME}.base")), table.unit
        show = to_show(table, self.sensitive)
        order, equations = in_reading_order(table)
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        value = np.rint(table.value[order] / shift)
        below = np.floor(value / base)
        rest = value - base * below
        low, high = below - self.steps, below + (rest > 0) + self.steps
        low = np.where(table.floor()[order] == 0, np.maximum(low, 0.0), low)
        grid = Choice(base=base, below=below, rest=rest, low=low, high=high, counted=show[order])
        layouts = [dataclasses.replace(layout, cell=place[layout.cell]) for layout in table.layouts]
        limit = np.inf if self.time_limit is None else self.time_limit
        answer = search(equations, grid, layouts, rounds=self.rounds, gap=self.gap / 100, time_limit=limit)
        if answer.v is None:
            self._refuse(answer)
        rounded = np.empty(table.cells)
        rounded[order] = np.round(answer.v * base * shift, table.decimals) + 0.0
        reach = (self.steps + 1) * base * shift - shift
        low, high = np.maximum(rounded - reach, np.where(table.floor() == 0, 0.0, -np.inf)), rounded + reach
        counts = {"proved optimal": int(answer.outcome == "optimal"), "gap in per cent": round(100 * answer.gap, 2)}
        if answer.outcome == "time limit":
            counts["ended at the time limit"] = 1
        table = table.replace(
            lower=np.where(show, table.lower, np.fmax(table.lower, low)),
            upper=np.where(show, table.upper, np.fmin(table.upper, high)),
        )
        shown, seconds = np.where(show, rounded, np.nan), time.perf_counter() - start
        return table.with_shown(self.NAME, shown, low=low, high=high, seconds=seconds, **counts)

    def _refuse(self, answer: Answer) -> NoReturn:
        more = f"let cells go further: steps = {self.steps + 1}"
        if answer.outcome == "infeasible":
            raise NotProtectedError(self.NAME, f"no rounding with steps = {self.steps} keeps all sums, which is proved", more)
        spent = "in time" if answer.outcome == "time limit" else f"in {self.rounds} rounds"
        raise NotProtectedError(self.NAME, f"found no rounding that keeps all sums {spent}", f"{more}, or allow more work")
