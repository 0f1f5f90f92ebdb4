"""The first step of swapping: a secret key for each record."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.model.code_keys import record_code_keys
from discreet.model.keys import Secret
from discreet.model.microdata import Microdata
from discreet.model.swap_file import SwapFile

__all__ = ["start_swap"]


def start_swap(microdata: Microdata, secret: Secret, *, record: str | Sequence[str] = ()) -> SwapFile:
    """Records with a secret key each, of which nothing moved yet.

    The key is 60 bits of a SHA-256 hash of the secret and the record's id: the columns ``record``, by default that of the
    role unit.  It decides between swaps that are equally good, so that the order of the file and the machine do not.

    Errors: InputError where there is no id, where records miss it or share one, for rows that stand for several records, and
    for a secret of the paper's hash.
    """
    columns, key = record_code_keys(microdata, secret, "swap", record)
    # of two ids with one key, which hardly ever occur, the order of the file would decide
    rows = np.argsort(key, kind="stable")
    return SwapFile(microdata=microdata, secret=secret, record=columns, rows=rows, key=key[rows])
