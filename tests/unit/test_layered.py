"""The Layered Perturbation Method: its layers, the cells it shows, and what it refuses."""

import dataclasses
import hashlib
from typing import Any

import numpy as np
import pandas as pd
import pytest

from discreet.audit import publish
from discreet.errors import InputError, ParameterError
from discreet.io.microdata import read_microdata
from discreet.model.contributions import Contributions
from discreet.model.keys import Secret
from discreet.model.noise import Noise
from discreet.model.table import Status, Table
from discreet.model.tabulate import tabulate
from discreet.tables.perturb.layered import LayeredPerturbation
from discreet.tables.rules import PPercent, Request
from discreet.testing import small_table

SECRET = Secret("a secret of many characters")
SIZES = [100.0, 60, 40, 20, 18, 16, 15, 14, 13, 12, 10, 5]


def cells(tops: Any, seed: int = 1, modulus: int = 2**32) -> Contributions:
    """Cells of these contributions only, with random keys of their contributors."""
    top = np.array(tops, float)
    key = np.random.default_rng(seed).integers(0, modulus, top.shape)
    held = top != 0
    n = held.sum(axis=1).astype(float)
    return Contributions.of(n, top.sum(axis=1), top=top, top_key=key * held, key=(key * held).sum(axis=1) % 2**32)


def bits(purpose: bytes, *words: int) -> int:
    whole = b"".join(int(word).to_bytes(8, "little") for word in words)
    return int.from_bytes(hashlib.blake2b(whole, digest_size=8, person=purpose).digest(), "little") % 2**63


def of_bits(number: int, low: float, high: float) -> float:
    """Split triangular noise, spelled out: the first of 32 bits gives the direction, the others the size."""
    number %= 2**32
    share = (number % 2**31 + 0.5) / 2**31
    return (-1 if number < 2**31 else 1) * (high - (high - low) * share**0.5)


