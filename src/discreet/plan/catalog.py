"""The catalog: the only place that knows every method by its name."""

from __future__ import annotations

from typing import Any

from discreet.errors import ParameterError, near
from discreet.method import build, to_dict
from discreet.tables import perturb, rounding, rules, suppress

__all__ = ["CATALOG", "PERTURBATION", "SUPPRESSION", "as_settings", "find", "from_settings"]

_RULES: tuple[type[Any], ...] = rules.METHODS
_SUPPRESSION: tuple[type[Any], ...] = suppress.METHODS
_PERTURBATION: tuple[type[Any], ...] = (*perturb.METHODS, *rounding.METHODS)

CATALOG: dict[str, type] = {method.NAME: method for method in (*_RULES, *_SUPPRESSION, *_PERTURBATION)}
"""Every method by its name, rules first."""

SUPPRESSION: frozenset[str] = frozenset(method.NAME for method in _SUPPRESSION)
"""The names of the methods that hide further cells to protect the sensitive ones."""

PERTURBATION: frozenset[str] = frozenset(method.NAME for method in _PERTURBATION)
"""The names of the methods that show other numbers than the true ones."""


def find(name: str) -> type:
    """The method of this name, or a ParameterError with the nearest one."""
    method = CATALOG.get(name)
    if method is None:
        raise ParameterError(name, f"there is no method {name!r}{near(name, CATALOG)}", "see: discreet methods")
    return method


def from_settings(settings: dict[str, Any]) -> Any:
    """The method that a plan writes as ``{ method = "p-percent", p = 10 }``."""
    rest = dict(settings)
    return build(find(str(rest.pop("method", ""))), rest)


def as_settings(method: Any) -> dict[str, Any]:
    """The method as a plan writes it; the inverse of :func:`from_settings`."""
    return to_dict(method)
