"""Files that were looked at in full and found good, remembered in a folder of the user.

A note says: the file of this fingerprint, with this digest of its footer, was read by this version of DuckDB without
failing. Whoever can write notes can make a look be left out, so the folder counts only if it belongs to the user and
nobody else may write to it. Whoever can write the *file* is trusted with it: they could as well write other rows. A
file that was written less than two seconds ago gets no note, as it may be written again within one tick of the clock.
Where no note can be read or written, the file is looked at again; nothing else changes.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from contextlib import suppress
from dataclasses import astuple
from pathlib import Path
from typing import Final

import duckdb

from dither.tables.database_engines.file_fingerprint import Fingerprint

__all__ = ["is_remembered", "remember"]

_LOOK: Final = 1
"""Raised when more is looked at than before: older notes do not count then."""
_SETTLED: Final = 2 * 10**9
_TAIL: Final = 8
"""A Parquet file ends with the length of its footer in 4 bytes, and 4 letters."""


def is_remembered(file: Fingerprint) -> bool:
    """Whether this very file was looked at before."""
    try:
        return (_folder() / _name(file)).read_text() == _note(file)
    except (OSError, RuntimeError, ValueError):
        return False


def remember(file: Fingerprint) -> None:
    """Note that the file was looked at; one note for each path."""
    if time.time_ns() - max(file.written, file.changed) < _SETTLED:
        return
    with suppress(OSError, RuntimeError):
        folder = _folder()
        descriptor, unfinished = tempfile.mkstemp(dir=folder)
        with os.fdopen(descriptor, "w") as note:
            note.write(_note(file))
        os.replace(unfinished, folder / _name(file))


def _folder() -> Path:
    """The folder of notes: made if there is none, OSError if others may write to it."""
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    folder = (given if given.is_absolute() else Path.home() / ".cache") / "dither" / "files"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.stat()
    if os.name == "posix" and (found.st_uid != os.getuid() or found.st_mode & 0o022):
        raise PermissionError("others may write to the folder of notes")
    return folder


def _name(file: Fingerprint) -> str:
    return hashlib.sha256(file.path.encode()).hexdigest()


def _note(file: Fingerprint) -> str:
    said = json.dumps([_LOOK, duckdb.__version__, *astuple(file), _footer(file)])
    return hashlib.sha256(said.encode()).hexdigest()


def _footer(file: Fingerprint) -> str:
    """The digest of the footer, with the places and statistics of all pages; of a file without one, of its end."""
    with open(file.path, "rb") as content:
        content.seek(-min(_TAIL, file.size), os.SEEK_END)
        tail = content.read()
        length = min(int.from_bytes(tail[:4], "little") + _TAIL, file.size)
        content.seek(-length, os.SEEK_END)
        return hashlib.file_digest(content, "sha256").hexdigest()
