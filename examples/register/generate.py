"""Makes the synthetic business register of the examples, tests and benchmarks: every row is drawn, no firm is real.

    python examples/register/generate.py --out DIR [--rows 100000] [--seed 2024]

writes ``register.parquet``, ``nace.hrc`` (activity tree, lead string ``@``) and ``nace.cdl`` (its labels) to DIR.
The same rows and seed give the same register; the two trees are the same for all.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

HERE = Path(__file__).resolve().parent
PROVINCES = {"NO": 7, "NE": 5, "EA": 6, "SE": 6, "SO": 7, "SW": 5, "WE": 8, "KA": 1}
RENAMED = {"SO7": "SOØ"}
ONE_MUNICIPALITY = ("KA1", "NE5", "WE8")
SIZES = ("0-9", "10-49", "50-249", "250+")
SIZE_LIMITS = (10, 50, 250)
LEGAL_FORMS = ("sole owner", "partnership", "limited", "public limited", "cooperative", "public body")
LEGAL_SHARES = (
    (0.55, 0.12, 0.30, 0.00, 0.02, 0.01),
    (0.10, 0.14, 0.68, 0.03, 0.03, 0.02),
    (0.01, 0.06, 0.70, 0.15, 0.04, 0.04),
    (0.00, 0.01, 0.45, 0.42, 0.04, 0.08),
)
GROUPED = 0.10  # share of enterprises that belong to a group of several
LARGEST_GROUP = 40
DORMANT = 0.02  # share of enterprises without turnover
REQUESTS = 0.05  # share of the largest enterprises that asked for confidentiality

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Activities:
    """The activity tree, and for each class its division and what is usual there."""

    lines: tuple[tuple[int, str, str], ...]  # level 1 to 4, code, label; a part follows its whole
    classes: tuple[str, ...]
    section: Integers
    division: Integers
    share: Floats
    per_head: Floats
    size: Floats


@dataclasses.dataclass(frozen=True)
class Regions:
    """Codes of all municipalities with the province and the part of the country of each."""

    region1: tuple[str, ...]
    region2: tuple[str, ...]
    region3: tuple[str, ...]
    province: Integers


def activities() -> Activities:
    """Sections and divisions from ``activities.csv``; each division is split into groups and classes by a fixed pattern."""
    lines: list[tuple[int, str, str]] = []
    classes: list[tuple[str, int, int, float, float, float]] = []
    section = division = -1
    with (HERE / "activities.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            code, label = row["code"], row["label"]
            if not row["parent"]:
                section += 1
                lines.append((1, code, label))
                continue
            division += 1
            lines.append((2, code, label))
            leaves: list[str] = []
            for group in _numbers(1 + 5 * division % 6):
                lines.append((3, f"{code}.{group}", f"{label}, branch {group}"))
                for kind in _numbers(1 + (2 * division + group) % 3):
                    leaves.append(f"{code}.{group}{kind}")
                    lines.append((4, leaves[-1], f"{label}, branch {group}, kind {kind}"))
            zipf = 1 / np.arange(1, len(leaves) + 1)
            for leaf, part in zip(leaves, zipf / zipf.sum(), strict=True):
                usual = float(row["share"]) * part, float(row["per_head"]), float(row["size"])
                classes.append((leaf, section, division, *usual))
    codes, sections, divisions, shares, per_head, sizes = zip(*classes, strict=True)
    columns = (np.array(sections), np.array(divisions), np.array(shares), np.array(per_head), np.array(sizes))
    return Activities(tuple(lines), codes, *columns)


def _numbers(parts: int) -> list[int]:
    """The digits that number the parts of a whole: a lone part is number 0, as in NACE."""
    return [0] if parts == 1 else list(range(1, parts + 1))


def regions() -> Regions:
    """The tree of parts of the country, provinces and municipalities; some have one part only."""
    rows: list[tuple[str, str, str, int]] = []
    province = 0
    for part, count in PROVINCES.items():
        for number in range(1, count + 1):
            plain = f"{part}{number}"
            code = RENAMED.get(plain, plain)
            towns = 1 if plain in ONE_MUNICIPALITY else 4 + province * 7 % 12
            rows += [(part, code, f"{code}{town:02d}", province) for town in range(1, towns + 1)]
            province += 1
    region1, region2, region3, provinces = zip(*rows, strict=True)
    return Regions(region1, region2, region3, np.array(provinces))


def draw(rows: int, seed: int, tree: Activities, land: Regions) -> dict[str, NDArray[Any]]:
    """The register as columns of numbers: positions for codes, hundredths for amounts, 0 for 'alone' as group."""
    chance = np.random.default_rng(seed)
    town = _towns(rows, chance, land)
    kind = _kinds(land.province[town], chance, tree, land)
    head = np.floor(np.exp(tree.size[kind] - 0.1 + 1.5 * chance.standard_normal(rows)) - 0.5)
    employees = np.clip(head, 0, 40_000).astype(np.int64)
    size = np.searchsorted(SIZE_LIMITS, employees, side="right")
    usual = tree.per_head[kind] * (employees + 0.4)
    turnover = np.where(chance.random(rows) < DORMANT, 0.0, usual * np.exp(1.1 * chance.standard_normal(rows)))
    margin = turnover * (0.08 + 0.11 * chance.standard_normal(rows)) - np.where(turnover == 0, usual * 0.02, 0.0)
    base = np.array([6.0, 2.5, 1.25, 1.0])[size]
    return {
        "number": np.arange(1, rows + 1),
        "holding": _holdings(tree.division[kind] * 1000 + land.province[town], employees, chance),
        "kind": kind,
        "town": town,
        "size": size,
        "legal": _cut(np.cumsum(LEGAL_SHARES, axis=1)[size], chance.random(rows)),
        "employees": employees,
        "turnover": np.round(100 * turnover).astype(np.int64),
        "balance": np.round(100 * margin).astype(np.int64),
        "weight": np.round(100 + 100 * (base - 1) * (0.6 + 0.04 * tree.section[kind])).astype(np.int64),
        "request": ((employees >= SIZE_LIMITS[-1]) & (chance.random(rows) < REQUESTS)).astype(np.int64),
    }


def _cut(cumulated: Floats, at: Floats) -> Integers:
    """For each row of cumulated shares the position at which ``at`` falls."""
    return np.asarray(np.minimum((at[:, None] >= cumulated).sum(axis=1), cumulated.shape[1] - 1), np.int64)


def _towns(rows: int, chance: np.random.Generator, land: Regions) -> Integers:
    """A few large provinces and towns, many small ones."""
    province = np.exp(0.65 * chance.standard_normal(int(land.province.max()) + 1))
    town = np.exp(0.9 * chance.standard_normal(len(land.region3)))
    share = town / np.bincount(land.province, town)[land.province] * province[land.province]
    cumulated = np.cumsum(share) / share.sum()
    return np.minimum(np.searchsorted(cumulated, chance.random(rows), side="right"), len(share) - 1)


def _kinds(province: Integers, chance: np.random.Generator, tree: Activities, land: Regions) -> Integers:
    """Activities by province: each province has divisions of its own that it is strong or weak in."""
    provinces, divisions = int(land.province.max()) + 1, int(tree.division.max()) + 1
    strength = np.exp(0.8 * chance.standard_normal((provinces, divisions)))
    at = chance.random(len(province))
    kind = np.zeros(len(province), np.int64)
    for here in range(provinces):
        share = tree.share * strength[here, tree.division]
        cumulated = np.cumsum(share) / share.sum()
        rows = np.flatnonzero(province == here)
        kind[rows] = np.minimum(np.searchsorted(cumulated, at[rows], side="right"), len(share) - 1)
    return kind


def _holdings(place: Integers, employees: Integers, chance: np.random.Generator) -> Integers:
    """Groups of 2 to 40 enterprises, larger ones likelier to belong to one; half of the groups stay in one place."""
    rows = len(place)
    holding = np.zeros(rows, np.int64)
    members = np.argsort(-np.log1p(-chance.random(rows)) / np.sqrt(employees + 1.0), kind="stable")[: round(GROUPED * rows)]
    half = len(members) // 2
    local = members[:half][np.argsort(place[members[:half]], kind="stable")]
    sizes = np.arange(2, LARGEST_GROUP + 1)
    cumulated = np.cumsum(sizes**-1.8) / np.sum(sizes**-1.8)
    number = 0
    for pool in (local, members[half:]):
        ends = np.cumsum(2 + np.searchsorted(cumulated, chance.random(len(pool)), side="right").clip(0, len(sizes) - 1))
        starts = np.concatenate([[0], ends[ends <= len(pool) - 2]])
        which = np.searchsorted(starts, np.arange(len(pool)), side="right")
        if len(pool) >= 2:
            holding[pool] = number + which
            number += int(which[-1])
    return holding


REGISTER = """
    select printf('E%07d', number) as enterprise,
           case when holding = 0 then printf('E%07d', number) else printf('G%06d', holding) end as "group",
           $classes[kind + 1] as nace,
           $region1[town + 1] as region1, $region2[town + 1] as region2, $region3[town + 1] as region3,
           $sizes[size + 1] as size, $legal[legal + 1] as legal_form,
           employees::integer as employees,
           (turnover::decimal(12, 0) * 0.01)::decimal(12, 2) as turnover,
           (balance::decimal(12, 0) * 0.01)::decimal(12, 2) as balance,
           (weight::decimal(5, 0) * 0.01)::decimal(5, 2) as weight,
           case when request = 1 then '1' else '' end as request
    from drawn order by number
