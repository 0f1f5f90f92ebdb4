"""Worked examples: the oracles of the specification and situations that people met, with the right answer."""

import numpy as np
import pytest
from scipy import sparse

from discreet.audit import audit
from discreet.errors import NotProtectedError
from discreet.model.contributions import Contributions
from discreet.model.equations import equations_of
from discreet.model.hierarchy import Hierarchy
from discreet.model.intruder import Intruder
from discreet.model.layout import Knowledge, Layout
from discreet.model.table import Table
from discreet.tables.rules import Dominance, MinimumFrequency
from discreet.tables.suppress import ExactSuppression, GaussSuppression, repair
from discreet.testing import small_table

OUTSIDER = Intruder(insiders="none", unions=False)
METHODS = [ExactSuppression(), GaussSuppression()]


class Marked:
    NAME = "marked"
    unions = False

    def sensitive(self, contributions):
        return np.zeros(len(contributions), bool)


def marked(table: Table, *codes: dict[str, str], **levels) -> Table:
    sensitive = np.zeros(table.cells, bool)
    sensitive[[table.cell(code) for code in codes]] = True
    return table.with_primary(Marked(), sensitive, **levels)


def one_way(values, **fields) -> Table:
    return small_table(values, variables=["v"], **fields)


def hidden(table: Table) -> set[str]:
    return {table.label(int(cell)) for cell in np.flatnonzero(table.suppressed)}


def secured(table: Table) -> Table:
    """Audit and repair in turns, as the plan does."""
    while findings := audit(table).findings:
        table = repair(table, findings)
    return table


def interval(table: Table, **codes: str) -> tuple[float, float]:
    proof = audit(table)
    spot = int(np.flatnonzero(proof.cell == table.cell(codes))[0])
    return float(proof.lower[spot]), float(proof.upper[spot])


# ---------------------------------------------------------------- specification, B.5


def three_by_three(**levels) -> Table:
    table = small_table([[20, 50, 10], [8, 19, 22], [17, 32, 12]], variables=["r", "c"], intruder=OUTSIDER)
    return marked(table, {"r": "B", "c": "C"}, **levels)


@pytest.mark.parametrize("levels", [(3, 3, 0), (8, 8, 0), (8, 5, 20)])
def test_optimum_of_cost_59(levels: tuple[float, float, float]) -> None:
    upper, lower, sliding = levels
    done = ExactSuppression().apply(three_by_three(upper=upper, lower=lower, sliding=sliding))
    assert done.cost[done.suppressed].sum() == 59
    assert hidden(done) == {"r=B, c=A", "r=B, c=C", "r=C, c=A", "r=C, c=C"}


def test_optimum_of_cost_85() -> None:
    done = ExactSuppression().apply(three_by_three(upper=11, lower=10))
    assert done.cost[done.suppressed].sum() == 85
    assert hidden(done) == {"r=B, c=B", "r=B, c=C", "r=C, c=B", "r=C, c=C"}
    assert interval(done, r="B", c="C") == pytest.approx((0, 34))


def singleton_table(insiders: str) -> Table:
    table = small_table(
        [[52, 15, 62, 17], [24, 18, 31, 8]],
        variables=["r", "c"],
        n=[[5, 1, 5, 5], [5, 5, 5, 5]],
        intruder=Intruder(insiders=insiders, unions=False),
    )
    return marked(table, {"r": "A", "c": "B"}, {"r": "A", "c": "D"})


def test_a_singleton_sees_through_the_plain_optimum() -> None:
    done = ExactSuppression().apply(singleton_table("none"))
    assert hidden(done) == {"r=A, c=B", "r=A, c=D", "r=B, c=B", "r=B, c=D"}
    assert done.cost[done.suppressed].sum() == 58
    found = audit(done.with_intruder(Intruder(insiders="singletons", unions=False))).findings
    assert [(f.kind, f.cell, f.knows) for f in found] == [("insider", done.cell(r="A", c="D"), (done.cell(r="A", c="B"),))]


