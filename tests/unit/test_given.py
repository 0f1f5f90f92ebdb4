"""Tables given without microdata: what is read, what must hold, and what happens where it does not."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from discreet.errors import AdditivityError, HierarchyError, InputError, ParameterError
from discreet.io.given import read_given
from discreet.io.hierarchies import read_hierarchy
from discreet.model.hierarchy import Hierarchy
from discreet.model.table import Table

SECRET = 917346.25


def two_way(**more: object) -> dict[str, list]:
    """A 2 × 2 table with totals."""
    lines = {
        "nace": ["Total", "Total", "Total", "A", "A", "A", "B", "B", "B"],
        "region": ["Total", "n", "s"] * 3,
        "value": [21, 9, 12, 6, 2, 4, 15, 7, 8],
        "n": [18, 9, 9, 8, 4, 4, 10, 5, 5],
    }
    return lines | more


def read(lines, **options) -> Table:
    options.setdefault("n", "n" if options.get("kind") != "frequency" else None)
    return read_given(lines, spanning=["nace", "region"], **options)


def status_of(table: Table) -> dict[str, int]:
    return {table.label(cell): int(table.status[cell]) for cell in range(table.cells)}


# -------------------------------------------------------------------- reading


def test_frames_files_and_lists_say_the_same(tmp_path):
    lines = two_way()
    path = tmp_path / "table.csv"
    pl.DataFrame(lines).write_csv(path, separator=";")
    for source in (lines, pd.DataFrame(lines), pl.DataFrame(lines), pl.LazyFrame(lines), path, str(path)):
        table = read(source)
        assert table.cells == 9
        assert table.equations.shape == (6, 9)
        assert table.value[table.cell(nace="B", region="s")] == 8
        assert table.contributions.n[table.cell(nace="B")] == 10
        assert table.decimals == 0
        assert table.response == "value"
        assert table.history[-1].counts == {"lines": 9}


def test_an_empty_code_is_the_total_and_totals_have_their_own_code():
    lines = two_way(nace=[None, "", None, *"AAABBB"], region=["All", "n", "s"] * 3)
    table = read_given(lines, spanning={"nace": None, "region": Hierarchy.flat("ns", total="All")}, n="n", total="T")
    assert table.layouts[0].hierarchies[0].total == "T"
    assert table.value[table.cell()] == 21
    with pytest.raises(ParameterError, match="every hierarchy names its total"):
        read_given(lines, spanning={"region": Hierarchy.flat("ns", total="All")}, n="n", total="T")


def test_decimal_comma_exact_sums_and_dashes(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("k;v;n\nTotal;0,30;3\na;0,1;1\nb;0,2;2\nc;-;0\n")
    table = read_given(path, spanning=["k"], value="v", n="n")
    assert table.decimals == 1
    assert table.value.tolist() == [0.3, 0.1, 0.2]
    assert table.history[-1].counts == {"lines": 4, "empty": 1}


def test_float_residue_is_no_difference():
    lines = {"k": ["Total", "a", "b"], "value": [0.1 + 0.2, 0.1, 0.2], "n": [9, 4, 5]}
    table = read_given(lines, spanning=["k"], n="n")
    assert table.decimals == 1
    assert table.value[0] == 0.3
    text = lines | {"value": ["1995968.4053999998", "1995968.3", "0.1054"]}
    assert read_given(text, spanning=["k"], n="n").decimals == 4


def test_huge_and_tiny_values_are_exact():
    lines = {"k": ["Total", "a", "b"], "value": ["10000000000000.000000001", "10000000000000", "1e-9"], "n": [2, 1, 1]}
    table = read_given(lines, spanning=["k"], n="n")
    assert table.decimals == 9
    off = lines | {"value": ["10000000000000.000000002", "10000000000000", "1e-9"]}
    with pytest.raises(AdditivityError):
        read_given(off, spanning=["k"], n="n")


def test_declared_decimals():
    lines = {"k": ["Total", "a", "b"], "value": [30.5 + 4e-13, 10.25, 20.25], "n": [2, 1, 1]}
    assert read_given(lines, spanning=["k"], n="n", decimals=2).decimals == 2
    assert read_given(lines, spanning=["k"], n="n", decimals=3).decimals == 3
    with pytest.raises(InputError, match="3 lines have more than the 0 decimals declared: 'k=Total', 'k=a', 'k=b'"):
        read_given(lines, spanning=["k"], n="n", decimals=0)


def test_top_holdings_shadow_and_limits():
    lines = two_way(
        held=[9, 5, 5, 4, 2, 2, 6, 3, 3],
        money=[210, 90, 120, 60, 20, 40, 150, 70, 80],
        max1=[80, 40, 80, 30, 15, 30, 80, 40, 80],
        max2=[40, 30, 30, 15, 3, 9, 40, 30, 0],
        cost=[1, 2, 3, 4, 5, 6, 7, 8, 9],
        lo=[20, *[None] * 8],
        hi=[22, *[None] * 8],
        upl=[0.5, *[0] * 8],
        lpl=[0.25, *[0] * 8],
    )
    table = read(
        lines, holdings="held", shadow="money", top=["max1", "max2"], cost="cost", lower="lo", upper="hi",
        upper_protection="upl", lower_protection="lpl",
    )  # fmt: skip
    cell = table.cell(nace="A", region="n")
    contributions = table.contributions
    assert contributions.total[cell] == 20
    assert contributions.top[cell].tolist() == [15, 3]
    assert contributions.holdings[cell] == 2
    assert contributions.n[cell] == 4
    assert contributions.top_id.max() == -1
    assert table.value[cell] == 2
    assert table.cost[cell] == 5
    assert (table.lower[0], table.upper[0]) == (20, 22)
    assert np.isnan(table.lower[cell])
    assert (table.upper_protection[0], table.lower_protection[0]) == (0.5, 0.25)


def test_a_missing_rank_is_fine_where_there_is_no_such_contributor():
    lines = {"k": ["Total", "a", "b"], "value": [9, 4, 5], "n": [3, 1, 2], "max1": [4, 4, 3], "max2": [3, None, 2]}
    assert read_given(lines, spanning=["k"], n="n", top=["max1", "max2"]).contributions.top.tolist() == [[4, 3], [4, 0], [3, 2]]
    lines["max2"][2] = None
    with pytest.raises(InputError, match="column 'max2': 1 lines have at least 2 contributors and no contribution here: 'k=b'"):
        read_given(lines, spanning=["k"], n="n", top=["max1", "max2"])


def test_statuses_in_letters_and_words():
    table = read(two_way(status=["S", "", "safe", "U", "unsafe", "m", "P", "frozen", " open "]), status="status")
    assert table.status.tolist() == [0, 0, 0, 2, 2, 1, 0, 0, 0]
    assert np.flatnonzero(table.frozen).tolist() == [6, 7]
    own = read(two_way(status=["z", *["s"] * 7, "x"]), status="status", statuses={"Z": "frozen", "x": "secondary"})
    assert own.frozen[0]
    assert own.status[8] == 1
    with pytest.raises(InputError, match="unknown statuses 'Q', 'x'"):
        read(two_way(status=["Q", *["x"] * 8]), status="status")
    with pytest.raises(ParameterError, match="'x' cannot mean 'hidden'"):
        read(two_way(status=["x"] * 9), status="status", statuses={"x": "hidden"})
    with pytest.raises(ParameterError, match="without a status column"):
        read(two_way(), statuses={"x": "secondary"})


def test_frequency_tables_need_no_n():
    table = read(two_way(), kind="frequency")
    assert table.contributions.n.tolist() == table.value.tolist()
    assert table.kind == "frequency"
    with pytest.raises(InputError, match="counts below 0"):
        read(two_way(value=[-1, *[0] * 8]), kind="frequency")


def test_empty_lines():
    lines = {"k": ["Total", "a", "b", "c"], "value": [5, 5, 0, 0], "n": [2, 2, 0, 1]}
    known = read_given(lines, spanning=["k"], n="n")
    assert [known.label(cell) for cell in range(known.cells)] == ["k=Total", "k=a", "k=c"]
    assert known.history[-1].counts["empty"] == 1
    assert read_given(lines, spanning=["k"], n="n", empty="possible").cells == 4
    kept = read_given(lines | {"status": ["S", "S", "U", "S"]}, spanning=["k"], n="n", status="status")
    assert kept.cells == 4
    with pytest.raises(InputError, match="no cell that is not empty"):
        read_given({"k": ["Total", "a"], "value": [0, 0], "n": [0, 0]}, spanning=["k"], n="n")


def test_a_total_of_zero_stays_while_a_part_is_to_be_protected():
    """S02: 0 = 0 + 0 + 0, the first one sensitive; that the sum is 0 must not be forgotten."""
    lines = {"k": ["Total", "a", "b", "c"], "value": [0, 0, 0, 0], "s": ["S", "U", "S", "S"]}
    table = read_given(lines, spanning=["k"], kind="frequency", status="s")
    assert table.cell(k="a") == table.cell()
    assert table.status.tolist() == [2]
    assert read_given(lines, spanning=["k"], kind="frequency", status="s", empty="possible").cells == 4


# -------------------------------------------------------------------- refusals


def refused(lines, words: str, kind=InputError, **options):
    with pytest.raises(kind, match=words) as caught:
        read(lines, **options)
    text = str(caught.value) + repr(caught.value.details)
    assert str(SECRET) not in text
    return caught.value


def test_refusals_name_codes_and_never_values():
    base = two_way()
    twice = {name: [*column, column[4], column[4], column[8]] for name, column in base.items()}
    assert (
        refused(twice, r"on several lines \(3 lines\): 'nace=A, region=n', 'nace=B, region=s'").details[0] == "nace=A, region=n"
    )
    refused(two_way(n=[18, 9, 9, 8, 0, 4, 10, 5, 5]), r"value without contributors \(1 lines\): 'nace=A, region=n'")
    refused(two_way(n=[-1, *base["n"][1:]]), "contributors is negative")
    refused(two_way(h=[19, *base["n"][1:]]), "more holdings than units", holdings="h")
    refused(two_way(c=[-1] * 9), "the cost is negative", cost="c")
    refused(two_way(p=[-1] * 9), "protection level is negative", upper_protection="p")
    refused(two_way(lo=[22, *[0] * 8]), "outside its bounds.*'nace=Total, region=Total'", lower="lo")
    refused(two_way(st=["e", *["s"] * 8]), "status says empty and there is a value", status="st")
    refused(two_way(value=[f"{SECRET}x", *base["value"][1:]]), "column 'value': 1 lines hold no plain number: 'nace=Total")
    refused(two_way(value=["1.234,5", *base["value"][1:]]), "hold no plain number")
    refused(two_way(value=[float("inf"), *base["value"][1:]]), "hold no plain number")
    refused(two_way(value=[True, *base["value"][1:]]), "hold no plain number")
    refused(two_way(value=[None, *base["value"][1:]]), "1 lines have no value")
    refused(two_way(n=[None, *base["n"][1:]]), "1 lines have no number of contributors")
    refused(two_way(c=[None, *[1] * 8]), "1 lines are empty", cost="c")
    refused(base, "no column with the number of contributors is named", n=None)
    refused(base, r"no column 'valeu' for the value \(did you mean 'value'\?\)", value="valeu")
    refused(base | {"n": [1]}, "its columns differ in length")
    refused({name: [] for name in base}, "holds no lines")
    refused(base, "'total' is not one of given, compute", kind=ParameterError, totals="total")
    with pytest.raises(ParameterError, match=r"'magnitud' is not one of .*did you mean 'magnitude'"):
        read_given(base, spanning=["nace"], kind="magnitud")
    with pytest.raises(ParameterError, match="missing_n: is given without a column"):
        read_given(base, spanning=["nace", "region"], kind="frequency", missing_n=1)
    with pytest.raises(InputError, match="no spanning variable is named"):
        read_given(base, spanning=[], n="n")


def test_largest_contributions_are_checked():
    lines = two_way(m1=[8, 7, 8, 4, 1, 4, 8, 7, 8], m2=[7, 2, 4, 1, 1, 0, 7, 0, 0])
    assert read(lines, top=["m1", "m2"]).contributions.ranks == 2
    refused(lines, r"largest contributions do not fall \(8 lines\)", top=["m2", "m1"])
    refused(lines | {"m1": [8, 7, 8, 4, 2, 4, 8, 7, 8]}, "add up to more than the cell.*'nace=A, region=n'", top=["m1", "m2"])
    refused(lines | {"n": [18, 9, 9, 8, 1, 4, 10, 5, 5]}, "more largest contributions than contributors", top=["m1", "m2"])
    signed = {"k": ["Total", "a", "b"], "value": [-10, -15, 5], "n": [5, 3, 2], "m1": [100, 100, 5], "m2": [-95, -95, 0]}
    assert read_given(signed, spanning=["k"], n="n", top=["m1", "m2"]).value[0] == -10


def test_unknown_codes_are_all_listed():
    tree = Hierarchy.flat(["A", "C"])
    with pytest.raises(
        HierarchyError, match=r"column 'nace': 2 codes are not in the hierarchy: ' A' \(did you mean 'A'\?\), 'B'"
    ):
        read_given(two_way(nace=["Total"] * 3 + [" A"] * 3 + ["B"] * 3), spanning={"nace": tree, "region": None}, n="n")


# -------------------------------------------------------------------- additivity


def test_s10_every_relation_that_fails_is_named():
    tree = Hierarchy.from_parents([("GHGU", f"g{i}") for i in range(6)] + [("Total", "X")])
    lines = {"nace": ["GHGU", *(f"g{i}" for i in range(6)), "X", "Total"], "freq": [1, *[0] * 6, 4, 5]}
    both = {name: column * 2 for name, column in lines.items()} | {"region": ["EB"] * 9 + ["Total"] * 9}
    options = {"spanning": {"nace": tree, "region": None}, "value": "freq", "kind": "frequency"}
    with pytest.raises(AdditivityError) as caught:
        read_given(both, **options)
    relation = "total does not equal the sum of its parts over nace"
    assert caught.value.details == [
        {"nace": "GHGU", "region": "EB", "relation": relation},
        {"nace": "GHGU", "region": "Total", "relation": relation},
    ]
    assert f"nace=GHGU, region=EB: {relation}" in str(caught.value)
    slack = read_given(both, on_nonadditive="slack", **options)
    assert slack.history[-1].counts["relations given up"] == 2
    assert abs(slack.equations @ slack.value).max() == 0
    mended = read_given(both, on_nonadditive="recompute_totals", **options)
    assert mended.value[mended.cell()] == 4
    assert mended.history[-1].counts["totals recomputed"] == 4


def test_s13_rounded_cells_and_unrounded_ones():
    exact = {"k": ["Total", "a", "b", "c"], "value": [46.3125, 15.4375, 15.4375, 15.4375], "n": [3, 1, 1, 1]}
    assert read_given(exact, spanning=["k"], n="n").decimals == 4
    rounded = exact | {"value": [46.31, 15.44, 15.44, 15.44]}
    with pytest.raises(AdditivityError, match="1 relations do not hold: k=Total: total does not equal"):
        read_given(rounded, spanning=["k"], n="n")
    assert read_given(rounded, spanning=["k"], n="n", on_nonadditive="recompute_totals").value[0] == 46.32


def test_s22_a_published_row_with_its_largest_contributors():
    lines = {
        "state": ["Total", "a", "b"],
        "value": [2000, 1000, 1000],
        "n": [10, 5, 5],
        "max1": [620] * 3,
        "max2": [300, 300, 280],
    }
    of = read_given(lines, spanning=["state"], n="n", top=["max1", "max2"]).contributions
    remainder = of.total - of.top.sum(axis=1)
    assert (remainder < 0.15 * of.top[:, 0]).tolist() == [False, True, False]


def test_s36_duplicates_never_become_two_cells():
    with pytest.raises(InputError, match="'a=A, b=x'"):
        read_given(
            {"a": ["A", "A", "B"], "b": ["x", "x", "x"], "freq": [3, 4, 9]}, spanning=["a", "b"], value="freq", kind="frequency"
        )


def test_slack_gives_up_the_relation_and_no_other():
    table = read(two_way(value=[22, 9, 12, 6, 2, 4, 15, 7, 8]), on_nonadditive="slack")
    assert table.equations.shape == (4, 9)
    assert table.cells == 9


def test_totals_that_cannot_be_mended():
    """A's total over its regions is another one than over its divisions: no inner line decides."""
    tree = Hierarchy.from_parents([("A", "A1"), ("A", "A2")])
    lines = {"nace": ["A", "A", "A1", "A2"], "region": ["Total", "n", "Total", "Total"], "value": [5, 5, 1, 3]}
    options = {"spanning": {"nace": tree, "region": None}, "kind": "frequency"}
    with pytest.raises(AdditivityError, match="different sums over different variables"):
        read_given(lines, on_nonadditive="recompute_totals", **options)


