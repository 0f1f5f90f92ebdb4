"""Asked of every method in the catalog, also of one that is added tomorrow.

A method with required parameters, or one for frequency tables, has a row in EXAMPLES; nothing else needs an edit.
"""

import dataclasses
import inspect
import tomllib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from discreet.errors import ParameterError
from discreet.method import build, parameters
from discreet.model.contributions import Contributions
from discreet.model.hierarchy import Hierarchy
from discreet.model.noise import Noise, UnitNoise
from discreet.model.pattern import Pattern
from discreet.model.ptable import PTable
from discreet.model.table import Status, Table
from discreet.plan.catalog import CATALOG, PERTURBATION, PREFERENCES, SUPPRESSION, as_settings, find, from_settings
from discreet.testing import assert_same_table, small_table

EARLIER = Pattern(
    variables=("v1", "v2"), codes=np.array([["A", "B"], ["B", "C"], ["C", "A"]], object), hidden=np.array([True, True, False])
)
EXAMPLES: dict[str, dict[str, Any]] = {
    "controlled-adjustment": {"most": 100},
    "inner-cell-rounding": {"base": 15},
    "a-priori": {
        "entries": [{"codes": {"v1": "B", "v2": "A"}, "status": "unsafe"}, {"codes": {"v1": "A", "v2": "C"}, "status": "safe"}]
    },
    "cell-key": {"largest": 3, "variance": 2.0},
    "cell-key-magnitude": {"ptable": PTable.of([0, 1, 5, 5], [0, 0, -1, 1], [1, 1, 0.5, 0.5])},
    "cost": {"of": "n"},
    "k-disclosure": {"variable": "v2"},
    "keep-pattern": {"patterns": (EARLIER,)},
    "request": {"p1": 50},
    "round-graduated": {"steps": [[18, 3], [99, 5], [999, 10]], "above": 100},
    "small-count-adjustment": {"totals": "independent"},
    "zero-unsafe": {"range": 10},
}
SENSITIVE_ONLY = {"controlled-adjustment"}
COUNTS_ONLY = {"cell-key", "inner-cell-rounding", "k-disclosure", "round-midpoint", "small-count-adjustment"}

EVERY = pytest.mark.parametrize("name", CATALOG)


def method_of(name: str) -> Any:
    return from_settings({"method": name} | EXAMPLES.get(name, {}))


def a_table(name: str) -> Table:
    """Three by four inner cells with a subtotal, some small, dominated or zero; every cost different."""
    chance = np.random.default_rng(20240229)
    top = np.sort(chance.integers(1, 400, (3, 4, 4)), axis=2)[..., ::-1].astype(float)
    top[0, 0] = [900, 3, 0, 0]
    top[1, 2] = [650, 40, 2, 0]
    top[2, 3] = 0
    units = np.array([[2, 9, 8, 7], [6, 12, 3, 5], [8, 4, 11, 5]], float)
    tree = Hierarchy.from_parents([("Total", "AB"), ("AB", "A"), ("AB", "B"), ("Total", "CD"), ("CD", "C"), ("CD", "D")])
    rows = Hierarchy.flat(["A", "B", "C"])
    if name in COUNTS_ONLY:
        counts = np.array([[3, 0, 0, 0], [6, 12, 1, 5], [8, 4, 11, 0]], float)
        return small_table(counts, hierarchies=[rows, tree], kind="frequency")
    inner = top.sum(axis=2) + np.where(top[..., 0] > 0, np.arange(12).reshape(3, 4) + 1, 0)
    table = small_table(inner, hierarchies=[rows, tree], n=units, top=top)
    asked = np.zeros((table.cells, 4), np.int64)
    asked[table.cell(v1="A", v2="A"), 0] = 1
    return table.replace(contributions=dataclasses.replace(table.contributions, top_request=asked, requests=asked.sum(axis=1)))


