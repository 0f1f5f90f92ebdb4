"""What a sensitivity rule may look at: one row a cell, or one row a union of cells."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Contributions", "Floats", "Integers"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Contributions:
    """The statistics behind each cell, arrays of shape (cells,) or (cells, ranks).

    A *contribution* is the sum of the rule variable (the shadow where given, else the response) over the
    records of one contributor **within the cell**; a contributor is a holding where holdings are given,
    else a unit, else a record.  Ranks go by absolute value, largest first; absent ranks hold 0 and id -1.

    ``n`` units; ``holdings`` contributors; ``weight`` sum of weights (= n without weights);
    ``total`` weighted sum of the rule variable; ``unweighted`` its unweighted sum;
    ``absolute`` sum over contributors of abs(weighted contribution); ``absolute_unweighted`` the same without weights;
    ``top`` signed unweighted contributions; ``top_weighted`` the same contributors' weighted contributions;
    ``top_id`` an opaque number of the contributor, -1 where no ids were declared (a record then is nobody twice);
    ``top_request`` / ``top_waiver`` the contributor's request code (0 none) / whether it waived;
    ``requests`` contributors with a request; ``unwaived_top`` the largest signed contribution without waiver;
    ``unwaived_weighted`` that contributor's weighted contribution;
    ``key`` sum of the record keys of the contributing records, modulo 2^32 (0 where none are given): the cell key;
    ``top_key`` the largest contributors' own record keys; ``noise`` sum over all records of multiplier * unweighted
    contribution, where each unit has a noise multiplier; ``squares`` sum of the squared unweighted contributions (both 0
    unless ``tabulate`` was asked for unit noise).
    """

    n: Floats
    holdings: Floats
    weight: Floats
    total: Floats
    unweighted: Floats
    absolute: Floats
    absolute_unweighted: Floats
    top: Floats
    top_weighted: Floats
    top_id: Integers
    top_request: Integers
    top_waiver: NDArray[np.bool_]
    requests: Floats
    unwaived_top: Floats
    unwaived_weighted: Floats
    key: Integers
    top_key: Integers
    noise: Floats
    squares: Floats

    def __repr__(self) -> str:
        return f"Contributions(cells={len(self.n)}, ranks={self.top.shape[1]})"

    def __len__(self) -> int:
        return len(self.n)

    @property
    def keyed(self) -> bool:
        """Record keys were given or made."""
        return bool(self.key.any())

    @property
    def ranks(self) -> int:
        """How many largest contributions are held a cell."""
        return int(self.top.shape[1])

    def take(self, cells: Any) -> Contributions:
        """The rows of these cells, in this order."""
        return Contributions(**{f.name: getattr(self, f.name)[cells] for f in dataclasses.fields(self)})

    @classmethod
    def of(cls, n: Floats, total: Floats, *, top: Floats | None = None, **given: Any) -> Contributions:
        """Contributions from what little a published or hand-made table has; the rest is filled consistently.

        ``n`` and ``total`` have shape (cells,), ``top`` (cells, ranks).  Without ``holdings`` every unit is its own.
        """
        n, total = np.asarray(n, float), np.asarray(total, float)
        cells = len(n)
        top = np.zeros((cells, 0)) if top is None else np.asarray(top, float).reshape(cells, -1)
        top_weighted = np.asarray(given.get("top_weighted", top), float)
        waived = np.asarray(given.get("top_waiver", np.zeros(top.shape)), bool)
        first = np.cumsum(~waived, axis=1) * ~waived == 1
        filled: dict[str, Any] = {
            "holdings": n,
            "weight": n,
            "unweighted": total,
            "absolute": np.abs(total),
            "absolute_unweighted": np.abs(given.get("unweighted", total)),
            "top_weighted": top_weighted,
            "top_id": np.full(top.shape, -1),
            "top_request": np.zeros(top.shape),
            "top_waiver": waived,
            "requests": np.zeros(cells),
            "unwaived_top": np.where(first, top, 0.0).sum(axis=1),
            "unwaived_weighted": np.where(first, top_weighted, 0.0).sum(axis=1),
            "key": np.zeros(cells),
            "top_key": np.zeros(top.shape),
            "noise": np.zeros(cells),
            "squares": np.zeros(cells),
        } | given
        whole = {"top_id", "top_request", "key", "top_key"}
        arrays = {
            name: np.asarray(array, np.int64 if name in whole else bool if name == "top_waiver" else float)
            for name, array in filled.items()
        }
        return cls(n=n, total=total, top=top, **arrays)

    def union(self, groups: Sequence[Integers]) -> Contributions:
        """The contributions of each union of cells (the cells of a group share no record).

        A contributor known by id in several cells of a group is added up over its listed ranks; contributions
        beyond the listed ranks stay out of the union's top, which can only understate it when a contributor is
        spread over cells in which it is not among the largest.  A unit in several cells counts once where every unit is
        its own holding; units of larger holdings count once a cell.
        """
        sums: tuple[str, ...] = (
            "n",
            "holdings",
            "weight",
            "total",
            "unweighted",
            "absolute",
            "absolute_unweighted",
            "requests",
        )
        sums += ("key", "noise", "squares")
        out: dict[str, Any] = {
            name: np.array([getattr(self, name)[group].sum() for group in groups], getattr(self, name).dtype) for name in sums
        }
        out["key"] = out["key"] % 2**32
        ranks = self.ranks
        shape = (len(groups), ranks)
        out |= {"top": np.zeros(shape), "top_weighted": np.zeros(shape)}
        out |= {"top_id": np.full(shape, -1), "top_request": np.zeros(shape, np.int64), "top_waiver": np.zeros(shape, bool)}
        out["top_key"] = np.zeros(shape, np.int64)
        out |= {"unwaived_top": np.zeros(len(groups)), "unwaived_weighted": np.zeros(len(groups))}
        for row, group in enumerate(groups):
            self._merge_tops(out, row, np.asarray(group))
        return Contributions(**out)

    def _merge_tops(self, out: dict[str, Any], row: int, group: Integers) -> None:
        ids = self.top_id[group].ravel()
        top, weighted = self.top[group].ravel(), self.top_weighted[group].ravel()
        request, waiver, key = self.top_request[group].ravel(), self.top_waiver[group].ravel(), self.top_key[group].ravel()
        held = (top != 0) | (ids >= 0)
        ids, top, weighted, request, waiver, key = (column[held] for column in (ids, top, weighted, request, waiver, key))
        anonymous = ids < 0
        ids = np.where(anonymous, -1 - np.arange(len(ids)), ids)
        who, where = np.unique(ids, return_inverse=True)
        merged_top = np.bincount(where, top, len(who))
        merged_weighted = np.bincount(where, weighted, len(who))
        merged_request = np.zeros(len(who), np.int64)
        np.maximum.at(merged_request, where, request)
        merged_key = np.full(len(who), 2**32)
        np.minimum.at(merged_key, where, key)
        merged_waiver = np.ones(len(who), bool)
        np.logical_and.at(merged_waiver, where, waiver)
        known = who >= 0
        again = (np.bincount(where, minlength=len(who))[known] - 1).sum()
        out["holdings"][row] -= again
        if (self.n[group] == self.holdings[group]).all():
            out["n"][row] -= again
        order = np.lexsort((who, -np.abs(merged_top)))[: self.ranks]
        ranks = slice(0, len(order))
        out["top"][row, ranks], out["top_weighted"][row, ranks] = merged_top[order], merged_weighted[order]
        out["top_id"][row, ranks] = np.where(known[order], who[order], -1)
        out["top_request"][row, ranks], out["top_waiver"][row, ranks] = merged_request[order], merged_waiver[order]
        out["top_key"][row, ranks] = merged_key[order]
        free = np.flatnonzero(~merged_waiver)
        beyond = group[np.argmax(np.abs(self.unwaived_top[group]))]
        best, best_weighted = self.unwaived_top[beyond], self.unwaived_weighted[beyond]
        if free.size:
            largest = free[np.argmax(np.abs(merged_top[free]))]
            if abs(merged_top[largest]) >= abs(best):
                best, best_weighted = merged_top[largest], merged_weighted[largest]
        out["unwaived_top"][row], out["unwaived_weighted"][row] = best, best_weighted
