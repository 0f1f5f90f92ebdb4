"""Whatever the counts, the number of categories and the forbidden moves: rows add up, zeros stay, counts are kept."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InputError, ParameterError
from discreet.microdata.protect.pram import (
    CyclicTypeOne,
    Design,
    DistanceDecay,
    InvariantCyclic,
    KAry,
    Mixture,
    Occurrence,
    RankOne,
    Sinkhorn,
    TwoStage,
    TypeOne,
)
from discreet.model.transition import TransitionMatrix

SOME = settings(max_examples=60, deadline=None)
STARTS = st.one_of(
    st.builds(TypeOne, keep=st.floats(0.55, 1)),
    st.builds(CyclicTypeOne, keep=st.floats(0.55, 1)),
    st.builds(DistanceDecay, keep=st.floats(0.55, 1), ratio=st.floats(0.01, 1), reach=st.integers(1, 3), alone=st.just("stay")),
)


@st.composite
def occurrences(draw: st.DrawFn, *, forbidden: bool = True) -> Occurrence:
    size = draw(st.integers(1, 7))
    counts = draw(st.lists(st.integers(1, 10**5), min_size=size, max_size=size))
    allowed = np.ones((size, size), bool)
    if forbidden:
        pairs = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1))
        for k, other in draw(st.lists(pairs, max_size=2 * size)):
            allowed[k, other] = k == other
    return Occurrence.of([f"c{k}" for k in range(size)], counts, allowed)


def made_or_refused(design: Design, occurrence: Occurrence, *reasons: str) -> TransitionMatrix | None:
    try:
        return design.matrix(occurrence)
    except InputError as error:
        refused = str(error)
    assert any(reason in refused for reason in reasons), refused
    return None


def check(made: TransitionMatrix, occurrence: Occurrence) -> None:
    assert made.categories == occurrence.categories
    np.testing.assert_allclose(made.matrix.sum(axis=1), 1, atol=1e-13)
    assert (made.matrix >= 0).all()
    assert not made.matrix[~occurrence.allowed].any()


@SOME
@given(start=STARTS, occurrence=occurrences())
def test_moves_are_allowed_and_the_diagonal_is_what_was_asked(start: TypeOne, occurrence: Occurrence) -> None:
    made = start.matrix(occurrence)
    check(made, occurrence)
    asked = (made.matrix > 0).sum(axis=1) > 1
    np.testing.assert_array_equal(made.diagonal[asked], start.keep)
    np.testing.assert_array_equal(made.diagonal[~asked], 1)


@SOME
@given(start=STARTS, occurrence=occurrences(), least=st.floats(0, 0.99), which=st.sampled_from([TwoStage, Sinkhorn]))
def test_invariant_designs_keep_counts_and_bounds(
    start: TypeOne, occurrence: Occurrence, least: float, which: type[TwoStage]
) -> None:
    made = made_or_refused(which(start=start, least=least), occurrence, "come back", "way back", "both stages", "condition")
    if made is None:
        return
    check(made, occurrence)
    assert made.gap(occurrence.counts) <= 1e-12 * occurrence.counts.sum()
    assert made.diagonal.min() >= least - 1e-13
    assert made.condition <= 1e8


@SOME
@given(start=STARTS, occurrence=occurrences())
def test_scaling_keeps_the_zeros_and_only_those(start: TypeOne, occurrence: Occurrence) -> None:
    made = made_or_refused(Sinkhorn(start=start, least=0.05), occurrence, "come back", "way back")
    if made is None:
        return
    wished = start.matrix(dataclasses.replace(occurrence, allowed=made.matrix > 0))
    np.testing.assert_array_equal(made.matrix > 0, wished.matrix > 0)


@SOME
@given(occurrence=occurrences(forbidden=False), share=st.floats(0, 0.45))
def test_the_invariant_cycle_keeps_counts(occurrence: Occurrence, share: float) -> None:
    made = InvariantCyclic(share=share).matrix(occurrence)
    check(made, occurrence)
    assert made.gap(occurrence.counts) <= 1e-12 * occurrence.counts.sum()
    assert made.diagonal.min() >= 1 - share - 1e-15
    values = np.linalg.eigvals(TwoStage(start=InvariantCyclic(share=share)).matrix(occurrence).matrix)
    assert values.real.min() >= -1e-12
    assert values.real.max() <= 1 + 1e-12


@SOME
@given(occurrence=occurrences(forbidden=False), epsilon=st.floats(0.1, 8))
def test_epsilon_is_what_was_asked(occurrence: Occurrence, epsilon: float) -> None:
    for design in (KAry(epsilon=epsilon), RankOne(epsilon=epsilon)):
        made = made_or_refused(design, occurrence, "condition number")
        if made is not None and len(occurrence.categories) > 1:
            check(made, occurrence)
            assert made.epsilon == pytest.approx(epsilon, rel=1e-9)


@SOME
@given(start=STARTS, occurrence=occurrences(), share=st.floats(0.01, 1))
def test_a_mixture_moves_that_share_of_what_its_start_moves(start: TypeOne, occurrence: Occurrence, share: float) -> None:
    made, plain = Mixture(start=start, share=share).matrix(occurrence), start.matrix(occurrence)
    check(made, occurrence)
    np.testing.assert_allclose(1 - made.diagonal, share * (1 - plain.diagonal), atol=1e-15)


@SOME
@given(occurrence=occurrences())
def test_designs_with_epsilon_refuse_any_forbidden_move(occurrence: Occurrence) -> None:
    if occurrence.all_allowed:
        return
    for design in (KAry(epsilon=1), RankOne(epsilon=1)):
        with pytest.raises((InputError, ParameterError), match="no epsilon holds"):
            design.matrix(occurrence)
