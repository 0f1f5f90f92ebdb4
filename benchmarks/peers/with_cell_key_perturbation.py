"""Runs cell-key-perturbation on the handed-over records, inside its own environment.

    python -m benchmarks.peers.with_cell_key_perturbation FOLDER ANSWER file|frame SECONDS

``file``: reading the columns that are needed is part of what is measured; ``frame``: the frame is there already.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path

import pandas as pd
from cell_key_perturbation.create_perturbed_table import create_perturbed_table

from benchmarks.peers.exchange import timed


def main(folder: Path, out: Path, source: str) -> None:
    """Reads the records and the p-table, runs the tool and answers with all counts."""
    about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
    variables, key = about["variables"], about["key"]
    ptable = pd.read_csv(folder / "ptable.csv")

    def read() -> pd.DataFrame:
        return pd.read_parquet(folder / "records.parquet", columns=[*variables, key])

    def run(frame: pd.DataFrame) -> pd.DataFrame:
        return create_perturbed_table(frame, ptable, variables[:1], variables[1:], key, threshold=0)

    if source == "file":
        made, cost = timed(lambda: run(read()))
    else:
        frame = read()
        made, cost = timed(lambda: run(frame))
    cells = [[*codes, int(count)] for *codes, count in made[[*variables, "count"]].itertuples(index=False)]
    out.write_text(json.dumps({"cells": cells, "version": version("cell-key-perturbation"), **cost}), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
