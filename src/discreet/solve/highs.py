"""The HiGHS backend: one shot for linear and integer programs, and a program that stays loaded for many warm solves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from discreet.errors import SolverError
from discreet.solve.problem import Floats, Outcome, Program, Result

__all__ = ["WarmProgram", "solve"]

_SEED = 1
_STATUS: dict[str, Result] = {
    "kOptimal": "optimal",
    "kModelEmpty": "optimal",
    "kInfeasible": "infeasible",
    "kUnbounded": "unbounded",
    "kTimeLimit": "time limit",
    "kInterrupt": "time limit",
    "kSolutionLimit": "work limit",
}
_FEASIBLE = 2  # HiGHS: the status of a primal or dual solution that is feasible
_threads_in_use: int | None = None


def solve(
    program: Program,
    *,
    time_limit: float | None = None,
    nodes: int | None = None,
    solutions: int | None = None,
    start: Floats | None = None,
    threads: int = 1,
    mip_gap: float = 0.0,
) -> Outcome:
    """Minimise a linear or integer program.

    A time limit is an outcome (``"time limit"``, with the best point and bound so far), not an error.  ``nodes`` limits the
    branching of an integer program (``"work limit"``), which ends at the same point on every machine; 0 only presolves;
    so does a number of ``solutions``, each better than the last.  ``start`` is a feasible point known beforehand.
    """
    highs = _highs(threads)
    _load(highs, program)
    if nodes is not None:
        highs.setOptionValue("mip_max_nodes", int(nodes))
    if solutions is not None:
        highs.setOptionValue("mip_max_improving_sols", int(solutions))
    if start is not None:
        known = _module().HighsSolution()
        known.col_value, known.value_valid = np.asarray(start, np.float64), True
        highs.setSolution(known)
    highs.setOptionValue("mip_rel_gap", float(mip_gap))
    highs.setOptionValue("mip_abs_gap", 1e-9 if mip_gap == 0 else 1e-6)
    return _run(highs, time_limit, integer=_is_integer(program))


class WarmProgram:
    """A continuous program that is loaded once and solved many times, each from where the last one ended.

    ``minimise`` and ``maximise`` change only the cost, so the last vertex stays feasible and primal simplex
    goes on from it; changes of bounds or rows are repaired by dual simplex (``method="dual"``).
    ``duals=False`` leaves the duals out of the outcome, which is quicker for large programs.
    """

    def __init__(self, program: Program, *, threads: int = 1, method: str = "primal", duals: bool = True) -> None:
        if _is_integer(program):
            raise ValueError("a WarmProgram is continuous; use solve() for integer programs")
        self._highs = _highs(threads)
        _load(self._highs, program)
        self._highs.setOptionValue("presolve", "off")
        self._highs.setOptionValue("solver", "simplex")
        self.method = method
        self.duals = duals
        self._costly = np.flatnonzero(program.cost).astype(np.int32)
        self.columns: int = program.matrix.shape[1]
        self.rows: int = program.matrix.shape[0]
        self.solves = 0

    def minimise(self, index: int, coefficient: float = 1.0, *, time_limit: float | None = None) -> Outcome:
        """The least of ``coefficient * x[index]``; all other costs are set to 0."""
        self._aim(np.array([index]), np.array([coefficient]))
        return self.solve(time_limit=time_limit)

    def maximise(self, index: int, coefficient: float = 1.0, *, time_limit: float | None = None) -> Outcome:
        """The most of ``coefficient * x[index]``; all other costs are set to 0.  Duals are those of the maximum."""
        self._aim(np.array([index]), np.array([-coefficient]))
        found = self.solve(time_limit=time_limit)
        return Outcome(
            status=found.status,
            objective=-found.objective,
            x=found.x,
            row_dual=None if found.row_dual is None else -found.row_dual,
            column_dual=None if found.column_dual is None else -found.column_dual,
            bound=-found.bound,
            gap=found.gap,
            ray=found.ray,
        )

    def set_cost(self, cost: ArrayLike) -> None:
        """A new cost for every column."""
        values = np.ascontiguousarray(cost, np.float64)
        self._highs.changeColsCost(self.columns, np.arange(self.columns, dtype=np.int32), values)
        self._costly = np.flatnonzero(values).astype(np.int32)

    def set_bounds(self, index: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> None:
        """New bounds of one column or of several."""
        which, low, high = _stretch(index, lower, upper)
        self._highs.changeColsBounds(len(which), which, low, high)

    def set_row_bounds(self, index: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> None:
        """New bounds of one row or of several."""
        which, low, high = _stretch(index, lower, upper)
        for row, least, most in zip(which.tolist(), low.tolist(), high.tolist(), strict=True):
            self._highs.changeRowBounds(row, least, most)

    def add_rows(self, matrix: Any, lower: ArrayLike, upper: ArrayLike) -> None:
        """More rows, ``lower <= matrix @ x <= upper``; the last basis is kept."""
        csr = sparse.csr_array(matrix, dtype=np.float64)
        rows = csr.shape[0]
        _, low, high = _stretch(np.arange(rows), lower, upper)
        starts, index = csr.indptr[:-1].astype(np.int32), csr.indices.astype(np.int32)
        self._highs.addRows(rows, low, high, csr.nnz, starts, index, np.ascontiguousarray(csr.data, np.float64))
        self.rows += rows

    def solve(self, *, time_limit: float | None = None) -> Outcome:
        """Minimise under the present cost, bounds and rows."""
        self._highs.setOptionValue("simplex_strategy", 4 if self.method == "primal" else 1)
        self.solves += 1
        outcome = _run(self._highs, time_limit, duals=self.duals)
        if outcome.status == "failed":
            self._highs.clearSolver()
            outcome = _run(self._highs, time_limit, duals=self.duals)
        return outcome

    def _aim(self, index: NDArray[np.int64], coefficient: NDArray[np.float64]) -> None:
        for column in self._costly.tolist():
            self._highs.changeColCost(column, 0.0)
        for column, cost in zip(index.tolist(), coefficient.tolist(), strict=True):
            self._highs.changeColCost(column, cost)
        self._costly = index.astype(np.int32)


# ---------------------------------------------------------------- talking to HiGHS


def _module() -> Any:
    try:
        import highspy
    except ImportError as error:
        problem = f"highspy cannot be imported ({type(error).__name__})"
        raise SolverError("solver", problem, "install it: pip install highspy") from None
    return highspy


def _highs(threads: int) -> Any:
    """A silent, seeded instance.  The constructor sets callbacks up, which prints a banner unless output is off before."""
    global _threads_in_use
    module = _module()
    try:
        quiet = type("Quiet", (module.Highs,), {"enableCallbacks": lambda self: self.setOptionValue("output_flag", False)})
        highs = quiet()
        if _threads_in_use not in (None, threads):
            module.Highs.resetGlobalScheduler(True)
        _threads_in_use = threads
        highs.setOptionValue("output_flag", False)
        highs.setOptionValue("threads", int(threads))
        highs.setOptionValue("random_seed", _SEED)
        highs.setOptionValue("parallel", "off" if threads == 1 else "on")
    except (AttributeError, RuntimeError) as error:
        raise SolverError("solver", f"highspy does not work ({type(error).__name__})", "install highspy 1.8 or later") from None
    return highs


def _load(highs: Any, program: Program) -> None:
    module = _module()
    model = module.HighsLp()
    model.num_row_, model.num_col_ = program.matrix.shape
    model.col_cost_, model.col_lower_, model.col_upper_ = program.cost, program.lower, program.upper
    model.row_lower_, model.row_upper_ = program.row_lower, program.row_upper
    model.a_matrix_.format_ = module.MatrixFormat.kRowwise
    model.a_matrix_.start_ = program.matrix.indptr.astype(np.int32)
    model.a_matrix_.index_ = program.matrix.indices.astype(np.int32)
    model.a_matrix_.value_ = program.matrix.data
    if _is_integer(program):
        kinds = (module.HighsVarType.kContinuous, module.HighsVarType.kInteger)
        model.integrality_ = [kinds[int(whole)] for whole in np.asarray(program.integer)]
    if highs.passModel(model) == module.HighsStatus.kError:
        raise SolverError("solver", "HiGHS refused the program", "check that bounds and coefficients are numbers")


def _is_integer(program: Program) -> bool:
    return program.integer is not None and bool(np.any(program.integer))


def _run(highs: Any, time_limit: float | None, *, integer: bool = False, duals: bool = True) -> Outcome:
    limit = math.inf if time_limit is None else highs.getRunTime() + max(time_limit, 0.0)
    highs.setOptionValue("time_limit", limit)
    highs.run()
    state = highs.getModelStatus()
    if state.name == "kUnboundedOrInfeasible":
        highs.setOptionValue("presolve", "off")
        highs.run()
        state = highs.getModelStatus()
    status = _STATUS.get(state.name, "failed")
    described = highs.getInfo()
    feasible = status == "optimal" or int(described.primal_solution_status) == _FEASIBLE
    solution = highs.getSolution()
    x = np.array(solution.col_value) if feasible and status != "unbounded" else None
    objective = float(described.objective_function_value) if x is not None else math.nan
    duals = duals and status == "optimal" and not integer and solution.dual_valid
    ray = None
    if status == "unbounded" and not integer:
        _, known, direction = highs.getPrimalRay()
        ray = np.array(direction) if known else None
    bound = float(described.mip_dual_bound) if integer else objective if status == "optimal" else math.nan
    return Outcome(
        status=status,
        objective=objective,
        x=x,
        row_dual=np.array(solution.row_dual) if duals else None,
        column_dual=np.array(solution.col_dual) if duals else None,
        bound=bound,
        gap=float(described.mip_gap) if integer else 0.0 if status == "optimal" else math.nan,
        ray=ray,
        iterations=int(described.simplex_iteration_count),
    )


def _stretch(
    index: ArrayLike, lower: ArrayLike, upper: ArrayLike
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
    which = np.atleast_1d(np.asarray(index)).astype(np.int32)
    low = np.ascontiguousarray(np.broadcast_to(np.asarray(lower, float), which.shape))
    high = np.ascontiguousarray(np.broadcast_to(np.asarray(upper, float), which.shape))
    return which, low, high
