"""Exchanges of two records, and the choice of disjoint pairs, against trying everything there is."""

import itertools
import sys
from collections import Counter
from typing import Any

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.microdata.protect.swap.edits import Edits
from discreet.microdata.protect.swap.matching import disjoint_pairs
from discreet.microdata.protect.swap.pairs import BARRED, STEP, Exchange
from discreet.model.margins import Margins

NAMES = "abcde"


def some_exchange(chance: np.random.Generator, sizes: list[int]) -> Exchange:
    k = len(sizes)
    sets = [[name for name in NAMES[:k] if chance.random() < 0.4] for _ in range(chance.integers(0, 4))]
    stay = int(chance.integers(0, 2**k)) if chance.random() < 0.4 else 0
    together = [[name for v, name in enumerate(NAMES[:k]) if stay >> v & 1]] if stay else []
    edits = []
    for _ in range(chance.integers(0, 3)):
        chosen = chance.choice(k, 2, replace=False).tolist()
        edits.append({v: chance.random(sizes[v]) < 0.5 for v in chosen})
    ordered = chance.choice(k, 2, replace=False).tolist() if chance.random() < 0.5 else []
    return Exchange(
        margins=Margins.of(NAMES[:k], [one for one in [*sets, *together] if one]),
        keys=int(chance.integers(0, 2**k)) if chance.random() < 0.4 else 0,
        stay=stay,
        edits=Edits(tuple(edits)),
        place={v: np.array([*np.linspace(0, STEP, sizes[v] - 1).round(), -1], np.int64) for v in ordered},
        far=bool(chance.integers(0, 2)),
    )


def breaks(exchange: Exchange, row: tuple[int, ...]) -> list[bool]:
    return [all(flag[row[v]] for v, flag in edit.items()) for edit in exchange.edits.forbidden]


def distance(exchange: Exchange, v: int, one: int, other: int) -> int:
    if v in exchange.place and min(exchange.place[v][[one, other]]) >= 0:
        return abs(int(exchange.place[v][one] - exchange.place[v][other]))
    return STEP * (one != other)


def tried(exchange: Exchange, i: tuple[int, ...], j: tuple[int, ...], start: tuple[int, ...] | None) -> dict[int, int]:
    """Each set of variables that the two can exchange, by the definition of what is kept, and its cost."""
    k = len(i)
    differ = [v for v in range(k) if i[v] != j[v]]
    bits = {"keys": exchange.keys, "stay": exchange.stay}
    keys, stay = ([v for v in range(k) if bits[name] >> v & 1] for name in ("keys", "stay"))
    sets = [[exchange.margins.variables.index(name) for name in margin] for margin in exchange.margins.sets]
    found = {}
    for number in range(1, len(differ)):
        for side in itertools.combinations(differ, number):
            i2, j2 = (tuple((y if v in side else x)[v] for v in range(k)) for x, y in ((i, j), (j, i)))
            if any(i2[v] != i[v] for v in stay):
                continue
            if any(
                Counter([tuple(r[v] for v in s) for r in (i, j)]) != Counter(tuple(r[v] for v in s) for r in (i2, j2))
                for s in sets
            ):
                continue
            if keys and any(all(new[v] == old[v] for v in keys) for new in (i2, j2) for old in (i, j)):
                continue
            if any(
                now and not then
                for old, new in ((i, i2), (j, j2))
                for then, now in zip(breaks(exchange, old), breaks(exchange, new), strict=True)
            ):
                continue
            if start is not None and all(j2[v] == start[v] for v in keys or range(k)):
                continue
            cost = sum(distance(exchange, v, i[v], j[v]) for v in side)
            found[sum(1 << v for v in side)] = -cost if exchange.far else cost
    return found


@pytest.mark.parametrize("seed", range(60))
def test_the_best_exchange_is_the_best_of_all_sets_of_variables(seed: int) -> None:
    chance = np.random.default_rng(seed)
    sizes = chance.integers(2, 5, int(chance.integers(2, 6))).tolist()
    exchange = some_exchange(chance, sizes)
    own, other, start = (np.stack([chance.integers(0, size, 60) for size in sizes], axis=1).astype(np.int32) for _ in range(3))
    start[::2] = own[::2]  # rows that an exchange can bring back
    start[::2, 0] = other[::2, 0]
    for begun in (None, start):
        sides, costs = exchange.best(own, other, begun)
        for p in range(len(own)):
            i, j = tuple(own[p].tolist()), tuple(other[p].tolist())
            known = tried(exchange, i, j, None if begun is None else tuple(begun[p].tolist()))
            if not known:
                assert (sides[p], costs[p]) == (0, BARRED)
            else:
                assert costs[p] == min(known.values()) == known[int(sides[p])]


