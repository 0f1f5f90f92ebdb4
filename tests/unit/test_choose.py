"""The choice of a suppression method: by size, dimensions and time, with its reason in the history."""

import numpy as np
import pytest
from scipy import sparse

import discreet as dc
from discreet.errors import ParameterError
from discreet.model.hierarchy import Hierarchy
from discreet.tables.suppress.choose import Size, Suppression
from discreet.testing import small_table


def sensitive(shape, seed=1, **given):
    chance = np.random.default_rng(seed)
    units = chance.integers(1, 12, shape)
    table = small_table(chance.integers(20, 300, shape).astype(float), n=units, **given)
    return dc.MinimumFrequency(n=3, range=10).apply(table)


def size(free, dimensions, cells=10**6):
    return Size(cells=cells, sensitive=1, free=free, dimensions=dimensions)


def test_the_size_counts_cells_that_could_be_hidden_to_protect_others():
    table = sensitive((3, 4))
    found = Size.of(table)
    assert found.cells == 20
    assert found.dimensions == 2
    assert found.sensitive == table.primary.sum() > 0
    assert found.free == 20 - found.sensitive
    frozen = np.zeros(table.cells, bool)
    frozen[np.flatnonzero(~table.primary)[:3]] = True
    assert Size.of(table.replace(frozen=frozen)).free == found.free - 3


def test_cells_that_nothing_ties_to_a_sensitive_one_do_not_count():
    tree = Hierarchy.from_parents([("A", "A1"), ("A", "A2"), ("A", "A3"), ("B", "B1"), ("B", "B2"), ("B", "B3")])
    units = np.array([1, 9, 9, 9, 9, 9])
    table = small_table(np.arange(10.0, 16), hierarchies=[tree], n=units)
    frozen = np.isin(np.arange(table.cells), [table.cell(), table.cell(v1="A"), table.cell(v1="B")])
    table = dc.MinimumFrequency(n=3).apply(table.replace(frozen=frozen))
    assert Size.of(table).free == 2
    assert str(Size.of(table)) == "2 of 9 cells could be hidden, 1 dimension"


@pytest.mark.parametrize("dimensions", [1, 2, 3, 4, 5])
def test_dimensions_are_spanning_variables(dimensions):
    assert Size.of(sensitive((3,) * dimensions)).dimensions == dimensions


def test_without_spanning_variables_the_equations_tell():
    table = sensitive((3, 3, 3))
    assert Size.of(table.replace(layouts=())).dimensions == 3


def test_the_choice_follows_size_dimensions_and_time():
    def name(free, dimensions, seconds=120.0):
        return Suppression(time_limit=seconds).chosen(size(free, dimensions))[0].NAME

    assert name(50, 2) == name(50, 4) == "exact-suppression"
    assert name(2_000, 2) == name(2_000, 3) == name(200, 4) == "search-suppression"
    assert name(300, 2) == "exact-suppression"
    assert name(300, 3) == "search-suppression"
    assert name(10**7, 2) == name(2_000, 4) == "gauss-suppression"
    assert name(2_000, 2, 0.5) == "gauss-suppression"
    assert name(10**5, 2, 3600) == "search-suppression"
    assert name(10**5, 2, 60) == "gauss-suppression"


@pytest.mark.parametrize("dimensions", [1, 2, 3, 4, 9])
def test_the_limits_are_where_the_choice_changes(dimensions):
    method = Suppression(time_limit=60)
    exact, search = method.limits(dimensions)
    names = [method.chosen(size(free, dimensions))[0].NAME for free in (exact, exact + 1, search, search + 1)]
    assert names == ["exact-suppression", "search-suppression", "search-suppression", "gauss-suppression"]
    assert Suppression(time_limit=1e-6).limits(dimensions) == (exact, exact)


def test_the_chosen_method_gets_the_time():
    for free in (50, 5_000):
        assert Suppression(time_limit=77).chosen(size(free, 2))[0].time_limit == 77


def test_the_history_says_what_was_chosen_and_why_without_numbers_of_the_table():
    table = sensitive((4, 4))
    done = Suppression(time_limit=20).apply(table)
    told, made = done.history[-2:]
    assert told.method == "suppression"
    assert told.what.startswith("exact-suppression chosen: small enough for the optimum (")
    assert f"{table.cells} cells could be hidden, 2 dimensions" in told.what
    assert made.method == "exact-suppression"
    assert (done.status == dc.ExactSuppression().apply(table).status).all()
    assert done.secondary.any()


def test_protect_ends_with_a_proof():
    table = dc.protect(sensitive((4, 5), seed=2), [Suppression(time_limit=20)])
    assert dc.audit.audit(table).safe


def test_nothing_to_protect_is_nothing_to_choose():
    table = small_table(np.ones((2, 2)))
    done = Suppression().apply(table)
    assert not done.suppressed.any()
    assert [step.method for step in done.history] == ["suppression"]


def test_a_time_limit_of_nothing_is_refused():
    with pytest.raises(ParameterError, match="time_limit"):
        Suppression(time_limit=0)


def test_the_order_of_cells_does_not_matter():
    table = sensitive((4, 5))
    order = np.random.default_rng(3).permutation(table.cells)
    fields = ("value", "cost", "status", "frozen", "exempt", "listed", "fired", "lower", "upper")
    fields = (*fields, "upper_protection", "lower_protection", "sliding_protection")
    fields = (*fields, "shown", "shown_low", "shown_high", "shown_error")
    turned = {name: getattr(table, name)[order] for name in fields}
    contributions = table.contributions.take(order)
    equations = sparse.csr_array(table.equations[:, order])
    other = table.replace(layouts=(), equations=equations, contributions=contributions, **turned)
    assert str(Size.of(other)) == str(Size.of(table))
