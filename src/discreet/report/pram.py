"""The owner's report on PRAM: one HTML file that opens offline.  Confidential: it holds true counts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet.errors import InputError
from discreet.microdata.risk.pram_file import PramRisk, pram_risk
from discreet.model.pram_file import PramFile
from discreet.model.randomised import PramDocument
from discreet.report.charts import bar
from discreet.report.pram_charts import estimates, matrix_map, strength
from discreet.report.pram_facts import pram_facts
from discreet.report.render import page
from discreet.report.verdict import grouped

__all__ = ["pram_report"]


def pram_report(file: PramFile, document: PramDocument, *, title: str, risk: PramRisk | None = None) -> str:
    """One self-contained HTML page about a file to which PRAM was applied, for its owner alone; it asks nothing of the network.

    It tells what was done, what risk is left, how far estimates lie from the true counts, and what analysts may be told.
    ``document`` is what was, or will be, released with the file; ``risk`` what
    :func:`discreet.microdata.risk.pram_file.pram_risk` found, by its default settings where it is not given.

    The page holds true counts, so it must stay with the file itself; it holds no record, weight or key.  What an analyst can
    know is estimated from the released file and its document alone.

    Errors: InputError where the document, or the risk, is about another file, or the package jinja2 is missing.
    """
    names = [variable.name for variable in file.variables]
    told = [variable.name for variable in document.variables]
    if names != told or document.records != len(file.key):
        raise InputError(f"report on {file.microdata.name}", "the document is about another file", "take that of this file")
    found = pram_risk(file) if risk is None else risk
    if found.records != len(file.key) or [each.variable for each in found.variables] != list(file.variables):
        raise InputError(f"report on {file.microdata.name}", "the risk is that of another file", "take that of this file")
    drawing = {
        "bar": bar,
        "figure": _figure,
        "filled": lambda part: 0.0 if math.isnan(part) else min(part, 1.0),
        "map_of": _map_of,
        "shades": [(p, strength(p)) for p in (0.01, 0.05, 0.25, 0.5, 1.0)],
        "share": _share,
        "estimates_of": _estimates_of,
    }
    return page("pram.html", drawing, facts=pram_facts(found, document), title=title)


def _share(part: float) -> str:
    """A share in per cent."""
    if math.isnan(part):
        return "–"
    return "< 0.1 %" if 0 < part < 0.0005 else f"{grouped(100 * part, 1)} %"


def _figure(number: float) -> str:
    """A number with three digits that count."""
    if math.isnan(number):
        return "–"
    if math.isinf(number):
        return "∞"
    if abs(number) >= 1e7 or 0 < abs(number) < 1e-4:
        return f"{number:.1e}"
    size = math.floor(math.log10(abs(number))) if number else 0
    return grouped(number, min(max(2 - size, 0), 9))


def _map_of(variable: Mapping[str, Any], one: Mapping[str, Any]) -> str:
    where = f", {one['name']}" if one["name"] else ""
    return matrix_map(one["labels"], one["matrix"], f"Transition matrix of {variable['name']}{where}")


def _estimates_of(variable: Mapping[str, Any]) -> str:
    lines: Sequence[Mapping[str, Any]] = variable["counts"][: variable["drawn"]]
    columns = {name: np.array([line[name] for line in lines]) for name in ("true", "released", "estimate", "low", "high")}
    return estimates([line["category"] for line in lines], **columns, title=f"True and estimated counts of {variable['name']}")
