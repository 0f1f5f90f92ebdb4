"""Cells moved together by one program: the audit says the same as with a program for each, also where the solver lies."""

import numpy as np
import pytest

from discreet.audit import Audit, audit, insiders, intervals
from discreet.model.intruder import Intruder
from discreet.model.table import Table
from discreet.solve.highs import WarmProgram
from discreet.solve.problem import Outcome
from discreet.tables.rules import MinimumFrequency
from discreet.tables.suppress import GaussSuppression
from discreet.testing import small_table


def a_table(seed: int, size: int, *, mended: bool = False, **intruder) -> Table:
    rng = np.random.default_rng(seed)
    n = rng.integers(1, 7, (size, size))
    table = small_table(rng.integers(0, 60, n.shape) + n, n=n, intruder=Intruder(**{"unions": False} | intruder))
    table = MinimumFrequency(n=3, range=20).apply(table)
    if mended:
        return GaussSuppression().apply(table)
    return table.with_secondary("by chance", rng.random(table.cells) < 0.3)


def together(monkeypatch: pytest.MonkeyPatch, least: float) -> None:
    monkeypatch.setattr(insiders, "_FEW", least)
    monkeypatch.setattr(intervals, "FEW", least)


def told(proof: Audit) -> tuple:
    pairs = {(finding.kind, finding.cell, finding.knows) for finding in proof.findings}
    return pairs, proof.verdict.tolist(), proof.counts["insider pairs checked"]


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("insider", ["singletons", "pairs"])
def test_the_same_as_one_by_one(insider: str, whole: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    fewer = 0
    for seed in range(6):
        table = a_table(seed, 5 if whole else 8, mended=seed % 2 == 0, insiders=insider, integer=whole)
        together(monkeypatch, 1e9)
        alone = audit(table)
        together(monkeypatch, 1)
        one = audit(table)
        assert told(one) == told(alone)
        assert one.lower == pytest.approx(alone.lower, abs=1e-6)
        assert one.upper == pytest.approx(alone.upper, abs=1e-6)
        fewer += alone.counts["programs solved"] - one.counts["programs solved"]
    assert whole or fewer > 0


def test_a_solver_that_lies_is_not_believed_here_either(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cell moves by 100, and no equation holds."""
    table = a_table(1, 8, mended=True)
    together(monkeypatch, 1)

    def lie(self: WarmProgram, **limits: object) -> Outcome:
        return Outcome(status="optimal", objective=100.0, x=np.full(self.columns, 100.0))

    monkeypatch.setattr(WarmProgram, "solve", lie)
    assert not (audit(table).verdict == "safe").any()
