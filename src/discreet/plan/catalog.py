"""The catalog: the only place that knows every method by its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.errors import ParameterError, near
from discreet.method import build, to_dict
from discreet.microdata.protect import pram, swap
from discreet.microdata.protect.pram.apply import Pram
from discreet.tables import perturb, preferences, rounding, rules, suppress

__all__ = [
    "CATALOG",
    "DESIGNS",
    "EXPLAINED",
    "FAMILIES",
    "FOR_RECORDS",
    "PERTURBATION",
    "PREFERENCES",
    "SUPPRESSION",
    "SWAPPING",
    "as_settings",
    "find",
    "from_settings",
    "out_of_order",
]

RULES, PREFER, HIDE = "What is sensitive", "What to hide rather", "Hide further cells"
NOISE, ROUNDING = "Show noise", "Show rounded or adjusted numbers"

FAMILIES: dict[str, tuple[type[Any], ...]] = {
    RULES: rules.METHODS,
    PREFER: preferences.METHODS,
    HIDE: suppress.METHODS,
    NOISE: perturb.METHODS,
    ROUNDING: rounding.METHODS,
}
"""Every method under what it does, in the order in which a plan needs them."""

CATALOG: dict[str, type] = {method.NAME: method for family in FAMILIES.values() for method in family}
"""Every method by its name, rules first."""

PREFERENCES: frozenset[str] = frozenset(method.NAME for method in FAMILIES[PREFER])
"""The names of the methods that say which cells to hide rather than others."""

SUPPRESSION: frozenset[str] = frozenset(method.NAME for method in FAMILIES[HIDE])
"""The names of the methods that hide further cells to protect the sensitive ones."""

PERTURBATION: frozenset[str] = frozenset(method.NAME for family in (NOISE, ROUNDING) for method in FAMILIES[family])
"""The names of the methods that show other numbers than the true ones."""


FOR_RECORDS: dict[str, tuple[type[Any], ...]] = {
    "Randomise a variable of records": (Pram,),
    "Design its transition matrix": pram.DESIGNS,
    "Swap values between records": swap.SWAPS,
}
"""What the sections [pram] and [swap] of a plan take, under what it does; these are no methods for tables."""

DESIGNS: dict[str, type] = {design.NAME: design for design in pram.DESIGNS}
"""Every design of a transition matrix by its name."""

SWAPPING: dict[str, type] = {method.NAME: method for method in swap.SWAPS}
"""Every method of swapping by its name."""

EXPLAINED: dict[str, type] = CATALOG | {Pram.NAME: Pram} | DESIGNS | SWAPPING
"""All that has a page of its own: the methods, for tables and for swapping, PRAM and its designs."""


def find(name: str, known: Mapping[str, type] = CATALOG) -> type:
    """The method of this name, or a ParameterError with the nearest one."""
    method = known.get(name)
    if method is None:
        raise ParameterError(name, f"there is no method {name!r}{near(name, known)}", "see: discreet methods")
    return method


def out_of_order(methods: Sequence[Any]) -> list[tuple[int, str]]:
    """The places in a list of methods where one stands that would change nothing there, and why."""
    names = [getattr(method, "NAME", "") for method in methods]
    found = []
    for place, name in enumerate(names):
        if name in PREFERENCES and SUPPRESSION.isdisjoint(names[place + 1 :]):
            late = "stands behind" if SUPPRESSION.intersection(names[:place]) else "needs"
            found.append(
                (place, f"{name} changes nothing: it {late} the method that hides cells; write rules, {name}, suppression")
            )
    return found


def from_settings(settings: dict[str, Any]) -> Any:
    """The method that a plan writes as ``{ method = "p-percent", p = 10 }``."""
    rest = dict(settings)
    return build(find(str(rest.pop("method", ""))), rest)


def as_settings(method: Any) -> dict[str, Any]:
    """The method as a plan writes it; the inverse of :func:`from_settings`."""
    return to_dict(method)
