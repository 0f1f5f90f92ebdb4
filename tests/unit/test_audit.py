"""The audit's result: verdicts, counts, what it prints, time, and the standards."""

import sys
from pathlib import Path

import numpy as np
import pytest

from discreet.audit import audit, examine, intervals
from discreet.audit.system import system
from discreet.errors import InputError, SolverError
from discreet.model.hierarchy import Hierarchy
from discreet.model.intruder import Intruder
from discreet.model.table import Table
from discreet.solve.problem import Outcome
from discreet.testing import small_table


def corners(**fields: object) -> Table:
    """A 3 x 3 table with a hidden square, one corner sensitive."""
    table = small_table([[20, 50, 10], [8, 19, 22], [17, 32, 12]], **fields)
    status = np.zeros(table.cells, np.int8)
    status[[table.cell(v1=a, v2=b) for a in "BC" for b in "AC"]] = 1
    status[table.cell(v1="B", v2="C")] = 2
    return table.replace(status=status)


def with_levels(table: Table, up: float, down: float, slide: float = 0.0) -> Table:
    levels = [np.where(table.primary, level, 0.0) for level in (up, down, slide)]
    return table.replace(upper_protection=levels[0], lower_protection=levels[1], sliding_protection=levels[2])


def test_nothing_hidden_is_safe() -> None:
    result = audit(small_table([[1, 2], [3, 4]]))
    assert result.safe
    assert len(result.cell) == 0
    assert repr(result) == "Audit(0 cells judged: none; 0 insider pairs and 0 unions failed)"


@pytest.mark.parametrize(
    ("up", "down", "slide", "verdict"),
    [(8, 17, 25, "safe"), (8.5, 0, 0, "too narrow"), (0, 17.5, 0, "too narrow"), (0, 0, 25.5, "too narrow")],
)
def test_each_level_is_demanded(up: float, down: float, slide: float, verdict: str) -> None:
    table = with_levels(corners(), up, down, slide)
    result = audit(table)
    row = np.flatnonzero(table.primary[result.cell])
    assert result.verdict[row] == [verdict]
    assert (result.lower[row], result.upper[row]) == (5, 30)
    assert (result.need_up[row], result.need_down[row], result.need_width[row]) == (up, down, max(slide, 1))
    if verdict == "too narrow":
        (finding,) = result.findings
        unmet = (finding.up or finding.down or finding.width, finding.kind)
        assert unmet == (max(up, down, slide), "too narrow")


def test_without_levels_only_exactness_counts() -> None:
    assert not audit(with_levels(corners(), 100, 100)).safe
    assert audit(with_levels(corners(intruder=Intruder(levels=False)), 100, 100)).safe


def test_result_tells_codes_and_counts_but_no_values() -> None:
    result = audit(with_levels(corners(), 9, 0))
    columns = result.to_columns()
    assert columns["v1"] == ["B", "B", "C", "C"]
    assert columns["v2"] == ["A", "C", "A", "C"]
    assert columns["table"] == ["table"] * 4
    assert columns["status"] == ["secondary", "primary", "secondary", "secondary"]
    assert columns["verdict"] == ["safe", "too narrow", "safe", "safe"]
    assert "value" not in columns
    assert repr(result) == "Audit(4 cells judged: 3 safe, 1 too narrow; 0 insider pairs and 0 unions failed)"
    assert result.counts["safe"] == 3
    assert result.counts["too narrow"] == 1
    assert result.counts["suppressed"] == 4
    with pytest.raises(ValueError, match="read-only"):
        result.lower[0] = 0.0


def test_verdicts_do_not_change_from_run_to_run() -> None:
    table = with_levels(corners(n=np.ones((3, 3))), 9, 0)
    first, second = audit(table), audit(table)
    assert first.to_columns()["verdict"] == second.to_columns()["verdict"]
    assert np.array_equal(first.lower, second.lower)
    assert np.array_equal(first.upper, second.upper)
    assert first.findings == second.findings


def test_no_time_is_not_proved_and_never_safe() -> None:
    table = corners(n=np.ones((3, 3)))
    result = audit(table, time_limit=0.0)
    assert not result.safe
    assert set(result.verdict) == {"not proved"}
    assert (result.lower <= table.value[result.cell]).all()
    assert (result.upper >= table.value[result.cell]).all()
    assert not any(result.standards[name] for name in ("full PS1", "full PS1*", "full PS2*"))


def test_no_time_for_insiders_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    table = corners(n=np.ones((3, 3)))
    finished = intervals.intervals

    def slow(*given: object, **named: object) -> intervals.Reach:
        reach = finished(*given, **named)
        given[2].limit = 0.0
        return reach

    monkeypatch.setattr(examine, "intervals", slow)
    result = audit(table, time_limit=1000)
    assert set(result.verdict) == {"safe"}
    assert [(finding.kind, finding.cell) for finding in result.findings] == [("not proved", table.cell(v1="B", v2="C"))]
    assert result.counts["insider pairs not proved"] == result.counts["insider pairs checked"] == 3


