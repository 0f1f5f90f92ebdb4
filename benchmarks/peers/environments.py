"""Other tools are installed in environments of their own, beside this file and ignored by git."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

__all__ = ["PEERS", "python_of"]

HERE = Path(__file__).resolve().parent
PEERS = {
    "pytauargus": ("pytauargus==0.6.*",),
    "gconfid": ("gconfid==2.*",),
    "cell-key-perturbation": ("cell-key-perturbation==3.1.*", "pandas", "pyarrow"),
    "pram": ("pram==0.2.*", "pandas==2.2.*", "pyarrow"),
}
"""What is installed for each tool: one does not name the packages that it needs, one breaks on the present pandas."""


def python_of(peer: str) -> Path | None:
    """The interpreter that has this tool, made on first use; None where it cannot be installed."""
    folder = HERE / f".env-{peer}"
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if _has(python, peer):
        return python
    venv.create(folder, with_pip=True, clear=True)
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PEERS[peer]]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        print(f"{peer} cannot be installed: {(done.stderr.strip().splitlines() or ['no word from pip'])[-1]}", file=sys.stderr)
        return None
    return python


def _has(python: Path, peer: str) -> bool:
    if not python.exists():
        return False
    names = [requirement.split("==")[0] for requirement in PEERS[peer]]
    asked = f"import importlib.metadata as m; [m.version(name) for name in {names!r}]"
    return subprocess.run([str(python), "-c", asked], check=False, capture_output=True).returncode == 0
