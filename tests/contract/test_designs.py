"""Asked of every design of a transition matrix, also of one that is added tomorrow.

A design with required parameters has a row in EXAMPLES; nothing else needs an edit.
"""

import dataclasses
import inspect
from typing import Any, ClassVar

import numpy as np
import pytest

from discreet.errors import InputError, ParameterError
from discreet.method import build, parameters
from discreet.microdata.protect.pram import DESIGNS, Mixture, Occurrence, Sinkhorn, TwoStage, TypeOne
from discreet.microdata.protect.pram.occurrence import Design
from discreet.model.transition import ILL, TransitionMatrix

ROWS = {
    "01": {"01": 0.8, "02": 0.1, "03": 0.1},
    "02": {"02": 0.7, "01": 0.3},
    "03": {"03": 0.9, "04": 0.1},
    "04": {"04": 0.6, "01": 0.2, "02": 0.1, "05": 0.1},
    "05": {"05": 0.75, "03": 0.25},
}
EXAMPLES: dict[str, dict[str, Any]] = {
    "type-1": {"keep": 0.8},
    "cyclic": {"keep": 0.8},
    "distance-decay": {"keep": 0.8, "reach": 2, "alone": "stay"},
    "own": {"rows": ROWS},
    "rank-one": {"share": 0.7},
    "k-ary": {"epsilon": 2},
    "two-stage": {"start": TypeOne(keep=0.8), "least": 0.5},
    "sinkhorn": {"start": TypeOne(keep=0.8), "least": 0.5},
    "mixture": {"start": TwoStage(start=TypeOne(keep=0.8)), "share": 0.5},
    "target": {"most": 0.8, "least": 0.5},
}
SEVERAL_BEST = {"target"}
"""Designs that choose one of several matrices that are equally good, by the order of categories."""

CODES = ["01", "02", "03", "04", "05"]
COUNTS = np.array([7919, 1009, 7919, 313, 2003], float)
KINDS = {design.NAME: design for design in DESIGNS}
EVERY = pytest.mark.parametrize("name", KINDS)


def design_of(name: str) -> Any:
    return build(KINDS[name], EXAMPLES.get(name, {}))


def all_moves() -> np.ndarray:
    return np.ones((5, 5), bool)


def forbidden_moves() -> list[np.ndarray]:
    """One move; a group apart; a category that is kept; one that is never left; one way only between two groups."""
    one, kept, never_left, one_way = (all_moves() for _ in range(4))
    one[0, 3] = False
    kept[2], kept[:, 2] = False, False
    never_left[1] = False
    one_way[3:, :3] = False
    group = np.array([0, 0, 0, 1, 1])
    patterns = [one, group[:, np.newaxis] == group, kept, never_left, one_way]
    for pattern in patterns:
        np.fill_diagonal(pattern, True)
    return patterns


def occurrence(allowed: np.ndarray | None = None) -> Occurrence:
    return Occurrence.of(CODES, COUNTS, all_moves() if allowed is None else allowed)


def taken(held: Occurrence, order: np.ndarray) -> Occurrence:
    """The same categories in another order."""
    categories = tuple(held.categories[k] for k in order)
    return Occurrence(categories=categories, counts=held.counts[order], allowed=held.allowed[np.ix_(order, order)])


def made_or_refused(name: str, held: Occurrence) -> TransitionMatrix | None:
    try:
        return design_of(name).matrix(held)
    except (InputError, ParameterError) as error:
        refused = error
    told = f"{refused} {refused.details}"
    start = EXAMPLES.get(name, {}).get("start", KINDS[name])
    assert name in refused.where or start.NAME in refused.where
    assert any(repr(code) in told for code in CODES) or "move" in told, "a refusal names a category or the moves"
    assert not any(str(int(count)) in told for count in COUNTS), "a refusal must not tell counts"
    return None


@EVERY
def test_it_does_something_on_the_example(name: str) -> None:
    assert isinstance(design_of(name), Design)
    made = design_of(name).matrix(occurrence())
    assert made.categories == occurrence().categories
    assert (made.diagonal < 1).any(), "the example must show the design at work, or the other tests say nothing"


@EVERY
def test_rows_add_up_and_the_matrix_can_be_inverted(name: str) -> None:
    made = design_of(name).matrix(occurrence())
    np.testing.assert_allclose(made.matrix.sum(axis=1), 1, atol=1e-13)
    assert made.condition <= ILL


@EVERY
def test_it_is_pure(name: str) -> None:
    held = occurrence()
    design_of(name).matrix(held)
    np.testing.assert_array_equal(held.counts, COUNTS)
    assert held.all_allowed
    assert held.categories == occurrence().categories


@EVERY
def test_it_is_repeatable(name: str) -> None:
    first, second = (design_of(name).matrix(occurrence()) for _ in range(2))
    np.testing.assert_array_equal(first.matrix, second.matrix)


@EVERY
@pytest.mark.parametrize("seed", [1, 2])
def test_the_order_of_categories_is_irrelevant(name: str, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(CODES))
    plain = design_of(name).matrix(occurrence())
    other = taken(occurrence(), order)
    shuffled = design_of(name).matrix(other)
    if name in SEVERAL_BEST:
        changes = [float(held.counts @ (1 - made.diagonal)) for held, made in ((occurrence(), plain), (other, shuffled))]
        assert changes[1] == pytest.approx(changes[0], rel=1e-9)
    else:
        np.testing.assert_allclose(shuffled.matrix, plain.matrix[np.ix_(order, order)], atol=1e-9)


