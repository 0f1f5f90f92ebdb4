"""Arithmetic of code trees as arrays of parent positions; what a :class:`~discreet.model.hierarchy.Hierarchy` rests on.

``trees`` has shape (trees, codes) and holds the parent's position, -1 where a code has none in that tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.errors import HierarchyError, near, some

__all__ = ["Nodes", "closure", "cut", "group", "heights", "inconsistent", "leaves", "levels", "meant", "ordered", "paths"]

Nodes = NDArray[np.int32]


def ordered(pairs: Iterable[tuple[str, str]], total: str, source: str) -> tuple[list[str], Nodes]:
    """The codes of (parent, child) pairs in pre-order, the total first, and each one's parent."""
    parent: dict[str, str] = {}
    order: dict[str, None] = {}
    clashes = []
    for up, down in pairs:
        if down == total:
            raise HierarchyError(source, f"code {down!r} is the total and also part of {up!r}", "give the total another code")
        if not down or not up:
            raise HierarchyError(source, f"a code is empty: {some([up, down])}", "give every node a code")
        if down in parent:
            clashes.append((down, parent[down], up))
            continue
        parent[down] = up
        order.setdefault(up)
        order.setdefault(down)
    if clashes:
        raise HierarchyError(source, _clash_text(clashes), "list each code once", details=clashes)
    if not parent:
        raise HierarchyError(source, "holds no codes", "give at least one code below the total")
    children: dict[str, list[str]] = {}
    for code in order:
        if code != total:
            children.setdefault(parent.setdefault(code, total), []).append(code)
    codes: list[str] = []
    above: list[int] = []
    stack = [(total, -1)]
    while stack:
        code, up_position = stack.pop()
        position = len(codes)
        codes.append(code)
        above.append(up_position)
        stack.extend((part, position) for part in reversed(children.get(code, ())))
    if len(codes) <= len(parent):
        reached = set(codes)
        lost = [code for code in parent if code not in reached]
        raise HierarchyError(
            source, f"codes go round in a circle: {some(lost)}", "give one of them another parent", details=lost
        )
    return codes, np.array(above, np.int32)


def _clash_text(clashes: Sequence[tuple[str, str, str]]) -> str:
    told = [
        f"code {code!r} stands " + (f"twice under {one!r}" if one == other else f"under {one!r} and under {other!r}")
        for code, one, other in clashes[:3]
    ]
    more = f" (and {len(clashes) - 3} more such codes)" if len(clashes) > 3 else ""
    return "; ".join(told) + more


def paths(rows: Iterable[Sequence[str | None]], total: str, source: str) -> list[tuple[str, str]]:
    """(parent, child) pairs of rows of codes from coarse to fine, in code order.

    A missing code is a level that this branch does not have; a code repeated on the next level is one and the same node.
    """
    parent: dict[str, str] = {}
    clashes: dict[tuple[str, str, str], None] = {}
    for row in sorted({tuple(code or "" for code in row) for row in rows}):
        up = total
        for code in row:
            if not code or code == up:
                continue
            if code == total:
                raise HierarchyError(
                    source, f"code {code!r} is the total and also part of {up!r}", "give the total another code"
                )
            known = parent.setdefault(code, up)
            if known != up:
                clashes[code, known, up] = None
            up = code
    if clashes:
        told = list(clashes)
        raise HierarchyError(source, _clash_text(told), "list levels from coarse to fine, each code under one", details=told)
    return [(up, code) for code, up in parent.items()]


def meant(code: str, codes: Sequence[str]) -> str:
    """A hint at the code that was meant: one that differs in blanks, case or leading zeros, else a similar one."""
    plain = _plain(code)
    for known in codes:
        if _plain(known) == plain:
            return f" (did you mean {known!r}?)"
    begin = [known for known in codes if known[:1] == code[:1]] if len(codes) > 2000 else codes
    return near(code, begin[:5000])


def _plain(code: str) -> str:
    return code.strip().casefold().lstrip("0")


def leaves(trees: Nodes) -> Nodes:
    """Positions without a part in any tree."""
    inner = np.zeros(trees.shape[1], bool)
    inner[trees[trees >= 0]] = True
    return np.flatnonzero(~inner).astype(np.int32)


def heights(trees: Nodes) -> Nodes | None:
    """Steps to the farthest leaf below each code, or None where groupings go round in a circle."""
    height = np.zeros(trees.shape[1], np.int32)
    edges = [(np.flatnonzero(tree >= 0), tree[tree >= 0]) for tree in trees]
    while True:
        before = height.copy()
        for child, parent in edges:
            np.maximum.at(height, parent, height[child] + 1)
        if (height == before).all():
            return height
        if height.max() >= trees.shape[1]:
            return None


def _depths(tree: Nodes) -> Nodes:
    """Steps up to the total, -1 for codes from which this tree does not lead there."""
    depth, at = np.zeros(len(tree), np.int32), np.arange(len(tree))
    while True:
        moving = tree[at] >= 0
        if not moving.any():
            return np.where(at == 0, depth, -1).astype(np.int32)
        depth += moving
        at = np.where(moving, tree[at], at)


