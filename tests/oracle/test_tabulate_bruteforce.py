"""Tabulation against a plain Python count of the same records, cell by cell."""

from collections import defaultdict
from decimal import Decimal
from itertools import product

import numpy as np
import pandas as pd
import pytest

from discreet.io.microdata import read_microdata
from discreet.model.hierarchy import Hierarchy
from discreet.model.tabulate import tabulate

TREE = {"A": "P", "B": "P", "C": "Q", "D": "Q"}
NACE = Hierarchy.from_parents([("Total", "P"), ("P", "A"), ("P", "B"), ("Total", "Q"), ("Q", "C"), ("Q", "D")])


def records(seed: int, rows: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "nace": rng.choice(list("ABCD"), rows),
            "region": rng.choice(["N", "S", "Zürich"], rows),
            "unit": [f"u{i}" for i in rng.integers(0, rows // 2, rows)],
            "turnover": [f"{v:.2f}" for v in rng.normal(50, 80, rows)],
            "weight": [f"{v:.1f}" for v in rng.uniform(1, 4, rows)],
            "key": rng.integers(0, 2**32, rows),
            "request": rng.choice(["", "1", "2"], rows, p=[0.8, 0.1, 0.1]),
            "waiver": rng.choice(["", "1"], rows, p=[0.7, 0.3]),
        }
    )


def with_holdings(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(holding=[f"h{int(u[1:]) % 11}" for u in frame["unit"]])


def counted(frame: pd.DataFrame, nace: str, region: str, contributor: str | None, weighted: bool) -> dict[str, object]:
    inside = [
        row
        for row in frame.to_dict("records")
        if (nace == "Total" or nace in (row["nace"], TREE[row["nace"]])) and region in ("Total", row["region"])
    ]
    by = defaultdict(list)
    for i, row in enumerate(inside):
        by[row[contributor] if contributor else i].append(row)
    people = []
    for who, rows in by.items():
        x = sum(Decimal(row["turnover"]) for row in rows)
        wx = sum(Decimal(row["turnover"]) * Decimal(row["weight"] if weighted else "1") for row in rows)
        request = max(int(row["request"] or 0) for row in rows)
        people.append((x, wx, request, all(row["waiver"] == "1" for row in rows), who))
    ranked = sorted(people, key=lambda one: -abs(one[0]))
    free = [one for one in ranked if not one[3]]
    return {
        "n": len({row["unit"] for row in inside}) if contributor else len(inside),
        "holdings": len(people),
        "value": float(sum(one[1] for one in people)),
        "unweighted": float(sum(one[0] for one in people)),
        "absolute": float(sum(abs(one[1]) for one in people)),
        "weight": float(sum(Decimal(row["weight"] if weighted else "1") for row in inside)),
        "top": [float(one[0]) for one in ranked[:3]],
        "top_weighted": [float(one[1]) for one in ranked[:3]],
        "requests": sum(one[2] > 0 for one in people),
        "top_request": [one[2] for one in ranked[:3]],
        "top_waiver": [one[3] for one in ranked[:3]],
        "unwaived_top": float(free[0][0]) if free else 0.0,
        "key": sum(row["key"] for row in inside) % 2**32,
    }


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("contributor", [None, "unit", "holding"])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_cell_equals_a_plain_count(seed: int, contributor: str | None, weighted: bool) -> None:
    frame = with_holdings(records(seed))
    microdata = read_microdata(
        frame,
        unit=None if contributor is None else "unit",
        holding="holding" if contributor == "holding" else None,
        weight="weight" if weighted else None,
        record_key="key",
        request="request",
        waiver="waiver",
    )
    table = tabulate(microdata, spanning={"nace": NACE, "region": None}, response="turnover", ranks=3)
    seen = 0
    for nace, region in product(NACE.codes, ["Total", "N", "S", "Zürich"]):
        expected = counted(frame, nace, region, contributor, weighted)
        line = table.layouts[0].line({"nace": nace, "region": region})
        if line is None:
            assert expected["n"] == 0
            continue
        seen += 1
        cell = table.layouts[0].cell[line]
        found = table.contributions.take([cell])
        assert table.value[cell] == expected["value"]
        for name in ("n", "holdings", "unweighted", "absolute", "weight", "requests", "unwaived_top", "key"):
            assert getattr(found, name)[0] == expected[name], (nace, region, name)
        ranks = len(expected["top"])
        for name in ("top", "top_weighted", "top_request", "top_waiver"):
            assert list(getattr(found, name)[0, :ranks]) == expected[name], (nace, region, name)
        assert not found.top[0, ranks:].any()
    assert seen > 20
    assert np.abs(table.equations @ table.value).max() < 1e-9


def test_contributor_numbers_tell_the_same_holding_in_different_cells() -> None:
    frame = with_holdings(records(7))
    table = tabulate(
        read_microdata(frame, unit="unit", holding="holding"), spanning=["nace", "region"], response="turnover", ranks=99
    )

    def told(**codes: str) -> set[int]:
        return {int(i) for i in table.contributions.top_id[table.cell(codes)] if i >= 0}

    def true(**codes: str) -> set[str]:
        inside = frame
        for column, code in codes.items():
            inside = inside[inside[column] == code]
        return set(inside["holding"])

    one, other = {"nace": "A", "region": "N"}, {"nace": "B"}
    assert len(true(**one) & true(**other)) > 0
    for left, right in ((one, one), (one, other), (other, {"region": "N"})):
        assert len(told(**left) & told(**right)) == len(true(**left) & true(**right))
        assert len(told(**left) - told(**right)) == len(true(**left) - true(**right))


def test_sums_are_exact_whatever_the_order_threads_and_frame() -> None:
    frame = with_holdings(records(3, 500)).assign(turnover=lambda f: f["turnover"].astype(float))
    first = None
    for order in range(3):
        shuffled = frame.sample(frac=1, random_state=order)
        microdata = read_microdata(shuffled, unit="unit", holding="holding", threads=1 + order % 2)
        table = tabulate(microdata, spanning={"nace": NACE, "region": None}, response="turnover")
        numbers = (table.value.tobytes(), table.contributions.top.tobytes(), table.contributions.top_id.tobytes())
        first = first or numbers
        assert numbers == first


def test_a_tenth_and_two_tenths_are_three_tenths() -> None:
    frame = pd.DataFrame({"a": ["x", "x"], "v": [0.1, 0.2]})
    assert tabulate(read_microdata(frame), spanning=["a"], response="v").value.tolist() == [0.3]


def test_frequency_tables_from_counted_rows_keep_their_zeros() -> None:
    frame = pd.DataFrame({"a": ["x", "x", "y"], "b": ["1", "2", "1"], "k": [3, 0, 4]})
    table = tabulate(read_microdata(frame, count="k"), spanning=["a", "b"])
    assert table.kind == "frequency"
    layout = table.layouts[0]
    shown = zip(layout.column(0), layout.column(1), table.value[layout.cell], strict=True)
    assert {(a, b): value for a, b, value in shown} == {
        ("Total", "Total"): 7, ("Total", "1"): 7, ("Total", "2"): 0,
        ("x", "Total"): 3, ("x", "1"): 3, ("x", "2"): 0, ("y", "Total"): 4, ("y", "1"): 4,
    }  # fmt: skip


def test_possible_empty_cells_are_cells_of_value_zero() -> None:
    frame = pd.DataFrame({"a": ["x", "y"], "b": ["1", "2"], "v": [3, 4]})
    structural = tabulate(read_microdata(frame), spanning=["a", "b"], response="v")
    possible = tabulate(read_microdata(frame), spanning=["a", "b"], response="v", empty="possible")
    assert (len(structural.layouts[0].codes), len(possible.layouts[0].codes)) == (7, 9)
    assert (structural.cells, possible.cells) == (3, 9)
    assert possible.value[possible.cell(a="x", b="2")] == 0


def test_shadow_feeds_the_rules_and_cost_the_preference() -> None:
    frame = pd.DataFrame({"a": ["x", "x", "y"], "v": [1, 2, 3], "s": [10, 20, 30], "c": [5, 5, 7]})
    table = tabulate(read_microdata(frame), spanning=["a"], response="v", shadow="s", cost="c", ranks=1)
    x = table.cell(a="x")
    assert (table.value[x], table.contributions.total[x], table.contributions.top[x, 0], table.cost[x]) == (3, 30, 20, 10)


def test_a_filter_keeps_the_named_codes() -> None:
    frame = pd.DataFrame({"a": ["x", "x", "y"], "f": [1, 2, 1], "v": [1, 2, 3]})
    table = tabulate(read_microdata(frame), spanning=["a"], response="v", where={"f": ["1"]})
    assert table.value[table.cell()] == 4
