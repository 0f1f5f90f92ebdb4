"""Options that several commands take, and how they tell what they are doing."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

__all__ = ["common", "out_option", "progress", "seconds"]


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
