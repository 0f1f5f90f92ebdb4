"""Reads the section [pram] of a plan: what is released, and how each of its variables is randomised."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Sequence
from typing import Any

from discreet.method import faults
from discreet.microdata.protect.pram.apply import Pram
from discreet.microdata.protect.pram.occurrence import Design, tells_counts
from discreet.plan.catalog import DESIGNS
from discreet.plan.lines import Where
from discreet.plan.pram_sections import PramSection
from discreet.plan.problems import Problems
from discreet.plan.read_release import check_release, named_columns
from discreet.plan.sections import MicrodataSection

__all__ = ["PramPlan", "read_pram"]

HERE: Where = ("pram",)
VARIABLES: Where = ("pram", "variables")


@dataclasses.dataclass(frozen=True, kw_only=True)
class PramPlan:
    """The section [pram] of a plan, checked: one method for each variable, in the order of the plan."""

    section: PramSection
    methods: tuple[Pram, ...]


def read_pram(problems: Problems, microdata: MicrodataSection | None) -> PramPlan | None:
    """The section [pram], or None after its problems were noted."""
    settings = problems.content["pram"]
    section = problems.section(PramSection, HERE)
    entries = settings.get("variables") if isinstance(settings, dict) else None
    listed = entries if isinstance(entries, list) else []
    methods = [_method(problems, (*VARIABLES, i), entry) for i, entry in enumerate(listed)]
    _check_columns(problems, listed)
    check_release(problems, HERE, "PRAM", section, microdata)
    if microdata is not None:
        _check_ids(problems, section, microdata, listed)
        if microdata.weight is None:
            for i, method in enumerate(methods):
                if method is not None and method.counts == "population":
                    where = (*VARIABLES, i, "counts")
                    problems.wrong(where, "the population is counted by weights: name the column of weights in [microdata]")
    if section is None or None in methods:
        return None
    _check_invariant(problems, section, methods)
    if section.columns is not None:
        _check_released(problems, section.columns, listed)
    return PramPlan(section=section, methods=tuple(method for method in methods if method is not None))


def _method(problems: Problems, where: Where, entry: Any) -> Pram | None:
    if not isinstance(entry, dict) or "design" not in entry:
        return problems.section(Pram, where, entry, Pram.NAME)
    design = _design(problems, (*where, "design"), entry["design"])
    if design is not None:
        return problems.section(Pram, where, entry | {"design": design}, Pram.NAME)
    for key, text in faults(Pram, {key: value for key, value in entry.items() if key != "design"}):
        if key:  # what is told without a key is that a parameter is missing, as the design is here
            problems.wrong((*where, key), f"{Pram.NAME}: {text}")
    return None


def _design(problems: Problems, where: Where, settings: Any) -> Any:
    """The design, with those that it takes for a part of itself; None after a problem was noted."""
    found = problems.chosen(where, settings, DESIGNS, "design")
    if found is None:
        return None
    kind, rest = found
    for key in _takes_designs(kind) & rest.keys():
        rest[key] = _design(problems, (*where, key), rest[key])
        if rest[key] is None:
            return None
    return problems.section(kind, where, rest, kind.NAME)


def _takes_designs(kind: type) -> set[str]:
    """The parameters of a design that are designs themselves."""
    hints = typing.get_type_hints(kind)
    fields = (field.name for field in dataclasses.fields(kind))
    return {name for name in fields if Design in (hints[name], *typing.get_args(hints[name]))}


# -------------------------------------------------------------------- checks across entries


def _check_columns(problems: Problems, entries: Sequence[Any]) -> None:
    """A column is randomised once, and a column that chooses matrices or draws not at all."""
    taken: set[str] = set()
    for where, _, column in named_columns(entries, VARIABLES, "columns"):
        if column in taken:
            mend = "a second matrix could undo the first and give the true counts away; randomise a column once"
            problems.wrong(where, f"column {column!r} is randomised twice; {mend}")
        taken.add(column)
    for where, key, column in named_columns(entries, VARIABLES, "within", "together"):
        if column in taken:
            mend = "take a column that stays as it is"
            problems.wrong(where, f"{key}: column {column!r} is itself randomised; {mend}")


def _check_ids(problems: Problems, section: PramSection | None, microdata: MicrodataSection, entries: Sequence[Any]) -> None:
    if section is None:
        return
    for where, _, column in named_columns(entries, VARIABLES, "columns"):
        if column in (section.record or (microdata.unit,)):
            text = f"column {column!r} is part of the records' id, from which the draws are made; randomise other columns"
            problems.wrong(where, text)


def _check_invariant(problems: Problems, section: PramSection, methods: Sequence[Pram | None]) -> None:
    """Whoever has an invariant matrix has the counts that it leaves as they are; the owner has to say that this is meant."""
    telling = [i for i, method in enumerate(methods) if section.public and method is not None and tells_counts(method.design)]
    if section.counts_known and not telling:
        text = (
            "counts_known is for public matrices that tell true counts, and none of these says so: an own matrix that leaves "
            "the counts as they are is declared by invariant = true in its design"
        )
        problems.wrong((*HERE, "counts_known"), text)
    for i in telling if not section.counts_known else ():
        told = "a public invariant matrix tells the true counts that it leaves as they are"
        if (method := methods[i]) is not None and not method.design.invariant:
            told = "a public matrix made for ratios or odds tells the true counts for which it was made"
        mend = "public = false keeps it with you, and counts_known = true in [pram] says that these counts are public anyway"
        problems.wrong((*VARIABLES, i, "design"), f"{told}; {mend}")


def _check_released(problems: Problems, released: Sequence[str], entries: Sequence[Any]) -> None:
    """An analyst can correct only what is released together with what chose its matrix."""
    for where, key, column in named_columns(entries, VARIABLES, "columns", "within", "together"):
        if column not in released:
            problems.wrong(where, f"{key}: column {column!r} is not among the released columns of [pram]; add it there")
