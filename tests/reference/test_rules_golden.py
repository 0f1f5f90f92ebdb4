"""The sensitive cells that τ-ARGUS, rtauargus and GaussSuppression found in their own demo data.

Contributions are counted here with a plain group-by, so that the rules are tested apart from the library's tabulation.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from discreet.model.contributions import Contributions
from discreet.model.hierarchy import Hierarchy
from discreet.model.layout import Layout
from discreet.model.table import Table
from discreet.tables.rules import APriori, Dominance, KDisclosure, MinimumFrequency, PPercent
from discreet.testing import small_table

Codes = set[tuple[str, ...]]
Up = Mapping[str, Sequence[str]]


def counted(
    records: pd.DataFrame, by: Mapping[str, Up], who: str, value: str, ranks: int = 2
) -> tuple[pd.DataFrame, Contributions]:
    """Every cell: its codes, and what its contributors give; ``by`` lists the codes in which each code counts."""
    for variable, above in by.items():
        pairs = pd.DataFrame([(code, up) for code, ups in above.items() for up in ups], columns=[variable, "up"])
        records = records.merge(pairs, on=variable).drop(columns=variable).rename(columns={"up": variable})
    cells = list(by)
    given = records.groupby([*cells, who], as_index=False).agg(x=(value, "sum"), n=(value, "size"))
    given = given.sort_values("x", key=lambda x: -x.abs(), kind="stable")
    given["rank"] = given.groupby(cells).cumcount()
    given["abs"] = given["x"].abs()
    sums = given.groupby(cells).agg(total=("x", "sum"), n=("n", "sum"), holdings=("x", "size"), absolute=("abs", "sum"))
    top = given[given["rank"] < ranks].pivot(index=cells, columns="rank", values="x")
    top = top.reindex(index=sums.index, columns=range(ranks)).fillna(0.0)
    contributions = Contributions.of(
        sums["n"].to_numpy(float),
        sums["total"].to_numpy(),
        top=top.to_numpy(),
        holdings=sums["holdings"].to_numpy(float),
        absolute=sums["absolute"].to_numpy(),
    )
    return sums.reset_index(), contributions


def tree(path: Path) -> Up:
    """A hierarchy file with lead strings: each code with every code it counts in."""
    above: dict[str, Sequence[str]] = {}
    line_of: list[str] = []
    for line in path.read_text("utf-8").splitlines():
        code = line.lstrip("@").strip()
        if code:
            line_of = [*line_of[: len(line) - len(line.lstrip("@"))], code]
            above[code] = [*line_of, "Total"]
    return above


def flat(codes: pd.Series) -> Up:
    return {code: [code, "Total"] for code in codes.unique()}


def published(path: Path, status: str) -> Codes:
    """The codes of the cells with this status in a code-value file of τ-ARGUS."""
    frame = pd.read_csv(path, header=None, dtype=str, keep_default_na=False)
    chosen = frame[frame[3] == status]
    return {tuple(code.strip() for code in codes) for codes in chosen[[0, 1]].itertuples(index=False)}


def chosen(frame: pd.DataFrame, variables: Sequence[str], mask: Any) -> Codes:
    return set(frame.loc[mask, list(variables)].itertuples(index=False, name=None))


# -------------------------------------------------------------------- τ-ARGUS


def test_size_by_region(shared: Path) -> None:
    """Simple2D: size × region of the demo microdata, Var2, P(15,1): 9 primaries."""
    golden = shared / "data/argus/golden"
    places = [(8, 10), (11, 13), (27, 37)]
    records = pd.read_fwf(
        golden / "Simple2D_InputData/tau_testW.asc", colspecs=places, names=["size", "region", "var2"], header=None, dtype=str
    )
    records = records.assign(var2=records["var2"].astype(float), who=np.arange(len(records)))
    by = {"size": flat(records["size"]), "region": tree(golden / "Simple2D_InputData/region2.hrc")}
    frame, contributions = counted(records, by, "who", "var2")
    found = chosen(frame, ["size", "region"], PPercent(p=15).sensitive(contributions))
    assert len(found) == 9
    assert found == published(golden / "Simple2D_Expected_Output/Simple2D.txt", "3")


@pytest.fixture(scope="module")
def enterprises(shared: Path) -> tuple[pd.DataFrame, dict[str, Up]]:
    folder = shared / "data/argus/golden/TEST/TEST"
    places = [(0, 9), (9, 11), (11, 13), (13, 15), (15, 18), (18, 26)]
    names = ["holding", "act", "product", "region", "mun", "turnover"]
    records = pd.read_fwf(folder / "example_enterprise.asc", colspecs=places, names=names, header=None, dtype=str)
    records["turnover"] = records["turnover"].astype(float)
    trees = {
        "act": {**tree(folder / "nace_divisions.hrc"), "00": ["00", "Total"]},
        "product": flat(records["product"]),
        "region": tree(folder / "KohStatReg.hrc"),
        "mun": tree(folder / "NUTS.hrc"),
    }
    return records, trees


@pytest.mark.parametrize(
    ("file", "variables", "count"),
    [
        ("test_1.txt", ["act", "product"], 283),
        ("test_2b.txt", ["act", "region"], 339),
        ("test_3a.txt", ["region", "mun"], 36),
        ("test_3b.txt", ["region", "product"], 17),
    ],
)
def test_enterprises_by_holding(
    shared: Path, enterprises: tuple[pd.DataFrame, dict[str, Up]], file: str, variables: list[str], count: int
) -> None:
    """p = 10 between holdings; cells of the missing activity 00 are safe."""
    records, trees = enterprises
    frame, contributions = counted(records, {name: trees[name] for name in variables}, "holding", "turnover")
    sensitive = PPercent(p=10).sensitive(contributions)
    if "act" in variables:
        sensitive &= (frame["act"] != "00").to_numpy()
    found = chosen(frame, variables, sensitive)
    assert len(found) == count
    assert found == published(shared / "data/argus/golden/OUTPUT/OUTPUT" / file, "3")


def test_a_missing_code_is_declared_safe_a_priori(shared: Path, enterprises: tuple[pd.DataFrame, dict[str, Up]]) -> None:
    """The same 283 cells, with the missing activity exempt by one line of declarations."""
    records, trees = enterprises
    frame, contributions = counted(records, {"act": trees["act"], "product": trees["product"]}, "holding", "turnover")
    table = as_table(frame, contributions, ["act", "product"])
    declared = APriori(entries=({"codes": {"act": "00", "product": "*"}, "status": "safe"},)).apply(table)
    assert PPercent(p=10).apply(declared).primary.sum() == 283
    assert PPercent(p=10).apply(table).primary.sum() == 290


def as_table(frame: pd.DataFrame, contributions: Contributions, variables: list[str]) -> Table:
    trees = tuple(Hierarchy.flat([code for code in frame[name].unique() if code != "Total"]) for name in variables)
    codes = np.stack([[h.position(code) for code in frame[name]] for h, name in zip(trees, variables, strict=True)], -1)
    layout = Layout(
        name="table",
        variables=tuple(variables),
        hierarchies=trees,
        codes=codes.astype(np.int32),
        cell=np.arange(len(frame)),
    )
    none = small_table([0.0]).equations[:0]
    none.resize((0, len(frame)))
    return Table.of((layout,), frame["total"].to_numpy(), contributions, none, decimals=2)


def test_batch_2(shared: Path) -> None:
    """FREQ(5,20)|P(20,5) on region × gender: one primary, women in A."""
    path = shared / "data/argus/golden/Batch/ex2/microdata_ex2.asc"
    records = pd.read_csv(path, header=None, names=["region", "gender", "weight", "val", "num1", "num2"], skipinitialspace=True)
    records = records.assign(
        region=records["region"].str.strip(), gender=records["gender"].str.strip(), who=np.arange(len(records))
    )
    by = {"region": flat(records["region"]), "gender": flat(records["gender"])}
    frame, contributions = counted(records, by, "who", "num1", ranks=6)
    table = as_table(frame, contributions, ["region", "gender"])
    table = PPercent(p=20, coalition=5).apply(MinimumFrequency(n=5, range=20).apply(table))
    assert chosen(frame, ["region", "gender"], table.primary) == {("A", "female")}
    cell = table.cell(region="A", gender="female")
    assert table.fired[cell] == 0b11
    assert table.upper_protection[cell] == pytest.approx(0.2 * 189.40)


def test_batch_1_keeps_the_given_status(shared: Path) -> None:
    """A table of counts with one cell given as unsafe, levels 1 and 1."""
    path = shared / "data/argus/golden/Batch/ex1/tabdata_ex1.tab"
    frame = pd.read_csv(
        path, header=None, names=["region", "gender", "total", "status", "lower", "upper"], skipinitialspace=True
    )
    frame["region"] = frame["region"].str.strip()
    contributions = Contributions.of(frame["total"].to_numpy(float), frame["total"].to_numpy(float))
    table = as_table(frame, contributions, ["region", "gender"])
    unsafe = [
        {
            "codes": {"region": line.region, "gender": line.gender},
            "status": "unsafe",
            "lower_protection": float(line.lower),
            "upper_protection": float(line.upper),
        }
        for line in frame[frame["status"] == "U"].itertuples()
    ]
    table = APriori(entries=tuple(unsafe)).apply(table)
    assert chosen(frame, ["region", "gender"], table.primary) == {("A", "female")}
    cell = table.cell(region="A", gender="female")
    assert (table.lower_protection[cell], table.upper_protection[cell]) == (1, 1)


# -------------------------------------------------------------------- rtauargus


@pytest.mark.parametrize(
    ("name", "few", "dominated"), [("act_size", 52, 25), ("act_cj", 35, 25), ("nuts_size", 55, 17), ("nuts_cj", 45, 20)]
)
def test_linked_business_tables(shared: Path, name: str, few: int, dominated: int) -> None:
    """n < 3 counts as A, (1,85) on the other cells as B."""
    frame = pd.read_csv(shared / f"data/argus/linked_business/turnover_{name}.csv")
    contributions = Contributions.of(frame["N_OBS"].to_numpy(float), frame["TOT"].to_numpy(), top=frame[["MAX"]].to_numpy())
    a = MinimumFrequency(n=3).sensitive(contributions)
    b = Dominance(n=1, k=85).sensitive(contributions) & ~a
    assert (a.sum(), b.sum()) == (few, dominated)


@pytest.mark.parametrize("name", ["datatest1", "datatest2"])
def test_flags_of_weighted_tables(shared: Path, name: str) -> None:
    """Weighted counts and totals against unweighted maxima, flag by flag.

    Cells below 0 are left out: that file compares signed numbers there, and this rule absolute ones.
    """
    frame = pd.read_csv(shared / f"data/argus/linked_business/{name}.csv")
    frame = frame[frame["pizzas_tot"] >= 0]
    assert len(frame) > 680
    number, total = frame["nb_obs"].to_numpy(float), frame["pizzas_tot"].to_numpy()
    given = Contributions.of(np.ceil(number), total, top=frame[["pizzas_max"]].to_numpy(), weight=number)
    few = MinimumFrequency(n=3, count="weighted").sensitive(given)
    np.testing.assert_array_equal(few, frame["is_secret_freq"].to_numpy(bool))
    np.testing.assert_array_equal(Dominance(n=1, k=85).sensitive(given), frame["is_secret_dom"].to_numpy(bool))


# -------------------------------------------------------------------- GaussSuppression


def magnitude(shared: Path) -> tuple[pd.DataFrame, Contributions]:
    """Vignette data: value by sector and place, contributors are companies."""
    records = pd.read_csv(shared / "oracles/r_data/SSBtools_magnitude1.csv")
    axes = {
        "sector4": {four: [four, two, "Total"] for four, two in zip(records["sector4"], records["sector2"], strict=True)},
        "geo": {geo: [geo, eu, "Total"] for geo, eu in zip(records["geo"], records["eu"], strict=True)},
    }
    return counted(records, axes, "company", "value")


@pytest.mark.parametrize(
    ("file", "rules"),
    [
        ("mag1_dom_contr.csv", [Dominance(n=1, k=80), Dominance(n=2, k=99)]),
        ("mag1_dom_contr_formula.csv", [Dominance(n=1, k=80), Dominance(n=2, k=99)]),
        ("mag1_pp10.csv", [PPercent(p=10)]),
        ("mag1_pp10_intervals.csv", [PPercent(p=10)]),
        ("mag1_few2_contr.csv", [MinimumFrequency(n=3, count="holdings")]),
    ],
)
def test_magnitude_vignette(shared: Path, file: str, rules: list[Any]) -> None:
    frame, contributions = magnitude(shared)
    expected = pd.read_csv(shared / "oracles/r_outcomes" / file)
    expected = expected[expected["freq"] > 0]
    table = as_table(frame, contributions, ["sector4", "geo"])
    for rule in rules:
        table = rule.apply(table)
    cells = [table.cell(sector4=s, geo=g) for s, g in zip(expected["sector4"], expected["geo"], strict=True)]
    np.testing.assert_array_equal(table.primary[cells], expected["primary"].to_numpy(bool))
    if "upmin_value" in expected:
        known = expected["primary"].to_numpy(bool)
        level = (expected["upmin_value"] - expected["value"]).to_numpy()
        np.testing.assert_allclose(table.upper_protection[cells][known], level[known], atol=1e-9)


def test_directly_disclosive_accidents(shared: Path) -> None:
    """Injuries by municipality, one known person: four municipalities by injury, one injury by municipality."""
    records = pd.read_csv(shared / "oracles/r_data/SSBtools_mun_accidents.csv")
    wide = records.pivot(index="mun", columns="inj", values="freq")
    trees = [Hierarchy.flat(wide.index), Hierarchy.flat(wide.columns)]
    table = small_table(wide.to_numpy(), variables=["mun", "inj"], hierarchies=trees, kind="frequency")
    for variable in ("inj", "mun"):
        table = KDisclosure(variable=variable, k=1).apply(table)
    expected = pd.read_csv(shared / "oracles/r_outcomes/mun_direct.csv")
    found = [bool(table.primary[table.cell(mun=m, inj=i)]) for m, i in zip(expected["mun"], expected["inj"], strict=True)]
    assert sum(found) == 5
    np.testing.assert_array_equal(found, expected["primary"].to_numpy(bool))
