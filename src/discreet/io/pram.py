"""Writes a randomised file with the document that its analysts need, and reads the two."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from discreet import __version__
from discreet.engine.sql import quote
from discreet.errors import InputError, some
from discreet.io.columns import read_text
from discreet.io.microdata import read_microdata
from discreet.io.pram_document import content_of, document_from, text_of
from discreet.io.release import check_release_name, column_text, copy_records, release_columns
from discreet.io.staging import gathered
from discreet.model.codes import code_text
from discreet.model.encoded import Coded, encoded
from discreet.model.microdata import Microdata, Missing
from discreet.model.numbers import column_name
from discreet.model.pram_file import PramFile
from discreet.model.randomised import PramDocument, Randomised
from discreet.model.released import ReleasedFile, released_counts

__all__ = ["DOCUMENT", "PRIVATE", "document_of", "read_pram", "write_pram"]

DOCUMENT, PRIVATE = ".pram.json", ".pram-private.json"


def document_of(file: PramFile, *, name: str, public: bool = True) -> PramDocument:
    """What goes with the released file of this name: the matrices and the released counts of each variable.

    Errors: InputError where no variable is randomised.
    """
    if not file.variables:
        raise InputError("PRAM", "no variable is randomised yet", "apply Pram(columns=…, design=…) before the release")
    released = []
    for variable, own in zip(file.variables, file.released, strict=True):
        strata = encoded(file.microdata, {"stratum": variable.strata}).coded["stratum"] if variable.strata else None
        released.append(released_counts(variable, own, strata))
    return PramDocument(
        file=name,
        records=len(file.key),
        variables=file.variables,
        released=tuple(released),
        public=public,
        made_by=f"discreet {__version__}",
    )


def write_pram(
    file: PramFile,
    folder: str | os.PathLike[str],
    *,
    name: str = "released.csv",
    columns: Sequence[str] | None = None,
    public: bool = True,
    counts_known: bool = False,
) -> PramDocument:
    """Writes the records with their randomised columns, and ``<name>.pram.json``, which tells how they were randomised.

    ``name`` ends in .csv (UTF-8) or .parquet.  ``columns`` are those to release, by default all but the ids of records and the
    columns of roles other than the weight.  The lines stand in an order that is made from the secret and the ids, and tells
    nothing of the order in the source.  Where the matrices are not ``public``, the document does not hold them, and
    ``<name>.pram-private.json`` does, which the owner keeps.  The files appear together or not at all.

    An invariant matrix tells whoever has it the true counts that it leaves as they are: as a rule no others have PᵀT = T.
    So it can be public only with ``counts_known``, by which the owner says that these counts, by stratum, are public as well.

    What it does not do: look at the columns that were left as they are, which may tell the true codes, as
    :func:`discreet.pram_risk` does; and know of another release of the same records, which with other matrices tells more than
    one alone.

    Errors: InputError where nothing is randomised, where columns are not there or those are left out that the document needs,
    and where the file would have the name of its source; ParameterError for another kind of file.
    """
    path = Path(name)
    check_release_name(file.microdata, name)
    document = document_of(file, name=name, public=public)
    if public and not counts_known:
        _check_invariant(document)
    chosen = _chosen(file, columns)
    with gathered(Path(folder), stale=[path.stem + PRIVATE]) as private:
        _write_records(file, chosen, private / name)
        weight = file.microdata.roles.weight
        told = {"weight": weight if weight in chosen else None}
        for ending, matrices in ((DOCUMENT, public), *([] if public else [(PRIVATE, True)])):
            content = content_of(document, file.microdata, matrices=matrices, **told)
            (private / (path.stem + ending)).write_text(text_of(content) + "\n", encoding="utf-8")
    return document


def read_pram(document: str | os.PathLike[str], records: Any = None) -> ReleasedFile:
    """The released records and what their document tells: everything that the estimates of an analyst begin with.

    ``records`` is the released file, or a frame of it, by default the file that the document names, which lies beside it.

    Errors: InputError for a document that is no JSON, of another format or version, without matrices, or with matrices that
    are none; and for records that are not those of the document: other columns, codes, strata or counts.
    """
    path = Path(document)
    found, content = document_from(path.name, read_text(path))
    if records is None:
        if Path(found.file).name != found.file:
            raise InputError(path.name, "names a file in another folder", "give the released file: records = …")
        records = path.parent / found.file
    microdata = read_microdata(
        records,
        missing=Missing(codes=tuple(content["missing_codes"])),
        decimal="," if content["decimal_comma"] else ".",
        weight=content["weight"],
    )
    return ReleasedFile(microdata=microdata, document=found)


def _check_invariant(document: PramDocument) -> None:
    """Refuses public matrices that tell true counts."""
    telling = [variable for variable in document.variables if variable.invariant or variable.telling]
    if telling:
        one = telling[0]
        kind = "true weighted counts" if one.invariant == "population" else "true counts"
        strata = f" by {some(one.strata)}" if one.strata else ""
        problem = f"its matrices tell the {kind} of the categories{strata} to whoever has them"
        fix = "keep the matrices back: public = False; or say counts_known = True, where these counts are public anyway"
        if not one.invariant:
            fix += "; a plan then also says invariant = true in the design of an own matrix"
        raise InputError(f"PRAM of {one.name}", problem, fix)


# ------------------------------------------------------------------ records


def _chosen(file: PramFile, columns: Sequence[str] | None) -> list[str]:
    """The columns to release, with all that the document speaks of."""
    chosen = release_columns(file.microdata, file.shown if columns is None else columns)
    for variable in file.variables:
        needed = (*variable.columns, *variable.strata, *([variable.together] if variable.together else []))
        absent = [column for column in needed if column not in chosen]
        if absent:
            problem = f"leaves out {some(absent)}, without which nobody can use the document of {variable.name}"
            fix = "name all columns to release: columns = […]; or randomise without these"
            raise InputError("release", problem, fix)
    return chosen


def _write_records(file: PramFile, chosen: Sequence[str], path: Path) -> None:
    """The records in their new order, with the released codes in the place of the true ones."""
    microdata, engine, typed = file.microdata, file.microdata.engine, path.suffix.lower() == ".parquet"
    replaced: dict[str, str] = {}
    for v, (variable, released) in enumerate(zip(file.variables, file.released, strict=True)):
        replaced |= _values(microdata, v, variable, released, typed=typed)
    shown = [f"{replaced.get(column) or column_text(microdata, column, path)} AS {quote(column)}" for column in chosen]
    order = file.hashed("PRAM order of lines", file.record)
    query = (
        f"SELECT {', '.join(shown)} FROM (SELECT records.* FROM {microdata.source}) AS records "
        f"POSITIONAL JOIN pram_codes ORDER BY {order}"
    )
    with engine.in_order():
        engine.load("pram_codes", {f"c{v}": released.codes for v, released in enumerate(file.released)})
        try:
            copy_records(microdata, query, path, columns=len(shown))
        finally:
            engine.run("DROP TABLE pram_codes")


def _values(microdata: Microdata, v: int, variable: Randomised, released: Coded, *, typed: bool) -> dict[str, str]:
    """Loads what each code of variable ``v`` is in the released file; SQL for each of its columns.

    Empty codes that were kept are written as they stand in the source; those that are a category are all written as empty.
    """
    held = {f"v{i}": np.array([category[i] for category in released.categories], object) for i in range(len(variable.columns))}
    microdata.engine.load(f"pram_value{v}", {"code": np.arange(len(released.categories))} | held)
    found = {}
    for i, column in enumerate(variable.columns):
        value, own = f"NULLIF(v{i}, '')", f"NULLIF({code_text(microdata, column)}, 'nan')"
        if typed:
            value, own = f"CAST({value} AS {microdata.types[column]})", column_name(column)
        value = f"(SELECT LIST({value} ORDER BY code) FROM pram_value{v})[pram_codes.c{v} + 1]"
        found[column] = f"COALESCE({value}, {own})" if variable.missing == "kept" else value
    return found