def test_recomputed_totals_keep_all_that_did_not_change():
    lines = two_way(value=[20, 9, 12, 6, 2, 4, 14, 7, 8], cost=[1] * 9)
    table = read(lines, on_nonadditive="recompute_totals", cost="cost")
    assert table.value.tolist() == two_way()["value"]
    assert table.history[-1].counts["totals recomputed"] == 2
    assert table.cost[table.cell(region="n")] == 1


# -------------------------------------------------------------------- margins


def test_margins_are_computed_at_every_level():
    tree = Hierarchy.from_parents([("A", "A1"), ("A", "A2"), ("B", "B1")], groupings=[{"G": ["A1", "B1"]}])
    lines = {
        "nace": ["A1", "A1", "A2", "B1", "B1"], "region": ["n", "s", "n", "n", "s"], "value": [1.5, 2, 4, 8, 16],
        "n": [2, 1, 1, 3, 4], "max1": [1, 2, 4, 6, 10], "max2": [0.5, 0, 0, 1, 5],
    }  # fmt: skip
    table = read_given(lines, spanning={"nace": tree, "region": None}, n="n", top=["max1", "max2"], totals="compute")
    assert len(table.layouts[0].cell) == 21 - 1  # A2 has no line in the south; A has
    assert table.value[table.cell()] == 31.5
    assert table.value[table.cell(nace="G", region="s")] == 18
    assert table.contributions.n[table.cell(nace="A")] == 4
    assert table.contributions.top[table.cell(nace="A")].tolist() == [4, 2]
    assert table.cell(nace="A", region="s") == table.cell(nace="A1", region="s")
    assert table.cell(nace="B1") == table.cell(nace="B")
    assert abs(table.equations @ table.value).max() == 0
    assert table.cost[table.cell()] == 31.5