def test_a_solver_that_lies_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A 'feasible' table that breaks an equation is caught by plain arithmetic."""

    def lie(self: object, index: int, coefficient: float = 1.0, **limits: object) -> Outcome:
        x = np.zeros(self.columns)
        x[index] = 100 * coefficient
        return Outcome(status="optimal", objective=100.0, x=x)

    monkeypatch.setattr(intervals.WarmProgram, "maximise", lie)
    result = audit(corners())
    assert not result.safe
    assert set(result.verdict) == {"not proved"}


def test_a_solver_that_fails_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intervals.WarmProgram, "maximise", lambda *_, **__: Outcome(status="failed"))
    assert set(audit(corners()).verdict) == {"not proved"}


def test_a_missing_solver_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(SolverError):
        audit(corners())


def test_integer_needs_whole_numbers() -> None:
    table = small_table([[0.5, 1], [2, 3]], intruder=Intruder(integer=True))
    table = table.replace(value=table.value + 0.25)
    with pytest.raises(InputError, match="whole multiples") as caught:
        audit(table)
    assert "0.25" not in str(caught.value)
    assert "0.75" not in str(caught.value)


def test_integer_intervals_without_an_end() -> None:
    table = corners(intruder=Intruder(integer=True, nonnegative=False))
    result = audit(with_levels(table, 40, 50))
    assert result.safe
    assert np.isinf(result.integer_upper).all()
    assert np.isinf(result.integer_lower).all()


def test_integer_insiders() -> None:
    table = corners(n=np.array([[9, 9, 9], [9, 9, 1], [1, 9, 9]]), intruder=Intruder(integer=True))
    result = audit(table)
    assert [(f.kind, f.cell, f.knows) for f in result.findings] == [
        ("insider", table.cell(v1="B", v2="C"), (table.cell(v1="C", v2="A"),))
    ]


def test_components_split_and_known_cells_drop_out() -> None:
    table = small_table([[1, 2, 3, 4], [5, 6, 7, 8], [9, 1, 2, 3], [4, 5, 6, 7]])
    status = np.zeros(table.cells, np.int8)
    status[[table.cell(v1=a, v2=b) for a in "AB" for b in "AB"]] = 1
    status[[table.cell(v1=a, v2=b) for a in "CD" for b in "CD"]] = 1
    both = system(table.replace(status=status.copy()))
    assert sorted(len(component.cells) for component in both.components) == [4, 4]
    status[table.cell(v1="A", v2="A")] = 0
    one = table.replace(status=status)
    assert [len(component.cells) for component in system(one).components] == [4]
    assert audit(one).counts["exact"] == 3


def test_a_hidden_cell_in_no_equation_keeps_its_bounds() -> None:
    table = small_table([3, 4])
    alone = table.replace(equations=table.equations[:0], status=np.array([0, 2, 0], np.int8))
    result = audit(with_levels(alone, 5, 3))
    assert (result.lower[0], result.upper[0]) == (0, np.inf)
    assert result.safe


def test_standards_of_a_sub_table_may_hold_where_the_whole_does_not() -> None:
    tree = Hierarchy.from_parents([("Total", "a"), ("Total", "b"), ("a", "a1"), ("a", "a2"), ("b", "b1"), ("b", "b2")])
    table = small_table([3, 4, 5, 6], hierarchies=[tree])
    status = np.zeros(table.cells, np.int8)
    status[[table.cell(v1=code) for code in ("a1", "a", "b", "b1")]] = [2, 2, 1, 2]
    held = audit(table.replace(status=status.copy())).standards
    assert held == dict.fromkeys(("PS1", "PS1*", "PS2", "PS2*", "full PS1", "full PS1*", "full PS2*"), True)
    status[table.cell(v1="b1")] = 0
    held = audit(table.replace(status=status)).standards
    assert held["PS1"]
    assert not held["full PS1"]
    assert not held["full PS1*"]


def test_standards_on_contributors_need_contributors() -> None:
    table = small_table([100, 50, 350], n=[1, 1, 9]).replace(status=np.array([0, 2, 2, 0], np.int8))
    held = audit(table).standards
    assert held["PS1*"]
    assert held["full PS1*"]
    assert not held["PS2"]
    assert not held["PS2*"]
    assert "PS2" not in audit(table.with_intruder(Intruder(insiders="none"))).standards


def test_the_audit_never_sees_the_protection() -> None:
    folder = Path(examine.__file__).parent
    for file in folder.glob("*.py"):
        for line in file.read_text().splitlines():
            if line.startswith(("from discreet", "import discreet")):
                assert line.split()[1].split(".")[1] in {"audit", "model", "solve", "errors"}, (file.name, line)


def test_a_near_guess_narrows_all_intervals() -> None:
    assert audit(corners(intruder=Intruder(prior=1.0))).counts["exact"] == 4
    assert audit(corners()).counts["exact"] == 0
