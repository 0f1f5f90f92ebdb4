"""The synthetic register: what its README says is so, and the shipped files are what the generator makes."""

import importlib.util
import sys
from collections import Counter
from pathlib import Path

import duckdb
import numpy as np
import pytest

import discreet as dc

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "register"


@pytest.fixture(scope="module")
def generate():
    spec = importlib.util.spec_from_file_location("register_generate", FOLDER / "generate.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture(scope="module")
def drawn(generate):
    return generate.draw(100_000, 2024, generate.activities(), generate.regions())


@pytest.fixture(scope="module")
def remade(generate, tmp_path_factory):
    folder = tmp_path_factory.mktemp("register")
    generate.write(folder)
    return folder


@pytest.fixture
def connection():
    with duckdb.connect() as opened:
        yield opened


def test_the_activity_tree_has_its_levels(generate):
    tree = generate.activities()
    assert Counter(level for level, _, _ in tree.lines) == {1: 21, 2: 88, 3: 310, 4: 605}
    codes = [code for _, code, _ in tree.lines]
    assert len(set(codes)) == len(codes)
    assert tree.classes == tuple(code for level, code, _ in tree.lines if level == 4)
    for (level, code, _), (below, part, _) in zip(tree.lines, tree.lines[1:], strict=False):
        assert below <= level + 1
        if level >= 2 and below == level + 1:
            assert part.startswith(code)
    assert {"T", "C", "10", "10.1", "10.11"} <= set(codes)


def test_each_class_lies_in_its_own_division(generate):
    tree = generate.activities()
    divisions = [code for level, code, _ in tree.lines if level == 2]
    assert all(divisions[number] == code[:2] for code, number in zip(tree.classes, tree.division, strict=True))


def test_the_region_tree_has_its_levels(generate):
    land = generate.regions()
    assert [len(set(level)) for level in (land.region1, land.region2, land.region3)] == [8, 45, 403]
    assert len(land.region3) == 403
    towns = Counter(land.region2)
    assert sorted(code for code, count in towns.items() if count == 1) == ["KA1", "NE5", "WE8"]
    provinces = Counter(part for part, _ in set(zip(land.region1, land.region2, strict=True)))
    assert [code for code, count in provinces.items() if count == 1] == ["KA"]
    assert [code for code in towns if not code.isascii()] == ["SOØ"]


def test_a_tenth_of_the_enterprises_is_in_groups(drawn):
    sizes = np.bincount(drawn["holding"])[1:]
    assert (drawn["holding"] > 0).mean() == pytest.approx(0.10, abs=0.001)
    assert sizes.min() == 2
    assert 30 <= sizes.max() <= 40
    assert np.median(sizes) <= 4  # heavy tail: most groups are small
    spread = sum(len(set(drawn["kind"][rows])) > 1 for rows in _members(drawn["holding"]))
    assert 0.2 < spread / len(sizes) < 0.95
    compact = sum(len(set(drawn["town"][rows])) <= 3 for rows in _members(drawn["holding"]))
    assert compact > 100


def _members(holding):
    order = np.argsort(holding, kind="stable")
    cuts = np.flatnonzero(np.diff(holding[order])) + 1
    return np.split(order, cuts)[1:]


def test_amounts_are_heavy_tailed_with_zeros_and_negatives(drawn):
    turnover, balance = drawn["turnover"], drawn["balance"]
    assert turnover.min() == 0
    assert (turnover == 0).mean() == pytest.approx(0.02, abs=0.005)
    assert 0.15 < (balance < 0).mean() < 0.35
    largest = np.sort(turnover)[::-1]
    assert largest[:1000].sum() > 0.35 * largest.sum()  # one in a hundred holds more than a third
    active = turnover > 0
    tie = np.corrcoef(np.log(turnover[active]), np.log(drawn["employees"][active] + 0.4))[0, 1]
    assert tie > 0.5


def test_size_weight_and_request_follow_the_employees(drawn):
    size, employees, weight = drawn["size"], drawn["employees"], drawn["weight"]
    assert [int(employees[size == s].min()) for s in (1, 2, 3)] == [10, 50, 250]
    assert [int(employees[size == s].max()) for s in (0, 1, 2)] == [9, 49, 249]
    assert weight.min() == 100
    assert (weight[size == 3] == 100).all()
    assert (weight[size == 0] > 100).all()
    assert 3 <= drawn["request"].sum() <= 30
    assert (employees[drawn["request"] == 1] >= 250).all()
    assert (size == 0).mean() > 0.7


def test_activity_and_region_are_not_independent(generate, drawn):
    tree, land = generate.activities(), generate.regions()
    counts = np.zeros((88, 45))
    np.add.at(counts, (tree.division[drawn["kind"]], land.province[drawn["town"]]), 1)
    expected = counts.sum(1, keepdims=True) * counts.sum(0) / counts.sum()
    large = expected > 50
    assert (np.abs(counts - expected)[large] > 0.4 * expected[large]).mean() > 0.3


@pytest.mark.parametrize("rows", [1, 2, 19, 500])
def test_the_same_seed_gives_the_same_register(generate, tmp_path, connection, rows):
    tree, land = generate.activities(), generate.regions()
    first, second, other = (generate.draw(rows, seed, tree, land) for seed in (5, 5, 6))
    assert all(np.array_equal(first[column], second[column]) for column in first)
    assert any(not np.array_equal(first[column], other[column]) for column in first)
    one, two = generate.write(tmp_path / "one", rows, 5), generate.write(tmp_path / "two", rows, 5)
    assert connection.sql(f"from '{one}'").fetchall() == connection.sql(f"from '{two}'").fetchall()
    assert connection.sql(f"select count(*) from '{one}'").fetchall() == [(rows,)]


def test_the_shipped_register_is_what_the_generator_makes(remade, connection):
    shipped, again = str(FOLDER / "register.parquet"), str(remade / "register.parquet")
    assert connection.sql(f"describe from '{shipped}'").fetchall() == connection.sql(f"describe from '{again}'").fetchall()
    texts = 'enterprise, "group", nace, region1, region2, region3, size, legal_form, employees, weight, request'
    differ = f"from (select {texts} from '{shipped}' except all select {texts} from '{again}')"
    assert connection.sql(f"select count(*) {differ}").fetchall() == [(0,)]
    # exponentials may differ in their last bit from machine to machine: one hundredth is allowed
    amounts = f"""select count(*), max(abs(a.turnover - b.turnover)) <= 0.01, max(abs(a.balance - b.balance)) <= 0.01
                  from '{shipped}' a join '{again}' b using (enterprise)"""
    assert connection.sql(amounts).fetchall() == [(100_000, True, True)]


@pytest.mark.parametrize("name", ["nace.hrc", "nace.cdl"])
def test_the_shipped_tree_is_what_the_generator_makes(remade, name):
    assert (FOLDER / name).read_bytes() == (remade / name).read_bytes()


def test_the_shipped_register_is_small_enough_for_git():
    assert (FOLDER / "register.parquet").stat().st_size < 1_500_000


def test_the_table_of_the_example_is_large_and_partly_sensitive():
    plan = dc.read_plan(FOLDER / "turnover.toml")
    assert [type(method).NAME for method in plan.tables[0].methods] == ["min-frequency", "p-percent", "gauss-suppression"]
    records = dc.read_microdata(FOLDER / "register.parquet", unit="enterprise", holding="group")
    nace = dc.read_hierarchy(FOLDER / "nace.hrc", lead="@").to_level(2)
    table = dc.tabulate(records, spanning={"nace": nace, "region": ["region1", "region2"]}, response="turnover")
    assert len(table.layouts[0].cell) == 5709
    assert table.cells == 5354
    assert table.decimals == 2
    for rule in plan.tables[0].methods[:2]:
        table = rule.apply(table)
    assert 0.15 < table.primary.mean() < 0.35


def test_cells_and_sensitive_cells_are_what_plain_sql_counts(connection):
    sections = [line.split(",")[:2] for line in (FOLDER / "activities.csv").read_text(encoding="utf-8").splitlines()[1:]]
    pairs = ", ".join(f"('{division}', '{section}')" for division, section in sections if section)
    connection.execute(f"""
        create table contributions as
        select section, division, region1, region2, "group", sum(turnover) as x
        from '{FOLDER / "register.parquet"}' join (values {pairs}) activities(division, section) on division = nace[:2]
        group by rollup(section, division), rollup(region1, region2), "group" """)
    cells, sensitive = connection.execute("""
        with cells as (select section, division, region1, region2, count(*) as holdings, sum(x) as total, max(x, 2) as top
                       from contributions group by all)
        select count(*), count(*) filter (holdings < 3 or total - top[1] - coalesce(top[2], 0) < top[1] / 10) from cells
        """).fetchall()[0]
    records = dc.read_microdata(FOLDER / "register.parquet", unit="enterprise", holding="group")
    nace = dc.read_hierarchy(FOLDER / "nace.hrc", lead="@").to_level(2)
    table = dc.tabulate(records, spanning={"nace": nace, "region": ["region1", "region2"]}, response="turnover")
    table = dc.PPercent(p=10).apply(dc.MinimumFrequency(n=3, count="holdings").apply(table))
    layout = table.layouts[0]
    assert (len(layout.cell), int(table.primary[layout.cell].sum())) == (cells, sensitive)


def test_the_command_line_writes_the_files_and_says_so(generate, tmp_path, capsys):
    assert generate.main(["--out", str(tmp_path), "--rows", "50"]) == 0
    assert "50 enterprises" in capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["nace.cdl", "nace.hrc", "register.parquet"]
    with pytest.raises(SystemExit):
        generate.main(["--out", str(tmp_path), "--rows", "0"])