def test_margins_that_are_not_given_stay_out():
    inner = {name: column[3:] for name, column in two_way().items()}
    table = read(inner)
    assert table.cells == 6
    assert table.equations.shape == (2, 6)
    only_inner = {name: [entry for i, entry in enumerate(column) if i in (4, 5, 7, 8)] for name, column in two_way().items()}
    assert read(only_inner).equations.shape == (0, 4)
    whole = read(only_inner, totals="compute")
    assert whole.value[whole.cell()] == 21
    assert whole.history[-1].counts["margins computed"] == 5


def test_lines_of_one_cell_must_agree_and_keep_the_stronger_status():
    tree = Hierarchy.from_parents([("R", "K"), ("S", "L"), ("S", "M")])
    lines = {"r": ["Total", "R", "K", "S", "L", "M"], "value": [6, 1, 1, 5, 2, 3], "n": [9, 2, 2, 7, 3, 4]}
    table = read_given(lines | {"s": ["", "U", "", "", "", ""]}, spanning={"r": tree}, n="n", status="s")
    assert table.cells == 5
    assert table.status[table.cell(r="K")] == 2
    with pytest.raises(InputError, match="same cell and differ in their number of contributors: 'r=K and r=R'"):
        read_given(lines | {"n": [9, 2, 1, 7, 3, 4]}, spanning={"r": tree}, n="n")
    with pytest.raises(InputError, match="suppressed here and to be published there: 'r=R and r=K'"):
        read_given(lines | {"s": ["", "U", "P", "", "", ""]}, spanning={"r": tree}, n="n", status="s")


