"""Makes the synthetic household survey of the examples and tutorials: every row is drawn, no person is real.

    python examples/survey/generate.py --out DIR [--households 1800] [--seed 2026]

writes ``survey.parquet`` to DIR.  The same number of households and seed give the same survey.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

PARTS = ("E", "N", "S", "W")
REGIONS = tuple(f"{part}{number}" for part in PARTS for number in (1, 2, 3))
PLACES = ("country", "town")
STRATA = tuple(f"{part} {place}" for part in PARTS for place in PLACES)
CLUSTERS = 12  # in each stratum
POPULATION = 180_000  # households of the made-up country
AGES = ("16-24", "25-34", "35-44", "45-54", "55-64", "65-74", "75+")
FIRST_AGE = (0.06, 0.16, 0.18, 0.18, 0.17, 0.14, 0.11)  # of the person who answers for the household
PERSONS = (0.36, 0.45, 0.13, 0.06)  # of 16 and over, in a household: 1, 2, 3, 4
ALONE_OLD = 0.5  # share of households of which the first is 65 or older that have one person, whatever PERSONS says

OCCUPATIONS = {  # share of those in work, the odds of a man, the odds of a town, euros a month above the usual
    "builder": (0.075, 12.0, 0.8, 150),
    "carer": (0.085, 0.2, 1.0, -150),
    "cleaner": (0.070, 0.4, 1.1, -300),
    "clerk": (0.150, 0.5, 1.3, 0),
    "cook": (0.050, 0.9, 1.2, -250),
    "driver": (0.070, 9.0, 0.9, 0),
    "electrician": (0.045, 15.0, 0.9, 250),
    "engineer": (0.070, 3.5, 1.4, 950),
    "factory worker": (0.110, 2.0, 0.7, 50),
    "farmer": (0.035, 2.5, 0.1, -100),
    "judge": (0.002, 1.2, 2.0, 2900),
    "lawyer": (0.016, 1.2, 2.2, 1700),
    "manager": (0.065, 1.9, 1.3, 1400),
    "nurse": (0.055, 0.15, 1.1, 200),
    "sales": (0.090, 0.6, 1.2, -200),
    "surgeon": (0.004, 4.0, 2.0, 3600),
    "teacher": (0.070, 0.4, 1.0, 500),
}
IDLE = ("home", "retired", "student")
LEARNED = ("engineer", "judge", "lawyer", "manager", "surgeon", "teacher")  # nobody below 25 is one
MANUAL = ("builder", "cleaner", "cook", "driver", "electrician", "factory worker", "farmer")
IN_WORK = (0.46, 0.86, 0.88, 0.87, 0.68, 0.07, 0.0)  # by age
HOME = (0.10, 0.85, 1.0, 1.0, 0.45, 0.0, 0.0)  # of those not in work; below 35 the others are students, from 55 retired

HEALTH = {  # share at each age
    "asthma": (0.080, 0.070, 0.060, 0.055, 0.055, 0.050, 0.050),
    "cancer": (0.002, 0.004, 0.010, 0.022, 0.045, 0.070, 0.085),
    "depression": (0.060, 0.075, 0.080, 0.085, 0.075, 0.050, 0.050),
    "diabetes": (0.005, 0.010, 0.025, 0.055, 0.100, 0.140, 0.160),
    "epilepsy": (0.008, 0.007, 0.007, 0.007, 0.007, 0.008, 0.009),
    "heart": (0.003, 0.006, 0.015, 0.050, 0.110, 0.190, 0.290),
    "hiv": (0.002, 0.005, 0.006, 0.006, 0.003, 0.001, 0.000),
}
NO_ANSWER = 0.02  # share of persons who do not say whether they smoke

Columns = dict[str, NDArray[Any]]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def draw(households: int, seed: int) -> Columns:
    """The survey as columns of texts and numbers, one entry a person."""
    chance = np.random.default_rng(seed)
    home = _homes(households, chance)
    of, age, male = _members(home["old"], home["first"], home["persons"], chance)
    occupation = _occupations(age, male, home["stratum"][of] % 2 == 1, chance)
    health = _health(age, chance)
    smoker = _smokers(age, male, occupation, home["smoke"][of], chance)
    hours = _hours(male, occupation, chance)
    answered = chance.random(len(of)) >= NO_ANSWER
    weight = home["weight"][of] * np.where(male, 1.06, 0.95) * np.where(age < 2, 1.2, 0.96)
    return {
        "person": _numbered("P", np.arange(len(of)), 5),
        "household": _numbered("H", of, 4),
        "region": np.array(REGIONS)[home["region"][of]],
        "age": np.array(AGES)[age],
        "sex": np.where(male, "man", "woman"),
        "occupation": occupation,
        "health": health,
        "smoker": np.where(answered, np.where(smoker, "yes", "no"), ""),
        "hours": hours,
        "income": _incomes(hours, male, occupation, health, smoker, home["rich"][of], chance),
        "weight": np.round(100 * weight).astype(np.int64),
        "psu": _numbered("C", home["cluster"][of], 2),
        "stratum": np.array(STRATA)[home["stratum"][of]],
    }


def _numbered(letter: str, numbers: Integers, digits: int) -> NDArray[np.str_]:
    return np.array([f"{letter}{number + 1:0{digits}d}" for number in numbers.tolist()])


def _cut(shares: Floats, at: Floats) -> Integers:
    """For each row of shares, which need not add up to 1, the position at which ``at`` falls."""
    cumulated = np.cumsum(np.atleast_2d(shares), axis=1)
    reached = at[:, None] * cumulated[:, -1:] >= cumulated
    return np.asarray(np.minimum(reached.sum(axis=1), cumulated.shape[1] - 1), np.int64)


def _homes(households: int, chance: np.random.Generator) -> dict[str, NDArray[Any]]:
    """Clusters, each in one region and stratum, with leanings of their own; as many households from each as can be."""
    clusters = CLUSTERS * len(STRATA)
    cluster = np.arange(households) * clusters // max(households, clusters)
    stratum = np.repeat(np.arange(len(STRATA)), CLUSTERS)
    region = 3 * (stratum // 2) + np.arange(clusters) % 3
    rich = 120 * chance.standard_normal(clusters) + 60 * (stratum % 2) + 40 * (region % 3)
    smoke = 0.25 * chance.standard_normal(clusters)
    sizes = np.bincount(stratum[cluster], minlength=len(STRATA))
    people = POPULATION * np.array([0.10, 0.16, 0.08, 0.14, 0.09, 0.17, 0.11, 0.15])
    base = people[stratum[cluster]] / sizes[stratum[cluster]]
    first = _cut(np.array(FIRST_AGE), chance.random(households))
    persons = 1 + _cut(np.array(PERSONS), chance.random(households))
    alone = (first >= AGES.index("65-74")) & (chance.random(households) < ALONE_OLD)
    return {
        "cluster": cluster,
        "stratum": stratum[cluster],
        "region": region[cluster],
        "rich": rich[cluster] + 150 * chance.standard_normal(households),
        "smoke": smoke[cluster] + 0.5 * chance.standard_normal(households),
        "weight": base * (0.8 + 0.4 * chance.random(households)),
        "first": first,
        "old": first >= AGES.index("45-54"),
        "persons": np.where(alone, 1, persons),
    }


def _members(old: NDArray[np.bool_], first: Integers, persons: Integers, chance: np.random.Generator) -> Any:
    """The household, age and sex of each person: a first one, mostly a partner of the other sex, and grown children."""
    of = np.repeat(np.arange(len(persons)), persons)
    place = np.arange(len(of)) - np.repeat(np.cumsum(persons) - persons, persons)
    at, other = chance.random(len(of)), chance.random(len(of))
    near = np.clip(first[of] + _cut(np.array([0.2, 0.6, 0.2]), at) - 1, 0, len(AGES) - 1)
    young = np.where(old[of] & (at < 0.3), 1, 0)
    age = np.where(place == 0, first[of], np.where(place == 1, near, young))
    man = np.repeat(chance.random(len(persons)) < 0.5, persons)
    male = np.where(place == 0, man, np.where(place == 1, man ^ (other < 0.93), other < 0.5))
    return of, age, male


def _occupations(age: Integers, male: NDArray[np.bool_], town: NDArray[np.bool_], chance: np.random.Generator) -> Any:
    names = np.array(list(OCCUPATIONS))
    share, man, urban, _ = np.array(list(OCCUPATIONS.values()), float).T
    shares = share * np.where(male[:, None], man / (1 + man), 1 / (1 + man)) * np.where(town[:, None], urban, 1.0)
    shares[np.ix_(age == 0, np.isin(names, LEARNED))] = 0.0
    shares[np.ix_(age <= 1, np.isin(names, ("judge", "surgeon")))] = 0.0
    working = names[_cut(shares, chance.random(len(age)))]
    in_work = chance.random(len(age)) < np.array(IN_WORK)[age]
    idle = np.where(age <= AGES.index("25-34"), "student", "retired")
    idle = np.where(chance.random(len(age)) < np.array(HOME)[age], "home", idle)
    return np.where(in_work, working, idle)


def _health(age: Integers, chance: np.random.Generator) -> NDArray[np.str_]:
    names = np.array([*HEALTH, "none"])
    ill = np.array(list(HEALTH.values())).T
    shares = np.column_stack([ill, 1 - ill.sum(axis=1)])
    return np.asarray(names[_cut(shares[age], chance.random(len(age)))])


def _smokers(age: Integers, male: Any, occupation: Any, leaning: Floats, chance: np.random.Generator) -> NDArray[np.bool_]:
    score = -1.15 + 0.35 * male - 0.7 * (age >= AGES.index("65-74")) + leaning
    score = score + 0.45 * np.isin(occupation, MANUAL) - 0.5 * np.isin(occupation, LEARNED)
    return np.asarray(chance.random(len(age)) < 1 / (1 + np.exp(-score)))


def _hours(male: Any, occupation: Any, chance: np.random.Generator) -> Integers:
    """Hours of paid work in a week, 0 for those who have none."""
    part = chance.random(len(male)) < np.where(male, 0.12, 0.42)
    hours = np.where(part, 22, 39) + 5 * chance.standard_normal(len(male))
    return np.where(np.isin(occupation, IDLE), 0, np.clip(np.rint(hours), 4, 70)).astype(np.int64)


def _incomes(
    hours: Integers, male: Any, occupation: Any, health: Any, smoker: Any, rich: Floats, chance: np.random.Generator
) -> Integers:
    """Euros a month before tax: hours, occupation, sex, health and smoking count, and so does where one lives."""
    above = np.array([OCCUPATIONS.get(name, (0, 0, 0, 0))[3] for name in occupation.tolist()], float)
    pension = np.where(occupation == "retired", 1050, np.where(occupation == "student", 250, 100))
    income = 700 + 42.0 * hours + above + np.where(hours == 0, pension, 0) + 180 * male
    income = income - 300 * (health != "none") - 240 * smoker + rich + 380 * chance.standard_normal(len(hours))
    return np.maximum(np.rint(income), 120).astype(np.int64)


SURVEY = """
    select * replace (hours::integer as hours, income::integer as income,
                      (weight::decimal(9, 0) * 0.01)::decimal(9, 2) as weight)
    from drawn order by person
