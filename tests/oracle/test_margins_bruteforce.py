"""The graph of margins against brute force: separators, and whether margins are graphical and decomposable."""

from __future__ import annotations

import itertools
import random

from discreet.model.margins import Margins

Graph = dict[str, set[str]]


def parts(graph: Graph, among: set[str]) -> list[frozenset[str]]:
    found, left = [], set(among)
    while left:
        part, edge = set(), {left.pop()}
        while edge:
            part |= edge
            edge = set().union(*(graph[name] for name in edge)) & left
            left -= edge
        found.append(frozenset(part))
    return found


def cliques(graph: Graph) -> list[frozenset[str]]:
    """All sets of variables that are neighbours of each other."""
    sizes = range(1, len(graph) + 1)
    sets = (frozenset(some) for size in sizes for some in itertools.combinations(graph, size))
    return [some for some in sets if all(some - {name} <= graph[name] for name in some)]


def test_random_graphs() -> None:
    chance, met = random.Random(9), {"separators": 0, "graphical": 0, "decomposable": 0}
    for _ in range(400):
        names = [f"x{v}" for v in range(chance.randint(2, 7))]
        sets = [set(chance.sample(names, chance.randint(1, min(3, len(names))))) for _ in range(chance.randint(0, 9))]
        margins = Margins.of(names, [sorted(margin) for margin in sets])
        graph = {name: set().union(*(margin for margin in sets if name in margin)) - {name} for name in names}
        assert set(margins.edges) == {pair for pair in itertools.combinations(names, 2) if pair[1] in graph[pair[0]]}

        # a set is a minimal separator if two components without it have all of it as neighbours
        without = {
            frozenset(some): parts(graph, set(names) - set(some))
            for size in range(len(names))
            for some in itertools.combinations(names, size)
        }
        minimal = {
            some: found
            for some, found in without.items()
            if sum(all(graph[name] & part for name in some) for part in found) > 1
        }
        told = {frozenset(one.variables): set(map(frozenset, one.components)) for one in margins.separators}
        assert told == {some: set(found) for some, found in minimal.items()}

        # a graph has no cycle without a chord exactly if all its minimal separators are cliques (Dirac)
        all_cliques = cliques(graph)
        largest = {one for one in all_cliques if not any(one < other for other in all_cliques)}
        kept = {frozenset(one) for one in sets if not any(one < other for other in sets)}
        graphical = kept == {one for one in largest if one <= set().union(*sets)}
        assert set(map(frozenset, margins.sets)) == kept
        assert margins.graphical == graphical
        assert margins.decomposable == (graphical and all(not some or some in all_cliques for some in minimal))
        met["separators"] += len(minimal)
        met["graphical"] += graphical
        met["decomposable"] += margins.decomposable
    assert met["separators"] > 400
    assert 100 < met["decomposable"] < met["graphical"] < 400
