"""Reads a table that comes without microdata: one line a cell, totals included.

Codes: an empty code, or the hierarchy's total code, is the total.  Columns, all but ``value`` optional:

- ``value`` the published sum or count; "-" is 0
- ``n`` contributors; needed unless the table is a frequency table, whose value is the count
- ``holdings`` contributors where a holding is one
- ``top`` the largest contributions, largest first; they belong to ``shadow`` where given, else to the value
- ``status`` open (S, safe), primary (U, unsafe), secondary (M), frozen (P, protected: must be published) or empty (E);
  ``statuses`` adds your own letters
- ``cost`` what hiding the cell costs, by default the size of its value
- ``lower``, ``upper`` what an intruder knows beforehand
- ``lower_protection``, ``upper_protection`` how far from the value the intruder's bounds must stay
"""

from __future__ import annotations

import decimal
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError, ParameterError, near, some
from discreet.io.columns import Columns, code_text, is_path, pick, read_columns
from discreet.model.contributions import Floats, Integers
from discreet.model.given import STATUSES, GivenLines, given_table
from discreet.model.hierarchy import Hierarchy
from discreet.model.table import Table

__all__ = ["read_given"]

WORDS = {
    **dict.fromkeys(("", "s", "safe", "open", "published"), "open"),
    **dict.fromkeys(("u", "unsafe", "primary", "sensitive"), "primary"),
    **dict.fromkeys(("m", "secondary"), "secondary"),
    **dict.fromkeys(("p", "protected", "frozen"), "frozen"),
    **dict.fromkeys(("e", "empty"), "empty"),
}
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
EXACT = decimal.Context(prec=100, rounding=decimal.ROUND_HALF_UP)


def read_given(
    source: Any,
    *,
    spanning: Mapping[str, Hierarchy | None] | Sequence[str],
    value: str = "value",
    n: str | None = None,
    holdings: str | None = None,
    shadow: str | None = None,
    top: Sequence[str] = (),
    status: str | None = None,
    statuses: Mapping[str, str] | None = None,
    cost: str | None = None,
    lower: str | None = None,
    upper: str | None = None,
    lower_protection: str | None = None,
    upper_protection: str | None = None,
    kind: str = "magnitude",
    decimals: int | None = None,
    missing_n: int | None = None,
    totals: str = "given",
    on_nonadditive: str = "error",
    empty: str = "structural",
    total: str | None = None,
    strip_codes: bool = False,
    name: str = "table",
    response: str | None = None,
    names: Sequence[str] | None = None,
    delimiter: str | None = None,
    decimal_mark: str | None = None,
    encoding: str | None = None,
) -> Table:
    """A table from a csv path, any frame or a mapping of lists, with one line a cell; the module tells what columns mean.

    ``spanning`` maps each spanning variable (a column) to its hierarchy, or to None for the codes found, flat under
    ``total`` ("Total" by default).  ``decimals`` are found where not given; sums are checked exactly.  ``missing_n``
    stands for an empty ``n``.  ``totals`` "given": only margins among the lines; "compute": the missing ones too.
    ``on_nonadditive``: "error", "recompute_totals", or "slack" (relations that do not hold are given up and counted).
    ``empty``: a line of 0 without contributors is no cell ("structural"), or one ("possible").  ``strip_codes``: blanks
    around codes are padding.  For files: ``names`` of the columns where no header line has them; the rest is found.
    Errors: InputError, HierarchyError (all unknown codes), AdditivityError (every relation that does not hold).
    """
    _check_choices(kind=kind, totals=totals, on_nonadditive=on_nonadditive, empty=empty, decimal_mark=decimal_mark or ".")
    where = Path(source).name if is_path(source) else "table"
    columns = read_columns(source, names=names, delimiter=delimiter, encoding=encoding, where=where, row_names=True)
    given = _Given(columns, where, decimal_mark, [value, n, holdings, shadow, cost, lower, upper, *top])
    codes = given.codes(dict(spanning) if isinstance(spanning, Mapping) else dict.fromkeys(spanning), total, strip_codes)
    state = given.statuses(status, statuses or {})
    exact, found = given.values(value, decimals, state == STATUSES.index("empty"))
    values = np.array([number / 10**found for number in exact.tolist()], float)
    counts = given.counts(n, kind, values, missing_n)
    contributors = given.floats(holdings, "holdings", counts)
    given.check_totals(total, **codes, values=exact.tolist())
    lines = GivenLines(
        **codes, value=exact, decimals=found, n=counts, holdings=contributors, status=state, listed=np.ones(len(exact), bool),
        shadow=given.floats(shadow, "the shadow", values), top=given.tops(top, contributors),
        cost=given.floats(cost, "the cost", np.abs(values)),
        **given.limits(lower, upper, lower_protection, upper_protection),
    )  # fmt: skip
    policies = {"totals": totals, "on_nonadditive": on_nonadditive, "empty": empty}
    return given_table(lines, name=name, response=response or value, kind=kind, **policies)


