"""The folder that the demo writes into: never over files of somebody else."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from dither.errors import ParameterError

__all__ = ["prepared"]

_NOTE: Final = "README.txt"
_WORDS: Final = """Made by `dither demo`. Everybody in hospital_visits.parquet is invented.
The next `dither demo` in this folder replaces it, with its ledger. Never do that with real people: a ledger that
is deleted is a budget that is forgotten.
"""


def prepared(folder: Path) -> Path:
    """The folder, empty but for a note that says whose it is; one that the demo did not make is left alone."""
    if folder.exists():
        if not folder.is_dir() or not _is_ours(folder):
            raise ParameterError(
                "the demo writes into a new folder, or into one that it made before, and this is neither. "
                "Give another one: --folder."
            )
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    (folder / _NOTE).write_text(_WORDS, encoding="utf-8")
    return folder


def _is_ours(folder: Path) -> bool:
    note = folder / _NOTE
    return not any(folder.iterdir()) or (
        note.is_file() and note.read_text(encoding="utf-8", errors="replace") == _WORDS
    )
