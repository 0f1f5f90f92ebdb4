"""What the user declares of single cells."""

from typing import Any

import numpy as np
import pytest

from discreet.errors import InputError, ParameterError
from discreet.method import build
from discreet.model.equations import merged
from discreet.model.hierarchy import Hierarchy
from discreet.model.layout import Layout
from discreet.model.table import Status, Table
from discreet.tables.rules import APriori, MinimumFrequency
from discreet.testing import small_table

TREE = Hierarchy.from_parents([("Total", "N"), ("Total", "S"), ("N", "N1"), ("N", "N2")])


def table(**given: Any) -> Table:
    """Regions N (N1, N2) and S by activities A and B; 10 contributors each but for S × B with 2."""
    flat = Hierarchy.flat(["A", "B"])
    n = [[10, 10], [10, 10], [10, 2]]
    return small_table([[50, 60], [70, 80], [90, 15]], variables=["region", "nace"], hierarchies=[TREE, flat], n=n, **given)


def declared(*entries: dict[str, Any], to: Table | None = None) -> Table:
    return APriori(entries=entries).apply(table() if to is None else to)


def test_safe_cells_are_passed_over_by_the_rules() -> None:
    sensitive = {"region": "S", "nace": "B"}
    plain = MinimumFrequency(n=3).apply(table())
    safe = MinimumFrequency(n=3).apply(declared({"codes": sensitive, "status": "safe"}))
    assert plain.primary[plain.cell(sensitive)]
    assert not safe.primary.any()
    assert np.flatnonzero(safe.exempt).tolist() == [safe.cell(sensitive)]


def test_unsafe_cells_are_sensitive_with_a_fifth_of_their_value() -> None:
    marked = declared({"codes": {"region": "S", "nace": "A"}, "status": "unsafe"})
    cell = marked.cell(region="S", nace="A")
    assert np.flatnonzero(marked.primary).tolist() == [cell]
    assert marked.upper_protection[cell] == marked.lower_protection[cell] == pytest.approx(18)
    assert [rule.NAME for rule in marked.rules] == ["a-priori"]
    marked = declared({"codes": {"region": "S", "nace": "A"}, "status": "unsafe", "range": 2.5})
    assert marked.upper_protection[cell] == pytest.approx(2.25)


def test_protected_and_secondary_cells() -> None:
    marked = declared(
        {"codes": {"region": "N"}, "status": "protected"}, {"codes": {"region": "N1", "nace": "A"}, "status": "secondary"}
    )
    assert np.flatnonzero(marked.frozen).tolist() == [marked.cell(region="N")]
    assert np.flatnonzero(marked.secondary).tolist() == [marked.cell(region="N1", nace="A")]
    assert marked.status[marked.cell()] == Status.OPEN


def test_numbers_are_taken_over() -> None:
    codes = {"region": "N1", "nace": "A"}
    marked = declared({"codes": codes, "cost": 0.5, "lower": 10, "upper": 99, "upper_protection": 7, "sliding_protection": 9})
    cell = marked.cell(codes)
    assert (marked.cost[cell], marked.lower[cell], marked.upper[cell]) == (0.5, 10, 99)
    assert (marked.upper_protection[cell], marked.lower_protection[cell], marked.sliding_protection[cell]) == (7, 0, 9)
    rest = np.arange(marked.cells) != cell
    np.testing.assert_array_equal(marked.cost[rest], table().cost[rest])
    assert np.isnan(marked.lower[rest]).all()
    assert not marked.suppressed.any()


def test_given_levels_replace_the_default_share_and_rules_can_only_raise_them() -> None:
    codes = {"region": "S", "nace": "B"}
    marked = declared({"codes": codes, "status": "unsafe", "upper_protection": 1, "lower_protection": 2})
    cell = marked.cell(codes)
    assert (marked.upper_protection[cell], marked.lower_protection[cell]) == (1, 2)
    marked = MinimumFrequency(n=3, range=10).apply(marked)
    assert (marked.upper_protection[cell], marked.lower_protection[cell]) == (1.5, 2)


