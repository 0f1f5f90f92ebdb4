"""What a plan's tables are made from: hierarchies, and tables counted from microdata or given by a file."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from discreet.errors import HierarchyError, PlanError, SdcError
from discreet.io.given import read_given
from discreet.io.hierarchies import read_hierarchy, read_labels, read_levels, read_prefixes
from discreet.io.microdata import read_microdata
from discreet.model.codes import distinct_codes
from discreet.model.hierarchy import Hierarchy
from discreet.model.keys import Secret
from discreet.model.knowledge import header_total, percentages
from discreet.model.link import link
from discreet.model.microdata import Microdata, Roles
from discreet.model.table import Table
from discreet.model.tabulate import RANKS, tabulate
from discreet.model.unlisted import unlist
from discreet.plan.read import FILE_ONLY, Plan, TablePlan
from discreet.plan.sections import GivenSection, HierarchySection, SpanningEntry

__all__ = ["Gathered", "Sources", "needed_secret", "secret_of"]

T = TypeVar("T")


class Gathered:
    """Collects errors, so that everything wrong with the input is told at once."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.errors: list[SdcError] = []

    def attempt(self, make: Callable[[], T]) -> T | None:
        """What ``make`` returns, or None after its error was noted."""
        try:
            return make()
        except SdcError as error:
            if str(error) not in map(str, self.errors):
                self.errors.append(error)
            return None

    def refuse(self) -> None:
        """Raises the error, or one PlanError that lists them all."""
        if len(self.errors) == 1:
            raise self.errors[0]
        if self.errors:
            listed = "".join("\n  " + str(error).replace("\n", "\n  ") for error in self.errors)
            count = f"{len(self.errors)} problems"
            raise PlanError(self.where, f"{count}{listed}", "mend these; nothing was run", details=self.errors)