def test_with_singletons_six_cells_of_cost_134() -> None:
    done = ExactSuppression().apply(singleton_table("singletons"))
    assert done.suppressed.sum() == 6
    assert done.cost[done.suppressed].sum() == 134
    assert not audit(done).findings


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.NAME)
def test_every_method_ends_safe_with_singletons(method) -> None:
    done = secured(method.apply(singleton_table("singletons")))
    assert audit(done).counts["safe"] == done.suppressed.sum()


# ---------------------------------------------------------------- situations


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.NAME)
def test_a_zero_is_no_partner_of_a_zero(method) -> None:
    """0 = 0 + 0 + 0: hiding another zero leaves both in [0, 0]; the total must go."""
    table = marked(one_way([0, 0, 0], kind="frequency", intruder=OUTSIDER), {"v": "A"})
    done = secured(method.apply(table))
    assert {"v=A", "v=Total"} <= hidden(done)
    low, high = interval(done, v="A")
    assert high - low >= 1
    if method.NAME == "exact-suppression":
        assert hidden(done) == {"v=A", "v=Total"}


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.NAME)
def test_a_positive_partner_is_taken_before_a_zero(method) -> None:
    """18 = 11 + 7 + 0 + 0 with the third sensitive: the 7 protects it, the other zero does not."""
    table = marked(one_way([11, 7, 0, 0], kind="frequency", intruder=OUTSIDER), {"v": "C"})
    done = method.apply(table)
    assert hidden(done) == {"v=B", "v=C"}
    assert interval(done, v="C") == pytest.approx((0, 7))


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.NAME)
def test_known_nonempty_ones_need_a_third_cell(method) -> None:
    table = marked(one_way([9, 5, 1, 1], kind="frequency", intruder=OUTSIDER), {"v": "C"}, {"v": "D"})
    assert hidden(secured(method.apply(table))) == {"v=C", "v=D"}
    assert interval(method.apply(table), v="C") == pytest.approx((0, 2))
    knowing = table.with_intruder(Intruder(insiders="none", unions=False, nonempty=True))
    done = secured(method.apply(knowing))
    assert hidden(done) == {"v=B", "v=C", "v=D"}


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.NAME)
@pytest.mark.parametrize("singletons", [2, 3, 4])
def test_singletons_alone_in_an_equation(method, singletons: int) -> None:
    """Two firms alone: each subtracts itself.  With three or more nobody can, and nothing more is hidden."""
    values = [*[100, 50, 30, 20][:singletons], 350]
    table = one_way(values, n=[1] * singletons + [9], intruder=Intruder(insiders="singletons", unions=False))
    table = marked(table, *({"v": "ABCD"[i]} for i in range(singletons)))
    done = secured(method.apply(table))
    assert done.secondary.sum() == (1 if singletons == 2 else 0)
    if singletons == 2:
        assert {"v=A", "v=B"} < hidden(done)
        assert hidden(done) & {"v=C", "v=Total"}


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.NAME)
def test_the_sum_of_hidden_cells_fails_dominance(method) -> None:
    """{B05, B06, B07} and {.., B09} fail (1,80); only with B08 the hidden sum passes, and B08 alone is enough."""
    firms = [[900], [40, 10], [30, 20], [300, 200, 100], [30, 25, 25, 20]]
    top = np.array([[*firm, 0, 0][:2] for firm in firms])
    table = one_way(
        [sum(firm) for firm in firms],
        n=[len(firm) for firm in firms],
        top=top,
        hierarchies=[Hierarchy.flat(["B05", "B06", "B07", "B08", "B09"])],
        intruder=Intruder(insiders="none"),
    )
    table = marked(Dominance(n=1, k=80).apply(table), {"v": "B06"}, {"v": "B07"})
    done = secured(method.apply(table))
    assert hidden(done) == {"v=B05", "v=B06", "v=B07", "v=B08"}


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.NAME)
def test_the_sum_of_hidden_counts_stays_below_the_threshold(method) -> None:
    counts = one_way([17, 4, 5], kind="frequency", intruder=Intruder(insiders="none", levels=False))
    table = MinimumFrequency(n=11).apply(counts)
    assert hidden(secured(method.apply(table))) == {"v=A", "v=B", "v=C"}


