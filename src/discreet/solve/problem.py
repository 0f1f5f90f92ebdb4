"""A linear or integer program and what came of it; knows no disclosure word."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

__all__ = ["Outcome", "Program", "Result"]

Floats = NDArray[np.float64]
Result = Literal["optimal", "infeasible", "unbounded", "time limit", "work limit", "failed"]


@dataclasses.dataclass(frozen=True, eq=False)
class Program:
    """Minimise ``cost @ x`` with ``row_lower <= matrix @ x <= row_upper`` and ``lower <= x <= upper``.

    Infinite bounds are ``inf`` and ``-inf``; ``integer`` marks the variables that must be whole numbers.
    """

    cost: Floats
    matrix: sparse.csr_array
    row_lower: Floats
    row_upper: Floats
    lower: Floats
    upper: Floats
    integer: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        rows, columns = self.matrix.shape
        wanted = {"cost": columns, "lower": columns, "upper": columns, "row_lower": rows, "row_upper": rows}
        for name, size in wanted.items():
            array = np.ascontiguousarray(getattr(self, name), np.float64)
            if array.shape != (size,):
                raise ValueError(f"Program.{name} has shape {array.shape}, the matrix wants ({size},)")
            object.__setattr__(self, name, array)
        object.__setattr__(self, "matrix", sparse.csr_array(self.matrix).astype(np.float64))
        if self.integer is not None and np.shape(self.integer) != (columns,):
            raise ValueError(f"Program.integer has shape {np.shape(self.integer)}, the matrix wants ({columns},)")

    @classmethod
    def of(cls, cost: ArrayLike, matrix: Any, row_lower: ArrayLike, row_upper: ArrayLike, **bounds: Any) -> Program:
        """A program from numbers or arrays; a single number stands for all rows or columns, bounds default to 0 and inf."""
        csr = sparse.csr_array(matrix)
        rows, columns = csr.shape

        def full(value: ArrayLike, size: int) -> Floats:
            return np.array(np.broadcast_to(np.asarray(value, float), (size,)))

        return cls(
            full(cost, columns),
            csr,
            full(row_lower, rows),
            full(row_upper, rows),
            full(bounds.pop("lower", 0.0), columns),
            full(bounds.pop("upper", np.inf), columns),
            **bounds,
        )


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Outcome:
    """What a solver says.

    ``x`` is there whenever a feasible point is known (also at a time limit), ``objective`` its cost;
    ``bound`` no point can cost less than this (more, when maximising); ``gap`` the relative distance of the two.
    ``row_dual`` and ``column_dual`` (reduced cost) are there for a continuous optimum, as the change of the
    objective for one more unit of the binding bound; ``ray`` a direction of endless improvement when unbounded;
    ``iterations`` of the simplex method, a measure of the work that is the same on every machine.
    """

    status: Result
    objective: float = float("nan")
    x: Floats | None = None
    row_dual: Floats | None = None
    column_dual: Floats | None = None
    bound: float = float("nan")
    gap: float = float("nan")
    ray: Floats | None = None
    iterations: int = 0

    @property
    def optimal(self) -> bool:
        """The best point was found and proved."""
        return self.status == "optimal"
