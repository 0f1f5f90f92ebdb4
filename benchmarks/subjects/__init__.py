"""The subjects; importing this package registers them all."""

from benchmarks.subjects import demo, tabulate

__all__ = ["demo", "tabulate"]
