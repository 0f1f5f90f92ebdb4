"""Runs pytauargus on a handed-over table, inside its own environment.

    python -m benchmarks.peers.with_pytauargus FOLDER ANSWER MOD|OPT SECONDS

The table, statuses and protection levels are given, so that only the secondary suppression is compared.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from pytauargus.engine import run_batch

from benchmarks.peers.exchange import TOTAL, answer, read_csv

COLUMNS = (
    ("value", "<NUMERIC>"),
    ("contributors", "<FREQUENCY>"),
    ("status", "<STATUS>"),
    ("lower", "<NUMERIC> <LOWERPL>"),
    ("upper", "<NUMERIC> <UPPERPL>"),
)


def main(folder: Path, out: Path, method: str, seconds: int) -> None:
    """Writes the tool's own input files to the working folder, runs it and answers."""
    lines, cells = read_csv(folder / "lines.csv"), read_csv(folder / "cells.csv")
    variables = [name for name in lines[0] if name != "cell"]
    with Path("table.tab").open("w", encoding="utf-8") as file:
        for line in lines:
            cell = cells[int(line["cell"])]
            status = "U" if cell["sensitive"] == "1" else "S"
            count = str(max(int(float(cell["contributors"])), 1))
            numbers = (f"{float(cell[name]):.4f}" for name in ("lower", "upper"))
            codes = (line[name] for name in variables)
            file.write(";".join((*codes, f"{float(cell['value']):.2f}", count, status, *numbers)) + "\n")
    Path("table.rda").write_text(_metadata(folder, variables), encoding="utf-8")
    minutes = max(seconds // 60, 1)
    suppress = f"MOD(1,{minutes},1,1,1)" if method == "MOD" else f"OPT(1,{minutes})"
    names = "".join(f'"{name}"' for name in variables)
    Path("table.arb").write_text(
        f'<OPENTABLEDATA> "table.tab"\n<OPENMETADATA> "table.rda"\n<SPECIFYTABLE> {names}|"value"|""|""\n'
        f'<SAFETYRULE>\n<READTABLE> 0\n<SUPPRESS> {suppress}\n<WRITETABLE> (1,5,"SO+","out.tab")\n',
        encoding="utf-8",
    )
    position = {tuple(line[name] for name in variables): int(line["cell"]) for line in lines}
    answer(out, "pytauargus", lambda: _hidden(position, len(variables)))


def _metadata(folder: Path, variables: list[str]) -> str:
    text = '<SEPARATOR> ";"\n<SAFE> "S"\n<UNSAFE> "U"\n<PROTECT> "P"\n'
    for name in variables:
        text += f'{name}\n  <RECODEABLE>\n  <TOTCODE> "{TOTAL}"\n  <HIERARCHICAL>\n'
        text += f'  <HIERCODELIST> "{folder / name}.hrc"\n  <HIERLEADSTRING> "@"\n'
    for name, kind in COLUMNS:
        decimals = {"value": "  <DECIMALS> 2\n", "lower": "  <DECIMALS> 4\n", "upper": "  <DECIMALS> 4\n"}.get(name, "")
        text += f"{name}\n  {kind}\n{decimals}"
    return text


def _hidden(position: dict[tuple[str, ...], int], variables: int) -> Iterable[int]:
    """Runs the batch; a cell that stands under several codes is hidden only where all of them are."""
    run_batch("table.arb")
    hidden, shown = set(), set()
    for line in Path("out.tab").read_text(encoding="utf-8").splitlines():
        fields = [field.strip().strip('"') for field in line.split(";")]
        cell = position.get(tuple(fields[:variables]))
        if cell is not None:
            (hidden if fields[-3] in ("U", "M") else shown).add(cell)
    return hidden - shown


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(float(sys.argv[4])))
