"""Writes docs/plan.md and docs/methods/*.md from the code: every key and every method from its one explanation."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

from discreet.method import parameters
from discreet.model.intruder import Intruder
from discreet.model.microdata import Missing
from discreet.plan import sections
from discreet.plan.catalog import CATALOG, FAMILIES

FOLDER = Path(__file__).parent
HEAD = "| parameter | takes | default | unit | limits | meaning |\n|---|---|---|---|---|---|"
SECTIONS = (
    sections.MicrodataSection,
    Missing,
    sections.HierarchySection,
    sections.TableSection,
    sections.SpanningEntry,
    sections.GivenSection,
    sections.PercentagesEntry,
    sections.ExceptionEntry,
    Intruder,
    sections.OutputSection,
)
PLAN = """# The plan file

A TOML file.  `[microdata]` names the records, `[hierarchies]` the code trees, each `[tables.NAME]` a table; `methods`,
`intruder` and `[output]` may stand at the top for all tables.  Paths are relative to the plan.  Tables of one response over
the same records are linked and protected together.  Written from the code by `make docs`.
"""


def page(name: str, method: type) -> str:
    """The page of one method."""
    lines = [f"# {name}", "", f"`discreet.{method.__name__}`", "", inspect.cleandoc(method.__doc__ or ""), ""]
    return "\n".join([*lines, *table(method), f"Source: {method.SOURCE}", ""])  # type: ignore[attr-defined]


def table(method: type) -> list[str]:
    """The parameters of a method, or the keys of a section, as a table; nothing where there are none."""
    rows = []
    for p in parameters(method):
        cells = (f"`{p.name}`", p.kind, "required" if p.required else f"`{p.default}`", p.unit, p.limits, p.doc)
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return [HEAD, *rows, ""] if rows else []


def plan() -> str:
    """The page of the plan file: every section and its keys."""
    lines = [PLAN]
    for section in SECTIONS:
        name = getattr(section, "NAME", section.__name__.lower())
        lines += [f"## {name}", "", inspect.cleandoc(section.__doc__ or ""), "", *table(section)]
    return "\n".join(lines)


def pages() -> dict[str, str]:
    """Every page by file name, the index included."""
    made = {f"methods/{name}.md": page(name, method) for name, method in CATALOG.items()}
    index = ["# Methods", "", "Written from the code by `make docs`; `discreet methods NAME` says the same.", ""]
    for family, methods in FAMILIES.items():
        lines = [f"- [{one.NAME}]({one.NAME}.md): {inspect.cleandoc(one.__doc__ or '').splitlines()[0]}" for one in methods]
        index += [f"## {family}", "", *lines, ""]
    return {"plan.md": plan(), "methods/index.md": "\n".join(index)} | made


def main() -> int:
    """Writes the pages, and removes those of methods that are gone."""
    (FOLDER / "methods").mkdir(exist_ok=True)
    wanted = pages()
    for old in (FOLDER / "methods").glob("*.md"):
        if f"methods/{old.name}" not in wanted:
            old.unlink()
    for name, text in wanted.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
