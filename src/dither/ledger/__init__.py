"""What was spent: append-only, hash-chained, crash-safe.

An entry is on disk before data is read. SQLite by default, PostgreSQL by URL when several machines share a budget.
The format and the proof of durability: ledger/ledger.md.
"""

from dither.ledger.entry import Entry, current_user
from dither.ledger.failures import Failures
from dither.ledger.ledger import Account, Charge, Ledger
from dither.ledger.memory import IN_MEMORY
from dither.ledger.per_period import PerPeriod

__all__ = ["IN_MEMORY", "Account", "Charge", "Entry", "Failures", "Ledger", "PerPeriod", "current_user"]