@EVERY
def test_other_names_in_the_same_order_change_nothing(name: str) -> None:
    if name == "own":
        pytest.skip("its rows are given by name")
    renamed = Occurrence.of([f"code {code}" for code in CODES], COUNTS, all_moves())
    np.testing.assert_allclose(design_of(name).matrix(renamed).matrix, design_of(name).matrix(occurrence()).matrix, atol=1e-12)


@EVERY
def test_only_shares_of_the_counts_matter(name: str) -> None:
    larger = Occurrence.of(CODES, 8 * COUNTS, all_moves())
    np.testing.assert_allclose(design_of(name).matrix(larger).matrix, design_of(name).matrix(occurrence()).matrix, atol=1e-9)


@EVERY
@pytest.mark.parametrize("pattern", range(5))
def test_forbidden_moves_are_not_made_or_the_design_refuses(name: str, pattern: int) -> None:
    held = occurrence(forbidden_moves()[pattern])
    made = made_or_refused(name, held)
    if made is not None:
        assert not made.matrix[~held.allowed].any()
        np.testing.assert_allclose(made.matrix.sum(axis=1), 1, atol=1e-13)


@EVERY
@pytest.mark.parametrize("pattern", [None, 0, 1, 2])
def test_an_invariant_design_leaves_the_counts_as_they_are(name: str, pattern: int | None) -> None:
    held = occurrence(None if pattern is None else forbidden_moves()[pattern])
    if not design_of(name).invariant:
        pytest.skip("it is not invariant")
    made = made_or_refused(name, held)
    if made is not None:
        assert made.gap(COUNTS) <= 1e-9 * COUNTS.sum()


@EVERY
def test_a_single_category_stays(name: str) -> None:
    if name == "own":
        pytest.skip("its rows would release the category as others")
    made = design_of(name).matrix(Occurrence.of(["01"], [3]))
    np.testing.assert_array_equal(made.matrix, [[1.0]])


@EVERY
def test_no_categories_are_no_error(name: str) -> None:
    assert design_of(name).matrix(Occurrence.of([], [])).matrix.shape == (0, 0)


@EVERY
def test_compound_categories_are_designed_for(name: str) -> None:
    if name == "own":
        pytest.skip("its rows are given by name")
    pairs = (("f", "1"), ("f", "2"), ("m", "1"), ("m", "2"), ("m", "3"))
    held = Occurrence(categories=pairs, counts=COUNTS, allowed=all_moves())
    assert design_of(name).matrix(held).categories == pairs


@EVERY
def test_every_parameter_is_explained(name: str) -> None:
    for one in parameters(KINDS[name]):
        assert len(one.doc) > 10, f"{name}.{one.name} is not explained"
        assert one.name.isidentifier()


@EVERY
def test_it_says_what_it_is_for_and_where_it_comes_from(name: str) -> None:
    doc = inspect.cleandoc(KINDS[name].__doc__ or "")
    assert doc.partition("\n")[0].endswith(".")
    assert "Guards against" in doc
    assert "Does not guard against" in doc
    assert len(KINDS[name].SOURCE) > 10


@EVERY
def test_it_is_a_value(name: str) -> None:
    kind = KINDS[name]
    assert dataclasses.is_dataclass(kind)
    assert kind.__dataclass_params__.frozen
    assert all(field.kw_only for field in dataclasses.fields(kind))
    assert design_of(name) == design_of(name)


@EVERY
def test_it_refuses_what_it_does_not_know(name: str) -> None:
    with pytest.raises(ParameterError, match="unknown parameter 'nonsense'"):
        build(KINDS[name], EXAMPLES.get(name, {}) | {"nonsense": 1})
    for one in parameters(KINDS[name]):
        with pytest.raises(ParameterError, match=one.name):
            build(KINDS[name], EXAMPLES.get(name, {}) | {one.name: object()})


@EVERY
def test_it_shows_no_counts(name: str) -> None:
    made = design_of(name).matrix(occurrence())
    assert not any(
        str(int(count)) in text for count in COUNTS for text in (repr(made), repr(occurrence()), repr(design_of(name)))
    )


def test_names_are_different() -> None:
    assert len(KINDS) == len(DESIGNS)
    assert set(EXAMPLES) <= set(KINDS)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Swap:
    """A design of somebody else: two categories are exchanged."""

    NAME: ClassVar[str] = "swap"
    SOURCE: ClassVar[str] = "this test"

    @property
    def invariant(self) -> bool:
        return False

    def matrix(self, held: Occurrence, /) -> TransitionMatrix:
        return TransitionMatrix(held.categories, np.array([[0.8, 0.2], [0.2, 0.8]]))


@pytest.mark.parametrize("kind", [TwoStage, Sinkhorn, Mixture])
def test_a_design_of_ones_own_can_be_a_start(kind: type[Any]) -> None:
    settings = {"share": 0.5} if kind is Mixture else {}
    made = kind(start=_Swap(), **settings).matrix(Occurrence.of(["a", "b"], [3, 1]))
    assert made.matrix[0, 1] > 0
