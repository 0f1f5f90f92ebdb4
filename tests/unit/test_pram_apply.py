"""PRAM applied: keys, draws, strata, households, missing codes, forbidden moves, weights."""

import dataclasses
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

from discreet.errors import InputError, ParameterError
from discreet.io.microdata import read_microdata
from discreet.microdata.protect.pram.apply import Pram, start_pram
from discreet.microdata.protect.pram.draw import Rows, drawn, shares
from discreet.microdata.protect.pram.full import TypeOne
from discreet.microdata.protect.pram.occurrence import Design, Occurrence
from discreet.microdata.protect.pram.own import OwnMatrix
from discreet.model.encoded import Coded
from discreet.model.keys import Secret
from discreet.model.microdata import Missing
from discreet.model.pram_file import PramFile
from discreet.model.transition import TransitionMatrix

SECRET = Secret("0123456789abcdef0123456789abcdef")
SPREAD = TypeOne(keep=0.6)


def records(n: int = 3000) -> pd.DataFrame:
    chance = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "id": [f"p{i}" for i in range(n)],
            "sex": chance.choice(["f", "m"], n),
            "job": chance.choice(["a", "b", "c", "d"], n, p=[0.5, 0.3, 0.15, 0.05]),
            "region": chance.choice(["N", "S"], n),
        }
    )


def started(frame: Any, secret: Secret = SECRET, **roles: Any) -> PramFile:
    return start_pram(read_microdata(frame, **({"unit": "id"} | roles)), secret)


def codes(coded: Coded) -> np.ndarray:
    return np.array([" / ".join(category) for category in coded.categories], object)[coded.codes]


def released(file: PramFile, frame: pd.DataFrame, place: int = 0) -> dict[str, str]:
    """The released code of each id."""
    return dict(zip(frame["id"], codes(file.released[place]), strict=True))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Given:
    """A design that hands out what it was given, whatever is allowed."""

    NAME: ClassVar[str] = "given"
    SOURCE: ClassVar[str] = "test"
    entries: tuple[tuple[float, ...], ...] = ()
    claims: bool = False

    @property
    def invariant(self) -> bool:
        return self.claims

    def matrix(self, occurrence: Occurrence, /) -> TransitionMatrix:
        if not self.entries:
            return TransitionMatrix(occurrence.categories[::-1], np.eye(len(occurrence.categories)))
        return TransitionMatrix(occurrence.categories, np.array(self.entries))


# ------------------------------------------------------------------- draws


def test_shares_are_uniform_and_independent_between_variables() -> None:
    key = np.random.default_rng(1).integers(0, 2**60, 200_000)
    first, second = shares(key, ("a",)), shares(key, ("b",))
    assert first.min() >= 0
    assert first.max() < 1
    assert stats.kstest(first, "uniform").pvalue > 0.01
    table, _, _ = np.histogram2d(first, second, bins=20)
    assert stats.chisquare(table.ravel()).pvalue > 0.01
    assert (shares(key, ("a", "b")) != shares(key, ("ab",))).all()


def test_keys_that_lie_close_together_give_shares_that_do_not() -> None:
    share = shares(np.arange(100_000), ("a",))
    assert stats.kstest(share, "uniform").pvalue > 0.01
    assert abs(np.corrcoef(share[1:], share[:-1])[0, 1]) < 0.01


def test_each_share_falls_into_its_part_of_the_row() -> None:
    matrix = TransitionMatrix.of("abc", [[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.5, 0.5, 0.0]])
    rows = Rows.of({(): matrix}, ((),), (("a",), ("b",), ("c",)))
    assert rows.stay.tolist() == [0.5, 1.0, 0.0]
    share = np.array([0.5, 0.7499, 0.75, np.nextafter(1, 0), 0.0, 0.4999, 0.5, np.nextafter(1, 0)])
    assert rows.moved(np.array([0, 0, 0, 0, 2, 2, 2, 2]), share).tolist() == [1, 1, 2, 2, 0, 0, 1, 1]


