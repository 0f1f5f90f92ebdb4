"""The door to publication: refusal, signatures, and what a published table does not hold."""

import dataclasses
import sys

import numpy as np
import pytest

from discreet.audit import audit, publish
from discreet.errors import InputError, NotProtectedError, ParameterError
from discreet.model.published import Exemption, PublishedTable
from discreet.model.table import Table
from discreet.testing import small_table

ODD = 77123.0


def protected() -> Table:
    """A hidden square around an odd value, one cell not listed."""
    table = small_table([[ODD, 500, 100], [80, 190, 220], [170, 320, 120]])
    status = np.zeros(table.cells, np.int8)
    status[[table.cell(v1=a, v2=b) for a in "AB" for b in "AB"]] = [2, 1, 1, 1]
    listed = np.ones(table.cells, bool)
    listed[table.cell({})] = False
    return table.replace(status=status, listed=listed)


def leaky() -> Table:
    """Only the odd cell is hidden."""
    table = protected()
    status = np.where(table.primary, 2, 0).astype(np.int8)
    return table.replace(status=status, listed=np.ones(table.cells, bool))


def arrays(value: object) -> list[np.ndarray]:
    """Every array anywhere inside an object."""
    if isinstance(value, np.ndarray):
        return [value]
    if dataclasses.is_dataclass(value):
        return [array for field in dataclasses.fields(value) for array in arrays(getattr(value, field.name))]
    if isinstance(value, tuple | list):
        return [array for item in value for array in arrays(item)]
    return []


def test_publishes_what_is_proved_and_nothing_else() -> None:
    published = publish(protected())
    columns = published.to_columns()
    assert len(columns["value"]) == 15
    hidden = np.isnan(columns["value"])
    assert hidden.sum() == 4
    assert set(columns["status"][hidden]) == {"suppressed"}
    assert set(columns["status"][~hidden]) == {"published"}
    assert set(published.to_columns(distinguish=True)["status"][hidden]) == {"primary", "secondary"}
    assert ("Total", "Total") not in set(zip(columns["v1"], columns["v2"], strict=True))
    held = [array for array in arrays(published) if array.dtype.kind == "f"]
    assert held
    assert not any((array == ODD).any() for array in held)
    assert "77123" not in repr(published) + repr(published.layouts) + repr(published.audit)
    assert repr(published) == "PublishedTable(value by v1 × v2: 15 lines, 4 hidden)"
    assert published.audit["safe"] == 4
    assert "seconds" not in published.audit


def test_refuses_what_is_not_proved() -> None:
    with pytest.raises(NotProtectedError) as caught:
        publish(leaky())
    text = str(caught.value)
    assert "1 cell can be recomputed exactly: 'v1=A, v2=A'" in text
    assert "fix:" in text
    assert "77123" not in text
    assert caught.value.details == [("exact", "v1=A, v2=A")]


def test_refusal_names_every_kind() -> None:
    table = small_table([100, 50, 350], n=[1, 1, 9]).replace(status=np.array([0, 2, 2, 0], np.int8))
    with pytest.raises(NotProtectedError, match="2 cells can be recomputed by a contributor to another cell"):
        publish(table)
    whole = protected()
    with pytest.raises(NotProtectedError, match="could not be proved safe"):
        publish(whole, audit=audit(whole, time_limit=0.0))


def test_a_signed_exception_is_kept_and_shown() -> None:
    signed = Exemption(codes={"v1": "A", "v2": "A"}, reason="the firm agreed in writing", signed_by="head of unit")
    published = publish(leaky(), exceptions=[signed])
    assert published.exceptions == (signed,)
    assert "1 exceptions signed" in repr(published)
    assert np.isnan(published.to_columns()["value"]).sum() == 1


def test_an_exception_must_sign_something() -> None:
    signed = Exemption(codes={"v1": "A", "v2": "A"}, reason="why not", signed_by="me")
    with pytest.raises(InputError, match="finds nothing wrong"):
        publish(protected(), exceptions=[signed])
    other = Exemption(codes={"v1": "B"}, reason="why not", signed_by="me")
    with pytest.raises(InputError, match="finds nothing wrong"):
        publish(leaky(), exceptions=[other, signed])
    with pytest.raises(ParameterError, match="reason"):
        Exemption(codes={}, reason=" ", signed_by="me")
    with pytest.raises(ParameterError, match="signed_by"):
        Exemption(codes={}, reason="because", signed_by="")


def test_one_signature_is_not_enough_for_two_cells() -> None:
    table = small_table([100, 50, 350], n=[1, 1, 9]).replace(status=np.array([0, 2, 2, 0], np.int8))
    one = Exemption(codes={"v1": "A"}, reason="public anyway", signed_by="me")
    two = Exemption(codes={"v1": "B"}, reason="public anyway", signed_by="me")
    with pytest.raises(NotProtectedError, match="v1=B"):
        publish(table, exceptions=[one])
    assert len(publish(table, exceptions=[one, two]).exceptions) == 2


def test_an_audit_of_another_table_is_refused() -> None:
    proof = audit(protected())
    with pytest.raises(InputError, match="another table"):
        publish(leaky(), audit=proof)
    table = protected()
    assert publish(table, audit=audit(table)).audit["suppressed"] == 4


def test_published_numbers_are_rounded_only_here() -> None:
    table = small_table([[1.25, 2.5], [3.125, 4.0]], decimals=3)
    assert publish(table).to_columns()["value"].tolist() == table.value[table.layouts[0].cell].tolist()
    rounded = publish(table.replace(published_decimals=0))
    assert rounded.decimals == 0
    assert rounded.to_columns()["value"].tolist() == [np.round(v) for v in table.value[table.layouts[0].cell]]
    with pytest.raises(ParameterError, match="published_decimals"):
        table.replace(published_decimals=4)


def test_frames_of_pandas_and_polars() -> None:
    published = publish(protected())
    pandas, polars = published.to_pandas(), published.to_polars()
    assert list(pandas.columns) == polars.columns == ["v1", "v2", "value", "status"]
    assert pandas["value"].isna().sum() == polars["value"].null_count() == 4


def test_a_missing_frame_library_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(InputError, match="polars"):
        publish(protected()).to_polars()


def test_a_response_named_like_a_variable_keeps_its_own_column() -> None:
    table = small_table([1, 2], variables=["status"]).replace(response="status")
    assert list(publish(table).to_columns()) == ["status", "status_", "status__"]


def test_several_layouts_are_named() -> None:
    table = protected()
    second = dataclasses.replace(table.layouts[0], name="again")
    published = publish(table.replace(layouts=(*table.layouts, second)))
    assert isinstance(published, PublishedTable)
    assert len(published.to_columns("again")["value"]) == 15
    with pytest.raises(InputError, match="'again'"):
        published.to_columns()
