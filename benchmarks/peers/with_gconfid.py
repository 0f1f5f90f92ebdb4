"""Runs the suppression of gconfid on a handed-over table, inside its own environment.

    python -m benchmarks.peers.with_gconfid FOLDER ANSWER COST SECONDS

COST is one of its cost functions (Size, Information, …).  It has no time limit of its own: SECONDS is kept by the caller.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import gconfid
import pandas as pd

from benchmarks.peers.exchange import answer

LEAST = 0.01  # it takes positive totals and, for a sensitive cell, a positive sensitivity only


def main(folder: Path, out: Path, cost: str) -> None:
    """Reads the table, runs the tool and answers."""
    cells, equations = pd.read_csv(folder / "cells.csv"), pd.read_csv(folder / "equations.csv")
    sensitive = cells["sensitive"] == 1
    incell = pd.DataFrame(
        {
            "CellId": cells["cell"] + 1,
            "TotalNoise": cells["value"].clip(lower=LEAST),
            "Sensitivity": cells["upper"].clip(lower=LEAST).where(sensitive, 0.0),
            "Status": sensitive.map({True: "S", False: "V"}),
            "Type": "C",
        }
    )
    inconstraint = pd.DataFrame(
        {"ConstraintId": equations["equation"] + 1, "CellId": equations["cell"] + 1, "Coefficient": equations["coefficient"]}
    )
    answer(out, "gconfid", lambda: _hidden(incell, inconstraint, cost))


def _hidden(incell: pd.DataFrame, inconstraint: pd.DataFrame, cost: str) -> Iterable[int]:
    """Cells that it does not publish."""
    result = gconfid.Suppression(incell=incell, inconstraint=inconstraint, cost_function1=cost).outsuppress.to_pandas()
    return result.loc[result["OutStatus"] != "P", "CellId"] - 1


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
