"""Released counts as they are, where the matrices leave the true ones unchanged on average."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from discreet.errors import InputError
from discreet.inference.estimates import Estimates, normal_estimates
from discreet.inference.survey import Survey, columns_of
from discreet.inference.tally import Tally, tally
from discreet.model.contributions import Floats, Integers
from discreet.model.randomised import Randomised
from discreet.model.released import ReleasedFile

__all__ = ["invariant_counts"]


def invariant_counts(
    file: ReleasedFile, by: str | Sequence[str], *, weight: str | None = None, level: float = 0.95
) -> Estimates:
    """The released counts N of one variable with invariant matrices, which estimate the true ones without any correction.

    ``E(N) = Pᵀ T = T``, and ``V̂(N) = Σ_k S_k (diag(p_k) − p_k p_kᵀ)``, given the true file: p_k the rows of the matrix, S the
    estimated true counts (N itself) or sums of squared weights.  They vary less than the corrected counts.  Matrices chosen by
    strata leave the counts of each stratum unchanged, so that ``by`` may name these columns beside those of the variable.

    Errors: InputError where invariance does not hold: for other columns, for a second randomised variable, for weighted counts
    where the matrices were made for those of the sample, and for unweighted ones where they were made for the population.

    Source: Gouweleeuw et al. (1998), Post randomisation for statistical disclosure control, JOS 14(4), section 4.
    """
    by = columns_of(by)
    sums = tally(file, by, Survey.of(file, weight, None, ()))
    variable = _checked(sums, by, weighted=weight is not None)
    layout, table, variance = sums.layout, np.zeros(sums.layout.shape), np.zeros(sums.layout.shape)
    for part, squares in _spread(sums, plain=weight is None and variable.together is None):
        forward = layout.forward(part)
        forward.add_to(variance, squares)
        forward.times(forward).add_to(variance, -squares)
        layout.naive(part).add_to(table, _dense(sums, part, sums.first[0]))

    def joint(cells: Integers) -> Floats:
        found = np.zeros((len(cells), len(cells)))
        for part, squares in _spread(sums, plain=weight is None and variable.together is None):
            rows = np.unravel_index(np.arange(squares.size), squares.shape)
            axes = layout.forward(part).indicators(rows, np.unravel_index(cells, layout.shape), range(len(layout.shape)))
            chances, s = math.prod(axes[1:], start=axes[0]), np.ravel(squares)
            found += np.where(cells[:, None] == cells, s @ chances, 0.0) - chances.T @ (s[:, None] * chances)
        return found

    return normal_estimates(
        what="released counts" if weight is None else f"released counts weighted with {weight}",
        by=by,
        axes=layout.axes,
        estimate=table,
        variance=variance,
        naive=table,
        level=level,
        source="randomisation, given the true file; the matrices are invariant",
        notes=sums.notes,
        joint=joint,
    )


def _checked(sums: Tally, by: Sequence[str], *, weighted: bool) -> Randomised:
    """The one variable asked for, where its invariance extends to the whole table."""
    variables = dict.fromkeys(sums.layout.variables)
    fix = "take estimate_counts, which corrects the released counts"
    if len(variables) != 1:
        problem = f"{len(variables)} randomised variables are asked for, and invariance holds for one at a time"
        raise InputError("table", problem, fix)
    (variable,) = variables
    if not variable.invariant:
        raise InputError(variable.name, "its matrices are not invariant", fix)
    others = [column for column in by if column not in (*variable.columns, *variable.strata)]
    if others:
        raise InputError(variable.name, f"its invariance does not extend to a crossing with {', '.join(others)}", fix)
    counts = "population" if weighted else "sample"
    if variable.invariant != counts:
        problem = f"its matrices are invariant for {variable.invariant} counts, and those of the {counts} are asked for"
        raise InputError(variable.name, problem, fix)
    return variable


def _spread(sums: Tally, *, plain: bool) -> Iterator[tuple[int, Floats]]:
    """For each stratum the estimated true counts, or sums over draws of squared weights, of all categories."""
    squares = sums.second[0][0] if sums.together is None else sums.first[0] ** 2
    for part in np.unique(sums.part).tolist():
        released = _dense(sums, part, squares)
        yield part, released if plain else sums.layout.singly().factors(part).along(released)


def _dense(sums: Tally, part: int, numbers: Floats) -> Floats:
    found = sums.dense(part, numbers)
    return np.zeros(sums.layout.inner) if found is None else found
