"""Reads which lines of an earlier release were hidden."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import InputError, some
from discreet.io.columns import code_text, is_path, pick, read_columns
from discreet.model.pattern import Pattern

__all__ = ["read_pattern"]


def read_pattern(
    source: str | os.PathLike[str] | Any,
    *,
    variables: Sequence[str] | None = None,
    status: str = "status",
    hidden: Sequence[str] = ("suppressed", "primary", "secondary"),
    delimiter: str | None = None,
    encoding: str | None = None,
) -> Pattern:
    """The pattern in a csv file or frame with one line a cell, such as a release of discreet.

    ``status`` names the column that says what became of a line, and ``hidden`` its words for a hidden one; ``variables`` the
    spanning variables, by default all other columns, of which a table takes those that it knows.

    Errors: InputError for a missing file or column, and where no line has one of the words.
    """
    where = Path(source).name if is_path(source) else "pattern"
    columns = read_columns(source, delimiter=delimiter, encoding=encoding, where=where)
    words = [str(word) for word in pick(columns, status, where, "the status")]
    names = [name for name in columns if name != status] if variables is None else list(variables)
    codes = [[_text(code, where) for code in pick(columns, name, where, "a spanning variable")] for name in names]
    mask = np.isin(np.array(words, object).astype(str), list(hidden))
    if not mask.any():
        problem = f"no line of column {status!r} says {some(hidden)}; it says {some(sorted(set(words)))}"
        raise InputError(where, problem, "say which words stand for a hidden line: hidden = ['…']")
    return Pattern(
        variables=tuple(names),
        codes=np.array(codes, object).T.reshape(len(words), len(codes)),
        hidden=mask,
        source=str(source) if is_path(source) else None,
    )


def _text(code: Any, where: str) -> str:
    return str(code) if isinstance(code, float) and code % 1 else code_text(code, where)
