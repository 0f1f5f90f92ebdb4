"""The subjects; importing this package registers them all."""

from benchmarks.subjects import demo, perturbation, rounding, tabulate

__all__ = ["demo", "perturbation", "rounding", "tabulate"]
