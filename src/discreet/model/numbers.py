"""Columns as exact numbers: how many decimals they need is found, and digits that do not fit are refused."""

from __future__ import annotations

from discreet.engine.sql import literal, quote
from discreet.errors import InputError
from discreet.model.microdata import Microdata

__all__ = ["Numbers", "column_name", "is_whole"]

MOST_DIGITS = 18
"""Weighted products stay exact: two factors of 18 digits fit the engine's 38."""

ALL_DIGITS = 38
"""Those of the engine."""

MOST_DECIMALS = 9


def column_name(column: str) -> str:
    """A column of the records as SQL; the tables joined to them have columns of their own."""
    return f"records.{quote(column)}"


def is_whole(kind: str) -> bool:
    """A column type that holds whole numbers only."""
    return kind in ("BIGINT", "INTEGER", "SMALLINT", "TINYINT", "HUGEINT") or (kind[0] == "U" and kind.endswith("INT"))


class Numbers:
    """The numeric columns of one tabulation as SQL; ``counts``, ``conditions`` and the rest say what was met on the way.

    ``largest`` and ``signed``: the largest response or shadow, and whether any of them is negative.
    """

    def __init__(self, microdata: Microdata, where: str) -> None:
        self.microdata = microdata
        self.where = where
        self.counts: dict[str, int] = {}
        self.largest = 1.0
        self.signed = False
        self.conditions: list[str] = []

    def _number(self, column: str) -> str:
        """The column as a DOUBLE, NULL where it is missing or no number."""
        kind = self.microdata.types[column]
        name = column_name(column)
        if kind == "VARCHAR":
            text = f"TRIM({name})"
            if self.microdata.decimal_comma:  # beside decimal commas a point before three digits marks thousands
                text = f"CASE WHEN {text} NOT LIKE '%.___' THEN REPLACE({text}, ',', '.') END"
            return f"CASE WHEN ABS(TRY_CAST({text} AS DOUBLE)) < 1e300 THEN TRY_CAST({text} AS DOUBLE) END"
        if kind in ("DOUBLE", "FLOAT"):
            return f"CASE WHEN {name} = {name} AND ABS({name}) < 1e300 THEN CAST({name} AS DOUBLE) END"
        if kind.startswith("DECIMAL") or is_whole(kind):
            return f"CAST({name} AS DOUBLE)"
        if kind == "BOOLEAN":
            return f"CAST({name} AS INTEGER)"
        raise InputError(f"column {column!r}", f"holds {kind.split('(')[0].lower()}, not numbers", "choose a numeric column")

    def _absent(self, column: str) -> str:
        name = column_name(column)
        kind = self.microdata.types[column]
        test = f"{name} IS NULL"
        if kind in ("DOUBLE", "FLOAT"):
            test += f" OR ISNAN({name})"
        if kind == "VARCHAR":
            test += f" OR LOWER(TRIM({name})) IN ('', 'nan')"
        for code in self.microdata.missing.values:
            test += f" OR COALESCE(CAST({name} AS VARCHAR) = {literal(code)}, FALSE)"
            test += f" OR COALESCE({self._number(column)} = TRY_CAST({literal(code.replace(',', '.'))} AS DOUBLE), FALSE)"
        return f"({test})"

    def _probe(self, column: str) -> tuple[int, int, float, int, bool]:
        """How many are missing, how many are no numbers, the largest, the decimals that hold all exactly, any negative."""
        number = self._number(column)
        absent = self._absent(column)
        wanted = (
            f"SUM(CASE WHEN {absent} THEN 1 ELSE 0 END) AS absent, "
            f"SUM(CASE WHEN {number} IS NULL AND NOT {absent} THEN 1 ELSE 0 END) AS bad, "
            f"MAX(CASE WHEN NOT {absent} THEN ABS({number}) END) AS largest, "
            f"MIN(CASE WHEN NOT {absent} THEN {number} END) AS least"
        )
        if is_whole(self.microdata.types[column]) and not self.microdata.missing.values:  # the same, where all are numbers
            least, most = (f"CAST({extreme}({column_name(column)}) AS DOUBLE)" for extreme in ("MIN", "MAX"))
            wanted = f"COUNT(*) - COUNT({column_name(column)}) AS absent, 0 AS bad, "
            wanted += f"GREATEST({most}, -{least}) AS largest, {least} AS least"
        size = self.microdata.engine.fetch(f"SELECT {wanted}, COUNT(*) AS n FROM {self.microdata.source} WHERE {self.where}")
        if not size["n"][0]:
            raise InputError(self.microdata.name, "no record passes the filter", "check the codes of the filter")
        largest = float(size["largest"][0]) if size["largest"][0] == size["largest"][0] else 0.0
        if largest >= 1e28:
            raise InputError(
                f"column {column!r}", "holds numbers of more than 28 digits", "use a larger unit, such as thousands"
            )
        decimals = 0 if is_whole(self.microdata.types[column]) else self._decimals(column, number, absent, largest)
        return int(size["absent"][0]), int(size["bad"][0]), largest, decimals, bool(size["least"][0] < 0)

    def _decimals(self, column: str, number: str, absent: str, largest: float) -> int:
        """The fewest decimals that hold every number exactly, tried a few at a time; else as many as a float holds."""
        for few in (range(3), range(3, MOST_DECIMALS + 1)):
            exact = ", ".join(
                f"MAX(CASE WHEN {number} <> CAST(CAST({number} AS DECIMAL(38, {d})) AS DOUBLE) THEN 1 ELSE 0 END) AS e{d}"
                for d in few
            )
            row = self.microdata.engine.fetch(
                f"SELECT {exact} FROM {self.microdata.source} WHERE {self.where} AND NOT {absent} AND {number} IS NOT NULL"
            )
            fitting = [d for d in few if row[f"e{d}"][0] != 1]
            if fitting:
                return fitting[0]
        kept = max(0, min(MOST_DECIMALS, 15 - len(str(int(largest)))))
        self.counts[f"column {column}: decimals kept, more were found"] = kept
        return kept

    def _decimal(self, column: str, decimals: int, largest: float) -> str:
        digits = len(str(int(largest))) + decimals
        if self.microdata.roles.weight and digits > MOST_DIGITS:
            raise InputError(
                f"column {column!r}",
                f"needs {digits} digits, and weighted sums are exact up to {MOST_DIGITS}",
                "declare fewer decimals",
            )
        if digits > ALL_DIGITS:
            trouble = f"needs {digits} digits, and sums are exact up to {ALL_DIGITS}"
            raise InputError(f"column {column!r}", trouble, "declare fewer decimals")
        return f"CAST({self._number(column)} AS DECIMAL({MOST_DIGITS if digits <= MOST_DIGITS else ALL_DIGITS}, {decimals}))"

    def _checked(self, column: str, what: str) -> tuple[int, float, int, bool]:
        self.microdata.check_column(column, what)
        absent, bad, largest, decimals, negative = self._probe(column)
        if bad:
            held = "infinite values" if self.microdata.types[column] in ("DOUBLE", "FLOAT") else "text"
            raise InputError(
                f"column {column!r}",
                f"{bad} records hold {held} where {what} needs a number",
                "check the delimiter and the decimal mark, or say which values mean 'missing': values = ['…']",
            )
        return absent, largest, decimals, negative

    def response(self, column: str | None, declared: int | None) -> tuple[str, int]:
        """The response (or shadow) as an exact decimal, with its decimals; 1 for a frequency table."""
        if column is None:
            return "CAST(1 AS BIGINT)", 0
        absent, largest, decimals, negative = self._checked(column, "the response")
        decimals = decimals if declared is None else declared
        self.largest = max(self.largest, largest)
        self.signed |= negative
        number = self._decimal(column, decimals, largest)
        if not absent:
            return number, decimals
        policy = self.microdata.missing.on_value
        if policy == "error":
            raise InputError(
                f"column {column!r}", f"{absent} records have no value", "declare what to do: on_value = 'drop' or 'zero'"
            )
        if policy == "drop":
            self.conditions.append(f"NOT {self._absent(column)}")
            self.counts[f"records without {column}, left out"] = absent
            return number, decimals
        self.counts[f"records without {column}, counted with 0"] = absent
        return f"CASE WHEN {self._absent(column)} THEN 0 ELSE {number} END", decimals

    def weight(self) -> tuple[str, int]:
        """The sampling weight as an exact decimal; missing or negative ones are refused."""
        column = self.microdata.roles.weight
        if column is None:
            return "CAST(1 AS BIGINT)", 0
        absent, largest, decimals, negative = self._checked(column, "the weight")
        if absent or negative:
            trouble = f"{absent} records have no weight" if absent else "some weights are negative"
            raise InputError(f"column {column!r}", trouble, "give each record a weight of 0 or more")
        return self._decimal(column, decimals, largest), decimals

    def whole(self, column: str, what: str) -> str:
        """A column of whole numbers of at least 0."""
        absent, _, decimals, negative = self._checked(column, what)
        if absent or negative or decimals:
            raise InputError(f"column {column!r}", f"the {what} must be a whole number of at least 0 on each record")
        return f"CAST({self._number(column)} AS BIGINT)"

    def key(self) -> str:
        """The record key as a whole number in [0, 2^32)."""
        column = self.microdata.roles.record_key
        if column is None:
            return "CAST(0 AS BIGINT)"
        absent, largest, decimals, negative = self._checked(column, "the record key")
        if absent or negative or largest >= 2**32 or (decimals and largest >= 1):
            raise InputError(f"column {column!r}", "record keys must be whole numbers in [0, 2^32) or fractions in [0, 1)")
        if decimals == 0 and largest >= 1:
            whole = column_name(column) if is_whole(self.microdata.types[column]) else self._number(column)
            return f"CAST({whole} AS BIGINT)"
        return f"CAST(ROUND({self._number(column)} * {2**32}) AS BIGINT) % {2**32}"

    def cost(self, column: str | None) -> str:
        """The cost variable; 0 where none is given."""
        if column is None:
            return "CAST(0 AS BIGINT)"
        absent, largest, decimals, negative = self._checked(column, "the cost")
        if absent or negative:
            raise InputError(f"column {column!r}", "the cost must be at least 0 on each record")
        return self._decimal(column, decimals, largest)
