"""Which line of a TOML text each key and each list item stands on; the standard parser does not tell."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right

__all__ = ["Where", "key_lines"]

Where = tuple[str | int, ...]

_SPACE = re.compile(r"[ \t]*")
_GAP = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_KEY = re.compile(r'"(?:\\.|[^"\\])*"|\'[^\']*\'|[^\s.=\[\]{},"\'#]+')
_DOT = re.compile(r"[ \t]*\.[ \t]*")
_TEXT = re.compile(r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'', re.DOTALL)
_PLAIN = re.compile(r"[^,\]}\n#]*")


def key_lines(text: str) -> dict[Where, int]:
    """The line (from 1) of every key and list item of a TOML text that the standard parser has accepted.

    A path such as ``("tables", "turnover", "methods", 1, "p")`` counts list items from 0.
    """
    return _Walk(text).lines


class _Walk:
    def __init__(self, text: str) -> None:
        self.text = text
        self.lines: dict[Where, int] = {}
        self.at = 0
        self.ends = [i for i, letter in enumerate(text) if letter == "\n"]
        self.lengths: dict[Where, int] = {}
        self.document()

    def document(self) -> None:
        section: Where = ()
        self.skip(_GAP)
        while self.at < len(self.text):
            if self.text.startswith("[[", self.at):
                section = self.heading(2)
            elif self.text[self.at] == "[":
                section = self.heading(1)
            else:
                self.pair(section)
            self.skip(_GAP)

    def heading(self, brackets: int) -> Where:
        start = self.at
        self.at += brackets
        self.skip(_SPACE)
        path: Where = ()
        keys = self.keys()
        for i, key in enumerate(keys):
            path = (*path, key)
            self.note(path, start)
            last = i == len(keys) - 1
            if last and brackets == 1:
                self.lines[path] = self.line(start)  # a table stands at its heading, even where a part of it comes first
            if last and brackets == 2:
                self.lengths[path] = self.lengths.get(path, 0) + 1
            if path in self.lengths:
                path = (*path, self.lengths[path] - 1)
                self.note(path, start)
        self.skip(_SPACE)
        self.at += brackets
        return path

    def pair(self, inside: Where) -> None:
        start = self.at
        path = inside
        for key in self.keys():
            path = (*path, key)
            self.note(path, start)
        self.skip(_SPACE)
        self.at += 1  # the equals sign
        self.skip(_SPACE)
        self.value(path)

    def value(self, path: Where) -> None:
        letter = self.text[self.at]
        if letter == "[":
            self.members("]", path)
        elif letter == "{":
            self.members("}", path)
        elif letter in "\"'":
            self.skip(_TEXT)
        else:
            self.skip(_PLAIN)

    def members(self, closing: str, path: Where) -> None:
        self.at += 1
        number = 0
        self.skip(_GAP)
        while self.text[self.at] != closing:
            if closing == "}":
                self.pair(path)
            else:
                self.note((*path, number), self.at)
                self.value((*path, number))
            number += 1
            self.skip(_GAP)
            if self.text[self.at] == ",":
                self.at += 1
                self.skip(_GAP)
        self.at += 1

    def keys(self) -> list[str]:
        found = [self.key()]
        while _DOT.match(self.text, self.at):
            self.skip(_DOT)
            found.append(self.key())
        return found

    def key(self) -> str:
        start = self.at
        self.skip(_KEY)
        word = self.text[start : self.at]
        return str(tomllib.loads(f"key = {word}")["key"]) if word[0] in "\"'" else word

    def skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def note(self, path: Where, at: int) -> None:
        self.lines.setdefault(path, self.line(at))

    def line(self, at: int) -> int:
        return bisect_right(self.ends, at - 1) + 1
