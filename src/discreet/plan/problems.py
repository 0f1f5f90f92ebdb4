"""Settings of a plan file become checked sections; what is wrong is collected and told at once, each with its line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from discreet.errors import InputError, ParameterError, PlanError, near
from discreet.method import build, faults
from discreet.plan.lines import Where, key_lines

__all__ = ["Problems"]

S = TypeVar("S")


class Problems:
    """A parsed plan file, and everything that was found wrong with it so far."""

    def __init__(self, path: Path, text: str, content: dict[str, Any]) -> None:
        self.path = path
        self.text = text
        self.content = content
        self.lines = _also_with_underscores(key_lines(text))
        self.problems: list[tuple[int, str]] = []

    def section(self, kind: type[S], where: Where, settings: Any = None, name: str = "") -> S | None:
        """One checked section, or None after its problems were noted."""
        settings = self.at(where) if settings is None else settings
        if not isinstance(settings, dict):
            what = f"{where[-1]!r} is" if isinstance(where[-1], str) else f"an entry of {where[-2]!r} is a name or"
            self.wrong(where, f"{what} a table of settings, not {type(settings).__name__}")
            return None
        found = faults(kind, settings)
        for key, text in found:
            self.wrong((*where, key), f"{name}: {text}" if name else text)
        if found:
            return None
        try:
            return build(kind, settings)
        except (InputError, ParameterError) as error:
            self.wrong((*where, error.where.rpartition(".")[2]), f"{error.where}: {error.problem}")
            return None

    def chosen(
        self, where: Where, item: Any, known: Mapping[str, type[Any]], what: str
    ) -> tuple[type[Any], dict[str, Any]] | None:
        """What an entry names as its ``method``, and its other settings; None after a problem was noted."""
        settings = {"method": item} if isinstance(item, str) else item
        name = settings.get("method") if isinstance(settings, dict) else None
        if not isinstance(name, str):
            self.wrong(where, f"a {what} is written {{ method = '…', parameter = … }}")
            return None
        if name not in known:
            self.wrong((*where, "method"), f"there is no {what} {name!r}{near(name, known)}; see: discreet methods")
            return None
        return known[name], {key: value for key, value in settings.items() if key != "method"}

    def at(self, where: Where) -> Any:
        """What the plan says there."""
        value: Any = self.content
        for key in where:
            value = value[key]
        return value

    def nested(self, key: str) -> list[dict[str, Any]]:
        """The entries of a section that are tables of settings."""
        entries = self.content.get(key)
        return [entry for entry in entries.values() if isinstance(entry, dict)] if isinstance(entries, dict) else []

    def names(self, key: str) -> list[str]:
        """The names of a section's entries; none after a problem was noted."""
        entries = self.content.get(key, {})
        if not isinstance(entries, dict) or not all(isinstance(entry, dict) for entry in entries.values()):
            self.wrong((key,), f"{key} is a table of named entries: [{key}.NAME] or {key}.NAME = {{ … }}")
            return []
        return list(entries)

    def exists(self, where: Where, name: str | None, *, secret: bool = False) -> None:
        """Notes a problem where a file that the plan names is not there."""
        file = self.path.parent / (name or "")
        if name is not None and not file.is_file():
            beside = [entry.name for entry in file.parent.iterdir()] if file.parent.is_dir() else []
            what = "no such file to hold the secret (give its path, never the secret itself)" if secret else f"no file {name!r}"
            self.wrong(where, f"there is {what}{near(file.name, beside)}; paths are relative to the plan")

    def wrong(self, where: Where, text: str) -> None:
        """Notes a problem and the line it stands on, or that of the nearest section around it."""
        paths = [where[:length] for length in range(len(where), 0, -1)]
        line = next((self.lines[path] for path in paths if path in self.lines), 0)
        self.problems.append((line, text))

    def refuse_if_wrong(self) -> None:
        """A PlanError with all problems so far, by their lines."""
        if not self.problems:
            return
        told = [f"line {line}: {text}" if line else text for line, text in sorted(dict.fromkeys(self.problems))]
        count = "1 problem" if len(told) == 1 else f"{len(told)} problems"
        listed = "".join(f"\n  {text}" for text in told)
        raise PlanError(self.path.name, f"{count}{listed}", "mend these lines; nothing was run", details=told)


def _also_with_underscores(lines: dict[Where, int]) -> dict[Where, int]:
    """The lines, by what parameters are called too: a plan may write these with dashes."""
    called = {tuple(key.replace("-", "_") if isinstance(key, str) else key for key in path): n for path, n in lines.items()}
    return called | lines
