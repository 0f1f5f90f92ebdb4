"""The files that methods of a plan name: p-tables, and patterns of earlier releases."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from discreet.io.patterns import read_pattern
from discreet.io.ptables import read_ptable
from discreet.model.pattern import Pattern
from discreet.model.ptable import PTable

__all__ = ["method_files", "with_files"]


def with_files(method: Any, folder: Path) -> Any:
    """The method with its p-table and its patterns read, where it names files; paths are relative to the plan's folder.

    Errors: InputError for a file that is no p-table or pattern; ParameterError for one that the method cannot use.
    """
    name, names = getattr(method, "ptable", None), getattr(method, "patterns", ())
    if isinstance(name, str):
        method = dataclasses.replace(method, ptable=read_ptable(folder / name))
    if any(isinstance(one, str) for one in names):
        read = tuple(read_pattern(folder / one) if isinstance(one, str) else one for one in names)
        method = dataclasses.replace(method, patterns=read)
    return method


def method_files(methods: Iterable[Any]) -> list[Path]:
    """The files that these methods' p-tables and patterns were read from."""
    held = [one for method in methods for one in (getattr(method, "ptable", None), *getattr(method, "patterns", ()))]
    return [Path(one.source) for one in held if isinstance(one, PTable | Pattern) and one.source]
