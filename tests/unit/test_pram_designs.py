"""Designs of transition matrices: forbidden moves, order, groups, and what is refused with which words."""

import os
import subprocess
import sys

import numpy as np
import pytest

from discreet.errors import InputError, ParameterError
from discreet.microdata.protect.pram import (
    CyclicTypeOne,
    Design,
    DistanceDecay,
    InvariantCyclic,
    KAry,
    Mixture,
    Occurrence,
    OwnMatrix,
    RankOne,
    Sinkhorn,
    TwoStage,
    TypeOne,
)
from discreet.microdata.protect.pram.moves import positions
from discreet.microdata.protect.pram.occurrence import design_text


def moves(size: int, *forbidden: tuple[int, int]) -> np.ndarray:
    allowed = np.ones((size, size), bool)
    for k, other in forbidden:
        allowed[k, other] = False
    return allowed


def blocks(*sizes: int) -> np.ndarray:
    group = np.repeat(np.arange(len(sizes)), sizes)
    return np.asarray(group[:, np.newaxis] == group)


def four(*forbidden: tuple[int, int]) -> Occurrence:
    return Occurrence.of(list("abcd"), [50, 30, 20, 10], moves(4, *forbidden))


# ---------------------------------------------------------------- Type I and the cycle


def test_the_rest_is_shared_by_the_allowed_moves() -> None:
    made = TypeOne(keep=0.8).matrix(four((0, 1)))
    np.testing.assert_allclose(made.matrix[0], [0.8, 0, 0.1, 0.1])
    np.testing.assert_allclose(made.matrix[1], [0.2 / 3, 0.8, 0.2 / 3, 0.2 / 3])


def test_a_category_without_moves_stays() -> None:
    for design in (TypeOne(keep=0.8), CyclicTypeOne(keep=0.8), DistanceDecay(keep=0.8)):
        made = design.matrix(four((1, 0), (1, 2), (1, 3)))
        np.testing.assert_array_equal(made.matrix[1], [0, 1, 0, 0])
        np.testing.assert_allclose(made.diagonal[[0, 2, 3]], 0.8)


def test_each_category_may_have_its_own_diagonal() -> None:
    keep = {"a": 0.9, "b": 0.8, "c": 0.7, "d": 1, "elsewhere": 0.1}
    np.testing.assert_array_equal(TypeOne(keep=keep).matrix(four()).diagonal, [0.9, 0.8, 0.7, 1])
    with pytest.raises(ParameterError, match="no number for the category 'd'"):
        TypeOne(keep={"a": 0.9, "b": 0.8, "c": 0.7}).matrix(four())
    with pytest.raises(ParameterError, match="no probability for 'a'"):
        TypeOne(keep={"a": 1.5})
    with pytest.raises(ParameterError, match="no probability for 'a'"):
        CyclicTypeOne(keep={"a": "much"})


def test_compound_categories_go_by_their_label() -> None:
    categories = (("f", "1"), ("f", "2"), ("m", "1"))
    occurrence = Occurrence(categories=categories, counts=np.array([3.0, 2, 1]), allowed=np.ones((3, 3), bool))
    made = TypeOne(keep={"f / 1": 0.9, "f / 2": 0.8, "m / 1": 0.7}).matrix(occurrence)
    assert made.categories == categories
    np.testing.assert_array_equal(made.diagonal, [0.9, 0.8, 0.7])


def test_singular_matrices_are_refused_with_their_condition() -> None:
    with pytest.raises(InputError, match=r"(?s)type-1: the matrix is singular.*larger keep"):
        TypeOne(keep=0.25).matrix(four())
    with pytest.raises(InputError, match=r"cyclic: the matrix (is singular|has the condition number)"):
        CyclicTypeOne(keep=0.5).matrix(four())
    assert CyclicTypeOne(keep=0.5).matrix(Occurrence.of(["a", "b", "c"], [1, 1, 1])).condition < 10
    with pytest.raises(InputError, match=r"invariant-cyclic: the matrix (is singular|has the condition number)"):
        InvariantCyclic(share=0.5).matrix(Occurrence.of(["a", "b"], [7, 7]))
    with pytest.raises(InputError, match=r"k-ary: the matrix (is singular|has the condition number)"):
        KAry(epsilon=1e-12).matrix(four())
    with pytest.raises(InputError, match=r"rank-one: the matrix (is singular|has the condition number)"):
        RankOne(share=1e-12).matrix(four())
    with pytest.raises(InputError, match=r"mixture: the matrix (is singular|has the condition number)"):
        Mixture(start=CyclicTypeOne(keep=0), share=0.5).matrix(four())


