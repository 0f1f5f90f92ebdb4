"""Record keys: the same for the same unit wherever and however it is counted, and the secret seen nowhere."""

import random
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import discreet as dc
from discreet.engine.duckdb import Engine
from discreet.errors import InputError
from discreet.model.table import Table

TEXT = "a long enough secret, 7351"


def records() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "unit": [f"u{i}" for i in range(60)],
            "group": [f"g{i // 3}" if i < 30 else None for i in range(60)],
            "region": [("N", "S", "W")[i % 3] for i in range(60)],
            "turnover": [float(100 + 13 * i) for i in range(60)],
            "staff": [i % 7 + 1 for i in range(60)],
        }
    )


def keys(frame: object, *, secret: dc.Secret | None = None, response: str = "turnover", **roles: str) -> Table:
    microdata = dc.read_microdata(frame, **({"unit": "unit"} | roles))
    return dc.tabulate(microdata, spanning=["region"], response=response, ranks=10, secret=secret or dc.Secret(TEXT))


def same_keys(left: Table, right: Table) -> bool:
    ours, theirs = left.contributions, right.contributions
    return np.array_equal(ours.key, theirs.key) and np.array_equal(ours.top_key, theirs.top_key)


def test_keys_do_not_depend_on_the_kind_of_frame_or_the_order_of_rows(tmp_path: Path) -> None:
    frame = records()
    first = keys(frame)
    order = list(range(len(frame)))
    random.Random(3).shuffle(order)
    frame.to_csv(tmp_path / "records.csv", index=False)
    for other in (frame.iloc[order], pl.from_pandas(frame), pl.from_pandas(frame.iloc[order]), tmp_path / "records.csv"):
        assert same_keys(first, keys(other))
    assert first.contributions.keyed
    assert (first.contributions.top_key > 0).all()


def test_the_cell_key_is_the_sum_of_the_record_keys() -> None:
    table = keys(records().iloc[:27])
    held = table.contributions
    inner = [table.cell(region=code) for code in "NSW"]
    assert held.top.shape[1] >= held.holdings[inner].max()
    np.testing.assert_array_equal(held.key[inner], held.top_key[inner].sum(axis=1) % 2**32)
    assert held.key[table.cell()] == held.key[inner].sum() % 2**32


def test_another_secret_response_or_unit_gives_other_keys() -> None:
    first = keys(records())
    assert same_keys(first, keys(records(), secret=dc.Secret(f"  {TEXT}\n"))), "blanks around a secret are no part of it"
    renamed = records().assign(unit=lambda frame: frame["unit"] + "x")
    for other in (
        keys(records(), secret=dc.Secret(TEXT + "!")),
        keys(records(), response="staff"),
        keys(renamed),
    ):
        assert not np.isin(other.contributions.top_key, first.contributions.top_key).any()


def test_a_holding_has_one_key_wherever_it_is_and_its_units_their_own_in_the_cell_key() -> None:
    alone, grouped = keys(records()), keys(records(), holding="group")
    np.testing.assert_array_equal(alone.contributions.key, grouped.contributions.key)
    held = grouped.contributions
    of_holding = dict(zip(held.top_id[held.top != 0].tolist(), held.top_key[held.top != 0].tolist(), strict=True))
    total = set(held.top_key[grouped.cell()].tolist())
    assert total & set(held.top_key[1:].ravel().tolist()), "the largest of the total are among those of the regions"
    for ids, own in zip(held.top_id, held.top_key, strict=True):
        assert all(of_holding[one] == key for one, key in zip(ids.tolist(), own.tolist(), strict=True) if one >= 0)
    single = records().assign(group=None)
    assert same_keys(alone, keys(single, holding="group")), "units without a holding keep their own keys"


