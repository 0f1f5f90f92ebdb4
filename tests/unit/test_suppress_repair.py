"""The repair: every call hides more or raises, in any order of findings, and never more than it may."""

import numpy as np
import pytest
from scipy import sparse

from discreet.audit import audit
from discreet.errors import NotProtectedError
from discreet.model.finding import Finding
from discreet.model.hierarchy import Hierarchy
from discreet.model.intruder import Intruder
from discreet.model.layout import Knowledge
from discreet.model.table import Table
from discreet.tables.rules import MinimumFrequency, PPercent
from discreet.tables.suppress import GaussSuppression, opening, repair
from discreet.tables.suppress.moves.probing import TOLERANCE
from discreet.testing import small_table

OUTSIDER = Intruder(insiders="none", unions=False)
TREE = Hierarchy.from_parents(
    [("T", "a"), ("T", "b"), ("a", "a1"), ("a", "a2"), ("a", "a3"), ("b", "b1"), ("b", "b2")], total="T"
)


class Marked:
    NAME = "marked"
    unions = False

    def sensitive(self, contributions):
        return np.zeros(len(contributions), bool)


def marked(table: Table, *cells: int, **levels) -> Table:
    return table.with_primary(Marked(), np.isin(np.arange(table.cells), cells), **levels)


def three_by_three(**levels) -> Table:
    table = small_table([[20, 50, 10], [8, 19, 22], [17, 32, 12]], intruder=OUTSIDER)
    return marked(table, table.cell(v1="B", v2="C"), **levels)


def hidden(table: Table) -> set[str]:
    return {table.label(int(cell)) for cell in np.flatnonzero(table.suppressed)}


def test_no_findings_no_change() -> None:
    table = three_by_three()
    assert repair(table, []) is table


def test_a_lone_cell_gets_the_cheapest_company() -> None:
    table = three_by_three(upper=3)
    done = repair(table, [Finding(kind="exact", cell=table.cell(v1="B", v2="C"), width=1.0)])
    assert hidden(done) == {"v1=B, v2=A", "v1=B, v2=C", "v1=C, v2=A", "v1=C, v2=C"}
    assert done.history[-1].method == "repair"
    assert done.history[-1].counts == {"secondary": 3, "findings": 1}


def test_an_exact_finding_without_numbers_asks_for_one_unit() -> None:
    table = three_by_three()
    done = repair(table, [Finding(kind="exact", cell=table.cell(v1="B", v2="C"))])
    assert not audit(done).findings


@pytest.mark.parametrize("direction", ["up", "down", "width"])
def test_more_is_hidden_until_the_interval_is_wide_enough(direction: str) -> None:
    """With the cheapest company the cell of 22 is in [5, 30]."""
    table = three_by_three()
    target = table.cell(v1="B", v2="C")
    table = repair(table, [Finding(kind="exact", cell=target)])
    need = {"up": 9.0, "down": 20.0, "width": 30.0}[direction]
    done = repair(table, [Finding(kind="too narrow", cell=target, **{direction: need})])
    proof = audit(done)
    spot = int(np.flatnonzero(proof.cell == target)[0])
    reached = {"up": proof.upper[spot] - 22, "down": 22 - proof.lower[spot], "width": proof.upper[spot] - proof.lower[spot]}
    assert reached[direction] >= need * (1 - TOLERANCE)
    assert (done.status >= table.status).all()


def test_a_width_that_no_single_direction_can_give() -> None:
    table = small_table([[5, 9], [8, 7]], intruder=Intruder(insiders="none", unions=False, prior=100))
    target = table.cell(v1="A", v2="A")
    table = marked(table, target, sliding=8.0)
    done = repair(table, audit(table).findings)
    assert not audit(done).findings


def business(seed: int, **intruder) -> Table:
    rng = np.random.default_rng(seed)
    n = rng.integers(0, 7, (5, 4))
    top = np.zeros((5, 4, 3))
    total = np.zeros((5, 4))
    for where in np.ndindex(n.shape):
        amounts = np.sort(rng.integers(1, 100, n[where]))[::-1]
        top[where][: min(3, len(amounts))] = amounts[:3]
        total[where] = amounts.sum()
    hierarchies = [TREE, Hierarchy.flat("wxyz")]
    table = small_table(total, hierarchies=hierarchies, n=n, top=top, intruder=Intruder(**intruder))
    return PPercent(p=15).apply(MinimumFrequency(n=3).apply(table))


