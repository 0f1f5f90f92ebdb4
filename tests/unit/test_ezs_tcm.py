"""Noise on every contribution, and noise on the largest ones."""

import dataclasses
import hashlib

import numpy as np
import pandas as pd
import polars as pl
import pytest

from discreet.errors import InputError, ParameterError
from discreet.io.microdata import read_microdata
from discreet.model.intruder import Intruder
from discreet.model.keys import Secret
from discreet.model.link import link
from discreet.model.noise import PURPOSE, Noise, UnitNoise, hashed
from discreet.model.tabulate import tabulate
from discreet.tables.perturb.ezs import EvansZayatzSlanta
from discreet.tables.perturb.layered import LayeredPerturbation
from discreet.tables.perturb.tcm import TopContributors
from discreet.testing import small_table

SECRET = Secret("a secret for tests only, known to all")
SHAPES = pytest.mark.parametrize("shape", ["split-triangular", "uniform"])


def records(seed=5, rows=600, *, cells=12, holdings=None):
    """Enterprises with keys, a skewed turnover of two decimals and codes; ``holdings`` groups them."""
    chance = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "enterprise": [f"e{i:05}" for i in range(rows)],
            "nace": [f"n{i:02}" for i in chance.integers(0, cells, rows)],
            "region": [f"r{i}" for i in chance.integers(0, 3, rows)],
            "turnover": np.round(np.exp(chance.normal(5, 1.5, rows)), 2),
            "key": chance.integers(0, 2**32, rows),
        }
    )
    if holdings:
        frame["group"] = [f"g{i}" if i < holdings else "" for i in chance.integers(0, 2 * holdings, rows)]
    return frame


def counted(frame, method, spanning=("nace", "region"), *, secret=None, key="key", ranks=4, **more):
    roles = {role: more.pop(role) for role in ("holding", "weight") if role in more}
    microdata = read_microdata(frame, unit="enterprise", record_key=None if secret else key, **roles)
    noise = getattr(method, "unit_noise", None)
    return tabulate(
        microdata, spanning=list(spanning), response="turnover", ranks=ranks, secret=secret, unit_noise=noise, **more
    )


def by_label(table, array):
    return {table.label(cell): array[cell] for cell in range(table.cells)}


def numpy_key(keys):
    return np.array([int(hashlib.sha256(f"{PURPOSE}{key}".encode()).hexdigest()[:8], 16) for key in keys])


# -------------------------------------------------------------------- the noise that tabulate sums


@SHAPES
@pytest.mark.parametrize("frame_of", [lambda frame: frame, pl.from_pandas], ids=["pandas", "polars"])
def test_the_noise_of_each_record_is_that_of_its_key(shape, frame_of):
    frame = records(rows=300)
    method = EvansZayatzSlanta(shape=shape, low=0.017, high=0.043)
    table = counted(frame_of(frame), method, ["enterprise"])
    epsilon = method.unit_noise.noise.of_key(numpy_key(frame["key"]))
    wanted = np.round(epsilon * frame["turnover"].to_numpy(), 4)
    noise = by_label(table, table.contributions.noise)
    found = np.array([noise[f"enterprise={name}"] for name in frame["enterprise"]])
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-9)
    assert 0.3 < (epsilon > 0).mean() < 0.7
    assert np.abs(epsilon).min() >= 0.017
    assert np.abs(epsilon).max() <= 0.043


def test_small_keys_give_spread_noise_all_the_same():
    frame = records(rows=400).assign(key=lambda f: np.arange(len(f)) % 256)
    table = counted(frame, EvansZayatzSlanta(), ["enterprise"])
    inner = table.contributions.n == 1
    ratio = table.contributions.noise[inner] / table.contributions.total[inner]
    assert 0.35 < (ratio > 0).mean() < 0.65
    assert np.std(np.abs(ratio)) == pytest.approx(0.02 / np.sqrt(18), rel=0.15)