def test_several_totals_agree_with_brute_force():
    """Random three-way tables read back from their lines are what exact fractions say."""
    rng = np.random.default_rng(3)
    trees = [Hierarchy.from_parents([("A", "A1"), ("A", "A2"), ("Total", "B")]), Hierarchy.flat("xy"), Hierarchy.flat("pqr")]
    inner = {(a, b, c): Fraction(int(rng.integers(0, 999)), 100) for a in ("A1", "A2", "B") for b in "xy" for c in "pqr"}
    lines = {"v1": [], "v2": [], "v3": [], "value": [], "n": []}
    for (a, b, c), number in inner.items():
        for name, entry in zip(lines, (a, b, c, float(number), 1), strict=True):
            lines[name].append(entry)
    table = read_given(lines, spanning=dict(zip(lines, trees, strict=False)), n="n", totals="compute")
    for line, cell in zip(table.layouts[0].codes, table.layouts[0].cell, strict=True):
        a, b, c = (tree.codes[code] for tree, code in zip(trees, line, strict=True))
        total = sum(
            number
            for (i, j, k), number in inner.items()
            if a in ("Total", i, i[:1]) and b in ("Total", j) and c in ("Total", k)
        )
        assert Fraction(table.value[cell]).limit_denominator(1000) == total


# -------------------------------------------------------------------- real files


