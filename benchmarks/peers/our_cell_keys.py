"""Runs discreet's cell keys on the handed-over records, the way cell-key-perturbation is run.

    python -m benchmarks.peers.our_cell_keys FOLDER ANSWER file|frame SECONDS

``file``: the records are read from the file; ``frame``: from a pandas frame that is there already.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import discreet as dc
from benchmarks.peers.exchange import timed


def main(folder: Path, out: Path, source: str) -> None:
    """Reads the records and the p-table, perturbs and answers with the counts of all inner cells."""
    about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
    variables, key = about["variables"], about["key"]
    method = dc.CellKey(ptable=dc.read_ptable(folder / "ptable.csv"), sensitive="show")
    records: Any = folder / "records.parquet"
    if source == "frame":
        import pandas as pd  # only here, as it would count in the memory of a process that reads the file

        records = pd.read_parquet(records, columns=[*variables, key])

    read, tabulate = dc.read_microdata, dc.tabulate  # imported here; the other tool's modules are not measured either

    def run() -> Any:
        return method.apply(tabulate(read(records, record_key=key), spanning=variables))

    table, cost = timed(run)
    layout = table.layouts[0]
    inner = np.flatnonzero((layout.codes > 0).all(axis=1))
    codes = [layout.column(v)[inner] for v in range(len(variables))]
    numbers = table.numbers[layout.cell[inner]].astype(int).tolist()
    cells = [[*line, number] for *line, number in zip(*codes, numbers, strict=True)]
    out.write_text(json.dumps({"cells": cells, "version": dc.__version__, **cost}), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
