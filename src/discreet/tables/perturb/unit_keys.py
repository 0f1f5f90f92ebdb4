"""Noise that belongs to contributors needs one record key for each of them."""

from __future__ import annotations

import numpy as np

from discreet.errors import InputError
from discreet.model.table import Table

__all__ = ["need_unit_keys"]


def need_unit_keys(table: Table, method: str) -> None:
    """Refuses a table without keys of the largest contributors, or in which one contributor has another key in another cell.

    Its noise would not be the same everywhere, and averages over cells would tell its contribution.
    """
    sums = table.contributions
    if not sums.top_key.any():
        problem = "needs the record keys of the largest contributors, and the table has only those of cells"
        raise InputError(method, problem, "count it from records with record keys")
    named = sums.top_id >= 0
    who, key = sums.top_id[named], sums.top_key[named]
    order = np.argsort(who)
    who, key = who[order], key[order]
    if ((who[1:] == who[:-1]) & (key[1:] != key[:-1])).any():
        raise InputError(
            method,
            "needs one record key for each contributor, and some have other keys in other records",
            "let a secret make the keys, or give all records of a contributor (of a holding) the same key",
        )