def spelled(top: Any, keys: Any, cell: int, factors: Any, consistent: int = 4, mixed: int = 5) -> float:
    """Z − X as the definition reads, unit by unit."""
    total = 0.0
    for r, (x, key) in enumerate(zip(top, keys, strict=True), start=1):
        sign, own = (-1) ** (r + 1), bits(b"lpm unit", key)
        epsilon, alpha = of_bits(own, 0.02, 0.04), (own // 2**32 + 0.5) / 2**31
        if r <= consistent:
            total += sign * (factors[r - 1] if r <= 3 else 1) * epsilon * x
        elif r <= consistent + mixed:
            total += (sign * alpha * epsilon + (1 - alpha) * of_bits(bits(b"lpm cell", cell, key), 0.02, 0.04)) * x
    return total


@pytest.mark.parametrize(("consistent", "mixed"), [(4, 5), (2, 3), (1, 0), (6, 6), (3, 20)])
def test_the_noise_is_that_of_the_definition(consistent: int, mixed: int) -> None:
    factors = (1.7, 1.4, 1.2)[:consistent] + (1.0,) * (3 - consistent)
    method = LayeredPerturbation(consistent=consistent, mixed=mixed, factors=factors)
    rows = cells([SIZES, [-50, 30, -20, 4, 0, 0, 0, 0, 0, 0, 0, 0], [7] + [0] * 11, [0] * 12])
    wanted = [
        spelled(top[top != 0], keys[top != 0], cell, factors, consistent, mixed)
        for top, keys, cell in zip(rows.top, rows.top_key, rows.key, strict=True)
    ]
    np.testing.assert_allclose(method.noise(rows), wanted, rtol=1e-12)
    assert method.noise(rows)[3] == 0
    assert method.ranks_needed == consistent + mixed + 1


def test_the_permanent_noise_is_the_units_own_and_changes_sign_with_its_rank() -> None:
    method = LayeredPerturbation()
    key = np.array([[11, 12, 13], [12, 11, 13], [11, 12, 14]])
    rows = Contributions.of(np.full(3, 3.0), np.full(3, 2.0), top=np.eye(3)[[0, 1, 0]], key=key.sum(axis=1), top_key=key)
    first, second, third = method.noise(rows)
    assert first == -second == third != 0


def test_negative_contributions_carry_the_negative_noise() -> None:
    rows = cells([SIZES])
    mirrored = dataclasses.replace(rows, top=-rows.top, total=-rows.total)
    for method in (LayeredPerturbation(), LayeredPerturbation(target=30)):
        np.testing.assert_array_equal(method.noise(mirrored), -method.noise(rows))
        np.testing.assert_array_equal(method.errors(mirrored), method.errors(rows))


def test_ranks_beyond_the_last_layer_are_untouched_but_change_the_cell() -> None:
    method = LayeredPerturbation()
    rows = cells([SIZES])
    larger = dataclasses.replace(rows, top=rows.top + np.array([0.0] * 9 + [0.5, 0.5, 0.5]))
    np.testing.assert_array_equal(method.noise(larger), method.noise(rows))
    other = dataclasses.replace(rows, key=rows.key + 1)
    assert method.noise(other) != method.noise(rows)
    steady = LayeredPerturbation(mixed=0)
    np.testing.assert_array_equal(steady.noise(other), steady.noise(rows))


@pytest.mark.parametrize(("shape", "low", "high"), [("split-triangular", 0.1, 0.2), ("uniform", 0.1, 0.2), ("normal", 0, 0.1)])
def test_every_shape_of_noise_has_its_variance(shape: str, low: float, high: float) -> None:
    method = LayeredPerturbation(shape=shape, low=low, high=high)
    noise = method.noise(cells(np.tile(SIZES, (20_000, 1))))
    assert abs(noise.mean()) < 4 * noise.std() / len(noise) ** 0.5
    assert noise.var() == pytest.approx(Noise(shape=shape, low=low, high=high).variance * 16380, rel=0.04)
    np.testing.assert_allclose(method.errors(cells([SIZES])) ** 2, method.epsilon.variance * 16380, rtol=1e-12)


# -------------------------------------------------------------------- the hash of the source


def test_the_hash_of_the_source_is_reproduced() -> None:
    keys, x = [7, 500, 999, 0, 123], [5.0, 4, 3, 2, 1]
    rows = Contributions.of(np.array([5.0]), np.array([15.0]), top=np.array([x]), key=[sum(keys)], top_key=np.array([keys]))

    def quantile(u: float) -> float:
        return -(0.04 - 0.02 * (2 * u) ** 0.5) if u < 0.5 else 0.04 - 0.02 * (2 * (1 - u)) ** 0.5

    for name, shift in (("paper", 0.0), ("paper-centred", 0.5)):
        e = [quantile((h + shift) / 1000) for h in keys]
        alpha, fresh = (123 % 8) / 7, quantile(((123 + 1629) % 1000 + shift) / 1000)
        wanted = 5 * e[0] - 4 * e[1] + 3 * e[2] - 2 * e[3] + (alpha * e[4] + (1 - alpha) * fresh)
        assert LayeredPerturbation(hash=name).noise(rows)[0] == pytest.approx(wanted, rel=1e-12)


def test_the_hash_of_the_source_is_zero_on_average_only_when_centred() -> None:
    key = np.arange(1000)[:, np.newaxis]
    rows = Contributions.of(np.ones(1000), np.ones(1000), top=np.ones((1000, 1)), key=key[:, 0], top_key=key)
    assert LayeredPerturbation(hash="paper").noise(rows).mean() == pytest.approx(-2e-5)
    assert abs(LayeredPerturbation(hash="paper-centred").noise(rows).mean()) < 1e-15


def test_the_hash_of_the_source_needs_its_keys() -> None:
    with pytest.raises(InputError, match="keys below 1000"):
        LayeredPerturbation(hash="paper").noise(cells([SIZES]))
    assert np.isfinite(LayeredPerturbation(hash="paper").noise(cells([SIZES], modulus=1000))).all()


def test_the_secret_of_the_source_and_its_hash_work_together() -> None:
    frame = pd.DataFrame({"id": np.arange(1, 31) * 7919, "c": ["A", "B"] * 15, "x": np.arange(30.0) + 1})
    secret = Secret("123457", paper=True)
    table = tabulate(read_microdata(frame, unit="id"), spanning=["c"], response="x", ranks=10, secret=secret)
    shown = LayeredPerturbation(hash="paper", low=0.2, high=0.4).apply(table)
    assert shown.perturbed.all()
    assert (shown.shown != table.value).any()


# -------------------------------------------------------------------- which cells are shown


def a_table(n: Any = 12, tops: Any = None, **settings: Any) -> Table:
    """Three cells and their total, each of the contributions SIZES (or those given) with keys."""
    top = np.tile(SIZES, (3, 1)) if tops is None else np.array(tops, float)
    table = small_table(top.sum(axis=1), n=np.broadcast_to(np.array(n, float), len(top)), top=top, decimals=2, **settings)
    chance = np.random.default_rng(3)
    keys = {"key": chance.integers(1, 2**32, table.cells), "top_key": chance.integers(1, 2**32, table.contributions.top.shape)}
    return table.replace(contributions=dataclasses.replace(table.contributions, **keys))


def test_every_cell_shows_its_value_plus_noise_in_the_tables_decimals() -> None:
    table, method = a_table(), LayeredPerturbation()
    after = method.apply(table)
    np.testing.assert_array_equal(after.shown, np.round(table.value + method.noise(table.contributions), 2))
    np.testing.assert_array_equal(after.shown_error, method.errors(table.contributions))
    assert np.isinf(after.shown_low).all()
    assert np.isinf(after.shown_high).all()
    assert not after.suppressed.any()
    assert dict(after.history[-1].counts) == {"perturbed": 4}


def test_whoever_knows_the_noise_can_bound_each_value() -> None:
    table, factors = a_table(), (2.0, 1.5, 1.0)
    after = LayeredPerturbation(factors=factors, known=True).apply(table)
    np.testing.assert_allclose(after.shown_high, (after.shown + 0.005) / (1 - 0.08))
    assert (after.shown_low < table.value).all()
    assert (table.value < after.shown_high).all()
    for settings in ({"target": 30}, {"shape": "normal", "low": 0.0}):
        with pytest.raises(ParameterError, match="have no bound"):
            LayeredPerturbation(known=True, **settings)


def test_cells_of_few_contributors_are_hidden_and_empty_ones_stay_zero() -> None:
    tops = [SIZES, [9.0, 8, 7] + [0] * 9, [0.0] * 12]
    table = a_table([12, 3, 0], tops)
    after = LayeredPerturbation().apply(table)
    cell = {code: table.cell(v1=code) for code in "ABC"}
    assert after.perturbed[cell["A"]]
    assert after.status[cell["B"]] == Status.PRIMARY
    assert np.isnan(after.numbers[cell["B"]])
    assert after.status[cell["C"]] == Status.OPEN
    assert after.numbers[cell["C"]] == 0
    assert not after.perturbed[cell["C"]]
    assert LayeredPerturbation(minimum=3).apply(table).perturbed[cell["B"]]
    everything = LayeredPerturbation(minimum=0).apply(table)
    assert everything.rules == ()
    assert everything.perturbed[cell["B"]]
    exempt = np.arange(table.cells) == cell["B"]
    assert LayeredPerturbation().apply(table.replace(exempt=exempt)).perturbed[cell["B"]]
    with pytest.raises(InputError, match="forced to be published"):
        LayeredPerturbation().apply(table.replace(frozen=exempt))


def test_a_holding_counts_once() -> None:
    frame = pd.DataFrame(
        {"id": range(24), "group": [i % 6 for i in range(12)] + list(range(12, 24)), "c": ["A"] * 12 + ["B"] * 12}
    )
    frame["x"] = np.arange(24.0) + 100
    table = tabulate(read_microdata(frame, unit="id", holding="group"), spanning=["c"], response="x", ranks=10, secret=SECRET)
    after = LayeredPerturbation().apply(table)
    assert after.suppressed[table.cell(c="A")]
    assert after.perturbed[table.cell(c="B")]


DOMINATED = [SIZES, [100.0, 20] + [1] * 10, [100.0, 9] + [0.5] * 10]
"""By the 20 % rule safe, short of its level by 10, and by 15."""


def test_sensitive_cells_are_hidden_or_shown_as_the_policy_says() -> None:
    table = PPercent(p=20).apply(a_table(tops=DOMINATED))
    cell = [table.cell(v1=code) for code in "ABC"]
    np.testing.assert_allclose(table.upper_protection[cell], [0, 10, 15])
    noise = {"low": 0.1, "high": 0.13}

    def perturbed(**settings: Any) -> list[bool]:
        return LayeredPerturbation(**noise, **settings).apply(table).perturbed[cell].tolist()

    assert perturbed() == [True, False, False]
    assert perturbed(sensitive="slight") == [True, True, False]
    assert perturbed(sensitive="show") == [True, True, True]
    assert perturbed(sensitive="show", minimum=13) == [False, False, False]
    after = LayeredPerturbation(**noise, sensitive="slight").apply(table)
    assert after.shown_error[cell[1]] >= 10
    assert LayeredPerturbation(**noise).errors(table.contributions)[cell[2]] < 15
    assert after.history[-1].counts["slightly sensitive and shown"] == 1
    assert after.status[cell[1]] == Status.PRIMARY


def test_a_cell_whose_rule_asks_for_no_level_is_not_slightly_sensitive() -> None:
    table = a_table(tops=DOMINATED)
    asked = np.zeros(table.contributions.top.shape, np.int64)
    asked[:3, 0] = 1
    contributions = dataclasses.replace(table.contributions, top_request=asked, requests=asked.sum(axis=1))
    table = Request(p1=20).apply(table.replace(contributions=contributions))
    hidden = table.primary
    assert hidden.any()
    after = LayeredPerturbation(high=0.4, sensitive="slight").apply(table)
    np.testing.assert_array_equal(after.suppressed, hidden)


def test_cells_hidden_for_others_and_cells_not_listed_stay_as_they_are() -> None:
    table = a_table()
    listed = np.arange(table.cells) != 1
    table = table.replace(listed=listed).with_secondary("before", np.arange(table.cells) == 2)
    after = LayeredPerturbation(sensitive="slight").apply(table)
    assert after.perturbed.tolist() == [True, False, False, True]
    with pytest.raises(InputError, match="is perturbed already"):
        LayeredPerturbation().apply(after)


def test_missed_targets_are_counted() -> None:
    tops = np.vstack([SIZES, [100.0, 60, 40, 20, 8, 6, 5, 4, 3, 2.5, 2, 1], [500.0, 60, 40, 20, 8, 6, 5, 4, 3, 2.5, 2, 1]])
    noise = {"low": 0.05, "high": 0.1, "target": 30}
    table = a_table(tops=tops)
    assert LayeredPerturbation(**noise).apply(table).history[-1].counts["missing the target"] == 3
    bounded = LayeredPerturbation(**noise).factors_of(table.contributions.top) >= 1.9
    assert bounded.any(axis=1)[[table.cell(v1=code) for code in ("Total", "A", "B", "C")]].tolist() == [True, False, True, True]
    wide = LayeredPerturbation(**noise, most=2, taper=1)
    chosen = wide.factors_of(tops)
    assert (chosen[:, 1:] <= 2).all()
    assert chosen[2, 0] == pytest.approx(2.64077, rel=1e-5)
    assert LayeredPerturbation(**noise, most=2, taper=0).factors_of(tops)[2, 0] == 2
    assert LayeredPerturbation(**noise, most=2).factors_of(tops)[2, 0] == pytest.approx((2.64077 + 2) / 2, rel=1e-5)


# -------------------------------------------------------------------- from records


def business(rows: int = 90) -> pd.DataFrame:
    chance = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "id": [f"u{i}" for i in range(rows)],
            "c": chance.choice(list("ABC"), rows),
            "x": np.round(chance.lognormal(3, 1, rows)) * chance.choice([1, 1, 1, -1], rows),
            "w": chance.choice([1.5, 2.0, 4.0], rows),
        }
    )


