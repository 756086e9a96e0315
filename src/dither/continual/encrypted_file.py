"""A file of records that only grows, each encrypted with the owner's key and tied to all records before it.

    "dither stream 2" and a line feed, 16 bytes of salt,
    then for each record its length in 4 bytes, 12 bytes of nonce, and AES-256-GCM

What is encrypted is the length of the record in 8 bytes, the record, and zeros up to a power of two, 1024 at least: a
record grows with the people of its period, and how long it is can be seen without the key.

The key of the file is HMAC-SHA256 of the owner's key over the salt. A record is authenticated together with its place
and the digest of the record before it, so that one that was changed, moved, left out or brought from another file is
refused. Records that were cut off at the end are found by who compares `digest` with what it wrote elsewhere: the
ledger. A record is on disk before `append` returns. What a crash left of one in the making is overwritten: it was never
recorded, and no answer was made of it.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import hmac
import os
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from dither.errors import LedgerConflict, LedgerError, ParameterError
from dither.noise import entropy
from dither.noise.tape import answered

__all__ = ["KEY_BYTES", "EncryptedFile", "new_key"]

KEY_BYTES: Final = 32
_MAGIC: Final = b"dither stream 2\n"
_SALT, _LENGTH, _NONCE, _DIGEST = 16, 4, 12, 32
_LONGEST: Final = 1 << 30
"""One call of the system reads that much at once, and no more than twice as much."""
_SHORTEST, _SIZE = 1024, 8
_IN_USE: Final = "this stream is in use by another process. Nothing was done. Ask again when that one has ended."
_CHANGED: Final = (
    "the state of the stream cannot be read: the key is not the one that it was written with, or the file was changed. "
    "No answer was given. Take the owner's key, and the file as it was written last."
)


def new_key() -> bytes:
    """Draw a key for an owner.

    Returns
    -------
    bytes
        32 bytes. Keep them apart from the state; without them the stream cannot go on.
    """
    return _random(KEY_BYTES)


class EncryptedFile:
    """The records of one stream, for one process at a time."""

    def __init__(self, path: str | os.PathLike[str], key: bytes, *, create: bool) -> None:
        if type(key) is not bytes or len(key) != KEY_BYTES:
            raise ParameterError(f"key must be {KEY_BYTES} bytes, such as dp.Stream.new_key() gives.")
        self._path, self._owner = Path(path), os.getpid()
        self._file = self._opened(create)
        try:
            self._locked()
            self._salt = self._made() if create else self._read_salt()
            derived = hmac.new(key, b"dither stream" + self._salt, hashlib.sha256).digest()
            self._cipher = AESGCM(derived)
            self._digest = hashlib.sha256(_MAGIC + self._salt).digest()
            self._places, self._digests = array("Q"), bytearray()
            """Where each record begins, and the digest of those before it: 40 bytes for each."""
            self._end = len(_MAGIC) + _SALT
        except BaseException:
            self.close()
            raise

    def _opened(self, create: bool) -> int:
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT | os.O_EXCL if create else 0)
        try:
            return os.open(self._path, flags, 0o600)
        except FileExistsError:
            raise ParameterError(
                "there is a file at this place already. Resume the stream that it holds, or choose another place."
            ) from None
        except OSError as error:
            raise LedgerError(f"the state of the stream cannot be opened: {os.strerror(error.errno or 0)}.") from None

    def _locked(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES):
                raise LedgerConflict(_IN_USE) from None
            raise LedgerError("the place of the stream's state has no locks. Put it on a local disk.") from None

    def _made(self) -> bytes:
        salt = _random(_SALT)
        self._written(_MAGIC + salt, 0)
        folder = os.open(self._path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        return salt

    def _read_salt(self) -> bytes:
        start = os.pread(self._file, len(_MAGIC) + _SALT, 0)
        if len(start) != len(_MAGIC) + _SALT or not start.startswith(_MAGIC):
            raise LedgerError("this file does not hold the state of a stream.")
        return start[len(_MAGIC) :]

    def records(self) -> Iterator[bytes]:
        """All records from the first, decrypted and checked; to be read to the end before `append`."""
        self._digest = hashlib.sha256(_MAGIC + self._salt).digest()
        self._places, self._digests, self._end = array("Q"), bytearray(), len(_MAGIC) + _SALT
        while (sealed := self._sealed(self._end)) is not None:
            opened = self._unsealed(sealed, len(self._places), self._digest)
            self._moved_on(sealed)
            yield opened

    def record(self, number: int) -> bytes:
        """One of the records that were read or written."""
        sealed = self._sealed(self._places[number])
        if sealed is None:
            raise LedgerError(_CHANGED)
        return self._unsealed(sealed, number, self._before(number))

    def _before(self, number: int) -> bytes:
        """The digest of the records before this one."""
        return bytes(self._digests[_DIGEST * number : _DIGEST * (number + 1)])

    def _sealed(self, place: int) -> bytes | None:
        """The record at this place; None if there is none, or not the whole of it."""
        length = int.from_bytes(os.pread(self._file, _LENGTH, place), "big")
        sealed = os.pread(self._file, length, place + _LENGTH) if 0 < length <= _LONGEST else b""
        return sealed if length and len(sealed) == length else None

    def _unsealed(self, sealed: bytes, number: int, before: bytes) -> bytes:
        try:
            padded = self._cipher.decrypt(sealed[:_NONCE], sealed[_NONCE:], self._tied(number, before))
        except (InvalidTag, ValueError):
            raise LedgerError(_CHANGED) from None
        return padded[_SIZE : _SIZE + int.from_bytes(padded[:_SIZE], "big")]

    def _tied(self, number: int, before: bytes) -> bytes:
        return _MAGIC + self._salt + number.to_bytes(8, "big") + before

    def _moved_on(self, sealed: bytes) -> None:
        self._places.append(self._end)
        self._digests += self._digest
        self._digest = hashlib.sha256(self._digest + sealed).digest()
        self._end += _LENGTH + len(sealed)

    def append(self, record: bytes) -> None:
        """Write a record; it is on disk when this returns. A forked process has the lock as well, and is refused."""
        if os.getpid() != self._owner:
            raise LedgerConflict(_IN_USE)
        if (size := _padded_size(record)) > _LONGEST // 2:
            raise LedgerError(f"a period of a stream may keep {_LONGEST // 2} bytes, and this one has more.")
        nonce, padded = _random(_NONCE), (len(record).to_bytes(_SIZE, "big") + record).ljust(size, b"\0")
        sealed = nonce + self._cipher.encrypt(nonce, padded, self._tied(len(self._places), self._digest))
        self._written(len(sealed).to_bytes(_LENGTH, "big") + sealed, self._end)
        self._moved_on(sealed)

    def _written(self, data: bytes, place: int) -> None:
        """What a crash left behind `place` is cut off first."""
        try:
            os.ftruncate(self._file, place)
            done = 0
            while done < len(data):
                done += os.pwrite(self._file, data[done:], place + done)
            os.fsync(self._file)
        except OSError as error:
            raise LedgerError(
                f"the state of the stream cannot be written: {os.strerror(error.errno or 0)}. No answer was given."
            ) from None

    @property
    def count(self) -> int:
        """How many records there are."""
        return len(self._places)

    @property
    def digest(self) -> str:
        """What tells this sequence of records from any other."""
        return self._digest.hex()

    def digest_after(self, count: int) -> str:
        """What told the first `count` records from any others."""
        return self.digest if count == len(self._places) else self._before(count).hex()

    @property
    def is_closed(self) -> bool:
        """Whether it was given back."""
        return self._file < 0

    def close(self) -> None:
        """Give the file back."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _padded_size(record: bytes) -> int:
    """A power of two."""
    return max(_SHORTEST, 1 << (_SIZE + len(record) - 1).bit_length())


def _random(count: int) -> bytes:
    drawn = answered(lambda: entropy.current().bits(8 * count), "salt", None)
    return drawn.to_bytes(count, "little")
