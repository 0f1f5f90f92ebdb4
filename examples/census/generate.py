"""Makes the synthetic census of the examples and tutorials: every row is drawn, no person is real.

    python examples/census/generate.py --out DIR [--households 2500] [--seed 2026]

writes ``census.parquet`` to DIR.  The same number of households and seed give the same census.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

REGIONS, DISTRICTS, TOWNS = 2, 3, 4  # districts in a region, towns in a district
LARGE = 2.5  # how many times as many households the first town of a district has as its last one

SIZES = (0.38, 0.30, 0.14, 0.12, 0.06)  # of a household: 1 to 5 persons
AGES = ("0-15", "16-29", "30-44", "45-64", "65-79", "80+")
FIRST_AGE = (0.0, 0.17, 0.25, 0.34, 0.17, 0.07)  # of the person who answers for the household
BIRTHPLACES = ("here", "neighbour", "elsewhere in europe", "africa", "asia", "americas", "oceania")
BORN = (0.820, 0.070, 0.055, 0.025, 0.020, 0.008, 0.002)
WORK = ("farm", "industry", "trade", "office", "care", "school", "none")
IN_WORK = {  # by age: shares of kinds of work
    "0-15": (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0),
    "16-29": (0.02, 0.13, 0.18, 0.17, 0.12, 0.03, 0.35),
    "30-44": (0.02, 0.18, 0.17, 0.27, 0.13, 0.08, 0.15),
    "45-64": (0.04, 0.18, 0.15, 0.24, 0.12, 0.07, 0.20),
    "65-79": (0.03, 0.01, 0.02, 0.03, 0.01, 0.0, 0.90),
    "80+": (0.01, 0.0, 0.0, 0.0, 0.0, 0.0, 0.99),
}
TENURES = ("owned", "rented", "free")
EARNED = {"farm": 1900, "industry": 2700, "trade": 2100, "office": 3200, "care": 2300, "school": 3000, "none": 900}

Columns = dict[str, NDArray[Any]]

CENSUS = """
    select * replace (income::integer as income) from drawn order by person
"""


def draw(households: int, seed: int) -> Columns:
    """All persons as columns; a household has one place, one tenure, and a couple where there are two adults or more."""
    chance = np.random.default_rng(seed)
    size = 1 + chance.choice(len(SIZES), households, p=SIZES)
    town = chance.choice(REGIONS * DISTRICTS * TOWNS, households, p=_share_of_towns())
    first = chance.choice(len(AGES), households, p=FIRST_AGE)
    tenure = np.array(TENURES)[chance.choice(3, households, p=(0.55, 0.41, 0.04))]
    born = chance.choice(len(BIRTHPLACES), households, p=BORN)
    home = np.repeat(np.arange(households), size)
    place = np.arange(len(home)) - np.repeat(np.cumsum(size) - size, size)  # of the person in the household
    age = np.array(AGES)[_ages(chance, first[home], place)]
    child = age == "0-15"
    own = chance.choice(len(BIRTHPLACES), len(home), p=BORN)
    alike = chance.random(len(home)) < 0.85  # most members of a household were born in one place, most children here
    birthplace = np.array(BIRTHPLACES)[np.where(child, 0, np.where(alike, born[home], own))]
    work = np.array([WORK[chance.choice(len(WORK), p=IN_WORK[code])] for code in age])
    couple = (place < 2) & (size[home] > 1) & ~child & ~np.roll(child, -1)
    old = np.isin(age, ("65-79", "80+"))
    alone = np.where(old, "widowed", np.where(chance.random(len(home)) < 0.25, "divorced", "single"))
    spread = np.exp(0.35 * chance.standard_normal(len(home)))
    income = np.round(np.array([EARNED[code] for code in work]) * spread / 10) * 10
    district = town // TOWNS
    return {
        "person": _numbered("P", np.arange(len(home)), 5),
        "household": _numbered("H", home, 4),
        "region": np.array(["east", "west"])[(district // DISTRICTS)[home]],
        "district": _numbered("D", district[home] + 1, 1),
        "town": _numbered("T", town[home] + 1, 2),
        "size": size[home].astype(str),
        "tenure": tenure[home],
        "age": age,
        "sex": np.array(["female", "male"])[chance.integers(0, 2, len(home))],
        "marital": np.where(child, "single", np.where(couple, "married", alone)),
        "birthplace": birthplace,
        "work": work,
        "income": np.where(child, 0, income),
    }


def _share_of_towns() -> NDArray[np.float64]:
    own = np.tile(np.linspace(LARGE, 1, TOWNS), REGIONS * DISTRICTS)
    return np.asarray(own / own.sum())


def _ages(chance: np.random.Generator, first: NDArray[np.int64], place: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first two are adults of about one age; the others are mostly children, and young adults where these are old."""
    near = np.clip(first + chance.choice((-1, 0, 1), len(first), p=(0.15, 0.75, 0.10)), 1, len(AGES) - 1)
    later = np.where(chance.random(len(first)) < 0.8, 0, 1)
    return np.where(place == 0, first, np.where(place == 1, near, np.where(first >= 3, np.maximum(later, 1), later)))


def _numbered(letter: str, numbers: NDArray[np.int64], digits: int) -> NDArray[Any]:
    return np.array([f"{letter}{number:0{digits}}" for number in numbers.tolist()])


def write(out: Path, households: int = 2_500, seed: int = 2026) -> tuple[Path, int]:
    """Write the census to the folder ``out``; its path and the number of persons."""
    drawn = draw(households, seed)
    out.mkdir(parents=True, exist_ok=True)
    path = out / "census.parquet"
    target = str(path).replace("'", "''")
    with duckdb.connect() as connection:
        texts = {name: column.astype(object) for name, column in drawn.items() if column.dtype.kind == "U"}
        connection.register("drawn", drawn | texts)
        connection.execute(f"create table census as {CENSUS}")
        connection.execute(
            f"copy census to '{target}' (format parquet, compression zstd, compression_level 19, parquet_version v2)"
        )
    return path, len(drawn["person"])


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Write a synthetic census.")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to write to; made where it is absent")
    parser.add_argument("--households", type=int, default=2_500, help="number of households (default: 2500)")
    parser.add_argument("--seed", type=int, default=2026, help="seed of all chance (default: 2026)")
    given = parser.parse_args(arguments)
    if given.households < 1:
        parser.error("--households must be at least 1")
    path, persons = write(given.out, given.households, given.seed)
    sys.stdout.write(f"{persons} persons in {given.households} households, {path.stat().st_size / 1e3:.0f} kB: {path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
