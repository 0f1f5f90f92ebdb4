"""How closely sensitive cells can be estimated from numbers that are published with noise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.audit.shared_noise import shared_noise
from discreet.audit.system import SHORT
from discreet.model.contributions import Floats, Integers
from discreet.model.finding import Finding
from discreet.model.table import Table

__all__ = ["estimate_errors", "estimate_findings"]


def estimate_findings(table: Table) -> tuple[int, list[Finding]]:
    """How many sensitive cells can be estimated from numbers with noise, and those estimated more closely than they may be.

    The standard error of the best estimate must be at least the larger one of the protection levels up and down, and half the
    sliding one: an intruder who takes it for a normal error is then wrong by more than that level about once in three times.
    """
    error = estimate_errors(table)
    up, down, _ = table.needs()
    demand = np.maximum(np.maximum(up, down), table.intruder.levels * table.primary * table.sliding_protection / 2)
    judged = np.isfinite(error) & (demand > 0)
    failed = np.flatnonzero(judged & (error < demand * (1 - SHORT)))
    return int(judged.sum()), [Finding(kind="estimate", cell=int(cell)) for cell in failed]


def estimate_errors(table: Table) -> Floats:
    """The standard error of the best estimate of each sensitive cell, infinite where none follows from a single equation.

    Cell c of an equation Σ s_j y_j = 0 whose other cells are all shown is estimated by ŷ_c = −Σ_{j≠c} s_j z_j / s_c, z_j the
    shown numbers, with V(ŷ_c) = A + B − 2θ·min(A, B), in which A and B are Σ s_j² V(z_j) / s_c² over the other cells on the
    side of c and on the opposite side of the equation (the parts and their total).  Exact numbers have V = 0.  A cell that
    is shown with noise itself is estimated by its own number too, unless its method states bounds: then the feasibility
    interval says what the number tells.

    The numbers of different parts are taken for independent.  That of a total is not: where noise belongs to
    contributors, the parts carry some of the same noise and it cancels out.  θ between 0 (independent) and 1 (the noise of
    the parts is that of the total) is measured where an intruder can measure it too, see :func:`_follows`; it is 0 for
    counts, whose noise belongs to cells.  For single equations with less in common than the average θ overstates what is
    learnt.  Where more can be in common, as the same large contributors stand in the total and in a part, the error is taken to
    be as small as they can make it (see :func:`shared_noise`), but not smaller than the estimate is off in fact.

    Where several cells on the same side are hidden, this estimates their sum.  It counts for each sensitive one of them if a
    rule finds the sum sensitive: whoever knows the others of its few contributors is no further off.
    """
    noisy = table.perturbed & np.isfinite(table.shown_error)
    usable = ~table.unknown | noisy
    endless = np.isinf(table.shown_high - table.shown_low)
    variance = np.where(noisy, table.shown_error, 0.0) ** 2
    error = np.where(table.primary & noisy & endless, table.shown_error, np.inf)
    targets = table.primary & (table.suppressed | noisy)
    if not (targets.any() and noisy.any()):
        return error
    equations = sparse.csr_array(table.equations)
    size = equations.shape[0]
    row = np.repeat(np.arange(size), np.diff(equations.indptr))
    cell, factor = equations.indices, equations.data

    def in_row(amount: Floats | NDArray[np.bool_]) -> Floats:
        return np.asarray(np.bincount(row, amount, minlength=size), float)

    spread = factor**2 * variance[cell]
    above, below = in_row(spread * (factor > 0)), in_row(spread * (factor < 0))
    unseen = ~usable[cell]
    count = in_row(unseen)
    theta = 0.0 if table.kind == "frequency" else _follows(equations, table, count == 0, above, below)
    alike = np.abs(in_row(unseen * np.sign(factor))) == count
    others_noisy = in_row(noisy[cell])[row] - noisy[cell] > 0
    entry = np.flatnonzero(targets[cell] & ((count[row] == unseen) | (unseen & alike[row])) & others_noisy)
    entry = entry[(count[row[entry]] <= 1) | _sensitive_sums(table, equations, usable, row[entry])]
    beside = np.maximum(np.where(factor > 0, above[row], below[row])[entry] - spread[entry], 0)
    across = np.where(factor > 0, below[row], above[row])[entry]
    least, every = np.minimum(beside, across), beside + across
    rows, which = np.unique(row[entry], return_inverse=True)
    shared = np.minimum(shared_noise(table, equations, spread, rows)[which], least)
    noise = factor * np.where(noisy, table.numbers - table.value, 0.0)[cell]
    off = in_row(noise)[row[entry]] - noise[entry]
    known = [np.sqrt(np.maximum(every - 2 * common, 0)) for common in (theta * least, shared)]
    left = np.minimum(known[0], np.maximum(known[1], np.abs(off)))
    np.minimum.at(error, cell[entry], left / np.abs(factor[entry]))
    return error


def _sensitive_sums(table: Table, equations: sparse.csr_array, usable: NDArray[np.bool_], rows: Integers) -> NDArray[np.bool_]:
    """For each of these equations whether a rule finds the sum of its hidden cells sensitive."""
    rules = [rule for rule in table.rules if getattr(rule, "unions", True)] if table.intruder.unions else []
    names, which = np.unique(rows, return_inverse=True)
    entries = [equations.indices[equations.indptr[name] : equations.indptr[name + 1]] for name in names]
    groups = [cells[~usable[cells]].astype(np.int64) for cells in entries]
    told = np.zeros(len(groups), bool)
    several = np.flatnonzero([len(group) > 1 for group in groups])
    if several.size and rules:
        sums = table.contributions.union([groups[i] for i in several])
        told[several] = np.any([rule.sensitive(sums) for rule in rules], axis=0)
    return told[which]


def _follows(equations: sparse.csr_array, table: Table, whole: NDArray[np.bool_], above: Floats, below: Floats) -> float:
    """How much of the noise of totals is that of their parts: θ, measured where all cells of an equation are shown.

    The gap g = Σ s_j z_j of such an equation is public, and E g² = A + B − 2θ·min(A, B).  With r = 2·min(A, B)/(A + B) least
    squares give θ = Σ r(1 − g²/(A + B)) / Σ r².  Its standard error under independence, √(2/Σ r²), is added to it, so that
    few equations are taken for θ = 1.
    """
    size = above + below
    kept = whole & (np.minimum(above, below) > 0)
    alike = 2 * np.minimum(above, below)[kept] / size[kept]
    weight = float((alike**2).sum())
    if weight == 0:
        return 1.0
    gap = (equations[kept] @ np.nan_to_num(table.numbers)) ** 2 / size[kept]
    return float(np.clip((alike * (1 - gap)).sum() / weight + np.sqrt(2 / weight), 0, 1))
