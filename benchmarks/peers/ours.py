"""Runs discreet itself on a handed-over table, the way the other tools are run.

python -m benchmarks.peers.ours FOLDER ANSWER gauss|gauss-alone|exact SECONDS
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np

import discreet as dc
from benchmarks.peers.exchange import answer


def main(folder: Path, out: Path, method: str, seconds: int) -> None:
    """Reads the table, protects it and answers."""
    table = pickle.loads((folder / "table.pickle").read_bytes())
    limit = float(seconds)

    def hide() -> Iterable[int]:
        """Hidden cells: of elimination alone, or of a method with its audits and repair."""
        if method == "gauss-alone":
            return np.flatnonzero(dc.GaussSuppression(singletons=False).apply(table).suppressed)
        chosen = dc.ExactSuppression(time_limit=limit) if method == "exact" else dc.GaussSuppression()
        return np.flatnonzero(dc.protect(table, [chosen], time_limit=limit).suppressed)

    answer(out, "discreet", hide)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
