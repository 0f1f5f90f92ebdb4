"""Design by target against the numbers of the specification."""

import math

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.microdata.protect.pram.occurrence import Occurrence
from discreet.microdata.protect.pram.target import Target
from discreet.microdata.protect.pram.target_achieved import achieved
from discreet.microdata.protect.pram.target_program import TargetProgram

FOUR = (50, 30, 20, 10)


def occurrence(counts: tuple[int, ...], forbidden: tuple[tuple[int, int], ...] = ()) -> Occurrence:
    allowed = np.ones((len(counts), len(counts)), bool)
    for true, released in forbidden:
        allowed[true, released] = False
    return Occurrence.of([str(k + 1) for k in range(len(counts))], counts, allowed)


def changes(design: Target, held: Occurrence) -> float:
    return achieved(design, held, design.matrix(held)).changes


def test_most_changes_of_an_invariant_matrix_that_keeps_half() -> None:
    assert changes(Target(least=0.5, change="most"), occurrence(FOUR)) == pytest.approx(55)


def test_least_changes_of_an_invariant_matrix_that_keeps_at_most_four_fifths() -> None:
    assert changes(Target(most=0.8), occurrence(FOUR)) == pytest.approx(22)


def test_least_changes_with_a_forbidden_move() -> None:
    held = occurrence(FOUR, forbidden=((3, 0),))
    assert changes(Target(most={"1": 1, "2": 1, "3": 1, "4": 0.5}), held) == pytest.approx(10)


def test_the_largest_category_cannot_send_more_than_the_others_return() -> None:
    held = occurrence((90, 5, 5))
    with pytest.raises(ParameterError, match=r"category '1' would have to stay with probability at least 0\.8889"):
        Target(most={"1": 0.8}, condition=None).matrix(held)
    with pytest.raises(ParameterError):
        Target(most={"1": 0.8888}, condition=None).matrix(held)
    assert Target(most={"1": 0.8889}, condition=None).matrix(held).diagonal[0] == pytest.approx(0.8889, abs=1e-5)
    assert Target(most={"1": 0.9}).matrix(held).gap((90, 5, 5)) < 1e-9


def test_expected_changes_under_epsilon() -> None:
    held = occurrence(FOUR)
    assert changes(Target(epsilon=2.0), held) == pytest.approx(33.33, abs=0.005)
    free = Target(epsilon=2.0, invariant=False, condition=None)
    assert changes(free, held) == pytest.approx(31.30, abs=0.005)
    matrix = free.matrix(held)
    assert matrix.condition > 1e6
    assert matrix.diagonal[3] < 1e-6, "the rarest category is sent away entirely"
    whole = math.exp(2) / (math.exp(2) + 3)
    kept = Target(epsilon=2.0, invariant=False, least=whole - 1e-9)
    assert changes(kept, held) == pytest.approx(31.76, abs=0.005), "k-ary randomised response"


def test_randomised_response_has_the_largest_smallest_diagonal_entry() -> None:
    held, design = occurrence(FOUR), Target(epsilon=2.0, invariant=False)
    best = TargetProgram(held, design.moves(held), design.asked(held)).most_staying()
    assert best.diagonal.min() == pytest.approx(0.711235, abs=1e-6)
    assert best.diagonal.min() == pytest.approx(math.exp(2) / (math.exp(2) + 3), abs=1e-6)


def test_expectation_ratios_of_rare_categories_are_at_most_one() -> None:
    design, held = Target(ratio={"3": 1, "4": 1}, most=0.95), occurrence(FOUR)
    told = achieved(design, held, design.matrix(held))
    assert (told.ratio[2:] <= 1 + 1e-9).all()
    np.testing.assert_allclose(told.staying[2:], 0.5)


@pytest.mark.parametrize(("male", "odds"), [(99, 1 / 11), (9, 1.0)])
def test_the_surgeon(male: int, odds: float) -> None:
    """The only female surgeon of a hospital, θ = 0.9: males against females among those released as female are 11:1 and 1:1."""
    population = {"1": 1, "2": male}
    design = Target(odds={"1": odds}, population=population, least=0.9, invariant=False)
    made = design.matrix(occurrence((1, 9)))
    np.testing.assert_allclose(made.matrix, [[0.9, 0.1], [0.1, 0.9]], atol=1e-7)
    assert 1 / achieved(design, occurrence((1, 9)), made).odds[0] == pytest.approx(1 / odds, rel=1e-6)
    with pytest.raises(ParameterError, match="would have to"):
        Target(odds={"1": odds * 0.9}, population=population, least=0.9, invariant=False).matrix(occurrence((1, 9)))


def test_a_thousand_categories_with_banded_moves() -> None:
    counts = np.ceil(1e6 / np.arange(1, 1001))
    held = Occurrence.of([str(k) for k in range(1000)], counts)
    design = Target(most=0.8, reach=5)
    told = achieved(design, held, design.matrix(held))
    assert told.share == pytest.approx(0.2)
    assert told.gap < 1e-9 * counts.sum()
    assert told.condition < 100
