"""Writes docs/methods/*.md from the catalog: one page a method, from its docstring and its parameters."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

from discreet.method import parameters
from discreet.plan.catalog import CATALOG

FOLDER = Path(__file__).parent / "methods"


def page(name: str, method: type) -> str:
    """The page of one method."""
    lines = [f"# {name}", "", f"`discreet.{method.__name__}`", "", inspect.cleandoc(method.__doc__ or ""), ""]
    rows = []
    for p in parameters(method):
        cells = (f"`{p.name}`", p.kind, "required" if p.required else f"`{p.default}`", p.unit, p.limits, p.doc)
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    if rows:
        lines += ["| parameter | takes | default | unit | limits | meaning |", "|---|---|---|---|---|---|", *rows, ""]
    lines += [f"Source: {method.SOURCE}", ""]  # type: ignore[attr-defined]
    return "\n".join(lines)


def pages() -> dict[str, str]:
    """Every page by file name, the index included."""
    made = {f"{name}.md": page(name, method) for name, method in CATALOG.items()}
    index = ["# Methods", "", "Written from the code by `make docs`; `discreet methods NAME` says the same.", ""]
    for name, method in CATALOG.items():
        index.append(f"- [{name}]({name}.md): {inspect.cleandoc(method.__doc__ or '').splitlines()[0]}")
    return {"index.md": "\n".join([*index, ""])} | made


def main() -> int:
    """Writes the pages, and removes those of methods that are gone."""
    FOLDER.mkdir(exist_ok=True)
    wanted = pages()
    for old in FOLDER.glob("*.md"):
        if old.name not in wanted:
            old.unlink()
    for name, text in wanted.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
