"""Cells that a release leaves out."""

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.model.unlisted import unlist
from discreet.testing import small_table


def test_entries_name_cells_by_code_total_or_any() -> None:
    table = small_table([[1, 2], [3, 4]])
    left_out = unlist(table, [{}, {"v1": "A", "v2": "*"}])
    gone = {table.label(int(cell)) for cell in np.flatnonzero(~left_out.listed)}
    assert gone == {"v1=Total, v2=Total", "v1=A, v2=Total", "v1=A, v2=A", "v1=A, v2=B"}
    assert table.listed.all()
    assert unlist(table, []).listed.all()


@pytest.mark.parametrize(
    ("entry", "message"),
    [({"v1": "X"}, "no cell has the codes v1=X"), ({"v3": "A"}, "'v3' is no spanning variable")],
)
def test_an_entry_that_matches_nothing_is_refused(entry: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        unlist(small_table([[1, 2], [3, 4]]), [entry])
