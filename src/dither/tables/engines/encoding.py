"""Is a file UTF-8 from end to end? One look at the bytes when it is opened, which decides how it is read, not whether.

DuckDB leaves out a line of which it reads a field that is no UTF-8, and keeps it where that field is not needed: the
same line would count in one question and not in the next. So a file with such a line is read with all its fields for
every question, and the line is in none. Nothing is refused: a garbled row takes itself away, and no other.
"""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import Final

__all__ = ["is_utf8"]

_CHUNK: Final = 1 << 20


def is_utf8(path: Path) -> bool:
    """Whether every field is UTF-8: separators and line ends are ASCII, so the whole file is if all of them are."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                decoder.decode(chunk)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True
