"""How closely numbers with noise estimate sensitive cells, against simulated noise and by hand."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from discreet.audit import audit, publish
from discreet.audit.estimates import estimate_errors, estimate_findings
from discreet.errors import NotProtectedError
from discreet.model.finding import Finding
from discreet.model.published import Exemption
from discreet.model.table import Status, Table
from discreet.plan.protect import secure
from discreet.report.verdict import audit_facts
from discreet.tables.rules import MinimumFrequency, PPercent
from discreet.tables.suppress import GaussSuppression
from discreet.testing import small_table


def with_primary(table: Table, *cells: int, up: float = 4.0, down: float = 0.0) -> Table:
    hit = np.zeros(table.cells, bool)
    hit[list(cells)] = True
    status = np.where(hit, Status.PRIMARY, table.status).astype(np.int8)
    return table.replace(status=status, upper_protection=np.where(hit, up, 0.0), lower_protection=np.where(hit, down, 0.0))


def shown(table: Table, error: Any, noise: Any = 0.0, *, every: bool = False, **bounds: Any) -> Table:
    """All cells that are not suppressed (or ``every`` one) with this noise, of this standard error."""
    numbers = np.where(table.suppressed & ~np.full(table.cells, every), np.nan, table.value + noise)
    return table.with_shown("noise", numbers, error=np.broadcast_to(error, table.cells), **bounds)


def line(kind: str = "magnitude") -> tuple[Table, int, int, int]:
    """Two cells A and B, A hidden, and their total."""
    table = small_table([10.0, 90.0], n=[10, 10], kind=kind)
    a, b, total = (table.cell(v1=code) for code in ("A", "B", "Total"))
    return table, a, b, total


def errors_of(table: Table, b: int, total: int, of_b: float, of_total: float) -> np.ndarray:
    out = np.full(table.cells, np.nan)
    out[b], out[total] = of_b, of_total
    return out


def test_a_hidden_part_by_hand() -> None:
    table, a, b, total = line("frequency")
    error = errors_of(table, b, total, 3.0, 4.0)
    assert estimate_errors(shown(with_primary(table, a), error))[a] == pytest.approx(5), "counts: independent"
    table, a, b, total = line()
    found = estimate_errors(shown(with_primary(table, a), errors_of(table, b, total, 3.0, 4.0)))
    assert found[a] == pytest.approx(np.sqrt(16 - 9)), "nothing tells how much of the noise the total and B share: all of it"
    assert np.isinf(np.delete(found, a)).all()


def test_a_hidden_total_is_the_sum_of_independent_parts() -> None:
    table = small_table([10.0, 20.0, 30.0])
    total = table.cell(v1="Total")
    assert estimate_errors(shown(with_primary(table, total), 2.0))[total] == pytest.approx(2 * np.sqrt(3))


def test_exact_numbers_are_left_to_the_intervals_and_add_no_error_beside_noise() -> None:
    table = with_primary(small_table([10.0, 20.0, 30.0], kind="frequency"), 1)
    assert np.isinf(estimate_errors(table)).all()
    part = np.where(np.arange(table.cells) == 0, table.value, np.nan)
    done = table.with_shown("noise", part, error=np.full(table.cells, 7.0))
    assert estimate_errors(done)[1] == pytest.approx(7)
    rounded = table.with_shown("rounding", part)
    assert np.isinf(estimate_errors(rounded)).all(), "no chance, no standard error"
    square = with_primary(small_table([[10.0, 20.0], [30.0, 40.0]], kind="frequency"), 0)
    apart = np.where(np.arange(square.cells) == square.cell(v1="B", v2="B"), square.value, np.nan)
    done = square.with_shown("noise", apart, error=np.full(square.cells, 7.0))
    assert np.isinf(estimate_errors(done)).all(), "the noise is in no equation of the hidden cell"


def test_few_equations_do_not_show_that_noise_is_independent() -> None:
    table = small_table([[10.0, 90.0], [30.0, 40.0]])
    hidden, gap = table.cell(v1="A", v2="A"), table.cell(v1="B")
    noise = np.where(np.arange(table.cells) == gap, np.sqrt(27), 0.0)  # as large as independent errors of 3, 3 and 3 make it
    done = shown(with_primary(table, hidden), 3.0, noise)
    assert estimate_errors(done)[hidden] == 0, "as if the noise of the parts were that of the total"


def test_two_hidden_cells_in_an_equation_are_not_estimated_from_it() -> None:
    table = small_table(np.arange(1.0, 10).reshape(3, 3) * 10, kind="frequency")
    one, beside = table.cell(v1="A", v2="A"), table.cell(v1="A", v2="B")
    alone = shown(with_primary(table, one), np.linspace(1, 2, table.cells))
    hidden = np.zeros(table.cells, bool)
    hidden[beside] = True
    both = shown(with_primary(table, one).with_secondary("hand", hidden), np.linspace(1, 2, table.cells))
    row, column = (
        [table.cell(v1="A", v2="Total"), *(table.cell(v1="A", v2=code) for code in "BC")],
        [table.cell(v1="Total", v2="A"), *(table.cell(v1=code, v2="A") for code in "BC")],
    )
    sizes = [float(np.sqrt((np.linspace(1, 2, table.cells)[cells] ** 2).sum())) for cells in (row, column)]
    assert estimate_errors(alone)[one] == pytest.approx(min(sizes))
    assert estimate_errors(both)[one] == pytest.approx(sizes[1])
    assert np.isinf(estimate_errors(both)[beside]), "secondary cells have no demand"


def test_a_sensitive_cell_shown_with_noise_is_estimated_by_its_own_number() -> None:
    table = with_primary(small_table([10.0, 20.0, 30.0], kind="frequency"), 1)
    assert estimate_errors(shown(table, 2.0, every=True))[1] == 2
    bounded = estimate_errors(shown(table, 2.0, every=True, low=table.value - 9, high=table.value + 9))[1]
    assert bounded == pytest.approx(2 * np.sqrt(3)), "its own bounds are the interval; the others still estimate it"
    other = np.full(table.cells, 0.5)
    other[1] = 9.0
    assert estimate_errors(shown(table, other, every=True))[1] == pytest.approx(0.5 * np.sqrt(3)), "the others are closer"


@pytest.mark.parametrize(("up", "down", "fails"), [(4.9, 0, False), (5.1, 0, True), (0, 5.1, True), (0, 0, False)])
def test_the_error_must_reach_the_protection_levels(up: float, down: float, fails: bool) -> None:
    table, a, b, total = line("frequency")
    done = shown(with_primary(table, a, up=up, down=down), errors_of(table, b, total, 3.0, 4.0))
    assert estimate_findings(done) == (int(up + down > 0), [Finding(kind="estimate", cell=a)] * fails)


# ---------------------------------------------------------------- noise of totals and parts, simulated


def a_table() -> tuple[Table, np.ndarray]:
    """A table with skew values, and standard errors in proportion to them."""
    chance = np.random.default_rng(3)
    table = small_table(np.round(np.exp(chance.normal(5, 1, (12, 15)))))
    return table, chance.uniform(0.02, 0.05, table.cells) * table.value


def inner_of(table: Table) -> np.ndarray:
    """Each cell as a sum of inner cells, shape (cells, inner)."""
    (layout,) = table.layouts
    member = np.ones((table.cells, 1))
    for v, tree in enumerate(layout.hierarchies):
        below = np.zeros((len(tree.codes), len(tree.leaves)))
        column = {int(leaf): i for i, leaf in enumerate(tree.leaves)}
        for leaf, node in zip(*tree.closure(), strict=True):
            below[node, column[int(leaf)]] = 1
        codes = np.zeros(table.cells, int)
        codes[layout.cell] = layout.codes[:, v]
        member = np.einsum("ci,cj->cij", member, below[codes]).reshape(table.cells, -1)
    return member


def realised(table: Table, cell: int, noise: np.ndarray) -> np.ndarray:
    """The least mean square error of the estimates of a cell from one equation, over draws of the noise."""
    equations = table.equations.toarray()
    found = [row for row in equations if row[cell]]
    return np.sqrt(min(((noise @ (row * (np.arange(len(row)) != cell))) ** 2).mean() for row in found))


@pytest.mark.parametrize("parts", [True, False], ids=["noise of contributors", "noise of cells"])
def test_predicted_errors_are_those_of_simulated_noise(parts: bool) -> None:
    table, sd = a_table()
    chance = np.random.default_rng(11)
    member = inner_of(table)
    inner = np.flatnonzero(member.sum(axis=1) == 1)
    draws = chance.normal(0, 1, (4000, len(inner) if parts else table.cells))
    if parts:
        own = member[:, member[inner].argmax(axis=1)] * sd[inner]
        noise, error = draws @ own.T, np.sqrt((own**2).sum(axis=1))
    else:
        noise, error = draws * sd, sd
    target = int(inner[7])
    primary = with_primary(table, target)
    predicted = np.array([estimate_errors(shown(primary, error, one))[target] for one in noise[:20]])
    assert np.median(predicted) == pytest.approx(realised(table, target, noise), rel=0.1)
    if parts:
        assert error[target] == pytest.approx(realised(table, target, noise), rel=0.1), "its own noise, as if it were shown"


# ---------------------------------------------------------------- in the audit


def close() -> Table:
    table, a, b, total = line()
    return shown(with_primary(table, a, up=9.0), errors_of(table, b, total, 3.0, 4.0))


def test_the_audit_tells_close_estimates() -> None:
    table = close()
    result = audit(table)
    assert result.counts["estimates checked"] == result.counts["estimates failed"] == 1
    assert [finding.kind for finding in result.findings] == ["estimate"]
    with pytest.raises(NotProtectedError, match=r"1 cell can be estimated too closely from numbers with noise: 'v1=A'"):
        publish(table)
    words = audit_facts(result)
    assert words["findings"]["first"] == [
        {"kind": "estimate", "what": "v1=A can be estimated more closely than its rule allows, from numbers with noise."}
    ]
    asked = words["questions"][-1]
    assert (asked["asked"], asked["held"], asked["failed"]) == (1, 0, 1)
    signed = Exemption(codes={"v1": "A"}, reason="agreed", signed_by="steward")
    assert publish(table, exceptions=[signed]).exceptions == (signed,)


def test_enough_noise_passes() -> None:
    table, a, b, total = line()
    result = audit(shown(with_primary(table, a, up=9.0), errors_of(table, b, total, 3.0, 40.0)))
    assert result.safe
    assert result.counts["estimates checked"] == 1
    assert result.counts["estimates failed"] == 0


def test_without_noise_nothing_is_asked() -> None:
    result = audit(small_table([[1.0, 2.0], [3.0, 4.0]]))
    assert result.counts["estimates checked"] == 0
    assert not any("noise" in each["question"] for each in audit_facts(result)["questions"])


def test_repair_leaves_close_estimates_to_publish() -> None:
    table, proof = secure(close(), (GaussSuppression(),))
    assert [finding.kind for finding in proof.findings] == ["estimate"]
    assert table.suppressed.sum() == 1


# ---------------------------------------------------------------- more in common than the average, and sums


def giants(common: bool) -> tuple[Table, np.ndarray, int]:
    """Ordinary rows whose noise has little in common with that of their totals, and one with a giant in both."""
    chance = np.random.default_rng(8)
    table = small_table(chance.uniform(80, 120, (30, 3)).round())
    hidden, beside, total = table.cell(v1="A", v2="A"), table.cell(v1="A", v2="B"), table.cell(v1="A")
    top = np.ones((table.cells, 2))
    key = chance.integers(1, 2**32, top.shape)
    top[[beside, total], 0] = 100
    if common:
        key[beside] = key[total]
    held = dataclasses.replace(table.contributions, top=top, top_key=key)
    noise = chance.normal(0, 5, table.cells)
    noise[[beside, total]] = 20
    noise[table.cell(v1="A", v2="C")] = 0.5
    return with_primary(table.replace(contributions=held), hidden, up=9.0), noise, hidden


def test_noise_that_large_contributors_share_cancels_out_in_their_equation() -> None:
    """Few equations have it in common, so the average does not show it."""
    errors = []
    for common in (True, False):
        table, noise, hidden = giants(common)
        error = np.where(np.abs(noise) == 20, 20.0, np.where(noise == 0.5, 0.5, 5.0))
        column = table.cell(v2="A")
        error[column] = noise[column] = 500.0
        errors.append(estimate_errors(shown(table, error, noise))[hidden])
    assert errors[0] == pytest.approx(0.5), "what is left: the third cell's own noise"
    assert errors[1] > 9


def test_noise_that_large_contributors_might_share_but_do_not_is_no_finding() -> None:
    """The estimate is off by as much as independent noise makes it."""
    table, noise, hidden = giants(common=True)
    noise[table.cell(v1="A", v2="B")] = -20
    error = np.where(np.abs(noise) == 20, 20.0, np.where(noise == 0.5, 0.5, 5.0))
    column = table.cell(v2="A")
    error[column] = noise[column] = 500.0
    assert estimate_errors(shown(table, error, noise))[hidden] > 20


def test_a_sensitive_sum_of_hidden_cells_is_estimated_too() -> None:
    """Two cells of one contributor each: either takes its own part off the sum."""
    for n, close_by in ((1, True), (40, False)):
        table = small_table([1000.0, 2000.0, 900.0], n=[n, n, 40], top=[[1000, 0], [2000, 0], [30, 30]])
        table = MinimumFrequency(n=3).apply(table)
        table = PPercent(p=20).apply(table) if n == 1 else with_primary(table, 1, 2, up=400.0)
        errors = estimate_errors(shown(table, 3.0))
        assert np.isfinite(errors[[1, 2]]).all() == close_by
        assert ("estimate" in {finding.kind for finding in audit(shown(table, 3.0)).findings}) == close_by


def test_half_the_sliding_level_is_asked_for() -> None:
    table, a, b, total = line("frequency")
    table = with_primary(table, a, up=0.0)
    for sliding, fails in ((9.0, False), (11.0, True)):
        wide = table.replace(sliding_protection=np.where(np.arange(table.cells) == a, sliding, 0.0))
        assert bool(estimate_findings(shown(wide, errors_of(table, b, total, 3.0, 4.0)))[1]) == fails
