"""The synthetic survey: what its README says is so, and the shipped file is what the generator makes."""

import importlib.util
import sys
from collections import Counter
from pathlib import Path

import duckdb
import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "survey"


@pytest.fixture(scope="module")
def generate():
    spec = importlib.util.spec_from_file_location("survey_generate", FOLDER / "generate.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture(scope="module")
def drawn(generate):
    return generate.draw(1_800, 2026)


@pytest.fixture
def connection():
    with duckdb.connect() as opened:
        yield opened


def test_the_survey_has_the_codes_that_its_readme_tells(drawn):
    assert len(drawn["person"]) == len(set(drawn["person"])) == 3221
    assert len(set(drawn["household"])) == 1800
    different = {"region": 12, "age": 7, "sex": 2, "occupation": 20, "health": 8, "smoker": 3, "psu": 96, "stratum": 8}
    assert {name: len(set(drawn[name])) for name in different} == different
    assert {region[0] for region in drawn["region"]} == {stratum[0] for stratum in drawn["stratum"]} == set("ENSW")


def test_some_codes_are_rare_and_some_do_not_occur_at_some_ages(drawn):
    occupation, age, sex = drawn["occupation"], drawn["age"], drawn["sex"]
    counts = Counter(occupation)
    assert (counts["surgeon"], counts["judge"]) == (7, 3)
    assert Counter(sex[occupation == "surgeon"]) == {"man": 6, "woman": 1}
    assert not set(occupation[age == "16-24"]) & {"surgeon", "judge", "lawyer", "teacher", "retired"}
    assert set(age[occupation == "student"]) == {"16-24", "25-34"}
    assert set(age[occupation == "retired"]) <= {"55-64", "65-74", "75+"}
    assert Counter(drawn["health"])["hiv"] == 14
    assert 0.01 < np.mean(drawn["smoker"] == "") < 0.04


def test_members_of_a_household_share_place_and_cluster_and_a_cluster_lies_in_one_region(drawn):
    for whole, part in (("psu", "household"), ("region", "psu"), ("stratum", "psu")):
        pairs = set(zip(drawn[part].tolist(), drawn[whole].tolist(), strict=True))
        assert len(pairs) == len(set(drawn[part])), f"{part} in two of {whole}"
    clusters = Counter(dict(set(zip(drawn["psu"].tolist(), drawn["stratum"].tolist(), strict=True))).values())
    assert set(clusters.values()) == {12}


def test_numbers_are_what_a_survey_has(drawn):
    hours, income, weight = drawn["hours"], drawn["income"], drawn["weight"]
    idle = np.isin(drawn["occupation"], ("home", "retired", "student"))
    assert (hours[idle] == 0).all()
    assert hours[~idle].min() >= 4
    assert income.min() >= 120
    assert weight.min() > 4000  # hundredths
    assert weight.max() / weight.min() > 3
    assert 300_000 < weight.sum() / 100 < 400_000


def test_income_and_smoking_depend_on_the_rest(drawn):
    smokes = drawn["smoker"] == "yes"
    retired, ill, man = drawn["occupation"] == "retired", drawn["health"] != "none", drawn["sex"] == "man"
    x = np.column_stack([drawn["hours"], man, smokes, ill, retired, np.ones(len(smokes))]).astype(float)
    found = np.linalg.lstsq(x, drawn["income"].astype(float), rcond=None)[0]
    assert 35 < found[0] < 60
    assert found[1] > 100
    assert found[2] < -150
    assert found[3] < -200
    old = np.isin(drawn["age"], ("65-74", "75+"))
    assert smokes[old].mean() < smokes[~old].mean() - 0.05


@pytest.mark.parametrize("households", [1, 2, 95, 400])
def test_the_same_seed_gives_the_same_survey(generate, tmp_path, connection, households):
    first, second, other = (generate.draw(households, seed) for seed in (5, 5, 6))
    assert all(np.array_equal(first[column], second[column]) for column in first)
    assert any(not np.array_equal(first[column], other[column]) for column in first)
    one, persons = generate.write(tmp_path / "one", households, 5)
    two, _ = generate.write(tmp_path / "two", households, 5)
    assert connection.sql(f"from '{one}'").fetchall() == connection.sql(f"from '{two}'").fetchall()
    assert connection.sql(f"select count(*), count(distinct household) from '{one}'").fetchall() == [(persons, households)]


def test_the_shipped_survey_is_what_the_generator_makes(generate, tmp_path, connection):
    generate.write(tmp_path)
    shipped, again = str(FOLDER / "survey.parquet"), str(tmp_path / "survey.parquet")
    assert connection.sql(f"describe from '{shipped}'").fetchall() == connection.sql(f"describe from '{again}'").fetchall()
    same = "person, household, region, age, sex, occupation, health, smoker, psu, stratum"
    differ = f"from (select {same} from '{shipped}' except all select {same} from '{again}')"
    assert connection.sql(f"select count(*) {differ}").fetchall() == [(0,)]
    # exponentials may differ in their last bit from machine to machine: a step of the last digit is allowed
    near = """select count(*), max(abs(a.income - b.income)) <= 1, max(abs(a.hours - b.hours)) <= 1,
              max(abs(a.weight - b.weight)) <= 0.01 from """
    assert connection.sql(f"{near} '{shipped}' a join '{again}' b using (person)").fetchall() == [(3221, True, True, True)]


def test_the_shipped_survey_is_small_enough_for_git():
    assert (FOLDER / "survey.parquet").stat().st_size < 300_000


def test_the_survey_command_line_writes_the_file_and_says_so(generate, tmp_path, capsys):
    assert generate.main(["--out", str(tmp_path), "--households", "50"]) == 0
    assert "in 50 households" in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["survey.parquet"]
    with pytest.raises(SystemExit):
        generate.main(["--out", str(tmp_path), "--households", "0"])