def linked_pair() -> Table:
    """Cells a to e, p1 and p2 are grouped as g1 + g2 in one table and as h1 + h2 in another."""
    groupings = [{"g1": ["a", "b", "c", "p1"], "g2": ["d", "e", "p2"]}, {"h1": ["a", "b", "p1"], "h2": ["c", "d", "e", "p2"]}]
    leaves = ["a", "b", "c", "d", "e", "p1", "p2"]
    tree = Hierarchy.from_parents([("Total", leaf) for leaf in leaves], total="Total", groupings=groupings)
    table = one_way([2, 6, 3, 4, 7, 20, 15], hierarchies=[tree], intruder=OUTSIDER)
    return marked(table, *({"v": leaf} for leaf in "abcde"))


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.NAME)
def test_two_tables_each_safe_but_not_the_pair(method) -> None:
    table = linked_pair()
    assert [f.cell for f in audit(table).findings] == [table.cell(v="c")]
    done = secured(method.apply(table))
    assert hidden(done) & {"v=g1", "v=h1"}
    added = {label for label in hidden(done) if label[2:] not in "abcde"}
    assert added in ({"v=g1", "v=g2"}, {"v=h1", "v=h2"})
    assert interval(done, v="c") == pytest.approx((0, 14 if "v=g1" in added else 11))


def test_hiding_the_other_pair_of_subtotals_gives_another_interval() -> None:
    table = marked(linked_pair(), {"v": "g1"}, {"v": "g2"})
    assert not audit(table).findings
    assert interval(table, v="c") == pytest.approx((0, 14))


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.NAME)
def test_forced_cells_in_the_way_are_named_at_once(method) -> None:
    """10 = 7 + 3 with 3 sensitive and both others forced."""
    table = one_way([7, 3])
    table = table.replace(frozen=np.isin(np.arange(3), [table.cell(v="A"), table.cell(v="Total")]))
    with pytest.raises(NotProtectedError) as caught:
        method.apply(marked(table, {"v": "B"}))
    roles = {line["cell"]: line["role"] for line in caught.value.details}
    assert roles == {"v=B": "cannot be protected", "v=A": "must be published", "v=Total": "must be published"}
    assert "'v=B'" in caught.value.problem
    assert "to be hidden" in caught.value.fix


def test_the_cheap_cell_of_last_year_is_chosen_again() -> None:
    table = marked(small_table([[9, 8, 7], [9, 9, 9]], variables=["r", "c"], intruder=OUTSIDER), {"r": "A", "c": "A"})
    cost = table.cost.copy()
    cost[[table.cell(r="A", c="C"), table.cell(r="B", c="C"), table.cell(r="B", c="A")]] = 1
    done = ExactSuppression().apply(table.replace(cost=cost))
    assert hidden(done) == {"r=A, c=A", "r=A, c=C", "r=B, c=A", "r=B, c=C"}


def test_a_fact_published_beside_the_cells_counts_for_the_exact_method() -> None:
    """Beside a hidden B, A is uncertain; once it is published that A is 2 below B, a third cell must go."""
    tree = Hierarchy.flat(["A", "B", "C", "D"])
    codes = np.arange(5, dtype=np.int32)[:, None]
    values = np.array([40.0, 5, 7, 12, 16])
    layout = Layout(name="t", variables=("v",), hierarchies=(tree,), codes=codes, cell=np.arange(5))
    contributions = Contributions.of(np.full(5, 9.0), values)
    table = Table.of((layout,), values, contributions, equations_of((tree,), codes), intruder=OUTSIDER)
    plain = ExactSuppression().apply(marked(table, {"v": "A"}))
    assert hidden(plain) == {"v=A", "v=B"}
    row = sparse.csr_array(np.array([[0.0, 1, -1, 0, 0]]))
    note = Knowledge(
        matrix=row, low=np.array([-2.0]), high=np.array([-2.0]), while_published=np.array([-1]), what=("A is 2 below B",)
    )
    told = ExactSuppression().apply(marked(table.replace(knowledge=(note,)), {"v": "A"}))
    assert hidden(told) == {"v=A", "v=B", "v=C"}
    gauss = GaussSuppression().apply(marked(table.replace(knowledge=(note,)), {"v": "A"}))
    assert hidden(gauss) == {"v=A", "v=B", "v=C"}
