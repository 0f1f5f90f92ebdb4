"""The solver layer: right answers, every status, silence, and warm solves equal to cold ones."""

import subprocess
import sys
import types

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from discreet.errors import SolverError
from discreet.solve.highs import WarmProgram, solve
from discreet.solve.problem import Program


def transport() -> Program:
    """x11+x12=7, x21+x22=3, x11+x21=6, x12+x22=4, all at least 0."""
    rows = [[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]]
    sums = np.array([7.0, 3, 6, 4])
    return Program.of(0.0, rows, sums, sums)


def test_minimises_a_linear_program_with_duals() -> None:
    outcome = solve(Program.of([-1.0, -2.0], [[1, 1], [1, 3]], -np.inf, [4.0, 6.0]))
    assert outcome.optimal
    assert outcome.objective == pytest.approx(-5)
    assert outcome.x == pytest.approx([3, 1])
    assert outcome.row_dual == pytest.approx([-0.5, -0.5])
    assert outcome.column_dual == pytest.approx([0, 0])


def test_minimises_an_integer_program_exactly() -> None:
    program = Program.of([-1.0, -1.0], [[2, 3], [4, 1]], -np.inf, [9.0, 9.0], integer=np.array([True, True]))
    outcome = solve(program)
    assert outcome.optimal
    assert outcome.objective == pytest.approx(-3)
    assert outcome.bound == pytest.approx(-3)
    assert outcome.gap == pytest.approx(0)


def test_says_infeasible_and_unbounded() -> None:
    assert solve(Program.of(1.0, [[1.0]], 2.0, 1.0, upper=0.5)).status == "infeasible"
    assert solve(Program.of([-1.0, 0.0], [[1.0, -1.0]], 0.0, 0.0)).status == "unbounded"
    assert solve(Program.of(1.0, np.ones((1, 1)), 1.0, 1.0, lower=2.0)).status == "infeasible"


def test_unbounded_warm_program_gives_a_ray() -> None:
    outcome = WarmProgram(Program.of(0.0, [[1.0, -1.0, 0.0]], 0.0, 0.0, upper=[np.inf, np.inf, 1.0])).maximise(0)
    assert outcome.status == "unbounded"
    assert outcome.ray is not None
    assert outcome.ray[0] > 0
    assert outcome.ray[0] == pytest.approx(outcome.ray[1])
    assert outcome.ray[2] == pytest.approx(0)


def test_an_empty_program_is_optimal() -> None:
    assert solve(Program.of(np.zeros(0), np.zeros((0, 0)), np.zeros(0), np.zeros(0))).optimal


def test_a_time_limit_is_an_outcome() -> None:
    rng = np.random.default_rng(3)
    weights = rng.integers(10_000, 99_999, (8, 60)).astype(float)
    half = weights.sum(axis=1) // 2
    program = Program.of(rng.random(60), weights, half, half, upper=1.0, integer=np.ones(60, bool))
    assert solve(program, time_limit=0.2).status in ("time limit", "infeasible")
    assert solve(program, time_limit=0.0).status == "time limit"


def test_limits_of_work_are_outcomes_and_a_known_start_is_kept() -> None:
    chance = np.random.default_rng(5)
    weights = chance.integers(20, 100, (8, 40)).astype(float)
    program = Program.of(-weights.sum(axis=0), weights, -np.inf, np.full(8, 700.0), upper=1.0, integer=np.ones(40, bool))
    assert solve(program, nodes=0).status == "work limit"
    few = solve(program, nodes=3)
    assert few.status == "work limit"
    assert few.x is not None
    assert few.iterations > 0
    np.testing.assert_array_equal(solve(program, nodes=3).x, few.x)
    assert solve(program, solutions=1).objective >= few.objective
    assert solve(program, nodes=3, start=few.x).objective <= few.objective


def test_warm_solves_give_known_intervals() -> None:
    warm = WarmProgram(transport())
    low = [warm.minimise(i).objective for i in range(4)]
    high = [warm.maximise(i).objective for i in range(4)]
    assert low == pytest.approx([3, 1, 0, 0])
    assert high == pytest.approx([6, 4, 3, 3])
    assert warm.maximise(0, 2.0).objective == pytest.approx(12)


