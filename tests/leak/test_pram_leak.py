"""What is planted in records that are randomised, and their keys, occur in nothing that is written, shown, logged or raised."""

import logging
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from discreet.errors import SdcError
from discreet.io.microdata import read_microdata
from discreet.io.pram import document_of, read_pram, write_pram
from discreet.microdata.protect.pram.apply import Pram, start_pram
from discreet.microdata.protect.pram.full import TypeOne
from discreet.model.keys import Secret
from discreet.model.pram_file import PramFile

TEXT = "correct horse battery staple 17"
ODD_ID, ODD_WEIGHT, ODD_KEY = "person-7919370", 1.61803, 3141592653


def records(n: int = 600) -> pd.DataFrame:
    chance = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "id": [f"person-{i:07d}" for i in range(n)],
            "group": [f"holding-{i:04d}" for i in range(n)],
            "sex": chance.choice(["f", "m"], n),
            "region": chance.choice(["N", "S"], n),
            "weight": 1.0,
            "key": chance.integers(0, 2**31, n),
            "wage": chance.integers(1, 10**6, n),
        }
    )
    frame.loc[17, ["id", "weight", "key"]] = [ODD_ID, ODD_WEIGHT, ODD_KEY]
    return frame


def started(frame: pd.DataFrame) -> PramFile:
    microdata = read_microdata(frame, unit="id", holding="group", weight="weight", record_key="key")
    return start_pram(microdata, Secret(TEXT))


def secret_words(file: PramFile) -> list[str]:
    keys = [str(int(key)) for key in file.key] + [f"{int(key):x}" for key in file.key]
    true = [str(np.bincount(coded.codes).tolist()) for coded in file.true]
    return [TEXT, ODD_ID, "person-0000003", "holding-0000", str(ODD_KEY), *keys, *true]


@pytest.mark.parametrize("public", [True, False])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_nothing_secret_is_written_or_shown(
    kind: str,
    public: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    temporary, out = tmp_path / "temporary", tmp_path / "out"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    file = Pram(columns=("sex",), within=("region",), design=TypeOne(keep=0.8)).apply(started(records()))
    document = write_pram(file, out, name=f"released.{kind}", public=public)
    shown = "".join(map(repr, [file, document, file.variables, file.true, file.released, file.secret, file.microdata]))
    printed = capfd.readouterr()
    content = [path.read_bytes() for path in out.iterdir()]
    told = "\n".join([shown, printed.out, printed.err, caplog.text]).encode()
    for word in secret_words(file):
        assert all(word.encode() not in one for one in [*content, told])
    assert str(ODD_WEIGHT).encode() not in told
    for path in out.glob("*.json"):
        assert str(ODD_WEIGHT).encode() not in path.read_bytes()
    file.microdata.engine.close()
    assert list(temporary.iterdir()) == []
    assert {path.suffix for path in out.iterdir()} <= {".json", f".{kind}"}


def test_the_true_code_of_a_record_is_not_in_the_released_file(tmp_path: Path) -> None:
    """A matrix that moves everybody: not one record may have slipped through unchanged, whatever else is in its line."""
    frame = records()
    file = Pram(columns=("sex",), within=("region",), design=TypeOne(keep=0.0)).apply(started(frame))
    for name in ("r.csv", "r.parquet"):
        write_pram(file, tmp_path, name=name, columns=["wage", "region", "sex"])
        out = pd.read_csv(tmp_path / name) if name == "r.csv" else pd.read_parquet(tmp_path / name)
        both = frame.drop_duplicates("wage", keep=False).merge(out, on="wage", suffixes=("", "_out"))
        assert len(both) > 500
        assert (both["sex"] != both["sex_out"]).all()
        assert (both["region"] == both["region_out"]).all()


def same_ids(frame: pd.DataFrame) -> Any:
    return started(frame.assign(id=ODD_ID))


def no_ids(frame: pd.DataFrame) -> Any:
    return started(frame.assign(id=frame["id"].where(frame["wage"] > frame["wage"].median())))


def mixed_households(frame: pd.DataFrame) -> Any:
    frame = frame.assign(home=ODD_ID)
    return Pram(columns=("sex",), together="home", design=TypeOne(keep=0.8)).apply(started(frame))


def bad_weights(frame: pd.DataFrame) -> Any:
    frame = frame.assign(weight=-ODD_WEIGHT)
    return Pram(columns=("sex",), counts="population", design=TypeOne(keep=0.8)).apply(started(frame))


def unknown(frame: pd.DataFrame) -> Any:
    return Pram(columns=("sex",), keep=("x",), design=TypeOne(keep=0.8)).apply(started(frame))


def keys_released(frame: pd.DataFrame) -> Any:
    file = Pram(columns=("sex",), design=TypeOne(keep=0.8)).apply(started(frame))
    return write_pram(file, tempfile.gettempdir(), columns=["sex", "key"])


def other_records(frame: pd.DataFrame) -> Any:
    file = Pram(columns=("sex",), design=TypeOne(keep=0.8)).apply(started(frame))
    with tempfile.TemporaryDirectory() as folder:
        write_pram(file, folder)
        return read_pram(Path(folder) / "released.pram.json", frame)


@pytest.mark.parametrize(
    "trouble",
    [same_ids, no_ids, mixed_households, bad_weights, unknown, keys_released, other_records],
    ids=lambda one: one.__name__,
)
def test_errors_tell_nothing_of_a_record(trouble: Callable[[pd.DataFrame], Any]) -> None:
    frame = records()
    words = [TEXT, ODD_ID, str(ODD_WEIGHT), str(ODD_KEY), *(str(int(key)) for key in started(frame).key), "person-", "holding-"]
    with pytest.raises(SdcError) as caught:
        trouble(frame)
    told = repr(caught.value) + str(caught.value) + repr(caught.value.details) + repr(caught.value.__cause__)
    assert not [word for word in words if word in told]


def test_true_counts_are_in_no_document() -> None:
    file = Pram(columns=("sex",), within=("region",), design=TypeOne(keep=0.8)).apply(started(records()))
    true = {tuple(np.bincount(file.true[0].codes).tolist())}
    document = document_of(file, name="released.csv")
    assert true.isdisjoint(document.released[0].values())
    assert not hasattr(document, "key")
