"""Power cuts, acted out: which files can be found after the machine went dark in the middle of a trace of faults.c.

The model is the weakest that POSIX allows. What was written to a file is there after the file was synced; before that,
each write may be there, be missing, or be there in part. A file has its name after its folder was synced; a deletion
may be undone until then.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Disk", "Operation", "operations"]


@dataclass(frozen=True)
class Operation:
    """One call: c(reate), w(rite), t(runcate), s(ync), u(nlink), or a n(ote) of what was said to the world."""

    what: str
    name: str
    offset: int
    data: bytes


def operations(trace: bytes) -> Iterator[Operation]:
    """The calls of a trace, in order."""
    position = 0
    while position < len(trace):
        what, name_length, offset, length = struct.unpack_from("4q", trace, position)
        position += struct.calcsize("4q")
        name = trace[position : position + name_length].decode()
        position += name_length
        data = trace[position : position + length] if chr(what) == "w" else b""
        position += len(data)
        yield Operation(chr(what), name, offset, data)


@dataclass
class File:
    """What is surely there, and the changes that may be."""

    durable: bytes = b""
    pending: list[Operation] = field(default_factory=list)

    def found(self, keep: Callable[[], float]) -> bytes:
        """The bytes that are found if of each pending change the part keep() arrives."""
        content = self.durable
        for change in self.pending:
            content = applied(content, change, keep())
        return content


def applied(content: bytes, change: Operation, part: float) -> bytes:
    """The content after a part of a write, or after a whole truncation."""
    if change.what == "t":
        return content[: change.offset].ljust(change.offset, b"\0") if part == 1 else content
    data = change.data[: int(len(change.data) * part)]
    if not data:
        return content
    return content[: change.offset].ljust(change.offset, b"\0") + data + content[change.offset + len(data) :]


class Disk:
    """A folder, as it is and as it would be found after a power cut."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)
        self._files: dict[str, File] = {}
        """By name, as programs see them."""
        self._durable: dict[str, File] = {}
        """By name, as the folder was last synced."""

    def run(self, operation: Operation) -> None:
        """One more call."""
        name = operation.name
        if operation.what == "c":
            self._files[name] = File()
        elif operation.what == "u":
            del self._files[name]
        elif operation.what in "wt":
            self._files[name].pending.append(operation)
        elif operation.what == "s" and name == self.folder:
            self._durable = dict(self._files)
        elif operation.what == "s":
            file = self._files[name]
            file.durable = file.found(lambda: 1)
            file.pending.clear()

    def after_a_power_cut(self, keep: Callable[[], float]) -> dict[str, bytes]:
        """Files by name. keep() says which part of each change that was not synced is there: 0, 1, or in between."""
        names = self._durable if keep() < 1 else self._files
        return {Path(name).name: file.found(keep) for name, file in names.items() if not name.endswith("-shm")}
