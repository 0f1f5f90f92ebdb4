"""Asked of every method of swapping, also of one that is added tomorrow.

A method with required parameters has a row in EXAMPLES; nothing else needs an edit.
"""

import dataclasses
import inspect
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from discreet.errors import ParameterError, PlanError, SdcError
from discreet.io.microdata import read_microdata
from discreet.io.swap import write_swapped, write_swaps
from discreet.method import build, parameters, to_dict
from discreet.microdata.protect.swap import SWAPS
from discreet.microdata.protect.swap.start import start_swap
from discreet.model.keys import Secret
from discreet.model.swap_file import SwapFile
from discreet.plan.read import read_plan

EXAMPLES: dict[str, dict[str, Any]] = {
    "margin-swap": {
        "variables": ["sex", "age", "area", "job"],
        "margins": [["sex", "age"], ["age", "area"], ["job"]],
        "keys": ["sex", "age", "area", "job"],
        "at_most": 2,
        "stay": ["sex"],
        "travel": {"post": "job"},
        "forbid": [{"age": "0-15", "job": ["mill", "farm"]}],
        "order": {"age": ["0-15", "16-64", "65+"]},
        "rate": 0.1,
    },
    "rank-swap": {"columns": ["income", "hours"], "p": 10, "within": ["sex"]},
    "random-swap": {"columns": ["area", "job"], "rate": 0.3, "within": ["sex"]},
    "targeted-swap": {
        "household": "house",
        "geography": ["region", "area"],
        "risk": ["sex", "age"],
        "k": 2,
        "profiles": [["size", "hours"], ["size"]],
        "rate": 0.1,
        "carry": ["tenure"],
    },
}
KINDS = {method.NAME: method for method in SWAPS}
EVERY = pytest.mark.parametrize("name", KINDS)
SECRET = Secret("a secret of a test, for nothing else")
ODD = ("correct horse", "battery staple", "p0007", "h0003")


def method_of(name: str) -> Any:
    return build(KINDS[name], EXAMPLES.get(name, {}))


