"""What the owner's report on swapping tells, as plain values."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

from discreet.loss.swapping import SwapLoss, swap_loss
from discreet.microdata.protect.swap.partners import swappable
from discreet.microdata.protect.swap.rank import RankSwap
from discreet.microdata.risk.given_away import GivenAway
from discreet.microdata.risk.swap_risk import SwapRisk, swap_risk
from discreet.model.association import values_of
from discreet.model.margins import Margins
from discreet.model.swap_file import SwapFile, Swapped

__all__ = ["swap_facts"]

MOST_COLUMNS = 14
"""Of so many columns, those that moved first, all pairs are compared."""

MOST_CODES = 100
"""Columns of more different codes than this, such as amounts, are compared by their means and not in tables."""

MOST_LINES = 40
"""So many margins are listed, those that changed most."""


def swap_facts(
    file: SwapFile, *, keys: Sequence[str], at_most: int, look_at: Sequence[Sequence[str]] | None, proof: GivenAway | None
) -> dict[str, Any]:
    """Numbers, names of columns and nothing of a record; ``proof`` what the fixed margins give away."""
    kept, lost = file.kept()
    compared = _compared(file, kept) if look_at is None else [tuple(margin) for margin in look_at]
    loss = swap_loss(file, compared, numbers=_numbers(file))
    return {
        "file": file.microdata.name,
        "records": len(file.key),
        "changed": loss.changed_share,
        "distance": loss.distance,
        "steps": [_step(step) for step in file.steps],
        "kept": kept,
        "lost": lost,
        "risk": _risk(swap_risk(file, keys, at_most=at_most)) if keys else None,
        "graphs": [_graph(file, margins) for margins in _systems(file)],
        "proof": None if proof is None else proof.shown(),
        "columns": [{"column": one.column, "swapped": one.swapped, "changed": one.changed} for one in loss.columns],
        "margins": _margins(loss),
        "numbers": [
            {"column": one.column, "held": one.values, "changed": one.changed, "change": one.relative_change}
            for one in loss.numbers
        ],
        "correlations": [dataclasses.asdict(one) for one in loss.correlations],
        "more_margins": max(0, len(loss.margins) - MOST_LINES),
        "unchanged": sum(one.changed == 0 for one in loss.margins),
        "compared": len(loss.margins),
    }


def _compared(file: SwapFile, kept: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Pairs of columns of which one moved, unless they are part of a margin that was kept."""
    named = [name for step in file.steps if step.margins is not None for name in step.margins.variables]
    columns = list(dict.fromkeys([*file.origin, *named]))
    columns = [name for name, codes in values_of(file.microdata, columns).items() if codes <= MOST_CODES][:MOST_COLUMNS]
    pairs = [pair for pair in itertools.combinations(columns, 2) if set(pair) & set(file.origin)]
    return [pair for pair in pairs if not any(set(pair) <= set(margin) for margin in kept)]


def _numbers(file: SwapFile) -> list[str]:
    """The columns of numbers that moved by their ranks."""
    return list(dict.fromkeys(name for step in file.steps if step.method == RankSwap.NAME for name in step.columns))


def _step(step: Swapped) -> dict[str, Any]:
    return {
        "method": step.method,
        "columns": list(step.columns),
        "margins": [] if step.margins is None else [" × ".join(margin) for margin in step.margins.sets],
        "facts": dict(step.facts),
    }


def _systems(file: SwapFile) -> list[Margins]:
    """The different systems of margins of three variables and more: those of fewer have no graph worth a picture."""
    found = dict.fromkeys(step.margins for step in file.steps if step.margins is not None and len(step.margins.sets) > 1)
    return [margins for margins in found if margins is not None]


def _graph(file: SwapFile, margins: Margins) -> dict[str, Any]:
    held = file.combinations(margins.variables, true=True)
    flags = swappable(held, margins)
    return {
        "margins": margins,
        "graphical": margins.graphical,
        "decomposable": margins.decomposable,
        "share": flags.share,
        "separators": [
            {
                "variables": list(separator.variables),
                "parts": [list(part) for part in separator.components],
                "records": int(held.counts[flags.partners[:, s] > 0].sum()),
            }
            for s, separator in enumerate(margins.separators)
        ],
    }


def _risk(risk: SwapRisk) -> dict[str, Any]:
    return {
        "of": list(risk.before.keys),
        "at_most": risk.at_most,
        "risky": risk.risky,
        "broken": risk.broken,
        "broken_share": risk.broken_share,
        "shown": risk.shown,
        "right": risk.right,
        "right_share": risk.right_share,
    }


def _margins(loss: SwapLoss) -> list[dict[str, Any]]:
    ordered = sorted(loss.margins, key=lambda one: (-one.hellinger, one.variables))
    return [
        {
            "variables": " × ".join(one.variables),
            "cells": one.cells,
            "share": one.share,
            "largest": one.largest,
            "moved": one.moved,
            "hellinger": one.hellinger,
            "utility": one.hellinger_utility,
        }
        for one in ordered[:MOST_LINES]
    ]
