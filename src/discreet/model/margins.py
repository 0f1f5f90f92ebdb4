"""Fixed margins as sets of variables: what is left of them, their graph, and the separators that decide what can be swapped."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from discreet.errors import InputError, near, some

__all__ = ["Margins", "Separator"]

MOST = 100_000
"""Minimal separators that are listed; a graph has exponentially many at worst."""


@dataclasses.dataclass(frozen=True)
class Separator:
    """A minimal vertex separator: its variables, and the components of the graph without it."""

    variables: tuple[str, ...]
    components: tuple[tuple[str, ...], ...]


@dataclasses.dataclass(frozen=True)
class Margins:
    """Margins that must stay exactly as they are: sets of ``variables``, of which none is part of another.

    The graph has the variables as vertices and an edge wherever two stand in one margin.  Two records can exchange values in
    some variables, each of them changing and all margins staying, exactly if this graph is disconnected on the variables in
    which they differ.  Make one with :meth:`of`.
    """

    variables: tuple[str, ...]
    sets: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, variables: Sequence[str], margins: Iterable[Sequence[str] | str]) -> Margins:
        """Margins over these variables; sets that are part of another one are dropped, as they follow from it.

        Errors: InputError for a variable that is not among them or named twice.
        """
        variables = tuple(variables)
        if len(set(variables)) < len(variables):
            raise InputError("variables", "name a column twice", "name each column once")
        given = []
        for margin in margins:
            names = (margin,) if isinstance(margin, str) else tuple(margin)
            for name in names:
                if name not in variables:
                    problem = f"no variable {name!r}{near(name, variables)}"
                    raise InputError(f"margin {some(names)}", problem, f"the variables are: {some(variables, 40)}")
            if len(set(names)) < len(names) or not names:
                raise InputError(f"margin {some(names)}", "is empty or names a variable twice", "name each variable once")
            given.append(frozenset(names))
        kept = {margin for margin in given if not any(margin < other for other in given)}
        place = {name: v for v, name in enumerate(variables)}
        ordered = sorted(tuple(sorted(margin, key=place.__getitem__)) for margin in kept)
        return cls(variables, tuple(sorted(ordered, key=lambda names: [place[name] for name in names])))

    @cached_property
    def neighbours(self) -> tuple[int, ...]:
        """For each variable the set of variables that stand in one margin with it, as bits."""
        place = {name: v for v, name in enumerate(self.variables)}
        found = [0] * len(self.variables)
        for margin in self.sets:
            bits = sum(1 << place[name] for name in margin)
            for name in margin:
                found[place[name]] |= bits
        return tuple(bits & ~(1 << v) for v, bits in enumerate(found))

    @property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """The pairs of variables that stand in one margin."""
        names = self.variables
        return tuple((names[v], names[w]) for v, bits in enumerate(self.neighbours) for w in _bits(bits) if v < w)

    @property
    def free(self) -> tuple[str, ...]:
        """The variables in no margin."""
        return tuple(name for name in self.variables if not any(name in margin for margin in self.sets))

    @cached_property
    def graphical(self) -> bool:
        """Whether the margins are the maximal cliques of their graph, so that the graph tells all about them."""
        covered = sum(1 << v for v, name in enumerate(self.variables) if name not in self.free)
        cliques = self._cliques(0, covered, 0) if covered else ()
        return {frozenset(self._named(clique)) for clique in cliques} == set(map(frozenset, self.sets))

    @cached_property
    def decomposable(self) -> bool:
        """Whether they are graphical and no cycle of four or more variables is without a chord.

        Then a record that no pair can change is one that no swap of any number of records can.
        """
        return self.graphical and self._chordal()

    def components(self, among: int) -> Iterator[int]:
        """The connected parts of the graph on these variables; sets of variables are bits, in the order of the variables."""
        while among:
            part, edge = 0, among & -among
            while edge:
                part |= edge
                edge = self._beside(edge) & among & ~part
            yield part
            among &= ~part

    @cached_property
    def separators(self) -> tuple[Separator, ...]:
        """All minimal vertex separators (Berry, Bordat, Cogis); the empty one if the graph is disconnected.

        Errors: InputError if there are more than 100,000.
        """
        everything = (1 << len(self.variables)) - 1
        found: dict[int, None] = {}
        queue: deque[int] = deque()

        def add(separator: int) -> None:
            if separator not in found:
                if len(found) >= MOST:
                    problem = f"their graph has more than {MOST:,} minimal separators"
                    raise InputError("margins", problem, "fix fewer margins, or margins of more variables")
                found[separator] = None
                queue.append(separator)

        for v, beside in enumerate(self.neighbours):
            for part in self.components(everything & ~beside & ~(1 << v)):
                add(self._beside(part) & ~part)
        while queue:
            separator = queue.popleft()
            for x in _bits(separator):
                for part in self.components(everything & ~separator & ~self.neighbours[x]):
                    add(self._beside(part) & ~part)
        ordered = sorted(found, key=lambda bits: (bits.bit_count(), tuple(_bits(bits))))
        return tuple(
            Separator(self._named(bits), tuple(map(self._named, self.components(everything & ~bits)))) for bits in ordered
        )

    def _beside(self, part: int) -> int:
        """All neighbours of these variables."""
        found = 0
        for v in _bits(part):
            found |= self.neighbours[v]
        return found

    def _named(self, bits: int) -> tuple[str, ...]:
        return tuple(self.variables[v] for v in _bits(bits))

    def _cliques(self, taken: int, open_: int, done: int) -> Iterator[int]:
        """The maximal cliques that hold ``taken`` and else variables of ``open_`` (Bron, Kerbosch, with a pivot)."""
        if not open_ and not done:
            yield taken
            return
        pivot = max(_bits(open_ | done), key=lambda v: (self.neighbours[v] & open_).bit_count())
        for v in _bits(open_ & ~self.neighbours[pivot]):
            beside = self.neighbours[v]
            yield from self._cliques(taken | 1 << v, open_ & beside, done & beside)
            open_ &= ~(1 << v)
            done |= 1 << v

    def _chordal(self) -> bool:
        """Whether variables can be taken out one by one, each with neighbours that are all neighbours of each other."""
        left = (1 << len(self.variables)) - 1
        while left:
            for v in _bits(left):
                beside = self.neighbours[v] & left
                if all(beside & ~(1 << w) & ~self.neighbours[w] == 0 for w in _bits(beside)):
                    left &= ~(1 << v)
                    break
            else:
                return False
        return True


def _bits(bits: int) -> Iterator[int]:
    while bits:
        yield (bits & -bits).bit_length() - 1
        bits &= bits - 1
