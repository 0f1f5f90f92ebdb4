"""Odd numbers planted in hidden and perturbed cells and contributions occur in no report, in no way of writing them."""

import json
import re
from typing import Any

import numpy as np
import pytest

from discreet.audit.examine import audit
from discreet.audit.publish import publish
from discreet.loss import perturbation_loss, suppression_loss
from discreet.model.hierarchy import Hierarchy
from discreet.model.intruder import Intruder
from discreet.plan.run import Run, TableRun
from discreet.report import facts, picture, render
from discreet.tables.rules import MinimumFrequency, PPercent
from discreet.tables.suppress.gauss import GaussSuppression
from discreet.tables.suppress.repair import repair
from discreet.testing import small_table

METHODS = (MinimumFrequency(n=3), PPercent(p=15), GaussSuppression())


def planted() -> Any:
    """A register of 6 × 5 cells, each with odd contributions; two cells have two contributors, one is dominated."""
    rows = Hierarchy.from_parents([("N", "n1"), ("N", "n2"), ("N", "n3"), ("S", "s1"), ("S", "s2"), ("S", "s3")])
    chance = np.random.default_rng(7919)
    top = -np.sort(-chance.integers(103_000, 989_000, (6, 5, 4)) / 100, axis=2)
    n = np.full((6, 5), 40)
    top[0, 0] = [6733.19, 1186.18, 0, 0]
    n[0, 0] = 2
    top[4, 2] = [8461.57, 977.41, 0, 0]
    n[4, 2] = 2
    top[2, 3] = [78_571.33, 1223.47, 31.07, 17.19]
    n[2, 3] = 4
    rest = np.where(n > 4, chance.integers(2_000_000, 6_000_000, (6, 5)) / 100, 0)
    return small_table(
        top.sum(axis=2) + rest,
        variables=["place", "kind"],
        hierarchies=[rows, Hierarchy.flat("vwxyz")],
        n=n,
        top=top,
        decimals=2,
    )


def run_of(table: Any, *, released: bool) -> Run:
    proof = audit(table)
    one = TableRun(
        name="planted",
        table=table,
        methods=METHODS,
        audit=proof,
        published=publish(table, audit=proof) if released else None,
        loss=suppression_loss(table, proof),
        seconds=0.5,
        perturbation=perturbation_loss(table) if table.perturbed.any() else None,
    )
    return Run(plan_text="[tables.planted]\n", plan={}, versions={}, started="2025-01-02", tables=(one,))


def documents(run: Run) -> dict[str, str]:
    told = facts(run)
    return {
        "page": render(told),
        "json": json.dumps(told, ensure_ascii=False),
        "picture": picture(told),
        "repr": f"{run!r} {run.tables[0]!r} {run.tables[0].loss!r} {run.tables[0].perturbation!r} {run.tables[0].audit!r}",
    }


def occurs(number: float, text: str) -> bool:
    """Whether the number is written in the text: any thousands separator, comma or point, whole, or with decimals cut."""
    whole, cents = f"{abs(number):.2f}".split(".")
    groups = re.sub(r"(?<=\d)(?=(\d{3})+$)", "~", whole).split("~")
    written = r"[\s,.'’_]?".join(groups)
    rounded = r"[\s,.'’_]?".join(re.sub(r"(?<=\d)(?=(\d{3})+$)", "~", f"{abs(number):.0f}").split("~"))
    return bool(re.search(rf"(?<!\d)(?:{written}(?:[.,]{cents[0]}\d*)?|{rounded})(?!\d)", text))


def secrets(run: Run) -> dict[str, float]:
    """Everything that must stay inside and is odd enough not to occur by chance."""
    (one,) = run.tables
    table, loss = one.table, one.loss
    held = {f"value of {table.label(int(cell))}": table.value[cell] for cell in np.flatnonzero(table.suppressed)}
    held |= {
        f"contribution {i}": number for i, number in enumerate(np.unique(table.contributions.top[table.contributions.top > 0]))
    }
    held |= {f"protection level {i}": number for i, number in enumerate(np.unique(table.upper_protection))}
    held |= {f"hidden in {group!r}": group.value for group in (loss.total, loss.inner, *loss.by_level, *loss.by_code)}
    return {name: float(number) for name, number in held.items() if abs(number) >= 1000}


