"""What is checked alike in every section of a plan that releases records: keys, names and columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from discreet.plan.lines import Where
from discreet.plan.problems import Problems
from discreet.plan.release_sections import ReleaseSection
from discreet.plan.sections import MicrodataSection

__all__ = ["check_release", "named_columns"]


def check_release(
    problems: Problems, here: Where, what: str, section: ReleaseSection | None, microdata: MicrodataSection | None
) -> None:
    """Notes what keeps ``what`` from making its keys, and a release that would take another file's name."""
    if microdata is not None:
        _check_keys(problems, what, microdata)
    if section is None:
        return
    if microdata is not None:
        if not section.record and microdata.unit is None:
            mend = f"unit = 'column' in [microdata], or record = ['column', …] in [{here[0]}]"
            problems.wrong(here, f"nothing names a record, from which its key is made: {mend}")
        if PurePath(microdata.path).name.casefold() == section.release.casefold():
            text = f"release: {section.release!r} is the name of the confidential records too; give it another"
            problems.wrong((*here, "release"), text)
    if PurePath(section.release).stem in problems.names("tables"):
        problems.wrong((*here, "release"), f"release: {section.release!r} is the name of a table's release file too")


def named_columns(entries: Sequence[Any], where: Where, *keys: str) -> Iterator[tuple[Where, str, str]]:
    """The columns that entries name under these keys: where each stands, the key, and the column."""
    for i, entry in enumerate(entries):
        for key in keys:
            value = entry.get(key) if isinstance(entry, Mapping) else None
            listed = [value] if isinstance(value, str) else value if isinstance(value, list) else []
            yield from (((*where, i, key, j), key, column) for j, column in enumerate(listed) if isinstance(column, str))


def _check_keys(problems: Problems, what: str, microdata: MicrodataSection) -> None:
    where: Where = ("microdata",)
    if microdata.record_key is not None:
        mend = "name a secret in its place: secret_file or secret_environment"
        problems.wrong((*where, "record_key"), f"{what} makes its keys from a secret, not from a column; {mend}")
    elif microdata.secret_file is None and microdata.secret_environment is None:
        mend = "name one in [microdata]: secret_file or secret_environment"
        problems.wrong(where, f"{what} draws with keys that are made from a secret, and no secret is named; {mend}")
    if microdata.key_hash == "paper":
        problems.wrong((*where, "key_hash"), f"the paper's hash is for tables; {what} needs the keyed hash (sha256)")
    if microdata.count is not None:
        problem = f"{what} changes single records, and with count a row stands for several: give one row for each record"
        problems.wrong((*where, "count"), problem)
