"""Hidden cells beside rounded numbers: what a sum known nearly tells, and what contributors know nearly."""

import numpy as np
import pytest

from discreet.audit import audit
from discreet.model.intruder import Intruder
from discreet.model.table import Table
from discreet.tables.rounding import RoundConventional
from discreet.tables.rules import MinimumFrequency, PPercent
from discreet.testing import small_table


def square(**intruder: object) -> Table:
    """Four cells of a single contributor each in a square, all hidden; each row and column shows the sum of two of them."""
    value = np.array([[1234567.0, 2345678, 5e6], [3e6, 4e6, 6e6], [5e6, 3e6, 7e6]])
    alone = np.array([[True, True, False], [True, True, False], [False] * 3])
    top = np.stack([np.where(alone, value, value / 30), *[np.where(alone, 0, value / 30)] * 2], axis=-1)
    table = small_table(value, n=np.where(alone, 1, 30), top=top, intruder=Intruder(**intruder))  # type: ignore[arg-type]
    return PPercent(p=10).apply(MinimumFrequency(n=3).apply(table))


@pytest.mark.parametrize(("base", "published"), [(None, True), (10, True), (1e5, True), (1e7, False)])
def test_a_sum_that_is_known_nearly_is_judged_like_one_that_is_published(base: float | None, published: bool) -> None:
    table = square(insiders="none")
    proof = audit(table if base is None else RoundConventional(base=base).apply(table))
    assert proof.counts["unions failed"] == (4 if published else 0)
    assert proof.safe == (not published)


@pytest.mark.parametrize("base", [10, 1000])
def test_a_contributor_must_not_learn_another_cell_nearly_from_rounded_totals(base: float) -> None:
    """It knows its own cell, and so the other one of its row to within the base."""
    proof = audit(RoundConventional(base=base).apply(square(unions=False)))
    assert proof.counts["insider pairs failed"] == 12
    assert {finding.kind for finding in proof.findings} == {"insider"}
    least = {finding.cell: finding.width for finding in proof.findings}
    up, down, _ = proof.table.needs()
    assert all(width == up[cell] + down[cell] > base for cell, width in least.items())
    assert audit(RoundConventional(base=1e7).apply(square(unions=False))).safe