def test_business_tables_have_the_primaries_that_others_found(shared: Path):
    folder = shared / "data/argus/linked_business"
    activity = read_hierarchy(folder / "activity_corr_table.csv")
    nuts = read_hierarchy(folder / "nuts23_fr_corr_table.csv")
    found = {}
    for name, spanning in (
        ("act_size", {"ACTIVITY": activity, "SIZE": None}),
        ("act_cj", {"ACTIVITY": activity, "CJ": None}),
        ("nuts_size", {"NUTS": nuts, "SIZE": None}),
        ("nuts_cj", {"NUTS": nuts, "CJ": None}),
    ):
        table = read_given(folder / f"turnover_{name}.csv", spanning=spanning, value="TOT", n="N_OBS", top=["MAX"])
        assert table.decimals == 4
        of = table.contributions
        few = of.n < 3
        dominated = ~few & (of.top[:, 0] > 0.85 * of.total)
        cell = table.layouts[0].cell
        found[name] = (int(few[cell].sum()), int(dominated[cell].sum()))
    assert found == {"act_size": (52, 25), "act_cj": (35, 25), "nuts_size": (55, 17), "nuts_cj": (45, 20)}


def test_a_table_with_padded_codes_and_statuses(shared: Path):
    folder = shared / "data/argus/golden/Batch/ex1"
    trees = {name: read_hierarchy(folder / f"hier_{name}_ex1.hrc") for name in ("region", "gender")}
    options = {
        "names": ["region", "gender", "freq", "status", "lpl", "upl"], "value": "freq", "kind": "frequency", "status": "status",
        "lower_protection": "lpl", "upper_protection": "upl",
    }  # fmt: skip
    with pytest.raises(HierarchyError, match=r"'    A' .did you mean 'A'"):
        read_given(folder / "tabdata_ex1.tab", spanning=trees, **options)
    table = read_given(folder / "tabdata_ex1.tab", spanning=trees, strip_codes=True, **options)
    assert table.cells == 15
    assert {cell: status for cell, status in status_of(table).items() if status} == {"region=A, gender=female": 2}
    assert table.upper_protection.tolist() == [1] * 15


def test_a_table_with_decimal_commas(shared: Path):
    folder = shared / "data/argus/samples"
    region = read_hierarchy(folder / "tableinput/region2.hrc").with_leaf("99")
    options = {
        "spanning": {"Size": None, "Region": region}, "value": "Var2", "n": "Freq", "shadow": "Shadow", "cost": "Cost",
        "top": ["Top1", "Top2"], "status": "Status", "lower_protection": "lpl", "upper_protection": "upl", "strip_codes": True,
        "names": ["Size", "Region", "Var2", "Freq", "Shadow", "Cost", "Top1", "Top2", "Status", "lpl", "upl"],
    }  # fmt: skip
    with pytest.raises(AdditivityError, match="3 relations do not hold"):
        read_given(folder / "tableinput/pp.tab", **options)
    table = read_given(folder / "tableinput/pp.tab", on_nonadditive="slack", **options)
    assert table.decimals == 2
    assert table.value[table.cell()] == 16847646.84
    assert table.upper_protection[table.cell(Size="9", Region=" 4")] == 1288.15
    assert int(table.primary.sum()) == 7