def levels(trees: Nodes) -> Nodes:
    """The depth of each code: 0 the total, its parts 1, and so on; groupings count one above their highest part."""
    level = _depths(trees[0])
    for tree in trees[1:]:
        level = np.where(level < 0, _depths(tree), level)
    height = heights(trees)
    loose = np.flatnonzero(level < 0)
    for code in loose[np.argsort(height[loose], kind="stable")] if height is not None else ():
        parts = np.concatenate([np.flatnonzero(tree == code) for tree in trees])
        level[code] = max(int(level[parts].min()) - 1, 1)
    return level.astype(np.int32)


def closure(trees: Nodes) -> tuple[Nodes, Nodes]:
    """Pairs (leaf, node), sorted: every node in whose sum the leaf counts, itself included, each pair once."""
    codes = trees.shape[1]
    leaf = leaves(trees).astype(np.int64)
    found = leaf * codes + leaf
    front = found
    while front.size:
        leaf, node = front // codes, front % codes
        steps = []
        for tree in trees:
            up = tree[node]
            steps.append(leaf[up >= 0] * codes + up[up >= 0])
        front = np.setdiff1d(np.concatenate(steps), found, assume_unique=False) if len(trees) > 1 else steps[0]
        found = np.concatenate([found, front])
    found.sort()
    return (found // codes).astype(np.int32), (found % codes).astype(np.int32)


def inconsistent(trees: Nodes) -> list[tuple[int, int]]:
    """(tree, parent) where the parts do not make up exactly the leaves that the parent stands for."""
    _, node = closure(trees)
    size = np.bincount(node, minlength=trees.shape[1])
    wrong = []
    for number, tree in enumerate(trees):
        child = np.flatnonzero(tree >= 0)
        parts = np.bincount(tree[child], size[child], trees.shape[1])
        parents = np.unique(tree[child])
        wrong += [(number, int(parent)) for parent in parents[parts[parents] != size[parents]]]
    return wrong


def group(
    codes: Sequence[str], trees: Nodes, groupings: Sequence[Mapping[str, Sequence[str]]], source: str
) -> tuple[tuple[str, ...], Nodes]:
    """Further trees over the same leaves: each grouping maps a new code to the codes (of any tree) that it sums."""
    first = set(codes)
    names = list(dict.fromkeys([*codes, *(code for grouping in groupings for code in grouping)]))
    position = {code: i for i, code in enumerate(names)}
    grown = [np.concatenate([tree, np.full(len(names) - len(tree), -1, np.int32)]) for tree in trees]
    for grouping in groupings:
        tree = np.full(len(names), -1, np.int32)
        for code, members in grouping.items():
            if code in first or not code:
                raise HierarchyError(
                    source, f"the grouping {code!r} carries the code of another node", "give it a code of its own"
                )
            if not isinstance(members, list | tuple) or not all(isinstance(member, str) for member in members):
                raise HierarchyError(
                    source, f"the grouping {code!r} is no list of codes", "list its parts: { GROUP = ['code', …] }"
                )
            if not members:
                raise HierarchyError(source, f"the grouping {code!r} sums no codes", "list its parts")
            for member in members:
                if member not in position:
                    raise HierarchyError(source, f"grouping {code!r} names an unknown code {member!r}{meant(member, names)}")
                if tree[position[member]] >= 0:
                    raise HierarchyError(
                        source,
                        f"code {member!r} stands in two groups of one grouping",
                        "put overlapping groups in groupings of their own",
                    )
                tree[position[member]] = position[code]
        grown.append(tree)
    out = np.array(grown, np.int32)
    if heights(out) is None:
        raise HierarchyError(source, "the groupings go round in a circle", "let each sum codes below it only")
    wrong = inconsistent(out)
    if wrong:
        bad = [names[parent] for _, parent in wrong]
        raise HierarchyError(
            source,
            f"a grouping counts a code twice, or stands for other codes elsewhere: {some(bad)}",
            "list in a group only codes that do not overlap, and the same ones wherever it occurs",
            details=bad,
        )
    return tuple(names), out


def cut(trees: Nodes, level: int) -> tuple[Nodes, Nodes]:
    """The positions that stay, and their trees, without what lies below a level of the first tree.

    Sums of the other trees stay where all their parts do.
    """
    depth, height = _depths(trees[0]), heights(trees)
    stays = (depth >= 0) & (depth <= level)
    for code in np.argsort(height, kind="stable") if height is not None else ():
        if depth[code] < 0:
            stays[code] = all(stays[tree == code].all() for tree in trees)
    keep = np.flatnonzero(stays).astype(np.int32)
    new = np.full(trees.shape[1] + 1, -1, np.int32)
    new[keep] = np.arange(len(keep))
    cut_trees = [new[trees[0][keep]]]
    for tree in trees[1:]:
        broken = np.unique(tree[(tree >= 0) & ~stays])
        whole = np.where(np.isin(tree, broken), -1, tree)[keep]
        if (whole >= 0).any():
            cut_trees.append(new[whole])
    return keep, np.array(cut_trees, np.int32)
