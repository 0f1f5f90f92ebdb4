"""What can be measured: a subject is a function that does its work in a :class:`Stage` and times the parts of it."""

from __future__ import annotations

import contextlib
import dataclasses
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.measure import peak_megabytes, seconds_of_processor

__all__ = ["ROOT", "SUBJECTS", "Reading", "Stage", "Subject", "subject"]

ROOT = Path(__file__).resolve().parents[1]


@dataclasses.dataclass(kw_only=True)
class Reading:
    """One timed part; ``against`` names the part of the same run whose processor time is the measure of this one's."""

    part: str
    against: str = ""
    cpu: float = 0.0
    wall: float = 0.0
    peak: float = 0.0
    facts: dict[str, int | float | str] = dataclasses.field(default_factory=dict)


class Stage:
    """Where a subject works: a private folder that is removed afterwards, and a clock."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.readings: list[Reading] = []

    @contextlib.contextmanager
    def timed(self, part: str, *, against: str = "") -> Iterator[dict[str, int | float | str]]:
        """Times what is done inside; what is put in the yielded dict is printed beside it."""
        reading = Reading(part=part, against=against)
        cpu, wall = seconds_of_processor(), time.perf_counter()
        yield reading.facts
        reading.cpu = seconds_of_processor() - cpu
        reading.wall = time.perf_counter() - wall
        reading.peak = peak_megabytes()
        self.readings.append(reading)

    def register(self, rows: int, seed: int = 2024) -> Path:
        """A synthetic register of this many enterprises, made in a process of its own."""
        generator = ROOT / "examples" / "register" / "generate.py"
        out = self.folder / f"register-{rows}-{seed}"
        if not out.exists():
            command = [sys.executable, str(generator), "--out", str(out), "--rows", str(rows), "--seed", str(seed)]
            subprocess.run(command, check=True, capture_output=True)
        return out / "register.parquet"


@dataclasses.dataclass(frozen=True)
class Subject:
    """One thing to measure; it is stopped after ``limit`` seconds."""

    name: str
    what: str
    run: Callable[[Stage], None]
    limit: int


SUBJECTS: dict[str, Subject] = {}
"""Every subject by its name; :mod:`benchmarks.subjects` fills it."""


def subject(name: str, what: str, *, limit: int = 900) -> Callable[[Callable[[Stage], None]], Callable[[Stage], None]]:
    """Registers the function as a subject."""

    def register(run: Callable[[Stage], None]) -> Callable[[Stage], None]:
        if name in SUBJECTS:
            raise ValueError(f"there are two subjects called {name!r}")
        SUBJECTS[name] = Subject(name, what, run, limit)
        return run

    return register
