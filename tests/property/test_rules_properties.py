"""What holds of the sensitivity rules for any contributions."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.model.contributions import Contributions
from discreet.tables.rules import PQ, Dominance, KDisclosure, MinimumFrequency, PPercent
from discreet.tables.rules.coalition import coalition
from discreet.tables.rules.p_percent import precision
from discreet.testing import small_table

RANKS = 6
amounts = st.lists(st.integers(1, 10_000), min_size=1, max_size=RANKS)
shares = st.floats(0.5, 99.5)
conventions = st.sampled_from(("sample", "expand", "public"))


def cells(*contributions: Sequence[float], weights: Sequence[Sequence[float]] | None = None) -> Contributions:
    top, weighted = np.zeros((len(contributions), RANKS)), np.zeros((len(contributions), RANKS))
    weights = [[1.0] * len(x) for x in contributions] if weights is None else weights
    for row, (x, w) in enumerate(zip(contributions, weights, strict=True)):
        order = sorted(range(len(x)), key=lambda i, x=x: -abs(x[i]))
        top[row, : len(x)] = [x[i] for i in order]
        weighted[row, : len(x)] = [x[i] * w[i] for i in order]
    return Contributions.of(
        [len(x) for x in contributions],
        weighted.sum(axis=1),
        top=top,
        top_weighted=weighted,
        absolute=np.abs(weighted).sum(axis=1),
        weight=[sum(w) for w in weights],
    )


def fires(rule: Any, *contributions: float, w: Sequence[float] | None = None) -> bool:
    return bool(rule.sensitive(cells(contributions, weights=None if w is None else [w]))[0])


@given(amounts, shares)
def test_p_percent_sensitive_is_dominated_by_two(x: list[int], p: float) -> None:
    if fires(PPercent(p=p), *x):
        assert fires(Dominance(n=2, k=100 * 100 / (100 + p) - 1e-9), *x)


@given(amounts, st.integers(1, 99), st.integers(1, 3))
def test_p_percent_is_its_definition_in_whole_numbers(x: list[int], p: int, m: int) -> None:
    ordered = sorted(x, reverse=True)
    assert fires(PPercent(p=p, coalition=m), *x) is (100 * (sum(x) - sum(ordered[: m + 1])) < p * ordered[0])


@given(amounts, st.integers(1, 99), st.integers(1, 4))
def test_dominance_is_its_definition_in_whole_numbers(x: list[int], k: int, n: int) -> None:
    assert fires(Dominance(n=n, k=k), *x) is (100 * sum(sorted(x, reverse=True)[:n]) > k * sum(x))


@given(amounts, st.integers(1, 98), st.data())
def test_p_q_is_its_definition_in_whole_numbers(x: list[int], p: int, data: st.DataObject) -> None:
    q = data.draw(st.integers(p + 1, 300))
    ordered = sorted(x, reverse=True)
    assert fires(PQ(p=p, q=q), *x) is (q * (sum(x) - sum(ordered[:2])) < p * ordered[0])


@given(amounts, amounts, st.integers(1, 99))
def test_two_cells_that_are_not_sensitive_make_one_that_is_not(x: list[int], y: list[int], p: int) -> None:
    """Sub-additivity, through the union that the audit judges; contributors are different in the two."""
    both = cells(x, y)
    union = both.union([np.array([0, 1])])
    excess = [precision(coalition("p", c, others=1, weights="sample", negative="absolute"), p) for c in (both, union)]
    assert excess[1][0] <= excess[0].sum() + 1e-6
    if not PPercent(p=p).sensitive(both).any():
        assert not PPercent(p=p).sensitive(union)[0]


RULES = (
    PPercent(p=15),
    PPercent(p=40, coalition=2),
    PQ(p=10, q=40),
    Dominance(n=1, k=60),
    Dominance(n=2, k=85),
)


@pytest.mark.parametrize("rule", RULES, ids=repr)
@given(x=amounts, factor=st.sampled_from((1e-9, 0.001, 0.1, 1 / 3, 7.7, 1e9, 2.0**40)))
def test_scaling_changes_no_verdict(rule: Any, x: list[int], factor: float) -> None:
    assert fires(rule, *(factor * value for value in x)) == fires(rule, *x)


@pytest.mark.parametrize("rule", RULES, ids=repr)
@given(x=st.lists(st.integers(-1000, 1000).filter(bool), min_size=1, max_size=RANKS))
def test_a_table_and_its_negative_are_judged_alike(rule: Any, x: list[int]) -> None:
    assert fires(rule, *x) == fires(rule, *(-value for value in x)) == fires(rule, *(abs(value) for value in x))


@given(st.lists(amounts, min_size=2, max_size=5), st.tuples(shares, shares), conventions)
def test_a_stricter_parameter_protects_no_less(contributions: list[list[int]], pair: tuple[float, float], weights: str) -> None:
    loose, strict = sorted(pair)
    padded = [sorted(x, reverse=True) + [0] * (RANKS - len(x)) for x in contributions]
    table = small_table([sum(x) for x in contributions], n=[len(x) for x in contributions], top=padded)
    for mild, hard in (
        (PPercent(p=loose, weights=weights), PPercent(p=strict, weights=weights)),
        (PPercent(p=loose, weights=weights), PPercent(p=loose, coalition=2, weights=weights)),
        (PQ(p=loose, q=100, weights=weights), PQ(p=loose, q=loose + 1e-3 + (100 - loose) / 2, weights=weights)),
        (Dominance(n=1, k=strict, weights=weights), Dominance(n=1, k=loose, weights=weights)),
        (Dominance(n=1, k=strict, weights=weights), Dominance(n=2, k=strict, weights=weights)),
        (MinimumFrequency(n=loose, range=1), MinimumFrequency(n=strict, range=2)),
    ):
        less, more = mild.apply(table), hard.apply(table)
        assert not (less.primary & ~more.primary).any()
        assert (more.upper_protection >= less.upper_protection * (1 - 1e-9)).all()
        assert (more.upper_protection[more.primary & (more.fired == 1)] > 0).all()


@given(st.data(), amounts, st.integers(1, 4), st.integers(1, 99))
def test_expanded_units_are_repeated_units(data: st.DataObject, x: list[int], n: int, k: int) -> None:
    w = data.draw(st.lists(st.integers(1, 3), min_size=len(x), max_size=len(x)))
    copies = sorted(np.repeat(x, w).tolist(), reverse=True)
    expected = 100 * sum(copies[:n]) > k * sum(copies)
    assert fires(Dominance(n=n, k=k, weights="expand"), *x, w=w) is expected
    remainder = sum(copies) - sum(copies[: n + 1])
    assert fires(PPercent(p=k, coalition=n, weights="expand"), *x, w=w) is (100 * remainder < k * copies[0])


@given(amounts, st.lists(st.floats(1, 20), min_size=RANKS, max_size=RANKS), st.integers(1, 99))
def test_known_weights_tell_most_and_samples_least(x: list[int], w: list[float], p: int) -> None:
    """With weights of at least 1: what 'sample' finds sensitive, 'expand' does too when the coalition is one, and 'public'."""
    weights = w[: len(x)]
    verdict = {c: fires(PPercent(p=p, weights=c), *x, w=weights) for c in ("sample", "expand", "public")}
    assert verdict["sample"] <= verdict["expand"]
    assert verdict["sample"] <= verdict["public"]


@given(st.data(), amounts, st.integers(1, 99))
def test_a_waiver_of_all_but_one_leaves_one_target(data: st.DataObject, x: list[int], p: int) -> None:
    ordered = sorted(x, reverse=True)
    target = data.draw(st.integers(0, len(x) - 1))
    waiver = np.ones((1, RANKS), bool)
    waiver[0, target] = False
    top = np.array([ordered + [0] * (RANKS - len(x))], float)
    contributions = Contributions.of([len(x)], [sum(x)], top=top, top_waiver=waiver)
    others = ordered[:target] + ordered[target + 1 :]
    remainder = sum(x) - ordered[target] - (others[0] if others else 0)
    assert PPercent(p=p).sensitive(contributions)[0] == (100 * remainder < p * ordered[target])
    most = ordered[target] + (others[0] if others else 0)
    assert Dominance(n=2, k=p).sensitive(contributions)[0] == (100 * most > p * sum(x))
    assert Dominance(n=1, k=p).sensitive(contributions)[0] == (100 * ordered[target] > p * sum(x))


@settings(max_examples=60)
@given(
    st.lists(st.lists(st.integers(0, 6), min_size=3, max_size=3), min_size=1, max_size=4), st.integers(0, 4), st.integers(1, 3)
)
def test_k_disclosure_is_its_definition(counts: list[tuple[int, ...]], k: int, width: int) -> None:
    table = small_table(counts, variables=["group", "illness"], kind="frequency")
    after = KDisclosure(variable="illness", k=k, width=width).apply(table)
    groups = {chr(65 + i): list(row) for i, row in enumerate(counts)} | {"Total": np.sum(counts, axis=0).tolist()}
    expected = set()
    for group, row in groups.items():
        told = [
            set(range(start, start + w))
            for w in range(1, min(width, 2) + 1)
            for start in range(4 - w)
            if sum(row[start : start + w]) > 0 and sum(row) - sum(row[start : start + w]) <= k
        ]
        shortest = [one for one in told if not any(other < one for other in told)]
        expected |= {table.cell(group=group, illness="ABC"[i]) for one in shortest for i in one if row[i]}
    assert set(np.flatnonzero(after.primary & after.listed).tolist()) == expected
    np.testing.assert_allclose(after.equations @ after.value, 0)
    more = KDisclosure(variable="illness", k=k + 1, width=width).apply(table)
    assert more.cells >= after.cells
