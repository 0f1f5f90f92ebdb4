"""Fixed margins: the antichain, the graph, what is graphical and decomposable, and the separators."""

from __future__ import annotations

import itertools
import random

import pytest

from discreet.errors import InputError
from discreet.model.margins import Margins


def margins(variables: str, *sets: str) -> Margins:
    return Margins.of(list(variables), [list(margin) for margin in sets])


def listed(found: Margins) -> set[str]:
    return {"".join(separator.variables) for separator in found.separators}


def test_margins_that_follow_from_others_are_dropped() -> None:
    found = margins("abcd", "dc", "ab", "b", "cd", "d")
    assert found.sets == (("a", "b"), ("c", "d"))
    assert margins("abc", "b").free == ("a", "c")
    assert Margins.of(["age", "sex"], ["age"]).sets == (("age",),)


@pytest.mark.parametrize(
    ("sets", "graphical", "decomposable"),
    [
        (("ab", "bc"), True, True),
        (("ab", "bc", "ac"), False, False),
        (("abc",), True, True),
        (("ab", "bc", "cd", "ad"), True, False),
        (("ab", "cd"), True, True),
        ((), True, True),
        (("a", "b"), True, True),
        (("abc", "bcd", "cde"), True, True),
    ],
)
def test_graphical_and_decomposable(sets: tuple[str, ...], graphical: bool, decomposable: bool) -> None:
    found = margins("abcde", *sets)
    assert (found.graphical, found.decomposable) == (graphical, decomposable)


def test_the_eight_separators_of_a_chain_that_closes() -> None:
    found = margins("abcdefgh", "abc", "cde", "efg", "gh", "ah")
    assert listed(found) == {"ac", "ae", "ag", "ce", "cg", "ch", "eg", "eh"}
    assert found.separators[0].components == (("b",), ("d", "e", "f", "g", "h"))
    assert listed(margins("abc", "ab", "bc", "ac")) == set()
    assert listed(margins("abc", "ab")) == {""}


def separated(found: Margins, cut: frozenset[str], one: str, other: str) -> bool:
    seen, queue = {one}, [one]
    while queue:
        here = queue.pop()
        for pair in found.edges:
            if here in pair:
                (there,) = set(pair) - {here}
                if there not in seen | cut:
                    seen.add(there)
                    queue.append(there)
    return other not in seen


def by_brute_force(found: Margins) -> set[str]:
    """Sets of variables of which no smaller one separates some two variables, straight from the definition."""
    names, kept = found.variables, set()
    for one, other in itertools.combinations(names, 2):
        rest = [name for name in names if name not in (one, other)]
        cuts = [
            frozenset(cut)
            for size in range(len(rest) + 1)
            for cut in itertools.combinations(rest, size)
            if separated(found, frozenset(cut), one, other)
        ]
        kept |= {"".join(sorted(cut)) for cut in cuts if not any(smaller < cut for smaller in cuts)}
    return kept


def test_separators_are_those_of_the_definition() -> None:
    chance, met = random.Random(3), 0
    for _ in range(150):
        names = "abcdef"[: chance.randint(3, 6)]
        pairs = [pair for pair in itertools.combinations(names, 2) if chance.random() < 0.45]
        found = margins(names, *map("".join, pairs))
        assert listed(found) == by_brute_force(found)
        for separator in found.separators:
            assert len(separator.components) >= 2
            inside = [name for part in separator.components for name in part]
            assert sorted([*inside, *separator.variables]) == sorted(names)
        met += len(found.separators)
    assert met > 150


@pytest.mark.parametrize(
    ("sets", "said"), [((["a", "x"],), "no variable 'x'"), (([],), "is empty"), ((["a", "a"],), "names a variable twice")]
)
def test_faulty_margins_are_told(sets: tuple[list[str], ...], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Margins.of(["a", "b"], sets)
    with pytest.raises(InputError, match="name a column twice"):
        Margins.of(["a", "a"], [])


def test_too_many_separators_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.model.margins.MOST", 5)
    with pytest.raises(InputError, match="more than 5 minimal separators"):
        _ = margins("abcdefgh", "abc", "cde", "efg", "gh", "ah").separators
