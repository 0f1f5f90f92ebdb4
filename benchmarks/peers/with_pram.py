"""Runs PyPI's pram on the handed-over records, inside its own environment.

python -m benchmarks.peers.with_pram FOLDER ANSWER ROWS SECONDS
"""

from __future__ import annotations

import json
import sys
import warnings
from importlib.metadata import version
from pathlib import Path

import pandas as pd
from pram import pram

from benchmarks.peers.exchange import timed


def main(folder: Path, out: Path, rows: int) -> None:
    """Reads the records and randomises one variable; the frame is there before the clock starts."""
    about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
    column = about["column"]
    frame = pd.read_parquet(folder / about["file"], columns=[column])
    warnings.simplefilter("ignore")  # it calls what its pandas is about to drop
    made, cost = timed(lambda: pram(frame, m=about["stay"], alpha=1, columns=[column]))
    changed = int((made[column].to_numpy() != frame[column].to_numpy()).sum())
    out.write_text(json.dumps({"rows": rows, "changed": changed, "version": version("pram"), **cost}), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
