"""Methods in order, then audit and repair until safe."""

import dataclasses
from typing import Any, ClassVar

import numpy as np
import pytest

from discreet.audit import audit, publish
from discreet.errors import NotProtectedError
from discreet.model.intruder import Intruder
from discreet.model.table import Table
from discreet.plan.protect import protect, secure
from discreet.tables.rounding import RoundConventional
from discreet.tables.rules import MinimumFrequency, PPercent
from discreet.tables.suppress import GaussSuppression
from discreet.testing import small_table

INNER = [[20, 50, 10], [8, 19, 22], [17, 32, 12]]


def a_table(**fields: Any) -> Table:
    n = np.array([[9, 9, 9], [1, 9, 9], [9, 9, 9]], float)
    return small_table(INNER, n=n, **fields)


@dataclasses.dataclass(frozen=True)
class HideRow:
    """A user's own method: no name in the catalog, no base class."""

    code: str
    calls: ClassVar[list[str]] = []

    def apply(self, table: Table, /) -> Table:
        self.calls.append(self.code)
        hide = np.zeros(table.cells, bool)
        hide[[table.cell(v1=self.code, v2=code) for code in "ABC"]] = True
        return table.with_secondary("mine", hide)


def test_protect_ends_safe() -> None:
    table = protect(a_table(), [MinimumFrequency(n=3), GaussSuppression()])
    assert table.primary.sum() == 1
    assert audit(table).safe
    assert publish(table).layouts[0].status.tolist().count("secondary") >= 3


def test_the_repair_meets_protection_levels_that_elimination_leaves_open() -> None:
    rule = MinimumFrequency(n=3, range=100)
    eliminated = GaussSuppression().apply(rule.apply(a_table()))
    proof = audit(eliminated)
    repaired = protect(a_table(), [rule, GaussSuppression()])
    assert audit(repaired).safe
    assert proof.safe or repaired.suppressed.sum() > eliminated.suppressed.sum()
    assert (repaired.status >= eliminated.status).all()


def test_a_users_own_method_works() -> None:
    HideRow.calls.clear()
    table = protect(a_table(), [MinimumFrequency(n=3), HideRow("B"), HideRow("C")])
    assert HideRow.calls == ["B", "C"]
    assert table.secondary.sum() == 5
    assert publish(table) is not None


def test_without_suppression_nothing_is_added_and_publish_decides() -> None:
    table = protect(a_table(), [MinimumFrequency(n=3)])
    assert not table.secondary.any()
    with pytest.raises(NotProtectedError, match="v1=B, v2=A"):
        publish(table)
    assert publish(protect(a_table(), [MinimumFrequency(n=1)])) is not None


def test_a_late_table_comes_back_and_is_not_published() -> None:
    table = GaussSuppression().apply(MinimumFrequency(n=3).apply(a_table()))
    late, proof = secure(table, [GaussSuppression()], time_limit=0.0)
    assert late is table
    assert not proof.safe
    with pytest.raises(NotProtectedError):
        publish(late, audit=proof)


def test_what_stands_in_the_way_is_named() -> None:
    frozen = np.ones(16, bool)
    table = a_table()
    frozen[table.cell(v1="B", v2="A")] = False
    with pytest.raises(NotProtectedError, match="v1=B, v2=A"):
        protect(table.replace(frozen=frozen), [MinimumFrequency(n=3), GaussSuppression()])


def test_progress_tells_each_step_and_no_value() -> None:
    told: list[str] = []
    protect(a_table(), [MinimumFrequency(n=3), GaussSuppression()], progress=told.append)
    assert told[:2] == ["min-frequency", "gauss-suppression"]
    assert any(text.startswith("audit of ") for text in told)


def test_the_intruder_decides_how_much_is_hidden() -> None:
    methods = [MinimumFrequency(n=3, range=25), GaussSuppression()]
    meek = protect(a_table(intruder=Intruder(levels=False, insiders="none", unions=False)), methods)
    keen = protect(a_table(intruder=Intruder(prior=30)), methods)
    assert meek.suppressed.sum() <= keen.suppressed.sum()
    assert audit(keen).safe


def test_what_was_hidden_is_repaired_before_the_rest_is_rounded() -> None:
    top = np.sort(np.random.default_rng(2).lognormal(3, 1.5, (8, 10, 4)), axis=-1)[..., ::-1].round()
    table = small_table(top.sum(axis=-1), top=top)
    after = protect(table, [PPercent(p=15), GaussSuppression(), RoundConventional(base=10)])
    assert after.suppressed.any()
    assert after.perturbed.sum() + after.suppressed.sum() == after.cells
    assert not np.isnan(publish(after).layout().value[~after.suppressed[after.layouts[0].cell]]).any()
