"""Size of files and functions, sorted public names, a light import, and nothing of this machine in the repository."""

import ast
import importlib
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import discreet

SOURCE = Path(discreet.__file__).parent
REPOSITORY = Path(__file__).resolve().parents[2]
MODULES = sorted(SOURCE.rglob("*.py"))
FRAMES = ("pandas", "polars", "pyarrow", "narwhals")
OPTIONAL = (*FRAMES, "altair", "jinja2", "numba", "rich", "vl_convert", "scipy", "duckdb", "highspy", "rustworkx")
FOLDERS = ("src", "tests", "docs", "examples", "benchmarks", ".ci")


def name_of(path: Path) -> str:
    parts = ("discreet", *path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(part for part in parts if part != "__init__")


def by_name(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


@pytest.mark.parametrize("path", MODULES, ids=by_name)
def test_files_and_functions_are_short(path: Path) -> None:
    text = path.read_text("utf-8")
    assert len(text.splitlines()) <= 400, f"{by_name(path)} is longer than 400 lines"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = node.end_lineno - node.lineno + 1
            assert length <= 60, f"{by_name(path)}: {node.name} has {length} lines"


def order(name: str) -> tuple[int, str]:
    """Constants, then classes, then functions, as the linter sorts them."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


@pytest.mark.parametrize("path", [path for path in MODULES if path.name != "__main__.py"], ids=by_name)
def test_public_names_exist_and_are_sorted(path: Path) -> None:
    module = importlib.import_module(name_of(path))
    names = getattr(module, "__all__", None)
    if names is None:
        body = ast.parse(path.read_text("utf-8")).body
        public = [node.name for node in body if hasattr(node, "name") and node.name[0] != "_"]
        assert not public, f"{by_name(path)} defines {public} and has no __all__"
        return
    assert list(names) == sorted(names, key=order)
    assert len(set(names)) == len(names)
    for name in names:
        assert getattr(module, name) is not None


@pytest.mark.parametrize("path", MODULES, ids=by_name)
def test_every_module_says_what_it_is_for(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text("utf-8"))), f"{by_name(path)} has no docstring"


def test_the_import_is_light() -> None:
    script = (
        "import sys, time\nstart = time.process_time()\nimport discreet\nspent = time.process_time() - start\n"
        f"print(spent); print(*[name for name in {OPTIONAL!r} if name in sys.modules])"
    )
    best = 9.0
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        spent, _, heavy = done.stdout.partition("\n")
        assert heavy.strip() == "", f"import discreet imports {heavy}"
        best = min(best, float(spent))
    assert best < 0.3, f"import discreet costs {best:.2f} s CPU"


def test_every_lazy_name_is_there() -> None:
    for name in discreet.__all__:
        assert getattr(discreet, name) is not None
        assert name in dir(discreet)
    with pytest.raises(AttributeError, match="tabulat"):
        _ = discreet.tabulat


def written_files() -> list[Path]:
    kinds = {".py", ".md", ".toml", ".csv", ".hrc", ".yml", ".yaml", ".json", ".html", ".txt", ".cfg", ""}
    files = [path for path in REPOSITORY.iterdir() if path.is_file()]
    for folder in FOLDERS:
        inside = ((path, path.relative_to(REPOSITORY / folder).parts) for path in (REPOSITORY / folder).rglob("*"))
        files += [path for path, parts in inside if not any(part.startswith((".", "__pycache__")) for part in parts)]
    return [path for path in files if path.is_file() and path.suffix in kinds]


def test_no_path_of_a_machine_is_written_down() -> None:
    machine = re.compile(r"(?<![\w.~/])/(?:home|root|work|Users|mnt|tmp)/\w|[A-Z]:\\\\?Users")
    found = []
    for path in written_files():
        if path == Path(__file__).resolve():
            continue
        for number, line in enumerate(path.read_text("utf-8", errors="replace").splitlines(), 1):
            if machine.search(line) or str(REPOSITORY) in line:
                found.append(f"{path.relative_to(REPOSITORY)}:{number}")
    assert not found


@pytest.mark.parametrize("line", ["see /home/ann/x", "C:\\Users\\ann", "open('/tmp/x')"])
def test_a_path_of_a_machine_would_be_seen(line: str) -> None:
    assert re.search(r"(?<![\w.~/])/(?:home|root|work|Users|mnt|tmp)/\w|[A-Z]:\\\\?Users", line)
