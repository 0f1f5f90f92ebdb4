"""The p-tables that the methods of a plan name as files."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from discreet.io.ptables import read_ptable
from discreet.model.ptable import PTable

__all__ = ["ptable_files", "with_ptable"]


def with_ptable(method: Any, folder: Path) -> Any:
    """The method with its p-table read, where it names a file; paths are relative to the plan's folder.

    Errors: InputError for a file that is no p-table; ParameterError for one that the method cannot use.
    """
    name = getattr(method, "ptable", None)
    return dataclasses.replace(method, ptable=read_ptable(folder / name)) if isinstance(name, str) else method


def ptable_files(methods: Iterable[Any]) -> list[Path]:
    """The files that these methods' p-tables were read from."""
    tables = (getattr(method, "ptable", None) for method in methods)
    return [Path(table.source) for table in tables if isinstance(table, PTable) and table.source]