def a_keyed_table(name: str) -> Table:
    """Three by four cells of twelve contributors (or of some people) with record keys, unit noise and a subtotal."""
    chance = np.random.default_rng(7)
    tree = Hierarchy.from_parents([("Total", "AB"), ("AB", "A"), ("AB", "B"), ("Total", "CD"), ("CD", "C"), ("CD", "D")])
    rows = Hierarchy.flat(["A", "B", "C"])
    if name in COUNTS_ONLY:
        table = small_table(chance.integers(0, 14, (3, 4)).astype(float), hierarchies=[rows, tree], kind="frequency")
    else:
        top = np.sort(chance.integers(1, 400, (3, 4, 12)), axis=2)[..., ::-1].astype(float)
        table = small_table(top.sum(axis=2), hierarchies=[rows, tree], n=np.full((3, 4), 12), top=top)
    held = table.contributions
    keys = {
        "key": chance.integers(1, 2**32, table.cells),
        "top_key": chance.integers(1, 2**32, held.top.shape),
        "noise": np.round(chance.normal(0, 30, table.cells), 2),
        "squares": (held.top**2).sum(axis=1),
    }
    return table.replace(contributions=dataclasses.replace(held, **keys), unit_noise=UnitNoise(noise=Noise()))


def prepared(name: str) -> Table:
    """What the method meets in a plan: for suppression, a table with sensitive cells; for noise, one with record keys."""
    if name in PERTURBATION:
        sensitive = from_settings({"method": "p-percent", "p": 20})
        return sensitive.apply(a_table(name)) if name in SENSITIVE_ONLY else a_keyed_table(name)
    table = a_table(name)
    if name in SUPPRESSION:
        table = from_settings({"method": "p-percent", "p": 20}).apply(from_settings({"method": "min-frequency"}).apply(table))
        assert table.primary.any()
    return table


def permuted(table: Table, order: np.ndarray) -> Table:
    """The same table with its cells in another order."""
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    fields: dict[str, Any] = {"equations": sparse.csr_array(table.equations[:, order])}
    for field in dataclasses.fields(Table):
        value = getattr(table, field.name)
        if isinstance(value, np.ndarray | Contributions):
            fields[field.name] = value[order] if isinstance(value, np.ndarray) else value.take(order)
    layouts = tuple(dataclasses.replace(layout, cell=place[layout.cell]) for layout in table.layouts)
    return table.replace(layouts=layouts, **fields)


def arrays(table: Table) -> Iterator[tuple[str, np.ndarray]]:
    for owner in (table, table.contributions):
        for field in dataclasses.fields(owner):
            value = getattr(owner, field.name)
            if isinstance(value, np.ndarray):
                yield f"{type(owner).__name__}.{field.name}", value
    yield "equations", table.equations.toarray()


@EVERY
def test_it_does_something_on_the_example(name: str) -> None:
    before = prepared(name)
    after = method_of(name).apply(before)
    changed = (after.status[: before.cells] != before.status).any() or after.perturbed.any()
    changed |= name in PREFERENCES and bool((after.cost != before.cost).any())
    assert changed, "the example must show the method at work, or the other tests say nothing"


@EVERY
def test_it_is_pure(name: str) -> None:
    table = prepared(name)
    before = {key: array.copy() for key, array in arrays(table)}
    history = table.history
    method_of(name).apply(table)
    for key, array in arrays(table):
        np.testing.assert_array_equal(array, before[key], err_msg=f"{name} changed {key} of its input")
    assert table.history == history


@EVERY
def test_it_is_repeatable(name: str) -> None:
    table = prepared(name)
    assert_same_table(method_of(name).apply(table), method_of(name).apply(table))


@EVERY
@pytest.mark.parametrize("seed", [1, 2])
def test_the_order_of_cells_is_irrelevant(name: str, seed: int) -> None:
    table = prepared(name)
    order = np.random.default_rng(seed).permutation(table.cells)
    plain = method_of(name).apply(table)
    shuffled = method_of(name).apply(permuted(table, order))
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    np.testing.assert_array_equal(shuffled.status[back[: plain.cells]], plain.status[: table.cells])
    np.testing.assert_array_equal(shuffled.cost[back[: plain.cells]], plain.cost[: table.cells])
    np.testing.assert_array_equal(shuffled.shown[back[: plain.cells]], plain.shown[: table.cells])