def test_a_weighted_total_carries_the_noise_of_the_unweighted_contributions() -> None:
    frame = business()
    plain = tabulate(read_microdata(frame, unit="id"), spanning=["c"], response="x", ranks=10, secret=SECRET)
    weighted = tabulate(read_microdata(frame, unit="id", weight="w"), spanning=["c"], response="x", ranks=10, secret=SECRET)
    method = LayeredPerturbation()
    before, after = method.apply(plain), method.apply(weighted)
    noise = method.noise(weighted.contributions)
    np.testing.assert_array_equal(noise, method.noise(plain.contributions))
    np.testing.assert_array_equal(after.shown, np.round(weighted.value + noise, weighted.decimals))
    np.testing.assert_array_equal(after.shown_error, before.shown_error)


def test_ties_go_by_key_whatever_the_order_of_rows() -> None:
    frame = pd.DataFrame({"id": [f"u{i}" for i in range(40)], "c": ["A"] * 20 + ["B"] * 20, "x": [5.25] * 40})
    tables = [
        LayeredPerturbation(low=0.1, high=0.2).apply(
            tabulate(
                read_microdata(frame.sample(frac=1, random_state=seed), unit="id"),
                spanning=["c"],
                response="x",
                ranks=10,
                secret=SECRET,
            )
        )
        for seed in range(4)
    ]
    for table in tables[1:]:
        np.testing.assert_array_equal(table.shown, tables[0].shown)
    assert len(set(tables[0].shown - tables[0].value)) == 3


