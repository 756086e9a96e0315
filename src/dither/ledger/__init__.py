"""What was spent: append-only, hash-chained, crash-safe.

An entry is on disk before data is read. SQLite by default, PostgreSQL by URL when several machines share a budget.
The format and the proof of durability: ledger/ledger.md.
"""

from dither.ledger.entry import Entry, current_user
from dither.ledger.failures import Failures
from dither.ledger.ledger import Account, Charge, Ledger

__all__ = ["Account", "Charge", "Entry", "Failures", "Ledger", "current_user"]
