"""Processor time, memory, versions, and plain text tables.  Needs the standard library only: peers use it too."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import resource
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

__all__ = ["peak_megabytes", "seconds_of_processor", "text_table", "versions"]

NUMBER = re.compile(r"[-0-9.,×]*")


def seconds_of_processor() -> float:
    """Processor seconds so far, of all threads and of all finished child processes."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def peak_megabytes() -> float:
    """The most memory that this process has held so far; where the system tells, without what its parent held at the start."""
    status = Path("/proc/self/status")
    if status.exists() and (found := re.search(r"VmHWM:\s+(\d+) kB", status.read_text())):
        return int(found[1]) * 1024 / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


def versions(packages: Iterable[str] = ("discreet", "numpy", "scipy", "duckdb", "highspy")) -> dict[str, str]:
    """What ran: Python, the platform, its processors and the packages that are installed."""
    found = {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "processors": str(os.cpu_count()),
    }
    for package in packages:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns in line, those of numbers to the right."""
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    numbers = [all(NUMBER.fullmatch(row[column]) for row in rows) for column in range(len(header))]
    lines = []
    for row in (header, tuple("-" * width for width in widths), *rows):
        cells = zip(row, widths, numbers, strict=True)
        lines.append("  ".join(cell.rjust(width) if number else cell.ljust(width) for cell, width, number in cells).rstrip())
    return "\n".join(lines)