def test_no_share_is_lost_to_rounding_and_no_zero_is_drawn() -> None:
    chance = np.random.default_rng(3)
    raw = chance.random((40, 40)) * (chance.random((40, 40)) < 0.3) + np.eye(40) * 1e-9
    matrix = TransitionMatrix.of([f"{k:02}" for k in range(40)], raw / raw.sum(axis=1, keepdims=True))
    rows = Rows.of({(): matrix}, ((),), matrix.categories)
    row = np.arange(40).repeat(3)
    share = np.tile([np.nextafter(1, 0), 0.999999999999, 1e-8], 40)
    leaving = share >= rows.stay[row]
    to = rows.moved(row[leaving], share[leaving])
    assert (matrix.matrix[row[leaving], to] > 0).all()
    assert (to != row[leaving]).all()


def test_draws_follow_the_matrix() -> None:
    chance = np.random.default_rng(8)
    wanted = chance.dirichlet(np.ones(5), 5)
    true = Coded(tuple((f"{k}",) for k in range(5)), chance.integers(0, 5, 400_000).astype(np.int32))
    matrix = TransitionMatrix(true.categories, wanted)
    found = drawn({(): matrix}, true, None, chance.integers(0, 2**60, len(true.codes)), ("x",))
    counts = np.bincount(true.codes * 5 + found.codes, minlength=25).reshape(5, 5)
    for k in range(5):
        assert stats.chisquare(counts[k], counts[k].sum() * matrix.matrix[k]).pvalue > 0.01


def test_a_slightly_other_matrix_changes_few_draws() -> None:
    frame = records()
    before = Pram(columns=("job",), design=TypeOne(keep=0.6)).apply(started(frame))
    after = Pram(columns=("job",), design=TypeOne(keep=0.61)).apply(started(frame))
    assert 0 < (before.released[0].codes != after.released[0].codes).mean() < 0.04


# ------------------------------------------------------------- same key, same draw


def test_row_order_frame_kind_and_other_variables_change_no_draw() -> None:
    frame = records()
    pram = Pram(columns=("job",), within=("region",), design=SPREAD)
    expected = released(pram.apply(started(frame)), frame)
    assert expected != dict(zip(frame["id"], frame["job"], strict=True))
    shuffled = frame.sample(frac=1, random_state=1)
    assert released(pram.apply(started(shuffled)), shuffled) == expected
    assert released(pram.apply(started(pl.from_pandas(frame))), frame) == expected
    assert released(pram.apply(started(pl.from_pandas(frame).to_arrow())), frame) == expected
    more = Pram(columns=("sex",), design=SPREAD).apply(started(frame))
    assert released(pram.apply(more), frame, 1) == expected


def test_the_kind_of_the_id_changes_no_key() -> None:
    numbers = pd.DataFrame({"id": range(50), "a": "x"})
    expected = started(numbers).key.tolist()
    assert started(numbers.astype({"id": float})).key.tolist() == expected
    assert started(numbers.astype({"id": str})).key.tolist() == expected


def test_another_secret_gives_other_draws_and_the_same_one_the_same() -> None:
    """Case P04: whatever was drawn before, and also after an undo."""
    frame = records()
    pram = Pram(columns=("job",), design=SPREAD)
    start = started(frame)
    first = pram.apply(start)
    np.random.default_rng().random(1000)
    Pram(columns=("sex",), design=SPREAD).apply(first)
    again = pram.apply(start)
    np.testing.assert_array_equal(first.released[0].codes, again.released[0].codes)
    other = pram.apply(started(frame, Secret("another secret of 16 letters")))
    assert (first.released[0].codes != other.released[0].codes).mean() > 0.2
    assert len(start.variables) == 0


def test_variables_are_randomised_independently() -> None:
    frame = pd.DataFrame({"id": range(60_000), "a": ["x", "y"] * 30_000, "b": ["x", "y"] * 30_000})
    file = started(frame)
    for column in ("a", "b"):
        file = Pram(columns=(column,), design=TypeOne(keep=0.7)).apply(file)
    moved = [true.codes != out.codes for true, out in zip(file.true, file.released, strict=True)]
    table = np.histogram2d(moved[0], moved[1], bins=2)[0]
    assert stats.chi2_contingency(table).pvalue > 0.01
    assert abs(moved[0].mean() - 0.3) < 0.01


# -------------------------------------------------------------------- the start