def test_the_cycle_passes_over_forbidden_moves() -> None:
    made = CyclicTypeOne(keep=0.8).matrix(four((0, 1), (3, 0), (3, 1)))
    np.testing.assert_allclose(made.matrix, [[0.8, 0, 0.2, 0], [0, 0.8, 0.2, 0], [0, 0, 0.8, 0.2], [0, 0, 0.2, 0.8]])


def test_the_cycle_follows_the_order_of_codes() -> None:
    occurrence = Occurrence.of(["10", "9", "1"], [1, 1, 1])
    np.testing.assert_allclose(CyclicTypeOne(keep=0.8).matrix(occurrence).matrix[0], [0.8, 0, 0.2])
    given = CyclicTypeOne(keep=0.8, order=("1", "10", "5", "9"))
    np.testing.assert_allclose(given.matrix(occurrence).matrix[0], [0.8, 0.2, 0])
    with pytest.raises(ParameterError, match=r"does not name the category '9'"):
        CyclicTypeOne(keep=0.8, order=("1", "10")).matrix(occurrence)
    with pytest.raises(ParameterError, match="names the code '1' twice"):
        CyclicTypeOne(keep=0.8, order=("1", "10", "1"))


@pytest.mark.parametrize(
    "codes",
    [
        ["-3", "0.5", "2", "10"],
        ["0-4", "5-9", "10-14", "85+"],
        ["", "a2", "a10", "b1"],
        ["1", "9", "10", "x"],
        ["B", "a", "é"],
    ],
)
def test_codes_have_a_natural_order(codes: list[str]) -> None:
    shuffled = codes[::-1]
    place = positions("test", (), Occurrence.of(shuffled, np.ones(len(codes))))
    assert [shuffled[k] for k in np.argsort(place)] == codes


# ---------------------------------------------------------------- distance decay


def test_the_further_the_less_likely() -> None:
    made = DistanceDecay(keep=0.6, ratio=0.5).matrix(four())
    np.testing.assert_allclose(made.matrix[0], [0.6, 0.4 * 4 / 7, 0.4 * 2 / 7, 0.4 / 7])
    np.testing.assert_allclose(made.matrix[1], [0.16, 0.6, 0.16, 0.08])


def test_bands_and_given_places() -> None:
    made = DistanceDecay(keep=0.6, ratio=1, reach=1).matrix(four())
    np.testing.assert_allclose(made.matrix[:2], [[0.6, 0.4, 0, 0], [0.2, 0.6, 0.2, 0]])
    codes = Occurrence.of(["low", "high"], [5, 5])
    apart = DistanceDecay(keep=0.6, reach=1, order=("low", "middle", "high"))
    with pytest.raises(InputError, match="the category 'low' has nowhere to go within its reach and group"):
        apart.matrix(codes)
    assert DistanceDecay(keep=0.6, reach=1, order=("low", "high")).matrix(codes).diagonal[0] == 0.6


def test_a_thousand_steps_are_no_division_by_zero() -> None:
    size = 1000
    allowed = np.eye(size, dtype=bool) | (np.arange(size) == size - 1) | (np.arange(size) == 0)
    occurrence = Occurrence.of([str(k) for k in range(size)], np.ones(size), allowed)
    made = DistanceDecay(keep=0.8, ratio=0.1).matrix(occurrence)
    assert made.matrix[300, 0] == pytest.approx(0.2)
    assert made.matrix[999, 0] == pytest.approx(0.2)


def test_moves_stay_within_groups() -> None:
    occurrence = Occurrence.of(["A1", "A2", "B1", "B2", "B3"], np.ones(5))
    made = DistanceDecay(keep=0.8, groups=1).matrix(occurrence)
    np.testing.assert_array_equal(made.matrix > 0, blocks(2, 3))
    named = DistanceDecay(keep=0.8, groups={"A1": "x", "A2": "y", "B1": "x", "B2": "y", "B3": "y"})
    assert (named.matrix(occurrence).matrix[0] > 0).tolist() == [True, False, True, False, False]
    with pytest.raises(ParameterError, match="have none for the category 'A2'"):
        DistanceDecay(keep=0.8, groups={"A1": "x"}).matrix(occurrence)
    with pytest.raises(ParameterError, match="what is no text"):
        DistanceDecay(keep=0.8, groups={"A1": 3})


