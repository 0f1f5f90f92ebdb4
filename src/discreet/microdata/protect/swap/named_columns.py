"""The columns that a method moves, and those of the strata within which it moves them."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.errors import ParameterError

__all__ = ["check_named"]


def check_named(method: str, columns: Sequence[str], within: Sequence[str]) -> None:
    """Refuses no columns at all, a column named twice, and one that is both moved and of the strata."""
    if not columns:
        raise ParameterError(f"{method}.columns", "is empty", "name the columns to move")
    for name, listed in (("columns", columns), ("within", within)):
        if len(set(listed)) < len(listed):
            raise ParameterError(f"{method}.{name}", "names a column twice", "name each column once")
    if shared := sorted(set(columns) & set(within)):
        problem = f"names {shared[0]!r}, which is moved: no record could change it"
        raise ParameterError(f"{method}.within", problem, "take it out of columns or out of within")
