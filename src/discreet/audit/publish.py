"""From a proved table to the one that may leave: no value of a hidden cell crosses this line."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.audit.examine import audit as examine
from discreet.audit.result import Audit
from discreet.errors import InputError, NotProtectedError, some
from discreet.model.finding import Finding
from discreet.model.published import Exemption, PublishedTable
from discreet.model.table import Table

__all__ = ["publish", "unsigned"]


def publish(
    table: Table,
    *,
    exceptions: Sequence[Exemption] = (),
    audit: Audit | None = None,
) -> PublishedTable:
    """The table as it may be published, if its audit proves every demand or each failure is signed.

    ``audit`` an audit already made of this very table; by default it is made here.  ``exceptions`` cells that are
    released although the audit finds something wrong with them, each with a reason and a name; they are kept and shown.
    Published numbers are rounded here, to the table's ``published_decimals``, and nowhere before.

    Errors: NotProtectedError names what is not proved; InputError for an exception that signs nothing.
    """
    proof = examine(table) if audit is None else audit
    if proof.table is not table or not np.array_equal(proof.cell, np.flatnonzero(table.judged)):
        raise InputError(
            "publish", "this audit was made of another table", "audit the table that is to be published, after the last method"
        )
    left = unsigned(table, exceptions, proof)
    if left:
        _refuse(table, left)
    decimals = table.decimals if table.published_decimals is None else table.published_decimals
    summary = {name: count for name, count in proof.counts.items() if name != "seconds"}
    return PublishedTable.of(table, decimals=decimals, exceptions=tuple(exceptions), audit=summary)


def unsigned(table: Table, exceptions: Sequence[Exemption], proof: Audit) -> list[Finding]:
    """The findings of an audit that no exception signs; InputError for an exception that signs nothing."""
    signed = _signed(table, exceptions, proof)
    return [finding for finding in proof.findings if not _covered(table, finding, signed)]


def _signed(table: Table, exceptions: Sequence[Exemption], proof: Audit) -> set[int]:
    """The cells of the exceptions; each must be one that a finding is about."""
    about = {cell for finding in proof.findings for cell in _at_risk(table, finding)}
    signed = set()
    for exception in exceptions:
        cell = table.cell(exception.codes, table=exception.table)
        if cell not in about:
            raise InputError(
                f"exception for {table.label(cell)}", "the audit finds nothing wrong with this cell", "remove the exception"
            )
        signed.add(cell)
    return signed


def _at_risk(table: Table, finding: Finding) -> tuple[int, ...]:
    """The cells a finding would expose: its cell, or the sensitive cells of a sum."""
    if finding.together:
        return tuple(cell for cell in finding.together if table.primary[cell])
    return (finding.cell,)


def _covered(table: Table, finding: Finding, signed: set[int]) -> bool:
    return all(cell in signed for cell in _at_risk(table, finding))


def _refuse(table: Table, left: Sequence[Finding]) -> None:
    words = {
        "exact": "can be recomputed exactly",
        "too narrow": "can be estimated too closely",
        "insider": "can be recomputed by a contributor to another cell",
        "union": "belong to a published sum of hidden cells that is itself sensitive",
        "estimate": "can be estimated too closely from numbers with noise",
        "not proved": "could not be proved safe",
    }
    parts, details = [], []
    for kind, text in words.items():
        cells = dict.fromkeys(cell for finding in left if finding.kind == kind for cell in _at_risk(table, finding))
        labels = [table.label(cell) for cell in cells]
        details += [(kind, label) for label in labels]
        if labels:
            parts.append(f"{len(labels)} {'cell' if len(labels) == 1 else 'cells'} {text}: {some(labels, 3)}")
    close = [finding.kind == "estimate" for finding in left]
    mend = [] if all(close) else ["hide more cells (a suppression method with its repair)"]
    mend += ["take more noise, or a larger base of random rounding"] if any(close) else []
    fix = ", ".join([*mend, "or sign an exception with a reason for each of these cells"])
    raise NotProtectedError("publish", "; ".join(parts), fix, details=details)
