"""The subjects; importing this package registers them all."""

from benchmarks.subjects import demo, perturbation, pram, rounding, tabulate

__all__ = ["demo", "perturbation", "pram", "rounding", "tabulate"]
