"""Design by target: bounds, moves, the condition number and what is told when targets conflict."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

from discreet.errors import InputError, ParameterError
from discreet.io.microdata import read_microdata
from discreet.microdata.protect.pram.apply import Pram, start_pram
from discreet.microdata.protect.pram.mixture import Mixture
from discreet.microdata.protect.pram.occurrence import Design, Occurrence
from discreet.microdata.protect.pram.target import Target
from discreet.microdata.protect.pram.target_achieved import achieved
from discreet.microdata.protect.pram.target_explained import Relaxation
from discreet.model.keys import Secret
from discreet.model.transition import TransitionMatrix

FOUR = (50, 30, 20, 10)


def occurrence(counts: Any, *, forbidden: tuple[tuple[int, int], ...] = ()) -> Occurrence:
    allowed = np.ones((len(counts), len(counts)), bool)
    for true, released in forbidden:
        allowed[true, released] = False
    return Occurrence.of([chr(ord("a") + k) for k in range(len(counts))], counts, allowed)


def relaxations(error: ParameterError) -> dict[tuple[str, str], Relaxation]:
    return {(each.kind, each.category): each for each in error.details}


def test_it_is_a_design() -> None:
    assert isinstance(Target(most=0.8), Design)
    assert Target(most=0.8).invariant
    assert not Target(most=0.8, invariant=False).invariant


def test_bounds_of_single_categories() -> None:
    made = Target(most={"b": 0.7}, least={"a": 0.9, "c": 0.75}).matrix(occurrence(FOUR))
    assert made.diagonal[1] == pytest.approx(0.7)
    assert made.diagonal[0] >= 0.9 - 1e-9
    assert made.diagonal[2] >= 0.75 - 1e-9
    assert made.gap(FOUR) < 1e-9


def test_reach_is_counted_in_the_natural_order_of_codes() -> None:
    held = Occurrence.of(["10", "2", "9"], (20, 30, 40))
    made = Target(most=0.8, reach=1).matrix(held).matrix
    assert made[0, 1] == made[1, 0] == 0.0, "2 and 10 are two steps apart"
    assert made[0, 2] > 0
    assert made[1, 2] > 0
    other = Target(most={"2": 0.8}, reach=1, order=("2", "10", "9")).matrix(held).matrix
    assert other[1, 2] == 0
    assert other[1, 0] == pytest.approx(0.2)


def test_forbidden_moves_are_never_made() -> None:
    held = occurrence(FOUR, forbidden=((3, 0), (3, 1), (0, 1)))
    made = Target(most=0.8).matrix(held)
    assert not made.matrix[~held.allowed].any()


def test_a_move_without_a_way_back_is_not_made_by_an_invariant_matrix() -> None:
    held = occurrence((30, 20, 10), forbidden=((1, 0), (2, 0)))
    with pytest.raises(ParameterError, match="'a' would have to stay with probability at least 1 "):
        Target(most=0.8).matrix(held)
    assert Target(most={"b": 0.8}).matrix(held).matrix[0, 0] == 1
    assert Target(most=0.8, invariant=False).matrix(held).diagonal[0] == pytest.approx(0.8)


def test_a_category_that_is_kept_has_no_target_of_all() -> None:
    held = occurrence(FOUR, forbidden=tuple((k, 1) for k in (0, 2, 3)) + tuple((1, k) for k in (0, 2, 3)))
    made = Target(most=0.8, least=0.5).matrix(held)
    assert made.diagonal[1] == 1
    assert (np.delete(made.diagonal, 1) <= 0.8 + 1e-9).all()
    with pytest.raises(ParameterError, match="'b' would have to stay"):
        Target(most={"b": 0.8}).matrix(held)


def test_a_category_that_does_not_occur_has_no_target() -> None:
    design = Target(most={"a": 0.8, "z": 0.1})
    assert design.matrix(occurrence(FOUR)).diagonal[0] == pytest.approx(0.8)
    assert design.named == ("a", "z")


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_target_for_a_category_that_occurs_in_no_stratum_is_refused(wrapped: bool) -> None:
    frame = pd.DataFrame({"id": [f"p{k}" for k in range(40)], "job": list("abbb") * 10, "region": list("N" * 30 + "S" * 10)})
    file = start_pram(read_microdata(frame, unit="id"), Secret("0123456789abcdef0123456789abcdef"))

    def pram(category: str) -> Pram:
        design: Any = Target(most={category: 0.9}, least=0.5)
        return Pram(columns=("job",), design=Mixture(start=design, share=0.5) if wrapped else design, within=("region",))

    assert len(pram("a").apply(file).variables) == 1
    with pytest.raises(ParameterError, match="has a target for 'A', which does not occur"):
        pram("A").apply(file)


def test_no_category_and_a_single_one() -> None:
    assert Target(most=0.8).matrix(occurrence(())).categories == ()
    assert Target(most=0.8).matrix(occurrence((7,))).matrix.tolist() == [[1.0]]


def test_spread_is_a_floor_of_each_move() -> None:
    held = occurrence(FOUR)
    for part in (0.25, 0.5, 1.0):
        design = Target(most=0.8, spread=part)
        made = design.matrix(held)
        assert achieved(design, held, made).spread >= part - 1e-9
        assert made.gap(FOUR) < 1e-9
    moved = Target(most=0.8, spread=1.0, invariant=False).matrix(held).matrix
    np.testing.assert_allclose(moved[~np.eye(4, dtype=bool)], 0.2 / 3)


def test_categories_that_would_have_to_give_way_alike_are_told_together() -> None:
    with pytest.raises(ParameterError) as caught:
        Target(most=0.5, least=0.9).matrix(occurrence([10] * 7))
    alike = "categories 'a', 'b', 'c', 'd', 'e' and 2 more each would have to stay with probability at least 0.9"
    assert caught.value.problem == f"no invariant matrix meets these targets: {alike} (asked: at most 0.5)"
    assert len(caught.value.details) == 7
    with pytest.raises(ParameterError, match=r"together, category 'a' would .*; category 'b' would"):
        Target(most={"a": 0.5, "b": 0.4}, least=0.9).matrix(occurrence(FOUR))


def test_odds_hold_whatever_is_released() -> None:
    held, population = occurrence((9, 8, 7)), {"a": 2.0, "b": 300.0, "c": 500.0}
    design = Target(odds={"a": 0.05}, population=population, least=0.6, invariant=False)
    told = achieved(design, held, design.matrix(held))
    assert told.odds[0] <= 0.05 + 1e-9
    loose = Target(least=0.6, change="most", population=population, odds={"c": 100.0})
    assert achieved(loose, held, loose.matrix(held)).odds[2] <= 100


def test_odds_cannot_be_below_those_without_a_release() -> None:
    with pytest.raises(ParameterError, match="'b' would have to be allowed posterior odds of 9 ") as caught:
        Target(odds={"b": 1.0}, invariant=False).matrix(occurrence((1, 9)))
    assert relaxations(caught.value)["odds", "b"].needed == pytest.approx(9, rel=1e-3)


def test_a_ratio_bounds_the_diagonal_of_an_invariant_matrix() -> None:
    design = Target(ratio={"c": 1.0, "d": 0.5})
    made = design.matrix(occurrence(FOUR))
    np.testing.assert_allclose(made.diagonal[2:], [1 / 2, 1 / 3])
    told = achieved(design, occurrence(FOUR), made)
    np.testing.assert_allclose(told.ratio[2:], [1.0, 0.5])


def test_a_ratio_without_invariance_is_met_by_those_who_come_in() -> None:
    design = Target(ratio={"d": 1.0}, invariant=False)
    made = design.matrix(occurrence(FOUR))
    assert achieved(design, occurrence(FOUR), made).ratio[3] == pytest.approx(1.0)
    assert made.diagonal[3] == pytest.approx(1.0), "the large ones come in, the rare one need not leave"


@pytest.mark.parametrize("invariant", [True, False])
def test_epsilon(invariant: bool) -> None:
    made = Target(epsilon=2.0, invariant=invariant, most=0.6).matrix(occurrence(FOUR))
    assert made.epsilon <= 2.0 + 1e-7
    assert made.condition <= 100


def test_epsilon_needs_all_moves() -> None:
    with pytest.raises(ParameterError, match=r"target\.epsilon"):
        Target(epsilon=2.0).matrix(occurrence(FOUR, forbidden=((0, 1),)))
    with pytest.raises(ParameterError, match="some moves are not allowed"):
        Target(epsilon=2.0, reach=1).matrix(occurrence(FOUR))


# ---------------------------------------------------------------- condition number


def test_a_singular_best_matrix_is_replaced_by_one_that_is_invertible_enough() -> None:
    held = occurrence(FOUR)
    singular = Target(epsilon=2.0, invariant=False, condition=None).matrix(held)
    assert singular.condition > 1e6
    limits = (1e4, 100.0, 10.0, 3.0)
    changes = []
    for limit in limits:
        design = Target(epsilon=2.0, invariant=False, condition=limit)
        made = design.matrix(held)
        assert made.condition <= limit
        assert made.epsilon <= 2 + 1e-7
        changes.append(achieved(design, held, made).changes)
    assert changes == sorted(changes), "the stricter, the more changes"
    assert changes[0] == pytest.approx(31.30, abs=0.01)
    assert changes[-1] < 31.77, "never more than k-ary randomised response"


def test_targets_that_leave_singular_matrices_only_are_refused() -> None:
    with pytest.raises(ParameterError, match="are singular, so that estimates would be noise"):
        Target(most=0.5, least=0.5).matrix(occurrence((5, 5)))
    nearly = Target(most=0.8889, condition=None).matrix(occurrence((90, 5, 5)))
    assert nearly.condition > 1000
    with pytest.raises(ParameterError, match=r"target\.condition"):
        Target(most=0.8889).matrix(occurrence((90, 5, 5)))


def test_a_half_diagonal_is_made_invertible_by_the_choice_of_moves() -> None:
    made = Target(most=0.5, least=0.5).matrix(occurrence((10, 10, 10, 10)))
    np.testing.assert_allclose(made.diagonal, 0.5)
    assert made.condition <= 100
    assert made.gap((10, 10, 10, 10)) < 1e-9


def test_what_is_singular_by_symmetry_is_made_invertible_without_more_change() -> None:
    """Two categories that leave alike for a third: [[.9, .05, .05], [.9, .1, 0], [.9, 0, .1]] has no inverse."""
    held, design = occurrence((90, 5, 5)), Target(most={"a": 0.9})
    assert Target(most={"a": 0.9}, condition=None).matrix(held).condition > 1e6
    made = design.matrix(held)
    assert made.condition <= 100
    assert made.gap((90, 5, 5)) < 1e-9
    assert achieved(design, held, made).changes == pytest.approx(18, rel=1e-6)


def test_the_most_change_stays_invertible() -> None:
    design = Target(change="most", least=0.5)
    for counts in ((10, 10), (10, 10, 10, 10), (40, 30, 10), (9, 9, 2, 2, 2, 2)):
        made = design.matrix(occurrence(counts))
        assert made.condition <= 100
        assert (made.diagonal >= 0.5 - 1e-9).all()
        assert made.gap(counts) < 1e-9


# ---------------------------------------------------------------- conflicts


def test_a_conflict_names_the_bound_and_what_would_do() -> None:
    with pytest.raises(ParameterError) as caught:
        Target(most={"a": 0.8}).matrix(occurrence((90, 5, 5)))
    assert "category 'a' would have to stay with probability at least 0.8889 (asked: at most 0.8)" in str(caught.value)
    assert relaxations(caught.value)["most", "a"].needed == 0.8889


def test_a_conflict_of_most_and_least() -> None:
    with pytest.raises(ParameterError) as caught:
        Target(most={"a": 0.5}, least={"a": 0.7}).matrix(occurrence(FOUR))
    assert len(caught.value.details) in (1, 2)
    total = sum(abs(each.needed - each.asked) for each in caught.value.details)
    assert total == pytest.approx(0.2, abs=1e-3)


@pytest.mark.parametrize(
    ("counts", "settings"),
    [
        ((90, 5, 5), {"most": 0.8}),
        ((90, 5, 5), {"most": 0.8, "least": 0.7}),
        ((500, 5, 4, 3), {"ratio": {"a": 1.0, "d": 0.5}}),
        ((500, 5, 4, 3), {"ratio": 0.5, "least": 0.6, "invariant": False}),
        ((500, 5, 4, 3), {"odds": 3.0, "invariant": False}),
        ((50, 30, 20, 10), {"most": 0.7, "reach": 1, "least": {"a": 0.9}}),
        ((50, 30, 20, 10), {"epsilon": 0.5, "least": 0.9}),
        ((50, 30, 20, 10), {"epsilon": 0.5, "least": 0.9, "invariant": False}),
    ],
)
def test_what_is_told_would_do(counts: tuple[int, ...], settings: dict[str, Any]) -> None:
    held = occurrence(counts)
    with pytest.raises(ParameterError) as caught:
        Target(**settings, condition=None).matrix(held)
    assert caught.value.details
    eased = dict(settings)
    for name in ("most", "least", "ratio", "odds"):
        given = settings.get(name)
        each = dict(given) if isinstance(given, Mapping) else {} if given is None else dict.fromkeys(held.labels, given)
        each |= {category: found.needed for (kind, category), found in relaxations(caught.value).items() if kind == name}
        each = {category: value for category, value in each.items() if math.isfinite(value)}
        if each:
            eased[name] = each
    if set(eased) & {"most", "ratio", "odds", "epsilon"}:
        Target(**eased, condition=None).matrix(held)


def test_too_much_spread_is_told() -> None:
    held = occurrence((500, 30, 20, 10))
    with pytest.raises(ParameterError, match="spread would have to be at most") as caught:
        Target(most=0.97, least=0.4, spread=1.0).matrix(held)
    needed = relaxations(caught.value)["spread", ""].needed
    assert 0 < needed < 1
    Target(most=0.97, least=0.4, spread=needed, condition=None).matrix(held)
    with pytest.raises(ParameterError):
        Target(most=0.97, least=0.4, spread=needed + 0.01, condition=None).matrix(held)


# ---------------------------------------------------------------- parameters


@pytest.mark.parametrize(
    ("settings", "where"),
    [
        ({}, "target"),
        ({"least": 0.5}, "target"),
        ({"most": 1.5}, r"target\.most"),
        ({"most": {"a": 1.5}}, r"target\.most"),
        ({"least": {"a": True}}, r"target\.least"),
        ({"ratio": {"a": "1"}}, r"target\.ratio"),
        ({"odds": -1.0}, r"target\.odds"),
        ({"odds": 1.0, "population": {"a": 0}}, r"target\.population"),
        ({"most": 0.8, "population": {"a": 1}}, r"target\.population"),
        ({"most": 0.8, "order": ("a", "b")}, r"target\.order"),
        ({"most": 0.8, "reach": 1, "order": ("a", "a")}, r"target\.order"),
        ({"epsilon": 0.0}, r"target\.epsilon"),
        ({"most": 0.8, "change": "none"}, r"target\.change"),
        ({"most": 0.8, "condition": 0.5}, r"target\.condition"),
        ({"most": 0.8, "spread": 2.0}, r"target\.spread"),
    ],
)
def test_a_setting_that_cannot_be_used_is_refused(settings: dict[str, Any], where: str) -> None:
    with pytest.raises(ParameterError, match=f"^{where}: "):
        Target(**settings)


def test_population_counts_are_needed_for_all() -> None:
    with pytest.raises(ParameterError, match="no population count for 'c', 'd'"):
        Target(odds=2.0, population={"a": 1, "b": 2}).matrix(occurrence(FOUR))


# ---------------------------------------------------------------- figures


def test_achieved_reads_the_matrix() -> None:
    held = occurrence(FOUR)
    matrix = TransitionMatrix.of(
        "abcd", [[0.8, 0.1, 0.05, 0.05], [0.1, 0.8, 0.05, 0.05], [0.15, 0.05, 0.7, 0.1], [0.1, 0.1, 0.2, 0.6]]
    )
    told = achieved(Target(most=0.8), held, matrix)
    assert told.changes == pytest.approx(10 + 6 + 6 + 4)
    assert told.share == pytest.approx(26 / 110)
    assert told.condition == matrix.condition
    assert told.epsilon == pytest.approx(math.log(0.8 / 0.05))
    assert told.gap == pytest.approx(matrix.gap(FOUR))
    assert told.spread == pytest.approx(0.5)
    assert told.ratio[0] == pytest.approx(40 / (3 + 3 + 1))
    assert told.odds[0] == pytest.approx(40 / (3 + 3 + 1))
    assert "condition number" in str(told)
    assert "'d'" in str(told)
    assert repr(told) == "Achieved(4 categories)"
    with pytest.raises(InputError):
        achieved(Target(most=0.8), occurrence((1, 2)), matrix)


def test_achieved_of_a_category_that_nothing_hides() -> None:
    told = achieved(Target(most=0.8), occurrence((5, 5)), TransitionMatrix.identity("ab"))
    assert np.isinf(told.ratio).all()
    assert np.isinf(told.odds).all()
    assert told.changes == 0
    assert told.spread == 1
