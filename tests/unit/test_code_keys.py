"""Keys of codes: one formula, however it is computed."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.errors import InputError
from discreet.model.code_keys import code_keys, hashed_codes, record_code_keys

SECRET = "a secret that is long enough for tests"


def by_hand(purpose: str, code: str) -> int:
    """The key of an id of one column, straight from its definition."""
    key = hmac.new(SECRET.encode(), purpose.encode(), hashlib.sha256).hexdigest()[:32]
    plain = code.isdecimal() and str(int(code)) == code and int(code) < 2**63
    text, quarter = (str(int(code) // 4), int(code) % 4) if plain else (code, 0)
    return int(hashlib.sha256((key + text).encode()).hexdigest()[16 * quarter :][:15], 16)


def keys_of(ids: Sequence[object], *, kind: str = "object") -> list[int]:
    microdata = dc.read_microdata(pd.DataFrame({"id": pd.Series(ids, dtype=kind)}))
    keys = code_keys(microdata, dc.Secret(SECRET), "a purpose", ["id"])
    sql = hashed_codes(microdata, dc.Secret(SECRET), "a purpose", ["id"])
    rows = microdata.engine.fetch_in_order(f"SELECT {sql} AS k FROM {microdata.source}")["k"]
    assert rows.tolist() == keys.tolist()
    return [int(key) for key in keys]


@pytest.mark.parametrize(
    "ids",
    [
        ["7", "0", "3", "4", "5"],
        ["9", "12345678901", "10"],
        ["007", "7", "-7", "7.0", "1e3", " 7", "ä", "9223372036854775807", "9223372036854775808"],
        ["x", "y"],
    ],
    ids=["range", "sparse", "odd", "text"],
)
def test_keys_follow_their_definition(ids: list[str]) -> None:
    assert keys_of(ids) == [by_hand("a purpose", code) for code in ids]


def test_a_number_and_its_text_have_one_key_in_any_column() -> None:
    for ids in ([5, 2, 11], [5, 2, 1_000_000_007]):
        expected = [by_hand("a purpose", str(code)) for code in ids]
        assert keys_of(ids, kind="int64") == keys_of(list(map(str, ids))) == keys_of(ids, kind="float64") == expected


def test_a_large_range_is_keyed_in_parts() -> None:
    ids = np.random.default_rng(5).permutation(600_000) + 123
    keys = keys_of(ids.tolist(), kind="int64")
    at = [0, 1, 77_777, 599_999]
    assert [keys[i] for i in at] == [by_hand("a purpose", str(ids[i])) for i in at]
    assert len(set(keys)) == len(ids)
    shares = np.array(keys) / 2**60
    assert abs(shares.mean() - 0.5) < 4 / np.sqrt(12 * len(ids))
    assert abs(np.corrcoef(shares[np.argsort(ids)][:-1], shares[np.argsort(ids)][1:])[0, 1]) < 4 / np.sqrt(len(ids))


def test_another_purpose_gives_other_keys() -> None:
    microdata = dc.read_microdata(pd.DataFrame({"id": range(100)}))
    one, other = (set(code_keys(microdata, dc.Secret(SECRET), purpose, ["id"]).tolist()) for purpose in ("one", "other"))
    assert not one & other


@pytest.mark.parametrize("ids", [[1, 2, 2, 3, 3], [1, 5_000_000, 5_000_000, 6_000_000_000, 6_000_000_000], list("abbcc")])
def test_records_that_share_their_id_are_counted(ids: list[object]) -> None:
    microdata = dc.read_microdata(pd.DataFrame({"id": ids}))
    with pytest.raises(InputError, match="4 records share their id"):
        record_code_keys(microdata, dc.Secret(SECRET), "a purpose", ["id"])


def test_a_missing_id_is_counted() -> None:
    for ids in (pd.Series([1, None, 3], dtype="Int64"), pd.Series(["a", "", None])):
        microdata = dc.read_microdata(pd.DataFrame({"id": ids}))
        with pytest.raises(InputError, match=r"records? ha(ve|s) no id there"):
            code_keys(microdata, dc.Secret(SECRET), "a purpose", ["id"])


def test_ids_of_two_columns_are_no_numbers() -> None:
    microdata = dc.read_microdata(pd.DataFrame({"house": [1, 1, 11], "person": [1, 11, 1]}))
    assert len(set(record_code_keys(microdata, dc.Secret(SECRET), "a purpose", ["house", "person"])[1].tolist())) == 3
