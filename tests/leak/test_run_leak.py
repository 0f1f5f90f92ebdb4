"""Odd values planted in the records occur in nothing that a run writes, prints, logs, raises or leaves behind."""

import logging
import os
import subprocess
import sys
import tempfile
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.errors import SdcError

PLAN = """
[microdata]
path = "records.csv"
unit = "unit"
holding = "group"
weight = "weight"
record_key = "key"

[tables.small]
spanning = ["branch", "region"]
response = "turnover"
methods = [
  { method = "min-frequency", n = 3 },
  { method = "p-percent", p = 10 },
  { method = "gauss-suppression" },
]
"""
TURNOVER, WEIGHT, KEY = 7919370.53, 1.61803, 3141592653
"""Planted in the record of a cell of its own, so that the cell is sensitive and none of them may be seen."""


def records(seed: int = 5) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rows = 300
    frame = pd.DataFrame(
        {
            "unit": [f"unit-{i:04d}" for i in range(rows)],
            "group": [f"holding-{i % 97:03d}" for i in range(rows)],
            "branch": rng.choice(list("ABCD"), rows),
            "region": rng.choice(["north", "south", "west"], rows),
            "turnover": np.round(rng.lognormal(12, 1, rows), 2),
            "weight": 1.0,
            "key": rng.integers(0, 2**31, rows),
        }
    )
    lonely = ["unit-9999", "holding-999", "E", "north", TURNOVER, WEIGHT, KEY]
    return pd.concat(
        [frame, pd.DataFrame([lonely, ["unit-9998", "holding-998", "E", "west", 1.0, 1.0, 7]], columns=frame.columns)]
    )


def spellings() -> set[str]:
    """The planted values and what follows from them, as they could be printed."""
    weighted = Decimal(str(TURNOVER)) * Decimal(str(WEIGHT))
    numbers = {
        f"{TURNOVER:.2f}",
        f"{TURNOVER:.0f}",
        str(int(TURNOVER)),
        f"{TURNOVER:,.2f}",
        f"{TURNOVER:,.0f}",
        f"{weighted:.2f}",
    }
    numbers |= {str(weighted), f"{weighted:.0f}", f"{weighted:,.0f}", str(int(weighted)), str(WEIGHT), str(KEY)}
    numbers |= {number.replace(",", "\u202f") for number in numbers} | {number.replace(".", ",") for number in numbers}
    return numbers | {"unit-9999", "holding-999", "unit-0001"}


def assert_clean(text: str, where: str) -> None:
    found = sorted(word for word in spellings() if word in text)
    assert not found, f"{where} shows {found}"


def run(folder: Path, plan: str, *arguments: str) -> tuple[int, str]:
    (folder / "plan.toml").write_text(plan, encoding="utf-8")
    temporary = folder / "temporary"
    temporary.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-m", "discreet", "run", "plan.toml", "--out", "out", *arguments],
        cwd=folder,
        env=os.environ | {"TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not list(temporary.iterdir()), "something stayed in the temporary folder"
    return done.returncode, done.stdout + done.stderr


def test_a_run_leaves_no_planted_value_anywhere(tmp_path: Path) -> None:
    records().to_csv(tmp_path / "records.csv", index=False)
    code, said = run(tmp_path, PLAN)
    assert code == 0
    assert_clean(said, "the terminal")
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {"plan.toml", "records.csv", "out/small.csv", "out/report.html", "out/report.json"}
    for name in left - {"plan.toml", "records.csv"}:
        assert_clean((tmp_path / name).read_text(encoding="utf-8"), name)


def test_the_planted_value_would_be_seen_if_it_were_published(tmp_path: Path) -> None:
    """The test above can fail: without rules the value stands in the release."""
    records().to_csv(tmp_path / "records.csv", index=False)
    code, _ = run(tmp_path, PLAN.replace("n = 3", "n = 1").replace('{ method = "p-percent", p = 10 },', ""))
    assert code == 0
    with pytest.raises(AssertionError):
        assert_clean((tmp_path / "out" / "small.csv").read_text(encoding="utf-8"), "the release")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('unit = "unit"', 'unit = "turnover"'),
        ('holding = "group"', 'holding = "unit"'),
        ('response = "turnover"', 'response = "unit"'),
        ('weight = "weight"', 'weight = "group"'),
        ('record_key = "key"', 'record_key = "turnover"'),
        ('{ method = "gauss-suppression" },', ""),
        ('path = "records.csv"', 'path = "records.csv"\ndelimiter = ";"'),
        ('path = "records.csv"', 'path = "records.csv"\nencoding = "utf-16"'),
        ('response = "turnover"', 'response = "turnover"\ndecimals = 40'),
    ],
)
def test_a_refused_or_failed_run_shows_none_either(tmp_path: Path, old: str, new: str) -> None:
    records().to_csv(tmp_path / "records.csv", index=False)
    assert old in PLAN
    _, said = run(tmp_path, PLAN.replace(old, new))
    assert_clean(said, "the terminal")
    for path in (tmp_path / "out").rglob("*"):
        if path.suffix in (".html", ".json"):
            assert_clean(path.read_text(encoding="utf-8"), path.name)


def test_objects_and_logs_show_counts_only(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    microdata = dc.read_microdata(records(), unit="unit", holding="group", weight="weight", record_key="key")
    table = dc.tabulate(microdata, spanning=["branch", "region"], response="turnover")
    methods = [dc.MinimumFrequency(n=3), dc.PPercent(p=10), dc.GaussSuppression()]
    protected = dc.protect(table, methods)
    published = dc.publish(protected)
    loss = dc.suppression_loss(protected)
    shown = [repr(one) for one in (microdata, table, protected, published, loss, table.contributions, table.layouts, *methods)]
    shown += [str(step) for step in protected.history]
    for text in [*shown, caplog.text]:
        assert_clean(text, text[:60])
    with pytest.raises(SdcError) as refused:
        dc.publish(methods[0].apply(table))
    assert_clean(f"{refused.value} {refused.value.details}", "the refusal")


def test_an_engine_spills_into_a_private_folder_that_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    microdata = dc.read_microdata(records())
    assert [entry.stat().st_mode & 0o077 for entry in tmp_path.iterdir()] == [0]
    del microdata
    assert not list(tmp_path.iterdir())
