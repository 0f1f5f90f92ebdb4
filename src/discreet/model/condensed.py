"""Records that a table of counts cannot tell apart, as one row: each combination of codes is then read once."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from discreet.engine.sql import KEYS, all_of, quote
from discreet.model.codes import selected
from discreet.model.microdata import Microdata, Roles
from discreet.model.numbers import Numbers, column_name

__all__ = ["condensed"]


def condensed(microdata: Microdata, columns: Sequence[str], where: Mapping[str, Sequence[str]]) -> Microdata:
    """One row for each combination of these columns and those of the filter, with its records counted and their keys added.

    Only for records that have no other part to play than to be counted: their one role may be the record key.
    """
    kept = list(dict.fromkeys([*columns, *where]))
    longest = max(map(len, microdata.types))
    count, key = (name.ljust(longest + 1, "_") for name in ("count", "key"))  # no column has such a name
    conditions = all_of(selected(microdata, where))
    keyed = microdata.roles.record_key is not None
    keys = f", {KEYS.format(Numbers(microdata, conditions).key())} AS {quote(key)}" if keyed else ""
    cell = ", ".join(map(column_name, kept))
    microdata.engine.run(
        f"CREATE OR REPLACE TEMP TABLE condensed AS SELECT {cell}, COUNT(*) AS {quote(count)}{keys} "
        f"FROM {microdata.source} GROUP BY {cell}"
    )
    types = {name: microdata.types[name] for name in kept} | {count: "BIGINT"} | ({key: "BIGINT"} if keyed else {})
    return dataclasses.replace(
        microdata,
        source="condensed AS records",
        counted=f"COALESCE(SUM({quote(count)}), 0)",
        types=types,
        roles=Roles(count=count, record_key=key if keyed else None),
    )
