"""The file with the owner's key of a stream: 32 bytes that nobody else may read."""

from __future__ import annotations

import os
from pathlib import Path

from dither.engine.stream import Stream
from dither.errors import ParameterError

__all__ = ["made_key", "read_key"]


def made_key(path: Path) -> tuple[bytes, bool]:
    """The key in a file, and whether it was made now: it is on disk before anything is charged."""
    try:
        place = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return read_key(path), False
    except OSError as error:
        raise ParameterError(
            f"the key cannot be written to {str(path)!r}: {os.strerror(error.errno or 0)}. Name another key_file."
        ) from None
    key = Stream.new_key()
    with os.fdopen(place, "wb") as file:
        file.write(key)
        file.flush()
        os.fsync(file.fileno())
    return key, True


def read_key(path: Path) -> bytes:
    """The key in a file; its length is checked by who uses it."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise ParameterError(
            f"the key of the stream cannot be read from {str(path)!r}: {os.strerror(error.errno or 0)}. It was made by "
            "`dither stream start`; name it with key_file."
        ) from None
