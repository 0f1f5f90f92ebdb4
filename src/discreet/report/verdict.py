"""What a run proved, against whom, and what it leaves open, in plain words."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.audit.result import Audit
from discreet.model.finding import Finding
from discreet.model.table import Table
from discreet.plan.run import TableRun

__all__ = ["audit_facts", "grouped", "headline"]

_MOST_FINDINGS = 200


def grouped(number: float, decimals: int = 0) -> str:
    """A number as people read it: thousands apart by a thin space, decimals as declared, a true minus sign."""
    return f"{number:,.{max(decimals, 0)}f}".replace(",", "\u202f").replace("-", "−")


def headline(run: TableRun) -> dict[str, str]:
    """``verdict`` (proved, signed, refused or open), and one ``title`` and one ``sentence`` about it."""
    table, findings = run.table, len(run.audit.findings)
    hidden = int(table.suppressed.sum())
    if run.published is None:
        found = f"The audit found {_count(findings, 'demand')} not met. " if findings else ""
        words = "refused", "Refused: not proved safe", f"{found}Nothing of this table was published."
    elif not run.audit.safe:
        title = f"Published with {_count(len(run.published.exceptions), 'signed exception')}"
        found = f"The audit found {_count(findings, 'demand')} not met; the data steward signed for each cell concerned"
        words = "signed", title, f"{found}, with the reasons below. Everything else is proved."
    elif table.judged.any():
        every = "The one suppressed cell" if hidden == 1 else f"Every one of the {grouped(hidden)} suppressed cells"
        proof = "The proof looked at all published numbers together and shares no code with the protection."
        kept = f"{every} {_standard(table)}. " if hidden else ""
        words = "proved", "Proved safe", f"{kept}{_perturbed_standard(table)}{proof}"
    elif table.perturbed.any():
        every = f"{_count(int(table.perturbed.sum()), 'number')} shown rounded or with noise"
        asked = "The plan asks that only sensitive cells among them stay unknown, and no rule found one"
        words = "open", "Nothing had to be proved", f"The table has {every}. {asked}; nothing was proved of the others."
    else:
        found = f"No rule found any of the {grouped(table.cells)} cells sensitive; the table is published whole."
        words = "open", "Nothing had to be hidden", found
    return dict(zip(("verdict", "title", "sentence"), words, strict=True))


def _standard(table: Table) -> str:
    know = table.intruder
    out = "stays as uncertain as its rules demand" if know.levels else "stays unknown: nobody can work out its exact value"
    if know.insiders != "none":
        out += ", also to contributors who know their own cell"
    if know.insiders == "pairs":
        out += ", alone or together with the only other one in it"
    return out


def _perturbed_standard(table: Table) -> str:
    """What was proved of the cells that are shown rounded or with noise."""
    judged = table.perturbed & table.judged
    if not judged.any():
        return "No other cell shown rounded or with noise was asked about. " if table.perturbed.any() else ""
    sensitive = int((judged & table.primary).sum())
    many = f"{_count(int(judged.sum()), 'cell')} shown rounded or with noise"
    out = f"Of the {many}, nobody can work out an exact value from all that is published. "
    if table.intruder.perturbed == "sensitive":
        out = f"Of the {_count(sensitive, 'sensitive cell')} shown rounded or with noise, nobody can work out an exact value. "
    if sensitive and table.intruder.levels:
        out += f"The sensitive among them ({grouped(sensitive)}) stay as uncertain as their rules demand. "
    return out + "Estimates remain possible: that is what such numbers are for. "


def _count(number: int, noun: str) -> str:
    return f"{grouped(number)} {noun}{'' if number == 1 else 's'}"


_STANDARDS = {
    "PS1": "No sensitive cell can be worked out exactly within one sub-table.",
    "PS1*": "Every sensitive cell keeps its protection levels within one sub-table.",
    "PS2": "No contributor can work out another's sensitive cell within one equation.",
    "PS2*": "No contributor can work out another's sensitive cell within one sub-table.",
    "full PS1": "PS1 over all published numbers together.",
    "full PS1*": "PS1* over all published numbers together.",
    "full PS2*": "PS2* over all published numbers together.",
}


def audit_facts(audit: Audit) -> dict[str, Any]:
    """The audit as JSON, without intervals: next to true values they would be telling, and anyone can compute them.

    ``safe``; ``questions`` (question, asked, held, failed, not_proved); ``components`` and ``programs`` of how many linear
    programs; ``seconds``; ``standards`` (name, meaning, holds); ``findings`` (``kinds``, the ``first`` ones in words,
    ``left_out``); ``assumptions`` about the intruder and ``blind_spots``, in words.
    """
    counts = audit.counts
    return {
        "safe": audit.safe,
        "questions": _questions(audit),
        "components": int(counts["components"]),
        "programs": int(counts["programs solved"]),
        "seconds": round(float(counts["seconds"]), 2),
        "standards": [
            {"name": name, "meaning": _STANDARDS.get(name, ""), "holds": bool(holds)} for name, holds in audit.standards.items()
        ],
        "findings": _findings(audit.table, audit.findings),
        "assumptions": _assumptions(audit.table),
        "blind_spots": _blind_spots(audit.table),
    }


def _questions(audit: Audit) -> list[dict[str, Any]]:
    def answer(question: str, asked: str, failed: tuple[str, ...], unsure: str | None) -> dict[str, Any]:
        many, wrong = int(audit.counts[asked]), sum(int(audit.counts[name]) for name in failed)
        not_proved = int(audit.counts[unsure]) if unsure else 0
        held = many - wrong - not_proved
        return {"question": question, "asked": many, "held": held, "failed": wrong, "not_proved": not_proved}

    noise = [
        answer("Do numbers with noise estimate a sensitive cell too closely?", "estimates checked", ("estimates failed",), None)
    ]
    return [
        *_of_cells(audit),
        answer(
            "Can somebody who knows one hidden cell work out another?",
            "insider pairs checked",
            ("insider pairs failed",),
            "insider pairs not proved",
        ),
        answer("Does a sum of hidden cells fail a rule?", "unions checked", ("unions failed",), None),
        *(noise if audit.counts["estimates checked"] else []),
    ]


def _of_cells(audit: Audit) -> list[dict[str, Any]]:
    """The questions about single cells, one for those that are hidden and one for those that show another number."""
    perturbed = audit.table.perturbed[audit.cell]
    asked = [("Is a hidden cell known more closely than allowed?", ~perturbed)]
    if perturbed.any():
        asked.append(("Is a cell shown rounded or with noise known exactly, or more closely than its rule allows?", perturbed))
    out = []
    for question, among in asked:
        verdict = audit.verdict[among]
        counts = {"held": "safe", "not_proved": "not proved"}
        answers = {name: int((verdict == word).sum()) for name, word in counts.items()}
        failed = len(verdict) - answers["held"] - answers["not_proved"]
        out.append({"question": question, "asked": len(verdict), "failed": failed} | answers)
    return out


def _findings(table: Table, findings: tuple[Finding, ...]) -> dict[str, Any]:
    """How often each kind was found, and the first ones in words: codes only."""
    kinds: dict[str, int] = {}
    for finding in findings:
        kinds[finding.kind] = kinds.get(finding.kind, 0) + 1
    return {
        "kinds": kinds,
        "first": [{"kind": finding.kind, "what": _words(table, finding)} for finding in findings[:_MOST_FINDINGS]],
        "left_out": max(0, len(findings) - _MOST_FINDINGS),
    }


def _words(table: Table, finding: Finding) -> str:
    cell = table.label(finding.cell) if finding.cell >= 0 else ""
    together = "; ".join(table.label(other) for other in finding.together[:6])
    more = f" and {len(finding.together) - 6} more" if len(finding.together) > 6 else ""
    if finding.kind == "union":
        return f"The sum of the hidden cells {together}{more} follows from the release and fails {finding.rule}."
    if finding.kind == "insider":
        known = "; ".join(table.label(other) for other in finding.knows)
        return f"Whoever knows {known} can work out {cell} too closely."
    if finding.kind == "exact":
        return f"{cell} can be worked out exactly."
    if finding.kind == "too narrow":
        return f"{cell} can be worked out more closely than its rule allows."
    if finding.kind == "estimate":
        return f"{cell} can be estimated more closely than its rule allows, from numbers with noise."
    return f"{cell or together + more}: the proof could not be completed, so it counts as not safe."


def _assumptions(table: Table) -> list[str]:
    """What the intruder is taken to know and to do, a sentence each."""
    know = table.intruder
    general = table.bounds()[0][np.isnan(table.lower)]
    out = ["The intruder has every published number of this table, its margins and hierarchies, and knows how they add up."]
    if know.nonnegative or (know.nonnegative is None and bool((general >= 0).all())):
        out.append("It is known that no value is below zero.")
    else:
        out.append("Values may lie below zero; nothing is assumed about their sign.")
    if know.prior is not None:
        out.append(f"Every value is known beforehand to within {know.prior:g} % of itself.")
    if know.nonempty:
        out.append("It is known which cells are not empty.")
    if know.integer:
        out.append("Values are known to be whole numbers, and the intruder uses it.")
    out.append(
        "Each sensitive cell must keep the protection levels of its rules around its true value."
        if know.levels
        else "It is enough that no hidden value can be worked out exactly; protection levels are not demanded."
    )
    out.append(
        {
            "none": "Contributors are taken to use no knowledge of their own figures.",
            "singletons": "The only contributor of a cell knows that cell and uses it.",
            "pairs": "The only contributor of a cell knows that cell; the two contributors of a two-contributor cell may pool "
            "what they know.",
        }[know.insiders]
    )
    if know.unions:
        out.append("Sums of hidden cells that follow from a published total must pass the sensitivity rules themselves.")
    if table.perturbed.any():
        out.append(
            "The method behind each number shown rounded or with noise is known with all its settings but the keys, "
            "and so are the bounds that it gives; keys and secret are not."
        )
    if table.knowledge:
        facts = sum(len(knowledge.what) for knowledge in table.knowledge)
        out.append(f"Further published facts were counted in: {grouped(facts)} (percentages, header totals and the like).")
    return out


def _blind_spots(table: Table) -> list[str]:
    """What the proof does not guard against."""
    out = [
        "Knowledge from outside that was not declared: other tables or earlier releases of the same data that are not part "
        "of this run, registers, the press.",
        "Larger coalitions: contributors of three or more pooling their figures.",
        "Wrong input: the proof is about the records, holdings and hierarchies as they were given.",
        "Records of persons or firms that are recognised from an open cell that no rule was asked about.",
    ]
    if table.perturbed.any():
        out.append("Averages and differences over other tables that carry noise or chance rounding of the same keys.")
        out.append(
            "How likely a value is within its bounds. Of random numbers the audit asks besides how closely those of one sum "
            "estimate a sensitive cell; sums of several, or over other tables, it does not try."
            if np.isfinite(table.shown_error).any()
            else "How likely a value is: of rounding the proof counts what is possible, within the bounds that it gives."
        )
        if table.intruder.perturbed == "sensitive":
            out.append(
                "Cells shown rounded or with noise that no rule found sensitive: the plan does not ask for their protection."
            )
    if table.intruder.insiders == "none":
        out.append("Contributors who subtract their own figures: the plan switched this off.")
    if table.intruder.insiders == "singletons":
        out.append("Two contributors of one cell pooling their figures: the plan switched this off.")
    if not table.intruder.unions:
        out.append("Sums of hidden cells that fail a rule: the plan switched this off.")
    if not table.intruder.levels:
        out.append("Close estimates: the plan asked for protection from exact recomputation only.")
    return out
