"""The choice of swaps of all risky records against all tables that have the same margins."""

import itertools
from collections import Counter

import numpy as np
import pytest

from discreet.microdata.protect.swap.choose import Choice
from discreet.microdata.protect.swap.edits import Edits
from discreet.microdata.protect.swap.larger import LargerSwaps
from discreet.microdata.protect.swap.moves import smallest_move
from discreet.microdata.protect.swap.pairs import Exchange
from discreet.microdata.protect.swap.places import Places
from discreet.model.combinations import combinations
from discreet.model.margins import Margins

NAMES = ("a", "b", "c", "d")


def some_records(chance: np.random.Generator, most: int) -> tuple[np.ndarray, tuple[int, ...], Margins]:
    k = int(chance.integers(2, 5))
    sizes = tuple(chance.integers(2, 4, k).tolist())
    records = int(chance.integers(2, most))
    codes = np.stack([chance.integers(0, size, records) for size in sizes], axis=1).astype(np.int32)
    sets = [[name for name in NAMES[:k] if chance.random() < 0.55] for _ in range(chance.integers(0, 5))]
    return codes, sizes, Margins.of(NAMES[:k], [one for one in sets if one])


def chosen(codes: np.ndarray, sizes: tuple[int, ...], margins: Margins, chance: np.random.Generator, *, pairs: bool) -> Choice:
    exchange = Exchange(margins=margins, keys=0, stay=0, edits=Edits(), place={}, far=bool(chance.integers(0, 2)))
    places = Places(codes, chance.integers(0, 2**60, len(codes)))
    held = combinations(codes, sizes)
    larger = None if pairs else LargerSwaps(places, exchange, len(codes) + 1, 60)
    choice = Choice(places, exchange, sizes, (held.counts == 1)[held.of], most=int(chance.integers(1, 9)), larger=larger)
    choice.run()
    return choice


@pytest.mark.parametrize("pairs", [False, True])
def test_nearly_every_record_changes_that_any_swap_can_change(pairs: bool) -> None:
    told, risky = Counter[str](), 0
    for seed in range(400):
        chance = np.random.default_rng(seed)
        codes, sizes, margins = some_records(chance, 14)
        choice = chosen(codes, sizes, margins, chance, pairs=pairs)
        held = combinations(codes, sizes)
        for record in np.flatnonzero(choice.risky & ~choice.changed).tolist():
            word = choice.told[record]
            told[word] += 1
            if not pairs or margins.decomposable:
                impossible = smallest_move(held, margins, int(held.of[record])).impossible
                assert impossible == (word == "impossible")
                assert word in ("impossible", "others")
            else:
                assert word in ("no swap", "others")
        risky += int(choice.risky.sum())
    # those whose partners are all records that must not get back what they had, in files of hardly any others
    assert told["others"] <= 0.001 * risky
    assert told["impossible"] > 0.2 * risky
    assert (told["no swap"] > 0) == pairs


def tables(codes: np.ndarray, margins: Margins) -> set[tuple[tuple[int, ...], ...]]:
    """All tables that permuting values of the records variable by variable gives, and that have the same margins."""
    k = codes.shape[1]
    every = [sorted(set(itertools.permutations(codes[:, v].tolist()))) for v in range(1, k)]
    sets = [[margins.variables.index(name) for name in margin] for margin in margins.sets]

    def margin(rows: list[tuple[int, ...]]) -> list[Counter[tuple[int, ...]]]:
        return [Counter(tuple(row[v] for v in one) for row in rows) for one in sets]

    wanted = margin([tuple(row) for row in codes.tolist()])
    found = set()
    for columns in itertools.product(*every):
        rows = list(zip(codes[:, 0].tolist(), *columns, strict=True))
        if margin(rows) == wanted:
            found.add(tuple(sorted(rows)))
    return found


def test_the_smallest_swap_of_several_records_into_codes_that_are_not_barred() -> None:
    degrees = Counter[int]()
    for seed in range(100):
        chance = np.random.default_rng(seed)
        sizes = (3, 2, 3)[: int(chance.integers(2, 4))]
        codes = np.stack([chance.integers(0, size, 6) for size in sizes], axis=1).astype(np.int32)
        sets = [[name for name in NAMES[: len(sizes)] if chance.random() < 0.5] for _ in range(2)]
        margins = Margins.of(NAMES[: len(sizes)], [one for one in sets if one])
        flags = chance.random(sizes) < 0.4
        held = combinations(codes, sizes)
        move = smallest_move(held, margins, int(held.of[0]), proven=True, barred=lambda rows, flags=flags: flags[tuple(rows.T)])
        before, own = Counter(map(tuple, codes.tolist())), tuple(codes[0].tolist())
        sought = []
        for table in tables(codes, margins):
            gained, lost = Counter(table) - before, before - Counter(table)
            if lost[own] and not any(flags[cell] for cell in gained):
                sought.append(lost.total())
        degrees[min(sought, default=0)] += 1
        assert move.impossible == (not sought)
        assert move.records == min(sought, default=0)
        assert not any(flags[tuple(row)] for row in move.into.tolist())
    assert min(degrees[degree] for degree in (0, 2, 3)) > 0