@pytest.mark.parametrize("seed", range(8))
def test_audit_and_repair_in_turns_end_safe(seed: int) -> None:
    table = business(seed)
    rounds = 0
    while findings := audit(table).findings:
        before = int(table.suppressed.sum())
        table = repair(table, findings)
        assert table.suppressed.sum() > before
        rounds += 1
    assert rounds >= 1
    assert audit(table).counts["safe"] == table.suppressed.sum()


def until_safe(table: Table) -> Table:
    while findings := audit(table).findings:
        table = repair(table, findings)
    return table


@pytest.mark.parametrize("seed", range(4))
def test_parts_of_a_large_table_will_do(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    whole = until_safe(business(seed))
    sizes, plain = [], opening.Opener._part
    monkeypatch.setattr(opening, "_WHOLE", 0)
    monkeypatch.setattr(opening, "_ALL", (6, 20, 2**62))
    monkeypatch.setattr(opening, "_NEAR", (6, 20))
    monkeypatch.setattr(opening.Opener, "_part", lambda self, columns: sizes.append(len(columns)) or plain(self, columns))
    done = until_safe(business(seed))
    assert (done.status >= business(seed).status).all()
    assert done.cost[done.secondary].sum() <= 1.6 * whole.cost[whole.secondary].sum()
    assert min(sizes) < done.cells / 2


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_findings_does_not_matter(seed: int) -> None:
    table = GaussSuppression().apply(business(seed, insiders="none"))
    findings = list(audit(table).findings) or [Finding(kind="exact", cell=int(np.flatnonzero(table.primary)[0]))]
    findings += audit(business(seed)).findings
    one, other = repair(table, findings), repair(table, findings[::-1])
    assert (one.status == other.status).all()


def test_an_insider_is_taken_into_account() -> None:
    table = small_table([[52, 15, 62, 17], [24, 18, 31, 8]], intruder=OUTSIDER)
    owner, target = table.cell(v1="A", v2="B"), table.cell(v1="A", v2="D")
    table = GaussSuppression().apply(marked(table, owner, target))
    done = repair(table, [Finding(kind="insider", cell=target, knows=(owner,), width=1.0)])
    knowing = done.equations[:, np.flatnonzero(done.suppressed & (np.arange(done.cells) != owner))].toarray()
    others = [c for c in np.flatnonzero(done.suppressed) if c not in (owner, target)]
    assert np.linalg.matrix_rank(knowing) == np.linalg.matrix_rank(done.equations[:, others].toarray())


def test_frozen_cells_in_the_way_are_named_and_the_way_out_too() -> None:
    table = three_by_three()
    row = [table.cell(v1="B", v2=code) for code in ("A", "B", "Total")]
    table = table.replace(frozen=np.isin(np.arange(table.cells), row))
    with pytest.raises(NotProtectedError) as caught:
        repair(table, [Finding(kind="exact", cell=table.cell(v1="B", v2="C"))])
    roles = {line["cell"]: line["role"] for line in caught.value.details}
    assert roles.pop("v1=B, v2=C") == "cannot be protected"
    assert roles == {f"v1=B, v2={code}": "must be published" for code in ("A", "B", "Total")}
    named = [code for code in ("A", "B", "Total") if f"allow 'v1=B, v2={code}' to be hidden" in caught.value.fix]
    assert len(named) == 1


def test_a_cell_known_beforehand_is_named_as_of_no_help() -> None:
    """The only cell that may be hidden beside the target is a zero, which cannot go down."""
    table = small_table([0.0, 5.0], intruder=OUTSIDER)
    target, zero = table.cell(v1="B"), table.cell(v1="A")
    table = marked(table, target, upper=2.0).replace(frozen=np.arange(3) == table.cell())
    with pytest.raises(NotProtectedError, match="known beforehand") as caught:
        repair(table, [Finding(kind="too narrow", cell=target, up=2.0)])
    assert {"cell": table.label(zero), "role": "cannot move"} in caught.value.details
    assert {"cell": table.label(table.cell()), "role": "must be published", "free": True} in caught.value.details


def test_no_value_is_in_the_error() -> None:
    table = small_table([[81234567, 5234567], [7234567, 6234567]], intruder=OUTSIDER)
    table = marked(table, table.cell(v1="A", v2="A"))
    table = table.replace(frozen=~table.suppressed)
    with pytest.raises(NotProtectedError) as caught:
        repair(table, [Finding(kind="exact", cell=table.cell(v1="A", v2="A"))])
    assert "234567" not in f"{caught.value} {caught.value.details}"


def test_findings_that_nothing_changes_are_refused() -> None:
    """The audit could not prove a cell although everything is hidden: repair must not go round in circles."""
    table = small_table([[3, 4], [5, 6]], intruder=OUTSIDER)
    everything = marked(table, *range(table.cells))
    with pytest.raises(NotProtectedError, match="nothing that can be hidden in addition"):
        repair(everything, [Finding(kind="not proved", cell=0)])


def test_a_demand_met_by_the_skin_of_its_teeth_hides_more_when_not_proved() -> None:
    table = three_by_three()
    target = table.cell(v1="B", v2="C")
    table = repair(table, [Finding(kind="exact", cell=target)])
    done = repair(table, [Finding(kind="not proved", cell=target, up=8.0)])
    assert done.suppressed.sum() > table.suppressed.sum()


def test_a_sum_of_hidden_cells_gets_the_cheapest_cell_that_helps() -> None:
    intruder = Intruder(insiders="none", levels=False)
    table = MinimumFrequency(n=11).apply(small_table([17, 4, 5, 12], kind="frequency", intruder=intruder))
    together = tuple(np.flatnonzero(table.suppressed).tolist())
    done = repair(table, [Finding(kind="union", together=together, equation=0, rule="min-frequency")])
    assert hidden(done) == {"v1=B", "v1=C", "v1=D"}
    with pytest.raises(NotProtectedError, match="the sum of these hidden cells") as caught:
        repair(table.replace(frozen=~table.suppressed), [Finding(kind="union", together=together, equation=0)])
    assert {"cell": "v1=A", "role": "must be published"} in caught.value.details


def test_the_total_is_hidden_where_no_part_helps() -> None:
    """Of the parts only a zero is left, which changes no sum."""
    intruder = Intruder(insiders="none", levels=False)
    table = small_table([0, 4, 5], kind="frequency", cost=np.array([1.0, 1.0, 4.0, 5.0]), intruder=intruder)
    table = MinimumFrequency(n=11).apply(table)
    primary = table.primary & (np.arange(4) > 0)
    table = table.replace(status=np.where(primary, 2, 0).astype(np.int8))
    together = tuple(np.flatnonzero(primary).tolist())
    done = repair(table, [Finding(kind="union", together=together, equation=0)])
    assert done.suppressed[done.cell()]


def test_a_published_fact_beside_the_cells_publishes_a_sum_too() -> None:
    """B + C is published in a note of its own; hiding a part does not help, hiding the note's cell does."""
    intruder = Intruder(insiders="none", levels=False)
    table = small_table([17, 4, 5, 12], kind="frequency", intruder=intruder)
    note = Knowledge(
        matrix=sparse.csr_array(np.array([[0.0, 0, 1, 1, 0]])),
        low=np.array([9.0]),
        high=np.array([9.0]),
        while_published=np.array([4]),
        what=("B and C together",),
    )
    table = MinimumFrequency(n=11).apply(table.replace(knowledge=(note,)))
    together = tuple(np.flatnonzero(table.suppressed).tolist())
    done = repair(table, [Finding(kind="union", together=together, equation=-1)])
    assert hidden(done) == {"v1=B", "v1=C", "v1=D"}


def test_whole_numbers_ask_for_whole_steps() -> None:
    table = small_table([[3, 4, 2], [5, 6, 7]], intruder=Intruder(insiders="none", unions=False, integer=True))
    target = table.cell(v1="A", v2="A")
    table = marked(table, target, upper=1.2)
    while findings := audit(table).findings:
        table = repair(table, findings)
    proof = audit(table)
    spot = int(np.flatnonzero(proof.cell == target)[0])
    assert proof.integer_upper[spot] >= 5


def skewed(seed: int) -> Table:
    rng = np.random.default_rng(seed)
    n = rng.integers(1, 9, (8, 6))
    top, total = np.zeros((8, 6, 3)), np.zeros((8, 6))
    for where in np.ndindex(n.shape):
        amounts = np.sort(np.ceil(rng.lognormal(3, 1.5, n[where])))[::-1]
        top[where][: min(3, len(amounts))] = amounts[:3]
        total[where] = amounts.sum()
    return PPercent(p=15).apply(MinimumFrequency(n=3).apply(small_table(total, n=n, top=top)))


def test_what_is_hidden_on_the_way_is_looked_after_at_once() -> None:
    """Here a cell hidden for another comes to stand in a sensitive sum; the audit need not find that first."""
    table = GaussSuppression().apply(skewed(18))
    findings = audit(table).findings
    assert audit(repair(table, findings, ahead=False)).findings
    assert not audit(repair(table, findings)).findings
