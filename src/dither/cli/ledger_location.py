"""Where a ledger is, found without loading one, so that a mistaken path is refused at once."""

from __future__ import annotations

from pathlib import Path

__all__ = ["is_there"]


def is_there(ledger: str) -> bool:
    """Whether a ledger may be at this place: a file that is not empty, or a database, which only asking tells."""
    place = Path(ledger)
    return "://" in ledger or (place.exists() and not (place.is_file() and place.stat().st_size == 0))
