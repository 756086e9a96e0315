"""The one source of randomness: AES-256 in counter mode, keyed from the operating system.

Promises:

* every thread has its own stream with its own key from `os.urandom`, so no lock and no shared state;
* the key is replaced from the operating system after every 16 MiB: a key found in memory reveals no more of the past;
* after a fork the child forgets its parent's streams before it draws anything;
* there is no seed. The only other way to get bits is the test switch `dither.noise._replay`, which stays off unless
  the environment asked for it when this module was imported.
"""

from __future__ import annotations

import io
import os
import threading
from typing import Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

__all__ = ["BitSource", "current"]

_KEY_BYTES = 32
_NONCE = bytes(16)  # each key is used for one stream only, so the counter may start at zero
_REKEY_AFTER = 1 << 24
_ZEROS = memoryview(bytes(1 << 18))
_SMALL_BUFFER = 1 << 12


class BitSource(Protocol):
    """What samplers draw from: independent fair bits, in words or one by one."""

    word_bits: int
    """How many bits a word holds: 64, or fewer when a test enumerates all streams."""

    def words(self, count: int) -> NDArray[np.uint64]:
        """`count` independent uniform integers below 2^word_bits."""
        ...

    def bits(self, count: int) -> int:
        """One uniform integer below 2^count."""
        ...


class _SystemStream:
    """The stream of one thread."""

    word_bits = 64

    def __init__(self) -> None:
        self.process = os.getpid()
        self._left = 0
        self._cipher: CipherContext
        self._read = io.BytesIO().read

    def words(self, count: int) -> NDArray[np.uint64]:
        out = np.empty(count, dtype=np.uint64)
        self._fill(out.view(np.uint8).data)
        return out

    def bits(self, count: int) -> int:
        size = (count + 7) >> 3
        # BytesIO.read moves on in one step that no signal handler can split: bytes are never handed out twice.
        data = self._read(size)
        while len(data) < size:
            fresh = bytearray(max(_SMALL_BUFFER, size))
            self._fill(memoryview(fresh))
            self._read = io.BytesIO(fresh).read
            data = self._read(size)
        return int.from_bytes(data, "little") >> (8 * size - count)

    def _fill(self, out: memoryview) -> None:
        for start in range(0, len(out), len(_ZEROS)):
            part = out[start : start + len(_ZEROS)]
            if self._left < len(part):
                self._cipher = Cipher(algorithms.AES(os.urandom(_KEY_BYTES)), modes.CTR(_NONCE)).encryptor()
                self._left = _REKEY_AFTER
            self._left -= len(part)
            self._cipher.update_into(_ZEROS[: len(part)], part)


class _Streams(threading.local):
    stream: _SystemStream | None = None


DOOR_MAY_OPEN = os.environ.get("DITHER_TEST_DOOR") == "open"
"""Read once, when this module is imported: nothing that runs later can set the test switch."""

_streams = _Streams()
_stand_in: BitSource | None = None


def current() -> BitSource:
    """The calling thread's source of randomness."""
    if _stand_in is not None:
        return _stand_in
    stream = _streams.stream
    if stream is None or stream.process != os.getpid():
        stream = _streams.stream = _SystemStream()
    return stream


def _forget() -> None:
    """Drop all streams: run in the child after every fork, before any other code can draw."""
    global _streams
    _streams = _Streams()


os.register_at_fork(after_in_child=_forget)
