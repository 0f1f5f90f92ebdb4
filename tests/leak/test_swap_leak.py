"""What is planted in records that are swapped, and their keys, occur in nothing that is written, shown, logged or raised."""

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
from discreet.io.swap import write_swapped, write_swaps
from discreet.microdata.protect.swap import MarginSwap, RandomSwap, RankSwap, TargetedSwap
from discreet.microdata.protect.swap.start import start_swap
from discreet.model.keys import Secret
from discreet.model.swap_file import SwapFile, Swapped

TEXT = "correct horse battery staple 17"
ODD_ID, ODD_HOME, ODD_JOB, ODD_WAGE, ODD_KEY = "person-7919370", "home-7919", "lighthouse keeper", 161803.5, 3141592653


def records(n: int = 600) -> pd.DataFrame:
    chance = np.random.default_rng(5)
    home = np.arange(n) // 2
    frame = pd.DataFrame(
        {
            "id": [f"person-{i:07d}" for i in range(n)],
            "home": [f"home-{i:04d}" for i in home],
            "group": [f"holding-{i:04d}" for i in range(n)],
            "region": chance.choice(["N", "S", "W"], n)[home],
            "sex": chance.choice(["f", "m"], n),
            "job": chance.choice(["none", "shop", "mill"], n),
            "wage": chance.integers(1, 10**5, n).astype(float),
            "key": chance.integers(0, 2**31, n),
        }
    )
    frame.loc[17, ["id", "job", "wage", "key"]] = [ODD_ID, ODD_JOB, ODD_WAGE, ODD_KEY]
    frame.loc[[16, 17], "home"] = ODD_HOME
    return frame


def started(frame: pd.DataFrame) -> SwapFile:
    return start_swap(read_microdata(frame, unit="id", holding="group", record_key="key"), Secret(TEXT))


def swapped(frame: pd.DataFrame) -> SwapFile:
    steps: list[Any] = [
        TargetedSwap(household="home", geography=("region",), risk=("job",), rate=0.2),
        MarginSwap(variables=("sex", "job", "region"), margins=(("sex", "job"), ("region",)), keys=("sex", "job", "region")),
        RankSwap(columns=("wage",)),
        RandomSwap(columns=("job",), rate=0.2),
    ]
    file = started(frame)
    for step in steps:
        file = step.apply(file)
    return file


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_nothing_secret_is_written_or_shown(
    kind: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    temporary, out = tmp_path / "temporary", tmp_path / "out"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    file = swapped(records())
    path = write_swapped(file, out, name=f"released.{kind}", renumber=["home"])
    told = "".join(map(repr, [file, *file.steps, file.secret, file.microdata, path])) + "".join(map(str, file.steps))
    printed = capfd.readouterr()
    shown = "\n".join([told, printed.out, printed.err, caplog.text]).encode()
    keys = [str(int(key)) for key in file.key] + [f"{int(key):x}" for key in file.key]
    content = path.read_bytes()
    for word in [TEXT, ODD_ID, ODD_HOME, "person-0000003", "home-0003", "holding-0000", str(ODD_KEY), *keys]:
        assert word.encode() not in content
        assert word.encode() not in shown
    for word in (ODD_JOB, str(ODD_WAGE)):
        assert word.encode() not in shown
    write_swaps(file, out)
    listed = (out / "swaps.csv").read_text("utf-8")
    assert ODD_ID in listed, "the owner's list names records, or it is of no use"
    assert not [word for word in (TEXT, ODD_JOB, ODD_HOME, *keys) if word in listed]
    file.microdata.engine.close()
    assert list(temporary.iterdir()) == []
    assert sorted(one.name for one in out.iterdir()) == sorted([path.name, "swaps.csv"])


def test_records_that_swapped_everything_cannot_be_put_together_again(tmp_path: Path) -> None:
    """All records exchange one column: no line may still hold both true values, wherever it stands."""
    frame = records().assign(mark=range(600), own=[f"x{i}" for i in range(600)])
    file = RandomSwap(columns=("own",), rate=1.0).apply(started(frame))
    for name in ("r.csv", "r.parquet"):
        path = write_swapped(file, tmp_path, name=name, columns=["mark", "own"])
        out = pd.read_csv(path) if name == "r.csv" else pd.read_parquet(path)
        assert sorted(out["own"]) == sorted(frame["own"])
        assert not (out["own"] == "x" + out["mark"].astype(str)).any()
        assert (out["mark"].diff().dropna() == 1).mean() < 0.05


def same_ids(frame: pd.DataFrame) -> Any:
    return started(frame.assign(id=ODD_ID))


def no_household(frame: pd.DataFrame) -> Any:
    return write_swapped(swapped(frame).moved({}, nothing()), tempfile.gettempdir(), renumber=["gap"])


def nothing() -> Swapped:
    return Swapped(method="nothing", columns=(), margins=None, facts={})


def two_places(frame: pd.DataFrame) -> Any:
    return TargetedSwap(household="home", geography=("job",), risk=("sex",)).apply(started(frame))


def wages_as_text(frame: pd.DataFrame) -> Any:
    return RankSwap(columns=("job",)).apply(started(frame))


def keys_released(frame: pd.DataFrame) -> Any:
    return write_swapped(swapped(frame), tempfile.gettempdir(), columns=["sex", "key"])


def true_records(frame: pd.DataFrame) -> Any:
    return write_swapped(swapped(frame), tempfile.gettempdir(), columns=["id", "group"])


@pytest.mark.parametrize(
    "trouble",
    [same_ids, no_household, two_places, wages_as_text, keys_released, true_records],
    ids=lambda one: one.__name__,
)
def test_errors_tell_nothing_of_a_record(trouble: Callable[[pd.DataFrame], Any]) -> None:
    frame = records()
    frame["gap"] = frame["job"].where(frame["job"] != "mill")
    words = [TEXT, ODD_ID, ODD_JOB, str(ODD_WAGE), str(ODD_KEY), "person-", "home-", "holding-"]
    words += [str(int(key)) for key in started(frame).key]
    with pytest.raises(SdcError) as caught:
        trouble(frame)
    told = repr(caught.value) + str(caught.value) + repr(caught.value.details) + repr(caught.value.__cause__)
    assert not [word for word in words if word in told]