def test_a_table_of_it_passes_the_audit() -> None:
    table = tabulate(read_microdata(business(), unit="id"), spanning=["c"], response="x", ranks=10, secret=SECRET)
    after = LayeredPerturbation(minimum=28).apply(PPercent(p=10).apply(table))
    assert after.suppressed.any()
    published = publish(after)
    shown, cell = published.layout().value, after.layouts[0].cell
    np.testing.assert_array_equal(shown, np.where(after.suppressed, np.nan, after.shown)[cell])


# -------------------------------------------------------------------- what is refused


def test_it_refuses_what_it_cannot_work_on() -> None:
    method, table = LayeredPerturbation(), a_table()
    with pytest.raises(InputError, match="not for counts"):
        method.apply(small_table([3.0, 4, 5], kind="frequency"))
    keyless = dataclasses.replace(table.contributions, key=np.zeros(table.cells, np.int64))
    with pytest.raises(InputError, match="needs record keys"):
        method.apply(table.replace(contributions=keyless))
    of_cells = dataclasses.replace(table.contributions, top_key=np.zeros_like(table.contributions.top_key))
    with pytest.raises(InputError, match="largest contributors"):
        method.apply(table.replace(contributions=of_cells))
    shadow = dataclasses.replace(table.contributions, total=table.value * 2)
    with pytest.raises(InputError, match="shadow"):
        method.apply(table.replace(contributions=shadow))


