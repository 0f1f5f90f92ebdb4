"""Code trees of a spanning variable: every node is a sum of leaves, every tree adds equations."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np

from discreet.errors import HierarchyError, some
from discreet.model import trees as grown
from discreet.model.trees import Nodes

__all__ = ["Hierarchy"]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Hierarchy:
    """The codes of one spanning variable and how they add up.

    ``codes`` opaque strings, byte for byte as given, in pre-order; position 0 is the total.
    ``trees`` shape (trees, codes): the parent position of each code, -1 for the total and for codes that are
    no part of that tree.  The first tree holds all leaves; further trees are groupings over the same leaves
    that need not nest.  ``labels`` optional long names.  ``folded`` maps codes that may occur in the data but
    are not shown (cut off by :meth:`to_level`) to the position they count in.
    """

    codes: tuple[str, ...]
    trees: Nodes
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    folded: Mapping[str, int] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        self.trees.setflags(write=False)

    def __repr__(self) -> str:
        return f"Hierarchy({len(self.codes)} codes, {len(self.leaves)} leaves, {len(self.trees)} tree(s), {self.depth} levels)"

    # ---------------------------------------------------------------- making one

    @classmethod
    def from_parents(
        cls,
        pairs: Iterable[tuple[str, str]],
        *,
        total: str = "Total",
        groupings: Sequence[Mapping[str, Sequence[str]]] = (),
        labels: Mapping[str, str] | None = None,
        source: str = "hierarchy",
    ) -> Hierarchy:
        """From (parent, child) pairs; parents that are nobody's child stand under the total.

        ``groupings`` add further trees, see :meth:`grouped`.  Labels of codes outside the tree are left out.

        Errors: HierarchyError for a code with two parents, a cycle, or a leaf that carries the total's code.
        """
        codes, tree = grown.ordered(pairs, total, source)
        made = cls(tuple(codes), tree[np.newaxis], _labels(labels, codes))
        return made.grouped(groupings, labels=labels, source=source) if groupings else made

    @classmethod
    def flat(
        cls,
        codes: Iterable[str],
        *,
        total: str = "Total",
        labels: Mapping[str, str] | None = None,
        source: str = "hierarchy",
    ) -> Hierarchy:
        """All codes directly under the total."""
        listed = list(dict.fromkeys(codes))
        if total in listed:
            raise HierarchyError(
                source, f"code {total!r} is also the code of the total", "choose another code for the total: total = '...'"
            )
        return cls.from_parents(((total, code) for code in listed), total=total, labels=labels, source=source)

    @classmethod
    def from_levels(
        cls,
        rows: Iterable[Sequence[str | None]],
        *,
        total: str = "Total",
        groupings: Sequence[Mapping[str, Sequence[str]]] = (),
        labels: Mapping[str, str] | None = None,
        source: str = "hierarchy",
    ) -> Hierarchy:
        """From rows of codes, coarse to fine, such as the distinct rows of level columns; their order does not matter.

        A missing code (None or empty) is a level that this branch lacks; a code repeated on the next level is one node.

        Errors: HierarchyError for every fine code under two coarse codes.
        """
        pairs = grown.paths(rows, total, source)
        return cls.from_parents(pairs, total=total, groupings=groupings, labels=labels, source=source)

    @classmethod
    def from_prefixes(
        cls,
        codes: Iterable[str],
        lengths: Sequence[int],
        *,
        total: str = "Total",
        groupings: Sequence[Mapping[str, Sequence[str]]] = (),
        labels: Mapping[str, str] | None = None,
        source: str = "hierarchy",
    ) -> Hierarchy:
        """From leaf codes whose first characters are their coarser codes: one level for each prefix length, then the code.

        Errors: HierarchyError for a code that is the beginning of another one, and for lengths that do not grow.
        """
        if not lengths or list(lengths) != sorted({length for length in lengths if length > 0}):
            raise HierarchyError(source, f"prefix lengths {list(lengths)} do not grow", "give them as 1, 2, 4")
        leaves = list(dict.fromkeys(codes))
        made = cls.from_levels(
            [[*(code[:length] for length in lengths), code] for code in leaves],
            total=total,
            groupings=groupings,
            labels=labels,
            source=source,
        )
        listed = set(leaves)
        inner = [made.codes[node] for node in np.unique(made.trees[0][1:]) if made.codes[node] in listed]
        if inner:
            raise HierarchyError(
                source,
                f"codes are at the same time the beginning of other codes: {some(inner)}",
                "give the coarse records a finest code of their own, or use parent-child pairs",
                details=inner,
            )
        return made

    @classmethod
    def combined(cls, first: Hierarchy, *others: Hierarchy, source: str = "hierarchy") -> Hierarchy:
        """Several full hierarchies over the same leaves as one; inner codes of one name must stand for the same leaves."""
        number = {first.codes[leaf]: i for i, leaf in enumerate(first.leaves)}
        sums: dict[str, bytes] = {}
        labels: dict[str, str] = {}
        folded: dict[str, str] = {}
        for one in (first, *others):
            if one.total != first.total:
                raise HierarchyError(source, f"the totals differ: {first.total!r}, {one.total!r}", "give all the same total")
            differ = sorted(number.keys() ^ {one.codes[leaf] for leaf in one.leaves})
            if differ:
                trouble = f"the hierarchies have different leaves: {some(differ)}"
                raise HierarchyError(source, trouble, "list the same leaves in each", details=differ)
            mine = dict(zip(one.codes, one._leaf_sets(number), strict=True))
            bad = [code for code, leaves in mine.items() if sums.setdefault(code, leaves) != leaves]
            if bad:
                trouble = f"codes stand for different leaves in the hierarchies: {some(bad)}"
                raise HierarchyError(source, trouble, "rename them in one of the hierarchies", details=bad)
            labels = {**one.labels, **labels}
            for code, node in one.folded.items():
                if folded.setdefault(code, one.codes[node]) != one.codes[node]:
                    raise HierarchyError(source, f"code {code!r} counts in different codes", "cut all to the same level")
        position = {code: i for i, code in enumerate(sums)}
        rows: dict[bytes, Nodes] = {}
        for one in (first, *others):
            to = np.array([position[code] for code in one.codes] + [-1], np.int32)
            for tree in one.trees:
                row = np.full(len(position), -1, np.int32)
                row[to[:-1]] = to[tree]
                rows.setdefault(row.tobytes(), row)
        trees = np.array(list(rows.values()), np.int32)
        return cls(tuple(sums), trees, labels, {code: position[counted] for code, counted in folded.items()})

    def grouped(
        self,
        groupings: Sequence[Mapping[str, Sequence[str]]],
        *,
        labels: Mapping[str, str] | None = None,
        source: str = "hierarchy",
    ) -> Hierarchy:
        """With further trees over the same leaves: each grouping maps new codes to the codes (of any tree) that they sum."""
        codes, trees = grown.group(self.codes, self.trees, groupings, source)
        return Hierarchy(codes, trees, {**_labels(labels, codes), **self.labels}, self.folded)

    def with_leaf(self, code: str) -> Hierarchy:
        """With one more leaf directly under the total, such as the category of missing codes."""
        if code in self._positions or code in self.folded:
            raise HierarchyError("hierarchy", f"code {code!r} is already there", "choose another code")
        sums = (self.trees == 0).any(axis=1)
        column = np.where(sums, 0, -1).astype(np.int32)[:, np.newaxis]
        return Hierarchy((*self.codes, code), np.hstack([self.trees, column]), self.labels, self.folded)

    def to_level(self, level: int) -> Hierarchy:
        """Without the codes below this level; data codes cut off count in their ancestor.  Groupings of cut codes go."""
        if level < 1:
            raise HierarchyError("hierarchy", f"level {level} is above the first level", "use a level of at least 1")
        keep, trees = grown.cut(self.trees, level)
        if len(keep) == len(self.codes):
            return self
        new = {int(old): i for i, old in enumerate(keep)}
        folded: dict[str, int] = {}
        for code, position in self.data_codes.items():
            while position not in new:
                position = int(self.trees[0][position])
            if self.codes[position] != code:
                folded[code] = new[position]
        codes = tuple(self.codes[old] for old in keep)
        return Hierarchy(codes, trees, _labels(self.labels, codes), folded)

    # ---------------------------------------------------------------- looking at it

    @property
    def total(self) -> str:
        """The code of the total."""
        return self.codes[0]

    @cached_property
    def leaves(self) -> Nodes:
        """Positions of the codes that have no part in any tree."""
        return grown.leaves(self.trees)

    @cached_property
    def level(self) -> Nodes:
        """The depth of each code: 0 the total, its parts 1, and so on; groupings count one above their highest part."""
        return grown.levels(self.trees)

    @property
    def depth(self) -> int:
        """The number of levels below the total."""
        return int(self.level.max())

    @cached_property
    def height(self) -> Nodes:
        """The steps from each code down to its farthest leaf, over all trees."""
        height = grown.heights(self.trees)
        if height is None:
            raise HierarchyError("hierarchy", "the trees go round in a circle", "let each code sum codes below it only")
        return height

    @cached_property
    def alike(self) -> Nodes:
        """For each code the position of the first code that stands for the same leaves (a chain of single children is one)."""
        number = {self.codes[leaf]: i for i, leaf in enumerate(self.leaves)}
        seen: dict[bytes, int] = {}
        return np.array([seen.setdefault(leaves, code) for code, leaves in enumerate(self._leaf_sets(number))], np.int32)

    def _leaf_sets(self, number: Mapping[str, int]) -> list[bytes]:
        """What each code stands for, as the sorted numbers of its leaves."""
        leaf, node = self.closure()
        numbers = np.zeros(len(self.codes), np.int32)
        numbers[self.leaves] = [number[self.codes[at]] for at in self.leaves]
        sets = numbers[leaf][np.lexsort((numbers[leaf], node))]
        ends = np.cumsum(np.bincount(node, minlength=len(self.codes))).tolist()
        return [sets[start:end].tobytes() for start, end in zip([0, *ends[:-1]], ends, strict=True)]

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {code: i for i, code in enumerate(self.codes)}

    def position(self, code: str) -> int:
        """The position of a code, or a HierarchyError with the nearest one."""
        found = self._positions.get(code)
        if found is None:
            raise HierarchyError("hierarchy", f"unknown code {code!r}{grown.meant(code, self.codes)}", "use a code of the tree")
        return found

    def positions(self, codes: Sequence[str], *, variable: str = "") -> Nodes:
        """The position of each code, of any level, or a HierarchyError that lists all unknown ones."""
        found = [self._positions.get(code, -1) for code in codes]
        if min(found, default=0) < 0:
            unknown = sorted({code for code, at in zip(codes, found, strict=True) if at < 0})
            raise self._unknown(unknown, variable)
        return np.array(found, np.int32)

    @cached_property
    def data_codes(self) -> dict[str, int]:
        """Every code that data may carry, with the position it counts in: the leaves and the codes folded into others."""
        return {self.codes[leaf]: int(leaf) for leaf in self.leaves} | dict(self.folded)

    def check_data_codes(self, codes: Iterable[str], *, variable: str = "") -> None:
        """Refuses codes of records that the tree does not hold (all are listed), or that are sums of finer codes."""
        met = set(codes)
        absent = sorted(met - self.data_codes.keys())
        if not absent:
            return
        unknown = [code for code in absent if code not in self._positions]
        if unknown:
            raise self._unknown(unknown, variable)
        where = f"column {variable!r}" if variable else "hierarchy"
        if absent == [self.total]:
            raise HierarchyError(
                where,
                f"records carry the code of the total, {self.total!r}",
                "give the total another code: total = '...'",
                details=absent,
            )
        raise HierarchyError(
            where,
            f"records carry {len(absent)} codes that have parts in the hierarchy: {some(absent)}",
            "give each record its finest code, or cut the hierarchy to its level",
            details=absent,
        )

    def check_even(self, source: str = "hierarchy") -> None:
        """Refuses a first tree whose leaves do not all lie on one level; the error lists those that end early."""
        depth = self.level[self.leaves]
        short = [self.codes[leaf] for leaf in self.leaves[depth < depth.max()]]
        if short:
            raise HierarchyError(
                source,
                f"{len(short)} codes end above level {int(depth.max())} although the levels are declared even: {some(short)}",
                "complete their branches, or leave even = true out",
                details=short,
            )

    def closure(self) -> tuple[Nodes, Nodes]:
        """Pairs (leaf, node): every node in whose sum the leaf counts, itself and the total included, each pair once."""
        return grown.closure(self.trees)

    def _unknown(self, codes: Sequence[str], variable: str) -> HierarchyError:
        told = ", ".join(repr(code) + (grown.meant(code, self.codes) if i < 3 else "") for i, code in enumerate(codes[:5]))
        more = f" and {len(codes) - 5} more" if len(codes) > 5 else ""
        word = "code is" if len(codes) == 1 else "codes are"
        return HierarchyError(
            f"column {variable!r}" if variable else "hierarchy",
            f"{len(codes)} {word} not in the hierarchy: {told}{more}",
            "add them to the tree or correct them (blanks and leading zeros count)",
            details=codes,
        )


def _labels(labels: Mapping[str, str] | None, codes: Iterable[str]) -> dict[str, str]:
    return {code: labels[code] for code in codes if code in labels} if labels else {}
