"""The owner's report on swapping: one HTML file that opens offline.  Confidential: it tells how many records moved, and why."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.errors import InputError
from discreet.microdata.risk.given_away import GivenAway
from discreet.model.swap_file import SwapFile
from discreet.report.charts import bar
from discreet.report.render import page
from discreet.report.swap_charts import margins_graph
from discreet.report.swap_facts import swap_facts
from discreet.report.verdict import grouped

__all__ = ["swap_report"]


def swap_report(
    file: SwapFile,
    *,
    title: str,
    keys: Sequence[str] = (),
    at_most: int = 1,
    look_at: Sequence[Sequence[str]] | None = None,
    proof: GivenAway | None = None,
) -> str:
    """One self-contained HTML page about a file whose records were swapped, for its owner; it asks nothing of the network.

    It tells what each step did and which margins are exactly as they were, counted again here; with ``keys``, how many
    records with a combination that at most ``at_most`` records have are left; the graph of the fixed margins with its
    separators; and how far other margins moved: those of ``look_at``, by default all pairs of columns of which one moved.
    ``proof``: what :func:`discreet.microdata.risk.given_away.given_away` found of the fixed margins.

    The page tells how often swaps hit whom, which is secret; it holds no record, code, weight or key.

    Errors: InputError where nothing was swapped, for a column that is not there, and where the package jinja2 is missing.
    """
    if not file.steps:
        raise InputError("report on swapping", "nothing was swapped yet", "apply a method of swapping before")
    facts = swap_facts(file, keys=keys, at_most=at_most, look_at=look_at, proof=proof)
    return page(
        "swap.html", {"bar": bar, "graph_of": margins_graph, "share": _share, "figure": _figure}, facts=facts, title=title
    )


def _share(part: float) -> str:
    return "< 0.1 %" if 0 < part < 0.0005 else f"{grouped(100 * part, 1)} %"


def _figure(number: float | str) -> str:
    """A fact: whole numbers with their digits grouped, others with three that count, words as they are."""
    if isinstance(number, str):
        return number
    if isinstance(number, bool):
        return "yes" if number else "no"
    return grouped(int(number)) if number == int(number) else f"{number:.3g}"
