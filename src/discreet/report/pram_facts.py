"""What the owner's report on PRAM shows, as plain dicts and lists; confidential, as it holds true counts."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np

from discreet.errors import InputError
from discreet.microdata.risk.pram_file import PramRisk
from discreet.microdata.risk.variable import StratumRisk, VariableRisk
from discreet.model.contributions import Floats
from discreet.model.randomised import PramDocument

__all__ = ["MOST_MAPPED", "pram_facts"]

MOST_MAPS = 3
"""Of how many strata the matrix of a variable is drawn."""

MOST_MAPPED = 80
"""How many categories a drawn matrix has at most."""

MOST_DRAWN = 30
"""Of how many categories the estimates are drawn."""

MOST_LINES = 60
"""How many lines a table has at most."""

LEVEL = 0.95


def pram_facts(risk: PramRisk, document: PramDocument) -> dict[str, Any]:
    """What is told of the file and its release, the warnings, and ``variables``.

    Each variable with ``name``, ``strata`` (one each, see :func:`_stratum`), ``maps`` (labels and matrix of the largest ones),
    ``risks`` (one a category and stratum, rarest first), ``counts`` (one a category over all strata: true, released, estimate,
    its interval and errors) or the reason why there are none, ``no_estimates``.
    """
    return {
        "file": document.file,
        "records": risk.records,
        "public": document.public,
        "made_by": document.made_by,
        "epsilon": risk.epsilon,
        "unchanged": risk.unchanged,
        "weighted": risk.weighted,
        "rare": risk.rare,
        "most": risk.most,
        "warnings": list(risk.warnings),
        "variables": [_variable(each) for each in risk.variables],
    }


def _variable(each: VariableRisk) -> dict[str, Any]:
    variable = each.variable
    largest = sorted(each.strata, key=lambda part: (-part.records, part.stratum))
    categories = {label for part in each.strata for label in _labels(part)}
    counts, reason = _counts(each)
    return {
        "name": variable.name,
        "design": variable.design,
        "by": list(variable.strata),
        "together": variable.together,
        "invariant": variable.invariant,
        "records": each.records,
        "categories": len(categories),
        "diagonal": each.diagonal,
        "expected": each.expected_share,
        "changed": each.changed_share,
        "epsilon": each.epsilon,
        "condition": each.condition,
        "gap": each.gap,
        "strata": [_stratum(part) for part in largest[:MOST_LINES]],
        "more_strata": max(0, len(largest) - MOST_LINES),
        "maps": [_map(part) for part in largest[:MOST_MAPS]],
        "more_maps": max(0, len(largest) - MOST_MAPS),
        "no_estimates": reason,
        **_risks(each),
        **counts,
    }


def _labels(part: StratumRisk) -> list[str]:
    return [" / ".join(code or "(empty)" for code in category) for category in part.matrix.categories]


def _stratum(part: StratumRisk) -> dict[str, Any]:
    held = part.true > 0
    return {
        "name": " / ".join(code or "(empty)" for code in part.stratum),
        "records": part.records,
        "categories": int(held.sum()),
        "least": float(part.matrix.diagonal[held].min(initial=1.0)),
        "expected": float(part.expected_changes.sum()) / max(part.records, 1),
        "changed": int(part.changed.sum()) / max(part.records, 1),
        "epsilon": part.matrix.epsilon,
        "condition": part.matrix.condition,
    }


def _map(part: StratumRisk) -> dict[str, Any]:
    """The matrix of the largest categories, in its own order."""
    chosen = np.sort(np.argsort(-part.true, kind="stable")[:MOST_MAPPED])
    labels = _labels(part)
    return {
        "name": " / ".join(code or "(empty)" for code in part.stratum),
        "records": part.records,
        "labels": [labels[k] for k in chosen],
        "left_out": len(labels) - len(chosen),
        "matrix": part.matrix.matrix[np.ix_(chosen, chosen)],
    }


def _risks(each: VariableRisk) -> dict[str, Any]:
    """A line for each category of each stratum, the rarest ones first."""
    held = [(part, k, label) for part in each.strata for k, label in enumerate(_labels(part)) if part.true[k]]
    order = sorted(range(len(held)), key=lambda i: int(held[i][0].true[held[i][1]]))[:MOST_LINES]
    lines = []
    for part, k, label in (held[i] for i in order):
        n = int(part.true[k])
        lines.append(
            {
                "stratum": " / ".join(code or "(empty)" for code in part.stratum),
                "category": label,
                "true": n,
                "stay": float(part.matrix.diagonal[k]),
                "changed": int(part.changed[k]) / n,
                "ratio": float(part.expectation_ratios[k]),
                "posterior": float(part.posterior[k]),
            }
        )
    return {"risks": lines, "more_risks": len(held) - len(lines)}


def _counts(each: VariableRisk) -> tuple[dict[str, Any], str]:
    """True, released and estimated counts of each category over all strata, largest first, and why there are none."""
    sums: dict[str, Floats] = {}
    for part in each.strata:
        try:
            columns = _estimated(part)
        except InputError as error:
            where = f"the matrix of {' / '.join(part.stratum)}" if part.stratum else "the matrix"
            return {"counts": [], "drawn": 0, "within": 0, "more_counts": 0, "all_counts": 0}, f"{where} {error.problem}"
        for label, numbers in zip(_labels(part), columns, strict=True):
            sums[label] = sums.get(label, np.zeros(len(numbers))) + numbers
    reach = NormalDist().inv_cdf(0.5 + LEVEL / 2)
    n = each.records
    lines: list[dict[str, Any]] = []
    for label, (true, released, estimate, variance, expected) in sums.items():
        width = reach * math.sqrt(max(float(variance), 0.0))
        sampling = true * (1 - true / n) if n else 0.0
        lines.append(
            {
                "category": label,
                "true": float(true),
                "released": float(released),
                "estimate": float(estimate),
                "low": float(estimate) - width,
                "high": float(estimate) + width,
                "share": math.sqrt(max(float(expected), 0.0)) / true if true else math.nan,
                "inflation": 1 + max(float(expected), 0.0) / sampling if sampling > 0 else math.nan,
            }
        )
    lines.sort(key=lambda line: -line["true"])
    within = sum(line["low"] <= line["true"] <= line["high"] for line in lines)
    shown = {"counts": lines[:MOST_LINES], "drawn": min(MOST_DRAWN, len(lines)), "within": within}
    return shown | {"more_counts": max(0, len(lines) - MOST_LINES), "all_counts": len(lines)}, ""


def _estimated(part: StratumRisk) -> Floats:
    """For each category: T, N, T̂ = P⁻ᵀN, what an analyst takes for its variance, and its true variance.

    With S the counts, or the squares of the households that a draw decides on: V̂ = diag(P⁻ᵀ diag(S_N) P⁻¹) − P⁻ᵀS_N, and
    the true one diag(P⁻ᵀ diag(PᵀS_T) P⁻¹) − S_T.
    """
    matrix, inverse = part.matrix.matrix, part.matrix.inverse
    squared = (inverse**2).T
    estimate = inverse.T @ part.released
    variance = squared @ part.released_squares - inverse.T @ part.released_squares
    expected = squared @ (matrix.T @ part.true_squares) - part.true_squares
    return np.stack([part.true, part.released, estimate, variance, expected], axis=1)
