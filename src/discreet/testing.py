"""Tiny named tables and assertions for tests, ours and yours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.model.contributions import Contributions
from discreet.model.equations import equations_of, merged
from discreet.model.hierarchy import Hierarchy
from discreet.model.layout import Layout
from discreet.model.table import Table

__all__ = ["assert_same_table", "small_table"]

SHOWN = ("shown", "shown_low", "shown_high", "shown_error")


def small_table(
    inner: ArrayLike,
    *,
    variables: Sequence[str] | None = None,
    hierarchies: Sequence[Hierarchy] | None = None,
    n: ArrayLike | None = None,
    top: ArrayLike | None = None,
    kind: str = "magnitude",
    decimals: int = 0,
    **fields: Any,
) -> Table:
    """A table with all margins from the values of its inner cells.

    ``inner`` has one axis a variable, in the order of ``hierarchies[v].leaves``; variables default to ``v1``, ``v2`` …
    with codes A, B, C … under a flat total.  ``n`` (same shape) contributors a cell, 10 by default; ``top`` (same shape
    plus one axis of ranks) the largest contributions of the inner cells, from which the margins' follow.
    """
    values = np.asarray(inner, float)
    shape = values.shape
    names = tuple(variables or (f"v{v + 1}" for v in range(len(shape))))
    trees = tuple(hierarchies or (Hierarchy.flat([chr(65 + i) for i in range(size)]) for size in shape))
    counts = values if kind == "frequency" and n is None else np.full(shape, 10.0) if n is None else np.asarray(n, float)
    codes = np.stack(np.meshgrid(*[np.arange(len(h.codes), dtype=np.int32) for h in trees], indexing="ij"), -1)
    codes = codes.reshape(-1, len(shape))
    member = [_membership(h) for h in trees]
    sums, units = values, counts
    for axis, matrix in enumerate(member):
        sums = np.moveaxis(np.tensordot(matrix, sums, (1, axis)), 0, axis)
        units = np.moveaxis(np.tensordot(matrix, units, (1, axis)), 0, axis)
    tops = None if top is None else _tops(np.asarray(top, float), member)
    equations, cell, first = merged(equations_of(trees, codes))
    contributions = Contributions.of(units.ravel(), sums.ravel(), top=tops).take(first)
    layout = Layout(name="table", variables=names, hierarchies=trees, codes=codes, cell=cell)
    value = np.round(sums.ravel()[first], decimals)
    return Table.of((layout,), value, contributions, equations, kind=kind, decimals=decimals, **fields)


def _membership(hierarchy: Hierarchy) -> Any:
    matrix = np.zeros((len(hierarchy.codes), len(hierarchy.leaves)))
    column = {int(leaf): i for i, leaf in enumerate(hierarchy.leaves)}
    for leaf, node in zip(*hierarchy.closure(), strict=True):
        matrix[node, column[int(leaf)]] = 1
    return matrix


def _tops(top: Any, member: Sequence[Any]) -> Any:
    ranks = top.shape[-1]
    for axis, matrix in enumerate(member):
        moved = np.moveaxis(top, axis, 0)
        merged_nodes = []
        for node in matrix:
            chosen = np.concatenate(list(moved[node > 0]), axis=-1)
            merged_nodes.append(-np.sort(-chosen, axis=-1)[..., :ranks])
        top = np.moveaxis(np.stack(merged_nodes), 0, axis)
    return top.reshape(-1, ranks)


def assert_same_table(left: Table, right: Table) -> None:
    """Fails, naming the field, when two tables differ in cells, numbers, equations, statuses or protection."""
    for name in (
        "value",
        "cost",
        "status",
        "frozen",
        "exempt",
        "listed",
        "fired",
        "upper_protection",
        "lower_protection",
        *SHOWN,
    ):
        np.testing.assert_array_equal(getattr(left, name), getattr(right, name), err_msg=f"tables differ in {name}")
    assert left.decimals == right.decimals, "tables differ in decimals"
    assert abs(left.equations - right.equations).sum() == 0, "tables differ in equations"
    for ours, theirs in zip(left.layouts, right.layouts, strict=True):
        assert _lines(ours) == _lines(theirs), "tables differ in their lines"


def _lines(layout: Layout) -> Mapping[tuple[str, ...], int]:
    columns = [layout.column(v) for v in range(len(layout.variables))]
    return {tuple(line): int(cell) for *line, cell in zip(*columns, layout.cell, strict=True)}