def test_what_is_tried_has_exchanges_of_every_kind() -> None:
    """Or the comparison above would say nothing."""
    seen = Counter[str]()
    for seed in range(60):
        chance = np.random.default_rng(seed)
        sizes = chance.integers(2, 5, int(chance.integers(2, 6))).tolist()
        exchange = some_exchange(chance, sizes)
        own, other = (np.stack([chance.integers(0, size, 60) for size in sizes], axis=1) for _ in range(2))
        for i, j in zip(own.tolist(), other.tolist(), strict=True):
            known = tried(exchange, tuple(i), tuple(j), None)
            for name in ("keys", "stay", "far"):
                seen[name] += bool(known and getattr(exchange, name))
            seen["several"] += len(set(known.values())) > 1
            seen["none"] += not known
            seen["edits"] += bool(known and exchange.edits.forbidden)
            seen["order"] += bool(known and exchange.place)
    assert min(seen[name] for name in ("keys", "stay", "far", "several", "none", "edits", "order")) >= 40


def test_a_promise_is_the_cost_without_orders_and_edits() -> None:
    exchange = Exchange(margins=Margins.of("abcd", [("a", "b")]), keys=0, stay=0b1000, edits=Edits(), place={}, far=False)
    differ = np.array([0b0000, 0b0001, 0b0011, 0b0101, 0b1011, 0b1100, 0b1000])
    assert exchange.promise(differ).tolist() == [BARRED, BARRED, BARRED, STEP, 2 * STEP, STEP, BARRED]
    assert exchange.levels == [STEP, 2 * STEP, 3 * STEP]
    wide = Exchange(margins=Margins.of([f"v{v}" for v in range(17)], []), keys=0, stay=0, edits=Edits(), place={}, far=True)
    assert wide.promise(np.array([0b1, 0b11, 2**17 - 1])).tolist() == [BARRED, -STEP, -16 * STEP]


def all_matchings(pairs: list[tuple[int, int]]) -> Any:
    for number in range(len(pairs) + 1):
        for some in itertools.combinations(range(len(pairs)), number):
            ends = [end for at in some for end in pairs[at]]
            if len(set(ends)) == len(ends):
                yield some


@pytest.mark.parametrize("seed", range(40))
def test_the_pairs_are_the_best_of_all_disjoint_ones(seed: int) -> None:
    chance = np.random.default_rng(seed)
    every = list(itertools.combinations(range(7), 2))
    pairs = [every[at] for at in chance.choice(len(every), 9, replace=False)]
    pairs = [pair if chance.random() < 0.5 else pair[::-1] for pair in pairs]
    first, second = np.array(pairs).T
    gain, cost = chance.integers(1, 3, 9), chance.integers(-3, 3, 9)
    key = chance.integers(0, 2**60, 9)
    taken = disjoint_pairs(first, second, gain, cost, key)
    values = {some: (gain[list(some)].sum(), -cost[list(some)].sum()) for some in all_matchings(pairs)}
    assert values[tuple(taken.tolist())] == max(values.values())
    order = chance.permutation(9)
    again = disjoint_pairs(second[order], first[order], gain[order], cost[order], key[order])
    assert sorted(order[again].tolist()) == taken.tolist()


def test_chance_decides_between_pairs_that_are_equally_good() -> None:
    first, second = np.array([0, 0, 0, 0]), np.array([1, 2, 3, 4])
    one = np.ones(4, np.int64)
    chance = np.random.default_rng(1)
    seen = {disjoint_pairs(first, second, one, one, chance.integers(0, 2**60, 4)).item() for _ in range(60)}
    assert seen == {0, 1, 2, 3}


def test_no_pair_and_a_pair_named_twice() -> None:
    none = np.zeros(0, np.int64)
    assert len(disjoint_pairs(none, none, none, none, none)) == 0
    pair = np.array([3, 8])
    assert len(disjoint_pairs(pair, pair[::-1], *(np.array([2, 2]) for _ in range(3)))) == 1


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rustworkx", None)
    one = np.array([1])
    with pytest.raises(InputError, match=r"rustworkx is not installed[^\n]*\n.*discreet\[swap\]"):
        disjoint_pairs(one, one + 1, one, one, one)
