"""The PRAM document as JSON: written so that every number is read back as it was, and checked when it is read."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from discreet import __version__
from discreet.errors import InputError, some
from discreet.io.structure import check_structure
from discreet.model.microdata import Microdata
from discreet.model.randomised import PramDocument, Randomised, Stratum
from discreet.model.transition import TransitionMatrix

__all__ = ["FORMAT", "content_of", "document_from", "schema", "text_of"]

FORMAT, VERSION = "discreet-pram", 1
SCHEMA = "pram_document.schema.json"
FIX = "take the document as it was released"


def schema() -> Any:
    """The JSON Schema of a document, as it goes with the package."""
    return json.loads(files("discreet.io").joinpath(SCHEMA).read_text(encoding="utf-8"))


def content_of(document: PramDocument, microdata: Microdata, *, matrices: bool, weight: str | None = None) -> dict[str, Any]:
    """What the JSON file holds; without ``matrices`` neither them nor ε, which would tell some of them.

    ``weight`` is the released column with the weights of the sample.
    """
    return {
        "format": FORMAT,
        "version": VERSION,
        "made_by": document.made_by,
        "file": document.file,
        "records": document.records,
        "missing_codes": list(microdata.missing.codes),
        "decimal_comma": microdata.decimal_comma,
        "weight": weight,
        "independent": True,
        "public": document.public,
        **_epsilon(document.epsilon, matrices),
        "variables": [
            {
                "columns": list(variable.columns),
                "strata": list(variable.strata),
                "together": variable.together,
                "missing": variable.missing,
                "invariant": variable.invariant,
                **_epsilon(variable.epsilon, matrices),
                "matrices": [
                    {
                        "stratum": list(stratum),
                        "categories": [list(category) for category in matrix.categories],
                        **({"rows": matrix.matrix.tolist()} if matrices else {}),
                        "released": [int(number) for number in counts[stratum]],
                    }
                    for stratum, matrix in variable.matrices.items()
                ],
            }
            for variable, counts in zip(document.variables, document.released, strict=True)
        ],
    }


def _epsilon(epsilon: float, told: bool) -> dict[str, Any]:
    if not told:
        return {"epsilon": None, "epsilon_is": "kept back"}
    return (
        {"epsilon": epsilon, "epsilon_is": "finite"} if math.isfinite(epsilon) else {"epsilon": None, "epsilon_is": "infinite"}
    )


def text_of(value: Any, indent: str = "") -> str:
    """JSON that people can read: what holds only single values stands in one line.  Floats are read back exactly."""
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    if not any(isinstance(one, dict | list) for one in inner):
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    deeper = indent + " "
    if isinstance(value, dict):
        lines = [f"{deeper}{json.dumps(name, ensure_ascii=False)}: {text_of(one, deeper)}" for name, one in value.items()]
    else:
        lines = [deeper + text_of(one, deeper) for one in value]
    start, end = "{}" if isinstance(value, dict) else "[]"
    return ",\n".join([f"{start}\n{lines[0]}", *lines[1:]]) + f"\n{indent}{end}"


def document_from(name: str, text: str) -> tuple[PramDocument, dict[str, Any]]:
    """The document that a JSON text holds, and the text's content.

    Errors: InputError for text that is no JSON, another format or version, anything that does not fit the schema, a document
    without matrices, and matrices that are none.
    """
    try:
        content = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        place = f"at line {error.lineno}" if isinstance(error, json.JSONDecodeError) else "for it nests too deep"
        raise InputError(name, f"is no JSON, {place}", FIX) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(name, "is no PRAM document", "name the file that ends in .pram.json")
    if content.get("version") != VERSION:
        problem = f"is written in another version of the format than {VERSION}"
        raise InputError(name, problem, f"read it with the program that made it, or a later one; this is {__version__}")
    check_structure(name, content, schema())
    parts = [_variable(name, one) for one in content["variables"]]
    document = PramDocument(
        file=content["file"],
        records=content["records"],
        variables=tuple(variable for variable, _ in parts),
        released=tuple(counts for _, counts in parts),
        public=content["public"],
        made_by=content["made_by"],
    )
    return document, content


def _variable(name: str, entry: Mapping[str, Any]) -> tuple[Randomised, dict[Stratum, tuple[int, ...]]]:
    where = f"{name}, {' × '.join(entry['columns'])}"
    matrices: dict[Stratum, TransitionMatrix] = {}
    released: dict[Stratum, tuple[int, ...]] = {}
    for one in entry["matrices"]:
        stratum, size = tuple(one["stratum"]), len(one["categories"])
        place = f"{where}, stratum {' / '.join(stratum)!r}" if stratum else where
        if stratum in matrices:
            raise InputError(place, "stands twice", FIX)
        if "rows" not in one:
            problem = "the document holds no matrices: they stay with the owner of the file"
            raise InputError(where, problem, _without_matrices(entry))
        if len(one["released"]) != size:
            raise InputError(place, f"has {len(one['released'])} released counts for {size} categories", FIX)
        if [len(row) for row in one["rows"]] != [size] * size:
            raise InputError(place, f"its rows do not make a square of the {size} categories", FIX)
        try:
            matrices[stratum] = TransitionMatrix.of(one["categories"], one["rows"])
        except InputError as error:
            raise InputError(place, error.problem, error.fix) from None
        released[stratum] = tuple(one["released"])
    variable = Randomised(
        columns=tuple(entry["columns"]),
        matrices=matrices,
        strata=tuple(entry["strata"]),
        together=entry["together"],
        missing=entry["missing"],
        invariant=entry["invariant"],
    )
    return variable, released


def _without_matrices(entry: Mapping[str, Any]) -> str:
    if entry["invariant"]:
        kind = "counts" if entry["invariant"] == "sample" else "weighted counts"
        beside = f" by {some(entry['strata'])}" if entry["strata"] else ""
        return f"take the {kind} of {some(entry['columns'])}{beside} as they are, they are unbiased; ask the owner for the rest"
    return "ask the owner of the file for the matrices, or for the answer"
