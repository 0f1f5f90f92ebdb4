"""Facts beside the cells: what a heading or a percentage says in equations."""

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.model.knowledge import header_total, percentages
from discreet.testing import small_table


def test_a_heading_says_one_value() -> None:
    table = small_table([[1, 2], [3, 4]])
    fact = header_total(table, {"v1": "A"})
    assert fact.matrix.toarray().nonzero()[1].tolist() == [table.cell(v1="A")]
    assert fact.low == fact.high == [3]
    assert fact.while_published.tolist() == [-1]
    assert fact.what == ("heading: v1=A, v2=Total",)
    assert header_total(table).low == [10]
    with pytest.raises(InputError, match="v9"):
        header_total(table, {"v9": "A"})


@pytest.mark.parametrize("sign", [1, -1])
def test_percentages_hold_for_the_truth_and_end_half_a_unit_away(sign: int) -> None:
    table = small_table(sign * np.array([[1, 2, 4], [0, 5, 6]]))
    fact = percentages(table, of="v2", decimals=1)
    rows = fact.matrix @ table.value
    assert (rows >= fact.low).all()
    assert (rows <= fact.high).all()
    assert len(fact.what) == len(fact.low) == 2 * 9
    cell = table.cell(v1="A", v2="A")
    near, far = table.value.copy(), table.value.copy()
    near[cell] = sign * 7 * (14.3 + 0.049) / 100
    far[cell] = sign * 7 * (14.3 + 0.051) / 100
    holds = [bool(((fact.matrix @ y >= fact.low) & (fact.matrix @ y <= fact.high)).all()) for y in (near, far)]
    assert holds == [True, False]


def test_percentages_count_with_their_cell_or_always() -> None:
    table = small_table([[1, 2], [3, 4]])
    assert (percentages(table, of="v1").while_published >= 0).all()
    assert (percentages(table, of="v1", hidden=True).while_published == -1).all()


def test_totals_of_zero_have_no_percentages() -> None:
    table = small_table([[0, 0], [3, 4]])
    fact = percentages(table, of="v2")
    assert not fact.matrix[:, [table.cell(v1="A")]].nnz
    assert len(fact.low) == 2 * 4


def test_unknown_variables_are_named() -> None:
    with pytest.raises(InputError, match="'sex'"):
        percentages(small_table([1, 2]), of="sex")