def test_a_variable_left_out_is_its_total_and_so_is_the_totals_code() -> None:
    for codes in ({}, {"region": "Total"}, {"region": "Total", "nace": "Total"}):
        marked = declared({"codes": codes, "status": "protected"})
        assert np.flatnonzero(marked.frozen).tolist() == [marked.cell()]


def test_a_star_is_any_code_and_the_total() -> None:
    marked = declared({"codes": {"region": "*", "nace": "B"}, "status": "protected"})
    assert sorted(marked.label(cell) for cell in np.flatnonzero(marked.frozen)) == sorted(
        f"region={code}, nace=B" for code in TREE.codes
    )
    assert declared({"codes": {"region": "*", "nace": "*"}, "status": "protected"}).frozen.all()


def test_an_entry_holds_for_every_table_with_its_variables() -> None:
    first = table()
    size = Hierarchy.flat(["1", "2"])
    codes = np.array([[0, 0], [0, 1]], np.int32)
    second = Layout(name="sizes", variables=("region", "size"), hierarchies=(TREE, size), codes=codes, cell=np.array([0, 3]))
    both = first.replace(layouts=(*first.layouts, second))
    assert np.flatnonzero(declared({"codes": {"size": "1"}, "status": "protected"}, to=both).frozen).tolist() == [3]
    assert np.flatnonzero(declared({"codes": {"region": "Total"}, "status": "protected"}, to=both).frozen).tolist() == [0]


def test_codes_that_are_one_cell_are_declared_together() -> None:
    chain = Hierarchy.from_parents([("Total", "N"), ("Total", "S"), ("N", "N1")])
    one = small_table([5, 6], hierarchies=[chain])
    assert one.cells == 3
    assert merged(one.equations)[0].shape == one.equations.shape
    marked = declared({"codes": {"v1": "N"}, "status": "protected"}, {"codes": {"v1": "N1"}, "status": "protected"}, to=one)
    assert marked.frozen.sum() == 1
    with pytest.raises(InputError, match="contradict"):
        declared({"codes": {"v1": "N"}, "status": "protected"}, {"codes": {"v1": "N1"}, "status": "unsafe"}, to=one)


def test_entries_without_a_cell_are_listed_by_their_codes() -> None:
    marked = declared(
        {"codes": {"region": "Atlantis"}, "status": "protected"},
        {"codes": {"region": "N", "nace": "*"}, "cost": 3},
        {"codes": {"region": "*", "nace": "Z"}, "status": "safe"},
    )
    step = marked.history[-1]
    assert step.method == "a-priori"
    assert dict(step.counts) == {"entries": 3, "unmatched": 2, "cost": 3}
    assert "region=Atlantis" in step.what
    assert "region=*, nace=Z" in step.what
    assert "region=N," not in step.what


def test_counts_tell_what_was_declared() -> None:
    marked = declared(
        {"codes": {"region": "*"}, "status": "protected"},
        {"codes": {"region": "N1", "nace": "A"}, "status": "unsafe"},
        {"codes": {"region": "N2", "nace": "A"}, "status": "safe", "cost": 2},
    )
    assert dict(marked.history[-1].counts) == {"entries": 3, "unmatched": 0, "cost": 1, "safe": 1, "unsafe": 1, "protected": 5}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"status": "safe"}, {"status": "unsafe"}),
        ({"status": "protected"}, {"status": "secondary"}),
        ({"cost": 1}, {"cost": 2}),
        ({"status": "unsafe"}, {"status": "unsafe", "range": 30}),
        ({"upper": 1e6}, {"upper": 1e7}),
    ],
)
def test_contradictions_are_refused(one: dict[str, Any], other: dict[str, Any]) -> None:
    codes = {"region": "N1", "nace": "A"}
    with pytest.raises(InputError, match="contradict each other: 'region=N1, nace=A"):
        declared({"codes": codes, **one}, {"codes": codes, **other})
    declared({"codes": codes, **one}, {"codes": codes, **one})


