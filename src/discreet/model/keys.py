"""Record keys: the secret numbers from which all noise is made, so that the same contributors always carry the same noise."""

from __future__ import annotations

import hashlib
import hmac
import math
import os
from pathlib import Path

from discreet.errors import InputError
from discreet.model.microdata import Microdata
from discreet.model.numbers import Numbers, column_name, is_whole

__all__ = ["Secret", "record_keys"]

ENOUGH = 16
"""The fewest characters of a secret that nobody can try out."""

KEY_DIGITS = 32
"""Of the key of a response, in base 16: 128 bits, so that most ids fit into one block of the hash, which halves its cost."""


class Secret:
    """What record keys are made with; it comes from a file or the environment, and is shown and written nowhere.

    The record key of a unit is the first 32 bits of a SHA-256 hash of the secret, the name of the response and the unit's id:
    the same on every engine and machine, and of no use for another response, where equal noise would give a ratio away.

    ``paper`` is the hash of Tambay (2017), (id · P) mod 1000 with the secret number P, for reproduction only: it depends on the
    last three digits of the id alone, and taking a unit out shifts the noise of all others.

    Guards against nobody who knows the secret.
    """

    def __init__(self, text: str, *, paper: bool = False, source: str = "secret") -> None:
        self.paper = paper
        self._text = text.strip()
        if paper and self._text.isdecimal() and math.gcd(int(self._text), 1000) > 1:
            problem = "is even or a multiple of 5, so that units share keys whose ids end differently"
            raise InputError(source, problem, "choose a number that ends in 1, 3, 7 or 9")
        if paper and not self._text.isdecimal():
            raise InputError(
                source,
                "is no whole number, as the paper's hash needs",
                "write one number of many digits, or take the keyed hash (sha256)",
            )
        if not paper and len(self._text) < ENOUGH:
            fix = "make one with: python -c 'import secrets; print(secrets.token_hex())'"
            raise InputError(source, f"holds fewer than {ENOUGH} characters, which can be found out by trying", fix)

    def __repr__(self) -> str:
        return f"Secret({'paper' if self.paper else 'hash'})"

    @classmethod
    def from_file(cls, path: str | Path, *, paper: bool = False) -> Secret:
        """The secret that a file holds, without the line end."""
        file = Path(path)
        try:
            return cls(file.read_text(encoding="utf-8"), paper=paper, source=f"the secret in {file.name}")
        except (OSError, UnicodeDecodeError):
            raise InputError(
                "secret", "the file cannot be read", "name a text file that holds the secret, not the secret"
            ) from None

    @classmethod
    def from_environment(cls, name: str, *, paper: bool = False) -> Secret:
        """The secret that an environment variable holds."""
        if name not in os.environ:
            problem = "the environment variable that should hold it is not set"
            raise InputError("secret", problem, "name the variable, not the secret, and set it before the run")
        return cls(os.environ[name], paper=paper, source=f"the secret in environment variable {name}")

    def load(self, microdata: Microdata, response: str) -> None:
        """Hands the engine what is hashed with: a key of its own for each response, in a table and not in a statement."""
        hashed = hmac.new(self._text.encode(), response.encode(), hashlib.sha256).hexdigest()[:KEY_DIGITS]
        microdata.engine.hold_secret("secret_key", str(int(self._text) % 1000) if self.paper else hashed)


def record_keys(microdata: Microdata, numbers: Numbers, secret: Secret | None, response: str) -> tuple[str, str]:
    """The record key and the key of its contributor (the holding, where there is one) as SQL, whole numbers below 2^32."""
    roles = microdata.roles
    if secret is None:
        given = numbers.key()
        return given, given
    if roles.record_key is not None:
        raise InputError("record keys", "come from a column and from a secret", "leave out one of the two")
    if roles.unit is None:
        raise InputError(
            "record keys", "are made from the ids of units, and no column names the unit", "declare unit = 'column'"
        )
    secret.load(microdata, response)
    text = f"CAST({column_name(roles.unit)} AS VARCHAR)"
    absent = f"COALESCE({text}, '') IN ('', 'nan')"
    if is_whole(microdata.types[roles.unit]):
        absent = f"{column_name(roles.unit)} IS NULL"
    if missing := microdata.count(f"{numbers.where} AND {absent}"):
        raise InputError(
            f"column {roles.unit!r}", f"{missing} records have no id to make a record key from", "give each unit an id"
        )
    if secret.paper:
        _check_numbers(microdata, roles.unit, text, numbers.where)
        of_paper = (
            f"CAST((CAST({text} AS DECIMAL(38, 0)) % 1000) * (SELECT CAST(k AS BIGINT) FROM secret_key) % 1000 AS BIGINT)"
        )
        return of_paper, of_paper
    own = microdata.engine.hash_of(f"(SELECT k FROM secret_key) || 'unit' || {text}", 32)
    if roles.holding is None:
        return own, own
    holding = f"CAST({column_name(roles.holding)} AS VARCHAR)"
    of_holding = microdata.engine.hash_of(f"(SELECT k FROM secret_key) || 'holding' || {holding}", 32)
    return own, f"CASE WHEN COALESCE({holding}, '') IN ('', 'nan') THEN {own} ELSE {of_holding} END"


def _check_numbers(microdata: Microdata, column: str, text: str, where: str) -> None:
    if found := microdata.count(f"{where} AND TRY_CAST({text} AS DECIMAL(38, 0)) IS NULL"):
        raise InputError(
            f"column {column!r}", f"{found} ids are no whole numbers, as the paper's hash needs", "take the keyed hash (sha256)"
        )