def test_a_group_of_one_is_refused_unless_it_is_meant_to_stay() -> None:
    occurrence = Occurrence.of(["A1", "A2", "B1"], np.ones(3))
    with pytest.raises(InputError, match="'B1' has nowhere to go"):
        DistanceDecay(keep=0.8, groups=1).matrix(occurrence)
    made = DistanceDecay(keep={"A1": 0.8, "A2": 0.8, "B1": 1}, groups=1).matrix(occurrence)
    assert made.matrix[2, 2] == 1
    made = DistanceDecay(keep=0.8, groups=1, alone="stay").matrix(occurrence)
    np.testing.assert_array_equal(made.diagonal, [0.8, 0.8, 1])


# ---------------------------------------------------------------- own matrix


def test_tables_and_lists_say_the_same() -> None:
    tables = OwnMatrix(rows={"a": {"a": 0.9, "b": 0.1}, "b": {"b": 0.6, "a": 0.4}})
    lists = OwnMatrix(rows=((0.9, 0.1), (0.4, 0.6)), categories=("a", "b"))
    occurrence = Occurrence.of(["b", "a"], [1, 1])
    np.testing.assert_array_equal(tables.matrix(occurrence).matrix, [[0.6, 0.4], [0.1, 0.9]])
    np.testing.assert_array_equal(lists.matrix(occurrence).matrix, tables.matrix(occurrence).matrix)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"rows": {"a": {"a": 0.9, "c": 0.1}}}, "releases 'a' as 'c', which has no row"),
        ({"rows": {"a": {"a": 0.9}}}, "'a' does not add up to 1"),
        ({"rows": {"a": 0.9}}, "hold no table for 'a'"),
        ({"rows": {"a": {"a": "all"}}}, "hold no probability for 'a' as 'a'"),
        ({"rows": {"a": {"a": 1}}, "categories": ("a",)}, "told by the tables"),
        ({"rows": ((1.0,),)}, "are missing"),
        ({"rows": ((1.0,),), "categories": ("a", "b")}, "are not 2 lists of 2 numbers"),
        ({"rows": ((1.0, 0.0), (1.0,)), "categories": ("a", "b")}, "are not 2 lists of 2 numbers"),
        ({"rows": ((0.9, 0.2), (0.0, 1.0)), "categories": ("a", "b")}, "row 'a' does not add up to 1"),
        ({"rows": ((1.0, 0.0), (0.0, 1.0)), "categories": ("a", "a")}, "names the category 'a' twice"),
    ],
)
def test_faulty_matrices_are_told(settings: dict[str, object], said: str) -> None:
    with pytest.raises((InputError, ParameterError), match=said):
        OwnMatrix(**settings)


def test_an_own_matrix_must_fit_what_occurs() -> None:
    design = OwnMatrix.of(["a", "b", "c"], [[0.9, 0.1, 0], [0.2, 0.7, 0.1], [0, 0, 1]])
    with pytest.raises(InputError, match="has no row for the category 'x'"):
        design.matrix(Occurrence.of(["a", "x"], [1, 1]))
    with pytest.raises(InputError, match="releases 'b' as 'c', which does not occur"):
        design.matrix(Occurrence.of(["a", "b"], [1, 1]))
    with pytest.raises(InputError, match="releases 'b' as 'a', which is forbidden"):
        design.matrix(Occurrence.of(["a", "b", "c"], [1, 1, 1], moves(3, (1, 0))))
    without = OwnMatrix.of(["a", "b", "c"], [[0.9, 0.1, 0], [0.2, 0.8, 0], [0.5, 0, 0.5]])
    np.testing.assert_array_equal(without.matrix(Occurrence.of(["a", "b"], [1, 1])).matrix, [[0.9, 0.1], [0.2, 0.8]])


def test_an_own_matrix_may_be_singular_and_says_whether_it_is_invariant() -> None:
    half = OwnMatrix.of(["a", "b"], np.full((2, 2), 0.5))
    assert half.matrix(Occurrence.of(["a", "b"], [1, 1])).condition > 1e8
    claimed = OwnMatrix.of(["a", "b"], [[0.9, 0.1], [0.3, 0.7]], invariant=True)
    assert claimed.matrix(Occurrence.of(["a", "b"], [3, 1])).gap([3, 1]) < 1e-12
    with pytest.raises(InputError, match="does not leave the counts as they are"):
        claimed.matrix(Occurrence.of(["a", "b"], [2, 1]))
    with pytest.raises(InputError, match=r"two-stage: the matrix (is singular|has the condition number)"):
        TwoStage(start=half).matrix(Occurrence.of(["a", "b"], [2, 1]))