def test_an_id_is_needed_for_each_record() -> None:
    frame = records(20)
    with pytest.raises(InputError, match="no column names the unit"):
        start_pram(read_microdata(frame), SECRET)
    with pytest.raises(InputError, match="no column 'ident'"):
        start_pram(read_microdata(frame), SECRET, record=["ident"])
    with pytest.raises(InputError, match="twice"):
        start_pram(read_microdata(frame), SECRET, record=["id", "id"])
    frame.loc[3, "id"] = None
    frame.loc[4, "id"] = ""
    with pytest.raises(InputError, match="2 records have no id there"):
        started(frame)


def test_shared_ids_are_counted_and_several_columns_tell_records_apart() -> None:
    frame = pd.DataFrame({"home": [1, 1, 2, 3, 3, 3], "person": [1, 2, 1, 1, 2, 3], "sex": list("fmfmff")})
    with pytest.raises(InputError, match="5 records share their id") as caught:
        start_pram(read_microdata(frame, unit="home"), SECRET)
    assert "together tell records apart" in caught.value.fix
    file = start_pram(read_microdata(frame, unit="home"), SECRET, record=("home", "person"))
    assert len(set(file.key.tolist())) == 6
    assert file.record == ("home", "person")
    assert start_pram(read_microdata(frame), SECRET, record=["home", "person"]).key.tolist() == file.key.tolist()


def test_ids_of_several_columns_are_not_run_together() -> None:
    frame = pd.DataFrame({"a": ["1", "11"], "b": ["12", "2"]})
    assert len(set(start_pram(read_microdata(frame), SECRET, record=["a", "b"]).key.tolist())) == 2


def test_counted_rows_and_weak_hashes_are_refused() -> None:
    frame = records(20).assign(n=3)
    with pytest.raises(InputError, match="stand for several records"):
        started(frame, count="n")
    with pytest.raises(InputError, match="paper's hash"):
        started(frame, Secret("1234567", paper=True))


def test_a_file_without_a_secret_cannot_randomise_households() -> None:
    file = PramFile(microdata=read_microdata(records(20)), key=np.arange(20))
    with pytest.raises(InputError, match="start_pram"):
        Pram(columns=("sex",), design=SPREAD, together="region").apply(file)


# ------------------------------------------------------------------ strata


def test_within_strata_nothing_arises_that_was_not_there() -> None:
    """Case P01: who is under 25 is a student, and a thousand draws of each record make no other one."""
    frame = pd.DataFrame({"age": ["<25"] * 3 + ["25-59"] * 3 + ["60+"] * 2, "status": list("sss") + list("swu") + list("wr")})
    frame = pd.concat([frame] * 1000, ignore_index=True).assign(id=range(8000))
    file = Pram(columns=("status",), within=("age",), design=TypeOne(keep=0.2)).apply(started(frame))
    out = codes(file.released[0])
    assert {*zip(frame["age"], out, strict=True)} == {*zip(frame["age"], frame["status"], strict=True)}
    assert (out != frame["status"]).mean() > 0.4
    matrices = file.variables[0].matrices
    assert set(matrices) == {("<25",), ("25-59",), ("60+",)}
    assert matrices["<25",].matrix.tolist() == [[1.0]]
    assert matrices["60+",].labels == ["r", "w"]
    assert file.true[0].categories == file.released[0].categories == (("r",), ("s",), ("u",), ("w",))


def test_every_stratum_keeps_its_own_matrix() -> None:
    """Seen elsewhere: only the last stratum's matrix was kept, and a diagonal of .8 asked for and .42 delivered."""
    frame = records(40_000)
    file = Pram(columns=("job",), within=("region", "sex"), design=TypeOne(keep=0.8)).apply(started(frame))
    out = codes(file.released[0])
    assert len(file.variables[0].matrices) == 4
    for stratum, matrix in file.variables[0].matrices.items():
        np.testing.assert_array_equal(matrix.diagonal, 0.8)
        here = ((frame["region"] == stratum[0]) & (frame["sex"] == stratum[1])).to_numpy()
        stayed = (out[here] == frame["job"][here]).mean()
        assert abs(stayed - 0.8) < 4 * np.sqrt(0.16 / here.sum())


def test_a_compound_variable_makes_no_new_combination() -> None:
    frame = records().query("not (sex == 'f' and job == 'd')").reset_index(drop=True)
    file = Pram(columns=("sex", "job"), design=TypeOne(keep=0.3)).apply(started(frame))
    assert file.variables[0].name == "sex × job"
    found = set(codes(file.released[0]))
    assert len(found) == 7
    assert "f / d" not in found