def _check_choices(**given: str) -> None:
    choices = {
        "kind": ("magnitude", "frequency"),
        "totals": ("given", "compute"),
        "on_nonadditive": ("error", "recompute_totals", "slack"),
        "empty": ("structural", "possible"),
        "decimal_mark": (".", ","),
    }
    for name, word in given.items():
        if word not in choices[name]:
            known = choices[name]
            raise ParameterError(f"read_given.{name}", f"{word!r} is not one of {', '.join(known)}{near(str(word), known)}")


class _Given:
    """The columns of a given table, turned into codes, numbers and statuses."""

    def __init__(self, columns: Columns, where: str, mark: str | None, numeric: Sequence[str | None]) -> None:
        self.columns = columns
        self.where = where
        self.size = len(next(iter(columns.values())))
        self.numeric = [name for name in numeric if name is not None and name in columns]
        self.comma = mark == "," if mark else self._decimal_comma()
        self.lines: list[str] = []
        self.flat: list[str] = []

    def _decimal_comma(self) -> bool:
        """Whether the numbers have decimal commas; refuses them where they may all be thousands marks."""
        texts = [(name, entry.strip()) for name in self.numeric for entry in self.columns[name] if isinstance(entry, str)]
        commas = [(name, text) for name, text in texts if "," in text]
        if not commas or any("." in text for _, text in texts):
            return False
        if all(THOUSANDS.fullmatch(text) for _, text in commas):
            trouble = "a comma before three digits may be a decimal comma or mark thousands"
            raise InputError(f"column {commas[0][0]!r}", trouble, "say it: decimal_mark = ',' or decimal_mark = '.'")
        return True

    def _name(self, line: int) -> str:
        return self.lines[line] if self.lines else f"line {line + 1}"

    def codes(self, trees: Mapping[str, Hierarchy | None], total: str | None, strip: bool) -> dict[str, Any]:
        """Variables, hierarchies (a flat one of the codes where none is given) and positions in them."""
        if not trees:
            raise InputError(self.where, "no spanning variable is named", "spanning = ['nace', 'region']")
        if total is not None and None not in trees.values():
            raise ParameterError("read_given.total", "is given although every hierarchy names its total", "leave it out")
        self.flat = [name for name, tree in trees.items() if tree is None]
        flat_total = total or "Total"
        found, hierarchies, texts = [], [], []
        for name, tree in trees.items():
            column = pick(self.columns, name, self.where, "a spanning variable")
            text = [code_text(code, f"column {name!r}") for code in column]
            text = [code.strip() for code in text] if strip else text
            if strip and tree is not None:
                padded = {code.strip(): code for code in tree.codes}
                text = [padded.get(code, code) for code in text]
            if tree is None:
                leaves = sorted({code for code in text if code and code != flat_total})
                tree = Hierarchy.flat(leaves, total=flat_total, source=f"column {name!r}")
            texts.append([code or tree.total for code in text])
            found.append(tree.positions(texts[-1], variable=name))
            hierarchies.append(tree)
        self.lines = [
            ", ".join(f"{name}={code}" for name, code in zip(trees, line, strict=True)) for line in zip(*texts, strict=True)
        ]
        codes = np.stack(found, axis=1).astype(np.int32)
        return {"variables": tuple(trees), "hierarchies": tuple(hierarchies), "codes": codes}

    def check_totals(
        self,
        declared: str | None,
        variables: Sequence[str],
        hierarchies: Sequence[Hierarchy],
        codes: NDArray[np.int32],
        values: Sequence[int],
    ) -> None:
        """Refuses a code that is the sum of all others wherever it stands: a total that nobody declared would go unproved."""
        for v, tree in enumerate(hierarchies):
            if declared is not None or variables[v] not in self.flat or (codes[:, v] == 0).any():
                continue
            at = [tuple(line) for line in np.delete(codes, v, axis=1).tolist()]
            sums: dict[tuple[int, ...], int] = dict.fromkeys(at, 0)
            parts = dict.fromkeys(at, 0)
            for where, value in zip(at, values, strict=True):
                sums[where] += value
                parts[where] += value != 0
            found: dict[int, list[tuple[int, ...]]] = {}
            for where, code, value in zip(at, codes[:, v].tolist(), values, strict=True):
                found.setdefault(code, []).extend([where] if value and 2 * value == sums[where] else [])
            filled = sum(1 for total in sums.values() if total)
            for code, places in found.items():
                if len(places) == filled and any(parts[where] > 2 for where in places):
                    trouble = f"{tree.codes[code]!r} is the sum of all others wherever it stands, and not known as their total"
                    mend = f"say so: total = {tree.codes[code]!r}; or total = {tree.total!r} where it is none"
                    raise InputError(f"column {variables[v]!r}", trouble, mend)

    def statuses(self, column: str | None, own: Mapping[str, str]) -> Integers:
        """Each line's position in STATUSES."""
        for word, meaning in own.items():
            if meaning not in STATUSES:
                raise ParameterError("read_given.statuses", f"{word!r} cannot mean {meaning!r}", f"use {some(STATUSES)}")
        if column is None:
            if own:
                raise ParameterError("read_given.statuses", "is given without a status column", "name it: status = '...'")
            return np.zeros(self.size, np.int64)
        words = WORDS | {word.strip().lower(): meaning for word, meaning in own.items()}
        texts = [code_text(entry, f"column {column!r}").strip() for entry in pick(self.columns, column, self.where, "statuses")]
        unknown = sorted({text for text in texts if text.lower() not in words})
        if any(NUMBER.fullmatch(text.replace(",", ".")) for text in unknown):
            raise InputError(f"column {column!r}", "holds numbers, not statuses", "name the column of S, U, M, P or E")
        if unknown:
            raise InputError(
                f"column {column!r}",
                f"unknown statuses {some(unknown)}",
                "use S, U, M, P or E, or say what they mean: statuses = {'Z': 'frozen'}",
                details=unknown,
            )
        return np.array([STATUSES.index(words[text.lower()]) for text in texts], np.int64)

    def values(self, column: str, declared: int | None, vacant: NDArray[np.bool_]) -> tuple[NDArray[np.object_], int]:
        """The values as whole numbers of units of the last decimal, and how many decimals that are."""
        numbers = self._numbers(column, "the value")
        absent = [line for line, number in enumerate(numbers) if number is None and not vacant[line]]
        self._refuse(absent, column, "have no value", "write 0, or leave the line out where it is not in the table")
        known = [number if number is not None else decimal.Decimal(0) for number in numbers]
        if declared is None:
            rounded = _without_residue(known)
            decimals = max((_decimals(number) for number in rounded), default=0)
        else:
            decimals = declared
            rounded = [number.quantize(decimal.Decimal(1).scaleb(-decimals), context=EXACT) for number in known]
            both = enumerate(zip(known, rounded, strict=True))
            off = [i for i, (a, b) in both if a != b and abs(a - b) > decimal.Decimal("1e-12") * abs(a)]
            self._refuse(off, column, f"have more than the {decimals} decimals declared", "declare more, or round the table")
        out = np.empty(len(rounded), object)
        out[:] = [int(number.scaleb(decimals, EXACT)) for number in rounded]
        return out, decimals

    def counts(self, column: str | None, kind: str, values: Floats, missing: int | None) -> Floats:
        """The contributors of each line."""
        if kind == "frequency" and (values < 0).any():
            self._refuse(np.flatnonzero(values < 0).tolist(), "value", "are counts below 0", "use kind = 'magnitude'")
        if column is None:
            if kind != "frequency":
                trouble = "no column with the number of contributors is named"
                raise InputError(self.where, trouble, "name it: n = '...', or use kind = 'frequency'")
            if missing is not None:
                raise ParameterError("read_given.missing_n", "is given without a column of contributors", "name it: n = '...'")
            return values
        numbers = self._numbers(column, "contributors")
        absent = [line for line, number in enumerate(numbers) if number is None]
        if missing is None:
            self._refuse(absent, column, "have no number of contributors", "complete it, or say what that means: missing_n = 1")
        return np.array([float(missing or 0) if number is None else float(number) for number in numbers])

    def tops(self, columns: Sequence[str], contributors: Floats) -> Floats:
        """The largest contributions, shape (lines, ranks); empty only where there is no contributor of that rank."""
        ranks = [np.zeros((self.size, 0))]
        for rank, column in enumerate(columns, 1):
            numbers = self.floats(column, "largest contributions", 0.0, optional=True)
            absent = np.flatnonzero(np.isnan(numbers) & (contributors >= rank))
            self._refuse(absent.tolist(), column, f"have at least {rank} contributors and no contribution here", "complete it")
            ranks.append(np.nan_to_num(numbers)[:, np.newaxis])
        return np.hstack(ranks)

    def limits(
        self, lower: str | None, upper: str | None, lower_protection: str | None, upper_protection: str | None
    ) -> dict[str, Any]:
        """What is known beforehand and what must stay unknown."""
        return {
            "lower": self.floats(lower, "lower bounds", np.nan, optional=True),
            "upper": self.floats(upper, "upper bounds", np.nan, optional=True),
            "lower_protection": self.floats(lower_protection, "lower protection levels", 0.0),
            "upper_protection": self.floats(upper_protection, "upper protection levels", 0.0),
        }

    def floats(self, column: str | None, role: str, default: Any, *, optional: bool = False) -> Floats:
        """A numeric column, or the default where none is named; empty fields are refused, or the default where optional."""
        if column is None:
            return np.array(np.broadcast_to(np.asarray(default, float), (self.size,)))
        numbers = self._numbers(column, role)
        if not optional:
            absent = [line for line, number in enumerate(numbers) if number is None]
            self._refuse(absent, column, "are empty", "write 0 where there is nothing")
        return np.array([np.nan if number is None else float(number) for number in numbers])

    def _numbers(self, column: str, role: str) -> list[decimal.Decimal | None]:
        entries = pick(self.columns, column, self.where, role)
        numbers: list[decimal.Decimal | None] = []
        broken = []
        for line, entry in enumerate(entries):
            try:
                numbers.append(_number(entry, self.comma))
            except ValueError:
                broken.append(line)
        self._refuse(broken, column, "hold no plain number", "check the decimal mark; write no thousands marks or units")
        return numbers

    def _refuse(self, lines: Sequence[int], column: str, problem: str, fix: str) -> None:
        if lines:
            labels = [self._name(line) for line in lines]
            raise InputError(f"column {column!r}", f"{len(labels)} lines {problem}: {some(labels, 4)}", fix, details=labels)