# ---------------------------------------------------------------- with epsilon


def test_no_epsilon_holds_with_forbidden_moves() -> None:
    for design in (KAry(epsilon=2), RankOne(epsilon=2)):
        with pytest.raises(InputError, match="no epsilon holds where 'b' must not be released as 'd'"):
            design.matrix(four((1, 3)))


def test_a_huge_epsilon_does_not_overflow() -> None:
    for design in (KAry(epsilon=5000), RankOne(epsilon=5000)):
        np.testing.assert_array_equal(design.matrix(four()).matrix, np.eye(4))


@pytest.mark.parametrize("settings", [{}, {"share": 0.5, "epsilon": 2}])
def test_rank_one_takes_one_of_share_and_epsilon(settings: dict[str, float]) -> None:
    with pytest.raises(ParameterError, match="takes one of share and epsilon"):
        RankOne(**settings)


def test_rank_one_within_groups() -> None:
    occurrence = Occurrence.of(list("abcde"), [5, 3, 1, 1, 2], blocks(2, 3))
    made = RankOne(share=0.5).matrix(occurrence)
    np.testing.assert_allclose(made.matrix[0], [0.5 + 0.5 * 5 / 8, 0.5 * 3 / 8, 0, 0, 0])
    assert made.gap(occurrence.counts) < 1e-12
    with pytest.raises(InputError, match="'a' must not be released as 'c', but both are exchanged"):
        RankOne(share=0.5).matrix(four((0, 2)))


# ---------------------------------------------------------------- invariant designs


def test_the_invariant_cycle_goes_by_counts_and_then_by_codes() -> None:
    occurrence = Occurrence.of(["d", "c", "b", "a"], [10, 20, 20, 50])
    made = InvariantCyclic(share=0.5).matrix(occurrence).matrix
    np.testing.assert_allclose(made, [[0.5, 0, 0, 0.5], [0.25, 0.75, 0, 0], [0, 0.25, 0.75, 0], [0, 0, 0.1, 0.9]])


def test_each_group_has_a_cycle_of_its_own() -> None:
    occurrence = Occurrence.of(list("abcde"), [5, 4, 40, 10, 20], blocks(2, 3))
    made = InvariantCyclic(share=0.25).matrix(occurrence)
    assert made.gap(occurrence.counts) < 1e-12
    flows = occurrence.counts[:, np.newaxis] * made.matrix
    np.testing.assert_allclose(flows[[0, 1, 2, 4, 3], [1, 0, 4, 3, 2]], [1, 1, 2.5, 2.5, 2.5])
    with pytest.raises(InputError, match="takes 'b' to 'c', which is forbidden"):
        InvariantCyclic().matrix(four((1, 2)))


def test_a_kept_category_is_neither_left_nor_entered() -> None:
    kept = four((1, 0), (1, 2), (1, 3))
    start = TypeOne(keep=0.8)
    for design in (InvariantCyclic(), TwoStage(start=start), Sinkhorn(start=start), RankOne(share=0.5)):
        made = design.matrix(kept)
        np.testing.assert_array_equal(made.matrix[1], [0, 1, 0, 0])
        np.testing.assert_array_equal(made.matrix[:, 1], [0, 1, 0, 0])
        assert made.gap(kept.counts) < 1e-12
        assert (made.diagonal[[0, 2, 3]] < 1).all()


def test_what_cannot_come_back_is_refused() -> None:
    one_way = Occurrence.of(["a", "b"], [1, 1], moves(2, (1, 0)))
    start = TypeOne(keep=0.8)
    for design in (InvariantCyclic(), TwoStage(start=start), Sinkhorn(start=start), RankOne(share=0.5)):
        with pytest.raises(InputError, match="what leaves the category 'a' cannot come back"):
            design.matrix(one_way)


def test_two_stages_refuse_a_forbidden_move_that_both_make_together() -> None:
    with pytest.raises(InputError, match="both stages together release 'a' as 'b', which is forbidden"):
        TwoStage(start=TypeOne(keep=0.8)).matrix(four((0, 1), (1, 0)))
    made = Sinkhorn(start=TypeOne(keep=0.8)).matrix(four((0, 1), (1, 0)))
    assert made.matrix[0, 1] == made.matrix[1, 0] == 0
    assert made.gap([50, 30, 20, 10]) < 1e-12
    grouped = Occurrence.of(list("abcd"), [50, 30, 20, 10], blocks(2, 2))
    np.testing.assert_array_equal(TwoStage(start=TypeOne(keep=0.8)).matrix(grouped).matrix > 0, blocks(2, 2))


