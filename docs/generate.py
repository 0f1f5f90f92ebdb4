"""Writes docs/plan.md, docs/commands.md and docs/methods/*.md from the code: each key and method from its one explanation."""

from __future__ import annotations

import argparse
import inspect
import sys
from pathlib import Path

from discreet.cli import command_parser
from discreet.method import parameters
from discreet.model.intruder import Intruder
from discreet.model.microdata import Missing
from discreet.plan import pram_sections, sections, swap_sections
from discreet.plan.catalog import EXPLAINED, FAMILIES, FOR_RECORDS

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
    pram_sections.PramSection,
    swap_sections.SwapSection,
)
PLAN = """# The plan file

A TOML file.  `[microdata]` names the records, `[hierarchies]` the code trees, each `[tables.NAME]` a table; `methods`,
`intruder` and `[output]` may stand at the top for all tables.  Paths are relative to the plan.  Tables of one response over
the same records are linked and protected together.  `[pram]` says how records are randomised before they are released, and
`[swap]` how they exchange values; a plan has one of these two.  It may have tables as well: `discreet run` makes its tables,
`discreet pram` its randomised records, `discreet swap` its swapped ones.  Written from the code by `make docs`.
"""
EXAMPLES = """An example of `[pram]`:

```toml
[microdata]
path = "survey.csv"
unit = "person"
secret_file = "secret.txt"

[pram]
release = "survey_released.csv"

[[pram.variables]]
columns = ["region"]
design = { method = "k-ary", epsilon = 2 }
within = ["agegroup"]
```

In the output folder, `survey_released.csv` and `survey_released.pram.json` may leave; the folder `confidential` holds the
owner's report, and the matrices where they are not public, and must not.

An example of `[swap]`:

```toml
[microdata]
path = "census.csv"
unit = "person"
secret_file = "secret.txt"

[swap]
release = "census_released.csv"
renumber = ["household"]

[[swap.step]]
method = "targeted-swap"
household = "household"
geography = ["region", "town"]
risk = ["age", "sex", "birthplace"]
rate = 0.05

[[swap.step]]
method = "rank-swap"
columns = ["income"]
within = ["sex"]
```

`discreet swap plan.toml --foresee` says what each step would have to move.  In the output folder, `census_released.csv` may
leave.  The folder `confidential` must not: it holds the owner's report, and `census_released.swaps.csv`, which lists every
value that comes from another record, with the ids of both, for the owner's audit.  Nothing reads that list: the same records,
plan and secret make the same swaps again, whatever the order of the records, so that keeping plan and secret is enough to
repeat a release.
"""
COMMANDS = """# The commands

`discreet COMMAND --help` says the same.  Exit codes: 0 done; 2 the input, the plan or the command is wrong; 3 a table is not
protected; 4 the solver failed.  With 2 and 4 nothing is written.  Written from the code by `make docs`.
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
    return "\n".join([*lines, EXAMPLES])


def commands() -> str:
    """The page of the command line: every command and its options."""
    (listed,) = (action for action in command_parser()._actions if isinstance(action, argparse._SubParsersAction))
    lines = [COMMANDS]
    for choice in listed._choices_actions:
        own = [action for action in listed.choices[choice.dest]._actions if action.dest != "help"]
        rows = []
        for action in own:
            name = (action.option_strings or [action.metavar or action.dest])[0]
            takes = f" {action.metavar}" if action.option_strings and action.metavar else ""
            needed = "required" if action.required else "" if action.default in (None, []) else f"`{action.default}`"
            rows.append(f"| `{name}{takes}` | {needed} | {(action.help or '').replace('|', chr(92) + '|')} |")
        told = f"{choice.help[0].upper()}{choice.help[1:]}."
        lines += [f"## discreet {choice.dest}", "", told, "", "| argument | default | meaning |", "|---|---|---|", *rows, ""]
    return "\n".join(lines)


def pages() -> dict[str, str]:
    """Every page by file name, the index included."""
    made = {f"methods/{name}.md": page(name, method) for name, method in EXPLAINED.items()}
    index = ["# Methods", "", "Written from the code by `make docs`; `discreet methods NAME` says the same.", ""]
    for family, methods in (FAMILIES | FOR_RECORDS).items():
        lines = [f"- [{one.NAME}]({one.NAME}.md): {inspect.cleandoc(one.__doc__ or '').splitlines()[0]}" for one in methods]
        index += [f"## {family}", "", *lines, ""]
    return {"plan.md": plan(), "commands.md": commands(), "methods/index.md": "\n".join(index)} | made


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