"""


def write(out: Path, rows: int = 100_000, seed: int = 2024) -> Path:
    """Write register, tree and labels to the folder ``out``; the path of the register."""
    tree, land = activities(), regions()
    drawn = draw(rows, seed, tree, land)
    codes = {
        "classes": list(tree.classes),
        "region1": list(land.region1),
        "region2": list(land.region2),
        "region3": list(land.region3),
        "sizes": list(SIZES),
        "legal": list(LEGAL_FORMS),
    }
    out.mkdir(parents=True, exist_ok=True)
    path = out / "register.parquet"
    with duckdb.connect() as connection:
        connection.register("drawn", drawn)
        connection.execute(f"create table register as {REGISTER}", codes)
        target = str(path).replace("'", "''")
        connection.execute(
            f"copy register to '{target}' (format parquet, compression zstd, compression_level 19, parquet_version v2)"
        )
    (out / "nace.hrc").write_text("".join(f"{'@' * (level - 1)}{code}\n" for level, code, _ in tree.lines), encoding="utf-8")
    with (out / "nace.cdl").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows((code, label) for _, code, label in tree.lines)
    return path


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Write a synthetic business register, its activity tree and the labels.")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to write to; made where it is absent")
    parser.add_argument("--rows", type=int, default=100_000, help="number of enterprises (default: 100000)")
    parser.add_argument("--seed", type=int, default=2024, help="seed of all chance (default: 2024)")
    given = parser.parse_args(arguments)
    if given.rows < 1:
        parser.error("--rows must be at least 1")
    path = write(given.out, given.rows, given.seed)
    sys.stdout.write(f"{given.rows} enterprises, {path.stat().st_size / 1e6:.2f} MB: {path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