@EVERY
def test_nothing_becomes_less_protected(name: str) -> None:
    table = prepared(name)
    hide = np.zeros(table.cells, bool)
    hide[[1, 5, 9]] = table.status[[1, 5, 9]] == Status.OPEN
    table = table.with_secondary("before", hide)
    after = method_of(name).apply(table)
    assert (after.status[: table.cells] >= table.status).all()
    assert after.suppressed[: table.cells][hide].all(), "what was hidden must stay hidden"
    for level in ("upper_protection", "lower_protection", "sliding_protection"):
        assert (getattr(after, level)[: table.cells] >= getattr(table, level)).all()


@EVERY
def test_a_cell_that_must_be_published_stays_open(name: str) -> None:
    table = prepared(name)
    after = method_of(name).apply(table)
    kept = np.flatnonzero((after.status[: table.cells] == Status.SECONDARY) & (table.status == Status.OPEN))[:1]
    frozen = table.frozen.copy()
    frozen[kept] = True
    again = method_of(name).apply(table.replace(frozen=frozen))
    assert not again.suppressed[: table.cells][frozen].any()


@EVERY
def test_it_tells_what_it_did(name: str) -> None:
    table = prepared(name)
    after = method_of(name).apply(table)
    assert len(after.history) > len(table.history)
    assert name in {step.method for step in after.history[len(table.history) :]}


@EVERY
def test_it_goes_through_a_plan_and_back(name: str) -> None:
    method = method_of(name)
    assert from_settings(as_settings(method)) == method
    assert as_settings(from_settings(as_settings(method))) == as_settings(method)


@EVERY
def test_every_parameter_survives_a_plan_file(name: str) -> None:
    lines = []
    for one in parameters(CATALOG[name]):
        if not one.required and isinstance(one.default, bool | int | float | str):
            text = f'"{one.default}"' if isinstance(one.default, str) else str(one.default).lower()
            lines.append(f"{one.name} = {text}")
    settings = tomllib.loads("\n".join(lines))
    assert from_settings({"method": name} | settings | EXAMPLES.get(name, {})) == method_of(name)


@EVERY
def test_every_parameter_is_explained(name: str) -> None:
    for one in parameters(CATALOG[name]):
        assert len(one.doc) > 10, f"{name}.{one.name} is not explained"
        assert one.name.isidentifier()


@EVERY
def test_it_says_what_it_is_for_and_where_it_comes_from(name: str) -> None:
    method = CATALOG[name]
    doc = inspect.cleandoc(method.__doc__ or "")
    assert doc.partition("\n")[0].endswith(".")
    assert "Guards against" in doc
    assert "Does not guard against" in doc
    assert len(method.SOURCE) > 10


@EVERY
def test_it_is_a_value(name: str) -> None:
    method = method_of(name)
    assert dataclasses.is_dataclass(method)
    assert type(method).__dataclass_params__.frozen
    assert all(field.kw_only for field in dataclasses.fields(method))
    assert method == method_of(name)


@EVERY
def test_it_refuses_what_it_does_not_know(name: str) -> None:
    with pytest.raises(ParameterError, match="unknown parameter 'nonsense'"):
        build(CATALOG[name], EXAMPLES.get(name, {}) | {"nonsense": 1})
    for one in parameters(CATALOG[name]):
        with pytest.raises(ParameterError, match=one.name):
            build(CATALOG[name], EXAMPLES.get(name, {}) | {one.name: object()})


def test_names_are_different_and_found() -> None:
    assert all(name == method.NAME for name, method in CATALOG.items())
    assert set(CATALOG) >= SUPPRESSION
    with pytest.raises(ParameterError, match="did you mean 'p-percent'"):
        find("p-percnt")
