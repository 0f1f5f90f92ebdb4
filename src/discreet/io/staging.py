"""Files that appear together, or not at all."""

from __future__ import annotations

import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from discreet.errors import InputError

__all__ = ["gathered"]


@contextmanager
def gathered(folder: Path, stale: Sequence[str] = ()) -> Iterator[Path]:
    """A private folder whose files move to ``folder`` together, subfolders kept, once the block has ended without an error.

    Files named in ``stale`` that the block did not write anew are removed from there: left by an earlier run, they would pass
    for what belongs to this one.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(folder.name, "is a file, not a folder", "choose another folder for the output")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        private = Path(tempfile.mkdtemp(prefix=".discreet-", dir=folder if folder.exists() else folder.parent))
    except OSError:
        raise InputError(folder.name, "cannot be written", "choose another folder for the output") from None
    try:
        yield private
        folder.mkdir(exist_ok=True)
        for name in stale:
            (folder / name).unlink(missing_ok=True)
        for made in sorted(private.rglob("*")):
            place = folder / made.relative_to(private)
            if made.is_dir():
                place.mkdir(mode=stat.S_IMODE(made.stat().st_mode), exist_ok=True)
            else:
                made.replace(place)
    finally:
        shutil.rmtree(private, ignore_errors=True)