def test_it_refuses_too_few_ranks_unless_no_cell_has_more() -> None:
    few = np.tile(SIZES[:5], (3, 1))
    with pytest.raises(InputError, match="needs the 10 largest contributions of each cell, and 5 are kept"):
        LayeredPerturbation().apply(a_table(12, few))
    five = cells([SIZES[:5]])
    padded = dataclasses.replace(cells([SIZES[:5] + [0.0] * 7]), key=five.key, top_key=np.pad(five.top_key, ((0, 0), (0, 7))))
    method = LayeredPerturbation()
    np.testing.assert_array_equal(method.noise(five), method.noise(padded))
    np.testing.assert_array_equal(method.errors(five), method.errors(padded))


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"most": 1.5}, "not to be found"),
        ({"taper": 0.1}, "not to be found"),
        ({"target": 30, "factors": (2, 1, 1)}, "leave out one"),
        ({"consistent": 2, "factors": (1, 1, 2)}, "beyond the 2 consistent"),
        ({"low": 0.05}, "is not below"),
        ({"shape": "normal"}, "no least size"),
        ({"shape": "normal", "low": 0, "hash": "paper"}, "paper-centred"),
        ({"consistent": 0}, "at least 1"),
        ({"target": 30, "most": 2.5}, "at most 2"),
        ({"factors": (0, 1, 1)}, "above 0"),
        ({"sensitive": "slightly"}, "did you mean 'slight'"),
    ],
)
def test_it_refuses_parameters_that_do_not_go_together(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(ParameterError, match=problem):
        LayeredPerturbation(**settings)


def test_no_refusal_tells_a_number() -> None:
    table = a_table()
    shadow = dataclasses.replace(table.contributions, total=table.value + 987.25)
    with pytest.raises(InputError) as caught:
        LayeredPerturbation().apply(table.replace(contributions=shadow))
    assert not any(character.isdigit() for character in str(caught.value))
