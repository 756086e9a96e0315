"""Which files a connection has open, and whether their names still lead to them.

SQLite opens the ledger, its log (-wal) and the index of the log (-shm) by name, once. If a name leads elsewhere later,
this connection and the next one that is opened write two logs, each with a budget of its own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["Identity", "OpenFiles", "identity", "is_a_mount_point", "open_now"]

Identity = tuple[int, int]
"""Device and inode."""

_LISTS: Final = ("/proc/self/fd", "/dev/fd")
"""Where the system lists what this process has open: Linux, and macOS."""


@dataclass(frozen=True, slots=True)
class OpenFiles:
    """The files of one connection: the ledger, its log, and the index of its log."""

    path: Path
    opened: tuple[Identity | None, ...]

    @classmethod
    def now(cls, path: Path, before: Mapping[int, Identity]) -> OpenFiles:
        """Those that the names lead to, which must be those that were opened since `before`.

        Of the log every connection has a descriptor of its own; the others may be shared within a process. A number
        that was another file's `before` counts as new: a thread may have closed that file meanwhile. Where the system
        lists no descriptors, as on Windows, a file that is open cannot be removed either.
        """
        opened = tuple(identity(each) for each in _names(path))
        listed = open_now()
        if listed is not None:
            own = {found for number, found in listed.items() if before.get(number) != found}
            ledger, log, index = opened
            shared = set(listed.values())
            opened = tuple(
                each if each in has else None for each, has in ((ledger, shared), (log, own), (index, shared))
            )
        return cls(path, opened)

    @property
    def are_in_place(self) -> bool:
        """Whether each name leads to the file that this connection has open."""
        return None not in self.opened and tuple(identity(each) for each in _names(self.path)) == self.opened


def _names(path: Path) -> tuple[str, str, str]:
    return str(path), f"{path}-wal", f"{path}-shm"


def identity(path: str | Path) -> Identity | None:
    """Which file has the name now. It is not opened: to close it again would give up SQLite's locks on it."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def open_now() -> dict[int, Identity] | None:
    """Every descriptor of this process with its file, None if the system does not list them."""
    for place in _LISTS:
        try:
            numbers = [int(name) for name in os.listdir(place)]
        except OSError:
            continue
        return {number: found for number in numbers if (found := _of_descriptor(number)) is not None}
    return None


def _of_descriptor(number: int) -> Identity | None:
    try:
        found = os.fstat(number)
    except OSError:  # closed meanwhile, such as that of the list itself
        return None
    return found.st_dev, found.st_ino


def is_a_mount_point(path: Path) -> bool:
    """Whether the ledger or its log is mounted by itself, so that its name and that of its log are in two folders.

    One file that is mounted twice, as containers do it, would have two logs. A folder may be mounted as often as one
    likes: the log is in it.
    """
    found = [_mount(name) for name in _names(path)]
    return any(each not in (None, _mount(path.parent)) for each in found)


def _mount(path: str | Path) -> int | None:
    """The mount in which a path lies, None if there is nothing; the device where the system does not number mounts.

    A bind mount has the device of what is mounted. O_PATH looks without opening: closing it gives up no lock.
    """
    try:
        if not hasattr(os, "O_PATH"):
            return os.stat(path).st_dev
        number = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        with open(f"/proc/self/fdinfo/{number}", encoding="ascii") as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith("mnt_id:"))
    except (FileNotFoundError, StopIteration):
        return os.fstat(number).st_dev
    finally:
        os.close(number)
