"""Which file was opened, as the file system knows it: another content has another fingerprint.

What was looked at when a file was opened holds for these bytes only. So before each charge the files are compared with
what they were: one that was written to, replaced or removed is refused, in the same words in all three cases and before
any row is read. Who may write the file could set its times back; the change of its status (ctime) cannot be set.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dither.errors import ParameterError

__all__ = ["Fingerprint"]


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Where a file is, how long it is, and when it was last written; times are in nanoseconds."""

    path: str
    device: int
    inode: int
    size: int
    written: int
    changed: int

    @classmethod
    def of(cls, path: Path) -> Fingerprint:
        """That of the file which is at the path now."""
        found = path.stat()
        return cls(str(path), found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)

    def check(self) -> None:
        """Refuse if the file is not as it was."""
        try:
            is_same = Fingerprint.of(Path(self.path)) == self
        except OSError:
            is_same = False
        if not is_same:
            raise ParameterError(
                f"the file {Path(self.path).name!r} was written to, replaced or removed after it was opened, so "
                "nothing was charged. Open the dataset again."
            )
