"""The demo's table: turnover of the shipped register by activity and region, protected and audited."""

from __future__ import annotations

from functools import reduce
from typing import Any

import discreet as dc
from benchmarks.registry import ROOT, Stage, subject
from discreet.audit import audit

REGISTER = ROOT / "examples" / "register" / "register.parquet"
RULES: tuple[Any, ...] = (dc.MinimumFrequency(n=3, count="holdings"), dc.PPercent(p=10))
MINUTE = 60.0
CUTS: dict[str, tuple[int, tuple[str, ...]]] = {
    "sections × region 1": (1, ("region1",)),
    "sections × region 2": (1, ("region1", "region2")),
    "the whole": (2, ("region1", "region2")),
}
"""Levels of the activity tree and level columns of the region."""


def demo_table(activity_level: int = 2, regions: tuple[str, ...] = ("region1", "region2")) -> Any:
    """The table with its sensitive cells found."""
    microdata = dc.read_microdata(REGISTER, unit="enterprise", holding="group")
    nace = dc.read_hierarchy(REGISTER.with_name("nace.hrc"), lead="@").to_level(activity_level)
    table = dc.tabulate(microdata, spanning={"nace": nace, "region": list(regions)}, response="turnover")
    return reduce(lambda found, rule: rule.apply(found), RULES, table)


def note(facts: dict[str, int | float | str], table: Any) -> None:
    """Counts of a protected table."""
    facts["cells"] = table.cells
    facts["primary"] = int(table.primary.sum())
    facts["secondary"] = int(table.secondary.sum())
    facts["hidden by secondaries"] = round(float(table.value[table.secondary].sum()))


@subject("demo-gauss", "gauss-suppression of the demo's table: elimination alone, and with audits and repair until proved")
def demo_gauss(stage: Stage) -> None:
    """Elimination alone prevents exact recomputation; the repair then sees to protection levels, insiders and hidden sums."""
    with stage.timed("tabulate and rules"):
        table = demo_table()
    with stage.timed("gauss") as facts:
        note(facts, dc.GaussSuppression().apply(table))
    with stage.timed("gauss, audits and repair", against="gauss") as facts:
        note(facts, dc.protect(table, [dc.GaussSuppression()]))


@subject("demo-exact", "exact-suppression of two small cuts of the demo's table and of the whole within a minute, beside gauss")
def demo_exact(stage: Stage) -> None:
    """The optimum where it is found, the best pattern so far where it is not; audits and repair included."""
    for name, cut in CUTS.items():
        table = demo_table(*cut)
        with stage.timed(f"gauss, {name}") as facts:
            note(facts, dc.protect(table, [dc.GaussSuppression()]))
        with stage.timed(f"exact, {name}", against=f"gauss, {name}") as facts:
            note(facts, dc.protect(table, [dc.ExactSuppression(time_limit=MINUTE)]))


@subject("demo-audit", "audit of the demo's protected table: every hidden cell, insiders and hidden sums")
def demo_audit(stage: Stage) -> None:
    """The independent proof, beside the protection that it proves."""
    table = demo_table()
    with stage.timed("gauss, audits and repair") as facts:
        table = dc.protect(table, [dc.GaussSuppression()])
        note(facts, table)
    with stage.timed("audit", against="gauss, audits and repair") as facts:
        counts = audit(table).counts
        facts.update({word: counts[word] for word in ("suppressed", "safe", "insiders", "unions checked", "programs solved")})
