"""The test door: the exact numbers of needs under a fixed salt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from dither.engine.groups import Groups
from dither.engine.needs import Need, Whole
from dither.tables import BoundedTable

__all__ = ["exact_numbers", "needs_of"]

_SALT = 12345


def needs_of(aggregates: Mapping[str, Any]) -> dict[str, Need]:
    """All that aggregates need, by key."""
    return {key: need for aggregate in aggregates.values() for key, need in aggregate.needs.items()}


def exact_numbers(bounded: BoundedTable, needs: Mapping[str, Need], groups: pa.Table) -> dict[str, Any]:
    """What each need is in each of the groups, before any noise; measures by one question, as in a release."""
    known = Groups(groups)
    wholes = {f"m{at}": key for at, (key, need) in enumerate(needs.items()) if isinstance(need, Whole)}
    measures = {name: needs[key].measure for name, key in wholes.items()}  # type: ignore[attr-defined]
    batches = list(bounded.totals(measures, _SALT)._open())
    numbers = {key: known.vector(batches, name) for name, key in wholes.items()}
    others = {key: need for key, need in needs.items() if key not in numbers}
    return numbers | {key: need.collect(need.ask(bounded, _SALT)._open(), known) for key, need in others.items()}