def test_noise_is_summed_exactly_whatever_the_order_of_the_records():
    frame = records()
    method = EvansZayatzSlanta()
    table = counted(frame, method)
    contributions = table.contributions
    epsilon = method.unit_noise.noise.of_key(numpy_key(frame["key"]))
    frame["noise"] = np.round(epsilon * frame["turnover"], 4)
    total = table.cell()
    assert contributions.noise[total] == pytest.approx(frame["noise"].sum(), abs=1e-8)
    assert contributions.squares[total] == pytest.approx((frame["turnover"] ** 2).sum(), rel=1e-9)
    again = counted(frame.sample(frac=1, random_state=3), method).contributions
    np.testing.assert_array_equal(contributions.noise, again.noise)
    np.testing.assert_array_equal(contributions.squares, again.squares)
    np.testing.assert_array_equal(contributions.noise, counted(pl.from_pandas(frame), method).contributions.noise)


def test_a_unit_has_the_same_noise_in_every_table_and_under_every_filter():
    frame = records()
    method = EvansZayatzSlanta()
    wide = by_label(*_noise_of(counted(frame, method)))
    narrow = by_label(*_noise_of(counted(frame, method, ["region"])))
    filtered = by_label(*_noise_of(counted(frame, method, ["nace"], where={"region": ["r1"]})))
    for region in ("r0", "r1", "r2"):
        assert narrow[f"region={region}"] == wide[f"nace=Total, region={region}"]
    for nace in frame.query("region == 'r1'")["nace"].unique():
        assert filtered[f"nace={nace}"] == wide[f"nace={nace}, region=r1"]


def _noise_of(table):
    return table, table.contributions.noise


def test_the_units_of_a_company_have_one_direction():
    frame = records(holdings=20)
    own = counted(frame, EvansZayatzSlanta(), ["enterprise"], secret=SECRET, holding="group")
    company = counted(frame, EvansZayatzSlanta(direction="company"), ["enterprise"], secret=SECRET, holding="group")
    of_own, of_company = by_label(*_noise_of(own)), by_label(*_noise_of(company))
    signs = {}
    for name, group in zip(frame["enterprise"], frame["group"], strict=True):
        one, other = of_own[f"enterprise={name}"], of_company[f"enterprise={name}"]
        assert abs(one) == abs(other), "only the direction is the company's"
        signs.setdefault(group or name, set()).add(np.sign(other))
        if not group:
            assert one == other
    assert all(len(found) == 1 for found in signs.values())
    assert {next(iter(found)) for found in signs.values()} == {-1, 1}
    grouped = frame.query("group != ''")
    differ = [
        np.sign(of_own[f"enterprise={name}"]) != np.sign(of_company[f"enterprise={name}"]) for name in grouped["enterprise"]
    ]
    assert np.mean(differ) > 0.3


def test_balanced_noise_alternates_and_distorts_margins_less():
    frame = records(rows=3000, cells=20)
    frame["turnover"] = np.round(1000 / (1 + np.arange(3000) % 50), 2)
    plain, balanced = EvansZayatzSlanta(), EvansZayatzSlanta(direction="balanced")
    one, other = counted(frame, plain), counted(frame, balanced)
    margins = np.flatnonzero(one.contributions.n > 100)
    assert len(margins) > 20
    rough, smooth = (np.sqrt(np.mean((t.contributions.noise[margins] / t.value[margins]) ** 2)) for t in (one, other))
    assert smooth < rough / 2
    small = frame.iloc[:7].assign(nace="n00", region="r0", turnover=[50.25, 40, 30, -20, 10, 10, 5])
    noise = counted(small, balanced, ["nace"]).contributions.noise
    size = np.abs(balanced.unit_noise.noise.of_key(numpy_key(small["key"]))) * small["turnover"].abs()
    first = 1 if numpy_key(small["key"])[0] >= 2**31 else -1
    order = [0, 1, 2, 3, *sorted((4, 5), key=lambda i: small["key"][i]), 6]
    assert noise[0] == pytest.approx(first * sum((-1) ** place * size[i] for place, i in enumerate(order)), abs=1e-3)