# ------------------------------------------------------------------ keep, forbid


def test_kept_categories_are_neither_left_nor_entered() -> None:
    frame = records()
    file = Pram(columns=("job",), keep=("d",), design=TypeOne(keep=0.3)).apply(started(frame))
    assert ((codes(file.released[0]) == "d") == (frame["job"] == "d")).all()
    matrix = file.variables[0].matrices[()]
    assert matrix.matrix[3].tolist() == [0, 0, 0, 1]
    assert matrix.matrix[:3, 3].tolist() == [0, 0, 0]


def test_forbidden_moves_are_not_made() -> None:
    frame = records()
    pram = Pram(columns=("job",), forbid=(("a", "b"), ("*", "d"), ("c", "*")), design=TypeOne(keep=0.3))
    file = pram.apply(started(frame))
    moves = {*zip(frame["job"], codes(file.released[0]), strict=True)}
    assert moves == {("a", "a"), ("a", "c"), ("b", "a"), ("b", "b"), ("b", "c"), ("c", "c"), *((("d"), k) for k in "abcd")}


def test_compound_categories_are_named_by_text_or_tuple() -> None:
    frame = records()
    first = Pram(columns=("sex", "job"), keep=("f / a",), forbid=((("f", "b"), "m / a"),), design=SPREAD)
    second = Pram(columns=("sex", "job"), keep=(("f", "a"),), forbid=(("f / b", ("m", "a")),), design=SPREAD)
    one, two = first.apply(started(frame)), second.apply(started(frame))
    np.testing.assert_array_equal(one.variables[0].matrices[()].matrix, two.variables[0].matrices[()].matrix)
    labels = one.variables[0].matrices[()].labels
    assert one.variables[0].matrices[()].matrix[labels.index("f / b"), labels.index("m / a")] == 0


@pytest.mark.parametrize(
    ("options", "trouble"),
    [
        ({"keep": ("e",)}, "'e', a category that does not occur"),
        ({"keep": ("*",)}, "does not occur"),
        ({"forbid": (("a", "A"),)}, "did you mean 'a'"),
        ({"forbid": (("a", "a"),)}, "stays as it is"),
        ({"forbid": ("ab",)}, "no pair"),
    ],
)
def test_moves_that_make_no_sense_are_refused(options: dict[str, Any], trouble: str) -> None:
    with pytest.raises(ParameterError, match=trouble):
        Pram(columns=("job",), design=SPREAD, **options).apply(started(records(100)))


def test_a_design_that_breaks_what_is_allowed_is_refused() -> None:
    frame = pd.DataFrame({"id": range(4), "a": list("xxyz")})
    third = (1 / 3, 1 / 3, 1 / 3)
    with pytest.raises(InputError, match="releases 'x' as 'z', which is forbidden"):
        Pram(columns=("a",), design=Given(entries=(third,) * 3), forbid=(("x", "z"),)).apply(started(frame))
    with pytest.raises(InputError, match="is no invariant one"):
        Pram(columns=("a",), design=Given(entries=(third,) * 3, claims=True)).apply(started(frame))
    with pytest.raises(InputError, match="of other categories"):
        Pram(columns=("a",), design=Given()).apply(started(frame))
    assert isinstance(Given(), Design)


def test_what_a_design_refuses_is_told_with_its_stratum() -> None:
    design = OwnMatrix.of(["a", "b", "c"], np.eye(3))
    with pytest.raises(InputError, match=r"PRAM of job, stratum 'N', own: has no row for the category 'd'"):
        Pram(columns=("job",), within=("region",), design=design).apply(started(records()))


# ------------------------------------------------------------------ households


def homes() -> pd.DataFrame:
    chance = np.random.default_rng(11)
    size = chance.integers(1, 5, 900)
    home = np.repeat(np.arange(900), size)
    tenure = chance.choice(["owner", "tenant", "other"], 900)[home]
    region = chance.choice(["N", "S"], 900)[home]
    n = len(home)
    return pd.DataFrame(
        {"id": range(n), "home": home, "tenure": tenure, "region": region, "sex": chance.choice(["f", "m"], n)}
    ).sample(frac=1, random_state=2)


