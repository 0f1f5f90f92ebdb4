"""Suppression methods and other tools on the same tables: what each guards against, hides, and takes.

    python -m benchmarks.suppression_comparison [RESULT ...]

puts results of ``benchmarks.peers.run`` and of ``benchmarks.run`` (json files) into benchmarks/suppression_measured.json, the
newer ones in the place of older ones of the same table and tool, or subject, and writes docs/suppression_comparison.md and
.svg from what is stored there.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.registry import ROOT
from benchmarks.suppression_page import SCALE, page
from benchmarks.suppression_picture import picture

__all__ = ["DOCS", "KEPT", "main", "merged", "pages"]

DOCS = ROOT / "docs"
KEPT = ROOT / "benchmarks" / "suppression_measured.json"
NOTHING: dict[str, Any] = {"versions": {}, "results": [], "scale": {}}
READ = ("part", "cpu", "wall", "peak", "facts")
FACTS = ("rows", "table", "tool", "cells", "primary", "limit", "cpu", "wall", "peak", "secondary", "cost")
FACTS = (*FACTS, "bound", "primary published", "audit", "error", "version")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    given = sys.argv[1:] if arguments is None else arguments
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else NOTHING
    for path in given:
        kept = merged(kept, json.loads(Path(path).read_text(encoding="utf-8")))
    KEPT.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for name, text in pages(kept).items():
        (DOCS / name).write_text(text, encoding="utf-8")
    return 0


def merged(kept: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """What is kept, with newer results put over older ones of the same register, table and tool, or of the same subject."""
    found, scale = {_key(result): result for result in kept["results"]}, dict(kept["scale"])
    for result in more["results"]:
        if result.get("subject") in SCALE:
            scale[result["subject"]] = [{name: _rounded(part[name]) for name in READ} for part in result["readings"]]
        elif "tool" in result:
            found[_key(result)] = {fact: _rounded(result[fact]) for fact in FACTS if fact in result}
    return {"versions": more["versions"], "results": list(found.values()), "scale": scale}


def _key(result: dict[str, Any]) -> tuple[Any, ...]:
    return result["table"], result["rows"], result["tool"]


def _rounded(fact: Any) -> Any:
    return round(fact, 3) if isinstance(fact, float) else fact


def pages(kept: dict[str, Any]) -> dict[str, str]:
    """What is written, by file name."""
    return {
        "suppression_comparison.md": page(kept["results"], kept["scale"], kept["versions"]),
        "suppression_comparison.svg": picture(kept["results"]),
    }


if __name__ == "__main__":
    sys.exit(main())
