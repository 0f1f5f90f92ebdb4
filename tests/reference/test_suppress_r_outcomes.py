"""Stored outcomes of GaussSuppression 1.2.3: same primaries, no more secondaries, and nothing follows from the published."""

from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from discreet.model.table import Table
from discreet.testing import small_table

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def outcomes(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The comparison of benchmarks/peers, which is not installed."""
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.peers import r_outcomes

    return r_outcomes


CASES = (
    *("z1_default", "z2_default", "z2_noprotectzeros", "z2_singleton_none", "z2_singleton_subSpace", "z2_singleton_subSum"),
    *("z2_singleton_anySum", "z3_maxN5", "df_default", "df_main_effects_maxN10", "df_secondaryZeros", "df_nosingleton"),
    *("df_singleton", "zeros_nosing", "zeros_anySum", "zeros_secZ_nosing", "zeros_secZ", "ex1_small_age_geo", "ex1_formula"),
    *("linked_global", "mag1_dom80", "mag1_dom_contr", "mag1_dom_contr_formula", "mag1_pp10", "mag1_pp10_intervals"),
    *("mag1_few1", "mag1_few2_contr", "z2micro_dom_sub2Sum", "z2micro_few_numFFF", "z2micro_few_numFTF"),
    *("z2micro_few_numFTT", "z2micro_few_numttHTT", "z2micro_few_numTTTTT"),
)


def test_every_case_is_compared(outcomes: ModuleType) -> None:
    assert tuple(case.name for case in outcomes.CASES) == CASES


@pytest.mark.parametrize("name", CASES)
def test_same_primaries_no_more_secondaries_and_clean_in_full(name: str, shared: Path, outcomes: ModuleType) -> None:
    oracles = shared / "oracles"
    index = pd.read_csv(oracles / "r_outcomes" / "INDEX_gauss.csv").set_index("file").loc[f"{name}.csv"]
    (case,) = (one for one in outcomes.CASES if one.name == name)
    found = outcomes.find(case, oracles)
    lines, primary, secondary = outcomes.stored(case, oracles)
    assert (lines, len(primary), secondary) == (index.cells, index.primary, index.secondary)
    assert found.lines == lines
    assert found.primary == primary
    assert found.secondary <= secondary
    assert not determined(found.alone)
    assert found.safe_in_full


def determined(table: Table) -> list[int]:
    """Suppressed cells that are linear combinations of published ones: no direction of freedom moves them."""
    hidden = np.flatnonzero(table.unknown)
    _, singular, right = np.linalg.svd(table.equations[:, hidden].toarray())
    rank = int((singular > 1e-9).sum())
    still = hidden[np.abs(right[rank:]).max(axis=0, initial=0.0) < 1e-9]
    return still[table.suppressed[still]].tolist()


def test_the_check_sees_a_lone_hidden_cell() -> None:
    table = small_table([[3, 4], [5, 6]])
    status = np.where(np.arange(table.cells) == table.cell(v1="A", v2="A"), 2, 0).astype(np.int8)
    assert determined(table.replace(status=status)) == [table.cell(v1="A", v2="A")]