def test_a_household_has_one_draw() -> None:
    frame = homes()
    pram = Pram(columns=("tenure",), within=("region",), design=SPREAD, together="home")
    file = pram.apply(started(frame))
    out = frame.assign(out=codes(file.released[0]))
    assert out.groupby("home")["out"].nunique().max() == 1
    first = out.drop_duplicates("home")
    assert abs((first["out"] != first["tenure"]).mean() - 0.4) < 0.06
    assert file.variables[0].together == "home"
    alone = Pram(columns=("tenure",), within=("region",), design=SPREAD).apply(started(frame))
    assert frame.assign(out=codes(alone.released[0])).groupby("home")["out"].nunique().max() > 1
    joined = pd.concat([frame, frame.iloc[:1].assign(id=10**6)])
    again = pram.apply(started(joined))
    assert codes(again.released[0])[:-1].tolist() == out["out"].tolist(), "a new member changes no draw"


def test_households_whose_members_differ_are_refused() -> None:
    frame = homes()
    with pytest.raises(InputError, match=r"\d+ households hold records with different codes"):
        Pram(columns=("sex",), design=SPREAD, together="home").apply(started(frame))
    frame["region"] = frame["id"].mod(2).astype(str)
    with pytest.raises(InputError, match="households hold records with different codes"):
        Pram(columns=("tenure",), within=("region",), design=SPREAD, together="home").apply(started(frame))
    frame["home"] = frame["home"].astype(object).where(frame["home"] > 3)
    with pytest.raises(InputError, match=r"column 'home': \d+ records have no id there"):
        Pram(columns=("tenure",), design=SPREAD, together="home").apply(started(frame))


# -------------------------------------------------------------- missing, weights


def with_gaps() -> pd.DataFrame:
    frame = records()
    frame.loc[frame.index % 7 == 0, "job"] = None
    frame.loc[frame.index % 11 == 0, "job"] = "99"
    return frame


def test_empty_codes_stay_empty_or_are_a_category() -> None:
    frame, missing = with_gaps(), Missing(codes=("99",))
    empty = (frame["job"].isna() | (frame["job"] == "99")).to_numpy()
    kept = Pram(columns=("job",), design=SPREAD).apply(started(frame, missing=missing))
    assert ((codes(kept.released[0]) == "") == empty).all()
    assert kept.variables[0].matrices[()].labels == ["a", "b", "c", "d"]
    own = Pram(columns=("job",), design=SPREAD, missing="category").apply(started(frame, missing=missing))
    assert own.variables[0].matrices[()].labels == ["", "a", "b", "c", "d"]
    assert 0.3 < (codes(own.released[0])[empty] != "").mean() < 0.5


def test_empty_codes_of_a_compound_variable_stay_where_they_are() -> None:
    frame = with_gaps()
    frame.loc[frame.index % 5 == 0, "sex"] = None
    file = Pram(columns=("sex", "job"), design=SPREAD).apply(started(frame))
    true, out = (np.array(coded.categories, object)[coded.codes] for coded in (file.true[0], file.released[0]))
    assert ((true == "") == (out == "")).all()
    partly = (true == "").any(axis=1) & (true != "").any(axis=1)
    assert (true[partly] != out[partly]).any(), "what is not empty is randomised also there"


def test_a_variable_without_a_code_is_refused_and_an_empty_stratum_has_no_matrix() -> None:
    frame = records()
    frame.loc[frame["region"] == "S", "job"] = ""
    file = Pram(columns=("job",), within=("region",), design=SPREAD).apply(started(frame))
    assert list(file.variables[0].matrices) == [("N",)]
    with pytest.raises(InputError, match="all its codes are empty"):
        Pram(columns=("job",), design=SPREAD).apply(started(frame.assign(job="")))


def seen_counts(frame: pd.DataFrame, counts: str, **roles: Any) -> list[float]:
    seen: list[float] = []

    @dataclasses.dataclass(frozen=True)
    class Watching(Given):
        def matrix(self, occurrence: Occurrence, /) -> TransitionMatrix:
            seen.extend(occurrence.counts.tolist())
            return TransitionMatrix(occurrence.categories, np.eye(len(occurrence.categories)))

    Pram(columns=("job",), design=Watching(claims=True), counts=counts).apply(started(frame, **roles))
    return seen


