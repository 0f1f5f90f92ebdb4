"""Options that several commands take, and how they tell what they are doing."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["common", "counted", "out_option", "print_verdict", "progress", "seconds"]

MOST_FINDINGS = 20


def common(parser: argparse.ArgumentParser, out: str | None = None) -> None:
    """The output folder and the time limit of a plan's tables."""
    out_option(parser, out)
    parser.add_argument("--time-limit", type=seconds, metavar="SECONDS", help="seconds a table for audit and repair")


def out_option(parser: argparse.ArgumentParser, out: str | None = None) -> None:
    """The output folder."""
    text = f"the folder for release and report (default: {out or 'the name of the plan and -output'})"
    parser.add_argument("--out", default=out, metavar="DIR", help=text)


def seconds(text: str) -> float:
    """A number of seconds on the command line."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"takes a number of seconds above 0, not {text!r}")
    return number


def progress() -> Callable[[str], None] | None:
    """What tells of each step, where somebody watches the terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        return None
    return lambda text: print(f"· {text}", file=sys.stderr, flush=True)


def counted(table: Any) -> str:
    """How many cells there are, and what became of those that are not shown as they are."""
    hidden, changed = table.suppressed, table.perturbed
    sensitive = int((changed & table.primary).sum())
    among = f" ({sensitive} of them sensitive)" if sensitive else ""
    perturbed = f"{int(changed.sum())} perturbed{among}, " if changed.any() else ""
    suppressions = f"{int((hidden & table.primary).sum())} primary and {int((hidden & table.secondary).sum())} secondary"
    return f"{table.cells} cells, {perturbed}{suppressions} suppressions"


def print_verdict(name: str, table: Any, proof: Any) -> None:
    """The verdict of an audit, and the first demands that are not met."""
    print(f"{name}: {'safe' if proof.safe else 'NOT SAFE'}; {counted(table)}; {proof!r}")
    for finding in proof.findings[:MOST_FINDINGS]:
        where = f"sum of {len(finding.together)} hidden cells" if finding.together else table.label(finding.cell)
        print(f"  {finding.kind}: {where}" + (f" (rule {finding.rule})" if finding.rule else ""))
    if len(proof.findings) > MOST_FINDINGS:
        print(f"  and {len(proof.findings) - MOST_FINDINGS} more")
