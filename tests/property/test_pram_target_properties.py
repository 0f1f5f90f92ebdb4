"""Design by target: whatever the counts, the targets hold, and programs are feasible exactly when theory says so."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from discreet.errors import ParameterError
from discreet.microdata.protect.pram.occurrence import Occurrence
from discreet.microdata.protect.pram.target import Target
from discreet.microdata.protect.pram.target_achieved import achieved

counts_of = st.lists(st.integers(1, 5000), min_size=2, max_size=7)
bounds_of = st.lists(st.integers(20, 99), min_size=7, max_size=7)


def occurrence(counts: list[int], allowed: Any = None) -> Occurrence:
    return Occurrence.of([str(k) for k in range(len(counts))], counts, allowed)


def labelled(values: list[float]) -> dict[str, float]:
    return {str(k): float(value) for k, value in enumerate(values)}


@settings(max_examples=60, deadline=None)
@given(counts_of, bounds_of)
def test_an_invariant_matrix_exists_when_the_others_can_fill_up_each_category(counts: list[int], percent: list[int]) -> None:
    T, most = np.array(counts, float), np.array(percent[: len(counts)]) / 100
    out = T * (1 - most)
    room = T.sum() - T - out
    assume((np.abs(room) > 1e-4 * T).all())
    held, design = occurrence(counts), Target(most=labelled(list(most)), condition=None)
    if (room > 0).all():
        told = achieved(design, held, design.matrix(held))
        assert (told.staying <= most + 1e-7).all()
        assert told.gap <= 1e-9 * T.sum()
        apart = out.sum() - 2 * out
        if (apart > 1e-4 * T).all():
            assert told.changes == pytest.approx(out.sum(), rel=1e-6)
        elif (apart < -1e-4 * T).any():
            assert told.changes > out.sum() * (1 + 1e-7)
    else:
        with pytest.raises(ParameterError, match="would have to stay"):
            design.matrix(held)


@settings(max_examples=40, deadline=None)
@given(counts_of, st.integers(50, 95), st.integers(0, 2**31), st.booleans(), st.sampled_from(["least", "most"]))
def test_what_comes_back_meets_every_target(counts: list[int], percent: int, seed: int, invariant: bool, change: str) -> None:
    size = len(counts)
    allowed = (np.random.default_rng(seed).random((size, size)) < 0.7) | np.eye(size, dtype=bool)
    held = occurrence(counts, allowed)
    design = Target(most=percent / 100, least=0.3, ratio={"1": 30.0}, invariant=invariant, change=change)
    try:
        made = design.matrix(held)
    except ParameterError:
        return
    told = achieved(design, held, made)
    moving = allowed.sum(axis=1) > 1
    assert (told.staying[moving] <= percent / 100 + 1e-7).all()
    assert (told.staying >= 0.3 - 1e-7).all()
    assert told.ratio[1] <= 30 * (1 + 1e-6)
    assert told.condition <= 100
    assert not made.matrix[~allowed].any()
    assert not invariant or (np.abs(made.matrix.T @ held.counts - held.counts) <= 1e-9 * held.counts).all()


@settings(max_examples=20, deadline=None)
@given(counts_of, st.integers(2, 40))
def test_the_unit_of_the_counts_does_not_matter(counts: list[int], factor: int) -> None:
    design = Target(most=0.95, least=0.2, condition=None)
    held, scaled = occurrence(counts), occurrence([factor * count for count in counts])
    try:
        one = design.matrix(held)
    except ParameterError:
        with pytest.raises(ParameterError):
            design.matrix(scaled)
        return
    np.testing.assert_array_equal(one.matrix, design.matrix(held).matrix)
    told, other = achieved(design, held, one), achieved(design, scaled, design.matrix(scaled))
    assert other.share == pytest.approx(told.share, rel=1e-6)
    assert other.staying.min() == pytest.approx(told.staying.min(), abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(1, 200), min_size=2, max_size=4),
    st.booleans(),
    st.sampled_from([None, 0.7, 1.5, 3.0]),
    st.sampled_from([None, 0.6, 0.9]),
    st.sampled_from([None, 1.0, 5.0]),
    st.sampled_from([0.0, 0.3]),
    st.sampled_from(["least", "most"]),
)
def test_the_expected_change_is_that_of_a_program_written_out(
    counts: list[int],
    invariant: bool,
    epsilon: float | None,
    most: float | None,
    odds: float | None,
    spread: float,
    change: str,
) -> None:
    assume(not (epsilon is most is odds is None and change == "least"))
    asked: dict[str, Any] = {"epsilon": epsilon, "most": most, "spread": spread, "invariant": invariant, "change": change}
    design = Target(**asked, odds=None if odds is None else {"0": odds}, condition=None)
    found = written_out(np.array(counts, float), odds=odds, **asked)
    held = occurrence(counts)
    if found is None:
        with pytest.raises(ParameterError):
            design.matrix(held)
    else:
        assert achieved(design, held, design.matrix(held)).changes == pytest.approx(found, rel=1e-5, abs=1e-5 * sum(counts))


def written_out(
    T: np.ndarray,  # noqa: N803 - the symbol of the sources
    *,
    epsilon: float | None,
    most: float | None,
    odds: float | None,
    spread: float,
    invariant: bool,
    change: str,
) -> float | None:
    """The expected change by a dense program over all p_kl, pair by pair; None where it has no solution."""
    size = len(T)
    above: list[np.ndarray] = []
    limits: list[float] = []

    def at(*entries: tuple[int, int, float]) -> np.ndarray:
        row = np.zeros((size, size))
        for k, col, value in entries:
            row[k, col] += value
        return row.ravel()

    equal = [at(*((k, col, 1.0) for col in range(size))) for k in range(size)]
    sums = [1.0] * size
    if invariant:
        equal += [at(*((k, col, T[k] / T[col]) for k in range(size))) for col in range(size)]
        sums += [1.0] * size
    for k in range(size):
        if most is not None:
            above.append(at((k, k, 1.0)))
            limits.append(most)
        for col in range(size):
            if epsilon is not None:
                above += [at((k, col, 1.0), (j, col, -np.exp(epsilon))) for j in range(size)]
                limits += [0.0] * size
            if col != k and spread:
                above.append(at((k, col, -1.0), (k, k, -spread / (size - 1))))
                limits.append(-spread / (size - 1))
    if odds is not None:
        for col in range(size):
            above.append(at((0, col, 1.0), *((j, col, -odds * T[j] / T[0]) for j in range(1, size))))
            limits.append(0.0)
    sign = -1.0 if change == "least" else 1.0
    cost = sign * np.diag(T / T.sum()).ravel()
    outcome = linprog(
        cost,
        A_ub=np.array(above) if above else None,
        b_ub=limits if above else None,
        A_eq=np.array(equal),
        b_eq=sums,
        bounds=(0, 1),
    )
    if outcome.status == 2:
        return None
    assert outcome.status == 0
    return float(T.sum() * (1 - sign * outcome.fun))