def test_balanced_noise_keeps_the_records_of_one_contributor_together():
    frame = pd.DataFrame(
        {
            "enterprise": ["a", "a", "a", "b", "c"],
            "nace": ["n"] * 5,
            "turnover": [30.25, 30.25, 29.5, 80.0, 5.0],
            "key": [2**31 + 7, 2**31 + 7, 2**31 + 7, 5, 9],
        }
    )
    method = EvansZayatzSlanta(direction="balanced")
    noise = counted(frame, method, ["nace"]).contributions.noise[0]
    size = np.abs(method.unit_noise.noise.of_key(numpy_key([2**31 + 7, 5, 9])))
    assert abs(noise) == pytest.approx(90 * size[0] - 80 * size[1] + 5 * size[2], abs=1e-3)


def test_what_tabulate_cannot_make_noise_of_is_refused():
    frame = records(holdings=5)
    noise = EvansZayatzSlanta().unit_noise
    with pytest.raises(InputError, match="record keys, and there are none"):
        tabulate(read_microdata(frame), spanning=["nace"], response="turnover", unit_noise=noise)
    with pytest.raises(InputError, match="no response"):
        tabulate(read_microdata(frame, record_key="key"), spanning=["nace"], unit_noise=noise)
    company = EvansZayatzSlanta(direction="company").unit_noise
    microdata = read_microdata(frame, record_key="key", holding="group")
    with pytest.raises(InputError, match="companies have no key"):
        tabulate(microdata, spanning=["nace"], response="turnover", unit_noise=company)
    with pytest.raises(ParameterError, match="not the same on every engine"):
        UnitNoise(noise=Noise(shape="normal", low=0))
    with pytest.raises(ParameterError, match="sideways"):
        UnitNoise(noise=Noise(), direction="sideways")


# -------------------------------------------------------------------- EZS


def test_ezs_shows_the_sum_of_the_noise_with_its_standard_error():
    method = EvansZayatzSlanta(known=True)
    before = counted(records(), method)
    assert np.isinf(EvansZayatzSlanta().apply(before).shown_high).all()
    table = method.apply(before)
    np.testing.assert_allclose(table.shown, before.value + before.contributions.noise, atol=0.0051)
    wanted = np.sqrt(method.unit_noise.noise.variance * before.contributions.squares)
    np.testing.assert_array_equal(table.shown_error, wanted)
    assert table.perturbed.all()
    assert (table.shown_low <= table.value).all()
    assert (table.shown_high >= table.value).all()
    np.testing.assert_allclose(table.shown_high, (table.shown + 0.005) / 0.96)
    np.testing.assert_allclose(table.shown_low, (table.shown - 0.005) / 1.04)


@pytest.mark.parametrize(("direction", "least"), [("unit", 0.94), ("company", 0.75), ("balanced", 0.3)])
def test_the_standard_error_of_ezs_holds_or_is_the_largest(direction, least):
    method = EvansZayatzSlanta(direction=direction, low=0.02, high=0.06)
    frame = records(rows=6000, cells=500, holdings=800 if direction == "company" else None)
    more = {"holding": "group"} if direction == "company" else {}
    table = method.apply(counted(frame, method, secret=SECRET, **more))
    inner = table.contributions.n < 15
    z = ((table.shown - table.value) / table.shown_error)[inner & (table.shown_error > 0.1)]
    assert len(z) > 1000
    assert abs(z.mean()) < 0.1
    assert least < np.sqrt(np.mean(z**2)) < 1.06


def test_with_weights_only_the_own_share_carries_noise():
    frame = records().assign(w=lambda f: 1.0 + np.arange(len(f)) % 3)
    method = EvansZayatzSlanta(known=True)
    plain, weighted = counted(frame, method), counted(frame, method, weight="w")
    assert (weighted.value > 1.5 * plain.value).any()
    np.testing.assert_array_equal(plain.contributions.noise, weighted.contributions.noise)
    shown = method.apply(weighted)
    np.testing.assert_allclose(shown.shown, weighted.value + plain.contributions.noise, atol=0.051)
    assert np.isfinite(shown.shown_high).all()