class Sources:
    """The input of a plan, read once."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.microdata = _read_records(plan)
        self._trees: dict[tuple[str, str], Hierarchy] = {}

    @property
    def notes(self) -> tuple[str, ...]:
        """What was found on reading the records."""
        return self.microdata.notes if self.microdata else ()

    def tables(self) -> list[tuple[tuple[TablePlan, ...], Table]]:
        """What is protected together, each as one table before anything is protected; all errors at once."""
        if not self.plan.tables:
            command = "swap" if self.plan.swap else "pram"
            raise PlanError(self.plan.path.name, "has no table", f"release its records with: discreet {command} PLAN")
        gathered = Gathered(self.plan.path.name)
        made = {one.name: gathered.attempt(partial(self.table, one)) for one in self.plan.tables}
        gathered.refuse()
        together = []
        for group in self.plan.together():
            parts = [table for table in (made[one.name] for one in group) if table is not None]
            linked = gathered.attempt(partial(link, *parts)) if len(parts) > 1 else parts[0]
            together += [(group, linked)] if linked is not None else []
        gathered.refuse()
        return together

    def table(self, one: TablePlan) -> Table:
        """One table, with what is known of it and published beside it."""
        section = one.section
        made = self._given(one, one.given) if one.given else self._counted(one)
        if section.published_decimals is not None:
            made = made.replace(published_decimals=section.published_decimals)
        made = unlist(made, section.unlisted).with_intruder(one.intruder)
        known = [header_total(made, codes) for codes in section.header_totals]
        if one.percentages is not None:
            known.append(percentages(made, **dataclasses.asdict(one.percentages)))
        return made.replace(knowledge=(*made.knowledge, *known))

    def records(self) -> Microdata:
        """The records; a PlanError where the plan names none."""
        if self.microdata is None:
            raise PlanError(self.plan.path.name, "has no section [microdata]", "say where the records are")
        return self.microdata

    def _counted(self, one: TablePlan) -> Table:
        section = one.section
        return tabulate(
            self.records(),
            spanning={entry.variable: self._spanning(entry) for entry in one.spanning},
            response=section.response,
            shadow=section.shadow,
            cost=section.cost,
            where={column: [codes] if isinstance(codes, str) else codes for column, codes in (section.where or {}).items()},
            empty=section.empty,
            decimals=section.decimals,
            ranks=max(RANKS, *(getattr(method, "ranks_needed", 0) for method in one.methods), 0),
            secret=secret_of(self.plan),
            unit_noise=next((noise for method in one.methods if (noise := getattr(method, "unit_noise", None))), None),
            name=one.name,
        )

    def _given(self, one: TablePlan, given: GivenSection) -> Table:
        options = dataclasses.asdict(given)
        trees = {entry.variable: self._spanning(entry) for entry in one.spanning}
        return read_given(
            self.plan.file(options.pop("path")),
            spanning={variable: pair[1] if pair else None for variable, pair in trees.items()},
            name=one.name,
            response=one.section.response,
            **options,
        )

    def _spanning(self, entry: SpanningEntry) -> tuple[str, Hierarchy] | None:
        name = entry.hierarchy or entry.variable
        section = self.plan.hierarchies.get(name)
        if section is None and entry.total is not None:
            codes, where = self._codes([entry.variable])[0], f"spanning variable {entry.variable!r}"
            return entry.variable, Hierarchy.flat(codes, total=entry.total, source=where)
        if section is None:
            return None
        column = section.columns[-1] if section.columns else entry.variable
        if (name, column) not in self._trees:
            self._trees[name, column] = self._named_tree(name, section, column)
        tree = self._trees[name, column]
        return column, tree if entry.level is None else tree.to_level(entry.level)

    def _named_tree(self, name: str, section: HierarchySection, column: str) -> Hierarchy:
        try:
            return self._tree(section, column)
        except HierarchyError as error:
            where = f"hierarchy {name!r}" if error.where == "hierarchy" else error.where
            raise HierarchyError(where, error.problem, error.fix, details=error.details) from None

    def _tree(self, section: HierarchySection, column: str) -> Hierarchy:
        common: dict[str, Any] = {
            "total": section.total,
            "labels": read_labels(self.plan.file(section.labels), encoding=section.encoding) if section.labels else None,
            "groupings": section.groupings,
            "even": section.even,
        }
        if section.columns:
            made = read_levels(dict(zip(section.columns, self._codes(section.columns), strict=True)), **common)
        elif section.prefix_lengths:
            made = read_prefixes(self._codes([column])[0], section.prefix_lengths, **common)
        elif section.file:
            given = {key: getattr(section, key) for key in FILE_ONLY if getattr(section, key) is not None}
            made = read_hierarchy(self.plan.file(section.file), **common, **given)
        else:
            made = read_hierarchy(section.tree, **common)
        return made if section.level is None else made.to_level(section.level)

    def _codes(self, columns: Sequence[str]) -> list[list[str]]:
        microdata = self.records()
        for column in columns:
            microdata.check_column(column, "a hierarchy")
        return distinct_codes(microdata, columns)


def _read_records(plan: Plan) -> Microdata | None:
    section = plan.microdata
    if section is None:
        return None
    return read_microdata(
        plan.file(section.path),
        **{field.name: getattr(section, field.name) for field in dataclasses.fields(Roles)},
        missing=plan.missing,
        delimiter=section.delimiter,
        decimal=section.decimal,
        encoding=section.encoding,
        columns=section.columns,
    )


def secret_of(plan: Plan) -> Secret | None:
    """What keys are made with; only a run reads it."""
    section = plan.microdata
    if section is None or not (section.secret_file or section.secret_environment):
        return None
    paper = section.key_hash == "paper"
    if section.secret_file:
        return Secret.from_file(plan.file(section.secret_file), paper=paper)
    return Secret.from_environment(str(section.secret_environment), paper=paper)


def needed_secret(plan: Plan) -> Secret:
    """The same, or a PlanError where the plan names no secret."""
    secret = secret_of(plan)
    if secret is None:
        raise PlanError(plan.path.name, "names no secret to make keys with", "secret_file or secret_environment in [microdata]")
    return secret
