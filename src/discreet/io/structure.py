"""Checks what a JSON file holds against a schema, and tells the first place that does not fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.errors import InputError, near

__all__ = ["check_structure"]

KINDS: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
WORDS = {"object": "an object", "array": "a list", "string": "text", "integer": "a whole number", "number": "a number"}
WORDS |= {"boolean": "true or false", "null": "null"}
FIX = "take the file as it was written"


def check_structure(where: str, value: Any, schema: Mapping[str, Any]) -> None:
    """Refuses a value that the schema does not allow.

    Of JSON Schema, what our own schemas use: type, const, enum, properties, required, additionalProperties (false), items,
    minItems, minimum and maximum; title, description, $schema and $id say nothing that is checked.

    Errors: InputError that names the place, ``variables[0].columns``, but never what stands there.
    """
    _check(where, "", value, schema)


def _check(where: str, place: str, value: Any, schema: Mapping[str, Any]) -> None:
    problem = _problem(value, schema)
    if problem:
        raise InputError(where, f"{place or 'the whole'} {problem}", FIX)
    if isinstance(value, dict) and "properties" in schema:
        known = schema["properties"]
        for name in schema.get("required", ()):
            if name not in value:
                raise InputError(where, f"{place or 'the whole'} has no {name!r}", FIX)
        for name, inner in value.items():
            if name in known:
                _check(where, f"{place}.{name}" if place else name, inner, known[name])
            elif schema.get("additionalProperties") is False:
                raise InputError(where, f"{place or 'the whole'} has an unknown {name!r}{near(name, known)}", FIX)
    if isinstance(value, list) and "items" in schema:
        for number, inner in enumerate(value):
            _check(where, f"{place}[{number}]", inner, schema["items"])


def _problem(value: Any, schema: Mapping[str, Any]) -> str:
    """What is wrong with the value itself, whatever it holds; in words without the value."""
    if "type" in schema:
        kinds = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
        allowed = tuple(kind for name in kinds for kind in KINDS[name])
        if type(value) not in allowed:
            return f"is not {' or '.join(WORDS[name] for name in kinds)}"
    if "const" in schema and value != schema["const"]:
        return f"is not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        return f"is not one of {', '.join(map(repr, schema['enum']))}"
    if isinstance(value, list) and len(value) < schema.get("minItems", 0):
        return f"has fewer than {schema['minItems']} entries"
    if isinstance(value, int | float) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        return f"is not from {schema.get('minimum', '')} to {schema.get('maximum', '')}"
    return ""