def test_warm_solves_equal_cold_ones_under_changes() -> None:
    rng = np.random.default_rng(1)
    matrix = rng.integers(-1, 2, (6, 12)).astype(float)
    point = rng.uniform(0, 5, 12)
    lower, upper = np.zeros(12), np.full(12, 10.0)
    warm = WarmProgram(Program.of(0.0, matrix, matrix @ point, matrix @ point, upper=upper))
    extra = rng.integers(0, 2, (1, 12)).astype(float)
    for step in range(12):
        if step == 4:
            warm.add_rows(sparse.csr_array(extra), -np.inf, extra @ point + 1)
        if step == 6:
            warm.set_bounds([0, 1], [point[0], 0.0], [point[0], 6.0])
            lower[0], upper[:2] = point[0], (point[0], 6.0)
        if step == 9:
            warm.set_row_bounds(6, extra @ point - 2, extra @ point + 0.5)
        above = {True: 0.5, False: 1.0}[step >= 9]
        rows = np.vstack([extra, -extra]) if step >= 9 else extra
        most = np.concatenate([extra @ point + above, 2 - extra @ point])[: len(rows)]
        cold = linprog(
            np.eye(12)[step],
            A_eq=matrix,
            b_eq=matrix @ point,
            A_ub=rows if step >= 4 else None,
            b_ub=most if step >= 4 else None,
            bounds=list(zip(lower, upper, strict=True)),
        )
        assert warm.minimise(step).objective == pytest.approx(cold.fun, abs=1e-7)
    assert warm.solves == 12


def test_duals_can_be_left_out() -> None:
    assert WarmProgram(transport()).maximise(0).row_dual is not None
    assert WarmProgram(transport(), duals=False).maximise(0).row_dual is None


def test_set_cost_replaces_all_costs() -> None:
    warm = WarmProgram(transport())
    warm.maximise(0)
    warm.set_cost([0.0, 1.0, 1.0, 0.0])
    assert warm.solve().objective == pytest.approx(1.0)


def test_same_program_same_point() -> None:
    rng = np.random.default_rng(7)
    weights = rng.integers(1, 30, (1, 40)).astype(float)
    program = Program.of(-weights[0] - 1, weights, -np.inf, 200.0, upper=1.0, integer=np.ones(40, bool))
    first, second = solve(program), solve(program)
    assert first.x is not None
    assert second.x is not None
    assert np.array_equal(first.x, second.x)


def test_two_threads_may_follow_one() -> None:
    assert solve(transport(), threads=1).optimal
    assert solve(transport(), threads=2).optimal
    assert solve(transport(), threads=1).optimal


def test_nothing_is_printed() -> None:
    code = (
        "import numpy as np; from discreet.solve.highs import solve, WarmProgram; from discreet.solve.problem import Program;"
        "p = Program.of(1.0, np.ones((1, 3)), 2.0, 2.0, integer=np.ones(3, bool)); assert solve(p, threads=2).optimal;"
        "q = Program.of(1.0, np.ones((1, 3)), 2.0, 2.0); assert WarmProgram(q).maximise(0).optimal"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    assert done.stderr == ""


def test_a_missing_solver_is_a_solver_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(SolverError, match="highspy"):
        solve(transport())


def test_a_broken_solver_is_a_solver_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "highspy", types.ModuleType("highspy"))
    with pytest.raises(SolverError, match="does not work"):
        solve(transport())


def test_wrong_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"Program\.cost"):
        Program(np.zeros(3), sparse.csr_array((1, 2)), np.zeros(1), np.zeros(1), np.zeros(2), np.zeros(2))
    with pytest.raises(ValueError, match="integer"):
        Program.of(0.0, np.ones((1, 2)), 0.0, 0.0, integer=np.ones(3, bool))
    with pytest.raises(ValueError, match="continuous"):
        WarmProgram(Program.of(0.0, np.ones((1, 2)), 0.0, 0.0, integer=np.ones(2, bool)))