"""


def write(out: Path, households: int = 1_800, seed: int = 2026) -> tuple[Path, int]:
    """Write the survey to the folder ``out``; its path and the number of persons."""
    drawn = draw(households, seed)
    out.mkdir(parents=True, exist_ok=True)
    path = out / "survey.parquet"
    target = str(path).replace("'", "''")
    with duckdb.connect() as connection:
        texts = {name: column.astype(object) for name, column in drawn.items() if column.dtype.kind == "U"}
        connection.register("drawn", drawn | texts)
        connection.execute(f"create table survey as {SURVEY}")
        connection.execute(
            f"copy survey to '{target}' (format parquet, compression zstd, compression_level 19, parquet_version v2)"
        )
    return path, len(drawn["person"])


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Write a synthetic household survey.")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to write to; made where it is absent")
    parser.add_argument("--households", type=int, default=1_800, help="number of households (default: 1800)")
    parser.add_argument("--seed", type=int, default=2026, help="seed of all chance (default: 2026)")
    given = parser.parse_args(arguments)
    if given.households < 1:
        parser.error("--households must be at least 1")
    path, persons = write(given.out, given.households, given.seed)
    sys.stdout.write(f"{persons} persons in {given.households} households, {path.stat().st_size / 1e3:.0f} kB: {path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
