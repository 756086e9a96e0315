"""A table of private answers, with intervals, cost and certificate."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from dither.events import Event, to_json
from dither.ledger import Entry
from dither.ledger.budget import Budget, write_budget

if TYPE_CHECKING:
    from dither.engine.plan import Plan

__all__ = ["TableRelease"]


@dataclass(frozen=True)
class TableRelease:
    """Private answers, one row per group: the keys, each value, and its interval in `name_low` and `name_high`.

    It may be shown to anyone. The intervals hold the exact value of the bounded table with probability `level` each,
    over the noise.
    """

    value: pa.Table
    event: Event
    guarantee: Budget
    plan: Plan = field(repr=False)
    entry: Entry = field(repr=False)
    """The charge in the ledger."""

    def to_arrow(self) -> pa.Table:
        """As an Arrow table."""
        return self.value

    def to_pandas(self) -> Any:
        """As a pandas frame."""
        return self.value.to_pandas()

    def to_polars(self) -> Any:
        """As a Polars frame."""
        import polars  # an extra

        return polars.from_arrow(self.value)

    def certificate(self) -> dict[str, Any]:
        """What a stranger needs to recompute the cost and to find it in the ledger: no data, not even the answer."""
        return {
            "dither_certificate": 1,
            "question": self.entry.content["question"],
            "event": json.loads(to_json(self.event)),
            "cost": json.loads(write_budget(self.guarantee)),
            "noise": self.plan.noise,
            "ledger_entry": {"number": self.entry.number, "hash": self.entry.hash},
        }
