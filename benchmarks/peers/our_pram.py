"""Runs discreet's PRAM on the handed-over records, the way PyPI's pram is run.

    python -m benchmarks.peers.our_pram FOLDER ANSWER ROWS SECONDS

What is measured: the records are read from the frame, keyed, coded and randomised.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import discreet as dc
from benchmarks.peers.exchange import timed


def main(folder: Path, out: Path, rows: int) -> None:
    """Reads the records and randomises one variable; the frame is there before the clock starts."""
    about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
    column = about["column"]
    frame = pd.read_parquet(folder / about["file"], columns=["id", column])
    frame["id"] *= about["apart"]
    secret = dc.Secret("a secret of a benchmark, for nothing else")
    method = dc.Pram(columns=(column,), design=dc.TypeOne(keep=about["stay"]))

    def run() -> Any:
        return method.apply(dc.start_pram(dc.read_microdata(frame, unit="id"), secret))

    made, cost = timed(run)
    changed = int((made.true[0].codes != made.released[0].codes).sum())
    least = float(np.min([matrix.diagonal.min() for matrix in made.variables[0].matrices.values()]))
    out.write_text(json.dumps({"rows": rows, "changed": changed, "least": least, "version": dc.__version__, **cost}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
