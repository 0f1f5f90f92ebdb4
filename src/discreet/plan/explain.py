"""A method or design in words, as the command line shows it."""

from __future__ import annotations

import inspect
from typing import Any

from discreet.errors import ParameterError
from discreet.method import parameters
from discreet.plan.catalog import CATALOG, DESIGNS, SWAPPING

__all__ = ["explained"]


def explained(method: Any) -> str:
    """What a method or design does, its source, its parameters and how a plan writes it."""
    lines = [method.NAME, "", inspect.cleandoc(method.__doc__ or ""), "", f"Source: {method.SOURCE}", "", "Parameters:"]
    for one in parameters(method):
        default = "required" if one.required else f"default {_shown(one.default)}"
        limits = ", ".join(part for part in (one.kind, one.limits, one.unit and f"in {one.unit}", default) if part)
        lines.append(f"  {one.name} ({limits})\n      {one.doc}")
    needed = "".join(f", {one.name} = …" for one in parameters(method) if one.required)
    if not needed:
        try:
            method()
        except ParameterError:  # no parameter is needed by itself, but some are together
            needed = ", …"
    return "\n".join([*lines, "", f"In a plan: {_written(method.NAME, needed)}"])


def _written(name: str, needed: str) -> str:
    entry = f'{{ method = "{name}"{needed} }}'
    if name in DESIGNS:
        return f"design = {entry}, in an entry [[pram.variables]]"
    if name in SWAPPING:
        return f'an entry [[swap.step]] with method = "{name}"{needed}'
    return entry if name in CATALOG else f"an entry [[pram.variables]] with {needed.removeprefix(', ')}"


def _shown(value: Any) -> str:
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else f"{value}"