def test_the_hash_of_the_paper() -> None:
    numbers = records().assign(unit=lambda frame: frame.index + 123000)
    table = keys(numbers, secret=dc.Secret("987654321", paper=True))
    expected = [(123000 + i) * 987654321 % 1000 for i in range(60)]
    inner = table.cell(region="S")
    assert table.contributions.key[inner] == sum(expected[1::3])
    assert set(table.contributions.top_key[inner].tolist()) <= set(expected[1::3])
    with pytest.raises(InputError, match="60 ids are no whole numbers"):
        keys(records(), secret=dc.Secret("987654321", paper=True))
    for wrong in (TEXT, "-5", "1.5", ""):
        with pytest.raises(InputError, match="no whole number"):
            dc.Secret(wrong, paper=True)
    for shared in ("0", "987654000", "123456", "123455"):
        with pytest.raises(InputError, match="units share keys") as caught:
            dc.Secret(shared, paper=True)
        assert shared not in str(caught.value) or shared == "0"


def test_ids_that_are_missing_are_counted_and_refused() -> None:
    frame = records()
    frame.loc[[4, 9], "unit"] = None
    frame.loc[[11], "unit"] = ""
    with pytest.raises(InputError, match="3 records have no id to make a record key from"):
        keys(frame)
    with pytest.raises(InputError, match="no column names the unit"):
        dc.tabulate(dc.read_microdata(records()), spanning=["region"], response="turnover", secret=dc.Secret(TEXT))


def test_a_column_and_a_secret_together_are_refused() -> None:
    frame = records().assign(key=range(60))
    with pytest.raises(InputError, match="from a column and from a secret"):
        keys(frame, record_key="key")


@pytest.mark.parametrize("text", ["", "short", " " * 40 + "short"])
def test_a_secret_that_can_be_tried_out_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="fewer than 16 characters") as refused:
        dc.Secret(text)
    assert not text or text not in str(refused.value)


def test_a_secret_is_read_from_a_file_or_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret.txt").write_text(TEXT + "\n", "utf-8")
    monkeypatch.setenv("HOUSE_SECRET", TEXT)
    first = keys(records())
    assert same_keys(first, keys(records(), secret=dc.Secret.from_file(tmp_path / "secret.txt")))
    assert same_keys(first, keys(records(), secret=dc.Secret.from_environment("HOUSE_SECRET")))


def test_who_gives_the_secret_in_place_of_its_name_does_not_see_it_in_the_message(tmp_path: Path) -> None:
    for read in (dc.Secret.from_file, dc.Secret.from_environment):
        with pytest.raises(InputError, match=r"not the secret") as refused:
            read("9f86d081884c7d659a2feaa0c55ad015")
        assert "9f86d081" not in str(refused.value)
    (tmp_path / "latin").write_bytes(TEXT.encode() + b"\xe9")
    with pytest.raises(InputError, match="cannot be read") as refused:
        dc.Secret.from_file(tmp_path / "latin")
    assert TEXT not in str(refused.value)


def test_the_secret_is_shown_and_sent_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the secret nor the key hashed from it stands in a statement, where an engine's log could keep it."""
    said: list[str] = []
    for name in ("run", "fetch"):
        told = getattr(Engine, name)

        def spy(self: Engine, sql: str, *more: object, told: object = told) -> object:
            said.append(sql)
            return told(self, sql, *more)  # type: ignore[operator]

        monkeypatch.setattr(Engine, name, spy)
    secret = dc.Secret(TEXT)
    microdata = dc.read_microdata(records(), unit="unit", holding="group")
    table = dc.tabulate(microdata, spanning=["region"], response="turnover", ranks=10, secret=secret)
    hashed = str(microdata.engine.fetch("SELECT k FROM secret_key")["k"][0])
    assert len(hashed) == 32
    assert any("secret_key" in sql for sql in said), "the statements were seen"
    shown = [*said, repr(secret), str(secret), repr(microdata), repr(table), *map(str, table.history)]
    for text in shown:
        assert TEXT not in text
        assert hashed not in text
    assert repr(secret) == "Secret(hash)"
    assert repr(dc.Secret("987654321", paper=True)) == "Secret(paper)"


def test_fractions_above_one_are_no_record_keys() -> None:
    frame = pd.DataFrame({"a": ["x", "y", "x"], "key": [0.25, 1.5, 0.75]})
    with pytest.raises(InputError, match=r"whole numbers in \[0, 2\^32\) or fractions in \[0, 1\)"):
        dc.tabulate(dc.read_microdata(frame, record_key="key"), spanning=["a"])
