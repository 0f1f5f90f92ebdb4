"""The pages written from the code are those of today's code."""

import runpy
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_generated_pages_are_up_to_date() -> None:
    wanted = runpy.run_path(str(DOCS / "generate.py"))["pages"]()
    assert len(wanted) > 10
    stale = [name for name, text in wanted.items() if not (DOCS / name).is_file() or (DOCS / name).read_text("utf-8") != text]
    assert not stale, "run make docs"
    assert {path.name for path in (DOCS / "methods").glob("*.md")} == {Path(name).name for name in wanted} - {
        "plan.md",
        "commands.md",
    }
