"""Reads the section [swap] of a plan: what is released, and by which methods its records exchange values."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from discreet.plan.catalog import SWAPPING
from discreet.plan.lines import Where
from discreet.plan.problems import Problems
from discreet.plan.read_release import check_release
from discreet.plan.sections import MicrodataSection
from discreet.plan.swap_sections import SwapSection

__all__ = ["SwapPlan", "read_swap"]

HERE: Where = ("swap",)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SwapPlan:
    """The section [swap] of a plan, checked: one method for each step, in the order of the plan."""

    section: SwapSection
    methods: tuple[Any, ...]


def read_swap(problems: Problems, microdata: MicrodataSection | None) -> SwapPlan | None:
    """The section [swap], or None after its problems were noted."""
    settings = problems.content["swap"]
    section = problems.section(SwapSection, HERE)
    entries = settings.get("step") if isinstance(settings, dict) else None
    methods = [
        _method(problems, (*HERE, "step", i), entry) for i, entry in enumerate(entries if isinstance(entries, list) else [])
    ]
    check_release(problems, HERE, "swapping", section, microdata)
    if "pram" in problems.content:
        text = "[pram] releases these records too, and each of two releases tells what the other hides; make one of them"
        problems.wrong(HERE, text)
    if section is None or None in methods:
        return None
    if microdata is not None:
        _check_households(problems, section, microdata, methods)
    return SwapPlan(section=section, methods=tuple(methods))


def _method(problems: Problems, where: Where, entry: Any) -> Any:
    chosen = problems.chosen(where, entry, SWAPPING, "method")
    return chosen and problems.section(chosen[0], where, chosen[1], chosen[0].NAME)


def _check_households(problems: Problems, section: SwapSection, microdata: MicrodataSection, methods: Sequence[Any]) -> None:
    """Numbers of households that moved may tell where they were; they leave as they are only where nobody is to see them."""
    hidden = {*(section.record or (microdata.unit,)), *(set(microdata.named().values()) - {microdata.weight})}
    for i, method in enumerate(methods):
        column = getattr(method, "household", None)
        released = column not in hidden if section.columns is None else column in section.columns
        if column is not None and released and column not in section.renumber:
            told = "numbers given area by area tell where a household was"
            mend = f"renumber = [{column!r}] in [swap], or columns without it"
            text = f"household: column {column!r} is released as it is, and {told}; {mend}"
            problems.wrong((*HERE, "step", i, "household"), text)
