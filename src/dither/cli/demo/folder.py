"""The folder that the demo writes into: never over files of somebody else."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from dither.errors import ParameterError

__all__ = ["prepared"]

_NOTE: Final = "README.txt"
_OF_DEMO: Final = """Made by `dither demo`. Everybody in hospital_visits.parquet is invented.
The next `dither demo` in this folder replaces it, with its ledger. Never do that with real people: a ledger that
is deleted is a budget that is forgotten.
"""


def prepared(folder: Path, note: str = _OF_DEMO, instead: str = "Give another one: --folder.") -> Path:
    """The folder, empty but for a note that says whose it is; one without this note is left alone."""
    if folder.exists():
        if not folder.is_dir() or not _is_ours(folder, note):
            raise ParameterError(
                f"the demo writes into a new folder, or into one that it made before, and {folder.name!r} is neither. "
                f"{instead}"
            )
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    (folder / _NOTE).write_text(note, encoding="utf-8")
    return folder


def _is_ours(folder: Path, words: str) -> bool:
    note = folder / _NOTE
    return not any(folder.iterdir()) or (note.is_file() and note.read_text(encoding="utf-8", errors="replace") == words)
