"""Every tutorial runs, and says what its prose promises."""

import runpy
from pathlib import Path

import pytest

TUTORIALS = sorted((Path(__file__).resolve().parents[2] / "docs" / "tutorials").glob("*.py"))


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_runs(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(path))
    assert capsys.readouterr().out.strip()


def test_the_first_table_is_refused_and_then_proved(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(next(path for path in TUTORIALS if path.stem == "first_table")))
    said = capsys.readouterr().out
    refused, proved = said.split("publish: ")[0], said.split("publish: ")[1]
    assert "exact" in refused
    assert "exact" not in proved.split("Audit(")[1].split(";")[0]


def test_the_noisy_table_is_published_and_its_noise_averages_out_where_the_prose_says(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ends = runpy.run_path(str(next(path for path in TUTORIALS if path.stem == "noisy_table")))
    said = capsys.readouterr().out
    assert "not proved" not in said
    assert "standard_error" in said
    averaged = ends["lines"]
    first, last = (
        {name: errors[0] for name, errors in averaged.items()},
        {name: errors[-1] for name, errors in averaged.items()},
    )
    assert last["layered, contributor 1"] > 22
    assert last["layered, contributor 11"] < first["layered, contributor 11"] / 5
    assert last["Evans, Zayatz, Slanta"] == pytest.approx(first["Evans, Zayatz, Slanta"], rel=0.01)
    assert ends["picture"].count("<polyline") == 4


def test_the_owner_of_the_survey_is_refused_a_contradiction_and_hides_the_surgeon(capsys: pytest.CaptureFixture[str]) -> None:
    ends = runpy.run_path(str(next(path for path in TUTORIALS if path.stem == "pram_owner")))
    said = capsys.readouterr().out
    assert "no matrix meets these targets" in said
    assert "warning:" in said
    woman = ends["woman"]
    assert woman.prior < woman.posterior < 1
    ratios = [
        row["expectation_ratio"] for row in ends["risk"].rows() if row["category"] in ("hiv", "epilepsy", "surgeon", "judge")
    ]
    assert len(ratios) >= 6
    assert max(ratios) <= 1 + 1e-9
    assert "<svg" in ends["report"]


def test_the_analyst_comes_closer_than_the_released_codes_do(capsys: pytest.CaptureFixture[str]) -> None:
    ends = runpy.run_path(str(next(path for path in TUTORIALS if path.stem == "pram_analyst")))
    said = capsys.readouterr().out
    assert "corrected for PRAM" in said
    pairs = [*ends["ill"], *ends["ages"]]
    corrected = [abs(row["estimate"] - truth["estimate"]) / truth["estimate"] for row, truth in pairs]
    naive = [abs(row["naive"] - truth["estimate"]) / truth["estimate"] for row, truth in pairs]
    assert sum(corrected) < 0.6 * sum(naive)
    assert sum(row["low"] <= truth["estimate"] <= row["high"] for row, truth in pairs) >= len(pairs) - 2
    assert not Path(ends["release"].name).exists(), "nothing of the release is left behind"
    assert ends["picture"].count("<circle") == 2 * len(pairs) + 2


def test_the_census_breaks_up_everybody_who_stands_out_and_finds_whom_the_tables_prove(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ends = runpy.run_path(str(next(path for path in TUTORIALS if path.stem == "swap_census")))
    said = capsys.readouterr().out
    assert "risky records changed: 679" in said
    assert ends["left"].right_share < 0.1
    assert ends["baseline"].steps[0].facts["records swapped"] >= 660
    assert ends["asked"].foreseen(ends["file"]).share < 0.1
    assert "k decides how many swap" in said
    assert ends["audit"].shown()["sample uniques given away"] == 30
    assert all("records" in row for row in ends["audit"].rows())
    assert ends["swapped"].kept() == ([tuple(margin) for margin in ends["margins"].sets], [])
