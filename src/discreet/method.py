"""What a method is: a frozen dataclass with a NAME, a SOURCE, explained parameters and one verb, ``apply``.

The metadata given to :func:`param` is the one source of validation, command-line help, plan schema and docs.
"""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from discreet.errors import ParameterError, near

__all__ = ["Parameter", "build", "check_params", "faults", "param", "parameters", "problems", "to_dict"]

M = TypeVar("M")
_MISSING = dataclasses.MISSING


@dataclasses.dataclass(frozen=True, kw_only=True)
class Parameter:
    """One explained parameter of a method, as the docs, the plan and the command line see it."""

    name: str
    kind: str
    doc: str
    unit: str
    default: Any
    required: bool
    limits: str


def param(
    default: Any = _MISSING,
    doc: str = "",
    *,
    unit: str = "",
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
    choices: tuple[str, ...] = (),
) -> Any:
    """A dataclass field that explains and limits itself.

    Limits hold for a number, or for each number of a tuple; ``choices`` for a word.
    """
    limits = {"above": above, "at_least": at_least, "below": below, "at_most": at_most}
    metadata = {"doc": doc, "unit": unit, "choices": choices, "limits": {k: v for k, v in limits.items() if v is not None}}
    if default is _MISSING:
        return dataclasses.field(metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def check_params(self: Any) -> None:
    """Call from ``__post_init__``: refuses a parameter of the wrong type or outside its limits."""
    method = type(self)
    for field in dataclasses.fields(self):
        value = getattr(self, field.name)
        problem = _problem(method, field, value)
        if problem:
            raise ParameterError(f"{_name(method)}.{field.name}", problem, field.metadata.get("doc", ""))
        if isinstance(value, list):
            object.__setattr__(self, field.name, _frozen(value))


def parameters(method: type) -> tuple[Parameter, ...]:
    """All parameters of a method, in order."""
    hints = typing.get_type_hints(method)
    return tuple(
        Parameter(
            name=field.name,
            kind=_kind(hints[field.name]),
            doc=field.metadata.get("doc", ""),
            unit=field.metadata.get("unit", ""),
            default=None if field.default is _MISSING else field.default,
            required=field.default is _MISSING,
            limits=_limits_text(field),
        )
        for field in dataclasses.fields(method)
    )


def problems(method: type, settings: Mapping[str, Any]) -> list[str]:
    """Everything wrong with these settings, in words; empty when :func:`build` would succeed."""
    return [text for _, text in faults(method, settings)]


def faults(method: type, settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The same with the setting each problem is about, so that a plan can point at its line."""
    fields = {field.name: field for field in dataclasses.fields(method)}
    known = {name.replace("_", "-"): name for name in fields} | {name: name for name in fields}
    found = []
    for key in settings:
        if key not in known:
            takes = ", ".join(fields) or "none"
            found.append((key, f"unknown parameter {key!r}{near(key, fields)}; {_name(method)} takes: {takes}"))
    given = {known[key]: value for key, value in settings.items() if key in known}
    for name, field in fields.items():
        if name not in given:
            if field.default is _MISSING and field.default_factory is _MISSING:
                found.append(("", f"parameter {name!r} is missing: {field.metadata.get('doc', '')}"))
            continue
        problem = _problem(method, field, given[name])
        if problem:
            found.append((name, f"{name}: {problem}"))
    return found


def build(method: type[M], settings: Mapping[str, Any]) -> M:
    """The method with these settings, or a ParameterError that lists everything wrong with them."""
    found = problems(method, settings)
    if found:
        raise ParameterError(_name(method), "; ".join(found), f"see: discreet methods {_name(method)}")
    return method(**{key.replace("-", "_"): _frozen(value) for key, value in settings.items()})


def to_dict(method: Any) -> dict[str, Any]:
    """The method as a plan writes it: its name and the parameters that differ from their defaults."""
    out: dict[str, Any] = {"method": _name(type(method))}
    for field in dataclasses.fields(method):
        value = getattr(method, field.name)
        if field.default is _MISSING or value != field.default:
            out[field.name] = value
    return out


def _name(method: type) -> str:
    return str(getattr(method, "NAME", method.__name__))


def _frozen(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_frozen(item) for item in value)
    return value


def _kind(hint: Any) -> str:
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        return " or ".join(_kind(arg) for arg in typing.get_args(hint))
    if typing.get_origin(hint) is tuple:
        inner = [_kind(arg) for arg in typing.get_args(hint) if arg is not Ellipsis]
        listed = "list" if inner[0] == "anything" else f"list of {inner[0]}"
        return listed if len(inner) == 1 else f"[{', '.join(inner)}]"
    if typing.get_origin(hint) in (dict, Mapping):
        return "table of settings"
    names = {int: "whole number", float: "number", str: "text", bool: "true or false", type(None): "nothing", Any: "anything"}
    return names.get(hint, getattr(hint, "__name__", str(hint)))


def _fits(value: Any, hint: Any) -> bool:
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        return any(_fits(value, arg) for arg in typing.get_args(hint))
    if hint is Any:
        return True
    if hint is type(None):
        return value is None
    origin = typing.get_origin(hint)
    if origin is tuple:
        inner = [arg for arg in typing.get_args(hint) if arg is not Ellipsis]
        if not isinstance(value, tuple | list):
            return False
        if len(inner) > 1 and len(inner) != len(value):
            return False
        return all(_fits(item, inner[0] if len(inner) == 1 else inner[i]) for i, item in enumerate(value))
    if origin in (dict, Mapping) or hint in (dict, Mapping):
        return isinstance(value, dict | Mapping)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, hint) if isinstance(hint, type) else True


def _problem(method: type, field: dataclasses.Field[Any], value: Any) -> str:
    hint = typing.get_type_hints(method)[field.name]
    if not _fits(value, hint):
        return f"takes {_kind(hint)}, not {value if isinstance(value, float) else type(value).__name__}"
    choices = field.metadata.get("choices", ())
    words = [item for item in (value if isinstance(value, tuple | list) else (value,)) if isinstance(item, str)]
    for word in words:
        if choices and word not in choices:
            return f"{word!r} is not one of {', '.join(choices)}{near(word, choices)}"
    numbers = value if isinstance(value, tuple | list) else (value,)
    limits = field.metadata.get("limits", {})
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int | float):
            continue
        if not (
            number > limits.get("above", -math.inf)
            and number >= limits.get("at_least", -math.inf)
            and number < limits.get("below", math.inf)
            and number <= limits.get("at_most", math.inf)
        ):
            return f"must be {_limits_text(field)}, not {number}"
    return ""


def _limits_text(field: dataclasses.Field[Any]) -> str:
    words = {"above": "above", "at_least": "at least", "below": "below", "at_most": "at most"}
    limits = field.metadata.get("limits", {})
    choices = field.metadata.get("choices", ())
    text = " and ".join(f"{words[key]} {limit:g}" for key, limit in limits.items())
    return text or (" | ".join(choices) if choices else "")
