"""The synthetic census: what its README says is so, and the shipped file is what the generator makes."""

import importlib.util
import sys
from collections import Counter
from pathlib import Path

import duckdb
import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "census"


@pytest.fixture(scope="module")
def generate():
    spec = importlib.util.spec_from_file_location("census_generate", FOLDER / "generate.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture(scope="module")
def drawn(generate):
    return generate.draw(2_500, 2026)


def test_the_census_has_the_codes_that_its_readme_tells(drawn):
    assert len(drawn["person"]) == len(set(drawn["person"])) == 5507
    different = {"household": 2500, "region": 2, "district": 6, "town": 24, "size": 5, "tenure": 3}
    different |= {"age": 6, "sex": 2, "marital": 4, "birthplace": 7, "work": 7}
    assert {name: len(set(drawn[name])) for name in different} == different
    assert Counter(drawn["birthplace"].tolist())["oceania"] == 15
    keys = ("district", "age", "sex", "marital", "birthplace", "work")
    held = Counter(zip(*(drawn[name].tolist() for name in keys), strict=True))
    assert sum(count == 1 for count in held.values()) == 679
    assert set(drawn["marital"][drawn["age"] == "0-15"]) == {"single"}
    assert set(drawn["age"][drawn["marital"] == "widowed"]) == {"65-79", "80+"}
    assert (drawn["income"][drawn["age"] == "0-15"] == 0).all()


def test_households_live_in_one_place_and_places_are_nested(drawn):
    for part, whole in (
        ("household", "town"),
        ("household", "size"),
        ("household", "tenure"),
        ("town", "district"),
        ("district", "region"),
    ):
        pairs = set(zip(drawn[part].tolist(), drawn[whole].tolist(), strict=True))
        assert len(pairs) == len(set(drawn[part])), f"{part} in two of {whole}"
    held = Counter(drawn["household"].tolist())
    assert all(str(held[home]) == size for home, size in zip(drawn["household"].tolist(), drawn["size"].tolist(), strict=True))


def test_the_shipped_census_is_what_the_generator_makes(generate, tmp_path):
    generate.write(tmp_path)
    shipped, again = str(FOLDER / "census.parquet"), str(tmp_path / "census.parquet")
    with duckdb.connect() as connection:
        same = "* exclude (income)"
        differ = f"from (select {same} from '{shipped}' except all select {same} from '{again}')"
        assert connection.sql(f"select count(*) {differ}").fetchall() == [(0,)]
        # exponentials may differ in their last bit from machine to machine: a step of the last digit is allowed
        near = f"select count(*), max(abs(a.income - b.income)) <= 10 from '{shipped}' a join '{again}' b using (person)"
        assert connection.sql(near).fetchall() == [(5507, True)]
    assert (FOLDER / "census.parquet").stat().st_size < 100_000


def test_the_census_command_line_writes_the_file_and_says_so(generate, tmp_path, capsys):
    assert generate.main(["--out", str(tmp_path), "--households", "50"]) == 0
    assert "in 50 households" in capsys.readouterr().out
    first, other = generate.draw(50, 5), generate.draw(50, 6)
    assert any(not np.array_equal(first[column], other[column]) for column in first)
    with pytest.raises(SystemExit):
        generate.main(["--out", str(tmp_path), "--households", "0"])