def test_designs_look_at_records_or_at_the_weighted_population() -> None:
    frame = records().assign(w=np.random.default_rng(4).random(3000) * 10)
    assert seen_counts(frame, "sample") == frame["job"].value_counts().sort_index().tolist()
    weighted = seen_counts(frame, "population", weight="w")
    np.testing.assert_allclose(weighted, frame.groupby("job")["w"].sum().to_numpy())
    shuffled = frame.sample(frac=1, random_state=7)
    assert seen_counts(shuffled, "population", weight="w") == weighted, "to the last digit"
    with pytest.raises(InputError, match="need weights"):
        seen_counts(frame, "population")
    with pytest.raises(InputError, match="3 records have no weight"):
        seen_counts(frame.assign(w=frame["w"].where(frame.index > 2)), "population", weight="w")
    with pytest.raises(InputError, match="add up to 0"):
        seen_counts(frame.assign(w=frame["w"].where(frame["job"] != "d", 0)), "population", weight="w")


# ------------------------------------------------------------------- edges


def test_the_identity_leaves_all_and_one_category_stays() -> None:
    frame = records()
    file = Pram(columns=("job",), design=TypeOne(keep=1.0)).apply(started(frame))
    np.testing.assert_array_equal(file.true[0].codes, file.released[0].codes)
    single = Pram(columns=("job",), design=TypeOne(keep=0.3)).apply(started(frame.assign(job="a")))
    assert single.variables[0].matrices[()].matrix.tolist() == [[1.0]]


def test_a_column_is_randomised_once_and_is_no_stratum_then() -> None:
    """Two matrices, the second of which undoes the first on average, would give the true counts away."""
    file = Pram(columns=("job",), design=SPREAD).apply(started(records()))
    for again in (
        Pram(columns=("job",), design=SPREAD),
        Pram(columns=("sex", "job"), design=SPREAD),
        Pram(columns=("sex",), within=("job",), design=SPREAD),
        Pram(columns=("sex",), together="job", design=SPREAD),
    ):
        with pytest.raises(InputError, match="randomised"):
            again.apply(file)
    with pytest.raises(InputError, match="part of the records' id"):
        Pram(columns=("id",), design=SPREAD).apply(file)


@pytest.mark.parametrize(
    ("settings", "trouble"),
    [
        ({"columns": ()}, "is empty"),
        ({"columns": ("a", "a")}, "twice"),
        ({"columns": "a"}, "takes list of text"),
        ({"within": ("a", "a")}, "twice"),
        ({"missing": "drop"}, "not one of"),
        ({"counts": "both"}, "not one of"),
        ({"design": 3}, "takes Design"),
    ],
)
def test_settings_are_checked(settings: dict[str, Any], trouble: str) -> None:
    with pytest.raises(ParameterError, match=trouble):
        Pram(**({"columns": ("job",), "design": SPREAD} | settings))


def test_nothing_of_a_record_is_shown() -> None:
    file = Pram(columns=("job",), design=SPREAD).apply(started(records(50)))
    assert repr(file) == "PramFile(microdata: 50 records, 1 randomised variables)"
    assert str(int(file.key[0])) not in repr(file) + repr(file.variables) + repr(file.true) + repr(file.released)


def test_a_column_that_is_not_there_is_named_with_its_variable() -> None:
    begun = started(records(20))
    for asked in (
        {"columns": ("sexx",)},
        {"columns": ("sex",), "within": ("sexx",)},
        {"columns": ("sex",), "together": "sexx"},
    ):
        with pytest.raises(InputError, match="no column 'sexx' for PRAM of sex"):
            Pram(design=TypeOne(keep=0.8), **asked).apply(begun)


def test_a_secret_that_is_only_text_is_refused_and_not_told() -> None:
    with pytest.raises(ParameterError, match="is no Secret") as caught:
        start_pram(read_microdata(records(10), unit="id"), "my-plain-text-secret-0123456789")  # type: ignore[arg-type]
    assert "plain-text" not in str(caught.value)


def test_a_column_randomised_twice_is_told_with_the_compound_it_is_in() -> None:
    file = Pram(columns=("sex",), design=SPREAD).apply(started(records(100)))
    with pytest.raises(InputError) as caught:
        Pram(columns=("sex",), design=SPREAD).apply(file)
    assert caught.value.problem == "column 'sex' is randomised twice"
    with pytest.raises(InputError, match="column 'sex' is randomised twice, also in 'sex × job'"):
        Pram(columns=("sex", "job"), design=SPREAD).apply(file)
