"""Imports run down only: read from the source, whatever is executed."""

import ast
from pathlib import Path

import pytest

import discreet

SOURCE = Path(discreet.__file__).parent
MODULES = sorted(path for path in SOURCE.rglob("*.py") if path.relative_to(SOURCE).as_posix() != "__init__.py")
HEIGHT = {
    "__main__": 7,
    "cli": 6,
    "report": 5,
    "plan": 4,
    **dict.fromkeys(("tables", "microdata", "inference", "audit", "loss", "io", "presets", "testing"), 3),
    "model": 2,
    **dict.fromkeys(("engine", "solve", "method"), 1),
    "errors": 0,
}


def layer(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} imports relatively"
            found |= {f"{node.module}.{name.name}" for name in node.names}
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
    return {name for name in found if name.split(".")[0] == "discreet"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_imports_run_down(path: Path) -> None:
    own = layer(path)
    for name in imported(path):
        parts = name.split(".")
        target = parts[1]
        if target == "__version__":
            continue
        assert target in HEIGHT, f"{name}: give the new layer {target!r} a height in this test"
        allowed = target == own or HEIGHT[target] < HEIGHT[own]
        assert allowed, f"{path.relative_to(SOURCE)} ({own}) must not import {name}"


def test_the_audit_shares_no_code_with_the_protection() -> None:
    for path in (SOURCE / "audit").rglob("*.py"):
        assert not any(name.startswith(("discreet.tables", "discreet.microdata")) for name in imported(path)), path.name
    for path in (SOURCE / "tables").rglob("*.py"):
        assert not any(name.startswith("discreet.audit") for name in imported(path)), path.name


def test_an_arrow_that_runs_up_would_be_seen(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text("def later():\n    from discreet.plan import run\n", "utf-8")
    assert imported(module) == {"discreet.plan.run"}