def test_no_bounds_where_values_can_be_negative():
    frame = records()
    frame.loc[3, "turnover"] = -40.0
    method = EvansZayatzSlanta(known=True)
    before = counted(frame, method)
    assert np.isinf(method.apply(before).shown_high).all()
    assert np.isinf(method.apply(before.with_intruder(Intruder(nonnegative=False))).shown_low).all()
    positive = counted(records(), method)
    assert np.isfinite(method.apply(positive).shown_high).all()
    assert np.isinf(method.apply(positive.with_intruder(Intruder(nonnegative=False))).shown_high).all()


def test_ezs_refuses_what_it_cannot_perturb():
    method = EvansZayatzSlanta()
    with pytest.raises(InputError, match="no unit noise") as caught:
        method.apply(counted(records(), None))
    assert "unit_noise=method.unit_noise" in caught.value.fix
    table = counted(records(), method)
    with pytest.raises(InputError, match="unit noise of other settings"):
        EvansZayatzSlanta(high=0.05).apply(table)
    with pytest.raises(InputError, match="not for counts"):
        method.apply(small_table([[3, 4], [5, 6]], kind="frequency"))
    with pytest.raises(ParameterError, match="not below high"):
        EvansZayatzSlanta(low=0.05, high=0.04)


def test_linked_tables_keep_their_unit_noise_and_must_agree_in_it():
    frame = records()
    method = EvansZayatzSlanta()
    one, other = counted(frame, method, name="one"), counted(frame, method, ["region"], name="other")
    linked = link(one, other)
    assert linked.unit_noise == method.unit_noise
    shown = by_label(linked, method.apply(linked).shown)
    alone = by_label(one, method.apply(one).shown)
    assert shown == alone
    with pytest.raises(InputError, match="unit_noise"):
        link(one, counted(frame, None, ["region"], name="other"))


def test_suppressed_cells_stay_hidden_unless_they_are_to_be_shown():
    method = EvansZayatzSlanta()
    table = counted(records(), method)
    hide = np.arange(table.cells) % 7 == 1
    table = table.with_secondary("before", hide)
    assert (method.apply(table).suppressed == hide).all()
    assert not dataclasses.replace(method, sensitive="show").apply(table).suppressed.any()


# -------------------------------------------------------------------- TCM


def test_tcm_is_its_formula():
    method = TopContributors(magnitudes=(0.5, 0.25, 0.1), low=0.1, high=0.3)
    before = counted(records(), method)
    table = method.apply(before)
    held = before.contributions
    noise = Noise(low=0.1, high=0.3)
    wanted = np.zeros(before.cells)
    for cell in range(before.cells):
        for rank, magnitude in enumerate(method.magnitudes):
            unit = held.top_key[cell, rank]
            s = abs(noise.of_key(hashed(b"tcm cell", np.array([[held.key[cell], unit]])) % 2**32)[0])
            d = 1 if hashed(b"tcm unit", np.array([[unit]]))[0] % 2**32 >= 2**31 else -1
            assert 0.1 <= s <= 0.3
            wanted[cell] += magnitude * d * s * held.top[cell, rank]
    np.testing.assert_allclose(table.shown, before.value + wanted, atol=0.0051)
    error = np.sqrt(noise.variance * (held.top[:, :3] ** 2 @ np.square(method.magnitudes)))
    np.testing.assert_allclose(table.shown_error, error)
    assert (table.shown_low <= table.value).all()
    assert (table.shown_high >= table.value).all()


def test_the_standard_error_of_tcm_holds():
    method = TopContributors()
    table = method.apply(counted(records(rows=6000, cells=500), method, secret=SECRET))
    z = ((table.shown - table.value) / table.shown_error)[table.shown_error > 0.1]
    assert abs(z.mean()) < 0.08
    assert np.sqrt(np.mean(z**2)) == pytest.approx(1, abs=0.05)