def test_scaling_tells_when_zeros_leave_no_way() -> None:
    def wished(matrix: list[list[float]]) -> Sinkhorn:
        return Sinkhorn(start=OwnMatrix.of(list("abc"), matrix))

    occurrence = Occurrence.of(list("abc"), [1, 2, 3])
    with pytest.raises(InputError, match="no record of 'b' stays"):
        wished([[0.5, 0.5, 0], [1, 0, 0], [0, 0.5, 0.5]]).matrix(occurrence)
    with pytest.raises(InputError, match="what leaves the category 'c' cannot come back"):
        wished([[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0.5, 0.5]]).matrix(occurrence)
    pairs = [[0.5, 0.5, 0, 0], [0.4, 0.5, 0.1, 0], [0, 0, 0.5, 0.5], [0, 0, 0.5, 0.5]]
    with pytest.raises(InputError, match="releases 'b' as 'c', and its zeros leave no way back"):
        Sinkhorn(start=OwnMatrix.of(list("abcd"), pairs)).matrix(four())


def test_scaling_reaches_skewed_counts() -> None:
    counts = [1, 10, 1e3, 1e5, 1e7]
    occurrence = Occurrence.of(list("abcde"), counts)
    for start in (TypeOne(keep=0.5), TypeOne(keep=0.99999), DistanceDecay(keep=0.7, reach=1), CyclicTypeOne(keep=0.9)):
        made = Sinkhorn(start=start, least=0.1).matrix(occurrence)
        np.testing.assert_allclose(made.matrix.T @ counts, counts, rtol=1e-11)


def test_a_start_is_a_design() -> None:
    for design in (TwoStage, Sinkhorn):
        with pytest.raises(ParameterError, match=r"start: takes Design, not dict"):
            design(start={"method": "type-1", "keep": 0.8})
        with pytest.raises(ParameterError, match=r"takes a design, not the class TypeOne"):
            design(start=TypeOne)


def test_a_mixture_takes_one_of_share_and_least() -> None:
    start = TypeOne(keep=0.5)
    for settings in ({}, {"share": 0.5, "least": 0.5}):
        with pytest.raises(ParameterError, match="takes one of share and least"):
            Mixture(start=start, **settings)
    np.testing.assert_allclose(Mixture(start=start, share=0.5).matrix(four()).diagonal, 0.75)
    np.testing.assert_allclose(Mixture(start=start, least=0.9).matrix(four()).diagonal, 0.9)
    assert not Mixture(start=start, share=0.5).invariant


def test_threads_do_not_change_a_matrix() -> None:
    script = (
        "import hashlib, numpy as np\n"
        "from discreet.microdata.protect.pram import DistanceDecay, Occurrence, Sinkhorn, TwoStage\n"
        "counts = np.ceil(np.exp(np.random.default_rng(1).normal(6, 2, 150)))\n"
        "held = Occurrence.of([f'{k:03d}' for k in range(150)], counts)\n"
        "start = DistanceDecay(keep=0.9, ratio=0.7)\n"
        "made = [design(start=start).matrix(held).matrix.tobytes() for design in (TwoStage, Sinkhorn)]\n"
        "print([hashlib.sha256(one).hexdigest() for one in made])"
    )
    told = set()
    for threads in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads},
        )
        told.add(done.stdout)
    assert len(told) == 1


@pytest.mark.parametrize(
    ("design", "text"),
    [
        (TypeOne(keep={"a": 0.8, "b": 0.9}), "type-1, keep [a 0.8, b 0.9]"),
        (KAry(epsilon=2), "k-ary, epsilon 2"),
        (TwoStage(start=TypeOne(keep=0.8)), "two-stage, start (type-1, keep 0.8)"),
        (InvariantCyclic(), "invariant-cyclic"),
        (OwnMatrix(rows=((0.5, 0.5), (0.25, 0.75)), categories=("a", "b")), "own, rows [[0.5, 0.5], [0.25, 0.75]]"),
        (OwnMatrix(rows=np.full((20, 20), 0.05).tolist(), categories=tuple("abcdefghijklmnopqrst")), "own, categories ["),
    ],
)
def test_designs_are_told_in_words_without_long_matrices(design: Design, text: str) -> None:
    assert design_text(design).startswith(text)
    assert len(design_text(design)) < 200