def _decimals(number: decimal.Decimal) -> int:
    return max(-int(number.normalize(EXACT).as_tuple().exponent), 0)


def _without_residue(numbers: Sequence[decimal.Decimal]) -> list[decimal.Decimal]:
    """Numbers of 16 digits and more rounded where the last digits are no more than what float sums leave: 0.1 + 0.2 is 0.3."""
    digits = [len(number.normalize(EXACT).as_tuple().digits) for number in numbers]
    usual = max((_decimals(number) for number, count in zip(numbers, digits, strict=True) if count <= 15), default=0)
    unit, float_digits = decimal.Decimal(1).scaleb(-usual), decimal.Context(prec=15)
    out = []
    for number, count in zip(numbers, digits, strict=True):
        if count > 15:
            near_by, short = number.quantize(unit, context=EXACT), float_digits.plus(number).normalize()
            if abs(number - near_by) <= decimal.Decimal("1e-15") * abs(number):
                number = near_by
            elif len(short.as_tuple().digits) <= 13:
                number = short
        out.append(number)
    return out


def _number(entry: Any, comma: bool) -> decimal.Decimal | None:
    """The number exactly as it is written; None where nothing is."""
    if entry is None:
        return None
    if isinstance(entry, decimal.Decimal):
        if not entry.is_finite():
            raise ValueError
        return entry
    if isinstance(entry, bool | np.bool_):
        raise ValueError
    if isinstance(entry, int | np.integer):
        return decimal.Decimal(int(entry))
    if isinstance(entry, float | np.floating):
        if entry != entry:
            return None
        if not np.isfinite(entry):
            raise ValueError
        return decimal.Decimal(repr(float(entry)))
    text = str(entry).strip()
    if not text:
        return None
    if comma:  # a point then marks thousands
        text = text.replace(",", ".") if "." not in text else ""
    if text == "-":
        return decimal.Decimal(0)
    if not NUMBER.fullmatch(text):
        raise ValueError
    return decimal.Decimal(text)
