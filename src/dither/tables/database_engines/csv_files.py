"""A file of separated values: does it close its quotes, and is it UTF-8 from end to end?

Both are one look at the bytes when the file is opened.

*Quotes.* A quote that stays open would hide the lines of others. Well-formed is what the writer of a file sees to,
whatever the rows say, so refusing other files tells nothing of a row in a file that was written correctly (RFC 4180,
section 2).

*Encoding.* It decides how a file is read, not whether. DuckDB leaves out a line of which it reads a field that is no
UTF-8, and keeps it where that field is not needed: the same line would count in one question and not in the next. So a
file with such a line is read with all its fields for every question, and the line is in none. Nothing is refused: a
garbled row takes itself away, and no other.
"""

from __future__ import annotations

import codecs
import mmap
from pathlib import Path
from typing import Final

import numpy as np

from dither.errors import ParameterError

__all__ = ["is_one_line_each", "is_utf8"]

_CHUNK: Final = 1 << 24
_QUOTE: Final = ord('"')
_MARK: Final = b"\xef\xbb\xbf"


def is_one_line_each(path: Path, separator: str) -> bool:
    """Whether every line is a row: no quotes and no returns, so that any line may be read without those before it.

    Otherwise quotes must be well-formed. Counted from 0, those of even number open: they stand at the start of a field,
    or double the one before them. Those of odd number close: they stand at the end of a field, or are doubled by the
    next. Their number is even. Then each quoted field is closed by its own writer, and no other field has a quote.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        if content.find(b'"') < 0:
            return content.find(b"\r") < 0
        if not _is_well_formed(content, separator):
            raise ParameterError(
                f"a quote in the file {path.name!r} is not closed, or stands inside of a field without being doubled, "
                'so that it could hide other rows. Write a field with quotes as "...", each quote in it twice.'
            )
        return False


def _is_well_formed(content: mmap.mmap, separator: str) -> bool:
    ends = np.zeros(256, dtype=bool)
    ends[[ord(separator), ord("\n"), ord("\r"), _QUOTE]] = True
    start = len(_MARK) if content[: len(_MARK)] == _MARK else 0
    count = 0
    for begin in range(start, len(content), _CHUNK):
        # One byte more on either side, which are line ends at the ends of the file.
        left = content[begin - 1 : begin] if begin > start else b"\n"
        piece = np.frombuffer(left + content[begin : begin + _CHUNK + 1] + b"\n", dtype=np.uint8)
        size = min(_CHUNK, len(content) - begin)
        found = np.flatnonzero(piece[1 : size + 1] == _QUOTE) + 1
        opening, closing = (found[0::2], found[1::2]) if count % 2 == 0 else (found[1::2], found[0::2])
        if not (ends[piece[opening - 1]].all() and ends[piece[closing + 1]].all()):
            return False
        count += len(found)
    return count % 2 == 0


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
