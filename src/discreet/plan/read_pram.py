"""Reads the section [pram] of a plan: what is released, and how each of its variables is randomised."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from discreet.errors import near
from discreet.method import faults
from discreet.microdata.protect.pram.apply import Pram
from discreet.microdata.protect.pram.occurrence import Design, tells_counts
from discreet.plan.catalog import DESIGNS
from discreet.plan.lines import Where
from discreet.plan.pram_sections import PramSection
from discreet.plan.problems import Problems
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
    if microdata is not None:
        _check_keys(problems, section, microdata, listed)
        if microdata.weight is None:
            for i, method in enumerate(methods):
                if method is not None and method.counts == "population":
                    where = (*VARIABLES, i, "counts")
                    problems.wrong(where, "the population is counted by weights: name the column of weights in [microdata]")
    if section is not None:
        table = PurePath(section.release).stem
        if table in problems.names("tables"):
            problems.wrong((*HERE, "release"), f"release: {section.release!r} is the name of a table's release file too")
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
    item = {"method": settings} if isinstance(settings, str) else settings
    name = item.get("method") if isinstance(item, dict) else None
    if not isinstance(name, str):
        problems.wrong(where, "a design is written { method = '…', parameter = … }")
        return None
    kind = DESIGNS.get(name)
    if kind is None:
        problems.wrong(where, f"there is no design {name!r}{near(name, DESIGNS)}; see: discreet methods")
        return None
    rest = {key: value for key, value in item.items() if key != "method"}
    for key in _takes_designs(kind) & rest.keys():
        rest[key] = _design(problems, (*where, key), rest[key])
        if rest[key] is None:
            return None
    return problems.section(kind, where, rest, name)


def _takes_designs(kind: type) -> set[str]:
    """The parameters of a design that are designs themselves."""
    hints = typing.get_type_hints(kind)
    fields = (field.name for field in dataclasses.fields(kind))
    return {name for name in fields if Design in (hints[name], *typing.get_args(hints[name]))}


# -------------------------------------------------------------------- checks across entries


def _check_columns(problems: Problems, entries: Sequence[Any]) -> None:
    """A column is randomised once, and a column that chooses matrices or draws not at all."""
    taken: set[str] = set()
    for i, _, column in _named(entries, "columns"):
        if column in taken:
            mend = "a second matrix could undo the first and give the true counts away; randomise a column once"
            problems.wrong((*VARIABLES, i, "columns"), f"column {column!r} is randomised twice; {mend}")
        taken.add(column)
    for i, key, column in _named(entries, "within", "together"):
        if column in taken:
            mend = "take a column that stays as it is"
            problems.wrong((*VARIABLES, i, key), f"{key}: column {column!r} is itself randomised; {mend}")


def _check_keys(problems: Problems, section: PramSection | None, microdata: MicrodataSection, entries: Sequence[Any]) -> None:
    where: Where = ("microdata",)
    if microdata.record_key is not None:
        mend = "name a secret in its place: secret_file or secret_environment"
        problems.wrong((*where, "record_key"), f"PRAM makes its keys from a secret, not from a column; {mend}")
    elif microdata.secret_file is None and microdata.secret_environment is None:
        mend = "name one in [microdata]: secret_file or secret_environment"
        problems.wrong(where, f"PRAM draws with keys that are made from a secret, and no secret is named; {mend}")
    if microdata.key_hash == "paper":
        problems.wrong((*where, "key_hash"), "the paper's hash is for tables; PRAM needs the keyed hash (sha256)")
    if microdata.count is not None:
        problem = "PRAM changes single records, and with count a row stands for several: give one row for each record"
        problems.wrong((*where, "count"), problem)
    if section is None:
        return
    if not section.record and microdata.unit is None:
        mend = "unit = 'column' in [microdata], or record = ['column', …] in [pram]"
        problems.wrong(HERE, f"nothing names a record, from which its key is made: {mend}")
    for i, _, column in _named(entries, "columns"):
        if column in (section.record or (microdata.unit,)):
            text = f"column {column!r} is part of the records' id, from which the draws are made; randomise other columns"
            problems.wrong((*VARIABLES, i, "columns"), text)
    if PurePath(microdata.path).name.casefold() == section.release.casefold():
        text = f"release: {section.release!r} is the name of the confidential records too; give it another"
        problems.wrong((*HERE, "release"), text)


def _check_invariant(problems: Problems, section: PramSection, methods: Sequence[Pram | None]) -> None:
    """Whoever has an invariant matrix has the counts that it leaves as they are; the owner has to say that this is meant."""
    telling = [i for i, method in enumerate(methods) if section.public and method is not None and tells_counts(method.design)]
    if section.counts_known and not telling:
        text = "counts_known is for invariant matrices that are public, and this release has none"
        problems.wrong((*HERE, "counts_known"), text)
    for i in telling if not section.counts_known else ():
        told = "a public invariant matrix tells the true counts that it leaves as they are"
        if (method := methods[i]) is not None and not method.design.invariant:
            told = "a public matrix made for ratios or odds tells the true counts for which it was made"
        mend = "public = false keeps it with you, and counts_known = true in [pram] says that these counts are public anyway"
        problems.wrong((*VARIABLES, i, "design"), f"{told}; {mend}")


def _check_released(problems: Problems, released: Sequence[str], entries: Sequence[Any]) -> None:
    """An analyst can correct only what is released together with what chose its matrix."""
    for i, key, column in _named(entries, "columns", "within", "together"):
        if column not in released:
            where = (*VARIABLES, i, key)
            problems.wrong(where, f"{key}: column {column!r} is not among the released columns of [pram]; add it there")


def _named(entries: Sequence[Any], *keys: str) -> Iterator[tuple[int, str, str]]:
    for i, entry in enumerate(entries):
        for key in keys:
            value = entry.get(key) if isinstance(entry, Mapping) else None
            listed = [value] if isinstance(value, str) else value if isinstance(value, list) else []
            yield from ((i, key, column) for column in listed if isinstance(column, str))