def test_tcm_noise_belongs_to_the_contributors_of_the_cell():
    frame = records()
    method = TopContributors()
    table = counted(frame, method)
    shown = by_label(table, method.apply(table).shown)
    shuffled = counted(pl.from_pandas(frame.sample(frac=1, random_state=1)), method)
    assert by_label(shuffled, method.apply(shuffled).shown) == shown
    regions = counted(frame, method, ["region"], ranks=9)
    for region, number in by_label(regions, method.apply(regions).shown).items():
        assert shown[f"nace=Total, {region}"] == number


def test_a_contributor_keeps_its_direction_and_changes_its_size():
    frame = records(rows=200, cells=40)
    method = TopContributors(magnitudes=(1.0,), low=0.1, high=0.2)
    whole = counted(frame, method, ["region"])
    largest = frame.loc[frame.groupby("region")["turnover"].idxmax()]
    rest = counted(frame.drop(index=frame[~frame.index.isin(largest.index)].index[:1]), method, ["region"])
    changed = 0
    for region, top in zip(largest["region"], largest["turnover"], strict=True):
        one, other = (method.noise(t.contributions)[t.cell(region=region)] / top for t in (whole, rest))
        assert np.sign(one) == np.sign(other)
        assert 0.1 <= abs(one) <= 0.2
        changed += one != other
    assert changed == 1


def test_tcm_of_holdings_and_weights_looks_at_the_contributors_own_sums():
    frame = records(holdings=20).assign(w=2.0)
    method = TopContributors()
    table = counted(frame, method, secret=SECRET, holding="group", weight="w")
    noise = method.noise(table.contributions)
    unweighted = counted(frame, method, secret=SECRET, holding="group")
    np.testing.assert_array_equal(noise, method.noise(unweighted.contributions))


def test_tcm_refuses_what_it_cannot_perturb():
    method = TopContributors()
    with pytest.raises(InputError, match="not for counts"):
        method.apply(small_table([[3, 4], [5, 6]], kind="frequency"))
    with pytest.raises(InputError, match="needs record keys"):
        method.apply(counted(records().assign(key=0), method))
    with pytest.raises(InputError, match="the 4 largest contributions of each cell, and 2 are kept"):
        method.apply(counted(records(), method, ranks=2))
    with pytest.raises(InputError, match="shadow"):
        method.apply(counted(records().assign(staff=lambda f: f["turnover"] + 7), method, shadow="staff"))
    with pytest.raises(ParameterError, match="names no contribution"):
        TopContributors(magnitudes=())
    assert method.ranks_needed == 4


def test_two_contributors_are_enough_for_four_magnitudes():
    frame = records(rows=12, cells=12).assign(nace=[f"n{i // 2}" for i in range(12)])
    method = TopContributors()
    table = counted(frame, method, ["nace", "enterprise"], ranks=12)
    assert method.apply(table).perturbed.all()


@pytest.mark.parametrize("method", [EvansZayatzSlanta(), TopContributors()], ids=["ezs", "tcm"])
def test_empty_cells_stay_empty(method):
    frame = records(rows=30)
    table = method.apply(counted(frame, method, empty="possible"))
    empty = table.contributions.n == 0
    assert empty.any()
    assert not table.perturbed[empty].any()
    assert table.perturbed[~empty].all()


@pytest.mark.parametrize("method", [EvansZayatzSlanta(), TopContributors()], ids=["ezs", "tcm"])
def test_no_value_or_key_is_told(method):
    frame = records().assign(turnover=lambda f: f["turnover"] + 7919000.37)
    table = method.apply(counted(frame, method))
    told = repr(table) + repr(table.history) + repr(method)
    for cell in range(table.cells):
        assert str(table.value[cell]) not in told
        assert str(table.contributions.key[cell]) not in told


@pytest.mark.parametrize("method", [TopContributors(), LayeredPerturbation(minimum=0)])
def test_contributors_with_several_keys_are_refused(method):
    """A holding whose units have keys of their own would carry the noise of another unit in each cell."""
    frame, ranks = records(holdings=40), method.ranks_needed
    with pytest.raises(InputError, match="one record key for each contributor"):
        method.apply(counted(frame, method, holding="group", ranks=ranks))
    method.apply(counted(frame, method, holding="group", ranks=ranks, secret=Secret("a secret of more than sixteen letters")))
