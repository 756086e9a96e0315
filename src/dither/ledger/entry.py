"""One line of the ledger, and the chain that ties it to all lines before it."""

from __future__ import annotations

import getpass
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from dither.errors import LedgerError

__all__ = [
    "BEGINNING",
    "Entry",
    "canonical",
    "current_user",
    "first_change",
    "last_state",
    "named_parts",
    "parsed",
]

BEGINNING: Final = "0" * 64
"""What stands in the place of a hash before the first entry."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a ledger, tied by its hash to all entries before it.

    To change, delete, insert or reorder an entry without a trace, all later hashes would have to be written anew, and
    then the last one differs from the anchor that the owner keeps.

    Parameters
    ----------
    number : int
        1, 2, 3, ... without a gap.
    previous : str
        The hash of the entry before; 64 zeros for the first one.
    kind : {"budget", "source", "charge", "attempt", "answer", "outcome", "resume", "period"}
        What it records.
    account : str
        The account that it belongs to: the identity of the dataset.
    body : str
        The rest, as canonical JSON; `content` reads it.
    """

    number: int
    previous: str
    kind: str
    account: str
    body: str

    @property
    def hash(self) -> str:
        """SHA-256 in hexadecimal digits of the canonical JSON list of the five fields."""
        fields = [self.number, self.previous, self.kind, self.account, self.body]
        return hashlib.sha256(canonical(fields).encode()).hexdigest()

    @property
    def content(self) -> dict[str, Any]:
        """The body as a dictionary."""
        return parsed(self.body)

    @property
    def is_durable(self) -> bool:
        """Whether this charge outlives its process; False in a ledger in memory."""
        return bool(self.content.get("durable", True))

    @property
    def noise_removed(self) -> bool:
        """Whether this charge is for an answer without noise, in a test."""
        return "noise" in self.content


def current_user() -> str:
    """Name the user who runs this process.

    Returns
    -------
    str
        The login name, as the operating system knows it; empty if it does not.
    """
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


def last_state(entries: Iterable[Entry]) -> str | None:
    """Read how the files of a source were when they were last opened, from the entries of its account."""
    return next((each.content["state"] for each in reversed(list(entries)) if "state" in each.content), None)


def first_change(entries: Iterable[Entry]) -> str | None:
    """Read when files of a source were first found to be written to; the first state that was recorded is no change."""
    stated = [entry.content for entry in entries if "state" in entry.content]
    return str(stated[1]["at"]) if len(stated) > 1 else None


def named_parts(entry: Entry, field: str = "parts") -> frozenset[str]:
    """Read which files and tables of its source an entry names, or which other names (`names`) an account has."""
    parts = entry.content.get(field, [])
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise LedgerError("an entry of the ledger names its source in no way that can be read. Run verify().")
    return frozenset(parts)


def canonical(value: Any) -> str:
    """JSON with sorted keys, without spaces and without floats, so that equal values have equal bytes."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def parsed(text: str) -> dict[str, Any]:
    """The object that `canonical` wrote; anything else is refused, duplicate keys among it."""
    try:
        value = json.loads(text, object_pairs_hook=_without_duplicates, parse_float=_no_float, parse_constant=_no_float)
    except (ValueError, RecursionError):
        raise LedgerError("an entry of the ledger is not the JSON that dither writes. Run verify().") from None
    if not isinstance(value, dict):
        raise LedgerError("an entry of the ledger is not a JSON object. Run verify().")
    return value


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("duplicate keys")
    return found


def _no_float(text: str) -> None:
    raise ValueError(f"a float: {text}")