def test_what_was_hidden_cannot_be_declared_safe_or_protected() -> None:
    hidden = MinimumFrequency(n=3).apply(table())
    codes = {"region": "S", "nace": "B"}
    for status in ("safe", "protected"):
        with pytest.raises(InputError, match="region=S, nace=B"):
            declared({"codes": codes, "status": status}, to=hidden)


def test_a_protected_cell_that_a_rule_finds_sensitive_is_reported() -> None:
    marked = declared({"codes": {"region": "S", "nace": "B"}, "status": "protected"})
    with pytest.raises(InputError, match="region=S, nace=B"):
        MinimumFrequency(n=3).apply(marked)


def test_a_cell_declared_safe_before_cannot_become_unsafe_in_silence() -> None:
    codes = {"region": "N1", "nace": "A"}
    with pytest.raises(InputError, match="safe before"):
        declared({"codes": codes, "status": "unsafe"}, to=declared({"codes": codes, "status": "safe"}))


def test_a_protected_cell_cannot_be_hidden_later() -> None:
    codes = {"region": "N1", "nace": "A"}
    with pytest.raises(InputError, match="must be published"):
        declared({"codes": codes, "status": "secondary"}, to=declared({"codes": codes, "status": "protected"}))


def test_bounds_must_hold_the_value_and_the_error_does_not_tell_it() -> None:
    for bounds in ({"lower": 61}, {"upper": 59.5}):
        with pytest.raises(InputError, match="region=N1, nace=B") as caught:
            declared({"codes": {"region": "N1", "nace": "B"}, **bounds})
        assert "60" not in str(caught.value)


def test_an_unknown_variable_is_named_with_the_nearest() -> None:
    with pytest.raises(InputError, match=r"entry 1: 'regoin' is no spanning variable \(did you mean 'region'\?\)"):
        declared({"codes": {"regoin": "N"}, "status": "safe"})


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"status": "safe"}, "codes is missing"),
        ({"codes": {"region": "N"}}, "says nothing"),
        ({"codes": {"region": "N"}, "range": 5}, "says nothing"),
        ({"codes": {"region": "N"}, "status": "save"}, "did you mean 'safe'"),
        ({"codes": {"region": "N"}, "sttus": "safe", "cost": 1}, "unknown word 'sttus'.*'status'"),
        ({"codes": {"region": 1.5}, "cost": 1}, "codes are text"),
        ({"codes": {"region": "N"}, "cost": 0}, "cost must be above 0"),
        ({"codes": {"region": "N"}, "cost": "much"}, "cost takes a number"),
        ({"codes": {"region": "N"}, "upper": float("nan")}, "upper takes a number"),
        ({"codes": {"region": "N"}, "status": "unsafe", "range": -1}, "range must be at least 0"),
        ({"codes": {"region": "N"}, "status": "safe", "range": 5}, "range belongs to"),
        ({"codes": {"region": "N"}, "lower_protection": -1}, "lower_protection must be at least 0"),
        ({"codes": {"region": "N"}, "lower": 5, "upper": 4}, "lower is above upper"),
    ],
)
def test_entries_are_checked_when_the_plan_is_read(entry: dict[str, Any], problem: str) -> None:
    good = {"codes": {"region": "N"}, "status": "safe"}
    with pytest.raises(ParameterError, match=f"entry 2: .*{problem}"):
        build(APriori, {"entries": [good, entry]})


def test_whole_number_codes_are_read_as_text() -> None:
    numbers = small_table([5, 6], hierarchies=[Hierarchy.flat(["1", "2"])])
    assert declared({"codes": {"v1": 2}, "status": "protected"}, to=numbers).frozen[numbers.cell(v1="2")]
