"""What threshold rules tell beside perturbed counts, against every table that agrees with a release."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from discreet.audit import audit
from discreet.audit.rounding import rounding_audit
from discreet.model.table import Table
from discreet.tables.rounding import RoundConventional
from discreet.tables.rules import APriori, MinimumFrequency
from discreet.testing import small_table


def counts(values: Any) -> Table:
    return small_table(np.asarray(values, float), kind="frequency")


def verdicts(table: Table) -> list[str]:
    proof = audit(table)
    return [str(proof.verdict[proof.cell == cell][0]) for cell in range(table.cells)]


def test_a_cell_key_count_below_the_threshold_tells_the_least_that_is_shown() -> None:
    """6 shown as 1 where a count changes by 5 at most, and counts below 6 are hidden: it can be nothing else."""
    table = MinimumFrequency(n=6).apply(counts([6, 9, 20]))
    shown = np.array([35.0, 1.0, 9.0, 20.0])
    done = table.with_shown("cell-key", shown, low=np.maximum(shown - 5, 1), high=shown + 5)
    assert verdicts(done)[1:] == ["exact", "safe", "safe"]
    plain = counts([6, 9, 20]).with_shown("cell-key", shown, low=np.maximum(shown - 5, 1), high=shown + 5)
    assert verdicts(plain)[1:] == ["safe"] * 3, "without the rule it may be 1 to 6"


def test_a_cell_that_is_the_only_one_hidden_is_known_to_be_small() -> None:
    """Counts of 1 hidden, and nothing else: everybody knows what each hidden cell holds."""
    table = counts([1, 9, 20])
    for n, word in ((2, "exact"), (3, "safe")):
        assert verdicts(RoundConventional(base=5).apply(MinimumFrequency(n=n).apply(table)))[1] == word
    hidden = np.arange(table.cells) == 2
    beside = MinimumFrequency(n=2).apply(table).with_secondary("by hand", hidden)
    assert verdicts(RoundConventional(base=5).apply(beside))[1] == "safe", "it may be one that is hidden for another"
    listed = APriori(entries=({"codes": {"v1": "B"}, "status": "unsafe"},)).apply(MinimumFrequency(n=2).apply(table))
    assert verdicts(RoundConventional(base=5).apply(listed))[1] == "safe", "another rule may have hidden it"


def test_safe_cells_and_shown_sensitive_ones_are_no_evidence() -> None:
    table = counts([1, 9, 20])
    shown = RoundConventional(base=5, sensitive="show").apply(MinimumFrequency(n=2).apply(table))
    assert verdicts(shown)[1] == "safe"
    safe = APriori(entries=({"codes": {"v1": "A"}, "status": "safe"},)).apply(table)
    assert verdicts(RoundConventional(base=5).apply(MinimumFrequency(n=4).apply(safe)))[1] == "safe"


def readings(table: Table, n: int) -> list[tuple[int, ...]]:
    """Every table of three cells and their total that agrees with what is shown and with the rule."""
    low, high = table.bounds()
    allowed = []
    for cell in range(4):
        if table.suppressed[cell]:
            allowed.append(range(1, n))
            continue
        ends = range(int(low[cell]), int(high[cell]) + 1)
        allowed.append([value for value in ends if value == 0 or value >= n])
    return [one for one in product(*allowed) if one[0] == sum(one[1:])]


@pytest.mark.parametrize("seed", range(25))
def test_every_verdict_is_that_of_all_tables_that_agree(seed: int) -> None:
    """Also where a shown 0 stands for 0 or for a count from the threshold on, and for none between."""
    chance = np.random.default_rng(seed)
    n, change = int(chance.integers(2, 6)), int(chance.integers(2, 7))
    table = MinimumFrequency(n=n).apply(counts(chance.integers(0, 9, 3)))
    low = np.maximum(table.value - chance.integers(0, change, 4), 0)
    high = table.value + chance.integers(0, change, 4)
    done = table.with_shown("by hand", np.where(table.suppressed, np.nan, high), low=low, high=high)
    all_tables = np.array(readings(done, n))
    proof, rounded = audit(done), rounding_audit(done)
    for cell, word in zip(proof.cell, proof.verdict, strict=True):
        wide = np.ptp(all_tables[:, cell]) >= 1
        assert (word == "safe") == wide
    for place, cell in enumerate(rounded.cell):
        assert rounded.attained_low[place] == all_tables[:, cell].min()
        assert rounded.attained_high[place] == all_tables[:, cell].max()
    assert rounded.proved.all()


def test_gaps_do_not_take_a_program_for_each_cell_or_contributor() -> None:
    table = counts(np.random.default_rng(1).negative_binomial(0.7, 0.05, (20, 20)))
    table = RoundConventional(base=10).apply(MinimumFrequency(n=3).apply(table))
    proof = audit(table)
    assert proof.safe
    assert ((table.value == 0) & table.perturbed).sum() > 30
    assert proof.counts["insider pairs checked"] > 1000
    assert proof.counts["programs solved"] < 200
