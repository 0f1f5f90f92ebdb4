"""Where each value of the records comes from while swaps are applied one after the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.model.contributions import Integers

__all__ = ["Places"]


class Places:
    """Records while their values change places: ``codes`` as they stand, ``start`` as they stood at first, and ``origin``, the
    record from which each value came, all of shape (records, variables); ``key`` has shape (records,)."""

    def __init__(self, codes: NDArray[np.int32], key: Integers) -> None:
        self.start, self.key = codes, key
        self.codes = np.array(codes, order="F")
        self.origin = np.array(np.broadcast_to(np.arange(len(codes))[:, None], codes.shape), np.int64, order="F")

    def __repr__(self) -> str:
        return f"Places({len(self.key)} records)"

    def exchange(self, first: Integers, second: Integers, sides: Integers) -> None:
        """Pairs of records exchange their values in the variables of a side, which are bits; no record is in two pairs."""
        for v in range(self.codes.shape[1]):
            moves = (sides >> v & 1).astype(bool)
            here, there = np.concatenate([first[moves], second[moves]]), np.concatenate([second[moves], first[moves]])
            self._bring(v, here, there)

    def permute(self, records: Integers, source: Integers) -> None:
        """Record r gets its value of variable v from ``records[source[r, v]]``; shape (records that move, variables)."""
        for v in range(self.codes.shape[1]):
            self._bring(v, records, records[source[:, v]])

    def changed(self, variables: list[int]) -> NDArray[np.bool_]:
        """Which records differ from what they were at first, in any of these variables."""
        found = np.zeros(len(self.key), bool)
        for v in variables:
            found |= self.codes[:, v] != self.start[:, v]
        return found

    def _bring(self, v: int, here: Integers, there: Integers) -> None:
        self.codes[here, v], self.origin[here, v] = self.codes[there, v], self.origin[there, v]
