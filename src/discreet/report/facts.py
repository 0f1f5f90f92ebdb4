"""The facts of a run as one JSON document: what the report shows, and nothing that has to stay confidential."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from discreet.audit.rounding import RoundingAudit
from discreet.errors import InputError
from discreet.method import parameters
from discreet.model.contributions import Floats
from discreet.model.ptable import PTable
from discreet.model.published import Exemption, PublishedTable
from discreet.model.table import Table
from discreet.plan.run import Run, TableRun
from discreet.report.attacks import attack_facts
from discreet.report.loss import loss_facts
from discreet.report.perturbation import error_facts, perturbation_facts
from discreet.report.verdict import audit_facts, headline
from discreet.report.view import MARKS, view

__all__ = ["SCHEMA", "facts"]

SCHEMA = "discreet-report/1"

_TALKS_OF_VALUES = ("cost", "value", "bound", "objective", "key", "seed", "weight")


def facts(run: Run) -> dict[str, Any]:
    """The report as plain dicts, lists, texts, numbers and nulls, ready for JSON.

    ``schema``, ``started``, ``versions``, ``notes``, ``plan`` (``text`` verbatim, ``parsed``), ``published`` (true when
    every table was), and ``tables``, each with

    - ``name``, ``response``, ``kind``, ``decimals``, ``seconds``, ``spanning`` (variable, codes, levels, total);
    - ``verdict``: ``verdict`` (proved, signed, refused or open), ``title``, ``sentence``, ``refusal`` (the
      error's words, if any) and ``exceptions`` (cell, reason, signed_by);
    - ``counts``: cells, published (as they are), perturbed (shown rounded or with noise; ``sensitive`` those of them that a
      rule found), primary, secondary (hidden), unlisted, equations;
    - ``rules``: method, what, parameters, ``sensitive`` cells, and those it ``alone`` found;
    - ``methods``: method, what, source, parameters (name, value, unit, meaning);
    - ``history``: method, what, counts, seconds;
    - ``audit``: see :func:`discreet.report.verdict.audit_facts`;
    - ``loss``: see :func:`discreet.report.loss.loss_facts`;
    - ``rounding``: ``cells`` whose number bounds the value, and how many are ``determined``, ``narrowed`` or ``not_proved``;
    - ``perturbation``: see :func:`discreet.report.perturbation.perturbation_facts`; ``errors``: how many numbers were
      published with which standard error; both null where there is nothing of the kind, or the table is refused;
    - ``attacks``: for each method that made noise, see :func:`discreet.report.attacks.attack_facts`;
    - ``marks``: what each letter in a view says; ``views``: one a layout, see :func:`discreet.report.view.view`.

    For the data steward, not for publication: which hidden cells are primary is told.  No true value of a hidden or
    perturbed cell, no contribution, weight, key or record is in it.  A refused table shows no values at all, as they would
    give the hidden cells away.
    """
    return {
        "schema": SCHEMA,
        "started": run.started,
        "versions": dict(run.versions),
        "notes": list(run.notes),
        "plan": {"text": run.plan_text, "parsed": _plain(run.plan)},
        "published": all(one.published is not None for one in run.tables),
        "tables": [_table_facts(one) for one in run.tables],
    }


def _table_facts(run: TableRun) -> dict[str, Any]:
    table = run.table
    if run.audit.table is not table:
        raise InputError(f"report of {run.name}", "the audit was made of another table", "audit the table reported here")
    signed = run.published.exceptions if run.published is not None else ()
    shown = errors = costs = None
    if run.published is not None:
        shown, costs = _released(table, run.published, "value"), run.perturbation
        errors = error_facts(shown, _released(table, run.published, "error"))
    decimals = table.decimals if run.published is None else run.published.decimals
    verdict = headline(run)
    return {
        "name": run.name,
        "response": table.response,
        "kind": table.kind,
        "decimals": decimals,
        "seconds": round(run.seconds, 2),
        "spanning": _spanning(table),
        "verdict": verdict | {"refusal": run.refusal, "exceptions": [_signature(table, exception) for exception in signed]},
        "counts": {
            "cells": table.cells,
            "published": int((~table.unknown).sum()),
            "perturbed": int(table.perturbed.sum()),
            "sensitive": int((table.perturbed & table.primary).sum()),
            "primary": int((table.primary & table.suppressed).sum()),
            "secondary": int((table.secondary & table.suppressed).sum()),
            "unlisted": int((~table.listed & ~table.suppressed).sum()),
            "equations": int(table.equations.shape[0]),
        },
        "rules": _rules(table),
        "methods": [_method(method) for method in run.methods],
        "history": [_step(step.method, step.what, step.counts, step.seconds) for step in table.history],
        "audit": audit_facts(run.audit),
        "loss": loss_facts(table, run.loss),
        "perturbation": None if costs is None else perturbation_facts(costs),
        "rounding": None if run.rounding is None or shown is None else _rounding(run.rounding),
        "errors": errors,
        "attacks": _attacks(run),
        "marks": MARKS,
        "views": [view(table, layout, shown, decimals) for layout in table.layouts],
    }


def _released(table: Table, published: PublishedTable, what: str) -> Floats:
    """The value (or standard error) of each cell as the release shows it, NaN for every other one."""
    released = np.full(table.cells, np.nan)
    for layout, lines in zip(table.layouts, published.layouts, strict=True):
        released[layout.cell[table.listed[layout.cell]]] = getattr(lines, what)
    return released


def _rounding(audit: RoundingAudit) -> dict[str, int]:
    """How many rounded numbers are known more closely than each says by itself; told as the reader could count them."""
    return {word.replace(" ", "_"): int(audit.counts[word]) for word in ("cells", "determined", "narrowed", "not proved")}


def _signature(table: Table, exception: Exemption) -> dict[str, str]:
    cell = table.cell(exception.codes, table=exception.table)
    return {"cell": table.label(cell), "reason": exception.reason, "signed_by": exception.signed_by}


def _spanning(table: Table) -> list[dict[str, Any]]:
    out: dict[str, dict[str, Any]] = {}
    for layout in table.layouts:
        for name, hierarchy in zip(layout.variables, layout.hierarchies, strict=True):
            entry = {"variable": name, "codes": len(hierarchy.codes), "levels": hierarchy.depth, "total": hierarchy.total}
            out.setdefault(name, entry)
    return list(out.values())


def _rules(table: Table) -> list[dict[str, Any]]:
    out = []
    for number, rule in enumerate(table.rules):
        bit = np.uint64(1) << np.uint64(number)
        hit = (table.fired & bit) != 0
        out.append(_method(rule) | {"sensitive": int(hit.sum()), "alone": int((table.fired == bit).sum())})
    return out


def _method(method: Any) -> dict[str, Any]:
    """What a method is and was asked to do; lists of entries, such as a-priori statuses, and p-tables are
    counted, not shown."""
    kind = type(method)
    known = parameters(kind) if dataclasses.is_dataclass(kind) else ()
    return {
        "method": str(getattr(kind, "NAME", kind.__name__)),
        "what": (kind.__doc__ or "").strip().split("\n\n")[0].replace("\n", " ").replace("``", ""),
        "source": str(getattr(kind, "SOURCE", "")),
        "parameters": [
            {"name": each.name, "value": _setting(getattr(method, each.name)), "unit": each.unit, "meaning": each.doc}
            for each in known
        ],
    }


def _attacks(run: TableRun) -> list[dict[str, Any]]:
    """What attacks on made-up cells learn from each method that perturbed cells of the table."""
    used = {step.method for step in run.table.history if step.what == "perturbation"}
    told = [attack_facts(method) for method in run.methods if getattr(method, "NAME", "") in used]
    return [facts for facts in told if facts is not None]


def _setting(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:.12g}"
    if isinstance(value, tuple | list) and all(isinstance(item, str | int | float) for item in value) and len(value) <= 8:
        return ", ".join(_setting(item) for item in value) or "none"
    if isinstance(value, tuple | list) and all(_short(item) for item in value) and len(value) <= 8:
        return ", ".join(f"({_setting(item)})" for item in value)
    if isinstance(value, tuple | list | Mapping):
        return f"{len(value)} entries"
    if isinstance(value, PTable):
        return f"p-table: {len(value.probability)} lines, changes up to {value.largest:g}"
    return str(value) if isinstance(value, str) else type(value).__name__


def _short(value: Any) -> bool:
    return isinstance(value, tuple | list) and len(value) <= 4 and all(isinstance(item, int | float) for item in value)


def _step(method: str, what: str, counts: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """A line of history; whole numbers that count something, nothing that could be a sum of values."""
    told = {
        name: int(number)
        for name, number in counts.items()
        if isinstance(number, int | np.integer) and not any(word in name for word in _TALKS_OF_VALUES)
    }
    return {"method": method, "what": what, "counts": told, "seconds": round(seconds, 2)}


def _plain(value: Any) -> Any:
    """Tuples, sets, dates and other values of a plan as JSON has them."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
