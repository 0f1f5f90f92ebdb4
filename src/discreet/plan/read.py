"""Reads a plan file: everything wrong with it is told at once, each with its line."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from discreet.errors import PlanError, SdcError, near
from discreet.model.intruder import Intruder
from discreet.model.microdata import Missing
from discreet.plan.catalog import CATALOG, PERTURBATION, SUPPRESSION, out_of_order
from discreet.plan.columns import unknown_columns
from discreet.plan.lines import Where
from discreet.plan.method_files import method_files, with_files
from discreet.plan.problems import Problems
from discreet.plan.read_pram import PramPlan, read_pram
from discreet.plan.read_swap import SwapPlan, read_swap
from discreet.plan.sections import (
    ExceptionEntry,
    GivenSection,
    HierarchySection,
    MicrodataSection,
    OutputSection,
    PercentagesEntry,
    SpanningEntry,
    TableSection,
)

__all__ = ["Plan", "TablePlan", "read_plan"]

TOP = ("microdata", "hierarchies", "tables", "pram", "swap", "intruder", "methods", "output")
FOR_RECORDS = ("pram", "swap")
FOR_TABLES = ("hierarchies", "intruder", "methods", "output")
MISSING_FOR_TABLES = ("on_code", "category", "on_value")
SOURCES = ("file", "tree", "columns", "prefix_lengths")
FILE_ONLY = ("lead", "parent", "child", "encoding")
TOGETHER = ("shadow", "published_decimals", "shared_pattern")
COUNTED_ONLY = ("shadow", "cost", "where", "empty", "decimals")


@dataclasses.dataclass(frozen=True, kw_only=True)
class TablePlan:
    """One table of a plan, checked."""

    name: str
    section: TableSection
    given: GivenSection | None
    spanning: tuple[SpanningEntry, ...]
    methods: tuple[Any, ...]
    intruder: Intruder
    percentages: PercentagesEntry | None
    exceptions: tuple[ExceptionEntry, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plan:
    """A plan file whose every word is known and whose files exist; ``text`` is the file as it was read."""

    path: Path
    text: str
    content: Mapping[str, Any]
    microdata: MicrodataSection | None
    missing: Missing
    hierarchies: Mapping[str, HierarchySection]
    tables: tuple[TablePlan, ...]
    output: OutputSection
    pram: PramPlan | None = None
    swap: SwapPlan | None = None

    def together(self) -> list[tuple[TablePlan, ...]]:
        """The tables that are protected together: those of one response over the same records, since readers can link them."""
        groups: dict[str, list[TablePlan]] = {}
        for table in self.tables:
            groups.setdefault(_population(table), []).append(table)
        return [tuple(group) for group in groups.values()]

    @property
    def files(self) -> list[Path]:
        """The plan and every file that it reads."""
        names = [section.path for section in (self.microdata, *(table.given for table in self.tables)) if section]
        names += [name for tree in self.hierarchies.values() for name in (tree.file, tree.labels) if name]
        names += [self.microdata.secret_file] if self.microdata and self.microdata.secret_file else []
        read = method_files(method for table in self.tables for method in table.methods)
        return [self.path, *map(self.file, names), *read]

    def file(self, name: str) -> Path:
        """A file that the plan names, relative to the plan."""
        return self.path.parent / name


def read_plan(path: str | Path) -> Plan:
    """The plan in this TOML file.

    Errors: PlanError with every problem of the file: its line, what is wrong and the nearest word that is known.
    """
    file = Path(path)
    if not file.is_file():
        beside = [entry.name for entry in file.parent.glob("*.toml")] if file.parent.is_dir() else []
        raise PlanError(file.name or str(file), f"there is no such plan file{near(file.name, beside)}", "check the path")
    try:
        text = file.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise PlanError(file.name, "is not UTF-8 text", "save the plan as UTF-8") from None
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PlanError(file.name, f"is not TOML: {error}", "mend the line it names") from None
    return _Reader(file, text, content).plan()


def _population(table: TablePlan) -> str:
    """What two tables share when a reader can subtract one from the other; a given table shares a response it names."""
    section = table.section
    if table.given is not None:
        return f"given {table.given.kind} {section.response!r}" if section.response else f"alone {table.name!r}"
    filters = (section.where or {}).items()
    conditions = sorted((column, [codes] if isinstance(codes, str) else sorted(codes)) for column, codes in filters)
    return f"counted {section.response!r} {conditions}"


def _disjoint(one: TablePlan, other: TablePlan) -> bool:
    """Whether two filters ask for different codes of one column, so that no record passes both."""
    mine, theirs = (
        {column: {codes} if isinstance(codes, str) else set(codes) for column, codes in (table.section.where or {}).items()}
        for table in (one, other)
    )
    return any(mine[column].isdisjoint(theirs[column]) for column in mine.keys() & theirs.keys())


def _others(words: Sequence[str | None], word: str) -> list[str]:
    return [other for other in words if other is not None and other != word]


class _Reader(Problems):
    """Turns the settings of a plan into checked sections."""

    def plan(self) -> Plan:
        content = self.content
        for key in content:
            if key not in TOP:
                self.wrong((key,), f"unknown section or key {key!r}{near(key, TOP)}; a plan has: {', '.join(TOP)}")
        microdata, missing = self.microdata()
        hierarchies = {name: self.hierarchy(name) for name in self.names("hierarchies")}
        output = self.section(OutputSection, ("output",)) if "output" in content else OutputSection()
        methods = self.methods(("methods",)) if "methods" in content else None
        intruder = self.intruder(("intruder",)) if "intruder" in content else Intruder()
        tables = [self.table(name, methods, intruder) for name in self.names("tables")]
        pram = read_pram(self, microdata) if "pram" in content else None
        swap = read_swap(self, microdata) if "swap" in content else None
        if "tables" not in content:
            self.without_tables()
        self.unused(tables)
        for where, text in unknown_columns(content, self.path.parent):
            self.wrong(where, text)
        self.refuse_if_wrong()
        plan = Plan(
            path=self.path,
            text=self.text,
            content=content,
            microdata=microdata,
            missing=missing,
            hierarchies={name: section for name, section in hierarchies.items() if section},
            tables=tuple(table for table in tables if table),
            output=output or OutputSection(),
            pram=pram,
            swap=swap,
        )
        for group in plan.together():
            self.alike(group)
        self.apart(plan.tables)
        self.sharing(plan)
        self.refuse_if_wrong()
        return plan

    @property
    def for_records(self) -> bool:
        """Whether a section releases records."""
        return any(key in self.content for key in FOR_RECORDS)

    def without_tables(self) -> None:
        if not self.for_records:
            text = "the plan has no table: add a section [tables.NAME], or [pram] or [swap] to release records"
            self.wrong((), text)
            return
        for key in FOR_TABLES:
            if key in self.content:
                self.wrong((key,), f"{key} is for tables, and the plan has none")
        settings = self.content.get("microdata")
        missing = settings.get("missing") if isinstance(settings, dict) else None
        given = {key.replace("-", "_") for key in missing} if isinstance(missing, dict) else set()
        for key in MISSING_FOR_TABLES:
            if key in given:
                self.wrong(("microdata", "missing", key), f"{key} is for tables, and the plan has none")

    def unused(self, tables: Sequence[TablePlan | None]) -> None:
        """What is said and not used is a slip: a hierarchy misspelled would leave its variable flat."""
        checked = [table for table in tables if table]
        whole = all(table.spanning and len(table.spanning) == len(table.section.spanning) for table in checked)
        if len(checked) < len(tables) or not tables or not whole:
            return
        variables = [entry.hierarchy or entry.variable for table in checked for entry in table.spanning]
        for name in self.names("hierarchies"):
            if name not in variables:
                self.wrong(("hierarchies", name), f"no table uses the hierarchy {name!r}{near(name, variables)}")
        counted = self.for_records or not all(table.given for table in checked)
        if "microdata" in self.content and not counted:
            self.wrong(("microdata",), "no table is counted from [microdata]")

    def alike(self, group: Sequence[TablePlan]) -> None:
        first = group[0]
        for other in group[1:]:
            differ = [key for key in ("methods", "intruder") if getattr(first, key) != getattr(other, key)]
            differ += [key for key in TOGETHER if getattr(first.section, key) != getattr(other.section, key)]
            if differ:
                both = f"tables {first.name!r} and {other.name!r} show the same response and are protected together"
                self.wrong(("tables", other.name), f"{both}; give them the same {' and '.join(differ)}")

    def apart(self, tables: Sequence[TablePlan]) -> None:
        """Tables of one response that are not protected together may share no record: readers would subtract them."""
        counted = [table for table in tables if table.given is None]
        for i, other in enumerate(counted):
            for first in counted[:i]:
                same = _population(first) == _population(other)
                if first.section.response == other.section.response and not same and not _disjoint(first, other):
                    both = f"tables {first.name!r} and {other.name!r} show the same response of overlapping records"
                    mend = "make the columns of 'where' spanning variables, or give both tables the same 'where'"
                    self.wrong(("tables", other.name), f"{both}, so readers can subtract one from the other; {mend}")

    def sharing(self, plan: Plan) -> None:
        """One pattern takes several responses, each with a method that hides cells and none that shows other numbers."""
        groups = plan.together()
        words = [group[0].section.shared_pattern for group in groups]
        for group, word in zip(groups, words, strict=True):
            if word is None:
                continue
            where, names = ("tables", group[0].name, "shared_pattern"), {method.NAME for method in group[0].methods}
            if words.count(word) < 2:
                self.wrong(where, f"no table of another response shares the pattern {word!r}{near(word, _others(words, word))}")
            if names.isdisjoint(SUPPRESSION) or not names.isdisjoint(PERTURBATION):
                self.wrong(where, "a shared pattern needs a method that hides cells, and none that shows other numbers")

    # ---------------------------------------------------------------- sections

    def microdata(self) -> tuple[MicrodataSection | None, Missing]:
        if "microdata" not in self.content:
            if self.for_records or any("given" not in table for table in self.nested("tables")):
                self.wrong((), "the plan has no section [microdata]: say where the records are")
            return None, Missing()
        section = self.section(MicrodataSection, ("microdata",))
        if section is None:
            return None, Missing()
        self.exists(("microdata", "path"), section.path)
        self.exists(("microdata", "secret_file"), section.secret_file, secret=True)
        where = ("microdata", "missing")
        missing = self.section(Missing, where) if section.missing is not None else None
        return section, missing or Missing()

    def hierarchy(self, name: str) -> HierarchySection | None:
        where = ("hierarchies", name)
        section = self.section(HierarchySection, where)
        if section is None:
            return None
        given = [kind for kind in SOURCES if getattr(section, kind) is not None]
        if len(given) != 1:
            both = " and ".join(given) or "none"
            self.wrong(where, f"a hierarchy takes exactly one of {', '.join(SOURCES)}; given: {both}")
        for key in ("columns", "prefix_lengths"):
            if getattr(section, key) == ():
                self.wrong((*where, key), f"{key} lists nothing")
        for key in FILE_ONLY:
            if getattr(section, key) is not None and section.file is None and not (key == "encoding" and section.labels):
                self.wrong((*where, key), f"{key} is for a hierarchy from a file")
        for key in ("file", "labels"):
            self.exists((*where, key), getattr(section, key))
        return section

    def table(self, name: str, methods: tuple[Any, ...] | None, intruder: Intruder | None) -> TablePlan | None:
        where = ("tables", name)
        settings = self.at(where)
        if not name or Path(name).name != name or name.startswith("."):
            self.wrong(where, f"{name!r} cannot be a file name; release files carry the table's name")
        section = self.section(TableSection, where)
        spanning = self.spanning((*where, "spanning"), settings.get("spanning"))
        if "methods" in settings:
            methods = self.methods((*where, "methods"))
        elif "methods" not in self.content:
            self.wrong(where, "no methods are given, neither here nor at the top of the plan: methods = [{ method = '…' }]")
        own = self.intruder((*where, "intruder")) if "intruder" in settings else intruder
        given = self.given(where, settings, spanning) if "given" in settings else None
        self.filter((*where, "where"), settings.get("where"))
        shares = self.section(PercentagesEntry, (*where, "percentages")) if "percentages" in settings else None
        exceptions = self.exceptions((*where, "exceptions"), settings.get("exceptions"))
        if section is None:
            return None
        return TablePlan(
            name=name,
            section=section,
            given=given,
            spanning=spanning,
            methods=methods or (),
            intruder=own or Intruder(),
            percentages=shares,
            exceptions=exceptions,
        )

    def given(self, where: Where, settings: dict[str, Any], spanning: Sequence[SpanningEntry]) -> GivenSection | None:
        for key in COUNTED_ONLY:
            if key in settings:
                self.wrong((*where, key), f"{key} is for tables counted from microdata; for this one see the words of given")
        for entry in spanning:
            name = entry.hierarchy or entry.variable
            if name in self.names("hierarchies") and {"columns", "prefix_lengths"} & set(self.at(("hierarchies", name))):
                self.wrong((*where, "spanning"), f"a given table needs the hierarchy of {entry.variable!r} as a file or a tree")
            if entry.total is not None:
                self.wrong((*where, "spanning"), "the total of a given table is said in given = { total = '…' }")
        given = self.section(GivenSection, (*where, "given"))
        if given is not None:
            self.exists((*where, "given", "path"), given.path)
        return given

    def spanning(self, where: Where, items: Any) -> tuple[SpanningEntry, ...]:
        entries: list[SpanningEntry] = []
        known = self.names("hierarchies")
        if items == []:
            self.wrong(where, "spanning names no variable")
        for i, item in enumerate(items if isinstance(items, list) else []):
            settings = {"variable": item} if isinstance(item, str) else item
            entry = self.section(SpanningEntry, (*where, i), settings)
            if entry is None:
                continue
            has_tree = (entry.hierarchy or entry.variable) in known
            if entry.level is not None and not has_tree:
                self.wrong((*where, i), f"level needs a hierarchy, and {entry.variable!r} has none")
            if entry.total is not None and has_tree:
                self.wrong((*where, i), f"the total of {entry.variable!r} is said in its hierarchy")
            if entry.hierarchy is not None and entry.hierarchy not in known:
                self.wrong((*where, i), f"there is no hierarchy {entry.hierarchy!r}{near(entry.hierarchy, known)}")
            if entry.variable in [one.variable for one in entries]:
                self.wrong((*where, i), f"spanning variable {entry.variable!r} is given twice")
            entries.append(entry)
        return tuple(entries)

    def methods(self, where: Where) -> tuple[Any, ...] | None:
        found: list[Any] = []
        settings = self.at(where)
        if not isinstance(settings, list):
            self.wrong(where, "methods is a list of { method = '…' }")
            return None
        for i, item in enumerate(settings):
            chosen = self.chosen((*where, i), item, CATALOG, "method")
            if chosen is None:
                continue
            method = self.section(chosen[0], (*where, i), chosen[1], chosen[0].NAME)
            try:
                found += [with_files(method, self.path.parent)] if method is not None else []
            except SdcError as error:
                self.wrong((*where, i, "ptable" if "ptable" in chosen[1] else "patterns"), str(error))
        if len(found) == len(settings):
            for i, text in out_of_order(found):
                self.wrong((*where, i), text)
        return tuple(found)

    def filter(self, where: Where, conditions: Any) -> None:
        for column, codes in conditions.items() if isinstance(conditions, dict) else ():
            listed = codes if isinstance(codes, list) else [codes]
            if not listed or not all(isinstance(code, str) for code in listed):
                self.wrong((*where, column), f"where lists codes as text: {{ {column} = ['code', …] }}")

    def intruder(self, where: Where) -> Intruder | None:
        return self.section(Intruder, where, name="intruder")

    def exceptions(self, where: Where, items: Any) -> tuple[ExceptionEntry, ...]:
        listed = items if isinstance(items, list) else []
        entries = [self.section(ExceptionEntry, (*where, i), item) for i, item in enumerate(listed)]
        return tuple(entry for entry in entries if entry is not None)