def records(n: int = 360) -> pd.DataFrame:
    """Persons in households of one to three, some empty codes and numbers, and some rare combinations."""
    chance = np.random.default_rng(11)
    size = np.resize([1, 2, 3, 3, 2, 1], n)
    house = np.repeat(np.arange(n), size)[:n]
    area = chance.integers(0, 6, n)[house]
    frame = pd.DataFrame(
        {
            "person": [f"p{i:04}" for i in chance.permutation(n)],
            "house": [f"h{i:04}" for i in house],
            "size": pd.Series(house).groupby(house).transform("size").to_numpy(),
            "region": np.array(["north", "south"])[area // 3],
            "area": np.array([f"a{i}" for i in range(6)])[area],
            "sex": chance.choice(["f", "m"], n),
            "age": chance.choice(["0-15", "16-64", "65+"], n, p=[0.2, 0.6, 0.2]),
            "job": chance.choice(["none", "farm", "mill", "shop"], n, p=[0.7, 0.04, 0.06, 0.2]),
            "income": chance.lognormal(7, 1, n).round(),
            "hours": chance.integers(0, 60, n),
        }
    )
    frame.loc[frame["age"] == "0-15", "job"] = "none"
    frame["tenure"] = np.array(["owned", "rented"])[chance.integers(0, 2, n)[house]]
    frame["post"] = frame["job"] + "-" + frame["income"].mod(7).astype(int).astype(str)
    frame.loc[chance.random(n) < 0.05, "income"] = np.nan
    frame.loc[[3, 99], "job"] = ODD[0], ODD[1]
    return frame


def started(source: Any) -> SwapFile:
    return start_swap(read_microdata(source, unit="person"), SECRET)


def content(file: SwapFile, folder: Path) -> bytes:
    """The release with its ids, and the list of swaps."""
    columns = list(file.microdata.types)
    return write_swapped(file, folder, columns=columns).read_bytes() + write_swaps(file, folder).read_bytes()


@EVERY
def test_it_does_something_on_the_example(name: str) -> None:
    before = started(records())
    after = method_of(name).apply(before)
    assert after.origin, "the example must show the method at work, or the other tests say nothing"
    for column, origin in after.origin.items():
        assert (np.sort(origin) == np.arange(len(origin))).all()
        assert (origin != np.arange(len(origin))).any(), column


@EVERY
def test_it_moves_only_what_it_tells_and_keeps_the_margins_that_it_promises(name: str, tmp_path: Path) -> None:
    frame = records()
    after = method_of(name).apply(started(frame))
    step = after.steps[-1]
    assert step.method == name
    assert set(after.origin) <= set(step.columns)
    out = pd.read_csv(write_swapped(after, tmp_path, columns=list(frame)), dtype=object).fillna("").set_index("person")
    true = pd.read_csv(frame_file(frame, tmp_path), dtype=object).fillna("").set_index("person")
    changed = {column for column in true if (out[column].sort_index() != true[column].sort_index()).any()}
    assert changed
    assert changed <= set(step.columns)
    margins = [(column,) for column in true] if step.margins is None else list(step.margins.sets)
    for margin in margins:
        counts = [Counter(map(tuple, one[list(margin)].astype(str).to_numpy())) for one in (true, out)]
        assert counts[0] == counts[1], margin
    assert after.kept() == ([tuple(margin) for margin in (step.margins.sets if step.margins else ())], [])


def frame_file(frame: pd.DataFrame, folder: Path) -> Path:
    """The frame as a csv file that reads as the release does."""
    frame.astype({"income": "Int64"}).to_csv(folder / "true.csv", index=False)
    return folder / "true.csv"


@EVERY
def test_it_is_pure(name: str) -> None:
    file = started(records())
    first = method_of(name).apply(file)
    held = {column: origin.copy() for column, origin in first.origin.items()}
    assert (dict(file.origin), file.steps) == ({}, ())
    second = method_of(name).apply(first)
    assert len(second.steps) == 2
    for column, origin in held.items():
        np.testing.assert_array_equal(first.origin[column], origin)


@EVERY
def test_it_is_repeatable_whatever_the_order_and_kind_of_records(name: str, tmp_path: Path) -> None:
    frame = records()
    frame_file(frame, tmp_path)
    frame.to_parquet(tmp_path / "true.parquet", row_group_size=100)
    sources = [frame, frame, frame.sample(frac=1, random_state=1), pl.from_pandas(frame), pl.from_pandas(frame).to_arrow()]
    sources += [tmp_path / "true.csv", tmp_path / "true.parquet"]
    made = {content(method_of(name).apply(started(source)), tmp_path) for source in sources}
    assert len(made) == 1


@EVERY
def test_another_secret_makes_other_swaps(name: str) -> None:
    files = [
        start_swap(read_microdata(records(), unit="person"), Secret(f"secret {i} of a test, for nothing")) for i in range(2)
    ]
    moves = []
    for file in (method_of(name).apply(one) for one in files):
        person = np.array([code[0] for code in file.coded(["person"])[0].categories])[file.coded(["person"])[0].codes]
        moves.append(
            {(column, a, b) for column, origin in file.origin.items() for a, b in zip(person, person[origin], strict=True)}
        )
    assert moves[0] != moves[1]


@EVERY
def test_a_second_step_begins_where_the_first_one_ended(name: str) -> None:
    first = method_of(name).apply(started(records()))
    twice = method_of(name).apply(first)
    for origin in twice.origin.values():
        assert (np.sort(origin) == np.arange(len(origin))).all()
    now, then = twice.coded(list(twice.origin)), first.coded(list(twice.origin))
    for one, other in zip(now, then, strict=True):
        np.testing.assert_array_equal(np.bincount(one.codes), np.bincount(other.codes))


@EVERY
def test_it_goes_through_a_plan_and_back(name: str, tmp_path: Path) -> None:
    method = method_of(name)
    settings = to_dict(method)
    assert settings.pop("method") == name
    assert build(KINDS[name], json.loads(json.dumps(settings))) == method
    plan = read_plan(plan_of(name, EXAMPLES.get(name, {}), tmp_path))
    assert plan.swap is not None
    assert plan.swap.methods == (method,)


def plan_of(name: str, settings: dict[str, Any], folder: Path) -> Path:
    frame_file(records(), folder)
    (folder / "secret.txt").write_text("a secret of a test, for nothing else", "utf-8")
    head = '[microdata]\npath = "true.csv"\nunit = "person"\nsecret_file = "secret.txt"\n'
    head += '[swap]\nrenumber = ["house"]\n[[swap.step]]\n'
    lines = [f"{key} = {toml(value)}" for key, value in {"method": name, **settings}.items()]
    (folder / "plan.toml").write_text(head + "\n".join(lines), "utf-8")
    return folder / "plan.toml"


def toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f'"{key}" = {toml(item)}' for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def misspelled(value: Any, columns: set[str], path: tuple[Any, ...] = ()) -> list[tuple[tuple[Any, ...], Any]]:
    """The value once for each column that it names, with that name misspelled."""
    if isinstance(value, str):
        return [(path, "nonsense")] if value in columns else []
    if isinstance(value, list):
        found = []
        for i, item in enumerate(value):
            found += [(at, [*value[:i], new, *value[i + 1 :]]) for at, new in misspelled(item, columns, (*path, i))]
        return found
    if isinstance(value, dict):
        found = [
            ((*path, key), {("nonsense" if k == key else k): v for k, v in value.items()}) for key in value if key in columns
        ]
        for key, item in value.items():
            found += [(at, value | {key: new}) for at, new in misspelled(item, columns, (*path, key))]
        return found
    return []


@EVERY
def test_a_misspelled_column_is_told_with_its_line_before_anything_is_read(name: str, tmp_path: Path) -> None:
    settings, columns = EXAMPLES.get(name, {}), set(records())
    for line, key in enumerate(settings, 9):
        for path, value in misspelled(settings[key], columns):
            if key == "forbid":  # codes and the variables beside them are looked at with the records
                continue
            with pytest.raises(PlanError) as error:
                read_plan(plan_of(name, settings | {key: value}, tmp_path))
            told = [one for one in error.value.details if "'nonsense'" in one]
            assert told, (key, path)
            assert any(one.startswith(f"line {line}:") for one in told), (key, path, told)


@EVERY
def test_errors_tell_nothing_of_a_record(name: str) -> None:
    settings = EXAMPLES.get(name, {})
    keys = [str(int(key)) for key in started(records()).key]
    for key, value in settings.items():
        for _, new in misspelled(value, set(records())):
            with pytest.raises(SdcError) as caught:
                build(KINDS[name], settings | {key: new}).apply(started(records()))
            told = f"{caught.value!r} {caught.value} {caught.value.details}"
            assert not [word for word in (*ODD, *keys) if word in told]


@EVERY
def test_what_it_tells_of_its_work_is_counts(name: str) -> None:
    step = method_of(name).apply(started(records())).steps[-1]
    assert step.facts
    for fact, value in step.facts.items():
        assert isinstance(fact, str)
        assert isinstance(value, int | float | str)
        assert not isinstance(value, np.generic), f"{fact} is a number of numpy, which is no JSON"
    shown = f"{step} {step!r}"
    assert not [word for word in ODD if word in shown]
    assert json.loads(json.dumps(dict(step.facts))) == dict(step.facts)


@EVERY
def test_what_it_foresees_is_told_in_words(name: str) -> None:
    if not hasattr(KINDS[name], "foreseen"):
        pytest.skip("it moves what its parameters say")
    file = started(records())
    told = str(method_of(name).foreseen(file))
    assert any(sign.isdigit() for sign in told)
    assert not [word for word in ODD if word in told]
    assert "object at" not in told


@EVERY
def test_a_column_of_the_ids_does_not_move(name: str) -> None:
    frame = records().fillna({"income": 0})
    moved = method_of(name).apply(started(frame)).steps[-1].columns[0]
    file = start_swap(read_microdata(frame), SECRET, record=("person", moved))
    with pytest.raises(SdcError, match="part of the records' id"):
        method_of(name).apply(file)


@EVERY
def test_every_parameter_is_explained(name: str) -> None:
    for one in parameters(KINDS[name]):
        assert len(one.doc) > 10, f"{name}.{one.name} is not explained"
        assert one.name.isidentifier()


@EVERY
def test_it_says_what_it_is_for_and_where_it_comes_from(name: str) -> None:
    doc = inspect.cleandoc(KINDS[name].__doc__ or "")
    assert doc.partition("\n")[0].endswith(".")
    assert "Guards against" in doc
    assert "Does not guard against" in doc
    assert len(KINDS[name].SOURCE) > 10


@EVERY
def test_it_is_a_value(name: str) -> None:
    kind = KINDS[name]
    assert dataclasses.is_dataclass(kind)
    assert kind.__dataclass_params__.frozen
    assert all(field.kw_only for field in dataclasses.fields(kind))
    assert method_of(name) == method_of(name)


@EVERY
def test_it_refuses_what_it_does_not_know(name: str) -> None:
    with pytest.raises(ParameterError, match="unknown parameter 'nonsense'"):
        build(KINDS[name], EXAMPLES.get(name, {}) | {"nonsense": 1})
    for one in parameters(KINDS[name]):
        with pytest.raises(ParameterError, match=one.name):
            build(KINDS[name], EXAMPLES.get(name, {}) | {one.name: object()})


def test_names_are_different() -> None:
    assert len(KINDS) == len(SWAPS)
