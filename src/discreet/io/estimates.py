"""Writes a table of estimates."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from discreet.errors import InputError

__all__ = ["write_estimates"]


def write_estimates(columns: Mapping[str, Sequence[Any]], path: str | Path) -> None:
    """One line a cell in a csv file (UTF-8), with all digits; the file is there whole or not at all.

    ``columns`` as ``Estimates.columns()`` gives them: codes, estimate, standard error, interval, naive value and flags, which
    are 1 or 0.

    Errors: InputError where the file cannot be written.
    """
    target = Path(path)
    part = target.with_name(f".{target.name}.part")
    try:
        with part.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            for line in zip(*columns.values(), strict=True):
                writer.writerow([int(value) if isinstance(value, bool) else value for value in line])
        part.replace(target)
    except OSError:
        raise InputError(target.name, "cannot be written", "choose another file for the table") from None
    finally:
        part.unlink(missing_ok=True)
