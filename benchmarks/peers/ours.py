"""Runs discreet itself on a handed-over table, the way the other tools are run.

    python -m benchmarks.peers.ours FOLDER ANSWER METHOD[-alone|-outsiders] SECONDS

METHOD is a suppression method by its name, with or without "-suppression" behind it.  ``alone`` leaves out the audits and
repairs that follow, and the protection from singletons; ``outsiders`` protects, proved, from people who contribute nothing:
no insiders and no sensitive sums, which is what a tool does whose singleton options are off.  Besides the cells, the answer
tells the ``bound`` below which no pattern that is safe from everybody can cost, where the method found one.
"""

from __future__ import annotations

import dataclasses
import pickle
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.exchange import answer
from discreet.plan.catalog import SUPPRESSION, find
from discreet.plan.protect import secure
from discreet.tables.rules import MinimumFrequency
from discreet.tables.suppress import GaussSuppression
from discreet.tables.suppress.anytime import SearchSuppression
from discreet.testing import small_table

FOR_THE_METHOD = 0.8
"""The part of the time that a method with a limit gets; the rest is for the audits and repairs after it."""


def main(folder: Path, out: Path, word: str, seconds: float) -> None:
    """Reads the table, protects it and answers."""
    table = pickle.loads((folder / "table.pickle").read_bytes())
    name, _, how = word.partition("-")
    method = method_of(name, seconds, singletons=not how)
    if how == "outsiders":
        table = table.with_intruder(dataclasses.replace(table.intruder, insiders="none", unions=False))

    warm_up()
    limit, told = None if hasattr(method, "work") else seconds, dict[str, float]()

    def hide() -> Iterable[int]:
        """Hidden cells: of the method alone, or with its audits and repair."""
        began = time.monotonic()
        done = method.apply(table)
        if (gap := done.history[-1].counts.get("gap")) is not None and not how:
            told["bound"] = float(done.cost[done.secondary].sum()) * (1 - gap)
        if how != "alone":
            left = None if limit is None else max(limit - (time.monotonic() - began), 0.0)
            done, _ = secure(done, [method], time_limit=left)
        return np.flatnonzero(done.suppressed)

    answer(out, "discreet", hide, told)


def warm_up() -> None:
    """Loads what the methods load on first use: as with the other tools, that is not measured."""
    table = MinimumFrequency(n=3).apply(small_table([[4.0, 5, 6], [7, 8, 9], [5, 6, 7]], n=[[1, 9, 9], [9, 9, 9], [9, 9, 9]]))
    for method in (GaussSuppression(), SearchSuppression()):
        secure(method.apply(table), [method])


def method_of(name: str, seconds: float, *, singletons: bool = True) -> Any:
    """The method with its share of the time, where it has a limit; one that counts work gets as many units as seconds."""
    method = find(name if name in SUPPRESSION else f"{name}-suppression")
    fields = {field.name for field in dataclasses.fields(method)}
    share = max(seconds * FOR_THE_METHOD, 0.1)
    settings = {"work": share, "singletons": singletons} | ({} if "work" in fields else {"time_limit": share})
    return method(**{key: value for key, value in settings.items() if key in fields})


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], float(sys.argv[4]))