@pytest.fixture(scope="module")
def released() -> Run:
    table = planted()
    for method in METHODS:
        table = method.apply(table)
    while not (proof := audit(table)).safe:
        table = repair(table, proof.findings)
    return run_of(table, released=True)


@pytest.fixture(scope="module")
def refused() -> Run:
    table = planted()
    for method in METHODS[:2]:
        table = method.apply(table)
    return run_of(table, released=False)


def test_a_released_table_gives_nothing_away(released: Run) -> None:
    held = secrets(released)
    assert len(held) > 120
    assert released.tables[0].table.secondary.sum() >= 4
    for name, text in documents(released).items():
        assert [what for what, number in held.items() if occurs(number, text)] == [], name


def test_the_search_finds_what_is_published(released: Run) -> None:
    """Else the test above would pass without looking."""
    table, texts = released.tables[0].table, documents(released)
    for cell in np.flatnonzero(~table.suppressed):
        assert occurs(table.value[cell], texts["page"])
        assert occurs(table.value[cell], texts["json"])
    for written in ("7919.37", "7919,37", "7 919.37", "7,919.37", "7.919,37", "7'919", "7\u202f919.4", "7919"):
        assert occurs(7919.37, f"<td>{written}</td>"), written
    assert not occurs(7919.37, "17919.37 79193 7918")


@pytest.mark.parametrize("noise", [True, False])
def test_a_perturbed_table_gives_no_true_value_and_no_deviation_away(noise: bool) -> None:
    """Nor what would give one: the exact mean, sum or largest of the deviations."""
    table = planted()
    for method in METHODS[:2]:
        table = method.apply(table)
    run = run_of(perturbed(table, noise=noise), released=True)
    table, loss = run.tables[0].table, run.tables[0].perturbation
    assert table.perturbed.sum() > 40
    assert table.suppressed.any()
    assert loss is not None
    held = secrets(run) | {
        f"value of {table.label(cell)}": table.value[cell] for cell in np.flatnonzero(table.perturbed).tolist()
    }
    for group in (loss.total, loss.inner, *loss.by_level):
        held |= {f"size of {group!r}": group.size, f"sum of {group!r}": group.absolute.mean_size * group.cells}
        for what in ("mean_size", "root_mean_square", "largest"):
            held[f"{what} of {group!r}"] = getattr(group.absolute, what)
    held = {name: float(number) for name, number in held.items() if abs(number) >= 1000}
    exact = {f"{size:.2f}" for size in np.abs(loss.deviation[loss.deviation != 0])}
    assert len(exact) > 40
    for name, text in documents(run).items():
        assert [what for what, number in held.items() if occurs(number, text)] == [], name
        assert [size for size in exact if re.search(rf"(?<![\d.]){re.escape(size)}(?!\d)", text)] == [], name
    page = documents(run)["page"]
    assert "What rounding and noise cost" in page
    assert all(occurs(number, page) for number in np.round(table.shown[table.perturbed], 2))


def perturbed(table: Any, *, noise: bool) -> Any:
    """Every cell that is not suppressed with odd noise of some per cent, or rounded to a multiple of 1000."""
    chance = np.random.default_rng(20250102)
    if noise:
        size = 0.04 * np.abs(table.value)
        number = np.round(table.value + size * chance.normal(size=table.cells), 2)
        told = {"low": -np.inf, "high": np.inf, "error": size}
    else:
        number = np.round(table.value / 1000) * 1000
        told = {"low": number - 500, "high": number + 500, "error": np.nan}
    table = table.with_intruder(Intruder(levels=False, unions=False))
    return table.with_shown("by hand", np.where(table.suppressed, np.nan, number), **told)


def test_a_refused_table_gives_nothing_away_not_even_open_values(refused: Run) -> None:
    assert not refused.tables[0].audit.safe
    table = refused.tables[0].table
    held = secrets(refused) | {f"open value of {table.label(cell)}": table.value[cell] for cell in range(table.cells)}
    for name, text in documents(refused).items():
        assert [what for what, number in held.items() if occurs(number, text)] == [], name
